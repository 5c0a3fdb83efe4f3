/* The URLs of one answer of the doc index, until the addresses of their hosts are known. Each name
 * is asked for once; what it said holds for all URLs of the batch, and is forgotten with it. */
#include "fetch/robot_inner.h"
#include "fetch/url_feed_inner.h"
#include "url/url.h"

/* A URL that waits for the address of its host. */
struct batch_url {
	struct batch_url *next;
	struct str doc_id, url;
};

struct batch_name {
	struct link link; /* of those that are being asked for */
	struct url_feed *feed;
	struct dns_wait wait;
	struct str host;
	struct batch_url *first, **last;
	bool is_known;
	struct robot_class class; /* where there is no address */
	struct addr addr;         /* family 0: none */
};

void batch_init(struct url_feed *f)
{
	f->batch.arena = ARENA_INIT(SIZE_MAX);
	f->batch.number = 1;
	list_init(&f->batch.looking);
}

void batch_clear(struct url_feed *f)
{
	LIST_EACH (struct batch_name, name, &f->batch.looking, link) {
		dns_cancel(&name->wait);
		list_remove(&name->link);
	}
	batch_names_clear(&f->batch.names);
	arena_clear(&f->batch.arena);
	f->batch.number++;
}

void batch_free(struct url_feed *f)
{
	batch_clear(f);
	batch_names_free(&f->batch.names);
	arena_free(&f->batch.arena);
}

bool batch_is_over(const struct url_feed *f)
{
	return list_is_empty(&f->batch.looking);
}

static void url_settle(struct url_feed *f, const struct batch_name *name, struct str doc_id,
		       struct str url)
{
	if (name->addr.family)
		feed_push(f, doc_id, name->host, url, &name->addr);
	else
		feed_unsent(f, doc_id, url, name->class.outcome);
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
	struct url_feed *f = name->feed;
	name_learn(name, result);
	list_remove(&name->link);
	for (const struct batch_url *u = name->first; u; u = u->next)
		url_settle(f, name, u->doc_id, u->url);
	feed_later(f);
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
	if (name->is_known) {
		url_settle(f, name, doc_id, text);
		return;
	}
	struct batch_url *u = arena_alloc(&f->batch.arena, sizeof *u);
	u->doc_id = arena_str(&f->batch.arena, doc_id);
	u->url = arena_str(&f->batch.arena, text);
	*name->last = u;
	name->last = &u->next;
}
