#include "index/dict.h"

static const size_t dict_bytes_most = UINT32_MAX; /* offsets of blocks have 32 bits */

void dict_init(struct dict_writer *d)
{
	*d = (struct dict_writer){.blocks = BUF_INIT(dict_bytes_most),
				  .prefixes = BUF_INIT(dict_bytes_most),
				  .wheres = BUF_INIT(dict_bytes_most),
				  .firsts = BUF_INIT(dict_bytes_most)};
}

void dict_free(struct dict_writer *d)
{
	buf_free(&d->blocks);
	buf_free(&d->prefixes);
	buf_free(&d->wheres);
	buf_free(&d->firsts);
}

static void dict_new_block(struct dict_writer *d, struct str term, uint64_t at)
{
	put_u64le(&d->prefixes, segment_prefix(term));
	put_u32le(&d->wheres, (uint32_t)d->blocks.n);
	put_varint(&d->blocks, at);
	d->count_at = d->blocks.n;
	put_u8(&d->blocks, 0);
	d->nblocks++;
	d->in_block = 0;
	d->term_n = 0;
}

static size_t dict_shared_with(const struct dict_writer *d, struct str term)
{
	size_t n = 0, most = MIN(term.n, d->term_n);
	while (n < most && d->term[n] == term.p[n])
		n++;
	return n;
}

static void dict_put_term(struct dict_writer *d, struct str term)
{
	size_t shared = dict_shared_with(d, term), n = term.n - shared;
	if (shared < SEGMENT_SHORT && n < SEGMENT_SHORT) {
		put_u8(&d->blocks, (uint8_t)(shared << 4 | n));
	} else {
		put_u8(&d->blocks, 0xff);
		put_u8(&d->blocks, (uint8_t)shared);
		put_u8(&d->blocks, (uint8_t)n);
	}
	buf_add_str(&d->blocks, str_from(term, shared));
	memcpy(d->term + shared, term.p + shared, n);
	d->term_n = term.n;
}

static void dict_put_info(struct buf *out, uint32_t attr, const struct segment_term *info)
{
	if (info->bytes == 0) {
		put_varint(out, 0);
		put_varint(out, info->doc);
		put_varint(out, (uint64_t)info->position << 2 | info->variant);
		return;
	}
	put_varint(out, info->df);
	if (attr == SEGMENT_COMBINED)
		put_varint(out, info->occurrences - info->df);
	put_varint(out, info->bytes);
}

void dict_put(struct dict_writer *d, uint32_t attr, struct str term, uint64_t at,
	      const struct segment_term *info)
{
	ENSURE(term.n > 0 && term.n <= TOKEN_TERM_MOST);
	bool first = d->attrs <= attr;
	for (; d->attrs <= attr; d->attrs++)
		put_u32le(&d->firsts, d->nblocks);
	if (first || d->in_block == SEGMENT_DICT_BLOCK)
		dict_new_block(d, term, at);
	dict_put_term(d, term);
	dict_put_info(&d->blocks, attr, info);
	d->in_block++;
	d->terms++;
	if (!d->blocks.over)
		d->blocks.p[d->count_at] = (char)d->in_block;
}

void dict_end(struct dict_writer *d, uint32_t attrs)
{
	for (; d->attrs <= attrs; d->attrs++)
		put_u32le(&d->firsts, d->nblocks);
	put_u32le(&d->wheres, (uint32_t)d->blocks.n);
}
