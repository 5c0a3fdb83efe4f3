/* The pages file of a site's parts: a paged file with the checksums of their pages, the places of
 * some of their lines, and the generations in which directories changed. What it says is read in
 * place; only its head is looked at when it is opened. */
#include "base/cursor.h"
#include "index/names/names_store.h"

#include <inttypes.h>

enum { PAGES_VERSION = 1, PAGES_BY_HAND = 1, PAGES_CRC = 4, PAGES_URL_MOST = 64 << 10 };

static uint64_t places_of(uint64_t lines, unsigned every)
{
	return (lines + every - 1) / every;
}

static uint64_t froms_of(uint64_t places)
{
	return (places + NAMES_FROM_EVERY - 1) / NAMES_FROM_EVERY;
}

/* Writing */

static void put_head(struct buf *b, const struct names_pages_content *c)
{
	const struct names_about *a = &c->about;
	buf_add(b, names_pages_format.magic, FORMAT_MAGIC);
	put_u32le(b, PAGES_VERSION);
	put_u32le(b, a->by_hand ? PAGES_BY_HAND : 0);
	put_u64le(b, a->generation);
	put_u64le(b, a->entries);
	put_u64le(b, a->dirs);
	put_u64le(b, (uint64_t)a->listed_s);
	put_u64le(b, (uint64_t)a->built_s);
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		put_u64le(b, c->bytes[i]);
	put_text(b, a->key);
	put_text(b, a->url);
}

/* 256 lines of which the places are known have less than 4 GiB between them. */
void names_places_put(const struct names_places *p, struct buf *b)
{
	for (size_t i = 0; i < p->n; i += NAMES_FROM_EVERY)
		put_u64le(b, p->at[i]);
	for (size_t i = 0; i < p->n; i++)
		put_u32le(b, (uint32_t)(p->at[i] - p->at[i - i % NAMES_FROM_EVERY]));
}

int names_pages_write(const char *path, const struct names_pages_content *c, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(SIZE_MAX / 2);
	struct page_writer w;
	put_head(&b, c);
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		buf_add_str(&b, c->table[i]);
	names_places_put(c->index, &b);
	names_places_put(c->direc, &b);
	for (size_t i = 0; i < c->runs->n; i++) {
		put_varint(&b, c->runs->run[i].n);
		put_varint(&b, c->about.generation - c->runs->run[i].generation);
	}
	if (page_create(&w, path, 0644, &(struct stream_options){.buffered = true}, err) < 0)
		return -1;
	page_put(&w, b.p, b.n);
	return page_finish(&w, true, err);
}

/* Reading */

static int pages_damaged(const char *path, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s", path, what);
}

static int head_read(struct names_pages *p, const char *path, struct str s, size_t *ret_n,
		     struct err *err)
{
	struct reader r = reader_of(s);
	struct names_about *a = &p->about;
	if (!str_is(reader_bytes(&r, FORMAT_MAGIC), names_pages_format.magic))
		return pages_damaged(path, "it is not a pages file", err);
	uint32_t version = reader_u32le(&r);
	if (!r.bad && version != PAGES_VERSION)
		return err_set(err, ERR_DAMAGED, "%s: version %" PRIu32 ", not %d", path, version,
			       PAGES_VERSION);
	a->by_hand = reader_u32le(&r) & PAGES_BY_HAND;
	a->generation = reader_u64le(&r);
	a->entries = reader_u64le(&r);
	a->dirs = reader_u64le(&r);
	a->listed_s = (int64_t)reader_u64le(&r);
	a->built_s = (int64_t)reader_u64le(&r);
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		p->bytes[i] = reader_u64le(&r);
	a->key = reader_text(&r, NAMES_KEY_MOST);
	a->url = reader_text(&r, PAGES_URL_MOST);
	if (r.bad || a->entries > NAMES_ENTRIES_MOST || a->dirs > NAMES_DIRS_MOST ||
	    p->bytes[NAMES_DATA] != a->entries * NAMES_LINE_BYTES ||
	    p->bytes[NAMES_INDEX] != p->bytes[NAMES_NOCASE])
		return pages_damaged(path, "it contradicts itself", err);
	*ret_n = reader_at(&r);
	return 0;
}

/* The next n bytes of the file. */
static int take_bytes(struct names_pages *p, uint64_t *at, uint64_t n, struct str *ret,
		      struct err *err)
{
	if (n > page_bytes(p->file))
		return err_set(err, ERR_DAMAGED, "a pages file: %" PRIu64 " bytes are missing", n);
	int rc = page_get(p->file, *at, (size_t)n, ret, err);
	*at += n;
	return rc;
}

static int take_parts(struct names_pages *p, uint64_t at, struct err *err)
{
	uint64_t index = places_of(p->about.entries, NAMES_INDEX_EVERY);
	uint64_t direc = places_of(p->about.dirs, NAMES_DIREC_EVERY);
	int rc = 0;
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++)
		rc = take_bytes(p, &at, page_count(p->bytes[i]) * PAGES_CRC, &p->table[i], err);
	if (rc < 0 || take_bytes(p, &at, froms_of(index) * 8, &p->index_from, err) < 0 ||
	    take_bytes(p, &at, index * 4, &p->index_at, err) < 0 ||
	    take_bytes(p, &at, froms_of(direc) * 8, &p->direc_from, err) < 0 ||
	    take_bytes(p, &at, direc * 4, &p->direc_at, err) < 0)
		return -1;
	return take_bytes(p, &at, page_bytes(p->file) - at, &p->runs, err);
}

static int pages_load(struct names_pages *p, const char *path, struct err *err)
{
	struct str head;
	size_t at = 0;
	size_t most = 128 + NAMES_KEY_MOST + PAGES_URL_MOST;
	if (page_get(p->file, 0, (size_t)MIN(page_bytes(p->file), most), &head, err) < 0 ||
	    head_read(p, path, head, &at, err) < 0)
		return -1;
	return take_parts(p, at, err);
}

int names_pages_open(struct names_pages *ret, const char *path, struct err *err)
{
	struct names_pages p = {0};
	int rc = page_open(&p.file, path, err);
	if (rc != 0)
		return rc;
	if (pages_load(&p, path, err) < 0) {
		page_close(&p.file);
		return -1;
	}
	*ret = p;
	return 0;
}

void names_pages_close(struct names_pages *p)
{
	page_close(&p->file);
}

int names_pages_next_run(struct str *rest, uint64_t generation, struct names_dir_run *ret,
			 struct err *err)
{
	struct reader r = reader_of(*rest);
	if (rest->n == 0)
		return 1;
	uint64_t n = reader_varint(&r), older = reader_varint(&r);
	if (r.bad || n == 0 || n > NAMES_DIRS_MOST || older >= generation)
		return err_set(err, ERR_DAMAGED, "runs of directories that cannot be");
	*ret = (struct names_dir_run){n, generation - older};
	*rest = str_from(*rest, reader_at(&r));
	return 0;
}

uint64_t names_place_at(struct str from, struct str at, uint64_t i)
{
	uint64_t base;
	uint32_t more;
	memcpy(&base, from.p + i / NAMES_FROM_EVERY * sizeof base, sizeof base);
	memcpy(&more, at.p + i * sizeof more, sizeof more);
	return le64toh(base) + le32toh(more);
}
