#include "base/file.h"

#include "../scratch.h"
#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void make(const char *path, const char *text)
{
	struct file f;
	struct err err;
	assert_int_equal(file_open(&f, path, O_RDWR | O_CREAT | O_TRUNC, 0644, &err), 0);
	assert_int_equal(file_write(&f, text, strlen(text), 0, &err), 0);
	assert_int_equal(file_close(&f, &err), 0);
}

static void assert_holds(const char *path, const char *text)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err err = {0};
	assert_int_equal(file_slurp(path, &b, &err), 0);
	assert_string_equal(buf_text(&b), text);
	buf_free(&b);
}

static void what_is_written_is_read_back(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f;
	assert_int_equal(file_open(&f, scratch("rw"), O_RDWR | O_CREAT, 0644, &err), 0);
	assert_true(fcntl(f.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(file_write(&f, "hello", 5, 3, &err), 0);
	assert_int_equal(file_sync(&f, &err), 0);
	char p[16];
	size_t n = 99;
	assert_int_equal(file_read(&f, p, sizeof p, 0, &n, &err), 0);
	assert_int_equal(n, 8);
	assert_memory_equal(p, "\0\0\0hello", 8);
	assert_int_equal(file_read(&f, p, 2, 4, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_memory_equal(p, "el", 2);
	assert_int_equal(file_read(&f, p, sizeof p, 1000, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(file_write(&f, NULL, 0, 0, &err), 0);
	uint64_t size;
	assert_int_equal(file_truncate(&f, 4, &err), 0);
	assert_int_equal(file_size(&f, &size, &err), 0);
	assert_int_equal(size, 4);
	assert_int_equal(file_close(&f, &err), 0);
	assert_int_equal(f.fd, -1);
	assert_null(f.path);
	assert_int_equal(file_close(&f, &err), 0);
	file_drop(&f);
}

static void a_file_that_is_not_there_is_nothing_or_an_error(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f = FILE_INIT;
	struct buf b = BUF_INIT(10);
	struct dir d;
	assert_int_equal(file_open(&f, scratch("absent"), O_RDONLY, 0, &err), 1);
	assert_int_equal(f.fd, -1);
	assert_int_equal(file_slurp(scratch("absent"), &b, &err), 1);
	assert_int_equal(file_remove(scratch("absent"), &err), 1);
	assert_int_equal(dir_init(&d, scratch("absent"), &err), 1);
	struct dir_walk *w = NULL;
	assert_int_equal(dir_walk_open(&w, scratch("absent"), &err), 1);
	dir_walk_close(&w);
	assert_int_equal(file_open(&f, scratch("absent/x"), O_RDWR | O_CREAT, 0644, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(file_rename(scratch("absent"), scratch("other"), &err), -1);
	assert_non_null(strstr(err.msg, "absent: rename to "));
	assert_int_equal(dir_sync(scratch("absent"), &err), -1);
}

static void errors_name_path_and_offset(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f;
	char p[4];
	size_t n = 77;
	make(scratch("ro"), "abc");
	assert_int_equal(file_open(&f, scratch("ro"), O_RDONLY, 0, &err), 0);
	assert_int_equal(file_write(&f, "xy", 2, 1234, &err), -1);
	assert_non_null(strstr(err.msg, "/ro: write of 2 bytes at 1234: "));
	assert_int_equal(err.sys_errno, EBADF);
	assert_int_equal(file_read(&f, p, 4, UINT64_MAX, &n, &err), -1);
	assert_non_null(strstr(err.msg, "/ro: read of 4 bytes at 18446744073709551615: "));
	assert_int_equal(n, 77);
	assert_int_equal(file_truncate(&f, 10, &err), -1);
	assert_non_null(strstr(err.msg, "/ro: cut to 10 bytes: "));
	file_drop(&f);
}

/* The kernel cuts the write at the limit, so the first call is short and the second is refused. */
static void a_write_that_the_system_cuts_short_fails(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f;
	struct rlimit old, low;
	assert_int_equal(file_open(&f, scratch("limit"), O_RDWR | O_CREAT, 0644, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 6;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	int rc = file_write(&f, "0123456789", 10, 0, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(rc, -1);
	assert_int_equal(err.sys_errno, EFBIG);
	file_drop(&f);
	assert_holds(scratch("limit"), "012345");
}

static void allocation_gives_blocks_and_keeps_what_is_there(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f;
	struct stat st;
	make(scratch("blocks"), "abc");
	assert_int_equal(file_open(&f, scratch("blocks"), O_RDWR, 0, &err), 0);
	assert_int_equal(file_allocate(&f, 0, &err), 0);
	assert_int_equal(file_allocate(&f, 100000, &err), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_size, 100000);
	assert_true((uint64_t)st.st_blocks * 512 >= 100000);
	char p[4];
	size_t n;
	assert_int_equal(file_read(&f, p, 4, 0, &n, &err), 0);
	assert_memory_equal(p, "abc\0", 4);
	assert_int_equal(file_allocate(&f, UINT64_MAX, &err), -1);
	file_drop(&f);
}

static void the_space_of_a_file_system_is_told(void **state)
{
	(void)state;
	struct err err = {0};
	uint64_t is_free = UINT64_MAX, total = 0, again;
	assert_int_equal(file_space(scratch(""), &is_free, &total, &err), 0);
	assert_true(total > 0 && is_free <= total);
	assert_int_equal(file_space(scratch(""), &again, NULL, &err), 0);
	assert_int_equal(file_space(scratch("nowhere"), &again, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "nowhere: free space"));
}

static void slurp_takes_whole_files_up_to_the_limit(void **state)
{
	(void)state;
	struct err err = {0};
	struct buf b = BUF_INIT(10);
	make(scratch("ten"), "0123456789");
	assert_int_equal(file_slurp(scratch("ten"), &b, &err), 0);
	assert_string_equal(buf_text(&b), "0123456789");
	buf_clear(&b);
	buf_add_text(&b, "a");
	assert_int_equal(file_slurp(scratch("ten"), &b, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "/ten: longer than the 10 bytes allowed"));
	assert_string_equal(buf_text(&b), "a");
	assert_false(b.over);
	make(scratch("nothing"), "");
	assert_int_equal(file_slurp(scratch("nothing"), &b, &err), 0);
	assert_string_equal(buf_text(&b), "a");
	assert_int_equal(file_slurp(scratch_dir, &b, &err), -1);
	assert_int_equal(err.sys_errno, EISDIR);
	buf_free(&b);
	struct buf none = BUF_INIT(0);
	assert_int_equal(file_slurp(scratch("nothing"), &none, &err), 0);
	assert_int_equal(file_slurp(scratch("ten"), &none, &err), -1);
	buf_free(&none);
}

static void slurp_refuses_a_pipe_and_does_not_wait_for_its_writer(void **state)
{
	(void)state;
	struct buf b = BUF_INIT(100);
	struct err err = {0};
	assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);
	alarm(10);
	assert_int_equal(file_slurp(scratch("pipe"), &b, &err), -1);
	alarm(0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "pipe: a pipe, expected a file"));
	buf_free(&b);
}

static void slurp_reads_files_without_a_size(void **state)
{
	(void)state;
	struct err err = {0};
	struct buf b = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp("/proc/self/status", &b, &err), 0);
	assert_true(str_starts(buf_str(&b), STR("Name:")));
	buf_free(&b);
	struct buf small = BUF_INIT(20);
	assert_int_equal(file_slurp("/proc/self/status", &small, &err), -1);
	assert_int_equal(small.n, 0);
	buf_free(&small);
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

static void a_folder_is_walked_name_by_name_while_they_go(void **state)
{
	(void)state;
	enum { MANY = 300 };
	const char *folder = scratch("walk");
	struct err err = {0};
	struct dir_walk *w = NULL;
	const char *name;
	char path[512];
	bool seen[MANY] = {false};
	unsigned n = 0;
	assert_int_equal(dir_make(folder, 0755, &err), 0);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "%s/%03u", folder, i);
		make(path, "");
	}
	assert_int_equal(dir_walk_open(&w, folder, &err), 0);
	while (dir_walk_next(w, &name, &err) == 0) {
		unsigned i = (unsigned)strtoul(name, NULL, 10);
		assert_true(strlen(name) == 3 && i < MANY && !seen[i]);
		seen[i] = true;
		n++;
		snprintf(path, sizeof path, "%s/%s", folder, name);
		assert_int_equal(file_remove(path, &err), 0);
	}
	assert_int_equal(n, MANY);
	dir_walk_close(&w);
	assert_null(w);
	assert_int_equal(names_in(folder), 0);
}

static void replace_makes_and_replaces(void **state)
{
	(void)state;
	struct err err = {0};
	const char *folder = scratch("replace"), *path = scratch("replace/file");
	assert_int_equal(dir_make(folder, 0755, &err), 0);
	assert_int_equal(file_replace(path, STR("one"), 0600, &err), 0);
	assert_holds(path, "one");
	assert_int_equal(file_replace(path, STR(""), 0640, &err), 0);
	assert_holds(path, "");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(names_in(folder), 1);
	assert_int_equal(file_replace(scratch("nowhere/file"), STR("x"), 0644, &err), -1);
}

static void replace_works_on_a_name_without_folder(void **state)
{
	(void)state;
	struct err err = {0};
	char old[4096];
	assert_non_null(getcwd(old, sizeof old));
	assert_int_equal(chdir(scratch_dir), 0);
	assert_int_equal(file_replace("bare", STR("x"), 0644, &err), 0);
	assert_int_equal(dir_make("bare.d/sub//deep/", 0755, &err), 0);
	assert_int_equal(names_in("bare.d/sub"), 1);
	assert_int_equal(chdir(old), 0);
	assert_holds(scratch("bare"), "x");
}

static void folders_are_made_with_their_parents(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(dir_make(scratch("p/q/r"), 0755, &err), 0);
	assert_int_equal(dir_make(scratch("p/q/r"), 0755, &err), 0);
	assert_int_equal(names_in(scratch("p/q/r")), 0);
	make(scratch("p/file"), "x");
	assert_int_equal(dir_make(scratch("p/file"), 0755, &err), -1);
	assert_int_equal(err.sys_errno, ENOTDIR);
	assert_int_equal(dir_make(scratch("p/file/below"), 0755, &err), -1);
	assert_int_equal(err.sys_errno, ENOTDIR);
	assert_int_equal(dir_make("/", 0755, &err), 0);
	assert_int_equal(dir_make_unsynced(scratch("p/s/t"), 0755, &err), 0);
	assert_int_equal(names_in(scratch("p/s/t")), 0);
}

static void names_come_sorted(void **state)
{
	(void)state;
	struct err err = {0};
	assert_int_equal(dir_make(scratch("names"), 0755, &err), 0);
	char path[64];
	for (int i = 99; i >= 0; i--) {
		snprintf(path, sizeof path, "names/%02d", i * 37 % 100);
		make(scratch(path), "");
	}
	struct dir d;
	const char *name;
	assert_int_equal(dir_init(&d, scratch("names"), &err), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(dir_next(&d, &name), 0);
		snprintf(path, sizeof path, "%02d", i);
		assert_string_equal(name, path);
	}
	assert_int_equal(dir_next(&d, &name), 1);
	dir_done(&d);
	make(scratch("plain"), "");
	assert_int_equal(dir_init(&d, scratch("plain"), &err), -1);
	assert_int_equal(err.sys_errno, ENOTDIR);
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

static void a_folder_that_is_synced_later_waits_for_no_sync(void **state)
{
	(void)state;
	struct err err = {0};
	arm("file.sync=eio@1+");
	assert_int_equal(dir_make_unsynced(scratch("later/a/b"), 0755, &err), 0);
	assert_int_equal(names_in(scratch("later/a/b")), 0);
	assert_int_equal(dir_make(scratch("later/c"), 0755, &err), -1);
}

static void every_call_can_be_made_to_fail(void **state)
{
	(void)state;
	struct err err = {0};
	struct file f;
	char p[4];
	size_t n;
	make(scratch("fail"), "abc");
	arm("file.open=eio");
	assert_int_equal(file_open(&f, scratch("fail"), O_RDWR, 0, &err), -1);
	assert_int_equal(err.sys_errno, EIO);
	assert_int_equal(file_open(&f, scratch("fail"), O_RDWR, 0, &err), 0);
	arm("file.read=eio,file.write=enospc,file.sync=eio,file.truncate=eio,file.rename=eio");
	assert_int_equal(file_read(&f, p, 3, 0, &n, &err), -1);
	assert_int_equal(file_write(&f, "xyz", 3, 0, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(file_sync(&f, &err), -1);
	assert_int_equal(err.sys_errno, EIO);
	assert_int_equal(file_truncate(&f, 0, &err), -1);
	assert_int_equal(file_rename(scratch("fail"), scratch("failed"), &err), -1);
	assert_int_equal(fault_fired(), 5);
	assert_holds(scratch("fail"), "abc");
	arm("file.write=enospc");
	assert_int_equal(file_allocate(&f, 1000, &err), -1);
	arm("file.write=short");
	assert_int_equal(file_write(&f, "wxyz", 4, 0, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_holds(scratch("fail"), "wxc");
	file_drop(&f);
}

static void a_replacement_that_fails_leaves_the_old_file_alone(void **state)
{
	(void)state;
	static const char *const steps[] = {"file.open=eio",    "file.write=enospc",
					    "file.write=short", "file.write=eio",
					    "file.sync=eio",    "file.rename=eio"};
	struct err err = {0};
	const char *folder = scratch("keep"), *path = scratch("keep/file");
	assert_int_equal(dir_make(folder, 0755, &err), 0);
	make(path, "old");
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		arm(steps[i]);
		assert_int_equal(file_replace(path, STR("something new"), 0644, &err), -1);
		arm("");
		assert_holds(path, "old");
		assert_int_equal(names_in(folder), 1);
	}
	arm("file.sync=eio@2");
	assert_int_equal(file_replace(path, STR("new"), 0644, &err), -1);
	assert_int_equal(fault_fired(), 1);
	arm("");
	assert_holds(path, "new");
}

#endif

static void a_pipe_is_read_as_it_comes(void **state)
{
	(void)state;
	int ends[2];
	char p[16];
	size_t n = 99;
	struct err err = {0};
	assert_int_equal(0, pipe(ends));
	struct file f = {.fd = ends[0], .path = (char *)"pipe"};
	assert_int_equal(3, write(ends[1], "abc", 3));
	assert_int_equal(0, file_read_next(&f, p, 2, &n, &err));
	assert_int_equal(2, n);
	assert_int_equal(0, file_read_next(&f, p, sizeof p, &n, &err));
	assert_int_equal(1, n);
	assert_int_equal('c', p[0]);
	close(ends[1]);
	assert_int_equal(0, file_read_next(&f, p, sizeof p, &n, &err));
	assert_int_equal(0, n);
	close(ends[0]);
	assert_true(file_read_next(&f, p, sizeof p, &n, &err) < 0);
	assert_string_equal("pipe: read: Bad file descriptor", err.msg);
}

static void a_file_gets_a_second_name(void **state)
{
	(void)state;
	struct err err;
	struct buf b = BUF_INIT(64);
	(void)unlink(scratch("second"));
	assert_int_equal(0, file_replace(scratch("first"), STR("bytes"), 0644, &err));
	assert_int_equal(0, file_link(scratch("first"), scratch("second"), &err));
	assert_int_equal(0, file_slurp(scratch("second"), &b, &err));
	assert_string_equal("bytes", buf_text(&b));
	assert_true(file_link(scratch("first"), scratch("second"), &err) < 0);
	assert_int_equal(1, file_link(scratch("none"), scratch("third"), &err));
	buf_free(&b);
}

static void a_file_that_is_written_or_replaced_has_changed(void **state)
{
	struct stat seen = {0};
	struct err err;
	(void)state;
	const char *path = scratch("watched");
	assert_int_equal(1, file_changed(path, &seen, &err));
	assert_int_equal(0, file_replace(path, STR("one"), 0644, &err));
	assert_int_equal(0, file_changed(path, &seen, &err));
	assert_int_equal(1, file_changed(path, &seen, &err));
	assert_int_equal(0, file_replace(path, STR("two"), 0644, &err));
	assert_int_equal(0, file_changed(path, &seen, &err));
	assert_int_equal(0, truncate(path, 1));
	assert_int_equal(0, file_changed(path, &seen, &err));
	assert_int_equal(0, unlink(path));
	assert_int_equal(0, file_changed(path, &seen, &err));
	assert_int_equal(1, file_changed(scratch("watched/below"), &seen, &err));
}

static void a_file_is_in_use_while_somebody_writes_and_for_a_while_after(void **state)
{
	struct file reader, writer;
	struct err err;
	int64_t now_us;
	(void)state;
	make(scratch("used"), "text");
	now_us = clock_wall_us();
	assert_int_equal(file_open(&reader, scratch("used"), O_RDONLY, 0, &err), 0);
	assert_int_equal(file_in_use(&reader, now_us - US_PER_MIN, &err), 1);
	assert_int_equal(file_in_use(&reader, now_us, &err), 0);
	assert_int_equal(file_open(&writer, scratch("used"), O_WRONLY | O_APPEND, 0, &err), 0);
	assert_int_equal(file_in_use(&reader, now_us, &err), 1);
	file_drop(&writer);
	assert_int_equal(file_in_use(&reader, now_us, &err), 0);
	file_drop(&reader);
	assert_int_equal(file_open(&reader, scratch("."), O_RDONLY, 0, &err), 0);
	assert_int_equal(file_in_use(&reader, now_us, &err), -1); /* what has no leases */
	file_drop(&reader);
}

static void a_link_is_made_and_replaced_in_one_step(void **state)
{
	(void)state;
	struct err err;
	char to[16] = {0};
	assert_int_equal(0, file_point(scratch("pointer"), "there", &err));
	assert_int_equal(0, file_point(scratch("pointer"), "elsewhere", &err));
	assert_int_equal(9, readlink(scratch("pointer"), to, sizeof to));
	assert_string_equal("elsewhere", to);
}

static void nothing_is_written_through_a_link(void **state)
{
	(void)state;
	static const int flags[] = {O_WRONLY, O_RDWR, O_RDWR | O_CREAT,
				    O_WRONLY | O_CREAT | O_TRUNC};
	struct file f, again;
	struct err err = {0};
	char byte;
	size_t n;
	make(scratch("elsewhere"), "kept");
	assert_int_equal(symlink("elsewhere", scratch("to_file")), 0);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		assert_int_equal(file_open(&f, scratch("to_file"), flags[i], 0644, &err), -1);
		assert_non_null(strstr(err.msg, "to_file: is a symbolic link"));
	}
	assert_int_equal(file_open(&f, scratch("to_file"), O_RDONLY, 0, &err), 0);
	assert_int_equal(file_reopen(&f, O_RDWR, &again, &err), 0); /* this one is no name */
	assert_int_equal(file_read(&again, &byte, 1, 0, &n, &err), 0);
	assert_int_equal(byte, 'k');
	file_drop(&f);
	file_drop(&again);
	assert_holds(scratch("elsewhere"), "kept");
}

static void a_folder_of_ours_is_not_a_link(void **state)
{
	(void)state;
	struct dir d;
	struct dir_walk *w;
	struct err err = {0};
	assert_int_equal(dir_make(scratch("folder"), 0755, &err), 0);
	assert_int_equal(symlink("folder", scratch("to_folder")), 0);
	assert_int_equal(dir_init_own(&d, scratch("to_folder"), &err), -1);
	assert_non_null(strstr(err.msg, "to_folder: is a symbolic link"));
	assert_int_equal(dir_walk_open(&w, scratch("to_folder"), &err), -1);
	assert_int_equal(dir_init_own(&d, scratch("no_folder"), &err), 1);
	assert_int_equal(dir_init_own(&d, scratch("folder"), &err), 0);
	dir_done(&d);
	assert_int_equal(dir_init(&d, scratch("to_folder"), &err), 0);
	dir_done(&d);
}

static void what_a_killed_writer_left_is_known_by_its_name(void **state)
{
	(void)state;
	pid_t gone = fork();
	int status;
	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, &status, 0), gone);
	const struct {
		const char *before, *after;
		pid_t thread;
		bool left;
	} names[] = {
		{".up.conf.tmp.", "", gone, true},    {".tmp.", "", gone, true},
		{".a.tmp.1.tmp.", "", gone, true},    {".up.conf.tmp.", "", getpid(), false},
		{"up.conf.tmp.", "", gone, false},    {".up.conf.tmp.", "x", gone, false},
		{".up.conf.tmp.x", "", gone, false},  {".up.conf.", "", gone, false},
		{".up.tmp.9999999", "", gone, false}, {".up.conf.tmp.", ".tmp.", gone, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char name[64];
		snprintf(name, sizeof name, "%s%d%s", names[i].before, (int)names[i].thread,
			 names[i].after);
		if (file_is_left(name) != names[i].left)
			fail_msg("%s", name);
	}
}

static void a_path_is_below_the_folder_unless_it_is_absolute(void **state)
{
	char path[PATH_MAX], longest[PATH_MAX + 1];
	struct err err;
	(void)state;
	assert_int_equal(file_below("/data", "a/b", path, &err), 0);
	assert_string_equal(path, "/data/a/b");
	assert_int_equal(file_below("/data", "/a/b", path, &err), 0);
	assert_string_equal(path, "/a/b");
	memset(longest, 'x', sizeof longest);
	longest[PATH_MAX - 1] = 0;
	assert_int_equal(file_below("/data", longest, path, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_file_that_is_not_there_is_nothing_or_an_error),
		cmocka_unit_test(a_pipe_is_read_as_it_comes),
		cmocka_unit_test(errors_name_path_and_offset),
		cmocka_unit_test(a_write_that_the_system_cuts_short_fails),
		cmocka_unit_test(allocation_gives_blocks_and_keeps_what_is_there),
		cmocka_unit_test(the_space_of_a_file_system_is_told),
		cmocka_unit_test(slurp_takes_whole_files_up_to_the_limit),
		cmocka_unit_test(slurp_refuses_a_pipe_and_does_not_wait_for_its_writer),
		cmocka_unit_test(slurp_reads_files_without_a_size),
		cmocka_unit_test(a_file_gets_a_second_name),
		cmocka_unit_test(a_file_that_is_written_or_replaced_has_changed),
		cmocka_unit_test(a_file_is_in_use_while_somebody_writes_and_for_a_while_after),
		cmocka_unit_test(a_link_is_made_and_replaced_in_one_step),
		cmocka_unit_test(a_folder_is_walked_name_by_name_while_they_go),
		cmocka_unit_test(replace_makes_and_replaces),
		cmocka_unit_test(replace_works_on_a_name_without_folder),
		cmocka_unit_test(folders_are_made_with_their_parents),
		cmocka_unit_test(names_come_sorted),
		cmocka_unit_test(nothing_is_written_through_a_link),
		cmocka_unit_test(a_path_is_below_the_folder_unless_it_is_absolute),
		cmocka_unit_test(a_folder_of_ours_is_not_a_link),
		cmocka_unit_test(what_a_killed_writer_left_is_known_by_its_name),
#ifdef GARNER_FAULTS
		cmocka_unit_test_teardown(a_folder_that_is_synced_later_waits_for_no_sync, disarm),
		cmocka_unit_test_teardown(every_call_can_be_made_to_fail, disarm),
		cmocka_unit_test_teardown(a_replacement_that_fails_leaves_the_old_file_alone,
					  disarm),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
