#include "disk/tree.h"

#include "base/fault.h"
#include "base/file.h"

#include "../scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static size_t names_in(const char *path)
{
	struct dir d;
	struct err err = {0};
	assert_int_equal(dir_init(&d, path, &err), 0);
	size_t n = d.n;
	dir_done(&d);
	return n;
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

static void what_is_no_folder_of_its_own_is_not_removed(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "/", "//", ".", "..", "x/..", "x/.", "../"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		assert_int_equal(tree_remove(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		char *fresh = NULL;
		assert_int_equal(tree_fresh(bad[i], &fresh, &err), -1);
		assert_null(fresh);
		assert_int_equal(tree_clone(scratch_dir, bad[i], &err), -1);
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
	assert_int_equal(tree_clone(path, scratch("deepclone"), &err), -1);
	assert_false(there(scratch("deepclone")));
	assert_int_equal(tree_remove(below(path, "d"), &err), 0);
	assert_int_equal(tree_remove(path, &err), 0);
}

static void an_error_names_the_folder_as_it_was_given(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(tree_sync("no-such-folder", &err), -1);
	assert_true(str_starts(str_of(err.msg), STR("no-such-folder: open the folder")));
	assert_int_equal(tree_sync(scratch("nothing"), &err), -1);
	assert_true(str_starts(str_of(err.msg), str_of(scratch("nothing"))));
}

static void a_tree_is_not_cloned_into_itself(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("self");
	make_folder(below(path, "sub"));
	assert_int_equal(tree_clone(path, below(path, "sub/clone"), &err), -1);
	assert_false(there(below(path, "sub/clone")));
	assert_false(there(below(path, "sub/.clone.new")));
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

static ino_t inode(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

static void a_clone_has_the_same_files_and_its_own_folders(void **state)
{
	(void)state;
	struct err err = {0};
	const char *from = scratch("from"), *to = scratch("to");
	make_tree(from, "shared");
	make_folder(below(from, "empty"));
	assert_int_equal(symlink("sub/b", below(from, "link")), 0);
	if (tree_clone(from, below(to, ""), &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(tree_is(to, "shared"));
	assert_int_equal(names_in(to), 4);
	assert_int_equal(inode(below(from, "sub/b")), inode(below(to, "sub/b")));
	assert_int_not_equal(inode(below(from, "sub")), inode(below(to, "sub")));
	char target[16] = "";
	assert_int_equal(readlink(below(to, "link"), target, sizeof target - 1), 5);
	assert_string_equal(target, "sub/b");
	/* replaced in one, it is as before in the other */
	assert_int_equal(file_replace(below(to, "a"), STR("new"), 0644, &err), 0);
	assert_true(tree_is(from, "shared"));
	assert_int_equal(tree_remove(to, &err), 0);
	assert_true(tree_is(from, "shared"));
}

static void a_clone_replaces_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	const char *from = scratch("source"), *to = scratch("taken");
	make_tree(from, "x");
	make_tree(to, "old");
	assert_int_equal(tree_clone(from, to, &err), -1);
	assert_int_equal(err.sys_errno, EEXIST);
	assert_true(tree_is(to, "old"));
	assert_false(there(scratch(".taken.new")));
	assert_int_equal(tree_clone(scratch("absent"), scratch("never"), &err), -1);
	assert_false(there(scratch("never")));
	make_file(scratch("afile"), "x");
	assert_int_equal(tree_clone(scratch("afile"), scratch("never"), &err), -1);
	assert_false(there(scratch("never")));
	assert_false(there(scratch(".never.new")));
}

static char *fresh_tree(const char *path, const char *text)
{
	char *fresh = NULL;
	struct err err = {0};
	if (tree_fresh(path, &fresh, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(names_in(fresh), 0);
	make_tree(fresh, text);
	return fresh;
}

static void a_folder_is_replaced_as_a_whole(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("whole");
	char *fresh = fresh_tree(path, "first");
	assert_false(there(path));
	if (tree_replace(path, &fresh, &err) < 0)
		fail_msg("%s", err.msg);
	assert_null(fresh);
	assert_true(tree_is(path, "first"));
	make_file(below(path, "only in the first"), "");
	fresh = fresh_tree(path, "second");
	assert_true(tree_is(path, "first"));
	assert_int_equal(tree_replace(path, &fresh, &err), 0);
	assert_true(tree_is(path, "second"));
	assert_int_equal(names_in(path), 2);
	assert_false(there(scratch(".whole.new")));
}

static void what_a_killed_process_left_is_removed_first(void **state)
{
	(void)state;
	struct err err = {0};
	make_tree(scratch(".left.new"), "half");
	char *fresh = fresh_tree(scratch("left"), "all");
	assert_int_equal(tree_replace(scratch("left"), &fresh, &err), 0);
	assert_true(tree_is(scratch("left"), "all"));
}

static void a_file_is_not_replaced_by_a_folder(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("notafolder");
	make_file(path, "text");
	char *fresh = fresh_tree(path, "x");
	assert_int_equal(tree_replace(path, &fresh, &err), -1);
	assert_null(fresh);
	assert_true(file_is(path, "text"));
}

#ifdef GARNER_FAULTS

static void arm(const char *spec)
{
	struct err err = {0};
	if (fault_arm(spec, &err) < 0)
		fail_msg("%s", err.msg);
}

static int disarm(void **state)
{
	(void)state;
	struct err err;
	return fault_arm("", &err);
}

static void a_replacement_refused_anywhere_leaves_one_whole_tree(void **state)
{
	(void)state;
	static const char *const points[] = {"file.sync=eio", "file.rename=eio"};
	struct err err = {0};
	const char *path = scratch("refused");
	for (size_t p = 0; p < ARRAY_LEN(points); p++) {
		unsigned failures = 0;
		for (bool fired = true; fired;) {
			assert_true(tree_remove(path, &err) >= 0);
			make_tree(path, "old");
			char *fresh = fresh_tree(path, "new"), spec[64];
			snprintf(spec, sizeof spec, "%s@%u", points[p], failures + 1);
			arm(spec);
			int rc = tree_replace(path, &fresh, &err);
			fired = fault_fired() > 0;
			arm("");
			assert_int_equal(rc, fired ? -1 : 0);
			assert_true(tree_is(path, "new") || (fired && tree_is(path, "old")));
			failures += fired;
		}
		assert_int_equal(failures, p == 0 ? 7 : 1);
	}
}

static void a_clone_refused_anywhere_is_not_there(void **state)
{
	(void)state;
	static const char *const points[] = {"file.sync=eio", "file.rename=eio", "file.open=eio"};
	struct err err = {0};
	const char *from = scratch("cfrom"), *to = scratch("cto");
	make_tree(from, "x");
	for (size_t p = 0; p < ARRAY_LEN(points); p++) {
		unsigned n = 0;
		for (bool fired = true; fired; n++) {
			char spec[64];
			assert_true(tree_remove(to, &err) >= 0);
			snprintf(spec, sizeof spec, "%s@%u", points[p], n + 1);
			arm(spec);
			int rc = tree_clone(from, to, &err);
			fired = fault_fired() > 0;
			arm("");
			assert_int_equal(rc, fired ? -1 : 0);
			assert_true(there(to) ? tree_is(to, "x") : fired);
			assert_false(there(scratch(".cto.new")));
		}
		assert_true(n > 2);
	}
}

/* Kills a child at a point; returns whether it came there. */
static bool killed_at(const char *point, unsigned n, int (*job)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char spec[64];
		struct err err;
		snprintf(spec, sizeof spec, "%s=kill@%u", point, n);
		if (fault_arm(spec, &err) < 0)
			_exit(3);
		_exit(job() == 0 ? 0 : 4);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	else
		assert_int_equal(WTERMSIG(status), SIGKILL);
	return WIFSIGNALED(status);
}

static int replace_job(void)
{
	struct err err;
	char *fresh = NULL;
	if (tree_fresh(scratch("killed"), &fresh, &err) < 0)
		return -1;
	make_tree(fresh, "new");
	return tree_replace(scratch("killed"), &fresh, &err);
}

static int clone_job(void)
{
	struct err err;
	return tree_clone(scratch("killed"), scratch("killedclone"), &err);
}

static void killed_anywhere_a_replacement_is_done_or_not(void **state)
{
	(void)state;
	static const char *const points[] = {"file.sync", "tree.replace", "tree.replace.sync",
					     "tree.replace.remove", "tree.remove"};
	struct err err = {0};
	const char *path = scratch("killed");
	for (size_t p = 0; p < ARRAY_LEN(points); p++) {
		unsigned n = 0;
		for (bool killed = true; killed; n++) {
			assert_true(tree_remove(path, &err) >= 0);
			make_tree(path, "old");
			assert_true(tree_remove(scratch(".killed.new"), &err) >= 0);
			killed = killed_at(points[p], n + 1, replace_job);
			assert_true(tree_is(path, "new") || (killed && tree_is(path, "old")));
			assert_int_equal(replace_job(), 0);
			assert_true(tree_is(path, "new"));
			assert_false(there(scratch(".killed.new")));
		}
		assert_true(n > 1);
	}
}

static void killed_anywhere_a_clone_is_whole_or_not_there(void **state)
{
	(void)state;
	static const char *const points[] = {"tree.clone", "tree.clone.link", "tree.clone.rename",
					     "tree.clone.sync"};
	struct err err = {0};
	const char *from = scratch("killed"), *to = scratch("killedclone");
	assert_true(tree_remove(from, &err) >= 0);
	make_tree(from, "x");
	for (size_t p = 0; p < ARRAY_LEN(points); p++) {
		unsigned n = 0;
		for (bool killed = true; killed; n++) {
			assert_true(tree_remove(to, &err) >= 0);
			killed = killed_at(points[p], n + 1, clone_job);
			assert_true(there(to) ? tree_is(to, "x") : killed);
			assert_true(tree_is(from, "x"));
			if (!there(to))
				assert_int_equal(clone_job(), 0);
			assert_true(tree_is(to, "x"));
		}
		assert_true(n > 1);
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_removed_with_all_that_is_in_it),
		cmocka_unit_test(links_are_removed_and_never_followed),
		cmocka_unit_test(what_is_no_folder_of_its_own_is_not_removed),
		cmocka_unit_test(a_tree_too_deep_is_refused_with_its_place),
		cmocka_unit_test(an_error_names_the_folder_as_it_was_given),
		cmocka_unit_test(a_tree_is_not_cloned_into_itself),
		cmocka_unit_test(another_file_system_is_not_entered),
		cmocka_unit_test(a_clone_has_the_same_files_and_its_own_folders),
		cmocka_unit_test(a_clone_replaces_nothing),
		cmocka_unit_test(a_folder_is_replaced_as_a_whole),
		cmocka_unit_test(what_a_killed_process_left_is_removed_first),
		cmocka_unit_test(a_file_is_not_replaced_by_a_folder),
#ifdef GARNER_FAULTS
		cmocka_unit_test_teardown(a_replacement_refused_anywhere_leaves_one_whole_tree,
					  disarm),
		cmocka_unit_test_teardown(a_clone_refused_anywhere_is_not_there, disarm),
		cmocka_unit_test_teardown(killed_anywhere_a_replacement_is_done_or_not, disarm),
		cmocka_unit_test_teardown(killed_anywhere_a_clone_is_whole_or_not_there, disarm),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
