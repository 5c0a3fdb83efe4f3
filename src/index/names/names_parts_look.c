/* Looks over all lines of a site: which are of a directory, whether they are right, and what a
 * pages file says of them. */
#include "base/ascii.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "index/names/names_store.h"

#include <inttypes.h>

enum { LOOK_LINES = 4096 }; /* of data, at a time */

/* Lines of data, some at a time, from *line on. 1: no more. */
static int data_next(struct names_parts *p, uint64_t line, struct str *ret, uint64_t *ret_lines,
		     struct err *err)
{
	uint64_t n = MIN(p->entries - line, (uint64_t)LOOK_LINES);
	if (n == 0)
		return 1;
	*ret_lines = n;
	return page_get(p->part[NAMES_DATA], line * NAMES_LINE_BYTES, (size_t)n * NAMES_LINE_BYTES,
			ret, err);
}

static int data_damaged(const struct names_parts *p, uint64_t line, const char *what,
			struct err *err)
{
	return err_set(err, ERR_DAMAGED, "data of " STR_FMT ": line %" PRIu64 ": %s",
		       STR_ARG(p->pages.about.key), line, what);
}

/* The lines of directories */

/* Runs in the order of lines; then they are sorted by directory. */
struct run_list {
	uint32_t *dir, *from;
	size_t n, room, from_room;
};

static int runs_collect(struct names_parts *p, struct run_list *l, struct err *err)
{
	struct names_entry e;
	struct str s;
	uint64_t n, dir, last = UINT64_MAX;
	int rc;
	for (uint64_t line = 0; (rc = data_next(p, line, &s, &n, err)) == 0; line += n)
		for (uint64_t i = 0; i < n; i++) {
			if (!names_line_get(s.p + i * NAMES_LINE_BYTES, &e, &dir) || dir >= p->dirs)
				return data_damaged(p, line + i, "it is not one", err);
			if (dir == last)
				continue;
			last = dir;
			VEC_ROOM(l->from, l->from_room, l->n + 1);
			l->from[l->n] = (uint32_t)(line + i);
			*VEC_PUSH(l->dir, l->n, l->room) = (uint32_t)dir;
		}
	return MIN(rc, 0);
}

static void runs_sort(const struct names_parts *p, const struct run_list *l,
		      struct names_dir_lines *ret)
{
	uint32_t *next = mem_array((size_t)p->dirs + 1, sizeof *next);
	ret->first = mem_array((size_t)p->dirs + 1, sizeof *ret->first);
	ret->from = mem_array(l->n + 1, sizeof *ret->from);
	ret->n = mem_array(l->n + 1, sizeof *ret->n);
	for (size_t i = 0; i < l->n; i++)
		ret->first[l->dir[i] + 1]++;
	for (uint64_t dir = 0; dir < p->dirs; dir++) {
		ret->first[dir + 1] += ret->first[dir];
		next[dir] = ret->first[dir];
	}
	for (size_t i = 0; i < l->n; i++) {
		uint32_t at = next[l->dir[i]]++;
		uint64_t end = i + 1 < l->n ? l->from[i + 1] : p->entries;
		ret->from[at] = l->from[i];
		ret->n[at] = (uint32_t)(end - l->from[i]);
	}
	mem_free(&next);
}

static int lines_make(struct names_parts *p, struct err *err)
{
	struct run_list l = {0};
	int rc = 0;
	(void)pthread_mutex_lock(&p->mutex);
	if (!p->lines.first) {
		rc = runs_collect(p, &l, err);
		if (rc == 0)
			runs_sort(p, &l, &p->lines);
	}
	(void)pthread_mutex_unlock(&p->mutex);
	mem_free(&l.dir);
	mem_free(&l.from);
	return rc;
}

int names_parts_dir_line(struct names_parts *p, uint64_t dir, uint64_t *line, struct err *err)
{
	if (dir >= p->dirs)
		return 1;
	if (lines_make(p, err) < 0)
		return -1;
	/* the first run that ends after the line */
	uint32_t end = p->lines.first[dir + 1];
	uint32_t run = BISECT(i, p->lines.first[dir], end,
			      (uint64_t)p->lines.from[i] + p->lines.n[i] <= *line);
	if (run == end)
		return 1;
	*line = MAX(*line, (uint64_t)p->lines.from[run]);
	return 0;
}

/* The place of a whole line in lines, counted from `number` on. */
static bool find_line(struct str lines, struct str line, uint64_t *number)
{
	for (const char *p = lines.p, *end = p + lines.n; p < end; ++*number) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		if ((size_t)(stop - p) == line.n && memcmp(p, line.p, line.n) == 0)
			return true;
		p = stop + 1;
	}
	return false;
}

int names_parts_dir_number(struct names_parts *p, struct str escaped, uint64_t *ret,
			   struct err *err)
{
	enum { AT_ONCE = 1024 }; /* groups */
	uint64_t number = 0;
	while (number < p->dirs) {
		struct str lines;
		if (names_lines_get(p, NAMES_DIREC, number / NAMES_DIREC_EVERY, AT_ONCE, &lines,
				    err) < 0)
			return -1;
		uint64_t at = number;
		if (find_line(lines, escaped, &at) && at < p->dirs) {
			*ret = at;
			return 0;
		}
		number += (uint64_t)AT_ONCE * NAMES_DIREC_EVERY;
	}
	return 1;
}

/* Verifying */

static int verify_folded(const struct names_parts *p, struct str index, struct str nocase,
			 uint64_t line, struct err *err)
{
	bool same = index.n == nocase.n;
	for (size_t i = 0; same && i < index.n; i++)
		same = nocase.p[i] == ascii_lower(index.p[i]);
	return same ? 0
		    : err_set(err, ERR_DAMAGED,
			      "nocaseindex of " STR_FMT ": some line from %" PRIu64
			      " on is not that of index, folded",
			      STR_ARG(p->pages.about.key), line);
}

/* Lines between two places that are known are as many as there should be, and end there. */
static int verify_group(struct names_parts *p, enum names_part part, uint64_t group, uint64_t lines,
			struct str *ret, struct err *err)
{
	if (names_lines_get(p, part, group, 1, ret, err) < 0)
		return -1;
	const char *end = ret->p + ret->n;
	if (names_lines_skip(ret->p, end, lines) == end)
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s of " STR_FMT ": the lines of group %" PRIu64
		       " are not where they should be",
		       names_part_name[part], STR_ARG(p->pages.about.key), group);
}

static int verify_names(struct names_parts *p, struct err *err)
{
	struct str index, nocase;
	for (uint64_t line = 0; line < p->entries; line += NAMES_INDEX_EVERY) {
		uint64_t group = line / NAMES_INDEX_EVERY;
		uint64_t n = MIN(p->entries - line, (uint64_t)NAMES_INDEX_EVERY);
		if (verify_group(p, NAMES_INDEX, group, n, &index, err) < 0 ||
		    names_lines_get(p, NAMES_NOCASE, group, 1, &nocase, err) < 0 ||
		    verify_folded(p, index, nocase, line, err) < 0)
			return -1;
	}
	for (uint64_t line = 0; line < p->dirs; line += NAMES_DIREC_EVERY)
		if (verify_group(p, NAMES_DIREC, line / NAMES_DIREC_EVERY,
				 MIN(p->dirs - line, (uint64_t)NAMES_DIREC_EVERY), &index, err) < 0)
			return -1;
	return 0;
}

/* Directories have numbers in the order in which they first appear. */
static int verify_data(struct names_parts *p, struct err *err)
{
	struct names_entry e;
	struct str s;
	uint64_t n, dir, seen = 0;
	int rc;
	for (uint64_t line = 0; (rc = data_next(p, line, &s, &n, err)) == 0; line += n)
		for (uint64_t i = 0; i < n; i++) {
			if (!names_line_get(s.p + i * NAMES_LINE_BYTES, &e, &dir))
				return data_damaged(p, line + i, "it is not one", err);
			if (dir > seen || dir >= p->dirs)
				return data_damaged(p, line + i, "a directory too far", err);
			seen += dir == seen;
		}
	if (rc == 1 && seen != p->dirs)
		return data_damaged(p, p->entries, "directories are left over", err);
	return MIN(rc, 0);
}

static int verify_runs(const struct names_parts *p, struct err *err)
{
	struct names_dir_run run;
	struct str rest = p->pages.runs;
	uint64_t n = 0;
	int rc;
	while ((rc = names_pages_next_run(&rest, p->pages.about.generation, &run, err)) == 0)
		n += run.n;
	if (rc == 1 && n != p->dirs)
		return err_set(err, ERR_DAMAGED,
			       "pages of " STR_FMT ": changes of %" PRIu64
			       " directories, there are %" PRIu64,
			       STR_ARG(p->pages.about.key), n, p->dirs);
	return MIN(rc, 0);
}

int names_parts_verify(struct names_parts *p, struct err *err)
{
	if (p->pages.file && (page_verify(p->pages.file, err) < 0 || verify_runs(p, err) < 0))
		return -1;
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		if (page_verify(p->part[i], err) < 0)
			return -1;
	if (verify_names(p, err) < 0 || verify_data(p, err) < 0)
		return -1;
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		if (page_check(p->part[i], err) < 0)
			return -1;
	return 0;
}

/* A pages file for parts that have none */

static int table_make(struct names_parts *p, enum names_part part, struct buf *out, struct err *err)
{
	uint64_t bytes = page_bytes(p->part[part]);
	struct str s;
	for (uint64_t at = 0; at < bytes; at += PAGE_SIZE) {
		size_t n = (size_t)MIN(bytes - at, (uint64_t)PAGE_SIZE);
		if (page_get(p->part[part], at, n, &s, err) < 0)
			return -1;
		put_u32le(out, crc32c(0, s.p, s.n));
	}
	return page_check(p->part[part], err);
}

static void places_take(struct str from, struct str at, struct names_places *ret)
{
	for (uint64_t i = 0; i < at.n / sizeof(uint32_t); i++)
		*VEC_PUSH(ret->at, ret->n, ret->room) = names_place_at(from, at, i);
}

int names_parts_make_pages(struct names_parts *p, const char *path, const struct names_about *about,
			   struct err *err)
{
	struct names_places index = {0}, direc = {0};
	struct names_dir_run run = {p->dirs, about->generation};
	struct names_dir_runs runs = {.run = &run, .n = p->dirs ? 1 : 0};
	struct buf table[NAMES_PARTS];
	struct names_pages_content c = {
		.about = *about, .index = &index, .direc = &direc, .runs = &runs};
	int rc = 0;
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		table[i] = BUF_INIT(SIZE_MAX / 2);
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++) {
		rc = table_make(p, i, &table[i], err);
		c.table[i] = buf_str(&table[i]);
		c.bytes[i] = page_bytes(p->part[i]);
	}
	places_take(p->pages.index_from, p->pages.index_at, &index);
	places_take(p->pages.direc_from, p->pages.direc_at, &direc);
	if (rc == 0)
		rc = names_pages_write(path, &c, err);
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		buf_free(&table[i]);
	mem_free(&index.at);
	mem_free(&direc.at);
	return rc;
}
