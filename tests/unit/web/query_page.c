#include "page.h"
#include "web/web_inner.h"

#include <stdio.h>

static struct mark marks[] = {{4, 5}};

static struct search_answer answer_of(struct search_row *rows, size_t n)
{
	return (struct search_answer){
		.row = rows, .n = n, .total = n, .documents = 1234, .total_exact = true};
}

static void the_form_has_the_fields_of_the_old_one(void **state)
{
	struct web_query p = {.query = "\"><i>",
			      .any_case = true,
			      .desc = true,
			      .errors = 2,
			      .lines = 3,
			      .results = 40,
			      .objects = 5,
			      .lifetime_s = 30};
	(void)state;
	web_query_form(page_new(), &p);
	assert_page_has("<form action=\"/query.html\"");
	assert_page_lacks("<i>");
	assert_page_has("name=\"caseflag\" value=\"on\" checked");
	assert_page_has("name=\"descflag\" value=\"on\" checked");
	static const char *const off[] = {"wordflag", "opaqueflag", "verbose"};
	for (size_t i = 0; i < ARRAY_LEN(off); i++) {
		char piece[80];
		snprintf(piece, sizeof piece, "name=\"%s\" value=\"on\">", off[i]);
		assert_page_has(piece);
	}
	assert_page_has("name=\"errorflag\" min=\"0\" value=\"2\"");
	assert_page_has("name=\"maxlineflag\" min=\"0\" value=\"3\"");
	assert_page_has("name=\"maxresultflag\" min=\"1\" value=\"40\"");
	assert_page_has("name=\"maxobjflag\" min=\"0\" value=\"5\"");
	assert_page_has("<input type=\"hidden\" name=\"lifetime\" value=\"30\">");
}

static void no_query_takes_longer_than_a_search(void **state)
{
	(void)state;
	assert_int_equal(web_query_ask(&(struct web_query){.query = "a"}).budget_us, 2 * US_PER_S);
	assert_int_equal(
		web_query_ask(&(struct web_query){.query = "a", .lifetime_s = 60}).budget_us,
		2 * US_PER_S);
	assert_int_equal(
		web_query_ask(&(struct web_query){.query = "a", .lifetime_s = 1}).budget_us,
		US_PER_S);
}

static void an_object_has_url_description_lines_and_summary(void **state)
{
	struct matched_line lines[] = {
		{STR("Title"), {.text = STR("The apple"), .mark = marks, .n = 1}},
		{STR("Full-Text"), {.text = STR("<b>second</b>")}},
		{STR("Full-Text"), {.text = STR("third")}}};
	struct search_row row = {
		.url = STR("http://a/?b=1&c"), .oid = 17, .line = lines, .lines = 3};
	struct search_answer a = answer_of(&row, 1);
	struct web_query p = {.query = "apple", .lines = 2, .verbose = true};
	const struct str description = STR("<script>alert(1)</script>");
	(void)state;
	a.notes = STR("a note\nand another\n");
	web_query_results(page_new(), &p, &a, &description);
	assert_page_has("1 of 1,234 objects match");
	assert_page_has(
		"<a href=\"http://a/?b=1&amp;c\" rel=\"noreferrer\">http://a/?b=1&amp;c</a>");
	assert_page_has("&lt;script&gt;alert(1)&lt;/script&gt;");
	assert_page_lacks("<script");
	assert_page_has("<b>Title</b>: The <mark>apple</mark>");
	assert_page_has("<b>Full-Text</b>: &lt;b&gt;second&lt;/b&gt;");
	assert_page_lacks("third");
	assert_page_has("<a href=\"/object/17\">");
	assert_page_has("<p class=\"note\">and another</p>");
	p.verbose = false;
	web_query_results(page_new(), &p, &a, NULL);
	assert_page_lacks("objects match");
	assert_page_lacks("a note");
	assert_page_lacks("alert");
}

static void what_was_cut_and_what_was_not_found_is_said(void **state)
{
	struct search_answer a = answer_of(NULL, 0);
	struct web_query p = {.query = "apple"};
	(void)state;
	web_query_results(page_new(), &p, &a, NULL);
	assert_page_has("Nothing was found.");
	assert_page_lacks("was over");
	a.cut = true;
	web_query_results(page_new(), &p, &a, NULL);
	assert_page_has("The time of this query was over");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_form_has_the_fields_of_the_old_one),
		cmocka_unit_test(no_query_takes_longer_than_a_search),
		cmocka_unit_test(an_object_has_url_description_lines_and_summary),
		cmocka_unit_test(what_was_cut_and_what_was_not_found_is_said),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&page);
	return rc;
}
