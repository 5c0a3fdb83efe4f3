/* Those who follow the crawl: how far they lag, and the locks that they leave. */
#include "base/fault.h"
#include "disk/tree.h"
#include "state/source_crawl.h"
#include "state/state_inner.h"
#include "unit/shepherd/crawl_lab.h"

#include <pthread.h>
#include <unistd.h>

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

/* Locks that have expired. The times are those of the play. */

static int clear(void **state)
{
	struct err err;
	(void)state;
	return tree_remove(scratch("locks"), &err) < 0 ||
	       tree_remove(scratch("garner.db"), &err) < 0;
}

static bool is_there(const char *who)
{
	struct err err = {0};
	struct state_lock lock = {.crawl = "locks"};
	snprintf(lock.who, sizeof lock.who, "%s", who);
	int rc = small_get_in(scratch_dir, &state_locks, &lock, &err);
	assert_true(rc >= 0);
	return rc == 0;
}

static int audit_at(struct states *s, int64_t now_us, struct err *err)
{
	const struct states_keep keep = {.closed = 1};
	unsigned deleted;
	return states_audit(s, &keep, now_us, &deleted, err);
}

static void a_lock_that_has_expired_is_removed(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	lab_make(&lab, "locks", NULL, 0, NULL, 0);
	MUST(states_lock(lab.s, "gone", state_name(lab.st), PLAY_START + 10, &err));
	MUST(states_lock(lab.s, "here", state_name(lab.st), PLAY_START + 20, &err));
	MUST(audit_at(lab.s, PLAY_START + 9, &err));
	assert_true(is_there("gone") && is_there("here"));
	MUST(audit_at(lab.s, PLAY_START + 10, &err));
	assert_false(is_there("gone"));
	assert_true(is_there("here"));
	MUST(states_lock(lab.s, "gone", state_name(lab.st), PLAY_START + 30, &err));
	assert_true(is_there("gone"));
	lab_free(&lab);
}

static void crawls_side_by_side_have_locks_of_their_own(void **state)
{
	(void)state;
	struct lab lab, other;
	struct err err = {0};
	lab_make(&lab, "locks", NULL, 0, NULL, 0);
	lab_make(&other, "others", NULL, 0, NULL, 0);
	MUST(states_lock(other.s, "reader", state_name(other.st), PLAY_START + 100, &err));
	assert_true(play_followed(other.s, PLAY_START));
	assert_false(play_followed(lab.s, PLAY_START));
	lab_free(&lab);
	lab_free(&other);
}

#ifdef GARNER_FAULTS
static void *audit_slowly(void *arg)
{
	struct err err = {0};
	MUST(audit_at(arg, PLAY_START + 10, &err));
	return NULL;
}

static void a_lock_that_is_renewed_while_it_is_removed_stays(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct states *reader = NULL;
	pthread_t thread;
	lab_make(&lab, "locks", NULL, 0, NULL, 0);
	MUST(states_open(&reader, scratch("locks"), false, &err));
	MUST(states_lock(reader, "reader", state_name(lab.st), PLAY_START + 10, &err));
	MUST(fault_arm("state.lock.expire=slow", &err));
	assert_int_equal(0, pthread_create(&thread, NULL, audit_slowly, lab.s));
	while (!fault_fired())
		usleep(100);
	MUST(states_lock(reader, "reader", state_name(lab.st), PLAY_START + 99, &err));
	pthread_join(thread, NULL);
	MUST(fault_arm("", &err));
	assert_true(is_there("reader"));
	assert_true(play_followed(lab.s, PLAY_START + 98));
	states_close(&reader);
	lab_free(&lab);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gives_no_sign_is_not_waited_for),
		cmocka_unit_test(a_follower_says_how_far_it_is),
		cmocka_unit_test_teardown(a_lock_that_has_expired_is_removed, clear),
		cmocka_unit_test_teardown(crawls_side_by_side_have_locks_of_their_own, clear),
#ifdef GARNER_FAULTS
		cmocka_unit_test_teardown(a_lock_that_is_renewed_while_it_is_removed_stays, clear),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
