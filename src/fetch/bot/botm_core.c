/* Jobs and answers of a botm. Every id is in one table: that of jobs until it is answered, then
 * that of answers until the source has acknowledged it.
 *
 * Neither requests nor missing acknowledgements can fill the memory (struct botm_bounds). When a
 * source owes too many acknowledgements, it is told a capacity of 0; its connection is still read,
 * because the acknowledgements come on it.
 *
 * Jobs that arrive in one round of the loop are given out together after it, and what the source
 * has said of names is written together. */
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "fetch/bot/botm_inner.h"

#include <sys/random.h>

void botm_fail(struct botm *b, const struct err *err)
{
	b->o.failed(b->o.ctx, err);
}

/* Bounds. */

static const struct botm_bounds bounds = {
	.answer_bytes = 64 << 20,
	.job_bytes = 256 << 20,
	.deletes = 10000, /* ten times what botsource.c asks for */
};

static bool is_above(bool was, uint64_t now, uint64_t most)
{
	return now >= (was ? most - most / 4 : most);
}

static void answers_are_full(struct botm *b, bool is_full)
{
	b->is_full = is_full;
	if (is_full)
		log_warn(ROLE, "too many unacknowledged answers; fetching paused",
			 KV_TEXT("source", b->o.source));
	else
		log_info(ROLE, "answers acknowledged; fetching resumed",
			 KV_TEXT("source", b->o.source));
	botm_children_hold(b);
	botm_tell_soon(b);
	botm_dispatch_soon(b);
}

void botm_bounds_look(struct botm *b)
{
	bool has_names = b->keep.names != NULL;
	uint64_t deletes = has_names ? b->keep.ndeletes : botm_deletion_ids_count(&b->deletions);
	bool is_full = is_above(b->is_full, b->answer_bytes, b->most.answer_bytes);
	bool many_jobs = is_above(b->is_held, b->job_bytes, b->most.job_bytes);
	bool many_deletes = is_above(b->is_held, deletes, b->most.deletes);
	if (is_full != b->is_full)
		answers_are_full(b, is_full);
	if (!b->reader)
		return;
	if ((many_jobs || many_deletes) != b->is_held)
		botm_source_hold(b, !b->is_held);
	/* neither jobs nor answers get fewer, nor deletes where children are not heard */
	if (is_full && (many_jobs || (many_deletes && !has_names)))
		botm_source_hang_up(b, "the source keeps asking and acknowledges no answers");
}

/* Jobs. */

/* That are passed over in one round, because they wait for a child. */
enum { WAITING_MOST = 1000 };

/* A copy in a block that has room for it, after what was put there before. */
static struct str block_put(char **to, struct str s)
{
	struct str put = {*to, s.n};
	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return put;
}

static size_t job_size(const struct botm_job *job)
{
	return sizeof *job + job->id.n + job->text.n;
}

void botm_take_fetch(struct botm *b, const struct bot_message *m)
{
	struct botm_answer **known = botm_answer_ids_get(&b->answers, m->id);
	if (known) { /* asked once more: the answer is said once more */
		for (struct botm_answer *a = *known; a; a = a->next) {
			list_remove(&a->link);
			list_append(&b->unsent, &a->link);
		}
		botm_source_pump(b);
		return;
	}
	if (botm_jobs_get(&b->jobs, m->id))
		return; /* it is under way */
	struct bot_message passed = *m;
	passed.has &= ~(unsigned)BOT_HAS_FILE;
	buf_clear(&b->out);
	bot_message_print(&passed, &b->out);
	struct str text = str_head(buf_str(&b->out), b->out.n - strlen("/>\n"));
	struct botm_job *job = mem_alloc(sizeof *job + m->id.n + text.n);
	char *block = (char *)(job + 1);
	job->id = block_put(&block, m->id);
	job->text = block_put(&block, text);
	job->host = botm_host_of(m->url);
	job->since_us = loop_now_us(b->o.loop);
	*botm_jobs_put(&b->jobs, job->id) = job;
	list_append(&b->queue, &job->link);
	b->job_bytes += job_size(job);
	b->counts.fetches++;
	b->counts.queued++;
	botm_dispatch_soon(b);
	botm_bounds_look(b);
}

static void job_free(struct botm *b, struct botm_job *job)
{
	list_remove(&job->link);
	botm_jobs_remove(&b->jobs, job->id);
	b->job_bytes -= job_size(job);
	mem_free(&job);
	botm_bounds_look(b);
}

void botm_job_end(struct botm *b, struct botm_job *job)
{
	struct botm_child *c = job->child;
	if (c) {
		c->out--;
		b->counts.out--;
		botm_child_ready(c);
		botm_dispatch_soon(b);
	} else {
		b->counts.queued--;
	}
	job_free(b, job);
}

/* It comes before those that wait: its source has waited longest for it. The name stays, but not
 * what the dead robot may have put there. */
void botm_job_again(struct botm *b, struct botm_job *job)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(4096);
	struct err err;
	b->counts.again++;
	b->counts.out--;
	b->counts.queued++;
	job->child->out--;
	job->child = NULL;
	list_remove(&job->link);
	list_prepend(&b->queue, &job->link);
	if (job->name.generation) {
		botm_file_path(b, job->name, &path);
		if (file_remove(buf_text(&path), &err) < 0)
			log_warn(ROLE, "cannot remove file", KV_TEXT("why", err.msg));
	}
	botm_dispatch_soon(b);
}

void botm_queue_forget(struct botm *b)
{
	LIST_EACH (struct botm_job, job, &b->queue, link) {
		if (job->name.generation)
			botm_keep_unused(b, job->name);
		b->counts.queued--;
		job_free(b, job);
	}
}

static void job_give(struct botm *b, struct botm_job *job, struct botm_child *c)
{
	list_remove(&job->link);
	list_append(&c->jobs, &job->link);
	job->child = c;
	c->out++;
	c->pending += job->text.n;
	b->counts.queued--;
	b->counts.out++;
	list_remove(&c->ready); /* and to the end, if it can take more */
	botm_child_ready(c);
	*VEC_PUSH(b->todo, b->ntodo, b->todo_room) = job;
}

/* Which job goes to which child; names are given. */
static int jobs_assign(struct botm *b, struct err *err)
{
	int64_t now_us = loop_now_us(b->o.loop), wait_us = INT64_MAX;
	unsigned waiting = 0;
	b->ntodo = 0;
	struct link *next = b->queue.next;
	while (next != &b->queue && !b->is_full && !list_is_empty(&b->ready) &&
	       waiting < WAITING_MOST) {
		struct botm_job *job = LIST_OF(struct botm_job, next, link);
		next = next->next;
		struct botm_child *c = botm_host_child(b, job, now_us, &wait_us);
		if (!c) {
			waiting++;
			continue;
		}
		if (b->keep.names && job->name.generation == 0 &&
		    botm_names_give(b->keep.names, &job->name, err) < 0)
			return -1;
		job_give(b, job, c);
	}
	if (waiting && !b->patience.set)
		loop_timer_in(b->o.loop, &b->patience, wait_us);
	return b->keep.names ? botm_names_flush(b->keep.names, err) : 0;
}

static void job_send(struct botm *b, struct botm_job *job)
{
	char name[BOTM_NAME_ROOM];
	buf_clear(&b->out);
	buf_add_str(&b->out, job->text);
	if (job->name.generation) {
		botm_name_print(job->name, name);
		xml_add_attr(&b->out, "file", str_of(name));
	}
	buf_add_text(&b->out, "/>\n");
	job->child->pending = 0;
	if (!conn_send(session_conn(job->child->session), buf_str(&b->out)))
		job->child->is_choked = true;
	botm_child_ready(job->child);
}

static void dispatch_run(void *ctx)
{
	struct botm *b = ctx;
	struct err err;
	if (jobs_assign(b, &err) < 0) {
		botm_fail(b, &err);
		return;
	}
	for (size_t i = 0; i < b->ntodo; i++)
		job_send(b, b->todo[i]);
	if (b->ntodo && !list_is_empty(&b->queue) && !list_is_empty(&b->ready))
		botm_dispatch_soon(b);
}

void botm_dispatch_soon(struct botm *b)
{
	loop_later(b->o.loop, &b->dispatch);
}

/* Answers. */

static size_t answer_size(const struct botm_answer *a)
{
	return sizeof *a + a->id.n + a->machine.n + a->file.n + a->text.n;
}

void botm_answer_add(struct botm *b, const struct bot_message *m, struct botm_name name)
{
	buf_clear(&b->out);
	bot_message_print(m, &b->out);
	struct botm_answer *a =
		mem_alloc(sizeof *a + m->id.n + m->machine.n + m->file.n + b->out.n);
	char *block = (char *)(a + 1);
	a->id = block_put(&block, m->id);
	a->machine = block_put(&block, m->machine);
	a->file = block_put(&block, m->file);
	a->text = block_put(&block, buf_str(&b->out));
	a->name = name;
	list_append(&b->unsent, &a->link);
	struct botm_answer **first = botm_answer_ids_put(&b->answers, a->id);
	if (*first) { /* the key stays the first one's */
		a->next = (*first)->next;
		(*first)->next = a;
	} else {
		*first = a;
	}
	if (name.generation)
		*botm_answer_names_put(&b->by_name, name.number) = a;
	b->nanswers++;
	b->answer_bytes += answer_size(a);
	botm_bounds_look(b);
	botm_source_pump(b);
}

bool botm_answer_known(const struct botm *b, const struct bot_message *m)
{
	struct botm_answer **first = botm_answer_ids_get(&b->answers, m->id);
	for (struct botm_answer *a = first ? *first : NULL; a; a = a->next)
		if (str_eq(a->machine, m->machine) && str_eq(a->file, m->file))
			return true;
	return false;
}

void botm_answer_forget(struct botm *b, struct botm_answer *a)
{
	struct botm_answer *first = *botm_answer_ids_get(&b->answers, a->id);
	if (first == a) {
		botm_answer_ids_remove(&b->answers, a->id);
		if (a->next)
			*botm_answer_ids_put(&b->answers, a->next->id) = a->next;
	} else {
		while (first->next != a)
			first = first->next;
		first->next = a->next;
	}
	if (a->name.generation)
		botm_answer_names_remove(&b->by_name, a->name.number);
	list_remove(&a->link);
	b->nanswers--;
	b->answer_bytes -= answer_size(a);
	mem_free(&a);
	botm_bounds_look(b);
}

/* What the source says of them. */

static bool verdict_fits(const struct bot_message *m, const struct botm_answer *a)
{
	return (!(m->has & BOT_HAS_MACHINE) || str_eq(m->machine, a->machine)) &&
	       (!(m->has & BOT_HAS_FILE) || str_eq(m->file, a->file));
}

static void verdict_pass_on(struct botm *b, const struct bot_message *m, struct str machine,
			    struct str file)
{
	struct botm_route **r = botm_route_ids_get(&b->by_machine, machine);
	struct bot_message passed = *m;
	if (!r)
		return; /* it repeats the answer when it is back, and the source its word */
	passed.machine = machine;
	passed.file = file;
	passed.has |= BOT_HAS_MACHINE | (file.n ? BOT_HAS_FILE : 0);
	botm_child_send((*r)->child, &passed);
}

static void verdict_obey(struct botm *b, const struct bot_message *m, struct botm_answer *a)
{
	if (!b->keep.names)
		verdict_pass_on(b, m, a->machine, a->file);
	else if (a->name.generation && m->kind == BOT_DROPPED)
		botm_keep_remove(b, a->name, (struct str){0});
	else if (a->name.generation)
		botm_names_put(b->keep.names, a->name, BOTM_KEPT);
	botm_answer_forget(b, a);
}

void botm_take_verdict(struct botm *b, const struct bot_message *m)
{
	struct botm_answer **first = botm_answer_ids_get(&b->answers, m->id);
	struct botm_answer *a = first ? *first : NULL;
	if (m->kind == BOT_KEPT)
		b->counts.kept++;
	else
		b->counts.dropped++;
	if (!a && !b->keep.names && m->has & BOT_HAS_MACHINE)
		verdict_pass_on(b, m, m->machine, m->file);
	while (a) {
		struct botm_answer *next = a->next;
		if (verdict_fits(m, a))
			verdict_obey(b, m, a);
		a = next;
	}
	botm_dispatch_soon(b); /* which flushes */
}

/* Deletes. */

/* What the source said before is written when it hears that there is no such file, so that it may
 * ask for one to know that. */
static void delete_nothing(struct botm *b, const struct bot_message *m)
{
	struct err err;
	if (botm_names_flush(b->keep.names, &err) < 0)
		botm_fail(b, &err);
	else
		botm_tell_deleted(b, m->id, BOT_DELETED_NONE);
}

/* Of a file that was not answered the source cannot know. One that a delete could not remove is not
 * gone for being asked for again. */
static void delete_here(struct botm *b, const struct bot_message *m)
{
	struct botm_answer **stored = NULL;
	struct botm_name name;
	bool is_there = botm_name_parse(m->file, &name) && botm_file_there(b, name, NULL);
	if (is_there && botm_names_place(b->keep.names, name.number) == BOTM_OPEN) {
		stored = botm_answer_names_get(&b->by_name, name.number);
		is_there = stored && (*stored)->name.generation == name.generation;
	}
	if (!is_there) {
		delete_nothing(b, m);
		return;
	}
	if (stored)
		botm_answer_forget(b, *stored);
	botm_keep_remove(b, name, m->id);
}

static void delete_pass_on(struct botm *b, const struct bot_message *m)
{
	struct botm_route **r = botm_route_ids_get(&b->by_machine, m->machine);
	if (!r) {
		botm_tell_deleted(b, m->id, BOT_DELETED_ABSENT);
		return;
	}
	if (botm_deletion_ids_get(&b->deletions, m->id))
		return; /* it is under way */
	struct botm_deletion *d = mem_alloc(sizeof *d);
	memcpy(d->id, m->id.p, m->id.n);
	d->child = (*r)->child;
	list_append(&d->child->deletions, &d->link);
	*botm_deletion_ids_put(&b->deletions, str_of(d->id)) = d;
	botm_child_send(d->child, m);
	botm_bounds_look(b);
}

void botm_take_delete(struct botm *b, const struct bot_message *m)
{
	if (!b->keep.names)
		delete_pass_on(b, m);
	else if (!str_is(m->machine, b->o.machine))
		botm_tell_deleted(b, m->id, BOT_DELETED_ABSENT);
	else
		delete_here(b, m);
}

/* Beginning and end. */

static void beat_run(void *ctx)
{
	struct botm *b = ctx;
	b->told_capacity = UINT64_MAX;
	botm_tell_soon(b);
	botm_children_check(b);
}

static void node_make(struct botm *b)
{
	unsigned char bits[16];
	if (getrandom(bits, sizeof bits, 0) != sizeof bits)
		die("the kernel has no random bits");
	hex_print(bits, sizeof bits, b->node);
}

int botm_new(struct botm **ret, const struct botm_options *options, struct err *err)
{
	struct botm *b = mem_alloc(sizeof *b);
	b->o = *options;
	b->most = bounds;
	b->limits = *options->limits;
	b->limits.queue_max = MAX(b->limits.queue_max, (uint64_t)BOT_QUEUE_MIN);
	b->out = BUF_INIT((size_t)2 * BOT_MESSAGE_MAX);
	b->dispatch = (struct loop_later){.fn = dispatch_run, .ctx = b};
	b->tell = (struct loop_later){.fn = botm_tell_run, .ctx = b};
	b->beat = (struct loop_timer){.fn = beat_run, .ctx = b};
	b->patience = (struct loop_timer){.fn = dispatch_run, .ctx = b};
	botm_hosts_open(b);
	list_init(&b->children);
	list_init(&b->ready);
	list_init(&b->queue);
	list_init(&b->unsent);
	list_init(&b->sent);
	node_make(b);
	if ((b->o.folder[0] && botm_keep_open(b, err) < 0) || botm_source_open(b, err) < 0) {
		botm_free(&b);
		return -1;
	}
	b->server = server_new(b->o.loop, &botm_protocol, &b->limits, b->o.tls, b);
	loop_timer_every(b->o.loop, &b->beat,
			 b->o.limits->idle_us ? MIN(BOT_BEAT_US, b->o.limits->idle_us / 2 + 1)
					      : BOT_BEAT_US);
	*ret = b;
	return 0;
}

int botm_listen(struct botm *b, int fd, struct err *err)
{
	return server_listen(b->server, fd, err);
}

static void jobs_free(struct botm *b)
{
	LIST_EACH (struct botm_job, job, &b->queue, link)
		job_free(b, job);
}

static void answers_free(struct botm *b)
{
	LIST_EACH (struct botm_answer, a, &b->unsent, link)
		botm_answer_forget(b, a);
	LIST_EACH (struct botm_answer, a, &b->sent, link)
		botm_answer_forget(b, a);
}

/* The children's jobs are in the queue when they are gone. */
void botm_free(struct botm **bp)
{
	struct botm *b = *bp;
	if (!b)
		return;
	botm_source_close(b);
	if (b->server)
		server_free(&b->server);
	botm_keep_close(b);
	jobs_free(b);
	answers_free(b);
	loop_later_cancel(&b->dispatch);
	loop_later_cancel(&b->tell);
	loop_timer_stop(&b->beat);
	loop_timer_stop(&b->patience);
	botm_hosts_close(b);
	botm_jobs_free(&b->jobs);
	botm_answer_ids_free(&b->answers);
	botm_answer_names_free(&b->by_name);
	botm_route_ids_free(&b->by_node);
	botm_route_ids_free(&b->by_machine);
	botm_deletion_ids_free(&b->deletions);
	buf_free(&b->out);
	mem_free(&b->todo);
	mem_free(bp);
}

void botm_counts(const struct botm *b, struct botm_counts *ret)
{
	*ret = b->counts;
	ret->capacity = b->capacity;
	ret->machines = botm_route_ids_count(&b->by_machine);
	ret->unanswered = b->nanswers;
	ret->has_source = b->reader != NULL;
	if (!b->keep.names)
		return;
	ret->names_free = botm_names_count(b->keep.names, BOTM_FREE);
	ret->names_stored = botm_answer_names_count(&b->by_name);
	ret->names_kept = botm_names_count(b->keep.names, BOTM_KEPT);
}
