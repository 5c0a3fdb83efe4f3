/* The cache's database: the queue (QDB, QPSDB), what is stored (LCC), what is to be deleted
 * (FSMDB), sets as they arrived, and what has become of each URL (document 004, section 6).
 * Functions are whole operations of the cache, never statements: each is one transaction, durable
 * when it returns 0; if it returns a negative number, nothing has changed. A driver of store/sql.h
 * keeps the rows.
 *
 * One process writes, the queue manager, from one thread at a time. Others open it for reading and
 * may use the functions marked [reads].
 *
 * A row is one URL of one provider: (provider, conceptual URL, MIME type). It is found by
 * notice_hash(); if hashes are equal, the texts decide. Row numbers are the order of arrival. */
#pragma once
#include "cache/hours.h"
#include "cache/notice.h"

struct db;

enum {
	DB_NOW = -1, /* a slot: at any time */
	DB_BAD =
		-2, /* a slot: URLs with a temporary error of their own, fetched after all others */
	DB_MACHINE_MAX = 64,
	DB_FILE_MAX = 64,
	DB_REASON_MAX = 255,
	DB_UNS_MAX = 32,
};

/* Sets. A set is taken in pieces (notice_pack()), exists once its last piece is there, and is then
 * absorbed into the queue, in steps. Its pieces are kept for the receipts. */

struct db_set {
	uint64_t set;             /* the number of ours: the order of sets, PSETID */
	char uns[DB_UNS_MAX + 1]; /* who took it, and under which number there */
	uint64_t number;
	uint64_t provider;
	bool is_full;
	uint64_t urls;   /* accepted ones: without NOTICE_NAMED */
	int64_t at_us;   /* wall clock, when it was accepted */
	uint64_t pieces; /* how many there are */
};

struct db_take {
	/* In. A set is begun by its first step. The fields of `set` are the same in each step; its
	 * `set` and `pieces` do not count. */
	struct db_set set;
	const struct str *piece; /* blocks of notice_pack(), in their order */
	size_t npieces;
	bool ends; /* it is whole with these */
	/* Out. */
	bool was_there;   /* it was whole before: nothing was added */
	uint64_t ret_set; /* its number of ours */
};

/* Terms under which rows are absorbed: the provider's contract, and the time. */
struct db_terms {
	uint64_t quota_files, quota_space; /* UINT64_MAX: none */
	struct hours hours;                /* of the contract */
	int period;                        /* HOURS_DAY, HOURS_WEEK */
	int64_t slot_us;
	int64_t now_us; /* wall clock */
	int64_t age_us; /* the clock of ages, which never jumps */
	int64_t priority;
	size_t rows_max; /* how many notices, or removals of a full set, one call does */
};

/* Part of a set in the queue, as QPSDB has it. Its rows are fetched in the order of their numbers.
 */
struct db_part {
	uint64_t set;
	int64_t slot; /* of its rows: DB_NOW, DB_BAD, or a time slot */
	/* DB_NOW, or the slot that it waits for; at first the slot of its rows. */
	int64_t start;
	uint64_t provider;
	int64_t priority;
	uint64_t first, last; /* row numbers; rows between them may be gone */
	uint64_t rows;
};

struct db_absorbed {
	bool is_done; /* the set is absorbed whole, removals included */
	uint64_t queued, updated, unchanged, removed, failed, named; /* of this call */
};

/* A row of the queue, to be fetched. */
struct db_row {
	uint64_t row, provider, set;
	int64_t slot;
	int64_t hash;
	uint64_t version; /* how often it was notified: answers to earlier versions do not count */
	unsigned tries;
	bool is_nothing; /* the operation "nothing": removed while it was being fetched */
	struct notice notice;
	/* Validators of what is stored; etag "", since 0: none. */
	struct str etag;
	int64_t since_s;
};

/* How a fetch ended. */
enum db_end {
	DB_END_STORED,
	DB_END_UNCHANGED, /* the server says that the stored copy is good */
	DB_END_RETRY,     /* to DB_BAD, once more */
	DB_END_FAILED,    /* for good: its content goes, too */
	DB_END_PUT_BACK,  /* nothing happened: it was not fetched, or nobody knows */
	DB_ENDS,
};

struct db_done {
	/* In. */
	uint64_t row, provider, version;
	int64_t hash;
	enum db_end end;
	unsigned code;     /* of FAILED, RETRY, and PUT_BACK by the site: doc/protocols/lococa.md */
	struct str reason; /* in words */
	/* STORED: what the robot said. mime without parameters, "": not known. */
	struct str machine, file, mime, etag;
	uint64_t size;
	int64_t mtime_s; /* 0: not known */
	unsigned char md5[16];
	bool has_md5;
	uint64_t quota_space; /* of the provider; UINT64_MAX: none */
	/* Out: whether the file is kept, and what became of the URL. */
	bool ret_kept;
	bool ret_again;    /* it stays in the queue */
	unsigned ret_code; /* FAILED after all: 306 wrong type, 307 wrong sum, 203 no quota */
};

/* Totals of a provider. */
struct db_tally {
	uint64_t files, space; /* stored, and their bytes */
	uint64_t queued;       /* rows of the queue; a removal counts until it is done */
	uint64_t errors;       /* ever */
	uint64_t open_sets;    /* not absorbed yet */
	uint64_t open_urls;    /* of these sets, roughly: not in the queue yet */
};

/* Receipts. */
#define DB_STATES(X)                                                          \
	X(QUEUED, "queued")                                                   \
	X(WAITING, "waiting") /* for a time: `until_us` and `why` */          \
	X(FETCHING, "fetching")                                               \
	X(STORED, "stored")                                                   \
	X(UNCHANGED, "unchanged") /* what was stored before was still good */ \
	X(FAILED, "failed")                                                   \
	X(REMOVED, "removed")
enum db_state {
#define X(symbol, name) DB_##symbol,
	DB_STATES(X)
#undef X
		DB_NSTATES
};
const char *db_state_name(enum db_state s);

struct db_receipt {
	struct str c, mime; /* as asked */
	enum db_state state;
	unsigned code;     /* of FAILED, and the last one of those that are tried again; else 0 */
	int64_t at_us;     /* wall clock: since when */
	int64_t until_us;  /* of WAITING; 0: not known */
	struct str reason; /* of FAILED and WAITING */
	uint64_t set;      /* of ours that it waits in; 0: none */
	uint64_t row;      /* of LCC or QDB; 0: neither */
	uint64_t size;     /* of what is stored */
	struct str machine, file;
};

/* An error as it is reported to the provider, with the notice as it came. */
struct db_error {
	int64_t at_us;
	unsigned code;
	struct str reason;
	struct notice notice;
};

/* One of the last fetches, for the provider's page. */
struct db_fetch {
	int64_t at_us;
	struct str url;
	unsigned code; /* 0: stored, or unchanged */
	uint64_t size;
};
enum { DB_FETCHES = 200 }; /* that are remembered of each provider */

/* What db_check() finds. */
struct db_finding {
	bool is_damage; /* else a leftover of a kill, which the next start repairs */
	char text[256];
};
typedef void db_finding_fn(void *ctx, const struct db_finding *f);

enum db_mode { DB_READ, DB_WRITE };
/* The folder is DATA/cache; DB_WRITE creates it and the database. 1: DB_READ, and there is no
 * database yet. ERR_BUSY: another process writes. ERR_DAMAGED: the database is damaged.
 * ERR_USAGE: another version of garner made it; it is left unchanged. */
int db_open(struct db **ret, const char *folder, enum db_mode mode, struct err *err);
void db_close(struct db **db);
/* Returns whether the file was set aside since it was opened (garner cache check --fix): then close
 * this one and open the new one. */
bool db_is_moved(struct db *db);

/* Operations between these two are one transaction, durable with the commit. If one of them has
 * failed, the commit fails too, and nothing has changed. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);

/* Takes sets and pieces of sets, all in one transaction. */
int db_take(struct db *db, struct db_take *take, size_t n, struct err *err);
/* Drops incomplete sets of that uns; NULL: of all. */
int db_take_forget(struct db *db, const char *uns, struct err *err);
/* [reads] Returns the oldest complete set after that number that is not absorbed. 1: none. */
int db_set_next(struct db *db, uint64_t after, struct db_set *ret, struct err *err);
/* Absorbs the next rows_max notices of a set, by the rules of document 004:
 * - the last notice for a URL counts, at the place of the first;
 * - a stored URL is confirmed and not fetched if mtime, size and md5 agree, as far as they were
 *   given, and at least one was;
 * - a removal turns the row in the queue into "nothing" and deletes the stored content;
 * - after the last notice of a full set, URLs that it did not name go from queue and store.
 * A kill or a failure may undo steps that no other operation has followed; absorbing then repeats
 * them. The step with is_done is durable. */
int db_absorb(struct db *db, uint64_t set, const struct db_terms *terms, struct db_absorbed *ret,
	      struct err *err);
/* Removes up to rows_max rows of a provider that has left. 1: none are left. */
int db_forget(struct db *db, uint64_t provider, size_t rows_max, struct err *err);

/* The queue. Parts in the order of (set, slot). [reads] */
int db_parts(struct db *db, void (*each)(void *ctx, const struct db_part *part), void *ctx,
	     struct err *err);
/* [reads] One part. 1: there is no such. */
int db_part(struct db *db, uint64_t set, int64_t slot, struct db_part *ret, struct err *err);
/* [reads] The first row of a part after that number. 1: none. */
int db_next(struct db *db, uint64_t set, int64_t slot, uint64_t after_row, struct arena *arena,
	    struct db_row *ret, struct err *err);
/* Records for receipts that these rows are being fetched, until db_done(). */
int db_sent(struct db *db, const struct db_row *row, size_t n, int64_t now_us, struct err *err);
/* Records how fetches ended. Reads each row again before its answer counts. */
int db_done(struct db *db, struct db_done *done, size_t n, int64_t now_us, int64_t age_us,
	    struct err *err);
/* Moves rows whose hours have passed into another slot of their set. */
int db_move(struct db *db, const struct db_row *row, size_t n, int64_t slot, struct err *err);
/* Makes a part wait for a slot, or lets it go on now. */
int db_start(struct db *db, uint64_t set, int64_t slot, int64_t start, struct err *err);
/* Lets all parts go on that wait for this slot. */
int db_due(struct db *db, int64_t start, struct err *err);
/* Records for receipts until when a provider waits, and why; the queue manager keeps its own time.
 * until_us 0: it no longer waits. */
int db_hold(struct db *db, uint64_t provider, int64_t until_us, struct str why, struct err *err);
/* [reads] 1: it does not wait. `why` is in the arena. */
int db_held(struct db *db, uint64_t provider, struct arena *arena, int64_t *ret_until_us,
	    struct str *ret_why, struct err *err);
/* Sets the priority in all parts of a provider. */
int db_priority(struct db *db, uint64_t provider, int64_t priority, struct err *err);

/* Files. [reads] 0: a row of LCC with that hash has this file. 1: none has. */
int db_has_file(struct db *db, uint64_t provider, int64_t hash, struct str machine, struct str file,
		struct err *err);
/* [reads] Writes to each *ret whether any row of LCC has this file. Reads all rows, and reorders
 * the array. */
struct db_file {
	struct str machine, file;
	bool *ret;
};
int db_find_files(struct db *db, struct db_file *file, size_t n, struct err *err);
/* [reads] Returns the next file to be deleted after that id, on one machine or, with "", on any.
 * Have it deleted only after the commit. 1: none. */
int db_fsm_next(struct db *db, uint64_t after, struct str machine, uint64_t *ret_id,
		char ret_machine[DB_MACHINE_MAX + 1], char ret_file[DB_FILE_MAX + 1],
		struct err *err);
int db_fsm_done(struct db *db, const uint64_t *id, size_t n, struct err *err);
/* Adds a file that no row has to those to be deleted. */
int db_fsm_add(struct db *db, struct str machine, struct str file, struct err *err);

/* Ages: walks rows_max rows of LCC from a row on, and removes those not confirmed since
 * expire_before (DB_REMOVED, with a reason). Calls each() for a provider that lost rows, or that
 * has rows from before old_before which are not queued. *ret_next: where to go on; 0: that was
 * all. */
int db_ages(struct db *db, uint64_t from_row, size_t rows_max, int64_t old_before_us,
	    int64_t expire_before_us, int64_t now_us,
	    void (*each)(void *ctx, uint64_t provider, bool has_expired), void *ctx,
	    uint64_t *ret_next, struct err *err);
/* Deletes sets, and records of removed or failed URLs, from before that time, rows_max at a time.
 * 1: nothing is left. */
int db_trim(struct db *db, int64_t before_us, size_t rows_max, struct err *err);
/* The clock of ages, kept. */
int db_age_get(struct db *db, int64_t *ret_us, struct err *err); /* [reads] */
int db_age_put(struct db *db, int64_t us, struct err *err);

/* [reads] All zeroes for a provider that has nothing. */
int db_tally(struct db *db, uint64_t provider, struct db_tally *ret, struct err *err);
/* [reads] The greatest number of a provider that the database knows; 0: none. */
int db_last_provider(struct db *db, uint64_t *ret, struct err *err);
int db_rows(struct db *db, uint64_t *ret_queued, uint64_t *ret_stored, struct err *err);
/* [reads] The state of a URL. accepted_us: when the notice was accepted, to distinguish UNCHANGED
 * from STORED; 0: any. 1: nothing is known. */
int db_receipt(struct db *db, uint64_t provider, struct str c, struct str mime, int64_t accepted_us,
	       struct arena *arena, struct db_receipt *ret, struct err *err);
/* [reads] A provider's set by the number that its uns gave it; 0: the latest. 1: none. */
int db_set_of(struct db *db, uint64_t provider, const char *uns, uint64_t number,
	      struct db_set *ret, struct err *err);
/* [reads] A set by its number of ours. 1: unknown, or no longer kept. */
int db_set(struct db *db, uint64_t set, struct db_set *ret, struct err *err);
/* [reads] A piece of a set, unpacked. 1: there is no such. */
int db_set_piece(struct db *db, uint64_t set, uint64_t piece, struct buf *ret, struct err *err);
/* [reads] Errors of a provider, the latest first, at most n; slices in the arena. */
int db_errors(struct db *db, uint64_t provider, size_t n, struct arena *arena, struct db_error *ret,
	      size_t *ret_n, struct err *err);
/* [reads] The last fetches of a provider, the latest first, at most DB_FETCHES. */
int db_fetches(struct db *db, uint64_t provider, struct arena *arena,
	       struct db_fetch ret[DB_FETCHES], size_t *ret_n, struct err *err);
/* [reads] A URL of whatever type; provider 0: of any, for `garner why`. */
int db_find_url(struct db *db, uint64_t provider, struct str c,
		void (*each)(void *ctx, uint64_t provider, const struct db_receipt *r), void *ctx,
		struct err *err);

/* Whether QPSDB agrees with QDB, cheaply. 1: it does not. */
int db_agrees(struct db *db, struct err *err);
int db_rebuild(struct db *db, struct err *err); /* QPSDB out of QDB */
/* Checks rows, tallies, parts, open sets and, if `has` is not NULL, files. `has` returns whether a
 * machine has a file of that size; negative: not known. fix: repairs what is wrong. 1: pages of
 * the database are damaged; nothing else was checked, and nothing repaired. */
int db_check(struct db *db, bool fix,
	     int (*has)(void *ctx, struct str machine, struct str file, uint64_t size),
	     db_finding_fn *fn, void *ctx, struct err *err);
