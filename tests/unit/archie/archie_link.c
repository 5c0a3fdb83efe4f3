/* The way that does not wait, on a loop whose time stands still, against a queuer that says what
 * the test wants. */
#include "../scratch.h"
#include "../unit.h"
#include "archie/search/archie_wire.h"
#include "base/file.h"
#include "role/listen.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELLO "archie 10\nversion 2\n"

struct world {
	struct loop *loop;
	struct conn_pool *pool;
	struct archie_link *link;
	int listen_fd, fd; /* of the queuer; -1: none */
	struct buf story;  /* what the link said: Q7 A:gcc R:busy:text L3 L- */
	char why[200];     /* of the last refusal, in full */
	bool free_when_told;
	int64_t now_us;
};

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct world *w = ctx;
	buf_printf(&w->story, "Q%" PRIu64 "/%" PRId64 " ", position, seconds);
}

static void on_answered(void *ctx, const struct archie_answer *a, enum archie_refusal why,
			const char *text)
{
	struct world *w = ctx;
	if (a)
		buf_printf(&w->story, "A:" STR_FMT " ", STR_ARG(a->row[0].file.name));
	else
		buf_printf(&w->story, "R:%s:%.10s ", archie_refusal_words[why], text);
	snprintf(w->why, sizeof w->why, "%s", a ? "" : text);
	if (w->free_when_told)
		archie_link_free(&w->link);
	if (a)
		assert_str(a->row[0].text, "text"); /* good until this returns */
}

static void on_load(void *ctx, const struct archie_load *load)
{
	struct world *w = ctx;
	if (load)
		buf_printf(&w->story, "L%" PRIu64 " ", load->queue);
	else
		buf_add_text(&w->story, "L- ");
}

static const struct archie_link_ops ops = {.queued = on_queued, .answered = on_answered};

/* The queuer. */

static void queuer_open(struct world *w)
{
	char address[300];
	struct err err;
	snprintf(address, sizeof address, "unix:%s", scratch("run/archie"));
	assert_int_equal(listen_open(address, &w->listen_fd, &err), 0);
}

static void queuer_die(struct world *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->listen_fd >= 0)
		close(w->listen_fd);
	w->fd = w->listen_fd = -1;
}

static void pass(struct world *w, int64_t us)
{
	w->now_us += us;
	loop_step(w->loop, w->now_us);
}

static void queuer_accept(struct world *w)
{
	for (int i = 0; i < 100 && w->fd < 0; i++) {
		pass(w, 10 * US_PER_MS);
		w->fd = accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	assert_true(w->fd >= 0);
}

static void queuer_say(struct world *w, struct str text)
{
	assert_int_equal(send(w->fd, text.p, text.n, MSG_NOSIGNAL), text.n);
	pass(w, US_PER_MS);
}

static void queuer_message(struct world *w, enum archie_word word, struct archie_message m)
{
	struct buf out = BUF_INIT(2 * ARCHIE_SMALL_MOST);
	m.id.pid = (uint64_t)getpid();
	message_write(&archie_tells, (int)word, &m, &out);
	queuer_say(w, buf_str(&out));
	buf_free(&out);
}

static void queuer_answer(struct world *w, uint64_t n, const char *name)
{
	struct archie_message m = {.id.n = n, .total = 1};
	struct archie_writer writer = {0};
	const struct archie_row row = {.file = {.name = str_of(name)}, .text = STR("text")};
	archie_writer_begin(&writer, NULL, NULL);
	assert_true(archie_writer_row(&writer, ARCHIE_NO_SITE, &row));
	archie_writer_end(&writer, &m);
	queuer_message(w, ARCHIE_WORD_ANSWER, m);
	archie_writer_free(&writer);
}

/* How often this word begins a line of what the queuer has heard since. */
static unsigned queuer_heard(struct world *w, const char *word)
{
	char room[65536];
	unsigned n = 0;
	pass(w, US_PER_MS);
	ssize_t got = recv(w->fd, room, sizeof room, 0);
	struct str text = {room, got > 0 ? (size_t)got : 0};
	for (size_t at; (at = str_find(text, str_of(word))) < text.n; n++)
		text = str_from(text, at + 1);
	return n;
}

static void story_is(struct world *w, const char *want)
{
	assert_string_equal(buf_text(&w->story), want);
	buf_clear(&w->story);
}

static void world_new(struct world *w)
{
	const struct loop_options options = {.manual = true, .start_us = US_PER_S};
	struct err err;
	*w = (struct world){
		.fd = -1, .listen_fd = -1, .story = BUF_INIT(65536), .now_us = US_PER_S};
	assert_int_equal(dir_make(scratch("run"), 0700, &err), 0);
	assert_int_equal(loop_new(&w->loop, &options, &err), 0);
	w->pool = conn_pool_new(w->loop, 1 << 30);
	w->link = archie_link_new(w->pool, scratch_dir);
}

static void world_free(struct world *w)
{
	queuer_die(w);
	archie_link_free(&w->link);
	conn_pool_free(&w->pool);
	loop_free(&w->loop);
	buf_free(&w->story);
	unlink(scratch("run/archie"));
}

static uint64_t ask(struct world *w)
{
	static const struct archie_ask what = {.what = ARCHIE_WHATIS, .query.pattern = {"x", 1}};
	return archie_link_ask(w->link, &what, &ops, w);
}

static void requests_wait_for_the_greeting_and_answers_find_them_in_any_order(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	queuer_open(&w);
	uint64_t a = ask(&w), b = ask(&w);
	queuer_accept(&w);
	assert_int_equal(queuer_heard(&w, "ask "), 0);
	queuer_say(&w, STR(HELLO));
	assert_int_equal(queuer_heard(&w, "ask "), 2);
	archie_link_load(w.link, on_load, &w);
	assert_int_equal(queuer_heard(&w, "load "), 1);
	queuer_message(&w, ARCHIE_WORD_QUEUED,
		       (struct archie_message){.id.n = b, .position = 4, .seconds = 9});
	queuer_answer(&w, b, "second");
	queuer_answer(&w, b, "doubled");
	queuer_say(&w, STR("loaded 28\nqueue 17\nwait 0\nper-1000s 0\n"));
	queuer_message(&w, ARCHIE_WORD_REFUSED,
		       (struct archie_message){.id.n = a, .why = ARCHIE_BUSY, .text = STR("full")});
	story_is(&w, "Q4/9 A:second L17 R:busy:full ");
	world_free(&w);
}

static void what_was_asked_of_a_queuer_that_died_is_asked_again_once(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	queuer_open(&w);
	uint64_t n = ask(&w);
	for (int i = 0; i < 2; i++) {
		queuer_accept(&w);
		queuer_say(&w, STR(HELLO));
		assert_int_equal(queuer_heard(&w, "ask "), 1);
		close(w.fd);
		w.fd = -1;
		pass(&w, US_PER_MS);
	}
	story_is(&w, "R:away:the server ");
	/* a new one has both again */
	n = ask(&w);
	queuer_accept(&w);
	queuer_say(&w, STR(HELLO));
	queuer_answer(&w, n, "new");
	story_is(&w, "A:new ");
	world_free(&w);
}

static void a_queuer_may_be_away_for_four_seconds_in_all(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	ask(&w);
	archie_link_load(w.link, on_load, &w);
	pass(&w, 3500 * US_PER_MS);
	story_is(&w, "");
	pass(&w, 1000 * US_PER_MS);
	story_is(&w, "R:away:the server L- ");
	/* also one whose socket is there while nobody serves */
	queuer_open(&w);
	ask(&w);
	pass(&w, 2000 * US_PER_MS);
	queuer_accept(&w);
	queuer_say(&w, STR(HELLO));
	assert_int_equal(queuer_heard(&w, "ask "), 1);
	pass(&w, 100 * US_PER_S); /* it may search as long as it likes */
	story_is(&w, "");
	close(w.fd);
	w.fd = -1;
	pass(&w, 1500 * US_PER_MS);
	story_is(&w, "");
	pass(&w, 1000 * US_PER_MS); /* what was left of the four */
	story_is(&w, "R:away:the server ");
	world_free(&w);
}

static void a_queuer_of_another_version_is_away_and_both_versions_are_told(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	queuer_open(&w);
	ask(&w);
	queuer_accept(&w);
	queuer_say(&w, STR("archie 10\nversion 9\n"));
	assert_int_equal(queuer_heard(&w, "ask "), 0);
	pass(&w, 4500 * US_PER_MS);
	assert_non_null(strstr(buf_text(&w.story), "R:away:the server "));
	assert_non_null(strstr(w.why, "version 9 of this protocol, expected 2"));
	world_free(&w);
}

static void what_is_cancelled_is_told_nothing_more(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	queuer_open(&w);
	archie_link_cancel(w.link, ask(&w)); /* before anyone was asked */
	uint64_t n = ask(&w);
	queuer_accept(&w);
	queuer_say(&w, STR(HELLO));
	assert_int_equal(queuer_heard(&w, "ask "), 1);
	archie_link_cancel(w.link, n);
	archie_link_cancel(w.link, n);
	assert_int_equal(queuer_heard(&w, "cancel "), 1);
	queuer_answer(&w, n, "late");
	queuer_message(&w, ARCHIE_WORD_REFUSED,
		       (struct archie_message){.id.n = n, .why = ARCHIE_CANCELLED});
	story_is(&w, "");
	world_free(&w);
}

static void what_cannot_be_asked_is_refused_from_the_loop(void **state)
{
	static const struct archie_ask bad = {.niceness = -1};
	struct world w;
	(void)state;
	world_new(&w);
	archie_link_ask(w.link, &bad, &ops, &w);
	story_is(&w, "");
	pass(&w, US_PER_MS);
	story_is(&w, "R:bad:niceness - ");
	world_free(&w);
}

static void one_that_is_told_may_free_the_link(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct world w;
		world_new(&w);
		queuer_open(&w);
		uint64_t n = ask(&w);
		ask(&w);
		w.free_when_told = true;
		queuer_accept(&w);
		if (i > 0)
			queuer_say(&w, STR(HELLO));
		if (i == 1)
			queuer_answer(&w, n, "free");
		else if (i == 2)
			queuer_message(&w, ARCHIE_WORD_REFUSED,
				       (struct archie_message){.id.n = n, .why = ARCHIE_FAILED});
		else
			pass(&w, 10 * US_PER_S);
		assert_null(w.link);
		pass(&w, 10 * US_PER_S);
		story_is(&w, i == 0 ? "R:away:the server " : i == 1 ? "A:free " : "R:failed: ");
		world_free(&w);
	}
}

static void a_queuer_that_makes_no_sense_is_left_and_connected_to_anew(void **state)
{
	struct world w;
	(void)state;
	world_new(&w);
	queuer_open(&w);
	uint64_t n = ask(&w);
	queuer_accept(&w);
	queuer_say(&w, STR(HELLO "HELLO?\n"));
	close(w.fd);
	w.fd = -1;
	queuer_accept(&w);
	queuer_say(&w, STR(HELLO));
	queuer_answer(&w, n, "sense");
	story_is(&w, "A:sense ");
	world_free(&w);
}

static void a_folder_whose_name_is_too_long_for_a_socket_is_away(void **state)
{
	char data[200];
	struct world w;
	(void)state;
	world_new(&w);
	archie_link_free(&w.link);
	memset(data, 'x', sizeof data);
	data[sizeof data - 1] = 0;
	w.link = archie_link_new(w.pool, data);
	ask(&w);
	pass(&w, US_PER_MS);
	story_is(&w, "R:away:the server ");
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_wait_for_the_greeting_and_answers_find_them_in_any_order),
		cmocka_unit_test(what_was_asked_of_a_queuer_that_died_is_asked_again_once),
		cmocka_unit_test(a_queuer_may_be_away_for_four_seconds_in_all),
		cmocka_unit_test(a_queuer_of_another_version_is_away_and_both_versions_are_told),
		cmocka_unit_test(what_is_cancelled_is_told_nothing_more),
		cmocka_unit_test(what_cannot_be_asked_is_refused_from_the_loop),
		cmocka_unit_test(one_that_is_told_may_free_the_link),
		cmocka_unit_test(a_queuer_that_makes_no_sense_is_left_and_connected_to_anew),
		cmocka_unit_test(a_folder_whose_name_is_too_long_for_a_socket_is_away),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
