/* What is known of a URL, and what was decided about it, over a crawl that is played. */
#include "state/why.h"

#include "shepherd/code.h"
#include "unit/state/play_unit.h"

static struct play crawl_begin(const char *name)
{
	char folder[PATH_MAX];
	struct err err = {0};
	struct play p;
	snprintf(folder, sizeof folder, "%s/shepherd", scratch(name));
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	return p;
}

static struct why ask_within(const char *name, uint64_t page, uint64_t contribs,
			     struct arena *arena)
{
	char room[URL_MAX], text[PLAY_URL];
	struct err err = {0};
	struct url url;
	struct why why = {0};
	MUST(url_parse(play_url(page, text), NULL, room, sizeof room, &url));
	MUST(why_ask(scratch(name), &url, contribs, arena, &why, &err));
	return why;
}

static struct why ask(const char *name, uint64_t page, struct arena *arena)
{
	return ask_within(name, page, WHY_CONTRIBS, arena);
}

/* Three tries in three cycles, of which the last is open. */
static void decisions_come_from_all_states_the_newest_last(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(64 << 20);
	struct err err = {0};
	struct play p = crawl_begin("cycles");
	for (unsigned round = 1; round <= 3; round++) {
		MUST(round == 2 ? play_refresh(&p, 7, &err) : play_gather(&p, 7, round, &err));
		MUST(play_gather(&p, 20, round, &err));
		MUST(play_checkpoint(&p, &err));
		if (round == 3)
			break;
		MUST(play_cork(&p, &err));
		MUST(play_merge(&p, &err));
		MUST(play_begin(&p, &err));
	}
	struct why why = ask("cycles", 7, &arena);
	assert_int_equal(WHY_KNOWN, why.known);
	assert_int_equal(3, why.decisions);
	for (size_t i = 0; i < why.decisions; i++) {
		const struct why_decision *d = &why.decision[i];
		assert_int_equal(PHASE_REAP, d->by);
		assert_int_equal(ITEM_GATHERED, d->type);
		assert_int_equal(i == 1 ? CODE_NOT_MODIFIED : CODE_OK, d->code);
		assert_true(i == 0 || strcmp(d[-1].state, d->state) < 0);
	}
	assert_string_equal(why.state, why.decision[why.decisions - 1].state);
	assert_int_equal(why.last.time_us, why.decision[why.decisions - 1].time_us);
	assert_true(why.site_known);
	assert_true(str_is(why.site.host, "site0.example"));
	why = ask("cycles", 8, &arena); /* which the first merge added */
	assert_int_equal(1, why.decisions);
	assert_int_equal(PHASE_MERGE, why.decision->by);
	assert_int_equal(CHANGE_ADD, why.decision->op);
	assert_int_equal(0, ask("cycles", 30, &arena).decisions);
	play_close(&p);
	arena_free(&arena);
}

static void contributions_that_wait_are_looked_through_up_to_a_limit(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(64 << 20);
	struct err err = {0};
	struct play p = crawl_begin("waiting");
	for (uint64_t page = 0; page < 10; page++)
		MUST(play_gather(&p, 2 * page, 1, &err)); /* each finds the page after it */
	MUST(play_checkpoint(&p, &err));
	assert_int_equal(WHY_FOUND, ask("waiting", 19, &arena).known);
	assert_int_equal(0, ask("waiting", 19, &arena).passed);
	assert_int_equal(WHY_NEVER, ask("waiting", 21, &arena).known);
	assert_int_equal(0, ask("waiting", 21, &arena).passed);
	struct why why = ask_within("waiting", 19, 9, &arena);
	assert_int_equal(WHY_NEVER, why.known);
	assert_int_equal(9, why.passed);
	assert_int_equal(WHY_FOUND, ask_within("waiting", 19, 10, &arena).known);
	MUST(play_cork(&p, &err));
	assert_int_equal(WHY_FOUND, ask("waiting", 19, &arena).known);
	MUST(play_merge(&p, &err));
	assert_int_equal(WHY_KNOWN, ask("waiting", 19, &arena).known);
	play_close(&p);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions_come_from_all_states_the_newest_last),
		cmocka_unit_test(contributions_that_wait_are_looked_through_up_to_a_limit),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
