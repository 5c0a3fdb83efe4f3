/* Directories that went away: paged files, each with those of one commit, or of several that were
 * put together. Snapshots keep them open, since the next commit may remove them. */
#include "base/cursor.h"
#include "index/names/names_store.h"

enum { GONE_URL_MOST = 64 << 10, GONE_PART_LEAST = 16 };

int names_gone_write(const char *path, const struct names_gone_part *part, size_t n,
		     struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(NAMES_GONE_BYTES_MOST);
	struct page_writer w;
	buf_add(&b, names_gone_format.magic, FORMAT_MAGIC);
	put_u32le(&b, names_gone_format.version);
	put_varint(&b, n);
	for (size_t i = 0; i < n; i++) {
		put_text(&b, part[i].key);
		put_text(&b, part[i].url);
		put_varint(&b, part[i].generation);
		put_u64le(&b, (uint64_t)part[i].time_s);
		put_varint(&b, part[i].n);
		put_text(&b, part[i].dirs);
	}
	if (b.over)
		return err_set(err, ERR_USAGE, "%s: too many directories went away", path);
	if (page_create(&w, path, 0644, &(struct stream_options){.buffered = true}, err) < 0)
		return -1;
	page_put(&w, b.p, b.n);
	return page_finish(&w, true, err);
}

static bool get_part(struct reader *r, struct names_gone_part *p)
{
	p->key = reader_text(r, NAMES_KEY_MOST);
	p->url = reader_text(r, GONE_URL_MOST);
	p->generation = reader_varint(r);
	p->time_s = (int64_t)reader_u64le(r);
	p->n = reader_varint(r);
	p->dirs = reader_text(r, NAMES_GONE_BYTES_MOST);
	return !r->bad && p->n <= p->dirs.n;
}

static bool get_parts(struct reader *r, struct names_gone *g)
{
	uint64_t n = reader_varint(r);
	if (r->bad || n > reader_left(r) / GONE_PART_LEAST)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!get_part(r, VEC_PUSH(g->part, g->n, g->room)))
			return false;
	return reader_left(r) == 0;
}

int names_gone_next(struct str *rest, struct names_gone_dir *ret, struct err *err)
{
	struct reader r = reader_of(*rest);
	if (rest->n == 0)
		return 1;
	ret->dir = reader_text(&r, NAMES_NAME_MOST);
	ret->left = reader_varint(&r);
	ret->was = reader_varint(&r);
	if (r.bad)
		return err_set(err, ERR_DAMAGED, "malformed record of a removed directory");
	*rest = str_from(*rest, reader_at(&r));
	return 0;
}

static int parts_verify(const struct names_gone *g, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		struct str rest = g->part[i].dirs;
		struct names_gone_dir dir;
		uint64_t n = 0;
		int rc;
		while ((rc = names_gone_next(&rest, &dir, err)) == 0)
			n++;
		if (rc < 0)
			return -1;
		if (n != g->part[i].n)
			return err_set(err, ERR_DAMAGED, "not as many directories as it says");
	}
	return 0;
}

int names_gone_parse(struct page_file *f, struct names_gone *ret, struct err *err)
{
	struct names_gone g = {0};
	struct str s;
	if (page_bytes(f) > NAMES_GONE_BYTES_MOST)
		return err_set(err, ERR_DAMAGED, "it is too long");
	if (page_get(f, 0, (size_t)page_bytes(f), &s, err) < 0)
		return -1;
	struct reader r = reader_of(s);
	bool good = str_is(reader_bytes(&r, FORMAT_MAGIC), names_gone_format.magic) &&
		    reader_u32le(&r) == names_gone_format.version && get_parts(&r, &g);
	if (!good)
		(void)err_set(err, ERR_DAMAGED, "it contradicts itself");
	if (!good || parts_verify(&g, err) < 0) {
		names_gone_free(&g);
		return -1;
	}
	*ret = g;
	return 0;
}

void names_gone_free(struct names_gone *g)
{
	mem_free(&g->part);
	g->n = g->room = 0;
}
