/* What the files of the database share: its statements, the rows as they are in memory, and
 * the counts that are kept of them. Nobody else includes this, but for tests that want hashes to
 * be equal. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "cache/codes.h"
#include "cache/db.h"
#include "cache/db/db_sql.h"
#include "disk/lock.h"
#include "store/sql.h"

/* One URL of a provider: where it is in the queue, and what is stored of it. */
struct url_row {
	uint64_t provider;
	int64_t hash;
	uint64_t n;   /* counts those of equal hash */
	uint64_t set; /* in the queue; row 0: it is not there */
	int64_t slot;
	uint64_t row;
	uint64_t version;
	uint64_t lcc;  /* its row there; 0: nothing is stored */
	uint64_t gone; /* why it failed or was removed; 0: it did not */
	int64_t age_us;
	uint64_t seen; /* the last set that named it */
	bool is_there, is_dirty;
	uint32_t next; /* of equal hash, in a list of them; 0: the last */
};

/* A row of the queue. Slices are good until the next one is read. */
struct queued {
	uint64_t set;
	int64_t slot;
	uint64_t row, provider;
	unsigned tries, code;
	bool is_nothing;
	struct str reason, data;
	struct notice notice; /* of data */
};

/* A row of LCC. Slices are good until the next one is read. */
struct stored {
	uint64_t row, provider;
	int64_t hash, at_us, age_us;
	struct str machine, file, mime, etag, sum;
	uint64_t size;
	int64_t mtime_s;
	bool has_md5;
	unsigned char md5[16];
	struct str data;
	struct notice notice;
};

struct gone {
	uint64_t id, provider;
	int64_t hash, at_us;
	enum db_state state;
	unsigned code;
	struct str reason, c, mime;
};

struct set_row {
	uint64_t id;    /* of its pieces, from its first step on */
	struct str uns; /* of the statement */
	struct db_set set;
	unsigned state; /* enum set_state */
	uint64_t piece, byte;
	bool walks; /* of a full set: it removes what was not named, and is at: */
	int64_t hash;
	uint64_t n;
};
enum set_state { SET_TAKING, SET_WHOLE, SET_ABSORBED };

struct counts {
	uint64_t provider;
	uint64_t files, space, queued;
	/* Rows of the queue that will be new files, and the bytes that were announced of them. */
	uint64_t fresh, fresh_space;
	uint64_t errors, errors_kept, open_sets, fetches;
	bool is_dirty;
};
struct part_key {
	uint64_t set;
	int64_t slot;
};
struct part_count {
	struct db_part part; /* rows 0: it is not there */
	bool is_dirty;
};
static inline uint64_t part_hash(struct part_key k)
{
	return hash_u64(k.set ^ hash_u64((uint64_t)k.slot));
}
static inline bool part_same(struct part_key a, struct part_key b)
{
	return a.set == b.set && a.slot == b.slot;
}
TABLE(tallies, uint64_t, struct counts, hash_u64, table_same_u64)
TABLE(parts, struct part_key, struct part_count, part_hash, part_same)
TABLE(ages, uint64_t, int64_t, hash_u64, table_same_u64)
TABLE(mimes, uint64_t, bool, hash_u64, table_same_u64)

/* A statement that stays open and goes from row to row, for rows that are wanted in their order. */
struct along {
	bool is_open;
	uint64_t set;
	int64_t slot;
	uint64_t row;
};

struct meta {
	uint64_t next_row, next_set, next_error;
	int64_t age_us, slot_us, period;
};

struct db {
	struct sql sql;
	bool is_writer;
	struct lock lock;
	int64_t (*hash)(struct str c, struct str mime); /* notice_hash(), but for tests */

	bool in_work, is_group, has_failed;
	bool is_hard;     /* somebody relies on what was done since work_begin() */
	size_t steps;     /* notices of these */
	int64_t since_us; /* when it was begun */
	struct err failure;
	struct meta meta;
	bool meta_dirty;
	struct tallies tallies;
	struct parts parts;
	struct mimes mimes;
	uint64_t queued, stored; /* rows of all providers */

	struct along queue_on, lcc_on;

	struct buf queue_text, lcc_text, gone_text, data;
};

static inline struct sql_st *sql_st(struct db *d, enum db_sql i)
{
	return d->sql.st[i];
}
/* A statement of ours with its values: DB_ST(d, URL_GET, SQL_N(provider), SQL_N(hash)). */
#define DB_ST(d, which, ...) db_bound(d, SQL_##which, SQL_VALUES(__VA_ARGS__))
static inline struct sql_st *db_bound(struct db *d, enum db_sql i, const struct sql_value *v,
				      size_t n)
{
	sql_bind_all(sql_st(d, i), v, n);
	return sql_st(d, i);
}
/* Its first row, as the members that its columns are; then it is reset. 1: none. */
int db_row_take(struct db *d, struct sql_st *st, const struct rows *t, void *row, struct err *err);
int db_number(struct db *d, struct sql_st *st, uint64_t *ret, struct err *err);
static inline int db_step(struct db *d, struct sql_st *st, struct err *err)
{
	return sql_step(&d->sql, st, err);
}
static inline int db_run(struct db *d, struct sql_st *st, struct err *err)
{
	return sql_run(&d->sql, st, err);
}

/* Each operation that writes is between these two; the second returns what the operation returns.
 */
int work_begin(struct db *d, struct err *err);
/* The same for what a kill or a failure may take back, since it is done again. */
int work_begin_soft(struct db *d, struct err *err);
int work_end(struct db *d, int rc, struct err *err);
/* An operation that is one call. */
#define DB_WORK(d, err, call) work_end(d, work_begin(d, err) < 0 ? -1 : (call), err)
/* A reader's statements see one state of the database, not the writer's work between two of them.
 * For a writer they are nothing. */
int snapshot_begin(struct db *d, struct err *err);
void snapshot_end(struct db *d);
/* Counts go into their tables, before these are read by statements. */
int work_flush(struct db *d, struct err *err);
int totals_read(struct db *d, struct err *err); /* of all providers, out of the tallies */
int meta_read(struct db *d, struct err *err);   /* what readers have of it is old */
uint64_t work_row(struct db *d);                /* the next row number */
/* ERR_DAMAGED with the database's path and what to do. */
int db_damaged(const struct db *d, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Counts: they are written once in a transaction. The pointers are good until the next call. */
int counts_of(struct db *d, uint64_t provider, struct counts **ret, struct err *err);
int counts_read(struct db *d, uint64_t provider, struct counts *ret, struct err *err);
int part_of(struct db *d, uint64_t set, int64_t slot, struct part_count **ret, struct err *err);
int part_add(struct db *d, const struct db_part *fresh, uint64_t row, struct err *err);
int part_drop(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct err *err);
int counts_flush(struct db *d, struct err *err);
void counts_forget(struct db *d);
void part_from(struct sql_st *st, struct db_part *ret);

/* URLs. A list is an array of which the first is not used. */
void url_from(struct sql_st *st, struct url_row *ret);
int url_save(struct db *d, struct url_row *u, struct err *err);
/* The one whose texts these are among those of its hash. 1: there is none. */
int url_find(struct db *d, uint64_t provider, int64_t hash, struct str c, struct str mime,
	     struct url_row *ret, struct err *err);
/* The one that has this number as that member: its row in the queue, in LCC, or among what is gone.
 * 1: none. */
int url_by(struct db *d, uint64_t provider, int64_t hash, size_t member, uint64_t id,
	   struct url_row *ret, struct err *err);
#define URL_BY(d, provider, hash, member, id, ret, err) \
	url_by(d, provider, hash, offsetof(struct url_row, member), id, ret, err)
/* Whether these are its texts; 0, 1. */
int url_is(struct db *d, const struct url_row *u, struct str c, struct str mime, struct queued *q,
	   struct stored *s, struct err *err);
/* The table of types, which is bounded: those beyond are not noted. mimes_number(): how many. */
int mime_note(struct db *d, struct str mime, struct err *err);
int mimes_number(struct db *d, size_t *ret, struct err *err);
int mimes_all(struct db *d, struct arena *arena, struct str **ret, size_t *ret_n, struct err *err);
/* A set has named c, in any of these types. */
int url_named(struct db *d, uint64_t provider, struct str c, uint64_t set, int64_t age_us,
	      const struct str *mime, size_t n, struct err *err);
int url_rows(struct db *d, const struct url_row *u, struct queued *q, struct stored *s,
	     struct err *err);

int queue_get(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
	      struct err *err);
/* The same for rows that are mostly wanted in their order; the statements stay open until
 * along_end(). */
int queue_along(struct db *d, uint64_t set, int64_t slot, uint64_t row, struct queued *ret,
		struct err *err);
int lcc_along(struct db *d, uint64_t row, struct stored *ret, struct err *err);
void along_end(struct db *d);
int queue_from(struct db *d, struct sql_st *st, struct queued *ret, struct err *err);
/* Into the queue, and out of it, with all that is counted. u is changed, and is to be saved. */
int queue_add(struct db *d, struct url_row *u, const struct queued *q, int64_t priority,
	      struct err *err);
int queue_drop(struct db *d, struct url_row *u, const struct queued *q, struct err *err);
/* The same row with other contents. `old` is as it was. */
int queue_change(struct db *d, struct url_row *u, const struct queued *old,
		 const struct queued *fresh, struct err *err);
int queue_move(struct db *d, struct url_row *u, const struct queued *q, int64_t slot,
	       struct err *err);

int lcc_get(struct db *d, uint64_t row, struct stored *ret, struct err *err);
int lcc_from(struct db *d, struct sql_st *st, struct stored *ret, struct err *err);
int lcc_put(struct db *d, struct url_row *u, const struct stored *s, const struct queued *q,
	    struct err *err);
/* Its file goes to FSMDB. q: its row of the queue, or NULL. */
int lcc_drop(struct db *d, struct url_row *u, const struct stored *s, const struct queued *q,
	     struct err *err);

int gone_get(struct db *d, uint64_t id, struct gone *ret, struct err *err);
int gone_put(struct db *d, struct url_row *u, const struct gone *g, struct err *err);
int gone_row_drop(struct db *d, struct url_row *u, struct err *err);

int error_add(struct db *d, uint64_t provider, int64_t at_us, unsigned code, struct str reason,
	      struct str data, struct err *err);
/* What is stored is still good, and this is the newest that is said of it. */
int lcc_confirm(struct db *d, const struct stored *s, const struct notice *n, struct str data,
		struct err *err);
/* It has failed for good: the provider is told, its content goes. q, s: its rows; data: the notice.
 */
int url_row_fail(struct db *d, struct url_row *u, const struct queued *q, const struct stored *s,
		 struct str data, const struct gone *why, struct err *err);
/* It goes from queue and store; a row that is being fetched becomes "nothing". Saves it. */
int url_remove(struct db *d, struct url_row *u, int64_t now_us, struct str reason, struct err *err);
int is_sent(struct db *d, uint64_t row, int64_t *ret_at_us, struct err *err); /* 0, 1 */
int notice_of(struct db *d, struct str data, struct notice *ret, struct err *err);
void set_from(struct sql_st *st, struct set_row *ret);
int set_step(struct db *d, struct sql_st *st, struct set_row *ret, struct err *err);
int set_by(struct db *d, uint64_t set, struct set_row *ret, struct err *err);
int set_piece_read(struct db *d, const struct set_row *row, uint64_t piece, struct buf *ret,
		   struct err *err);                       /* unpacked; 1: there is no such */
int set_erase(struct db *d, uint64_t id, struct err *err); /* with its pieces */
int pieces_drop(struct db *d, uint64_t id, size_t most, size_t *ret_n, struct err *err);
