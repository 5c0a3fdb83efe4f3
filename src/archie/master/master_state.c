/* The master's records, and what follows from them: when a site is tested next, and when it has
 * failed for too long. A site fails from its first failure in a row, not from its last success: a
 * master that was away for a year has seen nobody fail. */
#include "archie/master_state.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define S struct master_record
static const struct column columns[] = {
	COL("url", S, url),
	COL("number", S, number),
	COL("kind", S, kind, .most = MASTER_LEFT),
	COL("asked", S, asked_us, .unit = UNIT_TIME),
	COL("tested", S, tested_us, .unit = UNIT_TIME),
	COL("failing", S, failing_us, .unit = UNIT_TIME),
	COL("next", S, next_us, .unit = UNIT_TIME),
	COL("entries", S, entries),
	COL("failures", S, failures),
	COL("cause", S, cause),
	COL("error", S, error),
	COL("host", S, host),
	COL("reply_to", S, reply_to),
	COL("message_id", S, message_id),
	COL("sender", S, sender),
};
const struct small_table master_table = {
	.name = "archie_master",
	.row = {ROWS(S, columns)},
	.key = 2,
	.most = MASTER_ROWS,
	.writer = "archie-master",
	.loss = "requests that were not answered, and how the last test of each site went",
};
#undef S
static const struct small_table *const tables[] = {&master_table};

static int by_url(const void *a, const void *b)
{
	const struct master_record *x = a, *y = b;
	return strcmp(x->url, y->url);
}

static int by_number(const void *a, const void *b)
{
	const struct master_record *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int state_read(struct small *small, struct master_state *s, struct err *err)
{
	struct small_iter it;
	struct master_record one = {0};
	int rc;
	small_iter_init(&it, small, &master_table, NULL);
	while ((rc = small_iter_next(&it, &one, err)) == 0)
		if (one.kind == MASTER_REQUEST)
			*VEC_PUSH(s->request, s->requests, s->request_room) = one;
		else
			*VEC_PUSH(s->site, s->n, s->room) = one;
	small_iter_done(&it);
	if (s->requests)
		qsort(s->request, s->requests, sizeof *s->request, by_number);
	if (s->n)
		qsort(s->site, s->n, sizeof *s->site, by_url);
	s->number = s->requests ? s->request[s->requests - 1].number : 0;
	return MIN(rc, 0);
}

int master_state_open(const char *data, struct master_state *ret, struct err *err)
{
	*ret = (struct master_state){0};
	int rc = small_open_data(&ret->small, data, tables, ARRAY_LEN(tables), SMALL_WRITE, err);
	if (rc == 0 && small_lost(ret->small, &master_table)) /* what was read is all there is */
		rc = small_forgive(ret->small, &master_table, err);
	if (rc == 0)
		rc = state_read(ret->small, ret, err);
	if (rc < 0)
		master_state_free(ret);
	return rc;
}

int master_state_load(const char *data, struct master_state *ret, struct err *err)
{
	struct small *small = NULL;
	*ret = (struct master_state){0};
	int rc = small_open_data(&small, data, tables, ARRAY_LEN(tables), SMALL_READ, err);
	if (rc == 0)
		rc = state_read(small, ret, err);
	small_close(&small);
	if (rc < 0)
		master_state_free(ret);
	return rc;
}

int master_state_get(const char *data, struct str url, struct master_record *ret, struct err *err)
{
	struct small *small = NULL;
	*ret = (struct master_record){0};
	if (url.n > MASTER_URL)
		return 1;
	memcpy(ret->url, url.p, url.n);
	int rc = small_open_data(&small, data, tables, ARRAY_LEN(tables), SMALL_READ, err);
	if (rc == 0)
		rc = small_get(small, &master_table, ret, err);
	small_close(&small);
	return rc;
}

static int save_all(struct small *small, struct master_record *r, size_t n, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (r[i].changed)
			rc = small_put(small, &master_table, &r[i], err);
	return rc == 1 ? err_set(err, ERR_USAGE, "more than %d sites and requests", MASTER_ROWS)
		       : rc;
}

static int save_changes(struct master_state *s, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < s->ngone && rc >= 0; i++)
		rc = small_delete(s->small, &master_table, &s->gone[i], err);
	if (rc < 0 || save_all(s->small, s->request, s->requests, err) < 0)
		return -1;
	return save_all(s->small, s->site, s->n, err);
}

int master_state_save(struct master_state *s, struct err *err)
{
	if (small_begin(s->small, false, err) < 0 ||
	    small_end(s->small, save_changes(s, err), err) < 0)
		return -1;
	s->ngone = 0;
	for (size_t i = 0; i < s->requests; i++)
		s->request[i].changed = false;
	for (size_t i = 0; i < s->n; i++)
		s->site[i].changed = false;
	return 0;
}

void master_state_free(struct master_state *s)
{
	mem_free(&s->request);
	mem_free(&s->site);
	mem_free(&s->gone);
	small_close(&s->small);
	*s = (struct master_state){0};
}

/* Before it goes from memory. */
static void record_drop(struct master_state *s, const struct master_record *r)
{
	*VEC_PUSH(s->gone, s->ngone, s->gone_room) = *r;
}

/* Requests */

void master_state_ask(struct master_state *s, struct str url, const struct newsite *n,
		      int64_t now_us)
{
	struct master_record *r = VEC_PUSH(s->request, s->requests, s->request_room);
	*r = (struct master_record){.number = ++s->number,
				    .kind = MASTER_REQUEST,
				    .asked_us = now_us,
				    .turn = s->turn,
				    .changed = true};
	snprintf(r->url, sizeof r->url, STR_FMT, STR_ARG(url));
	snprintf(r->host, sizeof r->host, STR_FMT, STR_ARG(n->host));
	snprintf(r->reply_to, sizeof r->reply_to, STR_FMT, STR_ARG(n->reply_to));
	snprintf(r->message_id, sizeof r->message_id, STR_FMT, STR_ARG(n->message_id));
	snprintf(r->sender, sizeof r->sender, STR_FMT, STR_ARG(n->sender));
	str_lower(str_of(r->sender), r->sender);
}

void master_state_refuse(struct master_state *s, const struct newsite *n, const char *why,
			 int64_t now_us)
{
	master_state_ask(s, STR(""), n, now_us);
	struct master_record *r = &s->request[s->requests - 1];
	r->tested_us = now_us;
	snprintf(r->error, sizeof r->error, "%.*s", GETTER_TEXT, why);
}

void master_state_answered(struct master_state *s, size_t request)
{
	struct master_record *r = &s->request[request];
	record_drop(s, r);
	memmove(r, r + 1, (s->requests - request - 1) * sizeof *r);
	s->requests--;
}

struct master_sender {
	size_t busy;  /* requests that are under way */
	bool waits;   /* one is not */
	size_t first; /* the first of those, whose turn is that of the sender: later ones may have
			 come after it */
};
TABLE(master_senders, struct str, struct master_sender, hash64, str_eq)

size_t master_state_next(const struct master_state *s, size_t abreast,
			 master_under_way_fn *under_way, void *ctx)
{
	struct master_senders senders = {0};
	size_t next = s->requests;
	ENSURE(s->requests == 0 || s->request);
	for (size_t i = 0; i < s->requests; i++) {
		const struct master_record *r = &s->request[i];
		struct master_sender *one = master_senders_put(&senders, str_of(r->sender));
		bool is_under_way = under_way(ctx, str_of(r->url));
		one->busy += is_under_way;
		if (!is_under_way && !one->waits && !r->tested_us)
			*one = (struct master_sender){one->busy, true, i};
	}
	for (size_t i = 0; i < s->requests; i++) {
		const struct master_sender *one =
			master_senders_get(&senders, str_of(s->request[i].sender));
		if (one->waits && one->first == i && one->busy < abreast &&
		    (next == s->requests || s->request[i].turn < s->request[next].turn))
			next = i;
	}
	master_senders_free(&senders);
	return next;
}

void master_state_begun(struct master_state *s, size_t request)
{
	const char *sender = s->request[request].sender;
	s->turn++;
	for (size_t i = 0; i < s->requests; i++)
		if (strcmp(s->request[i].sender, sender) == 0)
			s->request[i].turn = s->turn;
}

/* Sites */

/* Where it is, or would be. */
static size_t site_place(const struct master_state *s, struct str url)
{
	return BISECT(i, 0, s->n, str_cmp(str_of(s->site[i].url), url) < 0);
}

struct master_record *master_state_find(const struct master_state *s, struct str url)
{
	size_t at = site_place(s, url);
	return at < s->n && str_is(url, s->site[at].url) ? &s->site[at] : NULL;
}

struct master_record *master_state_of(struct master_state *s, struct str url)
{
	struct master_record *r = master_state_find(s, url);
	if (r) {
		r->changed = true;
		return r;
	}
	ENSURE(url.n <= MASTER_URL);
	size_t at = site_place(s, url);
	(void)VEC_PUSH(s->site, s->n, s->room);
	r = &s->site[at];
	memmove(r + 1, r, (s->n - 1 - at) * sizeof *r);
	*r = (struct master_record){.kind = MASTER_REFUSED, .changed = true};
	memcpy(r->url, url.p, url.n);
	return r;
}

TABLE(master_urls, struct str, bool, hash64, str_eq)

static void drop_oldest(struct master_state *s)
{
	struct master_record *oldest = NULL;
	for (struct master_record *r = s->site; r < s->site + s->n; r++)
		if (r->kind != MASTER_LISTED && (!oldest || r->tested_us < oldest->tested_us))
			oldest = r;
	ENSURE(oldest);
	record_drop(s, oldest);
	memmove(oldest, oldest + 1, (size_t)(s->site + s->n - oldest - 1) * sizeof *oldest);
	s->n--;
}

size_t master_state_trim(struct master_state *s, const struct archie_sites *listed,
			 int64_t since_us)
{
	size_t before = s->n, kept = 0, unlisted = 0;
	struct master_urls urls = {0};
	for (size_t i = 0; i < listed->n; i++)
		*master_urls_put(&urls, listed->site[i].url) = true;
	for (size_t i = 0; i < s->n; i++) {
		const struct master_record *r = &s->site[i];
		bool stays = r->kind == MASTER_LISTED
				     ? master_urls_get(&urls, str_of(r->url)) != NULL
				     : r->tested_us >= since_us;
		if (!stays) {
			record_drop(s, r);
			continue;
		}
		unlisted += r->kind != MASTER_LISTED;
		s->site[kept++] = *r;
	}
	s->n = kept;
	master_urls_free(&urls);
	for (; unlisted > MASTER_UNLISTED_MOST; unlisted--)
		drop_oldest(s);
	return before - s->n;
}

/* When */

int64_t master_due_us(const struct master_record *record, const struct master_times *t,
		      int64_t now_us)
{
	int64_t most_us = MAX(t->retest_us, t->retry_max_us);
	if (!record || record->kind != MASTER_LISTED || record->next_us > now_us + most_us)
		return now_us;
	return record->next_us;
}

void master_note_good(struct master_record *r, uint64_t entries, const struct master_times *t,
		      int64_t now_us)
{
	r->kind = MASTER_LISTED;
	r->tested_us = now_us;
	r->failing_us = 0;
	r->next_us = now_us + t->retest_us;
	r->entries = entries;
	r->failures = 0;
	memset(r->cause, 0, sizeof r->cause);
	memset(r->error, 0, sizeof r->error);
}

static void note_cause(struct master_record *r, const char *cause, const char *why)
{
	snprintf(r->cause, sizeof r->cause, "%.*s", GETTER_CAUSE, cause);
	snprintf(r->error, sizeof r->error, "%.*s", GETTER_TEXT, why);
}

void master_note_failed(struct master_record *r, const char *cause, const char *why,
			const struct master_times *t, int64_t now_us)
{
	/* a first failure that is still to come was seen by a clock that was wrong */
	if (!r->failing_us || r->failing_us > now_us)
		r->failing_us = now_us;
	r->tested_us = now_us;
	r->failures++;
	r->next_us = now_us + backoff_us(r->failures, t->retry_min_us, t->retry_max_us);
	note_cause(r, cause, why);
}

void master_note_refused(struct master_record *r, const char *cause, const char *why,
			 int64_t now_us)
{
	r->kind = MASTER_REFUSED;
	r->tested_us = now_us;
	note_cause(r, cause, why);
}

void master_record_say(const struct master_record *r, struct buf *out)
{
	buf_add_text(out, r->url);
	if (r->kind == MASTER_LISTED) {
		buf_add_text(out, " is in the list of sites");
		if (r->entries)
			buf_printf(out, "; its listing has %" PRIu64 " entries", r->entries);
		return;
	}
	buf_printf(out, " is not %s the list of sites: %s, %s",
		   r->kind == MASTER_LEFT ? "any more in" : "taken into", r->cause, r->error);
}

bool master_is_over(const struct master_record *r, const struct master_times *t, int64_t now_us)
{
	return r->failing_us && now_us - r->failing_us >= t->leave_us;
}
