/* A blocking conversation with the other end of a socket pair, and with addresses. */
#include "net/call.h"

#include "../unit.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "base/wait.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct heard {
	struct buf bytes;
	size_t enough; /* bytes; 0: never */
	unsigned asked, stops;
};

static bool hear_piece(void *ctx, struct str piece)
{
	struct heard *h = ctx;
	buf_add_str(&h->bytes, piece);
	return h->enough && h->bytes.n >= h->enough;
}

static bool on_stop(void *ctx)
{
	struct heard *h = ctx;
	return ++h->asked == h->stops;
}

static struct call call_pair(int *ret_peer)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	*ret_peer = ends[1];
	return (struct call){.fd = ends[0], .name = "peer", .stop_fd = -1};
}

static void it_ends_when_enough_was_heard_or_the_peer_closes(void **state)
{
	struct heard h = {.bytes = BUF_INIT(1 << 10), .enough = 5};
	struct err err;
	char said[16];
	int peer;
	struct call c = call_pair(&peer);
	(void)state;
	assert_int_equal(write(peer, "hello", 5), 5);
	assert_int_equal(call_talk(&c, STR("ask"), hear_piece, &h, &err), 0);
	assert_int_equal(read(peer, said, sizeof said), 3);
	h.enough = 0;
	assert_int_equal(write(peer, "bye", 3), 3);
	close(peer);
	/* nobody reads what is sent */
	assert_int_equal(call_talk(&c, STR("ask"), hear_piece, &h, &err), 1);
	assert_str(buf_str(&h.bytes), "hellobye");
	call_end(&c);
	call_end(&c);
	buf_free(&h.bytes);
}

static void one_that_is_silent_or_never_ends_is_given_up(void **state)
{
	struct heard h = {.bytes = BUF_INIT(1 << 20)};
	struct err err;
	int peer;
	struct call c = call_pair(&peer);
	(void)state;
	c.silent_us = 20 * US_PER_MS;
	assert_int_equal(call_talk(&c, STR(""), hear_piece, &h, &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	assert_string_equal(err.msg, "peer: no answer within 1 s");
	c.silent_us = 0;
	c.until_us = clock_mono_us() - 1;
	assert_int_equal(write(peer, "more", 4), 4);
	assert_int_equal(call_talk(&c, STR(""), hear_piece, &h, &err), -1);
	assert_string_equal(err.msg, "peer: no answer in time");
	/* a peer that does not read */
	char *much = mem_alloc(4 << 20);
	memset(much, 'x', 4 << 20);
	c.until_us = clock_mono_us() + 20 * US_PER_MS;
	assert_int_equal(call_send(&c, (struct str){much, 4 << 20}, &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	mem_free(&much);
	call_end(&c);
	close(peer);
}

static void one_who_waits_may_stop(void **state)
{
	struct heard h = {.stops = 3};
	struct err err;
	int peer;
	struct call c = call_pair(&peer);
	(void)state;
	c.stop = on_stop;
	c.stop_ctx = &h;
	c.every_us = US_PER_MS;
	assert_int_equal(call_wait(&c, POLLIN, &err), -1);
	assert_true(c.stopped && h.asked == 3 && err.code == ERR_BUSY);
	call_end(&c);
	/* also where there is no socket yet */
	h.asked = 0;
	assert_int_equal(call_wait(&c, 0, &err), -1);
	assert_int_equal(h.asked, 3);
	close(peer);
}

static void it_connects_to_names_and_addresses(void **state)
{
	struct call c = {.fd = -1, .name = "peer", .silent_us = 5 * US_PER_S, .stop_fd = -1};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	struct endpoint to;
	struct err err;
	char port[8], address[32];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
	snprintf(address, sizeof address, "127.0.0.1:%s", port);
	assert_int_equal(call_connect_name(&c, "127.0.0.1", port, &err), 0);
	call_end(&c);
	assert_int_equal(endpoint_parse(str_of(address), &to, &err), 0);
	assert_int_equal(call_connect(&c, &to, &err), 0);
	call_end(&c);
	close(fd);
	assert_int_equal(call_connect(&c, &to, &err), -1);
	assert_true(c.fd == -1 && err.code == ERR_REMOTE);
	assert_string_equal(err.msg, "peer: Connection refused");
	assert_int_equal(call_dial_path("/nonexistent/socket"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_when_enough_was_heard_or_the_peer_closes),
		cmocka_unit_test(one_that_is_silent_or_never_ends_is_given_up),
		cmocka_unit_test(one_who_waits_may_stop),
		cmocka_unit_test(it_connects_to_names_and_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
