#include "../unit.h"

#include "base/clock.h"
#include "fetch/result_wire.h"

#include <stdio.h>

static const struct result_now now = {.mono_us = 500 * US_PER_S,
				      .wall_us = INT64_C(1794700800) * US_PER_S};
/* Another machine, later. */
static const struct result_now then = {.mono_us = 9 * US_PER_S,
				       .wall_us = INT64_C(1794709999) * US_PER_S};

static struct robot_head full_head(void)
{
	struct robot_head h = {.status = 200, .is_complete = true, .length = 77};
	snprintf(h.mime, sizeof h.mime, "%s", "text/html");
	snprintf(h.charset, sizeof h.charset, "%s", "utf-8");
	snprintf(h.etag, sizeof h.etag, "%s", "\"x y\"");
	snprintf(h.last_modified, sizeof h.last_modified, "%s", "Sun, 06 Nov 1994 08:49:37 GMT");
	h.retry_after_us = 3 * US_PER_S;
	h.tag = (struct robot_tag){1u << ROBOT_NOINDEX | 1u << ROBOT_UNAVAILABLE_AFTER,
				   1234 * US_PER_S};
	return h;
}

static struct robot_result full_result(const struct robot_head *head)
{
	struct robot_result r = {.outcome = OUTCOME_REDIRECT,
				 .cause = ROBOT_CAUSE_ANSWER,
				 .why = "a few words",
				 .head = head,
				 .last_modified_us = 784111777 * US_PER_S,
				 .location = STR("http://b.example/x"),
				 .url = STR("http://a.example/"),
				 .redirects = 2,
				 .size = 4096,
				 .wire = 1024,
				 .times = {.start_us = now.wall_us - 70,
					   .resolve_us = 1,
					   .connect_us = 2,
					   .first_us = 3,
					   .total_us = 4},
				 .sent_us = now.mono_us - 60,
				 .delay_us = 10 * US_PER_S,
				 .reused = true};
	memset(r.md5, 0xab, sizeof r.md5);
	memset(r.sha256, 0xcd, sizeof r.sha256);
	assert_true(addr_parse_port(STR("[2001:db8::1]:8080"), 0, &r.addr));
	return r;
}

static void all_that_is_known_arrives(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_HEAD_MAX);
	struct robot_head head = full_head();
	struct robot_result r = full_result(&head), got;
	struct result_room room;
	struct err err;
	(void)state;
	result_write(&r, now, &out);
	assert_int_equal(result_read(buf_str(&out), then, &room, &got, &err), 0);
	assert_int_equal(got.outcome, r.outcome);
	assert_int_equal(got.cause, r.cause);
	assert_string_equal(got.why, r.why);
	assert_true(str_eq(got.location, r.location) && str_eq(got.url, r.url));
	assert_true(addr_eq(got.addr, r.addr));
	assert_int_equal(got.redirects, 2);
	assert_int_equal(got.size, 4096);
	assert_int_equal(got.wire, 1024);
	assert_int_equal(got.last_modified_us, r.last_modified_us);
	assert_int_equal(got.times.start_us, then.wall_us - 70);
	assert_int_equal(got.sent_us, then.mono_us - 60);
	assert_int_equal(got.times.total_us, 4);
	assert_int_equal(got.delay_us, r.delay_us);
	assert_true(got.reused);
	assert_memory_equal(got.md5, r.md5, sizeof r.md5);
	assert_memory_equal(got.sha256, r.sha256, sizeof r.sha256);
	assert_int_equal(got.head->status, 200);
	assert_string_equal(got.head->mime, head.mime);
	assert_string_equal(got.head->charset, head.charset);
	assert_string_equal(got.head->etag, head.etag);
	assert_string_equal(got.head->last_modified, head.last_modified);
	assert_int_equal(got.head->retry_after_us, head.retry_after_us);
	assert_int_equal(got.head->length, 77);
	assert_int_equal(got.head->tag.set, head.tag.set);
	assert_int_equal(got.head->tag.unavailable_after_us, head.tag.unavailable_after_us);
}

static void what_is_not_known_stays_so(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_HEAD_MAX);
	const struct robot_head none = {
		.retry_after_us = -1, .length = -1, .tag.unavailable_after_us = -1};
	const struct robot_result r = {.outcome = OUTCOME_ROBOTS,
				       .cause = ROBOT_CAUSE_ROBOTS,
				       .why = "",
				       .head = &none,
				       .last_modified_us = -1,
				       .delay_us = -1};
	struct robot_result got;
	struct result_room room;
	struct err err;
	(void)state;
	result_write(&r, now, &out);
	assert_int_equal(result_read(buf_str(&out), then, &room, &got, &err), 0);
	assert_int_equal(got.outcome, OUTCOME_ROBOTS);
	assert_int_equal(got.last_modified_us, -1);
	assert_int_equal(got.delay_us, -1);
	assert_int_equal(got.sent_us, 0);
	assert_int_equal(got.times.start_us, 0);
	assert_int_equal(got.addr.family, 0);
	assert_int_equal(got.head->retry_after_us, -1);
	assert_int_equal(got.head->length, -1);
	assert_int_equal(got.head->tag.unavailable_after_us, -1);
	assert_int_equal(got.location.n, 0);
	assert_string_equal(got.head->etag, "");
}

static void words_of_a_server_stay_in_their_line(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_HEAD_MAX);
	struct robot_head head = full_head();
	struct robot_result r = full_result(&head), got;
	struct result_room room;
	struct err err;
	(void)state;
	r.why = "two\nlines\x01";
	r.location = STR("http://b.example/\nooutcome");
	snprintf(head.etag, sizeof head.etag, "%s", "\x02");
	result_write(&r, now, &out);
	assert_int_equal(result_read(buf_str(&out), then, &room, &got, &err), 0);
	assert_string_equal(got.why, "two lines ");
	assert_int_equal(got.location.n, 0);
	assert_string_equal(got.head->etag, "");
}

static void what_cannot_be_is_refused(void **state)
{
#define ZEROES "00000000000000000000000000000000"
	static const char *const wrong[] = {
		"",
		"ook\n",
		"ook\ncanswer\ns200\nb1\n",                               /* no md5 */
		"ofine\ncanswer\ns200\nb1\nC" ZEROES "\n",                /* no such outcome */
		"ook\ncanswered\ns200\nb1\nC" ZEROES "\n",                /* no such cause */
		"ook\ncanswer\ns1000\nb1\nC" ZEROES "\n",                 /* no such status */
		"ook\ncanswer\ns200\nb-1\nC" ZEROES "\n",                 /* no number */
		"ook\ncanswer\ns200\nb1\nC00\n",                          /* half a digest */
		"ook\ncanswer\ns200\nb1\nb1\nC" ZEROES "\n",              /* twice */
		"ook\ncanswer\ns200\nb1\nC" ZEROES "\nQ1\n",              /* no such attribute */
		"ook\ncanswer\ns200\nb1\nC" ZEROES "\nx2048\n",           /* no such directive */
		"ook\ncanswer\ns200\nb1\nC" ZEROES "\na1.2.3\n",          /* no address */
		"ook\ncanswer\ns200\nb1\nC" ZEROES "\ng99999999999999\n", /* before anything */
		("ook\ncanswer\ns200\nb1\nC" ZEROES),                     /* cut */
	};
	struct robot_result got;
	struct result_room room;
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		err = (struct err){0};
		assert_int_equal(result_read(str_of(wrong[i]), now, &room, &got, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	assert_int_equal(
		result_read(STR("ook\ncanswer\ns200\nb1\nC" ZEROES "\n"), now, &room, &got, &err),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_known_arrives),
		cmocka_unit_test(what_is_not_known_stays_so),
		cmocka_unit_test(words_of_a_server_stay_in_their_line),
		cmocka_unit_test(what_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
