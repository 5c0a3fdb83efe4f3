/* The queuer on a loop whose time stands still, between clients and searchers that do as the test
 * says. Words go over Unix sockets, as between processes. */
#include "archie/queuer.h"

#include "../logged.h"
#include "../said.h"
#include "../scratch.h"
#include "../unit.h"
#include "archie/search/archie_wire.h"
#include "base/clock.h"
#include "role/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEARCHERS = 3, CLIENTS = 4 };

struct unit_searcher {
	int fd; /* -1: it does not run */
	bool killed;
	unsigned starts;
	int word; /* what it was told last */
	struct archie_message got;
	char pattern[64];
};

struct world {
	struct loop *loop;
	struct queuer *q;
	int listen_fd, client[CLIENTS];
	struct unit_searcher searcher[SEARCHERS];
	unsigned refuse_starts;
	int64_t now_us;
};

static int on_start(void *ctx, size_t number, int fd, struct err *err)
{
	struct world *w = ctx;
	struct unit_searcher *s = &w->searcher[number];
	if (w->refuse_starts) {
		w->refuse_starts--;
		return err_set(err, ERR_SYSTEM, "not now");
	}
	assert_true(s->fd < 0);
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(fcntl(s->fd, F_SETFL, O_NONBLOCK), 0);
	s->killed = false;
	s->starts++;
	return 0;
}

static void on_kill(void *ctx, size_t number)
{
	((struct world *)ctx)->searcher[number].killed = true;
}

static void searcher_die(struct world *w, size_t number)
{
	close(w->searcher[number].fd);
	w->searcher[number].fd = -1;
	queuer_ended(w->q, number, "signal KILL");
}

/* Time passes, and those that were killed are gone. */
static void pass(struct world *w, int64_t us)
{
	w->now_us += us;
	loop_step(w->loop, w->now_us);
	for (size_t i = 0; i < SEARCHERS; i++)
		if (w->searcher[i].fd >= 0 && w->searcher[i].killed)
			searcher_die(w, i);
	loop_step(w->loop, w->now_us);
}

static void client_open(struct world *w, size_t i)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	static const char want[] = "archie 10\nversion 2\n";
	char hello[64];
	snprintf(un.sun_path, sizeof un.sun_path, "%s", scratch("archie"));
	w->client[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(connect(w->client[i], (struct sockaddr *)&un, sizeof un), 0);
	pass(w, 1);
	assert_int_equal(recv(w->client[i], hello, sizeof hello, 0), sizeof want - 1);
	assert_memory_equal(hello, want, sizeof want - 1);
}

static void world_new(struct world *w, size_t queue_max)
{
	static const struct queuer_ops ops = {.start = on_start, .kill = on_kill};
	const struct loop_options options = {.manual = true, .start_us = US_PER_S};
	char address[300];
	struct err err;
	logged_start();
	*w = (struct world){.now_us = US_PER_S};
	for (size_t i = 0; i < SEARCHERS; i++)
		w->searcher[i].fd = -1;
	for (size_t i = 0; i < CLIENTS; i++)
		w->client[i] = -1;
	snprintf(address, sizeof address, "unix:%s", scratch("archie"));
	assert_int_equal(listen_open(address, &w->listen_fd, &err), 0);
	assert_int_equal(loop_new(&w->loop, &options, &err), 0);
	w->q = queuer_new(&(struct queuer_options){.loop = w->loop,
						   .searchers = SEARCHERS,
						   .queue_max = queue_max,
						   .limit_us = 60 * US_PER_S,
						   .ops = &ops,
						   .ctx = w});
	assert_int_equal(queuer_listen(w->q, w->listen_fd, &err), 0);
	client_open(w, 0);
	for (size_t i = 0; i < SEARCHERS; i++)
		assert_int_equal(w->searcher[i].starts, 1);
}

static void world_free(struct world *w)
{
	queuer_free(&w->q);
	loop_poll(w->loop);
	loop_free(&w->loop);
	for (size_t i = 0; i < SEARCHERS; i++)
		if (w->searcher[i].fd >= 0)
			close(w->searcher[i].fd);
	for (size_t i = 0; i < CLIENTS; i++)
		if (w->client[i] >= 0)
			close(w->client[i]);
	close(w->listen_fd);
}

/* Clients */

struct unit_ask {
	enum names_type type;
	const char *pattern, *from;
	uint64_t niceness;
	bool verbose;
};

static void client_say(struct world *w, size_t i, struct str text)
{
	assert_int_equal(send(w->client[i], text.p, text.n, MSG_NOSIGNAL), text.n);
	pass(w, 1);
}

/* Messages, a line each. */
static void client_said(struct world *w, size_t i, const char *lines)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 12);
	said_write(lines, &out);
	client_say(w, i, buf_str(&out));
}

static void client_ask(struct world *w, size_t i, uint64_t n, struct unit_ask a)
{
	struct buf block = BUF_INIT(ARCHIE_REQUEST_MOST), out = BUF_INIT(ARCHIE_REQUEST_MOST * 2);
	const struct archie_ask ask = {
		.from = str_of(a.from),
		.query = {.type = a.type, .pattern = str_of(a.pattern), .maxhits = 100}};
	struct err err;
	assert_int_equal(archie_ask_encode(&ask, &block, &err), 0);
	message_write(&archie_asks, ARCHIE_WORD_ASK,
		      &(struct archie_message){.id = {1, n},
					       .niceness = a.niceness,
					       .verbose = a.verbose,
					       .request = buf_str(&block)},
		      &out);
	client_say(w, i, buf_str(&out));
	buf_free(&block);
	buf_free(&out);
}

static void ask_exact(struct world *w, size_t i, uint64_t n, const char *pattern)
{
	client_ask(w, i, n, (struct unit_ask){.type = NAMES_EXACT, .pattern = pattern});
}

static void ask_regex(struct world *w, size_t i, uint64_t n, const char *pattern)
{
	client_ask(w, i, n, (struct unit_ask){.type = NAMES_REGEX, .pattern = pattern});
}

/* What it has heard since, with "|" after each message. */
static const char *client_heard(struct world *w, size_t i)
{
	static char room[1 << 16], lines[1 << 16];
	ssize_t n = recv(w->client[i], room, sizeof room - 1, 0);
	if (n == 0)
		return "END";
	said_lines((struct str){room, (size_t)MAX(n, 0)}, lines, sizeof lines);
	for (size_t k = 0; lines[k]; k++)
		if (lines[k] == '\n')
			lines[k] = '|';
	return lines;
}

/* Searchers */

/* Whether it was told something, which is in word, got and pattern then. */
static bool searcher_told(struct world *w, size_t i)
{
	struct unit_searcher *s = &w->searcher[i];
	char room[4096];
	struct err err;
	struct archie_ask ask;
	struct arena arena = ARENA_INIT(1 << 20);
	ssize_t n = s->fd < 0 ? -1 : recv(s->fd, room, sizeof room, 0);
	if (n <= 0)
		return false;
	struct str bytes = {room, (size_t)n};
	assert_int_equal(message_read(&archie_searches, bytes, &s->word, &s->got, &err), 0);
	if (s->word == ARCHIE_WORD_SEARCH) {
		assert_int_equal(archie_ask_decode(s->got.request, &arena, &ask, &err), 0);
		snprintf(s->pattern, sizeof s->pattern, STR_FMT, STR_ARG(ask.query.pattern));
	}
	arena_free(&arena);
	return true;
}

static bool searcher_has(struct world *w, size_t i, const char *pattern)
{
	return searcher_told(w, i) && w->searcher[i].word == ARCHIE_WORD_SEARCH &&
	       strcmp(w->searcher[i].pattern, pattern) == 0;
}

static void searcher_say(struct world *w, size_t i, struct str text)
{
	while (text.n) {
		ssize_t n = send(w->searcher[i].fd, text.p, text.n, MSG_NOSIGNAL);
		assert_true(n > 0 || errno == EAGAIN);
		text = str_from(text, (size_t)MAX(n, 0));
		pass(w, 1);
	}
}

static void searcher_said(struct world *w, size_t i, const char *lines)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 12);
	said_write(lines, &out);
	searcher_say(w, i, buf_str(&out));
}

static void searcher_answer(struct world *w, size_t i, struct archie_message m)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(ARCHIE_ANSWER_MOST + 2 * ARCHIE_SMALL_MOST);
	m.id = w->searcher[i].got.id;
	message_write(&archie_finds, ARCHIE_WORD_ANSWER, &m, &out);
	searcher_say(w, i, buf_str(&out));
}

static void searcher_answers(struct world *w, size_t i, const char *problem)
{
	searcher_answer(w, i, (struct archie_message){.problem = str_of(problem)});
}

static struct queuer_counts counts_of(struct world *w)
{
	struct queuer_counts c;
	queuer_counts(w->q, &c);
	return c;
}

static void a_request_is_searched_and_its_answer_handed_on(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_exact(&w, 0, 7, "one");
	assert_true(searcher_has(&w, 0, "one"));
	assert_int_equal(w.searcher[0].got.limit_us, 60 * US_PER_S);
	pass(&w, 5);
	searcher_answers(&w, 0, "rows of it");
	assert_string_equal(client_heard(&w, 0), "answer pid=1 number=7 problem=rows of it|");
	/* one that cannot be */
	ask_regex(&w, 0, 8, "[");
	assert_true(searcher_has(&w, 1, "["));
	searcher_said(&w, 1, "refused pid=1 number=8 why=bad text=no~bracket\n");
	assert_string_equal(client_heard(&w, 0), "refused pid=1 number=8 why=bad text=no bracket|");
	struct queuer_counts c = counts_of(&w);
	assert_true(c.asked[ARCHIE_FIND] == 2 && c.asked_type[NAMES_REGEX] == 1);
	assert_true(c.answered == 1 && c.refused[ARCHIE_BAD] == 1 && c.searches == 2);
	world_free(&w);
}

static void failures_are_for_the_log_and_not_for_strangers(void **state)
{
	static const char hidden[] = "something is wrong on this server|";
	struct world w;
	char heard[100];
	(void)state;
	world_new(&w, 100);
	for (unsigned i = 1; i <= 3; i++) {
		CLEANUP(buf_free) struct buf line = BUF_INIT(200);
		ask_exact(&w, 0, i, "one");
		assert_true(searcher_has(&w, 0, "one"));
		buf_printf(
			&line,
			"refused pid=1 number=%u why=failed text=/srv/names:~Input/output~error\n",
			i);
		searcher_said(&w, 0, buf_text(&line));
		snprintf(heard, sizeof heard, "refused pid=1 number=%u why=failed text=%s", i,
			 hidden);
		assert_string_equal(client_heard(&w, 0), heard);
		/* the same one is logged once a minute */
		assert_int_equal(
			logged_times("search failed why=\"/srv/names: Input/output error\""),
			i < 3 ? 1 : 2);
		if (i == 2)
			pass(&w, 61 * US_PER_S);
	}
	world_free(&w);
}

static void the_first_searcher_is_kept_free_of_dear_requests(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	for (uint64_t n = 1; n <= 5; n++)
		ask_regex(&w, 0, n, "dear");
	assert_false(searcher_told(&w, 0));
	assert_true(searcher_has(&w, 1, "dear") && searcher_has(&w, 2, "dear"));
	ask_exact(&w, 0, 6, "cheap");
	assert_true(searcher_has(&w, 0, "cheap"));
	ask_exact(&w, 0, 7, "cheap too");
	searcher_answers(&w, 1, "");
	assert_true(searcher_has(&w, 1, "cheap too")); /* before those that wait for longer */
	world_free(&w);
}

static void a_verbose_request_hears_its_place_and_how_it_comes_forward(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_regex(&w, 0, 1, "a");
	ask_regex(&w, 0, 2, "b");
	ask_regex(&w, 0, 3, "c");
	client_ask(&w, 0, 4,
		   (struct unit_ask){.type = NAMES_REGEX, .pattern = "d", .verbose = true});
	assert_string_equal(client_heard(&w, 0), "queued pid=1 number=4 position=2 seconds=1|");
	pass(&w, 3 * US_PER_S);
	assert_string_equal(client_heard(&w, 0), ""); /* nothing new */
	assert_true(searcher_told(&w, 1));
	searcher_answers(&w, 1, "");
	pass(&w, US_PER_S);
	assert_string_equal(client_heard(&w, 0),
			    "answer pid=1 number=1|queued pid=1 number=4 position=1 seconds=4|");
	assert_true(searcher_told(&w, 1));
	searcher_answers(&w, 1, "");
	assert_true(searcher_has(&w, 1, "d"));
	world_free(&w);
}

static void cancelling_takes_a_request_out_of_the_queue_or_stops_its_search(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_regex(&w, 0, 1, "a");
	ask_regex(&w, 0, 2, "b");
	ask_regex(&w, 0, 3, "c");
	assert_true(searcher_told(&w, 1) && searcher_told(&w, 2));
	client_said(&w, 0, "cancel pid=1 number=3\ncancel pid=1 number=9\n");
	assert_string_equal(client_heard(&w, 0),
			    "refused pid=1 number=3 why=cancelled text=cancelled, as was asked|");
	client_said(&w, 0, "cancel pid=1 number=1\n");
	assert_string_equal(client_heard(&w, 0),
			    "refused pid=1 number=1 why=cancelled text=cancelled, as was asked|");
	assert_true(searcher_told(&w, 1) && w.searcher[1].word == ARCHIE_WORD_STOP);
	w.searcher[1].got.id = (struct archie_id){1, 1};
	searcher_answers(&w, 1, "late");
	assert_string_equal(client_heard(&w, 0), "");
	/* one that does not notice is replaced */
	client_said(&w, 0, "cancel pid=1 number=2\n");
	pass(&w, 1500 * US_PER_MS);
	assert_int_equal(w.searcher[2].starts, 2);
	struct queuer_counts c = counts_of(&w);
	assert_true(c.cancels == 3 && c.deaths == 1 && c.overruns == 0 && c.waiting == 0 &&
		    c.running == 0);
	world_free(&w);
}

static void hanging_up_cancels_everything(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	client_open(&w, 1);
	for (uint64_t n = 1; n <= 4; n++)
		ask_regex(&w, 1, n, "x");
	assert_true(searcher_told(&w, 1) && searcher_told(&w, 2));
	close(w.client[1]);
	w.client[1] = -1;
	pass(&w, 1);
	assert_true(searcher_told(&w, 1) && w.searcher[1].word == ARCHIE_WORD_STOP);
	assert_true(searcher_told(&w, 2) && w.searcher[2].word == ARCHIE_WORD_STOP);
	struct queuer_counts c = counts_of(&w);
	assert_true(c.hung_up == 4 && c.waiting == 0 && c.running == 2);
	world_free(&w);
}

static void a_search_whose_searcher_dies_is_tried_once_more_and_then_refused(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_exact(&w, 0, 1, "poison");
	assert_true(searcher_has(&w, 0, "poison"));
	searcher_die(&w, 0);
	pass(&w, 1);
	size_t second = searcher_has(&w, 1, "poison") ? 1 : 0;
	assert_string_equal(client_heard(&w, 0), "");
	if (second == 0)
		assert_true(searcher_has(&w, 0, "poison"));
	searcher_die(&w, second);
	pass(&w, 1);
	assert_string_equal(client_heard(&w, 0),
			    "refused pid=1 number=1 why=failed text=the search failed twice|");
	struct queuer_counts c = counts_of(&w);
	assert_true(c.again == 1 && c.deaths == 2 && c.refused[ARCHIE_FAILED] == 1);
	pass(&w, 1);
	assert_int_equal(counts_of(&w).searchers, SEARCHERS);
	world_free(&w);
}

static void a_search_past_its_time_is_ended_with_its_searcher(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_regex(&w, 0, 1, "slow");
	assert_true(searcher_has(&w, 1, "slow"));
	pass(&w, 64 * US_PER_S);
	assert_int_equal(w.searcher[1].starts, 1); /* it may need a moment to come to its end */
	pass(&w, 2 * US_PER_S);
	assert_int_equal(w.searcher[1].starts, 2);
	assert_int_equal(counts_of(&w).overruns, 1);
	assert_true(searcher_has(&w, 2, "slow") || searcher_has(&w, 1, "slow"));
	world_free(&w);
}

static void searchers_that_die_one_after_the_other_are_started_ever_later(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	w.refuse_starts = 100;
	for (int i = 0; i < 12; i++) {
		if (w.searcher[0].fd >= 0)
			searcher_die(&w, 0);
		pass(&w, 1);
	}
	unsigned left = w.refuse_starts;
	assert_true(left >= 94);
	pass(&w, 10 * US_PER_S);
	assert_true(w.refuse_starts >= left - 20 && w.refuse_starts < left - 5);
	w.refuse_starts = 0;
	pass(&w, 2 * US_PER_S);
	ask_exact(&w, 0, 1, "there again");
	assert_true(searcher_has(&w, 0, "there again"));
	world_free(&w);
}

static void nonsense_ends_connections_on_both_sides(void **state)
{
	static const char *const talk[] = {"hello\n",
					   "ask pid=1 number=1\n",
					   "load queue=1\n",
					   "ask niceness=32766 request=0\n",
					   "queued position=1\n",
					   "search limit=5 request=0\n"};
	struct world w;
	(void)state;
	world_new(&w, 100);
	for (size_t i = 0; i < ARRAY_LEN(talk); i++) {
		client_open(&w, 1);
		client_said(&w, 1, talk[i]);
		assert_string_equal(client_heard(&w, 1), "END");
		close(w.client[1]);
		w.client[1] = -1;
	}
	/* a block that is not a request is refused, and the connection goes on */
	client_say(&w, 0, STR("ask 29\npid 1\nnumber 1\nrequest 3\nabc\nload 0\n"));
	assert_string_equal(client_heard(&w, 0),
			    "refused pid=1 number=1 why=bad text=a request: what is missing|"
			    "loaded queue=0 wait=0 per-1000s=0|");
	searcher_said(&w, 2, "answer pid=5 number=5\n"); /* nobody asked */
	pass(&w, 1);
	assert_int_equal(w.searcher[2].starts, 2);
	ask_exact(&w, 0, 1, "x");
	assert_true(searcher_told(&w, 0));
	searcher_said(&w, 0, "answer pid=1 number=2\n"); /* not what was asked */
	pass(&w, 1);
	assert_int_equal(w.searcher[0].starts, 2);
	world_free(&w);
}

static void the_queue_and_the_share_of_an_address_are_bounded(void **state)
{
	struct world w;
	uint64_t n = 0;
	(void)state;
	world_new(&w, 25);
	/* two are searched, 20 wait */
	for (; n < 22; n++)
		client_ask(&w, 0, n,
			   (struct unit_ask){
				   .type = NAMES_REGEX, .pattern = "x", .from = "2001:db8::1"});
	assert_string_equal(client_heard(&w, 0), "");
	client_ask(&w, 0, n++, (struct unit_ask){.type = NAMES_REGEX, .from = "2001:db8::2"});
	assert_string_equal(client_heard(&w, 0), "refused pid=1 number=22 why=busy text=too many "
						 "requests of your address wait already|");
	for (int i = 0; i < 5; i++)
		client_ask(&w, 0, n++,
			   (struct unit_ask){.type = NAMES_REGEX, .from = "2001:db8:0:1::1"});
	assert_string_equal(client_heard(&w, 0), "");
	client_ask(&w, 0, n++, (struct unit_ask){.type = NAMES_REGEX, .from = "192.0.2.1"});
	assert_string_equal(
		client_heard(&w, 0),
		"refused pid=1 number=28 why=busy text=the queue is full; try again later|");
	struct queuer_counts c = counts_of(&w);
	assert_true(c.waiting == 25 && c.running == 2 && c.refused[ARCHIE_BUSY] == 2);
	world_free(&w);
}

/* As another user, where the test may become one. */
static void client_open_as(struct world *w, size_t i, uid_t uid)
{
	assert_int_equal(0, chmod(scratch_dir, 0711));
	assert_int_equal(0, chmod(scratch("archie"), 0666));
	assert_int_equal(0, seteuid(uid));
	client_open(w, i);
	assert_int_equal(0, seteuid(getuid()));
}

static void people_without_an_address_are_known_by_their_user(void **state)
{
	struct world w;
	uint64_t n = 0;
	(void)state;
	world_new(&w, 1000);
	for (; n < 2 + QUEUER_USER_SHARE; n++)
		client_ask(&w, 0, n, (struct unit_ask){.type = NAMES_REGEX, .pattern = "x"});
	assert_string_equal(client_heard(&w, 0), "");
	client_ask(&w, 0, n++, (struct unit_ask){.type = NAMES_REGEX, .pattern = "x"});
	assert_string_equal(client_heard(&w, 0), "refused pid=1 number=202 why=busy text=too many "
						 "requests of your user wait already|");
	/* our own roles ask for others all the same */
	client_ask(&w, 0, n++, (struct unit_ask){.type = NAMES_REGEX, .from = "192.0.2.1"});
	assert_string_equal(client_heard(&w, 0), "");
	if (getuid() != 0) {
		world_free(&w);
		return;
	}
	/* another user has a share of his own, and no more by inventing addresses */
	client_open_as(&w, 1, 65534);
	for (uint64_t i = 0; i < QUEUER_USER_SHARE; i++) {
		char from[32];
		snprintf(from, sizeof from, "198.51.100.%" PRIu64, i);
		client_ask(&w, 1, i, (struct unit_ask){.type = NAMES_REGEX, .from = from});
	}
	assert_string_equal(client_heard(&w, 1), "");
	client_ask(&w, 1, 500, (struct unit_ask){.type = NAMES_REGEX, .from = "203.0.113.1"});
	assert_string_equal(client_heard(&w, 1), "refused pid=1 number=500 why=busy text=too many "
						 "requests of your user wait already|");
	world_free(&w);
}

/* An answer of so many bytes. */
static void searcher_answers_much(struct world *w, size_t i, size_t n)
{
	char *text = mem_alloc(n);
	memset(text, 'x', n);
	searcher_answer(w, i, (struct archie_message){.rows = {1, {text, n}}});
	mem_free(&text);
}

static void
one_that_does_not_read_is_searched_for_no_further_and_dropped_after_a_while(void **state)
{
	struct world w;
	static char room[1 << 20];
	(void)state;
	world_new(&w, 100);
	client_open(&w, 1);
	for (uint64_t n = 0; n < 6; n++)
		ask_exact(&w, 0, n, "much");
	for (size_t i = 0; i < SEARCHERS; i++) {
		assert_true(searcher_has(&w, i, "much"));
		searcher_answers_much(&w, i, ARCHIE_ANSWER_MOST);
	}
	/* none of its others is searched */
	size_t more = 0;
	for (size_t i = 0; i < SEARCHERS; i++)
		more += searcher_told(&w, i);
	assert_int_equal(more, 0);
	assert_int_equal(counts_of(&w).waiting, 3);
	ask_exact(&w, 1, 1, "of another");
	assert_true(searcher_has(&w, 0, "of another"));
	/* it reads after all */
	for (int i = 0; i < 2000 && counts_of(&w).waiting; i++) {
		while (recv(w.client[0], room, sizeof room, 0) > 0)
			;
		pass(&w, 1);
	}
	assert_true(searcher_has(&w, 1, "much") && searcher_has(&w, 2, "much"));
	searcher_answers_much(&w, 1, ARCHIE_ANSWER_MOST);
	pass(&w, 20 * US_PER_S);
	assert_int_equal(counts_of(&w).dropped, 0);
	pass(&w, 12 * US_PER_S);
	struct queuer_counts c = counts_of(&w);
	assert_true(c.dropped == 1 && c.connections == 1 && c.waiting == 0);
	world_free(&w);
}

static void the_load_counts_what_waits_and_is_searched(void **state)
{
	struct world w;
	(void)state;
	world_new(&w, 100);
	ask_regex(&w, 0, 1, "x");
	assert_true(searcher_told(&w, 1));
	pass(&w, 2 * US_PER_S);
	searcher_answers(&w, 1, "");
	client_heard(&w, 0);
	for (uint64_t n = 2; n < 6; n++)
		client_ask(&w, 0, n, (struct unit_ask){.type = NAMES_SUB, .pattern = "y"});
	client_said(&w, 0, "load\n");
	/* two are searched and two wait, each for 20 ms as far as anyone knows: one turn until a
	 * searcher is free, one for those before */
	assert_string_equal(client_heard(&w, 0), "loaded queue=4 wait=39996 per-1000s=500|");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_searched_and_its_answer_handed_on),
		cmocka_unit_test(failures_are_for_the_log_and_not_for_strangers),
		cmocka_unit_test(the_first_searcher_is_kept_free_of_dear_requests),
		cmocka_unit_test(a_verbose_request_hears_its_place_and_how_it_comes_forward),
		cmocka_unit_test(cancelling_takes_a_request_out_of_the_queue_or_stops_its_search),
		cmocka_unit_test(hanging_up_cancels_everything),
		cmocka_unit_test(a_search_whose_searcher_dies_is_tried_once_more_and_then_refused),
		cmocka_unit_test(a_search_past_its_time_is_ended_with_its_searcher),
		cmocka_unit_test(searchers_that_die_one_after_the_other_are_started_ever_later),
		cmocka_unit_test(nonsense_ends_connections_on_both_sides),
		cmocka_unit_test(the_queue_and_the_share_of_an_address_are_bounded),
		cmocka_unit_test(people_without_an_address_are_known_by_their_user),
		cmocka_unit_test(
			one_that_does_not_read_is_searched_for_no_further_and_dropped_after_a_while),
		cmocka_unit_test(the_load_counts_what_waits_and_is_searched),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
