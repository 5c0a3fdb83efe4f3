/* The URLs of one answer of the doc index, until the addresses of their hosts are known and the
 * queues have room for them (the queues spill to a disk, which may be full). Each name is looked
 * up once; the result is valid for all URLs of the batch and forgotten with it. */
#include "base/clock.h"
#include "base/log.h"
#include "fetch/robot.h"
#include "fetch/spider/url_feed_inner.h"
#include "url/url.h"

#define AGAIN_US US_PER_S /* after the queues had no room */

/* A URL that waits. */
struct batch_url {
	struct batch_url *next;
	struct str doc_id, url;
};

struct batch_name {
	struct link link; /* of those that are being asked for, or are stuck */
	struct url_feed *feed;
	struct dns_wait wait;
	struct str host;
	struct batch_url *first, **last;
	bool is_known;
	struct robot_class class; /* where there is no address */
	struct addr addr;         /* family 0: none */
};

static void stuck_again(void *ctx);

void batch_init(struct url_feed *f)
{
	f->batch.arena = ARENA_INIT(SIZE_MAX);
	f->batch.number = 1;
	f->batch.again = (struct loop_timer){.fn = stuck_again, .ctx = f};
	list_init(&f->batch.looking);
	list_init(&f->batch.stuck);
}

void batch_clear(struct url_feed *f)
{
	LIST_EACH (struct batch_name, name, &f->batch.looking, link) {
		dns_cancel(&name->wait);
		list_remove(&name->link);
	}
	list_init(&f->batch.stuck);
	batch_names_clear(&f->batch.names);
	arena_clear(&f->batch.arena);
	f->batch.number++;
}

void batch_free(struct url_feed *f)
{
	batch_clear(f);
	loop_timer_stop(&f->batch.again);
	batch_names_free(&f->batch.names);
	arena_free(&f->batch.arena);
}

bool batch_is_over(const struct url_feed *f)
{
	return list_is_empty(&f->batch.looking) && list_is_empty(&f->batch.stuck);
}

static void name_hold(struct batch_name *name, struct str doc_id, struct str url)
{
	struct arena *arena = &name->feed->batch.arena;
	struct batch_url *u = arena_alloc(arena, sizeof *u);
	*u = (struct batch_url){.doc_id = arena_str(arena, doc_id), .url = arena_str(arena, url)};
	*name->last = u;
	name->last = &u->next;
}

static void name_stuck(struct batch_name *name, const struct err *err)
{
	struct url_feed *f = name->feed;
	list_append(&f->batch.stuck, &name->link);
	loop_timer_in(f->o.loop, &f->batch.again, AGAIN_US);
	if (f->batch.told)
		return;
	f->batch.told = true;
	log_warn(ROLE, "requests for URLs paused", KV_TEXT("why", err->msg));
}

/* Negative: there is no room for it now. */
static int url_settle(struct url_feed *f, const struct batch_name *name, struct str doc_id,
		      struct str url, struct err *err)
{
	if (name->addr.family)
		return feed_push(f, doc_id, name->host, url, &name->addr, err);
	feed_unsent(f, doc_id, url, name->class.outcome);
	return 0;
}

/* Settles the URLs that have waited, in order. */
static void name_settle(struct batch_name *name)
{
	struct err err;
	for (; name->first; name->first = name->first->next)
		if (url_settle(name->feed, name, name->first->doc_id, name->first->url, &err) < 0) {
			name_stuck(name, &err);
			return;
		}
	name->last = &name->first;
}

static void stuck_again(void *ctx)
{
	struct url_feed *f = ctx;
	struct url_batch *b = &f->batch;
	struct batch_name *name;
	while ((name = LIST_FIRST(struct batch_name, &b->stuck, link))) {
		list_remove(&name->link);
		name_settle(name);
		if (list_has(&name->link))
			return; /* there is still none */
	}
	b->told = false;
	log_info(ROLE, "requests for URLs resumed");
	feed_later(f);
}

static void name_learn(struct batch_name *name, const struct dns_result *result)
{
	name->is_known = true;
	if (result->outcome == DNS_FOUND) {
		name->addr = *robot_choose(result->addr, result->n, name->host);
		name->addr.port = 0;
	} else {
		name->class = robot_class_dns(result->outcome);
	}
}

static void name_found(void *ctx, const struct dns_result *result)
{
	struct batch_name *name = ctx;
	name_learn(name, result);
	list_remove(&name->link);
	name_settle(name);
	feed_later(name->feed);
}

static struct batch_name *name_of(struct url_feed *f, struct str host)
{
	struct url_batch *b = &f->batch;
	struct batch_name **at = batch_names_get(&b->names, host), *name;
	struct dns_result result;
	if (at)
		return *at;
	name = arena_alloc(&b->arena, sizeof *name);
	*name = (struct batch_name){.feed = f,
				    .wait = {.done = name_found, .ctx = name},
				    .host = arena_str(&b->arena, host),
				    .last = &name->first};
	*batch_names_put(&b->names, name->host) = name;
	if (dns_lookup(f->o.dns, name->host, DNS_ANY, &name->wait, &result) == 0)
		name_learn(name, &result);
	else
		list_append(&b->looking, &name->link);
	return name;
}

void batch_add(struct url_feed *f, struct str doc_id, struct str text)
{
	char room[URL_MAX];
	struct url url;
	if (url_parse(text, NULL, room, sizeof room, &url) != 0) {
		feed_unsent(f, doc_id, text, OUTCOME_PERMANENT);
		return;
	}
	struct batch_name *name = name_of(f, url.host);
	struct err err;
	if (!name->is_known || name->first) {
		name_hold(name, doc_id, text);
	} else if (url_settle(f, name, doc_id, text, &err) < 0) {
		name_hold(name, doc_id, text);
		name_stuck(name, &err);
	}
}
