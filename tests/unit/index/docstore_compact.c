#include "docstore_unit.h"

enum { DOCS = 600 };

struct moves {
	uint32_t n;
	struct docaddr from[DOCS], to[DOCS];
};

static int note(void *ctx, struct docaddr from, struct docaddr to, struct err *err)
{
	struct moves *m = ctx;
	(void)err;
	assert_true(m->n < DOCS);
	assert_true(m->n == 0 || m->from[m->n - 1].v < from.v);
	m->from[m->n] = from;
	m->to[m->n++] = to;
	return 0;
}

static struct docaddr moved_to(const struct moves *m, struct docaddr from)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->from[i].v == from.v)
			return m->to[i];
	return (struct docaddr){0};
}

/* Two of three are deleted. */
static void fill(struct docstore *ds, struct docaddr at[DOCS])
{
	struct err err;
	for (uint32_t i = 0; i < DOCS; i++)
		at[i] = doc_put(ds, i);
	for (uint32_t i = 0; i < DOCS; i++)
		if (i % 3)
			assert_int_equal(docstore_delete(ds, at[i], &err), 0);
}

static void living_documents_keep_their_old_address_until_it_is_forgotten(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	static struct moves m;
	struct docstore *ds = store_open(scratch("compact"));
	fill(ds, at);
	store_sync(ds);
	struct docstore *reader = store_read(scratch("compact")), *late;
	doc_there(reader, at[0], 0);
	uint64_t before = store_stats(ds).file_bytes;
	assert_int_equal(docstore_compact(ds, 30, &err), 0);
	assert_int_equal(docstore_each_moved(ds, note, &m, &err), 0);
	assert_int_equal(m.n, DOCS / 3);
	late = store_read(scratch("compact"));
	for (uint32_t i = 0; i < DOCS; i++) {
		if (i % 3) {
			doc_gone(ds, at[i]);
			doc_gone(reader, at[i]);
			continue;
		}
		struct docstore *all[] = {ds, reader, late};
		struct docaddr to = moved_to(&m, at[i]);
		assert_true(to.v != 0 && to.v != at[i].v);
		for (unsigned k = 0; k < 3; k++) {
			doc_there(all[k], at[i], i);
			doc_there(all[k], to, i);
		}
	}
	struct docstore_stats s = store_stats(ds);
	assert_int_equal(s.docs, DOCS / 3);
	assert_int_equal(s.deleted_docs, 0);
	assert_int_equal(s.moved_docs, DOCS / 3);
	assert_true(s.file_bytes < before / 2);
	store_sound(ds);
	store_sound(reader);
	assert_int_equal(docstore_compact(ds, 0, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(docstore_forget_moved(ds, &err), 0);
	assert_int_equal(docstore_forget_moved(ds, &err), 1);
	for (uint32_t i = 0; i < DOCS; i += 3) {
		doc_gone(ds, at[i]);
		doc_gone(reader, at[i]);
		doc_there(ds, moved_to(&m, at[i]), i);
		doc_there(reader, moved_to(&m, at[i]), i);
	}
	assert_int_equal(docstore_compact(ds, 0, &err), 1);
	docstore_close(&reader);
	docstore_close(&late);
	docstore_close(&ds);
}

static void moves_are_told_again_after_a_restart_and_old_addresses_can_be_deleted(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	static struct moves m;
	struct docstore *ds = store_open(scratch("again"));
	fill(ds, at);
	assert_int_equal(docstore_compact(ds, 10, &err), 0);
	docstore_close(&ds);
	ds = store_open(scratch("again"));
	assert_int_equal(docstore_each_moved(ds, note, &m, &err), 0);
	assert_int_equal(m.n, DOCS / 3);
	assert_int_equal(docstore_delete(ds, at[0], &err), 0);
	assert_int_equal(docstore_delete(ds, moved_to(&m, at[0]), &err), 1);
	store_sync(ds);
	doc_gone(ds, at[0]);
	doc_gone(ds, moved_to(&m, at[0]));
	doc_there(ds, at[3], 3);
	docstore_close(&ds);
}

/* Each of the steps has work of the writer around it; documents from DOCS on are new. */
static void what_is_put_and_deleted_while_documents_are_copied_is_so_afterwards(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[2 * DOCS];
	struct docstore_compaction *c = NULL;
	struct docaddr now;
	struct docstore *ds = store_open(scratch("meanwhile"));
	fill(ds, at);
	assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
	for (uint32_t i = 0; i < DOCS; i++)
		at[DOCS + i] = doc_put(ds, DOCS + i);
	assert_int_equal(docstore_delete(ds, at[0], &err), 0);
	store_sync(ds);
	assert_int_equal(docstore_delete(ds, at[3], &err), 0);
	assert_int_equal(docstore_compact_copy(c, &err), 0);
	assert_int_equal(docstore_delete(ds, at[6], &err), 0); /* not synced */
	assert_int_equal(docstore_delete(ds, at[DOCS], &err), 0);
	assert_int_equal(docstore_compact_end(c, &err), 0);
	docstore_compact_free(&c);
	assert_int_equal(docstore_delete(ds, at[9], &err), 0);
	store_sync(ds);
	for (int round = 0; round < 2; round++) {
		struct docstore *reader = store_read(scratch("meanwhile"));
		for (uint32_t i = 0; i < 2 * DOCS; i++)
			if (i < DOCS ? i % 3 || i <= 9 : i == DOCS) {
				doc_gone(ds, at[i]);
				doc_gone(reader, at[i]);
			} else {
				doc_there(ds, at[i], i);
				doc_there(reader, at[i], i);
			}
		struct docstore_stats s = store_stats(reader);
		assert_int_equal(s.docs, DOCS / 3 + DOCS);
		assert_int_equal(s.deleted_docs, 5);
		assert_int_equal(s.moved_docs, DOCS / 3);
		store_sound(reader);
		docstore_close(&reader);
		docstore_close(&ds);
		ds = store_open(scratch("meanwhile"));
	}
	assert_int_equal(docstore_now(ds, at[12], &now, &err), 0);
	assert_int_not_equal(now.v, at[12].v);
	doc_there(ds, now, 12);
	assert_int_equal(docstore_now(ds, at[DOCS + 1], &now, &err), 0);
	assert_int_equal(now.v, at[DOCS + 1].v);
	docstore_close(&ds);
}

static void a_compaction_that_is_stopped_changes_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	struct docstore_compaction *c = NULL;
	struct docstore *ds = store_open(scratch("stopped"));
	fill(ds, at);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
		docstore_compact_stop(c);
		assert_int_equal(docstore_compact_copy(c, &err), 1);
		docstore_compact_free(&c);
		assert_int_equal(store_stats(ds).moved_docs, 0);
		for (uint32_t i = 0; i < DOCS; i += 3)
			doc_there(ds, at[i], i);
	}
	assert_int_equal(docstore_compact(ds, 30, &err), 0); /* and no file is left of those */
	assert_int_equal(store_stats(ds).docs, DOCS / 3);
	docstore_close(&ds);
	uint64_t cut = 1;
	assert_int_equal(docstore_open(&ds, scratch("stopped"), &cut, &err), 0);
	assert_int_equal(cut, 0);
	docstore_close(&ds);
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

static void a_compaction_that_does_not_end_leaves_no_files(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	struct docstore_compaction *c = NULL;
	struct docstore *ds = store_open(scratch("unended"));
	fill(ds, at);
	assert_int_equal(docstore_compact_begin(ds, 30, &c, &err), 0);
	assert_int_equal(docstore_compact_copy(c, &err), 0);
	assert_int_equal(files(scratch("unended"), ".docs"), 2);
	docstore_compact_free(&c);
	assert_int_equal(files(scratch("unended"), ".docs"), 1);
	assert_int_equal(files(scratch("unended"), ".moved"), 0);
	for (uint32_t i = 0; i < DOCS; i += 3)
		doc_there(ds, at[i], i);
	assert_int_equal(docstore_compact(ds, 30, &err), 0);
	assert_int_equal(files(scratch("unended"), ".docs"), 1);
	for (uint32_t i = 0; i < DOCS; i += 3)
		doc_there(ds, at[i], i);
	docstore_close(&ds);
}

static void files_with_little_to_gain_are_left_alone(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	struct docstore *ds = store_open(scratch("little"));
	for (uint32_t i = 0; i < DOCS; i++)
		at[i] = doc_put(ds, i);
	assert_int_equal(docstore_compact(ds, 0, &err), 1);
	assert_int_equal(docstore_delete(ds, at[7], &err), 0);
	assert_int_equal(docstore_compact(ds, 50, &err), 1);
	assert_int_equal(docstore_compact(ds, 0, &err), 0);
	assert_int_equal(store_stats(ds).docs, DOCS - 1);
	docstore_close(&ds);
}

static void when_all_is_deleted_nothing_is_left_and_no_address_comes_again(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	struct docstore *ds = store_open(scratch("all"));
	for (unsigned round = 0; round < 3; round++) {
		struct docaddr before = at[0];
		for (uint32_t i = 0; i < DOCS; i++)
			at[i] = doc_put(ds, i);
		assert_true(at[0].v > before.v);
		for (uint32_t i = 0; i < DOCS; i++)
			assert_int_equal(docstore_delete(ds, at[i], &err), 0);
		assert_int_equal(docstore_compact(ds, 100, &err), 0);
		struct docstore_stats s = store_stats(ds);
		assert_int_equal(s.docs + s.moved_docs + s.files, 0);
		docstore_close(&ds);
		ds = store_open(scratch("all"));
		doc_gone(ds, before);
	}
	docstore_close(&ds);
}

static void writing_goes_on_after_a_compaction_and_through_many(void **state)
{
	(void)state;
	struct err err = {0};
	static struct docaddr at[DOCS];
	static struct moves m;
	struct docstore *ds = store_open(scratch("many"));
	struct docstore *reader = store_read(scratch("many"));
	uint64_t seed = 5;
	for (unsigned round = 0; round < 12; round++) {
		for (uint32_t i = 0; i < DOCS; i++) {
			if (dice(&seed) % 2)
				continue;
			if (at[i].v)
				assert_int_equal(docstore_delete(ds, at[i], &err), 0);
			at[i] = dice(&seed) % 5 ? doc_put(ds, i) : (struct docaddr){0};
		}
		int rc = docstore_compact(ds, 40, &err);
		m.n = 0;
		assert_true(rc >= 0);
		assert_int_equal(docstore_each_moved(ds, note, &m, &err), 0);
		for (uint32_t i = 0; i < DOCS; i++) {
			struct docaddr to = moved_to(&m, at[i]);
			at[i] = to.v ? to : at[i];
		}
		assert_int_equal(docstore_forget_moved(ds, &err), rc);
		for (uint32_t i = 0; i < DOCS; i++)
			if (at[i].v) {
				doc_there(ds, at[i], i);
				doc_there(reader, at[i], i);
			}
		if (round % 4 == 3) {
			docstore_close(&ds);
			ds = store_open(scratch("many"));
		}
	}
	store_sound(ds);
	docstore_close(&reader);
	docstore_close(&ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(living_documents_keep_their_old_address_until_it_is_forgotten),
		cmocka_unit_test(
			moves_are_told_again_after_a_restart_and_old_addresses_can_be_deleted),
		cmocka_unit_test(
			what_is_put_and_deleted_while_documents_are_copied_is_so_afterwards),
		cmocka_unit_test(a_compaction_that_is_stopped_changes_nothing),
		cmocka_unit_test(a_compaction_that_does_not_end_leaves_no_files),
		cmocka_unit_test(files_with_little_to_gain_are_left_alone),
		cmocka_unit_test(when_all_is_deleted_nothing_is_left_and_no_address_comes_again),
		cmocka_unit_test(writing_goes_on_after_a_compaction_and_through_many),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
