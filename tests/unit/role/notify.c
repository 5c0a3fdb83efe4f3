#include "role/notify.h"

#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A reader at an abstract address; its name goes into $NOTIFY_SOCKET. */
static int reader(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t n = sizeof at;
	char name[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at.sun_family), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	snprintf(name, sizeof name, "@%.*s", (int)(n - sizeof at.sun_family - 1), at.sun_path + 1);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void a_state_arrives_as_one_datagram(void **state)
{
	(void)state;
	char got[64] = "";
	int fd = reader();
	notify_send("READY=1\nSTATUS=x");
	assert_int_equal(recv(fd, got, sizeof got - 1, 0), 16);
	assert_string_equal(got, "READY=1\nSTATUS=x");
	close(fd);
}

static void without_a_reader_nothing_happens(void **state)
{
	(void)state;
	close(reader());
	notify_send("READY=1"); /* nobody is there any more */
	static const char *const bad[] = {"", "@", "/", "relative", "/nowhere/at/all"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		setenv("NOTIFY_SOCKET", bad[i], 1);
		notify_send("READY=1");
	}
	char *name = mem_alloc(4096);
	memset(name, 'x', 4095);
	name[0] = '/';
	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("READY=1");
	mem_free(&name);
	unsetenv("NOTIFY_SOCKET");
	notify_send("READY=1");
}

/* Each of them would wait for seconds. */
static void what_nobody_reads_is_not_waited_for(void **state)
{
	(void)state;
	int fd = reader();
	for (int i = 0; i < 2000; i++)
		notify_send(i % 2 ? "STATUS=busy" : "STOPPING=1");
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

static void hand_down(const char *fds, const char *names)
{
	char pid[32];
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", fds, 1);
	setenv("LISTEN_FDNAMES", names, 1);
}

/* Descriptors 3 to 5 are open and inheritable. */
static int open_some(void **state)
{
	(void)state;
	for (int fd = 3; fd < 6; fd++)
		if (dup2(0, fd) != fd)
			return -1;
	return 0;
}

static int close_some(void **state)
{
	(void)state;
	for (int fd = 3; fd < 6; fd++)
		close(fd);
	return 0;
}

static void a_socket_is_found_by_its_name(void **state)
{
	(void)state;
	hand_down("3", "listen:admin:listen_tls");
	assert_int_equal(notify_socket("admin"), 4);
	assert_int_equal(notify_socket("listen_tls"), 5);
	assert_int_equal(notify_socket("listen"), 3);
	assert_int_equal(notify_socket("adm"), -1);
	assert_int_equal(notify_socket("listen:admin"), -1);
	assert_true(fcntl(4, F_GETFD) & FD_CLOEXEC);
}

static void what_was_meant_for_another_process_is_not_taken(void **state)
{
	(void)state;
	hand_down("1", "listen");
	setenv("LISTEN_PID", "1", 1);
	assert_int_equal(notify_socket("listen"), -1);
	setenv("LISTEN_PID", "", 1);
	assert_int_equal(notify_socket("listen"), -1);
	unsetenv("LISTEN_PID");
	assert_int_equal(notify_socket("listen"), -1);
}

static void more_names_than_sockets_and_sockets_that_are_closed_give_nothing(void **state)
{
	(void)state;
	hand_down("1", "listen:admin");
	assert_int_equal(notify_socket("admin"), -1);
	hand_down("4294967299", "a:b:c:d");
	close(5);
	assert_int_equal(notify_socket("c"), -1);
	hand_down("2", "");
	assert_int_equal(notify_socket("a"), -1);
	unsetenv("LISTEN_FDNAMES");
	assert_int_equal(notify_socket("a"), -1);
	hand_down("-1", "a");
	assert_int_equal(notify_socket("a"), -1);
}

/* What a reader makes of a datagram. Its status lies in `bytes`. */
static struct notice notice_of(struct str datagram, struct buf *bytes)
{
	struct notice notice;
	struct err err;
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	assert_int_equal(send(ends[0], datagram.p, datagram.n, 0), datagram.n);
	assert_int_equal(notice_read(ends[1], bytes, &notice, &err), 0);
	assert_int_equal(notice.pid, 0);
	close(ends[0]);
	close(ends[1]);
	return notice;
}

static void lines_in_any_order_are_understood(void **state)
{
	(void)state;
	struct buf bytes = BUF_INIT(8192);
	struct notice n = notice_of(STR("STATUS=busy = very\nREADY=1\nSTOPPING=1\n"), &bytes);
	assert_true(n.ready && n.stopping && str_is(n.status, "busy = very"));
	buf_free(&bytes);
}

static void what_only_looks_like_ready_is_not(void **state)
{
	(void)state;
	static const char *const texts[] = {"",          "READY=0",       "READY=10", "READY=1 ",
					    " READY=1",  "ready=1",       "READY",    "XREADY=1",
					    "READY=1\r", "STATUS=READY=1"};
	struct buf bytes = BUF_INIT(8192);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(notice_of(str_of(texts[i]), &bytes).ready);
	buf_free(&bytes);
}

static void unknown_keys_and_bytes_are_passed_over(void **state)
{
	(void)state;
	struct buf bytes = BUF_INIT(8192);
	struct notice n = notice_of(STR("FDSTORE=1\n\n\0\xff\nREADY=1"), &bytes);
	assert_true(n.ready);
	assert_int_equal(n.status.n, 0);
	buf_free(&bytes);
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
		cmocka_unit_test(a_state_arrives_as_one_datagram),
		cmocka_unit_test(without_a_reader_nothing_happens),
		cmocka_unit_test(what_nobody_reads_is_not_waited_for),
		cmocka_unit_test_setup_teardown(a_socket_is_found_by_its_name, open_some,
						close_some),
		cmocka_unit_test_setup_teardown(what_was_meant_for_another_process_is_not_taken,
						open_some, close_some),
		cmocka_unit_test_setup_teardown(
			more_names_than_sockets_and_sockets_that_are_closed_give_nothing, open_some,
			close_some),
		cmocka_unit_test(lines_in_any_order_are_understood),
		cmocka_unit_test(what_only_looks_like_ready_is_not),
		cmocka_unit_test(unknown_keys_and_bytes_are_passed_over),
		cmocka_unit_test(the_kernel_says_who_sent_a_notice),
		cmocka_unit_test(an_empty_datagram_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
