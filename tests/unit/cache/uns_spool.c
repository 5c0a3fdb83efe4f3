#include "cache/uns/uns_spool.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>

struct spooling {
	struct uns_spools *all;
	struct uns_spool *spool;
};

static void spooling_open(struct spooling *s, uint64_t budget)
{
	s->all = uns_spools_new(scratch_dir, budget);
	s->spool = uns_spool_new(s->all);
}

static void spooling_close(struct spooling *s)
{
	uns_spool_free(&s->spool);
	assert_int_equal(uns_spools_held(s->all), 0);
	uns_spools_free(&s->all);
}

static int add_notice(struct spooling *s, size_t i, struct err *err)
{
	char c[64];
	struct notice n = {.mime = STR("text/plain"), .has = NOTICE_HAS_SIZE, .size = i * 7919};
	snprintf(c, sizeof c, "http://www.example.com/%zu", i * 2654435761u % 1000003);
	n.c = str_of(c);
	return uns_spool_add(s->spool, &n, err);
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
		for (size_t i = 0; i < sizes[k]; i++)
			assert_int_equal(add_notice(&s, i, &err), 0);
		assert_int_equal(uns_spool_end(s.spool, &err), 0);
		assert_int_equal(uns_spool_in_memory(s.spool), sizes[k] <= 10);
		must_hold(&s, sizes[k]);
		must_hold(&s, sizes[k]);
		spooling_close(&s);
	}
}

static void *spool_many(void *ctx)
{
	struct spooling s = {.all = ctx};
	struct err err = {0};
	s.spool = uns_spool_new(s.all);
	for (size_t i = 0; i < 20000; i++)
		assert_int_equal(add_notice(&s, i, &err), 0);
	assert_int_equal(uns_spool_end(s.spool, &err), 0);
	must_hold(&s, 20000);
	uns_spool_free(&s.spool);
	return NULL;
}

static void several_write_at_once(void **state)
{
	static const uint64_t budgets[] = {1, 1 << 20};
	pthread_t thread[4];
	struct err err = {0};
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(budgets); k++) {
		struct uns_spools *all = uns_spools_new(scratch_dir, budgets[k]);
		for (size_t i = 0; i < ARRAY_LEN(thread); i++)
			assert_int_equal(thread_start(&thread[i], spool_many, all, &err), 0);
		for (size_t i = 0; i < ARRAY_LEN(thread); i++)
			pthread_join(thread[i], NULL);
		assert_int_equal(uns_spools_held(all), 0);
		uns_spools_free(&all);
	}
}

static void a_full_disk_is_told_and_leaves_nothing(void **state)
{
	struct spooling s;
	struct err err = {0};
	int rc = 0;
	(void)state;
	spooling_open(&s, 1 << 20);
	assert_int_equal(fault_arm("file.write=enospc@2", &err), 0);
	for (size_t i = 0; i < 20000 && rc == 0; i++)
		rc = add_notice(&s, i, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(fault_arm(NULL, &err), 0);
	spooling_close(&s);
	assert_int_equal(rmdir(scratch_dir), 0); /* it is empty */
	assert_int_equal(mkdir(scratch_dir, 0700), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_comes_out),
		cmocka_unit_test(several_write_at_once),
		cmocka_unit_test(a_full_disk_is_told_and_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
