/* cork and merge that are told to stop. */
#include "shepherd/crawl.h"

#include "state/recover.h"
#include "unit/shepherd/crawl_lab.h"

/* Many more than are worked through between two questions. */
enum { MANY = 20000, LATER = MANY + 100 };

/* Says yes at the last of so many questions. */
struct patience {
	unsigned left, asked;
};
static bool is_out_of_patience(void *ctx)
{
	struct patience *p = ctx;
	p->asked++;
	return p->left-- <= 1;
}

/* A corked or reaping state of many URLs, with as many entries of the journal. */
static void make_many(struct lab *lab, const char *name)
{
	struct index_item *items = calloc(MANY, sizeof *items);
	for (uint64_t page = 0; page < MANY; page++)
		items[page] = lab_item(page, ITEM_NEW);
	lab_make(lab, name, items, MANY, (uint64_t[]){0, LATER}, 2);
	free(items);
	lab_enter(lab, false, PHASE_REAP);
	for (uint64_t page = 0; page < MANY; page++)
		lab_journal(lab, page,
			    (struct journal_entry){.time_us = PLAY_START + US_PER_S,
						   .type = ITEM_ZOMBIE,
						   .code = 2404,
						   .where = ITEM_NOWHERE});
	lab_contrib(lab, LATER, 0);
}

static void a_cork_that_is_stopped_is_done_again(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	make_many(&lab, "stopped-cork");
	MUST(state_enter(lab.st, PHASE_CORK, NULL, PLAY_START, &err));
	for (unsigned n = 1; n <= 8; n++) { /* among the journal's entries and among the URLs */
		struct patience p = {n, 0};
		struct crawl c = lab_crawl(&conf);
		c.stopped = is_out_of_patience;
		c.ctx = &p;
		assert_int_equal(1, crawl_cork(lab.st, &c, &err));
		assert_int_equal(n, p.asked);
		assert_int_equal(ITEM_NEW, lab_find(&lab, MANY - 1).type);
	}
	struct crawl c = lab_crawl(&conf);
	MUST(crawl_cork(lab.st, &c, &err));
	for (uint64_t page = 0; page < MANY; page += 999)
		assert_int_equal(ITEM_ZOMBIE, lab_find(&lab, page).type);
	lab_free(&lab);
}

static void a_merge_that_is_stopped_is_done_again_by_the_next_start(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct recovery recovery = {0};
	struct merged merged;
	struct crawl_conf conf = lab_conf();
	struct patience p = {3, 0};
	conf.active_max = 10 * MANY;
	struct crawl c = lab_crawl(&conf);
	make_many(&lab, "stopped-merge");
	MUST(state_enter(lab.st, PHASE_CORK, NULL, PLAY_START, &err));
	MUST(crawl_cork(lab.st, &c, &err));
	MUST(state_enter(lab.st, PHASE_CORKED, NULL, PLAY_START, &err));
	lab_enter(&lab, true, PHASE_MERGE);
	c.stopped = is_out_of_patience;
	c.ctx = &p;
	assert_int_equal(1, crawl_merge(lab.st, &c, &merged, &err));
	c.stopped = NULL;
	assert_int_equal(3, p.asked);
	state_free(&lab.st);
	MUST(states_recover(lab.s, PLAY_START, &recovery, &err));
	recovery_free(&recovery);
	MUST(state_open(&lab.st, lab.s, "current", &err));
	assert_int_equal(PHASE_CORKED, state_phase(lab.st));
	lab_enter(&lab, true, PHASE_MERGE);
	MUST(crawl_merge(lab.st, &c, &merged, &err));
	assert_int_equal(1, merged.added);
	assert_true(lab_knows(&lab, LATER));
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cork_that_is_stopped_is_done_again),
		cmocka_unit_test(a_merge_that_is_stopped_is_done_again_by_the_next_start),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
