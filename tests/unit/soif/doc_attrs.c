#include "soif/doc_attrs.h"

#include <stdio.h>

#include "../unit.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena = ARENA_INIT(64 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

/* "Mvalue|Rvalue" as a list. */
static struct attrs list_of(const char *text)
{
	struct attrs list = {0};
	struct str rest = str_of(text), one;
	while (str_cut(&rest, '|', &one) == 0)
		if (one.n)
			attrs_add(&list, &arena, one.p[0], str_from(one, 1));
	return list;
}

static struct str get(const char *attrs, const char *name)
{
	struct attrs list = list_of(attrs);
	struct soif obj;
	attrs_soif(&list, &arena, 0, &obj);
	return soif_get(&obj, str_of(name));
}

static void letters_become_names(void **state)
{
	static const struct {
		const char *attrs, *name, *value;
	} cases[] = {
		{"M3tThe title|M21No", "Title", "The title"},
		{"M23Deep|M21Flat", "Title", "Deep"},
		{"M1aMe|M1aYou", "Author", "Me"},
		{"M1dSays", "Description", "Says"},
		{"M21One|M22Two|M1eno|M16Six", "Headings", "One\nTwo\nSix"},
		{"M1kweb Search, web|M1kEngine;search", "Keywords", "engine\nsearch\nweb"},
		{"M1k, ;", "Keywords", NULL},
		{"Rhttp://a/ a x|Rhttp://b/|Rhttp://a/ an|Ihttp://i/ g", "References",
		 "http://a/\nhttp://b/"},
		{"Ihttp://i/ g|Ihttp://i/", "Images", "http://i/"},
		{"Ttext/html; charset=utf-8", "Type", "HTML"},
		{"Timage/png", "Type", "Image"},
		{"Tapplication/x-unheard-of", "Type", "Binary"},
		{"Z123", "File-Size", "123"},
		{"Cabc", "MD5", "abc"},
		{"L5|M0m6|J7", "Last-Modification-Time", "5"},
		{"M0m6|J7", "Last-Modification-Time", "6"},
		{"J7", "Last-Modification-Time", "7"},
		{"D8", "Update-Time", "8"},
		{"M0len-gb", "Language", "en-gb"},
		{"Xone |Xtwo", "Full-Text", "one two"},
		{"Xone", "Full-Text", "one"},
		{"M3t", "Title", NULL},
		{"M9tno meta", "Title", NULL},
		{"R", "References", NULL},
		{"", "Full-Text", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct str got = get(cases[i].attrs, cases[i].name);
		if (cases[i].value)
			assert_str(got, cases[i].value);
		else
			assert_null(got.p);
	}
}

static void the_url_is_the_object_s(void **state)
{
	struct attrs list = list_of("Uhttp://a/|Xtext");
	struct soif obj;
	(void)state;
	attrs_soif(&list, &arena, 0, &obj);
	assert_str(obj.url, "http://a/");
	assert_str(obj.type, "FILE");
	list = list_of("");
	attrs_soif(&list, &arena, 0, &obj);
	assert_str(obj.url, "");
	assert_int_equal(obj.n, 0);
}

static void long_text_is_cut_and_called_partial(void **state)
{
	static const struct {
		size_t most;
		const char *name, *value;
	} cases[] = {{100, "Full-Text",
		      "a\xe2\x82\xac"
		      "b c"},
		     {7, "Full-Text",
		      "a\xe2\x82\xac"
		      "b c"},
		     {6, "Partial-Text",
		      "a\xe2\x82\xac"
		      "b "},
		     {3, "Partial-Text", "a"},
		     {2, "Partial-Text", "a"},
		     {4, "Partial-Text", "a\xe2\x82\xac"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct attrs list = list_of("Xa\xe2\x82\xac"
					    "b |Xc");
		struct soif obj;
		attrs_soif(&list, &arena, cases[i].most, &obj);
		assert_int_equal(obj.n, 1);
		assert_str(obj.attr[0].name, cases[i].name);
		assert_str(obj.attr[0].value, cases[i].value);
	}
}

static void many_links_are_each_there_once(void **state)
{
	struct attrs list = {0};
	struct soif obj;
	size_t lines = 0;
	(void)state;
	for (int i = 0; i < 30000; i++)
		attrs_add(&list, &arena, 'R',
			  str_of(arena_printf(&arena, "http://a/%d a text", i % 10000)));
	attrs_soif(&list, &arena, 0, &obj);
	struct str rest = soif_get(&obj, STR("References")), line;
	while (str_cut(&rest, '\n', &line) == 0)
		lines++;
	assert_int_equal(lines, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(letters_become_names, setup, teardown),
		cmocka_unit_test_setup_teardown(the_url_is_the_object_s, setup, teardown),
		cmocka_unit_test_setup_teardown(long_text_is_cut_and_called_partial, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_links_are_each_there_once, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
