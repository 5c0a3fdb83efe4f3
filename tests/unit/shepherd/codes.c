/* Codes: that every end of a fetch has one, and what follows from each. */
#include "shepherd/code.h"

#include "base/value.h"
#include "fetch/robot/robot_inner.h"
#include "shepherd/crawl.h"
#include "unit/unit.h"

#include <string.h>

/* As doc/reap.md says it, and robot.h names them. */
static const struct {
	enum robot_cause cause;
	enum outcome outcome;
	uint16_t code;
} ends[] = {
	{ROBOT_CAUSE_URL, OUTCOME_PERMANENT, 2400},
	{ROBOT_CAUSE_NO_NAME, OUTCOME_SITE_PERMANENT, 2103},
	{ROBOT_CAUSE_DNS, OUTCOME_SITE_TEMPORARY, 1104},
	{ROBOT_CAUSE_DNS, OUTCOME_SITE_PERMANENT, 2105},
	{ROBOT_CAUSE_ADDRESS, OUTCOME_ADDRESS, 2134},
	{ROBOT_CAUSE_ROBOTS, OUTCOME_ROBOTS, 2304},
	{ROBOT_CAUSE_ROBOTS_UNREACHABLE, OUTCOME_SITE_TEMPORARY, 1503},
	{ROBOT_CAUSE_CONNECT, OUTCOME_SITE_TEMPORARY, 1107},
	{ROBOT_CAUSE_TLS, OUTCOME_SITE_TEMPORARY, 1107},
	{ROBOT_CAUSE_PROXY, OUTCOME_SITE_TEMPORARY, 1138},
	{ROBOT_CAUSE_CUT, OUTCOME_TEMPORARY, 1502},
	{ROBOT_CAUSE_PROTOCOL, OUTCOME_TEMPORARY, 1502},
	{ROBOT_CAUSE_CODING, OUTCOME_TEMPORARY, 2415},
	{ROBOT_CAUSE_CODING_CUT, OUTCOME_TEMPORARY, 1502},
	{ROBOT_CAUSE_IDLE, OUTCOME_TEMPORARY, 1408},
	{ROBOT_CAUSE_TIME, OUTCOME_TEMPORARY, 1408},
	{ROBOT_CAUSE_LEASE, OUTCOME_CANCELLED, 1408},
	{ROBOT_CAUSE_HEAD_LINE, OUTCOME_LIMIT, 2431},
	{ROBOT_CAUSE_HEAD, OUTCOME_LIMIT, 2431},
	{ROBOT_CAUSE_BODY, OUTCOME_LIMIT, 2413},
	{ROBOT_CAUSE_WIRE, OUTCOME_LIMIT, 2413},
	{ROBOT_CAUSE_MIME, OUTCOME_LIMIT, 2415},
	{ROBOT_CAUSE_WITHIN, OUTCOME_LIMIT, 2300},
	{ROBOT_CAUSE_REDIRECTS, OUTCOME_LIMIT, 2300},
	{ROBOT_CAUSE_NO_TARGET, OUTCOME_PERMANENT, 2300},
	{ROBOT_CAUSE_LOGIN, OUTCOME_SITE_PERMANENT, 2401},
	{ROBOT_CAUSE_SINK, OUTCOME_CANCELLED, 1507},
	{ROBOT_CAUSE_ANSWER, OUTCOME_OK, 0},
	{ROBOT_CAUSE_ANSWER, OUTCOME_REDIRECT, 1},
	{ROBOT_CAUSE_ANSWER, OUTCOME_UNCHANGED, 3},
};

static void every_cause_has_its_code(void **state)
{
	(void)state;
	bool seen[ROBOT_NCAUSES] = {
		[ROBOT_CAUSE_NOT_NOW] = true,
		[ROBOT_CAUSE_STOPPED] = true,
		[ROBOT_CAUSE_TABLE] = true,
	};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		seen[ends[i].cause] = true;
		for (int status = 0; status < 600; status += 101) /* says nothing more */
			assert_int_equal(ends[i].code,
					 code_of(ends[i].outcome, ends[i].cause, status));
	}
	for (size_t i = 0; i < ROBOT_NCAUSES; i++)
		assert_true(seen[i]);
}

/* The rule, in other words than the table's. */
static uint16_t expected_of(int status)
{
	if (status < 200 || status == 206)
		return 1502;
	if (status < 300)
		return 0;
	if (status == 304)
		return 3;
	if (status <= 303 || status == 307 || status == 308)
		return 1;
	if (status < 400)
		return 2300;
	if (status == 408 || status == 420 || status == 425 || status == 429 || status >= 500)
		return (uint16_t)(1000 + status);
	return (uint16_t)(2000 + status);
}

static void every_answer_of_http_has_its_code(void **state)
{
	(void)state;
	for (int status = 100; status < 600; status++) {
		struct robot_class is = robot_class_http(status, true, true);
		uint16_t code = code_of(is.outcome, is.cause, status);
		assert_int_equal(expected_of(status), code);
		/* a caller that has only the code treats the server as the robot does */
		if (is.cause == ROBOT_CAUSE_ANSWER && code_cause(code) == ROBOT_CAUSE_ANSWER)
			assert_string_equal(outcome_name(is.outcome),
					    outcome_name(code_outcome(code)));
	}
	static const int odd[] = {INT32_MIN, -1, 0, 99, 600, 999, 1404, 65536 + 404, INT32_MAX};
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		assert_int_equal(1502, code_of(OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER, odd[i]));
		assert_int_equal(2404, code_of(OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, odd[i]));
	}
	/* a redirect without a target */
	assert_int_equal(2300, code_of(robot_class_http(301, false, false).outcome,
				       robot_class_http(301, false, false).cause, 301));
}

/* Their numbers mean the opposite; the robot knows it. */
static void replies_of_ftp_are_for_now_or_for_good_as_the_robot_says(void **state)
{
	(void)state;
	assert_int_equal(2550, code_of(OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, 550));
	assert_int_equal(CODE_CLASS_PERMANENT, code_class(2550));
	assert_int_equal(1450, code_of(OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER, 450));
	assert_int_equal(CODE_CLASS_TEMPORARY, code_class(1450));
}

static void each_code_has_its_class_and_words(void **state)
{
	(void)state;
	static const struct {
		uint16_t code;
		enum code_class class;
		bool failure;
		const char *says;
	} cases[] = {
		{0, CODE_CLASS_OK, false, "ok"},
		{1, CODE_CLASS_OK, false, "it leads elsewhere"},
		{4, CODE_CLASS_OK, false, "unchanged, the same text"},
		{5, CODE_CLASS_PERMANENT, false, "not a code: 5"},
		{99, CODE_CLASS_PERMANENT, false, "not a code: 99"},
		{999, CODE_CLASS_PERMANENT, false, "not a code: 999"},
		{1000, CODE_CLASS_TEMPORARY, true, "failed for now, code 1000"},
		{1104, CODE_CLASS_SITE, true, "no answer from name servers"},
		{1107, CODE_CLASS_CONNECTION, true, "the server could not be reached"},
		{1138, CODE_CLASS_PROXY, true, "the proxy failed"},
		{1429, CODE_CLASS_TEMPORARY, true, "too many requests (429)"},
		{1505, CODE_CLASS_TEMPORARY, true, "HTTP status 505"},
		{1600, CODE_CLASS_TEMPORARY, true, "failed for now, code 1600"},
		{1999, CODE_CLASS_TEMPORARY, true, "failed for now, code 1999"},
		{2000, CODE_CLASS_PERMANENT, false, "failed, code 2000"},
		{2103, CODE_CLASS_SITE, true, "the server does not exist"},
		{2105, CODE_CLASS_SITE, true, "what name servers say cannot be used"},
		{2134, CODE_CLASS_SITE, true, "its address is not allowed (robot.networks)"},
		{2204, CODE_CLASS_PERMANENT, false, "it asks not to be indexed"},
		{2304, CODE_CLASS_PERMANENT, false, "robots.txt forbids it"},
		{2306, CODE_CLASS_PERMANENT, true, "its site does not exist"},
		{2404, CODE_CLASS_PERMANENT, false, "not found (404)"},
		{2418, CODE_CLASS_PERMANENT, false, "HTTP status 418"},
		{2500, CODE_CLASS_PERMANENT, false, "failed, code 2500"},
		{3000, CODE_CLASS_SLEEPS, false, "others are worth more: limit site"},
		{3000 + LIMIT_ACTIVE, CODE_CLASS_SLEEPS, false,
		 "others are worth more: limit active"},
		{3000 + CRAWL_LIMITS, CODE_CLASS_SLEEPS, false, "others are worth more: limit 8"},
		{3999, CODE_CLASS_SLEEPS, false, "others are worth more: limit 999"},
		{4000, CODE_CLASS_PERMANENT, false, "not a code: 4000"},
		{UINT16_MAX, CODE_CLASS_PERMANENT, false, "not a code: 65535"},
	};
	char text[CODE_TEXT];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_string_equal(cases[i].says, code_text(cases[i].code, text));
		assert_string_equal(code_class_names[cases[i].class],
				    code_class_names[code_class(cases[i].code)]);
		assert_int_equal(cases[i].failure, code_is_failure(cases[i].code));
	}
}

/* 1xxx for now, 2xxx for good; nothing is cut; what comes in as a code goes out as the same. */
static void all_codes_keep_the_rules(void **state)
{
	(void)state;
	char text[CODE_TEXT];
	for (unsigned code = 0; code <= UINT16_MAX; code++) {
		enum code_class class = code_class((uint16_t)code);
		assert_in_range(class, 0, CODE_CLASSES - 1);
		assert_in_range(code_outcome((uint16_t)code), 0, OUTCOME_COUNT - 1);
		assert_in_range(code_cause((uint16_t)code), 0, ROBOT_NCAUSES - 1);
		if (code / 1000 == 1)
			assert_true(class != CODE_CLASS_OK && class != CODE_CLASS_PERMANENT);
		if (code / 1000 == 2)
			assert_true(class == CODE_CLASS_PERMANENT || class == CODE_CLASS_SITE);
		assert_in_range(strlen(code_text((uint16_t)code, text)), 1, CODE_TEXT - 2);
	}
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		uint16_t code = ends[i].code;
		enum robot_cause cause = code_cause(code);
		int status = cause == ROBOT_CAUSE_ANSWER ? code % 1000 : 0;
		assert_int_equal(code, code_of(code_outcome(code), cause, status));
	}
	for (size_t i = 1; i < code_count; i++)
		assert_true(code_all[i - 1] < code_all[i]);
	assert_int_equal(CODE_OK, code_all[0]);
}

static bool word_has(const char *word, uint16_t code)
{
	const struct value_list list = {&word, 1};
	return code_in(&list, code);
}

static void a_word_has_codes_ranges_and_outcomes(void **state)
{
	(void)state;
	static const char *const words[] = {"2404", "1500-1599", "robots"};
	const struct value_list list = {words, 3}, none = {words, 0};
	struct err err = {0};
	static const uint16_t in[] = {2404, 1500, 1502, 1599, 2304},
			      out[] = {0, 1, 404, 1499, 1600, 2403, 2405, 3000};
	assert_int_equal(0, code_list_check(&list, &err));
	assert_int_equal(0, code_list_check(&none, &err));
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		assert_true(code_in(&list, in[i]));
		assert_false(code_in(&none, in[i]));
		assert_true(word_has("all", in[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(out); i++)
		assert_false(code_in(&list, out[i]));
	assert_true(word_has("permanent", 2404) && word_has("site-temporary", 1429));
	assert_false(word_has("permanent", 1502) || word_has("temporary", 2404));
	assert_true(word_has("redirect", CODE_REDIRECT) && word_has("0-4", CODE_REDIRECT));
	assert_true(word_has("2404-2404", 2404) && word_has("1000-2999", 2999));
}

static void what_is_no_code_is_refused_and_matches_nothing(void **state)
{
	(void)state;
	static const char *const odd[] = {
		"",
		"404",
		"2404-",
		"-2404",
		"-",
		"2499-2400",
		"2400--2499",
		"2400-2410-2420",
		"+2404",
		" 2404",
		"2404 ",
		"0x964",
		"5",
		"100",
		"999",
		"3000",
		"2000-3000",
		"2404.0",
		"67940",
		"18446744073709554020",
		"99999999999999999999999999",
		"ALL",
		"gone",
		"noindex",
		"\xff\x01",
		"2404\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		const char *words[] = {"2400", odd[i]};
		const struct value_list list = {words, 2};
		struct err err = {0};
		assert_int_equal(-1, code_list_check(&list, &err));
		assert_int_equal(ERR_USAGE, err.code);
		assert_non_null(strstr(err.msg, "2400-2499"));
		for (unsigned code = 0; code < CODE_END; code++)
			assert_false(word_has(odd[i], (uint16_t)code));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cause_has_its_code),
		cmocka_unit_test(every_answer_of_http_has_its_code),
		cmocka_unit_test(replies_of_ftp_are_for_now_or_for_good_as_the_robot_says),
		cmocka_unit_test(each_code_has_its_class_and_words),
		cmocka_unit_test(all_codes_keep_the_rules),
		cmocka_unit_test(a_word_has_codes_ranges_and_outcomes),
		cmocka_unit_test(what_is_no_code_is_refused_and_matches_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
