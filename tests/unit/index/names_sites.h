/* Sites for tests of the names index: lists of paths, put into an index and held against it. */
#pragma once
#include "../scratch.h"
#include "../unit.h"
#include "index/names/names_store.h"

#include <inttypes.h>

/* "dir/name", or "dir/name=SIZE". */
static inline struct names_entry site_entry(const char *path)
{
	struct str all = str_of(path);
	size_t equal = str_find_byte(all, '=');
	struct str whole = str_head(all, equal);
	size_t slash = whole.n;
	while (slash > 0 && whole.p[slash - 1] != '/')
		slash--;
	uint64_t size = 0;
	bool sized = equal < all.n && str_u64(str_from(all, equal + 1), &size);
	return (struct names_entry){.name = str_from(whole, slash),
				    .dir = str_head(whole, slash ? slash - 1 : 0),
				    .links = -1,
				    .size = sized ? (int64_t)size : -1,
				    .time_s = -1};
}

static inline struct names_writer *site_writer(const char *folder)
{
	struct err err;
	struct names_writer *w = NULL;
	struct names_options options = {.memory = NAMES_MEMORY_MIN};
	if (names_writer_open(&w, folder, &options, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

/* Paths end in NULL. */
static inline int site_try(struct names_writer *w, const char *key, const char *const *path,
			   struct err *err)
{
	char url[300];
	snprintf(url, sizeof url, "ftp://%s/", key);
	struct names_site_spec spec = {.key = str_of(key), .url = str_of(url), .listed_s = 1000};
	int rc = names_begin(w, &spec, err);
	for (; rc == 0 && *path; path++) {
		struct names_entry e = site_entry(*path);
		rc = names_add(w, &e, err);
	}
	return rc == 0 ? names_commit(w, err) : rc;
}

static inline void site_put(struct names_writer *w, const char *key, const char *const *path)
{
	struct err err;
	if (site_try(w, key, path, &err) < 0)
		fail_msg("%s: %s", key, err.msg);
}
#define SITE_PUT(w, key, ...) site_put(w, key, (const char *const[]){__VA_ARGS__, NULL})

static inline struct names_reader *site_reader(const char *folder)
{
	struct err err;
	struct names_reader *r = NULL;
	if (names_open(&r, folder, &err) != 0)
		fail_msg("%s", err.msg);
	return r;
}

/* All files of a snapshot, "KEY dir/name=SIZE" a line. */
static inline void site_lines(struct names_reader *r, struct buf *out)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct err err;
	size_t n;
	const struct names_site *site = names_sites(r, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct names_entry e;
		int rc;
		for (uint64_t line = 0; (rc = names_get(r, i, line, &arena, &e, &err)) == 0;
		     line++) {
			buf_printf(out, STR_FMT " " STR_FMT "%s" STR_FMT, STR_ARG(site[i].key),
				   STR_ARG(e.dir), e.dir.n ? "/" : "", STR_ARG(e.name));
			if (e.size >= 0)
				buf_printf(out, "=%" PRId64, e.size);
			buf_add_byte(out, '\n');
		}
		if (rc < 0)
			fail_msg("%s", err.msg);
	}
	arena_free(&arena);
}

static inline void assert_reader(struct names_reader *r, const char *want)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(64 << 20);
	struct err err;
	site_lines(r, &got);
	assert_str(buf_str(&got), want);
	if (!names_problem(r) && names_verify(r, &err) < 0)
		fail_msg("%s", err.msg);
}

/* What a folder has now; names are found by the index. */
static inline void assert_sites(const char *folder, const char *want)
{
	struct names_reader *r = site_reader(folder);
	if (names_problem(r))
		fail_msg("%s", names_problem(r));
	assert_reader(r, want);
	names_close(&r);
}

/* Files below names/, without manifest and lock. */
static inline size_t site_files(const char *folder)
{
	struct dir d, below;
	struct err err;
	const char *name;
	size_t n = 0;
	char *path = names_path(folder, "names");
	assert_int_equal(dir_init(&d, path, &err), 0);
	while (dir_next(&d, &name) == 0) {
		char *sub = names_path(path, name);
		struct stat st;
		if (stat(sub, &st) == 0 && S_ISDIR(st.st_mode) &&
		    dir_init(&below, sub, &err) == 0) {
			n += below.n;
			assert_true(below.n > 0);
			dir_done(&below);
		}
		mem_free(&sub);
	}
	dir_done(&d);
	mem_free(&path);
	return n;
}
