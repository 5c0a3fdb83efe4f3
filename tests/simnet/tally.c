#include "simnet/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 20, SAMPLE_TEXT = 200, STATUSES = 1000 };

struct counts {
	uint64_t requests, robots, overlaps, short_gaps, disallowed, early;
	int64_t min_gap_us, first_us; /* min_gap_us: INT64_MAX before the second request */
	int64_t last_us, before_us;   /* the latest two starts */
	int64_t not_before_us;
	struct tally_mark *flying; /* in flight */
};

struct sample {
	const char *what;
	uint32_t address;
	int64_t gap_us;
	char url[SAMPLE_TEXT];
};

struct tally {
	int64_t delay_us, least_us;
	bool (*gone)(void *owner);
	uint32_t n;
	uint64_t connections, bytes, queries, wrong_host, unanswered;
	uint64_t status[STATUSES];
	struct sample sample[SAMPLES];
	size_t nsamples;
	struct counts at[];
};

static void forget(struct tally *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->at[i] = (struct counts){.min_gap_us = INT64_MAX, .flying = t->at[i].flying};
	t->connections = t->bytes = t->queries = t->wrong_host = t->unanswered = 0;
	memset(t->status, 0, sizeof t->status);
	t->nsamples = 0;
}

struct tally *tally_new(uint32_t addresses, int64_t delay_us, bool (*gone)(void *owner))
{
	struct tally *t = mem_alloc(sizeof *t + addresses * sizeof t->at[0]);
	t->n = addresses;
	t->delay_us = delay_us;
	t->least_us = delay_us - delay_us / 100;
	t->gone = gone;
	forget(t);
	return t;
}

void tally_free(struct tally **t)
{
	mem_free(t);
}

void tally_reset(struct tally *t)
{
	forget(t);
}

static void note(struct tally *t, const char *what, const struct tally_start *s, int64_t gap_us)
{
	if (t->nsamples == SAMPLES)
		return;
	struct sample *sample = &t->sample[t->nsamples++];
	*sample = (struct sample){.what = what, .address = s->address, .gap_us = gap_us};
	snprintf(sample->url, sizeof sample->url, STR_FMT, STR_ARG(s->url));
}

static void leave(struct tally *t, struct tally_mark *mark)
{
	struct counts *c = &t->at[mark->address];
	if (mark->prev)
		mark->prev->next = mark->next;
	else
		c->flying = mark->next;
	if (mark->next)
		mark->next->prev = mark->prev;
	*mark = (struct tally_mark){.owner = mark->owner};
}

/* Whether another request is really in flight; those whose client has gone are ended here. */
static bool overlaps(struct tally *t, struct counts *c)
{
	struct tally_mark *mark = c->flying, *after;
	bool some = false;
	for (; mark; mark = after) {
		after = mark->next;
		if (t->gone(mark->owner))
			tally_end(t, mark, 0, 0);
		else
			some = true;
	}
	return some;
}

/* To the start next to it. A simnet that had no time for a while may read a request after one that
 * was sent later. */
static int64_t gap_of_start(const struct counts *c, int64_t at_us)
{
	if (at_us >= c->last_us)
		return at_us - c->last_us;
	int64_t gap_us = c->last_us - at_us;
	return c->requests > 1 ? MIN(gap_us, llabs(at_us - c->before_us)) : gap_us;
}

static void note_start(struct counts *c, int64_t at_us)
{
	c->before_us = at_us > c->last_us ? c->last_us : MAX(c->before_us, at_us);
	c->last_us = MAX(c->last_us, at_us);
}

static void look_at_gap(struct tally *t, struct counts *c, const struct tally_start *s)
{
	int64_t gap_us = gap_of_start(c, s->at_us);
	c->min_gap_us = MIN(c->min_gap_us, gap_us);
	if (gap_us < t->least_us) {
		c->short_gaps++;
		note(t, "short gap", s, gap_us);
	}
}

void tally_begin(struct tally *t, struct tally_mark *mark, const struct tally_start *s)
{
	struct counts *c = &t->at[s->address];
	/* sent before the others, and left before we read it */
	bool is_past = s->at_us < c->last_us && t->gone(mark->owner);
	if (s->pipelined || (c->flying && !is_past && overlaps(t, c))) {
		c->overlaps++;
		note(t, "overlap", s, s->at_us - c->last_us);
	}
	if (c->requests > 0)
		look_at_gap(t, c, s);
	else
		c->first_us = s->at_us;
	if (s->disallowed) {
		c->disallowed++;
		note(t, "disallowed", s, 0);
	}
	if (s->at_us < c->not_before_us) {
		c->early++;
		note(t, "before Retry-After", s, s->at_us - c->not_before_us);
	}
	c->requests++;
	c->robots += s->robots;
	note_start(c, s->at_us);
	mark->address = s->address;
	mark->set = true;
	mark->prev = NULL;
	mark->next = c->flying;
	if (c->flying)
		c->flying->prev = mark;
	c->flying = mark;
}

void tally_end(struct tally *t, struct tally_mark *mark, int status, uint64_t bytes)
{
	if (!mark->set)
		return;
	leave(t, mark);
	if (status > 0 && status < STATUSES)
		t->status[status]++;
	else
		t->unanswered++;
	t->bytes += bytes;
}

void tally_not_before(struct tally *t, uint32_t address, int64_t at_us)
{
	t->at[address].not_before_us = at_us;
}

void tally_connection(struct tally *t)
{
	t->connections++;
}

void tally_wrong_host(struct tally *t)
{
	t->wrong_host++;
}

void tally_query(struct tally *t)
{
	t->queries++;
}

static void put_address(struct jsonw *j, const char *key, uint32_t address)
{
	char text[20];
	snprintf(text, sizeof text, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
		 address >> 8 & 255, address & 255);
	jsonw_put_text(j, key, text);
}

static void put_counts(struct jsonw *j, const struct counts *c)
{
	jsonw_put_uint(j, "requests", c->requests);
	jsonw_put_uint(j, "robots", c->robots);
	jsonw_put_uint(j, "overlaps", c->overlaps);
	jsonw_put_uint(j, "short_gaps", c->short_gaps);
	jsonw_put_uint(j, "disallowed", c->disallowed);
	jsonw_put_uint(j, "early", c->early);
	jsonw_key(j, "min_gap_us");
	if (c->min_gap_us == INT64_MAX)
		jsonw_null(j);
	else
		jsonw_int(j, c->min_gap_us);
	jsonw_put_int(j, "span_us", c->last_us - c->first_us);
}

static struct counts total(const struct tally *t, uint64_t *ret_touched)
{
	struct counts sum = {.min_gap_us = INT64_MAX, .first_us = INT64_MAX};
	*ret_touched = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct counts *c = &t->at[i];
		if (c->requests == 0)
			continue;
		++*ret_touched;
		sum.requests += c->requests;
		sum.robots += c->robots;
		sum.overlaps += c->overlaps;
		sum.short_gaps += c->short_gaps;
		sum.disallowed += c->disallowed;
		sum.early += c->early;
		sum.min_gap_us = MIN(sum.min_gap_us, c->min_gap_us);
		sum.first_us = MIN(sum.first_us, c->first_us);
		sum.last_us = MAX(sum.last_us, c->last_us);
	}
	if (sum.first_us == INT64_MAX)
		sum.first_us = 0;
	return sum;
}

static void put_samples(const struct tally *t, uint32_t network, struct jsonw *j)
{
	jsonw_key(j, "samples");
	jsonw_array(j);
	for (size_t i = 0; i < t->nsamples; i++) {
		jsonw_object(j);
		jsonw_put_text(j, "what", t->sample[i].what);
		put_address(j, "address", network + 1 + t->sample[i].address);
		jsonw_put_int(j, "gap_us", t->sample[i].gap_us);
		jsonw_put_text(j, "url", t->sample[i].url);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void put_each(const struct tally *t, uint32_t network, struct jsonw *j)
{
	jsonw_key(j, "each");
	jsonw_array(j);
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->at[i].requests == 0)
			continue;
		jsonw_object(j);
		put_address(j, "address", network + 1 + i);
		put_counts(j, &t->at[i]);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void tally_report(const struct tally *t, uint32_t network, bool each, struct jsonw *j)
{
	uint64_t touched;
	struct counts sum = total(t, &touched);
	char key[8];
	jsonw_put_int(j, "delay_us", t->delay_us);
	jsonw_put_uint(j, "violations", sum.overlaps + sum.short_gaps);
	put_counts(j, &sum);
	jsonw_put_uint(j, "addresses", touched);
	jsonw_put_uint(j, "connections", t->connections);
	jsonw_put_uint(j, "unanswered", t->unanswered);
	jsonw_put_uint(j, "wrong_host", t->wrong_host);
	jsonw_put_uint(j, "bytes", t->bytes);
	jsonw_put_uint(j, "dns_queries", t->queries);
	jsonw_key(j, "status");
	jsonw_object(j);
	for (int i = 0; i < STATUSES; i++)
		if (t->status[i]) {
			snprintf(key, sizeof key, "%d", i);
			jsonw_put_uint(j, key, t->status[i]);
		}
	jsonw_object_end(j);
	put_samples(t, network, j);
	if (each)
		put_each(t, network, j);
}
