/* How it stands with sites of archives, for those who tell it: garner archie sites list, status,
 * why.
 */
#pragma once
#include "archie/archie_conf.h"
#include "archie/getter_state.h"
#include "base/rows.h"

struct archie_site_row {
	const struct archie_site *site;
	const struct getter_record *record; /* NULL: it was never tried */
	struct getter_database database;
	/* The last error, of the getter or the builder: a word for its cause, and what happened.
	 * Empty: there was none since the last listing, or database. */
	char cause[GETTER_CAUSE + 1], error[sizeof((struct err){0}).msg];
	int64_t current_us; /* from when the age of the database counts */
	bool partial;       /* the database is of a walk that was cut */
	int64_t age_s;      /* of the database */
	int64_t now_us;     /* when this was asked */
	int64_t next_us;    /* when its listing is fetched next, at the earliest; not before now */
	bool waiting;       /* a listing waits for the builder */
};
/* What the getter remembers. Where that is damaged, a warning is printed and
 * nothing is remembered: sites and databases are there all the same. */
int archie_remembered(const char *data, struct getter_state *ret, struct err *err);
/* folder: archie/. */
void archie_row_fill(const char *folder, const struct archie_conf *conf,
		     const struct getter_state *state, const struct archie_site *site,
		     struct archie_site_row *ret);
extern const struct rows archie_site_rows;

/* All of them together. */
struct archie_summary {
	size_t sites, databases, waiting, failing;
	uint64_t entries;
	int64_t night_us; /* when the last nightly run began; 0: never */
};
/* 1: there are no sites. */
int archie_summarize(const char *data, struct archie_summary *ret, struct err *err);
extern const struct rows archie_summary_rows;
/* A line for people. */
void archie_summary_text(const struct archie_summary *s, int64_t now_us, struct buf *out);
