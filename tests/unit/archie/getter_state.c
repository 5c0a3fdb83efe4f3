#include "archie/getter_state.h"

#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct err err;

static void put_file(const char *below, const char *key, size_t n, int64_t time_s)
{
	char path[600], folder[400];
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 16);
	struct timespec at[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
	snprintf(folder, sizeof folder, "%s/%s", scratch_dir, below);
	snprintf(path, sizeof path, "%s/%s", folder, key);
	buf_fill(&bytes, 'x', n);
	assert_int_equal(dir_make(folder, DIR_MODE, &err), 0);
	assert_int_equal(file_replace(path, buf_str(&bytes), 0640, &err), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void what_is_remembered_is_found_again(void **state)
{
	(void)state;
	struct getter_state s;
	struct small *small;
	assert_int_equal(getter_state_load(scratch_dir, &s, &err), 1);
	assert_int_equal(s.n, 0);
	assert_null(getter_state_find(&s, STR("a")));
	uint64_t seed = 7;
	for (unsigned i = 0; i < 300; i++) {
		char key[32];
		int n = snprintf(key, sizeof key, "k%u", (unsigned)(dice(&seed) % 100));
		struct getter_record *r = getter_state_of(&s, (struct str){key, (size_t)n});
		assert_string_equal(r->key, key);
		r->failures++;
	}
	snprintf(getter_state_of(&s, STR("k5"))->error, GETTER_TEXT, "it is away");
	getter_state_of(&s, STR(""))->tried_us = 77;
	assert_int_equal(getter_table_open(&small, scratch_dir, &err), 0);
	assert_int_equal(small_replace(small, &getter_table, s.record, s.n, &err), 0);
	small_close(&small);
	size_t n = s.n;
	getter_state_free(&s);
	assert_int_equal(getter_state_load(scratch_dir, &s, &err), 0);
	assert_int_equal(s.n, n);
	unsigned sum = 0;
	for (size_t i = 0; i < s.n; i++) {
		sum += s.record[i].failures;
		assert_ptr_equal(getter_state_find(&s, str_of(s.record[i].key)), &s.record[i]);
	}
	assert_int_equal(sum, 300);
	assert_string_equal(getter_state_find(&s, STR("k5"))->error, "it is away");
	assert_int_equal(getter_state_find(&s, STR(""))->tried_us, 77);
	assert_null(getter_state_find(&s, STR("k")));
	getter_state_free(&s);
}

static void a_site_is_due_when_its_database_is_old(void **state)
{
	(void)state;
	const int64_t day = US_PER_DAY;
	struct archie_site site = {.key = STR("a-1.2.3.4")};
	assert_int_equal(getter_due_us(scratch_dir, &site, 7 * day, NULL), 0);
	put_file("data", "a-1.2.3.4", 67 * 5, 1000000);
	struct getter_database d = getter_database(scratch_dir, site.key);
	assert_int_equal(d.entries, 5);
	assert_int_equal(d.built_us, 1000000 * US_PER_S);
	assert_int_equal(getter_due_us(scratch_dir, &site, 7 * day, NULL), d.built_us + 7 * day);
	site.max_age_us = day;
	assert_int_equal(getter_due_us(scratch_dir, &site, 7 * day, NULL), d.built_us + day);
	/* a listing that waits for the builder will do */
	struct getter_record r = {.key = "a-1.2.3.4", .got_us = 2000000 * US_PER_S};
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), d.built_us + day);
	put_file("lslr", "a-1.2.3.4", 9, 1500000);
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), r.got_us + day);
	/* and has been looked at since */
	r.checked_us = 2500000 * US_PER_S;
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), r.checked_us + day);
	/* the builder moved it away */
	assert_false(getter_was_refused(scratch_dir, &r));
	r.listed_us = 1500000 * US_PER_S;
	put_file("failed", "a-1.2.3.4", 9, 1500000);
	assert_true(getter_was_refused(scratch_dir, &r));
	r.listed_us++;
	assert_true(getter_was_refused(scratch_dir, &r));
	r.listed_us += US_PER_S;
	assert_false(getter_was_refused(scratch_dir, &r));
}

static void a_database_of_the_future_is_due(void **state)
{
	(void)state;
	struct archie_site site = {.key = STR("c-1.2.3.4")};
	put_file("data", "c-1.2.3.4", 67, 4102444800); /* 2100 */
	assert_int_equal(getter_due_us(scratch_dir, &site, US_PER_DAY, NULL), 0);
}

static void a_back_off_of_a_wrong_clock_is_not_obeyed(void **state)
{
	(void)state;
	const int64_t now_us = 1700000000 * US_PER_S, most_us = 7 * US_PER_DAY;
	struct getter_record r = {.key = "d-1.2.3.4"};
	assert_int_equal(getter_retry_us(NULL, most_us, now_us), 0);
	assert_int_equal(getter_retry_us(&r, most_us, now_us), 0);
	r.next_us = now_us;
	assert_int_equal(getter_retry_us(&r, most_us, now_us), 0);
	r.next_us = now_us + most_us;
	assert_int_equal(getter_retry_us(&r, most_us, now_us), r.next_us);
	r.next_us++;
	assert_int_equal(getter_retry_us(&r, most_us, now_us), 0);
	r.next_us = INT64_MAX;
	assert_int_equal(getter_retry_us(&r, most_us, now_us), 0);
}

static void a_database_is_as_old_as_its_last_check(void **state)
{
	(void)state;
	const int64_t day = US_PER_DAY, second = US_PER_S;
	struct archie_site site = {.key = STR("b-1.2.3.4")};
	struct getter_record r = {.key = "b-1.2.3.4", .checked_us = 3000000 * second};
	/* what was looked at is of no use without a database */
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), 0);
	put_file("data", "b-1.2.3.4", 67, 2000000);
	struct getter_database d = getter_database(scratch_dir, site.key);
	assert_int_equal(getter_current_us(&d, NULL), d.built_us);
	assert_int_equal(getter_current_us(&d, &r), r.checked_us);
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), r.checked_us + day);
	r.checked_us = 1000000 * second;
	assert_int_equal(getter_due_us(scratch_dir, &site, day, &r), d.built_us + day);
	/* it is of the last listing, unless that came later */
	r.got_us = 2000000 * second + 5;
	assert_true(getter_is_built(&d, &r));
	r.got_us += second;
	assert_false(getter_is_built(&d, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remembered_is_found_again),
		cmocka_unit_test(a_site_is_due_when_its_database_is_old),
		cmocka_unit_test(a_database_of_the_future_is_due),
		cmocka_unit_test(a_back_off_of_a_wrong_clock_is_not_obeyed),
		cmocka_unit_test(a_database_is_as_old_as_its_last_check),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
