#include "base/nearest.h"

#include <string.h>

#include "unit/unit.h"

static void what_a_typing_error_makes_is_near(void **state)
{
	(void)state;
	static const struct {
		const char *wanted, *name;
		bool near;
	} pairs[] = {
		{"status", "sttaus", true},
		{"statsu", "status", true},
		{"listn", "listen", true},
		{"wep", "web", true},
		{"dat", "data", true},
		{"WEB", "web", true},
		{"max-hosts", "max_hosts", true},
		{"kitten", "sitting", false},
		{"wpe", "web", false},
		{"ab", "cd", false},
		{"x", "y", false},
		{"x", "xy", false},
		{"", "", true},
		{"", "a", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (nearest_is_near(str_of(pairs[i].wanted), str_of(pairs[i].name)) !=
		    pairs[i].near)
			fail_msg("%s, %s", pairs[i].wanted, pairs[i].name);
}

static void a_beginning_of_two_letters_is_near(void **state)
{
	(void)state;
	assert_true(nearest_is_near(STR("ve"), STR("verbose")));
	assert_true(nearest_is_near(STR("max-c"), STR("max_connections")));
	assert_false(nearest_is_near(STR("v"), STR("verbose")));
	assert_false(nearest_is_near(STR("verbose-and-more"), STR("verbose")));
}

static void the_nearest_is_taken_and_of_two_the_first(void **state)
{
	(void)state;
	struct nearest near = {.wanted = STR("lisst")};
	assert_string_equal(nearest_words(&near), "");
	nearest_try(&near, "other");
	assert_string_equal(near.name, "");
	nearest_try(&near, "lost");
	assert_string_equal(near.name, "lost");
	nearest_try(&near, "list");
	nearest_try(&near, "lists");
	nearest_try(&near, "lisst-of");
	assert_string_equal(nearest_words(&near), "; did you mean 'list'?");
}

static void what_stands_before_a_name_is_shown(void **state)
{
	(void)state;
	struct nearest near = {.wanted = STR("jsno"), .before = "--"};
	nearest_try(&near, "json");
	assert_string_equal(nearest_words(&near), "; did you mean '--json'?");
}

static void the_name_may_change_after_it_was_tried(void **state)
{
	(void)state;
	char name[8] = "listen";
	struct nearest near = {.wanted = STR("lsten")};
	nearest_try(&near, name);
	memset(name, 'x', 6);
	assert_string_equal(near.name, "listen");
}

static void long_names_are_never_near(void **state)
{
	(void)state;
	char text[70];
	memset(text, 'a', sizeof text);
	struct str fits = {text, NEAREST_NAME - 1}, whole = {text, NEAREST_NAME};
	assert_true(nearest_is_near(fits, fits));
	assert_false(nearest_is_near(whole, whole));
	assert_false(nearest_is_near(STR("aa"), whole));
	text[NEAREST_NAME - 1] = 0;
	struct nearest near = {.wanted = fits};
	nearest_try(&near, text);
	assert_int_equal(strlen(near.name), NEAREST_NAME - 1);
	assert_non_null(strstr(nearest_words(&near), "a'?"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_typing_error_makes_is_near),
		cmocka_unit_test(a_beginning_of_two_letters_is_near),
		cmocka_unit_test(the_nearest_is_taken_and_of_two_the_first),
		cmocka_unit_test(what_stands_before_a_name_is_shown),
		cmocka_unit_test(the_name_may_change_after_it_was_tried),
		cmocka_unit_test(long_names_are_never_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
