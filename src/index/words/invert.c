/* Documents turned into lists, in memory, and these written as a segment. A hash table of terms
 * points into one pool of memory; each term has a string of codes there, in chunks that double,
 * which is about as long as the list will be in the file. The table holds part of each hash, so
 * that a term is found with two accesses to memory, and words go through it 32 at a time, so that
 * these overlap (see struct batch). Writing sorts the terms by radix and turns each string of codes
 * into a list. */
#include "index/words/invert.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

/* A term in the pool; its text follows. Offsets are bytes from the beginning of the pool. Its codes
 * are in chunks, which end in the offset of the next one. For each occurrence:
 *   varint  gap << 2 | NEW_DOC | SPECIAL     gap to the position before, or from 0
 *   varint  with NEW_DOC: gap to the document before, or from 0
 *   u8, varint  with SPECIAL: weight, form   otherwise 1 and 0 */
struct invert_term {
	uint32_t head;          /* its first chunk */
	uint32_t at, end;       /* where the next code goes, where the current chunk ends */
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
	uint32_t forms;
	size_t form_room;
	/* Attributes: names, their weights, the column that one is. */
	struct {
		struct str name;
		uint8_t weight;
		int column;
		bool lists; /* has a list of its own */
	} * attr;
	uint32_t attrs;
	size_t attr_room;
	/* Documents. */
	struct invert_doc *doc;
	int64_t *number; /* columns of each */
	struct value_table values[WORDS_COLUMNS_MOST];
	uint32_t docs, dropped;
	size_t doc_room, number_room;
	struct segment_range *range;
	uint32_t ranges;
	size_t range_room;
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

enum {
	SLOTS_FIRST = 1 << 12,
	POOL_FIRST = 1 << 20,
	TERM_ALIGN = 8,
	NAMELESS = 1, /* the attribute that has all names that are too long or too many */
};

/* Offsets in the pool have 32 bits. A document needs at most about 12 bytes in it for each of its
 * own, since a word has at least one byte and a separator. */
static const uint64_t pool_most = UINT32_MAX - (16 << 20);

/* Attributes */

bool invert_name(struct str name, char ret[WORDS_NAME_MOST + 1])
{
	if (name.n > WORDS_NAME_MOST)
		return false;
	str_lower(name, ret);
	ret[name.n] = 0;
	return true;
}

static uint32_t new_attr(struct invert *inv, const char *name)
{
	uint32_t i = inv->attrs++;
	VEC_ROOM(inv->attr, inv->attr_room, inv->attrs);
	inv->attr[i].name = arena_str(&inv->arena, str_of(name));
	inv->attr[i].weight = words_weight(inv->settings, str_of(name));
	inv->attr[i].column = words_column(inv->settings, str_of(name));
	inv->attr[i].lists = i > NAMELESS;
	return i;
}

static uint32_t attr_of(struct invert *inv, struct str name)
{
	char text[WORDS_NAME_MOST + 1];
	if (!invert_name(name, text))
		return NAMELESS;
	for (uint32_t i = 0; i < inv->attrs; i++)
		if (str_is(inv->attr[i].name, text))
			return i;
	return inv->attrs < WORDS_ATTRS_MOST ? new_attr(inv, text) : NAMELESS;
}

/* Life */

static void begin_attrs(struct invert *inv)
{
	(void)new_attr(inv, inv->settings->main);
	(void)new_attr(inv, "");
	inv->pool_n = TERM_ALIGN; /* so that 0 is not a term */
}

struct invert *invert_new(const struct words_settings *settings, const struct token_rules *rules)
{
	struct invert *inv = mem_alloc(sizeof *inv);
	inv->settings = settings;
	inv->rules = rules;
	inv->slots = SLOTS_FIRST;
	inv->slot = mem_array(inv->slots, sizeof *inv->slot);
	inv->pool_room = POOL_FIRST;
	inv->pool = mem_alloc(inv->pool_room);
	inv->arena = ARENA_INIT(SIZE_MAX);
	ENSURE(getrandom(&inv->seed, sizeof inv->seed, 0) == sizeof inv->seed);
	begin_attrs(inv);
	return inv;
}

void invert_free(struct invert **invp)
{
	struct invert *inv = *invp;
	if (!inv)
		return;
	form_table_free(&inv->form_numbers);
	key_table_free(&inv->keys);
	mem_free(&inv->slot);
	mem_free(&inv->pool);
	mem_free(&inv->form);
	mem_free(&inv->attr);
	mem_free(&inv->doc);
	mem_free(&inv->number);
	mem_free(&inv->range);
	for (uint32_t i = 0; i < inv->settings->columns; i++)
		value_table_free(&inv->values[i]);
	arena_free(&inv->arena);
	mem_free(invp);
}

void invert_clear(struct invert *inv)
{
	struct invert *fresh = invert_new(inv->settings, inv->rules);
	struct invert old = *inv;
	*inv = *fresh;
	*fresh = old;
	invert_free(&fresh);
}

uint32_t invert_docs(const struct invert *inv)
{
	return inv->docs - inv->dropped;
}

uint64_t invert_bytes(const struct invert *inv)
{
	uint64_t per_doc = sizeof *inv->doc + invert_columns(inv) * sizeof *inv->number +
			   sizeof(struct key_table_slot) * 2;
	uint64_t values = 0;
	for (uint32_t i = 0; i < inv->settings->columns; i++)
		values += value_table_bytes(&inv->values[i]);
	return values + inv->pool_n + (uint64_t)inv->slots * sizeof *inv->slot +
	       inv->docs * per_doc + inv->ranges * sizeof *inv->range + inv->arena.used +
	       inv->forms * (sizeof *inv->form + sizeof(struct form_table_slot) * 2);
}

/* Terms */

static void pool_reserve(struct invert *inv, size_t n)
{
	ENSURE(inv->pool_n + (uint64_t)n <= UINT32_MAX);
	while (inv->pool_room < inv->pool_n + n)
		inv->pool_room += MAX(inv->pool_room / 2, (size_t)POOL_FIRST);
	inv->pool = mem_resize(inv->pool, inv->pool_room);
}

/* n more bytes of the pool, of unknown content. May move it. */
static inline uint32_t pool_take(struct invert *inv, size_t n)
{
	if (UNLIKELY(inv->pool_n + n > inv->pool_room))
		pool_reserve(inv, n);
	uint32_t at = inv->pool_n;
	inv->pool_n += (uint32_t)n;
	return at;
}

static void grow_slots(struct invert *inv)
{
	uint32_t slots = inv->slots * 2;
	uint64_t *slot = mem_array(slots, sizeof *slot);
	for (uint32_t i = 0; i < inv->slots; i++) {
		if (!inv->slot[i])
			continue;
		uint32_t at = (uint32_t)(inv->slot[i] >> 32) & (slots - 1);
		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = inv->slot[i];
	}
	mem_free(&inv->slot);
	inv->slot = slot;
	inv->slots = slots;
}

static uint32_t new_term(struct invert *inv, uint32_t slot, uint32_t hash, uint32_t attr,
			 struct str text)
{
	uint32_t head = (uint32_t)(sizeof(struct invert_term) + text.n);
	uint32_t all = (head + CHUNK_FIRST + CHUNK_LINK + TERM_ALIGN - 1) & ~(TERM_ALIGN - 1u);
	uint32_t at = pool_take(inv, all);
	struct invert_term *t = invert_term_at(inv, at);
	*t = (struct invert_term){.head = at + head, .attr = (uint16_t)attr};
	t->at = t->head;
	t->end = at + all - CHUNK_LINK;
	t->n = (uint8_t)text.n;
	memcpy(t + 1, text.p, text.n);
	inv->slot[slot] = (uint64_t)hash << 32 | at / TERM_ALIGN;
	if (++inv->terms > inv->slots / 2)
		grow_slots(inv);
	return at;
}

/* Whether two words of n bytes are the same, for the few bytes that most have. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t a0, b0, a1, b1;
	uint32_t c0, d0, c1, d1;
	if (n > 16)
		return memcmp(a, b, n) == 0;
	if (n >= 8) {
		memcpy(&a0, a, 8);
		memcpy(&b0, b, 8);
		memcpy(&a1, a + n - 8, 8);
		memcpy(&b1, b + n - 8, 8);
		return ((a0 ^ b0) | (a1 ^ b1)) == 0;
	}
	if (n >= 4) {
		memcpy(&c0, a, 4);
		memcpy(&d0, b, 4);
		memcpy(&c1, a + n - 4, 4);
		memcpy(&d1, b + n - 4, 4);
		return ((c0 ^ d0) | (c1 ^ d1)) == 0;
	}
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The offset of a term in the pool. */
static inline uint32_t find_term(struct invert *inv, uint64_t hash64, uint32_t attr,
				 struct str text)
{
	uint32_t hash = (uint32_t)hash64 + attr * 0x9e3779b1u, mask = inv->slots - 1;
	for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
		uint64_t slot = inv->slot[i];
		if (slot == 0)
			return new_term(inv, i, hash, attr, text);
		if ((uint32_t)(slot >> 32) != hash)
			continue;
		uint32_t at = (uint32_t)slot * TERM_ALIGN;
		const struct invert_term *t = invert_term_at(inv, at);
		if (LIKELY(t->n == text.n && t->attr == attr &&
			   same_bytes((const char *)(t + 1), text.p, text.n)))
			return at;
	}
}

static uint32_t own_form(struct invert *inv, uint32_t term, struct str form)
{
	struct form_key key = {term, form};
	uint32_t *known = form_table_get(&inv->form_numbers, key);
	if (known)
		return *known;
	key.form = arena_str(&inv->arena, form);
	struct invert_term *t = invert_term_at(inv, term);
	uint32_t number = SEGMENT_FORM_OWN + t->own++;
	*VEC_PUSH(inv->form, inv->forms, inv->form_room) = (struct invert_form){t->forms, key.form};
	t->forms = inv->forms;
	*form_table_put(&inv->form_numbers, key) = number;
	return number;
}

static void add_chunk(struct invert *inv, uint32_t term)
{
	struct invert_term *t = invert_term_at(inv, term);
	if (t->step < CHUNK_STEPS)
		t->step++;
	uint32_t n = chunk_bytes(t->step), at = pool_take(inv, n);
	t = invert_term_at(inv, term);
	memcpy(inv->pool + t->end, &at, CHUNK_LINK);
	t->at = at;
	t->end = at + n - CHUNK_LINK;
}

static inline unsigned char *add_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

/* Near the end of a chunk codes go byte by byte. */
static __attribute__((noinline)) void add_code_slowly(struct invert *inv, uint32_t term,
						      const unsigned char *code, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct invert_term *t = invert_term_at(inv, term);
		if (t->at == t->end) {
			add_chunk(inv, term);
			t = invert_term_at(inv, term);
		}
		inv->pool[t->at++] = (char)code[i];
	}
}

static inline void add_occurrence(struct invert *inv, uint32_t term, uint32_t position,
				  uint32_t weight, uint32_t form)
{
	struct invert_term *t = invert_term_at(inv, term);
	unsigned char code[CODE_MOST];
	bool fits = t->end - t->at >= CODE_MOST;
	unsigned char *start = fits ? (unsigned char *)inv->pool + t->at : code, *p = start;
	bool is_new = t->doc != inv->docs + 1, special = weight != 1 || form;
	uint64_t gap = is_new ? position : position - t->position;
	p = add_varint(p, gap << 2 | (is_new ? CODE_NEW_DOC : 0) | (special ? CODE_SPECIAL : 0));
	if (is_new)
		p = add_varint(p, inv->docs + 1 - t->doc);
	if (special) {
		t->has_forms |= form != 0;
		*p++ = (unsigned char)weight;
		p = add_varint(p, form);
	}
	t->doc = inv->docs + 1;
	t->position = position;
	if (LIKELY(fits))
		t->at += (uint32_t)(p - start);
	else
		add_code_slowly(inv, term, code, (size_t)(p - start));
}

/* Documents */

/* Words on their way into the table. They go in steps, many at a time, so that the memory that each
 * of them needs is on its way while others are worked on. */
enum { AT_ONCE = 32 };
struct word {
	struct token token; /* written here once: copies of it wait for what was just stored */
	uint64_t hash;
};
struct batch {
	struct word word[AT_ONCE];
	char text[AT_ONCE][TOKEN_TERM_MOST]; /* of terms that are not in the document so */
	uint32_t n;
};

static void read_batch(struct invert *inv, struct batch *b)
{
	uint32_t n = 0;
	for (; n < AT_ONCE && tokens_next(&inv->tokens, &b->word[n].token) == 0; n++) {
		struct word *w = &b->word[n];
		struct token *token = &w->token;
		if (UNLIKELY(!token->plain))
			token->term.p = memcpy(b->text[n], token->term.p, token->term.n);
		else
			token->term.p = token->form.p; /* its own may be good until the next only */
		w->hash = hash64_seeded(token->term, inv->seed);
		__builtin_prefetch(&inv->slot[w->hash & (inv->slots - 1)]);
	}
	b->n = n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t slot = inv->slot[b->word[i].hash & (inv->slots - 1)];
		__builtin_prefetch(invert_term_at(inv, (uint32_t)slot * TERM_ALIGN));
	}
}

static uint32_t form_of(struct invert *inv, uint32_t term, const struct token *token)
{
	uint32_t number;
	if (LIKELY(token->plain))
		return SEGMENT_FORM_TERM;
	if (segment_form_plain(token->term, token->form, &number))
		return number;
	return own_form(inv, term, token->form);
}

/* The words of a value from a position on; the number of positions it takes. */
static uint32_t add_value(struct invert *inv, uint32_t attr, struct str value, uint32_t position)
{
	struct batch b;
	uint32_t weight = inv->attr[attr].weight, next = position;
	bool lists = inv->attr[attr].lists;
	tokens_init(&inv->tokens, inv->rules, value, position);
	for (read_batch(inv, &b); b.n; read_batch(inv, &b))
		for (uint32_t i = 0; i < b.n; i++) {
			const struct token *t = &b.word[i].token;
			uint64_t hash = b.word[i].hash;
			uint32_t term = find_term(inv, hash, SEGMENT_COMBINED, t->term);
			add_occurrence(inv, term, t->position, weight, form_of(inv, term, t));
			if (lists) {
				term = find_term(inv, hash, attr, t->term);
				add_occurrence(inv, term, 0, 1, 0);
			}
			next = t->position + 1;
		}
	return next - position;
}

static void add_range(struct invert *inv, uint32_t attr, uint32_t first, uint32_t n)
{
	*VEC_PUSH(inv->range, inv->ranges, inv->range_room) =
		(struct segment_range){attr, first, n};
}

static void add_number(struct invert *inv, uint32_t column, struct str value)
{
	size_t at = (size_t)inv->docs * invert_columns(inv) + SEGMENT_COLUMN + column;
	columns_take(inv->settings->column[column].type, &inv->values[column], value,
		     &inv->number[at]);
}

static struct invert_doc *new_doc(struct invert *inv, const struct words_doc *doc)
{
	uint32_t columns = invert_columns(inv);
	VEC_ROOM(inv->doc, inv->doc_room, (size_t)inv->docs + 1);
	VEC_ROOM(inv->number, inv->number_room, ((size_t)inv->docs + 1) * columns);
	struct invert_doc *d = &inv->doc[inv->docs];
	int64_t *number = &inv->number[(size_t)inv->docs * columns];
	*d = (struct invert_doc){.key = arena_str(&inv->arena, doc->key), .range = inv->ranges};
	for (uint32_t i = 0; i < columns; i++)
		number[i] = SEGMENT_ABSENT;
	number[SEGMENT_TIME] = doc->time_s;
	number[SEGMENT_RANK] = doc->rank;
	number[SEGMENT_OID] = (int64_t)doc->oid;
	return d;
}

/* The main attribute comes first, so that its positions begin at 0. */
static void add_values(struct invert *inv, const struct words_doc *doc, struct invert_doc *d)
{
	uint32_t position = 0;
	for (int main = 1; main >= 0; main--)
		for (size_t i = 0; i < doc->n; i++) {
			uint32_t attr = attr_of(inv, doc->attr[i].name);
			if ((attr == 0) != main)
				continue;
			if (inv->attr[attr].column >= 0)
				add_number(inv, (uint32_t)inv->attr[attr].column,
					   doc->attr[i].value);
			if (inv->attr[attr].weight == 0)
				continue;
			uint32_t n = add_value(inv, attr, doc->attr[i].value, position);
			if (n == 0)
				continue;
			add_range(inv, attr, position, n);
			d->length += (uint64_t)n * inv->attr[attr].weight;
			position += n + 1;
		}
	d->ranges = inv->ranges - d->range;
}

static int check_doc(const struct invert *inv, const struct words_doc *doc, struct err *err)
{
	uint64_t bytes = 0;
	if (doc->key.n == 0 || doc->key.n > WORDS_KEY_MOST)
		return err_set(err, ERR_USAGE,
			       "a document with a key of %zu bytes; expected 1 to %d", doc->key.n,
			       WORDS_KEY_MOST);
	for (size_t i = 0; i < doc->n; i++)
		bytes += doc->attr[i].value.n;
	if (bytes > WORDS_DOC_MOST)
		return err_set(err, ERR_USAGE,
			       STR_FMT ": %" PRIu64 " bytes of text, at most %d are indexed",
			       STR_ARG(str_head(doc->key, 100)), bytes, WORDS_DOC_MOST);
	if (inv->pool_n + bytes * 12 > pool_most || inv->docs == SEGMENT_DOCS_MOST)
		return err_set(err, ERR_SYSTEM, "more than one segment can hold");
	return 0;
}

static struct key_hashed hashed_key(const struct invert *inv, struct str key)
{
	return (struct key_hashed){key, hash64_seeded(key, inv->seed)};
}

int invert_add(struct invert *inv, const struct words_doc *doc, struct err *err)
{
	if (check_doc(inv, doc, err) < 0)
		return -1;
	(void)invert_drop(inv, doc->key);
	struct invert_doc *d = new_doc(inv, doc);
	add_values(inv, doc, d);
	*key_table_put(&inv->keys, hashed_key(inv, d->key)) = inv->docs;
	inv->docs++;
	return 0;
}

bool invert_drop(struct invert *inv, struct str key)
{
	struct key_hashed wanted = hashed_key(inv, key);
	uint32_t *at = key_table_get(&inv->keys, wanted);
	if (!at)
		return false;
	inv->doc[*at].dropped = true;
	inv->dropped++;
	return key_table_remove(&inv->keys, wanted);
}

/* Writing: terms in order, and what each has collected as a list. */

/* Terms in order: by attribute, then by bytes, the first 8 of which are kept here. */
struct term_entry {
	uint64_t prefix;
	uint32_t term;
	uint32_t attr;
};

static int compare_entries(const struct invert *inv, const struct term_entry *a,
			   const struct term_entry *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return str_cmp(invert_text(invert_term_at(inv, a->term)),
		       invert_text(invert_term_at(inv, b->term)));
}

static void insertion_sort(const struct invert *inv, struct term_entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct term_entry x = e[i];
		size_t k = i;
		for (; k > 0 && compare_entries(inv, &x, &e[k - 1]) < 0; k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

static int compare_entries_r(const void *a, const void *b, void *inv)
{
	return compare_entries(inv, a, b);
}

/* By one byte of the prefix after the other. `spare` has as much room. */
static void sort_from(const struct invert *inv, struct term_entry *e, struct term_entry *spare,
		      size_t n, unsigned shift)
{
	enum { FEW = 24 };
	size_t count[257] = {0};
	if (n <= FEW) {
		insertion_sort(inv, e, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		count[(e[i].prefix >> shift & 0xff) + 1]++;
	for (unsigned i = 1; i < 257; i++)
		count[i] += count[i - 1];
	size_t at[256];
	memcpy(at, count, sizeof at);
	for (size_t i = 0; i < n; i++)
		spare[at[e[i].prefix >> shift & 0xff]++] = e[i];
	memcpy(e, spare, n * sizeof *e);
	for (unsigned i = 0; i < 256; i++) {
		size_t part = count[i + 1] - count[i];
		if (part < 2)
			continue;
		if (shift)
			sort_from(inv, e + count[i], spare, part, shift - 8);
		else
			qsort_r(e + count[i], part, sizeof *e, compare_entries_r,
				(void *)(uintptr_t)inv);
	}
}

static struct term_entry *sorted_terms(const struct invert *inv, size_t *first)
{
	struct term_entry *e = mem_array((size_t)inv->terms + 1, sizeof *e);
	struct term_entry *spare = mem_array((size_t)inv->terms + 1, sizeof *e);
	memset(first, 0, ((size_t)inv->attrs + 1) * sizeof *first);
	for (uint32_t i = 0; i < inv->slots; i++)
		if (inv->slot[i])
			first[invert_term_at(inv, (uint32_t)inv->slot[i] * 8)->attr + 1]++;
	for (uint32_t i = 1; i <= inv->attrs; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < inv->slots; i++) {
		if (!inv->slot[i])
			continue;
		uint32_t at = (uint32_t)inv->slot[i] * 8;
		const struct invert_term *t = invert_term_at(inv, at);
		e[first[t->attr]++] = (struct term_entry){text_prefix(invert_text(t)), at, t->attr};
	}
	for (uint32_t i = 0, from = 0; i < inv->attrs; i++) {
		sort_from(inv, e + from, spare, first[i] - from, 56);
		from = (uint32_t)first[i];
	}
	mem_free(&spare);
	return e;
}

/* Codes of a term, from chunk to chunk. */
struct codes {
	const unsigned char *p, *end; /* the current chunk */
	const unsigned char *pool;
	uint32_t step, last; /* the current chunk; where the codes end */
	bool is_last;
};

static void codes_enter_chunk(struct codes *c, uint32_t from, uint32_t to)
{
	c->is_last = c->last >= from && c->last <= to;
	c->p = c->pool + from;
	c->end = c->pool + (c->is_last ? c->last : to);
}

static __attribute__((noinline)) void codes_next_chunk(struct codes *c)
{
	uint32_t from;
	memcpy(&from, c->end, CHUNK_LINK);
	if (c->step < CHUNK_STEPS)
		c->step++;
	codes_enter_chunk(c, from, from + chunk_bytes(c->step) - CHUNK_LINK);
}

static inline unsigned char codes_byte(struct codes *c)
{
	if (UNLIKELY(c->p == c->end))
		codes_next_chunk(c);
	return *c->p++;
}

static inline bool codes_end(const struct codes *c)
{
	return c->p == c->end && c->is_last;
}

static inline uint64_t codes_varint(struct codes *c)
{
	uint64_t v = codes_byte(c);
	if (LIKELY(v < 0x80))
		return v;
	v &= 0x7f;
	for (unsigned shift = 7;; shift += 7) {
		uint64_t byte = codes_byte(c);
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

static struct codes codes_of(const struct invert *inv, const struct invert_term *t)
{
	struct codes c = {.pool = (const unsigned char *)inv->pool, .last = t->at};
	uint32_t term = (uint32_t)((const char *)t - inv->pool);
	uint32_t all = (t->head - term + CHUNK_FIRST + CHUNK_LINK + 7) & ~7u;
	codes_enter_chunk(&c, t->head, term + all - CHUNK_LINK);
	return c;
}

static void put_own_forms(const struct invert *inv, const struct invert_term *t, struct buf *out)
{
	buf_clear(out);
	if (!t->own)
		return;
	const struct invert_form **all = mem_array(t->own, sizeof *all);
	uint32_t i = t->own;
	for (uint32_t at = t->forms; at; at = inv->form[at - 1].next)
		all[--i] = &inv->form[at - 1];
	for (i = 0; i < t->own; i++)
		put_text(out, all[i]->text);
	mem_free(&all);
}

struct writing {
	const struct invert *inv;
	struct segment_writer *out;
	uint32_t *number; /* of documents in the segment; UINT32_MAX: dropped */
	const uint8_t *length;
	struct buf own;
};

/* One posting: occurrences up to the next document. */
struct posting {
	uint32_t doc, count;
	uint64_t tf; /* the heaviest word of the largest document goes past 32 bits */
};

static inline void end_posting(const struct writing *w, struct list_writer *l,
			       const struct posting *p)
{
	if (p->count == 0)
		return;
	uint32_t doc = w->number[p->doc];
	uint32_t tf = (uint32_t)MIN(p->tf, (uint64_t)SEGMENT_TF_MOST);
	list_posting(l, doc, tf, l->positions ? p->count : tf, w->length[doc]);
}

static void write_postings(const struct writing *w, struct list_writer *l,
			   const struct invert_term *t)
{
	struct codes c = codes_of(w->inv, t);
	struct posting p = {.doc = UINT32_MAX};
	bool kept = false;
	while (!codes_end(&c)) {
		uint64_t code = codes_varint(&c);
		uint32_t weight = 1, form = 0;
		if (code & CODE_NEW_DOC) {
			end_posting(w, l, &p);
			p = (struct posting){.doc = p.doc + (uint32_t)codes_varint(&c)};
			kept = w->number[p.doc] != UINT32_MAX;
		}
		if (code & CODE_SPECIAL) {
			weight = codes_byte(&c);
			form = (uint32_t)codes_varint(&c);
		}
		if (UNLIKELY(!kept))
			continue;
		if (l->positions)
			list_occurrence(l, (uint32_t)(code >> 2), form);
		p.tf += weight;
		p.count++;
	}
	end_posting(w, l, &p);
}

static void write_term(struct writing *w, uint32_t at)
{
	const struct invert_term *t = invert_term_at(w->inv, at);
	struct list_writer *l = segment_put_begin(w->out, t->attr, t->has_forms);
	write_postings(w, l, t);
	put_own_forms(w->inv, t, &w->own);
	segment_put_end(w->out, invert_text(t), buf_str(&w->own));
}

/* The numbers of a document, with those that its values have in the segment. */
static void put_numbers(struct writing *w, uint32_t doc, int64_t ret[SEGMENT_COLUMNS_MOST])
{
	const struct invert *inv = w->inv;
	uint32_t columns = invert_columns(inv);
	memcpy(ret, &inv->number[(size_t)doc * columns], columns * sizeof *ret);
	for (uint32_t i = 0; i < inv->settings->columns; i++) {
		int64_t *number = &ret[SEGMENT_COLUMN + i];
		if (inv->settings->column[i].type == WORDS_WORD && *number != SEGMENT_ABSENT)
			*number = segment_put_value(w->out, SEGMENT_COLUMN + i,
						    inv->values[i].text[*number - 1]);
	}
}

static void write_docs(struct writing *w)
{
	const struct invert *inv = w->inv;
	int64_t number[SEGMENT_COLUMNS_MOST];
	uint32_t n = 0;
	for (uint32_t i = 0; i < inv->docs; i++) {
		const struct invert_doc *d = &inv->doc[i];
		w->number[i] = d->dropped ? UINT32_MAX : n++;
		if (d->dropped)
			continue;
		put_numbers(w, i, number);
		struct segment_doc doc = {.key = d->key,
					  .length = d->length,
					  .number = number,
					  .range = d->ranges ? inv->range + d->range : NULL,
					  .ranges = d->ranges};
		segment_put_doc(w->out, &doc);
	}
	w->length = segment_put_lengths(w->out);
}

static void write_terms(struct writing *w)
{
	size_t *first = mem_array((size_t)w->inv->attrs + 1, sizeof *first);
	struct term_entry *e = sorted_terms(w->inv, first);
	for (size_t i = 0; i < w->inv->terms; i++)
		write_term(w, e[i].term);
	mem_free(&e);
	mem_free(&first);
}

int invert_write(struct invert *inv, const char *path, bool sync, struct err *err)
{
	struct writing w = {.inv = inv, .own = BUF_INIT(SIZE_MAX / 2)};
	struct str *name = mem_array(inv->attrs, sizeof *name);
	ENSURE(invert_docs(inv) > 0);
	for (uint32_t i = 0; i < inv->attrs; i++)
		name[i] = inv->attr[i].name;
	int rc = segment_create(&w.out, path, name, inv->attrs, invert_columns(inv), false, err);
	if (rc == 0) {
		w.number = mem_array(inv->docs, sizeof *w.number);
		write_docs(&w);
		write_terms(&w);
		rc = segment_put_finish(&w.out, sync, err);
	}
	invert_clear(inv);
	mem_free(&name);
	mem_free(&w.number);
	buf_free(&w.own);
	return rc;
}
