#include "docstore_unit.h"

enum { DOCS = 700 };

static void what_is_put_is_got_before_and_after_a_sync_and_a_restart(void **state)
{
	(void)state;
	struct docstore *ds = store_new(scratch("put"));
	for (uint32_t i = 1; i <= DOCS; i++) {
		doc_put(ds, i);
		doc_there(ds, i);
		doc_there(ds, (i + 1) / 2);
	}
	struct docstore_mark mark = store_sync(ds);
	for (uint32_t i = 1; i <= DOCS; i++)
		doc_there(ds, i);
	docstore_close(&ds);
	ds = store_open(scratch("put"), mark);
	doc_put(ds, DOCS + 1);
	for (uint32_t i = DOCS + 1; i > 0; i--)
		doc_there(ds, i);
	store_sound(ds, store_sync(ds));
	struct docstore_stats s = store_stats(ds);
	assert_int_equal(s.docs, DOCS + 1);
	assert_true(s.file_bytes * 3 < s.text_bytes); /* text takes a fraction of its space */
	docstore_close(&ds);
}

static void oids_ascend_and_are_never_used_again(void **state)
{
	(void)state;
	static const uint64_t refused[] = {0, 1, 3, 7, DOCSTORE_OID_MOST + UINT64_C(1)};
	struct soif obj = {.type = STR("F"), .url = STR("u")};
	struct err err;
	struct docstore *ds = store_new(scratch("ascend"));
	doc_put(ds, 3);
	doc_put(ds, 7);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
			assert_int_equal(docstore_put(ds, refused[i], &obj, &err), -1);
			assert_int_equal(err.code, ERR_USAGE);
		}
		doc_gone(ds, 1);
		doc_there(ds, 3);
		struct docstore_mark mark = store_sync(ds);
		if (round == 1) { /* also of one that was deleted */
			doc_delete(ds, 7);
			store_checkpoint(ds);
		}
		docstore_close(&ds);
		ds = store_open(scratch("ascend"), mark);
	}
	doc_put(ds, 100000); /* with a gap, for which the table grows */
	doc_there(ds, 100000);
	store_sync(ds);
	doc_there(ds, 100000);
	doc_gone(ds, 99999);
	doc_gone(ds, 100001);
	doc_gone(ds, UINT64_MAX);
	docstore_close(&ds);
}

static void a_reader_sees_what_was_synced(void **state)
{
	(void)state;
	struct err err;
	struct docstore *none = NULL;
	assert_int_equal(docstore_open_read(&none, scratch("follow"), &err), 1);
	struct docstore *ds = store_new(scratch("follow"));
	doc_put(ds, 1);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("follow"));
	doc_there(reader, 1);
	for (uint32_t i = 2; i < 10000; i += i < 100 ? 1 : 991) { /* the table grows meanwhile */
		doc_put(ds, i);
		store_sync(ds);
		doc_there(reader, i);
		if (i % 3 == 0) {
			doc_delete(ds, i);
			doc_gone(reader, i);
		}
	}
	assert_int_equal(docstore_put(reader, 10, &(struct soif){0}, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(store_stats(reader).docs, 0); /* as of the last checkpoint */
	store_checkpoint(ds);
	assert_int_equal(store_stats(reader).docs, store_stats(ds).docs);
	assert_int_equal(store_stats(reader).deleted_docs, store_stats(ds).deleted_docs);
	assert_int_equal(store_stats(reader).file_bytes, store_stats(ds).file_bytes);
	docstore_close(&reader);
	docstore_close(&ds);
}

/* Documents 1 to 100 are before the mark, to 200 before a second sync, to 300 were never synced. */
static struct docstore_mark make_cut(const char *folder, bool checkpoint)
{
	struct docstore *ds = store_new(folder);
	struct docstore_mark mark = {0};
	for (uint32_t i = 1; i <= 300; i++) {
		doc_put(ds, i);
		if (i == 100)
			mark = store_sync(ds);
		if (i == 200)
			store_sync(ds);
		if (i == 150 && checkpoint)
			store_checkpoint(ds);
	}
	if (checkpoint)
		store_checkpoint(ds);
	docstore_close(&ds);
	return mark;
}

static void what_was_not_committed_is_cut_off_by_the_next_writer(void **state)
{
	(void)state;
	for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
		struct err err;
		struct docstore_opened is;
		struct docstore *ds;
		struct docstore_mark mark = make_cut(scratch("cut"), checkpoint);
		struct docstore *reader = store_read(scratch("cut"));
		doc_there(reader, 150); /* a reader may see more */
		assert_int_equal(docstore_open(&ds, scratch("cut"), &mark, &is, &err), 0);
		assert_true(is.cut > 0 && !is.remade);
		for (uint32_t i = 1; i <= 300; i++)
			if (i <= 100)
				doc_there(ds, i);
			else
				doc_gone(ds, i);
		doc_gone(reader, 150);
		assert_int_equal(store_stats(ds).docs, 100);
		store_sound(ds, mark);
		/* The same oids for others: nobody sees what was there before. */
		for (uint32_t i = 101; i <= 300; i++)
			doc_put_as(ds, i, i + 1000);
		mark = store_sync(ds);
		for (uint32_t i = 101; i <= 300; i++) {
			doc_there_as(ds, i, i + 1000);
			doc_there_as(reader, i, i + 1000);
		}
		docstore_close(&reader);
		docstore_close(&ds);
		assert_int_equal(docstore_open(&ds, scratch("cut"), &mark, &is, &err), 0);
		assert_int_equal(is.cut, 0);
		store_sound(ds, mark);
		docstore_close(&ds);
		assert_true(tree_remove(scratch("cut"), &err) >= 0);
	}
}

static void a_mark_of_more_than_there_is_says_so_and_none_gives_up_all(void **state)
{
	(void)state;
	struct err err;
	struct docstore *ds = NULL;
	struct docstore_mark mark = make_cut(scratch("marks"), false), more = mark;
	more.length = 1 << 30;
	assert_int_equal(docstore_open(&ds, scratch("marks"), &more, NULL, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	more = (struct docstore_mark){mark.file + 1, mark.length};
	assert_int_equal(docstore_open(&ds, scratch("marks"), &more, NULL, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	ds = store_open(scratch("marks"), mark);
	doc_there(ds, 100);
	docstore_close(&ds);
	assert_int_equal(docstore_open(&ds, scratch("marks"), NULL, NULL, &err), 0);
	for (uint32_t i = 1; i <= 300; i++)
		doc_gone(ds, i);
	assert_int_equal(store_stats(ds).files, 0);
	doc_put(ds, 1);
	doc_there(ds, 1);
	docstore_close(&ds);
}

static void there_is_one_writer(void **state)
{
	(void)state;
	struct err err;
	struct docstore *ds = store_new(scratch("one")), *second = NULL;
	assert_int_equal(docstore_open(&second, scratch("one"), NULL, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	docstore_close(&ds);
	ds = store_new(scratch("one"));
	docstore_close(&ds);
}

static void what_cannot_be_soif_is_refused_and_nothing_else_happens(void **state)
{
	(void)state;
	struct err err = {0};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_new(scratch("refuse"));
	doc_put(ds, 5);
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a b/")};
	assert_int_equal(docstore_put(ds, 6, &obj, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	obj.url = STR("http://large/");
	char *large = mem_alloc(DOCSTORE_DOC_MOST + 1);
	soif_add(&obj, &arena, STR("Full-Text"), (struct str){large, DOCSTORE_DOC_MOST + 1});
	assert_int_equal(docstore_put(ds, 6, &obj, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	obj.attr[0] = (struct soif_attr){{large, 9000}, STR("x")};
	memset(large, 'n', 9000);
	assert_int_equal(docstore_put(ds, 6, &obj, &err), -1);
	mem_free(&large);
	doc_put(ds, 6); /* its oid is free */
	store_sync(ds);
	doc_there(ds, 5);
	doc_there(ds, 6);
	assert_int_equal(store_stats(ds).docs, 2);
	docstore_close(&ds);
	arena_free(&arena);
}

static void the_largest_document_and_the_smallest_share_a_store(void **state)
{
	(void)state;
	struct err err = {0};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_new(scratch("large"));
	struct soif obj = {.type = STR("FILE"), .url = STR("http://large/")}, got;
	struct soif tiny = {.type = STR("F"), .url = STR("u")};
	char *bytes = mem_alloc(DOCSTORE_DOC_MOST - 1000);
	uint64_t seed = 3;
	for (size_t i = 0; i < DOCSTORE_DOC_MOST - 1000; i += 64) /* any bytes, and zeroes */
		bytes[i] = (char)dice(&seed);
	struct str value = {bytes, DOCSTORE_DOC_MOST - 1000};
	soif_add(&obj, &arena, STR("Full-Text"), value);
	assert_int_equal(docstore_put(ds, 1, &tiny, &err), 0);
	assert_int_equal(docstore_put(ds, 2, &obj, &err), 0);
	assert_int_equal(docstore_put(ds, 3, &tiny, &err), 0);
	store_sync(ds);
	assert_int_equal(docstore_get(ds, 2, &arena, &got, &err), 0);
	assert_true(str_eq(soif_get(&got, STR("full-text")), value));
	assert_int_equal(docstore_get(ds, 1, &arena, &got, &err), 0);
	assert_int_equal(docstore_get(ds, 3, &arena, &got, &err), 0);
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
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct docstore *ds = store_new(scratch("tiny"));
	for (unsigned i = 0; i < N; i++) {
		char url[16];
		snprintf(url, sizeof url, "%u", i);
		struct soif tiny = {.type = STR("F"), .url = str_of(url)};
		assert_int_equal(docstore_put(ds, i + 1, &tiny, &err), 0);
	}
	store_sync(ds);
	for (unsigned i = 0; i < N; i++) {
		char url[16];
		struct soif got;
		snprintf(url, sizeof url, "%u", i);
		assert_int_equal(docstore_get(ds, i + 1, &arena, &got, &err), 0);
		assert_true(str_is(got.url, url));
		arena_clear(&arena);
	}
	docstore_close(&ds);
	arena_free(&arena);
}

struct told {
	struct docstore *ds;
	uint64_t oid[4];
	size_t n;
};

/* Deletes what it is told of, which it may. */
static int note_told(void *ctx, uint64_t oid, struct err *err)
{
	struct told *told = ctx;
	if (told->n == ARRAY_LEN(told->oid))
		return 1;
	told->oid[told->n++] = oid;
	return docstore_delete(told->ds, oid, err);
}

static void every_document_that_is_there_is_told_in_order(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_new(scratch("each"));
	struct told told = {.ds = ds};
	for (uint32_t i = 1; i <= 3; i++)
		doc_put(ds, 2 * i);
	store_sync(ds);
	doc_put(ds, 9); /* in another block, which is not written yet */
	doc_delete(ds, 4);
	assert_int_equal(docstore_each(ds, 1, note_told, &told, &err), 0);
	assert_int_equal(told.n, 3);
	assert_true(told.oid[0] == 2 && told.oid[1] == 6 && told.oid[2] == 9);
	doc_gone(ds, 6);
	for (uint32_t i = 10; i < 20; i++)
		doc_put(ds, i);
	told.n = 0;
	assert_int_equal(docstore_each(ds, 1, note_told, &told, &err), 1);
	doc_there(ds, 14);
	docstore_close(&ds);
}

static void a_deleted_document_stays_deleted_after_a_checkpoint(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_new(scratch("delete"));
	for (uint32_t i = 1; i <= 200; i++) {
		doc_put(ds, i);
		if (i % 2) /* some of them in the block that is being made */
			doc_delete(ds, i);
	}
	assert_int_equal(docstore_delete(ds, 1, &err), 1);
	assert_int_equal(docstore_delete(ds, 0, &err), 1);
	assert_int_equal(docstore_delete(ds, 201, &err), 1);
	struct docstore_mark mark = store_sync(ds);
	store_checkpoint(ds);
	docstore_close(&ds);
	ds = store_open(scratch("delete"), mark);
	for (uint32_t i = 1; i <= 200; i++)
		if (i % 2)
			doc_gone(ds, i);
		else
			doc_there(ds, i);
	struct docstore_stats s = store_stats(ds);
	assert_int_equal(s.docs, 200);
	assert_int_equal(s.deleted_docs, 100);
	assert_true(s.deleted_bytes > 0 && s.deleted_bytes < s.text_bytes);
	store_sound(ds, mark);
	docstore_close(&ds);
}

/* Parts of any size, from any place, are those of the whole: small documents and large ones, in the
 * making, written, and compacted away between two parts. */
static void parts_are_those_of_the_whole(void **state)
{
	static const size_t sizes[] = {0, 10, 5000, 100000, 131072 - 60, 300000, 900000};
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	(void)state;
	struct docstore *ds = store_new(scratch("parts"));
	for (uint32_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct soif obj;
		CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX);
		struct docstore_part part = {.most = 48 << 10};
		struct str got;
		doc_make(i, sizes[i], &arena, &obj);
		assert_int_equal(soif_print(&obj, &text, &err), 0);
		assert_int_equal(docstore_put(ds, i + 1, &obj, &err), 0);
		for (size_t step = 0; part.from < text.n; step++) {
			if (step == 1)
				store_sync(ds);
			assert_int_equal(docstore_read_part(ds, i + 1, &part, &arena, &got, &err),
					 0);
			assert_int_equal(got.n, MIN(part.most, text.n - part.from));
			assert_memory_equal(got.p, text.p + part.from, got.n);
			part.from += got.n;
			part.most = (part.most * 7 + 12345) % 200000 + 1;
		}
		assert_int_equal(docstore_read_part(ds, i + 1, &part, &arena, &got, &err), 0);
		assert_int_equal(got.n, 0);
		store_sync(ds);
		assert_int_equal(docstore_get_most(ds, i + 1, text.n, &arena, &obj, &err), 0);
		assert_int_equal(docstore_get_most(ds, i + 1, text.n - 1, &arena, &obj, &err),
				 DOCSTORE_LARGER);
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
	struct str before, after;
	struct err err;
	(void)state;
	struct docstore *ds = store_new(scratch("parts-moved"));
	doc_put(ds, 1);
	doc_make(2, 700000, &arena, &obj);
	assert_int_equal(docstore_put(ds, 2, &obj, &err), 0);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("parts-moved"));
	assert_int_equal(docstore_read_part(reader, 2, &part, &arena, &before, &err), 0);
	assert_int_not_equal(part.checked, 0);
	doc_delete(ds, 1);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	again.checked = part.checked;
	assert_int_equal(docstore_read_part(reader, 2, &again, &arena, &after, &err), 0);
	assert_true(str_eq(before, after));
	assert_int_not_equal(again.checked, part.checked); /* verified where it is now */
	doc_delete(ds, 2);
	assert_int_equal(docstore_read_part(reader, 2, &again, &arena, &after, &err), 1);
	arena_free(&arena);
	docstore_close(&reader);
	docstore_close(&ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got_before_and_after_a_sync_and_a_restart),
		cmocka_unit_test(oids_ascend_and_are_never_used_again),
		cmocka_unit_test(a_reader_sees_what_was_synced),
		cmocka_unit_test(what_was_not_committed_is_cut_off_by_the_next_writer),
		cmocka_unit_test(a_mark_of_more_than_there_is_says_so_and_none_gives_up_all),
		cmocka_unit_test(there_is_one_writer),
		cmocka_unit_test(what_cannot_be_soif_is_refused_and_nothing_else_happens),
		cmocka_unit_test(the_largest_document_and_the_smallest_share_a_store),
		cmocka_unit_test(thousands_of_tiny_documents_fill_blocks_by_their_number),
		cmocka_unit_test(every_document_that_is_there_is_told_in_order),
		cmocka_unit_test(a_deleted_document_stays_deleted_after_a_checkpoint),
		cmocka_unit_test(parts_are_those_of_the_whole),
		cmocka_unit_test(a_part_is_found_where_compaction_put_it),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
