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
/* To read what may have been put there by others: a pipe is refused, never waited for. */
int file_open_plain(struct file *ret, const char *path, struct err *err);
/* The same file once more, with flags of its own, whatever has its name now. */
int file_reopen(const struct file *f, int flags, struct file *ret, struct err *err);
int file_close(struct file *f, struct err *err); /* also of a closed one */
void file_drop(struct file *f);                  /* closes; for readers and after errors */

/* Reads n bytes at an offset, fewer only at the end of the file. */
int file_read(const struct file *f, void *p, size_t n, uint64_t offset, size_t *ret_n,
	      struct err *err);
/* The next bytes of what has no offsets: a pipe, a terminal, standard input. *ret_n is 0 at the
 * end. */
int file_read_next(const struct file *f, void *p, size_t n, size_t *ret_n, struct err *err);
/* Writes all n bytes or fails; after a failure what is there past `offset` is unknown. */
int file_write(const struct file *f, const void *p, size_t n, uint64_t offset, struct err *err);
int file_sync(const struct file *f, struct err *err); /* data and size are on disk */
/* All that was written to the file system of f is on disk, names too: one call for many files. */
int file_sync_all(const struct file *f, struct err *err);
int file_truncate(const struct file *f, uint64_t size, struct err *err);
int file_allocate(const struct file *f, uint64_t size, struct err *err); /* blocks, not holes */
/* The same from a place on: holes before it stay. */
int file_extend(const struct file *f, uint64_t from, uint64_t size, struct err *err);
/* Gives the blocks of n bytes back, which are zeroes then; its size stays. 1: this file system
 * cannot. */
int file_punch(const struct file *f, uint64_t from, uint64_t n, struct err *err);
int file_size(const struct file *f, uint64_t *ret, struct err *err);
/* Transfers go past the page cache, or no longer do. While they do, memory, offset and length are
 * multiples of 4096. 1: this file system cannot. */
int file_direct(const struct file *f, bool on, struct err *err);
/* Bytes that are free in the file system of a path, for those who are not root, and bytes that it
 * has in all (may be NULL). */
int file_space(const char *path, uint64_t *ret_free, uint64_t *ret_total, struct err *err);
/* A file without a name in a folder: it is gone when it is closed, or when the program crashes. */
int file_temporary(struct file *ret, const char *folder, struct err *err);
/* A file without a name that has these bytes, in memory, to be handed to another program. */
int file_of_bytes(struct file *ret, struct str bytes, struct err *err);

/* Gives a file that was opened with O_TMPFILE a name. 1: there is such a file, and nothing was
 * done. */
int file_name(const struct file *f, const char *path, struct err *err);

/* By path. 1 where marked: it was not there. */
int file_rename(const char *from, const char *to, struct err *err);
int file_exchange(const char *a, const char *b, struct err *err); /* both are there; one step */
int file_remove(const char *path, struct err *err);               /* 1 */
int file_link(const char *from, const char *to, struct err *err); /* a second name; 1 */
/* A symbolic link, made or replaced in one step; it names `to` as it is written. */
int file_point(const char *path, const char *to, struct err *err);
/* 1: there is none. One that is not empty is an error. */
int dir_remove(const char *path, struct err *err);
int dir_make(const char *path, mode_t mode, struct err *err); /* with its parents; fine if there */
/* The same for one that is on disk when what it is made for is: file_sync_all() follows. */
int dir_make_unsynced(const char *path, mode_t mode, struct err *err);
int dir_sync(const char *path, struct err *err);    /* the names in it are on disk */
int dir_sync_of(const char *path, struct err *err); /* the same for the folder it is in */

/* The whole file, at most `out->max` bytes. 1: it does not exist. A pipe is refused, never waited
 * for. */
int file_slurp(const char *path, struct buf *out, struct err *err);
int file_slurp_own(const char *path, struct buf *out, struct err *err); /* a link is refused */
/* The file has the new bytes or the old ones, never others: written under another name, synced,
 * renamed, and the folder synced. */
int file_replace(const char *path, struct str bytes, mode_t mode, struct err *err);
/* 0: the file is another than when this was asked last, or was written since; *seen (zeroes at
 * first) is what it was then. 1: it is the same, or there is still none. */
int file_changed(const char *path, struct stat *seen, struct err *err);
/* A path as settings say it: below the folder, unless it is absolute. ERR_USAGE: it is too long. */
int file_below(const char *folder, const char *path, char ret[PATH_MAX], struct err *err);
/* Of a file that was opened to be read. 1: somebody has it open to write, or changed it after this
 * time (of the wall clock); 0: neither; negative: nobody can tell, for it is somebody else's, or on
 * a file system without leases. */
int file_in_use(const struct file *f, int64_t since_us, struct err *err);
/* Whether this is the name of a temporary file, as file_replace() writes before its rename; and of
 * one whose writer was killed. */
bool file_is_temporary(const char *name);
bool file_is_left(const char *name);

/* Of folders that hold what garner keeps: others see nothing of it. */
enum { DIR_MODE = 0750 };

/* Names in a folder, sorted, without . and .. : init, next until 1, done. */
struct dir {
	char **name;
	size_t n, at;
};
int dir_init(struct dir *ret, const char *path, struct err *err); /* 1: it does not exist */
/* The same of a folder that is ours, before anything in it is removed: a link is refused. */
int dir_init_own(struct dir *ret, const char *path, struct err *err);
int dir_next(struct dir *d, const char **ret);
void dir_done(struct dir *d);
/* The same in no order, for folders that are too large to be read as a whole; a link is refused, a
 * walk may be left open and continued later. Names that come or go meanwhile may be returned or
 * not. */
struct dir_walk;
int dir_walk_open(struct dir_walk **ret, const char *path, struct err *err); /* 1 */
int dir_walk_next(struct dir_walk *w, const char **ret, struct err *err);    /* 1: the end */
void dir_walk_close(struct dir_walk **w);                                    /* also NULL */
