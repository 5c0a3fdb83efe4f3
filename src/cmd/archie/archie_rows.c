/* What is known of sites of archives: the list, what the getter remembers, and the databases. */
#include "cmd/archie/archie_rows.h"

#include "base/clock.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

int archie_remembered(const char *folder, struct getter_state *ret, struct err *err)
{
	if (getter_state_load(folder, ret, err) >= 0)
		return 0;
	if (err->code != ERR_DAMAGED)
		return -1;
	format_advise(&getter_format, err);
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
					.next_us =
						getter_due_us(folder, site, conf->max_age_us, r)};
	ret->partial = r && r->cut && getter_is_built(&ret->database, r);
	ret->current_us = getter_current_us(&ret->database, r);
	ret->next_us =
		MAX(ret->next_us, getter_retry_us(r, archie_retry_most_us(conf), clock_wall_us()));
	fill_error(folder, ret);
}

static void record_json(const struct getter_record *r, struct jsonw *j)
{
	jsonw_put_time(j, "tried", r->tried_us);
	if (r->got_us) {
		jsonw_put_time(j, "got", r->got_us);
		jsonw_put_text(j, "method", getter_method_name(r->method));
	}
	if (r->checked_us)
		jsonw_put_time(j, "checked", r->checked_us);
	jsonw_put_uint(j, "failures", r->failures);
}

void archie_row_json(const struct archie_site_row *row, int64_t now_us, struct jsonw *j)
{
	char shown[ADDR_SHOWN];
	jsonw_object(j);
	jsonw_put_str(j, "url", row->site->url);
	jsonw_put_str(j, "key", row->site->key);
	jsonw_put_str(j, "name", row->site->name);
	jsonw_put_text(j, "address", addr_print(&row->site->address, shown));
	jsonw_put_bool(j, "local", row->site->local);
	jsonw_put_int(j, "tz", row->site->tz_s);
	if (row->site->os.n)
		jsonw_put_str(j, "os", row->site->os);
	if (row->site->path.n)
		jsonw_put_str(j, "path", row->site->path);
	jsonw_put_uint(j, "entries", row->database.entries);
	if (row->database.built_us) {
		jsonw_put_time(j, "built", row->database.built_us);
		jsonw_put_int(j, "age", (now_us - row->current_us) / US_PER_S);
		jsonw_put_bool(j, "partial", row->partial);
	}
	jsonw_put_bool(j, "waiting", row->waiting);
	if (row->record)
		record_json(row->record, j);
	if (row->cause[0]) {
		jsonw_put_text(j, "cause", row->cause);
		jsonw_put_text(j, "error", row->error);
	}
	jsonw_put_time(j, "next", MAX(row->next_us, now_us));
	jsonw_object_end(j);
}

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
	    archie_remembered(folder, &state, err) < 0)
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

void archie_summary_json(const struct archie_summary *s, struct jsonw *j)
{
	jsonw_put_object(j, "archie");
	jsonw_put_uint(j, "sites", s->sites);
	jsonw_put_uint(j, "databases", s->databases);
	jsonw_put_uint(j, "entries", s->entries);
	jsonw_put_uint(j, "waiting", s->waiting);
	jsonw_put_uint(j, "failing", s->failing);
	if (s->night_us)
		jsonw_put_time(j, "last_night", s->night_us);
	jsonw_object_end(j);
}
