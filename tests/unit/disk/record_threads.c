/* Record files with many threads, and with refusals. */
#include "refused.h"

#include "base/thread.h"

#include <stdatomic.h>

#ifdef GARNER_FAULTS

/* Many threads: each appends its own numbers in order, again if it is told that they are lost. */

enum { THREADS = 8, NUMBERS = 400 };

struct worker {
	struct record_writer *w;
	uint32_t id;
	bool retry;
	unsigned failures;
	pthread_t thread;
};

static int append_some(struct worker *me, uint32_t from, uint32_t to, struct err *err)
{
	struct record_group g = {0};
	for (uint32_t i = from; i < to; i++) {
		uint32_t number[2] = {me->id, i};
		if (record_append(me->w, (struct str){(char *)number, sizeof number}, &g, NULL,
				  err) < 0)
			return -1;
	}
	return record_sync(me->w, &g, err);
}

static void *work(void *arg)
{
	struct worker *me = arg;
	struct err err = {0};
	for (uint32_t at = 0; at < NUMBERS;) {
		uint32_t n = MIN(1 + (at * 7 + me->id) % 5, NUMBERS - at);
		if (append_some(me, at, at + n, &err) == 0)
			at += n;
		else if (++me->failures && !me->retry)
			return NULL;
	}
	return NULL;
}

static unsigned run_workers(struct record_writer *w, bool retry)
{
	struct worker worker[THREADS];
	struct err err = {0};
	unsigned failures = 0;
	for (uint32_t i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){.w = w, .id = i, .retry = retry};
		assert_int_equal(thread_start(&worker[i].thread, work, &worker[i], &err), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(worker[i].thread, NULL);
		failures += worker[i].failures;
	}
	return failures;
}

/* Every number of every thread once and in order; after a loss a number may be there once more,
 * because its first copy was durable when the rest of its group was lost. */
static void check_numbers(const char *path, bool exactly)
{
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	uint32_t next[THREADS] = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	int rc;
	while ((rc = record_next(r, &record, &err)) == 0) {
		uint32_t number[2];
		assert_int_equal(record.payload.n, sizeof number);
		memcpy(number, record.payload.p, sizeof number);
		assert_true(number[0] < THREADS);
		uint32_t *want = &next[number[0]];
		assert_true(number[1] == *want || (!exactly && number[1] < *want));
		*want = MAX(*want, number[1] + 1);
	}
	assert_int_equal(rc, 1);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(next[i], NUMBERS);
	record_reader_free(&r);
}

static void many_threads_share_a_file(void **state)
{
	(void)state;
	const char *path = scratch("threads");
	struct record_writer *w = open_file(path);
	struct err err = {0};
	assert_int_equal(run_workers(w, false), 0);
	assert_int_equal(record_close(&w, &err), 0);
	check_numbers(path, true);
}

static void threads_that_are_told_of_a_loss_can_append_again(void **state)
{
	(void)state;
	static const char *const specs[] = {
		"file.sync=eio@3,file.sync=eio@20,file.sync=eio@21,file.sync=eio@60",
		"file.write=short@2,file.write=enospc@15,file.truncate=eio@1",
		"file.write=eio@30,file.sync=eio@31,file.truncate=eio@2",
		"file.sync=eio@5,file.sync=eio@11,file.sync=eio@17,file.sync=eio@23,file.sync=eio@"
		"29,"
		"file.sync=eio@35,file.sync=eio@41,file.sync=eio@47,file.sync=eio@53,file.sync=eio@"
		"59,"
		"file.sync=eio@65,file.sync=eio@71,file.sync=eio@77,file.sync=eio@83,file.sync=eio@"
		"89",
	};
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		char name[16];
		snprintf(name, sizeof name, "again%zu", i);
		const char *path = scratch(name);
		struct record_writer *w = open_file(path);
		struct err err = {0};
		arm(specs[i]);
		unsigned failures = run_workers(w, true);
		assert_true(fault_fired() > 1);
		assert_true(failures > 1);
		arm("");
		assert_int_equal(record_close(&w, &err), 0);
		check_numbers(path, false);
	}
}

static void *sync_slowly(void *arg)
{
	struct worker *me = arg;
	struct err err = {0};
	me->failures = append_some(me, 0, 1, &err) < 0;
	return NULL;
}

static void what_was_appended_while_a_sync_failed_is_lost_with_it(void **state)
{
	(void)state;
	const char *path = scratch("meanwhile");
	struct worker other = {.w = open_file(path)};
	struct record_group g = {0};
	struct err err = {0};
	arm("record.write=slow,file.sync=eio");
	assert_int_equal(thread_start(&other.thread, sync_slowly, &other, &err), 0);
	usleep(5000);
	assert_int_equal(record_append(other.w, STR("mine"), &g, NULL, &err), 0);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.failures, 1);
	assert_int_equal(record_sync(other.w, &g, &err), -1);
	assert_int_equal(record_append(other.w, STR("\7\0\0\0"), &g, NULL, &err), 0);
	assert_int_equal(record_sync(other.w, &g, &err), 0);
	assert_int_equal(record_close(&other.w, &err), 0);
	numbers_are(path, (uint32_t[]){7}, 1);
}

static void everybody_in_a_failed_group_is_told(void **state)
{
	(void)state;
	const char *path = scratch("everybody");
	struct record_writer *w = open_file(path);
	struct err err = {0};
	arm("file.sync=eio@1+");
	assert_int_equal(run_workers(w, false), THREADS);
	arm("");
	assert_int_equal(record_close(&w, &err), 0);
	numbers_are(path, NULL, 0);
}

struct follower {
	const char *path;
	_Atomic bool stop;
	uint64_t seen;
};

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	uint32_t next[THREADS] = {0};
	if (record_reader_open(&r, f->path, &kind, &err) != 0)
		return "cannot open";
	for (bool last = false;;) {
		int rc = record_next(r, &record, &err);
		if (rc < 0 || (rc == 1 && last))
			break;
		if (rc == 1) {
			last = f->stop;
			continue;
		}
		uint32_t number[2];
		memcpy(number, record.payload.p, sizeof number);
		if (number[1] != next[number[0]]++)
			break;
		f->seen++;
	}
	record_reader_free(&r);
	return f->seen == THREADS * NUMBERS ? NULL : "not all in order";
}

static void a_reader_follows_many_threads(void **state)
{
	(void)state;
	struct follower f = {.path = scratch("followed")};
	struct record_writer *w = open_file(f.path);
	struct err err = {0};
	pthread_t thread;
	void *said;
	assert_int_equal(thread_start(&thread, follow, &f, &err), 0);
	assert_int_equal(run_workers(w, false), 0);
	assert_int_equal(record_close(&w, &err), 0);
	f.stop = true;
	pthread_join(thread, &said);
	assert_null(said);
}

/* Places that were given out lead to their records, also when the file is cut meanwhile: a record
 * is either there or its group is told. */
struct placed {
	struct record_writer *w;
	_Atomic bool stop;
	struct record_place place[1 << 14];
	uint32_t n;
};

static void *append_places(void *arg)
{
	struct placed *p = arg;
	struct err err = {0};
	while (!p->stop && p->n < ARRAY_LEN(p->place)) {
		struct record_group g = {0};
		struct record_place place;
		if (record_append(p->w, (struct str){(char *)&p->n, sizeof p->n}, &g, &place,
				  &err) < 0)
			return "cannot append";
		if (record_sync(p->w, &g, &err) == 0)
			p->place[p->n++] = place;
	}
	return NULL;
}

static void places_are_right_also_while_the_file_is_cut(void **state)
{
	(void)state;
	const char *path = scratch("places");
	struct placed *p = mem_alloc(sizeof *p);
	struct err err = {0};
	struct record record;
	pthread_t thread;
	void *said;
	p->w = open_file(path);
	assert_int_equal(thread_start(&thread, append_places, p, &err), 0);
	for (int i = 0; i < 200; i++) {
		struct record_group g = {0};
		uint64_t checkpoint = record_end(p->w);
		for (int k = 0; k < 3; k++)
			assert_int_equal(record_append(p->w, STR("junk"), &g, NULL, &err), 0);
		if (record_truncate(p->w, checkpoint, &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(record_sync(p->w, &g, &err), -1);
	}
	p->stop = true;
	pthread_join(thread, &said);
	assert_null(said);
	assert_int_equal(record_close(&p->w, &err), 0);
	struct record_reader *r = NULL;
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	/* what was told durable and then cut by somebody else may be gone; what is there is right
	 */
	uint32_t found = 0;
	while (record_next(r, &record, &err) == 0) {
		uint32_t number;
		assert_int_equal(record.payload.n, sizeof number);
		memcpy(&number, record.payload.p, sizeof number);
		assert_true(number < p->n);
		assert_int_equal(record.place.at, p->place[number].at);
		assert_int_equal(record.place.next, p->place[number].next);
		found++;
	}
	assert_true(found > 0);
	record_reader_free(&r);
	mem_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(many_threads_share_a_file, disarm),
		cmocka_unit_test_teardown(threads_that_are_told_of_a_loss_can_append_again, disarm),
		cmocka_unit_test_teardown(what_was_appended_while_a_sync_failed_is_lost_with_it,
					  disarm),
		cmocka_unit_test_teardown(everybody_in_a_failed_group_is_told, disarm),
		cmocka_unit_test_teardown(a_reader_follows_many_threads, disarm),
		cmocka_unit_test_teardown(places_are_right_also_while_the_file_is_cut, disarm),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}

#else

static void nothing_to_refuse_in_a_build_without_faults(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_refuse_in_a_build_without_faults),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}

#endif
