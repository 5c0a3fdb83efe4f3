#include "disk/stream.h"
#include "state/url_index_file.h"

#include <inttypes.h>
#include <sys/random.h>

struct url_index_writer {
	struct stream_writer out;
	uint32_t salt;
	uint64_t items, blocks, types[INDEX_COUNTS];
	unsigned char last[FOOTPRINT_KEY];
	unsigned count; /* items in the block at hand */
	struct buf block, fences;
	bool failed;
	struct err err;
};

static void put_header(struct url_index_writer *w)
{
	struct buf h = BUF_INIT(INDEX_HEADER);
	buf_add_text(&h, INDEX_MAGIC);
	put_u32le(&h, INDEX_VERSION);
	put_u32le(&h, INDEX_BLOCK);
	put_u32le(&h, INDEX_ITEM);
	put_u32le(&h, w->salt);
	put_u32le(&h, 0);
	put_u32le(&h, crc32c(0, h.p, h.n));
	buf_fill(&h, 0, INDEX_HEADER - h.n);
	stream_put(&w->out, h.p, h.n);
	buf_free(&h);
}

int url_index_create(struct url_index_writer **ret, const char *path, struct err *err)
{
	struct url_index_writer *w = mem_alloc(sizeof *w);
	w->block = BUF_INIT(INDEX_BLOCK);
	w->fences = BUF_INIT(SIZE_MAX);
	int rc = getrandom(&w->salt, sizeof w->salt, 0) < 0
			 ? err_sys(err, "%s: random bytes for the header", path)
			 : stream_create(&w->out, path, 0644, NULL, err);
	if (rc < 0) {
		mem_free(&w);
		return -1;
	}
	put_header(w);
	*ret = w;
	return 0;
}

static void end_block(struct url_index_writer *w)
{
	buf_fill(&w->block, 0, INDEX_BLOCK - INDEX_FOOT - w->block.n);
	put_u64le(&w->block, w->blocks++);
	put_u32le(&w->block, w->count);
	put_u32le(&w->block, crc32c(w->salt, w->block.p, w->block.n));
	stream_put(&w->out, w->block.p, w->block.n);
	buf_clear(&w->block);
	w->count = 0;
}

static bool fits(struct url_index_writer *w, const struct index_item *item,
		 const unsigned char *key)
{
	char fp[FOOTPRINT_TEXT];
	footprint_print(item->fp, fp);
	if (w->items && memcmp(w->last, key, FOOTPRINT_KEY) >= 0)
		err_set(&w->err, ERR_USAGE, "the index item %s is not behind the one before", fp);
	else if (item->type >= ITEM_TYPES || item->type == ITEM_TEMPORARY ||
		 item->where > ITEM_NOWHERE)
		err_set(&w->err, ERR_USAGE,
			"the index item %s: type %d, place %" PRIu64 " cannot be kept", fp,
			(int)item->type, item->where);
	else
		return true;
	return false;
}

void url_index_put(struct url_index_writer *w, const struct index_item *item)
{
	unsigned char bytes[INDEX_ITEM];
	if (w->failed)
		return;
	index_item_write(item, bytes);
	if (!fits(w, item, bytes)) {
		w->failed = true;
		return;
	}
	memcpy(w->last, bytes, FOOTPRINT_KEY);
	if (w->count == 0)
		buf_add(&w->fences, bytes, FOOTPRINT_KEY);
	buf_add(&w->block, bytes, sizeof bytes);
	w->items++;
	w->types[item->type]++;
	if (++w->count == INDEX_PER_BLOCK)
		end_block(w);
}

uint64_t url_index_count(const struct url_index_writer *w)
{
	return w->items;
}

static void put_end(struct url_index_writer *w)
{
	struct buf end = BUF_INIT(INDEX_END);
	buf_add_text(&end, INDEX_END_MAGIC);
	put_u64le(&end, w->items);
	put_u64le(&end, w->blocks);
	for (unsigned i = 0; i < INDEX_COUNTS; i++)
		put_u64le(&end, w->types[i]);
	put_u32le(&end, 0);
	put_u32le(&end, 0);
	put_u32le(&end, crc32c(w->salt, buf_str(&w->fences).p, w->fences.n));
	put_u32le(&end, crc32c(w->salt, end.p, end.n));
	ENSURE(end.n == INDEX_END);
	stream_put(&w->out, buf_str(&w->fences).p, w->fences.n);
	stream_put(&w->out, end.p, end.n);
	buf_free(&end);
}

int url_index_finish(struct url_index_writer **pw, struct err *err)
{
	struct url_index_writer *w = *pw;
	int rc = 0;
	if (w->failed) {
		*err = w->err;
		rc = -1;
	} else {
		if (w->count)
			end_block(w);
		put_end(w);
		rc = stream_finish(&w->out, true, err);
	}
	url_index_drop(pw);
	return rc;
}

void url_index_drop(struct url_index_writer **pw)
{
	struct url_index_writer *w = *pw;
	if (!w)
		return;
	stream_drop(&w->out);
	buf_free(&w->block);
	buf_free(&w->fences);
	mem_free(pw);
}
