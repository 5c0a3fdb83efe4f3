/* The getter's table of garner.db, a row for each site. Also finds the files of a site and the age
 * of its database. */
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

/* How a listing was fetched. */
enum getter_method { GETTER_NONE, GETTER_READY, GETTER_LIST, GETTER_WALK, GETTER_METHODS };
const char *getter_method_name(unsigned method); /* "ls-lR", "LIST -lR", "walk" */

struct getter_record {
	char key[GETTER_KEY + 1]; /* "": the nightly run, whose start is tried_us */
	int64_t tried_us;         /* the last try; 0: never */
	int64_t got_us;           /* the last listing; 0: never */
	int64_t listed_us;        /* when it was made, according to the server */
	int64_t checked_us;       /* when it was last found to be the newest; 0: never */
	int64_t next_us;          /* see getter_retry_us(); 0: whenever it is due */
	uint64_t bytes;           /* of the last listing */
	uint32_t failures;        /* in a row */
	uint8_t method;           /* of the last listing */
	bool cut;                 /* it is of a walk that was cut */
	/* Its file below the URL of the site, "pub/ls-lR.gz"; "": not ready-made. */
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

/* Reads the table. 1: there is none. *ret is empty then, and after an error. */
int getter_state_load(const char *data, struct getter_state *ret, struct err *err);
int getter_state_read(struct small *s, struct getter_state *ret, struct err *err);
void getter_state_free(struct getter_state *s);
/* NULL: there is no record. */
struct getter_record *getter_state_find(const struct getter_state *s, struct str key);
/* Makes it if there is none. Valid until the next one is made. */
struct getter_record *getter_state_of(struct getter_state *s, struct str key);

/* Whether a stored date is credible. A date in the future was written while the clock was wrong: it
 * would keep the site, or all its listings, away until then. */
bool getter_believes(int64_t at_s);

/* The database of a site. */
struct getter_database {
	uint64_t entries;
	int64_t built_us; /* 0: there is none */
};
struct getter_database getter_database(const char *folder, struct str key);
/* Since when a listing of it waits to be built; 0: none does. */
int64_t getter_waiting_us(const char *folder, struct str key);
/* When the builder refused the last listing, and why; 0: it did not. */
int64_t getter_build_error(const char *folder, struct str key, struct err *ret);
/* Whether the builder refused the last listing: then do not fetch it again. */
bool getter_was_refused(const char *folder, const struct getter_record *record);
/* Whether the database is newer than the last listing, and so made of it. */
bool getter_is_built(const struct getter_database *d, const struct getter_record *record);
/* When the database was built or last found to be of the newest listing: its age counts from then.
 * 0: there is none. record may be NULL. */
int64_t getter_current_us(const struct getter_database *d, const struct getter_record *record);
/* When the site is due: its database is older than max_age, or missing. Ignores back-off. */
int64_t getter_due_us(const char *folder, const struct archie_site *site, int64_t max_age_us,
		      const struct getter_record *record);
/* When to try again after a failure; 0: whenever it is due. most_us: the longest back-off,
 * archie.retry_max; a time further away was written while the clock was wrong. record may be NULL.
 */
int64_t getter_retry_us(const struct getter_record *record, int64_t most_us, int64_t now_us);
