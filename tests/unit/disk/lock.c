#include "disk/lock.h"

#include "../scratch.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void a_lock_says_who_holds_it(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a, b;
	const char *path = scratch("named");
	assert_int_equal(lock_take(&a, path, "garner up", &err), 0);
	assert_int_equal(lock_take(&b, path, "garner qm", &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	char want[64];
	snprintf(want, sizeof want, "held by pid %d (garner up) since 20", (int)getpid());
	assert_non_null(strstr(err.msg, want));
	assert_non_null(strstr(err.msg, path));
	assert_null(strchr(err.msg, '\n'));
	int64_t pid = 0;
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, getpid());
	lock_free(&a);
}

static void a_lock_given_back_can_be_taken_again(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a;
	const char *path = scratch("again");
	int64_t pid = -5;
	assert_int_equal(lock_holder(path, &pid, &err), 1);
	assert_int_equal(lock_take(&a, path, "a name that is rather long", &err), 0);
	lock_free(&a);
	assert_int_equal(a.file.fd, -1);
	assert_int_equal(lock_holder(path, &pid, &err), 1);
	assert_int_equal(pid, -5);
	assert_int_equal(lock_take(&a, path, "short", &err), 0);
	struct lock b;
	assert_int_equal(lock_take(&b, path, "x", &err), -1);
	assert_non_null(strstr(err.msg, "(short)"));
	assert_null(strstr(err.msg, "long"));
	lock_free(&a);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
}

static void a_holder_that_has_not_spoken_is_still_one(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a, b;
	const char *path = scratch("silent");
	assert_int_equal(lock_take(&a, path, "x", &err), 0);
	assert_int_equal(file_truncate(&a.file, 0, &err), 0);
	int64_t pid = 5;
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, 0);
	assert_int_equal(lock_take(&b, path, "y", &err), -1);
	assert_non_null(strstr(err.msg, "not said its name"));
	assert_int_equal(file_write(&a.file, "pid 12x (", 9, 0, &err), 0);
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, 0);
	lock_free(&a);
}

static void an_overlong_name_is_cut(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a;
	char who[1000];
	memset(who, 'w', sizeof who - 1);
	who[sizeof who - 1] = 0;
	const char *path = scratch("overlong");
	assert_int_equal(lock_take(&a, path, who, &err), 0);
	int64_t pid = 0;
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, getpid());
	struct lock b;
	assert_int_equal(lock_take(&b, path, "x", &err), -1);
	assert_non_null(strstr(err.msg, "since 20"));
	lock_free(&a);
}

static void a_killed_process_frees_its_lock(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("killed");
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct lock mine;
		alarm(20);
		if (lock_take(&mine, path, "victim", &err) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	char c;
	assert_int_equal(read(ready[0], &c, 1), 1);
	struct lock l;
	assert_int_equal(lock_take(&l, path, "heir", &err), -1);
	int64_t holder = 0;
	assert_int_equal(lock_holder(path, &holder, &err), 0);
	assert_int_equal(holder, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(lock_holder(path, &holder, &err), 1);
	assert_int_equal(lock_take(&l, path, "heir", &err), 0);
	lock_free(&l);
	close(ready[0]);
	close(ready[1]);
}

static void a_lock_in_no_folder_is_a_clear_error(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock l = {.file = FILE_INIT};
	assert_int_equal(lock_take(&l, scratch("none/lock"), "x", &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.msg, "none/lock: open: No such file"));
	lock_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_says_who_holds_it),
		cmocka_unit_test(a_lock_given_back_can_be_taken_again),
		cmocka_unit_test(a_holder_that_has_not_spoken_is_still_one),
		cmocka_unit_test(an_overlong_name_is_cut),
		cmocka_unit_test(a_killed_process_frees_its_lock),
		cmocka_unit_test(a_lock_in_no_folder_is_a_clear_error),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
