/* Formats: which of them a file is, and printing and verifying of the two common layouts, record
 * files and small files, by what the format says of their payloads. */
#include "disk/format.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/record.h"
#include "disk/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	PRINT_PIECE = 64 << 10, /* bytes handed over at a time */
	PRINT_BYTES = 256,      /* shown of a payload that nobody explains */
	SHOW_MOST = 1 << 20,    /* text that explains one payload */
};

static const struct format *format_by_head(const struct format *const *table, size_t n,
					   struct str head)
{
	struct str magic = str_head(head, FORMAT_MAGIC);
	for (size_t i = 0; i < n; i++)
		if (table[i]->claims ? table[i]->claims(head) : str_is(magic, table[i]->magic))
			return table[i];
	return NULL;
}

/* The last parts of a path, as many as the pattern has. */
static const char *path_end_like(const char *path, const char *pattern)
{
	const char *end = path + strlen(path), *at = end;
	size_t parts = 1;
	for (const char *p = pattern; *p; p++)
		parts += *p == '/';
	while (at > path && parts) {
		at--;
		parts -= *at == '/';
	}
	return *at == '/' ? at + 1 : at;
}

static const struct format *format_by_name(const struct format *const *table, size_t n,
					   const char *path)
{
	char full[PATH_MAX];
	if (!realpath(path, full))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *file = table[i]->file;
		if (file && fnmatch(file, path_end_like(full, file), FNM_PATHNAME) == 0)
			return table[i];
	}
	return NULL;
}

static const struct format *format_by_place(const struct format *const *table, size_t n,
					    const char *path)
{
	char full[PATH_MAX];
	if (!realpath(path, full))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (table[i]->placed && table[i]->placed(full))
			return table[i];
	return NULL;
}

int format_of(const struct format *const *table, size_t n, const char *path,
	      const struct format **ret, struct err *err)
{
	CLEANUP(file_drop) struct file file = FILE_INIT;
	char head[FORMAT_MAGIC + sizeof(uint32_t)];
	size_t got;
	/* O_NONBLOCK: a FIFO that somebody put there does not hold us. */
	int rc = file_open(&file, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc > 0) {
		err_set(err, ERR_USAGE, "%s: there is no such file", path);
		err->sys_errno = ENOENT;
		return -1;
	}
	if (rc == 0 && file_read(&file, head, sizeof head, 0, &got, err) < 0)
		rc = err->sys_errno == EISDIR
			     ? err_set(err, ERR_USAGE, "%s: is a directory; name a file", path)
			     : -1;
	if (rc < 0)
		return -1;
	struct reader r = reader_of((struct str){head, got});
	const struct format *f = format_by_place(table, n, path);
	bool told = f;
	if (!f)
		f = format_by_head(table, n, (struct str){head, got});
	if (!f)
		told = (f = format_by_name(table, n, path));
	if (!f)
		return 1;
	if (told || f->claims) {
		*ret = f;
		return 0;
	}
	reader_skip(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (!r.bad && version != f->version)
		return err_set(err, ERR_DAMAGED,
			       "%s: %s file in version %u; this program knows version %u: another "
			       "one wrote it, or it is damaged",
			       path, f->name, version, f->version);
	*ret = f;
	return r.bad ? err_set(err, ERR_DAMAGED, "%s: %s file cut off after %zu bytes", path,
			       f->name, got)
		     : 0;
}

void format_put_bytes(struct str s, struct buf *out)
{
	for (size_t i = 0; i < MIN(s.n, (size_t)PRINT_BYTES); i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= ' ' && c < 0x7f && c != '\\')
			buf_add_byte(out, (char)c);
		else
			buf_printf(out, "\\x%02x", c);
	}
	if (s.n > PRINT_BYTES)
		buf_add_text(out, "...");
}

/* Lines of a small file have a field each, of one that lists many an entry each; records have a
 * line each. */
static int payload_print(const struct format *f, struct str payload, struct buf *out,
			 struct err *err)
{
	bool one = !f->records && f->fields && !f->fields->many;
	if (f->show)
		return f->show(payload, out, err);
	if (f->fields)
		return rows_dump(f->fields, payload, one ? "\n" : " ", f->records ? "\n  " : "\n",
				 out, err);
	format_put_bytes(payload, out);
	return 0;
}

/* Printers */

static void printer_hand_over(struct printer *p)
{
	p->emit(p->ctx, buf_str(&p->out));
	buf_clear(&p->out);
}

void printer_step(struct printer *p)
{
	if (p->out.n > PRINT_PIECE)
		printer_hand_over(p);
}

/* Small files */

/* The text of one, when it is sound in all its parts. */
static int small_print(const struct format *f, const char *path, struct buf *out, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(RECORD_MOST);
	struct str payload;
	int rc = small_file_read(path, f, &room, &payload, err);
	if (rc != 0)
		return rc;
	if (payload_print(f, payload, out, err) < 0) {
		buf_clear(out);
		return err_in(err, "%s", path);
	}
	buf_add_byte(out, '\n');
	return 0;
}

/* Record files */

static void records_print_one(const struct format *f, const struct record *record,
			      struct printer *p)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SHOW_MOST);
	struct err bad;
	buf_printf(&p->out, "%" PRIu64 " %zu ", record->place.at, record->payload.n);
	if (payload_print(f, record->payload, &text, &bad) < 0)
		buf_printf(&p->out, "damaged: %s\n", bad.msg);
	else
		buf_printf(&p->out, STR_FMT "\n", STR_ARG(buf_str(&text)));
	printer_step(p);
}

static int records_print_end(const char *path, struct printer *p, uint64_t count, uint64_t end,
			     struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: was removed while it was read", path);
	if (rc < 0 || file_size(&f, &size, err) < 0)
		return -1;
	buf_printf(&p->out, "%" PRIu64 " records in %" PRIu64 " bytes", count, end);
	if (size > end)
		buf_printf(&p->out, ", then %" PRIu64 " bytes that are not complete", size - end);
	buf_add_byte(&p->out, '\n');
	return 0;
}

static int records_print(const struct format *f, const char *path, struct printer *p,
			 struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	uint64_t count = 0;
	int rc = record_reader_open(&r, path, f->records, err);
	if (rc != 0)
		return rc;
	for (; (rc = record_next(r, &record, err)) == 0; count++)
		records_print_one(f, &record, p);
	if (rc == 1)
		rc = records_print_end(path, p, count, record_tell(r), err);
	record_reader_free(&r);
	return rc;
}

/* All frames and all payloads; *ret: where the first frame is that is not complete. */
static int records_read_all(const struct format *f, const char *path, uint64_t *ret,
			    struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SHOW_MOST);
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, f->records, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		buf_clear(&text);
		if (payload_print(f, record.payload, &text, err) < 0)
			rc = err_in(err, "%s: record at %" PRIu64, path, record.place.at);
	}
	*ret = r ? record_tell(r) : 0;
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

/* A file that ends as a killed writer may leave it is noted; it is damaged where it is known that
 * more was there, or that it was closed. */
static int records_judge_end(const char *path, uint64_t complete, enum record_ending ending,
			     const struct records_known *known, struct err *err)
{
	if (complete < known->length)
		return err_set(err, ERR_DAMAGED,
			       "%s: can be read up to byte %" PRIu64 ", but had %" PRIu64 " bytes",
			       path, complete, known->length);
	if (ending == RECORD_WRITTEN)
		return RECORDS_WRITTEN;
	if (ending == RECORD_CLOSED || (ending == RECORD_LEFT && complete == known->length))
		return 0;
	if (known->closed)
		return err_set(err, ERR_DAMAGED,
			       "%s: was closed and does not end so: it was cut or damaged after "
			       "byte %" PRIu64,
			       path, complete);
	err_set(err, ERR_NONE,
		"%s: was not closed, %s byte %" PRIu64 "; a killed process leaves that, and the "
		"next one that writes it keeps what lies before",
		path, ending == RECORD_TORN ? "and is incomplete from" : "its last record ends at",
		complete);
	return FORMAT_NOTED;
}

int records_verify(const struct format *f, const char *path, const struct records_known *known,
		   struct err *err)
{
	enum record_ending before = RECORD_LEFT, ending = RECORD_LEFT;
	uint64_t complete = 0;
	if (access(path, F_OK) != 0)
		return 1;
	/* asked before, too: one that is closed while it is read is sound */
	if (record_ending(path, NULL, 0, &before, err) < 0 && err->code == ERR_SYSTEM)
		return -1;
	if (records_read_all(f, path, &complete, err) < 0 ||
	    record_ending(path, f->records, complete, &ending, err) < 0)
		return -1;
	return records_judge_end(path, complete, before == RECORD_WRITTEN ? before : ending, known,
				 err);
}

static int printed_or_absent(const char *path, int rc, struct err *err)
{
	if (rc != 1)
		return rc;
	err_set(err, ERR_USAGE, "%s: there is no such file, or nothing in it yet", path);
	err->sys_errno = access(path, F_OK) != 0 ? ENOENT : 0;
	return -1;
}

int format_print(const struct format *f, const char *path, void (*emit)(void *ctx, struct str),
		 void *ctx, struct err *err)
{
	return format_print_part(f, path, NULL, emit, ctx, err);
}

int format_print_part(const struct format *f, const char *path, const char *part,
		      void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	struct printer p = {BUF_INIT(SIZE_MAX / 2), emit, ctx, part};
	int rc = f->print     ? f->print(path, &p, err)
		 : f->records ? records_print(f, path, &p, err)
			      : small_print(f, path, &p.out, err);
	printer_hand_over(&p);
	buf_free(&p.out);
	return printed_or_absent(path, rc, err);
}

static void emit_nothing(void *ctx, struct str piece)
{
	(void)ctx;
	(void)piece;
}

int format_verify(const struct format *f, const char *path, struct err *err)
{
	if (!f->verify && !f->records)
		return format_print(f, path, emit_nothing, NULL, err);
	int rc = f->verify ? f->verify(path, err)
			   : records_verify(f, path, &(struct records_known){0}, err);
	return rc == RECORDS_WRITTEN ? 0 : printed_or_absent(path, rc, err);
}

void format_advise(const struct format *f, struct err *err)
{
	if (f->remedy)
		err_then(err, "%s", f->remedy);
}
