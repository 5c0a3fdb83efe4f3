/* What is known of one URL: the index and the site of the newest state, the journals and changes of
 * all that are kept, the contributions that wait, the log of forgotten URLs. Each is asked so that
 * the answer does not take longer when the crawl is larger, but for what nothing finds by its
 * footprint: the journal of the open state, contributions (of which there is a limit), sites (which
 * are few) and `gone`. */
#include "state/why.h"

#include "base/clock.h"
#include "state/places.h"

#include <stdio.h>

enum { DECISIONS_FIRST = 16 };

struct whying {
	struct states *s;
	struct footprint fp;
	uint64_t contribs; /* that may still be looked at */
	struct arena *arena;
	const char *state; /* that is being read */
	size_t room;
	struct why why;
};

static struct why_decision *why_add(struct whying *w)
{
	struct why *a = &w->why;
	if (a->decisions == w->room) {
		w->room = MAX(2 * w->room, (size_t)DECISIONS_FIRST);
		struct why_decision *more = arena_array(w->arena, w->room, sizeof *more);
		if (a->decisions)
			memcpy(more, a->decision, a->decisions * sizeof *more);
		a->decision = more;
	}
	struct why_decision *d = &a->decision[a->decisions++];
	*d = (struct why_decision){0};
	snprintf(d->state, sizeof d->state, "%s", w->state);
	return d;
}

static int why_hear(void *ctx, const struct journal_entry *entry, const struct change *change,
		    struct err *err)
{
	struct whying *w = ctx;
	struct why_decision *d = why_add(w);
	(void)err;
	if (change) {
		d->time_us = change->time_us;
		d->by = change->by;
		d->op = change->op;
		d->forgotten = change->forgotten;
		d->reason = arena_str(w->arena, change->reason);
		return 0;
	}
	d->time_us = entry->time_us;
	d->by = PHASE_REAP;
	d->op = entry->op;
	d->type = entry->type;
	d->code = entry->code;
	d->reason = arena_str(w->arena, entry->reason);
	if (entry->time_us < w->why.last.time_us)
		return 0;
	w->why.last = *entry;
	snprintf(w->why.reason, sizeof w->why.reason, "%.*s", (int)MIN(entry->reason.n, 250),
		 entry->reason.p);
	w->why.last.url = w->why.last.reason = (struct str){0};
	return 0;
}

static int why_read_contribs(struct whying *w, struct record_reader *in, struct err *err)
{
	unsigned char key[FOOTPRINT_KEY];
	struct record record;
	int rc = 0;
	footprint_key(w->fp, key);
	while (w->why.known == WHY_NEVER && w->contribs &&
	       (rc = record_next(in, &record, err)) == 0) {
		w->contribs--;
		w->why.passed++;
		if (record.payload.n >= sizeof key &&
		    memcmp(record.payload.p, key, sizeof key) == 0)
			w->why.known = WHY_FOUND;
	}
	return rc;
}

/* Of all rounds that no merge has taken. `passed` stays where there are more. */
static int why_seek_contrib(struct whying *w, struct state *st, struct err *err)
{
	int rc = 0;
	for (unsigned round = 0; rc == 0 && round < CONTRIB_ROUNDS; round++) {
		struct record_reader *in = NULL;
		rc = state_contribs(st, round, &in, err);
		if (rc == 0 && in)
			rc = MIN(why_read_contribs(w, in, err), 0);
		record_reader_free(&in);
	}
	if (w->contribs || w->why.known != WHY_NEVER)
		w->why.passed = 0;
	return MIN(rc, 0);
}

static int why_find_site(struct whying *w, struct state *st, uint64_t fp, struct site *ret,
			 bool *ret_known, struct err *err)
{
	struct sites_scan *scan = NULL;
	const struct site *site = NULL;
	int rc = state_sites_scan(st, &scan, err);
	if (rc == 0)
		rc = sites_scan_find(scan, fp, &site, err);
	*ret_known = rc == 0;
	if (rc == 0) {
		*ret = *site;
		ret->host = arena_str(w->arena, site->host);
	}
	sites_scan_free(&scan);
	return MIN(rc, 0);
}

/* What the newest state has of it. */
static int why_stand(struct whying *w, struct state *st, struct err *err)
{
	const struct url_index *index;
	struct why *a = &w->why;
	snprintf(a->state, sizeof a->state, "%s", state_name(st));
	if (state_index(st, &index, err) < 0)
		return -1;
	int rc = url_index_find(index, w->fp, &a->item, err);
	if (rc == 0)
		a->known = WHY_KNOWN;
	if (rc >= 0)
		rc = why_find_site(w, st, w->fp.site, &a->site, &a->site_known, err);
	if (rc >= 0 && a->site_known && a->site.norm != a->site.fp)
		rc = why_find_site(w, st, a->site.norm, &a->class, &a->class_known, err);
	if (rc < 0 || state_phase(st) == PHASE_CLOSED)
		return MIN(rc, 0); /* what it has in contrib was merged, or was not wanted */
	return why_seek_contrib(w, st, err);
}

static int why_read_state(struct whying *w, const char *name, bool newest, struct err *err)
{
	CLEANUP(state_free) struct state *st = NULL;
	int rc = state_open(&st, w->s, name, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0; /* it went away meanwhile */
	w->state = name;
	if (state_entries(st, w->fp, why_hear, w, err) < 0)
		return -1;
	return newest ? why_stand(w, st, err) : 0;
}

static int why_read_all(struct whying *w, struct err *err)
{
	struct state_info *info;
	struct why *a = &w->why;
	size_t n;
	if (states_list(w->s, clock_wall_us(), w->arena, &info, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!info[i].damaged && why_read_state(w, info[i].name, i + 1 == n, err) < 0)
			return -1;
	if (a->known != WHY_NEVER && a->known != WHY_FOUND)
		return 0;
	int rc = gone_find(states_path(w->s, w->arena, "gone"), w->fp, &a->gone, &a->remembered_us,
			   err);
	if (rc == 0 && a->known == WHY_NEVER)
		a->known = WHY_GONE;
	return MIN(rc, 0);
}

int why_ask(const char *data, const struct url *url, uint64_t contribs, struct arena *arena,
	    struct why *ret, struct err *err)
{
	CLEANUP(states_close) struct states *s = NULL;
	int rc = states_open(&s, arena_printf(arena, "%s/shepherd", data), false, err);
	if (rc != 0)
		return rc;
	struct whying w = {.s = s, .fp = footprint_of(url), .contribs = contribs, .arena = arena};
	if (why_read_all(&w, err) < 0)
		return -1;
	*ret = w.why;
	return 0;
}
