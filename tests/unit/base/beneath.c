#include "base/beneath.h"

#include "../scratch.h"
#include "../unit.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct beneath *open_box(void)
{
	struct beneath *b = NULL;
	struct err err;
	assert_int_equal(beneath_open(&b, scratch("box"), 0640, &err), 0);
	return b;
}

static int put_file(struct beneath *b, const char *name, const char *text)
{
	struct beneath_file f;
	struct err err;
	if (beneath_create(b, str_of(name), &f, &err) < 0)
		return -(int)err.code;
	assert_int_equal(file_write(&f.file, text, strlen(text), 0, &err), 0);
	return beneath_name(&f, &err);
}

static void expect_file(const char *path, const char *text)
{
	struct buf got = BUF_INIT(1000);
	struct err err;
	assert_int_equal(file_slurp(scratch(path), &got, &err), 0);
	assert_string_equal(buf_text(&got), text);
	buf_free(&got);
}

static void a_file_has_its_name_when_it_is_complete(void **state)
{
	(void)state;
	struct beneath *b = open_box();
	struct beneath_file f;
	struct err err;
	assert_int_equal(mkdir(scratch("box/000001"), 0755), 0);
	assert_int_equal(beneath_create(b, STR("000001/2.3"), &f, &err), 0);
	assert_int_equal(file_write(&f.file, "abc", 3, 0, &err), 0);
	assert_int_not_equal(access(scratch("box/000001/2.3"), F_OK), 0);
	assert_int_equal(beneath_name(&f, &err), 0);
	expect_file("box/000001/2.3", "abc");
	assert_int_equal(put_file(b, "000001/2.3", "new"), 0);
	expect_file("box/000001/2.3", "new");
	assert_int_equal(beneath_create(b, STR("000001/4"), &f, &err), 0);
	beneath_drop(&f);
	beneath_drop(&f);
	assert_int_not_equal(access(scratch("box/000001/4"), F_OK), 0);
	assert_int_equal(beneath_sync(b, &err), 0);
	struct dir d;
	const char *name;
	assert_int_equal(dir_init(&d, scratch("box/000001"), &err), 0);
	assert_int_equal(dir_next(&d, &name), 0);
	assert_int_equal(dir_next(&d, &name), 1); /* nothing else is left there */
	dir_done(&d);
	beneath_close(&b);
}

static void names_that_leave_the_folder_are_refused(void **state)
{
	(void)state;
	struct beneath *b = open_box();
	char longest[300];
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = 0;
	static const char *const wrong[] = {"",   "/etc/passwd", "../x", "a/../../b", ".", "..",
					    "a/", "a//b",        "./x",  "a/./b",     "/"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(put_file(b, wrong[i], "x"), -ERR_USAGE);
	assert_int_equal(put_file(b, longest, "x"), -ERR_USAGE);
	struct beneath_file f;
	struct err err;
	assert_int_equal(beneath_create(b, (struct str){"a\0b", 3}, &f, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(put_file(b, "nowhere/x", "x"), -ERR_SYSTEM);
	beneath_close(&b);
}

/* Links that somebody has planted: to a folder, to a file, in the place of a part. */
static void links_are_not_followed(void **state)
{
	(void)state;
	struct beneath *b = open_box();
	struct err err;
	assert_int_equal(mkdir(scratch("outside"), 0755), 0);
	assert_int_equal(file_replace(scratch("outside/kept"), STR("old"), 0644, &err), 0);
	assert_int_equal(symlink("../outside", scratch("box/link")), 0);
	assert_int_equal(symlink("../outside/kept", scratch("box/file")), 0);
	assert_int_equal(symlink("../outside/kept", scratch("box/file.part")), 0);
	assert_int_equal(symlink(".", scratch("box/here")), 0);
	assert_int_equal(put_file(b, "link/new", "x"), -ERR_USAGE);
	assert_int_equal(put_file(b, "here/new", "x"), -ERR_USAGE);
	assert_int_equal(put_file(b, "file", "mine"), 0);
	expect_file("outside/kept", "old");
	expect_file("box/file", "mine");
	struct stat st;
	assert_int_equal(lstat(scratch("box/file"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_not_equal(access(scratch("outside/new"), F_OK), 0);
	beneath_close(&b);
}

static int read_file(const char *folder, struct str name, struct err *err)
{
	struct file f = FILE_INIT;
	int rc = beneath_read(scratch(folder), name, &f, err);
	if (rc == 0)
		assert_true(str_is(name, f.path));
	file_drop(&f);
	return rc;
}

static void a_name_of_somebody_else_leads_nowhere_else(void **state)
{
	static const char *const bad[] = {
		"",     "/",  "/etc/passwd", "..",   "../rw", "a/../b", "a/./b", "./b",
		"a//b", "a/", "a",           "link", "up/rw", "pipe",   "b/c",   "inside/b"};
	struct err err = {0};
	(void)state;
	assert_int_equal(dir_make(scratch("read/a"), 0755, &err), 0);
	assert_int_equal(file_replace(scratch("rw"), STR("outside"), 0644, &err), 0);
	assert_int_equal(file_replace(scratch("read/a/b"), STR("text"), 0644, &err), 0);
	assert_int_equal(file_replace(scratch("read/b"), STR("text"), 0644, &err), 0);
	assert_int_equal(symlink("../rw", scratch("read/link")), 0);
	assert_int_equal(symlink("..", scratch("read/up")), 0);
	assert_int_equal(symlink("a", scratch("read/inside")), 0);
	assert_int_equal(mkfifo(scratch("read/pipe"), 0644), 0);
	assert_int_equal(read_file("read", STR("b"), &err), 0);
	assert_int_equal(read_file("read", STR("a/b"), &err), 0);
	assert_int_equal(read_file("read", STR("absent"), &err), 1);
	assert_int_equal(read_file("read", STR("absent/b"), &err), 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (read_file("read", str_of(bad[i]), &err) != -1)
			fail_msg("opened: '%s'", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
	}
	char longer[5000];
	memset(longer, 'x', sizeof longer);
	assert_int_equal(read_file("read", (struct str){longer, sizeof longer}, &err), -1);
	assert_int_equal(read_file("read", (struct str){longer, 256}, &err), -1);
	assert_int_equal(read_file("read", (struct str){"b\0c", 3}, &err), -1);
	assert_int_equal(read_file("no-folder", STR("b"), &err), 1);
}

static void links_inside_are_followed_where_they_may_be(void **state)
{
	struct file folder = FILE_INIT;
	struct err err;
	(void)state;
	assert_int_equal(dir_make(scratch("at/a"), 0755, &err), 0);
	assert_int_equal(symlink("a", scratch("at/inside")), 0);
	assert_int_equal(symlink("..", scratch("at/up")), 0);
	assert_int_equal(file_open(&folder, scratch("at"), O_RDONLY | O_DIRECTORY, 0, &err), 0);
	int fd = beneath_at(&folder, "inside", O_RDONLY, true);
	assert_true(fd >= 0);
	close(fd);
	fd = beneath_at(&folder, "", O_RDONLY, false);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(beneath_at(&folder, "inside", O_RDONLY, false), -1);
	assert_int_equal(beneath_at(&folder, "up", O_RDONLY, true), -1);
	file_drop(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_its_name_when_it_is_complete),
		cmocka_unit_test(names_that_leave_the_folder_are_refused),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(a_name_of_somebody_else_leads_nowhere_else),
		cmocka_unit_test(links_inside_are_followed_where_they_may_be),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
