#include "cache/uns/uns_spool.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"

#include <errno.h>
#include <stdio.h>

struct spooling {
	struct loop *loop;
	struct pool *pool;
	struct uns_spools *all;
	struct uns_spool *spool;
	unsigned moved;
};

static void on_moved(void *ctx)
{
	struct spooling *s = ctx;
	s->moved++;
}

static void spooling_open(struct spooling *s, uint64_t budget)
{
	const struct pool_options options = {.threads = 2};
	struct err err = {0};
	*s = (struct spooling){0};
	assert_int_equal(loop_new(&s->loop, NULL, &err), 0);
	assert_int_equal(pool_new(&s->pool, &options, &err), 0);
	s->all = uns_spools_new(s->loop, s->pool, scratch_dir, budget);
	s->spool = uns_spool_new(s->all, on_moved, s);
}

static void spooling_close(struct spooling *s)
{
	uns_spool_free(&s->spool);
	pool_free(&s->pool);
	loop_poll(s->loop);
	assert_int_equal(uns_spools_held(s->all), 0);
	uns_spools_free(&s->all);
	loop_free(&s->loop);
}

static void wait_moved(struct spooling *s)
{
	unsigned before = s->moved;
	while (s->moved == before) {
		usleep(100);
		loop_poll(s->loop);
	}
}

static void add_notice(struct spooling *s, size_t i)
{
	char c[64];
	struct notice n = {.mime = STR("text/plain"), .has = NOTICE_HAS_SIZE, .size = i * 7919};
	snprintf(c, sizeof c, "http://www.example.com/%zu", i * 2654435761u % 1000003);
	n.c = str_of(c);
	uns_spool_add(s->spool, &n);
}

static int end_spool(struct spooling *s, struct err *err)
{
	int rc;
	while ((rc = uns_spool_end(s->spool, err)) == 1)
		wait_moved(s);
	return rc;
}

/* All notices that come out, which have to be those that went in. */
static void must_hold(struct spooling *s, size_t n)
{
	struct buf block CLEANUP(buf_free) = BUF_INIT(1 << 20),
			 raw CLEANUP(buf_free) = BUF_INIT(1 << 20);
	struct err err = {0};
	struct notice notice;
	uint64_t at = 0, bytes = 0;
	size_t seen = 0;
	int rc;
	while ((rc = uns_spool_next(s->spool, &at, &block, &err)) == 0) {
		assert_int_equal(notice_unpack(buf_str(&block), &raw, &err), 0);
		struct reader r = reader_of(buf_str(&raw));
		for (; notice_next(&r, &notice, &err) == 0; seen++)
			assert_int_equal(notice.size, seen * 7919);
		bytes += block.n;
		buf_clear(&block);
		buf_clear(&raw);
	}
	assert_int_equal(rc, 1);
	assert_int_equal(seen, n);
	assert_int_equal(uns_spool_bytes(s->spool), bytes);
}

static void what_is_added_comes_out(void **state)
{
	static const size_t sizes[] = {0, 1, 10, 1000, 100000};
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct spooling s;
		struct err err = {0};
		spooling_open(&s, 1 << 20);
		for (size_t i = 0; i < sizes[k]; i++) {
			add_notice(&s, i);
			while (!uns_spool_has_room(s.spool))
				wait_moved(&s);
		}
		assert_int_equal(end_spool(&s, &err), 0);
		assert_int_equal(uns_spool_in_memory(s.spool), sizes[k] <= 10);
		must_hold(&s, sizes[k]);
		must_hold(&s, sizes[k]);
		spooling_close(&s);
	}
}

static void one_who_does_not_wait_is_held_to_the_budget(void **state)
{
	struct spooling s;
	struct err err = {0};
	size_t n = 0;
	(void)state;
	spooling_open(&s, 100000);
	while (uns_spool_has_room(s.spool) || uns_spools_held(s.all) <= 100000)
		add_notice(&s, n++);
	assert_false(uns_spool_has_room(s.spool));
	while (!uns_spool_has_room(s.spool))
		wait_moved(&s);
	assert_true(uns_spools_held(s.all) <= 100000);
	assert_int_equal(end_spool(&s, &err), 0);
	must_hold(&s, n);
	spooling_close(&s);
}

static void a_full_disk_is_told_and_leaves_nothing(void **state)
{
	struct spooling s;
	struct err err = {0};
	(void)state;
	spooling_open(&s, 1 << 20);
	assert_int_equal(fault_arm("file.write=enospc@2", &err), 0);
	for (size_t i = 0; i < 20000; i++) {
		add_notice(&s, i);
		while (!uns_spool_has_room(s.spool))
			wait_moved(&s);
	}
	assert_int_equal(end_spool(&s, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_true(uns_spool_failed(s.spool, &err));
	assert_int_equal(fault_arm(NULL, &err), 0);
	spooling_close(&s);
	assert_int_equal(rmdir(scratch_dir), 0); /* it is empty */
	assert_int_equal(mkdir(scratch_dir, 0700), 0);
}

static void a_full_disk_is_told_to_one_who_does_not_wait(void **state)
{
	struct spooling s;
	struct err err = {0};
	(void)state;
	spooling_open(&s, 1 << 20);
	assert_int_equal(fault_arm("file.write=enospc", &err), 0);
	while (uns_spools_held(s.all) == 0)
		add_notice(&s, 1);
	for (int i = 0; i < 10000 && !s.moved; i++) {
		usleep(100);
		loop_poll(s.loop);
	}
	assert_int_equal(s.moved, 1);
	assert_true(uns_spool_failed(s.spool, &err));
	assert_int_equal(fault_arm(NULL, &err), 0);
	spooling_close(&s);
}

static void a_spool_may_go_while_it_is_written(void **state)
{
	struct spooling s;
	(void)state;
	for (size_t k = 0; k < 20; k++) {
		spooling_open(&s, 1 << 20);
		for (size_t i = 0; i < 2000; i++)
			add_notice(&s, i);
		spooling_close(&s);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_comes_out),
		cmocka_unit_test(one_who_does_not_wait_is_held_to_the_budget),
		cmocka_unit_test(a_full_disk_is_told_and_leaves_nothing),
		cmocka_unit_test(a_full_disk_is_told_to_one_who_does_not_wait),
		cmocka_unit_test(a_spool_may_go_while_it_is_written),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
