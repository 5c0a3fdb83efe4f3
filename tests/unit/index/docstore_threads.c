/* Threads that read while one writes, deletes and compacts; for TSan as much as for itself. */
#include "docstore_unit.h"

#include "base/thread.h"

#include <stdatomic.h>

enum { DOCS = 300, READERS = 3, ROUNDS = 6 };

struct shared {
	struct docstore *writer, *reader;
	_Atomic(uint64_t) oid[DOCS]; /* synced; 0: none */
	uint64_t top;
	atomic_bool done;
};

/* A document may be deleted between being asked for and being read; what is read is right. */
static void *read_all(void *arg)
{
	struct shared *s = arg;
	uint64_t seed = (uint64_t)(uintptr_t)&seed | 1;
	while (!atomic_load(&s->done)) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct soif obj;
		struct err err = {0};
		uint32_t i = (uint32_t)(dice(&seed) % DOCS);
		uint64_t oid = atomic_load(&s->oid[i]);
		struct docstore *ds = dice(&seed) % 2 ? s->writer : s->reader;
		int rc = docstore_get(ds, oid, &arena, &obj, &err);
		if (rc < 0)
			die("document %u: %s", i, err.msg);
		if (rc == 0)
			doc_is(&obj, i, doc_size(i));
		arena_free(&arena);
	}
	return NULL;
}

/* A document may be deleted while it is copied. */
static void change_some(struct shared *s, uint64_t *seed)
{
	uint64_t fresh[DOCS] = {0};
	for (uint32_t i = 0; i < DOCS; i++) {
		uint64_t old = atomic_load(&s->oid[i]);
		if (dice(seed) % 3 == 0)
			continue;
		if (old)
			doc_delete(s->writer, old);
		fresh[i] = ++s->top;
		doc_put_as(s->writer, fresh[i], i);
	}
	store_sync(s->writer);
	for (uint32_t i = 0; i < DOCS; i++)
		if (fresh[i])
			atomic_store(&s->oid[i], fresh[i]);
}

static void *copy(void *arg)
{
	struct err err = {0};
	if (docstore_compact_copy(arg, &err) != 0)
		die("copying: %s", err.msg);
	return NULL;
}

/* Whether something was compacted in it. */
static bool write_round(struct shared *s, uint64_t *seed)
{
	bool compacted = false;
	struct err err = {0};
	struct docstore_compaction *c = NULL;
	pthread_t copier;
	change_some(s, seed);
	if (docstore_compact_begin(s->writer, 20, &c, &err) == 0) {
		assert_int_equal(thread_start(&copier, copy, c, &err), 0);
		change_some(s, seed);
		pthread_join(copier, NULL);
		assert_int_equal(docstore_compact_end(c, &err), 0);
		compacted = true;
	}
	docstore_compact_free(&c);
	return compacted;
}

static void threads_read_what_is_right_while_one_writes_and_compacts(void **state)
{
	(void)state;
	static struct shared s;
	struct err err = {0};
	pthread_t thread[READERS];
	uint64_t seed = 17;
	unsigned compacted = 0;
	s.writer = store_new(scratch("t"));
	s.reader = store_read(scratch("t"));
	for (unsigned i = 0; i < READERS; i++)
		assert_int_equal(thread_start(&thread[i], read_all, &s, &err), 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		compacted += write_round(&s, &seed);
	atomic_store(&s.done, true);
	assert_true(compacted > 0);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < DOCS; i++)
		if (atomic_load(&s.oid[i]))
			doc_there_as(s.reader, atomic_load(&s.oid[i]), i);
	docstore_close(&s.reader);
	docstore_close(&s.writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_read_what_is_right_while_one_writes_and_compacts),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
