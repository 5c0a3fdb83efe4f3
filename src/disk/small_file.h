/* Small files: a head, a checksum and a payload, replaced as a whole, so that a reader sees the new
 * one or the old one. Layout of all of them: doc/small-files.md; the format names magic, version
 * and, where it can, the columns of the payload (base/rows.h).
 *
 * Reading tells apart: 1, there is no such file; ERR_DAMAGED, its bytes are not what was written;
 * ERR_USAGE, it is sound, but another version of garner wrote it. */
#pragma once
#include "base/file.h"
#include "disk/format.h"

enum { SMALL_FILE_HEAD = FORMAT_MAGIC + 12 };

/* Durable when it returns 0. */
int small_file_write(const char *path, const struct format *f, struct str payload, struct err *err);
/* The payload lies in `room`, whose limit bounds the file. */
int small_file_read(const char *path, const struct format *f, struct buf *room, struct str *ret,
		    struct err *err);

/* The same for files whose payload is one struct by the format's table of fields, without
 * a COL_STR. */
int small_file_save(const char *path, const struct format *f, const void *from, struct err *err);
int small_file_load(const char *path, const struct format *f, void *ret, struct err *err);

/* Appends the bytes of a file that has at most `most`, for small_file_unseal(). *ret_file, where
 * not NULL, is the open file, also after a failure to read it: as long as the caller keeps it, no
 * other file gets its inode number. 1: there is no such file. */
int small_file_hold(const char *path, size_t most, struct file *ret_file, struct buf *out,
		    struct err *err);

/* For callers that write or read the bytes of such a file themselves. */
void small_file_seal(const struct format *f, struct str payload, struct buf *out);
int small_file_unseal(const char *path, const struct format *f, struct str bytes, struct str *ret,
		      struct err *err);
