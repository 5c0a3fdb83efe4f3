/* What the files of states share among themselves: states.c, state.c, state_append.c, followers.c,
 * recover*.c.
 */
#pragma once
#include "disk/fields.h"
#include "disk/lock.h"
#include "disk/small_file.h"
#include "state/checkpoint.h"
#include "state/state.h"
#include "state/state_sync.h"

/* What a reader of the crawl needs, and how long. */
struct state_lock {
	char state[STATE_NAME];
	int64_t until_us;
};

struct states {
	char *folder;
	bool write;
	struct lock lock;
};

/* The files that grow while a state is open, in the order of struct checkpoint. */
enum appended { APPEND_JOURNAL, APPEND_CONTRIB, APPEND_CHANGES, APPENDS };
struct appended_file {
	const char *name;
	const struct record_kind *kind;
};
extern const struct appended_file appended_files[APPENDS];

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
	struct checkpoint_notes notes;
	struct checkpoint last; /* or the lengths of the beginning */
	bool has_last;
	struct sync_pool *pool;
	struct buf scratch;
	struct record_reader *contrib_in;
};

/* "20261115-120000" */
bool state_name_ok(struct str name);
void state_name_of(int64_t s, char ret[STATE_NAME]); /* seconds since 1970 */
int64_t state_time_of(const char *name);
int params_write(const char *folder, const struct state_params *params, struct err *err);
/* 1: there is none. */
int params_read(const char *folder, struct state_params *ret, struct err *err);
int control_write(const char *folder, enum phase phase, struct err *err);
int control_read(const char *folder, enum phase *ret, struct err *err);

/* Makes the links name the newest closed and the newest state. */
int states_relink(struct states *s, struct err *err);
/* The oldest state that a reader's lock needs; "": none. */
int states_oldest_locked(struct states *s, int64_t now_us, char ret[STATE_NAME], struct err *err);
/* Removes the files of locks that have expired. Killed at any time, no lock is lost that holds, nor
 * one that its reader renews meanwhile. */
int states_expire_locks(struct states *s, int64_t now_us, struct err *err);
/* Removes a state that is not the newest closed one. */
int states_delete(struct states *s, const char *name, struct err *err);
/* A new, complete state in a phase. from NULL: with nothing in it but an empty index and no sites.
 */
int states_make(struct states *s, const struct state *from, bool contrib, enum phase phase,
		int64_t now_us, struct state **ret, struct err *err);

/* The last checkpoint is noted again, after one of its copies was lost. */
int state_note_again(struct state *st, struct err *err);
/* All writers are given back; sync: durably. */
int state_end_appends(struct state *st, bool sync, struct err *err);
bool state_has_appends(const struct state *st);

/* state_rollback() step by step, a file each and the bucket file last: one that is damaged does not
 * keep the others from being cut. */
enum { ROLLBACK_STEPS = APPENDS + 2 };
int state_rollback_begin(struct state *st, struct err *err);
int state_rollback_step(struct state *st, unsigned step, struct err *err);
/* All that the last checkpoint knows of a file is whole. ERR_DAMAGED. */
int state_check_appended(struct state *st, enum appended which, struct err *err);
/* Where it is not, what lies before the damage is all that counts from now on; that is noted as a
 * checkpoint. Also in a state that is done. */
int state_keep_sound(struct state *st, enum appended which, struct err *err);

/* Bytes of a file of the crawl; 0 where it is not there. */
int states_length(const struct states *s, const char *file, uint64_t *ret, struct err *err);
