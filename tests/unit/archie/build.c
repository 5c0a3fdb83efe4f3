#include "archie/build.h"
#include "../scratch.h"
#include "../unit.h"
#include "archie/getter_state.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define KEY "ftp.test-192.0.2.1"
#define OTHER "other.test,2121-192.0.2.2"

static char folder[300], parser[PATH_MAX];
static unsigned folders;

static int begin_anew(void **state)
{
	(void)state;
	struct err err;
	char path[340];
	snprintf(folder, sizeof folder, "%s/%u", scratch_dir, folders++);
	snprintf(path, sizeof path, "%s/lslr", folder);
	return dir_make(path, DIR_MODE, &err);
}

/* garner-parse is next to the folder of the unit programs. */
static void find_parser(void)
{
	ssize_t n = readlink("/proc/self/exe", parser, sizeof parser - 32);
	ENSURE(n > 0);
	parser[n] = 0;
	char *slash = strrchr(parser, '/');
	ENSURE(slash);
	snprintf(slash, 32, "/../garner-parse");
}

static void path_of(char *ret, const char *where, const char *key)
{
	snprintf(ret, 640, "%s/%s/%s", folder, where, key);
}

static bool is_there(const char *where, const char *key)
{
	char path[640];
	struct stat st;
	path_of(path, where, key);
	return stat(path, &st) == 0;
}

/* A listing, made at a time. */
static void put_listing(const char *key, const char *text, int64_t time_s)
{
	char path[640];
	struct err err;
	struct timespec at[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
	path_of(path, "lslr", key);
	assert_int_equal(0, file_replace(path, str_of(text), 0640, &err));
	assert_int_equal(0, utimensat(AT_FDCWD, path, at, 0));
}

static const char listing[] = ".:\n"
			      "drwxr-xr-x 2 root wheel 512 Jan  5  1994 pub\n"
			      "-rw-r--r-- 1 root wheel  17 Jan  5  1994 README\n"
			      "\n"
			      "./pub:\n"
			      "-rw-r--r-- 3 anna users 1234 Feb 28 12:00 archie.tar.Z\n";

/* What is said of each site, a line each: key, rc, entries. */
static void note(void *ctx, const struct archie_built *b)
{
	buf_printf(ctx, STR_FMT " %d %llu\n", STR_ARG(b->key), b->rc,
		   (unsigned long long)b->stats.entries);
	if (b->rc < 0)
		buf_printf(ctx, "%s\n", b->err.msg);
}

static struct archie_build_options options(void)
{
	return (struct archie_build_options){.folder = folder,
					     .data = folder,
					     .parser = parser,
					     .memory = NAMES_MEMORY_MIN,
					     .errors_max_percent = 5,
					     .listing_max = 1 << 20};
}

static void build(const struct archie_sites *sites, const char *key, const char *want)
{
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct str one = str_of(key);
	struct err err;
	if (archie_build(&o, sites, &one, key ? 1 : 0, note, &said, &err) < 0)
		fail_msg("%s", err.msg);
	assert_str(buf_str(&said), want);
	buf_free(&said);
}

/* How many files of this name there are; the site's database is told as well. */
static uint64_t found(const char *name, struct names_site *ret_site)
{
	struct names_reader *r = NULL;
	struct arena arena = ARENA_INIT(1 << 20);
	struct names_query q = {.type = NAMES_EXACT, .pattern = str_of(name), .count = true};
	struct names_hits hits = {0};
	struct err err;
	size_t n;
	if (names_open(&r, folder, &err) != 0)
		return 0;
	assert_int_equal(0, names_query(r, &q, &arena, &hits, NULL, &err));
	const struct names_site *site = names_sites(r, &n);
	if (ret_site && n)
		*ret_site = site[0];
	uint64_t total = hits.total;
	names_close(&r);
	arena_free(&arena);
	return total;
}

static struct archie_site line = {.url = {"ftp://ftp.test/", 15}, .key = {KEY, sizeof KEY - 1}};
static const struct archie_sites listed = {.site = &line, .n = 1}, unlisted;

static void a_listing_becomes_a_database_and_goes(void **state)
{
	(void)state;
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	assert_false(is_there("lslr", KEY));
	for (int i = 0; i < 4; i++)
		assert_true(is_there(((const char *[]){"index", "nocaseindex", "data", "direc"})[i],
				     KEY));
	assert_int_equal(1, found("archie.tar.Z", NULL));
	build(&listed, NULL, "");
}

/* Of the first of so many. */
static void expect_url(const char *want, size_t sites)
{
	struct names_reader *r = NULL;
	struct err err;
	size_t n;
	assert_int_equal(0, names_open(&r, folder, &err));
	const struct names_site *site = names_sites(r, &n);
	assert_int_equal(sites, n);
	assert_str(site[0].url, want);
	names_close(&r);
}

/* The directories of the one site, in their order, with a blank between them. */
static void expect_dirs(const char *want)
{
	struct names_reader *r = NULL;
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf dirs = BUF_INIT(1 << 16);
	struct names_entry e;
	struct str last = {0};
	struct err err;
	expect_url("ftp://ftp.test/", 1);
	assert_int_equal(0, names_open(&r, folder, &err));
	for (uint64_t i = 0; names_get(r, 0, i, &arena, &e, &err) == 0; i++) {
		if (last.p && str_eq(last, e.dir))
			continue;
		buf_printf(&dirs, "%s" STR_FMT, i ? " " : "", STR_ARG(e.dir));
		last = arena_str(&arena, e.dir);
	}
	assert_str(buf_str(&dirs), want);
	names_close(&r);
	arena_free(&arena);
	buf_free(&dirs);
}

static void remember(const struct getter_record *r)
{
	struct small *s;
	struct err err;
	assert_int_equal(0, getter_table_open(&s, folder, &err));
	assert_int_equal(0, small_put(s, &getter_table, r, &err));
	small_close(&s);
}

static void paths_of_a_listing_begin_in_the_folder_where_it_was_found(void **state)
{
	(void)state;
	struct getter_record r = {
		.key = KEY, .listed_us = 1700000000 * US_PER_S, .file = "pub/ls-lR.gz"};
	remember(&r);
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	expect_dirs("pub pub/pub");
	/* what is remembered of another one does not count */
	put_listing(KEY, listing, 1700000009);
	build(&listed, NULL, KEY " 0 3\n");
	expect_dirs(" pub");
}

static void headings_that_say_the_folder_of_a_listing_are_believed(void **state)
{
	(void)state;
	struct getter_record r = {
		.key = KEY, .listed_us = 1700000000 * US_PER_S, .file = "pub/ls-lR"};
	remember(&r);
	put_listing(KEY,
		    "/pub:\ndrwxr-xr-x 2 a b 512 Jan  5  1994 pub\n\n"
		    "/pub/pub:\n-rw-r--r-- 1 a b 1 Jan  5  1994 f\n",
		    1700000000);
	build(&listed, NULL, KEY " 0 2\n");
	expect_dirs("pub pub/pub");
	/* one that only begins alike is another folder */
	r.listed_us += US_PER_S;
	remember(&r);
	put_listing(KEY, "public:\n-rw-r--r-- 1 a b 1 Jan  5  1994 f\n", 1700000001);
	build(&listed, NULL, KEY " 0 1\n");
	expect_dirs("pub/public");
}

static void a_listing_that_is_not_newer_only_goes(void **state)
{
	(void)state;
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	put_listing(KEY, "-rw-r--r-- 1 a b 1 Jan  5  1994 other\n", 1700000000);
	build(&listed, NULL, KEY " 1 0\n");
	assert_false(is_there("lslr", KEY));
	put_listing(KEY, "-rw-r--r-- 1 a b 1 Jan  5  1994 other\n", 1700000001);
	build(&listed, NULL, KEY " 0 1\n");
	assert_int_equal(0, found("README", NULL));
	assert_int_equal(1, found("other", NULL));
}

static void a_database_of_the_future_gives_way(void **state)
{
	(void)state;
	put_listing(KEY, listing, 4102444800); /* 2100: the clock was wrong */
	build(&listed, NULL, KEY " 0 3\n");
	put_listing(KEY, "-rw-r--r-- 1 a b 1 Jan  5  1994 other\n", 1700000000);
	build(&listed, NULL, KEY " 0 1\n");
	assert_int_equal(1, found("other", NULL));
}

static void a_refused_listing_is_moved_and_the_old_database_stays(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct err err;
	put_listing(KEY, listing, 1700000000);
	build(&listed, KEY, KEY " 0 3\n");
	put_listing(KEY, "nothing\nof\nthis\nis a listing\n", 1700000001);
	assert_int_equal(0, archie_build(&o, &listed, NULL, 0, note, &said, &err));
	assert_non_null(strstr(buf_text(&said), KEY " -1 "));
	assert_non_null(strstr(buf_text(&said), "the old database stays"));
	assert_false(is_there("lslr", KEY));
	assert_true(is_there("failed", KEY));
	assert_int_equal(1, found("README", NULL));
	buf_free(&said);
}

static void a_site_built_by_hand_has_no_error_any_more(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct archie_built built;
	struct err err;
	char path[PATH_MAX];
	put_listing(KEY, "nothing\nof\nthis\nis a listing\n", 1700000000);
	assert_int_equal(0, archie_build(&o, &listed, NULL, 0, note, &said, &err));
	assert_true(is_there("errors", KEY));
	put_listing(KEY, listing, 1700000001);
	path_of(path, "lslr", KEY);
	assert_int_equal(0, archie_build_file(&o, &listed, STR(KEY), path, &built, &err));
	assert_false(is_there("errors", KEY));
	buf_free(&said);
}

static void one_bad_site_does_not_touch_the_others(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct err err;
	put_listing("a.test-192.0.2.9", "no listing\n", 1700000000);
	put_listing(KEY, listing, 1700000000);
	assert_int_equal(0, archie_build(&o, &unlisted, NULL, 0, note, &said, &err));
	assert_non_null(strstr(buf_text(&said), "a.test-192.0.2.9 -1 "));
	assert_non_null(strstr(buf_text(&said), KEY " 0 3\n"));
	assert_int_equal(1, found("README", NULL));
	buf_free(&said);
}

static void a_site_that_is_not_listed_any_more_is_dropped(void **state)
{
	(void)state;
	struct archie_site other = {.url = STR("ftp://x.test/"), .key = STR("x.test-192.0.2.5")};
	const char *problem = "sites:2: not a line";
	const struct archie_sites bad = {
		.site = &other, .n = 1, .problem = &problem, .problems = 1, .unread = 1};
	const struct archie_sites twice = {
		.site = &other, .n = 1, .problem = &problem, .problems = 1};
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	build(&unlisted, NULL, ""); /* an empty list is more likely lost */
	assert_int_equal(1, found("README", NULL));
	build(&bad, NULL, ""); /* and a bad line may be the site's own */
	assert_int_equal(1, found("README", NULL));
	build(&twice, NULL, KEY " 2 0\n"); /* it was read, and is of another */
	assert_int_equal(0, found("README", NULL));
	assert_false(is_there("index", KEY));
}

static void all_that_are_not_listed_any_more_are_dropped_in_order(void **state)
{
	(void)state;
	struct archie_site site[] = {{.url = STR("ftp://a.test/"), .key = STR("a.test-192.0.2.1")},
				     {.url = STR("ftp://b.test/"), .key = STR("b.test-192.0.2.2")},
				     {.url = STR("ftp://c.test/"), .key = STR("c.test-192.0.2.3")},
				     {.url = STR("ftp://d.test/"), .key = STR("d.test-192.0.2.4")}};
	const struct archie_sites all = {.site = site, .n = 4}, last = {.site = &site[3], .n = 1};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(site); i++)
		put_listing(site[i].key.p, listing, 1700000000);
	build(&all, NULL,
	      "a.test-192.0.2.1 0 3\nb.test-192.0.2.2 0 3\nc.test-192.0.2.3 0 3\n"
	      "d.test-192.0.2.4 0 3\n");
	path_of(path, "data", site[1].key.p);
	assert_int_equal(0, truncate(path, 1)); /* one that is lost is among them */
	build(&last, NULL, "a.test-192.0.2.1 2 0\nb.test-192.0.2.2 2 0\nc.test-192.0.2.3 2 0\n");
	assert_true(is_there("index", "d.test-192.0.2.4"));
}

static void a_lost_site_that_is_not_listed_any_more_is_forgotten(void **state)
{
	(void)state;
	struct archie_site other = {.url = STR("ftp://x.test/"), .key = STR("x.test-192.0.2.5")};
	const struct archie_sites others = {.site = &other, .n = 1};
	char path[PATH_MAX];
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	path_of(path, "data", KEY);
	assert_int_equal(0, truncate(path, 1));
	build(&listed, NULL, ""); /* it has to be fetched again */
	assert_true(is_there("index", KEY));
	build(&others, NULL, KEY " 2 0\n");
	assert_false(is_there("index", KEY));
	build(&others, NULL, "");
}

static void a_site_by_hand_stays_and_so_does_its_file(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct archie_built built;
	struct names_site site;
	struct err err;
	char path[640];
	put_listing(OTHER, listing, 1700000000);
	path_of(path, "lslr", OTHER);
	if (archie_build_file(&o, &listed, STR(OTHER), path, &built, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(3, built.stats.entries);
	assert_true(is_there("lslr", OTHER));
	assert_int_equal(1, found("README", &site));
	assert_true(site.by_hand);
	assert_int_equal(1700000000, site.listed_s);
	(void)file_remove(path, &err);
	build(&listed, NULL, "");
	assert_int_equal(1, found("README", NULL));
}

/* A site that moved has another key. */
static void a_moved_site_keeps_its_old_database_until_it_is_built(void **state)
{
	(void)state;
	struct archie_site now = {.url = STR("ftp://ftp.test/"), .key = STR("ftp.test-192.0.2.8")};
	const struct archie_sites moved = {.site = &now, .n = 1};
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct err err;
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	put_listing("ftp.test-192.0.2.8", "nothing\nof\nthis\nis a listing\n", 1700000001);
	assert_int_equal(0, archie_build(&o, &moved, NULL, 0, note, &said, &err));
	assert_non_null(strstr(buf_text(&said), "ftp.test-192.0.2.8 -1 "));
	assert_null(strstr(buf_text(&said), KEY " 2 "));
	assert_int_equal(1, found("README", NULL));
	assert_true(is_there("errors", "ftp.test-192.0.2.8"));
	put_listing("ftp.test-192.0.2.8", listing, 1700000002);
	build(&moved, NULL, "ftp.test-192.0.2.8 0 3\n" KEY " 2 0\n");
	assert_int_equal(1, found("README", NULL));
	assert_false(is_there("errors", "ftp.test-192.0.2.8"));
	buf_free(&said);
}

static void names_lose(void)
{
	char path[340];
	snprintf(path, sizeof path, "%s/names", folder);
	assert_int_equal(0, nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS));
}

static void a_site_by_hand_outlives_the_index(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct archie_built built;
	struct names_site site;
	struct err err;
	char path[640];
	put_listing("aa.test+http+pub,8080-192.0.2.2", listing, 1700000000);
	path_of(path, "lslr", "aa.test+http+pub,8080-192.0.2.2");
	assert_int_equal(0, archie_build_file(&o, &listed, STR("aa.test+http+pub,8080-192.0.2.2"),
					      path, &built, &err));
	assert_int_equal(0, file_remove(path, &err));
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	names_lose();
	build(&listed, NULL, "");
	assert_int_equal(2, found("README", &site));
	expect_url("http://aa.test:8080/pub/", 2);
	assert_true(site.by_hand);
}

static void what_is_no_key_is_refused(void **state)
{
	(void)state;
	static const char *const keys[] = {"",
					   "nodash",
					   "-192.0.2.1",
					   ".x-1.2.3.4",
					   "a/b-1.2.3.4",
					   "a b-1.2.3.4",
					   "a,x-1.2.3.4",
					   "a+gopher-1.2.3.4",
					   "a+http@b?-1.2.3.4"};
	struct archie_build_options o = options();
	struct archie_built built;
	struct err err;
	char path[640];
	put_listing(KEY, listing, 1700000000);
	path_of(path, "lslr", KEY);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_int_equal(
			-1, archie_build_file(&o, &unlisted, str_of(keys[i]), path, &built, &err));
		assert_int_equal(ERR_USAGE, err.code);
	}
}

static void what_must_stay_free_stops_a_build(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct err err;
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	put_listing(KEY, "-rw-r--r-- 1 a b 1 Jan  5  1994 other\n", 1700000001);
	o.disk_free = UINT64_MAX;
	assert_int_equal(0, archie_build(&o, &listed, NULL, 0, note, &said, &err));
	assert_non_null(strstr(buf_text(&said), KEY " -1 "));
	assert_non_null(strstr(buf_text(&said), "less free space than disk_free"));
	assert_true(is_there("lslr", KEY));
	assert_int_equal(1, found("README", NULL));
	build(&listed, NULL, KEY " 0 1\n");
	buf_free(&said);
}

#ifdef GARNER_FAULTS
static void a_full_disk_leaves_the_listing_and_the_old_database(void **state)
{
	(void)state;
	struct archie_build_options o = options();
	struct buf said = BUF_INIT(1 << 16);
	struct err err;
	put_listing(KEY, listing, 1700000000);
	build(&listed, NULL, KEY " 0 3\n");
	put_listing(KEY, "-rw-r--r-- 1 a b 1 Jan  5  1994 other\n", 1700000001);
	assert_int_equal(0, fault_arm("file.sync/names/=enospc", &err));
	assert_int_equal(0, archie_build(&o, &listed, NULL, 0, note, &said, &err));
	assert_int_equal(1, fault_fired());
	assert_int_equal(0, fault_arm(NULL, &err));
	assert_non_null(strstr(buf_text(&said), KEY " -1 "));
	assert_true(is_there("lslr", KEY));
	assert_int_equal(1, found("README", NULL));
	build(&listed, NULL, KEY " 0 1\n");
	assert_int_equal(1, found("other", NULL));
	buf_free(&said);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_listing_becomes_a_database_and_goes, begin_anew),
		cmocka_unit_test_setup(paths_of_a_listing_begin_in_the_folder_where_it_was_found,
				       begin_anew),
		cmocka_unit_test_setup(headings_that_say_the_folder_of_a_listing_are_believed,
				       begin_anew),
		cmocka_unit_test_setup(a_listing_that_is_not_newer_only_goes, begin_anew),
		cmocka_unit_test_setup(a_database_of_the_future_gives_way, begin_anew),
		cmocka_unit_test_setup(a_refused_listing_is_moved_and_the_old_database_stays,
				       begin_anew),
		cmocka_unit_test_setup(a_site_built_by_hand_has_no_error_any_more, begin_anew),
		cmocka_unit_test_setup(one_bad_site_does_not_touch_the_others, begin_anew),
		cmocka_unit_test_setup(a_site_that_is_not_listed_any_more_is_dropped, begin_anew),
		cmocka_unit_test_setup(all_that_are_not_listed_any_more_are_dropped_in_order,
				       begin_anew),
		cmocka_unit_test_setup(a_lost_site_that_is_not_listed_any_more_is_forgotten,
				       begin_anew),
		cmocka_unit_test_setup(a_site_by_hand_stays_and_so_does_its_file, begin_anew),
		cmocka_unit_test_setup(a_moved_site_keeps_its_old_database_until_it_is_built,
				       begin_anew),
		cmocka_unit_test_setup(a_site_by_hand_outlives_the_index, begin_anew),
		cmocka_unit_test_setup(what_is_no_key_is_refused, begin_anew),
		cmocka_unit_test_setup(what_must_stay_free_stops_a_build, begin_anew),
#ifdef GARNER_FAULTS
		cmocka_unit_test_setup(a_full_disk_leaves_the_listing_and_the_old_database,
				       begin_anew),
#endif
	};
	find_parser();
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
