/* cleanup over a crawl that was played. */
#include "shepherd/crawl.h"

#include "bucket/bucket_shake.h"
#include "unit/shepherd/crawl_lab.h"

static void cleanup_keeps_what_the_index_names_and_nothing_else(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct bucket_shaken shaken;
	const char *folder = scratch("cleanup");
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(play_open(&p, folder, PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	for (uint64_t version = 1; version <= 3; version++)
		for (uint64_t page = 0; page < 30; page++)
			MUST(play_gather(&p, page, version, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	struct state *closed = NULL, *st = NULL;
	state_free(&p.st);
	MUST(state_open(&closed, p.s, "current", &err));
	MUST(state_clone(&st, closed, false, p.now_us + US_PER_S, &err));
	MUST(state_enter(st, PHASE_CLEANUP, NULL, p.now_us, &err));
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	c.buckets = p.buckets;
	MUST(crawl_cleanup(st, &c, &shaken, &err));
	assert_int_equal(60, shaken.dropped);
	MUST(state_enter(st, PHASE_CLOSED, p.buckets, p.now_us, &err));
	const struct url_index *index;
	MUST(state_index(st, &index, &err));
	for (uint64_t page = 0; page < 30; page++) {
		struct attrs header = {0}, body = {0};
		struct index_item item;
		MUST(url_index_find(index, play_footprint(page), &item, &err));
		MUST(bucket_get(p.buckets, p.packer, (uint32_t)item.where, &p.arena, &header, &body,
				&err));
		assert_true(str_eq(play_text(&p.arena, page, 3), attrs_get(&body, 'X')));
	}
	/* the page after the last one has no bucket, and stays known */
	struct index_item item;
	MUST(url_index_find(index, play_footprint(30), &item, &err));
	state_free(&st);
	state_free(&closed);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cleanup_keeps_what_the_index_names_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
