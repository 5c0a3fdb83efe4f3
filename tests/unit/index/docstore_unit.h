/* Documents of numbers, for the unit programs of docstore.h: all of a document follows from its
 * number, so that any that is read can be checked. */
#pragma once
#include "../dice.h"
#include "../scratch.h"
#include "base/file.h"
#include "disk/tree.h"
#include "index/docstore.h"

#include <stdio.h>

/* Mostly a few lines, some long ones, a few of several blocks. */
static inline size_t doc_size(uint32_t number)
{
	uint64_t seed = number * UINT64_C(0x9e3779b97f4a7c15) + 1, r = dice(&seed);
	return r % 101 == 0 ? 40000 + r % 99999 : r % 7 == 0 ? 3000 + r % 9000 : r % 600;
}

static inline void doc_make(uint32_t number, size_t size, struct arena *arena, struct soif *ret)
{
	static const char *const words[] = {"harvest ", "broker ", "gather ", "index ", "query ",
					    "summary ", "object ", "the ",    "of ",    "\n"};
	uint64_t seed = number * UINT64_C(0x2545f4914f6cdd1d) + 7;
	struct buf text = BUF_INIT(SIZE_MAX);
	while (text.n < size)
		buf_add_text(&text, words[dice(&seed) % ARRAY_LEN(words)]);
	text.n = MIN(text.n, size);
	*ret = (struct soif){.type = STR("FILE"),
			     .url = str_of(arena_printf(arena, "http://test/%u", number))};
	soif_add(ret, arena, STR("Number"), str_of(arena_printf(arena, "%u", number)));
	soif_add(ret, arena, STR("Full-Text"), arena_str(arena, buf_str(&text)));
	buf_free(&text);
}

static inline void doc_is(const struct soif *got, uint32_t number, size_t size)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif want;
	doc_make(number, size, &arena, &want);
	struct str a = soif_get(got, STR("Full-Text")), b = soif_get(&want, STR("Full-Text"));
	if (!str_eq(got->url, want.url) || !str_eq(a, b))
		fail_msg("document %u: " STR_FMT " with %zu bytes instead of %zu", number,
			 STR_ARG(got->url), a.n, b.n);
	arena_free(&arena);
}

static inline void doc_put_as(struct docstore *ds, uint64_t oid, uint32_t number)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	struct err err = {0};
	doc_make(number, doc_size(number), &arena, &obj);
	if (docstore_put(ds, oid, &obj, &err) < 0)
		fail_msg("put %u: %s", number, err.msg);
	arena_free(&arena);
}

/* Most tests put each document under its own number. */
static inline void doc_put(struct docstore *ds, uint32_t oid)
{
	doc_put_as(ds, oid, oid);
}

/* 0: it is there and right; 1, negative: as docstore_get() says. */
static inline int doc_look_as(struct docstore *ds, uint64_t oid, uint32_t number, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	int rc = docstore_get(ds, oid, &arena, &obj, err);
	if (rc == 0)
		doc_is(&obj, number, doc_size(number));
	arena_free(&arena);
	return rc;
}

static inline void doc_there_as(struct docstore *ds, uint64_t oid, uint32_t number)
{
	struct err err = {0};
	int rc = doc_look_as(ds, oid, number, &err);
	if (rc != 0)
		fail_msg("document %u: %d %s", number, rc, rc < 0 ? err.msg : "");
}

static inline void doc_there(struct docstore *ds, uint32_t oid)
{
	doc_there_as(ds, oid, oid);
}

static inline void doc_gone(struct docstore *ds, uint64_t oid)
{
	struct err err = {0};
	int rc = doc_look_as(ds, oid, (uint32_t)oid, &err);
	if (rc != 1)
		fail_msg("document %u: %d %s", (uint32_t)oid, rc, rc < 0 ? err.msg : "");
}

static inline void doc_delete(struct docstore *ds, uint64_t oid)
{
	struct err err = {0};
	int rc = docstore_delete(ds, oid, &err);
	if (rc != 0)
		fail_msg("delete %u: %d %s", (uint32_t)oid, rc, rc < 0 ? err.msg : "");
}

static inline struct docstore *store_open(const char *folder, struct docstore_mark mark)
{
	struct docstore *ds = NULL;
	struct err err = {0};
	if (docstore_open(&ds, folder, &mark, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static inline struct docstore *store_new(const char *folder)
{
	return store_open(folder, (struct docstore_mark){0});
}

static inline struct docstore *store_read(const char *folder)
{
	struct docstore *ds = NULL;
	struct err err = {0};
	int rc = docstore_open_read(&ds, folder, &err);
	if (rc != 0)
		fail_msg("%d %s", rc, err.msg);
	return ds;
}

static inline struct docstore_mark store_sync(struct docstore *ds)
{
	struct docstore_mark mark;
	struct err err = {0};
	if (docstore_sync(ds, &mark, &err) < 0)
		fail_msg("%s", err.msg);
	return mark;
}

static inline void store_checkpoint(struct docstore *ds)
{
	struct err err = {0};
	if (docstore_checkpoint(ds, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void store_sound(struct docstore *ds, struct docstore_mark mark)
{
	struct err err = {0};
	if (docstore_verify(ds, &mark, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline struct docstore_stats store_stats(struct docstore *ds)
{
	struct docstore_stats s;
	struct err err = {0};
	assert_int_equal(docstore_stats(ds, &s, &err), 0);
	return s;
}

/* A copy of a store, in place of what was there. */
static inline void store_copy(const char *from, const char *to)
{
	struct err err = {0};
	struct dir d;
	const char *name;
	struct buf bytes = BUF_INIT(SIZE_MAX);
	assert_true(tree_remove(to, &err) >= 0);
	assert_int_equal(dir_make(to, 0777, &err), 0);
	assert_int_equal(dir_init(&d, from, &err), 0);
	while (dir_next(&d, &name) == 0) {
		char a[512], b[512];
		snprintf(a, sizeof a, "%s/%s", from, name);
		snprintf(b, sizeof b, "%s/%s", to, name);
		buf_clear(&bytes);
		assert_int_equal(file_slurp(a, &bytes, &err), 0);
		FILE *f = fopen(b, "wb");
		assert_true(f && fwrite(buf_text(&bytes), 1, bytes.n, f) == bytes.n);
		fclose(f);
	}
	dir_done(&d);
	buf_free(&bytes);
}
