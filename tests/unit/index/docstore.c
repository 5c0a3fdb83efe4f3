#include "docstore_unit.h"

#include <sys/stat.h>

enum { DOCS = 700 };

static void what_is_put_is_got_before_and_after_a_sync_and_a_restart(void **state)
{
	(void)state;
	struct docaddr at[DOCS];
	struct docstore *ds = store_open(scratch("put"));
	for (uint32_t i = 0; i < DOCS; i++) {
		at[i] = doc_put(ds, i);
		doc_there(ds, at[i], i);
		doc_there(ds, at[i / 2], i / 2);
		assert_true(i == 0 || at[i].v > at[i - 1].v);
	}
	store_sync(ds);
	for (uint32_t i = 0; i < DOCS; i++)
		doc_there(ds, at[i], i);
	docstore_close(&ds);
	ds = store_open(scratch("put"));
	struct docaddr more = doc_put(ds, DOCS);
	assert_true(more.v > at[DOCS - 1].v);
	for (uint32_t i = DOCS; i-- > 0;)
		doc_there(ds, at[i], i);
	doc_there(ds, more, DOCS);
	store_sound(ds);
	assert_int_equal(store_stats(ds).docs, DOCS + 1);
	docstore_close(&ds);
}

static void text_takes_a_fraction_of_its_space(void **state)
{
	(void)state;
	struct docstore *ds = store_open(scratch("put"));
	struct docstore_stats s = store_stats(ds);
	assert_true(s.file_bytes * 3 < s.text_bytes);
	docstore_close(&ds);
}

static void a_reader_sees_what_was_synced_and_nothing_else(void **state)
{
	(void)state;
	struct err err;
	struct docstore *none = NULL;
	assert_int_equal(docstore_open_read(&none, scratch("follow"), &err), 1);
	struct docstore *ds = store_open(scratch("follow"));
	struct docaddr first = doc_put(ds, 1);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("follow"));
	doc_there(reader, first, 1);
	for (uint32_t i = 2; i < 100; i++) {
		struct docaddr addr = doc_put(ds, i);
		doc_gone(reader, addr);
		store_sync(ds);
		doc_there(reader, addr, i);
		if (i % 3 == 0) {
			assert_int_equal(docstore_delete(ds, addr, &err), 0);
			doc_there(reader, addr, i);
			store_sync(ds);
			doc_gone(reader, addr);
		}
	}
	struct docaddr ignored;
	assert_int_equal(docstore_put(reader, &(struct soif){0}, &ignored, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	docstore_close(&reader);
	docstore_close(&ds);
}

static void what_was_not_synced_is_cut_off_by_the_next_writer(void **state)
{
	(void)state;
	struct err err;
	struct docaddr at[300];
	uint64_t cut = 0;
	struct docstore *ds = store_open(scratch("cut"));
	for (uint32_t i = 0; i < 300; i++) {
		at[i] = doc_put(ds, i);
		if (i == 99)
			store_sync(ds);
	}
	docstore_close(&ds);
	assert_int_equal(docstore_open(&ds, scratch("cut"), &cut, &err), 0);
	assert_true(cut > 0);
	for (uint32_t i = 0; i < 300; i++)
		if (i < 100)
			doc_there(ds, at[i], i);
		else
			doc_gone(ds, at[i]);
	assert_int_equal(store_stats(ds).docs, 100);
	docstore_close(&ds);
	assert_int_equal(docstore_open(&ds, scratch("cut"), &cut, &err), 0);
	assert_int_equal(cut, 0);
	docstore_close(&ds);
}

static void there_is_one_writer(void **state)
{
	(void)state;
	struct err err;
	struct docstore *ds = store_open(scratch("one")), *second = NULL;
	assert_int_equal(docstore_open(&second, scratch("one"), NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	docstore_close(&ds);
	ds = store_open(scratch("one"));
	docstore_close(&ds);
}

static void what_cannot_be_soif_is_refused_and_nothing_else_happens(void **state)
{
	(void)state;
	struct err err = {0};
	struct docaddr addr = {77};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_open(scratch("refuse"));
	struct docaddr good = doc_put(ds, 5);
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a b/")};
	assert_int_equal(docstore_put(ds, &obj, &addr, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	obj.url = STR("http://large/");
	char *large = mem_alloc(DOCSTORE_DOC_MOST + 1);
	soif_add(&obj, &arena, STR("Full-Text"), (struct str){large, DOCSTORE_DOC_MOST + 1});
	assert_int_equal(docstore_put(ds, &obj, &addr, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	obj.attr[0] = (struct soif_attr){{large, 9000}, STR("x")};
	memset(large, 'n', 9000);
	assert_int_equal(docstore_put(ds, &obj, &addr, &err), -1);
	assert_int_equal(addr.v, 77);
	mem_free(&large);
	store_sync(ds);
	doc_there(ds, good, 5);
	assert_int_equal(store_stats(ds).docs, 1);
	docstore_close(&ds);
	arena_free(&arena);
}

static void the_largest_document_and_the_smallest_share_a_store(void **state)
{
	(void)state;
	struct err err = {0};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_open(scratch("large"));
	struct soif obj = {.type = STR("FILE"), .url = STR("http://large/")}, got;
	struct soif tiny = {.type = STR("F"), .url = STR("u")};
	char *bytes = mem_alloc(DOCSTORE_DOC_MOST - 1000);
	uint64_t seed = 3;
	for (size_t i = 0; i < DOCSTORE_DOC_MOST - 1000; i += 64) /* any bytes, and zeroes */
		bytes[i] = (char)dice(&seed);
	struct str value = {bytes, DOCSTORE_DOC_MOST - 1000};
	soif_add(&obj, &arena, STR("Full-Text"), value);
	struct docaddr a, b, c;
	assert_int_equal(docstore_put(ds, &tiny, &a, &err), 0);
	assert_int_equal(docstore_put(ds, &obj, &b, &err), 0);
	assert_int_equal(docstore_put(ds, &tiny, &c, &err), 0);
	store_sync(ds);
	assert_int_equal(docstore_get(ds, b, &arena, &got, &err), 0);
	assert_true(str_eq(soif_get(&got, STR("full-text")), value));
	assert_int_equal(docstore_get(ds, a, &arena, &got, &err), 0);
	assert_int_equal(docstore_get(ds, c, &arena, &got, &err), 0);
	assert_true(str_is(got.url, "u"));
	docstore_close(&ds);
	mem_free(&bytes);
	arena_free(&arena);
}

static void thousands_of_tiny_documents_fill_blocks_by_their_number(void **state)
{
	(void)state;
	struct err err = {0};
	enum { N = 10000 };
	static struct docaddr at[N];
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_open(scratch("tiny"));
	for (unsigned i = 0; i < N; i++) {
		char url[16];
		snprintf(url, sizeof url, "%u", i);
		struct soif tiny = {.type = STR("F"), .url = str_of(url)};
		assert_int_equal(docstore_put(ds, &tiny, &at[i], &err), 0);
	}
	store_sync(ds);
	for (unsigned i = 0; i < N; i++) {
		char url[16];
		struct soif got;
		snprintf(url, sizeof url, "%u", i);
		assert_int_equal(docstore_get(ds, at[i], &arena, &got, &err), 0);
		assert_true(str_is(got.url, url));
		arena_clear(&arena);
	}
	docstore_close(&ds);
	arena_free(&arena);
}

struct told {
	uint64_t addr[4];
	size_t n;
};

static int note_told(void *ctx, struct docaddr addr, struct err *err)
{
	struct told *told = ctx;
	(void)err;
	if (told->n == ARRAY_LEN(told->addr))
		return 1;
	told->addr[told->n++] = addr.v;
	return 0;
}

static void every_document_that_is_not_deleted_is_told_in_order(void **state)
{
	(void)state;
	struct err err = {0};
	struct told told = {0};
	struct docstore *ds = store_open(scratch("each"));
	struct docaddr a = doc_put(ds, 1), b = doc_put(ds, 2), c;
	store_sync(ds);
	c = doc_put(ds, 3); /* in another block, which is not written yet */
	assert_int_equal(docstore_delete(ds, b, &err), 0);
	assert_int_equal(docstore_each(ds, note_told, &told, &err), 0);
	assert_int_equal(told.n, 2);
	assert_true(told.addr[0] == a.v && told.addr[1] == c.v);
	for (uint32_t i = 4; i < 8; i++)
		(void)doc_put(ds, i);
	told.n = 0;
	assert_int_equal(docstore_each(ds, note_told, &told, &err), 1);
	docstore_close(&ds);
}

static void addresses_that_nobody_gave_are_nowhere(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_open(scratch("wild"));
	struct docaddr at[50];
	for (uint32_t i = 0; i < 50; i++)
		at[i] = doc_put(ds, i);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("wild"));
	uint64_t seed = 11;
	for (unsigned i = 0; i < 20000; i++) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct soif got;
		struct docaddr wild = {i % 3 ? dice(&seed) >> dice(&seed) % 64
					     : at[i % 50].v ^ UINT64_C(1) << dice(&seed) % 64};
		int rc = docstore_get(reader, wild, &arena, &got, &err);
		bool given = false;
		for (unsigned k = 0; k < 50; k++)
			given |= at[k].v == wild.v;
		assert_true(given ? rc == 0 : rc != 0);
		arena_free(&arena);
	}
	assert_int_equal(docstore_delete(ds, (struct docaddr){0}, &err), 1);
	docstore_close(&reader);
	docstore_close(&ds);
}

static void a_deleted_document_stays_deleted(void **state)
{
	(void)state;
	struct err err = {0};
	struct docaddr at[200];
	struct docstore *ds = store_open(scratch("delete"));
	for (uint32_t i = 0; i < 200; i++) {
		at[i] = doc_put(ds, i);
		if (i % 2) /* some of them in the block that is being made */
			assert_int_equal(docstore_delete(ds, at[i], &err), 0);
	}
	assert_int_equal(docstore_delete(ds, at[1], &err), 1);
	store_sync(ds);
	docstore_close(&ds);
	ds = store_open(scratch("delete"));
	for (uint32_t i = 0; i < 200; i++)
		if (i % 2)
			doc_gone(ds, at[i]);
		else
			doc_there(ds, at[i], i);
	struct docstore_stats s = store_stats(ds);
	assert_int_equal(s.docs, 200);
	assert_int_equal(s.deleted_docs, 100);
	assert_true(s.deleted_bytes > 0 && s.deleted_bytes < s.text_bytes);
	docstore_close(&ds);
}

static uint64_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void a_ledger_does_not_grow_with_its_history(void **state)
{
	(void)state;
	struct err err = {0};
	struct docaddr last = {0};
	struct docstore *ds = store_open(scratch("history"));
	struct docstore *reader = store_read(scratch("history"));
	for (uint32_t i = 0; i < 15000; i++) {
		struct soif tiny = {.type = STR("F"), .url = STR("u")};
		assert_int_equal(docstore_put(ds, &tiny, &last, &err), 0);
		store_sync(ds);
		if (i % 1000 == 0) {
			struct arena arena = ARENA_INIT(SIZE_MAX);
			assert_int_equal(docstore_get(reader, last, &arena, &tiny, &err), 0);
			arena_free(&arena);
		}
	}
	assert_true(size_of(scratch("history/ledger")) < 3 << 20);
	assert_true(size_of(scratch("history/ledger")) > 0);
	docstore_close(&ds);
	ds = store_open(scratch("history"));
	assert_int_equal(store_stats(ds).docs, 15000);
	assert_int_equal(store_stats(reader).docs, 15000);
	docstore_close(&reader);
	docstore_close(&ds);
}

/* Parts of any size, from any place, are those of the whole: small documents and large ones, in the
 * making, written, and compacted away between two parts. */
static void parts_are_those_of_the_whole(void **state)
{
	static const size_t sizes[] = {0, 10, 5000, 100000, 131072 - 60, 300000, 900000};
	struct docaddr at[ARRAY_LEN(sizes)];
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	(void)state;
	struct docstore *ds = store_open(scratch("parts"));
	for (uint32_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct soif obj;
		CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX);
		struct docstore_part part = {.most = 48 << 10};
		struct str got;
		doc_make(i, sizes[i], &arena, &obj);
		assert_int_equal(soif_print(&obj, &text, &err), 0);
		assert_int_equal(docstore_put(ds, &obj, &at[i], &err), 0);
		for (size_t step = 0; part.from < text.n; step++) {
			if (step == 1)
				store_sync(ds);
			assert_int_equal(docstore_read_part(ds, at[i], &part, &arena, &got, &err),
					 0);
			assert_int_equal(got.n, MIN(part.most, text.n - part.from));
			assert_memory_equal(got.p, text.p + part.from, got.n);
			part.from += got.n;
			part.most = (part.most * 7 + 12345) % 200000 + 1;
		}
		assert_int_equal(docstore_read_part(ds, at[i], &part, &arena, &got, &err), 0);
		assert_int_equal(got.n, 0);
		store_sync(ds);
		arena_clear(&arena);
	}
	arena_free(&arena);
	docstore_close(&ds);
}

static void a_part_is_found_where_compaction_put_it(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore_part part = {.most = 50000}, again = part;
	struct soif obj;
	struct docaddr at, dead;
	struct str before, after;
	struct err err;
	(void)state;
	struct docstore *ds = store_open(scratch("parts-moved"));
	dead = doc_put(ds, 1);
	doc_make(2, 700000, &arena, &obj);
	assert_int_equal(docstore_put(ds, &obj, &at, &err), 0);
	store_sync(ds);
	assert_int_equal(docstore_read_part(ds, at, &part, &arena, &before, &err), 0);
	assert_int_not_equal(part.checked, 0);
	assert_int_equal(docstore_delete(ds, dead, &err), 0);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	again.checked = part.checked;
	assert_int_equal(docstore_read_part(ds, at, &again, &arena, &after, &err), 0);
	assert_true(str_eq(before, after));
	assert_int_not_equal(again.checked, part.checked); /* verified where it is now */
	assert_int_equal(docstore_forget_moved(ds, &err), 0);
	assert_int_equal(docstore_read_part(ds, at, &again, &arena, &after, &err), 1);
	arena_free(&arena);
	docstore_close(&ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got_before_and_after_a_sync_and_a_restart),
		cmocka_unit_test(text_takes_a_fraction_of_its_space),
		cmocka_unit_test(a_reader_sees_what_was_synced_and_nothing_else),
		cmocka_unit_test(what_was_not_synced_is_cut_off_by_the_next_writer),
		cmocka_unit_test(there_is_one_writer),
		cmocka_unit_test(what_cannot_be_soif_is_refused_and_nothing_else_happens),
		cmocka_unit_test(the_largest_document_and_the_smallest_share_a_store),
		cmocka_unit_test(thousands_of_tiny_documents_fill_blocks_by_their_number),
		cmocka_unit_test(every_document_that_is_not_deleted_is_told_in_order),
		cmocka_unit_test(addresses_that_nobody_gave_are_nowhere),
		cmocka_unit_test(a_deleted_document_stays_deleted),
		cmocka_unit_test(a_ledger_does_not_grow_with_its_history),
		cmocka_unit_test(parts_are_those_of_the_whole),
		cmocka_unit_test(a_part_is_found_where_compaction_put_it),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
