/* The dictionary entry by entry, as it lies in a segment: for walks that pass over most of it
 * without wanting to know of each term what segment_walk() tells. */
#pragma once
#include "index/words/segment_inner.h"

struct dict_place {
	const uint8_t *p, *end;
	uint64_t at; /* where the data of the next term begins */
	bool bad;
};

/* A term: how many bytes it shares with the one before, and its own. */
struct dict_own {
	uint32_t shared, n;
	const uint8_t *p;
};

static inline uint64_t dict_varint(struct dict_place *b)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64 && b->p < b->end; shift += 7) {
		uint8_t byte = *b->p++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	b->bad = true;
	return 0;
}

static inline uint8_t dict_byte(struct dict_place *b)
{
	if (LIKELY(b->p < b->end))
		return *b->p++;
	b->bad = true;
	return 0;
}

static inline void dict_read_own(struct dict_place *b, struct dict_own *e)
{
	uint8_t both = dict_byte(b);
	e->shared = both >> 4;
	e->n = both & 15;
	if (both == 0xff) {
		e->shared = dict_byte(b);
		e->n = dict_byte(b);
	}
	e->p = b->p;
	if (UNLIKELY(b->bad || (size_t)(b->end - b->p) < e->n ||
		     e->shared + e->n > TOKEN_TERM_MOST || e->n == 0)) {
		b->bad = true;
		return;
	}
	b->p += e->n;
}

/* A block, of which the terms are read one after the other. */
struct dict_scan {
	struct segment *segment;
	unsigned attr;
	uint32_t block, end; /* the current one, and the one after the last */
	struct dict_own own; /* the current term */
	/* private */
	const uint8_t *prefixes;
	struct dict_place place;
	uint32_t terms, nth; /* of the block, and how many were read */
	uint32_t length;     /* of the current term */
};

/* 1: the attribute has no terms. Nothing is entered yet. */
int dict_scan_init(struct dict_scan *ret, struct segment *s, unsigned attr, struct err *err);
int dict_scan_enter(struct dict_scan *d, uint32_t block, struct err *err);
int dict_scan_bad(const struct dict_scan *d, struct err *err);
/* The block in which the first term is that is not before one with this beginning, or the one
 * before it; not before `from`. The last one where there is none. */
uint32_t dict_scan_find(const struct dict_scan *d, uint32_t from, uint64_t prefix);
/* What is known of the current term. */
int dict_scan_info(const struct dict_scan *d, struct segment_term *ret, struct err *err);

/* The first 8 bytes of the first term of a block, as a number. */
static inline uint64_t dict_scan_prefix(const struct dict_scan *d, uint32_t block)
{
	return load_u64(d->prefixes, block);
}

/* Past what is known of a term: varints, of which only the first may have to be looked at. */
static inline void dict_skip_info(struct dict_place *b, unsigned attr)
{
	unsigned n = attr == SEGMENT_COMBINED || (b->p < b->end && *b->p == 0) ? 3 : 2;
	if (LIKELY(b->end - b->p >= 8)) {
		uint64_t ends = ~load_u64(b->p, 0) & UINT64_C(0x8080808080808080);
		ends &= ends - 1;
		if (n == 3)
			ends &= ends - 1;
		if (LIKELY(ends)) {
			b->p += (unsigned)__builtin_ctzll(ends) / 8 + 1;
			return;
		}
	}
	while (n-- > 0)
		(void)dict_varint(b);
}

/* The next term that shares at most so many bytes with the one before it. 1: the block has no
 * more. */
static inline int dict_scan_next(struct dict_scan *d, uint32_t shared, struct err *err)
{
	struct dict_place b = d->place;
	struct dict_own own;
	uint32_t length = d->length, nth = d->nth, terms = d->terms;
	do {
		if (nth == terms)
			return 1;
		dict_read_own(&b, &own);
		if (UNLIKELY(b.bad || own.shared > length))
			return dict_scan_bad(d, err);
		dict_skip_info(&b, d->attr);
		length = own.shared + own.n;
		nth++;
	} while (own.shared > shared);
	d->place = b;
	d->own = own;
	d->length = length;
	d->nth = nth;
	return 0;
}

/* As segment_term(), for terms in order: *block is where the one before was, at first 0. */
int dict_term_after(struct segment *s, unsigned attr, struct str term, uint32_t *block,
		    struct segment_term *ret, struct err *err);
