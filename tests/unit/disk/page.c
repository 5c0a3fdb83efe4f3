#include "disk/page.h"

#include "../scratch.h"
#include "base/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char byte_at(uint64_t i)
{
	return (char)(i * 2654435761u >> 11);
}

static void write_file(const char *path, uint64_t n)
{
	struct err err;
	struct page_writer w;
	assert_int_equal(page_create(&w, path, 0600, NULL, &err), 0);
	char bytes[5000];
	for (uint64_t at = 0; at < n;) {
		size_t part = (size_t)MIN(n - at, (uint64_t)(at % 7 ? 5000 : 3));
		for (size_t i = 0; i < part; i++)
			bytes[i] = byte_at(at + i);
		page_put(&w, bytes, part);
		at += part;
	}
	assert_int_equal(page_finish(&w, true, &err), 0);
	page_drop(&w);
}

static struct page_file *open_file(const char *path)
{
	struct err err;
	struct page_file *f;
	assert_int_equal(page_open(&f, path, &err), 0);
	return f;
}

static uint64_t size_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static void flip(const char *path, uint64_t at)
{
	char c;
	int fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &c, 1, (off_t)at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
	close(fd);
}

static void what_is_put_is_got_at_every_size_around_pages(void **state)
{
	(void)state;
	const uint64_t sizes[] = {
		0, 1, 100, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 5 * PAGE_SIZE, 3 << 20};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct err err;
		uint64_t n = sizes[i], pages = (n + PAGE_SIZE - 1) / PAGE_SIZE;
		write_file(scratch("p"), n);
		assert_int_equal(size_of(scratch("p")), pages * (PAGE_SIZE + 4) + 32);
		struct page_file *f = open_file(scratch("p"));
		struct str s;
		assert_int_equal(page_bytes(f), n);
		assert_int_equal(page_get(f, 0, (size_t)n, &s, &err), 0);
		assert_int_equal(s.n, n);
		for (uint64_t k = 0; k < n; k++)
			if (s.p[k] != byte_at(k))
				fail_msg("byte %ju of %ju differs", (uintmax_t)k, (uintmax_t)n);
		assert_int_equal(page_get(f, n, 0, &s, &err), 0);
		assert_int_equal(page_get(f, n, 1, &s, &err), -1);
		assert_int_equal(page_get(f, n + 1, 0, &s, &err), -1);
		assert_int_equal(page_get(f, 1, SIZE_MAX, &s, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(page_verify(f, &err), 0);
		page_close(&f);
		page_close(&f);
	}
}

static void a_flipped_bit_is_found_where_it_is_and_only_there(void **state)
{
	(void)state;
	struct err err;
	struct str s;
	write_file(scratch("p"), 4 * PAGE_SIZE);
	for (uint64_t at = 2 * PAGE_SIZE; at < 3 * PAGE_SIZE; at += PAGE_SIZE - 1) {
		flip(scratch("p"), at);
		struct page_file *f = open_file(scratch("p"));
		assert_int_equal(page_get(f, 0, 2 * PAGE_SIZE, &s, &err), 0);
		assert_int_equal(page_get(f, 3 * PAGE_SIZE, PAGE_SIZE, &s, &err), 0);
		assert_int_equal(page_get(f, 2 * PAGE_SIZE - 1, 2, &s, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "page 2 (byte 32768)"));
		assert_int_equal(page_verify(f, &err), -1);
		page_close(&f);
		flip(scratch("p"), at);
	}
}

static void a_damaged_table_or_end_is_refused_at_every_byte(void **state)
{
	(void)state;
	struct err err;
	struct page_file *f;
	write_file(scratch("p"), 3 * PAGE_SIZE + 5);
	for (uint64_t at = 4 * PAGE_SIZE; at < size_of(scratch("p")); at++) {
		flip(scratch("p"), at);
		assert_int_equal(page_open(&f, scratch("p"), &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		flip(scratch("p"), at);
	}
	f = open_file(scratch("p"));
	page_close(&f);
}

static void a_file_that_was_cut_or_grew_is_refused(void **state)
{
	(void)state;
	struct err err;
	struct page_file *f;
	write_file(scratch("p"), PAGE_SIZE + 5);
	uint64_t size = size_of(scratch("p"));
	assert_int_equal(truncate(scratch("p"), (off_t)size + 1), 0);
	assert_int_equal(page_open(&f, scratch("p"), &err), -1);
	for (uint64_t n = size; n-- > 0; n -= MIN(n, n > 100 ? 97u : 0u)) {
		assert_int_equal(truncate(scratch("p"), (off_t)n), 0);
		assert_int_equal(page_open(&f, scratch("p"), &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	assert_int_equal(page_open(&f, scratch("none"), &err), 1);
}

static void a_file_cut_while_it_is_mapped_is_an_error_not_a_signal(void **state)
{
	(void)state;
	struct err err;
	struct str s, early;
	write_file(scratch("p"), 8 * PAGE_SIZE);
	write_file(scratch("q"), 2 * PAGE_SIZE);
	struct page_file *f = open_file(scratch("p")), *other = open_file(scratch("q"));
	assert_int_equal(page_get(f, 6 * PAGE_SIZE, PAGE_SIZE, &early, &err), 0);
	assert_int_equal(page_get(f, 0, PAGE_SIZE, &s, &err), 0);
	assert_int_equal(truncate(scratch("p"), 3 * PAGE_SIZE), 0);
	assert_int_equal(page_get(f, 0, PAGE_SIZE, &s, &err), 0);
	assert_int_equal(page_check(f, &err), 0);
	assert_int_equal(early.p[5], 0);
	assert_int_equal(page_check(f, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_int_equal(page_get(f, 0, PAGE_SIZE, &s, &err), -1);
	assert_int_equal(page_get(other, 0, PAGE_SIZE, &s, &err), 0);
	page_close(&f);
	f = NULL;

	write_file(scratch("p"), 8 * PAGE_SIZE);
	f = open_file(scratch("p"));
	assert_int_equal(truncate(scratch("p"), 3 * PAGE_SIZE), 0);
	assert_int_equal(page_get(f, 5 * PAGE_SIZE, 1, &s, &err), -1);
	assert_non_null(strstr(err.msg, "cannot be read any more"));
	page_close(&f);
	page_close(&other);
}

/* The mark of one file must not stay with the next that takes its place in the list. */
static void a_new_file_after_a_failed_one_is_good(void **state)
{
	(void)state;
	struct err err;
	struct str s;
	for (int i = 0; i < 3; i++) {
		write_file(scratch("p"), 4 * PAGE_SIZE);
		struct page_file *f = open_file(scratch("p"));
		assert_int_equal(page_get(f, 0, 4 * PAGE_SIZE, &s, &err), 0);
		assert_int_equal(truncate(scratch("p"), 0), 0);
		assert_int_equal(page_get(f, 0, 1, &s, &err), 0);
		assert_int_equal(s.p[0], 0);
		assert_int_equal(page_get(f, 0, 1, &s, &err), -1);
		page_close(&f);
	}
}

struct race {
	struct page_file *f;
	int rc;
};

static void *read_all(void *arg)
{
	struct race *r = arg;
	struct err err;
	struct str s;
	for (uint64_t at = 0; at + 100 <= page_bytes(r->f) && r->rc == 0; at += 1000) {
		r->rc = page_get(r->f, at, 100, &s, &err);
		for (size_t i = 0; i < 100 && r->rc == 0; i++)
			if (s.p[i] != byte_at(at + i))
				r->rc = page_check(r->f, &err) < 0 ? -1 : 2;
	}
	return NULL;
}

static void threads_read_one_file(void **state)
{
	(void)state;
	write_file(scratch("p"), 200 * PAGE_SIZE);
	for (int cut = 0; cut < 2; cut++) {
		pthread_t t[4];
		struct page_file *f = open_file(scratch("p"));
		struct race r[ARRAY_LEN(t)];
		if (cut)
			assert_int_equal(truncate(scratch("p"), 100 * PAGE_SIZE), 0);
		for (size_t i = 0; i < ARRAY_LEN(t); i++) {
			r[i] = (struct race){f, 0};
			pthread_create(&t[i], NULL, read_all, &r[i]);
		}
		for (size_t i = 0; i < ARRAY_LEN(t); i++) {
			pthread_join(t[i], NULL);
			assert_int_equal(r[i].rc, cut ? -1 : 0);
		}
		page_close(&f);
	}
}

static void exit_7(int number)
{
	(void)number;
	_exit(7);
}

/* In a child: a handler that was there before ours gets what is not ours; without one the process
 * ends as it would have. */
static int bus_error_elsewhere(void (*handler)(int))
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGBUS, handler);
		struct err err;
		struct page_file *f;
		struct str s;
		if (page_open(&f, scratch("p"), &err) != 0 || truncate(scratch("p"), 0) != 0)
			_exit(1);
		if (page_get(f, 0, 1, &s, &err) == 0)
			_exit(2);
		int fd = open(scratch("plain"), O_RDWR | O_CREAT | O_TRUNC, 0600);
		volatile char *p = ftruncate(fd, 4096) == 0
					   ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0)
					   : MAP_FAILED;
		if (p == MAP_FAILED || ftruncate(fd, 0) != 0)
			_exit(3);
		_exit(p[0] + 4);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int in_fresh_process(void (*handler)(int))
{
	write_file(scratch("p"), PAGE_SIZE);
	return bus_error_elsewhere(handler);
}

static void signals_from_elsewhere_go_where_they_went(void **state)
{
	(void)state;
	assert_int_equal(in_fresh_process(exit_7), 7);
	assert_int_equal(in_fresh_process(SIG_DFL), -SIGBUS);
}

static struct buf write_plain(const char *path, uint64_t n)
{
	struct err err;
	struct page_writer w;
	struct buf table;
	assert_int_equal(page_create(&w, path, 0600, NULL, &err), 0);
	for (uint64_t at = 0; at < n; at++) {
		char c = byte_at(at);
		page_put(&w, &c, 1);
	}
	assert_int_equal(page_finish_plain(&w, true, &table, &err), 0);
	assert_int_equal(table.n, page_count(n) * 4);
	assert_int_equal(size_of(path), n);
	return table;
}

static void a_plain_file_has_its_bytes_alone_and_checksums_elsewhere(void **state)
{
	(void)state;
	const uint64_t sizes[] = {0, 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE + 5};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct err err;
		struct str s;
		uint64_t n = sizes[i];
		struct page_file *f;
		struct buf table = write_plain(scratch("plain"), n);
		assert_int_equal(page_open_plain(&f, scratch("plain"), n, table.p, &err), 0);
		assert_int_equal(page_get(f, 0, (size_t)n, &s, &err), 0);
		for (uint64_t k = 0; k < n; k++)
			assert_int_equal(s.p[k], byte_at(k));
		assert_int_equal(page_get(f, n, 1, &s, &err), -1);
		assert_int_equal(page_verify(f, &err), 0);
		assert_int_equal(page_check(f, &err), 0);
		page_forget(f);
		page_want(f, 0, n);
		page_close(&f);
		assert_int_equal(page_open_plain(&f, scratch("plain"), n + 1, table.p, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		buf_free(&table);
	}
}

static void a_changed_byte_of_a_plain_file_is_found_by_its_table(void **state)
{
	(void)state;
	struct err err;
	struct str s;
	struct page_file *f;
	uint64_t n = 2 * PAGE_SIZE + 100;
	struct buf table = write_plain(scratch("plain"), n);
	const uint64_t places[] = {0, PAGE_SIZE, n - 1};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		flip(scratch("plain"), places[i]);
		assert_int_equal(page_open_plain(&f, scratch("plain"), n, table.p, &err), 0);
		assert_int_equal(page_get(f, places[i], 1, &s, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(page_verify(f, &err), -1);
		page_close(&f);
		/* without the table nobody can tell */
		assert_int_equal(page_open_plain(&f, scratch("plain"), n, NULL, &err), 0);
		assert_int_equal(page_get(f, 0, (size_t)n, &s, &err), 0);
		assert_int_equal(page_verify(f, &err), 0);
		page_close(&f);
		flip(scratch("plain"), places[i]);
	}
	buf_free(&table);
}

#ifdef GARNER_FAULTS
static void a_failure_of_any_write_is_said(void **state)
{
	(void)state;
	struct err err;
	const char *const faults[] = {"file.open=eio", "file.write=enospc", "file.sync=eio"};
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		for (int at = 1;; at++) {
			char spec[64];
			snprintf(spec, sizeof spec, "%s@%d", faults[i], at);
			assert_int_equal(fault_arm(spec, &err), 0);
			struct page_writer w;
			char bytes[1000] = {0};
			int rc = page_create(&w, scratch("w"), 0600, NULL, &err);
			for (int k = 0; k < 3000 && rc == 0; k++)
				page_put(&w, bytes, sizeof bytes);
			if (rc == 0)
				rc = page_finish(&w, true, &err);
			bool fired = fault_fired() > 0;
			assert_int_equal(fault_arm(NULL, &err), 0);
			assert_int_equal(rc, fired ? -1 : 0);
			if (!fired) {
				assert_true(at > 1);
				break;
			}
		}
	}
	struct page_file *f = NULL;
	assert_int_equal(fault_arm("file.read=eio", &err), 0);
	assert_int_equal(page_open(&f, scratch("w"), &err), -1);
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_null(f);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_from_elsewhere_go_where_they_went),
		cmocka_unit_test(what_is_put_is_got_at_every_size_around_pages),
		cmocka_unit_test(a_flipped_bit_is_found_where_it_is_and_only_there),
		cmocka_unit_test(a_damaged_table_or_end_is_refused_at_every_byte),
		cmocka_unit_test(a_file_that_was_cut_or_grew_is_refused),
		cmocka_unit_test(a_file_cut_while_it_is_mapped_is_an_error_not_a_signal),
		cmocka_unit_test(a_new_file_after_a_failed_one_is_good),
		cmocka_unit_test(threads_read_one_file),
		cmocka_unit_test(a_plain_file_has_its_bytes_alone_and_checksums_elsewhere),
		cmocka_unit_test(a_changed_byte_of_a_plain_file_is_found_by_its_table),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_failure_of_any_write_is_said),
#endif
	};
	return cmocka_run_group_tests_name("base/page", tests, scratch_make, scratch_done);
}
