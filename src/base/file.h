/* Files: the thin layer through which all file access goes, so that every error names its path and
 * tests can make every call fail. Descriptors are close-on-exec. A failed write or sync means: not
 * kept. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <limits.h>
#include <sys/stat.h>

struct file {
	int fd; /* -1: closed */
	char *path;
};

#define FILE_INIT ((struct file){.fd = -1})

/* flags and mode as in open(2). 1: it does not exist (and O_CREAT was not given). What is opened to
 * be written is never a symbolic link: someone else's file may be at its other end. */
int file_open(struct file *ret, const char *path, int flags, mode_t mode, struct err *err);
/* Opens a file that others may have put there, to read: a pipe is refused, never waited for. */
int file_open_plain(struct file *ret, const char *path, struct err *err);
/* Opens the same file again with other flags, even if its name now belongs to another file. */
int file_reopen(const struct file *f, int flags, struct file *ret, struct err *err);
int file_close(struct file *f, struct err *err); /* also of a closed one */
void file_drop(struct file *f);                  /* closes; for readers and after errors */

/* Reads n bytes at an offset; fewer only at the end of the file. */
int file_read(const struct file *f, void *p, size_t n, uint64_t offset, size_t *ret_n,
	      struct err *err);
/* Reads the next bytes of a pipe, a terminal or standard input. *ret_n is 0 at the end. */
int file_read_next(const struct file *f, void *p, size_t n, size_t *ret_n, struct err *err);
/* Writes all n bytes or fails; after a failure what is there past `offset` is unknown. */
int file_write(const struct file *f, const void *p, size_t n, uint64_t offset, struct err *err);
int file_sync(const struct file *f, struct err *err); /* data and size are on disk */
/* Syncs the whole file system of f, names included: one call for many files. */
int file_sync_all(const struct file *f, struct err *err);
int file_truncate(const struct file *f, uint64_t size, struct err *err);
int file_allocate(const struct file *f, uint64_t size, struct err *err); /* blocks, not holes */
/* Allocates from `from` on; holes before it stay. */
int file_extend(const struct file *f, uint64_t from, uint64_t size, struct err *err);
/* Frees the blocks of n bytes, which then read as zeroes; the size stays. 1: this file system
 * cannot. */
int file_punch(const struct file *f, uint64_t from, uint64_t n, struct err *err);
int file_size(const struct file *f, uint64_t *ret, struct err *err);
/* Turns transfers past the page cache on or off. While on, memory, offset and length must be
 * multiples of 4096. 1: this file system cannot. */
int file_direct(const struct file *f, bool on, struct err *err);
/* Returns the bytes free for ordinary users in the file system of a path, and its size (may be
 * NULL). */
int file_space(const char *path, uint64_t *ret_free, uint64_t *ret_total, struct err *err);
/* Creates an unnamed file in a folder; it disappears when it is closed or the program crashes. */
int file_temporary(struct file *ret, const char *folder, struct err *err);
/* Creates an unnamed file in memory with these bytes, to pass to another program. */
int file_of_bytes(struct file *ret, struct str bytes, struct err *err);

/* By path. Functions marked 1 return it if the file did not exist. */
int file_rename(const char *from, const char *to, struct err *err);
int file_exchange(const char *a, const char *b, struct err *err); /* both exist; atomic */
int file_remove(const char *path, struct err *err);               /* 1 */
int file_link(const char *from, const char *to, struct err *err); /* a second name; 1 */
/* Creates or replaces a symbolic link atomically; `to` is stored as given. */
int file_point(const char *path, const char *to, struct err *err);
/* 1: there is none. A folder that is not empty is an error. */
int dir_remove(const char *path, struct err *err);
int dir_make(const char *path, mode_t mode, struct err *err); /* with its parents; fine if there */
/* The same without a sync, for callers that call file_sync_all() afterwards. */
int dir_make_unsynced(const char *path, mode_t mode, struct err *err);
int dir_sync(const char *path, struct err *err);    /* the names in it are on disk */
int dir_sync_of(const char *path, struct err *err); /* the same for the folder it is in */
char *file_folder(const char *path);                /* that a file is in; to be freed */

/* Appends the whole file, at most `out->max` bytes. 1: it does not exist. A pipe is refused, never
 * waited for. */
int file_slurp(const char *path, struct buf *out, struct err *err);
int file_slurp_own(const char *path, struct buf *out, struct err *err); /* a link is refused */
/* Replaces a file atomically and durably: writes under another name, syncs, renames, and syncs the
 * folder. */
int file_replace(const char *path, struct str bytes, mode_t mode, struct err *err);
/* 0: the file was replaced or written since the last call, which left its state in *seen (zeroes at
 * first). 1: it is unchanged, or there is still none. */
int file_changed(const char *path, struct stat *seen, struct err *err);
/* Resolves a path from the settings against the folder. ERR_USAGE: the path is too long. */
int file_below(const char *folder, const char *path, char ret[PATH_MAX], struct err *err);
/* For a file opened to read. 1: a process has it open to write, or changed it after this time (wall
 * clock); 0: neither; negative: unknown, because another user owns it or the file system has no
 * leases. */
int file_in_use(const struct file *f, int64_t since_us, struct err *err);
/* Whether this is the name of a temporary file of file_replace(); and of one whose writer was
 * killed. */
bool file_is_temporary(const char *name);
bool file_is_left(const char *name);

/* For folders with garner's data: other users cannot read them. */
enum { DIR_MODE = 0750 };

/* Names in a folder, sorted, without . and .. : init, next until 1, done. */
struct dir {
	char **name;
	size_t n, at;
};
int dir_init(struct dir *ret, const char *path, struct err *err); /* 1: it does not exist */
/* The same for our own folders, before files in them are removed: a link is refused. */
int dir_init_own(struct dir *ret, const char *path, struct err *err);
int dir_next(struct dir *d, const char **ret);
void dir_done(struct dir *d);
/* The same in no order, for folders too large to read at once; a link is refused. A walk may stay
 * open and be continued later. Names created or removed meanwhile may or may not be returned. */
struct dir_walk;
int dir_walk_open(struct dir_walk **ret, const char *path, struct err *err); /* 1 */
int dir_walk_next(struct dir_walk *w, const char **ret, struct err *err);    /* 1: the end */
void dir_walk_close(struct dir_walk **w);                                    /* also NULL */
