#include "broker/collector.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "broker/search.h"
#include "disk/tree.h"
#include "index/words.h"
#include "support/source_list.h"

#include <fcntl.h>
#include <unistd.h>

static char data[4096];
static struct source_list *list;
static struct collector *collector;
static struct collector_feed feed;
static struct err err;
static struct arena arena = ARENA_INIT(256 << 20);

static void begin(void)
{
	assert_int_equal(collector_open(&collector, data, &feed, 1, NULL, 0, &err), 0);
}

static void again(void)
{
	collector_close(&collector);
	begin();
}

static int setup(void **state)
{
	if (scratch_make_in_memory(state) != 0)
		return -1;
	snprintf(data, sizeof data, "%s", scratch_dir);
	list = source_list_new();
	feed = (struct collector_feed){"list", &source_list_ops, list};
	begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	collector_close(&collector);
	source_list_free(&list);
	arena_free(&arena);
	return scratch_done(state);
}

static void tell(enum source_op op, const char *url, const char *title, const char *text)
{
	struct soif obj = {.type = STR("FILE"), .url = str_of(url)};
	if (op == SOURCE_UPDATE) {
		soif_add(&obj, &arena, STR("Title"), str_of(title));
		soif_add(&obj, &arena, STR("Full-Text"), str_of(text));
		soif_add(&obj, &arena, STR("Type"), STR("HTML"));
		soif_add(&obj, &arena, STR("Update-Time"), STR("1700000000"));
	}
	source_list_add(list, &(struct source_change){op, STR("test"), obj});
}

static void collect(void)
{
	while (collector_step(collector, clock_mono_us(), &err) == 0)
		;
	assert_int_equal(collector_commit(collector, &err), 0);
}

/* How many are found, and the URL of the first. */
static uint64_t found(const char *words, const char *site, struct str *ret_first)
{
	struct search *s;
	struct search_answer a;
	struct search_ask ask = {
		.words = str_of(words), .site = str_of(site), .limit = 10, .exact_total = true};
	assert_int_equal(search_open(&s, data, &err), 0);
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	if (ret_first)
		*ret_first = a.n ? arena_str(&arena, a.row[0].url) : STR("");
	search_close(&s);
	return a.total;
}

static struct docstore_stats store_stats(void)
{
	struct docstore *ds;
	struct docstore_stats stats;
	char folder[4200];
	snprintf(folder, sizeof folder, "%s/broker/docs", data);
	assert_int_equal(docstore_open_read(&ds, folder, &err), 0);
	assert_int_equal(docstore_stats(ds, &stats, &err), 0);
	docstore_close(&ds);
	return stats;
}

/* Documents in the store that are not deleted. */
static uint64_t kept(void)
{
	struct docstore_stats stats = store_stats();
	return stats.docs - stats.deleted_docs;
}

static void what_a_source_tells_is_found(void **state)
{
	struct str first;
	(void)state;
	assert_int_equal(found("apple", "", NULL), 0);
	tell(SOURCE_UPDATE, "http://a/1", "One", "an apple");
	tell(SOURCE_UPDATE, "http://b/2", "Two", "a pear and an apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(found("pear", "", &first), 1);
	assert_str(first, "http://b/2");
	assert_int_equal(found("apple", "a", &first), 1);
	assert_str(first, "http://a/1");
	assert_int_equal(found("title : two", "", NULL), 1);
}

static void a_filter_changes_no_score(void **state)
{
	struct search *s;
	struct search_answer all, some;
	struct search_ask ask = {.words = STR("apple"), .limit = 10};
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "an apple");
	tell(SOURCE_UPDATE, "http://a/2", "Two",
	     "apple apple and much more text than that one has");
	for (int i = 0; i < 50; i++) {
		char url[32];
		snprintf(url, sizeof url, "http://b/%d", i);
		tell(SOURCE_UPDATE, url, "Other", "an apple among others");
	}
	collect();
	assert_int_equal(search_open(&s, data, &err), 0);
	ask.limit = 100;
	assert_int_equal(search_run(s, &ask, &arena, &all, &err), 0);
	ask.site = STR("a");
	assert_int_equal(search_run(s, &ask, &arena, &some, &err), 0);
	assert_int_equal(all.n, 52);
	assert_int_equal(some.n, 2);
	for (size_t i = 0; i < some.n; i++) {
		size_t k = 0;
		while (k < all.n && !str_eq(some.row[i].url, all.row[k].url))
			k++;
		assert_true(k < all.n);
		assert_float_equal(some.row[i].score, all.row[k].score, 1e-6);
	}
	search_close(&s);
}

static void an_update_replaces_and_a_delete_removes(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "an apple");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "an apple");
	collect();
	tell(SOURCE_UPDATE, "http://a/1", "One", "a plum");
	tell(SOURCE_DELETE, "http://a/2", NULL, NULL);
	tell(SOURCE_DELETE, "http://a/3", NULL, NULL); /* never heard of */
	tell(SOURCE_REFRESH, "http://a/1", NULL, NULL);
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(found("plum", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

static void changes_of_one_document_in_one_batch_leave_the_last(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "first");
	tell(SOURCE_UPDATE, "http://a/1", "One", "second");
	tell(SOURCE_DELETE, "http://a/1", NULL, NULL);
	tell(SOURCE_UPDATE, "http://a/1", "One", "third");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "gone");
	tell(SOURCE_DELETE, "http://a/2", NULL, NULL);
	collect();
	assert_int_equal(found("first OR second OR gone", "", NULL), 0);
	assert_int_equal(found("third", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

static void after_a_restart_it_goes_on_where_it_was(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	again();
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 1);
	assert_int_equal(collector_due_us(collector), INT64_MAX); /* nothing was taken again */
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(kept(), 2);
}

static void what_was_taken_is_committed_when_there_is_no_more(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 1);
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 1);
	assert_int_equal(collector_due_us(collector), INT64_MAX);
}

/* Takes a change as if just after a commit: then it waits for others. */
static void take_uncommitted(const char *url)
{
	int64_t now_us = clock_mono_us();
	tell(SOURCE_UPDATE, "http://a/before", "One", "pear");
	collect();
	tell(SOURCE_UPDATE, url, "One", "apple");
	assert_int_equal(collector_step(collector, now_us, &err), 1);
	assert_int_equal(found("apple", "", NULL), 0);
}

static void commits_of_a_feed_that_trickles_are_some_time_apart(void **state)
{
	(void)state;
	take_uncommitted("http://a/1");
	int64_t due_us = collector_due_us(collector);
	assert_in_range(due_us, 1, clock_mono_us() + COLLECTOR_COMMIT_US);
	assert_int_equal(collector_step(collector, due_us, &err), 1);
	assert_int_equal(found("apple", "", NULL), 1);
}

static void what_was_not_committed_comes_again(void **state)
{
	(void)state;
	take_uncommitted("http://a/1");
	again();
	assert_int_equal(found("apple", "", NULL), 0);
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(kept(), 2);
}

static void objects_that_cannot_be_taken_are_left_out(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/bad url", "Bad", "apple");
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
}

static void an_update_that_cannot_be_taken_leaves_nothing_old(void **state)
{
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a/1")};
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	soif_add(&obj, &arena, STR("a{b"), STR("pear"));
	source_list_add(list, &(struct source_change){SOURCE_UPDATE, STR("test"), obj});
	collect();
	assert_int_equal(found("apple OR pear", "", NULL), 0);
	assert_int_equal(kept(), 0);
}

static void change_a_byte_of_the_documents(void)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct dir dir;
	const char *name;
	char folder[4200], path[4500];
	snprintf(folder, sizeof folder, "%s/broker/docs", data);
	assert_int_equal(dir_init(&dir, folder, &err), 0);
	while (dir_next(&dir, &name) == 0)
		if (str_ends(str_of(name), STR(".docs")))
			snprintf(path, sizeof path, "%s/%s", folder, name);
	dir_done(&dir);
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	uint64_t size;
	assert_int_equal(file_size(&f, &size, &err), 0);
	assert_int_equal(file_write(&f, "\xff", 1, size - 3, &err), 0);
}

static void damage_of_a_document_holds_up_nobody(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	collector_close(&collector);
	change_a_byte_of_the_documents();
	begin();
	tell(SOURCE_UPDATE, "http://a/1", "One", "plum");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "plum");
	collect();
	again();
	assert_int_equal(found("plum", "", NULL), 2);
}

static void a_lost_place_begins_again_and_drops_what_is_not_told(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	collector_close(&collector);
	source_list_free(&list); /* another store: the cursor means nothing there */
	list = source_list_new();
	feed.store = list;
	tell(SOURCE_UPDATE, "http://a/2", "Two", "pear");
	begin();
	collect();
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

static void an_index_that_was_removed_is_built_again(void **state)
{
	char folder[4200];
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	collector_close(&collector);
	snprintf(folder, sizeof folder, "%s/broker/words/manifest", data);
	assert_int_equal(file_replace(folder, STR("damaged"), 0644, &err), 0);
	assert_int_equal(collector_open(&collector, data, &feed, 1, NULL, 0, &err), -1);
	snprintf(folder, sizeof folder, "%s/broker/words", data);
	assert_non_null(strstr(err.msg, "; remove "));
	assert_non_null(strstr(err.msg, folder));
	assert_int_equal(tree_remove(folder, &err), 0);
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(kept(), 2);
}

static void a_lost_place_also_drops_all_when_nothing_is_told(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	collector_close(&collector);
	source_list_free(&list);
	list = source_list_new();
	feed.store = list;
	begin();
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(kept(), 0);
}

/* A list that loses its place while it is followed: every further call says so, and no more. */
static bool lost;
static int next_or_lost(struct source *s, struct arena *a, struct source_change *ret, struct err *e)
{
	if (lost)
		return err_set(e, ERR_USAGE, "the place is lost");
	return source_list_ops.next(s, a, ret, e);
}

static int open_again(struct source **ret, const void *store, const struct source_cursor *from,
		      struct err *e)
{
	static struct source_ops ops;
	lost = false;
	int rc = source_list_ops.open(ret, store, from, e);
	if (rc == 0) {
		ops = source_list_ops;
		ops.next = next_or_lost;
		(*ret)->ops = &ops;
	}
	return rc;
}

static void a_place_that_is_lost_while_it_is_followed_begins_again(void **state)
{
	static struct source_ops ops;
	(void)state;
	ops = source_list_ops;
	ops.open = open_again;
	feed.ops = &ops;
	again();
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	lost = true;
	collect();
	collect();
	assert_false(lost);
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(kept(), 2);
}

/* A document with much text that nobody looks for. */
static void tell_large(const char *url, const char *title)
{
	static char much[3 << 20];
	struct soif obj = {.type = STR("FILE"), .url = str_of(url)};
	memset(much, 'x', sizeof much);
	soif_add(&obj, &arena, STR("Title"), str_of(title));
	soif_add(&obj, &arena, STR("X-Much"), (struct str){much, sizeof much});
	source_list_add(list, &(struct source_change){SOURCE_UPDATE, STR("test"), obj});
}

/* A title is read from the document store, by the address that the index has. */
static void assert_all_read(size_t n)
{
	struct search *s;
	struct search_answer a;
	struct search_ask ask = {.words = STR("*"), .limit = 100, .exact_total = true};
	assert_int_equal(search_open(&s, data, &err), 0);
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	assert_int_equal(a.total, n);
	assert_int_equal(a.n, n);
	for (size_t i = 0; i < a.n; i++) {
		struct soif doc;
		assert_int_equal(search_document(s, a.row[i].url, &arena, &doc, &err), 0);
		assert_str(soif_get(&doc, STR("Title")), "new");
	}
	search_close(&s);
}

static void replace_much(void)
{
	char url[64];
	for (const char *title = "old"; title; title = *title == 'o' ? "new" : NULL) {
		for (int i = 0; i < 8; i++) {
			snprintf(url, sizeof url, "http://a/%d", i);
			tell_large(url, title);
		}
		collect();
	}
}

static void much_that_is_deleted_gives_its_space_back_in_idle_times(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/x", "One", "apple");
	tell(SOURCE_UPDATE, "http://a/x", "new", "apple");
	collect();
	assert_int_equal(collector_due_us(collector), INT64_MAX); /* too little */
	replace_much();
	uint64_t before = store_stats().text_bytes;
	int64_t due_us = collector_due_us(collector) - clock_mono_us();
	assert_in_range(due_us, 1, 60 * US_PER_S);
	assert_int_equal(collector_compact(collector, 25, &err), 0);
	struct docstore_stats stats = store_stats();
	assert_true(stats.text_bytes < before * 2 / 3);
	assert_int_equal(stats.docs, 9);
	assert_int_equal(stats.deleted_docs, 0);
	assert_int_equal(stats.moved_docs, 9);
	assert_all_read(9);
	assert_true(collector_due_us(collector) < INT64_MAX); /* to forget old addresses */
	assert_int_equal(collector_compact(collector, 25, &err), 1);
	assert_int_equal(store_stats().moved_docs, 0);
	assert_int_equal(collector_due_us(collector), INT64_MAX);
	assert_all_read(9);
}

/* No file has enough to give back then, and a caller that waits for it would ask for ever. */
static void barely_too_little_is_not_waited_for(void **state)
{
	char url[64];
	(void)state;
	tell(SOURCE_UPDATE, "http://a/x", "", "");
	for (int i = 0; i < 24; i++) {
		snprintf(url, sizeof url, "http://a/%02d", i);
		tell_large(url, "large");
	}
	for (int i = 0; i < 6; i++) {
		snprintf(url, sizeof url, "http://a/%02d", i);
		tell(SOURCE_DELETE, url, NULL, NULL);
	}
	collect();
	struct docstore_stats stats = store_stats();
	assert_in_range(stats.text_bytes, 4 * stats.deleted_bytes + 1,
			4 * stats.deleted_bytes + 200);
	assert_int_equal(collector_compact_begin(collector, 25, &err), 1);
	assert_int_equal(collector_due_us(collector), INT64_MAX);
}

static void a_restart_between_compaction_and_forgetting_loses_nothing(void **state)
{
	(void)state;
	replace_much();
	assert_int_equal(collector_compact(collector, 25, &err), 0);
	again();
	tell(SOURCE_DELETE, "http://a/1", NULL, NULL);
	collect();
	assert_int_equal(kept(), 7);
	assert_all_read(7);
	assert_int_equal(collector_compact(collector, 99, &err), 1);
	assert_int_equal(store_stats().moved_docs, 0);
	assert_all_read(7);
	assert_int_equal(kept(), 7);
}

static void what_comes_during_a_compaction_is_found_at_once(void **state)
{
	(void)state;
	replace_much();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 0);
	assert_int_equal(collector_compact_begin(collector, 25, &err), 1); /* is under way */
	tell_large("http://a/8", "new");
	tell_large("http://a/0", "new");
	tell(SOURCE_DELETE, "http://a/1", NULL, NULL);
	collect();
	assert_all_read(8);
	assert_int_equal(kept(), 8);
	assert_int_equal(collector_compact(collector, 25, &err),
			 0); /* what was deleted meanwhile */
	assert_int_equal(collector_compact(collector, 25, &err), 1);
	struct docstore_stats stats = store_stats();
	assert_int_equal(stats.docs, 8);
	assert_int_equal(stats.moved_docs, 0);
	assert_all_read(8);
}

/* Faults are armed while no threads run. */
static void again_with(const char *faults)
{
	collector_close(&collector);
	assert_int_equal(fault_arm(faults, &err), 0);
	begin();
}

/* Until another thread has failed, which is told once. */
static void wait_for_trouble(void)
{
	struct err why;
	while (collector_trouble(collector, &why) != 0) {
		assert_true(collector_step(collector, clock_mono_us(), &err) >= 0);
		usleep(1000);
	}
	assert_non_null(strstr(why.msg, "No space left"));
	assert_int_equal(collector_trouble(collector, &why), 1);
}

static void a_compaction_that_fails_holds_up_nobody_and_rests(void **state)
{
	(void)state;
	replace_much();
	again_with("file.write/.moved=enospc@1+");
	assert_int_equal(collector_compact_begin(collector, 25, &err), 0);
	wait_for_trouble();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 1);
	assert_true(collector_due_us(collector) > clock_mono_us() + US_PER_S);
	tell_large("http://a/8", "new");
	collect();
	assert_all_read(9);
	assert_int_equal(kept(), 9);
	again_with("");
	assert_int_equal(collector_compact(collector, 25, &err), 0);
	assert_all_read(9);
	assert_int_equal(kept(), 9);
}

static void a_merge_that_fails_holds_up_nobody_and_rests(void **state)
{
	char url[64];
	(void)state;
	for (int i = 0; i < 8; i++) {
		if (i == 7)
			again_with("file.sync/.words=enospc@2"); /* the first is the commit's */
		snprintf(url, sizeof url, "http://a/%d", i);
		tell(SOURCE_UPDATE, url, "new", "apple");
		collect();
	}
	wait_for_trouble();
	tell(SOURCE_UPDATE, "http://a/8", "new", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 9);
	assert_int_equal(collector_due_us(collector), INT64_MAX);
	again_with("");
}

/* Collects, compacts and merges, opening again whatever failed, as the role does. */
static void work_through(void)
{
	char url[64];
	for (int i = 0; i < 24; i++) {
		snprintf(url, sizeof url, "http://a/%d", i % 8);
		tell(SOURCE_UPDATE, url, i < 16 ? "old" : "new", "apple");
		bool failed = !collector;
		for (int rc = 0; !failed && rc == 0;) {
			rc = collector_step(collector, clock_mono_us(), &err);
			failed = rc < 0;
		}
		failed = failed || collector_commit(collector, &err) < 0;
		if (!failed && i % 6 == 5)
			(void)collector_compact(collector, 25, &err);
		if (!failed)
			continue;
		collector_close(&collector);
		if (collector_open(&collector, data, &feed, 1, NULL, 0, &err) < 0)
			collector = NULL;
	}
}

static void a_call_fails(const char *fault, bool *ret_fired)
{
	char folder[4200];
	collector_close(&collector);
	source_list_free(&list);
	list = source_list_new();
	feed.store = list;
	snprintf(folder, sizeof folder, "%s/broker", data);
	assert_true(tree_remove(folder, &err) >= 0);
	begin();
	collector_close(&collector);
	assert_int_equal(fault_arm(fault, &err), 0);
	work_through();
	*ret_fired = fault_fired() > 0;
	again_with("");
	collect();
	assert_all_read(8);
	assert_int_equal(kept(), 8);
	for (int i = 0; i < 2; i++)
		assert_true(collector_compact(collector, 1, &err) >= 0);
	assert_all_read(8);
	assert_int_equal(store_stats().docs, 8);
}

static void whatever_call_fails_nothing_is_lost_or_left(void **state)
{
	static const char *const calls[] = {"file.write=enospc", "file.write=short",
					    "file.sync=eio",     "file.rename=eio",
					    "file.open=eio",     "file.truncate=eio"};
	char fault[64];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		bool fired = true;
		for (unsigned nth = 1; fired; nth += 1 + nth / 3) {
			snprintf(fault, sizeof fault, "%s@%u", calls[i], nth);
			a_call_fails(fault, &fired);
		}
	}
}

static uint64_t generation(void)
{
	struct words_reader *r;
	char folder[4200];
	snprintf(folder, sizeof folder, "%s/broker/words", data);
	assert_int_equal(words_open(&r, folder, &err), 0);
	struct words_stats stats;
	words_stats(r, &stats);
	words_close(&r);
	return stats.generation;
}

/* The batch then has the address of a document from before, and the index the one from after it. */
static void a_crash_after_a_compaction_keeps_documents_that_moved(void **state)
{
	(void)state;
	replace_much();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 0);
	uint64_t before = generation();
	while (store_stats().moved_docs == 0)
		assert_true(collector_step(collector, clock_mono_us(), &err) >= 0);
	while (generation() == before)
		usleep(1000);
	tell_large("http://a/1", "newer");
	assert_int_equal(fault_arm("file.rename/manifest=eio", &err), 0);
	int rc = collector_step(collector, clock_mono_us(), &err);
	assert_int_equal(rc < 0 ? rc : collector_commit(collector, &err), -1);
	assert_int_equal(fault_arm("", &err), 0);
	again();
	assert_all_read(8);
	assert_int_equal(kept(), 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_source_tells_is_found),
		TEST(a_filter_changes_no_score),
		TEST(an_update_replaces_and_a_delete_removes),
		TEST(changes_of_one_document_in_one_batch_leave_the_last),
		TEST(after_a_restart_it_goes_on_where_it_was),
		TEST(what_was_taken_is_committed_when_there_is_no_more),
		TEST(commits_of_a_feed_that_trickles_are_some_time_apart),
		TEST(what_was_not_committed_comes_again),
		TEST(objects_that_cannot_be_taken_are_left_out),
		TEST(an_update_that_cannot_be_taken_leaves_nothing_old),
		TEST(damage_of_a_document_holds_up_nobody),
		TEST(a_lost_place_begins_again_and_drops_what_is_not_told),
		TEST(an_index_that_was_removed_is_built_again),
		TEST(a_lost_place_also_drops_all_when_nothing_is_told),
		TEST(a_place_that_is_lost_while_it_is_followed_begins_again),
		TEST(much_that_is_deleted_gives_its_space_back_in_idle_times),
		TEST(barely_too_little_is_not_waited_for),
		TEST(a_restart_between_compaction_and_forgetting_loses_nothing),
		TEST(what_comes_during_a_compaction_is_found_at_once),
		TEST(a_compaction_that_fails_holds_up_nobody_and_rests),
		TEST(a_merge_that_fails_holds_up_nobody_and_rests),
		TEST(whatever_call_fails_nothing_is_lost_or_left),
		TEST(a_crash_after_a_compaction_keeps_documents_that_moved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
