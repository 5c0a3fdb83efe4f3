/* Lists with their length at the end. A length at the beginning would have to be written there when
 * all the rest is, and record files only grow. */
#include "state/counted.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int counted_create(struct counted_writer *ret, const char *path, const struct record_kind *kind,
		   struct err *err)
{
	*ret = (struct counted_writer){.packed = BUF_INIT(kind->most)};
	if (file_remove(path, err) < 0)
		return -1;
	return record_open(&ret->w, path, kind, 0644, NULL, err);
}

int counted_put(struct counted_writer *w, struct err *err)
{
	if (w->packed.n == 0)
		return 0;
	int rc = record_append(w->w, buf_str(&w->packed), &w->group, NULL, err);
	buf_clear(&w->packed);
	return rc;
}

int counted_finish(struct counted_writer *w, struct err *err)
{
	int rc = counted_put(w, err);
	put_u8(&w->packed, COUNTED_END);
	put_varint(&w->packed, w->n);
	if (rc == 0)
		rc = counted_put(w, err);
	if (rc == 0)
		rc = record_sync(w->w, &w->group, err);
	if (rc == 0)
		rc = record_close(&w->w, err);
	counted_drop(w);
	return rc;
}

void counted_drop(struct counted_writer *w)
{
	record_drop(&w->w);
	buf_free(&w->packed);
}

int counted_open(struct counted_reader *ret, const char *path, const struct record_kind *kind,
		 struct err *err)
{
	*ret = (struct counted_reader){0};
	int rc = record_reader_open(&ret->in, path, kind, err);
	if (rc == 0)
		ret->path = mem_text(path);
	return rc;
}

void counted_close(struct counted_reader *c)
{
	record_reader_free(&c->in);
	mem_free(&c->path);
}

int counted_damaged(struct counted_reader *c, struct err *err, const char *fmt, ...)
{
	char what[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	c->done = true;
	c->r = reader_of(STR(""));
	return err_set(err, ERR_DAMAGED, "%s: record at %" PRIu64 ": %s", c->path,
		       c->record.place.at, what);
}

int counted_next(struct counted_reader *c, uint8_t *ret_tag, struct err *err)
{
	c->r = reader_of(STR(""));
	int rc = c->done ? 1 : record_next(c->in, &c->record, err);
	if (rc == 1 && !c->done)
		rc = err_set(err, ERR_DAMAGED, "%s: the end is missing", c->path);
	c->done |= rc != 0;
	if (rc)
		return rc;
	c->r = reader_of(c->record.payload);
	*ret_tag = reader_u8(&c->r);
	if (*ret_tag != COUNTED_END)
		return 0;
	if (reader_varint(&c->r) != c->n || c->r.bad || reader_left(&c->r))
		return counted_damaged(c, err, "entries are missing");
	c->done = true;
	rc = record_next(c->in, &c->record, err);
	return rc == 0 ? counted_damaged(c, err, "it comes after the end") : rc;
}

int counted_print_end(struct reader *r, const char *what, struct buf *out, struct err *err)
{
	buf_printf(out, "end, %" PRIu64 " %s", reader_varint(r), what);
	return r->bad || reader_left(r) ? err_set(err, ERR_DAMAGED, "a wrong end") : 0;
}
