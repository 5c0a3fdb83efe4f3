#include "state/entries.h"

#include <inttypes.h>

enum { LINE_MOST = 1 << 20 };

static void print_one(void *ctx, const struct record *record, struct buf *out)
{
	entry_print_fn *const *fn = ctx;
	struct buf line = BUF_INIT(LINE_MOST);
	struct err err;
	if ((*fn)(record->payload, &line, &err) == 0)
		buf_add_str(out, buf_str(&line));
	else
		buf_printf(out, "damaged: %s", err.msg);
	buf_free(&line);
}

int entries_print(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		  void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	return record_print(path, kind, print_one, (void *)&fn, emit, ctx, err);
}

int entries_verify(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		   struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct buf line = BUF_INIT(LINE_MOST);
	int rc = record_reader_open(&r, path, kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		buf_clear(&line);
		rc = fn(record.payload, &line, err);
		if (rc < 0)
			err_in(err, "%s: record at %" PRIu64, path, record.place.at);
	}
	record_reader_free(&r);
	buf_free(&line);
	return rc < 0 ? rc : 0;
}
