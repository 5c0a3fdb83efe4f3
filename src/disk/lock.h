/* Locks that say who holds them: of a folder, as long as a process lives. A killed process frees
 * its own. */
#pragma once
#include "base/file.h"

struct lock {
	struct file file;
};

/* Locks a folder, and makes it where there is none (its parent must be there). It may be a folder
 * that holds what is protected, or an empty one that is only locked; nothing else may lock it.
 * ERR_BUSY: err says who holds it ("held by pid 123 (garner up)"). */
int lock_take(struct lock *ret, const char *path, struct err *err);
void lock_free(struct lock *l); /* gives it back */

/* Whether somebody holds it, without taking it. 0: held, *ret_pid is set (0: a process that cannot
 * be seen from here, as in another container); 1: free or not there. */
int lock_holder(const char *path, int64_t *ret_pid, struct err *err);

/* Locks an open file that holds something else, as long as it is open. ERR_BUSY. */
int lock_file(const struct file *f, struct err *err);
/* Whether another open file has that lock. */
bool lock_file_held(const struct file *f);

/* Locks a folder by flock(2), which disturbs no lock that a database takes on its own files, and
 * outlives a file that is replaced by renaming. It lasts until file_drop(ret). ERR_BUSY: someone
 * holds it in a way that excludes this one. */
enum lock_how { LOCK_SHARED, LOCK_ALONE };
int lock_folder(struct file *ret, const char *folder, enum lock_how how, struct err *err);
