/* The registry cut anywhere, and with changed bytes: what was committed is there, or it is called
 * damaged; nothing else is ever told. */
#include "registry_unit.h"

#include "../dice.h"

#include "broker/registry_inner.h"

static const char *const names[] = {"registry", "registry.commit", "registry.tables"};

static const char *path_in(const char *folder, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return scratch(path);
}

/* Some commits, tables, and more commits. `folder` is closed well. */
static void make_registry(const char *folder, unsigned objects)
{
	struct registry *r = open_registry(scratch(folder));
	for (unsigned i = 0; i < objects; i++) {
		put_object(r, i % 24, i + 1, i + 1);
		if (i % 9 == 0)
			(void)drop_object(r, (i + 5) % 24);
		if (i % 10 == 9)
			commit_to(r, i);
	}
	commit_to(r, objects);
	registry_close(&r);
}

static uint64_t last_valid(const char *folder)
{
	struct registry *r = read_registry(scratch(folder));
	struct registry_stats stats;
	registry_stats(r, &stats);
	registry_close(&r);
	return stats.valid;
}

/* A killed writer leaves more than the last commit says, up to any byte. */
static void what_a_killed_writer_appended_is_cut_at_every_byte(void **state)
{
	(void)state;
	make_registry("tail", 30);
	struct buf before = bytes_of(path_in("tail", "registry"));
	struct registry *r = open_registry(scratch("tail"));
	put_object(r, 1, 100, 100);
	put_object(r, 30, 101, 101);
	commit_to(r, 100);
	registry_close(&r);
	struct buf after = bytes_of(path_in("tail", "registry"));
	/* the commit before that: what it had, and the bytes that came since */
	make_registry("tail_old", 30);
	for (size_t n = before.n; n <= after.n; n++) {
		struct registry_opened is;
		struct buf now = BUF_INIT(1 << 20);
		buf_add_str(&now, buf_str(&before));
		buf_add_str(&now, str_head(str_from(buf_str(&after), before.n), n - before.n));
		write_bytes(path_in("tail_old", "registry"), buf_str(&now));
		buf_free(&now);
		DONE(registry_open(&r, scratch("tail_old"), &unit_options, &is, &unit_err));
		assert_int_equal(is.cut, n - before.n);
		registry_close(&r);
		struct buf left = bytes_of(path_in("tail_old", "registry"));
		assert_true(str_eq(buf_str(&left), buf_str(&before)));
		buf_free(&left);
	}
	buf_free(&before);
	buf_free(&after);
}

static void a_registry_that_is_shorter_than_its_commit_is_refused(void **state)
{
	(void)state;
	make_registry("short", 12);
	struct buf whole = bytes_of(path_in("short", "registry"));
	for (size_t n = 0; n < whole.n; n++) {
		struct registry *r = NULL;
		struct err err = {0};
		write_bytes(path_in("short", "registry"), str_head(buf_str(&whole), n));
		assert_int_equal(registry_open(&r, scratch("short"), &unit_options, NULL, &err),
				 -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(registry_open_read(&r, scratch("short"), &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	buf_free(&whole);
}

/* The file is cut byte by byte below a reader, which has mapped it: an object is as it was, or it
 * is called damaged. */
static void a_registry_that_is_cut_while_it_is_read_tells_nothing_else(void **state)
{
	enum { OBJECTS = 400, CUTS = 1500 };
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object was[OBJECTS + 1];
	bool there[OBJECTS + 1] = {false};
	unsigned same = 0, damaged = 0;
	struct file f = FILE_INIT;
	(void)state;
	make_registry("cut", OBJECTS);
	struct registry *r = read_registry(scratch("cut"));
	assert_true(r->mapped > CUTS);
	for (uint32_t oid = 1; oid <= OBJECTS; oid++)
		there[oid] = registry_by_oid(r, oid, &arena, &was[oid], &unit_err) == 0;
	DONE(file_open(&f, path_in("cut", "registry"), O_RDWR, 0, &unit_err));
	for (unsigned cut = 0; cut < CUTS; cut++) {
		DONE(file_truncate(&f, r->mapped - cut, &unit_err));
		for (uint32_t oid = 1; oid <= OBJECTS; oid++) {
			struct arena_mark mark = arena_mark(&arena);
			struct registry_object now;
			struct err err = {0};
			if (!there[oid])
				continue;
			int rc = registry_by_oid(r, oid, &arena, &now, &err);
			assert_true(rc == 0 || (rc < 0 && err.code == ERR_DAMAGED));
			if (rc == 0)
				assert_same(&now, &was[oid]);
			same += rc == 0;
			damaged += rc < 0;
			arena_reset(&arena, mark);
		}
	}
	assert_true(same > 0 && damaged > 0);
	DONE(file_truncate(&f, 0, &unit_err));
	for (uint32_t oid = 1; oid <= OBJECTS; oid++) {
		struct registry_object now;
		struct err err = {0};
		if (there[oid])
			assert_int_equal(registry_by_oid(r, oid, &arena, &now, &err), -1);
	}
	file_drop(&f);
	registry_close(&r);
}

/* Commits as a killed writer leaves them: the file ends anywhere, with no mark after. */
static void commits_that_are_cut_leave_the_one_before(void **state)
{
	(void)state;
	make_registry("commits", 12);
	struct registry *r = open_registry(scratch("commits"));
	struct buf registry = bytes_of(path_in("commits", "registry"));
	struct buf before = bytes_of(path_in("commits", "registry.commit"));
	put_object(r, 30, 100, 100);
	commit_to(r, 100);
	struct buf after = bytes_of(path_in("commits", "registry.commit"));
	struct buf longer = bytes_of(path_in("commits", "registry"));
	registry_close(&r);
	uint64_t valid = last_valid("commits");
	size_t seen = 0;
	for (size_t n = before.n; n <= after.n; n++) {
		write_bytes(path_in("commits", "registry.commit"), str_head(buf_str(&after), n));
		write_bytes(path_in("commits", "registry"), buf_str(&longer));
		r = open_registry(scratch("commits"));
		DONE(registry_verify(r, &unit_err));
		registry_close(&r);
		uint64_t now = last_valid("commits");
		assert_int_equal(now, n == after.n ? valid : valid - 1);
		seen += now == valid;
	}
	assert_int_equal(seen, 1);
	buf_free(&registry);
	buf_free(&before);
	buf_free(&after);
	buf_free(&longer);
}

/* Whether a reader that opens and verifies says that something is damaged. */
static bool damage_found(const char *folder)
{
	struct registry *r = NULL;
	struct err err = {0};
	int rc = registry_open_read(&r, scratch(folder), &err);
	if (rc == 0)
		rc = registry_verify(r, &err);
	registry_close(&r);
	if (rc == 0)
		return false;
	assert_true(rc == 1 || err.code == ERR_DAMAGED || err.code == ERR_USAGE);
	return true;
}

static void change_byte(const char *folder, const char *name, struct buf *bytes, size_t at,
			uint8_t bits)
{
	bytes->p[at] = (char)(bytes->p[at] ^ bits);
	write_bytes(path_in(folder, name), buf_str(bytes));
	if (!damage_found(folder))
		fail_msg("%s: byte %zu ^ %02x is not found", name, at, bits);
	bytes->p[at] = (char)(bytes->p[at] ^ bits);
}

/* The mark at the end of registry.commit says that it was closed well, and nothing else. */
static size_t bytes_that_count(const char *name, const struct buf *bytes)
{
	return strcmp(name, "registry.commit") == 0 ? bytes->n - 32 : bytes->n;
}

static void a_changed_byte_is_found_wherever_it_is(void **state)
{
	(void)state;
	make_registry("bytes", 60);
	assert_false(damage_found("bytes"));
	uint64_t seed = 77;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf bytes = bytes_of(path_in("bytes", names[i]));
		size_t n = bytes_that_count(names[i], &bytes);
		/* of the padding of tables a part will do */
		size_t step = unit_thorough() ? 1 : i == 2 ? 61 : 9;
		for (size_t at = 0; at < n; at += step)
			change_byte("bytes", names[i], &bytes, at, (uint8_t)(1 << dice(&seed) % 8));
		write_bytes(path_in("bytes", names[i]), buf_str(&bytes));
		buf_free(&bytes);
		assert_false(damage_found("bytes"));
	}
}

/* Flags and counts are small: all their bits. */
static void a_changed_bit_of_a_flag_or_a_count_is_found(void **state)
{
	(void)state;
	make_registry("flags", 30);
	struct buf bytes = bytes_of(path_in("flags", "registry"));
	for (size_t at = 8; at < 20; at++)
		for (unsigned bit = 0; bit < 8; bit++)
			change_byte("flags", "registry", &bytes, at, (uint8_t)(1 << bit));
	uint32_t size;
	unsigned flagged = 0;
	for (size_t at = 20; at < bytes.n; at += 4 + be32toh(size)) {
		memcpy(&size, bytes.p + at, sizeof size);
		flagged += bytes.p[at + 11] == 1;
		for (unsigned bit = 0; bit < 32; bit++)
			change_byte("flags", "registry", &bytes, at + 8 + bit / 8,
				    (uint8_t)(1 << bit % 8));
	}
	assert_true(flagged > 5);
	buf_free(&bytes);
}

/* Flags that a killed writer did not set are set by the next one, also if it has to make the tables
 * again. */
static void check_missing_flags(unsigned objects, bool tables)
{
	make_registry("unset", objects);
	struct registry *r = open_registry(scratch("unset"));
	struct buf before = bytes_of(path_in("unset", "registry"));
	put_object(r, 1, 100, 100);
	put_object(r, 2, 101, 101);
	assert_int_equal(drop_object(r, 3), 0);
	commit_to(r, 100);
	struct buf commits = bytes_of(path_in("unset", "registry.commit"));
	struct buf after = bytes_of(path_in("unset", "registry"));
	registry_close(&r);
	struct buf now = BUF_INIT(1 << 20);
	buf_add_str(&now, buf_str(&before));
	buf_add_str(&now, str_from(buf_str(&after), before.n));
	write_bytes(path_in("unset", "registry"), buf_str(&now));
	write_bytes(path_in("unset", "registry.commit"), buf_str(&commits));
	assert_false(str_eq(buf_str(&now), buf_str(&after)));
	if (!tables)
		(void)unlink(path_in("unset", "registry.tables"));
	assert_false(damage_found("unset")); /* a reader knows that this may be */
	r = open_registry(scratch("unset"));
	DONE(registry_verify(r, &unit_err));
	registry_close(&r);
	buf_free(&now);
	now = bytes_of(path_in("unset", "registry"));
	assert_true(str_eq(buf_str(&now), buf_str(&after)));
	buf_free(&now);
	buf_free(&before);
	buf_free(&after);
	buf_free(&commits);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(path_in("unset", names[i]));
}

static void flags_that_are_missing_are_set_by_the_next_start(void **state)
{
	(void)state;
	check_missing_flags(24, true);
	check_missing_flags(60, true);
	check_missing_flags(60, false);
}

static void counts_of_no_commit_are_told_and_written_anew(void **state)
{
	(void)state;
	make_registry("counts", 24);
	struct buf before = bytes_of(path_in("counts", "registry"));
	struct registry *r = NULL;
	struct registry_opened is;
	for (size_t at = 8; at < 20; at++) {
		before.p[at] ^= 2;
		write_bytes(path_in("counts", "registry"), buf_str(&before));
		before.p[at] ^= 2;
		for (unsigned again = 0; again < 2; again++) {
			DONE(registry_open(&r, scratch("counts"), &unit_options, &is, &unit_err));
			assert_int_equal(is.miscounted, !again);
			registry_close(&r);
		}
		struct buf after = bytes_of(path_in("counts", "registry"));
		assert_true(str_eq(buf_str(&after), buf_str(&before)));
		buf_free(&after);
	}
	buf_free(&before);
}

static void one_file_without_the_other_is_refused(void **state)
{
	(void)state;
	make_registry("alone", 12);
	struct registry *r = NULL;
	struct err err = {0};
	for (unsigned i = 0; i < 2; i++) {
		struct buf bytes = bytes_of(path_in("alone", names[i]));
		assert_int_equal(unlink(path_in("alone", names[i])), 0);
		assert_int_equal(registry_open(&r, scratch("alone"), &unit_options, NULL, &err),
				 -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		write_bytes(path_in("alone", names[i]), buf_str(&bytes));
		buf_free(&bytes);
	}
	r = open_registry(scratch("alone"));
	registry_close(&r);
	/* a first start that was killed: an empty registry, and no commits yet */
	r = open_registry(scratch("first"));
	registry_close(&r);
	assert_int_equal(unlink(path_in("first", "registry.commit")), 0);
	r = open_registry(scratch("first"));
	registry_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_killed_writer_appended_is_cut_at_every_byte),
		cmocka_unit_test(a_registry_that_is_shorter_than_its_commit_is_refused),
		cmocka_unit_test(a_registry_that_is_cut_while_it_is_read_tells_nothing_else),
		cmocka_unit_test(commits_that_are_cut_leave_the_one_before),
		cmocka_unit_test(a_changed_byte_is_found_wherever_it_is),
		cmocka_unit_test(a_changed_bit_of_a_flag_or_a_count_is_found),
		cmocka_unit_test(flags_that_are_missing_are_set_by_the_next_start),
		cmocka_unit_test(counts_of_no_commit_are_told_and_written_anew),
		cmocka_unit_test(one_file_without_the_other_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
