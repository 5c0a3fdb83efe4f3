/* What a session may ask of its parent, whole and in pieces, and what no session would. */
#include "archie/telnet_hand.h"
#include "../unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct buf bytes;

static int parse(struct str from, struct hand_ask *ret, size_t *ret_used)
{
	struct err err;
	int rc = message_frame(&hand_asks, from, ret_used);
	return rc ? rc : hand_ask_read(str_head(from, *ret_used), ret, &err);
}

static void what_is_asked_is_read_as_it_was_said(void **state)
{
	(void)state;
	const struct hand_ask asks[] = {
		{.what = HAND_CONNECT},
		{.what = HAND_MAIL,
		 .mail = {.to = STR("me@example.test"),
			  .command = STR("find x"),
			  .text = STR("a\nb\n"),
			  .compress = true,
			  .encode = true,
			  .max_split_size = 51200}},
		{.what = HAND_MAIL, .mail = {.text = STR("x\n"), .max_split_size = INT32_MAX}},
		{.what = HAND_SITE, .host = STR("ftp.example.test"), .reply_to = STR("me@x.test")},
		{.what = HAND_SITE, .host = STR("ftp.example.test")},
	};
	struct hand_ask got;
	size_t used;
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		buf_clear(&bytes);
		message_write(&hand_asks, asks[i].what, &asks[i], &bytes);
		size_t n = bytes.n;
		buf_add_text(&bytes, "connect 0\n");
		for (size_t k = 0; k < n; k++)
			assert_int_equal(parse(str_head(buf_str(&bytes), k), &got, &used), 1);
		assert_int_equal(parse(buf_str(&bytes), &got, &used), 0);
		assert_int_equal(used, n);
		assert_int_equal(got.what, asks[i].what);
		assert_true(str_eq(got.mail.to, asks[i].mail.to));
		assert_true(str_eq(got.mail.command, asks[i].mail.command));
		assert_true(str_eq(got.mail.text, asks[i].mail.text));
		assert_true(str_eq(got.host, asks[i].host));
		assert_true(str_eq(got.reply_to, asks[i].reply_to));
		assert_int_equal(got.mail.compress, asks[i].mail.compress);
		assert_int_equal(got.mail.encode, asks[i].mail.encode);
		assert_int_equal(got.mail.max_split_size, asks[i].mail.max_split_size);
	}
}

static void what_cannot_be_is_refused_at_once(void **state)
{
	static const char *const bad[] = {
		"\n",
		"connect\n",
		"connect 1\n",
		"CONNECT 0\n",
		"ok 0\n",
		"site 3073\n",
		"site 10\nhost 1025\n",
		"site 11\nhost 1\na\nx\n",
		"site 18446744073709551615\n",
		"mail 0\n",
		"mail 11\nsplit 1023\n",
		"mail 17\nsplit 2147483648\n",
		"mail 20\ncompress\nsplit 1024\n",
		"mail 20\nencode 1\nsplit 1024\n",
		"mail 19\nto 1025\nsplit 1024\n",
		"mail 24\ntext 9999999\nsplit 1024\n",
		"mail 4198401\n",
		"a first line that has no end in as many bytes as it may have",
	};
	struct hand_ask got;
	size_t used;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (parse(str_of(bad[i]), &got, &used) >= 0)
			fail_msg("taken: %s", bad[i]);
}

static void an_answer_is_yes_or_no_and_a_reason(void **state)
{
	struct err err;
	(void)state;
	buf_clear(&bytes);
	hand_answer_print(NULL, &bytes);
	assert_int_equal(hand_answer_parse(buf_str(&bytes), &err), 0);
	buf_clear(&bytes);
	hand_answer_print("not\nnow", &bytes);
	assert_str(buf_str(&bytes), "no 15\nreason not now\n");
	assert_true(hand_answer_parse(buf_str(&bytes), &err) < 0);
	assert_string_equal(err.msg, "not now");
	char reason[2000];
	memset(reason, 'x', sizeof reason - 1);
	reason[sizeof reason - 1] = 0;
	buf_clear(&bytes);
	hand_answer_print(reason, &bytes);
	assert_true(bytes.n <= HAND_ANSWER_MOST);
	assert_true(hand_answer_parse(STR("?\n"), &err) < 0);
	assert_true(hand_answer_parse(STR("no 15\n"), &err) < 0);
}

static void a_descriptor_goes_with_the_words(void **state)
{
	char room[16];
	int pair[2], got, file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(hand_send(pair[0], STR("OK\n"), file), 3);
	assert_int_equal(hand_receive(pair[1], room, sizeof room, &got), 3);
	assert_true(got >= 0 && got != file);
	assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
	assert_int_equal(hand_send(pair[0], STR("OK\n"), -1), 3);
	close(got);
	assert_int_equal(hand_receive(pair[1], room, sizeof room, &got), 3);
	assert_int_equal(got, -1);
	close(file);
	close(pair[0]);
	assert_int_equal(hand_receive(pair[1], room, sizeof room, &got), 0);
	close(pair[1]);
}

static int end(void **state)
{
	(void)state;
	buf_free(&bytes);
	return 0;
}

int main(void)
{
	bytes = BUF_INIT(HAND_ASK_MOST);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_is_read_as_it_was_said),
		cmocka_unit_test(what_cannot_be_is_refused_at_once),
		cmocka_unit_test(an_answer_is_yes_or_no_and_a_reason),
		cmocka_unit_test(a_descriptor_goes_with_the_words),
	};
	return cmocka_run_group_tests(tests, NULL, end);
}
