/* Index pages of real servers (tests/data/index-pages), read as the cage reads them. */
#include "archie/getter/walk_page.h"

#include "../unit.h"
#include "base/file.h"
#include "extract/extract.h"

#include <limits.h>
#include <stdio.h>

enum { OUT_BYTES = 4 << 20 };

struct lab {
	struct extract *extract;
	struct arena arena;
	void *memory;
	struct walk_entry *entry;
	size_t n;
};

static void lab_begin(struct lab *l)
{
	*l = (struct lab){.extract = extract_new(),
			  .arena = ARENA_INIT(1 << 26),
			  .memory = mem_alloc(OUT_BYTES)};
}

static void lab_end(struct lab *l)
{
	extract_free(&l->extract);
	arena_free(&l->arena);
	mem_free(&l->memory);
}

static int read_page(struct lab *l, const char *url, struct str body, int32_t tz_s)
{
	struct extract_job job = {
		.url = str_of(url), .content_type = STR("text/html; charset=utf-8"), .body = body};
	struct extract_result result;
	struct out out;
	out_begin(&out, l->memory, OUT_BYTES, 0);
	extract_run(l->extract, &job, &out, &result);
	struct attrs attrs = {out.attr, out.n, out.n};
	return walk_page_read(&attrs, str_of(url), tz_s, &l->arena, &l->entry, &l->n);
}

static int read_file(struct lab *l, const char *name, const char *url)
{
	CLEANUP(buf_free) struct buf page = BUF_INIT(1 << 20);
	char path[PATH_MAX];
	struct err err;
	snprintf(path, sizeof path, "tests/data/index-pages/%s", name);
	if (file_slurp(path, &page, &err) != 0)
		fail_msg("%s cannot be read", path);
	return read_page(l, url, buf_str(&page), 0);
}

static const struct walk_entry *find(const struct lab *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_is(l->entry[i].name, name))
			return &l->entry[i];
	fail_msg("there is no %s", name);
	return NULL;
}

static void the_pages_of_all_servers_have_the_same_names(void **state)
{
	(void)state;
	enum { S = 1741064767, MIN = 1741064760 }; /* with seconds, and without */
	static const struct {
		const char *file, *url;
		int64_t time_s, plain, big, one; /* -1: it does not say */
	} c[] = {{"nginx.html", "http://a.test/", MIN, 1234, 3500000, 1},
		 {"lighttpd.html", "http://a.test/", S, 1228, 3460300, 102},
		 {"apache-fancy.html", "http://a.test/fancy/", MIN, 1228, 3460300, 1},
		 {"apache-table.html", "http://a.test/table/", MIN, 1228, 3460300, 1},
		 {"apache-plain.html", "http://a.test/plain/", -1, -1, -1, -1},
		 {"python.html", "http://a.test/", -1, -1, -1, -1},
		 {"docs.html", "http://a.test/", -1, -1, -1, -1}};
	struct lab l;
	lab_begin(&l);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		assert_int_equal(read_file(&l, c[i].file, c[i].url), 0);
		if (l.n != 6)
			fail_msg("%s: %zu entries", c[i].file, l.n);
		const struct walk_entry *e = find(&l, "plain.txt");
		assert_false(e->folder);
		assert_int_equal(e->size, c[i].plain);
		assert_int_equal(e->time_s, c[i].time_s);
		assert_int_equal(find(&l, "big.bin")->size, c[i].big);
		e = find(&l, "a b+c%25&\xc3\xa9.txt");
		assert_false(e->folder);
		assert_int_equal(e->size, c[i].one);
		e = find(&l, "sub dir");
		assert_true(e->folder);
		assert_int_equal(e->size, -1);
		assert_int_equal(e->time_s, c[i].time_s);
		assert_true(str_ends(e->url, STR("/sub%20dir/")));
		assert_true(find(&l, "pub")->folder);
		e = find(&l,
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			 ".tar.gz");
		assert_int_equal(e->size, c[i].one);
	}
	lab_end(&l);
}

static void pages_of_other_kinds_are_not_taken(void **state)
{
	(void)state;
	static const char *const pages[] = {
		"", "<p><a href=x>x</a>", "<title>Welcome</title><a href=x>x</a>",
		"<title>/other/</title><a href=x>x</a>", "<title>Index</title><a href=x>x</a>"};
	struct lab l;
	lab_begin(&l);
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		assert_int_equal(read_page(&l, "http://a.test/pub/", str_of(pages[i]), 0), 1);
	assert_int_equal(
		read_page(&l, "http://a.test/pub/", STR("<title>/pub/</title><a href=x>x</a>"), 0),
		0);
	assert_int_equal(l.n, 1);
	lab_end(&l);
}

static void only_names_right_below_the_folder_count(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	assert_int_equal(
		read_page(&l, "http://a.test/pub/",
			  STR("<title>Index of /pub</title>"
			      "<a href='../'>up</a><a href='/'>top</a><a href='./'>here</a>"
			      "<a href='?C=N'>sort</a><a href='x?y'>q</a><a href='good#f'>good</a>"
			      "<a href='a/b'>deep</a><a href='//b.test/pub/x'>away</a>"
			      "<a href='https://a.test/pub/x'>other</a><a href='/pub/abs'>abs</a>"
			      "<a href='%2e%2e/'>up</a><a href='%2fx'>slash</a><a "
			      "href='n%00l'>nul</a>"
			      "<a href='l%0af'>lf</a><a href='dir/'>dir</a><a href='dir/'>again</a>"
			      "<a href='mailto:x@a.test'>m</a><a href='%ff'>bytes</a>"),
			  0),
		0);
	assert_int_equal(l.n, 4);
	assert_false(find(&l, "good")->folder);
	assert_false(find(&l, "abs")->folder);
	assert_true(find(&l, "dir")->folder);
	find(&l, "\xff");
	lab_end(&l);
}

static void sizes_and_dates_are_those_after_the_link(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t time_s, size;
	} c[] = {{"01-Jan-1970 00:00 12", 0, 12},
		 {"1970-01-02 01:02:03 1.5K", 90123, 1536},
		 {"1970-JAN-02 00:00 3T", 86400, INT64_C(3) << 40},
		 {"31-Feb-2020 10:00 12", -1, -1},
		 {"01-Jan-1970 24:00 12", -1, -1},
		 {"01-Jan-1970 00:00 -", 0, -1},
		 {"01-Jan-1970 00:00 1.25K", 0, -1},
		 {"01-Jan-1970 00:00 99999999999999999999", 0, -1},
		 {"01-Jan-1970 00:00 1.5", 0, -1},
		 {"01-Jan-1970", -1, -1},
		 {"01-02-03 00:00 1", -1, -1},
		 {"", -1, -1},
		 {"12", -1, -1}};
	struct lab l;
	lab_begin(&l);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		char page[512];
		snprintf(page, sizeof page,
			 "<title>Index of /</title><pre><a href=a>a</a> %s\n<a href=b>b</a> "
			 "02-Jan-1970 00:00 7</pre>",
			 c[i].text);
		assert_int_equal(read_page(&l, "http://a.test/", str_of(page), 0), 0);
		if (find(&l, "a")->time_s != c[i].time_s || find(&l, "a")->size != c[i].size)
			fail_msg("'%s': time %lld, size %lld", c[i].text,
				 (long long)find(&l, "a")->time_s, (long long)find(&l, "a")->size);
		assert_int_equal(find(&l, "b")->size, 7);
	}
	assert_int_equal(
		read_page(&l, "http://a.test/",
			  STR("<title>Index of /</title><a href=a>a</a> 01-Jan-1970 03:00"), 3600),
		0);
	assert_int_equal(find(&l, "a")->time_s, 7200);
	lab_end(&l);
}

static void entries_are_lines_that_keep_every_byte(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 16);
	walk_heading_print(STR(""), true, &b);
	walk_entry_print(&(struct walk_entry){.name = STR(" a\t-> \xff "), .size = 7, .time_s = 9},
			 &b);
	walk_entry_print(
		&(struct walk_entry){.name = STR("d:"), .folder = true, .size = -1, .time_s = -1},
		&b);
	walk_heading_print(STR("d:/x"), false, &b);
	assert_string_equal(buf_text(&b), ".:\n+m9,s7,r,\t a\t-> \xff \n+/,\td:\n\n./d:/x:\n");
	struct arena arena = ARENA_INIT(1 << 20);
	struct str name;
	buf_clear(&b);
	walk_name_encode(STR("a b/%\xff~.x"), &b);
	assert_string_equal(buf_text(&b), "a%20b%2F%25%FF~.x");
	assert_false(walk_name_decode(buf_str(&b), &arena, &name));
	assert_true(walk_name_decode(STR("a%20b%zz%4"), &arena, &name));
	assert_str(name, "a b%zz%4");
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pages_of_all_servers_have_the_same_names),
		cmocka_unit_test(pages_of_other_kinds_are_not_taken),
		cmocka_unit_test(only_names_right_below_the_folder_count),
		cmocka_unit_test(sizes_and_dates_are_those_after_the_link),
		cmocka_unit_test(entries_are_lines_that_keep_every_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
