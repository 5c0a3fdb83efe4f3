/* What becomes of a URL by the code of its answer. */
#include "shepherd/reap/reap_judge.h"

#include "base/clock.h"
#include "unit/unit.h"

#include <string.h>

#define NOW_US (INT64_C(1790000000) * 1000000)
#define NOW_S UINT32_C(1790000000)

static const char *const all_errors[] = {"all"}, *const some_errors[] = {"2404", "robots"};
static const struct crawl_conf conf = {.retry_us = 60 * US_PER_S,
				       .retries = 3,
				       .refresh_us = 30 * US_PER_DAY,
				       .zombie_errors = {all_errors, 1}};

static struct verdict judge_why(const struct crawl_conf *by, uint16_t code, const char *why,
				const struct plan_entry *e)
{
	const struct reaper_answer a = {
		.code = code,
		.text = str_of(why),
		.location = code == CODE_REDIRECT ? STR("http://there.example/") : STR(""),
	};
	struct verdict v;
	memset(&v, 0xff, sizeof v); /* all of it is set */
	reap_judge(&a, e, by, NOW_US, &v);
	assert_false(v.has_section);
	return v;
}

static struct verdict judge_by(const struct crawl_conf *by, uint16_t code,
			       const struct plan_entry *e)
{
	return judge_why(by, code, "", e);
}

static struct verdict judge(uint16_t code, const struct plan_entry *e)
{
	return judge_by(&conf, code, e);
}

static const struct plan_entry fresh = {0}, hand = {.item_flags = ITEM_INITIAL},
			       old = {.flags = PLAN_REFRESH};

static void a_document_is_kept_and_told(void **state)
{
	(void)state;
	struct verdict v = judge(CODE_OK, &fresh);
	assert_int_equal(ITEM_GATHERED, v.type);
	assert_int_equal(CHANGE_UPDATE, v.op);
	assert_int_equal(CODE_OK, v.code);
	assert_string_equal("", v.reason);
}

static void what_did_not_change_is_only_looked_at(void **state)
{
	(void)state;
	static const uint16_t same[] = {CODE_NOT_MODIFIED, CODE_SAME};
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		struct verdict v = judge(same[i], &old);
		assert_int_equal(ITEM_GATHERED, v.type);
		assert_int_equal(CHANGE_REFRESH, v.op);
		assert_int_equal(same[i], v.code);
		assert_int_equal(0, v.due_s);
	}
}

static void what_is_for_good_is_buried(void **state)
{
	(void)state;
	static const uint16_t dead[] = {2404,         CODE_NO_HOST,  CODE_TOO_LARGE, CODE_ROBOTS,
					CODE_ADDRESS, CODE_REDIRECT, CODE_CODING,    CODE_LOST,
					CODE_NO_SITE, CODE_BAD_URL,  CODE_NOINDEX};
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		struct verdict v = judge(dead[i], &fresh);
		assert_int_equal(dead[i], v.code);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_NONE, v.op); /* nobody was told of it */
		assert_int_equal(0, v.due_s);
		assert_false(v.no_target);
		assert_true(v.reason[0]);
		v = judge(dead[i], &old);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_DELETE, v.op);
		v = judge(dead[i], &hand);
		assert_int_equal(ITEM_ERROR, v.type); /* tried again with the others */
		assert_int_equal(CHANGE_NONE, v.op);
	}
}

static void what_is_not_remembered_is_an_error_for_the_next_merge(void **state)
{
	(void)state;
	struct crawl_conf some = conf;
	struct verdict v;
	some.zombie_errors = (struct value_list){some_errors, 2};
	assert_int_equal(ITEM_ZOMBIE, judge_by(&some, 2404, &old).type);
	v = judge_by(&some, 2403, &old);
	assert_int_equal(ITEM_ERROR, v.type);
	assert_int_equal(CHANGE_DELETE, v.op); /* followers hear of it now, once */
	assert_int_equal(CHANGE_NONE, judge_by(&some, 2403, &fresh).op);
	assert_int_equal(ITEM_ERROR, judge_by(&some, 2404, &hand).type);
	assert_int_equal(ITEM_ERROR, judge_by(&some, CODE_NOINDEX, &old).type);
	assert_int_equal(ITEM_ERROR, judge_by(&some, CODE_LOST, &old).type);
	some.zombie_errors.n = 0;
	assert_int_equal(ITEM_ERROR, judge_by(&some, 2404, &old).type);
}

static void what_the_rules_reject_is_not_remembered(void **state)
{
	(void)state;
	struct verdict v = judge(CODE_REJECTED, &old);
	assert_int_equal(ITEM_ERROR, v.type);
	assert_int_equal(CHANGE_DELETE, v.op);
}

static void what_is_gone_for_good_is_gone_even_if_given_by_hand(void **state)
{
	(void)state;
	struct crawl_conf none = conf;
	none.zombie_errors.n = 0;
	assert_int_equal(ITEM_ZOMBIE, judge(CODE_GONE, &hand).type);
	assert_int_equal(ITEM_ZOMBIE, judge_by(&none, CODE_GONE, &fresh).type);
}

static void a_redirect_says_where_it_leads(void **state)
{
	(void)state;
	assert_string_equal("it leads to http://there.example/", judge(CODE_REDIRECT, &old).reason);
	assert_false(judge(CODE_REDIRECT, &old).no_target);
}

/* select makes a zombie of it after a time. */
static void one_without_target_stays_an_error(void **state)
{
	(void)state;
	struct verdict v = judge(CODE_NOWHERE, &old);
	assert_true(v.no_target);
	assert_int_equal(ITEM_ERROR, v.type);
	assert_int_equal(CHANGE_DELETE, v.op);
}

static void trouble_is_waited_out_longer_each_time_and_not_for_ever(void **state)
{
	(void)state;
	static const uint16_t trouble[] = {1503,       CODE_CONNECTION, CODE_NO_ANSWER_DNS,
					   CODE_PROXY, CODE_NOT_KEPT,   CODE_TIME};
	for (size_t i = 0; i < ARRAY_LEN(trouble); i++) {
		struct plan_entry e = old;
		for (; e.retry < 3; e.retry++) {
			struct verdict v = judge(trouble[i], &e);
			assert_int_equal(ITEM_TEMPORARY, v.type);
			assert_int_equal(CHANGE_NONE, v.op); /* the old text stays */
			assert_int_equal(NOW_S + (60u << e.retry), v.due_s);
		}
		struct verdict v = judge(trouble[i], &e);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_DELETE, v.op);
	}
}

static void the_longest_pause_is_a_refresh(void **state)
{
	(void)state;
	struct crawl_conf patient = conf;
	struct plan_entry e = {.retry = 254};
	patient.retries = 255;
	patient.retry_us = 365 * US_PER_DAY; /* the longest that can be set */
	struct verdict v = judge_by(&patient, 1500, &e);
	assert_int_equal(ITEM_TEMPORARY, v.type);
	assert_int_equal(NOW_S + 30 * 86400, v.due_s);
}

static void the_reason_is_that_of_the_code_and_what_the_reaper_says(void **state)
{
	(void)state;
	assert_string_equal("the server could not be reached: connection refused",
			    judge_why(&conf, CODE_CONNECTION, "connection refused", &fresh).reason);
	assert_string_equal("not found (404)", judge(2404, &fresh).reason);
}

static void long_reasons_are_cut(void **state)
{
	(void)state;
	char why[1000];
	struct reaper_answer a = {.code = CODE_REDIRECT};
	struct verdict v;
	memset(why, 'x', sizeof why - 1);
	why[sizeof why - 1] = 0;
	a.location = (struct str){why, sizeof why - 1};
	reap_judge(&a, &fresh, &conf, NOW_US, &v);
	assert_true(strlen(v.reason) < sizeof v.reason && strlen(v.reason) > 100);
	v = judge_why(&conf, 2404, why, &fresh);
	assert_true(strlen(v.reason) < sizeof v.reason && strlen(v.reason) > 100);
}

/* Also where nothing else has changed. */
static void who_wants_no_index_gets_none(void **state)
{
	(void)state;
	static const uint16_t codes[] = {CODE_NOINDEX, CODE_NOT_MODIFIED, CODE_SAME};
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		const struct reaper_answer a = {.code = codes[i], .noindex = true};
		struct verdict v;
		reap_judge(&a, &old, &conf, NOW_US, &v);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_DELETE, v.op);
		assert_int_equal(CODE_NOINDEX, v.code);
		assert_string_equal("it asks not to be indexed", v.reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_kept_and_told),
		cmocka_unit_test(what_did_not_change_is_only_looked_at),
		cmocka_unit_test(what_is_for_good_is_buried),
		cmocka_unit_test(what_is_not_remembered_is_an_error_for_the_next_merge),
		cmocka_unit_test(what_the_rules_reject_is_not_remembered),
		cmocka_unit_test(what_is_gone_for_good_is_gone_even_if_given_by_hand),
		cmocka_unit_test(a_redirect_says_where_it_leads),
		cmocka_unit_test(one_without_target_stays_an_error),
		cmocka_unit_test(trouble_is_waited_out_longer_each_time_and_not_for_ever),
		cmocka_unit_test(the_longest_pause_is_a_refresh),
		cmocka_unit_test(the_reason_is_that_of_the_code_and_what_the_reaper_says),
		cmocka_unit_test(long_reasons_are_cut),
		cmocka_unit_test(who_wants_no_index_gets_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
