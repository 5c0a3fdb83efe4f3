/* The brake: what is kept of a select that was held back, and its permission. */
#include "shepherd/brake.h"

#include "base/file.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NOW_US (INT64_C(1790000000) * 1000000)

static struct selected held(void)
{
	struct selected s = {.gathered = 5000, .lost = 2000};
	for (unsigned i = 0; i < CRAWL_LIMITS; i++)
		s.lost_by[i] = 100 + i;
	return s;
}

static const char *make_folder(const char *name)
{
	char crawl[512];
	assert_int_equal(0, mkdir(scratch(name), 0700));
	snprintf(crawl, sizeof crawl, "%s/shepherd", scratch(name));
	assert_int_equal(0, mkdir(crawl, 0700));
	return scratch(name);
}

static const char *disable_path(const char *folder)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, BRAKE_DISABLE);
	return path;
}

static void allow(const char *folder)
{
	int fd = open(disable_path(folder), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void what_would_have_gone_is_kept(void **state)
{
	(void)state;
	struct err err = {0};
	struct brake b;
	struct selected s = held();
	const char *folder = make_folder("kept");
	assert_int_equal(1, brake_load(folder, &b, &err));
	assert_int_equal(0, brake_save(folder, &s, NOW_US, &err));
	assert_int_equal(0, brake_load(folder, &b, &err));
	assert_int_equal(NOW_US, b.time_us);
	assert_int_equal(5000, b.gathered);
	assert_int_equal(2000, b.lost);
	for (unsigned i = 0; i < CRAWL_LIMITS; i++)
		assert_int_equal(100 + i, b.by[i]);
	s.lost = 2001; /* the next select is held as well */
	assert_int_equal(0, brake_save(folder, &s, NOW_US + 1, &err));
	assert_int_equal(0, brake_load(folder, &b, &err));
	assert_int_equal(2001, b.lost);
	assert_int_equal(0, brake_clear(folder, &err));
	assert_int_equal(1, brake_load(folder, &b, &err));
	assert_int_equal(0, brake_clear(folder, &err));
}

static void a_permission_counts_once(void **state)
{
	(void)state;
	struct err err = {0};
	struct brake b;
	struct selected s = held();
	const char *folder = make_folder("once");
	assert_int_equal(0, brake_save(folder, &s, NOW_US, &err));
	assert_int_equal(0, mkdir(disable_path(folder), 0755));
	assert_false(brake_is_disabled(folder)); /* it could not be removed */
	assert_int_equal(0, rmdir(disable_path(folder)));
	assert_false(brake_is_disabled(folder));
	allow(folder);
	assert_true(brake_is_disabled(folder));
	assert_int_equal(0, brake_let_through(folder, &err));
	assert_false(brake_is_disabled(folder));
	assert_int_equal(1, brake_load(folder, &b, &err));
	assert_int_equal(0, brake_let_through(folder, &err)); /* nothing is there any more */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_would_have_gone_is_kept),
		cmocka_unit_test(a_permission_counts_once),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
