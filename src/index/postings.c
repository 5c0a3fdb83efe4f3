#include "index/postings.h"

#include "base/cursor.h"

#include <inttypes.h>

int postings_damaged(const struct postings *p, uint32_t block, struct err *err)
{
	return segment_damaged(p->segment, err,
			       "block %" PRIu32 " of a list of %" PRIu32 " documents is wrong",
			       block, p->df);
}

/* Opening */

static void loose_bound(struct postings *p, uint8_t tf)
{
	for (size_t i = 0; i < SEGMENT_BOUNDS; i++) {
		p->one_bound[0][2 * i] = tf;
		p->one_bound[0][2 * i + 1] = 0;
	}
	p->one_last = p->segment->foot.docs - 1;
	p->last = &p->one_last;
	p->bound = p->one_bound;
}

static int open_short(struct postings *p, const uint8_t *data, uint64_t n, struct err *err)
{
	struct reader r = reader_of((struct str){(const char *)data, (size_t)n});
	p->flags = reader_u8(&r);
	if (p->flags & LIST_OWN)
		(void)reader_text(&r, (size_t)n);
	const uint8_t *at = r.p;
	p->end = r.end;
	p->gaps = at;
	at = r.bad || p->flags & ~LIST_ALL ? NULL : skip_tail(at, p->end, p->df);
	if (at && !(p->flags & LIST_TF_ONE)) {
		p->tfs = at;
		at = skip_tail(at, p->end, p->df);
	}
	if (at && p->flags & LIST_COUNTS) {
		p->counts = at;
		at = skip_tail(at, p->end, p->df);
	}
	p->occ = at;
	loose_bound(p, p->flags & LIST_TF_ONE ? 1 : SEGMENT_TF_MOST);
	return at ? 0 : postings_damaged(p, 0, err);
}

/* The arrays of a long list lie behind its head, in an order that keeps numbers aligned. */
static int open_long(struct postings *p, const struct segment_term *info, struct err *err)
{
	uint64_t from = info->at - p->segment->foot.part[PART_TERMS].at, pad = -info->at & 3;
	uint64_t per_block = 4 + 4 + 2 * SEGMENT_BOUNDS + (info->occurrences ? 4 + 1 : 0);
	uint64_t arrays = LIST_HEAD + per_block * p->blocks;
	const uint8_t *head;
	if (info->bytes < pad + arrays)
		return postings_damaged(p, 0, err);
	if (segment_bytes(p->segment, PART_TERMS, from + pad, arrays, &head, err) < 0)
		return -1;
	uint64_t docs = load_u32(head, 0), own = load_u32(head, 1);
	p->tail = load_u32(head, 2);
	p->flags = load_u32(head, 3);
	if (pad + arrays + own + docs > info->bytes)
		return postings_damaged(p, 0, err);
	uint64_t occ = info->bytes - pad - arrays - own - docs;
	p->docs_at = from + pad + arrays + own;
	p->docs_n = (uint32_t)docs;
	p->occ_at = p->docs_at + docs;
	p->occ_n = (uint32_t)occ;
	if (occ > UINT32_MAX || p->tail > occ || p->flags & ~LIST_ALL)
		return postings_damaged(p, 0, err);
	const uint8_t *at = head + LIST_HEAD;
	p->last = (const uint32_t *)(const void *)at;
	p->where = p->last + p->blocks;
	const uint32_t *behind = p->where + p->blocks;
	if (info->occurrences) {
		p->pos_where = behind;
		behind += p->blocks;
	}
	p->bound = (const uint8_t(*)[2 * SEGMENT_BOUNDS])(const void *)behind;
	p->pos_skip = (const uint8_t *)(p->bound + p->blocks);
	return 0;
}

int postings_open(struct segment *s, const struct segment_term *info, struct postings *ret,
		  struct err *err)
{
	const uint8_t *data;
	*ret = (struct postings){.df = info->df, .blocks = info->blocks, .segment = s};
	ret->occurrences = info->occurrences;
	if (info->df >= SEGMENT_BLOCK)
		return open_long(ret, info, err);
	if (info->bytes == 0) {
		ret->one = *info;
		loose_bound(ret, 1);
		return 0;
	}
	if (segment_bytes(s, PART_TERMS, info->at - s->foot.part[PART_TERMS].at, info->bytes, &data,
			  err) < 0)
		return -1;
	return open_short(ret, data, info->bytes, err);
}

/* Blocks */

/* The bytes of a block of a long list. */
static int block_bytes(struct postings *p, uint32_t block, const uint8_t **ret,
		       const uint8_t **ret_end, struct err *err)
{
	uint32_t from = p->where[block];
	uint32_t to = block + 1 < p->blocks ? p->where[block + 1] : p->docs_n;
	if (from > to || to > p->docs_n)
		return postings_damaged(p, block, err);
	const uint8_t *bytes;
	if (segment_bytes(p->segment, PART_TERMS, p->docs_at + from, to - from, &bytes, err) < 0)
		return -1;
	*ret = bytes;
	*ret_end = bytes + (to - from);
	return 0;
}

static bool unpack_docs(const uint8_t *p, const uint8_t *end, uint32_t n, uint32_t base,
			uint32_t limit, uint32_t ret[SEGMENT_BLOCK])
{
	if (n == SEGMENT_BLOCK)
		return unpack_ascending(p, end, base, limit, ret) != NULL;
	return unpack_tail(p, end, n, ret) && add_up_ascending(ret, n, base, limit);
}

int postings_docs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err)
{
	uint32_t docs = p->segment->foot.docs, n = postings_in_block(p, block);
	const uint8_t *from = NULL, *end = NULL;
	bool good;
	if (p->df >= SEGMENT_BLOCK) {
		uint32_t base = block ? p->last[block - 1] : UINT32_MAX;
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		good = (block == 0 || base < docs) && unpack_docs(from, end, n, base, docs, ret) &&
		       ret[n - 1] == p->last[block];
	} else if (p->gaps) {
		good = unpack_docs(p->gaps, p->end, n, UINT32_MAX, docs, ret);
	} else {
		ret[0] = p->one.doc;
		good = true;
	}
	for (uint32_t i = n; i < SEGMENT_BLOCK; i++)
		ret[i] = UINT32_MAX;
	return good ? 0 : postings_damaged(p, block, err);
}

static void fill_ones(uint32_t n, uint32_t ret[SEGMENT_BLOCK])
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = 1;
}

/* Everything that a frequency is looked up in has 256 places. Places behind the n-th are 0. */
static bool all_frequencies(const uint32_t tf[SEGMENT_BLOCK], uint32_t n)
{
	uint32_t all = 0, zeroes = 0;
	for (uint32_t i = 0; i < SEGMENT_BLOCK; i++) {
		all |= tf[i];
		zeroes += tf[i] == 0;
	}
	return all <= SEGMENT_TF_MOST && zeroes == SEGMENT_BLOCK - n;
}

int postings_tfs(struct postings *p, uint32_t block, uint32_t ret[SEGMENT_BLOCK], struct err *err)
{
	uint32_t n = postings_in_block(p, block);
	const uint8_t *from = p->tfs, *end = p->end;
	if (p->df >= SEGMENT_BLOCK) {
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		from = numbers_skip(from, end, n);
		if (!from)
			return postings_damaged(p, block, err);
	}
	if (!from)
		fill_ones(n, ret);
	else if (!numbers_get(from, end, n, ret))
		return postings_damaged(p, block, err);
	for (uint32_t i = n; i < SEGMENT_BLOCK; i++)
		ret[i] = 0;
	return all_frequencies(ret, n) ? 0 : postings_damaged(p, block, err);
}

/* What occurrences have more or less than frequencies; NULL: nothing. */
int postings_more(struct postings *p, uint32_t block, uint32_t buffer[SEGMENT_BLOCK],
		  const uint32_t **ret, struct err *err)
{
	uint32_t n = postings_in_block(p, block);
	const uint8_t *from = p->counts, *end = p->end;
	*ret = NULL;
	if (p->df >= SEGMENT_BLOCK && p->pos_skip[block] & SKIP_COUNTS) {
		if (block_bytes(p, block, &from, &end, err) < 0)
			return -1;
		from = numbers_skip(from, end, n);
		from = from ? numbers_skip(from, end, n) : NULL;
		if (!from)
			return postings_damaged(p, block, err);
	}
	if (!from)
		return 0;
	*ret = buffer;
	return numbers_get(from, end, n, buffer) ? 0 : postings_damaged(p, block, err);
}
