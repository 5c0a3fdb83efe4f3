#include "net/loop.h"

#include "../scratch.h"
#include "base/thread.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What happened, as letters in a row. */
struct story {
	struct loop *loop;
	struct buf text;
	struct loop_timer t[4];
	struct loop_later later[4];
	int fd[2];
	struct loop_io io[2];
};

struct letter {
	struct story *story;
	char c;
};

static void say(void *ctx)
{
	const struct letter *letter = ctx;
	buf_add_byte(&letter->story->text, letter->c);
}

static struct story story_new(bool manual)
{
	struct story s = {.text = BUF_INIT(4096), .fd = {-1, -1}};
	struct err err;
	const struct loop_options options = {.manual = manual, .start_us = 1000};
	assert_int_equal(loop_new(&s.loop, &options, &err), 0);
	return s;
}

static void story_end(struct story *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->t); i++)
		loop_timer_stop(&s->t[i]);
	for (size_t i = 0; i < 2; i++) {
		loop_io_end(&s->io[i]);
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	}
	loop_free(&s->loop);
	assert_null(s->loop);
	buf_free(&s->text);
}

static void timers_run_in_the_order_of_their_times(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter a = {&s, 'a'}, b = {&s, 'b'}, c = {&s, 'c'}, d = {&s, 'd'};
	s.t[0] = (struct loop_timer){.fn = say, .ctx = &a};
	s.t[1] = (struct loop_timer){.fn = say, .ctx = &b};
	s.t[2] = (struct loop_timer){.fn = say, .ctx = &c};
	s.t[3] = (struct loop_timer){.fn = say, .ctx = &d};
	loop_timer_in(s.loop, &s.t[0], 300);
	loop_timer_in(s.loop, &s.t[1], 100);
	loop_timer_in(s.loop, &s.t[2], 100);
	loop_timer_in(s.loop, &s.t[3], -5);
	assert_int_equal(loop_now_us(s.loop), 1000);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "d");
	loop_step(s.loop, 1099);
	assert_string_equal(buf_text(&s.text), "d");
	loop_step(s.loop, 1300);
	assert_string_equal(buf_text(&s.text), "dbca");
	assert_int_equal(loop_now_us(s.loop), 1300);
	story_end(&s);
}

static void a_timer_can_be_moved_and_stopped(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter a = {&s, 'a'}, b = {&s, 'b'};
	s.t[0] = (struct loop_timer){.fn = say, .ctx = &a};
	s.t[1] = (struct loop_timer){.fn = say, .ctx = &b};
	loop_timer_in(s.loop, &s.t[0], 100);
	loop_timer_in(s.loop, &s.t[1], 200);
	loop_timer_in(s.loop, &s.t[0], 500);
	loop_step(s.loop, 1300);
	assert_string_equal(buf_text(&s.text), "b");
	loop_timer_stop(&s.t[0]);
	loop_timer_stop(&s.t[0]);
	loop_step(s.loop, 9000);
	assert_string_equal(buf_text(&s.text), "b");
	loop_timer_in(s.loop, &s.t[0], INT64_MAX);
	loop_step(s.loop, INT64_MAX / 2);
	assert_string_equal(buf_text(&s.text), "b");
	story_end(&s);
}

static void a_repeating_timer_keeps_its_beat(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter a = {&s, 'a'};
	s.t[0] = (struct loop_timer){.fn = say, .ctx = &a};
	loop_timer_every(s.loop, &s.t[0], 100);
	loop_step(s.loop, 1350);
	assert_string_equal(buf_text(&s.text), "aaa");
	assert_int_equal(s.t[0].due_us, 1400);
	story_end(&s);
}

struct again {
	struct story *story;
	int left;
};

static void set_again(void *ctx)
{
	struct again *a = ctx;
	buf_add_byte(&a->story->text, 'x');
	if (a->left-- > 0)
		loop_timer_in(a->story->loop, &a->story->t[0], 0);
}

static void a_timer_set_by_itself_for_now_lets_descriptors_have_their_turn(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct again a = {&s, 3};
	s.t[0] = (struct loop_timer){.fn = set_again, .ctx = &a};
	loop_timer_in(s.loop, &s.t[0], 0);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "x");
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "xxxx");
	story_end(&s);
}

static void defer_two(void *ctx)
{
	struct story *s = ctx;
	buf_add_byte(&s->text, '(');
	loop_later(s->loop, &s->later[0]);
	loop_later(s->loop, &s->later[1]);
	loop_later(s->loop, &s->later[0]);
	buf_add_byte(&s->text, ')');
}

static void defer_more(void *ctx)
{
	struct story *s = ctx;
	buf_add_byte(&s->text, 'm');
	loop_later(s->loop, &s->later[1]);
}

static void deferred_calls_come_after_the_callback_and_before_the_next(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter a = {&s, 'a'}, b = {&s, 'b'}, t = {&s, 't'};
	s.later[0] = (struct loop_later){.fn = say, .ctx = &a};
	s.later[1] = (struct loop_later){.fn = say, .ctx = &b};
	s.t[0] = (struct loop_timer){.fn = defer_two, .ctx = &s};
	s.t[1] = (struct loop_timer){.fn = say, .ctx = &t};
	loop_timer_in(s.loop, &s.t[0], 1);
	loop_timer_in(s.loop, &s.t[1], 1);
	loop_step(s.loop, 1001);
	assert_string_equal(buf_text(&s.text), "()abt");
	story_end(&s);
}

static void what_a_deferred_call_defers_waits_for_the_next_round(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter b = {&s, 'b'}, c = {&s, 'c'};
	s.later[0] = (struct loop_later){.fn = defer_more, .ctx = &s};
	s.later[1] = (struct loop_later){.fn = say, .ctx = &b};
	s.later[2] = (struct loop_later){.fn = say, .ctx = &c};
	loop_later(s.loop, &s.later[0]);
	loop_later(s.loop, &s.later[2]);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "mc");
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "mcb");
	story_end(&s);
}

static void cancel_second(void *ctx)
{
	struct story *s = ctx;
	loop_later_cancel(&s->later[1]);
	loop_later_cancel(&s->later[1]);
}

static void a_deferred_call_can_be_cancelled_by_the_one_before_it(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter b = {&s, 'b'};
	s.later[0] = (struct loop_later){.fn = cancel_second, .ctx = &s};
	s.later[1] = (struct loop_later){.fn = say, .ctx = &b};
	loop_later(s.loop, &s.later[0]);
	loop_later(s.loop, &s.later[1]);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "");
	story_end(&s);
}

static void deferred_calls_are_made_before_the_loop_is_freed(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter b = {&s, 'b'};
	s.later[0] = (struct loop_later){.fn = defer_more, .ctx = &s};
	s.later[1] = (struct loop_later){.fn = say, .ctx = &b};
	loop_later(s.loop, &s.later[0]);
	loop_free(&s.loop);
	assert_string_equal(buf_text(&s.text), "mb");
	buf_free(&s.text);
}

static void take_bytes(void *ctx, unsigned what)
{
	struct story *s = ctx;
	char bytes[16];
	if (what == LOOP_WRITE) {
		buf_add_byte(&s->text, 'w');
		loop_io_want(s->loop, &s->io[0], s->fd[0], LOOP_READ);
		return;
	}
	ssize_t n = read(s->fd[0], bytes, sizeof bytes);
	buf_add_byte(&s->text, n > 0 ? 'r' : 'e');
	if (n <= 0)
		loop_io_end(&s->io[0]);
}

static struct story pair_new(void)
{
	struct story s = story_new(true);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s.fd), 0);
	return s;
}

static void descriptors_are_watched_for_what_is_wanted(void **state)
{
	(void)state;
	struct story s = pair_new();
	s.io[0] = (struct loop_io){.fn = take_bytes, .ctx = &s};
	loop_io_want(s.loop, &s.io[0], s.fd[0], 0);
	assert_int_equal(write(s.fd[1], "x", 1), 1);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "");
	loop_io_want(s.loop, &s.io[0], s.fd[0], LOOP_READ);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "r");
	loop_io_want(s.loop, &s.io[0], s.fd[0], LOOP_READ | LOOP_WRITE);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "rw");
	close(s.fd[1]);
	s.fd[1] = -1;
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "rwe");
	story_end(&s);
}

static void end_both(void *ctx, unsigned what)
{
	(void)what;
	struct story *s = ctx;
	buf_add_byte(&s->text, 'x');
	loop_io_end(&s->io[0]);
	loop_io_end(&s->io[1]);
}

static void a_callback_may_end_others_that_are_ready_too(void **state)
{
	(void)state;
	struct story s = pair_new();
	for (size_t i = 0; i < 2; i++) {
		s.io[i] = (struct loop_io){.fn = end_both, .ctx = &s};
		loop_io_want(s.loop, &s.io[i], s.fd[i], LOOP_READ | LOOP_WRITE);
		assert_int_equal(write(s.fd[i], "x", 1), 1);
	}
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "x");
	story_end(&s);
}

static void stop(void *ctx)
{
	loop_stop(ctx);
}

static void a_real_loop_runs_until_it_is_stopped(void **state)
{
	(void)state;
	struct story s = story_new(false);
	struct letter a = {&s, 'a'};
	struct err err;
	s.t[0] = (struct loop_timer){.fn = stop, .ctx = s.loop};
	s.t[1] = (struct loop_timer){.fn = say, .ctx = &a};
	int64_t before = loop_now_us(s.loop);
	loop_timer_in(s.loop, &s.t[0], 20 * US_PER_MS);
	loop_timer_every(s.loop, &s.t[1], 5 * US_PER_MS);
	assert_int_equal(loop_run(s.loop, &err), 0);
	assert_true(loop_now_us(s.loop) - before >= 20 * US_PER_MS);
	assert_true(s.text.n >= 1);
	story_end(&s);
}

struct posts {
	struct loop *loop;
	pthread_t thread;
	int got;
	bool ordered;
	struct posts *all;
};

enum { POSTERS = 3, POSTS = 5000 };

struct parcel {
	struct posts *from;
	int number;
};

static void receive(void *ctx)
{
	struct parcel *parcel = ctx;
	struct posts *p = parcel->from;
	p->ordered = p->ordered && parcel->number == p->got;
	p->got++;
	int sum = 0;
	for (int i = 0; i < POSTERS; i++)
		sum += p->all[i].got;
	if (sum == POSTERS * POSTS)
		loop_stop(p->loop);
	mem_free(&parcel);
}

static void *post_many(void *ctx)
{
	struct posts *p = ctx;
	for (int i = 0; i < POSTS; i++) {
		struct parcel *parcel = mem_alloc(sizeof *parcel);
		*parcel = (struct parcel){p, i};
		loop_post(p->loop, receive, parcel);
	}
	return NULL;
}

static void posts_of_other_threads_all_arrive_in_order(void **state)
{
	(void)state;
	struct story s = story_new(false);
	struct posts posts[POSTERS];
	struct err err;
	for (int i = 0; i < POSTERS; i++) {
		posts[i] = (struct posts){.loop = s.loop, .ordered = true, .all = posts};
		assert_int_equal(thread_start(&posts[i].thread, post_many, &posts[i], &err), 0);
	}
	assert_int_equal(loop_run(s.loop, &err), 0);
	for (int i = 0; i < POSTERS; i++) {
		pthread_join(posts[i].thread, NULL);
		assert_int_equal(posts[i].got, POSTS);
		assert_true(posts[i].ordered);
	}
	story_end(&s);
}

static void posts_left_when_the_loop_ends_are_dropped(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter a = {&s, 'a'}, b = {&s, 'b'};
	loop_post(s.loop, say, &a);
	loop_post(s.loop, say, &b);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "ab");
	loop_post(s.loop, say, &a);
	story_end(&s);
}

static void cancel_and_say(void *ctx)
{
	struct letter *a = ctx;
	loop_post_cancel(a->story->loop, a + 1);
	say(a);
}

static void what_was_posted_may_be_cancelled(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct letter l[] = {{&s, 'a'}, {&s, 'b'}, {&s, 'c'}};
	loop_post(s.loop, say, &l[0]);
	loop_post(s.loop, say, &l[1]);
	loop_post_cancel(s.loop, &l[1]);
	loop_post(s.loop, say, &l[2]);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "ac");
	loop_post(s.loop, cancel_and_say, &l[0]); /* while they are called */
	loop_post(s.loop, say, &l[1]);
	loop_post(s.loop, say, &l[2]);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "acac");
	loop_post(s.loop, say, &l[0]);
	loop_post_cancel(s.loop, &l[0]); /* all of them */
	loop_poll(s.loop);
	loop_post(s.loop, say, &l[0]);
	loop_poll(s.loop);
	assert_string_equal(buf_text(&s.text), "acaca");
	story_end(&s);
}

static void on_signal(void *ctx, int number)
{
	struct story *s = ctx;
	buf_printf(&s->text, "%s ", sigabbrev_np(number));
}

static void signals_reach_the_loop_that_asked(void **state)
{
	(void)state;
	struct story s = story_new(true);
	struct err err;
	assert_int_equal(loop_signal(s.loop, SIGUSR1, on_signal, &s, &err), 0);
	assert_int_equal(loop_signal(s.loop, SIGHUP, on_signal, &s, &err), 0);
	assert_int_equal(raise(SIGHUP), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	loop_step(s.loop, 1000);
	assert_int_equal(raise(SIGHUP), 0);
	loop_step(s.loop, 1000);
	assert_string_equal(buf_text(&s.text), "HUP USR1 HUP ");
	story_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_run_in_the_order_of_their_times),
		cmocka_unit_test(a_timer_can_be_moved_and_stopped),
		cmocka_unit_test(a_repeating_timer_keeps_its_beat),
		cmocka_unit_test(a_timer_set_by_itself_for_now_lets_descriptors_have_their_turn),
		cmocka_unit_test(deferred_calls_come_after_the_callback_and_before_the_next),
		cmocka_unit_test(what_a_deferred_call_defers_waits_for_the_next_round),
		cmocka_unit_test(a_deferred_call_can_be_cancelled_by_the_one_before_it),
		cmocka_unit_test(deferred_calls_are_made_before_the_loop_is_freed),
		cmocka_unit_test(descriptors_are_watched_for_what_is_wanted),
		cmocka_unit_test(a_callback_may_end_others_that_are_ready_too),
		cmocka_unit_test(a_real_loop_runs_until_it_is_stopped),
		cmocka_unit_test(posts_of_other_threads_all_arrive_in_order),
		cmocka_unit_test(posts_left_when_the_loop_ends_are_dropped),
		cmocka_unit_test(what_was_posted_may_be_cancelled),
		cmocka_unit_test(signals_reach_the_loop_that_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
