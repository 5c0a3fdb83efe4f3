/* What the files of states share among themselves: state_folder.c, state.c, followers.c,
 * recover.c, rebuild.c. */
#pragma once
#include "base/pool.h"
#include "base/rows.h"
#include "disk/lock.h"
#include "disk/small_file.h"
#include "state/checkpoint_inner.h"
#include "state/state.h"
#include "store/small.h"

#include <limits.h>

#include <limits.h>

/* What a reader of the crawl needs, and how long. */
struct state_lock {
	char crawl[256], who[65]; /* the last part of the crawl's folder; the reader */
	char state[STATE_NAME];
	int64_t until_us;
	int64_t at_us, seen_us; /* what it has taken, and when it said so; 0: all there is */
};
extern const struct small_table state_locks;

struct states {
	char *folder;
	bool write;
	struct lock lock;
	struct small *small; /* of the readers' locks; NULL: not opened yet */
	enum small_mode small_mode;
};

/* The files that grow while a state is open, in the order of struct checkpoint. */
enum appended { APPEND_JOURNAL, APPEND_CONTRIB, APPEND_CHANGES, APPENDS };
struct appended_file {
	const char *name;
	const struct record_kind *kind;
};
extern const struct appended_file appended_files[APPENDS];
uint64_t *checkpoint_length(struct checkpoint *c, enum appended which);

struct state {
	struct states *s;
	char name[STATE_NAME];
	char *folder;
	enum phase phase;
	struct state_params params;
	struct url_index *index;
	struct record_writer *writer[APPENDS]; /* NULL: nothing appended by this handle */
	struct record_group group[APPENDS];
	struct gone_writer *gone;
	struct record_group gone_group;
	struct file checkpoints; /* open while this handle makes some */
	struct checkpoint last;
	struct pool *pool; /* for syncs, once there was a checkpoint */
	struct buf scratch;
	struct record_reader *contrib_in; /* of contrib_round */
	unsigned contrib_round;
};

/* While cork is at work, the index with which it began; while cleanup is, what it kept of it. */
#define INDEX_KEPT ".index.kept"

/* The path of a file in a folder, in ret, which is returned. states_open() takes no folder that is
 * too long for that. */
char *path_in(const char *folder, const char *file, char ret[PATH_MAX]);

/* "20261115-120000" */
bool state_name_ok(struct str name);
void state_name_of(int64_t s, char ret[STATE_NAME]); /* seconds since 1970 */
int64_t state_time_of(const char *name);

/* What the file `control` of a state holds. While the state is open, `checkpoints` counts for the
 * lengths. */
struct state_control {
	enum phase phase;
	struct state_params params;
	struct checkpoint last;
};
/* Durable when it returns 0. */
int control_write(const char *folder, const struct state_control *c, struct err *err);
/* 1: there is none. */
int control_read(const char *folder, struct state_control *ret, struct err *err);
/* The lengths that the files have now: used if no checkpoint can be read. */
struct checkpoint checkpoint_measured(const char *folder, const struct state_params *params);
/* Removes the files that only an open state needs. */
int state_forget_work(struct states *s, const char *folder, struct err *err);

/* The newest state of all, of those that are done, or that are closed. 1: there is none. */
enum states_which { STATES_ALL, STATES_DONE, STATES_CLOSED };
int states_newest(struct states *s, enum states_which which, struct state_info *ret,
		  struct err *err);
/* Makes the links name the newest closed and the newest state. */
int states_relink(struct states *s, struct err *err);
/* The oldest state that a reader's lock needs; "": none. */
int states_oldest_locked(struct states *s, int64_t now_us, char ret[STATE_NAME], struct err *err);
/* Removes locks that have expired. Killed at any time, no lock is lost that holds, nor
 * one that its reader renews meanwhile. */
int states_expire_locks(struct states *s, int64_t now_us, struct err *err);
/* Removes a state that is not the newest closed one. */
int states_delete(struct states *s, const char *name, struct err *err);
/* A new, complete state in a phase. from NULL: with nothing in it but an empty index and no sites.
 */
int states_make(struct states *s, const struct state *from, bool contrib, enum phase phase,
		int64_t now_us, struct state **ret, struct err *err);

/* Closes all writers; sync: durably. */
int state_end_appends(struct state *st, bool sync, struct err *err);
/* Copies a file that another state shares, before it is changed. */
int state_own_file(const char *path, struct err *err);
/* Notes where the entries of journal and changes lie (places.h), before the state is done. */
int state_places_write(struct state *st, struct err *err);
/* Bytes of a file of the crawl; 0 where it is not there. */
int states_length(const struct states *s, const char *file, uint64_t *ret, struct err *err);

/* Verifiers that know what the states know (known.c). */
int journal_verify(const char *path, struct err *err);
int contrib_verify(const char *path, struct err *err);
int changes_verify(const char *path, struct err *err);
int gone_verify(const char *path, struct err *err);

/* Recovery: recover.c and rebuild.c. */

struct recovery;
/* A line in `told`. */
void recovery_tell(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same of something that was damaged. */
void recovery_damage(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Reports a failure as damage and continues: if rc is negative and err is ERR_DAMAGED, writes a
 * line of err and `then`, and returns 1. Otherwise returns rc. */
int recovery_bear(struct recovery *r, int rc, const struct err *err, const char *then);
/* In which phase a state ends that recovery has put in order: corked while it has contributions
 * that no merge has taken, else closed. */
enum phase recover_done(const struct state *st);
/* Rule 2: index and sites of a state in PHASE_RECOVER are made again; the state ends by
 * recover_done(). */
int rebuild_index(struct state *st, int64_t now_us, struct recovery *r, struct err *err);
