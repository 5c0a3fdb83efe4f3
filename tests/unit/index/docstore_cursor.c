/* Documents one after the other, by a cursor. */
#include "docstore_unit.h"

#include <fcntl.h>

enum { DOCS = 700 };

/* The whole text as soif_print() makes it. */
static struct str doc_text(uint32_t number, size_t size, struct arena *arena)
{
	struct soif obj;
	struct err err;
	struct buf out = BUF_INIT(SIZE_MAX);
	doc_make(number, size, arena, &obj);
	assert_int_equal(soif_print(&obj, &out, &err), 0);
	struct str text = arena_str(arena, buf_str(&out));
	buf_free(&out);
	return text;
}

/* The rest of the current document from a byte on, in parts of at most `step` bytes. */
static void cursor_is(struct docstore_cursor *c, struct str want, size_t from, size_t step)
{
	struct str part;
	struct err err = {0};
	while (from < want.n) {
		if (docstore_cursor_text(c, from, &part, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(part.n >= MIN(want.n - from, (size_t)DOCSTORE_CURSOR_PART));
		assert_true(part.n <= want.n - from);
		assert_memory_equal(part.p, want.p + from, part.n);
		from += MIN(part.n, step);
	}
	assert_int_equal(docstore_cursor_text(c, want.n, &part, &err), 0);
	assert_int_equal(part.n, 0);
}

static void cursor_finds(struct docstore_cursor *c, uint32_t oid, struct arena *arena)
{
	struct err err = {0};
	size_t n = 0;
	struct str want = doc_text(oid, doc_size(oid), arena);
	if (docstore_cursor_find(c, oid, &n, &err) != 0)
		fail_msg("document %u: %s", oid, err.msg);
	assert_int_equal(n, want.n);
	cursor_is(c, want, 0, SIZE_MAX);
	arena_clear(arena);
}

static void documents_are_found_in_any_order(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	uint64_t seed = 5;
	size_t n;
	(void)state;
	struct docstore *ds = store_new(scratch("any"));
	for (uint32_t i = 1; i <= DOCS; i++) {
		doc_put(ds, i);
		if (i % 150 == 0)
			store_sync(ds);
	}
	struct docstore *reader = store_read(scratch("any"));
	struct docstore_cursor *c = docstore_cursor_new(reader);
	for (uint32_t i = 1; i <= DOCS / 150 * 150; i++)
		cursor_finds(c, i, &arena);
	for (uint32_t i = 0; i < 100; i++)
		cursor_finds(c, (uint32_t)(dice(&seed) % (DOCS / 150 * 150)) + 1, &arena);
	assert_int_equal(docstore_cursor_find(c, 0, &n, &err), 1);
	assert_int_equal(docstore_cursor_find(c, DOCS + 1, &n, &err), 1);
	store_sync(ds); /* the file grew after it was mapped */
	cursor_finds(c, DOCS, &arena);
	doc_delete(ds, 7);
	assert_int_equal(docstore_cursor_find(c, 7, &n, &err), 1);
	cursor_finds(c, 8, &arena);
	docstore_cursor_free(&c);
	docstore_close(&reader);
	docstore_close(&ds);
	arena_free(&arena);
}

/* Small ones before it share its block. */
static void large_documents_are_read_in_parts(void **state)
{
	static const size_t size[] = {200000, 262144, 900000, 131072 * 3};
	static const size_t step[] = {SIZE_MAX, 1000, 131072, 131073, 77777};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	struct soif obj;
	size_t n;
	(void)state;
	struct docstore *ds = store_new(scratch("large"));
	for (uint32_t i = 0; i < ARRAY_LEN(size); i++) {
		doc_put(ds, 2 * i + 1);
		doc_make(2 * i + 2, size[i], &arena, &obj);
		assert_int_equal(docstore_put(ds, 2 * i + 2, &obj, &err), 0);
	}
	store_sync(ds);
	struct docstore *reader = store_read(scratch("large"));
	struct docstore_cursor *c = docstore_cursor_new(reader);
	for (uint32_t i = 0; i < ARRAY_LEN(size); i++) {
		struct str want = doc_text(2 * i + 2, size[i], &arena);
		assert_int_equal(docstore_cursor_find(c, 2 * i + 2, &n, &err), 0);
		assert_int_equal(n, want.n);
		for (size_t k = 0; k < ARRAY_LEN(step); k++)
			cursor_is(c, want, 0, step[k]);
		cursor_is(c, want, want.n / 2, SIZE_MAX);
		cursor_is(c, want, 1, SIZE_MAX); /* back */
		cursor_finds(c, 2 * i + 1, &arena);
	}
	docstore_cursor_free(&c);
	docstore_close(&reader);
	docstore_close(&ds);
	arena_free(&arena);
}

static void what_was_found_is_readable_after_it_was_moved_or_deleted(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	struct err err;
	size_t n;
	(void)state;
	struct docstore *ds = store_new(scratch("moved"));
	doc_put(ds, 1);
	doc_make(2, 900000, &arena, &obj);
	assert_int_equal(docstore_put(ds, 2, &obj, &err), 0);
	doc_put(ds, 3);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("moved"));
	struct docstore_cursor *c = docstore_cursor_new(reader);
	struct str want = doc_text(2, 900000, &arena);
	assert_int_equal(docstore_cursor_find(c, 2, &n, &err), 0);
	doc_delete(ds, 2);
	assert_int_equal(docstore_compact(ds, 0, &err), 0); /* its file is gone */
	cursor_is(c, want, 0, SIZE_MAX);
	assert_int_equal(docstore_cursor_find(c, 2, &n, &err), 1);
	cursor_finds(c, 3, &arena); /* where it is now */
	cursor_finds(c, 1, &arena);
	doc_delete(ds, 1);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	cursor_finds(c, 3, &arena);
	docstore_cursor_free(&c);
	docstore_close(&reader);
	docstore_close(&ds);
	arena_free(&arena);
}

static void a_damaged_block_is_said_and_others_are_read(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	size_t n, got;
	char byte;
	(void)state;
	struct docstore *ds = store_new(scratch("damaged"));
	doc_put(ds, 1);
	struct docstore_mark first = store_sync(ds);
	doc_put(ds, 2);
	struct docstore_mark second = store_sync(ds);
	doc_put(ds, 3);
	store_sync(ds);
	struct file f = FILE_INIT;
	char path[512];
	snprintf(path, sizeof path, "%s/00000001.docs", scratch("damaged"));
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	for (uint64_t at = first.length; at < second.length; at++) {
		struct docstore *reader = store_read(scratch("damaged"));
		struct docstore_cursor *c = docstore_cursor_new(reader);
		assert_int_equal(file_read(&f, &byte, 1, at, &got, &err), 0);
		byte ^= 0x10;
		assert_int_equal(file_write(&f, &byte, 1, at, &err), 0);
		assert_int_equal(docstore_cursor_find(c, 2, &n, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		cursor_finds(c, 1, &arena);
		cursor_finds(c, 3, &arena);
		byte ^= 0x10;
		assert_int_equal(file_write(&f, &byte, 1, at, &err), 0);
		cursor_finds(c, 2, &arena);
		docstore_cursor_free(&c);
		docstore_close(&reader);
	}
	file_drop(&f);
	docstore_close(&ds);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_found_in_any_order),
		cmocka_unit_test(large_documents_are_read_in_parts),
		cmocka_unit_test(what_was_found_is_readable_after_it_was_moved_or_deleted),
		cmocka_unit_test(a_damaged_block_is_said_and_others_are_read),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
