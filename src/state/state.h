/* States: everything that is known of the crawl at one time, as a folder state/YYYYMMDD-HHMMSS/
 * with
 *	control      phase, numbers, lengths       places       entries of each URL (places.h)
 *	index        every URL (url_index.h)       sites        every site (sites.h)
 *	journal      what was fetched (journal.h)  changes      what modules did (journal.h)
 *	contrib      URLs found (journal.h)
 * and, while it is open,
 *	plan         what to fetch (plan.h)        checkpoints  lengths that belong together
 * Work goes on in a clone, which shares index and sites by hard links: nothing is overwritten, a
 * new index is written next to the old one and renamed. Exactly one state is open, the newest;
 * those before it are closed or corked. The link `closed` names the newest closed state, `current`
 * the newest of all.
 *
 * A cycle:   state_clone(closed) -> plan, reap (journal, contrib, checkpoints), cork -> corked
 *            state_clone(corked, with contrib) -> merge, select, record ... -> closed
 * A state whose journal may have been followed is never given up: recovery rolls it back to its
 * last checkpoint (recover.h). One that only reworks others (merge and after) is deleted and made
 * again.
 *
 * One process writes (states_open with write), any number read. Handles belong to one thread. */
#pragma once
#include "base/arena.h"
#include "state/journal.h"
#include "state/sites.h"

struct buckets;
struct states; /* the folder of the crawl: objects, state/, gone; garner.db is next to it */
struct state;

enum { STATE_NAME = 16 };       /* 15 characters and a NUL */
enum { STATE_SECTIONS = 2048 }; /* for the names of sections */

/* What `control` says of a state, without its other files. */
struct state_params {
	char from[STATE_NAME]; /* what it was cloned from, "" */
	int64_t created_us;
	uint64_t crawl;         /* the same in all states of a crawl, another in every other */
	uint64_t objects, gone; /* lengths at its creation; recovery cuts back to these */
	/* Copied from the origin by a clone, and changed by modules (state_params_put). All zero:
	 * unknown, for example after a loss. */
	struct state_course {
		uint64_t urls[ITEM_TYPES]; /* in the index, by type */
		uint64_t due_s;            /* nothing is due before; seconds since 1970 */
		uint64_t rate_milli;       /* URLs that reap fetches in 1,000 s */
		uint64_t rounds;           /* corks since the last merge */
		uint64_t asked;     /* URLs added by hand since then that reap has not fetched */
		uint64_t feedback;  /* number of the last feedback applied */
		uint64_t passes_us; /* time that all modules except reap took in the last cycle */
		uint64_t cleaned_bytes,
			cleaned_s;                /* the bucket file after the last cleanup; when */
		uint64_t bucket_bytes, url_bytes; /* means, measured then */
		char sections[STATE_SECTIONS];    /* names in order, with blanks */
	} course;
};

struct state_info {
	char name[STATE_NAME];
	enum phase phase;
	struct state_params params;
	bool locked;  /* a reader needs it, or an older one */
	bool damaged; /* control cannot be read; phase is PHASE_RECOVER */
};

/* The folder. */

/* Creates the folder, the bucket file (shift: see bucket.h, 0: the default) and a first, empty,
 * closed state. ERR_USAGE: there is a crawl already, or there are buckets but no states. */
int states_init(const char *folder, unsigned shift, int64_t now_us, struct err *err);
/* write: ERR_BUSY if another process writes. 1: there is no crawl yet. ERR_DAMAGED: all states are
 * lost and only buckets are left. A writer must call states_recover() first. */
int states_open(struct states **ret, const char *folder, bool write, struct err *err);
void states_close(struct states **s);
/* A path below it, in the arena: "objects", "gone", "state/20261115-120000/index". */
char *states_path(const struct states *s, struct arena *arena, const char *below);

/* Sets *ret_length to the part of the bucket file that the last checkpoint covers; 0: unknown.
 * buckets: that file, open. 1: it has been replaced (bucket_current()); open it again. */
int states_objects(struct states *s, const struct buckets *buckets, uint64_t *ret_length,
		   struct err *err);

/* Whether the bucket file at a path has the length that the newest state next to it knows; also
 * where there is no state. ERR_DAMAGED: it was cut. */
int states_know_objects(const char *path, struct err *err);

/* Lists all states, oldest first. */
int states_list(struct states *s, int64_t now_us, struct arena *arena, struct state_info **ret,
		size_t *ret_n, struct err *err);

/* How many states to keep. While there are too many of either kind the oldest state is deleted,
 * whatever its kind, so that the changes of the others have no gap. States that a reader's lock
 * needs stay; so do the newest closed state and all after it. */
struct states_keep {
	int64_t closed, corked; /* at most this many of each, at least 1 closed */
	int64_t gone_us;        /* how long entries of `gone` are kept; 0: for ever */
};
/* Deletes what is too old. No state may be open. Also removes expired locks. */
int states_audit(struct states *s, const struct states_keep *keep, int64_t now_us,
		 unsigned *ret_deleted, struct err *err);

/* Readers' locks: `who` (letters, digits, - _ .) needs this state and all after it until then. A
 * lock replaces the one that `who` had. Any process may lock. 1: there is no such state (any
 * more), and nothing is locked. */
int states_lock(struct states *s, const char *who, const char *name, int64_t until_us,
		struct err *err);
/* A sign of a reader with a lock: it has taken all that happened before this time; 0: all there is.
 * Lost when the lock is renewed. */
void states_follower_is_at(struct states *s, const char *who, int64_t time_us);

/* One state. */

/* name: a state's, "closed" or "current". 1: there is no such state. */
int state_open(struct state **ret, struct states *s, const char *name, struct err *err);
/* Creates a state in PHASE_PREPARE with the index and sites of `from`, which is closed or corked
 * and the newest. contrib: shares the contributions, too; the first append copies them. Atomic.
 * ERR_USAGE: a state is open. */
int state_clone(struct state **ret, struct state *from, bool contrib, int64_t now_us,
		struct err *err);
void state_free(struct state **st); /* loses what was not synced */

const char *state_name(const struct state *st);
enum phase state_phase(const struct state *st);
const struct state_params *state_params(const struct state *st);
/* Durable when it returns 0. */
int state_params_put(struct state *st, const struct state_course *course, struct err *err);
/* Where its files lie; as long as the handle does. */
const char *state_folder(const struct state *st);
/* A path in it, in the arena: "plan". */
char *state_path(const struct state *st, struct arena *arena, const char *file);

/* Makes a checkpoint if anything was appended, then enters the phase, durably. A closed or corked
 * state can no longer be written, and the links follow it. buckets: as in state_checkpoint(). */
int state_enter(struct state *st, enum phase phase, struct buckets *buckets, int64_t now_us,
		struct err *err);

/* Opens the index at the first call. The state owns it; valid until state_free() or the next
 * state_index_put(). */
int state_index(struct state *st, const struct url_index **ret, struct err *err);
/* Begins a new index. End it with state_index_put(), which replaces the old one, or with
 * url_index_drop(). */
int state_index_create(struct state *st, struct url_index_writer **ret, struct err *err);
int state_index_put(struct state *st, struct url_index_writer **w, struct err *err);
/* For cleanup, before bucket_shakedown(): an index from state_index_create() with what it keeps, by
 * the numbers that buckets have then. It lies next to the index until the state is done; until the
 * shakedown is done nothing depends on it. */
int state_index_keep(struct state *st, struct url_index_writer **w, struct err *err);
/* For cleanup, after bucket_shakedown(): an index with the new numbers, made from the one above, or
 * where there is none from that of the state this one was cloned from. URLs whose bucket was
 * dropped all the same go to `gone`; *ret_forgotten, where not NULL, counts them. The report of the
 * shakedown is removed when the state is closed. */
int state_renumber(struct state *st, uint64_t *ret_forgotten, struct err *err);
/* Sites from end to end, to be read in step with the index; and a new list, finished with
 * state_sites_finish(), which puts it in the place of the old one, or counted_drop(). */
int state_sites_scan(struct state *st, struct sites_scan **ret, struct err *err);
int state_sites_create(struct state *st, struct counted_writer *ret, struct err *err);
int state_sites_finish(struct state *st, struct counted_writer *w, struct err *err);
/* The whole list in memory; the caller owns it. */
int state_sites(struct state *st, struct sites **ret, struct err *err);
int state_sites_put(struct state *st, struct sites *sites, struct err *err);

/* Appends to an open state; durable with the next state_checkpoint() or state_enter(). Negative:
 * the entry was not appended, and earlier ones since the last checkpoint may be lost. Stop then:
 * recovery rolls back. */
int state_journal(struct state *st, const struct journal_entry *e, struct err *err);
/* ret_place may be NULL: what ITEM_CONTRIB items have in `where`. */
int state_contrib(struct state *st, const struct contrib *c, uint64_t *ret_place, struct err *err);
int state_change(struct state *st, const struct change *c, struct err *err);
int state_gone(struct state *st, const struct gone *g, struct err *err);

/* Lengths of files that belong together: everything before them is durable. */
struct checkpoint {
	uint64_t number; /* from 1 on in each state */
	int64_t time_us;
	uint64_t objects, journal, contrib, changes, gone;
};
/* Syncs the bucket file (NULL: unchanged since the last checkpoint) and everything appended, in
 * parallel, then records the lengths. Takes at most the time of two syncs. Followers see the
 * journal up to here. Another thread uses `buckets` meanwhile. */
int state_checkpoint(struct state *st, struct buckets *buckets, int64_t now_us, struct err *err);
/* Makes a checkpoint if anything was appended, and closes the files, because the next module runs
 * in another process. The next append opens them again. */
int state_rest(struct state *st, int64_t now_us, struct err *err);
/* Whether anything was appended since the last checkpoint, or there is none. */
bool state_grown(const struct state *st);
/* How far the slowest follower lags behind time_us; 0: none does. Ignores followers that gave no
 * sign lately. */
int64_t state_behind_us(const struct state *st, int64_t time_us, int64_t now_us);
/* Reading what was appended: from the first record on, up to the last checkpoint while the state is
 * open. 1: there is none. Read on with journal_read(), contrib_read(), change_read() of the
 * payloads. */
int state_read(struct state *st, const char *file, struct record_reader **ret, struct err *err);
/* Contributions that no merge has taken: round 0 are those of the state itself (or those that it
 * shares with its origin), 1 those of the corked state before, and so on to the last closed one.
 * 1: there is no such round. An empty round has *ret NULL. */
int state_contribs(struct state *st, unsigned round, struct record_reader **ret, struct err *err);
/* The place of a contribution as items have it. */
enum { CONTRIB_ROUNDS = 255 };
static inline uint64_t contrib_place(unsigned round, uint64_t at)
{
	return (uint64_t)round << 40 | at;
}
/* One contribution by such a place. The slices are valid until the next call. */
int state_contrib_at(struct state *st, uint64_t place, struct contrib *ret, struct err *err);

extern const struct format control_format, checkpoints_format;
