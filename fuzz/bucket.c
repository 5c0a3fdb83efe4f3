/* Bucket files and what is in a bucket. The first byte chooses:
 *   0  the bytes are a bucket file: read, scanned, audited, fixed, audited again
 *   1  a file of buckets that are made here, of which the bytes then change some: what was not
 *      touched is there, what was is told
 *   2  the bytes are a bucket: a u32 with its type, then its data */
#include "bucket/bucket.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "memory_file.h"

#include <stdio.h>
#include <unistd.h>

enum { NUMBERS = 12, ALIGN = 1 << BUCKET_SHIFT };

struct seen {
	uint64_t buckets, deleted, bytes;
};

static struct buckets *open_it(const char *path, enum bucket_mode mode)
{
	struct buckets *b = NULL;
	struct err err = {0};
	struct bucket_options o = {.mode = mode, .unchecked = true, .shift = BUCKET_SHIFT};
	ENSURE(bucket_open(&b, path, &o, &err) == 0);
	return b;
}

/* Everything is passed once, in order, without gaps; what is read by number is the same. */
static struct seen scan(const char *path, bool *ret_bad)
{
	struct buckets *b = open_it(path, BUCKET_READ);
	struct bucket_scan scan;
	struct bucket bucket, again;
	struct err err = {0};
	struct seen seen = {0};
	uint64_t at = 0;
	int rc;
	*ret_bad = false;
	ENSURE(bucket_scan_init(&scan, b, 0, 0, &err) == 0);
	while ((rc = bucket_scan_next(&scan, &bucket, &err)) == 0 || scan.passed) {
		ENSURE(bucket.at == at && bucket.next > at && bucket.oid == at >> BUCKET_SHIFT);
		at = bucket.next;
		*ret_bad |= rc < 0;
		if (rc < 0) {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
			continue;
		}
		seen.buckets++;
		seen.deleted += bucket.deleted;
		seen.bytes += bucket.data.n;
		int read = bucket_read(b, bucket.oid, &again, &err);
		ENSURE(read == bucket.deleted);
		ENSURE(read || (again.type == bucket.type && str_eq(again.data, bucket.data)));
		(void)bucket_check(bucket.type, bucket.data, &err);
	}
	ENSURE(rc == 1 && (!scan.torn || scan.torn_at == at));
	*ret_bad |= scan.torn;
	bucket_scan_done(&scan);
	bucket_drop(&b);
	return seen;
}

static struct bucket_audit audit(const char *path, bool fix)
{
	struct buckets *b = open_it(path, fix ? BUCKET_WRITE : BUCKET_READ);
	struct bucket_audit sum = {0};
	struct err err = {0};
	ENSURE((fix ? bucket_fix(b, NULL, NULL, &sum, &err)
		    : bucket_audit(b, 0, NULL, NULL, &sum, &err)) == 0);
	if (fix) {
		uint32_t oid;
		struct bucket bucket;
		ENSURE(bucket_append(b, BUCKET_PLAIN, STR("Xone more\n"), &oid, &err) == 0);
		ENSURE(bucket_read(b, oid, &bucket, &err) == 0);
	}
	ENSURE(bucket_close(&b, &err) == 0);
	return sum;
}

/* What is fixed is whole, and nothing that was whole is gone. */
static void mend(const char *path)
{
	bool bad;
	struct seen before = scan(path, &bad);
	struct bucket_audit found = audit(path, false);
	ENSURE(found.buckets == before.buckets && found.deleted == before.deleted);
	ENSURE(found.problems > 0 || !bad);
	struct bucket_audit fixed = audit(path, true);
	ENSURE(fixed.problems == found.problems);
	struct bucket_audit after = audit(path, false);
	ENSURE(after.problems == 0);
	struct seen now = scan(path, &bad);
	ENSURE(!bad && now.buckets >= before.buckets);
	ENSURE(now.buckets - now.deleted <= before.buckets - before.deleted + 1);
	ENSURE(now.buckets - now.deleted + found.problems >= before.buckets - before.deleted + 1);
}

static uint32_t put_number(struct buckets *b, unsigned i)
{
	char text[200];
	uint32_t oid = 0;
	struct err err = {0};
	memset(text, 'a' + (int)i, sizeof text);
	struct attr u[] = {{'U', {text, 5}}}, x[] = {{'X', {text, i * 16}}};
	struct attrs header = {u, 1, 1}, body = {x, 1, 1};
	ENSURE(bucket_put(b, NULL, &header, &body, &oid, &err) == 0);
	return oid;
}

static void spoil(struct reader *in, const char *path, int fd)
{
	uint32_t oid[NUMBERS + 1];
	bool hit[NUMBERS] = {0};
	struct err err = {0};
	struct buckets *b = open_it(path, BUCKET_WRITE);
	for (unsigned i = 0; i < NUMBERS; i++)
		oid[i] = put_number(b, i);
	oid[NUMBERS] = (uint32_t)(bucket_length(b) >> BUCKET_SHIFT);
	ENSURE(bucket_close(&b, &err) == 0);
	while (reader_left(in) >= 3) {
		off_t at = reader_u16le(in);
		uint8_t bits = reader_u8(in);
		unsigned char c;
		if (pread(fd, &c, 1, at) != 1)
			continue;
		c ^= bits;
		ENSURE(pwrite(fd, &c, 1, at) == 1);
		for (unsigned i = 0; bits && i < NUMBERS; i++)
			hit[i] |= at >> BUCKET_SHIFT >= oid[i] && at >> BUCKET_SHIFT < oid[i + 1];
	}
	b = open_it(path, BUCKET_READ);
	for (unsigned i = 0; i < NUMBERS; i++) {
		struct bucket bucket;
		int rc = bucket_read(b, oid[i], &bucket, &err);
		if (!hit[i])
			ENSURE(rc == 0 && bucket_check(bucket.type, bucket.data, &err) == 0);
	}
	bucket_drop(&b);
	mend(path);
}

/* What can be decoded can be encoded, and is then the same. */
static void decode(struct reader *in)
{
	uint32_t type = reader_u32le(in);
	struct str data = reader_bytes(in, reader_left(in));
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct bucket_packer *packer = bucket_packer_new(NULL);
	struct attrs header, body, header2, body2, only;
	struct err err = {0};
	struct buf out = BUF_INIT(BUCKET_DATA_MOST);
	int rc = bucket_decode(packer, type, data, &arena, &header, &body, &err);
	int checked = bucket_check(type, data, &err);
	ENSURE(rc < 0 || checked >= 0);
	if (rc == 0) {
		ENSURE(bucket_header(type, data, &arena, &only, NULL, &err) == 0);
		ENSURE(only.n == header.n);
		ENSURE(bucket_encode(packer, &header, &body, &out, &type, &err) == 0);
		ENSURE(bucket_check(type, buf_str(&out), &err) == 0);
		ENSURE(bucket_decode(packer, type, buf_str(&out), &arena, &header2, &body2, &err) ==
		       0);
		ENSURE(header2.n == header.n && body2.n == body.n);
		for (size_t i = 0; i < body.n; i++)
			ENSURE(body.a[i].name == body2.a[i].name &&
			       str_eq(body.a[i].value, body2.a[i].value));
	}
	buf_free(&out);
	bucket_packer_free(&packer);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_of((struct str){(const char *)data, size});
	uint8_t kind = reader_u8(&in) % 3;
	if (kind == 2) {
		decode(&in);
		return 0;
	}
	char path[64];
	int fd = memory_file(path);
	ENSURE(fd >= 0);
	if (kind == 1) {
		spoil(&in, path, fd);
	} else {
		struct str all = reader_bytes(&in, reader_left(&in));
		ENSURE(all.n == 0 || write(fd, all.p, all.n) == (ssize_t)all.n);
		mend(path);
	}
	memory_file_end(fd, path);
	return 0;
}
