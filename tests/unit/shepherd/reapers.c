/* The set of reapers: who gets the next job, when the local one takes part, and what is left after
 * a kill. */
#include "shepherd/reap/reapers.h"

#include "disk/lock.h"
#include "unit/shepherd/reapd_lab.h"

enum { REAPDS = 3 };

/* A master with its own reaper, and reapds. */
struct crew {
	struct world reapd[REAPDS];
	struct field local;
	const char *address[REAPDS];
	struct crawl_conf conf;
	struct reapers *reapers;
	unsigned rooms;
	char data[300];
};

static void crew_room(void *ctx, struct reaper *r)
{
	(void)r;
	((struct crew *)ctx)->rooms++;
}

static const struct reaper_host *crew_host(struct crew *c)
{
	struct world *w = &c->reapd[0];
	w->host.room = crew_room;
	return &w->host;
}

static void crew_settle(struct crew *c, int64_t us)
{
	struct loop *loop = c->reapd[0].loop;
	loop_step(loop, loop_now_us(loop) + us);
	settle(&c->reapd[0]);
}

static void crew_start(struct crew *c)
{
	struct err err = {0};
	struct world *w = &c->reapd[0];
	const struct reapers_options options = {
		.loop = w->loop,
		.conf = &c->conf,
		.data = c->data,
		.polite = w->polite,
		.local = &c->local.reaper,
		.host = crew_host(c),
	};
	MUST(reapers_new(&c->reapers, &options, &err));
	MUST(reapers_begin(c->reapers, NULL, &err));
}

static void crew_make(struct crew *c, size_t up)
{
	static unsigned number;
	struct err err = {0};
	char name[32], run[400];
	*c = (struct crew){.local = {.room = 1000, .report = -1}};
	c->local.reaper = (struct reaper){.ops = &field_ops, .name = "local"};
	for (size_t i = 0; i < REAPDS; i++) {
		world_make(&c->reapd[i], true, i ? c->reapd[0].loop : NULL);
		c->address[i] = c->reapd[i].address;
		c->reapd[i].field.room = 1000;
		if (i < up)
			world_reapd(&c->reapd[i]);
	}
	snprintf(name, sizeof name, "data%u", ++number);
	snprintf(c->data, sizeof c->data, "%s", scratch(name));
	snprintf(run, sizeof run, "%s/run", c->data);
	MUST(dir_make(run, DIR_MODE, &err));
	c->conf = (struct crawl_conf){.reapers = {c->address, REAPDS},
				      .reapers_wait_us = 10 * US_PER_S,
				      .reaper_penalty_us = PENALTY_US,
				      .lease_us = LEASE_US};
}

static void crew_free(struct crew *c)
{
	reapers_free(&c->reapers);
	crew_settle(c, 0);
	for (size_t i = REAPDS; i-- > 0;)
		world_free(&c->reapd[i]);
	arena_free(&c->local.arena);
}

/* Who is chosen; -1: nobody, 0: the local one, else the number of the reapd. */
static int chosen(struct crew *c)
{
	struct reaper *r;
	if (reapers_choose(c->reapers, &r) != 0)
		return -1;
	for (size_t i = 0; i < REAPDS; i++)
		if (strcmp(r->name, c->address[i]) == 0)
			return (int)i + 1;
	assert_string_equal(r->name, "local");
	return 0;
}

static void equal_reapds_get_equal_shares(void **state)
{
	(void)state;
	struct crew c;
	unsigned got[REAPDS + 1] = {0};
	crew_make(&c, REAPDS);
	crew_start(&c);
	crew_settle(&c, 0);
	for (int i = 0; i < 3000; i++)
		got[chosen(&c)]++;
	assert_int_equal(got[0], 0);
	for (size_t i = 1; i <= REAPDS; i++)
		assert_in_range(got[i], 999, 1001);
	crew_free(&c);
}

static struct reaper *remote_of_crew(struct crew *c, int which)
{
	struct reaper *r;
	for (int i = 0; i < 1000; i++)
		if (reapers_choose(c->reapers, &r) == 0 && strcmp(r->name, c->address[which]) == 0)
			return r;
	fail_msg("reapd %d never comes", which);
	return NULL;
}

/* Small differences are chance, and so are those of reapds with little to do; a third and more is
 * speed where they have; who comes late is owed nothing. */
static void faster_reapds_get_more(void **state)
{
	(void)state;
	struct crew c;
	unsigned got[REAPDS + 1] = {0};
	crew_make(&c, 2);
	crew_start(&c);
	crew_settle(&c, 0);
	struct reaper *one = remote_of_crew(&c, 0), *two = remote_of_crew(&c, 1);
	one->counts.round_us = 100 * US_PER_MS;
	two->counts.round_us = 120 * US_PER_MS;
	for (int i = 0; i < 1000; i++)
		got[chosen(&c)]++;
	assert_in_range(got[1], 499, 501);
	two->counts.round_us = 300 * US_PER_MS;
	memset(got, 0, sizeof got);
	for (int i = 0; i < 1000; i++)
		got[chosen(&c)]++;
	assert_in_range(got[1], 499, 501);
	one->counts.out = two->counts.out = one->ops->room(one) / 2;
	memset(got, 0, sizeof got);
	for (int i = 0; i < 4000; i++)
		got[chosen(&c)]++;
	assert_in_range(got[1], 2990, 3010); /* 200/100 and 200/300 of the mean */
	world_reapd(&c.reapd[2]);
	crew_settle(&c, 20 * US_PER_S);
	memset(got, 0, sizeof got);
	for (int i = 0; i < 100; i++)
		got[chosen(&c)]++;
	assert_in_range(got[3], 20, 40);
	crew_free(&c);
}

static void the_local_one_takes_over_and_hands_back(void **state)
{
	(void)state;
	struct crew c;
	crew_make(&c, 0);
	crew_start(&c);
	crew_settle(&c, 0);
	assert_int_equal(chosen(&c), -1);
	assert_int_equal(reapers_room(c.reapers), 0);
	crew_settle(&c, 9 * US_PER_S);
	assert_int_equal(chosen(&c), -1);
	c.rooms = 0;
	crew_settle(&c, 1 * US_PER_S);
	assert_true(c.rooms > 0); /* somebody who waits is told */
	assert_int_equal(chosen(&c), 0);
	world_reapd(&c.reapd[1]);
	crew_settle(&c, 20 * US_PER_S);
	assert_int_equal(chosen(&c), 2);
	c.conf.local = CRAWL_LOCAL_ALWAYS;
	bool seen = false;
	for (int i = 0; i < 1000 && !seen; i++)
		seen = chosen(&c) == 0;
	assert_true(seen);
	reapd_server_free(&c.reapd[1].server);
	close(c.reapd[1].listen_fd);
	c.reapd[1].listen_fd = 0;
	c.conf.local = CRAWL_LOCAL_NEVER;
	crew_settle(&c, 60 * US_PER_S);
	assert_int_equal(chosen(&c), -1);
	crew_free(&c);
}

static size_t load_status(struct crew *c, struct arena *arena, struct reaper_status **ret)
{
	struct err err = {0};
	size_t n = 0;
	struct lock lock;
	char folder[320];
	snprintf(folder, sizeof folder, "%s/shepherd", c->data);
	MUST(lock_take(&lock, folder, &err));
	MUST(reapers_load(c->data, arena, ret, &n, &err));
	lock_free(&lock);
	/* as after a kill */
	struct reaper_status *none;
	size_t no;
	assert_int_equal(1, reapers_load(c->data, arena, &none, &no, &err));
	return n;
}

static void the_rows_say_who_there_is(void **state)
{
	(void)state;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct crew c;
	struct reaper_status *list;
	struct err err = {0};
	size_t n;
	crew_make(&c, 1);
	crew_start(&c);
	crew_settle(&c, 0);
	struct reaper *one = remote_of_crew(&c, 0);
	one->counts.documents = 77;
	crew_settle(&c, US_PER_S);
	assert_int_equal(load_status(&c, &arena, &list), REAPDS + 1);
	assert_string_equal(list[0].name, "local");
	assert_string_equal(list[0].state, "waits");
	assert_string_equal(list[1].name, c.address[0]);
	assert_string_equal(list[1].state, "up");
	assert_string_equal(list[2].state, "away");
	assert_int_equal(list[1].documents, 77);
	reapers_free(&c.reapers);
	assert_int_equal(1, reapers_load(c.data, &arena, &list, &n, &err));
	crew_free(&c);
}

/* What a kill would leave: the database as it is now, put back after an orderly end. */
static void leave_mark(struct crew *c)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20), log = BUF_INIT(1 << 23);
	struct err err = {0};
	char path[400], wal[410];
	snprintf(path, sizeof path, "%s/garner.db", c->data);
	snprintf(wal, sizeof wal, "%s-wal", path);
	MUST(file_slurp(path, &bytes, &err));
	MUST(file_slurp(wal, &log, &err));
	reapers_free(&c->reapers);
	crew_settle(c, 0);
	MUST(file_replace(path, buf_str(&bytes), 0600, &err));
	MUST(file_replace(wal, buf_str(&log), 0600, &err));
}

static void after_a_kill_nobody_gets_a_job_for_the_lease(void **state)
{
	(void)state;
	struct crew c;
	crew_make(&c, REAPDS);
	crew_start(&c);
	crew_settle(&c, 0);
	assert_true(chosen(&c) > 0);
	leave_mark(&c);
	c.conf.local = CRAWL_LOCAL_ALWAYS;
	c.conf.lease_us = US_PER_S; /* what was out then was out for the old one */
	crew_start(&c);
	crew_settle(&c, LEASE_US - 1);
	assert_int_equal(chosen(&c), -1);
	size_t reapds = c.conf.reapers.n;
	c.conf.reapers.n = 0; /* neither does a start that has none any more, and is killed too */
	leave_mark(&c);       /* an orderly end in between changes nothing */
	crew_start(&c);
	crew_settle(&c, 1);
	assert_int_equal(chosen(&c), -1);
	leave_mark(&c);
	c.conf.reapers.n = reapds;
	crew_start(&c);
	crew_settle(&c, LEASE_US - 1);
	assert_int_equal(chosen(&c), -1);
	c.rooms = 0;
	crew_settle(&c, 1);
	assert_true(c.rooms > 0);
	assert_true(chosen(&c) >= 0);
	crew_free(&c);
}

/* With a local reaper alone nothing can be out anywhere. */
static void a_kill_without_reapds_costs_no_rest(void **state)
{
	(void)state;
	struct crew c;
	crew_make(&c, 0);
	c.conf.reapers.n = 0;
	crew_start(&c);
	assert_int_equal(chosen(&c), 0);
	leave_mark(&c);
	crew_start(&c);
	assert_int_equal(chosen(&c), 0);
	crew_free(&c);
}

/* Nobody knows any more whether jobs were out. */
static void after_damage_nobody_gets_a_job_for_the_lease(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20);
	struct crew c;
	struct err err = {0};
	char path[400];
	crew_make(&c, REAPDS);
	crew_start(&c);
	crew_settle(&c, 0);
	reapers_free(&c.reapers);
	snprintf(path, sizeof path, "%s/garner.db", c.data);
	MUST(file_slurp(path, &bytes, &err));
	MUST(file_replace(path, str_head(buf_str(&bytes), 5000), 0600, &err));
	crew_start(&c);
	crew_settle(&c, LEASE_US - 1);
	assert_int_equal(chosen(&c), -1);
	crew_settle(&c, 1);
	assert_true(chosen(&c) >= 0);
	reapers_free(&c.reapers);
	crew_start(&c); /* the rest is over, and is not begun again */
	crew_settle(&c, 0);
	assert_true(chosen(&c) >= 0);
	crew_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_reapds_get_equal_shares),
		cmocka_unit_test(faster_reapds_get_more),
		cmocka_unit_test(the_local_one_takes_over_and_hands_back),
		cmocka_unit_test(the_rows_say_who_there_is),
		cmocka_unit_test(after_a_kill_nobody_gets_a_job_for_the_lease),
		cmocka_unit_test(a_kill_without_reapds_costs_no_rest),
		cmocka_unit_test(after_damage_nobody_gets_a_job_for_the_lease),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
