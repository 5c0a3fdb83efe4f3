/* Reading all of a bucket file: the scan, which passes over damage to the next whole bucket; audit
 * and fix, which look at every bucket that the scan finds; print and verify of the format. */
#include "base/fault.h"
#include "base/hash.h"
#include "base/table.h"
#include "bucket/bucket_inner.h"
#include "bucket/bucket_shake.h"

#include <fcntl.h>
#include <inttypes.h>

enum {
	/* Larger than elsewhere: on a busy machine each piece waits for two threads to get their
	 * turn. */
	SCAN_PIECE = 2 << 20,
};

struct bucket_scanner {
	struct file file; /* of its own, since it is read past the page cache */
	unsigned shift;
	uint64_t at, end;
	bool bounded; /* by a checkpoint: then nothing before it may be torn */
	bool reading;
	struct stream_reader in; /* at `at`, while reading */
	int rc;                  /* the first failure that stays */
	struct err err;
};

/* Looking for the next whole bucket after damage */

static bool scan_whole_at(const struct file *f, unsigned shift, uint64_t at, uint64_t to)
{
	struct err ignored;
	char p[BUCKET_HEAD];
	size_t n;
	if (to - at < BUCKET_FRAME || file_read(f, p, BUCKET_HEAD, at, &n, &ignored) < 0 ||
	    n < BUCKET_HEAD)
		return false;
	struct bucket_head head = bucket_head_parse(p);
	if (bucket_head_wrong(&head, shift, at, to - at))
		return false;
	return bucket_ends_at(f, at + bucket_total(shift, head.length), &ignored) == 0;
}

/* Only such as are not deleted: the number of its place is not in a page by chance, nor by
 * malice. */
int bucket_resync(const struct file *f, unsigned shift, uint64_t from, uint64_t to, uint64_t *ret,
		  struct err *err)
{
	uint64_t align = UINT64_C(1) << shift, end = to / align * align;
	char *piece = mem_resize(NULL, SCAN_PIECE);
	size_t n = 0;
	int rc = 0;
	*ret = to;
	for (; rc == 0 && *ret == to && from < end; from += n) {
		rc = file_read(f, piece, (size_t)MIN(end - from, (uint64_t)SCAN_PIECE), from, &n,
			       err);
		if (rc == 0 && n < align)
			break;
		for (size_t i = 0; rc == 0 && i + align <= n && *ret == to; i += align)
			if (bucket_word(piece + i) == BUCKET_MAGIC &&
			    bucket_word(piece + i + 4) == (from + i) >> shift &&
			    scan_whole_at(f, shift, from + i, to))
				*ret = from + i;
	}
	mem_free(&piece);
	return rc;
}

/* Scanning */

static int scan_start(struct bucket_scanner *s, struct err *err)
{
	uint64_t blocks = (s->end - s->at) / STREAM_BLOCK + 1;
	struct stream_options options = {
		.piece = (size_t)MIN(blocks * STREAM_BLOCK, (uint64_t)SCAN_PIECE)};
	if (file_direct(&s->file, true, err) < 0 ||
	    stream_open_part(&s->in, &s->file, s->at, s->end - s->at, &options, err) < 0)
		return -1;
	s->reading = true;
	return 0;
}

static void scan_stop(struct bucket_scanner *s)
{
	struct err ignored;
	if (s->reading)
		stream_close(&s->in);
	s->reading = false;
	(void)file_direct(&s->file, false, &ignored);
}

static void scan_free(struct bucket_scanner *s)
{
	scan_stop(s);
	file_drop(&s->file);
	mem_free(&s);
}

int bucket_scan_init(struct bucket_scan *ret, struct buckets *b, uint64_t from, uint64_t to,
		     struct err *err)
{
	struct bucket_scanner *s = mem_alloc(sizeof *s);
	*s = (struct bucket_scanner){
		.file = FILE_INIT, .shift = b->shift, .at = from, .bounded = to != 0};
	if (bucket_flush(b, err) < 0 || file_reopen(&b->file, O_RDONLY, &s->file, err) < 0 ||
	    file_size(&s->file, &s->end, err) < 0) {
		scan_free(s);
		return -1;
	}
	int rc = 0;
	if (MAX(from, to) > s->end)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: is %" PRIu64 " bytes long, %" PRIu64 " are wanted", s->file.path,
			     s->end, MAX(from, to));
	if (to)
		s->end = MAX(from, to);
	if (rc < 0 || scan_start(s, err) < 0) {
		scan_free(s);
		return -1;
	}
	*ret = (struct bucket_scan){.in = s};
	return 0;
}

void bucket_scan_done(struct bucket_scan *scan)
{
	if (scan->in)
		scan_free(scan->in);
	*scan = (struct bucket_scan){0};
}

/* Nothing whole begins at s->at. `hint`: where the next one should, 0 when that is not known. */
static int scan_skip(struct bucket_scan *scan, uint64_t hint, const char *why, struct bucket *ret,
		     struct err *err)
{
	struct bucket_scanner *s = scan->in;
	uint64_t at = s->at, next = hint, align = UINT64_C(1) << s->shift;
	scan_stop(s);
	if (!hint || (hint != s->end && !scan_whole_at(&s->file, s->shift, hint, s->end)))
		if (bucket_resync(&s->file, s->shift, at + align, s->end, &next, err) < 0)
			return -1;
	if (hint && next == s->end)
		next = hint; /* what comes there is told next, or torn */
	s->at = next;
	if (next == s->end && !hint && !s->bounded) {
		scan->torn = true;
		scan->torn_at = at;
		return 1;
	}
	if (next < s->end && scan_start(s, err) < 0) {
		s->at = at;
		return -1;
	}
	*ret = (struct bucket){.oid = (uint32_t)(at >> s->shift), .at = at, .next = next};
	scan->why = why;
	return err_set(err, ERR_DAMAGED,
		       "%s: bucket %08" PRIx32 " (%" PRIu64 " bytes at %" PRIu64 "): %s",
		       s->file.path, ret->oid, next - at, at, why);
}

static int scan_next_bucket(struct bucket_scan *scan, struct bucket *ret, struct err *err)
{
	struct bucket_scanner *s = scan->in;
	struct str part;
	uint64_t left = s->end - s->at;
	if (left == 0)
		return 1;
	if (left < BUCKET_FRAME)
		return scan_skip(scan, 0, "the file ends in it", ret, err);
	if (stream_read(&s->in, BUCKET_HEAD, &part, err) != 0)
		return -1;
	struct bucket_head head = bucket_head_parse(part.p);
	const char *wrong = bucket_head_wrong(&head, s->shift, s->at, left);
	uint64_t total = bucket_total(s->shift, head.length);
	bool known = head.magic == BUCKET_MAGIC && head.length <= BUCKET_DATA_MOST && total <= left;
	if (wrong)
		return scan_skip(scan, known ? s->at + total : 0, wrong, ret, err);
	if (stream_read(&s->in, (size_t)total - BUCKET_HEAD, &part, err) != 0)
		return -1;
	wrong = bucket_end_wrong(part.p + head.length, part.n - head.length);
	if (wrong)
		return scan_skip(scan, s->at + total, wrong, ret, err);
	*ret = (struct bucket){.oid = (uint32_t)(s->at >> s->shift),
			       .type = head.type,
			       .deleted = head.oid == BUCKET_DELETED,
			       .at = s->at,
			       .next = s->at + total,
			       .data = {part.p, head.length}};
	s->at += total;
	return 0;
}

/* Damage is told and passed; whatever else fails once fails from then on. */
int bucket_scan_next(struct bucket_scan *scan, struct bucket *ret, struct err *err)
{
	struct bucket_scanner *s = scan->in;
	uint64_t at = s->at;
	if (s->rc == 0) {
		int rc = scan_next_bucket(scan, ret, err);
		scan->passed = rc < 0 && s->at > at;
		if (rc >= 0 || scan->passed)
			return rc;
		s->rc = rc;
		s->err = *err;
	}
	scan->passed = false;
	*err = s->err;
	return s->rc;
}

/* Audit and fix */

TABLE(lost, uint32_t, bool, hash_u64, table_same_u64)

struct audit {
	struct buckets *b;
	uint64_t to; /* as in bucket_scan_init() */
	bool fix;
	bucket_problem_fn *problem;
	void *ctx;
	struct bucket_packer *packer;
	struct lost lost; /* dictionaries that were named */
	struct bucket_audit sum;
};

static void audit_tell(struct audit *a, const struct bucket_problem *problem)
{
	if (problem->unchecked) {
		a->sum.unchecked++;
	} else if (!problem->lacking) {
		a->sum.problems++;
		a->sum.damaged_bytes += problem->next - problem->at;
	}
	if (a->problem)
		a->problem(a->ctx, problem);
}

/* Makes deleted buckets of what is none. The trailer comes first: killed in between, it is damaged
 * as it was. */
static int audit_cover(struct buckets *b, uint64_t at, uint64_t next, struct err *err)
{
	char p[BUCKET_HEAD];
	uint64_t most = bucket_total(b->shift, BUCKET_DATA_MOST - (1u << b->shift));
	while (at < next) {
		uint64_t end = MIN(next, at + most);

		bucket_word_put(p, BUCKET_TRAILER);
		FAULT("bucket.fix.trailer");
		if (file_write(&b->file, p, 4, end - 4, err) < 0)
			return -1;
		struct bucket_head head = {BUCKET_MAGIC, BUCKET_DELETED,
					   (uint32_t)(end - at - BUCKET_FRAME), BUCKET_PLAIN};
		bucket_head_make(&head, p);
		FAULT("bucket.fix.head");
		if (file_write(&b->file, p, BUCKET_HEAD, at, err) < 0)
			return -1;
		at = end;
	}
	return 0;
}

static int audit_mend(struct audit *a, const struct bucket_problem *problem, struct err *err)
{
	if (!a->fix || problem->unchecked || problem->lacking)
		return 0;
	if (problem->whole)
		return bucket_blot(a->b, problem->at, err);
	if (!problem->torn)
		return audit_cover(a->b, problem->at, problem->next, err);
	FAULT("bucket.fix.cut");
	return file_truncate(&a->b->file, problem->at, err);
}

static int audit_found(struct audit *a, struct bucket_problem problem, struct err *err)
{
	problem.oid = (uint32_t)(problem.at >> a->b->shift);
	audit_tell(a, &problem);
	return audit_mend(a, &problem, err);
}

static void audit_count(struct audit *a, const struct bucket *bucket)
{
	uint64_t bytes = bucket->next - bucket->at;
	a->sum.buckets++;
	if (bucket->deleted) {
		a->sum.deleted++;
		a->sum.deleted_bytes += bytes;
		return;
	}
	a->sum.data_bytes += bytes;
}

/* The dictionary may be put back: the bucket stays, and of each dictionary that is lost the first
 * bucket is told. */
static int audit_look_for_dict(struct audit *a, const struct bucket *bucket, struct err *err)
{
	struct err why;
	uint32_t id;
	if (bucket_needs(a->packer, bucket->type, bucket->data, &id, &why) == 0)
		return 0;
	if (why.code != ERR_DAMAGED) {
		*err = why;
		return -1;
	}
	a->sum.lacking++;
	if (lost_get(&a->lost, id))
		return 0;
	*lost_put(&a->lost, id) = true;
	return audit_found(a,
			   (struct bucket_problem){.at = bucket->at,
						   .next = bucket->next,
						   .whole = true,
						   .lacking = true,
						   .reason = why.msg},
			   err);
}

/* What was deleted may be in any state. */
static int audit_look_at(struct audit *a, const struct bucket *bucket, struct err *err)
{
	struct err why;
	audit_count(a, bucket);
	int rc = bucket->deleted ? 0 : bucket_check(bucket->type, bucket->data, &why);
	if (rc == 0)
		return bucket->deleted ? 0 : audit_look_for_dict(a, bucket, err);
	return audit_found(
		a,
		(struct bucket_problem){.at = bucket->at,
					.next = bucket->next,
					.whole = true,
					.unchecked = rc == 1,
					.reason = rc == 1 ? "it has no checksum" : why.msg},
		err);
}

/* The end that was met is torn: damage, unless somebody is writing it. */
static int audit_end_torn(struct audit *a, uint64_t at, struct err *err)
{
	uint64_t size;
	if (!a->fix && bucket_grows(a->b))
		return 0;
	if (file_size(&a->b->file, &size, err) < 0)
		return -1;
	a->sum.end = MAX(at, size);
	return audit_found(a,
			   (struct bucket_problem){.at = at,
						   .next = a->sum.end,
						   .torn = true,
						   .reason = "the file ends in it"},
			   err);
}

static int audit_read_all(struct audit *a, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket = {0};
	struct err why;
	int rc, did = 0;
	if (bucket_scan_init(&scan, a->b, 0, a->to, err) < 0)
		return -1;
	while (did == 0 && ((rc = bucket_scan_next(&scan, &bucket, &why)) == 0 || scan.passed)) {
		a->sum.end = bucket.next;
		did = rc == 0 ? audit_look_at(a, &bucket, err)
			      : audit_found(a,
					    (struct bucket_problem){.at = bucket.at,
								    .next = bucket.next,
								    .reason = scan.why},
					    err);
	}
	if (did == 0 && rc < 0) {
		*err = why;
		did = -1;
	} else if (did == 0 && scan.torn) {
		did = audit_end_torn(a, scan.torn_at, err);
	}
	bucket_scan_done(&scan);
	return did;
}

static int audit_run(struct audit *a, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 16);
	a->packer = bucket_packer_new(bucket_dict_path(&arena, a->b->file.path));
	int rc = audit_read_all(a, err);
	bucket_packer_free(&a->packer);
	lost_free(&a->lost);
	arena_free(&arena);
	return rc;
}

int bucket_audit(struct buckets *b, uint64_t to, bucket_problem_fn *problem, void *ctx,
		 struct bucket_audit *ret, struct err *err)
{
	struct audit a = {.b = b, .to = to, .problem = problem, .ctx = ctx};
	if (audit_run(&a, err) < 0)
		return -1;
	*ret = a.sum;
	return 0;
}

int bucket_fix(struct buckets *b, bucket_problem_fn *problem, void *ctx, struct bucket_audit *ret,
	       struct err *err)
{
	struct audit a = {.b = b, .fix = true, .problem = problem, .ctx = ctx};
	ENSURE(b->mode == BUCKET_WRITE);
	if (bucket_flush(b, err) < 0)
		return -1;
	bucket_tail_free(b);
	if (audit_run(&a, err) < 0 || file_sync(&b->file, err) < 0 ||
	    file_size(&b->file, &b->size, err) < 0)
		return -1;
	b->durable = b->size;
	*ret = a.sum;
	return 0;
}

/* The format */

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
	return bucket_open(ret, path, &o, err);
}

void bucket_print(const struct bucket *bucket, struct buf *out)
{
	if (bucket->deleted)
		buf_printf(out, "DELETED  %6zu\n", bucket->data.n);
	else
		buf_printf(out, "%08" PRIx32 " %6zu %08" PRIx32 "\n", bucket->oid, bucket->data.n,
			   bucket->type);
}

static int bucket_file_print(const char *path, struct printer *p, struct err *err)
{
	struct buckets *b;
	struct bucket_scan scan = {0};
	struct bucket bucket;
	struct err why = {0};
	bool bad = false;
	int rc = bucket_file_open(&b, path, err);
	if (rc != 0)
		return rc;
	rc = bucket_scan_init(&scan, b, 0, 0, err);
	while (rc == 0 && ((rc = bucket_scan_next(&scan, &bucket, err)) == 0 || scan.passed)) {
		if (rc == 0) {
			bucket_print(&bucket, &p->out);
		} else {
			bad = true;
			why = *err;
			buf_printf(&p->out, "%08" PRIx32 " damaged: %s\n", bucket.oid, err->msg);
			rc = 0;
		}
		printer_step(p);
	}
	if (rc == 1 && scan.torn)
		buf_printf(&p->out, "torn at %" PRIu64 ", or being written\n", scan.torn_at);
	bucket_scan_done(&scan);
	bucket_drop(&b);
	if (rc == 1 && bad)
		*err = why;
	return rc < 0 || bad ? -1 : 0;
}

struct first {
	const struct buckets *b;
	struct err *err;
	uint64_t torn_at; /* where nobody appends any more; 0: nowhere */
};

static void keep_first(void *ctx, const struct bucket_problem *problem)
{
	struct first *first = ctx;
	if (problem->torn)
		first->torn_at = problem->at;
	if (first->err->code || problem->torn || problem->unchecked)
		return;
	err_set(first->err, ERR_DAMAGED,
		"%s: bucket %08" PRIx32 " (%" PRIu64 " bytes at %" PRIu64 "): %s",
		bucket_path(first->b), problem->oid, problem->next - problem->at, problem->at,
		problem->reason);
}

/* A torn end is not damage here: a killed process leaves that. */
static int bucket_file_verify(const char *path, struct err *err)
{
	struct buckets *b;
	struct bucket_audit sum;
	struct err why = {0};
	int rc = bucket_file_open(&b, path, err);
	if (rc != 0)
		return rc;
	struct first first = {b, &why, 0};
	rc = bucket_audit(b, 0, keep_first, &first, &sum, err);
	bucket_drop(&b);
	if (rc == 0 && why.code) {
		*err = why;
		rc = -1;
	} else if (rc == 0 && first.torn_at) {
		err_set(err, ERR_NONE,
			"%s: its last bucket, at %" PRIu64
			", is incomplete; a killed process leaves that, and the next one that "
			"writes it cuts it off",
			path, first.torn_at);
		rc = FORMAT_NOTED;
	}
	return rc;
}

const struct format bucket_format = {
	.name = "bucket",
	.file = "objects",
	.claims = bucket_file_claims,
	.help = "what was gathered, one bucket a page",
	.remedy = "garner shep recover mends it; what is lost is gathered again",
	.print = bucket_file_print,
	.verify = bucket_file_verify,
};
