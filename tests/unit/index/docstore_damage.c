/* Stores that were cut, changed or refused: what is read is right, or it is an error. */
#include "../unit.h"
#include "docstore_unit.h"

#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { DOCS = 40, SYNCS = 8 };

/* Bytes are cut off and changed one by one in `make prove`, or a few at a time. */
static uint64_t byte_step(void)
{
	return unit_thorough() ? 1 : 5;
}

struct made {
	struct docaddr at[DOCS];
};

/* Small documents in several blocks, some of them deleted, some of them moved. */
static struct made make(const char *folder)
{
	struct err err = {0};
	struct made m = {0};
	struct docstore *ds = store_open(folder);
	for (uint32_t i = 0; i < DOCS; i++) {
		m.at[i] = doc_put(ds, i);
		if (i % (DOCS / SYNCS) == 0)
			store_sync(ds);
		if (i % 4 == 3)
			assert_int_equal(docstore_delete(ds, m.at[i], &err), 0);
	}
	store_sync(ds);
	docstore_close(&ds);
	return m;
}

static void change_byte(const char *path, uint64_t at, uint8_t bits)
{
	char c = 0;
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0 && pread(fd, &c, 1, (off_t)at) == 1);
	c = (char)(c ^ bits);
	assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
	close(fd);
}

static uint64_t size_of(const char *path)
{
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	off_t n = lseek(fd, 0, SEEK_END);
	close(fd);
	return (uint64_t)n;
}

/* Every document is right, deleted, or damaged; how many are right. */
static unsigned look_at(struct docstore *ds, const struct made *m)
{
	unsigned right = 0;
	for (uint32_t i = 0; i < DOCS; i++) {
		struct err err = {0};
		int rc = doc_look(ds, m->at[i], i, &err);
		if (rc < 0)
			assert_int_equal(err.code, ERR_DAMAGED);
		right += rc == 0;
	}
	return right;
}

static void a_changed_byte_of_a_file_never_becomes_another_document(void **state)
{
	(void)state;
	struct made m = make(scratch("a"));
	const char *path = scratch("b/00000001.docs");
	uint64_t size = size_of(scratch("a/00000001.docs")), seed = 9;
	store_copy(scratch("a"), scratch("b"));
	for (uint64_t at = 0; at < size; at += 1 + dice(&seed) % (7 * byte_step())) {
		struct err err = {0};
		uint8_t bits = (uint8_t)(1 + dice(&seed) % 255);
		change_byte(path, at, bits);
		struct docstore *ds = store_read(scratch("b"));
		assert_true(look_at(ds, &m) < DOCS * 3 / 4);
		assert_int_equal(docstore_verify(ds, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(format_verify(&docstore_format, path, &err), -1);
		docstore_close(&ds);
		change_byte(path, at, bits);
	}
	struct docstore *ds = store_read(scratch("b"));
	assert_int_equal(look_at(ds, &m), DOCS * 3 / 4);
	docstore_close(&ds);
}

static void a_file_cut_at_any_byte_loses_what_follows_and_says_so(void **state)
{
	(void)state;
	struct made m = make(scratch("c"));
	const char *path = scratch("d/00000001.docs");
	uint64_t size = size_of(scratch("c/00000001.docs"));
	unsigned before = DOCS;
	store_copy(scratch("c"), scratch("d"));
	for (uint64_t n = size; n > 0;) {
		n -= MIN(n, byte_step());
		struct err err = {0};
		assert_int_equal(truncate(path, (off_t)n), 0);
		struct docstore *ds = store_read(scratch("d"));
		unsigned right = look_at(ds, &m);
		assert_true(right <= before);
		before = right;
		assert_int_equal(docstore_verify(ds, &err), -1);
		docstore_close(&ds);
	}
	assert_int_equal(before, 0);
	/* A writer takes new documents all the same. */
	struct docstore *ds = store_open(scratch("d"));
	struct docaddr addr = doc_put(ds, 1);
	store_sync(ds);
	doc_there(ds, addr, 1);
	docstore_close(&ds);
}

static void a_ledger_cut_at_any_byte_leaves_whole_syncs(void **state)
{
	(void)state;
	struct made m = make(scratch("e"));
	uint64_t size = size_of(scratch("e/ledger"));
	unsigned before = DOCS;
	for (uint64_t n = size; n > 0;) {
		n -= MIN(n, byte_step());
		store_copy(scratch("e"), scratch("f"));
		assert_int_equal(truncate(scratch("f/ledger"), (off_t)n), 0);
		struct docstore *ds = store_open(scratch("f"));
		unsigned right = look_at(ds, &m);
		/* A delete that is lost brings a document back. */
		assert_true(right <= before + 2);
		before = right;
		store_sound(ds);
		struct docaddr addr = doc_put(ds, 1);
		store_sync(ds);
		doc_there(ds, addr, 1);
		docstore_close(&ds);
	}
	assert_int_equal(before, 0);
}

static void a_changed_byte_of_a_ledger_never_becomes_another_document(void **state)
{
	(void)state;
	struct made m = make(scratch("g"));
	uint64_t size = size_of(scratch("g/ledger"));
	store_copy(scratch("g"), scratch("h"));
	for (uint64_t at = 0; at < size; at += byte_step()) {
		struct err err = {0};
		struct docstore *ds = NULL;
		change_byte(scratch("h/ledger"), at, 0x41);
		int rc = docstore_open_read(&ds, scratch("h"), &err);
		if (rc == 0)
			(void)look_at(ds, &m);
		else
			assert_true(rc == 1 || err.code == ERR_DAMAGED);
		docstore_close(&ds);
		change_byte(scratch("h/ledger"), at, 0x41);
	}
}

static void a_changed_table_of_addresses_is_found_out(void **state)
{
	(void)state;
	struct err err = {0};
	struct made m = make(scratch("i"));
	struct docstore *ds = store_open(scratch("i"));
	assert_int_equal(docstore_compact(ds, 1, &err), 0);
	docstore_close(&ds);
	store_copy(scratch("i"), scratch("j"));
	const char *path = scratch("j/00000001.moved");
	uint64_t size = size_of(path);
	for (uint64_t at = 0; at < size; at += at < 700 ? byte_step() : 37) {
		change_byte(path, at, 0x10);
		ds = store_read(scratch("j"));
		assert_int_equal(look_at(ds, &m), 0);
		assert_int_equal(format_verify(&docstore_moved_format, path, &err), -1);
		docstore_close(&ds);
		change_byte(path, at, 0x10);
	}
	ds = store_read(scratch("j"));
	assert_int_equal(look_at(ds, &m), DOCS * 3 / 4);
	docstore_close(&ds);
}

#ifdef GARNER_FAULTS

static void arm(const char *spec)
{
	struct err err = {0};
	if (fault_arm(spec, &err) < 0)
		fail_msg("%s", err.msg);
}

struct told {
	struct docaddr at[DOCS];
	bool kept[DOCS];
};

/* Documents in groups of five; those of a group that failed are not tried again. */
static void write_groups(struct docstore *ds, struct told *t)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	for (uint32_t from = 0; from < DOCS; from += 5) {
		struct err err = {0};
		int rc = 0;
		for (uint32_t i = from; i < from + 5 && rc == 0; i++) {
			struct soif obj;
			doc_make(i, doc_size(i), &arena, &obj);
			rc = docstore_put(ds, &obj, &t->at[i], &err);
		}
		if (docstore_sync(ds, &err) < 0)
			rc = -1;
		else
			assert_int_equal(rc, 0); /* a failed put is said again by the sync */
		if (rc < 0)
			assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
		for (uint32_t i = from; i < from + 5; i++)
			t->kept[i] = rc == 0;
	}
	arena_free(&arena);
}

static void as_told(struct docstore *ds, const struct told *t)
{
	for (uint32_t i = 0; i < DOCS; i++)
		if (t->kept[i])
			doc_there(ds, t->at[i], i);
		else if (t->at[i].v)
			doc_gone(ds, t->at[i]);
}

static void refuse_everywhere(const char *what)
{
	unsigned n = 1;
	for (bool fired = true; fired; n++) {
		char spec[64], name[64];
		struct err err = {0};
		struct told t = {0};
		struct docstore *ds = NULL;
		snprintf(spec, sizeof spec, "%s@%u", what, n);
		snprintf(name, sizeof name, "refuse.%u", n % 4);
		assert_true(tree_remove(scratch(name), &err) >= 0);
		arm(spec);
		while (docstore_open(&ds, scratch(name), NULL, &err) < 0)
			assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
		write_groups(ds, &t);
		fired = fault_fired() > 0;
		arm("");
		as_told(ds, &t);
		docstore_close(&ds);
		ds = store_open(scratch(name));
		as_told(ds, &t);
		store_sound(ds);
		docstore_close(&ds);
	}
	assert_true(n > 5);
}

static void what_a_full_disk_refuses_is_told_and_nothing_else_is_lost(void **state)
{
	(void)state;
	refuse_everywhere("file.write=enospc");
	refuse_everywhere("file.write=short");
}

static void what_a_failing_disk_refuses_is_told_and_nothing_else_is_lost(void **state)
{
	(void)state;
	refuse_everywhere("file.sync=eio");
	refuse_everywhere("file.write=eio");
}

static void a_compaction_that_fails_changes_nothing(void **state)
{
	(void)state;
	static const char *const what[] = {"file.write=enospc", "file.sync=eio", "file.open=eio"};
	struct made m = make(scratch("k"));
	for (unsigned w = 0; w < ARRAY_LEN(what); w++) {
		unsigned n = 1;
		for (bool fired = true; fired; n++) {
			char spec[64];
			struct err err = {0};
			store_copy(scratch("k"), scratch("l"));
			struct docstore *ds = store_open(scratch("l"));
			snprintf(spec, sizeof spec, "%s@%u", what[w], n);
			arm(spec);
			int rc = docstore_compact(ds, 1, &err);
			fired = fault_fired() > 0;
			arm("");
			assert_true(rc == 0 || fired);
			assert_int_equal(look_at(ds, &m), DOCS * 3 / 4);
			docstore_close(&ds);
			ds = store_open(scratch("l"));
			assert_int_equal(look_at(ds, &m), DOCS * 3 / 4);
			store_sound(ds);
			docstore_close(&ds);
		}
		assert_true(n > 2);
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_byte_of_a_file_never_becomes_another_document),
		cmocka_unit_test(a_file_cut_at_any_byte_loses_what_follows_and_says_so),
		cmocka_unit_test(a_ledger_cut_at_any_byte_leaves_whole_syncs),
		cmocka_unit_test(a_changed_byte_of_a_ledger_never_becomes_another_document),
		cmocka_unit_test(a_changed_table_of_addresses_is_found_out),
#ifdef GARNER_FAULTS
		cmocka_unit_test(what_a_full_disk_refuses_is_told_and_nothing_else_is_lost),
		cmocka_unit_test(what_a_failing_disk_refuses_is_told_and_nothing_else_is_lost),
		cmocka_unit_test(a_compaction_that_fails_changes_nothing),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
