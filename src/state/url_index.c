#include "state/url_index.h"

#include "disk/stream.h"
#include "state/url_index_file.h"

#include <fcntl.h>
#include <inttypes.h>

struct url_index {
	struct file file;
	uint32_t salt;
	uint64_t items, blocks, types[INDEX_COUNTS];
	char *fences; /* FOOTPRINT_KEY bytes each */
};

static int damaged(const struct url_index *x, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s; recovery builds it again", x->file.path, what);
}

/* Exactly n bytes. */
static int read_all(const struct url_index *x, void *p, size_t n, uint64_t at, struct err *err)
{
	size_t got;
	if (file_read(&x->file, p, n, at, &got, err) < 0)
		return -1;
	return got == n ? 0 : damaged(x, "it is cut", err);
}

static int read_header(struct url_index *x, struct err *err)
{
	char h[32];
	if (read_all(x, h, sizeof h, 0, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){h, sizeof h});
	bool ours = str_is(reader_bytes(&r, FORMAT_MAGIC), INDEX_MAGIC);
	uint32_t version = reader_u32le(&r), block = reader_u32le(&r), item = reader_u32le(&r);
	x->salt = reader_u32le(&r);
	reader_skip(&r, 4);
	if (!ours || reader_u32le(&r) != crc32c(0, h, sizeof h - 4))
		return damaged(x, "it does not begin as an index does", err);
	if (version != INDEX_VERSION || block != INDEX_BLOCK || item != INDEX_ITEM)
		return err_set(err, ERR_DAMAGED,
			       "%s: version %" PRIu32 " with items of %" PRIu32
			       " bytes, this program knows version %d with %d",
			       x->file.path, version, item, INDEX_VERSION, INDEX_ITEM);
	return 0;
}

static uint64_t blocks_of(uint64_t items)
{
	return (items + INDEX_PER_BLOCK - 1) / INDEX_PER_BLOCK;
}

/* *ret_crc: of the fences */
static int read_end(struct url_index *x, uint64_t size, uint32_t *ret_crc, struct err *err)
{
	char end[INDEX_END];
	if (size < INDEX_HEADER + INDEX_END)
		return damaged(x, "it is cut", err);
	if (read_all(x, end, sizeof end, size - INDEX_END, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){end, sizeof end});
	bool ours = str_is(reader_bytes(&r, FORMAT_MAGIC), INDEX_END_MAGIC);
	x->items = reader_u64le(&r);
	x->blocks = reader_u64le(&r);
	for (unsigned i = 0; i < INDEX_COUNTS; i++)
		x->types[i] = reader_u64le(&r);
	reader_skip(&r, 8);
	*ret_crc = reader_u32le(&r);
	if (!ours || reader_u32le(&r) != crc32c(x->salt, end, sizeof end - 4))
		return damaged(x, "it does not end as an index does", err);
	if (x->blocks != blocks_of(x->items) || x->blocks > size / INDEX_BLOCK ||
	    size != INDEX_HEADER + x->blocks * (INDEX_BLOCK + FOOTPRINT_KEY) + INDEX_END)
		return damaged(x, "its length does not fit its end", err);
	return 0;
}

static int read_fences(struct url_index *x, uint32_t crc, struct err *err)
{
	size_t n = (size_t)x->blocks * FOOTPRINT_KEY;
	x->fences = mem_resize(NULL, n + 1);
	if (read_all(x, x->fences, n, INDEX_HEADER + x->blocks * INDEX_BLOCK, err) < 0)
		return -1;
	return crc32c(x->salt, x->fences, n) == crc ? 0 : damaged(x, "its fences are damaged", err);
}

static int load(struct url_index *x, struct err *err)
{
	uint64_t size;
	uint32_t crc = 0;
	return file_size(&x->file, &size, err) < 0 || read_header(x, err) < 0 ||
			       read_end(x, size, &crc, err) < 0 || read_fences(x, crc, err) < 0
		       ? -1
		       : 0;
}

int url_index_open(struct url_index **ret, const char *path, struct err *err)
{
	struct url_index *x = mem_alloc(sizeof *x);
	x->file = FILE_INIT;
	int rc = file_open(&x->file, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = load(x, err);
	if (rc == 0)
		*ret = x;
	else
		url_index_close(&x);
	return rc;
}

void url_index_close(struct url_index **px)
{
	struct url_index *x = *px;
	if (!x)
		return;
	file_drop(&x->file);
	mem_free(&x->fences);
	mem_free(px);
}

uint64_t url_index_items(const struct url_index *x)
{
	return x->items;
}

const uint64_t *url_index_types(const struct url_index *x)
{
	return x->types;
}

static unsigned count_in(const struct url_index *x, uint64_t block)
{
	return (unsigned)MIN(x->items - block * INDEX_PER_BLOCK, (uint64_t)INDEX_PER_BLOCK);
}

static int check_block(const struct url_index *x, const char *p, uint64_t block, struct err *err)
{
	struct reader r = reader_of((struct str){p + INDEX_BLOCK - INDEX_FOOT, INDEX_FOOT});
	uint64_t number = reader_u64le(&r);
	uint32_t count = reader_u32le(&r), crc = reader_u32le(&r);
	if (crc == crc32c(x->salt, p, INDEX_BLOCK - 4) && number == block &&
	    count == count_in(x, block))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: block %" PRIu64 " (byte %" PRIu64
		       ") is damaged; recovery builds it again",
		       x->file.path, block, INDEX_HEADER + block * INDEX_BLOCK);
}

/* The last of n keys, `step` bytes apart, that is not behind the key; n: all are. */
static uint64_t last_up_to(const char *keys, uint64_t n, size_t step, const unsigned char *key)
{
	uint64_t from = 0, to = n; /* the first one behind it is in [from, to] */
	while (from < to) {
		uint64_t mid = from + (to - from) / 2;
		if (memcmp(keys + mid * step, key, FOOTPRINT_KEY) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from ? from - 1 : n;
}

/* Reads and checks a block. */
static int read_block(const struct url_index *x, uint64_t block, char ret[INDEX_BLOCK],
		      struct err *err)
{
	if (read_all(x, ret, INDEX_BLOCK, INDEX_HEADER + block * INDEX_BLOCK, err) < 0)
		return -1;
	return check_block(x, ret, block, err);
}

static int item_at(const struct url_index *x, const char *bytes, uint64_t block, uint64_t at,
		   struct index_item *ret, struct err *err)
{
	const char *p = bytes + at * INDEX_ITEM;
	if (index_item_read((const unsigned char *)p, ret, err) < 0)
		return err_in(err, "%s: block %" PRIu64, x->file.path, block);
	return 0;
}

int url_index_find(const struct url_index *x, struct footprint fp, struct index_item *ret,
		   struct err *err)
{
	char bytes[INDEX_BLOCK];
	unsigned char key[FOOTPRINT_KEY];
	footprint_key(fp, key);
	uint64_t block = last_up_to(x->fences, x->blocks, FOOTPRINT_KEY, key);
	if (block == x->blocks)
		return 1;
	if (read_block(x, block, bytes, err) < 0)
		return -1;
	unsigned n = count_in(x, block);
	uint64_t at = last_up_to(bytes, n, INDEX_ITEM, key);
	if (at == n || memcmp(bytes + at * INDEX_ITEM, key, FOOTPRINT_KEY) != 0)
		return 1;
	return item_at(x, bytes, block, at, ret, err);
}

int url_index_sample(const struct url_index *x, uint64_t i, uint64_t n, struct index_item *ret,
		     struct err *err)
{
	char bytes[INDEX_BLOCK];
	struct index_item item;
	uint64_t number = (uint64_t)((unsigned __int128)x->items * i / n);
	uint64_t block = number / INDEX_PER_BLOCK;
	if (number >= x->items)
		return 1;
	if (read_block(x, block, bytes, err) < 0)
		return -1;
	for (uint64_t at = number % INDEX_PER_BLOCK; at < count_in(x, block); at++) {
		if (item_at(x, bytes, block, at, &item, err) < 0)
			return -1;
		if (index_item_has_bucket(&item)) {
			*ret = item;
			return 0;
		}
	}
	return 1;
}

/* Scanning */

struct url_index_scan {
	const struct url_index *x;
	struct stream_reader in;
	uint64_t next; /* the block that is read next */
	const char *block;
	unsigned at, n; /* items of the block at hand */
	unsigned char from[FOOTPRINT_KEY];
	bool skip; /* those before `from`, in the first block */
};

int url_index_scan(struct url_index_scan **ret, const struct url_index *x, struct footprint from,
		   struct err *err)
{
	struct url_index_scan *s = mem_alloc(sizeof *s);
	const struct stream_options options = {.buffered = true};
	s->x = x;
	footprint_key(from, s->from);
	uint64_t block = last_up_to(x->fences, x->blocks, FOOTPRINT_KEY, s->from);
	s->next = block == x->blocks ? 0 : block;
	s->skip = true;
	if (stream_open_part(&s->in, &x->file, INDEX_HEADER + s->next * INDEX_BLOCK,
			     (x->blocks - s->next) * INDEX_BLOCK, &options, err) < 0) {
		mem_free(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

static int next_block(struct url_index_scan *s, struct err *err)
{
	struct str bytes;
	if (s->next == s->x->blocks)
		return 1;
	int rc = stream_read(&s->in, INDEX_BLOCK, &bytes, err);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		s->next = s->x->blocks;
		return damaged(s->x, "it was cut while it was read", err);
	}
	s->at = s->n = 0;
	if (check_block(s->x, bytes.p, s->next++, err) < 0)
		return -1;
	s->block = bytes.p;
	s->n = count_in(s->x, s->next - 1);
	if (s->skip) {
		s->skip = false;
		uint64_t at = last_up_to(bytes.p, s->n, INDEX_ITEM, s->from);
		bool behind =
			at < s->n && memcmp(bytes.p + at * INDEX_ITEM, s->from, FOOTPRINT_KEY) < 0;
		s->at = at == s->n ? 0 : (unsigned)at + behind;
	}
	return 0;
}

int url_index_next(struct url_index_scan *s, struct index_item *ret, struct err *err)
{
	while (s->at == s->n) {
		int rc = next_block(s, err);
		if (rc)
			return rc;
	}
	return item_at(s->x, s->block, s->next - 1, s->at++, ret, err);
}

/* One less than the next fence, which is not the first and so not 0. */
struct footprint url_index_passed(const struct url_index_scan *s)
{
	if (s->next >= s->x->blocks)
		return (struct footprint){UINT64_MAX, UINT64_MAX};
	struct footprint fp = footprint_of_key(s->x->fences + s->next * FOOTPRINT_KEY);
	fp.site -= fp.path == 0;
	fp.path--;
	return fp;
}

void url_index_scan_free(struct url_index_scan **ps)
{
	if (!*ps)
		return;
	stream_close(&(*ps)->in);
	mem_free(ps);
}

/* For `garner dump` and `garner check`. */

static int print(const char *path, void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	struct url_index *x = NULL;
	struct url_index_scan *s = NULL;
	struct index_item item;
	int rc = url_index_open(&x, path, err);
	if (rc == 0)
		rc = url_index_scan(&s, x, (struct footprint){0, 0}, err);
	struct buf out = BUF_INIT(1 << 20);
	while (rc == 0 && (rc = url_index_next(s, &item, err)) == 0) {
		index_item_print(&item, &out);
		buf_add_byte(&out, '\n');
		emit(ctx, buf_str(&out));
		buf_clear(&out);
	}
	if (rc == 1 && x) {
		buf_printf(&out, "%" PRIu64 " URLs in %" PRIu64 " blocks\n", x->items, x->blocks);
		emit(ctx, buf_str(&out));
	} else if (rc == 1) {
		rc = err_set(err, ERR_USAGE, "%s: there is no such file", path);
	}
	buf_free(&out);
	url_index_scan_free(&s);
	url_index_close(&x);
	return rc < 0 ? rc : 0;
}

/* Also that the items are in order and the fences and counts are right. */
static int verify_items(const struct url_index *x, struct url_index_scan *s, struct err *err)
{
	uint64_t types[INDEX_COUNTS] = {0};
	struct index_item item, before = {0};
	int rc;
	for (uint64_t i = 0; (rc = url_index_next(s, &item, err)) == 0; i++) {
		unsigned char key[FOOTPRINT_KEY];
		footprint_key(item.fp, key);
		const char *fence = x->fences + i / INDEX_PER_BLOCK * FOOTPRINT_KEY;
		if (i && footprint_cmp(before.fp, item.fp) >= 0)
			return damaged(x, "its items are not in order", err);
		if (i % INDEX_PER_BLOCK == 0 && memcmp(fence, key, FOOTPRINT_KEY) != 0)
			return damaged(x, "a fence is wrong", err);
		types[item.type]++;
		before = item;
	}
	if (rc == 1 && memcmp(types, x->types, sizeof types) != 0)
		return damaged(x, "its counts are wrong", err);
	return rc < 0 ? rc : 0;
}

static int verify(const char *path, struct err *err)
{
	struct url_index *x = NULL;
	struct url_index_scan *s = NULL;
	int rc = url_index_open(&x, path, err);
	if (rc == 0)
		rc = url_index_scan(&s, x, (struct footprint){0, 0}, err);
	if (rc == 0)
		rc = verify_items(x, s, err);
	else if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: there is no such file", path);
	url_index_scan_free(&s);
	url_index_close(&x);
	return rc;
}

const struct format index_format = {
	.name = "index",
	.file = "index",
	.magic = INDEX_MAGIC,
	.version = INDEX_VERSION,
	.help = "the URLs that a state of the crawl knows",
	.print = print,
	.verify = verify,
};
