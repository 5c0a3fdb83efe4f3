/* Shakedown: renumbers, drops, replaces, reports; and what is there when it fails. */
#include "buckets.h"

#include <limits.h>
#include <unistd.h>

enum { MANY = 2 * SIZES };

/* Numbers 0 to MANY, of which every third is deleted. */
static struct buckets *make(const char *path, uint32_t oid[MANY])
{
	struct buckets *b = open_mode(path, BUCKET_WRITE);
	struct err err = {0};
	for (uint32_t i = 0; i < MANY; i++)
		oid[i] = append_number(b, i);
	for (uint32_t i = 0; i < MANY; i += 3)
		assert_int_equal(bucket_delete(b, oid[i], &err), 0);
	sync_file(b);
	return b;
}

static size_t read_moves(const char *path, struct bucket_move *ret, size_t cap)
{
	struct bucket_moves *m = NULL;
	struct err err = {0};
	size_t n = 0;
	int rc = bucket_moves_open(&m, path, &err);
	if (rc == 1)
		return 0;
	if (rc < 0)
		fail_msg("%s", err.msg);
	while ((rc = bucket_moves_next(m, &ret[n], &err)) == 0)
		assert_true(++n < cap);
	if (rc < 0)
		fail_msg("%s", err.msg);
	bucket_moves_close(&m);
	return n;
}

static void what_was_deleted_goes_and_the_others_are_found_by_the_report(void **state)
{
	(void)state;
	const char *path = scratch("plain");
	uint32_t oid[MANY];
	struct buckets *b = make(path, oid);
	struct bucket_shaken sum;
	struct bucket_move moves[MANY + 1];
	struct err err = {0};
	if (bucket_shakedown(b, NULL, NULL, &sum, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(sum.deleted, 6);
	assert_int_equal(sum.kept, 12);
	assert_int_equal(sum.dropped + sum.replaced, 0);
	assert_true(sum.after < sum.before);
	assert_int_equal(sum.after, size_of(path));
	size_t n = read_moves(path, moves, ARRAY_LEN(moves));
	assert_int_equal(n, 12);
	for (uint32_t i = 0, k = 0; i < MANY; i++) {
		if (i % 3 == 0)
			continue;
		assert_int_equal(moves[k].from, oid[i]);
		read_number(b, moves[k].to, i);
		k++;
	}
	uint32_t more = append_number(b, 5);
	sync_file(b);
	close_file(&b);
	b = open_mode(path, BUCKET_APPEND);
	read_number(b, moves[11].to, 17);
	read_number(b, more, 5);
	assert_int_equal(bucket_shakedown(b, NULL, NULL, &sum, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(bucket_moves_done(path, &err), 0);
	assert_int_equal(bucket_moves_done(path, &err), 1);
	assert_int_equal(bucket_shakedown(b, NULL, NULL, &sum, &err), 0);
	assert_int_equal(sum.kept, 13);
	assert_int_equal(sum.before, sum.after);
	close_file(&b);
}

static void an_emptied_file_still_tells_its_shift(void **state)
{
	(void)state;
	const char *path = scratch("emptied");
	struct buckets *b =
		open_as(path, (struct bucket_options){.mode = BUCKET_WRITE, .shift = 10});
	struct bucket_shaken sum;
	struct err err = {0};
	uint32_t oid = append_number(b, 4);
	assert_int_equal(bucket_delete(b, oid, &err), 0);
	assert_int_equal(bucket_shakedown(b, NULL, NULL, &sum, &err), 0);
	close_file(&b);
	b = open_mode(path, BUCKET_WRITE);
	assert_int_equal(bucket_shift(b), 10);
	assert_int_equal(append_number(b, 4), oid);
	close_file(&b);
}

struct plan {
	uint32_t asked;
	bool stop;
	uint32_t new_oid[MANY];
};

/* Drops the large, trims the middle ones, keeps the small. */
static int decide(void *ctx, const struct bucket *old, uint32_t new_oid, struct bucket_fate *fate,
		  struct err *err)
{
	struct plan *plan = ctx;
	if (plan->stop && plan->asked == 4)
		return err_set(err, ERR_USAGE, "enough");
	plan->new_oid[plan->asked++] = new_oid;
	assert_false(old->deleted);
	if (old->data.n > 100000)
		return 1;
	if (old->data.n > 10)
		*fate = (struct bucket_fate){BUCKET_V30, STR("Utrimmed\n")};
	return 0;
}

static void a_bucket_may_be_dropped_or_replaced(void **state)
{
	(void)state;
	const char *path = scratch("fate");
	uint32_t oid[MANY];
	struct buckets *b = make(path, oid);
	struct plan plan = {0};
	struct bucket_shaken sum;
	struct bucket_move moves[MANY + 1];
	struct bucket bucket;
	struct err err = {0};
	assert_int_equal(bucket_shakedown(b, decide, &plan, &sum, &err), 0);
	assert_int_equal(plan.asked, 12);
	assert_int_equal(sum.dropped, 2);
	assert_int_equal(sum.kept, 10);
	assert_int_equal(sum.replaced, 8);
	assert_int_equal(read_moves(path, moves, ARRAY_LEN(moves)), 12);
	for (uint32_t k = 0; k < 12; k++) {
		uint32_t i = k / 2 * 3 + 1 + k % 2;
		if (i % SIZES == 8) {
			assert_int_equal(moves[k].to, BUCKET_DELETED);
			continue;
		}
		assert_int_equal(moves[k].to, plan.new_oid[k]);
		assert_int_equal(bucket_read(b, moves[k].to, &bucket, &err), 0);
		if (number_size(i) > 10) {
			assert_int_equal(bucket.type, BUCKET_V30);
			assert_str(bucket.data, "Utrimmed\n");
		} else {
			is_number(&bucket, i);
		}
	}
	close_file(&b);
}

static void nothing_else_there(const char *path)
{
	char name[512];
	snprintf(name, sizeof name, "%s.new", path);
	assert_int_equal(access(name, F_OK), -1);
	snprintf(name, sizeof name, "%s.moves", path);
	assert_int_equal(access(name, F_OK), -1);
}

static void old_stands(const char *path, struct buckets *b, const uint32_t oid[MANY])
{
	struct bucket_moves *m;
	struct err err = {0};
	nothing_else_there(path);
	assert_int_equal(bucket_moves_open(&m, path, &err), 1);
	for (uint32_t i = 0; i < MANY; i++)
		if (i % 3)
			read_number(b, oid[i], i);
}

static void a_shakedown_given_up_leaves_the_old_file(void **state)
{
	(void)state;
	const char *path = scratch("given-up");
	uint32_t oid[MANY];
	struct buckets *b = make(path, oid);
	struct plan plan = {.stop = true};
	struct bucket_shaken sum;
	struct err err = {0};
	assert_int_equal(bucket_shakedown(b, decide, &plan, &sum, &err), -1);
	assert_string_equal(err.msg, "enough");
	old_stands(path, b, oid);
	append_number(b, 1);
	close_file(&b);
}

static void a_damaged_file_is_not_shaken(void **state)
{
	(void)state;
	const char *path = scratch("damaged");
	uint32_t oid[MANY];
	struct buckets *b = make(path, oid);
	struct bucket_shaken sum;
	struct err err = {0};
	close_file(&b);
	struct buf all = slurp(path);
	all.p[((size_t)oid[8] << 7) + 1] = 0;
	spill(path, all.p, all.n);
	b = open_mode(path, BUCKET_APPEND);
	assert_int_equal(bucket_shakedown(b, NULL, NULL, &sum, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	nothing_else_there(path);
	read_number(b, oid[1], 1);
	close_file(&b);
	buf_free(&all);
}

static void readers_of_the_old_file_go_on_and_know_it(void **state)
{
	(void)state;
	const char *path = scratch("readers");
	uint32_t oid[MANY];
	struct buckets *b = make(path, oid);
	struct bucket_shaken sum;
	struct err err = {0};
	close_file(&b);
	b = open_mode(path, BUCKET_APPEND);
	struct buckets *other = open_mode(path, BUCKET_SCAN);
	assert_true(bucket_current(other));
	assert_int_equal(bucket_shakedown(b, NULL, NULL, &sum, &err), 0);
	assert_true(bucket_current(b));
	assert_false(bucket_current(other));
	read_number(other, oid[17], 17);
	close_file(&other);
	struct bucket_options o = {.mode = BUCKET_APPEND};
	assert_int_equal(bucket_open(&other, path, &o, &err), -1);
	assert_int_equal(err.code, ERR_BUSY); /* the lock went with the handle */
	close_file(&b);
}

static void a_link_is_refused_and_what_it_points_to_is_left_alone(void **state)
{
	(void)state;
	char real[PATH_MAX], link[PATH_MAX];
	struct bucket_options o = {.mode = BUCKET_APPEND};
	struct buckets *b = NULL;
	struct stat st;
	struct err err = {0};
	snprintf(real, sizeof real, "%s", scratch("elsewhere"));
	snprintf(link, sizeof link, "%s", scratch("link"));
	assert_int_equal(file_replace(real, STR("not a bucket"), 0644, &err), 0);
	assert_int_equal(symlink("elsewhere", link), 0);
	for (o.mode = BUCKET_APPEND; o.mode <= BUCKET_WRITE; o.mode++) {
		assert_int_equal(bucket_open(&b, link, &o, &err), -1);
		assert_non_null(strstr(err.msg, "link: is a symbolic link"));
	}
	assert_int_equal(stat(real, &st), 0);
	assert_int_equal(st.st_size, strlen("not a bucket"));
	nothing_else_there(real);
	nothing_else_there(link);
}

#ifdef GARNER_FAULTS
/* One refusal at each place in turn: the old file stands without a report, or the new one with. */
static void refused_at_every_place_one_of_the_two_files_stands(void **state)
{
	(void)state;
	static const char *const points[] = {
		"file.write/.new",  "file.write/.moves", "file.sync/.new",   "file.sync/.moves",
		"file.rename/.new", "file.open/.new",    "file.open/.moves", "file.sync/refused"};
	unsigned refused = 0;
	for (size_t p = 0; p < ARRAY_LEN(points); p++)
		for (unsigned n = 1; n < 40; n++) {
			char name[32], spec[64];
			uint32_t oid[MANY];
			struct bucket_shaken sum;
			struct err err = {0};
			snprintf(name, sizeof name, "refused%zu-%u", p, n);
			snprintf(spec, sizeof spec, "%s=enospc@%u", points[p], n);
			const char *path = scratch(name);
			struct buckets *b = make(path, oid);
			arm(spec);
			int rc = bucket_shakedown(b, NULL, NULL, &sum, &err);
			bool fired = fault_fired() > 0;
			arm("");
			struct bucket_moves *m = NULL;
			struct err why = {0};
			int report = bucket_moves_open(&m, path, &why);
			assert_true(rc == 0 || fired);
			refused += rc < 0;
			if (rc < 0)
				assert_true(err.sys_errno == ENOSPC);
			if (report == 1) {
				assert_true(rc < 0);
				old_stands(path, b, oid);
			} else {
				assert_int_equal(report, 0);
				read_number(b, 0, 1);
			}
			bucket_moves_close(&m);
			append_number(b, 3);
			close_file(&b);
			(void)unlink(path);
			if (!fired)
				break;
		}
	assert_true(refused >= 8);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_deleted_goes_and_the_others_are_found_by_the_report),
		cmocka_unit_test(an_emptied_file_still_tells_its_shift),
		cmocka_unit_test(a_bucket_may_be_dropped_or_replaced),
		cmocka_unit_test(a_shakedown_given_up_leaves_the_old_file),
		cmocka_unit_test(a_damaged_file_is_not_shaken),
		cmocka_unit_test(readers_of_the_old_file_go_on_and_know_it),
		cmocka_unit_test(a_link_is_refused_and_what_it_points_to_is_left_alone),
#ifdef GARNER_FAULTS
		cmocka_unit_test_teardown(refused_at_every_place_one_of_the_two_files_stands,
					  disarm),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
