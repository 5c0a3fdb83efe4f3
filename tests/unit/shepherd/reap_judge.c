/* What becomes of a URL by the outcome of its fetch. */
#include "shepherd/reap_judge.h"

#include "base/clock.h"
#include "fetch/robot_headers.h"
#include "unit/unit.h"

#include <string.h>

#define NOW_US (INT64_C(1790000000) * 1000000)
#define NOW_S UINT32_C(1790000000)

static const char *const all_errors[] = {"all"}, *const some_errors[] = {"2404", "robots"};
static const struct crawl_conf conf = {.retry_us = 60 * US_PER_S,
				       .retries = 3,
				       .refresh_us = 30 * US_PER_DAY,
				       .zombie_errors = {all_errors, 1}};

static struct verdict judge_cause(const struct crawl_conf *by, enum outcome outcome,
				  enum robot_cause cause, int status, const struct plan_entry *e)
{
	struct robot_head head = {.status = status};
	struct robot_result r = {
		.outcome = outcome,
		.cause = cause,
		.why = "",
		.head = &head,
		.location = outcome == OUTCOME_REDIRECT ? STR("http://there.example/") : STR(""),
	};
	struct verdict v;
	memset(&v, 0xff, sizeof v); /* all of it is set */
	reap_judge(&r, e, by, NOW_US, &v);
	return v;
}

static struct verdict judge_by(const struct crawl_conf *by, enum outcome outcome, int status,
			       const struct plan_entry *e)
{
	return judge_cause(by, outcome, ROBOT_CAUSE_ANSWER, status, e);
}

static struct verdict judge(enum outcome outcome, int status, const struct plan_entry *e)
{
	return judge_by(&conf, outcome, status, e);
}

static const struct plan_entry fresh = {0}, hand = {.item_flags = ITEM_INITIAL},
			       old = {.flags = PLAN_REFRESH};

static void a_document_is_to_be_read(void **state)
{
	(void)state;
	struct verdict v = judge(OUTCOME_OK, 200, &fresh);
	assert_true(v.parse);
	assert_int_equal(CODE_OK, v.code);
	assert_false(v.leads_on);
}

static void what_did_not_change_is_only_looked_at(void **state)
{
	(void)state;
	struct verdict v = judge(OUTCOME_UNCHANGED, 304, &old);
	assert_false(v.parse);
	assert_int_equal(ITEM_GATHERED, v.type);
	assert_int_equal(CHANGE_REFRESH, v.op);
	assert_int_equal(CODE_NOT_MODIFIED, v.code);
	assert_int_equal(0, v.due_s);
}

static void what_is_for_good_is_buried(void **state)
{
	(void)state;
	static const struct {
		enum outcome outcome;
		enum robot_cause cause;
		uint16_t code;
	} dead[] = {
		{OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, 2404},
		{OUTCOME_SITE_PERMANENT, ROBOT_CAUSE_NO_NAME, CODE_NO_HOST},
		{OUTCOME_LIMIT, ROBOT_CAUSE_BODY, CODE_TOO_LARGE},
		{OUTCOME_ROBOTS, ROBOT_CAUSE_ROBOTS, CODE_ROBOTS},
		{OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS, CODE_ADDRESS},
		{OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER, CODE_REDIRECT},
		{OUTCOME_PERMANENT, ROBOT_CAUSE_NO_TARGET, CODE_NOWHERE},
		{OUTCOME_TEMPORARY, ROBOT_CAUSE_CODING, CODE_CODING},
	};
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		struct verdict v = judge_cause(&conf, dead[i].outcome, dead[i].cause, 404, &fresh);
		assert_false(v.parse);
		assert_int_equal(dead[i].code, v.code);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_NONE, v.op); /* nobody was told of it */
		assert_int_equal(0, v.due_s);
		assert_true(v.reason[0]);
		v = judge_cause(&conf, dead[i].outcome, dead[i].cause, 404, &old);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_DELETE, v.op);
		v = judge_cause(&conf, dead[i].outcome, dead[i].cause, 404, &hand);
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
	assert_int_equal(ITEM_ZOMBIE, judge_by(&some, OUTCOME_PERMANENT, 404, &old).type);
	v = judge_by(&some, OUTCOME_PERMANENT, 410, &old);
	assert_int_equal(ITEM_ERROR, v.type);
	assert_int_equal(CHANGE_DELETE, v.op); /* followers hear of it now, once */
	assert_int_equal(CHANGE_NONE, judge_by(&some, OUTCOME_PERMANENT, 410, &fresh).op);
	assert_int_equal(ITEM_ERROR, judge_by(&some, OUTCOME_PERMANENT, 404, &hand).type);
	reap_judge_noindex(&old, &some, &v);
	assert_int_equal(ITEM_ERROR, v.type);
	reap_judge_lost(&old, &some, "", &v);
	assert_int_equal(ITEM_ERROR, v.type);
	some.zombie_errors.n = 0;
	assert_int_equal(ITEM_ERROR, judge_by(&some, OUTCOME_PERMANENT, 404, &old).type);
}

static void only_a_redirect_leads_on(void **state)
{
	(void)state;
	for (int outcome = 0; outcome < OUTCOME_CANCELLED; outcome++) {
		struct verdict v = judge((enum outcome)outcome, 302, &fresh);
		assert_int_equal(outcome == OUTCOME_REDIRECT, v.leads_on);
	}
	assert_string_equal("it leads to http://there.example/",
			    judge(OUTCOME_REDIRECT, 301, &old).reason);
	struct robot_head head = {.status = 301};
	struct robot_result nowhere = {
		.outcome = OUTCOME_REDIRECT, .cause = ROBOT_CAUSE_ANSWER, .why = "", .head = &head};
	struct verdict v;
	reap_judge(&nowhere, &fresh, &conf, NOW_US, &v);
	assert_false(v.leads_on);
}

static void trouble_is_waited_out_longer_each_time_and_not_for_ever(void **state)
{
	(void)state;
	static const struct {
		enum outcome outcome;
		enum robot_cause cause;
	} trouble[] = {
		{OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER},
		{OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER},
		{OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_CONNECT},
		{OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_DNS},
		{OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_PROXY},
		{OUTCOME_CANCELLED, ROBOT_CAUSE_SINK},
	};
	for (size_t i = 0; i < ARRAY_LEN(trouble); i++) {
		struct plan_entry e = old;
		for (; e.retry < 3; e.retry++) {
			struct verdict v =
				judge_cause(&conf, trouble[i].outcome, trouble[i].cause, 503, &e);
			assert_int_equal(ITEM_TEMPORARY, v.type);
			assert_int_equal(CHANGE_NONE, v.op); /* the old text stays */
			assert_int_equal(NOW_S + (60u << e.retry), v.due_s);
		}
		struct verdict v =
			judge_cause(&conf, trouble[i].outcome, trouble[i].cause, 503, &e);
		assert_int_equal(ITEM_ZOMBIE, v.type);
		assert_int_equal(CHANGE_DELETE, v.op);
	}
}

static void the_longest_pause_is_a_refresh(void **state)
{
	(void)state;
	struct crawl_conf patient = conf;
	struct robot_head head = {.status = 500};
	struct robot_result r = {.outcome = OUTCOME_TEMPORARY,
				 .cause = ROBOT_CAUSE_ANSWER,
				 .why = "",
				 .head = &head};
	struct plan_entry e = {.retry = 254};
	struct verdict v;
	patient.retries = 255;
	patient.retry_us = 365 * US_PER_DAY; /* the longest that can be set */
	reap_judge(&r, &e, &patient, NOW_US, &v);
	assert_int_equal(ITEM_TEMPORARY, v.type);
	assert_int_equal(NOW_S + 30 * 86400, v.due_s);
}

static void a_code_is_that_of_the_answer_or_says_why_there_was_none(void **state)
{
	(void)state;
	struct robot_head head = {0};
	struct robot_result r = {.outcome = OUTCOME_SITE_TEMPORARY,
				 .cause = ROBOT_CAUSE_CONNECT,
				 .why = "connection refused",
				 .head = &head};
	struct verdict v;
	reap_judge(&r, &fresh, &conf, NOW_US, &v);
	assert_int_equal(CODE_CONNECTION, v.code);
	assert_string_equal("the server could not be reached: connection refused", v.reason);
	assert_int_equal(2404, judge(OUTCOME_PERMANENT, 404, &fresh).code);
	assert_string_equal("not found (404)", judge(OUTCOME_PERMANENT, 404, &fresh).reason);
	/* a number that is none of HTTP's is not mistaken for one of ours */
	assert_int_equal(CODE_BROKEN, judge(OUTCOME_TEMPORARY, 2308, &fresh).code);
}

static void long_reasons_are_cut(void **state)
{
	(void)state;
	char why[1000];
	struct robot_head head = {.status = 302};
	struct robot_result r = {.outcome = OUTCOME_REDIRECT,
				 .cause = ROBOT_CAUSE_ANSWER,
				 .why = why,
				 .head = &head};
	struct verdict v;
	memset(why, 'x', sizeof why - 1);
	why[sizeof why - 1] = 0;
	r.location = (struct str){why, sizeof why - 1};
	reap_judge(&r, &fresh, &conf, NOW_US, &v);
	assert_true(strlen(v.reason) < sizeof v.reason && strlen(v.reason) > 100);
	r.outcome = OUTCOME_PERMANENT;
	reap_judge(&r, &fresh, &conf, NOW_US, &v);
	assert_true(strlen(v.reason) < sizeof v.reason && strlen(v.reason) > 100);
}

static void who_wants_no_index_gets_none(void **state)
{
	(void)state;
	struct verdict v;
	memset(&v, 0xff, sizeof v);
	reap_judge_noindex(&old, &conf, &v);
	assert_false(v.parse);
	assert_int_equal(ITEM_ZOMBIE, v.type);
	assert_int_equal(CHANGE_DELETE, v.op);
	assert_int_equal(CODE_NOINDEX, v.code);
	assert_string_equal("it asks not to be indexed", v.reason);
	reap_judge_noindex(&hand, &conf, &v);
	assert_int_equal(ITEM_ERROR, v.type);
	assert_int_equal(CHANGE_NONE, v.op);
}

static void what_cannot_be_asked_for_is_not_left_in_the_index(void **state)
{
	(void)state;
	struct verdict v;
	memset(&v, 0xff, sizeof v);
	reap_judge_lost(&old, &conf, "a URL with a gap in it", &v);
	assert_false(v.parse);
	assert_int_equal(ITEM_ZOMBIE, v.type);
	assert_int_equal(CHANGE_DELETE, v.op);
	assert_int_equal(CODE_LOST, v.code);
	assert_string_equal("a URL with a gap in it", v.reason);
	reap_judge_lost(&fresh, &conf, "", &v);
	assert_int_equal(CHANGE_NONE, v.op);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_to_be_read),
		cmocka_unit_test(what_did_not_change_is_only_looked_at),
		cmocka_unit_test(what_is_for_good_is_buried),
		cmocka_unit_test(what_is_not_remembered_is_an_error_for_the_next_merge),
		cmocka_unit_test(only_a_redirect_leads_on),
		cmocka_unit_test(trouble_is_waited_out_longer_each_time_and_not_for_ever),
		cmocka_unit_test(the_longest_pause_is_a_refresh),
		cmocka_unit_test(a_code_is_that_of_the_answer_or_says_why_there_was_none),
		cmocka_unit_test(long_reasons_are_cut),
		cmocka_unit_test(who_wants_no_index_gets_none),
		cmocka_unit_test(what_cannot_be_asked_for_is_not_left_in_the_index),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
