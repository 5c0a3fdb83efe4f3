/* The collector as a whole: what a source tells is found, over restarts, failures and compactions.
 */
#include "collecting.h"

#include <fcntl.h>

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
	s = search_open(data);
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

/* But for a look at what has expired, which comes a minute after the start. */
static void assert_nothing_is_due(void)
{
	int64_t now_us = clock_mono_us();
	assert_int_equal(collector_step(collector, now_us + 2 * US_PER_S, &err), 1);
	assert_true(collector_due_us(collector) > now_us + 20 * US_PER_S);
}

static void after_a_restart_it_goes_on_where_it_was(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	again();
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 1);
	assert_nothing_is_due(); /* nothing was taken again */
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(kept(), 2);
}

static void what_was_taken_is_committed_when_there_is_no_more(void **state)
{
	(void)state;
	collect();
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 1);
	assert_int_equal(found("apple", "", NULL), 1);
	assert_nothing_is_due();
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

static void an_update_that_cannot_be_taken_leaves_what_was_there(void **state)
{
	struct source_change change = change_of(
		&(struct thing){.op = SOURCE_UPDATE, .url = "http://a/1", .text = "pear"});
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	soif_add(&change.obj, &arena, STR("a{b"), STR("plum"));
	source_list_add(list, &change);
	collect();
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(found("pear OR plum", "", NULL), 0);
	assert_int_equal(kept(), 1);
	assert_int_equal(objects_there(), 1);
}

static void change_a_byte_of_the_documents(void)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct dir dir;
	const char *name;
	char path[4500];
	const char *folder = path_of("docs");
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
	lose_the_list();
	tell(SOURCE_UPDATE, "http://a/2", "Two", "pear");
	begin();
	collect();
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(kept(), 1);
}

static void a_lost_place_also_drops_all_when_nothing_is_told(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	collector_close(&collector);
	lose_the_list();
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

/* A list that is not complete while it waits, and whose objects cannot be read now and then: its
 * cursor does not move. */
static bool waits;
static unsigned unreadable;
static int next_or_wait(struct source *s, struct arena *a, struct source_change *ret, struct err *e)
{
	if (unreadable) {
		unreadable--;
		return err_set(e, ERR_PARTLY, "an object cannot be read, skipped");
	}
	int rc = source_list_ops.next(s, a, ret, e);
	return rc == 1 && waits ? 2 : rc;
}

static int open_waiting(struct source **ret, const void *store, const struct source_cursor *from,
			struct err *e)
{
	static struct source_ops ops;
	int rc = source_list_ops.open(ret, store, from, e);
	if (rc == 0) {
		ops = source_list_ops;
		ops.next = next_or_wait;
		(*ret)->ops = &ops;
	}
	return rc;
}

static void begin_waiting(void)
{
	static struct source_ops ops;
	ops = source_list_ops;
	ops.open = open_waiting;
	feed.ops = &ops;
}

static void a_source_that_waits_has_not_told_everything(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	collector_close(&collector);
	source_list_free(&list);
	list = source_list_new();
	feed.store = list;
	begin_waiting();
	waits = true;
	tell(SOURCE_UPDATE, "http://a/2", "Two", "pear");
	begin();
	collect();
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(found("apple", "", NULL), 1); /* may still be told */
	waits = false;
	collect();
	assert_int_equal(found("apple", "", NULL), 0);
	assert_int_equal(kept(), 1);
}

static void objects_that_are_skipped_in_a_row_hold_up_nobody(void **state)
{
	(void)state;
	begin_waiting();
	again();
	unreadable = 3;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collect();
	assert_int_equal(unreadable, 0);
	assert_int_equal(found("apple", "", NULL), 1);
}

/* A document with much text that nobody looks for. */
static void tell_large(const char *url, const char *title)
{
	static char much[3 << 20];
	struct source_change change =
		change_of(&(struct thing){.op = SOURCE_UPDATE, .url = url, .title = title});
	memset(much, 'x', sizeof much);
	soif_add(&change.obj, &arena, STR("X-Much"), (struct str){much, sizeof much});
	source_list_add(list, &change);
}

/* A title is read from the document store, by the address that the index has. */
static void assert_all_read(size_t n)
{
	struct search *s;
	struct search_answer a;
	struct search_ask ask = {.words = STR("*"), .limit = 100, .exact_total = true};
	s = search_open(data);
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
	struct registry_object before, after;
	(void)state;
	tell(SOURCE_UPDATE, "http://a/x", "One", "apple");
	tell(SOURCE_UPDATE, "http://a/x", "new", "apple");
	collect();
	assert_nothing_is_due(); /* too little */
	replace_much();
	/* soon, or already on a slow machine */
	assert_true(collector_due_us(collector) - clock_mono_us() <= 20 * US_PER_S);
	uint64_t index = generation(), bytes = store_stats().text_bytes;
	assert_int_equal(registered("tester", "http://a/1", &before), 0);
	assert_int_equal(collector_compact(collector, 25, &err), 0);
	/* neither index nor registry had to know */
	assert_int_equal(generation(), index);
	assert_int_equal(registered("tester", "http://a/1", &after), 0);
	assert_int_equal(after.oid, before.oid);
	assert_all_read(9);
	struct docstore_stats stats = store_stats();
	assert_true(stats.text_bytes < bytes * 2 / 3);
	assert_int_equal(stats.docs, 9);
	assert_int_equal(stats.deleted_docs, 0);
	assert_all_read(9);
	assert_int_equal(collector_compact(collector, 25, &err), 1);
	assert_nothing_is_due();
}

static uint64_t records_there(void)
{
	struct registry *r;
	struct registry_stats stats;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	registry_stats(r, &stats);
	registry_close(&r);
	return stats.records;
}

static void the_registry_is_compressed_where_documents_change_all_the_time(void **state)
{
	enum { URLS = 300, ROUNDS = 16 };
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < URLS; i++)
			tell(SOURCE_UPDATE, arena_printf(&arena, "http://a/%d", i), "small",
			     "apple");
		collect();
	}
	assert_true(records_there() >= URLS * ROUNDS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(collector_compact(collector, 25, &err), 0);
		for (int k = 0; k < URLS; k++)
			tell(SOURCE_UPDATE, arena_printf(&arena, "http://a/%d", k), "small",
			     "pear");
		collect();
	}
	assert_true(records_there() < 4 * URLS);
	assert_int_equal(found("pear", "", NULL), URLS);
}

/* No file has enough to give back then, and a caller that waits for it would ask for ever. */
static void barely_too_little_is_not_waited_for(void **state)
{
	char url[64];
	(void)state;
	tell(SOURCE_UPDATE, "http://a/x", "small", "");
	for (int i = 0; i < 24; i++) {
		snprintf(url, sizeof url, "http://a/%02d", i);
		tell_large(url, "large");
	}
	for (int i = 0; i < 6; i++) {
		snprintf(url, sizeof url, "http://a/%02d", i);
		tell(SOURCE_DELETE, url, NULL, NULL);
	}
	collect();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 1);
	assert_nothing_is_due();
	struct docstore_stats stats = store_stats();
	assert_in_range(stats.text_bytes, 4 * stats.deleted_bytes + 1,
			4 * stats.deleted_bytes + 800);
}

static void a_restart_after_a_compaction_loses_nothing(void **state)
{
	(void)state;
	replace_much();
	assert_int_equal(collector_compact(collector, 25, &err), 0);
	again();
	tell(SOURCE_DELETE, "http://a/1", NULL, NULL);
	collect();
	assert_int_equal(kept(), 7);
	assert_all_read(7);
	verify_all();
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
	int rc = 0; /* what was deleted meanwhile, whether it had been copied by then or not */
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = collector_compact(collector, 1, &err);
	assert_int_equal(rc, 1);
	assert_int_equal(store_stats().docs, 8);
	assert_all_read(8);
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
	again_with("file.write/.docs.new=enospc@1+");
	collect();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 0);
	wait_for_trouble();
	assert_int_equal(collector_compact_begin(collector, 25, &err), 1);
	assert_true(collector_due_us(collector) > clock_mono_us() + US_PER_S);
	tell_large("http://a/8", "new");
	collect();
	assert_all_read(9);
	assert_int_equal(kept(), 9);
	again_with("");
	collect();
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
	assert_nothing_is_due();
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
		if (collector_open(&collector, &options, &err) < 0)
			collector = NULL;
	}
}

static void a_call_fails(const char *fault, bool *ret_fired)
{
	collector_close(&collector);
	lose_the_list();
	assert_true(tree_remove(broker_folder(), &err) >= 0);
	begin();
	collector_close(&collector);
	assert_int_equal(fault_arm(fault, &err), 0);
	work_through();
	*ret_fired = fault_fired() > 0;
	again_with("");
	collect();
	assert_all_read(8);
	assert_int_equal(kept(), 8);
	assert_true(collector_compact(collector, 1, &err) >= 0);
	assert_all_read(8);
	assert_int_equal(store_stats().docs, 8);
	assert_int_equal(objects_there(), 8);
	verify_all();
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

static int check_registry(void)
{
	return registry_format.verify(path_of("registry"), &err);
}

static void a_text_that_is_lost_is_found_by_looking_at_the_registry(void **state)
{
	static const char zeroes[16];
	struct file table = FILE_INIT;
	(void)state;
	tell(SOURCE_UPDATE, "http://x/1", "one", "apple");
	tell(SOURCE_UPDATE, "http://x/2", "two", "pear");
	collect();
	assert_int_equal(check_registry(), 0);
	collector_close(&collector);
	assert_int_equal(file_open(&table, path_of("docs/table"), O_RDWR, 0, &err), 0);
	assert_int_equal(file_write(&table, zeroes, sizeof zeroes, (64 << 10) + 2 * 16, &err), 0);
	file_drop(&table);
	assert_int_equal(check_registry(), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "the text 2 of http://x/2"));
	assert_int_equal(unlink(path_of("docs/table")), 0); /* is made again */
	assert_int_equal(check_registry(), 0);
	assert_int_equal(tree_remove(path_of("docs"), &err), 0);
	assert_int_equal(check_registry(), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_that_is_lost_is_found_by_looking_at_the_registry),
		TEST(what_a_source_tells_is_found),
		TEST(a_filter_changes_no_score),
		TEST(an_update_replaces_and_a_delete_removes),
		TEST(changes_of_one_document_in_one_batch_leave_the_last),
		TEST(after_a_restart_it_goes_on_where_it_was),
		TEST(what_was_taken_is_committed_when_there_is_no_more),
		TEST(commits_of_a_feed_that_trickles_are_some_time_apart),
		TEST(what_was_not_committed_comes_again),
		TEST(objects_that_cannot_be_taken_are_left_out),
		TEST(an_update_that_cannot_be_taken_leaves_what_was_there),
		TEST(damage_of_a_document_holds_up_nobody),
		TEST(a_lost_place_begins_again_and_drops_what_is_not_told),
		TEST(a_lost_place_also_drops_all_when_nothing_is_told),
		TEST(a_place_that_is_lost_while_it_is_followed_begins_again),
		TEST(a_source_that_waits_has_not_told_everything),
		TEST(objects_that_are_skipped_in_a_row_hold_up_nobody),
		TEST(much_that_is_deleted_gives_its_space_back_in_idle_times),
		TEST(the_registry_is_compressed_where_documents_change_all_the_time),
		TEST(barely_too_little_is_not_waited_for),
		TEST(a_restart_after_a_compaction_loses_nothing),
		TEST(what_comes_during_a_compaction_is_found_at_once),
		TEST(a_compaction_that_fails_holds_up_nobody_and_rests),
		TEST(a_merge_that_fails_holds_up_nobody_and_rests),
		TEST(whatever_call_fails_nothing_is_lost_or_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
