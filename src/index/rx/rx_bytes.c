/* The alphabet of a pattern: which characters its sets never tell apart, and how the bytes of UTF-8
 * lead to them. Equal nodes of the decoder are one, so that a pattern of ASCII has a handful of
 * them, and one with all letters of Unicode some hundreds. */
#include "index/rx/rx_inner.h"

#include "base/hash.h"

#include <stdlib.h>

/* Classes */

static int compare_starts(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return x < y ? -1 : x > y;
}

/* Cuts all characters wherever a set begins or ends. */
static void cut_spans(struct rx_alphabet *a, const struct rx_tree *t)
{
	int32_t *start = mem_array(2 * t->ranges + 1, sizeof *start);
	size_t n = 1; /* 0 is the first */
	for (size_t s = 0; s < t->sets; s++)
		for (size_t i = 0; i < t->set[s].n; i++) {
			start[n++] = t->set[s].range[i].from;
			start[n++] = t->set[s].range[i].to + 1;
		}
	qsort(start, n, sizeof *start, compare_starts);
	a->span = mem_array(n, sizeof *a->span);
	a->span_class = mem_array(n, sizeof *a->span_class);
	for (size_t i = 0; i < n; i++) {
		int32_t next = i + 1 < n ? start[i + 1] : RX_CHAR_LAST + 1;
		if (start[i] < next && start[i] <= RX_CHAR_LAST)
			a->span[a->spans++] =
				(struct rx_range){start[i], MIN(next - 1, RX_CHAR_LAST)};
	}
	mem_free(&start);
}

static size_t span_of(const struct rx_alphabet *a, int32_t c)
{
	return BISECT(i, 1, a->spans, a->span[i].from <= c) - 1;
}

/* The first span of a range of a set; none of a range that is RX_STRAY alone. */
static size_t first_span(const struct rx_alphabet *a, struct rx_range r)
{
	return r.from > RX_CHAR_LAST ? a->spans : span_of(a, r.from);
}

uint32_t rx_class_of(const struct rx_alphabet *a, int32_t c)
{
	return c < 0 ? a->invalid : c < 128 ? a->ascii[c] : a->span_class[span_of(a, c)];
}

/* Splits every class of which the set has a part: the part becomes a class of its own. 1: it would
 * be too many. */
static int split_classes(struct rx_alphabet *a, const struct rx_ranges *set, uint32_t *members,
			 uint32_t *inside, uint16_t *moved)
{
	memset(inside, 0, a->classes * sizeof *inside);
	for (size_t i = 0; i < set->n; i++)
		for (size_t s = first_span(a, set->range[i]);
		     s < a->spans && a->span[s].from <= set->range[i].to; s++)
			inside[a->span_class[s]]++;
	uint32_t classes = a->classes;
	for (uint32_t c = 0; c < classes; c++) {
		moved[c] = (uint16_t)c;
		if (inside[c] == 0 || inside[c] == members[c])
			continue;
		if (a->classes == RX_CLASSES_MOST)
			return 1;
		moved[c] = (uint16_t)a->classes;
		members[a->classes++] = inside[c];
		members[c] -= inside[c];
	}
	for (size_t i = 0; i < set->n; i++)
		for (size_t s = first_span(a, set->range[i]);
		     s < a->spans && a->span[s].from <= set->range[i].to; s++)
			a->span_class[s] = moved[a->span_class[s]];
	return 0;
}

static int make_classes(struct rx_alphabet *a, const struct rx_tree *t)
{
	uint32_t *members = mem_array(RX_CLASSES_MOST, sizeof *members); /* spans */
	uint32_t *inside = mem_array(RX_CLASSES_MOST, sizeof *inside);
	uint16_t *moved = mem_array(RX_CLASSES_MOST, sizeof *moved);
	int rc = 0;
	a->classes = 1;
	members[0] = (uint32_t)a->spans;
	for (size_t s = 0; s < t->sets && rc == 0; s++)
		rc = split_classes(a, &t->set[s], members, inside, moved);
	a->invalid = a->classes;
	mem_free(&members);
	mem_free(&inside);
	mem_free(&moved);
	return rc;
}

static void make_set_bits(struct rx_alphabet *a, const struct rx_tree *t)
{
	a->set_words = (a->classes + 1 + 63) / 64;
	a->set_bits = mem_array(MAX(t->sets, 1u) * a->set_words, sizeof *a->set_bits);
	for (size_t s = 0; s < t->sets; s++) {
		uint64_t *bits = a->set_bits + s * a->set_words;
		for (size_t i = 0; i < t->set[s].n; i++) {
			struct rx_range r = t->set[s].range[i];
			for (size_t k = first_span(a, r); k < a->spans && a->span[k].from <= r.to;
			     k++)
				bits[a->span_class[k] / 64] |= UINT64_C(1)
							       << (a->span_class[k] % 64);
			if (r.to == RX_STRAY)
				bits[a->invalid / 64] |= UINT64_C(1) << (a->invalid % 64);
		}
	}
}

/* The decoder, from the last byte of characters to the first. */

enum {
	BLOCKS = (RX_CHAR_LAST + 1) / 64, /* of characters that differ in their last byte */
	PLACES = BLOCKS / 64,             /* of blocks that differ in the byte before */
	DECODER_SLOTS = 1 << 15,
};

struct maker {
	struct rx_alphabet *a;
	uint16_t *found;   /* nodes by hash: 1 + number */
	uint16_t *uniform; /* by class: 1 + the node all of whose characters are of it */
	uint16_t block[BLOCKS], place[PLACES];
};

static uint16_t find_decoder(struct maker *m, const struct rx_decoder *d)
{
	struct rx_alphabet *a = m->a;
	struct str bytes = {(const char *)d->to, sizeof d->to};
	size_t slot = hash64_seeded(bytes, d->left) % DECODER_SLOTS;
	for (; m->found[slot]; slot = (slot + 1) % DECODER_SLOTS) {
		const struct rx_decoder *have = &a->decoder[m->found[slot] - 1];
		if (have->left == d->left && memcmp(have->to, d->to, sizeof d->to) == 0)
			return (uint16_t)(m->found[slot] - 1);
	}
	*VEC_PUSH(a->decoder, a->decoders, a->decoders_room) = *d;
	m->found[slot] = (uint16_t)a->decoders;
	return (uint16_t)(a->decoders - 1);
}

static uint16_t uniform_block(struct maker *m, uint16_t class)
{
	struct rx_decoder d = {.left = 1};
	if (!m->uniform[class]) {
		for (size_t i = 0; i < 64; i++)
			d.to[i] = class;
		m->uniform[class] = (uint16_t)(find_decoder(m, &d) + 1);
	}
	return (uint16_t)(m->uniform[class] - 1);
}

/* The block that begins with this character, which lies in this span. */
static uint16_t mixed_block(struct maker *m, int32_t from, size_t span)
{
	struct rx_decoder d = {.left = 1};
	for (int32_t i = 0; i < 64; i++) {
		while (m->a->span[span].to < from + i)
			span++;
		d.to[i] = m->a->span_class[span];
	}
	return find_decoder(m, &d);
}

static void make_blocks(struct maker *m)
{
	const struct rx_alphabet *a = m->a;
	size_t span = 0;
	for (int32_t b = 0; b < BLOCKS;) {
		while (a->span[span].to < b * 64)
			span++;
		int32_t whole = (a->span[span].to + 1) / 64; /* blocks before it are inside */
		if (whole <= b) {
			m->block[b] = mixed_block(m, b * 64, span);
			b++;
			continue;
		}
		uint16_t node = uniform_block(m, a->span_class[span]);
		while (b < whole)
			m->block[b++] = node;
	}
	for (int32_t b = 0xd800 / 64; b <= 0xdfff / 64; b++)
		m->block[b] = RX_NO_CHAR; /* surrogates */
}

/* The node of 64 others, of which the first `none` and those past the last are not characters. */
static uint16_t make_upper(struct maker *m, uint8_t left, const uint16_t *to, size_t none, size_t n)
{
	struct rx_decoder d = {.left = left};
	for (size_t i = 0; i < 64; i++)
		d.to[i] = i < none || i >= n ? RX_NO_CHAR : to[i];
	return find_decoder(m, &d);
}

static void make_decoder(struct rx_alphabet *a)
{
	struct maker *m = mem_alloc(sizeof *m);
	m->a = a;
	m->found = mem_array(DECODER_SLOTS, sizeof *m->found);
	m->uniform = mem_array(a->classes, sizeof *m->uniform);
	make_blocks(m);
	for (size_t i = 0; i < 256; i++)
		a->lead[i] = RX_NO_CHAR;
	for (size_t i = 2; i < 32; i++)
		a->lead[0xc0 + i] = m->block[i];
	for (size_t i = 0; i < PLACES; i++)
		m->place[i] = make_upper(m, 2, m->block + i * 64, i == 0 ? 0x800 / 64 : 0, 64);
	for (size_t i = 0; i < 16; i++)
		a->lead[0xe0 + i] = m->place[i];
	for (size_t i = 0; i < 5; i++)
		a->lead[0xf0 + i] = make_upper(m, 3, m->place + i * 64, i == 0 ? 16 : 0,
					       MIN(PLACES - i * 64, 64));
	mem_free(&m->found);
	mem_free(&m->uniform);
	mem_free(&m);
}

/* Bytes that no node tells apart */

/* Splits the classes of bytes by what `count` of them from `first` on lead to. */
static void split_bytes(struct rx_alphabet *a, size_t first, size_t count, const uint16_t *to)
{
	struct {
		uint16_t to;
		uint8_t old, class;
	} seen[256];
	bool kept[256] = {0}; /* the first part of a class keeps its number */
	size_t n = 0;
	/* what lies outside leads nowhere from here, and has its classes to itself */
	for (size_t i = 0; i < count; i++) {
		uint8_t *class = &a->byte_class[first + i];
		size_t k = 0;
		while (k < n && (seen[k].to != to[i] || seen[k].old != *class))
			k++;
		if (k == n) {
			seen[n].to = to[i];
			seen[n].old = *class;
			seen[n++].class = kept[*class] ? (uint8_t)a->byte_classes++ : *class;
			kept[*class] = true;
		}
		*class = seen[k].class;
	}
}

static void make_byte_classes(struct rx_alphabet *a)
{
	for (size_t i = 0; i < 256; i++)
		a->byte_class[i] = i < 0x80 ? 0 : i < 0xc0 ? 1 : 2;
	a->byte_classes = 3;
	split_bytes(a, 0, 128, a->ascii);
	split_bytes(a, 0xc0, 64, a->lead + 0xc0);
	uint32_t all = a->byte_classes + 63; /* then each has a class of its own */
	for (size_t i = 0; i < a->decoders && a->byte_classes < all; i++)
		split_bytes(a, 0x80, 64, a->decoder[i].to);
}

int rx_alphabet_make(struct rx_alphabet *a, const struct rx_tree *t, struct err *err)
{
	cut_spans(a, t);
	if (make_classes(a, t) != 0)
		return err_set(err, ERR_USAGE,
			       "the expression is too large: it tells more than %d kinds of "
			       "characters apart",
			       RX_CLASSES_MOST);
	make_set_bits(a, t);
	for (int32_t c = 0; c < 128; c++)
		a->ascii[c] = a->span_class[span_of(a, c)];
	make_decoder(a);
	make_byte_classes(a);
	return 0;
}

void rx_alphabet_free(struct rx_alphabet *a)
{
	mem_free(&a->span);
	mem_free(&a->span_class);
	mem_free(&a->decoder);
	mem_free(&a->set_bits);
}
