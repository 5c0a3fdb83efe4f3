/* Feeds and collection points: when they are asked, what their end and their failures mean, and
 * what expires. */
#include "broker/points.h"
#include "collecting.h"

enum { DAY_S = 86400, MANY = 1000, TOLD = 8 };
#define DAY_US (DAY_S * US_PER_S)

/* A collection point: tells what is on its stage, and ends as that says. */
enum ending { COMPLETES, BREAKS, WAITS };
struct stage {
	struct source_change told[TOLD];
	size_t n;
	size_t bad; /* objects that cannot be read, before the others */
	const char *bad_url;
	enum ending ending;
	unsigned opened, ended;    /* so often */
	struct source_cursor from; /* as it was opened last */
};

struct player {
	struct source source;
	struct stage *stage;
	size_t at, bad;
	bool complete;
};
static unsigned open_now, open_most; /* players */
static const struct source_ops player_ops;

static int player_open(struct source **ret, const void *store, const struct source_cursor *from,
		       struct err *e)
{
	struct player *p = mem_alloc(sizeof *p);
	(void)e;
	*p = (struct player){.source.ops = &player_ops, .stage = (struct stage *)store};
	p->stage->opened++;
	p->stage->from = *from;
	open_now++;
	open_most = MAX(open_most, open_now);
	*ret = &p->source;
	return 0;
}

static int player_next(struct source *source, struct arena *a, struct source_change *ret,
		       struct err *e)
{
	struct player *p = (struct player *)source;
	(void)a;
	if (p->bad < p->stage->bad) {
		if (p->stage->bad_url)
			ret->obj.url = str_of(p->stage->bad_url);
		return err_set(e, ERR_PARTLY, "object %zu was skipped", p->bad++);
	}
	if (p->at < p->stage->n) {
		*ret = p->stage->told[p->at++];
		return 0;
	}
	if (p->stage->ending == WAITS)
		return 2;
	if (p->stage->ending == BREAKS)
		return err_set(e, ERR_SYSTEM, "it broke off after %zu objects", p->at);
	p->stage->ended += !p->complete;
	p->complete = true;
	return 1;
}

/* As open() got it, until all was told. */
static void player_cursor(struct source *source, struct source_cursor *ret)
{
	const struct player *p = (struct player *)source;
	*ret = p->stage->from;
	if (p->complete)
		ret->b[0] = (uint8_t)p->stage->opened;
}

static int player_wait_fd(struct source *source)
{
	(void)source;
	return -1;
}

static void player_close(struct source **s)
{
	open_now--;
	mem_free(s);
}

static const struct source_ops player_ops = {.name = "player",
					     .open = player_open,
					     .next = player_next,
					     .cursor = player_cursor,
					     .wait_fd = player_wait_fd,
					     .close = player_close};

static struct stage stages[MANY];
static char names[MANY][32];
static struct collector_feed points[MANY];

static int64_t later_us; /* by the clock that the collector is told */

static int setup_points(void **state)
{
	memset(stages, 0, sizeof stages);
	open_now = open_most = 0;
	later_us = 0;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "gatherer%zu:8500", i);
		points[i] = (struct collector_feed){.name = names[i],
						    .ops = &player_ops,
						    .store = &stages[i],
						    .every_us = DAY_US,
						    .full = true};
	}
	return setup_closed(state);
}

static void begin_with(size_t n)
{
	options.feeds = points;
	options.n = n;
	begin();
}

static void put_thing(size_t i, const struct thing *t)
{
	stages[i].told[stages[i].n++] = change_of(t);
}
#define PUT(i, ...) put_thing(i, &(struct thing){.op = SOURCE_UPDATE, __VA_ARGS__})

static void collect_later(int64_t us)
{
	later_us += us;
	collect_at(clock_mono_us() + later_us);
}

static struct point_status status_of(size_t i)
{
	struct point_status *all, one;
	size_t n;
	collect_later(2 * US_PER_S); /* it is written about once a second */
	assert_int_equal(points_load(data, &all, &n, &err), 0);
	assert_true(i < n);
	one = all[i];
	mem_free(&all);
	return one;
}

/* Full collections */

static void a_full_collection_drops_what_was_not_told_again_and_nothing_of_others(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	PUT(1, .gatherer = "other", .url = "http://b/1", .text = "apple");
	begin_with(2);
	collect();
	assert_int_equal(found("apple", "", NULL), 3);
	stages[0].n = 1;
	collect_later(DAY_US);
	assert_int_equal(stages[0].ended, 2);
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(found("apple", "b", NULL), 1);
	assert_int_equal(objects_there(), 2);
	assert_int_equal(kept(), 2);
	stages[0].n = 0;
	again(); /* what was told before the restart counts too */
	collect_later(0);
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(found("apple", "b", NULL), 1);
}

static void what_another_point_told_last_is_that_points(void **state)
{
	struct thing t = {.op = SOURCE_UPDATE, .url = "http://a/1", .text = "apple"};
	(void)state;
	t.time_s = time_s;
	put_thing(0, &t);
	put_thing(1, &t);
	stages[1].ending = BREAKS; /* after having told it */
	begin_with(2);
	collect();
	stages[1].ending = COMPLETES;
	stages[0].n = 0;
	collect_later(DAY_US);
	assert_int_equal(found("apple", "", NULL), 1);
	stages[1].n = 0;
	collect_later(DAY_US);
	assert_int_equal(found("apple", "", NULL), 0);
}

static void a_stream_that_breaks_off_drops_nothing_and_moves_no_cursor(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	points[0].full = false;
	begin_with(1);
	collect();
	struct source_cursor none = {0}, good = {{1}};
	assert_memory_equal(&stages[0].from, &none, sizeof none);
	stages[0].n = 1;
	stages[0].ending = BREAKS;
	collect_later(DAY_US);
	assert_memory_equal(&stages[0].from, &good, sizeof good); /* where the first one ended */
	assert_int_equal(found("apple", "", NULL), 2);
	again();
	collect_later(0);
	assert_memory_equal(&stages[0].from, &good, sizeof good);
	assert_int_equal(found("apple", "", NULL), 2);
	points[0].full = true;
	again();
	collect_later(0);
	assert_memory_equal(&stages[0].from, &none, sizeof none);
	assert_int_equal(found("apple", "", NULL), 2);
	stages[0].ending = COMPLETES;
	collect_later(DAY_US);
	assert_int_equal(found("apple", "", NULL), 1);
}

/* The first collection broke off, so that the point is not new any more. */
static void what_a_first_collection_told_in_vain_goes_with_the_next(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	stages[0].ending = BREAKS;
	begin_with(1);
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	stages[0].ending = COMPLETES;
	stages[0].n = 1;
	collect_later(DAY_US);
	assert_int_equal(found("apple", "", NULL), 1);
}

static void a_point_that_waits_is_not_at_its_end(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	begin_with(1);
	collect();
	stages[0].n = 0;
	stages[0].ending = WAITS;
	collect_later(DAY_US);
	collect_later(DAY_US);
	assert_int_equal(stages[0].opened, 2);
	assert_int_equal(status_of(0).state, POINT_RUNS);
	assert_int_equal(found("apple", "", NULL), 1);
	PUT(0, .url = "http://a/2", .text = "apple");
	stages[0].ending = COMPLETES;
	collect_later(0);
	assert_int_equal(stages[0].opened, 2);
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(registered("tester", "http://a/2", &(struct registry_object){0}), 0);
}

static void objects_that_were_skipped_do_not_end_a_collection(void **state)
{
	(void)state;
	stages[0].bad = 5;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .gatherer = "", .url = "http://a/2", .text = "apple");
	begin_with(1);
	collect();
	assert_int_equal(stages[0].ended, 1);
	assert_int_equal(found("apple", "", NULL), 1);
	struct point_status status = status_of(0);
	assert_int_equal(status.state, POINT_GOOD);
	assert_int_equal(status.objects, 2);
	assert_int_equal(status.bad, 6);
}

static void what_a_full_collection_told_badly_stays_as_it_was(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	PUT(0, .url = "http://a/3", .text = "apple");
	begin_with(1);
	collect();
	assert_int_equal(found("apple", "", NULL), 3);
	stages[0].n = 0;
	PUT(0, .gatherer = "", .url = "http://a/1", .text = "plum"); /* refused */
	stages[0].bad = 1;
	stages[0].bad_url = "http://a/2";
	collect_later(DAY_US);
	assert_str(shown("http://a/1"), "apple");
	assert_str(shown("http://a/2"), "apple");
	assert_str(shown("http://a/3"), "");
	stages[0].n = stages[0].bad = 0;
	collect_later(DAY_US);
	assert_int_equal(objects_there(), 0);
}

static void a_full_collection_that_skipped_what_has_no_url_drops_nothing(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	begin_with(1);
	collect();
	stages[0].n = stages[0].bad = 1;
	collect_later(DAY_US);
	assert_int_equal(stages[0].ended, 2);
	assert_int_equal(found("apple", "", NULL), 2);
	stages[0].bad = 0;
	collect_later(DAY_US);
	assert_int_equal(found("apple", "", NULL), 1);
}

/* When */

static void after_failures_a_point_is_asked_later_and_later(void **state)
{
	static const int64_t waits_s[] = {60, 120, 240, 480};
	(void)state;
	stages[0].ending = BREAKS;
	begin_with(1);
	for (size_t i = 0; i < ARRAY_LEN(waits_s); i++) {
		int64_t before_us = clock_wall_us();
		collect_later(i ? waits_s[i - 1] * US_PER_S : 0);
		assert_int_equal(stages[0].opened, i + 1);
		struct point_status status = status_of(0);
		assert_int_equal(status.state, POINT_FAILED);
		assert_non_null(strstr(status.text, "broke off"));
		assert_in_range(status.next_us, before_us + waits_s[i] * US_PER_S,
				clock_wall_us() + waits_s[i] * US_PER_S);
	}
	stages[0].ending = COMPLETES;
	collect_later(480 * US_PER_S);
	assert_int_equal(status_of(0).state, POINT_GOOD);
	collect_later(DAY_US - 60 * US_PER_S);
	assert_int_equal(stages[0].opened, 5);
	collect_later(60 * US_PER_S);
	assert_int_equal(stages[0].opened, 6);
}

static void of_a_thousand_points_sixteen_are_asked_at_a_time(void **state)
{
	unsigned asked = 0;
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		PUT(i, .url = arena_printf(&arena, "http://p%zu/", i), .text = "apple");
	for (size_t i = 0; i < COLLECTOR_OPEN - 1; i++)
		stages[i * 7].ending = WAITS; /* for ever; they hold up nobody */
	begin_with(MANY);
	for (size_t i = 0; i < MANY && found("apple", "", NULL) < MANY; i++)
		collect();
	for (size_t i = 0; i < MANY; i++)
		asked += stages[i].opened == 1;
	assert_int_equal(asked, MANY);
	assert_int_equal(open_most, COLLECTOR_OPEN);
	assert_int_equal(open_now, COLLECTOR_OPEN - 1);
	assert_int_equal(found("apple", "", NULL), MANY);
}

static void points_that_never_end_make_room_for_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * COLLECTOR_OPEN; i++)
		stages[i].ending = WAITS;
	PUT(2 * COLLECTOR_OPEN, .url = "http://a/", .text = "apple");
	begin_with(2 * COLLECTOR_OPEN + 1);
	collect();
	assert_int_equal(open_now, COLLECTOR_OPEN);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(found("apple", "", NULL), 0);
		assert_true(collector_due_us(collector) <
			    clock_mono_us() + later_us + COLLECTOR_SLOW_US);
		collect_later(COLLECTOR_SLOW_US);
	}
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(open_now, 2 * COLLECTOR_OPEN);
}

static void points_that_never_end_are_not_too_many(void **state)
{
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		stages[i].ending = WAITS;
	begin_with(MANY);
	for (int i = 0; i < COLLECTOR_OPEN_MOST / COLLECTOR_OPEN + 3; i++)
		collect_later(COLLECTOR_SLOW_US);
	assert_int_equal(open_now, COLLECTOR_OPEN_MOST);
}

static void without_collecting_points_are_not_asked_and_sources_are_followed(void **state)
{
	static struct collector_feed both[2]; /* outlives the collector */
	(void)state;
	both[0] = feed;
	both[1] = points[0];
	options.feeds = both;
	options.n = 2;
	options.no_collect = true;
	PUT(0, .url = "http://a/1", .text = "apple");
	begin();
	tell(SOURCE_UPDATE, "http://b/1", "", "pear");
	collect();
	collect_later(DAY_US);
	assert_int_equal(stages[0].opened, 0);
	assert_int_equal(found("pear", "", NULL), 1);
	assert_int_equal(status_of(1).state, POINT_NEVER);
}

/* Also where the first try fails, and where the process ends before the second. */
static void forgotten_cursors_stay_so_until_all_was_told(void **state)
{
	struct source_cursor none = {0};
	(void)state;
	points[0].full = false;
	PUT(0, .url = "http://a/1", .text = "apple");
	PUT(0, .url = "http://a/2", .text = "apple");
	begin_with(1);
	collect();
	collector_close(&collector);
	stages[0].n = 1;
	stages[0].ending = BREAKS;
	options.forget = true;
	begin();
	collect();
	assert_memory_equal(&stages[0].from, &none, sizeof none);
	collect_later(DAY_US);
	assert_memory_equal(&stages[0].from, &none, sizeof none);
	assert_int_equal(found("apple", "", NULL), 2);
	collector_close(&collector);
	options.forget = false;
	stages[0].ending = COMPLETES;
	begin();
	collect();
	assert_memory_equal(&stages[0].from, &none, sizeof none);
	assert_int_equal(found("apple", "", NULL), 1);
	collect_later(DAY_US);
	assert_int_equal(stages[0].from.b[0], stages[0].opened - 1);
}

/* Expiry */

static void look_for_expired(void)
{
	collector_expire(collector);
	collect_later(0);
}

static void what_has_expired_goes_unless_it_was_refreshed(void **state)
{
	struct registry_object object;
	uint32_t long_ago_s = time_s - 40 * DAY_S;
	(void)state;
	begin();
	TELL(.op = SOURCE_UPDATE, .url = "http://a/1", .time_s = long_ago_s, .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/2", .time_s = long_ago_s, .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/3", .time_s = long_ago_s,
	     .time_to_live_s = 50 * DAY_S, .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/4", .text = "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 4);
	TELL(.op = SOURCE_REFRESH, .url = "http://a/2"); /* in the same step as the look */
	look_for_expired();
	assert_int_equal(registered("tester", "http://a/1", &object), 1);
	assert_int_equal(registered("tester", "http://a/2", &object), 0);
	assert_int_equal(found("apple", "", NULL), 3);
	assert_int_equal(kept(), 3);
}

static void what_had_expired_and_is_refreshed_is_told_again(void **state)
{
	struct registry_object object;
	(void)state;
	begin();
	TELL(.op = SOURCE_UPDATE, .url = "http://a/1", .time_s = time_s - 40 * DAY_S,
	     .text = "apple");
	collect();
	look_for_expired();
	assert_int_equal(registered("tester", "http://a/1", &object), 1);
	TELL(.op = SOURCE_REFRESH, .url = "http://a/1");
	collect_later(0);
	assert_int_equal(found("apple", "", NULL), 0); /* not so soon */
	collect_later(120 * US_PER_S);
	collect_later(120 * US_PER_S);
	assert_int_equal(registered("tester", "http://a/1", &object), 0);
	assert_int_equal(found("apple", "", NULL), 1);
}

static void a_point_that_refreshed_what_is_not_there_is_asked_for_all_after_a_restart(void **state)
{
	static const struct source_cursor none;
	(void)state;
	points[0].full = false;
	PUT(0, .url = "http://a/1", .text = "apple");
	begin_with(1);
	collect();
	stages[0].n = 0;
	put_thing(0, &(struct thing){.op = SOURCE_REFRESH, .url = "http://a/2"});
	collect_later(DAY_US);
	assert_memory_not_equal(&stages[0].from, &none, sizeof none);
	again();
	collect_later(0);
	assert_int_equal(stages[0].opened, 3);
	assert_memory_equal(&stages[0].from, &none, sizeof none);
}

static void what_a_point_tells_after_it_has_expired_is_not_taken(void **state)
{
	struct registry_object object;
	(void)state;
	PUT(0, .url = "http://a/1", .time_s = time_s - 40 * DAY_S, .text = "apple");
	PUT(0, .url = "http://a/2", .time_s = time_s - 40 * DAY_S, .time_to_live_s = 50 * DAY_S,
	    .text = "apple");
	begin_with(1);
	collect();
	assert_int_equal(registered("tester", "http://a/1", &object), 1);
	assert_int_equal(registered("tester", "http://a/2", &object), 0);
	assert_int_equal(status_of(0).bad, 0);
	stages[0].n = 0;
	PUT(0, .url = "http://a/1", .text = "apple");
	collect_later(DAY_US);
	assert_str(shown("http://a/1"), "apple");
}

static void a_twin_takes_over_what_has_expired(void **state)
{
	uint32_t long_ago_s = time_s - 40 * DAY_S;
	struct str first;
	(void)state;
	begin();
	TELL(.op = SOURCE_UPDATE, .url = "http://a/1", .time_s = long_ago_s, .md5 = md5_of('1'),
	     .text = "apple");
	TELL(.op = SOURCE_UPDATE, .url = "http://a/2", .md5 = md5_of('1'), .text = "apple");
	collect();
	look_for_expired();
	assert_int_equal(found("apple", "", &first), 1);
	assert_str(first, "http://a/2");
}

static void a_point_is_asked_early_when_its_objects_are_to_be_refreshed(void **state)
{
	(void)state;
	PUT(0, .url = "http://a/1", .time_s = time_s - 100, .refresh_rate_s = 10, .text = "apple");
	PUT(1, .gatherer = "b", .url = "http://b/1", .refresh_rate_s = DAY_S, .text = "apple");
	begin_with(2);
	collect();
	look_for_expired();
	collect_later(0);
	assert_int_equal(stages[0].opened, 1); /* it was just asked */
	collect_later(2 * 3600 * US_PER_S);
	look_for_expired();
	collect_later(0);
	assert_int_equal(stages[0].opened, 2);
	assert_int_equal(stages[1].opened, 1);
}

#define WITH_POINTS(name) cmocka_unit_test_setup_teardown(name, setup_points, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_POINTS(a_full_collection_drops_what_was_not_told_again_and_nothing_of_others),
		WITH_POINTS(what_another_point_told_last_is_that_points),
		WITH_POINTS(a_stream_that_breaks_off_drops_nothing_and_moves_no_cursor),
		WITH_POINTS(what_a_first_collection_told_in_vain_goes_with_the_next),
		WITH_POINTS(a_point_that_waits_is_not_at_its_end),
		WITH_POINTS(objects_that_were_skipped_do_not_end_a_collection),
		WITH_POINTS(what_a_full_collection_told_badly_stays_as_it_was),
		WITH_POINTS(a_full_collection_that_skipped_what_has_no_url_drops_nothing),
		WITH_POINTS(after_failures_a_point_is_asked_later_and_later),
		WITH_POINTS(of_a_thousand_points_sixteen_are_asked_at_a_time),
		WITH_POINTS(points_that_never_end_make_room_for_others),
		WITH_POINTS(points_that_never_end_are_not_too_many),
		WITH_POINTS(without_collecting_points_are_not_asked_and_sources_are_followed),
		WITH_POINTS(forgotten_cursors_stay_so_until_all_was_told),
		WITH_POINTS(what_has_expired_goes_unless_it_was_refreshed),
		WITH_POINTS(what_had_expired_and_is_refreshed_is_told_again),
		WITH_POINTS(
			a_point_that_refreshed_what_is_not_there_is_asked_for_all_after_a_restart),
		WITH_POINTS(what_a_point_tells_after_it_has_expired_is_not_taken),
		WITH_POINTS(a_twin_takes_over_what_has_expired),
		WITH_POINTS(a_point_is_asked_early_when_its_objects_are_to_be_refreshed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
