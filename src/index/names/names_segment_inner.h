/* How a segment of names lies in its file (doc/formats/names-segment.md), one that is open, and how
 * one is written. */
#pragma once
#include "index/names/names_segment.h"
#include "index/names/names_text.h"
#include "index/words/bitpack.h"
#include "index/words/parts.h"

#define NAMES_SEGMENT_MAGIC "GARNERNS"
enum {
	NAMES_SEGMENT_VERSION = 2,
	NAMES_SLACK = 16,     /* bytes after the parts, so that 16 can be read at once */
	NAMES_BLOCK = 32,     /* names in a block of the dictionary */
	NAMES_WHERE = 5,      /* bytes of a place of a block */
	NAMES_DIRECTORY = 12, /* bytes of a trigram in the directory */
	NAMES_SKIP = 6,       /* bytes of a block in the skip table of a list */
	NAMES_FOLD_GROWS = 2, /* a name may become so many times as long by folding */
	NAMES_FOLDED_MOST = NAMES_FOLD_GROWS * NAMES_NAME_MOST,
	NAMES_INLINE = 24,      /* entries of a form that are kept in the block at most */
	NAMES_LONG_BLOCK = 128, /* entries in a block of a longer list */
	NAMES_BYTES = 256,
	NAMES_COUNT_MOST = 15, /* entries that half a byte can tell */
};

/* Parts of the file, in this order. */
enum names_segment_part {
	NAMES_CODES,    /* the table of names_text.h */
	NAMES_DICT,     /* blocks of the dictionary, each followed by its long lists of entries */
	NAMES_PREFIXES, /* u64 for each block: the first 8 bytes of its first name, as a number */
	NAMES_PLACES,   /* for each block: where it begins in NAMES_DICT */
	NAMES_COUNTS,   /* half a byte for each name: its entries; 0: they are more than 15 */
	NAMES_LISTS,    /* lists of trigrams */
	NAMES_TRIGRAMS, /* the directory: for each trigram its list; and 257 u32 before */
	NAMES_SEGMENT_PARTS
};
enum { NAMES_FOOT = NAMES_SEGMENT_PARTS * 16 + 4 * 4 + NAMES_SLACK };

/* A block of the dictionary: a byte of flags; u32 with a bit for each name that has more than one
 * entry; u32 with a bit for each name whose first entry is the one after that of the name before;
 * with BLOCK_FORMS u64 with two bits for each name, which say how its forms are written; varints
 * with the bytes of names, counts, with BLOCK_FORMS forms, and entries; these four. */
enum {
	BLOCK_PLAIN = 1, /* names are bytes, not codes (names_text.h) */
	BLOCK_FORMS = 2,
	BLOCK_FLAGS = 3,
	BLOCK_HEAD = 1 + 4 + 4,
	BLOCK_HEAD_MOST = BLOCK_HEAD + 8 + 4 * 5,
};
/* A name: a byte with the length of its own codes or bytes (low half; 15: a varint with the rest
 * follows) and how much more it shares with the name before it than that did, + NAME_BIAS (high
 * half; 15: a varint with what it shares follows); then its own codes or bytes. Counts: a varint
 * with the number of entries - 2, where it has several. Entries: those first entries that do not
 * follow, side by side; then for each name with several its gaps (names_put_entries()). */
enum { NAME_MORE = 15, NAME_BIAS = 7 };
/* How the forms of a name are written. Capitals are those of ASCII, in the first 64 bytes. */
enum names_way {
	WAY_FOLDED,   /* one form, the folded name */
	WAY_INHERITS, /* one, with the capitals of the name before in what it shares with it */
	WAY_CAPITALS, /* and with those of its own, which a varint tells: a bit for each byte */
	WAY_LISTED,   /* as below, after a varint with the bytes; passes no capitals on */
};
/* A list of forms: a varint with their number - 1; of each a byte as follows, with several forms a
 * varint with its entries - 1, and what the byte says. */
enum {
	FORM_FOLDED,   /* as the folded name */
	FORM_CAPITALS, /* a bit for each byte of the name, set where it is a capital ASCII letter */
	FORM_BYTES,    /* a varint with its length, and its bytes */
	FORM_WAYS
};
enum { NAMES_CAPITALS = 64 };
/* The capitals that a name inherits. */
static inline uint64_t names_inherited(uint64_t capitals, uint32_t shared)
{
	return shared >= NAMES_CAPITALS ? capitals : capitals & (((uint64_t)1 << shared) - 1);
}

extern const struct parts_kind names_segment_kind;
struct names_segment {
	struct part_file f;
	struct names_segment_info info;
	uint32_t blocks;     /* of the dictionary */
	unsigned entry_bits; /* of a number of an entry */
	struct names_table table;
};

/* How many entries there can be that are not the first of their name: each takes half a byte. */
static inline uint64_t names_entries_most(const struct names_segment *s)
{
	return 2 * s->f.part[NAMES_DICT].n;
}

static inline unsigned names_bits_of(uint32_t v)
{
	return v ? 32 - (unsigned)__builtin_clz(v) : 0;
}

/* Varints of a block, at most 5 bytes each; past the end they are bad. */
static inline uint32_t names_varint(const uint8_t **p, const uint8_t *stop, bool *bad)
{
	uint32_t v = 0;
	for (unsigned shift = 0; shift < 32; shift += 7) {
		if (*p >= stop)
			break;
		uint32_t byte = *(*p)++;
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	*bad = true;
	return 0;
}

/* Gaps between entries: 4 bits say which row of this table, as many bits follow as it says. */
enum { GAP_CLASS_BITS = 4, GAP_CLASSES = 1 << GAP_CLASS_BITS };
extern const uint8_t names_gap_bits[GAP_CLASSES];
extern const uint32_t names_gap_base[GAP_CLASSES]; /* the least gap of the row */

/* Folds to `to`, which has room for name.n * NAMES_FOLD_GROWS + 4 bytes; how many there are. */
size_t names_fold_to(struct str name, char *to);

/* Writing: names come in order, with all their forms and entries. */
struct names_put_form {
	struct str text;
	const uint32_t *entry; /* ascending */
	uint32_t entries;
};
struct names_put;
/* sample: of the names that will come; entries: how many there will be in all; memory: for what
 * trigrams need before it goes to a file without a name in `folder`. */
int names_put_begin(struct names_put **ret, const char *path, struct names_sample *sample,
		    uint32_t entries, uint64_t memory, const char *folder, struct err *err);
int names_put(struct names_put *w, struct str folded, const struct names_put_form *form,
	      uint32_t forms, struct err *err);
int names_put_finish(struct names_put **w, struct err *err); /* and frees, whatever happens */
void names_put_drop(struct names_put **w);

/* Its part for trigrams. */
struct names_trigrams;
struct names_trigrams *names_trigrams_new(uint64_t memory, const char *folder);
void names_trigrams_free(struct names_trigrams **t);
int names_trigrams_add(struct names_trigrams *t, struct str folded, uint32_t name, struct err *err);
/* Writes all lists; the directory goes into `directory`. */
int names_trigrams_write(struct names_trigrams *t, struct page_writer *out, struct buf *directory,
			 uint32_t *ret_trigrams, struct err *err);
