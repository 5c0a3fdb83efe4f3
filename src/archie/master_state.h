/* What the master remembers, in a table of garner.db: the requests that it has taken and not
 * answered yet, and how the last test of each site went. It is changed in memory first;
 * master_state_save() commits what has changed. Which sites are listed is in
 * archie/master/sites.local alone. */
#pragma once
#include "archie/getter_state.h"
#include "archie/newsite.h"
#include "store/small.h"

enum {
	MASTER_URL = 300,
	/* Where as many wait, the next ones stay in their files. More than one sender can have put
	 * there within a day, so that others have their turns. */
	MASTER_REQUESTS_MOST = 10000,
	MASTER_ROWS = 1000000,       /* of the table; lists have fewer lines */
	MASTER_UNLISTED_MOST = 10000 /* sites that are remembered and not listed; of more the oldest
					goes */
};

enum master_kind { MASTER_REQUEST, MASTER_LISTED, MASTER_REFUSED, MASTER_LEFT };

/* A request, or what is known of a site: one struct, since a file has one kind of record. */
struct master_record {
	char url[MASTER_URL + 1];
	uint64_t number;    /* REQUEST: in the order in which they came; else: 0 */
	uint8_t kind;       /* enum master_kind */
	int64_t asked_us;   /* REQUEST: when it was taken; else: when the last was answered */
	int64_t tested_us;  /* the last test; 0: never. REQUEST: since when its answer is to be sent
			     */
	int64_t failing_us; /* when the first of the failures in a row was; 0: the last was good */
	int64_t next_us;    /* LISTED: the next test; REQUEST: the next try to send its answer */
	uint64_t entries;   /* of the last good test; 0: never, or it was not counted */
	uint32_t failures;  /* in a row */
	char cause[GETTER_CAUSE + 1], error[GETTER_TEXT + 1]; /* of the last failure; "": none */
	/* REQUEST */
	char host[NEWSITE_HOST_MOST + 1]; /* as it was asked for */
	char reply_to[MAIL_ADDRESS_MOST + 1], message_id[NEWSITE_ID_MOST + 1];
	char sender[MAIL_ADDRESS_MOST + 1]; /* in lower case */
	/* Not on disk */
	uint64_t turn; /* the last one of its sender or, if that was before it came, of anyone */
	bool sending;  /* its answer is with the thread that sends */
	bool changed;  /* since it was saved */
};

struct master_state {
	struct master_record *request; /* in the order in which they came */
	size_t requests, request_room;
	struct master_record *site; /* sorted by URL */
	size_t n, room;
	uint64_t turn;              /* how many there were */
	uint64_t number;            /* of the last request */
	struct master_record *gone; /* rows to be deleted */
	size_t ngone, gone_room;
	struct small *small; /* of the master; NULL: of a reader */
};

extern const struct small_table master_table;

/* For the master. ERR_DAMAGED cannot be mended: others have the database open. */
int master_state_open(const char *data, struct master_state *ret, struct err *err);
/* Commits, durably, all changes since the last time, or none. */
int master_state_save(struct master_state *s, struct err *err);
/* For readers. 1: there is none; *ret is empty then. */
int master_state_load(const char *data, struct master_state *ret, struct err *err);
/* The same for one site. 1: nothing is known of it. */
int master_state_get(const char *data, struct str url, struct master_record *ret, struct err *err);
void master_state_free(struct master_state *s);

/* A copy of it is appended; its texts are cut to what there is room for. */
void master_state_ask(struct master_state *s, struct str url, const struct newsite *n,
		      int64_t now_us);
/* The same for what is not a host: there is nothing to test, and its answer is why. */
void master_state_refuse(struct master_state *s, const struct newsite *n, const char *why,
			 int64_t now_us);
void master_state_answered(struct master_state *s, size_t request); /* it goes */
/* The request that is not tested and whose turn it is; as many as there are: none may begin.
 * Senders take turns, and each has its own in the order in which they came; one has at most
 * `abreast` under way. */
typedef bool master_under_way_fn(void *ctx, struct str url);
size_t master_state_next(const struct master_state *s, size_t abreast,
			 master_under_way_fn *under_way, void *ctx);
void master_state_begun(struct master_state *s, size_t request); /* its sender had a turn */

/* NULL: nothing is known of it. */
struct master_record *master_state_find(const struct master_state *s, struct str url);
/* The same to be changed, made if there is none. Valid until the next one is made. */
struct master_record *master_state_of(struct master_state *s, struct str url);
/* Forgets sites that are marked as listed and are not, what was refused or left before
 * `since_us`, and the oldest of more than there is room for. Returns how many went. */
size_t master_state_trim(struct master_state *s, const struct archie_sites *listed,
			 int64_t since_us);

struct master_times {
	int64_t retest_us, leave_us;        /* the settings */
	int64_t retry_min_us, retry_max_us; /* of a failure */
};
/* When a listed site is to be tested; record: NULL where nothing is known: now. A time that is too
 * far away was written by a clock that was wrong. */
int64_t master_due_us(const struct master_record *record, const struct master_times *t,
		      int64_t now_us);
/* How a test went. */
void master_note_good(struct master_record *r, uint64_t entries, const struct master_times *t,
		      int64_t now_us);
void master_note_failed(struct master_record *r, const char *cause, const char *why,
			const struct master_times *t, int64_t now_us);
/* It is not taken into the list; cause "known": its address is there already. */
void master_note_refused(struct master_record *r, const char *cause, const char *why,
			 int64_t now_us);
/* What there is to say of a site to who asked for it: a sentence without the dot. */
void master_record_say(const struct master_record *r, struct buf *out);
/* Whether it has failed for so long that it leaves the list. */
bool master_is_over(const struct master_record *r, const struct master_times *t, int64_t now_us);
