#include "disk/tree.h"

#include "base/file.h"

#include "../scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void make_folder(const char *path)
{
	struct err err = {0};
	if (dir_make(path, 0755, &err) < 0)
		fail_msg("%s", err.msg);
}

static void make_file(const char *path, const char *text)
{
	struct file f;
	struct err err = {0};
	if (file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(file_write(&f, text, strlen(text), 0, &err), 0);
	file_drop(&f);
}

static const char *below(const char *path, const char *name)
{
	static char joined[4][1024];
	static unsigned turn;
	char *p = joined[turn++ % ARRAY_LEN(joined)];
	snprintf(p, sizeof joined[0], "%.600s/%.400s", path, name);
	return p;
}

/* Three files that say which tree they are of, two of them in folders. */
static void make_tree(const char *path, const char *text)
{
	make_folder(below(path, "sub/deep"));
	make_file(below(path, "a"), text);
	make_file(below(path, "sub/b"), text);
	make_file(below(path, "sub/deep/c"), text);
}

static bool file_is(const char *path, const char *text)
{
	struct buf b = BUF_INIT(4096);
	struct err err = {0};
	bool same = file_slurp(path, &b, &err) == 0 && strcmp(buf_text(&b), text) == 0;
	buf_free(&b);
	return same;
}

static bool tree_is(const char *path, const char *text)
{
	return file_is(below(path, "a"), text) && file_is(below(path, "sub/b"), text) &&
	       file_is(below(path, "sub/deep/c"), text);
}

static bool there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static void a_tree_is_removed_with_all_that_is_in_it(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("gone");
	make_tree(path, "x");
	make_file(below(path, ".hidden"), "x");
	assert_int_equal(mkfifo(below(path, "sub/fifo"), 0600), 0);
	for (int i = 0; i < 3000; i++) {
		char name[32];
		snprintf(name, sizeof name, "sub/%d", i);
		make_file(below(path, name), "");
	}
	assert_int_equal(tree_remove(below(path, ""), &err), 0); /* with a slash at the end */
	assert_false(there(path));
	assert_int_equal(tree_remove(path, &err), 1);
	make_file(path, "only a file");
	assert_int_equal(tree_remove(path, &err), 0);
	assert_false(there(path));
}

static void links_are_removed_and_never_followed(void **state)
{
	(void)state;
	struct err err = {0};
	const char *kept = scratch("kept"), *path = scratch("linked"), *link = scratch("link");
	make_tree(kept, "precious");
	make_tree(path, "x");
	assert_int_equal(symlink(kept, below(path, "out")), 0);
	assert_int_equal(symlink(kept, below(path, "sub/out")), 0);
	assert_int_equal(symlink("/nowhere/at/all", below(path, "dangling")), 0);
	assert_int_equal(tree_remove(path, &err), 0);
	assert_true(tree_is(kept, "precious"));
	assert_int_equal(symlink(kept, link), 0);
	assert_int_equal(tree_remove(below(link, ""), &err), 0);
	assert_false(there(link));
	assert_true(tree_is(kept, "precious"));
}

static void what_names_no_folder_of_its_own_is_not_removed(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "/", "//", ".", "..", "x/..", "x/.", "../"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		assert_int_equal(tree_remove(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void make_deep(const char *path, int depth)
{
	struct buf deep = BUF_INIT(4096);
	buf_add_text(&deep, path);
	for (int i = 0; i < depth; i++)
		buf_add_text(&deep, "/d");
	make_folder(buf_text(&deep));
	buf_free(&deep);
}

static void a_tree_too_deep_is_refused_with_its_place(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("deep");
	make_deep(path, TREE_DEPTH - 1);
	assert_int_equal(tree_remove(path, &err), 0);
	make_deep(path, TREE_DEPTH);
	assert_int_equal(tree_remove(path, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "d/d/d: more than 64 folders deep"));
	assert_int_equal(tree_remove(below(path, "d"), &err), 0);
	assert_int_equal(tree_remove(path, &err), 0);
}

/* In a name space of its own, where it may be mounted without anybody else seeing it. */
static int try_mounted(const char *path)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", below(path, "sub"), "tmpfs", 0, "size=64k") != 0)
		return 77;
	struct err err = {0};
	make_file(below(path, "sub/inside"), "kept");
	if (tree_remove(path, &err) != -1 || !strstr(err.msg, "sub: another file system"))
		return 1;
	return file_is(below(path, "sub/inside"), "kept") ? 0 : 2;
}

static void another_file_system_is_not_entered(void **state)
{
	(void)state;
	const char *path = scratch("mounted");
	make_folder(below(path, "sub"));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(try_mounted(path));
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* only root may mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void only_what_killed_writers_left_is_removed(void **state)
{
	(void)state;
	const char *path = scratch("swept"), *kept = scratch("outside");
	char left[2][64], live[64];
	pid_t gone = fork();
	int status;
	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, &status, 0), gone);
	snprintf(left[0], sizeof left[0], ".a.tmp.%d", (int)gone);
	snprintf(left[1], sizeof left[1], "sub/deep/.c.tmp.%d", (int)gone);
	snprintf(live, sizeof live, "sub/.b.tmp.%d", (int)getpid());
	make_tree(path, "x");
	make_tree(kept, "x");
	make_file(below(path, left[0]), "half");
	make_file(below(path, left[1]), "half");
	make_file(below(path, live), "half");
	make_file(below(kept, left[0]), "half");
	assert_int_equal(symlink(kept, below(path, "sub/out")), 0);
	tree_remove_left(path);
	assert_false(there(below(path, left[0])));
	assert_false(there(below(path, left[1])));
	assert_true(there(below(path, live)));
	assert_true(there(below(kept, left[0])));
	assert_true(tree_is(path, "x"));
	tree_remove_left(scratch("nowhere"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_removed_with_all_that_is_in_it),
		cmocka_unit_test(links_are_removed_and_never_followed),
		cmocka_unit_test(what_names_no_folder_of_its_own_is_not_removed),
		cmocka_unit_test(a_tree_too_deep_is_refused_with_its_place),
		cmocka_unit_test(another_file_system_is_not_entered),
		cmocka_unit_test(only_what_killed_writers_left_is_removed),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
