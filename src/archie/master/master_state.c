/* The file of what the master remembers, and what follows from it: when a site is tested next, and
 * when it has failed for too long. A site fails from its first failure in a row on, not from its
 * last success: a master that was away for a year has seen nobody fail. */
#include "archie/master_state.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/rows.h"
#include "base/table.h"
#include "base/vec.h"
#include "disk/small_file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATE_MOST = 128 << 20 };

static const struct column fields[] = {
	COL("", struct master_record, url),
	COL("kind", struct master_record, kind),
	COL("asked", struct master_record, asked_us, .unit = UNIT_TIME),
	COL("tested", struct master_record, tested_us, .unit = UNIT_TIME),
	COL("failing", struct master_record, failing_us, .unit = UNIT_TIME),
	COL("next", struct master_record, next_us, .unit = UNIT_TIME),
	COL("entries", struct master_record, entries),
	COL("failures", struct master_record, failures),
	COL("cause", struct master_record, cause),
	COL("error", struct master_record, error),
	COL("host", struct master_record, host),
	COL("reply_to", struct master_record, reply_to),
	COL("message_id", struct master_record, message_id),
	COL("sender", struct master_record, sender),
};
static const struct rows record_fields = {ROWS(struct master_record, fields),
					  .what = "a site or a request", .many = true};

const struct format master_format = {
	.name = "archie-master",
	.file = "archie/master/tests",
	.magic = "GARNERAM",
	.version = 2,
	.help = "requests for new sites, and how the last test of each site went",
	.remedy = "remove it; requests that were not answered are lost, and all sites tested anew",
	.fields = &record_fields,
};

/* The file */

static void state_path(const char *folder, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/tests", folder);
}

static int by_url(const void *a, const void *b)
{
	const struct master_record *x = a, *y = b;
	return strcmp(x->url, y->url);
}

int master_state_load(const char *folder, struct master_state *ret, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf room = BUF_INIT(STATE_MOST);
	struct master_record one;
	struct str payload;
	*ret = (struct master_state){0};
	state_path(folder, path);
	int rc = small_file_read(path, &master_format, &room, &payload, err);
	if (rc != 0)
		return rc;
	struct reader r = reader_of(payload);
	while ((rc = rows_next(&record_fields, &r, &one, err)) == 0)
		if (one.kind == MASTER_REQUEST)
			*VEC_PUSH(ret->request, ret->requests, ret->request_room) = one;
		else
			*VEC_PUSH(ret->site, ret->n, ret->room) = one;
	if (rc < 0) {
		master_state_free(ret);
		return err_in(err, "%s", path);
	}
	if (ret->n)
		qsort(ret->site, ret->n, sizeof *ret->site, by_url);
	return 0;
}

int master_state_save(const char *folder, const struct master_state *s, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf out = BUF_INIT(STATE_MOST);
	state_path(folder, path);
	for (size_t i = 0; i < s->requests; i++)
		rows_write(&record_fields, &s->request[i], &out);
	for (size_t i = 0; i < s->n; i++)
		rows_write(&record_fields, &s->site[i], &out);
	if (out.over)
		return err_set(err, ERR_USAGE, "%s: it would be larger than %d bytes", path,
			       STATE_MOST);
	return small_file_write(path, &master_format, buf_str(&out), err);
}

void master_state_free(struct master_state *s)
{
	mem_free(&s->request);
	mem_free(&s->site);
	*s = (struct master_state){0};
}

/* Requests */

void master_state_ask(struct master_state *s, struct str url, const struct newsite *n,
		      int64_t now_us)
{
	struct master_record *r = VEC_PUSH(s->request, s->requests, s->request_room);
	*r = (struct master_record){.kind = MASTER_REQUEST, .asked_us = now_us, .turn = s->turn};
	snprintf(r->url, sizeof r->url, STR_FMT, STR_ARG(url));
	snprintf(r->host, sizeof r->host, STR_FMT, STR_ARG(n->host));
	snprintf(r->reply_to, sizeof r->reply_to, STR_FMT, STR_ARG(n->reply_to));
	snprintf(r->message_id, sizeof r->message_id, STR_FMT, STR_ARG(n->message_id));
	snprintf(r->sender, sizeof r->sender, STR_FMT, STR_ARG(n->sender));
	for (char *c = r->sender; *c; c++)
		*c = ascii_lower(*c);
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
	size_t from = 0, to = s->n;
	while (from < to) {
		size_t at = from + (to - from) / 2;
		if (str_cmp(str_of(s->site[at].url), url) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

struct master_record *master_state_find(const struct master_state *s, struct str url)
{
	size_t at = site_place(s, url);
	return at < s->n && str_is(url, s->site[at].url) ? &s->site[at] : NULL;
}

struct master_record *master_state_of(struct master_state *s, struct str url)
{
	struct master_record *r = master_state_find(s, url);
	if (r)
		return r;
	ENSURE(url.n <= MASTER_URL);
	size_t at = site_place(s, url);
	(void)VEC_PUSH(s->site, s->n, s->room);
	r = &s->site[at];
	memmove(r + 1, r, (s->n - 1 - at) * sizeof *r);
	*r = (struct master_record){.kind = MASTER_REFUSED};
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
		if (!stays)
			continue;
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
