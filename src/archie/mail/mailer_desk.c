/* Uses four threads, because a mail server may take a minute for each request, and one that is slow
 * with one asker's request should not delay the others. */
#include "archie/mail/mailer_desk.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/log.h"
#include "base/pool.h"

#include <stdatomic.h>

enum { DESK_THREADS = 4 };

struct mailer_desk {
	struct loop *loop;
	struct mailer mailer;
	atomic_bool ends;
	struct pool *pool;
	struct link errands;
};

struct mailer_errand {
	struct pool_job job;
	struct link link;
	struct mailer_desk *desk;
	mailer_desk_fn *told; /* NULL: nobody wants to know */
	void *ctx;
	struct buf text; /* host, reply_to, asker */
	size_t host, reply_to;
	int rc;
	struct err err;
};

static void errand_free(struct mailer_errand *e)
{
	list_remove(&e->link);
	buf_free(&e->text);
	mem_free(&e);
}

static void errand_done(void *ctx)
{
	struct mailer_errand *e = ctx;
	mailer_desk_fn *told = e->told;
	if (told)
		told(e->ctx, e->rc < 0 ? &e->err : NULL);
	errand_free(e);
}

/* In a thread. */
static void errand_run(struct pool_job *job)
{
	struct mailer_errand *e = LIST_OF(struct mailer_errand, job, job);
	struct str rest = buf_str(&e->text), host = str_head(rest, e->host);
	rest = str_from(rest, e->host);
	e->rc = atomic_load(&e->desk->ends)
			? err_set(&e->err, ERR_SYSTEM, "the server stops")
			: mailer_ask_site(&e->desk->mailer, host, str_head(rest, e->reply_to),
					  str_from(rest, e->reply_to), &e->err);
	if (e->rc < 0 && mailer_told(&e->err) != e->err.msg)
		log_warn(ROLE, "request for a site lost", KV_STR("host", host),
			 KV_TEXT("why", e->err.msg));
	loop_post(e->desk->loop, errand_done, e);
}

struct mailer_errand *mailer_desk_ask_site(struct mailer_desk *d, struct str host,
					   struct str reply_to, struct str asker,
					   mailer_desk_fn *told, void *ctx)
{
	struct mailer_errand *e = mem_alloc(sizeof *e);
	*e = (struct mailer_errand){.job = {.run = errand_run, .client = hash64(asker) | 1},
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

void mailer_errand_forget(struct mailer_errand *e)
{
	e->told = NULL;
}

int mailer_desk_new(struct mailer_desk **ret, struct loop *loop, const struct mailer *mailer,
		    struct err *err)
{
	const struct pool_options options = {.threads = DESK_THREADS,
					     .queue = MAILER_DESK_MOST - DESK_THREADS,
					     .share = MAILER_DESK_SHARE,
					     .abreast = 1};
	struct mailer_desk *d = mem_alloc(sizeof *d);
	*d = (struct mailer_desk){.loop = loop, .mailer = *mailer};
	list_init(&d->errands);
	if (pool_new(&d->pool, &options, err) < 0) {
		mem_free(&d);
		return -1;
	}
	*ret = d;
	return 0;
}

void mailer_desk_free(struct mailer_desk **dp)
{
	struct mailer_desk *d = *dp;
	if (!d)
		return;
	atomic_store(&d->ends, true);
	pool_free(&d->pool);
	LIST_EACH (struct mailer_errand, e, &d->errands, link) {
		loop_post_cancel(d->loop, e);
		errand_free(e);
	}
	mem_free(dp);
}
