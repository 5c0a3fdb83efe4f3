/* Scans, audits and what is mended. */
#include "buckets.h"

#include <unistd.h>

enum { MANY = 2 * SIZES };

/* Checksummed buckets of a few hundred bytes; number i has i in its text. */
static uint32_t put_small(struct buckets *b, unsigned i)
{
	char text[64];
	struct err err = {0};
	uint32_t oid = BUCKET_DELETED;
	snprintf(text, sizeof text, "number %u", i);
	struct attr u[] = {{'U', STR("http://a/")}}, x[] = {{'X', str_of(text)}};
	struct attrs header = {u, 1, 1}, body = {x, 1, 1};
	if (bucket_put(b, NULL, &header, &body, &oid, &err) < 0)
		fail_msg("%s", err.msg);
	return oid;
}

static void a_scan_finds_all_in_their_order(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("order"), BUCKET_WRITE);
	struct bucket_scan scan;
	struct bucket bucket;
	struct err err = {0};
	uint32_t oid[MANY];
	uint64_t middle = 0;
	for (uint32_t i = 0; i < MANY; i++) {
		oid[i] = append_number(b, i);
		if (i == MANY / 2)
			middle = sync_file(b);
	}
	assert_int_equal(bucket_delete(b, oid[5], &err), 0);
	assert_int_equal(bucket_scan_init(&scan, b, 0, 0, &err), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 0);
		assert_int_equal(bucket.oid, oid[i]);
		assert_int_equal(bucket.deleted, i == 5);
		is_number(&bucket, i);
	}
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 1);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 1);
	assert_false(scan.torn);
	bucket_scan_done(&scan);
	assert_int_equal(bucket_scan_init(&scan, b, 0, middle, &err), 0);
	uint32_t n = 0;
	while (bucket_scan_next(&scan, &bucket, &err) == 0)
		n++;
	assert_int_equal(n, MANY / 2 + 1);
	bucket_scan_done(&scan);
	assert_int_equal(bucket_scan_init(&scan, b, middle, 0, &err), 0);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 0);
	is_number(&bucket, MANY / 2 + 1);
	bucket_scan_done(&scan);
	assert_int_equal(bucket_scan_init(&scan, b, 0, UINT64_C(1) << 40, &err), -1);
	close_file(&b);
}

static void an_empty_file_has_nothing_to_scan(void **state)
{
	(void)state;
	struct buckets *b = open_mode(scratch("empty"), BUCKET_APPEND);
	struct bucket_scan scan;
	struct bucket bucket;
	struct err err = {0};
	assert_int_equal(bucket_scan_init(&scan, b, 0, 0, &err), 0);
	assert_int_equal(bucket_scan_next(&scan, &bucket, &err), 1);
	bucket_scan_done(&scan);
	close_file(&b);
}

/* Another handle sees whole buckets, a first part of all, however the pieces fall. */
static void a_scan_while_appending_goes_on_sees_whole_buckets(void **state)
{
	(void)state;
	const char *path = scratch("meanwhile");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct buckets *other = open_mode(path, BUCKET_SCAN);
	struct bucket bucket;
	struct err err = {0};
	uint32_t seen = 0;
	for (uint32_t i = 0; i < 6 * SIZES; i++) {
		append_number(b, i);
		struct bucket_scan scan;
		uint32_t n = 0;
		assert_int_equal(bucket_scan_init(&scan, other, 0, 0, &err), 0);
		int rc;
		while ((rc = bucket_scan_next(&scan, &bucket, &err)) == 0)
			is_number(&bucket, n++);
		if (rc < 0)
			fail_msg("%s", err.msg);
		bucket_scan_done(&scan);
		assert_true(n >= seen && n <= i + 1);
		seen = n;
	}
	assert_true(seen > 0);
	close_file(&other);
	close_file(&b);
}

static void a_file_cut_at_every_byte_is_scanned_up_to_its_last_whole_bucket(void **state)
{
	(void)state;
	const char *path = scratch("cuts");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct bucket_options o = {.mode = BUCKET_SCAN, .unchecked = true};
	struct bucket bucket;
	struct err err = {0};
	for (uint32_t i = 0; i < 4; i++)
		append_number(b, i);
	close_file(&b);
	struct buf all = slurp(path);
	static const uint64_t ends[] = {0, 128, 256, 384, 640};
	assert_int_equal(all.n, ends[4]);
	for (size_t n = 0; n <= all.n; n++) {
		spill(path, all.p, n);
		b = open_as(path, o);
		struct bucket_scan scan;
		uint32_t seen = 0, want = 0;
		assert_int_equal(bucket_scan_init(&scan, b, 0, 0, &err), 0);
		while (bucket_scan_next(&scan, &bucket, &err) == 0)
			is_number(&bucket, seen++);
		while (want < 4 && ends[want + 1] <= n)
			want++;
		assert_int_equal(seen, want);
		assert_int_equal(scan.torn, n > ends[want]);
		assert_int_equal(scan.torn_at, scan.torn ? ends[want] : 0);
		bucket_scan_done(&scan);
		bucket_drop(&b);
	}
	buf_free(&all);
}

/* A problem that was told. */
struct told {
	struct bucket_problem problem[16];
	size_t n;
};

static void tell(void *ctx, const struct bucket_problem *problem)
{
	struct told *told = ctx;
	assert_true(told->n < ARRAY_LEN(told->problem));
	assert_true(problem->reason && *problem->reason);
	assert_null(strchr(problem->reason, '/')); /* the place is told apart from it */
	told->problem[told->n++] = *problem;
}

static struct bucket_audit audit(const char *path, struct told *told)
{
	struct bucket_audit sum = {0};
	struct err err = {0};
	struct buckets *b = open_as(path, (struct bucket_options){.mode = BUCKET_READ,
								  .unchecked = true,
								  .shift = BUCKET_SHIFT});
	*told = (struct told){0};
	if (bucket_audit(b, 0, tell, told, &sum, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(sum.problems + sum.unchecked, told->n);
	close_file(&b);
	return sum;
}

static struct bucket_audit fix(const char *path)
{
	struct bucket_audit sum = {0};
	struct told told = {0};
	struct err err = {0};
	struct buckets *b = open_as(path, (struct bucket_options){.mode = BUCKET_WRITE,
								  .unchecked = true,
								  .shift = BUCKET_SHIFT});
	if (bucket_fix(b, tell, &told, &sum, &err) < 0)
		fail_msg("%s", err.msg);
	close_file(&b);
	return sum;
}

static bool is_small(struct buckets *b, uint32_t oid, unsigned i)
{
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header, body;
	struct err err = {0};
	char text[64];
	snprintf(text, sizeof text, "number %u", i);
	bool is = bucket_get(b, NULL, oid, &arena, &header, &body, &err) == 0 && body.n == 1 &&
		  str_is(body.a[0].value, text);
	arena_free(&arena);
	return is;
}

/* Three buckets; every byte of the file in turn. The bucket it is in is told, mended away, and the
 * others are as they were. */
static void every_damaged_byte_is_named_and_mended_and_nothing_else_is_lost(void **state)
{
	(void)state;
	enum { N = 3 };
	const char *path = scratch("damage");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	uint32_t oid[N];
	struct told told;
	for (unsigned i = 0; i < N; i++)
		oid[i] = put_small(b, i);
	sync_file(b);
	close_file(&b);
	struct buf all = slurp(path);
	assert_int_equal(audit(path, &told).problems, 0);
	for (size_t at = 0; at < all.n; at++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			unsigned hit = (unsigned)(at / 128);
			all.p[at] = (char)(all.p[at] ^ (1 << bit));
			spill(path, all.p, all.n);
			all.p[at] = (char)(all.p[at] ^ (1 << bit));
			struct bucket_audit sum = audit(path, &told);
			assert_int_equal(told.n, 1);
			if (told.problem[0].oid != oid[hit])
				fail_msg("byte %zu: told of %u", at, told.problem[0].oid);
			if (told.problem[0].unchecked)
				continue;
			assert_int_equal(sum.problems, 1);
			assert_int_equal(fix(path).problems, 1);
			assert_int_equal(audit(path, &told).problems, 0);
			b = open_mode(path, BUCKET_READ);
			for (unsigned i = 0; i < N; i++)
				assert_int_equal(is_small(b, oid[i], i), i != hit);
			close_file(&b);
		}
	buf_free(&all);
}

static void a_torn_end_is_named_and_cut_off(void **state)
{
	(void)state;
	const char *path = scratch("torn-end");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct told told;
	uint32_t oid = put_small(b, 1);
	append_number(b, 5);
	close_file(&b);
	assert_int_equal(truncate(path, 128 + 5000), 0);
	assert_int_equal(audit(path, &told).problems, 1);
	assert_true(told.problem[0].torn);
	assert_int_equal(told.problem[0].at, 128);
	assert_int_equal(told.problem[0].next, 128 + 5000);
	assert_int_equal(fix(path).problems, 1);
	assert_int_equal(size_of(path), 128);
	b = open_mode(path, BUCKET_APPEND);
	assert_true(is_small(b, oid, 1));
	close_file(&b);
}

/* Who only looks does not keep others from appending, and does not take what they are writing for
 * damage. */
static void a_file_that_grows_is_looked_at_as_far_as_it_is_known(void **state)
{
	(void)state;
	const char *path = scratch("grows");
	struct err err = {0};
	struct told told = {0};
	struct bucket_audit sum;
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	put_small(b, 1);
	uint64_t known = sync_file(b);
	append_number(b, 5);
	sync_file(b);
	assert_int_equal(truncate(path, 128 + 5000), 0); /* as if only half were written yet */
	struct buckets *looks =
		open_as(path, (struct bucket_options){.mode = BUCKET_SCAN, .unchecked = true});
	assert_true(bucket_grows(looks));
	for (unsigned i = 0; i < 2; i++) {
		uint64_t to = i ? known : 0;
		assert_int_equal(0, bucket_quick(looks, to, &err));
		assert_int_equal(0, bucket_audit(looks, to, tell, &told, &sum, &err));
		assert_int_equal(0, sum.problems + told.n);
		assert_int_equal(1, sum.buckets);
		assert_int_equal(known, sum.end);
	}
	/* what a checkpoint knows has to be whole, even while somebody appends */
	assert_int_equal(0, bucket_audit(looks, known + 128, tell, &told, &sum, &err));
	assert_int_equal(1, sum.problems);
	assert_int_equal(-1, bucket_quick(looks, known + 128, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	bucket_drop(&b);
	assert_false(bucket_grows(looks));
	assert_int_equal(-1, bucket_quick(looks, 0, &err));
	told = (struct told){0};
	assert_int_equal(0, bucket_audit(looks, 0, tell, &told, &sum, &err));
	assert_int_equal(1, sum.problems);
	assert_true(told.problem[0].torn);
	b = open_as(path, (struct bucket_options){.mode = BUCKET_APPEND, .unchecked = true});
	bucket_drop(&b);
	bucket_drop(&looks);
}

static void a_large_hole_in_the_middle_is_covered_by_deleted_buckets(void **state)
{
	(void)state;
	const char *path = scratch("hole");
	const uint64_t hole = (uint64_t)BUCKET_DATA_MOST * 2 / 128 * 128 + 1280;
	struct told told;
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	uint32_t first = put_small(b, 1), last;
	close_file(&b);
	struct file f;
	struct err err = {0};
	static const unsigned char trailer[] = {0xfe, 0xca, 0xed, 0xfe};
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_write(&f, trailer, 4, 128 + hole - 4, &err), 0);
	file_drop(&f);
	b = open_as(path, (struct bucket_options){.mode = BUCKET_APPEND, .shift = BUCKET_SHIFT});
	last = put_small(b, 2);
	close_file(&b);
	assert_int_equal(audit(path, &told).problems, 1);
	assert_int_equal(told.problem[0].at, 128);
	assert_int_equal(told.problem[0].next, 128 + hole);
	fix(path);
	struct bucket_audit sum = audit(path, &told);
	assert_int_equal(sum.problems, 0);
	assert_int_equal(sum.deleted_bytes, hole);
	assert_true(sum.deleted >= 3);
	b = open_mode(path, BUCKET_READ);
	assert_true(is_small(b, first, 1) && is_small(b, last, 2));
	close_file(&b);
}

/* A page that holds what looks like a bucket does not become one, whatever happens around it. */
static void a_bucket_inside_of_a_page_is_not_taken_for_one(void **state)
{
	(void)state;
	const char *path = scratch("inside");
	char page[1000];
	memset(page, 'x', sizeof page);
	static const unsigned char fake[] = {0x0d, 0xf0, 0xad, 0xde, 0xff, 0xff, 0xff, 0xff,
					     108,  0,    0,    0,    0,    0,    0,    0x80};
	static const unsigned char trailer[] = {0xfe, 0xca, 0xed, 0xfe};
	memcpy(page + 112, fake, sizeof fake); /* at an alignment of the file */
	memcpy(page + 112 + 124, trailer, sizeof trailer);
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct err err = {0};
	struct told told;
	uint32_t oid;
	assert_int_equal(bucket_append(b, BUCKET_PLAIN, (struct str){page, 1000}, &oid, &err), 0);
	uint64_t length = bucket_length(b);
	uint32_t last = put_small(b, 2);
	close_file(&b);
	struct buf all = slurp(path);
	all.p[9] = 0x7f; /* the length of the first one */
	spill(path, all.p, all.n);
	assert_int_equal(audit(path, &told).problems, 1);
	assert_int_equal(told.problem[0].next, length);
	fix(path);
	b = open_mode(path, BUCKET_READ);
	assert_true(is_small(b, last, 2));
	close_file(&b);
	buf_free(&all);
}

static void buckets_without_a_checksum_are_told_apart_from_damage(void **state)
{
	(void)state;
	const char *path = scratch("unchecked");
	struct buckets *b = open_mode(path, BUCKET_APPEND);
	struct told told;
	append_number(b, 3);
	put_small(b, 1);
	close_file(&b);
	struct bucket_audit sum = audit(path, &told);
	assert_int_equal(sum.unchecked, 1);
	assert_int_equal(sum.problems, 0);
	assert_int_equal(sum.buckets, 2);
	assert_int_equal(fix(path).unchecked, 1);
	b = open_mode(path, BUCKET_READ);
	read_number(b, 0, 3);
	close_file(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scan_finds_all_in_their_order),
		cmocka_unit_test(an_empty_file_has_nothing_to_scan),
		cmocka_unit_test(a_scan_while_appending_goes_on_sees_whole_buckets),
		cmocka_unit_test(a_file_cut_at_every_byte_is_scanned_up_to_its_last_whole_bucket),
		cmocka_unit_test(every_damaged_byte_is_named_and_mended_and_nothing_else_is_lost),
		cmocka_unit_test(a_torn_end_is_named_and_cut_off),
		cmocka_unit_test(a_file_that_grows_is_looked_at_as_far_as_it_is_known),
		cmocka_unit_test(a_large_hole_in_the_middle_is_covered_by_deleted_buckets),
		cmocka_unit_test(a_bucket_inside_of_a_page_is_not_taken_for_one),
		cmocka_unit_test(buckets_without_a_checksum_are_told_apart_from_damage),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
