/* What the master remembers, and when sites are tested and leave. */
#include "archie/master_state.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"

static struct err err;
static const int64_t start_us = 1700000000 * US_PER_S;
static const struct master_times times = {.retest_us = 30 * US_PER_DAY,
					  .leave_us = 90 * US_PER_DAY,
					  .retry_min_us = US_PER_H,
					  .retry_max_us = 7 * US_PER_DAY};

static void what_is_remembered_is_found_again(void **state)
{
	struct master_state s;
	struct master_record r;
	(void)state;
	assert_int_equal(master_state_load(scratch_dir, &s, &err), 1);
	assert_int_equal(master_state_open(scratch_dir, &s, &err), 0);
	const struct newsite n = {STR("B.test"), STR("joe@x"), STR("<1@x>"), STR("Joe@x")};
	master_state_ask(&s, STR("ftp://b.test/"), &n, start_us);
	master_state_ask(&s, STR("ftp://a.test/"), &(struct newsite){.host = STR("a.test")}, 5);
	master_note_good(master_state_of(&s, STR("ftp://c.test/")), 77, &times, start_us);
	master_note_refused(master_state_of(&s, STR("ftp://b.test/")), "login", "530 no", start_us);
	assert_int_equal(master_state_save(&s, &err), 0);
	master_state_free(&s);
	assert_int_equal(master_state_get(scratch_dir, STR("ftp://b.test/"), &r, &err), 0);
	assert_string_equal(r.error, "530 no");
	assert_int_equal(master_state_get(scratch_dir, STR("ftp://a.test/"), &r, &err), 1);
	assert_int_equal(master_state_open(scratch_dir, &s, &err), 0);
	assert_int_equal(s.requests, 2);
	assert_string_equal(s.request[0].url, "ftp://b.test/");
	assert_string_equal(s.request[0].host, "B.test");
	assert_string_equal(s.request[0].reply_to, "joe@x");
	assert_string_equal(s.request[0].message_id, "<1@x>");
	assert_string_equal(s.request[0].sender, "joe@x");
	master_state_answered(&s, 0);
	assert_int_equal(s.requests, 1);
	assert_string_equal(s.request[0].url, "ftp://a.test/");
	assert_null(master_state_find(&s, STR("ftp://a.test/")));
	assert_int_equal(master_state_find(&s, STR("ftp://c.test/"))->entries, 77);
	assert_string_equal(master_state_find(&s, STR("ftp://b.test/"))->error, "530 no");
	/* what goes, what comes and what changes is saved, and nothing is before that */
	struct archie_site site[] = {{.url = STR("ftp://c.test/")}};
	master_state_ask(&s, STR("ftp://b.test/"), &n, start_us);
	assert_int_equal(
		master_state_trim(&s, &(struct archie_sites){.site = site, .n = 1}, start_us + 1),
		1);
	master_state_of(&s, STR("ftp://c.test/"))->entries = 78;
	for (int saved = 0; saved < 2; saved++) {
		struct master_state read;
		if (saved)
			assert_int_equal(master_state_save(&s, &err), 0);
		assert_int_equal(master_state_load(scratch_dir, &read, &err), 0);
		assert_int_equal(read.requests, 2);
		assert_string_equal(read.request[0].url, saved ? "ftp://a.test/" : "ftp://b.test/");
		assert_string_equal(read.request[1].url, saved ? "ftp://b.test/" : "ftp://a.test/");
		assert_int_equal(!master_state_find(&read, STR("ftp://b.test/")), saved);
		assert_int_equal(master_state_find(&read, STR("ftp://c.test/"))->entries,
				 77 + saved);
		master_state_free(&read);
	}
	master_state_free(&s);
}

/* A request of this sender for the host of this name. */
static void ask_for(struct master_state *s, const char *name, const char *sender)
{
	char url[64];
	snprintf(url, sizeof url, "ftp://%s/", name);
	master_state_ask(s, str_of(url),
			 &(struct newsite){.host = str_of(name), .sender = str_of(sender)}, 1);
}

static bool has_url(void *ctx, struct str url)
{
	struct str text = buf_str(ctx);
	return memmem(text.p, text.n, url.p, url.n) != NULL;
}

static void senders_take_turns_however_many_requests_one_has(void **state)
{
	struct master_state s = {0};
	CLEANUP(buf_free) struct buf order = BUF_INIT(1024), under_way = BUF_INIT(1024);
	(void)state;
	for (int i = 0; i < 4; i++)
		ask_for(&s, (const char *[]){"a1", "a2", "a3", "a4"}[i], "a@x");
	ask_for(&s, "b1", "b@x");
	ask_for(&s, "b2", "B@x");
	ask_for(&s, "c1", "");
	buf_add_text(&under_way, "-");
	/* one at a time, each answered before the next */
	while (s.requests) {
		size_t next = master_state_next(&s, 1, has_url, &under_way);
		assert_true(next < s.requests);
		master_state_begun(&s, next);
		buf_printf(&order, "%s ", s.request[next].host);
		if (strcmp(s.request[next].host, "a2") == 0)
			ask_for(&s, "d1", "d@x"); /* one who comes joins at the end */
		master_state_answered(&s, next);
	}
	assert_string_equal("a1 b1 c1 a2 b2 a3 d1 a4 ", buf_text(&order));
	master_state_free(&s);
}

static void a_sender_has_only_so_many_under_way(void **state)
{
	struct master_state s = {0};
	CLEANUP(buf_free) struct buf under_way = BUF_INIT(1024);
	(void)state;
	for (int i = 0; i < 4; i++)
		ask_for(&s, (const char *[]){"a1", "a2", "a3", "a4"}[i], "a@x");
	buf_add_text(&under_way, "ftp://a1/ ftp://a2/");
	assert_int_equal(2, master_state_next(&s, 3, has_url, &under_way));
	assert_int_equal(s.requests, master_state_next(&s, 2, has_url, &under_way));
	ask_for(&s, "a2", "b@x"); /* that is being tested already */
	ask_for(&s, "b2", "b@x");
	assert_int_equal(5, master_state_next(&s, 2, has_url, &under_way));
	master_state_free(&s);
}

static void a_request_whose_answer_waits_is_not_tested(void **state)
{
	struct master_state s = {0};
	CLEANUP(buf_free) struct buf under_way = BUF_INIT(1024);
	(void)state;
	ask_for(&s, "a1", "a@x");
	ask_for(&s, "a2", "a@x");
	master_state_refuse(&s, &(struct newsite){.host = STR("a b"), .sender = STR("b@x")},
			    "it is not the name of a host", start_us);
	buf_add_text(&under_way, "-");
	s.request[0].tested_us = start_us;
	assert_int_equal(1, master_state_next(&s, 1, has_url, &under_way));
	s.request[1].tested_us = start_us;
	assert_int_equal(s.requests, master_state_next(&s, 1, has_url, &under_way));
	assert_string_equal("it is not the name of a host", s.request[2].error);
	master_state_free(&s);
}

static void a_good_site_is_tested_anew_after_a_month(void **state)
{
	struct master_record r = {.kind = MASTER_REFUSED, .cause = "login", .error = "no"};
	(void)state;
	assert_int_equal(master_due_us(NULL, &times, start_us), start_us);
	assert_int_equal(master_due_us(&r, &times, start_us), start_us);
	master_note_good(&r, 5, &times, start_us);
	assert_int_equal(master_due_us(&r, &times, start_us), start_us + times.retest_us);
	assert_string_equal(r.cause, "");
	/* by a clock that is years ahead of this one */
	master_note_good(&r, 5, &times, start_us * 2);
	assert_int_equal(master_due_us(&r, &times, start_us), start_us);
}

static void a_site_leaves_after_failing_for_ninety_days(void **state)
{
	struct master_record r = {0};
	int64_t now_us = start_us, first_us = start_us + 200 * US_PER_DAY;
	(void)state;
	master_note_good(&r, 5, &times, now_us);
	/* nobody tested it for long: it fails from the first failure on */
	now_us = first_us;
	unsigned tests = 0;
	for (; !master_is_over(&r, &times, now_us); tests++) {
		master_note_failed(&r, "connect", "refused", &times, now_us);
		assert_true(r.next_us > now_us && r.next_us <= now_us + times.retry_max_us);
		now_us = r.next_us;
	}
	assert_true(now_us - first_us >= times.leave_us);
	assert_true(now_us - first_us < times.leave_us + times.retry_max_us);
	assert_in_range(tests, 15, 25);
	/* one success, and it begins anew */
	master_note_good(&r, 5, &times, now_us);
	assert_false(master_is_over(&r, &times, now_us + times.leave_us));
	/* a clock that went back */
	master_note_failed(&r, "connect", "refused", &times, now_us);
	master_note_failed(&r, "connect", "refused", &times, start_us);
	assert_int_equal(r.failing_us, start_us);
}

static void what_is_not_listed_is_forgotten(void **state)
{
	struct master_state s = {0};
	struct archie_site site[] = {{.url = STR("ftp://b/")}};
	struct archie_sites listed = {.site = site, .n = 1};
	char url[32];
	(void)state;
	master_note_good(master_state_of(&s, STR("ftp://a/")), 1, &times, start_us);
	master_note_good(master_state_of(&s, STR("ftp://b/")), 1, &times, start_us);
	master_note_refused(master_state_of(&s, STR("ftp://c/")), "login", "", start_us - 1);
	master_note_refused(master_state_of(&s, STR("ftp://d/")), "login", "", start_us);
	assert_int_equal(master_state_trim(&s, &listed, start_us), 2);
	assert_null(master_state_find(&s, STR("ftp://a/")));
	assert_non_null(master_state_find(&s, STR("ftp://b/")));
	assert_non_null(master_state_find(&s, STR("ftp://d/")));
	for (int i = 0; i < MASTER_UNLISTED_MOST; i++) {
		snprintf(url, sizeof url, "ftp://%05d/", i);
		master_note_refused(master_state_of(&s, str_of(url)), "dns", "", start_us + 1 + i);
	}
	assert_int_equal(master_state_trim(&s, &listed, start_us), 1); /* the oldest */
	assert_null(master_state_find(&s, STR("ftp://d/")));
	assert_non_null(master_state_find(&s, STR("ftp://b/")));
	assert_int_equal(master_state_trim(&s, &listed, start_us), 0);
	master_state_free(&s);
}

static void there_is_a_sentence_for_each_end(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	struct master_record r = {.url = "ftp://a/"};
	(void)state;
	master_note_good(&r, 5, &times, start_us);
	master_record_say(&r, &out);
	assert_str(buf_str(&out), "ftp://a/ is in the list of sites; its listing has 5 entries");
	buf_clear(&out);
	master_note_refused(&r, "login", "530 no", start_us);
	master_record_say(&r, &out);
	assert_str(buf_str(&out), "ftp://a/ is not taken into the list of sites: login, 530 no");
	buf_clear(&out);
	r.kind = MASTER_LEFT;
	master_record_say(&r, &out);
	assert_str(buf_str(&out), "ftp://a/ is not any more in the list of sites: login, 530 no");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remembered_is_found_again),
		cmocka_unit_test(senders_take_turns_however_many_requests_one_has),
		cmocka_unit_test(a_sender_has_only_so_many_under_way),
		cmocka_unit_test(a_request_whose_answer_waits_is_not_tested),
		cmocka_unit_test(a_good_site_is_tested_anew_after_a_month),
		cmocka_unit_test(a_site_leaves_after_failing_for_ninety_days),
		cmocka_unit_test(what_is_not_listed_is_forgotten),
		cmocka_unit_test(there_is_a_sentence_for_each_end),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
