/* Files of parts: the head, the foot, and parts as they are asked for. */
#include "index/words/parts.h"

#include "disk/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays of numbers are read in place");

int parts_damaged(const struct part_file *f, struct err *err, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return err_set(err, ERR_DAMAGED, "%s: %s; the index has to be built again", f->path, what);
}

int parts_bytes(const struct part_file *f, unsigned part, uint64_t from, uint64_t n,
		const uint8_t **ret, struct err *err)
{
	struct str bytes;
	const struct parts_place *place = &f->part[part];
	if (UNLIKELY(from > place->n || n > place->n - from))
		return parts_damaged(f, err,
				     "%" PRIu64 " bytes at %" PRIu64 " of part %u, which has "
				     "%" PRIu64,
				     n, from, part, place->n);
	if (page_get(f->file, place->at + from, (size_t)n, &bytes, err) < 0)
		return -1;
	*ret = (const uint8_t *)bytes.p;
	return 0;
}

int parts_whole_slowly(struct part_file *f, unsigned part, const uint8_t **ret, struct err *err)
{
	if (parts_bytes(f, part, 0, f->part[part].n, ret, err) < 0)
		return -1;
	atomic_store_explicit(&f->ready[part], *ret, memory_order_release);
	return 0;
}

int parts_open(struct part_file *f, const char *path, const struct parts_kind *kind,
	       struct reader *ret_foot, struct err *err)
{
	struct str head, tail;
	f->path = mem_text(path);
	int rc = page_open(&f->file, path, err);
	if (rc != 0)
		return rc;
	uint64_t bytes = page_bytes(f->file);
	if (bytes < PARTS_HEAD + kind->foot)
		return parts_damaged(f, err, "it is too short for %s", kind->what);
	uint64_t end = bytes - kind->foot;
	if (page_get(f->file, 0, PARTS_HEAD, &head, err) < 0 ||
	    page_get(f->file, end, kind->foot, &tail, err) < 0)
		return -1;
	struct reader h = reader_of(head), r = reader_of(tail);
	if (!str_is(reader_bytes(&h, FORMAT_MAGIC), kind->magic))
		return parts_damaged(f, err, "it is not %s", kind->what);
	uint32_t version = reader_u32le(&h);
	if (version != kind->version)
		return parts_damaged(f, err,
				     "version %" PRIu32 ", this program knows version %" PRIu32,
				     version, kind->version);
	for (unsigned i = 0; i < kind->parts; i++) {
		struct parts_place *place = &f->part[i];
		place->at = reader_u64le(&r);
		place->n = reader_u64le(&r);
		if (place->at > end || place->n > end - place->at)
			return parts_damaged(f, err, "part %u is not inside it", i);
	}
	*ret_foot = r;
	return 0;
}

void parts_close(struct part_file *f)
{
	page_close(&f->file);
	mem_free(&f->path);
}

void parts_put_head(const struct parts_kind *kind, struct page_writer *out)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(PARTS_HEAD);
	buf_add(&head, kind->magic, FORMAT_MAGIC);
	put_u32le(&head, kind->version);
	put_u32le(&head, 0);
	page_put(out, head.p, head.n);
}

void parts_put_places(const struct parts_kind *kind, const struct parts_place *place,
		      struct buf *foot)
{
	for (unsigned i = 0; i < kind->parts; i++) {
		put_u64le(foot, place[i].at);
		put_u64le(foot, place[i].n);
	}
}
