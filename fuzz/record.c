/* A record file of any bytes. The first byte says what the others are: 0 the file itself; else the
 * file is made of them, whole, and then spoilt: pairs of lengths (a length of 255 syncs: the next
 * frame is a mark) up to a zero, then changes of two bytes of place and one of bits.
 *
 * Whatever it is: reading ends, twice with the same answer; every record lies within the file; and
 * opening it to write, where that is possible, neither adds nor loses what a reader saw. */
#include "base/cursor.h"
#include "disk/record_frame_inner.h"
#include "memory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct record_kind kind = {.magic = "GARNERFZ", .version = 1, .most = 1 << 16};

struct seen {
	uint64_t records, sum, end;
	int rc;
};

/* Damaged, or of another version. */
static bool is_refusal(const struct err *err)
{
	return err->code == ERR_DAMAGED || err->code == ERR_USAGE;
}

static struct seen read_all(const char *path, struct str file)
{
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	struct seen seen = {.rc = record_reader_open(&r, path, &kind, &err)};
	while (seen.rc == 0 && (seen.rc = record_next(r, &record, &err)) == 0) {
		ENSURE(record.place.at >= RECORD_HEADER && record.place.at >= seen.end);
		ENSURE(record.place.next == record.place.at + FRAME_HEAD + record.payload.n);
		ENSURE(record.payload.n <= kind.most && record.place.next <= file.n);
		ENSURE(memcmp(record.payload.p, file.p + record.place.at + FRAME_HEAD,
			      record.payload.n) == 0);
		seen.records++;
		seen.sum = seen.sum * 31 + record.place.at;
		seen.end = record.place.next;
	}
	ENSURE(seen.rc == 1 || (is_refusal(&err) && err.msg[0]));
	record_reader_free(&r);
	return seen;
}

static bool same(struct seen a, struct seen b)
{
	return a.records == b.records && a.sum == b.sum && a.rc == b.rc;
}

static void add_mark(struct buf *file, const struct frame_file *f, uint64_t durable)
{
	unsigned char mark[FRAME_MARK];
	frame_mark_make(f, (struct frame_mark){file->n, durable}, mark);
	buf_add(file, mark, sizeof mark);
}

static void add_record(struct buf *file, const struct frame_file *f, struct str payload)
{
	unsigned char head[FRAME_HEAD];
	frame_head_make(f, payload, head);
	buf_add(file, head, sizeof head);
	buf_add_str(file, payload);
}

static void make_file(struct reader *in, struct buf *file)
{
	static const char bytes[512];
	unsigned char header[RECORD_HEADER];
	struct frame_file f;
	frame_header_make(&kind, 0x1122334455667788, header, &f);
	buf_add(file, header, sizeof header);
	add_mark(file, &f, RECORD_HEADER);
	for (uint8_t n; (n = reader_u8(in)) != 0;) {
		if (n == 255)
			add_mark(file, &f, file->n);
		else
			add_record(file, &f, (struct str){bytes, n - 1u});
	}
	while (reader_left(in) >= 3) {
		size_t at = reader_u16le(in);
		uint8_t bits = reader_u8(in);
		if (at == 0xffff)
			file->n -= MIN((size_t)bits, file->n);
		else if (at < file->n)
			file->p[at] = (char)(file->p[at] ^ bits);
	}
}

/* Opens, appends one more, closes, and looks again. */
static void write_on(const char *path, int fd, struct seen before)
{
	struct record_writer *w = NULL;
	struct err err = {0};
	uint64_t cut;
	if (record_open(&w, path, &kind, 0600, &cut, &err) < 0) {
		ENSURE(before.rc == -1 && before.records == 0 && is_refusal(&err));
		return;
	}
	struct record_group group = {0};
	struct record_place place;
	ENSURE(record_append(w, STR("one more"), &group, &place, &err) == 0);
	ENSURE(record_sync(w, &group, &err) == 0 && record_durable(w) == place.next);
	ENSURE(record_close(&w, &err) == 0);
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	char *now = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	ENSURE(now != MAP_FAILED);
	struct seen after = read_all(path, (struct str){now, n});
	ENSURE(after.rc == before.rc);
	ENSURE(after.records == before.records + (before.rc == 1));
	munmap(now, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf file = BUF_INIT((size_t)1 << 24);
	struct reader in = reader_of((struct str){(const char *)data, size});
	if (reader_u8(&in) == 0)
		buf_add_str(&file, reader_bytes(&in, reader_left(&in)));
	else
		make_file(&in, &file);
	char path[64];
	int fd = memory_file(path);
	ENSURE(fd >= 0 && (file.n == 0 || write(fd, file.p, file.n) == (ssize_t)file.n));
	struct seen first = read_all(path, buf_str(&file));
	ENSURE(same(first, read_all(path, buf_str(&file))));
	write_on(path, fd, first);
	memory_file_end(fd, path);
	buf_free(&file);
	return 0;
}
