/* The registry against a plain array: thousands of puts, drops, commits, commits that fail,
 * restarts and compressions; whatever happens, each says the same. */
#include "registry_unit.h"

#include "../dice.h"

struct model_object {
	uint32_t oid, version; /* version 0: it is not there */
};

struct model {
	struct model_object now[IDENTITIES], last[IDENTITIES];
	uint64_t docs, cursor, last_cursor;
	uint64_t places; /* where the registry ended at the last look */
	struct registry *r, *reader;
	const char *folder;
	uint64_t seed;
	uint32_t versions;
};

static void check_identity(struct registry *r, const struct model_object *all, unsigned i)
{
	struct arena arena = ARENA_INIT(8 << 20);
	struct registry_object want = object_of(&arena, i, all[i].oid, all[i].version), got;
	struct err err = {0};
	int rc = registry_find(r, want.gatherer_name, want.gatherer_host, want.url, &arena, &got,
			       &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(rc, all[i].version == 0);
	if (rc == 0)
		assert_same(&got, &want);
	if (rc == 0 && want.oid) {
		DONE(registry_by_oid(r, want.oid, &arena, &got, &unit_err));
		assert_same(&got, &want);
	}
	struct registry_object *some;
	size_t n, of_url = 0;
	DONE(registry_of_url(r, want.url, &arena, &some, &n, &unit_err));
	for (unsigned k = 0; k < IDENTITIES; k++)
		of_url += all[k].version && k / GATHERERS == i / GATHERERS;
	assert_int_equal(n, of_url);
	for (int text = 0; text < 2; text++) {
		size_t of_md5 = 0;
		for (unsigned k = 0; want.md5.n && k < IDENTITIES; k++) {
			struct registry_object o = object_of(&arena, k, all[k].oid, all[k].version);
			of_md5 += all[k].version && !o.oid == !text && str_eq(o.md5, want.md5) &&
				  str_eq(o.gatherer_name, want.gatherer_name);
		}
		DONE(registry_of_md5(r, want.gatherer_name, want.gatherer_host, want.md5, text, 2,
				     &arena, &some, &n, &unit_err));
		assert_int_equal(n, MIN(of_md5, 2));
		for (size_t k = 0; k < n; k++)
			assert_true(!some[k].oid == !text && str_eq(some[k].md5, want.md5));
	}
	arena_free(&arena);
}

static unsigned identity_of(const struct registry_object *o)
{
	struct arena arena = ARENA_INIT(1 << 20);
	unsigned found = IDENTITIES;
	for (unsigned i = 0; i < IDENTITIES; i++) {
		struct registry_object want = object_of(&arena, i, 0, 0);
		if (str_eq(want.url, o->url) && str_eq(want.gatherer_name, o->gatherer_name))
			found = i;
	}
	arena_free(&arena);
	return found;
}

static void check_scan(struct registry *r, const struct model_object *all, bool committed)
{
	struct registry_scan *scan = NULL;
	struct registry_record record;
	struct registry_stats stats;
	struct err err = {0};
	uint64_t records = 0, living = 0, next = 0;
	int rc;
	registry_stats(r, &stats);
	DONE(registry_scan_open(&scan, r, 0, &unit_err));
	while ((rc = registry_scan_next(scan, &record, &err)) == 0) {
		records++;
		living += record.living;
		assert_true(next == 0 || record.at == next);
		next = record.next;
		unsigned i = identity_of(&record.object);
		assert_true(i < IDENTITIES);
		if (committed && record.living)
			assert_int_equal(record.object.update_time_s, all[i].version);
	}
	if (rc < 0)
		fail_msg("%s", err.msg);
	registry_scan_free(&scan);
	assert_int_equal(records, stats.records);
	if (committed)
		assert_int_equal(living, stats.valid);
	assert_int_equal(stats.valid + stats.deleted, stats.records);
	assert_true(next == 0 || next == registry_length(r));
}

static void check_all(struct registry *r, const struct model_object *all, bool committed)
{
	for (unsigned i = 0; i < IDENTITIES; i++)
		check_identity(r, all, i);
	check_scan(r, all, committed);
}

static void check_cursor(struct registry *r, uint64_t want)
{
	size_t n;
	const struct registry_point *point = registry_points(r, &n);
	uint64_t got = 0;
	if (n)
		memcpy(&got, point[0].cursor.b, sizeof got);
	assert_true(got == want);
}

static void check_reader(struct model *m)
{
	struct err err = {0};
	if (!m->reader)
		m->reader = read_registry(m->folder);
	else if (registry_refresh(m->reader, &err) < 0)
		fail_msg("refresh: %s", err.msg);
	check_all(m->reader, m->last, true);
	check_cursor(m->reader, m->last_cursor);
	DONE(registry_verify(m->reader, &unit_err));
}

static void committed(struct model *m)
{
	memcpy(m->last, m->now, sizeof m->last);
	m->last_cursor = m->cursor;
	assert_true(registry_length(m->r) >= m->places);
	m->places = registry_length(m->r);
}

static void given_up(struct model *m)
{
	memcpy(m->now, m->last, sizeof m->now);
	m->cursor = m->last_cursor;
}

static void change(struct model *m)
{
	unsigned i = (unsigned)(dice(&m->seed) % IDENTITIES);
	if (dice(&m->seed) % 4 == 0) {
		assert_int_equal(drop_object(m->r, i), m->now[i].version == 0);
		m->now[i] = (struct model_object){0};
		return;
	}
	/* a refresh keeps its oid, a twin has none */
	uint32_t oid = dice(&m->seed) % 3 ? registry_new_oid(m->r) : m->now[i].oid;
	m->now[i] = (struct model_object){oid, ++m->versions};
	put_object(m->r, i, oid, m->versions);
}

static void set_cursor(struct model *m)
{
	struct source_cursor cursor = {0};
	m->cursor = dice(&m->seed);
	memcpy(cursor.b, &m->cursor, sizeof m->cursor);
	registry_set_cursor(m->r, registry_point(m->r, "crawl"), &cursor);
}

static void commit(struct model *m)
{
	set_cursor(m);
	commit_to(m->r, ++m->docs);
	committed(m);
}

/* Something is refused while it commits; then it is all there or nothing is. */
static void commit_refused(struct model *m)
{
	static const char *const what[] = {"file.sync/registry=eio", "file.write/registry=enospc",
					   "file.write/registry=short", "file.rename/registry=eio",
					   "file.truncate/registry=eio,file.sync/registry=eio"};
	char spec[128];
	snprintf(spec, sizeof spec, "%s@%u", what[dice(&m->seed) % ARRAY_LEN(what)],
		 (unsigned)(1 + dice(&m->seed) % 5));
	set_cursor(m);
	arm(spec);
	const struct docstore_mark mark = {1, ++m->docs};
	struct err err = {0};
	int rc = registry_commit(m->r, &mark, &err);
	arm(NULL);
	if (rc == 0)
		committed(m);
	else
		given_up(m);
}

static void compress(struct model *m)
{
	struct registry_compression *c = NULL;
	struct err err = {0};
	commit(m);
	uint64_t place = registry_length(m->r);
	int rc = registry_compress_begin(
		m->r, false, (NOW_S + (int64_t)(dice(&m->seed) % 7200)) * US_PER_S, &c, &err);
	if (rc == 1)
		return;
	for (uint64_t n = dice(&m->seed) % 20; n; n--)
		change(m);
	if (dice(&m->seed) % 2)
		commit(m);
	DONE(registry_compress_copy(c, &unit_err));
	for (uint64_t n = dice(&m->seed) % 20; n; n--)
		change(m);
	commit(m);
	bool refused = dice(&m->seed) % 3 == 0;
	char spec[64];
	snprintf(spec, sizeof spec, "%s/registry=eio@%u",
		 dice(&m->seed) % 2 ? "file.sync" : "file.rename",
		 (unsigned)(1 + dice(&m->seed) % 3));
	arm(refused ? spec : NULL);
	rc = registry_compress_end(c, &err);
	arm(NULL);
	registry_compress_free(&c);
	if (!refused && rc < 0)
		fail_msg("compress: %s", err.msg);
	assert_true(registry_length(m->r) == m->places);
	/* what came after it began can be read on from there */
	struct registry_scan *scan = NULL;
	DONE(registry_scan_open(&scan, m->r, place, &unit_err));
	registry_scan_free(&scan);
}

static void reopen(struct model *m)
{
	registry_close(&m->r);
	given_up(m);
	m->r = open_registry(m->folder);
	assert_true(registry_length(m->r) == m->places);
}

static void play(struct model *m, unsigned rounds)
{
	m->r = open_registry(m->folder);
	m->places = registry_length(m->r);
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t what = dice(&m->seed) % 100;
		for (uint64_t n = dice(&m->seed) % 12; n; n--)
			change(m);
		if (what < 50) {
			commit(m);
		} else if (what < 65) {
			commit_refused(m);
		} else if (what < 75) {
			DONE(registry_give_up(m->r, &unit_err));
			given_up(m);
		} else if (what < 85) {
			reopen(m);
		} else if (what < 92) {
			compress(m);
		} else {
			check_reader(m);
		}
		if (i % 8 == 0) {
			check_all(m->r, m->now, false);
			check_cursor(m->r, m->last_cursor);
		}
	}
	reopen(m);
	check_all(m->r, m->last, true);
	DONE(registry_verify(m->r, &unit_err));
	registry_close(&m->r);
	check_reader(m);
	registry_close(&m->reader);
}

static void whatever_happens_it_says_what_was_committed(void **state)
{
	(void)state;
	unsigned seeds = unit_thorough() ? 60 : 1;
	for (unsigned i = 1; i <= seeds; i++) {
		char name[32];
		snprintf(name, sizeof name, "model%u", i);
		struct model m = {.folder = scratch(name),
				  .seed = i * UINT64_C(0x9e3779b97f4a7c15)};
		print_message("seed %u\n", i);
		play(&m, 250);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_happens_it_says_what_was_committed),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
