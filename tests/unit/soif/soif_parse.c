#include "soif/soif_parse.h"
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>

/* Everything a parser says about an input, as one text. */
static void tell(struct soif_parser *p, struct arena *arena, struct buf *out)
{
	struct soif obj;
	struct err err;
	for (int rc; (rc = soif_next(p, arena, &obj, &err)) != 1;) {
		if (rc < 0) {
			buf_printf(out, "!%s\n", err.msg);
			continue;
		}
		buf_printf(out, "%s" STR_FMT " " STR_FMT "%s", soif_section_name(p->section),
			   STR_ARG(obj.type), STR_ARG(obj.url), obj.truncated ? " cut" : "");
		for (size_t i = 0; i < obj.n; i++)
			buf_printf(out, " " STR_FMT "=" STR_FMT, STR_ARG(obj.attr[i].name),
				   STR_ARG(obj.attr[i].value));
		buf_add_byte(out, '\n');
	}
}

/* The same told from the bytes at once and in pieces of every size up to 7 (and one by one). */
static void told(struct str in, const char *want)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	struct soif_parser whole = soif_parser_of(in);
	tell(&whole, &arena, &out);
	assert_str(buf_str(&out), want);
	for (size_t piece = 1; piece < 8; piece++) {
		struct soif_parser p = SOIF_PARSER_INIT;
		struct err err;
		buf_clear(&out);
		for (size_t at = 0; at < in.n; at += piece) {
			assert_int_equal(0, soif_feed(&p, str_head(str_from(in, at), piece), &err));
			tell(&p, &arena, &out);
		}
		soif_feed_end(&p);
		tell(&p, &arena, &out);
		assert_str(buf_str(&out), want);
		assert_int_equal(soif_offset(&p), in.n);
		soif_parser_free(&p);
	}
	buf_free(&out);
	arena_free(&arena);
}

static void an_object_has_type_url_and_attributes(void **state)
{
	(void)state;
	told(STR("@FILE { http://a/\nTitle{5}:\tHello\nX-Y z{2}:\t\n}\n}\n"),
	     "FILE http://a/ Title=Hello X-Y z=\n}\n");
	told(STR("@FILE { http://a/\n}\n@FILE { http://b/\n}\n"),
	     "FILE http://a/\nFILE http://b/\n");
	told(STR(""), "");
	told(STR("no objects here\n"), "");
}

static void values_are_any_bytes_of_their_size(void **state)
{
	(void)state;
	told(STR("@FILE { u\nA{3}:\t}\n@\nB{0}:\t\nC{1}:\tx}\n"), "FILE u A=}\n@ B= C=x\n");
	struct arena arena = ARENA_INIT(1 << 16);
	struct soif_parser p = soif_parser_of(STR("@FILE { u\nA{4}:\t\0\xff\0\n\n}\n"));
	struct soif obj;
	struct err err;
	assert_int_equal(0, soif_next(&p, &arena, &obj, &err));
	assert_int_equal(4, soif_get(&obj, STR("a")).n);
	assert_memory_equal("\0\xff\0\n", soif_get(&obj, STR("a")).p, 4);
	arena_free(&arena);
}

static void liberal_in_blanks_and_braces(void **state)
{
	(void)state;
	told(STR("junk @ here a@b.c @FILE\t{{ \n{ http://a/ A{1}:\tx B{1}:\ty } rest"),
	     "FILE http://a/ A=x B=y\n");
	told(STR("@FILE{ http://a/\r\nA{1}:\tx\r\n}\r\n"), "FILE http://a/ A=x\n");
	told(STR("@@@FILE { a\n}\nx@y.z@FILE { b\n}\n@FILE@ { c\n}\n"), "FILE a\nFILE b\n");
}

static void blanks_are_bounded(void **state)
{
	(void)state;
	static const struct {
		const char *before, *behind, *want;
		char blank;
	} cases[] = {
		{"@FILE { u", "}\n", "!byte 9: too many blanks, object skipped\nFILE ok\n", ' '},
		{"@FILE { u\nA{1}:\tx", "}\n",
		 "!byte 17: too many blanks, object skipped\nFILE ok\n", '\n'},
		{"@FILE {", " u\n}\n", "!byte 1: too many blanks, object skipped\nFILE ok\n", '{'},
		{"@FILE", "{ u\n}\n", "FILE ok\n", ' '},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf in = BUF_INIT(1 << 20);
		buf_add_text(&in, cases[i].before);
		buf_fill(&in, cases[i].blank, SOIF_MAX_NAME + 1);
		buf_add_text(&in, cases[i].behind);
		buf_add_text(&in, "\n@FILE { ok\n}\n");
		told(buf_str(&in), cases[i].want);
		buf_free(&in);
	}
}

static void sections_come_in_any_order_and_number(void **state)
{
	(void)state;
	told(STR("@DELETE { }\n@REFRESH {\n@FILE { r\n}\n}\n@UPDATE { @FILE { "
		 "u\nA{1}:\tx\n}\n@FILE { "
		 "v\n}\n}\n@delete{@FILE { d\n}\n}\n@FILE { plain\n}\n@UPDATE {\n"),
	     "REFRESHFILE r\nUPDATEFILE u A=x\nUPDATEFILE v\nDELETEFILE d\nFILE plain\n");
	told(STR("@DELETE { http://a/\n}\n"),
	     "DELETE http://a/\n"); /* with a URL it is an object */
}

static void a_truncated_object_is_flagged_and_keeps_what_is_whole(void **state)
{
	(void)state;
	told(STR("@FILE { u\nA{1}:\tx\nB{9}:\tabc"), "FILE u cut A=x\n");
	told(STR("@FILE { u\nA{1}:\tx\n"), "FILE u cut A=x\n");
	told(STR("@FILE { u\nA{1}:\tx\nB{9"), "FILE u cut A=x\n");
	told(STR("@UPDATE { @FILE { u\n"), "UPDATEFILE u cut\n");
	told(STR("@FILE { "), "!byte 0: the input ends in the head of an object\n");
}

static void a_rejected_object_is_named_and_the_next_one_read(void **state)
{
	(void)state;
	static const char tail[] = "\n@FILE { ok\n}\n";
	static const struct {
		const char *bad, *want;
	} cases[] = {
		{"@FILE { u\nA{x}:\ty", "!byte 10: no size in braces, colon and tab after a name"},
		{"@FILE { u\nA{1}: y\n}",
		 "!byte 10: no size in braces, colon and tab after a name"},
		{"@FILE { u\nA{}:\ty\n}",
		 "!byte 10: no size in braces, colon and tab after a name"},
		{"@FILE { u\nnothing\n}", "!byte 10: a line that is not an attribute"},
		{"@FILE { u\n{1}:\tx\n}", "!byte 10: a line that is not an attribute"},
		{"@FILE { u\nA{99999999999999999999999}:\tx",
		 "!byte 10: the size of a value is over the limit"},
		{"@FILE { u\nA{1073741825}:\tx", "!byte 10: the size of a value is over the limit"},
		{"@FILE { }", "!byte 1: an object without a URL"},
		{"@FILE {", "!byte 1: an object without a URL"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char in[256], want[256];
		snprintf(in, sizeof in, "%s%s", cases[i].bad, tail);
		snprintf(want, sizeof want, "%s, object skipped\nFILE ok\n", cases[i].want);
		told(str_of(in), want);
	}
	told(STR("@FILE { u\nA\0{1}:\tx\n}\n@FILE { ok\n}\n"),
	     "!byte 10: a NUL byte outside of a value, object skipped\nFILE ok\n");
}

static void names_and_urls_are_bounded(void **state)
{
	(void)state;
	struct buf in = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
	buf_add_text(&in, "@FILE { ");
	buf_fill(&in, 'u', SOIF_MAX_NAME);
	buf_add_text(&in, "\n}\n");
	buf_add_text(&want, "FILE ");
	buf_fill(&want, 'u', SOIF_MAX_NAME);
	buf_add_text(&want, "\n");
	told(buf_str(&in), buf_text(&want));
	buf_clear(&in);
	buf_add_text(&in, "@FILE { ");
	buf_fill(&in, 'u', SOIF_MAX_NAME + 1);
	buf_add_text(&in, "\n}\n@FILE { ok\n}\n");
	told(buf_str(&in), "!byte 1: the URL is too long, object skipped\nFILE ok\n");
	buf_free(&in);
	buf_free(&want);
}

static void many_attributes_are_bounded(void **state)
{
	(void)state;
	struct buf in = BUF_INIT(1 << 24);
	buf_add_text(&in, "@FILE { u\n");
	for (int i = 0; i <= SOIF_MAX_ATTRS; i++)
		buf_add_text(&in, "A{1}:\tx\n");
	buf_add_text(&in, "}\n");
	struct arena arena = ARENA_INIT(1 << 24);
	struct soif_parser p = soif_parser_of(buf_str(&in));
	struct soif obj;
	struct err err;
	assert_true(soif_next(&p, &arena, &obj, &err) < 0);
	assert_int_equal(1, soif_next(&p, &arena, &obj, &err));
	arena_free(&arena);
	buf_free(&in);
}

static void what_stands_before_a_value_is_read_without_it(void **state)
{
	const struct str text = STR("@FILE { http://a/\nTitle{3}:\ta}b\n Empty{0}:\t\n}");
	struct soif_place place;
	struct str url;
	struct err err;
	size_t at;
	(void)state;
	assert_int_equal(soif_skim_head(text, &url, &at, &err), 0);
	assert_true(str_is(url, "http://a/"));
	struct str rest = str_from(text, at);
	assert_int_equal(soif_skim_attr(rest, &place, &err), 0);
	assert_true(str_is(place.name, "Title"));
	assert_int_equal(place.n, 3);
	assert_memory_equal(rest.p + place.at, "a}b", 3);
	rest = str_from(rest, place.at + place.n);
	assert_int_equal(soif_skim_attr(rest, &place, &err), 0);
	assert_true(str_is(place.name, "Empty") && place.n == 0);
	assert_int_equal(soif_skim_attr(str_from(rest, place.at), &place, &err), 1);
	static const char *const bad[] = {"",
					  "  ",
					  "Title",
					  "Title{",
					  "Title{3",
					  "Title{x}:\t",
					  "Ti\ntle{3}:\tabc",
					  "{3}:\tabc",
					  "T{99999999999}:\t"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(soif_skim_attr(str_of(bad[i]), &place, &err), -1);
		assert_int_equal(soif_skim_head(str_of(bad[i]), &url, &at, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
}

/* The same as told(), as an answer; then the status and the line that ended it. */
static void answered(const char *in, size_t most, const char *want, unsigned status)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	for (size_t piece = 1; piece < 90; piece = piece < 8 ? piece + 1 : piece * 3) {
		struct soif_parser p = SOIF_ANSWER_INIT(most);
		struct err err;
		buf_clear(&out);
		for (size_t at = 0; at < strlen(in); at += piece) {
			assert_int_equal(
				0, soif_feed(&p, str_head(str_from(str_of(in), at), piece), &err));
			tell(&p, &arena, &out);
		}
		soif_feed_end(&p);
		tell(&p, &arena, &out);
		assert_str(buf_str(&out), want);
		assert_int_equal(p.status, status);
		soif_parser_free(&p);
	}
	buf_free(&out);
	arena_free(&arena);
}

static void an_answer_ends_at_its_status_line(void **state)
{
	(void)state;
	const char *one = "UPDATEFILE u A=499 -\n\n";
	answered("@DELETE { }\n@UPDATE {\n@FILE { u\nA{6}:\t499 -\n\n}\n}\n499 - end\n"
		 "@FILE { after\n}\n",
		 1000, one, 499);
	answered("400 - by root@a { b\n@UPDATE {\n@FILE { u\nA{6}:\t499 -\n\n}\n}\n099", 1000, one,
		 99);
	answered("@UPDATE {\n@FILE { u\nA{6}:\t499 -\n\n}\n4990 - no\n 499 no\n49", 1000, one, 0);
	answered("@UPDATE {\n@FILE { u\nA{6}:\t499 -\n\n}\n103 - disk full\r\n499 - x\n", 1000, one,
		 103);
}

static void after_a_rejected_object_the_closing_line_still_counts(void **state)
{
	(void)state;
	answered("@UPDATE {\n@FILE { u\nA{x}:\tb\n103 - no\n}\n}\n499 - end\n", 1000,
		 "!byte 20: no size in braces, colon and tab after a name, object skipped\n", 499);
}

/* What a page says may not become an object, nor the end of an answer. */
static void the_values_of_an_object_over_the_limit_are_not_looked_at(void **state)
{
	(void)state;
	const char *value =
		"@FILE { u\nA{82}:\t\n@FILE { forged\n}\n499 - no\n@DELETE { @FILE { "
		"forged\n}\n0123456789012345678901234567\nB{18}:\t\n@FILE { forged\n}\n\n}\n"
		"@FILE { v\nA{1}:\tx\n}\n499 - end\n";
	answered(value, 60,
		 "!byte 10: the size of a value is over the limit, object skipped\nFILE v A=x\n",
		 499);
	answered("@FILE { u\nA{29}:\t0123456789\n01234567890123456\n\nB{27}:\t\n499 - "
		 "no\n@FILE { forged\n}\n\n}\n@FILE { v\nA{1}:\tx\n}\n499 - end\n",
		 60, "!byte 47: the object is over the limit, object skipped\nFILE v A=x\n", 499);
	answered("@FILE { u\nA{61}:\tx\n}\n499 - no\n", 60,
		 "!byte 10: the size of a value is over the limit, object skipped\n", 0);
}

static void the_memory_of_a_large_object_is_given_back(void **state)
{
	static char piece[1 << 16];
	struct arena arena = ARENA_INIT(1 << 20);
	struct soif_parser p = SOIF_PARSER_INIT;
	struct soif obj;
	struct err err;
	(void)state;
	memset(piece, 'x', sizeof piece);
	assert_int_equal(0, soif_feed(&p, STR("@FILE { u\nA{4194304}:\t"), &err));
	for (int i = 0; i < 64; i++) {
		assert_int_equal(1, soif_next(&p, &arena, &obj, &err));
		assert_int_equal(0, soif_feed(&p, (struct str){piece, sizeof piece}, &err));
	}
	assert_int_equal(0, soif_feed(&p, STR("\n}\n@FILE { v\n}"), &err));
	assert_int_equal(0, soif_next(&p, &arena, &obj, &err));
	assert_int_equal(soif_get(&obj, STR("A")).n, 4194304);
	assert_true(p.held.cap > 4194304);
	assert_int_equal(0, soif_feed(&p, STR("\n@FILE { w\n}\n"), &err));
	assert_true(p.held.cap < 65536);
	assert_int_equal(0, soif_next(&p, &arena, &obj, &err));
	assert_str(obj.url, "v");
	assert_int_equal(0, soif_next(&p, &arena, &obj, &err));
	assert_str(obj.url, "w");
	soif_parser_free(&p);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_has_type_url_and_attributes),
		cmocka_unit_test(values_are_any_bytes_of_their_size),
		cmocka_unit_test(liberal_in_blanks_and_braces),
		cmocka_unit_test(blanks_are_bounded),
		cmocka_unit_test(sections_come_in_any_order_and_number),
		cmocka_unit_test(a_truncated_object_is_flagged_and_keeps_what_is_whole),
		cmocka_unit_test(a_rejected_object_is_named_and_the_next_one_read),
		cmocka_unit_test(names_and_urls_are_bounded),
		cmocka_unit_test(many_attributes_are_bounded),
		cmocka_unit_test(what_stands_before_a_value_is_read_without_it),
		cmocka_unit_test(an_answer_ends_at_its_status_line),
		cmocka_unit_test(after_a_rejected_object_the_closing_line_still_counts),
		cmocka_unit_test(the_values_of_an_object_over_the_limit_are_not_looked_at),
		cmocka_unit_test(the_memory_of_a_large_object_is_given_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
