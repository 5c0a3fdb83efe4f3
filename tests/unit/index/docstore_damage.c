/* Stores that were cut, changed or refused: what is read is right, or it is an error. */
#include "../unit.h"
#include "docstore_unit.h"

#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { DOCS = 40, SYNCS = 8 };

/* Bytes are cut off and changed one by one in `make prove`, or a few at a time. */
static uint64_t byte_step(void)
{
	return unit_thorough() ? 1 : 5;
}

enum { LIVING = DOCS * 3 / 4 };

/* Small documents in several blocks, one of four deleted. */
static struct docstore_mark make(const char *folder)
{
	struct docstore *ds = store_new(folder);
	for (uint32_t i = 1; i <= DOCS; i++) {
		doc_put(ds, i);
		if (i % (DOCS / SYNCS) == 0)
			store_sync(ds);
	}
	for (uint32_t i = 4; i <= DOCS; i += 4)
		doc_delete(ds, i);
	struct docstore_mark mark = store_sync(ds);
	store_checkpoint(ds);
	docstore_close(&ds);
	return mark;
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
static unsigned look_at(struct docstore *ds)
{
	unsigned right = 0;
	for (uint32_t i = 1; i <= DOCS; i++) {
		struct err err = {0};
		int rc = doc_look_as(ds, i, i, &err);
		if (rc < 0)
			assert_int_equal(err.code, ERR_DAMAGED);
		right += rc == 0;
	}
	return right;
}

static void a_changed_byte_of_a_file_never_becomes_another_document(void **state)
{
	(void)state;
	struct docstore_mark mark = make(scratch("a"));
	const char *path = scratch("b/00000001.docs");
	uint64_t size = size_of(scratch("a/00000001.docs")), seed = 9;
	store_copy(scratch("a"), scratch("b"));
	for (uint64_t at = 0; at < size; at += 1 + dice(&seed) % (7 * byte_step())) {
		struct err err = {0};
		uint8_t bits = (uint8_t)(1 + dice(&seed) % 255);
		change_byte(path, at, bits);
		struct docstore *ds = store_read(scratch("b"));
		assert_true(look_at(ds) < LIVING);
		assert_int_equal(docstore_verify(ds, &mark, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(format_verify(&docstore_format, path, &err), -1);
		docstore_close(&ds);
		change_byte(path, at, bits);
	}
	struct docstore *ds = store_read(scratch("b"));
	assert_int_equal(look_at(ds), LIVING);
	docstore_close(&ds);
}

static void a_file_cut_at_any_byte_loses_what_follows_and_says_so(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds;
	struct docstore_mark mark = make(scratch("c"));
	const char *path = scratch("d/00000001.docs");
	uint64_t size = size_of(scratch("c/00000001.docs"));
	unsigned before = DOCS;
	store_copy(scratch("c"), scratch("d"));
	for (uint64_t n = size; n > 0;) {
		n -= MIN(n, byte_step());
		assert_int_equal(truncate(path, (off_t)n), 0);
		ds = store_read(scratch("d"));
		unsigned right = look_at(ds);
		assert_true(right <= before);
		before = right;
		assert_int_equal(docstore_verify(ds, &mark, &err), -1);
		docstore_close(&ds);
	}
	assert_int_equal(before, 0);
	assert_int_equal(docstore_open(&ds, scratch("d"), &mark, NULL, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
}

static void add_bytes(const char *path, uint64_t n)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	for (; n; n--)
		assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

/* Two files, of which the first is compacted: its copy has a higher number than what counts. */
static void a_compacted_file_without_its_head_is_found_and_not_removed(void **state)
{
	(void)state;
	struct err err = {0};
	char folder[PATH_MAX], path[PATH_MAX + 32];
	snprintf(folder, sizeof folder, "%s", scratch("headless"));
	uint32_t oid = 0;
	struct docstore *ds = store_new(folder);
	for (; oid < 40; oid++)
		doc_put(ds, oid + 1);
	struct docstore_mark mark = store_sync(ds);
	docstore_close(&ds);
	snprintf(path, sizeof path, "%s/%08u.docs", folder, (unsigned)mark.file);
	add_bytes(path, 1); /* what is cut is not appended to again */
	ds = store_open(folder, mark);
	for (; oid < 80; oid++)
		doc_put(ds, oid + 1);
	mark = store_sync(ds);
	for (uint32_t i = 1; i <= 30; i++)
		doc_delete(ds, i);
	assert_int_equal(docstore_compact(ds, 50, &err), 0);
	store_checkpoint(ds);
	docstore_close(&ds);
	snprintf(path, sizeof path, "%s/%08u.docs", folder, (unsigned)mark.file + 1);
	for (uint64_t at = 0; at < 64; at++) {
		change_byte(path, at, 0x20);
		ds = store_read(folder);
		assert_int_equal(docstore_verify(ds, &mark, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		docstore_close(&ds);
		assert_int_equal(docstore_open(&ds, folder, &mark, NULL, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		change_byte(path, at, 0x20);
	}
	ds = store_open(folder, mark);
	for (uint32_t i = 31; i <= 80; i++)
		doc_there(ds, i);
	docstore_close(&ds);
}

/* Also of blocks that came after the last checkpoint, by what the table leads to. */
static void a_file_alone_tells_damage_from_what_a_writer_has_not_ended(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("alone/00000001.docs");
	struct docstore *ds = store_new(scratch("alone"));
	for (uint32_t i = 1; i <= 20; i++)
		doc_put(ds, i);
	store_sync(ds);
	for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
		uint64_t size = size_of(path);
		assert_int_equal(format_verify(&docstore_format, path, &err), 0);
		add_bytes(path, 30);
		assert_int_equal(format_verify(&docstore_format, path, &err), FORMAT_NOTED);
		assert_int_equal(truncate(path, (off_t)size), 0);
		change_byte(path, size - 1, 1);
		assert_int_equal(format_verify(&docstore_format, path, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		change_byte(path, size - 1, 1);
		store_copy(scratch("alone"), scratch("alone.cut"));
		const char *cut = scratch("alone.cut/00000001.docs");
		for (uint64_t n = size - 1; n > 0; n -= MIN(n, 97)) {
			assert_int_equal(truncate(cut, (off_t)n), 0);
			assert_int_equal(format_verify(&docstore_format, cut, &err), -1);
			assert_int_equal(err.code, ERR_DAMAGED);
		}
		if (checkpoint)
			break;
		store_checkpoint(ds);
		doc_put(ds, 21);
		store_sync(ds);
	}
	docstore_close(&ds);
}

/* A table that is lost, cut or changed in its head is made again, and its deletes with it are
 * lost. */
static void opens_whole(const char *folder, struct docstore_mark mark, bool must_be_remade)
{
	struct err err = {0};
	struct docstore_opened is;
	struct docstore *ds = NULL;
	if (docstore_open(&ds, folder, &mark, &is, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(is.remade || !must_be_remade);
	assert_int_equal(look_at(ds), is.remade ? DOCS : LIVING);
	for (uint32_t i = 4; is.remade && i <= DOCS; i += 4) /* the caller knows */
		doc_delete(ds, i);
	store_checkpoint(ds);
	docstore_close(&ds);
	ds = store_open(folder, mark);
	assert_int_equal(look_at(ds), LIVING);
	store_sound(ds, mark);
	doc_put(ds, DOCS + 1);
	doc_there(ds, DOCS + 1);
	docstore_close(&ds);
}

static void a_lost_table_is_made_again(void **state)
{
	(void)state;
	struct err err;
	struct docstore *ds = NULL;
	struct docstore_mark mark = make(scratch("e"));
	assert_int_equal(file_remove(scratch("e/table"), &err), 0);
	assert_int_equal(docstore_open_read(&ds, scratch("e"), &err), 1);
	opens_whole(scratch("e"), mark, true);
	/* Also while a reader has the old one, and after a compaction. */
	struct docstore *reader = store_read(scratch("e"));
	assert_int_equal(look_at(reader), LIVING);
	ds = store_open(scratch("e"), mark);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	docstore_close(&ds);
	assert_int_equal(file_remove(scratch("e/table"), &err), 0);
	ds = store_open(scratch("e"), mark);
	assert_int_equal(look_at(ds), LIVING);
	assert_int_equal(look_at(reader), LIVING);
	doc_put(ds, DOCS + 1);
	store_sync(ds);
	doc_there(reader, DOCS + 1);
	docstore_close(&reader);
	docstore_close(&ds);
}

static void a_table_cut_anywhere_is_made_again(void **state)
{
	(void)state;
	struct docstore_mark mark = make(scratch("f"));
	uint64_t size = size_of(scratch("f/table"));
	for (uint64_t n = size; n > 0;) {
		n -= MIN(n, unit_thorough() ? (uint64_t)512 : (uint64_t)4096);
		store_copy(scratch("f"), scratch("g"));
		assert_int_equal(truncate(scratch("g/table"), (off_t)n), 0);
		opens_whole(scratch("g"), mark, true);
	}
}

/* Places in a table: the head, both copies of the state, the slots. */
static const struct {
	uint64_t from, to;
} table_parts[] = {{0, 12},
		   {4 << 10, (4 << 10) + 100},
		   {32 << 10, (32 << 10) + 100},
		   {(64 << 10) + 16, (64 << 10) + 16 * (DOCS + 1)}};

static void a_changed_byte_of_a_table_never_becomes_another_document(void **state)
{
	(void)state;
	struct docstore_mark mark = make(scratch("h"));
	const char *path = scratch("i/table");
	unsigned found = 0;
	store_copy(scratch("h"), scratch("i"));
	for (size_t p = 0; p < ARRAY_LEN(table_parts); p++)
		for (uint64_t at = table_parts[p].from; at < table_parts[p].to; at += byte_step()) {
			struct err err = {0};
			struct docstore *ds = NULL;
			change_byte(path, at, 0x41);
			int rc = docstore_open_read(&ds, scratch("i"), &err);
			if (rc == 0) {
				unsigned right = look_at(ds);
				rc = docstore_verify(ds, &mark, &err);
				assert_true(right == LIVING || rc < 0);
			}
			if (rc < 0)
				assert_int_equal(err.code, ERR_DAMAGED);
			found += rc < 0;
			docstore_close(&ds);
			change_byte(path, at, 0x41);
		}
	assert_true(found > 0);
}

/* Any garbage in it: reading ends, nothing wrong is told, and a writer opens it or says why not. */
static void a_table_of_noise_leads_to_nothing(void **state)
{
	(void)state;
	struct docstore_mark mark = make(scratch("j"));
	uint64_t seed = 77;
	for (unsigned round = 0; round < 40; round++) {
		struct err err = {0};
		struct docstore *ds = NULL;
		store_copy(scratch("j"), scratch("k"));
		for (unsigned i = 0; i < 60; i++) {
			unsigned p = round % 2 ? 3 : (unsigned)(dice(&seed) % 4);
			uint64_t n = table_parts[p].to - table_parts[p].from;
			change_byte(scratch("k/table"), table_parts[p].from + dice(&seed) % n,
				    (uint8_t)dice(&seed));
		}
		if (docstore_open_read(&ds, scratch("k"), &err) == 0)
			(void)look_at(ds);
		docstore_close(&ds);
		assert_int_equal(docstore_open(&ds, scratch("k"), &mark, NULL, &err), 0);
		(void)look_at(ds);
		docstore_close(&ds);
	}
}

#ifdef GARNER_FAULTS

static void arm(const char *spec)
{
	struct err err = {0};
	if (fault_arm(spec, &err) < 0)
		fail_msg("%s", err.msg);
}

struct told {
	bool tried[DOCS + 1], kept[DOCS + 1];
	struct docstore_mark mark;
};

/* Documents in groups of five; those of a group that failed are not tried again. */
static void write_groups(struct docstore *ds, struct told *t)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	for (uint32_t from = 1; from <= DOCS; from += 5) {
		struct err err = {0};
		int rc = 0;
		for (uint32_t i = from; i < from + 5 && rc == 0; i++) {
			struct soif obj;
			doc_make(i, doc_size(i), &arena, &obj);
			rc = docstore_put(ds, i, &obj, &err);
			t->tried[i] = true;
		}
		if (docstore_sync(ds, &t->mark, &err) < 0)
			rc = -1;
		else
			assert_int_equal(rc, 0); /* a failed put is said again by the sync */
		if (rc < 0)
			assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
		for (uint32_t i = from; i < from + 5; i++)
			t->kept[i] = rc == 0;
		(void)docstore_checkpoint(ds, &err);
	}
	arena_free(&arena);
}

static void as_told(struct docstore *ds, const struct told *t)
{
	for (uint32_t i = 1; i <= DOCS; i++)
		if (t->kept[i])
			doc_there(ds, i);
		else if (t->tried[i])
			doc_gone(ds, i);
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
		while (docstore_open(&ds, scratch(name), NULL, NULL, &err) < 0)
			assert_true(err.sys_errno == EIO || err.sys_errno == ENOSPC);
		write_groups(ds, &t);
		fired = fault_fired() > 0;
		arm("");
		as_told(ds, &t);
		docstore_close(&ds);
		ds = store_open(scratch(name), t.mark);
		as_told(ds, &t);
		store_sound(ds, t.mark);
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

static void a_compaction_that_fails_loses_nothing(void **state)
{
	(void)state;
	static const char *const what[] = {"file.write=enospc", "file.sync=eio", "file.open=eio",
					   "file.rename=eio"};
	struct docstore_mark mark = make(scratch("k"));
	for (unsigned w = 0; w < ARRAY_LEN(what); w++) {
		unsigned n = 1;
		for (bool fired = true; fired; n++) {
			char spec[64];
			struct err err = {0};
			store_copy(scratch("k"), scratch("l"));
			struct docstore *ds = store_open(scratch("l"), mark);
			snprintf(spec, sizeof spec, "%s@%u", what[w], n);
			arm(spec);
			int rc = docstore_compact(ds, 1, &err);
			fired = fault_fired() > 0;
			arm("");
			assert_true(rc == 0 || fired);
			assert_int_equal(look_at(ds), LIVING);
			if (n % 2) /* what failed can be tried again */
				assert_true(docstore_compact(ds, 1, &err) >= 0);
			assert_int_equal(look_at(ds), LIVING);
			docstore_close(&ds);
			ds = store_open(scratch("l"), mark);
			assert_int_equal(look_at(ds), LIVING);
			store_sound(ds, mark);
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
		cmocka_unit_test(a_compacted_file_without_its_head_is_found_and_not_removed),
		cmocka_unit_test(a_file_alone_tells_damage_from_what_a_writer_has_not_ended),
		cmocka_unit_test(a_lost_table_is_made_again),
		cmocka_unit_test(a_table_cut_anywhere_is_made_again),
		cmocka_unit_test(a_changed_byte_of_a_table_never_becomes_another_document),
		cmocka_unit_test(a_table_of_noise_leads_to_nothing),
#ifdef GARNER_FAULTS
		cmocka_unit_test(what_a_full_disk_refuses_is_told_and_nothing_else_is_lost),
		cmocka_unit_test(what_a_failing_disk_refuses_is_told_and_nothing_else_is_lost),
		cmocka_unit_test(a_compaction_that_fails_loses_nothing),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
