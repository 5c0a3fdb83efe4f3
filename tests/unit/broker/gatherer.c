#include "broker/gatherer.h"

#include "../unit.h"
#include "base/clock.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A gatherer that says what it is told to say, whatever it is asked. */
enum then { THEN_WAIT, THEN_CLOSE, THEN_RESET, THEN_REPEAT };

struct served {
	struct server *server;
	pthread_t thread;
	int fd;
	char heard[256]; /* all that the client said */
	size_t n;
};

struct server {
	int fd;
	uint16_t port;
	pthread_t thread;
	const char *greeting; /* NULL: silence */
	struct str answer;
	enum then then;
	unsigned resets; /* this many connections are reset first, after the opening line */
	struct served served[64];
	size_t nserved;
};

static struct err err;
static struct arena arena = ARENA_INIT(64 << 20);
static struct server server;

/* More of what the client says; false: it has gone. */
static bool hear(struct served *s)
{
	ssize_t n = recv(s->fd, s->heard + s->n, sizeof s->heard - 1 - s->n, 0);
	s->n += n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool say(struct served *s, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = send(s->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		bytes = str_from(bytes, (size_t)n);
	}
	return true;
}

static void *serve_one(void *arg)
{
	struct served *s = arg;
	struct server *on = s->server;
	struct linger now = {.l_onoff = 1};
	bool reset = on->then == THEN_RESET || (size_t)(s - on->served) < on->resets;
	bool on_line = !on->greeting || say(s, str_of(on->greeting));
	while (on_line && on->greeting && !strstr(s->heard, "SEND-UPDATE") && hear(s))
		;
	on_line = on_line && on->greeting && say(s, reset ? STR("400 -\n") : on->answer);
	for (; on_line && on->then == THEN_REPEAT; usleep(1000))
		on_line = say(s, on->answer);
	while (!reset && on->then != THEN_CLOSE && hear(s))
		;
	if (reset)
		(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(s->fd);
	return NULL;
}

static void *serve(void *arg)
{
	struct server *on = arg;
	for (int fd; (fd = accept(on->fd, NULL, NULL)) >= 0;) {
		struct served *s = &on->served[on->nserved++];
		struct err failed;
		*s = (struct served){.server = on, .fd = fd};
		if (thread_start(&s->thread, serve_one, s, &failed) < 0)
			die("%s", failed.msg);
	}
	return NULL;
}

static void serve_begin(const char *greeting, struct str answer, enum then then)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof a;
	unsigned resets = server.resets;
	server = (struct server){
		.greeting = greeting, .answer = answer, .then = then, .resets = resets};
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(server.fd, 64), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&a, &n), 0);
	server.port = ntohs(a.sin_port);
	assert_int_equal(thread_start(&server.thread, serve, &server, &err), 0);
}

/* The clients must have gone. What was heard may be read then. */
static void serve_end(void)
{
	(void)shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	for (size_t i = 0; i < server.nserved; i++)
		pthread_join(server.served[i].thread, NULL);
	close(server.fd);
	server.resets = 0;
}

/* What is shared, with the defaults but for what a test changes. */
struct settings {
	struct dns_conf dns;
	struct gatherers_conf gatherers;
	struct value_list networks;
};
static struct settings settings;
static struct policy *policy;
static struct gatherers *gatherers;

static void settings_default(void)
{
	static const struct value_spec specs[] = {DNS_SPECS(struct settings, dns),
						  GATHERERS_SPECS(struct settings, gatherers),
						  POLICY_SPECS(struct settings, networks)};
	value_defaults(specs, ARRAY_LEN(specs), &arena, &settings);
}

static void begin(void)
{
	assert_int_equal(policy_new(&policy, &settings.networks, &err), 0);
	assert_int_equal(
		gatherers_new(&gatherers, &settings.gatherers, &settings.dns, policy, &err), 0);
}

static void end(void)
{
	gatherers_free(&gatherers);
	policy_free(&policy);
}

static struct gatherer_point point_of(const char *host, bool full, bool compressed)
{
	return (struct gatherer_point){gatherers, host, server.port, full, compressed};
}

static struct source *source_at(const struct gatherer_point *p, const struct source_cursor *from)
{
	struct source *s = NULL;
	assert_int_equal(source_gatherer_ops.open(&s, p, from, &err), 0);
	return s;
}

/* Reads until it says something other than "wait" and "skipped", and writes down the URLs. */
static int read_on(struct source *s, struct buf *story)
{
	for (;;) {
		struct source_change change;
		int rc = source_next(s, &arena, &change, &err);
		if (rc == 0) {
			buf_printf(story, "%c" STR_FMT " ", "DRU"[change.op],
				   STR_ARG(change.obj.url));
		} else if (rc == 2) {
			struct pollfd p = {source_wait_fd(s), POLLIN, 0};
			if (poll(&p, 1, 60000) != 1)
				fail_msg("nothing for a minute");
		} else if (rc < 0 && err.code == ERR_PARTLY) {
			buf_add_text(story, "- ");
		} else {
			arena_clear(&arena);
			return rc;
		}
	}
}

#define HELLO "000 - HELLO test\r\n"
#define UPDATE(url) "@FILE { " url "\nTitle{1}:\tx\n}\n"
#define ANSWER                                                                                    \
	"400 - x\r\n@DELETE {\n@FILE { a\n}\n}\n@REFRESH {\n@FILE { b\n}\n}\n@UPDATE {\n" UPDATE( \
		"c") "}\n499 - end\r\n"

static const struct source_cursor zero;

static void collected(const struct gatherer_point *p, struct source_cursor *at)
{
	struct buf story = BUF_INIT(1 << 20);
	struct source *s = source_at(p, at);
	struct source_cursor before;
	source_cursor(s, &before);
	assert_memory_equal(&before, at, sizeof before);
	if (read_on(s, &story) != 1)
		fail_msg("%s", err.msg);
	assert_str(buf_str(&story), "Da Rb Uc ");
	assert_int_equal(read_on(s, &story), 1); /* and stays so */
	source_cursor(s, at);
	source_close(&s);
	buf_free(&story);
}

static int64_t asked_since(size_t i)
{
	const char *at = strstr(server.served[i].heard, "SEND-UPDATE ");
	assert_non_null(at);
	return strtoll(at + strlen("SEND-UPDATE "), NULL, 10);
}

static void a_collection_moves_the_cursor_to_when_it_was_asked(void **state)
{
	(void)state;
	begin();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	struct gatherer_point some = point_of("127.0.0.1", false, false),
			      full = point_of("127.0.0.1", true, true);
	struct source_cursor at = zero, of_full = zero;
	int64_t from_s = clock_wall_us() / US_PER_S;
	collected(&some, &at);
	assert_memory_not_equal(&at, &zero, sizeof at);
	collected(&some, &at);
	collected(&full, &of_full);
	assert_memory_not_equal(&of_full, &zero, sizeof at);
	collected(&full, &of_full);
	int64_t to_s = clock_wall_us() / US_PER_S;
	serve_end();
	end();
	assert_int_equal(server.nserved, 4);
	assert_string_equal(server.served[0].heard, "SEND-UPDATE 0\r\nQUIT\r\n");
	assert_in_range(asked_since(1), from_s - 600, to_s - 600);
	assert_string_equal(server.served[2].heard, "SET compression\r\nSEND-UPDATE 0\r\nQUIT\r\n");
	assert_string_equal(server.served[3].heard, server.served[2].heard);
}

static void a_cursor_of_another_point_is_refused(void **state)
{
	(void)state;
	begin();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	struct gatherer_point here = point_of("127.0.0.1", false, false), other = here;
	struct source_cursor at = zero, rubbish;
	struct source *s = NULL;
	collected(&here, &at);
	other.port ^= 1;
	assert_int_equal(source_gatherer_ops.open(&s, &other, &at, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "not a cursor of this collection point"));
	memset(&rubbish, 0xa5, sizeof rubbish);
	assert_int_equal(source_gatherer_ops.open(&s, &here, &rubbish, &err), -1);
	assert_null(s);
	serve_end();
	end();
}

/* It fails with these words, and the cursor stays where it was. */
static void fails(const char *host, const char *told, const char *words)
{
	struct buf story = BUF_INIT(1 << 20);
	struct gatherer_point p = point_of(host, false, false);
	struct source *s = source_at(&p, &zero);
	struct source_cursor at;
	assert_int_equal(read_on(s, &story), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	if (!strstr(err.msg, words) || !strstr(err.msg, "; this collection does not count"))
		fail_msg("wanted '%s', got '%s'", words, err.msg);
	if (told)
		assert_str(buf_str(&story), told);
	source_cursor(s, &at);
	assert_memory_equal(&at, &zero, sizeof at);
	source_close(&s);
	buf_free(&story);
}

static void a_collection_that_breaks_does_not_count(void **state)
{
	static const struct {
		const char *greeting, *answer;
		enum then then;
		const char *told, *words;
	} by[] = {
		{HELLO, "400 -\n@UPDATE {\n" UPDATE("c") "@FILE { d\nX{9}:\t12", THEN_CLOSE, "Uc ",
		 "ended after 1 objects without its closing line; closed by the peer"},
		{HELLO, "400 -\n@UPDATE {\n" UPDATE("c") "}\n", THEN_CLOSE, "Uc ",
		 "ended after 1 objects without its closing line; closed by the peer"},
		{HELLO, "400 -\n@UPDATE {\n", THEN_RESET, "", "; Connection reset by peer"},
		{HELLO, "", THEN_CLOSE, "", "ended before it answered; it said: 000 - HELLO test"},
		{HELLO, "103 - not you\n", THEN_WAIT, "", "refused: 103 - not you"},
		{HELLO, "400 -\n@UPDATE {\n" UPDATE("c") "}\n103 - full\n", THEN_WAIT, "Uc ",
		 "broke off after 1 objects: 103 - full"},
		{HELLO, "400 -\n@FILE { d\nX{4294967295}:\tx\n}\n", THEN_CLOSE, "- ",
		 "ended after 0 objects without its closing line"},
	};
	(void)state;
	begin();
	for (size_t i = 0; i < ARRAY_LEN(by); i++) {
		serve_begin(by[i].greeting, str_of(by[i].answer), by[i].then);
		fails("127.0.0.1", by[i].told, by[i].words);
		serve_end();
	}
	end();
}

static void a_point_where_nobody_is_fails(void **state)
{
	(void)state;
	begin();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	serve_end();
	fails("127.0.0.1", "", "ended before its greeting; Connection refused");
	end();
}

static void a_silent_gatherer_is_given_up(void **state)
{
	(void)state;
	settings.gatherers.idle_us = US_PER_S;
	begin();
	serve_begin(NULL, STR(""), THEN_WAIT);
	fails("127.0.0.1", "", "ended before its greeting; idle for too long");
	serve_end();
	serve_begin(HELLO, STR("400 -\n@UPDATE {\n" UPDATE("c")), THEN_WAIT);
	fails("127.0.0.1", "Uc ", "without its closing line; idle for too long");
	serve_end();
	end();
}

static void an_endless_collection_is_given_up(void **state)
{
	(void)state;
	settings.gatherers.whole_us = US_PER_S;
	begin();
	serve_begin(HELLO, STR("400 -\n" UPDATE("c")), THEN_REPEAT);
	fails("127.0.0.1", NULL, "without its closing line; it took longer than 1 s");
	serve_end();
	end();
}

static void after_a_failure_it_is_asked_again(void **state)
{
	struct buf story = BUF_INIT(1 << 20);
	(void)state;
	begin();
	server.resets = 1;
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	struct gatherer_point p = point_of("127.0.0.1", false, false);
	struct source *s = source_at(&p, &zero);
	assert_int_equal(read_on(s, &story), -1);
	assert_int_equal(read_on(s, &story), 1);
	assert_str(buf_str(&story), "Da Rb Uc ");
	source_close(&s);
	serve_end();
	end();
	assert_int_equal(server.nserved, 2);
	buf_free(&story);
}

static void names_pass_the_policy_and_addresses_do_not(void **state)
{
	static const char *const allowed[] = {"127.0.0.0/8", "::1"};
	struct source_cursor at = zero;
	(void)state;
	begin();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	fails("localhost", "", "ended before its greeting; ");
	assert_non_null(strstr(err.msg, "loopback"));
	end();
	settings.networks = (struct value_list){allowed, ARRAY_LEN(allowed)};
	begin();
	struct gatherer_point p = point_of("localhost", false, false);
	collected(&p, &at);
	serve_end();
	end();
	settings.networks = (struct value_list){0};
}

/* Far more than may wait between the two threads, and objects that are larger than a piece. */
static void a_large_collection_comes_whole_and_in_order(void **state)
{
	enum { OBJECTS = 300 };
	struct buf answer = BUF_INIT(64 << 20);
	struct source_change change;
	(void)state;
	buf_add_text(&answer, "400 -\n@UPDATE {\n");
	for (size_t i = 0; i < OBJECTS; i++) {
		size_t n = (i * 7919) % 100000;
		buf_printf(&answer, "@FILE { %zu\nX{%zu}:\t", i, n);
		buf_fill(&answer, (char)('a' + i % 26), n);
		buf_add_text(&answer, "\n}\n");
	}
	buf_add_text(&answer, "}\n499 -\n");
	begin();
	serve_begin(HELLO, buf_str(&answer), THEN_WAIT);
	struct gatherer_point p = point_of("127.0.0.1", true, false);
	struct source *s = source_at(&p, &zero);
	size_t got = 0;
	for (int rc; (rc = source_next(s, &arena, &change, &err)) != 1;) {
		if (rc < 0)
			fail_msg("%s", err.msg);
		if (rc == 2) {
			struct pollfd wait = {source_wait_fd(s), POLLIN, 0};
			assert_int_equal(poll(&wait, 1, 60000), 1);
			continue;
		}
		char url[32];
		snprintf(url, sizeof url, "%zu", got);
		assert_str(change.obj.url, url);
		struct str x = soif_get(&change.obj, STR("X"));
		assert_int_equal(x.n, (got * 7919) % 100000);
		for (size_t i = 0; i < x.n; i++)
			if (x.p[i] != (char)('a' + got % 26))
				fail_msg("object %zu, byte %zu", got, i);
		got++;
		arena_clear(&arena);
	}
	assert_int_equal(got, OBJECTS);
	source_close(&s);
	serve_end();
	end();
	buf_free(&answer);
}

/* Many that have begun an object: the memory is theirs together, and given back. */
static void memory_is_shared_and_given_back(void **state)
{
	enum { POINTS = 20, BEGUN = 60000 };
	struct source *s[POINTS];
	struct buf begun = BUF_INIT(1 << 20);
	struct source_change change;
	size_t failed = 0;
	(void)state;
	settings.gatherers.memory = 1 << 20;
	settings.gatherers.object_max = 64 << 10;
	buf_printf(&begun, "400 -\n@FILE { a\nX{%d}:\t", BEGUN);
	buf_fill(&begun, 'x', BEGUN - 1);
	begin();
	serve_begin(HELLO, buf_str(&begun), THEN_WAIT);
	struct gatherer_point p = point_of("127.0.0.1", true, false);
	for (size_t i = 0; i < POINTS; i++)
		s[i] = source_at(&p, &zero);
	while (failed == 0)
		for (size_t i = 0; i < POINTS && failed == 0; i++) {
			int rc = source_next(s[i], &arena, &change, &err);
			assert_true(rc == 2 || rc < 0);
			failed += rc < 0;
		}
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.msg, "the memory for what gatherers are sending, 1048576 bytes, "
					"is used up"));
	for (size_t i = 0; i < POINTS; i++)
		source_close(&s[i]);
	/* the server may still be writing to those that have gone: the next one is another */
	serve_end();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	p = point_of("127.0.0.1", true, false);
	struct source_cursor at = zero;
	collected(&p, &at);
	serve_end();
	end();
	buf_free(&begun);
}

/* A point that accepts connections and says nothing. */
static struct gatherer_point silent_point(int *ret_fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof a;
	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(*ret_fd, 64), 0);
	assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&a, &n), 0);
	struct gatherer_point p = point_of("127.0.0.1", true, false);
	p.port = ntohs(a.sin_port);
	return p;
}

static void who_holds_most_of_the_memory_is_given_up(void **state)
{
	/* However its bytes come in pieces, one alone never holds too much; with the modest ones
	 * it does, and these hold less than their share. */
	enum { MODEST = 40, SIZE = 1000000 };
	struct source *modest[MODEST];
	struct buf begun = BUF_INIT(2 << 20);
	struct source_change change;
	int fd;
	(void)state;
	settings.gatherers.memory = settings.gatherers.object_max = 1 << 20;
	buf_printf(&begun, "400 -\n@FILE { a\nX{%d}:\t", SIZE);
	buf_fill(&begun, 'x', SIZE - 1);
	begin();
	serve_begin(HELLO, buf_str(&begun), THEN_WAIT);
	struct gatherer_point p = point_of("127.0.0.1", true, false), silent = silent_point(&fd);
	struct source *greedy = source_at(&p, &zero);
	struct pollfd wait = {source_wait_fd(greedy), POLLIN, 0};
	do /* until it has all that comes */
		assert_int_equal(source_next(greedy, &arena, &change, &err), 2);
	while (poll(&wait, 1, 200) == 1);
	for (size_t i = 0; i < MODEST; i++) {
		modest[i] = source_at(&silent, &zero);
		assert_int_equal(source_next(modest[i], &arena, &change, &err), 2);
	}
	assert_true(source_next(greedy, &arena, &change, &err) < 0);
	assert_non_null(strstr(err.msg, "is used up"));
	for (size_t i = 0; i < MODEST; i++)
		source_close(&modest[i]);
	source_close(&greedy);
	serve_end();
	end();
	close(fd);
	buf_free(&begun);
}

static void a_source_may_be_closed_at_any_time(void **state)
{
	struct source_change change;
	(void)state;
	begin();
	serve_begin(HELLO, STR(ANSWER), THEN_WAIT);
	struct gatherer_point p = point_of("127.0.0.1", true, false);
	for (int calls = 0; calls < 12; calls++) {
		struct source *s = source_at(&p, &zero);
		for (int i = 0; i < calls; i++) {
			struct pollfd wait = {source_wait_fd(s), POLLIN, 0};
			if (source_next(s, &arena, &change, &err) == 2)
				(void)poll(&wait, 1, 60000);
		}
		source_close(&s);
	}
	serve_end();
	end();
}

static int setup(void **state)
{
	(void)state;
	settings_default();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_collection_moves_the_cursor_to_when_it_was_asked),
		TEST(a_cursor_of_another_point_is_refused),
		TEST(a_collection_that_breaks_does_not_count),
		TEST(a_point_where_nobody_is_fails),
		TEST(a_silent_gatherer_is_given_up),
		TEST(an_endless_collection_is_given_up),
		TEST(after_a_failure_it_is_asked_again),
		TEST(names_pass_the_policy_and_addresses_do_not),
		TEST(a_large_collection_comes_whole_and_in_order),
		TEST(memory_is_shared_and_given_back),
		TEST(who_holds_most_of_the_memory_is_given_up),
		TEST(a_source_may_be_closed_at_any_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
