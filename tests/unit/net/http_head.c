#include "net/http_head.h"

#include "../unit.h"
#include "base/buf.h"

enum { MEMORY = 8 << 10 };

#define GET "GET / HTTP/1.1\r\nHost: x\r\n"
#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
#define T(text) STR(text)

/* What comes, how it is answered (0: handed on), and a part of the words. */
static const struct {
	struct str bytes;
	int status;
	const char *wrong;
} heads[] = {
	/* the first line */
	{T("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0, NULL},
	{T("GET /?a=b&c HTTP/1.0\r\n\r\n"), 0, NULL},
	{T("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0, NULL},
	{T("G-T!$ /\xc3\xa4 HTTP/1.2\r\nHost: x\r\n\r\n"), 0, NULL},
	{T("\nGET / HTTP/1.1\r\n"), 400, "LF alone"},
	{T("GET / HTTP/1.1\n"), 400, "LF alone"},
	{T("GET / HTTP/1.1\r\r\n"), 400, "control character"},
	{T("GET /\0 HTTP/1.1\r\n"), 400, "control character"},
	{T("GET /\t HTTP/1.1\r\n"), 400, "first line"},
	{T("GET\r\n"), 400, "first line"},
	{T("GET /\r\n"), 400, "first line"},
	{T("GET / \r\n"), 400, "first line"},
	{T("GET  / HTTP/1.1\r\n"), 400, "first line"},
	{T("GET / x HTTP/1.1\r\n"), 400, "first line"},
	{T("GET / HTTP/1.1 \r\n"), 400, "first line"},
	{T(" GET / HTTP/1.1\r\n"), 400, "first line"},
	{T("G/T / HTTP/1.1\r\n"), 400, "first line"},
	{T("GET / http/1.1\r\n"), 400, "first line"},
	{T("GET / HTTP/2.0\r\n"), 505, "1.1"},
	{T("GET / HTTP/1.10\r\n"), 505, "1.1"},
	{T("GET / HTTP/1.x\r\n"), 505, "1.1"},
	{T("GET * HTTP/1.1\r\n"), 400, "begins with /"},
	{T("GET ! HTTP/1.1\r\n"), 400, "begins with /"},
	{T("GET http://x/ HTTP/1.1\r\n"), 400, "begins with /"},
	/* fields */
	{T(GET "A:\r\nB: b \t\r\nC: \xe4\tc\r\n\r\n"), 0, NULL},
	{T("GET / HTTP/1.1\r\nhOST:\t[::1]:80 \r\n\r\n"), 0, NULL},
	{T("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 0, NULL},
	{T("GET / HTTP/1.1\r\n\r\n"), 400, "no Host"},
	{T(GET "Host: x\r\n"), 400, "more than one Host"},
	{T("GET / HTTP/1.1\r\nHost: a\0.evil\r\n"), 400, "control character"},
	{T("GET / HTTP/1.1\r\nHost: a b\r\n"), 400, "not the name"},
	{T("GET / HTTP/1.1\r\nHost: a@b\r\n"), 400, "not the name"},
	{T(GET "A: b\n"), 400, "LF alone"},
	{T(GET "\n"), 400, "LF alone"},
	{T(GET "A: b\rC: d\r\n"), 400, "control character"},
	{T(GET "A: b\x7f\r\n"), 400, "control character"},
	{T(GET "A: b\x01\r\n"), 400, "control character"},
	{T(GET "A: b\r\n c\r\n"), 400, "folded"},
	{T(GET "A: b\r\n\tc\r\n"), 400, "folded"},
	{T("GET / HTTP/1.1\r\n Host: x\r\n"), 400, "folded"},
	{T(GET "A\r\n"), 400, "no colon"},
	{T(GET ": b\r\n"), 400, "impossible name"},
	{T(GET "A : b\r\n"), 400, "impossible name"},
	{T(GET "A(: b\r\n"), 400, "impossible name"},
	/* lengths and encodings */
	{T(GET "Content-Length: 0\r\n\r\n"), 0, NULL},
	{T(POST "Content-Length:3\r\n\r\na\nb"), 0, NULL},
	{T(POST "CONTENT-LENGTH: 003\r\n\r\na\0b" GET "\r\n"), 0, NULL},
	{T(POST "Transfer-Encoding: Chunked \r\n\r\nanything\n\0"), 0, NULL},
	{T(POST "Content-Length: 0\0 5\r\n"), 400, "control character"},
	{T(POST "Content-Length: \r\n"), 400, "not a number"},
	{T(POST "Content-Length: +5\r\n"), 400, "not a number"},
	{T(POST "Content-Length: -1\r\n"), 400, "not a number"},
	{T(POST "Content-Length: 0x5\r\n"), 400, "not a number"},
	{T(POST "Content-Length: 5 \r\n"), 400, "not a number"},
	{T(POST "Content-Length: 5, 5\r\n"), 400, "not a number"},
	{T(POST "Content-Length: 9223372036854775808\r\n"), 413, "larger"},
	{T(POST "Content-Length: 99999999999999999999\r\n"), 413, "larger"},
	{T(POST "Content-Length: 5\r\nContent-Length: 5\r\n"), 400, "more than one Content-Length"},
	{T(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, "exclude"},
	{T(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), 400, "exclude"},
	{T(POST "Transfer-Encoding: xchunked\r\n"), 400, "only chunked"},
	{T(POST "Transfer-Encoding: gzip, chunked\r\n"), 400, "only chunked"},
	{T(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400, "once"},
	{T("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, "HTTP/1.0"},
	/* the second on its connection */
	{T(GET "\r\n" GET "A: b\n"), 400, "LF alone"},
	{T(POST "Content-Length: 5\r\n\r\nGET /" GET "A : b\r\n"), 400, "impossible name"},
	{T(POST "Content-Length: 5\r\n\r\nGET /\n"), 400, "LF alone"},
};

static void check_answer(const struct http_head *h, int status, const char *wrong)
{
	assert_int_equal(h->status, status);
	if (status && !strstr(h->wrong, wrong))
		fail_msg("got '%s', want '%s'", h->wrong, wrong);
}

static void every_head_is_taken_or_refused_for_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_head h = HTTP_HEAD_INIT(MEMORY);
		size_t n = http_head_read(&h, heads[i].bytes);
		if (h.status != heads[i].status)
			fail_msg("'" STR_FMT "': %d", STR_ARG(heads[i].bytes), h.status);
		check_answer(&h, heads[i].status, heads[i].wrong);
		if (!heads[i].status)
			assert_int_equal(n, heads[i].bytes.n);
	}
}

/* As a connection does it: what was not handed on comes again with the next. */
static size_t read_in_pieces(struct http_head *h, struct str bytes, size_t piece)
{
	size_t done = 0, came = 0;
	while (came < bytes.n && !h->status) {
		came = MIN(came + piece, bytes.n);
		done += http_head_read(h, str_range(bytes.p + done, bytes.p + came));
		assert_true(done <= came);
	}
	return done;
}

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct http_head whole = HTTP_HEAD_INIT(MEMORY);
		size_t n = http_head_read(&whole, heads[i].bytes);
		for (size_t piece = 1; piece < 40; piece++) {
			struct http_head h = HTTP_HEAD_INIT(MEMORY);
			assert_int_equal(read_in_pieces(&h, heads[i].bytes, piece), n);
			check_answer(&h, heads[i].status, heads[i].wrong);
		}
	}
}

static void a_head_is_handed_on_when_it_is_whole(void **state)
{
	(void)state;
	struct str two = STR(GET "\r\n" GET "\r\n");
	for (size_t n = 0; n <= two.n; n++) {
		struct http_head h = HTTP_HEAD_INIT(MEMORY);
		assert_int_equal(http_head_read(&h, str_head(two, n)), n == two.n       ? two.n
								       : n >= two.n / 2 ? two.n / 2
											: 0);
		assert_int_equal(h.status, 0);
	}
}

static void body_bytes_are_never_read_as_a_head(void **state)
{
	(void)state;
	struct str bytes = STR(POST "Content-Length: 4\r\n\r\n\0\n\0\nGET /");
	struct http_head h = HTTP_HEAD_INIT(MEMORY);
	assert_int_equal(http_head_read(&h, bytes), bytes.n - strlen("GET /"));
	assert_int_equal(h.status, 0);
	h = HTTP_HEAD_INIT(MEMORY);
	(void)http_head_read(&h, STR(POST "Content-Length: 9000000000\r\n\r\n"));
	for (int i = 0; i < 10; i++)
		assert_int_equal(http_head_read(&h, STR("\n\n\n\0")), 4);
}

/* n of `each` between a beginning and an end */
static int status_of(const char *begin, const char *each, size_t n, const char *end)
{
	struct http_head h = HTTP_HEAD_INIT(MEMORY);
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 20);
	buf_add_text(&b, begin);
	for (size_t i = 0; i < n; i++)
		buf_add_text(&b, each);
	buf_add_text(&b, end);
	size_t done = http_head_read(&h, buf_str(&b));
	assert_int_equal(done, h.status ? 0 : b.n);
	return h.status;
}

static void what_a_head_costs_is_bounded(void **state)
{
	(void)state;
	const struct {
		const char *begin, *each, *end;
		size_t fits, does_not;
		int status;
	} cases[] = {
		{"GET /", "a", " HTTP/1.1\r\nHost: x\r\n\r\n", 3000, 4000, 414},
		{"GET /", "a", "", 0, 8000, 414},
		{"GET /?", "&", " HTTP/1.1\r\nHost: x\r\n\r\n", 60, 80, 414},
		{GET "A: ", "a", "\r\n\r\n", 6500, 7500, 431},
		{GET "A: ", "a", "", 0, 8000, 431},
		{GET, "A:\r\n", "\r\n", 60, 80, 431},
		{GET "Cookie: ", "a;", "\r\n\r\n", 60, 80, 431},
		{GET "Cookie: ", "a,", "\r\n\r\n", 60, 80, 431},
		{GET "Cookie: ", "a", "\r\n\r\n", 3000, 4000, 431},
		{"", "\r\n", GET "\r\n", 3000, 4000, 414},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (cases[i].fits)
			assert_int_equal(status_of(cases[i].begin, cases[i].each, cases[i].fits,
						   cases[i].end),
					 0);
		assert_int_equal(
			status_of(cases[i].begin, cases[i].each, cases[i].does_not, cases[i].end),
			cases[i].status);
	}
}

static void a_query_has_a_hundred_parameters_at_most(void **state)
{
	(void)state;
	for (size_t n = 99; n <= 100; n++) {
		struct http_head h = HTTP_HEAD_INIT(1 << 20);
		CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 10);
		buf_add_text(&b, "GET /&&?");
		buf_fill(&b, '&', n);
		buf_add_text(&b, " HTTP/1.1\r\n");
		(void)http_head_read(&h, buf_str(&b));
		check_answer(&h, n == 100 ? 400 : 0, "too many parameters");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_head_is_taken_or_refused_for_its_reason),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(a_head_is_handed_on_when_it_is_whole),
		cmocka_unit_test(body_bytes_are_never_read_as_a_head),
		cmocka_unit_test(what_a_head_costs_is_bounded),
		cmocka_unit_test(a_query_has_a_hundred_parameters_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
