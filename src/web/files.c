/* Searches sent to the queuer, for handlers that must not wait. A thread of its own runs the loop
 * and the link to the queuer. Handlers add questions to a list and come back for the answers. The
 * first handler that asks gets the answer, which is then freed. The link is open only while it is
 * used, so a garner without archives is not bothered. */
#include "web/files_inner.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/thread.h"

#include <stdio.h>
#include <sys/random.h>

enum {
	LINK_MEMORY = 64 << 20,
	ASK_MOST = 1 << 20, /* bytes of a question */
};
#define LOOK_US (250 * US_PER_MS)
#define LINK_KEEP_US (10 * US_PER_S) /* after the last question */

struct question {
	struct link link;
	struct files *files;
	char id[FILES_ID + 1];
	uint64_t same;
	struct archie_ask ask;
	struct arena asked; /* of what is asked */
	bool sent;          /* the loop has it; number is the link's */
	uint64_t number;
	struct files_told told;
	struct http_request *waiter; /* NULL: nobody */
	int64_t since_us;            /* it waits */
	int64_t seen_us;             /* when somebody last came for it */
};

struct files {
	const char *data;
	struct loop *loop;
	struct conn_pool *pool;
	pthread_t thread;
	/* the loop's */
	struct archie_link *link;
	struct loop_timer look;
	int64_t last_us;      /* when something was asked last */
	pthread_mutex_t lock; /* of the rest, and of what is in questions */
	struct link questions;
	size_t n;
	uint64_t held;
	bool stopping;
};

static void question_free(struct question *q)
{
	arena_free(&q->asked);
	arena_free(&q->told.arena);
	mem_free(&q);
}

/* With the lock held, as all below that do not take it. */
static void question_remove(struct question *q)
{
	struct files *f = q->files;
	list_remove(&q->link);
	f->n--;
	f->held -= q->told.arena.used;
}

static void waiter_call(struct question *q)
{
	struct http_request *req = q->waiter;
	q->waiter = NULL;
	q->seen_us = clock_mono_us();
	if (req)
		http_again(req);
}

/* The loop's thread */

static void look_around(void *ctx)
{
	struct files *f = ctx;
	int64_t now_us = clock_mono_us();
	pthread_mutex_lock(&f->lock);
	LIST_EACH (struct question, q, &f->questions, link) {
		if (q->waiter &&
		    now_us - q->since_us >= (q->told.position ? FILES_HOLD_US : FILES_CALM_US))
			waiter_call(q);
		if (q->waiter || !q->sent || now_us - q->seen_us < FILES_KEEP_US)
			continue;
		if (q->told.state == FILES_WAITS)
			archie_link_cancel(f->link, q->number);
		question_remove(q);
		question_free(q);
	}
	bool goes_on = f->n || now_us - f->last_us < LINK_KEEP_US;
	pthread_mutex_unlock(&f->lock);
	if (goes_on)
		loop_timer_in(f->loop, &f->look, LOOK_US);
	else
		archie_link_free(&f->link);
}

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct question *q = ctx;
	pthread_mutex_lock(&q->files->lock);
	q->told.position = position;
	q->told.seconds = seconds;
	pthread_mutex_unlock(&q->files->lock);
}

/* What pages show of it. */
static struct archie_answer answer_copy(const struct archie_answer *a, struct arena *arena)
{
	struct archie_answer copy = *a;
	copy.problem = arena_str(arena, a->problem);
	copy.row = arena_array(arena, a->n, sizeof *copy.row);
	for (size_t i = 0; i < a->n; i++) {
		const struct archie_row *from = &a->row[i];
		struct archie_row *to = &copy.row[i];
		*to = (struct archie_row){
			.host = arena_str(arena, from->host),
			.address = arena_str(arena, from->address),
			.listed_s = from->listed_s,
			.file = {.name = arena_str(arena, from->file.name),
				 .dir = arena_str(arena, from->file.dir),
				 .kind = from->file.kind,
				 .size = from->file.size,
				 .time_s = from->file.time_s},
			.mirrors = from->mirrors,
			.url = arena_str(arena, from->url),
		};
		memcpy(to->file.mode, from->file.mode, sizeof to->file.mode);
	}
	return copy;
}

static void told_refused(struct files_told *told, enum archie_refusal why, const char *text)
{
	told->state = FILES_REFUSED;
	told->why = why;
	told->text = arena_text(&told->arena, str_of(text));
}

static void on_answered(void *ctx, const struct archie_answer *a, enum archie_refusal why,
			const char *text)
{
	struct question *q = ctx;
	struct files *f = q->files;
	struct files_told told = {.arena = ARENA_INIT(SIZE_MAX)}; /* the queuer bounds it */
	if (a) {
		told.answer = answer_copy(a, &told.arena);
		told.state = FILES_ANSWERED;
	} else {
		told_refused(&told, why, text);
	}
	pthread_mutex_lock(&f->lock);
	if (f->held + told.arena.used > FILES_HELD_MOST) {
		arena_clear(&told.arena);
		told_refused(&told, ARCHIE_BUSY,
			     "too many answers wait to be fetched; try again later");
	}
	q->told = told;
	f->held += told.arena.used;
	waiter_call(q);
	pthread_mutex_unlock(&f->lock);
}

static const struct archie_link_ops link_ops = {.queued = on_queued, .answered = on_answered};

static void question_send(void *ctx)
{
	struct question *q = ctx;
	struct files *f = q->files;
	if (!f->link)
		f->link = archie_link_new(f->pool, f->data);
	f->last_us = clock_mono_us();
	loop_timer_in(f->loop, &f->look, LOOK_US);
	uint64_t number = archie_link_ask(f->link, &q->ask, &link_ops, q);
	pthread_mutex_lock(&f->lock);
	q->number = number;
	q->sent = true;
	pthread_mutex_unlock(&f->lock);
}

static void *loop_thread(void *ctx)
{
	struct files *f = ctx;
	struct err err;
	int rc = loop_run(f->loop, &err);
	ENSURE(rc == 0); /* without it pages would wait for ever */
	archie_link_free(&f->link);
	loop_timer_stop(&f->look);
	conn_pool_free(&f->pool);
	return NULL;
}

static void loop_end(void *ctx)
{
	struct files *f = ctx;
	loop_stop(f->loop);
}

/* Its life */

int files_open(struct files **ret, const char *data, struct err *err)
{
	struct files *f = mem_alloc(sizeof *f);
	*f = (struct files){.data = data};
	f->look = (struct loop_timer){.fn = look_around, .ctx = f};
	list_init(&f->questions);
	if (loop_new(&f->loop, NULL, err) < 0) {
		mem_free(&f);
		return -1;
	}
	pthread_mutex_init(&f->lock, NULL);
	f->pool = conn_pool_new(f->loop, LINK_MEMORY);
	if (thread_start(&f->thread, loop_thread, f, err) < 0) {
		conn_pool_free(&f->pool);
		loop_free(&f->loop);
		pthread_mutex_destroy(&f->lock);
		mem_free(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

void files_stop(struct files *f)
{
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	LIST_EACH (struct question, q, &f->questions, link)
		waiter_call(q);
	pthread_mutex_unlock(&f->lock);
}

void files_close(struct files **pf)
{
	struct files *f = *pf;
	if (!f)
		return;
	loop_post(f->loop, loop_end, f);
	pthread_join(f->thread, NULL);
	loop_free(&f->loop);
	LIST_EACH (struct question, q, &f->questions, link)
		question_free(q);
	pthread_mutex_destroy(&f->lock);
	mem_free(pf);
}

/* Handlers */

static const struct str *list_copy(const struct str *list, uint32_t n, struct arena *arena)
{
	struct str *copy = arena_array(arena, n, sizeof *copy);
	for (uint32_t i = 0; i < n; i++)
		copy[i] = arena_str(arena, list[i]);
	return copy;
}

static struct archie_ask ask_copy(const struct archie_ask *ask, struct arena *arena)
{
	struct archie_ask copy = *ask;
	struct names_query *q = &copy.query;
	copy.from = arena_str(arena, ask->from);
	q->pattern = arena_str(arena, q->pattern);
	q->site = list_copy(q->site, q->sites, arena);
	q->domain = list_copy(q->domain, q->domains, arena);
	q->component = list_copy(q->component, q->components, arena);
	return copy;
}

static struct question *question_new(struct files *f, const struct files_ask *ask)
{
	struct question *q = mem_alloc(sizeof *q);
	unsigned char random[FILES_ID / 2];
	*q = (struct question){.files = f, .same = ask->same, .asked = ARENA_INIT(ASK_MOST)};
	q->ask = ask_copy(&ask->ask, &q->asked);
	q->told.arena = ARENA_INIT(SIZE_MAX);
	ENSURE(getrandom(random, sizeof random, 0) == (ssize_t)sizeof random);
	hex_print(random, sizeof random, q->id);
	q->seen_us = clock_mono_us();
	list_append(&f->questions, &q->link);
	f->n++;
	loop_post(f->loop, question_send, q);
	return q;
}

static struct question *question_find(struct files *f, const char *id, uint64_t same)
{
	LIST_EACH (struct question, q, &f->questions, link)
		if (q->same == same && strcmp(q->id, id) == 0)
			return q;
	return NULL;
}

/* Called again, it is told how far it is; the first time it waits a little, and a patient one for
 * ever. Only one waits for a question. */
static bool question_wait(struct question *q, struct http_request *req, bool patient)
{
	if (q->told.state != FILES_WAITS || q->waiter || (req->later && !patient))
		return false;
	req->later = arena_text(&req->arena, str_of(q->id));
	q->waiter = req;
	q->since_us = clock_mono_us();
	return true;
}

static void question_tell(struct question *q, struct files_told *ret)
{
	q->seen_us = clock_mono_us();
	*ret = q->told;
	memcpy(ret->id, q->id, sizeof ret->id);
	if (q->told.state == FILES_WAITS)
		return;
	question_remove(q);
	q->told.arena = ARENA_INIT(0); /* the asker has it now */
	question_free(q);
}

int files_ask(struct files *f, struct http_request *req, const struct files_ask *ask,
	      struct files_told *ret, struct err *err)
{
	int rc = 0;
	pthread_mutex_lock(&f->lock);
	struct question *q = question_find(f, req->later ? req->later : ask->id, ask->same);
	if (f->stopping)
		rc = err_set(err, ERR_BUSY, "the server stops");
	else if (!q && f->n == FILES_KEPT_MOST)
		rc = err_set(err, ERR_BUSY, "too many searches wait; try again later");
	else if (!q)
		q = question_new(f, ask);
	if (rc == 0 && question_wait(q, req, ask->patient))
		rc = HTTP_LATER;
	else if (rc == 0)
		question_tell(q, ret);
	pthread_mutex_unlock(&f->lock);
	return rc;
}
