/* The URL feed: queues, requests to the doc index, outcomes. In document 003's words: a queue of
 * hostq.h is Host(n), hostq.c keeps the leftovers, and the slot and turn of a job are the
 * TRANS_ID.
 *
 * A payload in the queues is the line for a spider without its TRANS_ID, so that it can be sent as
 * it is. DOC_ID and URL are cut out of it for the report. */
#include "base/clock.h"
#include "base/log.h"
#include "fetch/kit.h"
#include "fetch/spider/url_feed_inner.h"

#include <stdio.h>

enum {
	BATCH_MAX = 10000,
	LEFTOVERS_MAX = 200000, /* a doc index that sends what was rejected is not asked for more */
};

void feed_later(struct url_feed *f)
{
	loop_later(f->o.loop, &f->pump);
}

/* Places. */

static uint64_t name_id(qkey key, struct str host)
{
	return hash64_seeded(host, key);
}

static void place_add_name(struct url_feed *f, struct place *p, struct str host)
{
	uint64_t id = name_id(p->key, host);
	bool is_new;
	struct place_name **at = place_names_put_new(&f->names, id, &is_new);
	if (!is_new)
		return;
	struct place_name *name = mem_alloc(sizeof *name + host.n);
	memcpy(name->text, host.p, host.n);
	name->n = host.n;
	name->id = id;
	name->next = p->names;
	p->names = *at = name;
}

static struct place *place_of(struct url_feed *f, qkey key)
{
	bool is_new;
	struct place **at = places_put_new(&f->places, key, &is_new);
	if (is_new) {
		*at = mem_alloc(sizeof **at);
		**at = (struct place){.key = key};
	}
	return *at;
}

static void place_free(struct url_feed *f, struct place *p)
{
	for (struct place_name *n = p->names, *next; n; n = next) {
		next = n->next;
		place_names_remove(&f->names, n->id);
		mem_free(&n);
	}
	spider_leave(p);
	mem_free(&p);
}

int feed_push(struct url_feed *f, struct str doc_id, struct str host, struct str url,
	      const struct addr *addr, struct err *err)
{
	char ip[ADDR_SHOWN], line[DOCINDEX_WORD_MAX + ADDR_SHOWN + DOCINDEX_URL_MAX + 2];
	struct place *p = place_of(f, kit_qkey(addr));
	int n = snprintf(line, sizeof line, STR_FMT " %s " STR_FMT, STR_ARG(doc_id),
			 addr_print(addr, ip), STR_ARG(url));
	ENSURE(n > 0 && (size_t)n < sizeof line);
	if (hostq_push(f->queues, p->key, 0, (struct str){line, (size_t)n}, 0, err) < 0)
		return -1;
	place_add_name(f, p, host);
	p->batch_urls = p->batch == f->batch.number ? p->batch_urls + 1 : 1;
	p->batch = f->batch.number;
	if (p->urls++ == 0)
		spider_choose(f, p);
	feed_later(f);
	return 0;
}

/* Outcomes. */

static void feed_report(struct url_feed *f, struct str doc_id, struct str url, unsigned outcome)
{
	held_urls_remove(&f->held, hash64(doc_id));
	f->index->ops->done(f->index, doc_id, url, outcome);
}

void feed_unsent(struct url_feed *f, struct str doc_id, struct str url, enum outcome outcome)
{
	f->counts.unsent++;
	feed_report(f, doc_id, url, outcome);
}

/* A spider that does not say how it went tells nothing about the server. */
void feed_done(struct url_feed *f, const struct hostq_job *job, unsigned outcome)
{
	struct str url = job->payload, doc_id, ip;
	struct place *p = *places_get(&f->places, job->key);
	enum outcome learned = outcome == DOCINDEX_DONE ? OUTCOME_CANCELLED : (enum outcome)outcome;
	ENSURE(str_cut(&url, ' ', &doc_id) == 0 && str_cut(&url, ' ', &ip) == 0);
	f->counts.done++;
	feed_report(f, doc_id, url, outcome);
	(void)hostq_done(f->queues, job, learned, loop_now_us(f->o.loop));
	if (--p->urls == 0)
		spider_leave(p);
	feed_later(f);
}

/* The doc index. */

static bool place_is_rejected(const struct url_feed *f, const struct place *p)
{
	uint64_t length = f->o.queues.length;
	return (length && p->urls >= length) ||
	       (p->batch == f->batch.number && p->batch_urls > f->o.max_per_address);
}

/* Names of full queues, and all names on addresses that had too many URLs in the last batch. What
 * has no URLs is forgotten. */
static size_t rejects_list(struct url_feed *f, struct arena *arena, struct str **ret)
{
	struct str *list = NULL;
	size_t n = 0, room = 0;
	TABLE_EACH (places, slot, &f->places) {
		struct place *p = slot->value;
		if (place_is_rejected(f, p))
			for (const struct place_name *name = p->names; name; name = name->next)
				*ARENA_PUSH(arena, list, n, room) =
					arena_str(arena, (struct str){name->text, name->n});
		if (p->urls == 0) {
			places_remove(&f->places, slot->key);
			place_free(f, p);
		}
	}
	*ret = list;
	return n;
}

/* How many of them go out. URLs of the others will come, and are left over. */
static size_t rejects_bound(struct url_feed *f, size_t n)
{
	size_t most = f->o.rejects_max;
	if (n <= most)
		return n;
	f->counts.unlisted += n - most;
	if (!f->told_rejects)
		log_warn(ROLE, "reject list too long for a request; URLs of some rejected names "
			       "will come");
	f->told_rejects = true;
	return most;
}

static uint64_t batch_size(const struct url_feed *f, const struct hostq_counts *c)
{
	const struct hostq_options *o = &f->o.queues;
	uint64_t queues = o->queues > c->active ? o->queues - c->active : 1;
	uint64_t length = o->length ? o->length : BATCH_MAX;
	return MIN(queues * MIN(length, (uint64_t)BATCH_MAX), (uint64_t)BATCH_MAX);
}

static void feed_ask(struct url_feed *f)
{
	int64_t wait_us = f->ask_us - loop_now_us(f->o.loop);
	struct hostq_counts c;
	struct str *rejects;
	if (f->asked || !hostq_wants_more(f->queues) || !batch_is_over(f))
		return;
	if (wait_us > 0) {
		loop_timer_in(f->o.loop, &f->ask, wait_us);
		return;
	}
	hostq_count(f->queues, &c);
	if (c.leftovers > LEFTOVERS_MAX)
		return;
	struct arena arena = ARENA_INIT(1 << 30);
	size_t n = rejects_list(f, &arena, &rejects);
	batch_clear(f);
	f->asked = true;
	f->counts.requests++;
	f->index->ops->want(f->index, batch_size(f, &c), rejects, rejects_bound(f, n));
	arena_free(&arena);
}

static void index_url(void *ctx, struct str doc_id, struct str url)
{
	struct url_feed *f = ctx;
	bool is_new;
	*held_urls_put_new(&f->held, hash64(doc_id), &is_new) = true;
	if (is_new) {
		f->counts.urls++;
		batch_add(f, doc_id, url);
	} else {
		f->counts.duplicates++;
	}
}

static void index_have(void *ctx, uint64_t urls, int64_t wait_us)
{
	struct url_feed *f = ctx;
	f->asked = false;
	f->ask_us = urls ? 0 : loop_now_us(f->o.loop) + wait_us;
	feed_later(f);
}

/* Sends everything that may go now. */
static void feed_pump(void *ctx)
{
	struct url_feed *f = ctx;
	int64_t now_us = loop_now_us(f->o.loop), wait_us = INT64_MAX;
	struct hostq_job job;
	struct err err;
	int rc;
	while ((rc = hostq_take(f->queues, now_us, &job, &wait_us, &err)) != 1)
		if (rc < 0)
			log_warn(ROLE, "reading the queues failed", KV_TEXT("why", err.msg));
		else
			spider_send(f, *places_get(&f->places, job.key), &job, now_us);
	if (wait_us != INT64_MAX)
		loop_timer_in(f->o.loop, &f->take, wait_us);
	feed_ask(f);
}

/* Beginning and end. */

int url_feed_new(struct url_feed **ret, const struct url_feed_options *o, struct err *err)
{
	struct url_feed *f = mem_alloc(sizeof *f);
	*f = (struct url_feed){.o = *o,
			       .host = {index_url, index_have, f},
			       .pool = conn_pool_new(o->loop, UINT64_MAX),
			       .pump = {.fn = feed_pump, .ctx = f},
			       .take = {.fn = feed_pump, .ctx = f},
			       .ask = {.fn = feed_pump, .ctx = f}};
	list_init(&f->by_time);
	batch_init(f);
	if (hostq_new(&f->queues, &o->queues, err) < 0 || spiders_open(f, err) < 0) {
		url_feed_free(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

void url_feed_free(struct url_feed **fp)
{
	struct url_feed *f = *fp;
	if (!f)
		return;
	batch_free(f);
	TABLE_EACH (places, slot, &f->places)
		place_free(f, slot->value);
	places_free(&f->places);
	spiders_close(f);
	loop_later_cancel(&f->pump);
	loop_timer_stop(&f->take);
	loop_timer_stop(&f->ask);
	loop_timer_stop(&f->overdue);
	conn_pool_free(&f->pool);
	place_names_free(&f->names);
	held_urls_free(&f->held);
	homes_free(&f->homes);
	for (size_t i = 0; i < f->nsent; i++)
		mem_free(&f->sent[i]);
	mem_free(&f->sent);
	hostq_free(&f->queues);
	mem_free(fp);
}

const struct docindex_host *url_feed_host(const struct url_feed *f)
{
	return &f->host;
}

void url_feed_start(struct url_feed *f, struct docindex *index)
{
	f->index = index;
	feed_later(f);
}

void url_feed_count(const struct url_feed *f, struct url_feed_counts *ret)
{
	struct hostq_counts c;
	hostq_count(f->queues, &c);
	*ret = f->counts;
	ret->waiting = c.urls;
	ret->out = c.out;
	ret->queues = c.active;
	ret->leftovers = c.leftovers;
	for (size_t i = 0; i < f->o.nspiders; i++)
		ret->spiders_up += f->spider[i].up;
}
