#include "net/listener.h"

#include "../scratch.h"
#include "role/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct peer v4(const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct peer peer;
	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	peer_of((const struct sockaddr *)&in, sizeof in, &peer);
	return peer;
}

static struct peer v6(const char *text)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6};
	struct peer peer;
	assert_int_equal(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
	peer_of((const struct sockaddr *)&in, sizeof in, &peer);
	return peer;
}

static struct peer local(void)
{
	struct peer peer;
	peer_of(&(struct sockaddr){.sa_family = AF_UNIX}, sizeof(struct sockaddr), &peer);
	return peer;
}

static void an_address_has_its_share_and_no_more(void **state)
{
	(void)state;
	struct gate *g = gate_new(10, 2);
	struct peer a = v4("192.0.2.1"), b = v4("192.0.2.2");
	assert_int_equal(gate_enter(g, &a.server), 0);
	assert_int_equal(gate_enter(g, &a.server), 0);
	assert_int_equal(gate_enter(g, &a.server), 1);
	assert_int_equal(gate_enter(g, &b.server), 0);
	gate_leave(g, &a.server);
	assert_int_equal(gate_enter(g, &a.server), 0);
	assert_int_equal(gate_inside(g), 3);
	assert_int_equal(gate_addresses(g), 2);
	gate_leave(g, &b.server);
	assert_int_equal(gate_addresses(g), 1);
	gate_leave(g, &a.server);
	gate_leave(g, &a.server);
	assert_int_equal(gate_inside(g) + gate_addresses(g), 0);
	gate_free(&g);
}

static void a_full_gate_lets_nobody_in(void **state)
{
	(void)state;
	struct gate *g = gate_new(2, 2);
	struct peer a = v4("192.0.2.1"), u = local();
	assert_int_equal(gate_enter(g, &a.server), 0);
	assert_int_equal(gate_enter(g, &u.server), 0);
	assert_int_equal(gate_enter(g, &u.server), 1);
	assert_int_equal(gate_enter(g, &a.server), 1);
	gate_leave(g, &u.server);
	assert_int_equal(gate_enter(g, &u.server), 0);
	gate_free(&g);
}

static void ipv6_counts_by_network_and_mapped_ipv4_as_ipv4(void **state)
{
	(void)state;
	struct gate *g = gate_new(10, 1);
	struct peer a = v6("2001:db8:1:2::1"), same = v6("2001:db8:1:2:ffff::9"),
		    other = v6("2001:db8:1:3::1"), mapped = v6("::ffff:192.0.2.1"),
		    plain = v4("192.0.2.1");
	assert_int_equal(gate_enter(g, &a.server), 0);
	assert_int_equal(gate_enter(g, &same.server), 1);
	assert_int_equal(gate_enter(g, &other.server), 0);
	assert_int_equal(gate_enter(g, &mapped.server), 0);
	assert_int_equal(gate_enter(g, &plain.server), 1);
	assert_string_equal(a.text, "2001:db8:1:2::1");
	assert_string_equal(mapped.text, "192.0.2.1");
	gate_free(&g);
}

static void unix_peers_count_in_total_only(void **state)
{
	(void)state;
	struct gate *g = gate_new(5, 1);
	struct peer u = local();
	for (int i = 0; i < 5; i++)
		assert_int_equal(gate_enter(g, &u.server), 0);
	assert_int_equal(gate_enter(g, &u.server), 1);
	assert_int_equal(gate_addresses(g), 0);
	assert_string_equal(u.text, "unix");
	gate_free(&g);
}

struct door {
	struct loop *loop;
	struct gate *gate;
	struct listener *listener;
	int fd;
	struct sockaddr_in at;
	int inside[64];
	struct peer peer[64];
	size_t n;
};

static void accepted(void *ctx, int fd, const struct peer *peer)
{
	struct door *d = ctx;
	d->peer[d->n] = *peer;
	d->inside[d->n++] = fd;
}

static void door_open(struct door *d, size_t max, size_t per_address)
{
	const struct loop_options options = {.manual = true};
	const struct listener_options how = {
		.backlog = 100, .refusal = "full\n", .accepted = accepted, .ctx = d};
	struct err err;
	socklen_t n = sizeof d->at;
	*d = (struct door){.gate = gate_new(max, per_address)};
	assert_int_equal(loop_new(&d->loop, &options, &err), 0);
	assert_int_equal(listen_open("127.0.0.1:0", &d->fd, &err), 0);
	assert_int_equal(getsockname(d->fd, (struct sockaddr *)&d->at, &n), 0);
	assert_int_equal(listener_new(&d->listener, d->loop, d->fd, d->gate, &how, &err), 0);
}

static void door_close(struct door *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->inside[i] >= 0)
			close(d->inside[i]);
	listener_free(&d->listener);
	loop_free(&d->loop);
	gate_free(&d->gate);
	close(d->fd);
}

static int knock(struct door *d)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&d->at, sizeof d->at), 0);
	loop_step(d->loop, loop_now_us(d->loop));
	return fd;
}

static void who_is_one_too_many_gets_a_word_and_the_end(void **state)
{
	(void)state;
	struct door d;
	char got[16] = {0};
	door_open(&d, 10, 2);
	int a = knock(&d), b = knock(&d), c = knock(&d);
	assert_int_equal(d.n, 2);
	assert_string_equal(d.peer[0].text, "127.0.0.1");
	assert_int_equal(read(c, got, sizeof got), 5);
	assert_string_equal(got, "full\n");
	assert_int_equal(read(c, got, sizeof got), 0);
	assert_int_equal(listener_stats(d.listener)->accepted, 2);
	assert_int_equal(listener_stats(d.listener)->refused, 1);
	gate_leave(d.gate, &d.peer[0].server);
	int e = knock(&d);
	assert_int_equal(d.n, 3);
	close(a), close(b), close(c), close(e);
	door_close(&d);
}

static void of_unix_peers_the_kernel_says_whose_they_are(void **state)
{
	(void)state;
	const struct loop_options options = {.manual = true};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct door d = {.gate = gate_new(10, 10)};
	const struct listener_options how = {.accepted = accepted, .ctx = &d};
	struct err err;
	char address[sizeof at.sun_path + 8];
	snprintf(at.sun_path, sizeof at.sun_path, "%s", scratch("socket"));
	snprintf(address, sizeof address, "unix:%s", at.sun_path);
	assert_int_equal(loop_new(&d.loop, &options, &err), 0);
	assert_int_equal(listen_open(address, &d.fd, &err), 0);
	assert_int_equal(listener_new(&d.listener, d.loop, d.fd, d.gate, &how, &err), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	loop_step(d.loop, loop_now_us(d.loop));
	assert_int_equal(d.n, 1);
	assert_int_equal(d.peer[0].uid, geteuid());
	assert_int_equal(v4("192.0.2.1").uid, -1);
	close(fd);
	door_close(&d);
}

/* One who waits for a machine that is gone would wait for ever. */
static void a_machine_that_goes_without_a_word_is_noticed(void **state)
{
	(void)state;
	struct door d;
	int on = 0;
	socklen_t n = sizeof on;
	door_open(&d, 10, 2);
	int a = knock(&d);
	assert_int_equal(getsockopt(d.inside[0], SOL_SOCKET, SO_KEEPALIVE, &on, &n), 0);
	assert_int_equal(on, 1);
	close(a);
	door_close(&d);
}

static void without_descriptors_it_waits_and_goes_on(void **state)
{
	(void)state;
	struct door d;
	struct rlimit old, few;
	door_open(&d, 10, 10);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), free_fd = dup(0);
	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)free_fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&d.at, sizeof d.at), 0);
	loop_step(d.loop, 350 * US_PER_MS);
	uint64_t stalls = listener_stats(d.listener)->stalls;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(d.n, 0);
	assert_true(stalls >= 2 && stalls <= 5); /* once in a while, not all the time */
	loop_step(d.loop, 1 * US_PER_S);
	assert_int_equal(d.n, 1);
	close(client);
	door_close(&d);
}

static void what_is_no_socket_cannot_be_listened_on(void **state)
{
	(void)state;
	struct door d;
	struct listener *l = NULL;
	struct err err;
	door_open(&d, 1, 1);
	const struct listener_options how = {.backlog = 1, .accepted = accepted};
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	assert_true(listener_new(&l, d.loop, fd[0], d.gate, &how, &err) < 0);
	close(fd[0]), close(fd[1]);
	assert_true(listener_new(&l, d.loop, fd[0], d.gate, &how, &err) < 0);
	assert_null(l);
	door_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_its_share_and_no_more),
		cmocka_unit_test(a_full_gate_lets_nobody_in),
		cmocka_unit_test(ipv6_counts_by_network_and_mapped_ipv4_as_ipv4),
		cmocka_unit_test(unix_peers_count_in_total_only),
		cmocka_unit_test(of_unix_peers_the_kernel_says_whose_they_are),
		cmocka_unit_test(who_is_one_too_many_gets_a_word_and_the_end),
		cmocka_unit_test(a_machine_that_goes_without_a_word_is_noticed),
		cmocka_unit_test(without_descriptors_it_waits_and_goes_on),
		cmocka_unit_test(what_is_no_socket_cannot_be_listened_on),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
