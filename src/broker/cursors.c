/* The file of cursors: small, checksummed, replaced as a whole. */
#include "broker/cursors.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 1, MOST = 16 << 10 };

int cursors_load(struct cursors *ret, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(MOST);
	struct cursors got = {0};
	int rc = file_slurp(path, &bytes, err);
	if (rc < 0)
		return -1;
	if (rc > 0) {
		*ret = got;
		return 0;
	}
	struct str all = buf_str(&bytes);
	size_t body = all.n < 8 ? 0 : all.n - 8;
	struct reader r = reader_of(str_head(all, body)), sum = reader_of(str_from(all, body));
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (r.bad || !str_is(magic, cursors_format.magic) || version != VERSION ||
	    reader_u64le(&sum) != hash64(str_head(all, body)))
		return err_set(err, ERR_DAMAGED, "%s: not a file of cursors, or damaged", path);
	while (reader_left(&r) && !r.bad && got.n < CURSOR_FEEDS) {
		struct str name = reader_text(&r, CURSOR_NAME);
		struct str at = reader_bytes(&r, sizeof got.feed[0].at.b);
		if (r.bad)
			break;
		snprintf(got.feed[got.n].name, sizeof got.feed[0].name, STR_FMT, STR_ARG(name));
		memcpy(got.feed[got.n++].at.b, at.p, at.n);
	}
	if (r.bad || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "%s: byte %zu: no cursor", path, reader_at(&r));
	*ret = got;
	return 0;
}

int cursors_save(const struct cursors *c, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(MOST);
	buf_add(&bytes, cursors_format.magic, FORMAT_MAGIC);
	put_u32le(&bytes, VERSION);
	for (size_t i = 0; i < c->n; i++) {
		put_text(&bytes, str_of(c->feed[i].name));
		buf_add(&bytes, c->feed[i].at.b, sizeof c->feed[i].at.b);
	}
	put_u64le(&bytes, hash64(buf_str(&bytes)));
	return file_replace(path, buf_str(&bytes), 0644, err);
}

struct source_cursor *cursors_of(struct cursors *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->feed[i].name, name) == 0)
			return &c->feed[i].at;
	if (c->n == CURSOR_FEEDS || strlen(name) > CURSOR_NAME)
		return NULL;
	snprintf(c->feed[c->n].name, sizeof c->feed[0].name, "%s", name);
	return &c->feed[c->n++].at;
}

static int cursors_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
			 struct err *err)
{
	struct cursors c;
	if (cursors_load(&c, path, err) < 0)
		return -1;
	for (size_t i = 0; i < c.n; i++) {
		CLEANUP(buf_free) struct buf line = BUF_INIT(1024);
		for (size_t k = 0; k < sizeof c.feed[i].at.b; k++)
			buf_printf(&line, "%02x", c.feed[i].at.b[k]);
		buf_printf(&line, " %s\n", c.feed[i].name);
		emit(ctx, buf_str(&line));
	}
	return 0;
}

static int cursors_verify(const char *path, struct err *err)
{
	struct cursors c;
	return cursors_load(&c, path, err);
}

const struct format cursors_format = {
	.name = "cursors",
	.magic = "GARNERCU",
	.version = VERSION,
	.help = "how far the collector has come with each feed",
	.print = cursors_print,
	.verify = cursors_verify,
};
