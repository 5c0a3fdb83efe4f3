/* One thread would do, since all wait for the same lock; the second goes on with what has had the
 * lock while the first syncs. */
#include "archie/mail/outbox_desk.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/pool.h"

enum { DESK_THREADS = 2 };

struct outbox_desk {
	struct loop *loop;
	struct outbox *outbox;
	struct outbox_sender *sender;
	struct pool *pool;
	struct link errands;
};

struct outbox_errand {
	struct pool_job job;
	struct link link;
	struct outbox_desk *desk;
	outbox_desk_fn *told; /* NULL: nobody wants to know */
	void *ctx;
	struct buf text; /* host, reply_to, asker */
	size_t host, reply_to;
	int rc;
	struct err err;
};

static void errand_free(struct outbox_errand *e)
{
	list_remove(&e->link);
	buf_free(&e->text);
	mem_free(&e);
}

static void errand_done(void *ctx)
{
	struct outbox_errand *e = ctx;
	outbox_desk_fn *told = e->told;
	if (e->rc == 0)
		outbox_sender_wake(e->desk->sender);
	if (told)
		told(e->ctx, e->rc < 0 ? &e->err : NULL);
	errand_free(e);
}

/* In a thread. */
static void errand_run(struct pool_job *job)
{
	struct outbox_errand *e = LIST_OF(struct outbox_errand, job, job);
	struct str rest = buf_str(&e->text), host = str_head(rest, e->host);
	rest = str_from(rest, e->host);
	e->rc = outbox_put_new_site(e->desk->outbox, host, str_head(rest, e->reply_to),
				    str_from(rest, e->reply_to), &e->err);
	loop_post(e->desk->loop, errand_done, e);
}

struct outbox_errand *outbox_desk_new_site(struct outbox_desk *d, struct str host,
					   struct str reply_to, struct str asker,
					   outbox_desk_fn *told, void *ctx)
{
	struct outbox_errand *e = mem_alloc(sizeof *e);
	*e = (struct outbox_errand){.job = {.run = errand_run, .client = hash64(asker) | 1},
				    .desk = d,
				    .told = told,
				    .ctx = ctx,
				    .text = BUF_INIT(host.n + reply_to.n + asker.n + 1),
				    .host = host.n,
				    .reply_to = reply_to.n};
	list_append(&d->errands, &e->link);
	if (!pool_claim(d->pool, &e->job)) {
		errand_free(e);
		return NULL;
	}
	buf_add_str(&e->text, host);
	buf_add_str(&e->text, reply_to);
	buf_add_str(&e->text, asker);
	pool_post(d->pool, &e->job);
	return e;
}

void outbox_errand_forget(struct outbox_errand *e)
{
	e->told = NULL;
}

int outbox_desk_new(struct outbox_desk **ret, struct loop *loop, struct outbox *o,
		    struct outbox_sender *sender, struct err *err)
{
	const struct pool_options options = {.threads = DESK_THREADS,
					     .queue = OUTBOX_DESK_MOST - DESK_THREADS,
					     .share = OUTBOX_DESK_SHARE,
					     .abreast = 1};
	struct outbox_desk *d = mem_alloc(sizeof *d);
	*d = (struct outbox_desk){.loop = loop, .outbox = o, .sender = sender};
	list_init(&d->errands);
	if (pool_new(&d->pool, &options, err) < 0) {
		mem_free(&d);
		return -1;
	}
	*ret = d;
	return 0;
}

void outbox_desk_free(struct outbox_desk **dp)
{
	struct outbox_desk *d = *dp;
	if (!d)
		return;
	pool_free(&d->pool);
	LIST_EACH (struct outbox_errand, e, &d->errands, link) {
		loop_post_cancel(d->loop, e);
		errand_free(e);
	}
	mem_free(dp);
}
