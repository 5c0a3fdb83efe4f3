/* Answers to #USER: byte by byte, in pieces of any size, with values that are too large to be held,
 * and when the time is over. */
#include "broker/reply_inner.h"
#include "collecting.h"

#include <fcntl.h>

enum { LARGE = 200000 };

static struct search *search;
static struct request request;
static atomic_bool cancel;
static int64_t (*cpu_us)(void); /* of the next reply */

/* Adds an attribute to an object of the list. */
static void put_object(const char *url, const char *title, const char *text,
		       const char *description, struct str large)
{
	struct thing thing = {
		.op = SOURCE_UPDATE, .url = url, .title = title, .text = text, .time_s = ++time_s};
	struct source_change change = change_of(&thing);
	add_text(&change.obj, "Description", description);
	if (large.n)
		soif_add(&change.obj, &arena, STR("Large"), large);
	source_list_add(list, &change);
}

static struct reply *begin_reply(const char *line, int64_t moment_us, int64_t lifetime_us)
{
	char *copy = arena_text(&arena, str_of(line));
	if (request_parse(REQUEST_USER, str_of(copy), 6, &request, &err) < 0)
		fail_msg("%s", err.msg);
	return reply_new(&(struct reply_options){.search = search,
						 .request = &request,
						 .url = "http://pages",
						 .home = "http://home/",
						 .moment_us = moment_us,
						 .lifetime_us = lifetime_us,
						 .slice_us = 60 * US_PER_S,
						 .cpu_us = cpu_us,
						 .cancel = &cancel});
}

/* All of an answer, made in pieces of about n bytes. */
static struct str answer_of(const char *line, size_t n)
{
	struct reply *r = begin_reply(line, 0, 60 * US_PER_S);
	struct buf all = BUF_INIT(64 << 20);
	int rc = 0;
	while (rc == 0) {
		struct buf piece = BUF_INIT(64 << 20);
		rc = reply_make(r, n, &piece, &err);
		assert_true(rc == 0 || n == SIZE_MAX || piece.n < n + (1 << 20));
		buf_add_str(&all, buf_str(&piece));
		if (reply_is_between(r) && all.n)
			assert_int_equal(all.p[all.n - 1], '\n');
		buf_free(&piece);
	}
	if (rc < 0)
		fail_msg("%s", err.msg);
	struct str text = arena_str(&arena, buf_str(&all));
	buf_free(&all);
	reply_free(&r);
	return text;
}

static struct str large_value(char c)
{
	char *p = arena_alloc(&arena, LARGE);
	for (size_t i = 0; i < LARGE; i++)
		p[i] = (char)(i % 61 == 60 ? '\n' : c);
	return (struct str){p, LARGE};
}

static int setup_objects(void **state)
{
	if (setup(state) != 0)
		return -1;
	put_object("http://a/1", "Apple pie", "Take an apple.\nBake it.\r\nServe\rapple pie.",
		   "How to\nbake", STR(""));
	put_object("http://a/2", "Pears", "no apples, or an apple", "", large_value('x'));
	collect();
	search = search_open(data);
	atomic_store(&cancel, false);
	return 0;
}

static int teardown_objects(void **state)
{
	search_close(&search);
	return teardown(state);
}

#define WITH_OBJECTS(name) cmocka_unit_test_setup_teardown(name, setup_objects, teardown_objects)

static void an_answer_is_exact(void **state)
{
	(void)state;
	assert_str(
		answer_of("#desc #attribute TITLE #attribute nothing #index matchword #END apple",
			  SIZE_MAX),
		"101 - 2 objects match\n"
		"120 - http://a/1\n125 - http://pages/object/1\n"
		"124 - 11\nHow to\nbake\n"
		"127 - TITLE 9\nApple pie\n"
		"122 - Matched line: Full-Text: Take an apple.\n"
		"122 - Matched line: Full-Text: Serve apple pie.\n"
		"130 - object end\n"
		"120 - http://a/2\n125 - http://pages/object/2\n"
		"127 - TITLE 5\nPears\n"
		"122 - Matched line: Full-Text: no apples, or an apple\n"
		"130 - object end\n"
		"126 - http://home/\n");
	/* descriptions alone come from the registry, the same */
	assert_str(answer_of("#desc #opaque #END Apple", SIZE_MAX),
		   "101 - 1 object matches\n"
		   "120 - http://a/1\n125 - http://pages/object/1\n124 - 11\nHow to\nbake\n"
		   "130 - object end\n126 - http://home/\n");
	assert_str(answer_of("#END nothingofthekind", SIZE_MAX),
		   "101 - 0 objects match\n126 - http://home/\n");
	assert_str(answer_of("#opaque #index maxresult 1 #END #allb", SIZE_MAX),
		   "101 - 2 objects match, 1 sent\n"
		   "120 - http://a/1\n125 - http://pages/object/1\n"
		   "130 - object end\n126 - http://home/\n");
}

/* As objects have them, whatever the index calls its columns. */
static void attributes_are_compared_by_the_names_that_objects_have(void **state)
{
	static const char *const all[] = {
		"last-modification-time greater-than 100",
		"Last-Modification-Time > 1999 AND file-size less-than 1000",
		"file-size : 100..1k",
		"NOT (Update-Time < 2001)",
		"partial-text : quince",
	};
	(void)state;
	struct thing thing = {.op = SOURCE_UPDATE, .url = "http://a/3", .title = "Quince"};
	struct source_change change = change_of(&thing);
	add_text(&change.obj, "Partial-Text", "a quince");
	add_number(&change.obj, "File-Size", 999);
	add_number(&change.obj, "Last-Modification-Time", 1000000000);
	source_list_add(list, &change);
	collect();
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *line =
			arena_printf(&arena, "#opaque #END (%s) AND title : Quince", all[i]);
		assert_str(answer_of(line, SIZE_MAX),
			   "101 - 1 object matches\n120 - http://a/3\n"
			   "125 - http://pages/object/3\n130 - object end\n"
			   "126 - http://home/\n");
	}
	assert_str(answer_of("#opaque #END file-size > 999", SIZE_MAX),
		   "101 - 0 objects match\n126 - http://home/\n");
	/* its words are of its own line */
	struct str said = answer_of("#END file-size : 999", SIZE_MAX);
	assert_true(str_find(said, STR("120 - http://a/3\n")) < said.n);
}

static void the_url_is_an_attribute_too(void **state)
{
	(void)state;
	assert_str(answer_of("#attribute Url #END url : 1 AND Apple", SIZE_MAX),
		   "101 - 1 object matches\n"
		   "120 - http://a/1\n125 - http://pages/object/1\n"
		   "127 - Url 10\nhttp://a/1\n"
		   "122 - Matched line: Title: Apple pie\n"
		   "122 - Matched line: URL: http://a/1\n"
		   "130 - object end\n126 - http://home/\n");
}

/* Changes the last byte of the texts. */
static void damage_texts(void)
{
	struct file f = FILE_INIT;
	uint64_t size;
	char c;
	size_t got;
	assert_int_equal(file_open(&f, path_of("docs/00000001.docs"), O_RDWR, 0, &err), 0);
	assert_int_equal(file_size(&f, &size, &err), 0);
	assert_int_equal(file_read(&f, &c, 1, size - 1, &got, &err), 0);
	c ^= 1;
	assert_int_equal(file_write(&f, &c, 1, size - 1, &err), 0);
	file_drop(&f);
}

/* What the registry has of it is told, and the error stands between two objects. */
static void an_object_that_cannot_be_read_is_told_as_far_as_it_can(void **state)
{
	(void)state;
	put_object("http://a/3", "Quince", "too sour", "A fruit", STR(""));
	collect();
	damage_texts();
	assert_str(answer_of("#desc #attribute title #attribute url #END Quince", SIZE_MAX),
		   "101 - 1 object matches\n"
		   "120 - http://a/3\n125 - http://pages/object/3\n"
		   "124 - 7\nA fruit\n"
		   "127 - url 10\nhttp://a/3\n"
		   "130 - object end\n"
		   "103 - ERROR: object 3 cannot be read\n"
		   "126 - http://home/\n");
}

static void pieces_of_any_size_are_the_same_answer(void **state)
{
	static const size_t sizes[] = {1, 2, 100, 4096, 65536, 250000};
	static const char line[] = "#desc #attribute large #attribute Title #attribute LARGE "
				   "#index matchword #END apple";
	(void)state;
	struct str whole = answer_of(line, SIZE_MAX);
	struct buf value = BUF_INIT(1 << 20);
	buf_printf(&value, "127 - large %d\n", LARGE);
	buf_add_str(&value, large_value('x'));
	buf_printf(&value, "\n127 - Title 5\nPears\n127 - LARGE %d\n", LARGE);
	buf_add_str(&value, large_value('x'));
	buf_add_text(&value, "\n122 - Matched");
	assert_true(str_find(whole, buf_str(&value)) < whole.n);
	buf_free(&value);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		assert_true(str_eq(answer_of(line, sizes[i]), whole));
}

/* Until a large value has begun. */
static void make_until_inside(struct reply *r, struct buf *out)
{
	while (reply_is_between(r)) {
		size_t n = out->n;
		assert_int_equal(reply_make(r, n + 1, out, &err), 0);
		assert_true(out->n > n);
	}
}

static void a_value_that_goes_away_keeps_its_size_and_is_told(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	struct reply *r = begin_reply("#opaque #attribute large #END Pears", 0, 60 * US_PER_S);
	int rc = 0;
	make_until_inside(r, &out);
	tell(SOURCE_DELETE, "http://a/2", NULL, NULL);
	collect();
	assert_true(collector_compact(collector, 1, &err) >= 0);
	while (rc == 0)
		rc = reply_make(r, 1 << 20, &out, &err);
	assert_int_equal(rc, 1);
	reply_free(&r);
	struct str said = buf_str(&out);
	size_t at = str_find(said, STR("127 - large 200000\n")) + 19;
	assert_true(at + LARGE < said.n);
	assert_str(str_from(said, at + LARGE),
		   "\n130 - object end\n"
		   "103 - ERROR: a value of this object went away while it was sent, blanks stand "
		   "in its place\n"
		   "126 - http://home/\n");
	buf_free(&out);
}

static void what_cannot_be_read_is_a_failure_before_the_first_byte(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	struct reply *r = begin_reply("#END (apple", 0, 60 * US_PER_S);
	assert_int_equal(reply_make(r, 1000, &out, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.msg, "query, character 1: this bracket is not closed");
	assert_int_equal(out.n, 0);
	reply_free(&r);
}

static void a_moment_that_is_not_enough_makes_it_long(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	/* expressions look at texts, and at the clock before each */
	struct reply *r = begin_reply("#opaque #END /[a-z]+ple[.]/", -1, 60 * US_PER_S);
	assert_false(reply_is_long(r));
	assert_int_equal(reply_make(r, 1000, &out, &err), 0);
	assert_true(reply_is_long(r) && out.n == 0);
	assert_int_equal(reply_make(r, 1000, &out, &err), 1);
	assert_false(reply_was_cut(r));
	assert_int_equal(reply_objects(r), 1);
	reply_free(&r);
	buf_free(&out);
}

static int64_t no_cpu_us(void)
{
	return 1000; /* the clock of a thread that never runs */
}

static void a_light_query_on_a_busy_machine_is_not_long(void **state)
{
	int64_t wall_us = 10000;
	int tries = 0;
	(void)state;
	assert_true(reply_moment_was_had(&wall_us, 10000, 10000));
	while (!reply_moment_was_had(&wall_us, 10000, 9999))
		tries++;
	assert_int_equal(tries, 8); /* 10 ms doubled until there are two seconds */
	assert_int_equal(wall_us, 2 * US_PER_S);
	struct buf out = BUF_INIT(1 << 20);
	cpu_us = no_cpu_us;
	struct reply *r = begin_reply("#opaque #END /[a-z]+ple[.]/", 1, 60 * US_PER_S);
	cpu_us = NULL;
	for (tries = 0; reply_make(r, 1000, &out, &err) == 0; tries++)
		assert_true(!reply_is_long(r) && out.n == 0);
	assert_true(tries > 0 && !reply_is_long(r) && !reply_was_cut(r));
	assert_int_equal(reply_objects(r), 1);
	reply_free(&r);
	buf_free(&out);
}

static void a_large_document_is_for_those_that_take_long(void **state)
{
	static const char *const lines[] = {"#opaque #attribute title #END walnut", "#END walnut"};
	size_t n = 300000;
	char *p = arena_alloc(&arena, n);
	(void)state;
	memset(p, 'y', n);
	put_object("http://a/3", "walnut", "a walnut", "", (struct str){p, n});
	collect();
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct buf out = BUF_INIT(1 << 20);
		struct reply *r = begin_reply(lines[i], 20 * US_PER_S, 60 * US_PER_S);
		assert_int_equal(reply_make(r, 1 << 20, &out, &err), 0);
		assert_true(reply_is_long(r) && reply_is_between(r));
		assert_str(buf_str(&out), "101 - 1 object matches\n");
		assert_int_equal(reply_make(r, 1 << 20, &out, &err), 1);
		assert_int_equal(reply_objects(r), 1);
		assert_true(str_eq(buf_str(&out), answer_of(lines[i], SIZE_MAX)));
		reply_free(&r);
		/* what has a small document is told at once */
		buf_clear(&out);
		r = begin_reply("#END Apple", 20 * US_PER_S, 60 * US_PER_S);
		assert_int_equal(reply_make(r, 1 << 20, &out, &err), 1);
		assert_false(reply_is_long(r));
		reply_free(&r);
		buf_free(&out);
	}
}

static void lines_that_take_longer_than_a_moment_are_found_later(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	/* words are found without a look at the clock, lines are not */
	struct reply *r = begin_reply("#index matchword #END apple", 1, 60 * US_PER_S);
	int rc = 0;
	while (rc == 0)
		rc = reply_make(r, 1 << 20, &out, &err);
	assert_int_equal(rc, 1);
	assert_true(reply_is_long(r) && !reply_was_cut(r));
	assert_true(str_eq(buf_str(&out), answer_of("#index matchword #END apple", SIZE_MAX)));
	reply_free(&r);
	buf_free(&out);
}

static void when_the_time_is_over_it_says_so(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1 << 20);
	struct reply *r = begin_reply("#END /[a-z]+ple[.]/", 0, 1);
	assert_int_equal(reply_make(r, 1 << 20, &out, &err), 1);
	assert_true(reply_was_cut(r));
	assert_true(str_ends(buf_str(&out),
			     STR("101 - the lifetime of the query was over, these are the best "
				 "that were found until then\n126 - http://home/\n")));
	reply_free(&r);
	/* nobody wants it any more */
	buf_clear(&out);
	atomic_store(&cancel, true);
	r = begin_reply("#END apple", 0, 60 * US_PER_S);
	assert_int_equal(reply_make(r, 1 << 20, &out, &err), 1);
	assert_int_equal(out.n, 0);
	reply_free(&r);
	buf_free(&out);
}

static void nothing_in_a_text_ends_a_line(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(100);
	reply_put_line(&out, (struct str){"a\nb\r\nc\0d", 8});
	assert_int_equal(out.n, 8);
	assert_string_equal(buf_text(&out), "a b  c d");
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_OBJECTS(an_answer_is_exact),
		WITH_OBJECTS(attributes_are_compared_by_the_names_that_objects_have),
		WITH_OBJECTS(the_url_is_an_attribute_too),
		WITH_OBJECTS(an_object_that_cannot_be_read_is_told_as_far_as_it_can),
		WITH_OBJECTS(pieces_of_any_size_are_the_same_answer),
		WITH_OBJECTS(a_value_that_goes_away_keeps_its_size_and_is_told),
		WITH_OBJECTS(what_cannot_be_read_is_a_failure_before_the_first_byte),
		WITH_OBJECTS(a_moment_that_is_not_enough_makes_it_long),
		WITH_OBJECTS(a_light_query_on_a_busy_machine_is_not_long),
		WITH_OBJECTS(a_large_document_is_for_those_that_take_long),
		WITH_OBJECTS(lines_that_take_longer_than_a_moment_are_found_later),
		WITH_OBJECTS(when_the_time_is_over_it_says_so),
		cmocka_unit_test(nothing_in_a_text_ends_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
