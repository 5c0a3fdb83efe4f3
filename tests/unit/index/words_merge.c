#include "index/words.h"

#include "base/fault.h"
#include "base/thread.h"
#include "shelf.h"

#include <stdatomic.h>

/* The bytes of the only segment in a folder. */
static void only_segment(const char *folder, struct buf *ret)
{
	struct err err;
	struct dir d;
	const char *name;
	assert_int_equal(files_in(folder, ".words"), 1);
	assert_int_equal(dir_init(&d, folder, &err), 0);
	while (dir_next(&d, &name) == 0)
		if (str_ends(str_of(name), STR(".words"))) {
			char path[600];
			snprintf(path, sizeof path, "%s/%s", folder, name);
			assert_int_equal(file_slurp(path, ret, &err), 0);
		}
	dir_done(&d);
}

static void a_merged_segment_has_the_bytes_of_one_built_at_once(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct buf merged = BUF_INIT(SIZE_MAX / 2), built = BUF_INIT(SIZE_MAX / 2);
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 600; i++) {
		add(s, w, random_doc(s, i));
		if (i % 100 == 99)
			commit(w);
	}
	assert_int_equal(words_merge_all(w, &err), 0);
	assert_int_equal(words_merge_all(w, &err), 1);
	words_writer_close(&w);
	assert_folder_is(s);
	only_segment(s->folder, &merged);

	snprintf(s->folder + strlen(s->folder), 10, "-once");
	w = open_writer(s);
	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(words_add(w, &s->doc[i], &err), 0);
	commit(w);
	words_writer_close(&w);
	only_segment(s->folder, &built);
	assert_int_equal(merged.n, built.n);
	assert_memory_equal(merged.p, built.p, built.n);
	buf_free(&merged);
	buf_free(&built);
}

static void many_small_commits_stay_few_segments(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 300; i++) {
		add(s, w, random_doc(s, below(100)));
		if (i % 3 == 0)
			add(s, w, random_doc(s, below(100)));
		commit(w);
		assert_in_range(files_in(s->folder, ".words"), 1, 24);
	}
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void a_whole_merge_drops_what_is_deleted(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 150; i++)
			add(s, w, random_doc(s, below(400)));
		commit(w);
	}
	assert_int_equal(words_merge_all(w, &err), 0);
	struct words_reader *r;
	struct words_stats stats;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	words_stats(r, &stats);
	assert_int_equal(stats.segments, 1);
	assert_int_equal(stats.deleted_docs, 0);
	assert_int_equal(files_in(s->folder, ".gone"), 0);
	words_close(&r);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void whole_merges_may_number_by_rank(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_reader *r;
	struct segment_column rank;
	size_t n;
	s->settings.by_rank = true;
	struct words_writer *w = open_writer(s);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < 200; i++)
			add(s, w, random_doc(s, below(700)));
		commit(w);
	}
	assert_int_equal(words_merge_all(w, &err), 0);
	assert_folder_is(s);
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	const struct words_part *part = words_parts(r, &n);
	assert_int_equal(n, 1);
	assert_int_equal(segment_column(part->segment, SEGMENT_RANK, &rank, &err), 0);
	for (uint32_t doc = 1; doc < part->docs; doc++)
		assert_true(segment_number(&rank, doc - 1) >= segment_number(&rank, doc));
	words_close(&r);
	words_writer_close(&w);
}

static void deletes_that_wait_for_a_commit_survive_a_merge_and_no_crash(void **state)
{
	struct shelf *s = *state, committed;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 100; i++)
			add(s, w, random_doc(s, round * 100 + i));
		commit(w);
	}
	committed = *s;
	for (unsigned i = 0; i < 50; i++)
		add(s, w, random_doc(s, below(300)));
	assert_int_equal(words_delete(w, s->doc[7].key, &err), 0);
	forget(s, s->doc[7].key);
	assert_int_equal(words_merge_all(w, &err), 0);
	assert_folder_is(&committed);
	commit(w);
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void a_note_is_committed_alone_and_kept_by_merges(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_note note = {.follows = 77, .docs = {3, 4096}}, got;
	struct words_writer *w = open_writer(s);
	words_noted(w, &got);
	assert_true(got.follows == 0 && got.docs.file == 0 && got.docs.length == 0);
	assert_int_equal(words_commit(w, &note, &err), 0);
	assert_int_equal(words_commit(w, &note, &err), 1); /* the same once more is nothing */
	for (unsigned i = 0; i < 3; i++) {
		add(s, w, random_doc(s, i));
		commit(w); /* without one: it stays */
	}
	assert_int_equal(words_merge_all(w, &err), 0);
	words_writer_close(&w);
	w = open_writer(s);
	words_noted(w, &got);
	assert_true(got.follows == 77 && got.docs.file == 3 && got.docs.length == 4096);
	note.docs.length++;
	assert_int_equal(words_commit(w, &note, &err), 0);
	struct words_reader *r = NULL;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	words_reader_note(r, &got);
	assert_int_equal(got.docs.length, 4097);
	words_close(&r);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void settings_are_the_same_or_differ_in_anything(void **state)
{
	struct words_settings a, b;
	(void)state;
	words_settings_default(&a);
	b = a;
	assert_true(words_settings_same(&a, &b));
	b.weight[1].weight++;
	assert_false(words_settings_same(&a, &b));
	b = a;
	memcpy(b.language, "english", sizeof "english");
	assert_false(words_settings_same(&a, &b));
	b = a;
	memcpy(b.column[b.columns++].name, "size", sizeof "size");
	assert_false(words_settings_same(&a, &b));
	a = b;
	assert_true(words_settings_same(&a, &b));
	b.column[0].type = WORDS_DATE;
	assert_false(words_settings_same(&a, &b));
}

static void who_merges_elsewhere_commits_without_merging(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = NULL;
	struct words_options options = {.settings = &s->settings, .merges_elsewhere = true};
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), 0);
	for (unsigned i = 0; i < 20; i++) {
		add(s, w, random_doc(s, i));
		commit(w);
	}
	assert_int_equal(files_in(s->folder, ".words"), 20);
	assert_int_equal(words_merge(w, UINT64_MAX, &err), 0);
	assert_true(files_in(s->folder, ".words") < 20);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void *merge_whole(void *arg)
{
	struct err err;
	ENSURE(words_merge_all(arg, &err) >= 0);
	return NULL;
}

/* While all is merged, the documents of some segments go, and with the commit the segments. */
static void a_segment_that_goes_meanwhile_is_no_reason_to_begin_again(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_options options = {.settings = &s->settings, .merges_elsewhere = true};
	struct words_writer *w = NULL;
	pthread_t merger;
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), 0);
	for (unsigned i = 0; i < 4; i++) {
		add(s, w, random_doc(s, i));
		commit(w);
	}
	for (unsigned n = 4; n > 0; n -= 2) { /* the second time nothing is left */
		assert_int_equal(fault_arm("words.merged=slow", &err), 0);
		assert_int_equal(thread_start(&merger, merge_whole, w, &err), 0);
		for (unsigned i = 0; i < 2; i++) {
			struct str key = s->doc[0].key;
			assert_int_equal(words_delete(w, key, &err), 0);
			forget(s, key);
			commit(w);
		}
		pthread_join(merger, NULL);
		assert_folder_is(s);
	}
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_int_equal(files_in(s->folder, ".words"), 0);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void no_merge_begins_once_they_are_stopped(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 5; i++) {
		add(s, w, random_doc(s, i));
		commit(w);
	}
	words_stop_merging(w);
	assert_int_equal(words_merge_all(w, &err), 1);
	add(s, w, random_doc(s, 1000));
	commit(w);
	assert_int_equal(files_in(s->folder, ".words"), 6);
	words_writer_close(&w);
	assert_folder_is(s);
}

/* Threads */

struct pair {
	struct shelf *shelf;
	struct words_writer *writer;
	atomic_bool stop;
	atomic_uint merges, reads;
};

static void *merge_on(void *arg)
{
	struct pair *p = arg;
	struct err err;
	while (!atomic_load(&p->stop)) {
		int rc = words_merge_all(p->writer, &err);
		ENSURE(rc >= 0);
		atomic_fetch_add(&p->merges, rc == 0);
	}
	return NULL;
}

/* Tiers, while whole merges run. */
static void *merge_tiers_on(void *arg)
{
	struct pair *p = arg;
	struct err err;
	while (!atomic_load(&p->stop))
		ENSURE(words_merge(p->writer, UINT64_MAX, &err) >= 0);
	return NULL;
}

/* Reads all of every snapshot: documents that are there have their postings. */
static void *read_on(void *arg)
{
	struct pair *p = arg;
	struct err err;
	struct words_reader *r;
	ENSURE(words_open(&r, p->shelf->folder, &err) == 0);
	while (!atomic_load(&p->stop)) {
		struct lines lines = {0};
		lines_of_index(r, &lines);
		lines_free(&lines);
		ENSURE(words_refresh(&r, &err) >= 0);
		atomic_fetch_add(&p->reads, 1);
	}
	words_close(&r);
	return NULL;
}

static void merges_and_readers_run_while_documents_change(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct pair pair = {.shelf = s, .writer = open_writer(s)};
	pthread_t merger, other, reader[2];
	assert_int_equal(thread_start(&merger, merge_on, &pair, &err), 0);
	assert_int_equal(thread_start(&other, merge_tiers_on, &pair, &err), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(thread_start(&reader[i], read_on, &pair, &err), 0);
	for (unsigned i = 0;
	     i < 40 || atomic_load(&pair.merges) < 5 || atomic_load(&pair.reads) < 5; i++) {
		for (unsigned k = 0; k < 10; k++)
			add(s, pair.writer, random_doc(s, below(200)));
		if (s->n && words_delete(pair.writer, s->doc[0].key, &err) == 0)
			forget(s, s->doc[0].key);
		commit(pair.writer);
	}
	atomic_store(&pair.stop, true);
	pthread_join(merger, NULL);
	pthread_join(other, NULL);
	for (size_t i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	words_writer_close(&pair.writer);
	assert_folder_is(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHELF_TEST(a_merged_segment_has_the_bytes_of_one_built_at_once),
		SHELF_TEST(many_small_commits_stay_few_segments),
		SHELF_TEST(a_whole_merge_drops_what_is_deleted),
		SHELF_TEST(whole_merges_may_number_by_rank),
		SHELF_TEST(deletes_that_wait_for_a_commit_survive_a_merge_and_no_crash),
		SHELF_TEST(a_note_is_committed_alone_and_kept_by_merges),
		SHELF_TEST(settings_are_the_same_or_differ_in_anything),
		SHELF_TEST(who_merges_elsewhere_commits_without_merging),
		SHELF_TEST(a_segment_that_goes_meanwhile_is_no_reason_to_begin_again),
		SHELF_TEST(no_merge_begins_once_they_are_stopped),
		SHELF_TEST(merges_and_readers_run_while_documents_change),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
