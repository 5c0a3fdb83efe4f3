/* The registry: what each function promises. */
#include "registry_unit.h"

static const struct registry_object plain = {
	.url = {"http://a.example/", 17},
	.gatherer_name = {"g", 1},
	.gatherer_host = {"h", 1},
	.gatherer_version = {"1", 1},
};

static void put_plain(struct registry *r, struct registry_object o, int64_t now_s)
{
	DONE(registry_put(r, &o, now_s * US_PER_S, &unit_err));
}

static struct registry_object found(struct registry *r, struct arena *arena)
{
	struct registry_object o;
	DONE(registry_find(r, plain.gatherer_name, plain.gatherer_host, plain.url, arena, &o,
			   &unit_err));
	return o;
}

static void what_was_not_committed_is_not_there_after_a_start(void **state)
{
	(void)state;
	const char *folder = scratch("uncommitted");
	struct registry *r = open_registry(folder);
	struct registry_stats stats;
	for (unsigned i = 0; i < 5; i++)
		put_object(r, i, i + 1, 1);
	commit_to(r, 7);
	uint64_t length = registry_length(r);
	put_object(r, 9, 20, 1);
	put_object(r, 1, 21, 2);
	assert_int_equal(drop_object(r, 2), 0);
	assert_int_equal(drop_object(r, 2), 1);
	assert_true(registry_length(r) == length);
	DONE(registry_sync(r, &unit_err));
	registry_close(&r);
	r = open_registry(folder);
	registry_stats(r, &stats);
	assert_int_equal(stats.records, 5);
	assert_int_equal(stats.valid, 5);
	struct docstore_mark mark;
	registry_docs(r, &mark);
	assert_int_equal(mark.length, 7);
	assert_int_equal(drop_object(r, 9), 1);
	assert_int_equal(drop_object(r, 2), 0);
	registry_close(&r);
}

static void another_writer_is_refused_and_a_reader_is_not(void **state)
{
	(void)state;
	const char *folder = scratch("busy");
	struct registry *r = NULL, *other = NULL;
	struct err err = {0};
	assert_int_equal(registry_open_read(&r, folder, &err), 1);
	r = open_registry(folder);
	assert_int_equal(registry_open(&other, folder, &unit_options, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	other = read_registry(folder);
	assert_int_equal(registry_refresh(other, &err), 1);
	put_object(r, 1, 1, 1);
	assert_int_equal(registry_refresh(other, &err), 1);
	commit_to(r, 1);
	assert_int_equal(registry_refresh(other, &err), 0);
	assert_true(registry_length(other) == registry_length(r));
	registry_close(&other);
	registry_close(&r);
}

static void another_version_is_refused_and_nothing_changed(void **state)
{
	(void)state;
	const char *folder = scratch("version");
	struct registry *r = open_registry(folder);
	put_object(r, 1, 1, 1);
	commit_to(r, 1);
	registry_close(&r);
	struct buf bytes = bytes_of(scratch("version/registry"));
	bytes.p[7] = 2;
	write_bytes(scratch("version/registry"), buf_str(&bytes));
	struct err err = {0};
	assert_int_equal(registry_open(&r, folder, &unit_options, NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "version 2"));
	struct buf after = bytes_of(scratch("version/registry"));
	assert_true(str_eq(buf_str(&bytes), buf_str(&after)));
	buf_free(&bytes);
	buf_free(&after);
}

static void strings_have_limits_and_what_is_too_long_changes_nothing(void **state)
{
	(void)state;
	struct registry *r = open_registry(scratch("limits"));
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err = {0};
	static char text[REGISTRY_STRING + 1];
	memset(text, 'x', sizeof text);
	struct registry_object o = plain;
	o.gatherer_version = (struct str){text, sizeof text};
	assert_int_equal(registry_put(r, &o, 0, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	o.gatherer_version = STR("");
	assert_int_equal(registry_put(r, &o, 0, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	o.gatherer_version = (struct str){text, REGISTRY_STRING};
	o.md5 = STR("ABCDEF0123456789ABCDEF0123456789");
	assert_int_equal(registry_put(r, &o, 0, &err), -1);
	o.md5 = STR("abcdef0123456789abcdef0123456789");
	/* a character of two bytes would be cut by the limit */
	memcpy(text + REGISTRY_DESCRIPTION - 1, "\xc3\xa9", 2);
	o.description = (struct str){text, 5000};
	put_plain(r, o, 5);
	memset(text + REGISTRY_DESCRIPTION - 1, 'x', 2);
	struct registry_object got = found(r, &arena);
	assert_int_equal(got.description.n, REGISTRY_DESCRIPTION - 1);
	assert_int_equal(got.gatherer_version.n, REGISTRY_STRING);
	commit_to(r, 1);
	DONE(registry_verify(r, &unit_err));
	arena_free(&arena);
	registry_close(&r);
}

static void the_time_of_a_record_never_goes_back(void **state)
{
	(void)state;
	struct registry *r = open_registry(scratch("time"));
	struct arena arena = ARENA_INIT(1 << 20);
	put_plain(r, plain, 1000);
	assert_int_equal(found(r, &arena).changed_s, 1000);
	put_plain(r, plain, 900);
	assert_int_equal(found(r, &arena).changed_s, 1000);
	commit_to(r, 1);
	registry_close(&r);
	r = open_registry(scratch("time"));
	put_plain(r, plain, 10);
	assert_int_equal(found(r, &arena).changed_s, 1000);
	put_plain(r, plain, 2000);
	assert_int_equal(found(r, &arena).changed_s, 2000);
	arena_free(&arena);
	registry_close(&r);
}

static void an_absent_md5_is_like_no_other(void **state)
{
	(void)state;
	struct registry *r = open_registry(scratch("md5"));
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object *some, o = plain;
	size_t n;
	put_plain(r, o, 1);
	o.url = STR("http://b.example/");
	put_plain(r, o, 1);
	for (int text = 0; text < 2; text++) {
		DONE(registry_of_md5(r, o.gatherer_name, o.gatherer_host, STR(""), text, 9, &arena,
				     &some, &n, &unit_err));
		assert_int_equal(n, 0);
	}
	arena_free(&arena);
	registry_close(&r);
}

static void an_oid_is_given_once_and_points_stay(void **state)
{
	(void)state;
	const char *folder = scratch("oids");
	struct registry *r = open_registry(folder);
	const struct source_cursor cursor = {{1, 2, 3}};
	uint32_t oid = registry_new_oid(r);
	assert_int_equal(oid, 1);
	DONE(registry_give_up(r, &unit_err));
	assert_int_equal(registry_new_oid(r), 2);
	assert_int_equal(registry_point(r, "a"), 1);
	assert_int_equal(registry_point(r, "b"), 2);
	assert_int_equal(registry_point(r, "a"), 1);
	assert_int_equal(registry_point(r, ""), 0);
	registry_set_cursor(r, 2, &cursor);
	size_t n;
	assert_int_equal(registry_points(r, &n)[1].cursor.b[0], 0);
	commit_to(r, 1);
	assert_int_equal(registry_points(r, &n)[1].cursor.b[0], 1);
	const struct docstore_mark same = {1, 1};
	struct err err;
	assert_int_equal(registry_commit(r, &same, &err), 1);
	registry_close(&r);
	r = open_registry(folder);
	assert_int_equal(registry_point(r, "c"), 3);
	assert_int_equal(registry_points(r, &n)[1].cursor.b[2], 3);
	assert_string_equal(registry_points(r, &n)[1].name, "b");
	assert_int_equal(registry_new_oid(r), 3);
	registry_close(&r);
}

static void a_large_batch_is_found_before_and_after_its_commit(void **state)
{
	(void)state;
	const char *folder = scratch("large");
	struct registry *r = open_registry(folder);
	struct arena arena = ARENA_INIT(64 << 20);
	static char text[1000];
	memset(text, 'd', sizeof text);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3000 && round == 0; i++) {
			struct registry_object o = object_of(&arena, i, i + 1, i + 1);
			o.description = (struct str){text, sizeof text};
			DONE(registry_put(r, &o, 0, &unit_err));
			arena_clear(&arena);
		}
		for (unsigned i = 0; i < 3000; i += 7) {
			struct registry_object want = object_of(&arena, i, i + 1, i + 1), got;
			want.description = (struct str){text, sizeof text};
			want.point = 1;
			DONE(registry_by_oid(r, i + 1, &arena, &got, &unit_err));
			assert_same(&got, &want);
			arena_clear(&arena);
		}
		(void)registry_point(r, "crawl");
		if (round == 0)
			commit_to(r, 1);
	}
	DONE(registry_verify(r, &unit_err));
	arena_free(&arena);
	registry_close(&r);
}

/* Each lookup meets the one record that counts: all of them would be 1,800,000,000. */
static void an_object_that_is_refreshed_often_is_found_as_quickly_as_any(void **state)
{
	(void)state;
	struct registry *r = NULL;
	struct registry_options few_tables = unit_options;
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object o = plain, *some;
	size_t n;
	few_tables.tables_least = 1 << 20;
	DONE(registry_open(&r, scratch("often"), &few_tables, NULL, &unit_err));
	o.oid = 1;
	o.md5 = STR("0123456789abcdef0123456789abcdef");
	for (o.update_time_s = 1; o.update_time_s <= 60000; o.update_time_s++) {
		put_plain(r, o, 1);
		if (o.update_time_s == 30000)
			commit_to(r, 1);
	}
	assert_int_equal(found(r, &arena).update_time_s, 60000);
	DONE(registry_give_up(r, &unit_err));
	assert_int_equal(found(r, &arena).update_time_s, 30000);
	DONE(registry_of_url(r, o.url, &arena, &some, &n, &unit_err));
	assert_int_equal(n, 1);
	assert_int_equal(registry_has_oid(r, 1, &unit_err), 0);
	DONE(registry_verify(r, &unit_err));
	arena_free(&arena);
	registry_close(&r);
}

/* Dropped and put again in the middle of those that share its URL, MD5 or oid. */
static void what_is_given_up_is_among_its_neighbours_again(void **state)
{
	(void)state;
	struct registry *r = open_registry(scratch("neighbours"));
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object *some, o = plain;
	const char *names[] = {"a", "b", "c", "d"};
	size_t n;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
			o.gatherer_name = str_of(names[round ? (i + 2) % 4 : i]);
			o.update_time_s = round;
			put_plain(r, o, 1);
			if (round && i % 2)
				assert_int_equal(registry_drop(r, o.gatherer_name, o.gatherer_host,
							       o.url, 0, &unit_err),
						 0);
		}
		if (round == 0)
			commit_to(r, 1);
	}
	DONE(registry_of_url(r, o.url, &arena, &some, &n, &unit_err));
	assert_int_equal(n, 2);
	assert_true(str_eq(some[0].gatherer_name, STR("c")));
	assert_true(str_eq(some[1].gatherer_name, STR("a")));
	DONE(registry_give_up(r, &unit_err));
	DONE(registry_of_url(r, o.url, &arena, &some, &n, &unit_err));
	assert_int_equal(n, ARRAY_LEN(names));
	for (unsigned i = 0; i < n; i++) {
		assert_true(str_eq(some[i].gatherer_name, str_of(names[i])));
		assert_int_equal(some[i].update_time_s, 0);
	}
	arena_free(&arena);
	registry_close(&r);
}

static int tell_oid(void *ctx, uint32_t oid, struct err *err)
{
	(void)err;
	*(uint64_t *)ctx += UINT64_C(1) << oid;
	return 0;
}

static void oids_that_ended_are_told_until_tables_are_written(void **state)
{
	(void)state;
	const char *folder = scratch("ended");
	struct registry *r = open_registry(folder);
	uint64_t told = 0;
	for (unsigned i = 0; i < 6; i++)
		put_object(r, i, i + 1, 1);
	commit_to(r, 1);
	put_object(r, 0, 1, 2);                 /* keeps its oid */
	put_object(r, 1, 11, 2);                /* 2 ends */
	assert_int_equal(drop_object(r, 2), 0); /* 3 ends */
	commit_to(r, 2);
	registry_close(&r);
	r = open_registry(folder);
	DONE(registry_each_ended(r, tell_oid, &told, &unit_err));
	assert_true(told == (1 << 2 | 1 << 3));
	for (unsigned i = 0; i < 41; i++)
		put_object(r, i, 12 + i, 3);
	commit_to(r, 3);
	told = 0;
	DONE(registry_each_ended(r, tell_oid, &told, &unit_err));
	assert_true(told == 0);
	registry_close(&r);
}

static int refuse(void *ctx, struct err *err)
{
	++*(unsigned *)ctx;
	return err_set(err, ERR_SYSTEM, "not now");
}

static void tables_wait_for_what_depends_on_them(void **state)
{
	(void)state;
	const char *folder = scratch("before");
	struct registry *r = open_registry(folder);
	struct registry_stats stats;
	struct registry_opened is;
	unsigned asked = 0;
	registry_before_tables(r, refuse, &asked);
	for (unsigned i = 0; i < 41; i++)
		put_object(r, i, i + 1, 1);
	commit_to(r, 1);
	registry_stats(r, &stats);
	assert_int_equal(asked, 1);
	assert_int_equal(stats.tidy_failed, 1);
	assert_int_equal(access(scratch("before/registry.tables"), F_OK), -1);
	registry_before_tables(r, NULL, NULL);
	for (unsigned i = 0; i < 41; i++)
		put_object(r, i, i + 1, 2);
	commit_to(r, 2);
	registry_close(&r);
	DONE(registry_open(&r, folder, &unit_options, &is, &unit_err));
	assert_int_equal(is.read, 0);
	assert_false(is.remade);
	registry_close(&r);
	/* lost, damaged or of another registry: they are made again */
	assert_int_equal(unlink(scratch("before/registry.tables")), 0);
	DONE(registry_open(&r, folder, &unit_options, &is, &unit_err));
	assert_true(is.remade);
	assert_int_equal(is.read, 41); /* the last commit, whose flags may be missing */
	DONE(registry_verify(r, &unit_err));
	registry_close(&r);
}

static void a_scan_goes_on_from_a_place_and_refuses_what_is_gone(void **state)
{
	(void)state;
	struct registry *r = open_registry(scratch("places"));
	struct registry_scan *scan = NULL;
	struct registry_record record;
	struct registry_compression *c = NULL;
	struct err err = {0};
	for (unsigned i = 0; i < 10; i++)
		put_object(r, i, i + 1, 1);
	commit_to(r, 1);
	uint64_t middle = registry_length(r);
	for (unsigned i = 0; i < 10; i++)
		put_object(r, i, i + 1, 2);
	commit_to(r, 2);
	uint64_t end = registry_length(r);
	DONE(registry_scan_open(&scan, r, middle, &unit_err));
	for (unsigned i = 0; i < 10; i++) {
		DONE(registry_scan_next(scan, &record, &unit_err));
		assert_int_equal(record.object.update_time_s, 2);
		assert_true(record.living);
	}
	assert_int_equal(registry_scan_next(scan, &record, &err), 1);
	registry_scan_free(&scan);
	DONE(registry_compress_begin(r, false, NOW_S * US_PER_S, &c, &unit_err));
	DONE(registry_compress_copy(c, &unit_err));
	put_object(r, 3, 30, 3);
	commit_to(r, 3);
	DONE(registry_compress_end(c, &unit_err));
	registry_compress_free(&c);
	assert_int_equal(registry_scan_open(&scan, r, middle, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "/registry: ")); /* no longer registry.new */
	DONE(registry_scan_open(&scan, r, end, &unit_err));
	DONE(registry_scan_next(scan, &record, &unit_err));
	assert_int_equal(record.object.update_time_s, 3);
	assert_true(record.next == registry_length(r));
	registry_scan_free(&scan);
	struct registry_stats stats;
	registry_stats(r, &stats);
	assert_int_equal(stats.records, 11);
	assert_int_equal(stats.valid, 10);
	DONE(registry_verify(r, &unit_err));
	registry_close(&r);
}

/* Puts at a second of the clock a text that came then, or one that had come `ago` seconds before.
 */
static void put_at(struct registry *r, unsigned identity, uint32_t now_s, uint32_t ago)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object o = object_of(&arena, identity, identity + 1, 1);
	o.stored_s = now_s - ago;
	(void)registry_point(r, "crawl");
	DONE(registry_put(r, &o, (int64_t)now_s * US_PER_S, &unit_err));
	arena_free(&arena);
}

/* The oids of the records that are picked, and T for a tombstone. */
static void assert_picks(struct registry_scan *scan, const struct registry_want *want,
			 const char *story)
{
	struct registry_record record;
	struct buf got = BUF_INIT(4096);
	registry_scan_again(scan, want);
	while (registry_scan_next(scan, &record, &unit_err) == 0)
		buf_printf(&got, "%s%s%" PRIu32 " ", record.tombstone ? "T" : "",
			   record.living || record.tombstone ? "" : "-", record.object.oid);
	assert_str(buf_str(&got), story);
	buf_free(&got);
}

static void a_scan_picks_records_by_when_they_changed_and_their_text_came(void **state)
{
	struct registry_scan *scan = NULL;
	(void)state;
	struct registry *r = open_registry(scratch("picks"));
	put_at(r, 0, NOW_S + 1, 0);
	put_at(r, 1, NOW_S + 2, 0);
	put_at(r, 2, NOW_S + 3, 0);
	put_at(r, 0, NOW_S + 4, 3); /* a refresh */
	put_at(r, 3, NOW_S + 4, 0);
	assert_int_equal(drop_object(r, 1), 0); /* at NOW_S, and so at NOW_S + 4 */
	put_at(r, 4, NOW_S + 5, 0);
	commit_to(r, 1);
	DONE(registry_scan_open(&scan, r, 0, &unit_err));
	struct registry_want want = {.stored_to = UINT32_MAX};
	for (int i = 0; i < 2; i++)
		assert_picks(scan, &want, "-1 -2 3 1 4 5 ");
	want = (struct registry_want){.tombstones = true, .changed_from = NOW_S + 4};
	for (int i = 0; i < 2; i++)
		assert_picks(scan, &want, "T2 ");
	want = (struct registry_want){.changed_from = NOW_S + 4, .stored_to = NOW_S + 3};
	assert_picks(scan, &want, "1 ");
	want = (struct registry_want){
		.changed_from = NOW_S + 4, .stored_from = NOW_S + 4, .stored_to = UINT32_MAX};
	assert_picks(scan, &want, "4 5 ");
	want.changed_from = NOW_S + 5;
	assert_picks(scan, &want, "5 ");
	want.changed_from = NOW_S + 6;
	for (int i = 0; i < 2; i++)
		assert_picks(scan, &want, "");
	registry_scan_free(&scan);
	registry_close(&r);
}

static void a_text_that_came_when_the_clock_was_back_came_with_its_record(void **state)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct registry_object o;
	(void)state;
	struct registry *r = open_registry(scratch("back"));
	put_at(r, 0, NOW_S + 100, 0);
	put_at(r, 1, NOW_S, 0);
	put_at(r, 2, NOW_S, 50);
	DONE(registry_by_oid(r, 2, &arena, &o, &unit_err));
	assert_int_equal(o.changed_s, NOW_S + 100);
	assert_int_equal(o.stored_s, NOW_S + 100);
	DONE(registry_by_oid(r, 3, &arena, &o, &unit_err));
	assert_int_equal(o.stored_s, NOW_S - 50);
	registry_close(&r);
	arena_free(&arena);
}

static void a_compression_that_is_stopped_or_left_changes_nothing(void **state)
{
	(void)state;
	const char *folder = scratch("stopped");
	struct registry *r = open_registry(folder);
	struct registry_compression *c = NULL;
	struct err err = {0};
	assert_int_equal(registry_compress_begin(r, false, NOW_S * US_PER_S, &c, &err), 1);
	for (unsigned i = 0; i < 20; i++)
		put_object(r, i % 8, i + 1, 1);
	commit_to(r, 1);
	for (unsigned round = 0; round < 2; round++) {
		DONE(registry_compress_begin(r, false, NOW_S * US_PER_S, &c, &unit_err));
		if (round == 0)
			registry_compress_stop(c);
		assert_int_equal(registry_compress_copy(c, &err), round == 0);
		registry_compress_free(&c);
		assert_int_equal(access(scratch("stopped/registry.new"), F_OK), -1);
		DONE(registry_verify(r, &unit_err));
	}
	registry_close(&r);
}

/* Thousands of commits of a cursor alone, then of an object each. */
static void a_long_file_of_commits_is_written_anew(void **state)
{
	(void)state;
	const char *folder = scratch("joined");
	struct registry *r = open_registry(folder);
	struct registry_stats stats;
	struct stat st;
	uint64_t docs = 0;
	for (unsigned i = 0; i < 14000; i++) {
		if (i % 20 == 0)
			put_object(r, i / 20 % IDENTITIES, i + 1, i + 1);
		commit_to(r, ++docs);
	}
	assert_int_equal(stat(scratch("joined/registry.commit"), &st), 0);
	assert_true(st.st_size < 1 << 20);
	registry_stats(r, &stats);
	assert_int_equal(stats.commits, 14000);
	assert_int_equal(stats.tidy_failed, 0);
	DONE(registry_verify(r, &unit_err));
	registry_close(&r);
	r = open_registry(folder);
	registry_stats(r, &stats);
	assert_int_equal(stats.commits, 14000);
	assert_int_equal(stats.records, 700);
	DONE(registry_verify(r, &unit_err));
	registry_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_committed_is_not_there_after_a_start),
		cmocka_unit_test(another_writer_is_refused_and_a_reader_is_not),
		cmocka_unit_test(another_version_is_refused_and_nothing_changed),
		cmocka_unit_test(strings_have_limits_and_what_is_too_long_changes_nothing),
		cmocka_unit_test(the_time_of_a_record_never_goes_back),
		cmocka_unit_test(an_absent_md5_is_like_no_other),
		cmocka_unit_test(an_oid_is_given_once_and_points_stay),
		cmocka_unit_test(a_large_batch_is_found_before_and_after_its_commit),
		cmocka_unit_test(an_object_that_is_refreshed_often_is_found_as_quickly_as_any),
		cmocka_unit_test(what_is_given_up_is_among_its_neighbours_again),
		cmocka_unit_test(oids_that_ended_are_told_until_tables_are_written),
		cmocka_unit_test(tables_wait_for_what_depends_on_them),
		cmocka_unit_test(a_scan_goes_on_from_a_place_and_refuses_what_is_gone),
		cmocka_unit_test(a_scan_picks_records_by_when_they_changed_and_their_text_came),
		cmocka_unit_test(a_text_that_came_when_the_clock_was_back_came_with_its_record),
		cmocka_unit_test(a_compression_that_is_stopped_or_left_changes_nothing),
		cmocka_unit_test(a_long_file_of_commits_is_written_anew),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
