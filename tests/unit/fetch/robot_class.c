#include "../unit.h"

#include "fetch/robot/robot_inner.h"

static void expect_http(int status, enum outcome outcome, enum robot_cause cause)
{
	struct robot_class c = robot_class_http(status, false, false);
	assert_string_equal(outcome_name(c.outcome), outcome_name(outcome));
	assert_string_equal(robot_cause_name(c.cause), robot_cause_name(cause));
}

static void every_status_has_its_class(void **state)
{
	(void)state;
	expect_http(200, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
	expect_http(204, OUTCOME_OK, ROBOT_CAUSE_ANSWER);
	expect_http(206, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
	expect_http(301, OUTCOME_PERMANENT, ROBOT_CAUSE_NO_TARGET);
	expect_http(304, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
	expect_http(305, OUTCOME_PERMANENT, ROBOT_CAUSE_NO_TARGET);
	expect_http(404, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER);
	expect_http(408, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(410, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER);
	expect_http(420, OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(429, OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(500, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(503, OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(511, OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(999, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER);
	expect_http(0, OUTCOME_TEMPORARY, ROBOT_CAUSE_PROTOCOL);
}

static void a_redirect_has_a_target_and_unchanged_a_question(void **state)
{
	static const int redirects[] = {300, 301, 302, 303, 307, 308};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(redirects); i++)
		assert_int_equal(robot_class_http(redirects[i], false, true).outcome,
				 OUTCOME_REDIRECT);
	assert_int_equal(robot_class_http(305, false, true).outcome, OUTCOME_PERMANENT);
	assert_int_equal(robot_class_http(200, false, true).outcome, OUTCOME_OK);
	assert_int_equal(robot_class_http(304, true, false).outcome, OUTCOME_UNCHANGED);
}

static void a_retry_after_counts_where_it_means_something(void **state)
{
	static const int obeyed[] = {429, 503, 301, 302, 307},
			 idle[] = {200, 304, 404, 410, 500, 502, 0};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(obeyed); i++)
		assert_true(robot_obeys_retry(obeyed[i]));
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		assert_false(robot_obeys_retry(idle[i]));
}

static void a_broken_transfer_says_whether_the_site_is_there(void **state)
{
	(void)state;
	assert_int_equal(robot_class_curl(CURLE_COULDNT_CONNECT, "", 0).outcome,
			 OUTCOME_SITE_TEMPORARY);
	assert_int_equal(robot_class_curl(CURLE_PEER_FAILED_VERIFICATION, "", 0).cause,
			 ROBOT_CAUSE_TLS);
	assert_int_equal(robot_class_curl(CURLE_GOT_NOTHING, "", 0).outcome, OUTCOME_TEMPORARY);
	assert_int_equal(robot_class_curl(CURLE_PARTIAL_FILE, "", 0).cause, ROBOT_CAUSE_CUT);
	assert_int_equal(robot_class_curl(CURLE_FILESIZE_EXCEEDED, "", 0).outcome, OUTCOME_LIMIT);
	assert_int_equal(robot_class_curl(CURLE_RECV_ERROR, "Connection reset", 0).cause,
			 ROBOT_CAUSE_CUT);
	assert_int_equal(robot_class_curl(CURLE_RECV_ERROR, "x in chunked-encoding", 0).cause,
			 ROBOT_CAUSE_PROTOCOL);
	assert_int_equal(robot_class_curl((CURLcode)12345, "", 0).outcome, OUTCOME_TEMPORARY);
}

static void replies_of_ftp_decide_how_long_it_lasts(void **state)
{
	(void)state;
	assert_int_equal(robot_class_curl(CURLE_FTP_COULDNT_RETR_FILE, "", 550).outcome,
			 OUTCOME_PERMANENT);
	assert_int_equal(robot_class_curl(CURLE_FTP_COULDNT_RETR_FILE, "", 450).outcome,
			 OUTCOME_TEMPORARY);
	assert_int_equal(robot_class_curl(CURLE_LOGIN_DENIED, "", 530).outcome,
			 OUTCOME_SITE_PERMANENT);
	assert_int_equal(robot_class_curl(CURLE_LOGIN_DENIED, "", 430).outcome,
			 OUTCOME_SITE_TEMPORARY);
	assert_int_equal(robot_class_curl(CURLE_WEIRD_SERVER_REPLY, "", 421).outcome,
			 OUTCOME_SITE_TEMPORARY);
}

static void names_without_an_address_end_the_site_or_wait(void **state)
{
	(void)state;
	assert_int_equal(robot_class_dns(DNS_NO_NAME).outcome, OUTCOME_SITE_PERMANENT);
	assert_int_equal(robot_class_dns(DNS_BAD_NAME).outcome, OUTCOME_SITE_PERMANENT);
	assert_int_equal(robot_class_dns(DNS_FAILED).outcome, OUTCOME_SITE_TEMPORARY);
	assert_int_equal(robot_class_dns(DNS_BROKEN).outcome, OUTCOME_SITE_PERMANENT);
	assert_int_equal(robot_class_dns(DNS_BROKEN).cause, ROBOT_CAUSE_DNS);
	assert_int_equal(robot_class_dns(DNS_REFUSED).outcome, OUTCOME_ADDRESS);
}

static void one_address_stands_for_a_host_whatever_their_order(void **state)
{
	struct addr a[3], b[3];
	(void)state;
	assert_true(addr_parse(STR("192.0.2.1"), &a[0]) && addr_parse(STR("192.0.2.2"), &a[1]) &&
		    addr_parse(STR("2001:db8::1"), &a[2]));
	b[0] = a[1];
	b[1] = a[0];
	b[2] = a[2];
	const struct addr *x = robot_choose(a, 3, STR("a.test")),
			  *y = robot_choose(b, 3, STR("a.test"));
	assert_true(addr_eq(*x, *y));
	assert_int_not_equal(x->family, a[2].family);
	assert_true(robot_choose(&a[2], 1, STR("a.test")) == &a[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_its_class),
		cmocka_unit_test(a_redirect_has_a_target_and_unchanged_a_question),
		cmocka_unit_test(a_retry_after_counts_where_it_means_something),
		cmocka_unit_test(a_broken_transfer_says_whether_the_site_is_there),
		cmocka_unit_test(replies_of_ftp_decide_how_long_it_lasts),
		cmocka_unit_test(names_without_an_address_end_the_site_or_wait),
		cmocka_unit_test(one_address_stands_for_a_host_whatever_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
