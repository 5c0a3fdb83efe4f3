/* Texts of names, made shorter: one byte stands for each of 255 strings that are frequent in the
 * segment's names, taken greedily, the longest first; the last byte value says that a byte follows
 * as it is. Names of files lose nearly half of their own bytes, and get them back at a copy of
 * eight bytes for each code. Where the codes do not help, a block keeps its names as they are.
 *
 * A table that is the same for all segments was tried: made from names of one archive, it left
 * those of another nearly as long as they were. */
#include "index/names/names_text.h"

#include "base/hash.h"
#include "base/vec.h"

#include <stdlib.h>

/* Tables */

void names_table_put(const struct names_table *t, struct buf *out)
{
	for (unsigned i = 0; i < NAMES_SYMBOLS; i++) {
		buf_add_byte(out, (char)t->symbol[i].n);
		buf_add(out, t->symbol[i].text, t->symbol[i].n);
	}
}

bool names_table_get(struct names_table *ret, struct str bytes)
{
	*ret = (struct names_table){0};
	for (unsigned i = 0; i < NAMES_SYMBOLS; i++) {
		size_t n = bytes.n ? (uint8_t)bytes.p[0] : SIZE_MAX;
		if (n > NAMES_SYMBOL_MOST || n >= bytes.n)
			return false;
		ret->symbol[i].n = (uint8_t)n;
		memcpy(ret->symbol[i].text, bytes.p + 1, n);
		bytes = str_from(bytes, 1 + n);
	}
	return bytes.n == 0;
}

/* Packing */

void names_packer_init(struct names_packer *k, const struct names_table *t)
{
	uint8_t at = 1;
	memset(k->one, NAMES_ESCAPE, sizeof k->one);
	memset(k->two, 0, sizeof k->two);
	/* Longer strings go before shorter ones with the same two bytes; each knows the next. */
	for (unsigned length = 2; length <= NAMES_SYMBOL_MOST; length++)
		for (unsigned code = 0; code < NAMES_SYMBOLS; code++) {
			const struct names_symbol *s = &t->symbol[code];
			if (s->n != length)
				continue;
			uint8_t *first = &k->two[(uint8_t)s->text[0] << 8 | (uint8_t)s->text[1]];
			uint64_t value = 0;
			memcpy(&value, s->text, length);
			k->symbol[at] = (struct names_packed){
				.value = le64toh(value),
				.mask = UINT64_MAX >> (64 - 8 * length),
				.n = (uint8_t)length,
				.code = (uint8_t)code,
				.next = *first,
			};
			*first = at++;
		}
	for (unsigned code = 0; code < NAMES_SYMBOLS; code++)
		if (t->symbol[code].n == 1)
			k->one[(uint8_t)t->symbol[code].text[0]] = (uint8_t)code;
}

/* The code that a text goes on with, n bytes of which the first 8 are in v; NAMES_ESCAPE: there is
 * none. */
static inline uint8_t next_code(const struct names_packer *k, uint64_t v, size_t n, size_t *ret_n)
{
	uint8_t at = n > 1 ? k->two[(v & 0xff) << 8 | (v >> 8 & 0xff)] : 0;
	while (at && ((v & k->symbol[at].mask) != k->symbol[at].value || k->symbol[at].n > n))
		at = k->symbol[at].next;
	*ret_n = at ? k->symbol[at].n : 1;
	return at ? k->symbol[at].code : k->one[v & 0xff];
}

static inline uint64_t eight_bytes(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

size_t names_pack(const struct names_packer *k, const char *text, size_t n, uint8_t *to)
{
	uint8_t *start = to;
	for (size_t i = 0, taken; i < n; i += taken) {
		uint8_t code = next_code(k, eight_bytes(text + i), n - i, &taken);
		*to++ = code;
		if (code == NAMES_ESCAPE)
			*to++ = (uint8_t)text[i];
	}
	return (size_t)(to - start);
}

size_t names_unpack_slowly(const struct names_table *t, const uint8_t *p, const uint8_t *stop,
			   char *to, size_t room)
{
	char *start = to;
	while (p < stop) {
		bool escape = *p == NAMES_ESCAPE;
		size_t n = escape ? 1 : t->symbol[*p].n;
		if (stop - p < 1 + escape || room - (size_t)(to - start) < n)
			return SIZE_MAX;
		memcpy(to, escape ? (const char *)p + 1 : t->symbol[*p].text, n);
		to += n;
		p += 1 + escape;
	}
	return (size_t)(to - start);
}

/* Samples */

void names_sample_init(struct names_sample *s)
{
	*s = (struct names_sample){.below = UINT64_MAX, .text = BUF_INIT(SIZE_MAX / 2)};
}

void names_sample_free(struct names_sample *s)
{
	mem_free(&s->name);
	buf_free(&s->text);
}

bool names_sample_wants(const struct names_sample *s, struct str folded, uint64_t *ret_hash)
{
	*ret_hash = xxh64(folded);
	return *ret_hash < s->below;
}

static struct str sampled_text(const struct names_sample *s, const struct names_sampled *name)
{
	return (struct str){buf_str(&s->text).p + name->at, name->n};
}

static int compare_sampled(const void *a, const void *b, void *ctx)
{
	const struct names_sampled *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return str_cmp(sampled_text(ctx, x), sampled_text(ctx, y));
}

/* Each name once, by hash; what the bound leaves out goes. */
static void tidy_sample(struct names_sample *s)
{
	size_t kept = 0;
	if (s->names)
		qsort_r(s->name, s->names, sizeof *s->name, compare_sampled, s);
	for (size_t i = 0; i < s->names; i++)
		if (kept == 0 || compare_sampled(&s->name[i], &s->name[kept - 1], s) != 0)
			s->name[kept++] = s->name[i];
	while (kept > NAMES_SAMPLE_MOST) {
		s->below /= 2;
		while (kept > 0 && s->name[kept - 1].hash >= s->below)
			kept--;
	}
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	for (size_t i = 0; i < kept; i++) {
		struct str one = sampled_text(s, &s->name[i]);
		s->name[i].at = text.n;
		buf_add_str(&text, one);
	}
	buf_free(&s->text);
	s->text = text;
	s->names = kept;
}

/* Twice as many as are kept may come together, so that tidying is rare. */
void names_sample_add(struct names_sample *s, struct str folded, uint64_t hash)
{
	struct names_sampled name = {hash, s->text.n, folded.n};
	buf_add_str(&s->text, folded);
	*VEC_PUSH(s->name, s->names, s->room) = name;
	if (s->names > (size_t)2 * NAMES_SAMPLE_MOST)
		tidy_sample(s);
}

/* Finding the strings: begin with none, code the sample, and see how often each string, and each
 * one after another, was taken. Those that gain most are the next table. */

enum {
	GENERATIONS = 8,
	KINDS = 2 * 256,    /* a code, or 256 + a byte that has none */
	NEXT = KINDS + 256, /* what may come after one: a kind, or KINDS + its first byte */
	SAMPLE_BYTES = 512, /* of a name that are looked at, at most */
	SINGLE_GAIN = 8,    /* a byte that has no code costs two */
};

struct wanted_symbol {
	uint64_t text, gain; /* the text as a number, its first byte the highest */
	unsigned n;
};

struct symbol_search {
	struct names_packer packer;
	struct names_table *table;
	uint32_t single[KINDS];
	uint32_t (*pair)[NEXT]; /* one after another */
	uint32_t *seen;         /* pairs that are not 0: few where names are few */
	size_t seen_n, seen_room;
	struct wanted_symbol *wanted;
	size_t n, room;
};

static inline void count_pair(struct symbol_search *f, unsigned before, unsigned next)
{
	if (f->pair[before][next]++ == 0)
		*VEC_PUSH(f->seen, f->seen_n, f->seen_room) = before * NEXT + next;
}

static void count_codes(struct symbol_search *f, struct str text)
{
	char last[NAMES_SYMBOL_MOST * 2] = {0};
	unsigned before = KINDS;
	for (size_t i = 0, taken; i < text.n; i += taken) {
		const char *p = text.p + i;
		size_t left = text.n - i;
		if (left < NAMES_SYMBOL_MOST)
			p = memcpy(last, p, left);
		unsigned code = next_code(&f->packer, eight_bytes(p), left, &taken);
		if (code == NAMES_ESCAPE)
			code = 256 + (uint8_t)*p;
		f->single[code]++;
		if (before != KINDS) {
			count_pair(f, before, code);
			if (taken > 1)
				count_pair(f, before, KINDS + (uint8_t)*p);
		}
		before = code;
	}
}

static struct wanted_symbol symbol_of(const struct symbol_search *f, unsigned kind)
{
	if (kind >= 256)
		return (struct wanted_symbol){.text = (uint64_t)(kind - 256) << 56, .n = 1};
	uint64_t text;
	memcpy(&text, f->table->symbol[kind].text, sizeof text);
	return (struct wanted_symbol){.text = be64toh(text), .n = f->table->symbol[kind].n};
}

static void want_symbol(struct symbol_search *f, struct wanted_symbol a, struct wanted_symbol b,
			uint32_t count)
{
	unsigned n = a.n + b.n;
	if (count == 0 || n == 0 || n > NAMES_SYMBOL_MOST)
		return;
	uint64_t text = a.text | (a.n < NAMES_SYMBOL_MOST ? b.text >> 8 * a.n : 0);
	uint64_t gain = (uint64_t)count * n * (n == 1 ? SINGLE_GAIN : 1);
	*VEC_PUSH(f->wanted, f->n, f->room) = (struct wanted_symbol){text, gain, n};
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted_symbol *x = a, *y = b;
	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static int compare_gains(const void *a, const void *b)
{
	const struct wanted_symbol *x = a, *y = b;
	return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : compare_wanted(a, b);
}

/* The same text may have come about in several ways. */
static void sum_wanted(struct symbol_search *f)
{
	size_t kept = 0;
	if (f->n)
		qsort(f->wanted, f->n, sizeof *f->wanted, compare_wanted);
	for (size_t i = 0; i < f->n; i++) {
		if (kept && compare_wanted(&f->wanted[i], &f->wanted[kept - 1]) == 0)
			f->wanted[kept - 1].gain += f->wanted[i].gain;
		else
			f->wanted[kept++] = f->wanted[i];
	}
	f->n = kept;
}

static void next_table(struct symbol_search *f)
{
	const struct wanted_symbol nothing = {0};
	f->n = 0;
	for (unsigned i = 0; i < KINDS; i++)
		want_symbol(f, symbol_of(f, i), nothing, f->single[i]);
	for (size_t i = 0; i < f->seen_n; i++) {
		unsigned before = f->seen[i] / NEXT, next = f->seen[i] % NEXT;
		unsigned kind = next < KINDS ? next : next - KINDS + 256;
		want_symbol(f, symbol_of(f, before), symbol_of(f, kind), f->pair[before][next]);
		f->pair[before][next] = 0;
	}
	f->seen_n = 0;
	sum_wanted(f);
	if (f->n)
		qsort(f->wanted, f->n, sizeof *f->wanted, compare_gains);
	f->n = MIN(f->n, (size_t)NAMES_SYMBOLS);
	if (f->n)
		qsort(f->wanted, f->n, sizeof *f->wanted, compare_wanted);
	*f->table = (struct names_table){0};
	for (size_t i = 0; i < f->n; i++) {
		uint64_t text = htobe64(f->wanted[i].text);
		f->table->symbol[i].n = (uint8_t)f->wanted[i].n;
		memcpy(f->table->symbol[i].text, &text, sizeof text);
	}
}

void names_sample_table(struct names_sample *s, struct names_table *ret)
{
	struct symbol_search *f = mem_alloc(sizeof *f);
	*ret = (struct names_table){0};
	tidy_sample(s);
	f->table = ret;
	f->pair = mem_array(KINDS, sizeof *f->pair);
	for (unsigned round = 0; round < GENERATIONS && s->names; round++) {
		names_packer_init(&f->packer, ret);
		memset(f->single, 0, sizeof f->single);
		for (size_t i = 0; i < s->names; i++) {
			/* Beginnings are mostly shared with the name before, and not coded. */
			struct str text = sampled_text(s, &s->name[i]);
			count_codes(f, str_head(str_from(text, text.n / 2), SAMPLE_BYTES));
		}
		next_table(f);
	}
	mem_free(&f->pair);
	mem_free(&f->seen);
	mem_free(&f->wanted);
	mem_free(&f);
}
