/* A segment being written: first all its documents in order, then all terms in order of attribute
 * and bytes, each with its postings. What is not yet in the file is in memory: documents (about 40
 * bytes and the key for each), the dictionary, and the current list. */
#pragma once
#include "base/buf.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/page.h"
#include "index/segment.h"
#include "index/token.h"
#include "index/words/bitpack.h"
#include "index/words/segment_inner.h"

#include <stdatomic.h>

struct segment_writer;

struct segment_doc {
	struct str key;
	uint64_t length;       /* weighted */
	const int64_t *number; /* one for each column, of words by segment_put_value();
				* SEGMENT_ABSENT */
	const struct segment_range *range;
	uint32_t ranges;
};

/* attr: the names, the main one first. columns: with time, rank and oid. direct: what is written
 * does not stay in the page cache. */
int segment_create(struct segment_writer **ret, const char *path, const struct str *attr,
		   uint32_t attrs, uint32_t columns, bool direct, struct err *err);
/* The number that a text has in a column of words until the end. Each one that is asked for has to
 * be some document's. */
uint32_t segment_put_value(struct segment_writer *w, uint32_t column, struct str text);
void segment_put_doc(struct segment_writer *w, const struct segment_doc *doc);
/* Codes of lengths of the documents, once all are there. */
const uint8_t *segment_put_lengths(const struct segment_writer *w);

/* Postings and occurrences go to the list, between begin and end. `own` is the table of forms: for
 * each a varint length and the bytes. A term without postings is left out. */
struct list_writer *segment_put_begin(struct segment_writer *w, uint32_t attr, bool forms);
void segment_put_end(struct segment_writer *w, struct str term, struct str own);

/* Ends it, also when it fails: then no file is left. With sync it is on disk, its name is not. */
int segment_put_finish(struct segment_writer **w, bool sync, struct err *err);
void segment_put_drop(struct segment_writer **w); /* removes the file */

/* Several segments made into one, without what is deleted from them. */

struct merge_source {
	struct segment *segment;
	const uint64_t *deleted; /* a bit per document, or NULL */
	uint32_t *number; /* by document: its number in the new segment, or UINT32_MAX. Of the
			   * caller, with room for all; filled also when the merge fails */
};

struct merge_spec {
	const struct words_settings *settings; /* weights, columns */
	bool by_rank;                          /* documents are numbered by rank, the best first */
	const atomic_bool *stop;               /* the merge fails soon after it became true */
	bool past_cache; /* neither what it reads nor what it writes stays in memory */
	bool gently;     /* rests as long as it works, so that others have the machine too */
};

/* Uses memory for documents and the dictionary, and, numbering by rank, for the longest list. 1: no
 * document is left, and no file was made. */
int segment_merge(const struct merge_source *source, size_t n, const struct merge_spec *spec,
		  const char *path, struct err *err);

/* A list of postings being written: postings in the order of documents, each after its occurrences.
 * Belongs to a segment_writer and is reused from term to term. */

enum { FRONTIER_MOST = SEGMENT_BLOCK };

struct list_writer {
	/* The current block. */
	uint32_t gap[SEGMENT_BLOCK], tf[SEGMENT_BLOCK], more[SEGMENT_BLOCK];
	uint32_t n, last;
	bool tf_one, counts; /* all frequencies are 1; occurrences differ from them */
	struct {
		uint8_t tf, len;
	} frontier[FRONTIER_MOST]; /* pairs of which none is covered by another */
	uint32_t frontiers;
	/* Current occurrences: the block of positions (gaps inside a posting) and forms. */
	uint32_t pos[SEGMENT_BLOCK], form[SEGMENT_BLOCK];
	uint32_t npos;
	bool positions, forms;
	/* What is packed already. */
	struct buf docs, occ;                     /* blocks of postings, of occurrences */
	struct buf lasts, wheres, pos_wheres;     /* u32 for each block */
	struct buf pos_skips, bounds;             /* bytes for each block */
	uint32_t next_where, next_pos, next_skip; /* of the current block */
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

/* The dictionary being written: terms in order of attribute and bytes, in blocks whose first terms
 * are indexed. */

/* Writing: entries in order of attribute and term. */
struct dict_writer {
	struct buf blocks, prefixes, wheres;
	struct buf firsts; /* u32 for each attribute and one more: its first block */
	char term[TOKEN_TERM_MOST];
	size_t term_n;
	uint32_t in_block, nblocks, attrs;
	uint64_t terms;
	size_t count_at; /* where the number of terms of the current block is */
};

void dict_init(struct dict_writer *d);
void dict_free(struct dict_writer *d);
/* at: where its data begins; a term with bytes 0 has none. */
void dict_put(struct dict_writer *d, uint32_t attr, struct str term, uint64_t at,
	      const struct segment_term *info);
/* attrs: how many there are; those without a term have no block. */
void dict_end(struct dict_writer *d, uint32_t attrs);

/* Columns being written: rows of numbers, and the texts of columns of words. */

/* Texts that have numbers, from 1 on as they come. Zeroed: empty. */
struct value_key {
	struct str text;
	uint64_t seed; /* of the table: nobody outside can choose texts that collide */
};
static inline uint64_t value_hash(struct value_key k)
{
	return hash64_seeded(k.text, k.seed);
}
static inline bool value_equal(struct value_key a, struct value_key b)
{
	return str_eq(a.text, b.text);
}
TABLE(value_numbers, struct value_key, uint32_t, value_hash, value_equal)

struct value_table {
	struct value_numbers numbers;
	struct str *text; /* by number - 1 */
	uint32_t n;
	size_t room;
	uint64_t seed;
	struct arena arena;
};
uint32_t value_table_add(struct value_table *t, struct str text);
uint64_t value_table_bytes(const struct value_table *t);
void value_table_free(struct value_table *t);

/* What a value of an attribute is in its column: *number is set, or stays. */
void columns_take(enum words_type type, struct value_table *t, struct str value, int64_t *number);

struct columns_writer {
	uint32_t columns, docs;
	struct buf numbers; /* u64 for each column of each document */
	struct value_table values[SEGMENT_COLUMNS_MOST];
};
struct columns_parts {
	struct buf numbers, values, spans;
};
void columns_init(struct columns_writer *w, uint32_t columns);
void columns_free(struct columns_writer *w);
void columns_put(struct columns_writer *w, const int64_t *number);
/* The parts of the file. false: a table of values is too long. */
bool columns_end(struct columns_writer *w, struct columns_parts *ret);
void columns_parts_free(struct columns_parts *p);
