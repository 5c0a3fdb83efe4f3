#include "role/listen.h"

#include "base/endpoint.h"

#include "../scratch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int endpoint_check(struct str text, struct err *err)
{
	struct endpoint where;
	return endpoint_parse(text, &where, err);
}

static void addresses_have_four_forms(void **state)
{
	(void)state;
	static const char *const good[] = {
		"127.0.0.1:8080", "0.0.0.0:0",          "[::1]:65535", "[::]:80",      "*:80",
		"[fe80::1%lo]:1", "[::ffff:1.2.3.4]:1", "unix:/run/x", "unix:relative"};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(endpoint_check(str_of(good[i]), &err), 0);
}

static void other_forms_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  ":",
					  "8080",
					  ":8080",
					  "localhost:80",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.1:80",
					  "127.0.0.1:65536",
					  "127.0.0.1:-1",
					  "127.0.0.1:80 ",
					  " 127.0.0.1:80",
					  "::1:80",
					  "[::1]",
					  "[::1]80",
					  "[::1:80",
					  "[]:80",
					  "[*]:80",
					  "[127.0.0.1]:80",
					  "**:80",
					  "[fe80::1%]:1",
					  "[fe80::1%an-interface-name]:1",
					  "unix:",
					  "UNIX:/x",
					  "127.0.0.1:0x50",
					  "256.0.0.1:80",
					  "127.0.0.1:99999999999999999999",
					  "1111.1111.1111.1111.1111:80"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		if (endpoint_check(str_of(bad[i]), &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.msg, "expected"));
	}
	struct err err;
	assert_int_equal(endpoint_check(STR("127.0.0.1\0:80"), &err), -1);
	assert_int_equal(endpoint_check(STR("[::1\0]:80"), &err), -1);
}

static void a_path_has_a_limit_that_the_error_names(void **state)
{
	(void)state;
	char text[200] = "unix:";
	struct err err;
	memset(text + 5, 'p', 107);
	assert_int_equal(endpoint_check((struct str){text, 112}, &err), 0);
	text[112] = 'p';
	assert_int_equal(endpoint_check((struct str){text, 113}, &err), -1);
	assert_non_null(strstr(err.msg, "at most 107 bytes, this one has 108"));
}

static int connect_to(const char *name)
{
	const char *colon = strrchr(name, ':');
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, (struct sockaddr *)&to, sizeof to);
	close(fd);
	return rc;
}

static void a_socket_listens_and_tells_its_port(void **state)
{
	(void)state;
	struct err err;
	int fd = -1;
	char name[128];
	assert_int_equal(listen_open("127.0.0.1:0", &fd, &err), 0);
	assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
	assert_memory_equal(name, "127.0.0.1:", 10);
	assert_string_not_equal(name, "127.0.0.1:0");
	assert_int_equal(endpoint_check(str_of(name), &err), 0);
	assert_int_equal(connect_to(name), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	int on = 0;
	socklen_t len = sizeof on;
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, &len), 0);
	assert_int_not_equal(on, 0);
	close(fd);
}

static void a_taken_port_is_busy(void **state)
{
	(void)state;
	struct err err;
	int fd = -1, second = -5;
	char name[128];
	assert_int_equal(listen_open("127.0.0.1:0", &fd, &err), 0);
	assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
	assert_int_equal(listen_open(name, &second, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_non_null(strstr(err.msg, name));
	assert_int_equal(second, -5);
	close(fd);
	assert_int_equal(listen_open(name, &second, &err), 0);
	close(second);
}

static void a_star_serves_both_families(void **state)
{
	(void)state;
	struct err err;
	int fd = -1;
	char name[128];
	assert_int_equal(listen_open("*:0", &fd, &err), 0);
	assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
	assert_true(str_starts(str_of(name), STR("*:")) ||
		    str_starts(str_of(name), STR("0.0.0.0:")));
	assert_int_equal(endpoint_check(str_of(name), &err), 0);
	assert_int_equal(connect_to(name), 0);
	close(fd);
}

static void version_six_stands_in_brackets(void **state)
{
	(void)state;
	struct err err;
	int fd = -1, v4 = -1;
	char name[128], same[128];
	if (listen_open("[::1]:0", &fd, &err) < 0)
		skip(); /* a machine without IPv6 */
	assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
	assert_memory_equal(name, "[::1]:", 6);
	close(fd);
	/* "[::]" leaves version four alone, so both can have the port; others may have it there */
	int rc = -1;
	for (unsigned try = 0; try < 20 && rc < 0; try++) {
		assert_int_equal(listen_open("[::]:0", &fd, &err), 0);
		assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
		assert_memory_equal(name, "[::]:", 5);
		snprintf(same, sizeof same, "0.0.0.0:%.5s", name + 5);
		rc = listen_open(same, &v4, &err);
		close(fd);
	}
	assert_int_equal(rc, 0);
	close(v4);
}

static void what_cannot_be_bound_names_the_address(void **state)
{
	(void)state;
	struct err err;
	int fd = -5;
	assert_int_equal(listen_open("192.0.2.1:0", &fd, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.msg, "192.0.2.1:0"));
	assert_int_equal(listen_open("[fe80::1%no-such-if]:0", &fd, &err), -1);
	assert_non_null(strstr(err.msg, "no-such-if"));
	assert_int_equal(fd, -5);
}

static const char *unix_text(const char *name)
{
	static char text[600];
	snprintf(text, sizeof text, "unix:%s", scratch(name));
	return text;
}

static void a_unix_socket_that_somebody_serves_is_busy(void **state)
{
	(void)state;
	struct err err;
	int fd = -1, second = -5;
	char name[128];
	assert_int_equal(listen_open(unix_text("served"), &fd, &err), 0);
	assert_int_equal(listen_name(fd, name, sizeof name, &err), 0);
	assert_string_equal(name, unix_text("served"));
	assert_int_equal(listen_open(unix_text("served"), &second, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(second, -5);
	close(fd);
}

static void a_unix_socket_that_nobody_serves_is_replaced(void **state)
{
	(void)state;
	struct err err;
	int fd = -1;
	struct stat before, after;
	assert_int_equal(listen_open(unix_text("left"), &fd, &err), 0);
	assert_int_equal(stat(scratch("left"), &before), 0);
	close(fd);
	assert_int_equal(listen_open(unix_text("left"), &fd, &err), 0);
	assert_int_equal(stat(scratch("left"), &after), 0);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	snprintf(to.sun_path, sizeof to.sun_path, "%s", scratch("left"));
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof to), 0);
	close(client);
	close(fd);
}

static void a_socket_of_another_kind_is_not_ours_to_remove(void **state)
{
	(void)state;
	struct err err;
	int fd = -5;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	snprintf(at.sun_path, sizeof at.sun_path, "%s", scratch("datagrams"));
	int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(other, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen_open(unix_text("datagrams"), &fd, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(access(scratch("datagrams"), F_OK), 0);
	close(other);
}

static void what_is_no_socket_is_never_removed(void **state)
{
	(void)state;
	struct err err;
	int fd = -5;
	FILE *file = fopen(scratch("file"), "w");
	assert_non_null(file);
	fputs("precious", file);
	fclose(file);
	assert_int_equal(symlink(scratch("file"), scratch("link")), 0);
	static const char *const names[] = {"file", "link", "."};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(listen_open(unix_text(names[i]), &fd, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.msg, "left alone"));
	}
	struct stat st;
	assert_int_equal(lstat(scratch("file"), &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(lstat(scratch("link"), &st), 0);
	assert_int_equal(fd, -5);
}

static void a_name_needs_room_and_a_socket(void **state)
{
	(void)state;
	struct err err;
	int fd = -1, pipes[2];
	char name[16] = "untouched";
	assert_int_equal(listen_open("127.0.0.1:0", &fd, &err), 0);
	assert_int_equal(listen_name(fd, name, 10, &err), -1);
	assert_string_equal(name, "untouched");
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(listen_name(pipes[0], name, sizeof name, &err), -1);
	assert_int_equal(listen_name(-1, name, sizeof name, &err), -1);
	assert_string_equal(name, "untouched");
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
}

static void addresses_to_connect_to_have_the_same_forms(void **state)
{
	(void)state;
	struct sockaddr_storage to;
	unsigned n = 0;
	struct err err;
	assert_int_equal(listen_address("127.0.0.1:80", &to, &n, &err), 0);
	assert_int_equal(n, sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)&to)->sin_port, htons(80));
	assert_int_equal(listen_address("[fe80::1%lo]:81", &to, &n, &err), 0);
	assert_int_equal(n, sizeof(struct sockaddr_in6));
	assert_true(((struct sockaddr_in6 *)&to)->sin6_scope_id > 0);
	assert_int_equal(listen_address("unix:/run/x", &to, &n, &err), 0);
	assert_string_equal(((struct sockaddr_un *)&to)->sun_path, "/run/x");
	assert_true(listen_address("*:80", &to, &n, &err) < 0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_true(listen_address("[fe80::1%none0]:81", &to, &n, &err) < 0);
	assert_true(listen_address("localhost:80", &to, &n, &err) < 0);
}

static void datagrams_have_a_form_of_their_own(void **state)
{
	(void)state;
	struct endpoint where;
	struct err err;
	static const char *const good[] = {"udp:127.0.0.1:1525", "udp:[::1]:0", "udp:*:1525"};
	static const char *const bad[] = {"127.0.0.1:1525", "udp:", "udp:unix:/x", "udp:1525", ""};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(endpoint_parse_udp(str_of(good[i]), &where, &err), 0);
		assert_int_equal(endpoint_check(str_of(good[i]), &err), -1);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(endpoint_parse_udp(str_of(bad[i]), &where, &err), -1);
}

/* Which of the sockets has a packet; it is taken. */
static size_t who_has_it(const int *fd, size_t n)
{
	char byte;
	for (size_t i = 0; i < n; i++)
		if (recv(fd[i], &byte, 1, MSG_DONTWAIT) == 1)
			return i;
	return n;
}

static void a_client_always_has_the_same_of_several_sockets(void **state)
{
	(void)state;
	enum { SOCKETS = 3, CLIENTS = 40 };
	static const char *const addresses[] = {"udp:127.0.0.1:0", "udp:*:0"};
	for (size_t a = 0; a < ARRAY_LEN(addresses); a++) {
		int fd[SOCKETS], another;
		char name[100], again[100];
		struct err err;
		bool used[SOCKETS] = {0};
		assert_int_equal(listen_open(addresses[a], &fd[0], &err), 0);
		assert_int_equal(listen_name(fd[0], name, sizeof name, &err), 0);
		assert_true(strncmp(name, addresses[a], strlen(addresses[a]) - 1) == 0);
		for (size_t i = 1; i < SOCKETS; i++) {
			assert_int_equal(listen_share(fd[0], &fd[i], &err), 0);
			assert_int_equal(listen_name(fd[i], again, sizeof again, &err), 0);
			assert_string_equal(name, again);
		}
		assert_int_equal(listen_spread(fd[0], SOCKETS, &err), 0);
		/* nobody else gets in unawares */
		assert_int_equal(listen_open(name, &another, &err), -1);
		assert_int_equal(err.code, ERR_BUSY);
		uint64_t port = 0;
		assert_true(str_u64(str_of(strrchr(name, ':') + 1), &port));
		struct sockaddr_in to = {.sin_family = AF_INET,
					 .sin_port = htons((uint16_t)port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		for (unsigned c = 1; c <= CLIENTS; c++) {
			size_t first = SOCKETS;
			for (unsigned k = 0; k < 3; k++) {
				struct sockaddr_in from = {.sin_family = AF_INET,
							   .sin_addr.s_addr =
								   htonl(INADDR_LOOPBACK + c)};
				int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
				assert_int_equal(bind(s, (struct sockaddr *)&from, sizeof from), 0);
				assert_int_equal(
					sendto(s, "x", 1, 0, (struct sockaddr *)&to, sizeof to), 1);
				size_t who = who_has_it(fd, SOCKETS);
				assert_true(who < SOCKETS && (k == 0 || who == first));
				first = who;
				used[who] = true;
				close(s);
			}
		}
		for (size_t i = 0; i < SOCKETS; i++) {
			assert_true(used[i]);
			close(fd[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_have_a_form_of_their_own),
		cmocka_unit_test(a_client_always_has_the_same_of_several_sockets),
		cmocka_unit_test(addresses_have_four_forms),
		cmocka_unit_test(other_forms_are_refused),
		cmocka_unit_test(addresses_to_connect_to_have_the_same_forms),
		cmocka_unit_test(a_path_has_a_limit_that_the_error_names),
		cmocka_unit_test(a_socket_listens_and_tells_its_port),
		cmocka_unit_test(a_taken_port_is_busy),
		cmocka_unit_test(a_star_serves_both_families),
		cmocka_unit_test(version_six_stands_in_brackets),
		cmocka_unit_test(what_cannot_be_bound_names_the_address),
		cmocka_unit_test(a_unix_socket_that_somebody_serves_is_busy),
		cmocka_unit_test(a_unix_socket_that_nobody_serves_is_replaced),
		cmocka_unit_test(a_socket_of_another_kind_is_not_ours_to_remove),
		cmocka_unit_test(what_is_no_socket_is_never_removed),
		cmocka_unit_test(a_name_needs_room_and_a_socket),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
