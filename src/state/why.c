/* What is known of one URL: the index of the newest state, the journals of all that are kept, the
 * contributions that wait, the log of forgotten URLs. Journals are read from end to end, because
 * nothing finds an entry by its footprint yet. */
#include "state/why.h"

#include "base/clock.h"

#include <stdio.h>

/* What a state's journal says of the URL; the last one counts. */
static int why_read_journal(struct state *st, struct footprint fp, struct why *w, struct err *err)
{
	struct record_reader *in;
	struct record record;
	int rc = state_read(st, "journal", &in, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while ((rc = record_next(in, &record, err)) == 0) {
		struct journal_entry e;
		if (journal_read(record.payload, &e, err) < 0 || footprint_cmp(e.fp, fp) != 0 ||
		    e.time_us < w->last.time_us)
			continue;
		w->last = e;
		snprintf(w->reason, sizeof w->reason, "%.*s", (int)MIN(e.reason.n, 250),
			 e.reason.p);
		w->last.url = w->last.reason = (struct str){0};
	}
	record_reader_free(&in);
	return rc < 0 ? -1 : 0;
}

static int why_read_contrib(struct state *st, struct footprint fp, struct why *w, struct err *err)
{
	struct record_reader *in;
	struct record record;
	int rc = state_read(st, "contrib", &in, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while (w->known == WHY_NEVER && (rc = record_next(in, &record, err)) == 0) {
		struct contrib c;
		if (contrib_read(record.payload, &c, err) == 0 && footprint_cmp(c.fp, fp) == 0)
			w->known = WHY_FOUND;
	}
	record_reader_free(&in);
	return rc < 0 ? -1 : 0;
}

static int why_read_state(struct states *s, const char *name, bool newest, struct footprint fp,
			  struct why *w, struct err *err)
{
	CLEANUP(state_free) struct state *st = NULL;
	const struct url_index *index;
	int rc = state_open(&st, s, name, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0; /* it went away meanwhile */
	if (why_read_journal(st, fp, w, err) < 0)
		return -1;
	if (!newest)
		return 0;
	snprintf(w->state, sizeof w->state, "%s", state_name(st));
	if (state_index(st, &index, err) < 0)
		return -1;
	rc = url_index_find(index, fp, &w->item, err);
	if (rc == 0)
		w->known = WHY_KNOWN;
	return rc < 0 ? -1 : why_read_contrib(st, fp, w, err);
}

int why_ask(const char *data, const struct url *url, struct why *ret, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	CLEANUP(states_close) struct states *s = NULL;
	struct state_info *info;
	struct footprint fp = footprint_of(url);
	struct why w = {0};
	size_t n;
	int rc = states_open(&s, arena_printf(&arena, "%s/shepherd", data), false, err);
	if (rc != 0)
		return rc;
	if (states_list(s, clock_wall_us(), &arena, &info, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!info[i].damaged &&
		    why_read_state(s, info[i].name, i + 1 == n, fp, &w, err) < 0)
			return -1;
	if (w.known == WHY_NEVER || w.known == WHY_FOUND) {
		rc = gone_find(states_path(s, &arena, "gone"), fp, &w.gone, &w.remembered_us, err);
		if (rc < 0)
			return -1;
		if (rc == 0 && w.known == WHY_NEVER)
			w.known = WHY_GONE;
	}
	*ret = w;
	return 0;
}
