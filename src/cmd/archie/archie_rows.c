/* What is known about sites of archives: from the list, the getter's table and the databases. */
#include "cmd/archie/archie_rows.h"

#include "base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

int archie_remembered(const char *data, struct getter_state *ret, struct err *err)
{
	if (getter_state_load(data, ret, err) >= 0)
		return 0;
	if (err->code != ERR_DAMAGED)
		return -1;
	fprintf(stderr, "garner: %s\n", err->msg);
	return 0;
}

/* The getter's, or that of the builder where it came later. */
static void fill_error(const char *folder, struct archie_site_row *row)
{
	struct err err;
	const struct getter_record *r = row->record;
	int64_t build_us = getter_build_error(folder, row->site->key, &err);
	if (build_us && !(r && r->error[0] && r->tried_us > build_us)) {
		snprintf(row->cause, sizeof row->cause, "build");
		snprintf(row->error, sizeof row->error, "%s", err.msg);
	} else if (r && r->error[0]) {
		memcpy(row->cause, r->cause, sizeof row->cause);
		snprintf(row->error, sizeof row->error, "%s", r->error);
	}
}

void archie_row_fill(const char *folder, const struct archie_conf *conf,
		     const struct getter_state *state, const struct archie_site *site,
		     struct archie_site_row *ret)
{
	const struct getter_record *r = getter_state_find(state, site->key);
	*ret = (struct archie_site_row){.site = site,
					.record = r,
					.database = getter_database(folder, site->key),
					.waiting = getter_waiting_us(folder, site->key) != 0,
					.now_us = clock_wall_us()};
	int64_t due_us = getter_due_us(folder, site, conf->max_age_us, r);
	int64_t retry_us = getter_retry_us(r, archie_retry_most_us(conf), ret->now_us);
	ret->partial = r && r->cut && getter_is_built(&ret->database, r);
	ret->current_us = getter_current_us(&ret->database, r);
	ret->age_s = (ret->now_us - ret->current_us) / US_PER_S;
	ret->next_us = MAX(MAX(due_us, retry_us), ret->now_us);
	fill_error(folder, ret);
}

/* For people */

static void put_seconds(struct buf *out, int64_t us)
{
	duration_print_short(out, MAX(us, 0) / US_PER_S * US_PER_S);
}

static void print_entries(const void *row, struct buf *out)
{
	const struct archie_site_row *r = row;
	if (r->database.built_us)
		buf_printf(out, "%" PRIu64 "%s", r->database.entries,
			   r->partial ? " (partial)" : "");
}

static void print_age(const void *row, struct buf *out)
{
	const struct archie_site_row *r = row;
	if (r->database.built_us)
		put_seconds(out, r->now_us - r->current_us);
}

static void print_next(const void *row, struct buf *out)
{
	const struct archie_site_row *r = row;
	if (r->waiting) {
		buf_add_text(out, "build");
	} else if (r->next_us > r->now_us) {
		buf_add_text(out, "in ");
		put_seconds(out, r->next_us - r->now_us);
	} else {
		buf_add_text(out, "now");
	}
}

static void print_error(const void *row, struct buf *out)
{
	const struct archie_site_row *r = row;
	if (r->cause[0])
		buf_printf(out, "%s, %s", r->cause, r->error);
}

static void print_address(const void *member, struct buf *out)
{
	char shown[ADDR_SHOWN];
	buf_add_text(out, addr_print(member, shown));
}

COL_NAMER(print_method, uint8_t, getter_method_name)

static const struct column site_columns[] = {
	COL("url", struct archie_site, url, .label = "Site"),
	COL("key", struct archie_site, key, .label = "Key"),
	COL("name", struct archie_site, name),
	COL_OF("address", struct archie_site, address, print_address),
	COL("local", struct archie_site, local),
	COL("tz", struct archie_site, tz_s),
	COL("os", struct archie_site, os, .how = ROW_SOME),
	COL("path", struct archie_site, path, .how = ROW_SOME),
};
static const struct rows site_rows = {ROWS(struct archie_site, site_columns)};

static const struct column record_columns[] = {
	COL("tried", struct getter_record, tried_us, .unit = UNIT_TIME),
	COL("got", struct getter_record, got_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL_OF("method", struct getter_record, method, print_method,
	       COL_IF(struct getter_record, got_us)),
	COL("checked", struct getter_record, checked_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("failures", struct getter_record, failures),
};
static const struct rows record_rows = {ROWS(struct getter_record, record_columns)};

#define S struct archie_site_row
static const struct column row_columns[] = {
	COL_POINTER(NULL, S, site, site_rows),
	COL("entries", S, database.entries),
	COL("built", S, database.built_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("age", S, age_s, COL_IF(S, database.built_us)),
	COL("partial", S, partial, COL_IF(S, database.built_us)),
	COL("waiting", S, waiting),
	COL_POINTER(NULL, S, record, record_rows),
	COL("cause", S, cause, .how = ROW_SOME),
	COL("error", S, error, COL_IF(S, cause)),
	COL("next", S, next_us, .unit = UNIT_TIME),
	COL_OF_ROW(NULL, S, print_entries, .label = "Entries", .how = ROW_RIGHT),
	COL_OF_ROW(NULL, S, print_age, .label = "Age", .how = ROW_RIGHT),
	COL_OF_ROW(NULL, S, print_next, .label = "Next", .how = ROW_RIGHT),
	COL_OF_ROW(NULL, S, print_error, .label = "Last error"),
};
const struct rows archie_site_rows = {ROWS(S, row_columns)};
#undef S

/* All of them */

static void summary_add(const char *folder, const struct getter_state *state,
			const struct archie_site *site, struct archie_summary *ret)
{
	static const struct archie_conf any; /* when it is tried next is not asked */
	struct archie_site_row row;
	archie_row_fill(folder, &any, state, site, &row);
	ret->sites++;
	ret->databases += row.database.built_us != 0;
	ret->entries += row.database.entries;
	ret->waiting += row.waiting;
	ret->failing += row.cause[0] != 0;
}

int archie_summarize(const char *data, struct archie_summary *ret, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	CLEANUP(getter_state_free) struct getter_state state = {0};
	char folder[PATH_MAX];
	struct archie_sites sites;
	*ret = (struct archie_summary){0};
	snprintf(folder, sizeof folder, "%s/archie", data);
	if (archie_sites_read(folder, &arena, &sites, err) < 0 ||
	    archie_remembered(data, &state, err) < 0)
		return -1;
	for (size_t i = 0; i < sites.n; i++)
		summary_add(folder, &state, &sites.site[i], ret);
	const struct getter_record *night = getter_state_find(&state, STR(""));
	ret->night_us = night ? night->tried_us : 0;
	return sites.n == 0;
}

void archie_summary_text(const struct archie_summary *s, int64_t now_us, struct buf *out)
{
	buf_printf(out, "%zu archive%s, %zu with a database, %" PRIu64 " files", s->sites,
		   s->sites == 1 ? "" : "s", s->databases, s->entries);
	if (s->waiting)
		buf_printf(out, "; %zu to build", s->waiting);
	if (s->failing)
		buf_printf(out, "; %zu failed last time (garner archie sites list)", s->failing);
	if (s->night_us) {
		buf_add_text(out, "; last nightly run ");
		duration_print_short(out, MAX(now_us - s->night_us, 0));
		buf_add_text(out, " ago");
	}
	buf_add_byte(out, '\n');
}

static const struct column summary_columns[] = {
	COL("sites", struct archie_summary, sites),
	COL("databases", struct archie_summary, databases),
	COL("entries", struct archie_summary, entries),
	COL("waiting", struct archie_summary, waiting),
	COL("failing", struct archie_summary, failing),
	COL("last_night", struct archie_summary, night_us, .unit = UNIT_TIME, .how = ROW_SOME),
};
const struct rows archie_summary_rows = {ROWS(struct archie_summary, summary_columns)};
