/* The index of a state: how an item and the file lie on disk, writing, finding, scanning. Blocks of
 * a fixed number of items, so that one footprint is found by its fence and one read, and damage
 * costs one block. */
#include "state/url_index.h"
#include "state/phase.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "disk/stream.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <sys/stat.h>

/* How it lies on disk: a header, blocks, fences, an end. */

enum {
	INDEX_VERSION = 2,
	INDEX_HEADER = 4096,
	INDEX_HEADER_USED = 32, /* bytes of it; the others are zero */
	INDEX_BLOCK = 64 << 10,
	INDEX_FOOT = 16, /* bytes at the end of a block: number, count, checksum */
	INDEX_PER_BLOCK = (INDEX_BLOCK - INDEX_FOOT) / INDEX_ITEM,
	INDEX_END = 104,  /* bytes at the end of the file */
	INDEX_COUNTS = 8, /* types that the end has room for */
};
_Static_assert(INDEX_PER_BLOCK *INDEX_ITEM + INDEX_FOOT == INDEX_BLOCK, "a block has no gap");
_Static_assert((int)ITEM_TYPES <= (int)INDEX_COUNTS, "a count for each type");

#define INDEX_MAGIC "GARNERIX"
#define INDEX_END_MAGIC "GRNIXEND"

/* Items */

/* The byte of the type has the redirects too: three bits of them in the uppermost, the fourth where
 * it is in the number. */
enum { TYPE_BITS = 7, TYPE_HOPS = 8, TYPE_NO_TARGET = 16, TYPE_HOPS_AT = 5, ITEM_TYPE_AT = 38 };
_Static_assert((int)ITEM_TYPES <= (int)TYPE_BITS + 1, "a type has three bits");
_Static_assert(ITEM_TYPE_AT + 7 == INDEX_ITEM, "seven bytes are left from there on");

const char *const item_type_names[ITEM_TYPES] = {"sleeping", "new",       "gathered", "error",
						 "qkey",     "temporary", "zombie"};

void footprint_key(struct footprint fp, unsigned char ret[FOOTPRINT_KEY])
{
	const uint64_t key[2] = {htobe64(fp.site), htobe64(fp.path)};
	memcpy(ret, key, FOOTPRINT_KEY);
}

/* Fields that stand next to each other are moved as one number. */
static void item_put_u64(unsigned char *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

static inline uint64_t item_take_u64(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

void item_put_where(struct buf *out, uint64_t where)
{
	put_varint(out, where >= ITEM_NOWHERE ? 0 : where + 1);
}

uint64_t item_take_where(struct reader *r)
{
	uint64_t v = reader_varint(r);
	if (v > ITEM_NOWHERE)
		r->bad = true;
	return v == 0 || v > ITEM_NOWHERE ? ITEM_NOWHERE : v - 1;
}

void index_item_write(const struct index_item *item, unsigned char ret[INDEX_ITEM])
{
	unsigned hops = MIN(item->hops, (uint8_t)ITEM_HOPS_MOST),
		 hops_bits = (hops & TYPE_HOPS) | (hops & (TYPE_HOPS - 1)) << TYPE_HOPS_AT;
	const unsigned char small[] = {
		(unsigned char)(item->type | (item->no_target ? TYPE_NO_TARGET : 0) | hops_bits),
		item->flags,
		item->retry,
		item->weight,
		item->freq,
		item->download_ds,
		item->section,
	};
	footprint_key(item->fp, ret);
	item_put_u64(ret + 16, (item->where & ITEM_NOWHERE) | (uint64_t)item->code << 48);
	item_put_u64(ret + 24, item->last_seen_s | (uint64_t)item->stable_s << 32);
	item_put_u64(ret + 32, item->due_s | (uint64_t)item->since_day << 32);
	memcpy(ret + ITEM_TYPE_AT, small, sizeof small);
}

/* False: there is no such type. */
static inline bool item_take(const unsigned char p[INDEX_ITEM], struct index_item *ret)
{
	const unsigned char *small = p + ITEM_TYPE_AT;
	uint8_t type = small[0] & TYPE_BITS;
	if (UNLIKELY(type >= ITEM_TYPES || type == ITEM_TEMPORARY))
		return false;
	uint64_t place = item_take_u64(p + 16), times = item_take_u64(p + 24),
		 due = item_take_u64(p + 32);
	ret->fp = footprint_of_key(p);
	ret->where = place & ITEM_NOWHERE;
	ret->code = (uint16_t)(place >> 48);
	ret->last_seen_s = (uint32_t)times;
	ret->stable_s = (uint32_t)(times >> 32);
	ret->due_s = (uint32_t)due;
	ret->since_day = (uint16_t)(due >> 32);
	ret->type = (enum item_type)type;
	ret->no_target = small[0] & TYPE_NO_TARGET;
	ret->flags = small[1];
	ret->retry = small[2];
	ret->weight = small[3];
	ret->freq = small[4];
	ret->download_ds = small[5];
	ret->section = small[6];
	ret->hops = (uint8_t)((small[0] & TYPE_HOPS) | small[0] >> TYPE_HOPS_AT);
	return true;
}

int index_item_read(const unsigned char p[INDEX_ITEM], struct index_item *ret, struct err *err)
{
	if (LIKELY(item_take(p, ret)))
		return 0;
	return err_set(err, ERR_DAMAGED, "an index item has the type %u",
		       p[ITEM_TYPE_AT] & (unsigned)TYPE_BITS);
}

bool index_item_has_bucket(const struct index_item *item)
{
	return item->where != ITEM_NOWHERE && !(item->flags & ITEM_CONTRIB) &&
	       item->type != ITEM_QKEY;
}

static void item_print_time(struct buf *out, const char *name, uint32_t s)
{
	if (s == 0)
		return;
	buf_printf(out, " %s ", name);
	time_print(out, s * US_PER_S, 0);
}

void index_item_print(const struct index_item *item, struct buf *out)
{
	static const char letters[] = "IRUEFCW";
	char fp[FOOTPRINT_TEXT];
	buf_printf(out, "%s %-8s ", footprint_print(item->fp, fp), item_type_names[item->type]);
	for (unsigned i = 0; i < sizeof letters - 1; i++)
		buf_add_byte(out, item->flags >> i & 1 ? letters[i] : '-');
	buf_add_byte(out, item->no_target ? 'T' : '-');
	if (item->where == ITEM_NOWHERE)
		buf_add_text(out, " -");
	else
		buf_printf(out, " %" PRIx64, item->where);
	buf_printf(out, " code %u retry %u weight %u freq %u time %u section %u", item->code,
		   item->retry, item->weight, item->freq, item->download_ds, item->section);
	if (item->hops)
		buf_printf(out, " hops %u", item->hops);
	item_print_time(out, "since",
			(uint32_t)MIN(item->since_day * 86400ul, (unsigned long)UINT32_MAX));
	item_print_time(out, "seen", item->last_seen_s);
	item_print_time(out, "stable", item->stable_s);
	item_print_time(out, "due", item->due_s);
}

/* Writing */

struct url_index_writer {
	struct stream_writer out;
	uint32_t salt;
	uint64_t items, blocks, types[INDEX_COUNTS];
	struct footprint last;
	unsigned count;             /* items in the current block */
	unsigned char *block, *own; /* block: own, or where it goes in the stream */
	struct buf fences;
	bool failed;
	struct err err;
};

static void index_put_header(struct url_index_writer *w)
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

static void index_begin_block(struct url_index_writer *w)
{
	char *room = stream_room(&w->out, INDEX_BLOCK);
	w->block = room ? (unsigned char *)room : w->own;
	w->count = 0;
}

int url_index_create(struct url_index_writer **ret, const char *path, struct err *err)
{
	struct url_index_writer *w = mem_alloc(sizeof *w);
	w->own = mem_alloc(INDEX_BLOCK);
	w->fences = BUF_INIT(SIZE_MAX);
	int rc = getrandom(&w->salt, sizeof w->salt, 0) < 0
			 ? err_sys(err, "%s: random bytes for the header", path)
			 : stream_create(&w->out, path, 0644, NULL, err);
	if (rc < 0) {
		mem_free(&w->own);
		mem_free(&w);
		return -1;
	}
	index_put_header(w);
	index_begin_block(w);
	*ret = w;
	return 0;
}

static void index_end_block(struct url_index_writer *w)
{
	unsigned char *foot = w->block + INDEX_BLOCK - INDEX_FOOT;
	size_t used = (size_t)w->count * INDEX_ITEM;
	memset(w->block + used, 0, INDEX_BLOCK - INDEX_FOOT - used);
	item_put_u64(foot, w->blocks++);
	item_put_u64(foot + 8, w->count); /* the checksum stands in its upper half */
	uint64_t crc = crc32c(w->salt, w->block, INDEX_BLOCK - 4);
	item_put_u64(foot + 8, w->count | crc << 32);
	if (w->block == w->own)
		stream_put(&w->out, w->block, INDEX_BLOCK);
	else
		stream_grew(&w->out, INDEX_BLOCK);
	index_begin_block(w);
}

static bool index_item_fits(struct url_index_writer *w, const struct index_item *item)
{
	char fp[FOOTPRINT_TEXT];
	bool after = w->items == 0 || footprint_cmp(w->last, item->fp) < 0;
	if (LIKELY(after && item->type < ITEM_TYPES && item->type != ITEM_TEMPORARY &&
		   item->where <= ITEM_NOWHERE))
		return true;
	footprint_print(item->fp, fp);
	if (!after)
		err_set(&w->err, ERR_USAGE, "the index item %s is not after the one before", fp);
	else
		err_set(&w->err, ERR_USAGE,
			"the index item %s: type %d, place %" PRIu64 " cannot be kept", fp,
			(int)item->type, item->where);
	return false;
}

/* Items were added to the block. */
static void index_count_items(struct url_index_writer *w, unsigned n)
{
	if (w->count == 0)
		buf_add(&w->fences, w->block, FOOTPRINT_KEY);
	w->items += n;
	w->count += n;
	if (w->count == INDEX_PER_BLOCK)
		index_end_block(w);
}

/* Where the bytes of an item go; NULL: it cannot be put. */
static unsigned char *index_item_room(struct url_index_writer *w, const struct index_item *item)
{
	if (w->failed)
		return NULL;
	if (!index_item_fits(w, item)) {
		w->failed = true;
		return NULL;
	}
	w->last = item->fp;
	w->types[index_item_counts_as(item)]++;
	return w->block + (size_t)w->count * INDEX_ITEM;
}

void url_index_put(struct url_index_writer *w, const struct index_item *item)
{
	unsigned char *room = index_item_room(w, item);
	if (!room)
		return;
	index_item_write(item, room);
	index_count_items(w, 1);
}

static void index_put_end(struct url_index_writer *w)
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
			index_end_block(w);
		index_put_end(w);
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
	mem_free(&w->own);
	buf_free(&w->fences);
	mem_free(pw);
}

/* Reading */

struct url_index {
	struct file file;
	uint32_t salt;
	uint64_t items, blocks, types[INDEX_COUNTS];
	char *fences; /* FOOTPRINT_KEY bytes each */
};

static int index_damaged(const struct url_index *x, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s; recovery builds it again", x->file.path, what);
}

/* Exactly n bytes. */
static int index_read_all(const struct url_index *x, void *p, size_t n, uint64_t at,
			  struct err *err)
{
	size_t got;
	if (file_read(&x->file, p, n, at, &got, err) < 0)
		return -1;
	return got == n ? 0 : index_damaged(x, "it is cut", err);
}

static int index_read_header(struct url_index *x, struct err *err)
{
	char h[INDEX_HEADER_USED];
	if (index_read_all(x, h, sizeof h, 0, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){h, sizeof h});
	bool ours = str_is(reader_bytes(&r, FORMAT_MAGIC), INDEX_MAGIC);
	uint32_t version = reader_u32le(&r), block = reader_u32le(&r), item = reader_u32le(&r);
	x->salt = reader_u32le(&r);
	reader_skip(&r, 4);
	if (!ours || reader_u32le(&r) != crc32c(0, h, sizeof h - 4))
		return index_damaged(x, "it does not begin as an index does", err);
	if (version != INDEX_VERSION || block != INDEX_BLOCK || item != INDEX_ITEM)
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 " with items of %" PRIu32
			       " bytes, this program knows version %d with %d",
			       x->file.path, version, item, INDEX_VERSION, INDEX_ITEM);
	return 0;
}

static uint64_t index_blocks_of(uint64_t items)
{
	return (items + INDEX_PER_BLOCK - 1) / INDEX_PER_BLOCK;
}

/* *ret_crc: of the fences */
static int index_read_end(struct url_index *x, uint64_t size, uint32_t *ret_crc, struct err *err)
{
	char end[INDEX_END];
	if (size < INDEX_HEADER + INDEX_END)
		return index_damaged(x, "it is cut", err);
	if (index_read_all(x, end, sizeof end, size - INDEX_END, err) < 0)
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
		return index_damaged(x, "it does not end as an index does", err);
	if (x->blocks != index_blocks_of(x->items) || x->blocks > size / INDEX_BLOCK ||
	    size != INDEX_HEADER + x->blocks * (INDEX_BLOCK + FOOTPRINT_KEY) + INDEX_END)
		return index_damaged(x, "its length does not fit its end", err);
	return 0;
}

static int index_read_fences(struct url_index *x, uint32_t crc, struct err *err)
{
	size_t n = (size_t)x->blocks * FOOTPRINT_KEY;
	x->fences = mem_resize(NULL, n + 1);
	if (index_read_all(x, x->fences, n, INDEX_HEADER + x->blocks * INDEX_BLOCK, err) < 0)
		return -1;
	return crc32c(x->salt, x->fences, n) == crc
		       ? 0
		       : index_damaged(x, "its fences are damaged", err);
}

static int index_load(struct url_index *x, struct err *err)
{
	uint64_t size;
	uint32_t crc = 0;
	return file_size(&x->file, &size, err) < 0 || index_read_header(x, err) < 0 ||
			       index_read_end(x, size, &crc, err) < 0 ||
			       index_read_fences(x, crc, err) < 0
		       ? -1
		       : 0;
}

int url_index_open(struct url_index **ret, const char *path, struct err *err)
{
	struct url_index *x = mem_alloc(sizeof *x);
	x->file = FILE_INIT;
	int rc = file_open(&x->file, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = index_load(x, err);
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

uint64_t url_index_count(const struct url_index *x, enum item_type type)
{
	return x->types[type];
}

static unsigned block_count(const struct url_index *x, uint64_t block)
{
	return (unsigned)MIN(x->items - block * INDEX_PER_BLOCK, (uint64_t)INDEX_PER_BLOCK);
}

static int index_check_block(const struct url_index *x, const char *p, uint64_t block,
			     struct err *err)
{
	struct reader r = reader_of((struct str){p + INDEX_BLOCK - INDEX_FOOT, INDEX_FOOT});
	uint64_t number = reader_u64le(&r);
	uint32_t count = reader_u32le(&r), crc = reader_u32le(&r);
	if (crc == crc32c(x->salt, p, INDEX_BLOCK - 4) && number == block &&
	    count == block_count(x, block))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: block %" PRIu64 " (byte %" PRIu64
		       ") is damaged; recovery builds it again",
		       x->file.path, block, INDEX_HEADER + block * INDEX_BLOCK);
}

/* The last of n keys, `step` bytes apart, that is not after the key; n: all are. */
static uint64_t key_last_up_to(const char *keys, uint64_t n, size_t step, const unsigned char *key)
{
	uint64_t after = BISECT(i, 0, n, memcmp(keys + i * step, key, FOOTPRINT_KEY) <= 0);
	return after ? after - 1 : n;
}

/* Reads and checks a block. */
static int index_read_block(const struct url_index *x, uint64_t block, char ret[INDEX_BLOCK],
			    struct err *err)
{
	if (index_read_all(x, ret, INDEX_BLOCK, INDEX_HEADER + block * INDEX_BLOCK, err) < 0)
		return -1;
	return index_check_block(x, ret, block, err);
}

static int block_item_at(const struct url_index *x, const char *bytes, uint64_t block, uint64_t at,
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
	uint64_t block = key_last_up_to(x->fences, x->blocks, FOOTPRINT_KEY, key);
	if (block == x->blocks)
		return 1;
	if (index_read_block(x, block, bytes, err) < 0)
		return -1;
	unsigned n = block_count(x, block);
	uint64_t at = key_last_up_to(bytes, n, INDEX_ITEM, key);
	if (at == n || memcmp(bytes + at * INDEX_ITEM, key, FOOTPRINT_KEY) != 0)
		return 1;
	return block_item_at(x, bytes, block, at, ret, err);
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
	if (index_read_block(x, block, bytes, err) < 0)
		return -1;
	for (uint64_t at = number % INDEX_PER_BLOCK; at < block_count(x, block); at++) {
		if (block_item_at(x, bytes, block, at, &item, err) < 0)
			return -1;
		if (index_item_has_bucket(&item)) {
			*ret = item;
			return 0;
		}
	}
	return 1;
}

/* Scanning */

/* Fewer blocks than these are read ahead already, or as good as. */
enum { SCAN_FAR = STREAM_SLOTS * STREAM_PIECE / INDEX_BLOCK };

struct url_index_scan {
	const struct url_index *x;
	struct file direct; /* the same file once more; closed: it is read through the page cache */
	struct stream_reader in;
	uint64_t next; /* the block that is read next */
	const char *block;
	unsigned at, n; /* items of the current block */
	unsigned char from[FOOTPRINT_KEY];
	bool skip; /* those before `from`, in the first block */
};

/* Streams from a block on. */
static int scan_open_at(struct url_index_scan *s, uint64_t block, struct err *err)
{
	const struct stream_options options = {.buffered = true};
	const struct file *file = s->direct.fd >= 0 ? &s->direct : &s->x->file;
	s->next = block;
	return stream_open_part(&s->in, file, INDEX_HEADER + block * INDEX_BLOCK,
				(s->x->blocks - block) * INDEX_BLOCK, &options, err);
}

/* A long scan goes past the page cache, as the file was written: a copy of all its bytes is saved,
 * and what others have there stays. Single blocks are found through it, so they have a descriptor
 * of their own. The name may be that of a newer index by now. */
static void scan_go_direct(struct url_index_scan *s)
{
	struct stat ours, there;
	struct err ignored;
	if (s->x->blocks <= SCAN_FAR ||
	    file_open(&s->direct, s->x->file.path, O_RDONLY, 0, &ignored) != 0)
		return;
	if (fstat(s->x->file.fd, &ours) != 0 || fstat(s->direct.fd, &there) != 0 ||
	    ours.st_dev != there.st_dev || ours.st_ino != there.st_ino ||
	    file_direct(&s->direct, true, &ignored) != 0)
		file_drop(&s->direct);
}

/* The block in which a footprint is, if it is there. */
static uint64_t scan_block_of(const struct url_index *x, const unsigned char *key)
{
	uint64_t block = key_last_up_to(x->fences, x->blocks, FOOTPRINT_KEY, key);
	return block == x->blocks ? 0 : block;
}

int url_index_scan(struct url_index_scan **ret, const struct url_index *x, struct footprint from,
		   struct err *err)
{
	struct url_index_scan *s = mem_alloc(sizeof *s);
	s->x = x;
	footprint_key(from, s->from);
	s->skip = true;
	s->direct = FILE_INIT;
	scan_go_direct(s);
	if (scan_open_at(s, scan_block_of(x, s->from), err) < 0) {
		file_drop(&s->direct);
		mem_free(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

/* In the current block, all before `from` is passed over. */
static void scan_skip_items(struct url_index_scan *s)
{
	uint64_t at = key_last_up_to(s->block, s->n, INDEX_ITEM, s->from);
	bool after = at < s->n && memcmp(s->block + at * INDEX_ITEM, s->from, FOOTPRINT_KEY) < 0;
	s->skip = false;
	s->at = at == s->n ? 0 : (unsigned)at + after;
}

static int scan_next_block(struct url_index_scan *s, struct err *err)
{
	struct str bytes;
	if (s->next == s->x->blocks)
		return 1;
	int rc = stream_read(&s->in, INDEX_BLOCK, &bytes, err);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		s->next = s->x->blocks;
		return index_damaged(s->x, "it was cut while it was read", err);
	}
	s->at = s->n = 0;
	if (index_check_block(s->x, bytes.p, s->next++, err) < 0)
		return -1;
	s->block = bytes.p;
	s->n = block_count(s->x, s->next - 1);
	if (s->skip)
		scan_skip_items(s);
	return 0;
}

int url_index_seek(struct url_index_scan *s, struct footprint from, struct err *err)
{
	footprint_key(from, s->from);
	uint64_t block = scan_block_of(s->x, s->from);
	if (block < s->next && s->n) {
		scan_skip_items(s);
		return 0;
	}
	s->at = s->n = 0;
	s->skip = true;
	if (block > s->next + SCAN_FAR) {
		stream_close(&s->in);
		return scan_open_at(s, block, err);
	}
	for (; s->next < block; s->next++) {
		struct str passed;
		int rc = stream_read(&s->in, INDEX_BLOCK, &passed, err);
		if (rc)
			return rc < 0 ? rc
				      : index_damaged(s->x, "it was cut while it was read", err);
	}
	return 0;
}

int url_index_next(struct url_index_scan *s, struct index_item *ret, struct err *err)
{
	while (UNLIKELY(s->at == s->n)) {
		int rc = scan_next_block(s, err);
		if (rc)
			return rc;
	}
	unsigned at = s->at++;
	if (LIKELY(item_take((const unsigned char *)s->block + (size_t)at * INDEX_ITEM, ret)))
		return 0;
	return block_item_at(s->x, s->block, s->next - 1, at, ret, err);
}

void url_index_put_same(struct url_index_writer *w, const struct url_index_scan *s,
			const struct index_item *item)
{
	unsigned char *room = index_item_room(w, item);
	if (!room)
		return;
	memcpy(room, s->block + (size_t)(s->at - 1) * INDEX_ITEM, INDEX_ITEM);
	index_count_items(w, 1);
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
	file_drop(&(*ps)->direct);
	mem_free(ps);
}

/* The output block, and so the run, ends where it is full. */
static unsigned copy_run(struct url_index_scan *s, struct url_index_writer *w,
			 const struct index_still *still, struct footprint before)
{
	const unsigned char *from = (const unsigned char *)s->block + (size_t)s->at * INDEX_ITEM;
	unsigned most = MIN(s->n - s->at, INDEX_PER_BLOCK - w->count), n = 0;
	for (const unsigned char *p = from; n < most; n++, p += INDEX_ITEM) {
		struct footprint fp = footprint_of_key(p);
		unsigned type = p[ITEM_TYPE_AT] & (unsigned)TYPE_BITS;
		if (footprint_cmp(fp, before) >= 0 || type >= ITEM_TYPES ||
		    !(still->types >> type & 1) || p[ITEM_TYPE_AT + 1] & still->flags ||
		    (w->items + n && footprint_cmp(w->last, fp) >= 0))
			break;
		w->last = fp;
		w->types[p[ITEM_TYPE_AT + 1] & ITEM_ROBOTS ? ITEM_QKEY : type]++;
	}
	if (n == 0)
		return 0;
	memcpy(w->block + (size_t)w->count * INDEX_ITEM, from, (size_t)n * INDEX_ITEM);
	s->at += n;
	index_count_items(w, n);
	return n;
}

void url_index_copy(struct url_index_scan *s, struct url_index_writer *w,
		    const struct index_still *still, struct footprint before)
{
	while (!w->failed && copy_run(s, w, still, before))
		;
}

/* For `garner dump` and `garner check`. */

static int index_print(const char *path, struct printer *p, struct err *err)
{
	struct url_index *x = NULL;
	struct url_index_scan *s = NULL;
	struct index_item item;
	int rc = url_index_open(&x, path, err);
	if (rc == 0)
		rc = url_index_scan(&s, x, (struct footprint){0, 0}, err);
	while (rc == 0 && (rc = url_index_next(s, &item, err)) == 0) {
		index_item_print(&item, &p->out);
		buf_add_byte(&p->out, '\n');
		printer_step(p);
	}
	if (rc == 1 && x) {
		buf_printf(&p->out, "%" PRIu64 " URLs in %" PRIu64 " blocks\n", x->items,
			   x->blocks);
		rc = 0;
	}
	url_index_scan_free(&s);
	url_index_close(&x);
	return rc;
}

/* Also that the items are in order and the fences and counts are right. */
static int index_verify_items(const struct url_index *x, struct url_index_scan *s, struct err *err)
{
	uint64_t types[INDEX_COUNTS] = {0};
	struct index_item item, before = {0};
	int rc;
	for (uint64_t i = 0; (rc = url_index_next(s, &item, err)) == 0; i++) {
		unsigned char key[FOOTPRINT_KEY];
		footprint_key(item.fp, key);
		const char *fence = x->fences + i / INDEX_PER_BLOCK * FOOTPRINT_KEY;
		if (i && footprint_cmp(before.fp, item.fp) >= 0)
			return index_damaged(x, "its items are not in order", err);
		if (i % INDEX_PER_BLOCK == 0 && memcmp(fence, key, FOOTPRINT_KEY) != 0)
			return index_damaged(x, "a fence is wrong", err);
		types[index_item_counts_as(&item)]++;
		before = item;
	}
	if (rc == 1 && memcmp(types, x->types, sizeof types) != 0)
		return index_damaged(x, "its counts are wrong", err);
	return rc < 0 ? rc : 0;
}

/* Between the header and the first block, which begins at a page, there is nothing. */
static int index_verify_gap(const struct url_index *x, struct err *err)
{
	char gap[INDEX_HEADER];
	if (index_read_all(x, gap, sizeof gap, 0, err) < 0)
		return -1;
	for (size_t i = INDEX_HEADER_USED; i < sizeof gap; i++)
		if (gap[i])
			return index_damaged(x, "something stands after its header", err);
	return 0;
}

static int index_verify(const char *path, struct err *err)
{
	struct url_index *x = NULL;
	struct url_index_scan *s = NULL;
	int rc = url_index_open(&x, path, err);
	if (rc == 0)
		rc = index_verify_gap(x, err);
	if (rc == 0)
		rc = url_index_scan(&s, x, (struct footprint){0, 0}, err);
	if (rc == 0)
		rc = index_verify_items(x, s, err);
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
	.remedy = STATE_REMEDY,
	.print = index_print,
	.verify = index_verify,
};
