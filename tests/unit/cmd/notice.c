#include "cmd/notice.h"

#include "../unit.h"
#include "role/notify.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct notice parsed(const char *text)
{
	struct notice notice = {.pid = 7};
	notice_parse(str_of(text), &notice);
	assert_int_equal(notice.pid, 7);
	return notice;
}

static void lines_in_any_order_are_understood(void **state)
{
	(void)state;
	struct notice n = parsed("STATUS=busy = very\nREADY=1\nSTOPPING=1\n");
	assert_true(n.ready && n.stopping && str_is(n.status, "busy = very"));
}

static void what_only_looks_like_ready_is_not(void **state)
{
	(void)state;
	static const char *const texts[] = {"",          "READY=0",       "READY=10", "READY=1 ",
					    " READY=1",  "ready=1",       "READY",    "XREADY=1",
					    "READY=1\r", "STATUS=READY=1"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(parsed(texts[i]).ready);
}

static void unknown_keys_and_bytes_are_passed_over(void **state)
{
	(void)state;
	struct notice n = {0};
	notice_parse(STR("FDSTORE=1\n\n\0\xff\nREADY=1"), &n);
	assert_true(n.ready);
	assert_int_equal(n.status.n, 0);
}

static void the_kernel_says_who_sent_a_notice(void **state)
{
	(void)state;
	struct buf bytes = BUF_INIT(8192);
	struct err err;
	struct notice notice;
	char name[32];
	int fd;
	assert_int_equal(notice_open(&fd, name, sizeof name, &err), 0);
	assert_int_equal(name[0], '@');
	assert_int_equal(notice_read(fd, &bytes, &notice, &err), 1);
	setenv("NOTIFY_SOCKET", name, 1);
	pid_t pid = fork();
	if (pid == 0) {
		notify_send("READY=1\nSTATUS=here");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(notice_read(fd, &bytes, &notice, &err), 0);
	assert_int_equal(notice.pid, pid);
	assert_true(notice.ready && str_is(notice.status, "here"));
	assert_int_equal(notice_read(fd, &bytes, &notice, &err), 1);
	buf_free(&bytes);
	close(fd);
}

static void an_empty_datagram_says_nothing(void **state)
{
	(void)state;
	struct buf bytes = BUF_INIT(8192);
	struct err err;
	struct notice notice;
	char name[32];
	int fd;
	assert_int_equal(notice_open(&fd, name, sizeof name, &err), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("");
	assert_int_equal(notice_read(fd, &bytes, &notice, &err), 0);
	assert_int_equal(notice.pid, getpid());
	assert_false(notice.ready || notice.stopping || notice.status.n);
	buf_free(&bytes);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_in_any_order_are_understood),
		cmocka_unit_test(what_only_looks_like_ready_is_not),
		cmocka_unit_test(unknown_keys_and_bytes_are_passed_over),
		cmocka_unit_test(the_kernel_says_who_sent_a_notice),
		cmocka_unit_test(an_empty_datagram_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
