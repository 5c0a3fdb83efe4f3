#include "base/buf.h"
#include "bucket/bucket_inner.h"
#include "bucket/bucket_shake.h"

#include <inttypes.h>

enum { PRINT_PIECE = 64 << 10 };

/* There is no magic of eight bytes and no version: the file is what it was in 2001. */
static bool bucket_file_claims(struct str head)
{
	if (head.n < 8 || bucket_word(head.p) != BUCKET_MAGIC)
		return false;
	uint32_t oid = bucket_word(head.p + 4);
	return oid == 0 || oid == BUCKET_DELETED;
}

static int bucket_file_open(struct buckets **ret, const char *path, struct err *err)
{
	struct bucket_options o = {.mode = BUCKET_SCAN};
	int rc = bucket_open(ret, path, &o, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

static void bucket_file_print_one(const struct bucket *bucket, struct buf *out)
{
	if (bucket->deleted)
		buf_printf(out, "DELETED  %6zu\n", bucket->data.n);
	else
		buf_printf(out, "%08" PRIx32 " %6zu %08" PRIx32 "\n", bucket->oid, bucket->data.n,
			   bucket->type);
}

static int bucket_file_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
			     struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)2 * PRINT_PIECE);
	struct buckets *b;
	struct bucket_scan scan = {0};
	struct bucket bucket;
	struct err why = {0};
	bool bad = false;
	if (bucket_file_open(&b, path, err) < 0)
		return -1;
	int rc = bucket_scan_init(&scan, b, 0, 0, err);
	while (rc == 0 && ((rc = bucket_scan_next(&scan, &bucket, err)) == 0 || scan.passed)) {
		if (rc == 0) {
			bucket_file_print_one(&bucket, &out);
		} else {
			bad = true;
			why = *err;
			buf_printf(&out, "%08" PRIx32 " damaged: %s\n", bucket.oid, err->msg);
			rc = 0;
		}
		if (out.n > PRINT_PIECE) {
			emit(ctx, buf_str(&out));
			buf_clear(&out);
		}
	}
	if (rc == 1 && scan.torn)
		buf_printf(&out, "torn at %" PRIu64 ", or being written\n", scan.torn_at);
	emit(ctx, buf_str(&out));
	bucket_scan_done(&scan);
	bucket_drop(&b);
	if (rc == 1 && bad)
		*err = why;
	return rc < 0 || bad ? -1 : 0;
}

struct first {
	const struct buckets *b;
	struct err *err;
};

static void keep_first(void *ctx, const struct bucket_problem *problem)
{
	struct first *first = ctx;
	if (first->err->code || problem->torn || problem->unchecked)
		return;
	err_set(first->err, ERR_DAMAGED,
		"%s: bucket %08" PRIx32 " (%" PRIu64 " bytes at %" PRIu64 "): %s",
		bucket_path(first->b), problem->oid, problem->next - problem->at, problem->at,
		problem->reason);
}

/* A torn end is no damage here: somebody may be appending. */
static int bucket_file_verify(const char *path, struct err *err)
{
	struct buckets *b;
	struct bucket_audit sum;
	struct err why = {0};
	if (bucket_file_open(&b, path, err) < 0)
		return -1;
	struct first first = {b, &why};
	int rc = bucket_audit(b, 0, keep_first, &first, &sum, err);
	bucket_drop(&b);
	if (rc == 0 && why.code) {
		*err = why;
		rc = -1;
	}
	return rc;
}

const struct format bucket_format = {
	.name = "bucket",
	.file = "objects",
	.claims = bucket_file_claims,
	.help = "what was gathered, one bucket a page",
	.print = bucket_file_print,
	.verify = bucket_file_verify,
};
