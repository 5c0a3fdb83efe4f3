/* What the getter remembers of each site: a table of garner.db. Also where the files of a site lie,
 * and how old its database is. */
#pragma once
#include "archie/sites.h"
#include "store/small.h"

enum {
	GETTER_ROWS = 500000,
	GETTER_KEY = 255,
	GETTER_CAUSE = 31,
	GETTER_TEXT = 200,
	GETTER_FILE = 15,
};

/* How a listing was got. */
enum getter_method { GETTER_NONE, GETTER_READY, GETTER_LIST, GETTER_WALK, GETTER_METHODS };
const char *getter_method_name(unsigned method); /* "ls-lR", "LIST -lR", "walk" */

struct getter_record {
	char key[GETTER_KEY + 1]; /* "": of the nightly run, tried_us is when the last one began */
	int64_t tried_us;         /* the last try; 0: never */
	int64_t got_us;           /* the last listing; 0: never */
	int64_t listed_us;        /* when that was made, as the server says */
	int64_t checked_us;       /* when that was last found to be the newest there is; 0: never */
	int64_t next_us;          /* as getter_retry_us() reads it; 0: whenever it is due */
	uint64_t bytes;           /* of the last listing */
	uint32_t failures;        /* in a row */
	uint8_t method;           /* of the last listing */
	bool cut;                 /* it is of a walk that did not come to its end */
	/* The file that it was, below the URL of the site: "pub/ls-lR.gz"; "": it was none. */
	char file[GETTER_FILE + 1];
	char cause[GETTER_CAUSE + 1], error[GETTER_TEXT + 1]; /* of the last failure; "": none */
};

struct getter_state {
	struct getter_record *record; /* sorted by key */
	size_t n, room;
};

extern const struct small_table getter_table;
/* For the process that writes it. */
int getter_table_open(struct small **ret, const char *data, struct err *err);

/* All that is remembered. 1: nothing is; *ret is empty then. Negative, too. */
int getter_state_load(const char *data, struct getter_state *ret, struct err *err);
int getter_state_read(struct small *s, struct getter_state *ret, struct err *err);
void getter_state_free(struct getter_state *s);
/* NULL: nothing is known of it. */
struct getter_record *getter_state_find(const struct getter_state *s, struct str key);
/* The same, made where there is none. Good until the next one is made. */
struct getter_record *getter_state_of(struct getter_state *s, struct str key);

/* Whether a date that was written down is believed. One that is still to come was written by a
 * clock that was wrong: it would keep a site, or all its listings, away until then. */
bool getter_believes(int64_t at_s);

/* The database of a site. */
struct getter_database {
	uint64_t entries;
	int64_t built_us; /* 0: there is none */
};
struct getter_database getter_database(const char *folder, struct str key);
/* Whether a listing of it waits to be built, and since when; 0: none does. */
int64_t getter_waiting_us(const char *folder, struct str key);
/* Why the builder could not use the last listing, and when that was; 0: all is well. */
int64_t getter_build_error(const char *folder, struct str key, struct err *ret);
/* Whether the builder has refused the last listing: the same one is not worth another try. */
bool getter_was_refused(const char *folder, const struct getter_record *record);
/* Whether the database was made after the last listing had come, and so of it. */
bool getter_is_built(const struct getter_database *d, const struct getter_record *record);
/* From when on the age of the database counts: it was built, or later found to be of the newest
 * listing there is. 0: there is none. record: NULL where nothing is known. */
int64_t getter_current_us(const struct getter_database *d, const struct getter_record *record);
/* When the site is due: its database is older than max_age, or there is none. No back-off is
 * in it. */
int64_t getter_due_us(const char *folder, const struct archie_site *site, int64_t max_age_us,
		      const struct getter_record *record);
/* Before when it is not tried again after a failure; 0: whenever it is due. most_us: the longest
 * back-off, archie.retry_max. What is further away was written by a clock that was wrong. record:
 * NULL where nothing is known. */
int64_t getter_retry_us(const struct getter_record *record, int64_t most_us, int64_t now_us);
