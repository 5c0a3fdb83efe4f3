/* Queries for names: what they refuse, when they end early, and what a damaged index does to them.
 */
#include "../scratch.h"
#include "../unit.h"
#include "index/names.h"

#include <fcntl.h>

enum { FILES = 3000 };

static struct names_reader *reader;
static struct arena arena = {.limit = SIZE_MAX};
static struct names_hits hits;
static size_t at;
static struct err err;

static void add_file(struct names_writer *w, const char *dir, const char *name, int64_t size)
{
	struct names_entry e = {
		.name = str_of(name), .dir = str_of(dir), .links = -1, .size = size, .time_s = -1};
	assert_int_equal(0, names_add(w, &e, &err));
}

static void write_site(struct names_writer *w, const char *key, bool many)
{
	struct names_site_spec spec = {.key = str_of(key), .url = STR("ftp://x/")};
	assert_int_equal(0, names_begin(w, &spec, &err));
	add_file(w, "pub/gnu", "emacs-19.tar.gz", 100);
	add_file(w, "pub/gnu", "Emacs.README", 50);
	add_file(w, "", "README", 10);
	for (int i = 0; i < FILES && many; i++) {
		char name[32];
		snprintf(name, sizeof name, "file%05d.dat", i);
		add_file(w, "pub/data", name, i);
	}
	assert_int_equal(0, names_commit(w, &err));
}

static int make_index(void **state)
{
	struct names_writer *w = NULL;
	if (scratch_make_in_memory(state) != 0)
		return -1;
	if (names_writer_open(&w, scratch("db"), NULL, &err) < 0)
		fail_msg("%s", err.msg);
	write_site(w, "ftp.one.au-1.1.1.1", true);
	write_site(w, "ftp.two.nz-1.1.1.2", false);
	names_writer_close(&w);
	return names_open(&reader, scratch("db"), &err);
}

static int free_index(void **state)
{
	names_close(&reader);
	arena_free(&arena);
	return scratch_done(state);
}

static int ask(const struct names_query *q)
{
	arena_clear(&arena);
	return names_query(reader, q, &arena, &hits, &at, &err);
}

static void query_finds(enum names_type type, const char *pattern, uint64_t want)
{
	struct names_query q = {
		.type = type, .pattern = str_of(pattern), .maxhits = 10, .count = true};
	if (ask(&q) < 0)
		fail_msg("%s", err.msg);
	if (hits.total != want || !hits.exact)
		fail_msg("%s '%s': %d", names_type_words[type], pattern, (int)hits.total);
}

static void each_type_finds_what_it_says(void **state)
{
	(void)state;
	query_finds(NAMES_EXACT, "README", 2);
	query_finds(NAMES_EXACT, "readme", 0);
	query_finds(NAMES_SUB, "readme", 4);
	query_finds(NAMES_SUBCASE, "readme", 0);
	query_finds(NAMES_SUBCASE, "README", 4);
	query_finds(NAMES_REGEX, "^[Ee]macs.*[0-9]", 2);
	query_finds(NAMES_EXACT_SUB, "README", 2);
	query_finds(NAMES_EXACT_SUB, "EADM", 4);
	query_finds(NAMES_EXACT_SUBCASE, "emacs", 2);
	query_finds(NAMES_EXACT_REGEX, "s.R", 2);
	query_finds(NAMES_SUB, "e0299", 10);
	query_finds(NAMES_SUB, "9.", 300 + 2);
	query_finds(NAMES_SUB, "g", 2);
}

static void hits_tell_all_of_their_files(void **state)
{
	(void)state;
	struct names_query q = {.type = NAMES_SUB, .pattern = STR("EMACS-"), .maxhits = 10};
	assert_int_equal(0, ask(&q));
	assert_int_equal(2, hits.n);
	assert_int_equal(0, hits.hit[0].site);
	assert_int_equal(0, hits.hit[0].line);
	assert_str(hits.hit[0].file.name, "emacs-19.tar.gz");
	assert_str(hits.hit[1].file.dir, "pub/gnu");
	assert_int_equal(100, hits.hit[1].file.size);
	assert_int_equal(-1, hits.hit[1].file.time_s);
	assert_int_equal(1, hits.hit[1].site);
	q.mirrors = true;
	assert_int_equal(0, ask(&q));
	assert_int_equal(1, hits.n);
	assert_int_equal(1, hits.hit[0].mirrors);
	assert_int_equal(2, hits.total);
}

static void what_cannot_be_asked_is_refused(void **state)
{
	(void)state;
	char long_pattern[NAMES_PATTERN_MOST + 1];
	struct str many[NAMES_LIST_MOST + 1];
	memset(long_pattern, 'a', sizeof long_pattern);
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = STR("x");
	struct names_query q = {.type = NAMES_WHATIS, .pattern = STR("x")};
	assert_int_equal(-1, ask(&q));
	assert_int_equal(ERR_USAGE, err.code);
	q.type = NAMES_SUB;
	q.pattern = (struct str){long_pattern, sizeof long_pattern};
	assert_int_equal(-1, ask(&q));
	assert_int_equal(ERR_USAGE, err.code);
	q = (struct names_query){.type = NAMES_REGEX, .pattern = STR("ab(c")};
	assert_int_equal(-1, ask(&q));
	assert_int_equal(ERR_USAGE, err.code);
	assert_int_equal(2, at);
	q.syntax = NAMES_ED;
	q.pattern = STR(".*ab[c");
	assert_int_equal(-1, ask(&q));
	assert_int_equal(4, at);
	assert_non_null(strstr(err.msg, "["));
	q = (struct names_query){
		.type = NAMES_SUB, .pattern = STR("x"), .site = many, .sites = ARRAY_LEN(many)};
	assert_int_equal(-1, ask(&q));
	assert_int_equal(ERR_USAGE, err.code);
}

static bool stop_at(void *ctx)
{
	int *left = ctx;
	return --*left <= 0;
}

static void a_query_that_is_stopped_says_so(void **state)
{
	(void)state;
	for (int looks = 1; looks < 3; looks++) {
		int left = looks;
		struct names_query q = {.type = NAMES_SUB,
					.pattern = STR("pub"),
					.path = true,
					.sort = NAMES_BY_SIZE,
					.stop = stop_at,
					.stop_ctx = &left};
		assert_int_equal(0, ask(&q));
		assert_true(hits.cut);
		assert_false(hits.exact);
		assert_true(hits.total < FILES + 4);
		assert_true(hits.n <= hits.total);
	}
	/* a microsecond is over at the first look */
	struct names_query q = {
		.type = NAMES_SUB, .pattern = STR("a"), .path = true, .budget_us = 1};
	assert_int_equal(0, ask(&q));
	assert_true(hits.cut);
	q.budget_us = 0;
	assert_int_equal(0, ask(&q));
	assert_false(hits.cut);
	assert_true(hits.exact);
}

static void a_limit_of_hits_makes_the_total_open(void **state)
{
	(void)state;
	struct names_query q = {.type = NAMES_SUB, .pattern = STR("file0"), .maxhits = 5};
	assert_int_equal(0, ask(&q));
	assert_int_equal(5, hits.n);
	assert_false(hits.exact);
	assert_true(hits.total >= 5 && hits.total <= FILES);
	q.offset = 3;
	q.no_files = true;
	assert_int_equal(0, ask(&q));
	assert_str(hits.hit[0].file.name, "file00003.dat");
	q.count = true;
	assert_int_equal(0, ask(&q));
	assert_true(hits.exact);
	assert_int_equal(FILES, hits.total);
}

/* Changes a byte in the middle of every segment. */
static void spoil_segments(void)
{
	for (int n = 1; n < 10; n++) {
		char path[512], byte;
		struct stat st;
		snprintf(path, sizeof path, "%s/names/%d/segment", scratch("db"), n);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		assert_int_equal(0, fstat(fd, &st));
		for (off_t i = 16 << 10; i < st.st_size - (16 << 10); i += 8 << 10) {
			assert_int_equal(1, pread(fd, &byte, 1, i));
			byte ^= 1;
			assert_int_equal(1, pwrite(fd, &byte, 1, i));
		}
		close(fd);
	}
}

static void a_damaged_segment_is_done_without(void **state)
{
	(void)state;
	struct names_query q = {.type = NAMES_SUB, .pattern = STR("README"), .maxhits = 10};
	spoil_segments();
	names_close(&reader);
	assert_int_equal(0, names_open(&reader, scratch("db"), &err));
	bool scanned = false;
	for (int i = 0; i < 2; i++) {
		q.type = i ? NAMES_SUB : NAMES_SUBCASE;
		assert_int_equal(0, ask(&q));
		assert_int_equal(4, hits.total);
		assert_int_equal(4, hits.n);
		scanned |= hits.scanned;
		if (hits.scanned)
			assert_non_null(strstr(hits.problem, "/segment"));
	}
	q.pattern = STR("file01");
	q.maxhits = 5;
	assert_int_equal(0, ask(&q));
	assert_str(hits.hit[0].file.name, "file01000.dat");
	assert_true(scanned || hits.scanned);
}

/* The last test: it damages the parts, too. */
static void what_cannot_be_read_of_a_site_is_left_out_and_named(void **state)
{
	(void)state;
	static const char *const part[] = {"data", "index"};
	for (int i = 0; i < 2; i++) {
		char path[512];
		struct names_query q = {.type = NAMES_SUB,
					.pattern = STR("emacs"),
					.sort = i ? NAMES_BY_NOTHING : NAMES_BY_SIZE};
		snprintf(path, sizeof path, "%s/%s/ftp.two.nz-1.1.1.2", scratch("db"), part[i]);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		assert_int_equal(1, pwrite(fd, "?", 1, 3));
		close(fd);
		names_close(&reader);
		assert_int_equal(0, names_open(&reader, scratch("db"), &err));
		assert_int_equal(0, ask(&q));
		assert_int_equal(2, hits.n);
		assert_int_equal(0, hits.hit[0].site);
		assert_false(hits.exact);
		assert_int_equal(1, hits.losts);
		assert_str(hits.lost[0].key, "ftp.two.nz-1.1.1.2");
		assert_non_null(strstr(hits.problem, part[i]));
	}
}

static void a_hit_has_a_url_where_its_site_has_one(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf url = BUF_INIT(1000);
	struct names_query q = {.type = NAMES_EXACT, .pattern = STR("emacs-19.tar.gz")};
	assert_int_equal(0, ask(&q));
	assert_true(names_hit_url(reader, &hits.hit[0], &url));
	assert_str(buf_str(&url), "ftp://x/pub/gnu/emacs-19.tar.gz");
	hits.hit[0].file.dir = STR("");
	hits.hit[0].file.name = STR("50% r\xe9\n?#");
	hits.hit[0].file.kind = NAMES_DIR;
	buf_clear(&url);
	assert_true(names_hit_url(reader, &hits.hit[0], &url));
	assert_str(buf_str(&url), "ftp://x/50%25%20r%E9%0A%3F%23/");
	assert_false(names_url(STR(""), STR("a/b"), false, &url));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_finds_what_it_says),
		cmocka_unit_test(hits_tell_all_of_their_files),
		cmocka_unit_test(what_cannot_be_asked_is_refused),
		cmocka_unit_test(a_query_that_is_stopped_says_so),
		cmocka_unit_test(a_limit_of_hits_makes_the_total_open),
		cmocka_unit_test(a_hit_has_a_url_where_its_site_has_one),
		cmocka_unit_test(a_damaged_segment_is_done_without),
		cmocka_unit_test(what_cannot_be_read_of_a_site_is_left_out_and_named),
	};
	return cmocka_run_group_tests(tests, make_index, free_index);
}
