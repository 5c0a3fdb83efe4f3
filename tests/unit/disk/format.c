#include "disk/format.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct format apple = {.name = "apples", .magic = "GARNERAP", .version = 3};
static const struct format pear = {
	.name = "pears", .file = "pears.dat", .magic = "GARNERPE", .version = 1};
static const struct format *const table[] = {&apple, &pear};

static char folder[64], path[96];
static struct err err;

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/garner-format-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/file", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)remove(path);
	return rmdir(folder);
}

static int look(struct str bytes, const struct format **ret)
{
	assert_int_equal(file_replace(path, bytes, 0600, &err), 0);
	return format_of(table, ARRAY_LEN(table), path, ret, &err);
}

static void a_file_is_known_by_magic_and_version(void **state)
{
	(void)state;
	const struct format *f = NULL;
	assert_int_equal(look(STR("GARNERAP\3\0\0\0rest"), &f), 0);
	assert_ptr_equal(f, &apple);
	assert_int_equal(look(STR("GARNERPE\1\0\0\0"), &f), 0);
	assert_ptr_equal(f, &pear);
}

static void other_files_are_none_of_ours(void **state)
{
	(void)state;
	static const struct str others[] = {
		{"", 0}, {"GARNERA", 7}, {"GARNERXX\1\0\0\0", 12}, {"garnerap\3\0\0\0", 12}};
	const struct format *f = &apple;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(look(others[i], &f), 1);
	assert_ptr_equal(f, &apple);
	assert_int_equal(format_of(NULL, 0, path, &f, &err), 1);
}

static void a_file_without_its_magic_is_known_by_its_name(void **state)
{
	(void)state;
	const struct format *f = NULL;
	char named[128];
	snprintf(named, sizeof named, "%s/pears.dat", folder);
	assert_int_equal(file_replace(named, STR("GARNERP?\1\0\0\0"), 0600, &err), 0);
	assert_int_equal(format_of(table, ARRAY_LEN(table), named, &f, &err), 0);
	assert_ptr_equal(f, &pear);
	assert_int_equal(file_replace(named, STR("GARNERAP\3\0\0\0"), 0600, &err), 0);
	assert_int_equal(format_of(table, ARRAY_LEN(table), named, &f, &err), 0);
	assert_ptr_equal(f, &apple);
	assert_int_equal(remove(named), 0);
}

/* The pattern has as many parts as it looks at; what is above them does not matter. */
static void a_name_is_a_pattern_of_the_last_parts_of_a_path(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *file;
		bool is_known;
	} cases[] = {
		{"a/b", "a/b", true},          {"a/b", "b", false},
		{"*.docs", "a/01.docs", true}, {"a/*", "a/b", true},
		{"a/*", "b", false},           {"*.docs", "a/01.doc", false},
		{"*-*.x", "1-2.x", true},      {"*-*.x", "a-b/2.x", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct format named = {
			.name = "n", .file = cases[i].pattern, .magic = "GARNERNN"};
		const struct format *const one[] = {&named}, *f = NULL;
		char at[160], below[160];
		snprintf(at, sizeof at, "%s/%s", folder, cases[i].file);
		snprintf(below, sizeof below, "%s", at);
		*strrchr(below, '/') = 0;
		assert_int_equal(dir_make(below, 0700, &err), 0);
		assert_int_equal(file_replace(at, STR("spoilt"), 0600, &err), 0);
		if (format_of(one, 1, at, &f, &err) != !cases[i].is_known)
			fail_msg("%s by %s", cases[i].file, cases[i].pattern);
		assert_int_equal(remove(at), 0);
		if (strcmp(below, folder) != 0)
			assert_int_equal(rmdir(below), 0);
	}
}

static void an_unknown_version_is_named_with_ours(void **state)
{
	(void)state;
	const struct format *f = NULL;
	char want[256];
	assert_true(look(STR("GARNERAP\0\1\0\0"), &f) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	snprintf(want, sizeof want,
		 "%s: apples file in version 256; this program knows version 3: another one "
		 "wrote it, or it is damaged",
		 path);
	assert_string_equal(err.msg, want);
	assert_null(f);
}

static void a_file_cut_inside_its_version_is_damaged(void **state)
{
	(void)state;
	const struct format *f = NULL;
	assert_true(look(STR("GARNERAP\3\0\0"), &f) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "cut off after 11 bytes"));
}

static void what_cannot_be_read_is_said_and_does_not_hang(void **state)
{
	(void)state;
	const struct format *f = NULL;
	assert_true(format_of(table, 2, path, &f, &err) < 0);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_true(format_of(table, 2, folder, &f, &err) < 0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "is a directory; name a file"));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(format_of(table, 2, path, &f, &err) < 0);
	assert_int_equal(err.code, ERR_SYSTEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_known_by_magic_and_version),
		TEST(other_files_are_none_of_ours),
		TEST(a_file_without_its_magic_is_known_by_its_name),
		TEST(a_name_is_a_pattern_of_the_last_parts_of_a_path),
		TEST(an_unknown_version_is_named_with_ours),
		TEST(a_file_cut_inside_its_version_is_damaged),
		TEST(what_cannot_be_read_is_said_and_does_not_hang),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
