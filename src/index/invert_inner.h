/* Between invert.c, which takes documents, and invert_write.c, which writes what it took. */
#pragma once
#include "base/cursor.h"
#include "base/hash.h"
#include "base/table.h"
#include "index/invert.h"

/* A term in the pool; its text follows. Offsets are bytes from the beginning of the pool. Its codes
 * are in chunks, which end in the offset of the next one. For each occurrence:
 *   varint  gap << 2 | NEW_DOC | SPECIAL     gap to the position before, or from 0
 *   varint  with NEW_DOC: gap to the document before, or from 0
 *   u8, varint  with SPECIAL: weight, form   otherwise 1 and 0 */
struct invert_term {
	uint32_t head;          /* its first chunk */
	uint32_t at, end;       /* where the next code goes, where the chunk at hand ends */
	uint32_t doc, position; /* of the last occurrence; the document + 1, 0: none yet */
	uint32_t forms;         /* the last of its own forms, as number in the list + 1 */
	uint16_t attr;
	uint8_t n;             /* bytes of text */
	uint8_t step : 7;      /* which chunk it has come to */
	uint8_t has_forms : 1; /* an occurrence has another form than the term */
	uint32_t own;          /* how many forms of its own it has */
};
enum { CODE_SPECIAL = 1, CODE_NEW_DOC = 2, CODE_MOST = 5 + 5 + 1 + 5 };

/* Chunks double from the second on (the first is what the term has room for): bytes with the link.
 */
enum { CHUNK_FIRST = 8, CHUNK_STEPS = 8, CHUNK_LINK = 4 };

static inline uint32_t chunk_bytes(unsigned step)
{
	return (uint32_t)CHUNK_FIRST << step;
}

struct invert_form {
	uint32_t next; /* the one before, as number + 1 */
	struct str text;
};

struct invert_doc {
	struct str key; /* in the arena */
	uint64_t length;
	uint32_t range, ranges; /* in the list of all */
	bool dropped;
};

struct form_key {
	uint32_t term;
	struct str form;
};
static inline uint64_t form_hash(struct form_key k)
{
	return hash64_seeded(k.form, k.term);
}
static inline bool form_equal(struct form_key a, struct form_key b)
{
	return a.term == b.term && str_eq(a.form, b.form);
}
TABLE(form_table, struct form_key, uint32_t, form_hash, form_equal)

struct key_hashed {
	struct str key;
	uint64_t hash; /* with the seed */
};
static inline uint64_t key_hash(struct key_hashed k)
{
	return k.hash;
}
static inline bool key_equal(struct key_hashed a, struct key_hashed b)
{
	return str_eq(a.key, b.key);
}
TABLE(key_table, struct key_hashed, uint32_t, key_hash, key_equal)

struct invert {
	const struct words_settings *settings;
	const struct token_rules *rules;
	struct tokens tokens;
	uint64_t seed; /* of hashes: nobody outside can choose words or keys that collide */
	/* Terms: offset / 8 in the pool below 32 bits of the hash; 0: empty. */
	uint64_t *slot;
	uint32_t slots, terms;
	char *pool;
	uint32_t pool_n;
	size_t pool_room;
	/* Forms of terms that are not by rule. */
	struct form_table form_numbers;
	struct invert_form *form;
	uint32_t forms, form_room;
	/* Attributes: names, their weights, the column that one is. */
	struct {
		struct str name;
		uint8_t weight;
		int column;
		bool lists; /* has a list of its own */
	} * attr;
	uint32_t attrs, attr_room;
	/* Documents. */
	struct invert_doc *doc;
	int64_t *number;
	uint32_t docs, doc_room, dropped;
	struct segment_range *range;
	uint32_t ranges, range_room;
	struct key_table keys;
	struct arena arena; /* names, keys, forms */
};

static inline struct invert_term *invert_term_at(const struct invert *inv, uint32_t offset)
{
	return (struct invert_term *)(void *)(inv->pool + offset);
}
static inline struct str invert_text(const struct invert_term *t)
{
	return (struct str){(const char *)(t + 1), t->n};
}
static inline uint32_t invert_columns(const struct invert *inv)
{
	return SEGMENT_COLUMN + inv->settings->columns;
}
