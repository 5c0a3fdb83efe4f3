#include "disk/lock.h"

#include "../scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void a_lock_says_who_holds_it(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a, b;
	const char *path = scratch("named");
	assert_int_equal(lock_take(&a, path, &err), 0);
	assert_int_equal(lock_take(&b, path, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	char want[64];
	snprintf(want, sizeof want, ": held by pid %d (", (int)getpid());
	assert_non_null(strstr(err.msg, want));
	assert_non_null(strstr(err.msg, "unit-disk-lock"));
	assert_non_null(strstr(err.msg, path));
	assert_null(strchr(err.msg, '\n'));
	int64_t pid = 0;
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, getpid());
	lock_free(&a);
}

static void who_holds_a_folder_alone_is_named(void **state)
{
	(void)state;
	struct err err = {0};
	struct file alone, shared;
	const char *path = scratch("alone");
	char want[64];
	assert_int_equal(dir_make(path, DIR_MODE, &err), 0);
	assert_int_equal(lock_folder(&alone, path, LOCK_ALONE, &err), 0);
	assert_int_equal(lock_folder(&shared, path, LOCK_SHARED, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	snprintf(want, sizeof want, ": held by pid %d (", (int)getpid());
	assert_non_null(strstr(err.msg, want));
	file_drop(&alone);
	assert_int_equal(lock_folder(&shared, path, LOCK_SHARED, &err), 0);
	assert_int_equal(lock_folder(&alone, path, LOCK_ALONE, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	file_drop(&shared);
}

static void a_lock_given_back_can_be_taken_again(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a;
	const char *path = scratch("again");
	int64_t pid = -5;
	assert_int_equal(lock_holder(path, &pid, &err), 1);
	assert_int_equal(lock_take(&a, path, &err), 0);
	lock_free(&a);
	assert_int_equal(a.file.fd, -1);
	assert_int_equal(lock_holder(path, &pid, &err), 1);
	assert_int_equal(pid, -5);
	assert_int_equal(lock_take(&a, path, &err), 0);
	struct lock b;
	assert_int_equal(lock_take(&b, path, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	lock_free(&a);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void to_ask_for_a_holder_takes_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a;
	struct file asked;
	int64_t pid = 0;
	const char *path = scratch("asked");
	assert_int_equal(lock_take(&a, path, &err), 0);
	/* someone who is just reading who holds it, or a database in that folder */
	assert_int_equal(file_open(&asked, path, O_RDONLY, 0, &err), 0);
	struct flock name = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
	assert_int_equal(fcntl(asked.fd, F_OFD_SETLK, &name), 0);
	assert_int_equal(lock_holder(path, &pid, &err), 0);
	assert_int_equal(pid, getpid());
	lock_free(&a);
	assert_int_equal(lock_holder(path, &pid, &err), 1);
	assert_int_equal(lock_take(&a, path, &err), 0);
	lock_free(&a);
	file_drop(&asked);
}

static void what_is_in_a_locked_folder_can_be_opened_and_closed(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock a, b;
	struct file again;
	const char *path = scratch("full");
	assert_int_equal(lock_take(&a, path, &err), 0);
	assert_int_equal(file_open(&again, path, O_RDONLY, 0, &err), 0);
	file_drop(&again);
	assert_int_equal(dir_sync(path, &err), 0);
	assert_int_equal(lock_take(&b, path, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
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
		if (lock_take(&mine, path, &err) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	char c;
	assert_int_equal(read(ready[0], &c, 1), 1);
	struct lock l;
	assert_int_equal(lock_take(&l, path, &err), -1);
	int64_t holder = 0;
	assert_int_equal(lock_holder(path, &holder, &err), 0);
	assert_int_equal(holder, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(lock_holder(path, &holder, &err), 1);
	assert_int_equal(lock_take(&l, path, &err), 0);
	lock_free(&l);
	close(ready[0]);
	close(ready[1]);
}

static void a_lock_in_no_folder_is_a_clear_error(void **state)
{
	(void)state;
	struct err err = {0};
	struct lock l = {.file = FILE_INIT};
	assert_int_equal(lock_take(&l, scratch("none/lock"), &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.msg, "none/lock: cannot be made, to be locked: No such file"));
	lock_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_says_who_holds_it),
		cmocka_unit_test(who_holds_a_folder_alone_is_named),
		cmocka_unit_test(a_lock_given_back_can_be_taken_again),
		cmocka_unit_test(to_ask_for_a_holder_takes_nothing),
		cmocka_unit_test(what_is_in_a_locked_folder_can_be_opened_and_closed),
		cmocka_unit_test(a_killed_process_frees_its_lock),
		cmocka_unit_test(a_lock_in_no_folder_is_a_clear_error),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
