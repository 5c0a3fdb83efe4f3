/* How far those who follow the crawl are behind it. */
#include "shepherd/source_crawl.h"
#include "unit/shepherd/crawl_lab.h"

static void who_gives_no_sign_is_not_waited_for(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	int64_t now_us = clock_wall_us();
	lab_make(&lab, "signs", NULL, 0, NULL, 0);
	assert_int_equal(0, state_behind_us(lab.st, now_us, now_us)); /* there is nobody */
	states_follower_is_at(lab.s, "nobody", 1);
	assert_int_equal(0, state_behind_us(lab.st, now_us, now_us));
	MUST(states_lock(lab.s, "one", state_name(lab.st), now_us + US_PER_DAY, &err));
	MUST(states_lock(lab.s, "two", state_name(lab.st), now_us + US_PER_DAY, &err));
	states_follower_is_at(lab.s, "one", now_us - 3 * US_PER_S);
	states_follower_is_at(lab.s, "two", now_us - 7 * US_PER_S);
	assert_int_equal(7 * US_PER_S, state_behind_us(lab.st, now_us, now_us));
	assert_int_equal(0, state_behind_us(lab.st, now_us - 8 * US_PER_S, now_us));
	states_follower_is_at(lab.s, "two", 0);
	assert_int_equal(3 * US_PER_S, state_behind_us(lab.st, now_us, now_us));
	/* much later neither has moved */
	assert_int_equal(0, state_behind_us(lab.st, now_us, clock_wall_us() + 60 * US_PER_S));
	lab_free(&lab);
}

static void a_follower_says_how_far_it_is(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source *s = NULL;
	const struct source_cursor beginning = {0};
	struct source_change change;
	struct source_crawl store = {.folder = scratch("follow"), .follower = "reader"};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	int rc;
	MUST(states_init(store.folder, 0, PLAY_START, &err));
	MUST(play_open(&p, store.folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	for (uint64_t page = 0; page < 5; page++)
		MUST(play_gather(&p, page, 1, &err));
	MUST(play_checkpoint(&p, &err));
	MUST(source_crawl_ops.open(&s, &store, &beginning, &err));
	MUST(source_next(s, &arena, &change, &err));
	/* the first of five pages, a second each */
	assert_int_equal(4 * US_PER_S, state_behind_us(p.st, p.now_us, clock_wall_us()));
	while ((rc = source_next(s, &arena, &change, &err)) == 0)
		;
	assert_int_equal(1, rc);
	assert_int_equal(0, state_behind_us(p.st, p.now_us, clock_wall_us()));
	source_close(&s);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gives_no_sign_is_not_waited_for),
		cmocka_unit_test(a_follower_says_how_far_it_is),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
