#include "extract/out.h"

#include "../unit.h"

enum { ROOM = 64 << 10 };
static _Alignas(16) char memory[ROOM];

static struct out fresh(void)
{
	struct out o;
	out_begin(&o, memory, sizeof memory, 0);
	return o;
}

static void a_link_is_written_and_read_back(void **state)
{
	static const struct {
		struct doc_link link;
		const char *value;
		char letter;
	} cases[] = {
		{{STR("http://a/"), LINK_ANCHOR, 0, 0, STR("")}, "http://a/ a", 'R'},
		{{STR("http://a/"), LINK_ANCHOR, LINK_NOFOLLOW | LINK_SPONSORED, 0, STR("x  y ")},
		 "http://a/ ans x y",
		 'R'},
		{{STR("http://a/b"), LINK_PAGE, 0, 1700000000, STR("")},
		 "http://a/b s@1700000000",
		 'R'},
		{{STR("http://a/b"), LINK_ITEM, LINK_UGC, 5, STR("\n t")},
		 "http://a/b iu@5 t",
		 'R'},
		{{STR("http://a/p.png"), LINK_IMAGE, 0, 0, STR("")}, "http://a/p.png g", 'I'},
		{{STR("http://a/f"), LINK_FRAME, 0, 0, STR("")}, "http://a/f w", 'F'},
		{{STR("http://a/o"), LINK_EMBED, 0, 0, STR("")}, "http://a/o e", 'A'},
		{{STR("http://a/#top"), LINK_ANCHOR, 0, 0, STR("")}, "http://a/ a", 'R'},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct out o = fresh();
		struct doc_link back;
		out_link(&o, &cases[i].link);
		assert_int_equal(o.n, 1);
		assert_str(o.attr[0].value, cases[i].value);
		assert_int_equal(o.attr[0].name, cases[i].letter);
		assert_true(link_parse(o.attr[0].name, o.attr[0].value, &back));
		assert_int_equal(back.kind, cases[i].link.kind);
		assert_int_equal(back.flags, cases[i].link.flags);
		assert_int_equal(back.time_s, cases[i].link.time_s);
	}
}

static void a_bare_url_is_a_link_of_its_letter(void **state)
{
	struct doc_link l;
	(void)state;
	assert_true(link_parse('I', STR("http://a/x"), &l));
	assert_int_equal(l.kind, LINK_IMAGE);
	assert_str(l.url, "http://a/x");
	assert_true(link_parse('R', STR("http://a/x a"), &l) && l.kind == LINK_ANCHOR);
}

static void what_is_no_link_is_refused(void **state)
{
	static const struct {
		char letter;
		const char *value;
	} cases[] = {{'R', ""},
		     {'R', " a"},
		     {'R', "http://a/ g"},
		     {'I', "http://a/ a"},
		     {'R', "http://a/ a?"},
		     {'R', "http://a/ a@"},
		     {'R', "http://a/ a@1x"},
		     {'R', "http://a/ a@99999999999999999999"},
		     {'Q', "http://a/"}};
	struct doc_link l;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_false(link_parse(cases[i].letter, str_of(cases[i].value), &l));
}

static void meta_has_weight_tag_and_squeezed_text(void **state)
{
	struct out o = fresh();
	struct doc_meta m;
	(void)state;
	out_meta(&o, 3, META_TITLE, STR(" A\t title \r\n of\0two\x7flines "));
	assert_str(o.attr[0].value, "3tA title of two lines");
	assert_true(meta_parse(o.attr[0].value, &m));
	assert_int_equal(m.weight, 3);
	assert_int_equal(m.tag, 't');
	assert_str(m.text, "A title of two lines");
	out_meta(&o, 3, META_TITLE, STR(" \n "));
	assert_int_equal(o.n, 1);
	out_meta_number(&o, META_MODIFIED, 1700000000);
	assert_str(o.attr[1].value, "0m1700000000");
	out_meta_number(&o, META_MODIFIED, -5);
	assert_int_equal(o.n, 2);
	assert_false(meta_parse(STR("4tx"), &m));
	assert_false(meta_parse(STR("3"), &m));
	assert_false(meta_parse(STR(""), &m));
}

static void long_texts_are_cut_at_a_character(void **state)
{
	static char text[3 * OUT_META_MAX];
	struct out o = fresh();
	(void)state;
	for (size_t i = 0; i + 3 <= sizeof text; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	for (size_t skip = 0; skip < 3; skip++) { /* x and xx move the cut inside a character */
		o = fresh();
		memset(text, 'x', skip);
		memcpy(text + skip, "\xe2\x82\xac\xe2\x82\xac", 6);
		for (size_t i = skip; i + 3 <= sizeof text; i += 3)
			memcpy(text + i, "\xe2\x82\xac", 3);
		out_meta(&o, 3, META_TITLE, (struct str){text, sizeof text - 3});
		assert_true(o.attr[0].value.n <= 2 + OUT_META_MAX);
		assert_true(o.attr[0].value.n > OUT_META_MAX - 3);
		assert_true(str_utf8(o.attr[0].value));
	}
}

static void the_pieces_of_the_text_are_the_text(void **state)
{
	static char text[30000];
	struct out o = fresh();
	size_t n = 0;
	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 11 == 10 ? ' ' : 'a';
	out_text(&o, (struct str){text, 20000});
	out_end(&o);
	assert_true(o.n >= 5);
	for (size_t i = 0; i < o.n; i++) {
		struct str v = o.attr[i].value;
		assert_true(v.n <= OUT_VALUE_MAX && o.attr[i].name == 'X');
		assert_memory_equal(v.p, text + n, v.n);
		if (i + 1 < o.n)
			assert_int_equal(v.p[v.n - 1], ' ');
		n += v.n;
	}
	assert_int_equal(n, 20000);
}

static void text_without_blanks_is_cut_between_characters(void **state)
{
	struct out o = fresh();
	(void)state;
	for (int i = 0; i < 5000; i++)
		out_text(&o, STR("\xe2\x82\xac"));
	out_end(&o);
	for (size_t i = 0; i < o.n; i++)
		assert_true(o.attr[i].value.n <= OUT_VALUE_MAX && str_utf8(o.attr[i].value));
}

static void what_does_not_fit_is_left_out_and_said(void **state)
{
	struct out o = fresh();
	(void)state;
	while (!(o.flags & OUT_TEXT_CUT))
		out_text(&o, STR("\xe2\x82\xac text "));
	assert_true(o.text_n <= o.text_max && o.text_n > o.text_max - 3 - 9);
	assert_true(str_utf8((struct str){o.text, o.text_n}));
	for (int i = 0; i < 100000; i++)
		out_link(&o, &(struct doc_link){.url = STR("http://a/"), .kind = LINK_ANCHOR});
	assert_true(o.flags & OUT_LINKS_CUT);
	assert_true(o.links < o.max && o.side_n <= o.side_max);
	size_t before = o.n;
	out_end(&o);
	assert_true(o.n > before && o.n <= o.max);
}

static void links_stop_at_their_limit(void **state)
{
	struct out o;
	(void)state;
	out_begin(&o, memory, sizeof memory, 2);
	for (int i = 0; i < 3; i++)
		out_link(&o, &(struct doc_link){.url = STR("http://a/"), .kind = LINK_ANCHOR});
	assert_int_equal(o.links, 2);
	assert_int_equal(o.flags, OUT_LINKS_CUT);
}

static void no_room_at_all_is_no_harm(void **state)
{
	struct out o;
	(void)state;
	out_begin(&o, memory, 16, 0);
	out_meta(&o, 1, META_TITLE, STR("title"));
	assert_false(out_add(&o, 'T', STR("text/html")));
	out_text(&o, STR("text that is longer than the room for it"));
	out_end(&o);
	assert_int_equal(o.n, 0);
	assert_true(o.flags & OUT_SIDE_CUT && o.flags & OUT_TEXT_CUT);
}

static void long_values_become_several(void **state)
{
	static char text[OUT_VALUE_MAX + 10];
	struct out o = fresh();
	(void)state;
	memset(text, 'v', sizeof text);
	assert_true(out_add(&o, 'K', (struct str){text, sizeof text}));
	assert_int_equal(o.n, 2);
	assert_int_equal(o.attr[0].value.n, OUT_VALUE_MAX);
	assert_int_equal(o.attr[1].value.n, 10);
	assert_true(out_add(&o, 'K', STR("")));
	assert_int_equal(o.n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_written_and_read_back),
		cmocka_unit_test(a_bare_url_is_a_link_of_its_letter),
		cmocka_unit_test(what_is_no_link_is_refused),
		cmocka_unit_test(meta_has_weight_tag_and_squeezed_text),
		cmocka_unit_test(long_texts_are_cut_at_a_character),
		cmocka_unit_test(the_pieces_of_the_text_are_the_text),
		cmocka_unit_test(text_without_blanks_is_cut_between_characters),
		cmocka_unit_test(what_does_not_fit_is_left_out_and_said),
		cmocka_unit_test(links_stop_at_their_limit),
		cmocka_unit_test(no_room_at_all_is_no_harm),
		cmocka_unit_test(long_values_become_several),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
