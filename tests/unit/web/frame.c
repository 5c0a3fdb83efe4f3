#include "net/layout.h"

#include "page.h"
#include "web/web_inner.h"

static void begin_page(const char *title, const struct web_ask *ask)
{
	struct html *h = page_new();
	web_begin(h, title, ask);
	web_end(h);
	assert_int_equal(h->depth, 0); /* all that was opened is closed */
}

static void a_page_loads_its_style_and_nothing_else(void **state)
{
	(void)state;
	begin_page("a <title>", NULL);
	assert_page_has("<title>a &lt;title&gt;</title>");
	assert_page_has("<link rel=\"stylesheet\" href=\"/style.css\">");
	assert_page_has("<meta name=\"robots\" content=\"noindex\">");
	assert_int_equal(page_count("<link"), 1);
	assert_page_lacks("<script");
	assert_page_lacks("<style");
	assert_page_lacks("//"); /* no address of anyone else */
}

static void without_a_question_there_is_no_form(void **state)
{
	(void)state;
	begin_page("t", NULL);
	assert_page_lacks("<form");
	assert_page_lacks("<input");
	assert_page_has("<a class=\"name\" href=\"/\">garner</a>");
}

static void the_box_keeps_what_was_asked(void **state)
{
	struct web_ask ask = {.words = STR("say \"hi\" & <go>"),
			      .site = STR("a.example"),
			      .type = STR("Text"),
			      .match = {.errors = 2, .best = true, .forgive = true}};
	(void)state;
	begin_page("t", &ask);
	assert_page_has("value=\"say &quot;hi&quot; &amp; &lt;go&gt;\"");
	assert_page_has("<input type=\"hidden\" name=\"site\" value=\"a.example\">");
	assert_page_has("<option value=\"Text\" selected=\"selected\">Text</option>");
	assert_int_equal(page_count("selected=\"selected\""), 1);
	assert_page_has("<input type=\"hidden\" name=\"errors\" value=\"2\">");
	assert_page_has("<input type=\"hidden\" name=\"best\" value=\"yes\">");
	assert_page_lacks("name=\"parts\"");
	assert_page_lacks("name=\"forgive\"");
	assert_page_lacks("autofocus");
}

static void a_bare_page_has_the_box_alone(void **state)
{
	struct web_ask ask = {.bare = true};
	(void)state;
	begin_page("t", &ask);
	assert_page_has("<header class=\"bare\">");
	assert_page_has("<h1><a class=\"name\"");
	assert_page_has("autofocus");
	assert_page_lacks("<select");
	assert_page_lacks("name=\"site\"");
}

static void assets_are_asked_for_again_and_have_a_tag_of_their_own(void **state)
{
	struct http_request req = {0};
	struct http_answer style = {0}, script = {0};
	struct err err;
	(void)state;
	assert_int_equal(layout_style(&req, &style, &err), 0);
	assert_int_equal(layout_status_js(&req, &script, &err), 0);
	assert_string_equal(style.type, "text/css; charset=utf-8");
	assert_string_equal(script.type, "text/javascript; charset=utf-8");
	assert_string_equal(style.cache, "no-cache");
	assert_true(str_find(style.bytes, STR("{")) < style.bytes.n);
	assert_true(str_find(script.bytes, STR("EventSource")) < script.bytes.n);
	assert_int_equal(strlen(style.etag), strlen(script.etag));
	assert_string_not_equal(style.etag, script.etag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_loads_its_style_and_nothing_else),
		cmocka_unit_test(without_a_question_there_is_no_form),
		cmocka_unit_test(the_box_keeps_what_was_asked),
		cmocka_unit_test(a_bare_page_has_the_box_alone),
		cmocka_unit_test(assets_are_asked_for_again_and_have_a_tag_of_their_own),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&page);
	return rc;
}
