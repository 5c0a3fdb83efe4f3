/* How a segment lies in its file (doc/formats/words.md), and one that is open: what those who write
 * and those who read segments share. */
#pragma once
#include "base/ascii.h"
#include "index/segment.h"
#include "index/token.h"
#include "index/words/parts.h"

#define SEGMENT_MAGIC "GARNERWS"
enum {
	SEGMENT_VERSION = 4,
	SEGMENT_SLACK = 8,      /* bytes after every number, so that 8 can be read at once */
	SEGMENT_KEY_GROUP = 16, /* keys that are coded one after the other */
	SEGMENT_RANGE_GROUP = 8,
	SEGMENT_DICT_BLOCK = 32, /* terms in a block of the dictionary */
	SEGMENT_SHORT = 15,      /* lengths below it share a byte in the dictionary */
	SEGMENT_BLOB_HEAD =
		4 * SEGMENT_RUNS * TOKEN_TERM_MOST, /* bytes before the terms of the blob */
	SEGMENT_BLOB_LEAST = 1 << 20,               /* bytes of terms: less is not in the file */
	SEGMENT_COLUMNS_MOST = SEGMENT_COLUMN + WORDS_COLUMNS_MOST,
};

/* Parts of the file, in this order. */
enum segment_part {
	PART_TERMS,       /* data of terms */
	PART_DICT,        /* blocks of the dictionary */
	PART_DICT_PREFIX, /* u64 for each block: the first 8 bytes of its first term */
	PART_DICT_WHERE,  /* u32 for each block and one more: where it begins in PART_DICT */
	PART_ATTRS,       /* names, and where their blocks begin */
	PART_LENGTHS,     /* u8 for each document */
	PART_RANGES,
	PART_RANGES_WHERE, /* u64 for each group of documents */
	PART_COLUMNS,
	PART_KEYS,
	PART_KEYS_WHERE, /* u64 for each group */
	PART_HASHES, /* u32 for each document: CRC-32C of its key, ascending, equal ones by key */
	PART_HASH_DOCS, /* u32: which document each is of */
	PART_BLOB, /* for each length of terms three numbers, u32, and then the terms; or nothing */
	PART_VALUES, /* texts of columns of words */
	PART_SPANS,  /* the least and the greatest number of some documents, by column */
	SEGMENT_PARTS
};

/* The last bytes of the file. */
struct segment_foot {
	uint32_t docs, attrs, columns, rank_most;
	uint64_t terms, occurrences, weighted_length;
};
enum { SEGMENT_FOOT = SEGMENT_PARTS * 16 + 4 * 4 + 3 * 8 + SEGMENT_SLACK };

/* The key that is the nth of the group at r; text has room for WORDS_KEY_MOST bytes. false: there
 * is none. */
bool segment_read_key(struct reader r, uint32_t nth, char *text, size_t *ret_n);

/* The first byte of a short list, and the flags of a long one. */
enum {
	LIST_TF_ONE = 1, /* every frequency is 1, and none is written (short lists) */
	LIST_COUNTS = 2, /* occurrences differ from frequencies somewhere (short lists) */
	LIST_FORMS = 4,  /* there are forms other than the term */
	LIST_OWN = 8,    /* there is a table of forms */
	LIST_ALL = 15,
};
enum {
	LIST_HEAD = 16,     /* bytes before the arrays of a long list */
	SKIP_COUNTS = 0x80, /* in the skip of a block: occurrences differ from frequencies in it */
};

/* Of what SEGMENT_HEX consists. Terms have no capitals. */
static inline bool segment_is_hex(char c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'f');
}
/* Where in the blob a term is. */
static inline enum segment_run segment_run_of(struct str term)
{
	bool hex = true, digit = false, ascii = true;
	for (size_t i = 0; i < term.n; i++) {
		hex &= segment_is_hex(term.p[i]);
		digit |= ascii_is_digit(term.p[i]);
		ascii &= !(term.p[i] & 0x80);
	}
	return !ascii ? SEGMENT_OTHERS : hex && digit ? SEGMENT_HEX : SEGMENT_ASCII;
}

/* Differences of counts to frequencies, small where they are near. */
static inline uint32_t zigzag(int32_t v)
{
	return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}
static inline int32_t unzigzag(uint32_t v)
{
	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

/* How a form is written from its term: the first letter, or all, as capitals. false: the term's
 * own. */
bool segment_form_plain(struct str term, struct str form, uint32_t *ret);

/* A segment that is open. */

extern const struct parts_kind segment_kind;
struct segment {
	struct part_file f;
	struct segment_foot foot;
	struct segment_info info;
	struct str *name; /* of attributes, in the map */
	uint32_t *first;  /* block of each attribute, and one more */
	uint32_t dict_blocks;
	_Atomic(struct blob_index *) blob; /* NULL: it is to be made */
};

/* segment_blob.c */
int segment_blob_open(struct segment *s, struct err *err);
void segment_blob_close(struct segment *s);

/* How long PART_SPANS is. */
uint64_t columns_span_bytes(uint32_t docs, uint32_t columns);
