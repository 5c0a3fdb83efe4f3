#include "page.h"
#include "web/web_inner.h"

static struct mark marks[] = {{4, 5}};

#define USUAL                   \
	{                       \
		.forgive = true \
	}

static struct search_row row_of(const char *url, const char *title, const char *text)
{
	return (struct search_row){
		.url = str_of(url),
		.host = search_host(str_of(url)),
		.type = STR("HTML"),
		.title = {.text = str_of(title)},
		.snippet = {.text = str_of(text), .cut_after = true},
	};
}

static struct search_answer answer_of(struct search_row *rows, size_t n, uint64_t total)
{
	return (struct search_answer){
		.row = rows, .n = n, .total = total, .documents = 12345, .total_exact = true};
}

static void show(const struct search_ask *ask, const struct search_answer *a, uint64_t n)
{
	web_search_results(page_new(), ask, a, n);
}

static void a_result_is_a_link_with_title_place_and_text(void **state)
{
	struct search_row row = row_of("http://a.example/x?b=1&c=2", "The apple", "of my eye");
	struct search_ask ask = {.match = USUAL, .words = STR("apple"), .limit = 10};
	struct search_answer a = answer_of(&row, 1, 1);
	(void)state;
	row.title.mark = marks;
	row.title.n = 1;
	row.size = 12345;
	row.time_s = 1700000000;
	show(&ask, &a, 1);
	assert_page_has("1 result of 12,345 documents");
	assert_page_has("<a href=\"http://a.example/x?b=1&amp;c=2\" rel=\"noreferrer\">"
			"The <mark>apple</mark></a>");
	assert_page_has("<p class=\"snippet\">of my eye …</p>");
	assert_page_has("HTML · 12 kB · 2023-11-14");
	assert_page_has("href=\"/cached?url=http%3A%2F%2Fa.example%2Fx%3Fb%3D1%26c%3D2\"");
}

static void what_others_wrote_is_text_only(void **state)
{
	static struct mark first[] = {{0, 3}};
	struct search_row row = row_of("javascript:alert(1)", "<b>bold & \"quoted\"</b>",
				       "<script>alert(2)</script>");
	struct search_ask ask = {.match = USUAL, .words = STR("\"><i>"), .limit = 10};
	struct search_answer a = answer_of(&row, 1, 1);
	(void)state;
	row.title.mark = first;
	row.title.n = 1;
	row.type = STR("<u>");
	row.host = STR("h\"><s>");
	show(&ask, &a, 1);
	assert_page_lacks("<script");
	assert_page_lacks("<b>");
	assert_page_lacks("<i>");
	assert_page_lacks("<u>");
	assert_page_lacks("<s>");
	assert_page_lacks("href=\"javascript:");
	assert_page_has("<mark>&lt;b&gt;</mark>bold &amp; ");
	assert_page_has("&lt;script&gt;alert(2)");
	/* in links it is encoded, so that it stays one value */
	assert_page_has("q=%22%3E%3Ci%3E&amp;site=h%22%3E%3Cs%3E");
}

static void filters_stay_in_links_and_each_can_be_removed(void **state)
{
	struct search_row row = row_of("http://a/1", "One", "text");
	struct search_ask ask = {.match = USUAL,
				 .words = STR("red apple"),
				 .site = STR("a"),
				 .type = STR("HTML"),
				 .limit = 1};
	struct search_answer a = answer_of(&row, 1, 3);
	(void)state;
	show(&ask, &a, 1);
	assert_page_has("<a class=\"on\" href=\"/?q=red%20apple&amp;type=HTML\">only a");
	assert_page_has("<a class=\"on\" href=\"/?q=red%20apple&amp;site=a\">only HTML");
	assert_page_has(
		"href=\"/?q=red%20apple&amp;site=a&amp;type=HTML&amp;page=2\" rel=\"next\"");
	assert_page_lacks("more from this site");
	ask.site = ask.type = STR("");
	show(&ask, &a, 1);
	assert_page_lacks("class=\"chips\"");
	assert_page_has("<a href=\"/?q=red%20apple&amp;site=a\">more from this site</a>");
}

static void how_words_are_taken_stays_in_links_and_each_can_be_removed(void **state)
{
	struct search_row row = row_of("http://a/1", "One", "text");
	struct search_ask ask = {.words = STR("apple"), .limit = 1};
	struct search_answer a = answer_of(&row, 1, 3);
	(void)state;
	ask.match = (struct query_options){.errors = 2, .parts = true};
	show(&ask, &a, 1);
	assert_page_has(
		"<a class=\"on\" href=\"/?q=apple&amp;parts=yes&amp;forgive=no\">errors: 2");
	assert_page_has("<a class=\"on\" href=\"/?q=apple&amp;errors=2&amp;forgive=no\">parts of");
	assert_page_has("<a class=\"on\" href=\"/?q=apple&amp;errors=2&amp;parts=yes\">as written");
	assert_page_has("href=\"/?q=apple&amp;errors=2&amp;parts=yes&amp;forgive=no&amp;page=2\"");
	ask.match = (struct query_options){.best = true, .exact = true, .forgive = true};
	show(&ask, &a, 1);
	assert_page_has("<a class=\"on\" href=\"/?q=apple&amp;case=yes\">best match");
	assert_page_has("<a class=\"on\" href=\"/?q=apple&amp;best=yes\">case and accents");
}

static void what_was_perhaps_meant_is_a_link(void **state)
{
	struct search_ask ask = {
		.match = USUAL, .words = STR("aple"), .site = STR("a"), .limit = 1};
	struct search_answer a = answer_of(NULL, 0, 0);
	(void)state;
	a.meant = STR("\"apple\" <pie>");
	a.notes = STR("one <note>\nanother\n");
	show(&ask, &a, 1);
	assert_page_has("Did you mean <a href=\"/?q=%22apple%22%20%3Cpie%3E&amp;site=a\">"
			"&quot;apple&quot; &lt;pie&gt;</a>?");
	assert_page_has("<p class=\"note\">one &lt;note&gt;</p>");
	assert_page_has("<p class=\"note\">another</p>");
	assert_page_has(
		"<a href=\"/?q=aple&amp;site=a&amp;best=yes\">words like these</a> or "
		"<a href=\"/?q=aple&amp;site=a&amp;parts=yes\">words that contain these</a>.");
	ask.match.best = true;
	a.meant = a.notes = STR("");
	show(&ask, &a, 1);
	assert_page_lacks("Did you mean");
	assert_page_lacks("words like these");
	assert_page_has("words that contain these");
}

static void pages_lead_to_their_neighbours(void **state)
{
	struct search_row rows[2] = {row_of("http://a/1", "One", ""),
				     row_of("http://a/2", "Two", "")};
	struct search_ask ask = {.match = USUAL, .words = STR("apple"), .limit = 2};
	struct search_answer a = answer_of(rows, 2, 2);
	(void)state;
	show(&ask, &a, 1); /* all there are */
	assert_page_lacks("class=\"pages\"");
	a.total = 5;
	show(&ask, &a, 1);
	assert_page_lacks("rel=\"prev\"");
	assert_page_has("href=\"/?q=apple&amp;page=2\" rel=\"next\"");
	ask.offset = 2;
	show(&ask, &a, 2);
	assert_page_has("href=\"/?q=apple\" rel=\"prev\"");
	assert_page_has("<span>Page 2</span>");
	assert_page_has("href=\"/?q=apple&amp;page=3\" rel=\"next\"");
	ask.offset = 4;
	a.n = 1;
	show(&ask, &a, 3);
	assert_page_has("href=\"/?q=apple&amp;page=2\" rel=\"prev\"");
	assert_page_lacks("rel=\"next\"");
}

static void a_total_that_is_not_exact_says_so_and_leads_on(void **state)
{
	struct search_row row = row_of("http://a/1", "One", "");
	struct search_ask ask = {.match = USUAL, .words = STR("apple"), .limit = 1};
	struct search_answer a = answer_of(&row, 1, 1);
	(void)state;
	a.total_exact = false;
	a.cut = true;
	show(&ask, &a, 1);
	assert_page_has("at least 1 result of");
	assert_page_has("This took too long");
	assert_page_has("rel=\"next\"");
}

static void nothing_found_and_nothing_indexed_are_told_apart(void **state)
{
	struct search_ask ask = {.match = USUAL, .words = STR("apple"), .limit = 10};
	struct search_answer a = answer_of(NULL, 0, 0);
	(void)state;
	show(&ask, &a, 1);
	assert_page_has("Nothing was found");
	assert_page_lacks("Nothing is indexed yet");
	a.documents = 0;
	show(&ask, &a, 1);
	assert_page_has("Nothing is indexed yet");
	assert_page_lacks("Nothing was found");
	assert_page_has("0 results of 0 documents");
}

static void sizes_have_a_unit_that_fits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *shown;
	} sizes[] = {{999, " · 999 bytes"}, {1000, " · 1 kB"}, {2500000, " · 2.5 MB"}};
	struct search_row row = row_of("http://a/1", "One", "");
	struct search_ask ask = {.match = USUAL, .words = STR("apple"), .limit = 10};
	struct search_answer a = answer_of(&row, 1, 1);
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		row.size = sizes[i].bytes;
		show(&ask, &a, 1);
		assert_page_has(sizes[i].shown);
	}
}

static void the_text_of_a_document_is_its_lines(void **state)
{
	const struct str text = STR("first & <foremost>\n\n  \nlast");
	(void)state;
	for (size_t part = 1; part <= text.n; part++) { /* however it comes */
		struct html *h = page_new();
		bool in_line = false;
		for (size_t at = 0; at < text.n; at += part)
			web_text_part(h, &in_line, str_head(str_from(text, at), part));
		web_text_end(h, &in_line);
		assert_page_has("<p>first &amp; &lt;foremost&gt;</p>");
		assert_page_has("<p>last</p>");
		assert_int_equal(page_count("<p>"), 2);
		assert_int_equal(page_count("</p>"), 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_is_a_link_with_title_place_and_text),
		cmocka_unit_test(what_others_wrote_is_text_only),
		cmocka_unit_test(filters_stay_in_links_and_each_can_be_removed),
		cmocka_unit_test(how_words_are_taken_stays_in_links_and_each_can_be_removed),
		cmocka_unit_test(what_was_perhaps_meant_is_a_link),
		cmocka_unit_test(pages_lead_to_their_neighbours),
		cmocka_unit_test(a_total_that_is_not_exact_says_so_and_leads_on),
		cmocka_unit_test(nothing_found_and_nothing_indexed_are_told_apart),
		cmocka_unit_test(sizes_have_a_unit_that_fits),
		cmocka_unit_test(the_text_of_a_document_is_its_lines),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&page);
	return rc;
}
