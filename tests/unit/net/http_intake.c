#include "net/http_intake_inner.h"

#include "../unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MEMORY = 4 << 10, FAR = 1 };

static int ends[2];
static struct http_intake in;

static int begin(void **state)
{
	(void)state;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	http_intake_begin(&in, ends[0], MEMORY);
	return 0;
}

static int end(void **state)
{
	(void)state;
	http_intake_end(&in, ends[0]);
	close(ends[0]);
	return ends[FAR] < 0 ? 0 : close(ends[FAR]);
}

static void come(struct str s)
{
	assert_int_equal(send(ends[FAR], s.p, s.n, 0), s.n);
}

/* Asks for at most n bytes; "EAGAIN" for none now, "" for the end. */
static struct str take(size_t n)
{
	static char room[1 << 16];
	ssize_t got = recv(ends[0], room, n, 0);
	if (got < 0) {
		assert_int_equal(errno, EAGAIN);
		return STR("EAGAIN");
	}
	return (struct str){room, (size_t)got};
}

#define GET "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define REFUSED "GET ! HTTP/1.1\r\nHost: \r\n\r\n"

static void a_half_head_waits_for_its_other_half(void **state)
{
	(void)state;
	come(STR("GET / HT"));
	assert_str(take(1000), "EAGAIN");
	come(STR("TP/1.1\r\nHost: x\r\n\r"));
	assert_str(take(1000), "EAGAIN");
	come(STR("\nGET"));
	assert_str(take(1000), GET);
	assert_str(take(1000), "EAGAIN");
	come(str_from(STR(GET), 3));
	assert_str(take(1000), GET);
	assert_null(in.held.p); /* who waits holds nothing */
}

/* Fewer bytes than asked for mean that there are no more: a caller that waits for edges relies on
 * it. */
static void a_short_answer_means_that_the_kernel_has_no_more(void **state)
{
	(void)state;
	struct str many = STR(GET GET "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n\n\n\n"
				      "\n\n\n\n" GET);
	for (size_t n = 1; n < 2 * many.n; n++) {
		char got[1000];
		size_t done = 0, last = n;
		come(many);
		while (last == n) {
			struct str s = take(n);
			if (str_is(s, "EAGAIN"))
				break;
			memcpy(got + done, s.p, s.n);
			done += last = s.n;
		}
		assert_int_equal(done, many.n);
		assert_memory_equal(got, many.p, many.n);
		assert_int_equal(recvfrom(ends[0], got, 1, MSG_PEEK, NULL, NULL), -1);
	}
}

static void a_refused_head_is_replaced_and_the_last(void **state)
{
	(void)state;
	come(STR(GET "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n" GET));
	assert_str(take(strlen(GET)), GET);
	assert_false(http_intake_refused(&in, STR("/")));
	assert_str(take(5), "GET !");
	assert_str(take(1000), &REFUSED[5]);
	assert_true(http_intake_refused(&in, STR("!")));
	assert_int_equal(in.head.status, 400);
	come(STR(GET));
	assert_str(take(1000), "EAGAIN");
	char one;
	assert_int_equal(recvfrom(ends[0], &one, 1, MSG_PEEK, NULL, NULL), -1); /* passed over */
}

static void one_that_comes_in_pieces_is_refused_too(void **state)
{
	(void)state;
	come(STR("GET / HTTP/1.1\r\nHost"));
	assert_str(take(1000), "EAGAIN");
	come(STR(": x\nA: "));
	assert_str(take(1000), REFUSED);
}

static void a_head_without_an_end_is_refused_when_it_is_too_large(void **state)
{
	(void)state;
	size_t n = 0;
	struct str got;
	come(STR("GET /"));
	do {
		come(STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
		n += 50;
		got = take(1000);
	} while (str_is(got, "EAGAIN") && n < 2 * MEMORY);
	assert_str(got, REFUSED);
	assert_int_equal(in.head.status, 414);
	assert_true(n < MEMORY);
}

static void the_end_is_seen_after_what_came_before_it(void **state)
{
	(void)state;
	come(STR(GET "GET / HT"));
	close(ends[FAR]);
	ends[FAR] = -1;
	assert_str(take(1000), GET);
	assert_str(take(1000), "");
}

static void other_descriptors_and_looks_ahead_are_left_alone(void **state)
{
	(void)state;
	char room[100];
	come(STR("GET \0"));
	assert_int_equal(recv(ends[0], room, sizeof room, MSG_PEEK), 5);
	assert_int_equal(send(ends[0], "\n\0", 2, 0), 2);
	assert_int_equal(recv(ends[FAR], room, sizeof room, 0), 2);
	assert_int_equal(recv(-1, room, sizeof room, 0), -1);
	assert_int_equal(errno, EBADF);
}

static void the_program_exports_it(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(http_intake_check(&err), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_half_head_waits_for_its_other_half),
		TEST(a_short_answer_means_that_the_kernel_has_no_more),
		TEST(a_refused_head_is_replaced_and_the_last),
		TEST(one_that_comes_in_pieces_is_refused_too),
		TEST(a_head_without_an_end_is_refused_when_it_is_too_large),
		TEST(the_end_is_seen_after_what_came_before_it),
		TEST(other_descriptors_and_looks_ahead_are_left_alone),
		cmocka_unit_test(the_program_exports_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
