/* The parts of a site, mapped. A line of index or direc is found by the place of one shortly before
 * it, and by counting newlines from there; a line of data by its number. Pages are verified when
 * they are first touched, by the table in the pages file. Where that file is lost, the places of
 * lines are found when the parts are opened, and nothing can be verified. */
#include "base/ascii.h"
#include "base/cursor.h"
#include "index/names/names_store.h"

#include <errno.h>
#include <inttypes.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SCAN_MOST = 1 << 20 };

/* Newlines */

static const char *lines_skip_slowly(const char *p, const char *end, uint64_t n)
{
	while (n && p && p < end) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : NULL;
		n--;
	}
	return n ? NULL : p;
}

const char *names_lines_skip(const char *p, const char *end, uint64_t n)
{
#ifdef __SSE2__
	const __m128i newline = _mm_set1_epi8('\n');
	while (end - p >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
		unsigned m = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline));
		unsigned found = (unsigned)__builtin_popcount(m);
		if (found >= n)
			break;
		n -= found;
		p += 16;
	}
#endif
	return lines_skip_slowly(p, end, n);
}

/* Opening */

static struct names_parts *parts_new(void)
{
	struct names_parts *p = mem_alloc(sizeof *p);
	atomic_init(&p->refs, 1);
	p->made = BUF_INIT(SIZE_MAX / 2);
	(void)pthread_mutex_init(&p->mutex, NULL);
	return p;
}

static int parts_finish_open(struct names_parts **ret, struct names_parts *p, int rc)
{
	if (rc == 0)
		*ret = p;
	else
		names_parts_close(&p);
	return rc;
}

static int parts_load(struct names_parts *p, const char *folder, uint64_t generation,
		      struct err *err)
{
	char *path = names_path(folder, "pages");
	int rc = names_pages_open(&p->pages, path, err);
	mem_free(&path);
	if (rc != 0)
		return rc;
	if (p->pages.about.generation != generation)
		return err_set(err, ERR_DAMAGED,
			       "%s/pages: of generation %" PRIu64 ", not %" PRIu64, folder,
			       p->pages.about.generation, generation);
	p->entries = p->pages.about.entries;
	p->dirs = p->pages.about.dirs;
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++) {
		path = names_path(folder, names_part_name[i]);
		rc = page_open_plain(&p->part[i], path, p->pages.bytes[i], p->pages.table[i].p,
				     err);
		mem_free(&path);
	}
	return rc;
}

int names_parts_open(struct names_parts **ret, const char *folder, uint64_t generation,
		     struct err *err)
{
	struct names_parts *p = parts_new();
	return parts_finish_open(ret, p, parts_load(p, folder, generation, err));
}

static int open_by_key(struct names_parts *p, const char *folder, enum names_part part,
		       struct str key, struct err *err)
{
	struct stat st;
	char *path = names_key_path(folder, part, key);
	int rc = 0;
	if (stat(path, &st) < 0)
		rc = errno == ENOENT ? 1 : err_sys(err, "%s", path);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = err_set(err, ERR_DAMAGED, "%s: it is not a file", path);
	if (rc == 0)
		rc = page_open_plain(&p->part[part], path, (uint64_t)st.st_size, NULL, err);
	mem_free(&path);
	return rc;
}

/* Counts lines, and says where some of them are. */
static int find_places(struct names_parts *p, enum names_part part, unsigned every,
		       struct names_places *ret, uint64_t *ret_lines, struct err *err)
{
	struct str s;
	if (page_get(p->part[part], 0, (size_t)page_bytes(p->part[part]), &s, err) < 0)
		return -1;
	const char *at = s.p, *end = s.p + s.n;
	uint64_t lines = 0;
	while (at && at < end && lines <= NAMES_ENTRIES_MOST) {
		*VEC_PUSH(ret->at, ret->n, ret->room) = (uint64_t)(at - s.p);
		const char *next = names_lines_skip(at, end, every);
		if (next) {
			lines += every;
		} else {
			for (; at && at < end; lines += at != NULL)
				at = lines_skip_slowly(at, end, 1);
			next = at;
		}
		at = next;
	}
	if (!at || lines > NAMES_ENTRIES_MOST)
		return err_set(err, ERR_DAMAGED, "%s: its last line has no end, or it has too many",
			       names_part_name[part]);
	*ret_lines = lines;
	return page_check(p->part[part], err);
}

static void places_keep(struct names_parts *p, const struct names_places *index,
			const struct names_places *direc)
{
	size_t index_froms = (index->n + NAMES_FROM_EVERY - 1) / NAMES_FROM_EVERY * 8;
	size_t direc_froms = (direc->n + NAMES_FROM_EVERY - 1) / NAMES_FROM_EVERY * 8;
	names_places_put(index, &p->made);
	size_t direc_at = p->made.n;
	names_places_put(direc, &p->made);
	struct str all = buf_str(&p->made);
	p->pages.index_from = str_head(all, index_froms);
	p->pages.index_at = str_from(str_head(all, direc_at), index_froms);
	p->pages.direc_from = str_head(str_from(all, direc_at), direc_froms);
	p->pages.direc_at = str_from(all, direc_at + direc_froms);
}

/* By index, whose lines are counted. */
static int length_check(const struct names_parts *p, enum names_part part, uint64_t want,
			const char *folder, struct str key, struct err *err)
{
	uint64_t bytes = page_bytes(p->part[part]);
	if (bytes == want)
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s/%s/" STR_FMT ": it has %" PRIu64 " bytes; index needs %" PRIu64, folder,
		       names_part_name[part], STR_ARG(key), bytes, want);
}

static int parts_load_by_key(struct names_parts *p, const char *folder, struct str key,
			     struct err *err)
{
	struct names_places index = {0}, direc = {0};
	int rc = 0;
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++)
		rc = open_by_key(p, folder, i, key, err);
	if (rc == 0)
		rc = find_places(p, NAMES_INDEX, NAMES_INDEX_EVERY, &index, &p->entries, err);
	if (rc == 0)
		rc = find_places(p, NAMES_DIREC, NAMES_DIREC_EVERY, &direc, &p->dirs, err);
	if (rc == 0 && p->dirs > NAMES_DIRS_MOST)
		rc = err_set(err, ERR_DAMAGED, "direc: it has too many lines");
	if (rc == 0)
		places_keep(p, &index, &direc);
	mem_free(&index.at);
	mem_free(&direc.at);
	if (rc < 0 && err->code == ERR_DAMAGED)
		return err_in(err, "%s: " STR_FMT, folder, STR_ARG(key));
	if (rc == 0)
		rc = length_check(p, NAMES_DATA, p->entries * NAMES_LINE_BYTES, folder, key, err);
	if (rc == 0)
		rc = length_check(p, NAMES_NOCASE, page_bytes(p->part[NAMES_INDEX]), folder, key,
				  err);
	return rc;
}

int names_parts_open_by_key(struct names_parts **ret, const char *folder, struct str key,
			    struct err *err)
{
	struct names_parts *p = parts_new();
	return parts_finish_open(ret, p, parts_load_by_key(p, folder, key, err));
}

struct names_parts *names_parts_hold(struct names_parts *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void names_parts_close(struct names_parts **pp)
{
	struct names_parts *p = *pp;
	*pp = NULL;
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		page_close(&p->part[i]);
	names_pages_close(&p->pages);
	buf_free(&p->made);
	mem_free(&p->lines.first);
	mem_free(&p->lines.from);
	mem_free(&p->lines.n);
	(void)pthread_mutex_destroy(&p->mutex);
	mem_free(&p);
}

uint64_t names_parts_entries(const struct names_parts *p)
{
	return p->entries;
}

uint64_t names_parts_dirs(const struct names_parts *p)
{
	return p->dirs;
}

uint64_t names_parts_bytes(const struct names_parts *p)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		n += page_bytes(p->part[i]);
	return n;
}

const struct names_pages *names_parts_pages(const struct names_parts *p)
{
	return p->pages.file ? &p->pages : NULL;
}

/* Lines */

static int no_such_line(const struct names_parts *p, enum names_part part, uint64_t line,
			struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s of " STR_FMT ": line %" PRIu64 " is not where it should be",
		       names_part_name[part], STR_ARG(p->pages.about.key), line);
}

int names_lines_get(struct names_parts *p, enum names_part part, uint64_t group, uint64_t groups,
		    struct str *ret, struct err *err)
{
	bool direc = part == NAMES_DIREC;
	struct str from = direc ? p->pages.direc_from : p->pages.index_from;
	struct str at = direc ? p->pages.direc_at : p->pages.index_at;
	uint64_t bytes = page_bytes(p->part[part]), begin = names_place_at(from, at, group);
	uint64_t end = group + groups < at.n / sizeof(uint32_t)
			       ? names_place_at(from, at, group + groups)
			       : bytes;
	if (begin > end || end > bytes)
		return no_such_line(p, part,
				    group * (direc ? NAMES_DIREC_EVERY : NAMES_INDEX_EVERY), err);
	return page_get(p->part[part], begin, (size_t)(end - begin), ret, err);
}

static int line_get(struct names_parts *p, enum names_part part, uint64_t line, struct str *ret,
		    struct err *err)
{
	unsigned every = part == NAMES_DIREC ? NAMES_DIREC_EVERY : NAMES_INDEX_EVERY;
	struct str s;
	if (line >= (part == NAMES_DIREC ? p->dirs : p->entries))
		return no_such_line(p, part, line, err);
	if (names_lines_get(p, part, line / every, 1, &s, err) < 0)
		return -1;
	const char *end = s.p + s.n, *begin = names_lines_skip(s.p, end, line % every);
	const char *stop = begin ? memchr(begin, '\n', (size_t)(end - begin)) : NULL;
	if (!stop)
		return no_such_line(p, part, line, err);
	*ret = str_range(begin, stop);
	return 0;
}

int names_parts_name(struct names_parts *p, uint64_t line, struct arena *arena, struct str *ret,
		     struct err *err)
{
	struct str s;
	if (line_get(p, NAMES_INDEX, line, &s, err) < 0)
		return -1;
	*ret = names_unescape(s, arena);
	return 0;
}

int names_parts_dir(struct names_parts *p, uint64_t number, struct arena *arena, struct str *ret,
		    struct err *err)
{
	struct str s;
	if (line_get(p, NAMES_DIREC, number, &s, err) < 0)
		return -1;
	*ret = names_unescape(s, arena);
	return 0;
}

int names_parts_data(struct names_parts *p, uint64_t line, struct names_entry *ret,
		     uint64_t *ret_dir, struct err *err)
{
	struct str s;
	if (line >= p->entries)
		return no_such_line(p, NAMES_DATA, line, err);
	if (page_get(p->part[NAMES_DATA], line * NAMES_LINE_BYTES, NAMES_LINE_BYTES, &s, err) < 0)
		return -1;
	if (!names_line_get(s.p, ret, ret_dir) || *ret_dir >= p->dirs)
		return no_such_line(p, NAMES_DATA, line, err);
	return 0;
}

int names_parts_scan(struct names_parts *p, enum names_part part, uint64_t from, struct str *ret,
		     uint64_t *ret_lines, struct err *err)
{
	uint64_t group = from / NAMES_INDEX_EVERY, groups = 1;
	uint64_t all = p->pages.index_at.n / sizeof(uint32_t);
	struct str s;
	if (from >= p->entries)
		return 1;
	uint64_t begin = names_place_at(p->pages.index_from, p->pages.index_at, group);
	while (group + groups < all &&
	       names_place_at(p->pages.index_from, p->pages.index_at, group + groups) - begin <
		       SCAN_MOST)
		groups++;
	if (names_lines_get(p, part, group, groups, &s, err) < 0)
		return -1;
	const char *at = names_lines_skip(s.p, s.p + s.n, from % NAMES_INDEX_EVERY);
	if (!at)
		return no_such_line(p, part, from, err);
	*ret = str_range(at, s.p + s.n);
	*ret_lines = MIN((group + groups) * NAMES_INDEX_EVERY, p->entries) - from;
	return 0;
}
