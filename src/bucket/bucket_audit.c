#include "base/fault.h"
#include "base/table.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_inner.h"
#include "bucket/bucket_shake.h"

static uint64_t id_hash(uint32_t id)
{
	return id; /* a checksum */
}
static bool id_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
TABLE(lost, uint32_t, bool, id_hash, id_equal)

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
	static const uint32_t types[ARRAY_LEN(a->sum.by_type)] = {BUCKET_PLAIN, BUCKET_V30,
								  BUCKET_V33, BUCKET_V33_ZSTD};
	uint64_t bytes = bucket->next - bucket->at;
	a->sum.buckets++;
	if (bucket->deleted) {
		a->sum.deleted++;
		a->sum.deleted_bytes += bytes;
		return;
	}
	a->sum.data_bytes += bytes;
	uint32_t type = MAX(bucket->type, BUCKET_PLAIN);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		a->sum.by_type[i] += types[i] == type;
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
	struct bucket bucket;
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
