#include "base/clock.h"
#include "page.h"
#include "shepherd/shepherd.h"
#include "web/web_inner.h"

#define NOW_US (1000 * US_PER_S)

static struct counter_value crawl[] = {
	{STR("pages"), STR("result=\"new\""), STR("Pages <by> result."), COUNTER_TOTAL, 1200},
	{STR("pages"), STR("result=\"refused\""), STR("Pages <by> result."), COUNTER_TOTAL, 30},
	{STR("codes"), STR("class=\"permanent\",code=\"2404\""), STR("By code."), COUNTER_TOTAL, 7},
};
static struct counters_view views[] = {
	{STR("shepherd"), 900 * US_PER_S, 1, true, crawl, ARRAY_LEN(crawl)},
};

static struct reaper_status reapers[] = {
	{.name = "local", .state = "waits"},
	{.name = "192.0.2.7:8188", .state = "up", .jobs = 8, .documents = 777, .round_us = 20000},
	{.name = "192.0.2.8:8188", .state = "away"},
};

static void show_reapers(size_t n)
{
	struct status s = {0};
	const struct web_reapers some = {reapers, n};
	web_status_html(page_new(), &s, &some, &(struct web_points){0}, NOW_US);
	assert_int_equal(html.depth, 0);
}

static void reapers_are_shown_where_there_are_others(void **state)
{
	(void)state;
	show_reapers(3);
	assert_page_has("<td>local</td><td class=\"dim\">waits</td>");
	assert_page_has("<td>192.0.2.8:8188</td><td class=\"bad\">away</td>");
	assert_page_has("<td>192.0.2.7:8188</td><td class=\"good\">up</td><td class=\"n\">8</td>");
	assert_page_has("<td class=\"n\">777</td>");
	show_reapers(1);
	assert_page_lacks("Reapers");
}

static void sources_are_shown_where_there_are_several_or_one_is_asked(void **state)
{
	(void)state;
	struct status s = {0};
	const struct web_reapers none = {0};
	struct point_status points[] = {
		{.name = "crawl", .state = POINT_GOOD, .objects = 5},
		{.name = "gatherer.example:8500",
		 .state = POINT_FAILED,
		 .ago_us = 60 * US_PER_S,
		 .in_us = 120 * US_PER_S,
		 .objects = 12,
		 .bad = 3,
		 .text = "ended <early>"},
	};
	web_status_html(page_new(), &s, &none, &(struct web_points){points, 1}, NOW_US);
	assert_page_lacks("Sources");
	web_status_html(page_new(), &s, &none, &(struct web_points){points, 2}, NOW_US);
	assert_int_equal(html.depth, 0);
	assert_page_has("<td>crawl</td><td class=\"good\">good</td>");
	assert_page_has("<td>gatherer.example:8500</td><td class=\"bad\">failed</td>"
			"<td class=\"n\">1min ago</td><td class=\"n\">12</td><td class=\"n\">3</td>"
			"<td class=\"n\">in 2min</td><td class=\"dim\">ended &lt;early&gt;</td>");
	web_status_html(page_new(), &s, &none, &(struct web_points){points + 1, 1}, NOW_US);
	assert_page_has("Sources");
}

static void queries_are_shown_once_the_port_was_asked(void **state)
{
	struct counter_value port[] = {
		{STR("queries"), STR("kind=\"user\""), STR("Requests."), COUNTER_TOTAL, 0},
		{STR("queries"), STR("kind=\"bulk\""), STR("Requests."), COUNTER_TOTAL, 0},
		{STR("queries"), STR("kind=\"admin\""), STR("Requests."), COUNTER_TOTAL, 0},
		{STR("queries_answered"), STR(""), STR("Answers."), COUNTER_TOTAL, 0},
		{STR("queries_refused"), STR("why=\"request\""), STR("No."), COUNTER_TOTAL, 3},
		{STR("queries_refused"), STR("why=\"full\""), STR("No."), COUNTER_TOTAL, 4},
		{STR("queries_cut"), STR(""), STR("Cut."), COUNTER_TOTAL, 2},
		{STR("query_microseconds"), STR(""), STR("Time."), COUNTER_TOTAL, 60000000},
		{STR("queries_took"), STR("under=\"1s\""), STR("Took."), COUNTER_TOTAL, 5},
		{STR("queries_took"), STR("under=\"10s\""), STR("Took."), COUNTER_TOTAL, 15},
	};
	struct counters_view view = {STR("broker"), 1, 1, true, port, ARRAY_LEN(port)};
	struct status s = {.view = &view, .nviews = 1};
	const struct web_reapers none = {0};
	(void)state;
	web_status_html(page_new(), &s, &none, &(struct web_points){0}, NOW_US);
	assert_page_lacks("Queries of the broker");
	port[0].value = 20;
	port[1].value = 9;
	port[2].value = 1;
	port[3].value = 30;
	web_status_html(page_new(), &s, &none, &(struct web_points){0}, NOW_US);
	assert_int_equal(html.depth, 0);
	assert_page_has("Queries of the broker");
	assert_page_has("<td class=\"n\">20</td><td class=\"n\">9</td><td class=\"n\">1</td>"
			"<td class=\"n\">30</td><td class=\"n\">7</td><td class=\"n\">0</td>"
			"<td class=\"n\">2</td>");
	assert_page_has("<td class=\"n\">3s</td></tr>"); /* of 20, not of all 30 */
}

static void a_source_alone_is_shown_where_it_is_not_well(void **state)
{
	(void)state;
	struct status s = {0};
	const struct web_reapers none = {0};
	struct point_status collecting = {.name = "gatherer.example:8500", .state = POINT_RUNS};
	struct point_status bad = {.name = "soif:in", .state = POINT_GOOD, .objects = 2, .bad = 1};
	web_status_html(page_new(), &s, &none, &(struct web_points){&collecting, 1}, NOW_US);
	assert_page_has("collecting");
	web_status_html(page_new(), &s, &none, &(struct web_points){&bad, 1}, NOW_US);
	assert_page_has("soif:in");
}

static void show(struct status_row *rows, size_t n, size_t nviews)
{
	const struct web_reapers none = {0};
	struct status s = {.row = rows, .nrows = n, .view = views, .nviews = nviews};
	web_status_html(page_new(), &s, &none, &(struct web_points){0}, NOW_US);
	assert_int_equal(html.depth, 0);
}

static void all_ready_is_one_good_sentence(void **state)
{
	struct status_row rows[] = {{.name = STR("up"), .state = STATUS_RUNNING},
				    {.name = STR("web"), .state = STATUS_READY},
				    {.name = STR("broker"), .state = STATUS_READY}};
	(void)state;
	show(rows, 3, 0);
	assert_page_has("<p class=\"good\">2 roles, all ready.</p>"); /* up is not one of them */
	show(rows, 2, 0);
	assert_page_has("<p class=\"good\">1 role, all ready.</p>");
}

static void roles_that_are_not_ready_are_named(void **state)
{
	struct status_row rows[] = {{.name = STR("web"), .state = STATUS_READY},
				    {.name = STR("<b>"), .state = STATUS_BACKING_OFF}};
	(void)state;
	show(rows, 2, 0);
	assert_page_has("<p class=\"bad\">1 of 2 roles not ready: &lt;b&gt; is ");
	assert_page_has("<td>&lt;b&gt;</td><td class=\"bad\">");
	assert_page_has("<td>web</td><td class=\"good\">");
}

static void a_row_shows_time_restarts_cpu_and_memory(void **state)
{
	struct status_row rows[] = {
		{.name = STR("web"),
		 .state = STATUS_READY,
		 .pid = 77,
		 .age_us = 90 * US_PER_S,
		 .restarts = 3,
		 .cpu_us = 2 * US_PER_S,
		 .rss = 5 << 19},
		{.name = STR("old"), .state = STATUS_ENDED, .age_us = -1, .cpu_us = -1, .rss = -1},
	};
	(void)state;
	show(rows, 2, 0);
	assert_page_has("<td class=\"n\">3</td>");
	assert_page_has("<td class=\"n\">2.5M</td>");
	assert_page_has("<td>old</td><td class=\"dim\">ended</td><td class=\"n\">-</td>"
			"<td class=\"n\">-</td><td class=\"n\">0</td><td class=\"n\">-</td><td "
			"class=\"n\">-</td>");
	assert_page_has("<td>web</td><td class=\"good\">ready</td><td class=\"n\">77</td>"
			"<td class=\"n\">1min 30s</td>");
}

static void numbers_causes_and_counters_are_shown(void **state)
{
	(void)state;
	show(NULL, 0, 1);
	assert_page_has("<dt>pages fetched</dt><dd id=\"n-pages\">1,200</dd>");
	assert_page_has("<dt>pages per second since the start</dt><dd id=\"n-rate\">12.3</dd>");
	assert_page_has("<section id=\"causes\"><h2>");
	assert_page_has("<td>refused</td><td class=\"n\">30</td>");
	assert_page_has("<td class=\"code\">pages{result=&quot;refused&quot;}</td>");
	assert_page_has("Pages &lt;by&gt; result.");
	assert_page_has("<section id=\"codes\"><h2>");
	assert_page_has("<tr class=\"class\"><td>permanent</td><td></td><td class=\"n\">7</td>");
	assert_page_has("<td>2404</td><td>not found (404)</td><td class=\"n\">7</td>");
	assert_page_lacks("By code."); /* the same once more, and those that are 0 */
	views[0].alive = false;        /* then its counters are of the past */
	show(NULL, 0, 1);
	views[0].alive = true;
	assert_page_lacks("class=\"code\">pages");
}

static void without_a_crawl_there_are_no_causes(void **state)
{
	(void)state;
	show(NULL, 0, 0);
	assert_page_has("<section id=\"causes\" hidden=\"hidden\">");
	assert_page_has("<section id=\"codes\" hidden=\"hidden\">");
	assert_page_has("<dd id=\"n-commit\">none yet</dd>");
	assert_int_equal(page_count("<script"), 1); /* its own, from a file */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reapers_are_shown_where_there_are_others),
		cmocka_unit_test(sources_are_shown_where_there_are_several_or_one_is_asked),
		cmocka_unit_test(queries_are_shown_once_the_port_was_asked),
		cmocka_unit_test(a_source_alone_is_shown_where_it_is_not_well),
		cmocka_unit_test(all_ready_is_one_good_sentence),
		cmocka_unit_test(roles_that_are_not_ready_are_named),
		cmocka_unit_test(a_row_shows_time_restarts_cpu_and_memory),
		cmocka_unit_test(numbers_causes_and_counters_are_shown),
		cmocka_unit_test(without_a_crawl_there_are_no_causes),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	buf_free(&page);
	return rc;
}
