#include "web/numbers.h"

#include "../unit.h"
#include "base/clock.h"

static struct counter_value gathered[] = {
	{STR("pages"), STR("result=\"new\""), STR(""), COUNTER_TOTAL, 1200},
	{STR("pages"), STR("result=\"refused\""), STR(""), COUNTER_TOTAL, 30},
	{STR("pages"), STR("result=\"gone\""), STR(""), COUNTER_TOTAL, 0},
	{STR("urls"), STR(""), STR(""), COUNTER_GAUGE, 1234567},
	{STR("codes"), STR("class=\"ok\",code=\"0\""), STR(""), COUNTER_TOTAL, 1200},
	{STR("codes"), STR("class=\"site\",code=\"2103\""), STR(""), COUNTER_TOTAL, 0},
	{STR("codes"), STR("class=\"permanent\",code=\"2404\""), STR(""), COUNTER_TOTAL, 20},
	{STR("codes"), STR("class=\"permanent\",code=\"other\""), STR(""), COUNTER_TOTAL, 9},
	{STR("codes"), STR("class=\"site\",code=\"1104\""), STR(""), COUNTER_TOTAL, 1},
	{STR("codes"), STR("class"), STR(""), COUNTER_TOTAL, 5}, /* not as reap writes them */
};
/* The same name in a role that means something else. */
static struct counter_value others[] = {
	{STR("pages"), STR("result=\"torn\""), STR(""), COUNTER_TOTAL, 7},
};

static struct counters_view views[] = {
	{STR("shepherd"), 100 * US_PER_S, 1, true, gathered, ARRAY_LEN(gathered)},
	{STR("printer"), 100 * US_PER_S, 2, true, others, ARRAY_LEN(others)},
};

static const char *shown(const struct numbers *n, const char *id)
{
	for (size_t i = 0; i < NUMBERS; i++)
		if (strcmp(n->n[i].id, id) == 0)
			return n->n[i].text;
	return NULL;
}

static void numbers_are_those_of_the_crawl(void **state)
{
	struct status s = {.view = views, .nviews = ARRAY_LEN(views)};
	struct numbers n;
	(void)state;
	numbers_of(&s, 200 * US_PER_S, &n);
	assert_string_equal(shown(&n, "known"), "1,234,567");
	assert_string_equal(shown(&n, "pages"), "1,200");
	assert_string_equal(shown(&n, "failed"), "30");
	assert_string_equal(shown(&n, "rate"), "12.3"); /* 1,230 in 100 s */
	assert_string_equal(shown(&n, "commit"), "none yet");
	assert_int_equal(n.pages, 1230);
}

static void causes_are_those_that_happened(void **state)
{
	struct status s = {.view = views, .nviews = ARRAY_LEN(views)};
	struct numbers n;
	struct buf out = BUF_INIT(1 << 16);
	(void)state;
	numbers_of(&s, 200 * US_PER_S, &n);
	assert_int_equal(n.causes, 1);
	assert_true(str_is(n.cause[0].result, "refused"));
	numbers_json(&n, 5, &out);
	assert_true(str_ends(buf_str(&out),
			     STR(",\"causes\":[[\"refused\",30]],\"codes\":["
				 "[\"ok\",\"\",1200],[\"0\",\"ok\",1200],"
				 "[\"site\",\"\",1],"
				 "[\"1104\",\"no answer from name servers\",1],"
				 "[\"permanent\",\"\",29],[\"2404\",\"not found (404)\",20],"
				 "[\"other\",\"all others of this class\",9]]}")));
	buf_free(&out);
}

static void codes_have_bounds(void **state)
{
	(void)state;
	static struct counter_value many[2 * NUMBERS_CODES];
	struct counters_view view = {STR("shepherd@1"), 0, 1, true, many, ARRAY_LEN(many)};
	struct status s = {.view = &view, .nviews = 1};
	struct numbers n;
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct counter_value){STR("codes"), STR("class=\"ok\",code=\"70000\""),
						 STR(""), COUNTER_TOTAL, 1};
	numbers_of(&s, 200 * US_PER_S, &n);
	assert_int_equal(n.codes, NUMBERS_CODES);
	assert_int_equal(n.code[0].count, NUMBERS_CODES - 1);
	assert_str(n.code[1].name, "70000");
}

static void nothing_that_runs_is_nothing_to_show(void **state)
{
	struct status s = {0};
	struct numbers n;
	(void)state;
	numbers_of(&s, 200 * US_PER_S, &n);
	assert_string_equal(shown(&n, "rate"), "0.0");
	assert_string_equal(shown(&n, "documents"), "0");
	assert_int_equal(n.causes, 0);
	assert_int_equal(n.codes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_crawl),
		cmocka_unit_test(causes_are_those_that_happened),
		cmocka_unit_test(codes_have_bounds),
		cmocka_unit_test(nothing_that_runs_is_nothing_to_show),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
