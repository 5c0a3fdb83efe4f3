/* Segments: one immutable file each, with the words of a number of documents. Documents have the
 * numbers 0 to docs - 1. What the query engine programs against.
 *
 * A term has one combined list over all attributes (attribute 0), with occurrences, and for each
 * attribute other than the main one a list of its own, without. A list is a row of blocks of 128
 * postings, the last perhaps shorter. For each block there is its last document and a bound: every
 * posting of the block has a frequency of at most `tf` and a document length of at least `len` of
 * one of three pairs.
 *
 * Frequencies are weighted: the sum over attributes of occurrences times weight, at most 255.
 * Lengths are weighted the same way and kept in one byte (words_length_of()).
 *
 * The main attribute is the first in a document: its words have the positions 0, 1 ...; each other
 * value begins two positions after the end of the one before, so that no phrase spans both.
 *
 * All pages are verified before their bytes are used, and all numbers are checked against their
 * limits. ERR_DAMAGED: one was wrong. For any number of threads; cursors belong to one. */
#pragma once
#include "index/words.h"

#include <endian.h>

enum {
	SEGMENT_BLOCK = 128, /* postings in a block, and occurrences in a block of these */
	SEGMENT_BOUNDS = 3,  /* pairs per block */
	SEGMENT_TF_MOST = 255,
	SEGMENT_DOCS_MOST = 1 << 30,
	SEGMENT_COMBINED = 0, /* where an attribute is asked for: the list over all */
};

struct segment;

int segment_open(struct segment **ret, const char *path, struct err *err);
void segment_close(struct segment **s);
const char *segment_path(const struct segment *s);

struct segment_info {
	uint32_t docs, attrs;
	uint64_t terms; /* entries of the dictionary, those of attributes too */
	uint64_t occurrences, weighted_length;
	uint64_t file_bytes;
	uint16_t rank_most;
};
const struct segment_info *segment_info(const struct segment *s);
int segment_verify(struct segment *s, struct err *err); /* every page */
/* Whether all that was read so far could be read: to be asked before an answer is given. */
int segment_check(const struct segment *s, struct err *err);

/* What was read of it by its one reader need not stay in memory. */
void segment_forget(struct segment *s);
/* Reads in what every query needs, in the background: the dictionary, lengths, spans. */
void segment_warm(struct segment *s);

/* Attributes. */

/* The number of a name (in lower case), 0 for the main one. -1: no document has it. */
int segment_attr(const struct segment *s, struct str name);
struct str segment_attr_name(const struct segment *s, unsigned attr);

/* The dictionary. */

struct segment_term {
	uint32_t df, blocks;
	uint64_t occurrences; /* 0 in lists of attributes */
	uint64_t at;          /* of its data; the rest is for postings_open() */
	uint64_t bytes;
	uint32_t doc, position, variant; /* of the one occurrence, where bytes is 0 */
};

/* attr: SEGMENT_COMBINED or a number from segment_attr() that is not 0. 1: not there. */
int segment_term(struct segment *s, unsigned attr, struct str term, struct segment_term *ret,
		 struct err *err);

/* Terms of a list in order of their bytes, from the first that is not before `from`. */
struct segment_walk {
	struct str term; /* after next; good until the next call */
	struct segment_term info;
	uint32_t shared; /* bytes at its beginning that it has in common with the one before */
	/* private */
	struct segment *segment;
	unsigned attr;
	uint32_t block, end; /* the next one to read, and the one after the last */
	const unsigned char *p, *stop;
	uint32_t left; /* terms in the current block */
	uint64_t at;
	bool ready; /* the next term is there already */
	char text[256];
};
int segment_walk(struct segment *s, unsigned attr, struct str from, struct segment_walk *ret,
		 struct err *err);
int segment_walk_next(struct segment_walk *w, struct err *err);
/* The next is the first after the current one that is not before `from`. */
int segment_walk_seek(struct segment_walk *w, struct str from, struct err *err);

/* The blob: all terms of the combined lists, those of equal length in bytes one after the other
 * without anything between, in three runs that are each in order. */
enum segment_run {
	SEGMENT_HEX,    /* of 0-9 and a-f alone, with a digit: numbers, checksums */
	SEGMENT_ASCII,  /* all others of ASCII alone */
	SEGMENT_OTHERS, /* the rest */
	SEGMENT_RUNS
};
struct segment_blob {
	const char *p;
	size_t from[SEGMENT_RUNS + 1]; /* the first term of each run; then how many there are */
};
/* length: 1 to TOKEN_TERM_MOST. Runs before `first` were not verified: nothing of them is to be
 * used. Where there is nothing to be used p is NULL. A short blob is made by the first who asks, in
 * some milliseconds. */
int segment_blob(struct segment *s, uint32_t length, enum segment_run first,
		 struct segment_blob *ret, struct err *err);

/* Original forms of a term by number. 0: the term itself; 1: with its first letter as a capital;
 * 2: all letters capitals (ASCII, both); others are the term's own. */
enum { SEGMENT_FORM_TERM, SEGMENT_FORM_FIRST, SEGMENT_FORM_CAPITALS, SEGMENT_FORM_OWN };
/* The number of a form. 1: it never occurs (one of the first three may be found and still not
 * occur). */
int segment_form(struct segment *s, const struct segment_term *info, struct str term,
		 struct str form, uint32_t *ret, struct err *err);
/* Whether any occurrence has another form than the term (or may have). */
bool segment_has_forms(struct segment *s, const struct segment_term *info);
/* The term's own forms, from number SEGMENT_FORM_OWN on. */
struct segment_forms {
	const unsigned char *p, *stop;
};
int segment_forms(struct segment *s, const struct segment_term *info, struct segment_forms *ret,
		  struct err *err);
int segment_forms_next(struct segment_forms *it, struct str *ret, struct err *err);

/* Postings. */

struct postings {
	uint32_t df, blocks;
	const uint32_t *last; /* by block: its last document, or a later one where blocks is 1 */
	/* By block: tf, len, tf, len, tf, len. */
	const uint8_t (*bound)[2 * SEGMENT_BOUNDS];
	/* private */
	struct segment *segment;
	uint64_t occurrences;
	unsigned flags;
	/* A long list: offsets of blocks and of their occurrences, and where these begin. */
	const uint32_t *where, *pos_where;
	const uint8_t *pos_skip;
	uint64_t docs_at, occ_at;
	uint32_t docs_n, occ_n, tail;
	/* A short list: its parts. One without any is a single occurrence. */
	const uint8_t *gaps, *tfs, *counts, *occ, *end;
	struct segment_term one;
	uint32_t one_last;
	uint8_t one_bound[1][2 * SEGMENT_BOUNDS];
	struct occurrence_cursor *cursor; /* once positions were asked for */
};

/* An open one stays where it is: it points into itself. */
int postings_open(struct segment *s, const struct segment_term *info, struct postings *ret,
		  struct err *err);
void postings_close(struct postings *p); /* also a zeroed one */

static inline uint32_t postings_in_block(const struct postings *p, uint32_t block)
{
	return block + 1 < p->blocks ? SEGMENT_BLOCK : p->df - block * SEGMENT_BLOCK;
}
/* The documents of a block, ascending. All 128 places are written; those after the last are
 * UINT32_MAX. */
int postings_docs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err);
/* Their frequencies, 1 to 255. Places after the last are 0. */
int postings_tfs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err);
/* Occurrences of the i-th posting of a block, ascending; good until the next call of the same
 * function. Cheapest in order. Not for lists of attributes. */
int postings_positions(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		       uint32_t *ret_n, struct err *err);
/* The forms of the same occurrences, one for each position. */
int postings_forms(struct postings *p, uint32_t block, uint32_t i, const uint32_t **ret,
		   uint32_t *ret_n, struct err *err);

/* Documents. */

/* Codes of lengths, one byte for each document. */
int segment_lengths(struct segment *s, const uint8_t **ret, struct err *err);

/* Numbers of documents. A column is read once and then looked at for any document. */
enum { SEGMENT_TIME, SEGMENT_RANK, SEGMENT_OID, SEGMENT_COLUMN /* + number in the settings */ };
#define SEGMENT_ABSENT INT64_MIN
struct segment_column {
	const uint8_t *p; /* 8 bytes can be read at every document's */
	int64_t base;
	uint64_t mask;
	uint8_t width; /* bytes per document: 0, 1, 2, 4, 8 */
};
int segment_column(struct segment *s, unsigned column, struct segment_column *ret, struct err *err);
static inline int64_t segment_number(const struct segment_column *c, uint32_t doc)
{
	uint64_t v;
	memcpy(&v, c->p + (size_t)doc * c->width, sizeof v);
	v = le64toh(v) & c->mask;
	return v ? (int64_t)((uint64_t)c->base + v) : SEGMENT_ABSENT;
}

/* The least and the greatest number of each SEGMENT_SPAN documents, so that a range passes over
 * those without a match; least > most: none has a number. NULL: no document has one. */
enum { SEGMENT_SPAN = 1024 };
struct segment_span {
	int64_t least, most;
};
int segment_spans(struct segment *s, unsigned column, const struct segment_span **ret,
		  struct err *err);
/* A column of words: numbers are those of its values, from 1 on in order of bytes. How many there
 * are, the text of one, and the number of one (1: no document has it). */
int segment_values(struct segment *s, unsigned column, uint32_t *ret, struct err *err);
int segment_value(struct segment *s, unsigned column, uint32_t number, struct str *ret,
		  struct err *err);
int segment_value_number(struct segment *s, unsigned column, struct str value, uint32_t *ret,
			 struct err *err);

/* Whether numbers are in their spans, and values there and in order. */
int segment_verify_columns(struct segment *s, struct err *err);

int segment_key(struct segment *s, uint32_t doc, struct arena *arena, struct str *ret,
		struct err *err);
/* The document with a key, deleted or not. 1: none. */
int segment_find(struct segment *s, struct str key, uint32_t *ret, struct err *err);

/* Which positions of a document belong to which attribute, ascending. Values without words have no
 * range. */
struct segment_range {
	uint32_t attr, first, n; /* positions first to first + n - 1 */
};
struct segment_ranges {
	const unsigned char *p, *stop;
	uint32_t left, at, attrs;
};
int segment_ranges(struct segment *s, uint32_t doc, struct segment_ranges *ret, struct err *err);
int segment_ranges_next(struct segment_ranges *it, struct segment_range *ret, struct err *err);
