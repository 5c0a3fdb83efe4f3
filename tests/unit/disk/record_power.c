/* Record files and power cuts. The calls that change a file go through a model of a disk: what is
 * written stays in memory, page by page, until it is synced; a cut leaves of each sector that was
 * not synced the old bytes or the new ones, and of the length any that it had. A sync that fails
 * leaves pages unwritten and forgets that they are, as systems do. At every step the power is cut
 * in several ways, and what is then on disk is opened: all that was told durable is there, in order
 * and once, and nothing needs a hand. */
#include "base/file.h"
#include "disk/record.h"

#include "../scratch.h"
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum {
	PAGE = 4096,
	SECTOR = 512,
	MOST = 4 << 20,
	PAGES = MOST / PAGE,
	LENGTHS = 64,
	LARGEST = 640 << 10
};

static const struct record_kind kind = {.magic = "GARNERPW", .version = 1, .most = 1 << 20};

static struct {
	bool on;
	ino_t inode;
	char *disk;               /* what a cut leaves for sure */
	uint64_t length[LENGTHS]; /* that the file had since the last sync; [0] is on disk */
	size_t nlengths;
	uint64_t used; /* the most that it ever had, in whole pages */
	bool dirty[PAGES];
	unsigned syncs_to_failure; /* 0: they do not fail */
	unsigned cuts;             /* ways in which the power is cut at each step */
	bool stuck;                /* the file cannot be shortened */
	uint32_t told, most;       /* records that must be there, and that may be */
	uint64_t seed, opened;
} model;

static uint64_t dice(uint64_t sides)
{
	model.seed ^= model.seed << 13;
	model.seed ^= model.seed >> 7;
	model.seed ^= model.seed << 17;
	return model.seed % sides;
}

/* Number i, and bytes that follow from it. */
static struct str numbered(uint32_t i, char p[LARGEST])
{
	size_t n = 4 + (i % 97 >= 95 ? 600 << 10 : i % 13 == 7 ? 5000 : i * 29 % 120);
	memcpy(p, &i, 4);
	for (size_t k = 4; k < n; k++)
		p[k] = (char)(i * 11 + k * 3);
	return (struct str){p, n};
}

/* Every record must be the next number. Returns how many there are. */
static uint32_t count(const char *path)
{
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	uint32_t n = 0;
	static char want[LARGEST];
	int rc = record_reader_open(&r, path, &kind, &err);
	while (rc == 0 && (rc = record_next(r, &record, &err)) == 0)
		if (!str_eq(record.payload, numbered(n++, want)))
			fail_msg("record %u is another one", n - 1);
	record_reader_free(&r);
	if (rc < 0)
		fail_msg("after %u: %s", n, err.msg);
	return n;
}

static char *read_now(int fd, uint64_t *ret_size)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	char *now = mem_alloc(model.used);
	assert_int_equal(pread(fd, now, model.used, 0), st.st_size);
	*ret_size = (uint64_t)st.st_size;
	return now;
}

/* What is on disk after a cut now: the lengths up to one of them, and some of the sectors. */
static void cut_power(int fd, const char *path)
{
	uint64_t size, luck = dice(4);
	char *now = read_now(fd, &size), *image = mem_copy(model.disk, model.used);
	size_t upto = (size_t)dice(model.nlengths);
	uint64_t length = model.length[0];
	for (size_t i = 1; i <= upto; i++) {
		length = model.length[i];
		if (length < model.length[i - 1])
			memset(image + length, 0, model.used - length);
	}
	for (size_t at = 0; at < model.used; at += SECTOR)
		if (model.dirty[at / PAGE] && dice(4) < luck)
			memcpy(image + at, now + at, SECTOR);
	struct file f;
	struct err err = {0};
	assert_int_equal(file_open(&f, path, O_RDWR | O_CREAT | O_TRUNC, 0644, &err), 0);
	assert_int_equal(file_write(&f, image, length, 0, &err), 0);
	file_drop(&f);
	mem_free(&now);
	mem_free(&image);
}

static void cut_and_look(int fd)
{
	model.on = false;
	for (unsigned i = 0; i < model.cuts; i++) {
		struct record_writer *w = NULL;
		struct err err = {0};
		const char *path = scratch("after");
		cut_power(fd, path);
		if (record_open(&w, path, &kind, 0644, NULL, &err) < 0)
			fail_msg("%s", err.msg);
		uint32_t n = count(path);
		if (n < model.told || n > model.most)
			fail_msg("%u were told, at most %u may be there, %u are", model.told,
				 model.most, n);
		record_drop(&w);
		model.opened++;
	}
	model.on = true;
}

static bool modelled(int fd)
{
	struct stat st;
	return model.on && fstat(fd, &st) == 0 && st.st_ino == model.inode;
}

static void touch(uint64_t from, uint64_t to)
{
	for (uint64_t page = from / PAGE; page * PAGE < to; page++)
		model.dirty[page] = true;
}

static void new_length(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	if (model.length[model.nlengths - 1] == (uint64_t)st.st_size)
		return;
	assert_true(model.nlengths < LENGTHS && st.st_size <= MOST);
	uint64_t pages = ((uint64_t)st.st_size + PAGE - 1) / PAGE;
	model.used = MAX(model.used, pages * PAGE);
	model.length[model.nlengths++] = (uint64_t)st.st_size;
}

/* These stand in the place of the C library's. */

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
	ssize_t rc = syscall(SYS_pwrite64, fd, p, n, offset);
	if (rc > 0 && modelled(fd)) {
		touch((uint64_t)offset, (uint64_t)(offset + rc));
		new_length(fd);
		cut_and_look(fd);
	}
	return rc;
}

int ftruncate(int fd, off_t size)
{
	if (model.stuck && modelled(fd)) {
		errno = EIO;
		return -1;
	}
	int rc = (int)syscall(SYS_ftruncate, fd, size);
	if (rc == 0 && modelled(fd)) {
		for (size_t page = (size_t)(size + PAGE - 1) / PAGE; page < PAGES; page++)
			model.dirty[page] = false;
		if (size % PAGE)
			touch((uint64_t)size, (uint64_t)size + 1);
		new_length(fd);
		cut_and_look(fd);
	}
	return rc;
}

int fdatasync(int fd)
{
	if (!modelled(fd))
		return 0; /* of the files that are only looked at */
	cut_and_look(fd);
	bool fails = model.syncs_to_failure && --model.syncs_to_failure == 0;
	model.stuck |= fails && dice(3) == 0;
	uint64_t size;
	char *now = read_now(fd, &size);
	for (size_t page = 0; page * PAGE < model.used; page++)
		if (model.dirty[page] && !(fails && dice(2)))
			memcpy(model.disk + page * PAGE, now + page * PAGE, PAGE);
	memset(model.dirty, 0, sizeof model.dirty);
	if (!fails) {
		memset(model.disk + size, 0, model.used - size);
		model.length[0] = size;
		model.nlengths = 1;
	}
	mem_free(&now);
	cut_and_look(fd);
	errno = EIO;
	return fails ? -1 : 0;
}

/* The life of a file */

static struct record_writer *open_file(const char *path)
{
	struct record_writer *w = NULL;
	struct err err = {0};
	while (record_open(&w, path, &kind, 0644, NULL, &err) < 0) {
		assert_int_equal(err.sys_errno, EIO);
		model.stuck = false;
	}
	return w;
}

/* A group of numbers from the last one told on; failed ones come again. Returns the place of the
 * first. */
static uint64_t append_group(struct record_writer *w, uint32_t n)
{
	struct record_group group = {0};
	struct record_place first = {0};
	struct err err = {0};
	static char payload[LARGEST];
	int rc = 0;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		rc = record_append(w, numbered(model.told + i, payload), &group, i ? NULL : &first,
				   &err);
		if (rc == 0) /* so what failed before was taken back */
			model.most = model.told + n;
	}
	if (rc == 0)
		rc = record_sync(w, &group, &err);
	if (rc == 0)
		model.told = model.most;
	else
		assert_int_equal(err.sys_errno, EIO);
	return rc == 0 ? first.at : 0;
}

static void cut_to(struct record_writer *w, uint64_t place, uint32_t records)
{
	struct err err = {0};
	model.told = records;
	while (record_truncate(w, place, &err) < 0) {
		assert_int_equal(err.sys_errno, EIO);
		model.stuck = false;
	}
	model.most = records;
}

/* Closes, or is killed, and opens again: all that is found is durable then. */
static void open_again(struct record_writer **w, const char *path)
{
	struct err err = {0};
	if (dice(2))
		record_drop(w);
	else
		(void)record_close(w, &err);
	model.stuck = false;
	*w = open_file(path);
	model.told = model.most = count(path);
}

static void live(const char *path, uint64_t seed, unsigned steps, unsigned cuts, bool failing)
{
	struct err err = {0};
	struct stat st;
	struct file f;
	assert_int_equal(file_open(&f, path, O_RDWR | O_CREAT, 0644, &err), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	file_drop(&f);
	memset(&model, 0, sizeof model);
	model.disk = mem_alloc(MOST);
	model.nlengths = 1;
	model.seed = seed * 0x9e3779b97f4a7c15u + 1;
	model.cuts = cuts;
	model.inode = st.st_ino;
	model.on = true;
	model.syncs_to_failure = failing;
	struct record_writer *w = open_file(path);
	for (unsigned i = 0; i < steps; i++) {
		if (failing && model.syncs_to_failure == 0)
			model.syncs_to_failure = 1 + (unsigned)dice(7);
		model.stuck = model.stuck && dice(2);
		uint32_t before = model.told;
		uint64_t what = dice(10), place = append_group(w, 1 + (uint32_t)dice(4));
		if (what == 0 && place)
			cut_to(w, place, before);
		else if (what == 1)
			open_again(&w, path);
	}
	model.syncs_to_failure = 0;
	model.stuck = false;
	(void)record_close(&w, &err);
	model.on = false;
	assert_true(count(path) >= model.told);
	mem_free(&model.disk);
}

/* Lives of a file, each with dice of its own. */
static uint64_t lives(void)
{
	return unit_thorough() ? 12 : 3;
}

static void a_power_cut_anywhere_keeps_what_was_told(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < lives(); seed++) {
		char name[32];
		snprintf(name, sizeof name, "power%u", (unsigned)seed);
		live(scratch(name), seed, 25, 3, false);
		assert_true(model.told > 10);
		assert_true(model.opened > 100);
	}
}

static void syncs_that_fail_and_power_cuts_keep_what_was_told(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < lives(); seed++) {
		char name[32];
		snprintf(name, sizeof name, "failing%u", (unsigned)seed);
		live(scratch(name), seed, 60, 3, true);
		assert_true(model.opened > 100);
	}
}

/* Records that fill several batches before they are synced. */
static void a_power_cut_in_a_large_group_keeps_what_was_told(void **state)
{
	(void)state;
	live(scratch("largegroup"), 77, 110, 1, false);
	assert_true(model.told > 97);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_cut_anywhere_keeps_what_was_told),
		cmocka_unit_test(syncs_that_fail_and_power_cuts_keep_what_was_told),
		cmocka_unit_test(a_power_cut_in_a_large_group_keeps_what_was_told),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
