#include "cache/unsdb.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>

static char path[300];

/* Pieces that say which set they are of. */
struct pieces {
	uint64_t number, n, most;
	bool fails;
	struct unsdb *takes; /* whose last set goes meanwhile */
};

static int next_piece(void *ctx, struct buf *out, struct err *err)
{
	struct pieces *p = ctx;
	if (p->takes)
		assert_int_equal(unsdb_taken(p->takes, err), 0);
	if (p->n == p->most)
		return p->fails ? err_set(err, ERR_SYSTEM, "cannot be read") : 1;
	buf_printf(out, "set %d piece %d", (int)p->number, (int)p->n++);
	return 0;
}

static struct unsdb *must_open(void)
{
	struct unsdb *u;
	struct err err = {0};
	if (unsdb_open(&u, path, &err) < 0)
		fail_msg("%s", err.msg);
	return u;
}

static int put_set(struct unsdb *u, uint64_t number, uint64_t pieces, bool fails)
{
	const struct unsdb_set set = {.number = number,
				      .provider = 100 + number % 3,
				      .is_full = number % 2,
				      .urls = 7,
				      .at_us = 1790000000000000};
	struct pieces p = {.number = number, .most = pieces, .fails = fails};
	struct err err = {0};
	return unsdb_put(u, &set, next_piece, &p, &err);
}

/* All that waits, as "1:2 2:0", numbers and pieces. */
static void must_hold(struct unsdb *u, const char *want)
{
	struct buf got CLEANUP(buf_free) = BUF_INIT(10000),
		       piece CLEANUP(buf_free) = BUF_INIT(1000);
	struct unsdb_set set = {0};
	struct err err = {0};
	uint64_t after = 0, n = 0;
	while (unsdb_next(u, after, &set) == 0) {
		uint64_t place = set.place;
		int pieces = 0, rc;
		while ((rc = unsdb_piece(u, &place, &piece, &err)) == 0) {
			char text[64];
			snprintf(text, sizeof text, "set %d piece %d", (int)set.number, pieces++);
			assert_str(buf_str(&piece), text);
			buf_clear(&piece);
		}
		assert_int_equal(rc, 1);
		assert_int_equal(set.provider, 100 + set.number % 3);
		assert_int_equal(set.is_full, set.number % 2);
		assert_int_equal(set.urls, 7);
		assert_true(set.bytes > 0);
		buf_printf(&got, "%s%d:%d", got.n ? " " : "", (int)set.number, pieces);
		after = set.place;
		n++;
	}
	assert_int_equal(unsdb_waiting(u), n);
	assert_str(buf_str(&got), want);
}

static void must_take(struct unsdb *u)
{
	struct err err = {0};
	assert_int_equal(unsdb_taken(u, &err), 0);
}

static void sets_come_out_in_order_and_the_file_is_empty_then(void **state)
{
	(void)state;
	struct unsdb *u = must_open();
	uint64_t empty = unsdb_size(u);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(put_set(u, i, i - 1, false), 0);
	must_hold(u, "1:0 2:1 3:2");
	must_take(u);
	must_hold(u, "2:1 3:2");
	assert_int_equal(put_set(u, 4, 1, false), 0);
	must_take(u);
	must_take(u);
	must_hold(u, "4:1");
	assert_true(unsdb_size(u) > empty);
	must_take(u);
	must_hold(u, "");
	assert_int_equal(unsdb_size(u), empty);
	assert_int_equal(put_set(u, 5, 1, false), 0);
	must_hold(u, "5:1");
	must_take(u);
	unsdb_close(&u);
}

static void what_was_put_is_there_after_a_restart(void **state)
{
	(void)state;
	struct unsdb *u = must_open();
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(put_set(u, i, 2, false), 0);
	must_take(u);
	must_take(u);
	unsdb_close(&u);
	u = must_open();
	must_hold(u, "3:2 4:2");
	must_take(u);
	must_take(u);
	unsdb_close(&u);
	u = must_open();
	must_hold(u, "");
	unsdb_close(&u);
}

static void a_set_that_cannot_be_put_leaves_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	struct unsdb *u = must_open();
	assert_int_equal(put_set(u, 1, 1, false), 0);
	uint64_t before = unsdb_size(u);
	assert_int_equal(put_set(u, 2, 5, true), -1);
	assert_int_equal(unsdb_size(u), before);
	assert_int_equal(fault_arm("file.write/unsdb=enospc", &err), 0);
	assert_int_equal(put_set(u, 3, 5, false), -1);
	assert_int_equal(fault_arm("file.sync/unsdb=eio", &err), 0);
	assert_int_equal(put_set(u, 4, 5, false), -1);
	assert_int_equal(fault_arm(NULL, &err), 0);
	must_hold(u, "1:1");
	assert_int_equal(put_set(u, 5, 1, false), 0);
	must_hold(u, "1:1 5:1");
	must_take(u);
	must_take(u);
	unsdb_close(&u);
}

static void what_empties_while_a_put_fails_is_empty(void **state)
{
	(void)state;
	struct unsdb *u = must_open();
	struct err err = {0};
	uint64_t empty = unsdb_size(u);
	const struct unsdb_set set = {.number = 2, .provider = 1};
	struct pieces p = {.fails = true, .takes = u};
	assert_int_equal(put_set(u, 1, 3, false), 0);
	assert_int_equal(unsdb_put(u, &set, next_piece, &p, &err), -1);
	must_hold(u, "");
	assert_int_equal(unsdb_size(u), empty);
	unsdb_close(&u);
}

static void a_set_is_found_by_provider_and_number(void **state)
{
	(void)state;
	struct unsdb_set set;
	struct unsdb *u = must_open();
	for (uint64_t i = 1; i <= 6; i++)
		assert_int_equal(put_set(u, i, 0, false), 0);
	assert_int_equal(unsdb_find(u, 101, 0, &set), 0);
	assert_int_equal(set.number, 4);
	assert_int_equal(unsdb_find(u, 101, 1, &set), 0);
	assert_int_equal(set.number, 1);
	assert_int_equal(unsdb_find(u, 101, 2, &set), 1);
	assert_int_equal(unsdb_find(u, 999, 0, &set), 1);
	assert_int_equal(unsdb_urls(u, 101), 14);
	must_take(u);
	assert_int_equal(unsdb_find(u, 101, 1, &set), 1);
	for (size_t i = 0; i < 5; i++)
		must_take(u);
	unsdb_close(&u);
}

/* The file as a crash leaves it that comes after any byte: the sets that were whole are there. */
static void cut_anywhere_it_has_the_sets_that_were_whole(void **state)
{
	(void)state;
	struct buf whole CLEANUP(buf_free) = BUF_INIT(1 << 20);
	struct err err = {0};
	struct file f;
	uint64_t ends[3];
	struct unsdb *u = must_open();
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(put_set(u, i, 2, false), 0);
		ends[i - 1] = unsdb_size(u);
	}
	unsdb_close(&u);
	assert_int_equal(file_slurp(path, &whole, &err), 0);
	for (size_t n = 32; n <= whole.n; n += n < whole.n - 200 ? 7 : 1) {
		size_t sets = 0;
		assert_int_equal(file_open(&f, path, O_RDWR | O_CREAT | O_TRUNC, 0600, &err), 0);
		assert_int_equal(file_write(&f, whole.p, n, 0, &err), 0);
		file_drop(&f);
		while (sets < 3 && ends[sets] <= n)
			sets++;
		/* what was durable once and is gone is damage, and is said to be */
		if (unsdb_open(&u, path, &err) < 0) {
			assert_int_equal(err.code, ERR_DAMAGED);
			continue;
		}
		assert_true(unsdb_waiting(u) >= sets);
		unsdb_close(&u);
	}
	assert_int_equal(file_remove(path, &err), 0);
}

static int before_each(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/unsdb", scratch_dir);
	return 0;
}

static int after_each(void **state)
{
	struct err err = {0};
	(void)state;
	return file_remove(path, &err) < 0 ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sets_come_out_in_order_and_the_file_is_empty_then),
		TEST(what_was_put_is_there_after_a_restart),
		TEST(a_set_that_cannot_be_put_leaves_nothing),
		TEST(what_empties_while_a_put_fails_is_empty),
		TEST(a_set_is_found_by_provider_and_number),
		TEST(cut_anywhere_it_has_the_sets_that_were_whole),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
