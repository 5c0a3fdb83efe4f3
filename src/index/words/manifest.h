/* The manifest of a words index: which segments there are, what is deleted from them, and the
 * settings of the index. Replaced in one step by every commit. Also the names and the layout of the
 * small files next to segments. */
#pragma once
#include "base/file.h"
#include "index/segment.h"
#include "index/words.h"

#include <stdatomic.h>

struct manifest_segment {
	uint64_t id;
	uint64_t deletes; /* generation of its file of deletes; 0: it has none */
	uint64_t bytes;   /* of its file */
	uint32_t docs, deleted;
};
struct manifest {
	uint64_t generation, next_id;
	struct words_note note;
	struct words_settings settings;
	struct manifest_segment *segment;
	size_t n;
};

/* 1: there is none. ret_file, where not NULL, is the open file, so that nobody else gets its
 * number. */
int manifest_read(const char *folder, struct manifest *ret, struct file *ret_file, struct err *err);
int manifest_read_file(const char *path, struct manifest *ret, struct err *err); /* 1 */
int manifest_write(const char *folder, const struct manifest *m, struct err *err);
void manifest_free(struct manifest *m);

/* Whether the manifest is another one than the open file. 0: it is; 1: it is the same. */
int manifest_changed(const char *folder, const struct file *file, struct err *err);

/* Paths, to be freed. */
char *segment_file_path(const char *folder, uint64_t id);
char *deletes_file_path(const char *folder, uint64_t id, uint64_t generation);

/* Removes what is not part of the index: files of a writer that was killed or gave up. */
int manifest_sweep(const char *folder, const struct manifest *m, struct err *err);

/* Deletes: a bit for each document, in whole words of 64. */
static inline size_t deletes_words(uint32_t docs)
{
	return ((size_t)docs + 63) / 64;
}
int deletes_write(const char *path, const uint64_t *bits, uint32_t docs, struct err *err);
/* *ret is to be freed. 1: there is no such file. */
int deletes_read_any(const char *path, uint32_t *ret_docs, uint64_t **ret, struct err *err);

/* Segments and deletes in memory, shared between snapshots of a reader, and by the writer with its
 * merges: counted, so that the last to drop one frees it. */

struct shared {
	atomic_uint refs;
	struct segment *segment;
	uint64_t *bits; /* deletes; NULL: no document is deleted */
};

/* Takes over what it is given: one of the two. */
struct shared *shared_new(struct segment *segment, uint64_t *bits);
/* 1: the file is not there. */
int shared_segment(struct shared **ret, const char *folder, const struct manifest_segment *m,
		   struct err *err);
int shared_deletes(struct shared **ret, const char *folder, const struct manifest_segment *m,
		   struct err *err);
struct shared *shared_hold(struct shared *s);
void shared_drop(struct shared **s);
