/* A list of postings being written: postings in the order of documents, each after its occurrences.
 * Belongs to a segment_writer; reused from term to term. */
#pragma once
#include "base/buf.h"
#include "index/bitpack.h"
#include "index/segment_layout.h"

enum { FRONTIER_MOST = SEGMENT_BLOCK };

struct list_writer {
	/* The block at hand. */
	uint32_t gap[SEGMENT_BLOCK], tf[SEGMENT_BLOCK], more[SEGMENT_BLOCK];
	uint32_t n, last;
	bool tf_one, counts; /* all frequencies are 1; occurrences differ from them */
	struct {
		uint8_t tf, len;
	} frontier[FRONTIER_MOST]; /* pairs of which none is covered by another */
	uint32_t frontiers;
	/* Occurrences at hand: the block of positions (gaps inside a posting) and forms. */
	uint32_t pos[SEGMENT_BLOCK], form[SEGMENT_BLOCK];
	uint32_t npos;
	bool positions, forms;
	/* What is packed already. */
	struct buf docs, occ;                     /* blocks of postings, of occurrences */
	struct buf lasts, wheres, pos_wheres;     /* u32 for each block */
	struct buf pos_skips, bounds;             /* bytes for each block */
	uint32_t next_where, next_pos, next_skip; /* of the block at hand */
	uint32_t tail;                            /* where the last occurrences begin, if fewer */
	uint64_t df, occurrences;
	float norm[256]; /* by code of length: what a frequency is set against in a bound's worth */
};

void list_init(struct list_writer *l);
void list_free(struct list_writer *l);
/* The mean length of the documents, for the choice of bounds (any is right, some are tighter). */
void list_mean(struct list_writer *l, double mean_length);

/* positions: it is a combined list. forms: there are occurrences with a form other than 0. */
void list_begin(struct list_writer *l, bool positions, bool forms);
void list_flush_occurrences(struct list_writer *l);
void list_flush_postings(struct list_writer *l);

static inline void list_occurrence(struct list_writer *l, uint32_t gap, uint32_t form)
{
	l->pos[l->npos] = gap;
	l->form[l->npos] = form;
	if (++l->npos == SEGMENT_BLOCK)
		list_flush_occurrences(l);
}

void list_frontier_add(struct list_writer *l, uint8_t tf, uint8_t len);

/* doc is greater than the one before, tf from 1 to 255, count of its occurrences at least 1. */
static inline void list_posting(struct list_writer *l, uint32_t doc, uint32_t tf, uint32_t count,
				uint8_t len)
{
	uint32_t n = l->n;
	l->gap[n] = doc - l->last - 1;
	l->last = doc;
	l->tf[n] = tf;
	l->tf_one &= tf == 1;
	l->more[n] = zigzag((int32_t)(count - tf));
	l->counts |= count != tf;
	l->occurrences += count;
	list_frontier_add(l, (uint8_t)tf, len);
	if (++l->n == SEGMENT_BLOCK)
		list_flush_postings(l);
}

/* The data of the term. `own`: its table of forms, as it is kept, or nothing. `at` is where it will
 * lie in the file. */
void list_end(struct list_writer *l, uint64_t at, struct str own, struct buf *out);
