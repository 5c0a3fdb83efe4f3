/* The writer of a words index, between words_write.c (documents, commits) and words_merge.c. */
#pragma once
#include "disk/lock.h"
#include "index/invert.h"
#include "index/words_parts.h"

#include <pthread.h>
#include <stdatomic.h>

/* A segment that is part of the index, or will be with the next commit. */
struct live {
	struct shared_segment *segment;
	struct manifest_segment m; /* as committed; id, bytes and docs also before */
	struct shared_bits *gone;  /* deletes that are committed */
	uint64_t *leaving;         /* deletes since, or NULL */
	uint32_t leaving_docs;
	bool committed;
	bool merging; /* a merge has taken it */
};

struct words_writer {
	char *folder;
	struct lock lock;
	uint64_t memory;
	struct words_settings settings;
	struct token_rules *rules;
	bool merges_elsewhere;
	atomic_bool stop;         /* no more merges */
	pthread_mutex_t mutex;    /* all that follows */
	pthread_cond_t merged;    /* a merge has ended */
	struct manifest manifest; /* the last that was written */
	struct invert *invert;
	struct live *live;
	size_t n, room;
	uint64_t next_id;
	bool changed; /* there is something to commit */
	bool broken;  /* the last commit could not be read again */
};

/* Negative: what an earlier failure left is not what was committed, and nobody builds on it. */
int writer_whole(const struct words_writer *w, struct err *err);
/* Takes and gives back the mutex, unless that. writer_leave() gives rc. */
int writer_enter(struct words_writer *w, struct err *err);
int writer_leave(struct words_writer *w, int rc);

void live_release(struct live *l);
/* Adds a place at the end. */
struct live *writer_place(struct words_writer *w);
/* Opens a segment that was just written. */
int writer_open_new(struct words_writer *w, uint64_t id, struct live *ret, struct err *err);
/* Writes a manifest of the committed segments in a list. After a failure see writer_take_back(). */
int writer_publish(struct words_writer *w, const struct live *live, size_t n, struct err *err);
/* After a manifest was written and is not known to be kept: the one before stands again. false: it
 * does not, and the writer is broken; no file may be removed. */
bool writer_take_back(struct words_writer *w);
void writer_remove_segment(const struct words_writer *w, const struct manifest_segment *m);
/* Merges tiers whose work is small, as every commit does. The mutex is not held. */
int writer_merge_some(struct words_writer *w, uint64_t most, struct err *err);
