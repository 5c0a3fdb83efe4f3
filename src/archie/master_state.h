/* The master's table of garner.db: requests accepted and not answered yet, and the last test of
 * each site. Changes are made in memory; master_state_save() commits them. Which sites are listed
 * is only in archie/master/sites.local. */
#pragma once
#include "archie/getter_state.h"
#include "archie/newsite.h"
#include "store/small.h"

enum {
	MASTER_URL = 300,
	/* If this many wait, further ones stay in their files. One sender cannot send as many in a
	 * day, so others get their turns. */
	MASTER_REQUESTS_MOST = 10000,
	MASTER_ROWS = 1000000,       /* of the table; lists have fewer lines */
	MASTER_UNLISTED_MOST = 10000 /* records of unlisted sites; beyond it the
					oldest goes */
};

enum master_kind { MASTER_REQUEST, MASTER_LISTED, MASTER_REFUSED, MASTER_LEFT };

/* A request, or a site: one struct, because a table has one kind of row. */
struct master_record {
	char url[MASTER_URL + 1];
	uint64_t number;    /* REQUEST: in order of arrival; else: 0 */
	uint8_t kind;       /* enum master_kind */
	int64_t asked_us;   /* REQUEST: when it was accepted; else: when the last was answered */
	int64_t tested_us;  /* the last test; 0: never. REQUEST: since when its answer is to be sent
			     */
	int64_t failing_us; /* the first of the failures in a row; 0: the last test was good */
	int64_t next_us;    /* LISTED: the next test; REQUEST: the next try to send its answer */
	uint64_t entries;   /* of the last good test; 0: none, or not counted */
	uint32_t failures;  /* in a row */
	char cause[GETTER_CAUSE + 1], error[GETTER_TEXT + 1]; /* of the last failure; "": none */
	/* REQUEST */
	char host[NEWSITE_HOST_MOST + 1]; /* as requested */
	char reply_to[MAIL_ADDRESS_MOST + 1], message_id[NEWSITE_ID_MOST + 1];
	char sender[MAIL_ADDRESS_MOST + 1]; /* in lower case */
	/* Not on disk */
	uint64_t turn; /* the last turn of its sender, or of anyone when it arrived */
	bool sending;  /* the sending thread has its answer */
	bool changed;  /* since it was saved */
};

struct master_state {
	struct master_record *request; /* in order of arrival */
	size_t requests, request_room;
	struct master_record *site; /* sorted by URL */
	size_t n, room;
	uint64_t turn;              /* how many there were */
	uint64_t number;            /* of the last request */
	struct master_record *gone; /* rows to be deleted */
	size_t ngone, gone_room;
	struct small *small; /* NULL: read only */
};

extern const struct small_table master_table;

/* For the master. ERR_DAMAGED: cannot be repaired while others have the database open. */
int master_state_open(const char *data, struct master_state *ret, struct err *err);
/* Commits all changes durably, or none. */
int master_state_save(struct master_state *s, struct err *err);
/* For readers. 1: there is no table; *ret is empty then. */
int master_state_load(const char *data, struct master_state *ret, struct err *err);
/* The same for one site. 1: no record of it. */
int master_state_get(const char *data, struct str url, struct master_record *ret, struct err *err);
void master_state_free(struct master_state *s);

/* Appends a copy; texts that are too long are cut. */
void master_state_ask(struct master_state *s, struct str url, const struct newsite *n,
		      int64_t now_us);
/* The same for a request that does not name a host: its answer is why. */
void master_state_refuse(struct master_state *s, const struct newsite *n, const char *why,
			 int64_t now_us);
void master_state_answered(struct master_state *s, size_t request); /* it goes */
/* Returns the next request to test; the number of requests: none. Senders take turns, requests of
 * one sender come in order of arrival, and at most `abreast` of one sender are under way. */
typedef bool master_under_way_fn(void *ctx, struct str url);
size_t master_state_next(const struct master_state *s, size_t abreast,
			 master_under_way_fn *under_way, void *ctx);
void master_state_begun(struct master_state *s, size_t request); /* its sender had a turn */

/* NULL: there is no record. */
struct master_record *master_state_find(const struct master_state *s, struct str url);
/* The same to be changed; makes it if there is none. Valid until the next one is made. */
struct master_record *master_state_of(struct master_state *s, struct str url);
/* Forgets sites that are no longer listed, those refused or removed before `since_us`, and the
 * oldest if there are too many. Returns how many it dropped. */
size_t master_state_trim(struct master_state *s, const struct archie_sites *listed,
			 int64_t since_us);

struct master_times {
	int64_t retest_us, leave_us;        /* the settings */
	int64_t retry_min_us, retry_max_us; /* of a failure */
};
/* When to test a listed site; record NULL: now. A time too far away was written while the clock was
 * wrong. */
int64_t master_due_us(const struct master_record *record, const struct master_times *t,
		      int64_t now_us);
/* Record the result of a test. */
void master_note_good(struct master_record *r, uint64_t entries, const struct master_times *t,
		      int64_t now_us);
void master_note_failed(struct master_record *r, const char *cause, const char *why,
			const struct master_times *t, int64_t now_us);
/* The site is not listed; cause "known": its address is listed already. */
void master_note_refused(struct master_record *r, const char *cause, const char *why,
			 int64_t now_us);
/* The answer to somebody who requested the site: a sentence without its dot. */
void master_record_say(const struct master_record *r, struct buf *out);
/* Whether it has failed for long enough to leave the list. */
bool master_is_over(const struct master_record *r, const struct master_times *t, int64_t now_us);
