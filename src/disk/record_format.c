#include "base/file.h"
#include "disk/record.h"

#include <fcntl.h>
#include <inttypes.h>

enum { PIECE = 64 << 10, SHOWN = 256 };

const struct record_kind record_plain = {.magic = "GARNERRC", .version = 1, .most = RECORD_MOST};

struct printer {
	struct buf out;
	void (*emit)(void *ctx, struct str);
	void *ctx;
	uint64_t count;
};

static void hand_over(struct printer *p, size_t more_than)
{
	if (p->out.n > more_than) {
		p->emit(p->ctx, buf_str(&p->out));
		buf_clear(&p->out);
	}
}

/* What can be seen as it is, all else as \xNN. */
static void print_bytes(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= ' ' && c < 0x7f && c != '\\')
			buf_add_byte(out, (char)c);
		else
			buf_printf(out, "\\x%02x", c);
	}
}

static void print_plain(void *ctx, const struct record *record, struct buf *out)
{
	(void)ctx;
	print_bytes(out, str_head(record->payload, SHOWN));
	if (record->payload.n > SHOWN)
		buf_add_text(out, "...");
}

static int open_for(const char *path, const struct record_kind *kind, struct record_reader **ret,
		    struct err *err)
{
	int rc = record_reader_open(ret, path, kind, err);
	return rc > 0 ? err_set(err, ERR_USAGE, "%s: there is no record file, or nothing in it yet",
				path)
		      : rc;
}

static int print_all(struct record_reader *r, struct printer *p, record_print_fn *payload,
		     void *payload_ctx, struct err *err)
{
	struct record record;
	int rc;
	while ((rc = record_next(r, &record, err)) == 0) {
		buf_printf(&p->out, "%" PRIu64 " %zu ", record.place.at, record.payload.n);
		payload(payload_ctx, &record, &p->out);
		buf_add_byte(&p->out, '\n');
		p->count++;
		hand_over(p, PIECE);
	}
	return rc;
}

static int print_end(const char *path, struct printer *p, uint64_t end, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: was removed while it was read", path);
	if (rc < 0 || file_size(&f, &size, err) < 0)
		return -1;
	buf_printf(&p->out, "%" PRIu64 " records in %" PRIu64 " bytes", p->count, end);
	if (size > end)
		buf_printf(&p->out, ", then %" PRIu64 " bytes that are not complete", size - end);
	buf_add_byte(&p->out, '\n');
	return 0;
}

int record_print(const char *path, const struct record_kind *kind, record_print_fn *payload,
		 void *payload_ctx, void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	struct record_reader *r = NULL;
	struct printer p = {BUF_INIT((size_t)8 * RECORD_MOST), emit, ctx, 0};
	if (open_for(path, kind, &r, err) < 0)
		return -1;
	int rc = print_all(r, &p, payload ? payload : print_plain, payload_ctx, err);
	if (rc == 1)
		rc = print_end(path, &p, record_tell(r), err);
	hand_over(&p, 0);
	buf_free(&p.out);
	record_reader_free(&r);
	return rc;
}

int record_verify(const char *path, const struct record_kind *kind, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc;
	if (open_for(path, kind, &r, err) < 0)
		return -1;
	do
		rc = record_next(r, &record, err);
	while (rc == 0);
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

static int print(const char *path, void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	return record_print(path, &record_plain, NULL, NULL, emit, ctx, err);
}

static int verify(const char *path, struct err *err)
{
	return record_verify(path, &record_plain, err);
}

const struct format record_format = {
	.name = "record",
	.magic = "GARNERRC",
	.version = 1,
	.help = "whole records one after the other, of no particular kind",
	.print = print,
	.verify = verify,
};
