#include "base/wish.h"

#include "base/buf.h"
#include "unit/unit.h"

/* Each as "name", "name=<value>" or "[robot]", with a blank after it. */
static void wishes_are_parted_by_commas_and_blanks(void **state)
{
	static const struct {
		const char *text, *wishes;
	} cases[] = {
		{"noindex", "noindex "},
		{" NoIndex ,NOFOLLOW,, noarchive,", "NoIndex NOFOLLOW noarchive "},
		{"noindex nofollow\tnoarchive\n none", "noindex nofollow noarchive none "},
		{"max-snippet:50,max-image-preview: large",
		 "max-snippet=<50> max-image-preview=<large> "},
		{"noindex max-snippet : -1 nofollow", "noindex max-snippet=<-1> nofollow "},
		{"max-snippet:, noindex", "max-snippet noindex "},
		{"otherbot: noindex, our-bot:nofollow", "[otherbot] noindex [our-bot] nofollow "},
		{"otherbot : max-snippet: 5 none", "[otherbot] max-snippet=<5> none "},
		{"unavailable_after: 25 Jun 2010 15:00:00 GMT, noindex",
		 "unavailable_after=<25 Jun 2010 15:00:00 GMT> noindex "},
		{"unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, noindex",
		 "unavailable_after=<Wed, 25 Jun 2010 15:00:00 GMT> noindex "},
		{"a: Unavailable_After:Wednesday,25-Jun-10 15:00:00 GMT",
		 "[a] Unavailable_After=<Wednesday,25-Jun-10 15:00:00 GMT> "},
		{"unavailable_after: Jun 25, 2010 15:00:00, none",
		 "unavailable_after=<Jun 25, 2010 15:00:00> none "},
		{"unavailable_after: 2010-06-25, 360bot: noindex",
		 "unavailable_after=<2010-06-25> [360bot] noindex "},
		{"unavailable_after: 2010-06-25T15:00:00Z, 25 x: y",
		 "unavailable_after=<2010-06-25T15:00:00Z> 25 [x] y "},
		{"unavailable_after: 25 Jun 2010 15:00:00 GMT noindex nofollow",
		 "unavailable_after=<25 Jun 2010 15:00:00 GMT> noindex nofollow "},
		{"unavailable_after: Wed, 25 Jun 2010 15:00:00 none",
		 "unavailable_after=<Wed, 25 Jun 2010 15:00:00> none "},
		{"unavailable_after: 2010-06-25 noindex",
		 "unavailable_after=<2010-06-25> noindex "},
		{"unavailable_after: Friday, 25 June 2010 noindex nofollow, none",
		 "unavailable_after=<Friday, 25 June 2010> noindex nofollow none "},
		{"unavailable_after: Jun 25 2010", "unavailable_after=<Jun 25 2010> "},
		{"unavailable_after: Wed", "unavailable_after=<Wed> "},
		{"unavailable_after: Wed,", "unavailable_after=<Wed> "},
		{"unavailable_after:", "unavailable_after "},
		{":", "[] "},
		{": : noindex", "[] [] noindex "},
		{"", ""},
		{" , \t,", ""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_free) struct buf got = BUF_INIT(1024);
		struct str rest = str_of(cases[i].text);
		struct wish w;
		while (wish_next(&rest, &w) == 0)
			buf_printf(&got, "%s" STR_FMT "%s%s" STR_FMT "%s ", w.is_agent ? "[" : "",
				   STR_ARG(w.name), w.is_agent ? "]" : "", w.value.n ? "=<" : "",
				   STR_ARG(w.value), w.value.n ? ">" : "");
		assert_string_equal(buf_text(&got), cases[i].wishes);
		assert_int_equal(rest.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wishes_are_parted_by_commas_and_blanks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
