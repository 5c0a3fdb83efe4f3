#include "docstore_unit.h"

enum { DOCS = 600 };

/* Two of three are deleted; what is left is committed. */
static struct docstore_mark fill(struct docstore *ds)
{
	for (uint32_t i = 1; i <= DOCS; i++)
		doc_put(ds, i);
	for (uint32_t i = 1; i <= DOCS; i++)
		if (i % 3)
			doc_delete(ds, i);
	return store_sync(ds);
}

static void as_filled(struct docstore *ds)
{
	for (uint32_t i = 1; i <= DOCS; i++)
		if (i % 3)
			doc_gone(ds, i);
		else
			doc_there(ds, i);
}

static size_t files(const char *folder, const char *ending)
{
	struct err err;
	struct dir dir;
	const char *name;
	size_t n = 0;
	assert_int_equal(dir_init(&dir, folder, &err), 0);
	while (dir_next(&dir, &name) == 0)
		n += str_ends(str_of(name), str_of(ending));
	dir_done(&dir);
	return n;
}

/* The file of the mark is among those that go: the mark still opens the store, more than once. */
static void living_documents_are_found_where_they_were_moved_to(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_new(scratch("compact"));
	struct docstore_mark mark = fill(ds);
	struct docstore *reader = store_read(scratch("compact"));
	as_filled(reader);
	uint64_t before = store_stats(ds).file_bytes;
	assert_int_equal(docstore_compact(ds, 30, &err), 0);
	struct docstore *late = store_read(scratch("compact"));
	as_filled(ds);
	as_filled(reader);
	as_filled(late);
	struct docstore_stats s = store_stats(ds), r = store_stats(reader);
	assert_memory_equal(&s, &r, sizeof s);
	assert_int_equal(s.docs, DOCS / 3);
	assert_int_equal(s.deleted_docs, 0);
	assert_int_equal(s.files, 1);
	assert_true(s.file_bytes < before / 2);
	store_sound(ds, mark);
	store_sound(reader, mark);
	assert_int_equal(docstore_compact(ds, 0, &err), 1);
	for (uint32_t gone = 3; gone <= 9; gone += 3) {
		struct docstore_mark again = store_sync(ds);
		assert_true(again.file == mark.file && again.length == mark.length);
		docstore_close(&ds);
		ds = store_open(scratch("compact"), mark);
		doc_there(ds, DOCS);
		doc_put(ds, DOCS + 1); /* is not committed */
		store_sync(ds);
		store_checkpoint(ds);
		docstore_close(&ds);
		ds = store_open(scratch("compact"), mark);
		doc_gone(ds, DOCS + 1);
		doc_delete(ds, gone);
		assert_int_equal(docstore_compact(ds, 0, &err), 0);
		doc_gone(reader, gone);
		for (uint32_t i = gone + 3; i <= DOCS; i += 3) {
			doc_there(ds, i);
			doc_there(reader, i);
		}
		store_sound(ds, mark);
	}
	docstore_close(&reader);
	docstore_close(&late);
	docstore_close(&ds);
}

/* Each of the steps has work of the writer around it; documents after DOCS are new. */
static void what_is_put_and_deleted_while_documents_are_copied_is_so_afterwards(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore_compaction *c = NULL;
	struct docstore *ds = store_new(scratch("meanwhile"));
	(void)fill(ds);
	assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
	for (uint32_t i = 1; i <= DOCS; i++)
		doc_put(ds, DOCS + i);
	doc_delete(ds, 3);
	store_sync(ds);
	doc_delete(ds, 6);
	assert_int_equal(docstore_compact_copy(c, &err), 0);
	doc_delete(ds, 9);
	doc_delete(ds, DOCS + 1);
	assert_int_equal(docstore_compact_end(c, &err), 0);
	docstore_compact_free(&c);
	doc_delete(ds, 12);
	struct docstore_mark mark = store_sync(ds);
	store_checkpoint(ds);
	for (int round = 0; round < 2; round++) {
		struct docstore *reader = store_read(scratch("meanwhile"));
		for (uint32_t i = 1; i <= 2 * DOCS; i++)
			if (i <= DOCS ? i % 3 || i <= 12 : i == DOCS + 1) {
				doc_gone(ds, i);
				doc_gone(reader, i);
			} else {
				doc_there(ds, i);
				doc_there(reader, i);
			}
		struct docstore_stats s = store_stats(reader);
		assert_int_equal(s.docs - s.deleted_docs, DOCS / 3 + DOCS - 5);
		store_sound(reader, mark);
		docstore_close(&reader);
		docstore_close(&ds);
		ds = store_open(scratch("meanwhile"), mark);
	}
	docstore_close(&ds);
}

static void a_compaction_that_is_stopped_changes_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore_opened is;
	struct docstore_compaction *c = NULL;
	struct docstore *ds = store_new(scratch("stopped"));
	struct docstore_mark mark = fill(ds);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
		docstore_compact_stop(c);
		assert_int_equal(docstore_compact_copy(c, &err), 1);
		docstore_compact_free(&c);
		as_filled(ds);
	}
	assert_int_equal(docstore_compact(ds, 30, &err), 0); /* and no file is left of those */
	assert_int_equal(store_stats(ds).docs, DOCS / 3);
	docstore_close(&ds);
	assert_int_equal(docstore_open(&ds, scratch("stopped"), &mark, &is, &err), 0);
	assert_int_equal(is.cut, 0);
	docstore_close(&ds);
}

static void a_compaction_that_does_not_end_leaves_no_files(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore_compaction *c = NULL;
	struct docstore *ds = store_new(scratch("unended"));
	struct docstore_mark mark = fill(ds);
	assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
	assert_int_equal(docstore_compact_copy(c, &err), 0);
	assert_int_equal(files(scratch("unended"), ".docs.new"), 1);
	docstore_compact_free(&c);
	assert_int_equal(files(scratch("unended"), ".docs.new"), 0);
	as_filled(ds);
	assert_int_equal(docstore_compact(ds, 30, &err), 0);
	assert_int_equal(files(scratch("unended"), ".docs"), 1);
	as_filled(ds);
	docstore_close(&ds);
	ds = store_open(scratch("unended"), mark);
	as_filled(ds);
	docstore_close(&ds);
}

static void files_with_little_to_gain_or_not_synced_are_left_alone(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_new(scratch("little"));
	for (uint32_t i = 1; i <= DOCS; i++)
		doc_put(ds, i);
	doc_delete(ds, 7);
	assert_int_equal(docstore_compact(ds, 0, &err), 1); /* not synced */
	store_sync(ds);
	assert_int_equal(docstore_compact(ds, 50, &err), 1);
	doc_put(ds, DOCS + 1);
	assert_int_equal(docstore_compact(ds, 0, &err), 1);
	store_sync(ds);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	assert_int_equal(store_stats(ds).docs, DOCS);
	assert_int_equal(docstore_compact(ds, 0, &err), 1);
	docstore_close(&ds);
}

static void when_all_is_deleted_no_text_is_left_and_no_oid_comes_again(void **state)
{
	(void)state;
	struct err err = {0};
	struct docstore *ds = store_new(scratch("all"));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= DOCS; i++)
			doc_put(ds, round * DOCS + i);
		for (uint32_t i = 1; i <= DOCS; i++)
			doc_delete(ds, round * DOCS + i);
		struct docstore_mark mark = store_sync(ds);
		assert_int_equal(docstore_compact(ds, 100, &err), 0);
		struct docstore_stats s = store_stats(ds);
		assert_int_equal(s.docs, 0);
		assert_true(s.files == 1 && s.file_bytes < 100); /* which says what was committed */
		docstore_close(&ds);
		ds = store_open(scratch("all"), mark);
		doc_gone(ds, 1);
		assert_int_equal(docstore_put(ds, DOCS, &(struct soif){0}, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	docstore_close(&ds);
}

/* oid[k]: of document k; 0: there is none. Now and then the table is lost as well. */
static void writing_goes_on_after_a_compaction_and_through_many(void **state)
{
	(void)state;
	struct err err = {0};
	static uint64_t oid[DOCS], top;
	struct docstore *ds = store_new(scratch("many"));
	struct docstore *reader = store_read(scratch("many"));
	uint64_t seed = 5;
	for (unsigned round = 0; round < 12; round++) {
		for (uint32_t i = 0; i < DOCS; i++) {
			if (dice(&seed) % 2)
				continue;
			if (oid[i])
				doc_delete(ds, oid[i]);
			oid[i] = dice(&seed) % 5 ? ++top : 0;
			if (oid[i])
				doc_put_as(ds, oid[i], i);
		}
		struct docstore_mark mark = store_sync(ds);
		assert_true(docstore_compact(ds, 40, &err) >= 0);
		if (round % 4 == 3) {
			docstore_close(&ds);
			if (round == 7)
				assert_int_equal(file_remove(scratch("many/table"), &err), 0);
			ds = store_open(scratch("many"), mark);
		}
		for (uint32_t i = 0; i < DOCS; i++)
			if (oid[i]) {
				doc_there_as(ds, oid[i], i);
				doc_there_as(reader, oid[i], i);
			}
		store_sound(ds, mark);
	}
	docstore_close(&reader);
	docstore_close(&ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(living_documents_are_found_where_they_were_moved_to),
		cmocka_unit_test(
			what_is_put_and_deleted_while_documents_are_copied_is_so_afterwards),
		cmocka_unit_test(a_compaction_that_is_stopped_changes_nothing),
		cmocka_unit_test(a_compaction_that_does_not_end_leaves_no_files),
		cmocka_unit_test(files_with_little_to_gain_or_not_synced_are_left_alone),
		cmocka_unit_test(when_all_is_deleted_no_text_is_left_and_no_oid_comes_again),
		cmocka_unit_test(writing_goes_on_after_a_compaction_and_through_many),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
