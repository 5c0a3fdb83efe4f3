/* The four parts while a site is read: one pass, one line at a time, into four streams. Each part
 * has a buffer of its own that goes to its stream in large pieces, so that checksums are made of
 * bytes that are still near, and a line costs no call of anything.
 *
 * A directory is known by two hashes of its path, 128 bits with seeds of this process: the paths
 * themselves are in direc and nowhere else. Files come directory by directory most of the time, so
 * the path before is compared first. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/table.h"
#include "index/names/names_store.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	STAGE = 64 << 10,                              /* what goes to the stream at once */
	STAGE_ROOM = STAGE + 2 * NAMES_NAME_MOST + 64, /* and one more line, all of it escapes */
};

TABLE(dir_table, struct table_hashes, uint32_t, table_hash_hashes, table_same_hashes)

struct part_out {
	struct page_writer file;
	bool open;
	char *stage;
	size_t n;
	uint64_t put; /* before the stage */
	struct buf table;
};

struct names_parts_writer {
	struct pool *pool;
	struct part_out part[NAMES_PARTS];
	struct dir_table dirs;
	uint64_t seed;
	uint64_t entries, ndirs;
	struct names_places index, direc;
	struct names_dir_sum *sum; /* of the files of each directory */
	size_t sum_room;
	char *folded;    /* of directories, which nobody wants */
	struct buf last; /* the directory of the file before */
	uint64_t last_dir;
	bool some;
};

/* Streams */

static void part_flush(struct part_out *o)
{
	page_put(&o->file, o->stage, o->n);
	o->put += o->n;
	o->n = 0;
}

static uint64_t part_at(const struct part_out *o)
{
	return o->put + o->n;
}

static int part_create(struct names_parts_writer *w, enum names_part i, const char *folder,
		       struct err *err)
{
	struct stream_options options = {.pool = w->pool};
	char *path = names_path(folder, names_part_name[i]);
	int rc = page_create(&w->part[i].file, path, 0644, &options, err);
	w->part[i].open = rc == 0;
	w->part[i].stage = mem_resize(NULL, STAGE_ROOM);
	mem_free(&path);
	return rc;
}

int names_parts_create(struct names_parts_writer **ret, const char *folder, struct err *err)
{
	struct names_parts_writer *w = mem_alloc(sizeof *w);
	w->last = BUF_INIT(NAMES_NAME_MOST);
	w->folded = mem_resize(NULL, STAGE_ROOM - STAGE);
	w->seed = hash_u64((uint64_t)(uintptr_t)w ^ (uint64_t)clock_wall_us());
	int rc = pool_new(&w->pool, &stream_pool, err);
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++)
		rc = part_create(w, i, folder, err);
	if (rc < 0)
		names_parts_drop(&w);
	else
		*ret = w;
	return rc;
}

void names_parts_drop(struct names_parts_writer **wp)
{
	struct names_parts_writer *w = *wp;
	if (!w)
		return;
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		if (w->part[i].open)
			page_drop(&w->part[i].file);
		mem_free(&w->part[i].stage);
		buf_free(&w->part[i].table);
	}
	pool_free(&w->pool);
	dir_table_free(&w->dirs);
	mem_free(&w->index.at);
	mem_free(&w->direc.at);
	mem_free(&w->sum);
	mem_free(&w->folded);
	buf_free(&w->last);
	mem_free(wp);
}

/* Names: copied, folded and looked at for escapes, eight bytes at a time. */

static const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);

static uint64_t bytes_equal(uint64_t word, char c)
{
	uint64_t v = word ^ ones * (unsigned char)c;
	return (v - ones) & ~v & highs;
}

static bool needs_escape(uint64_t word)
{
	return bytes_equal(word, '\n') | bytes_equal(word, '\r') | bytes_equal(word, '\\');
}

static uint64_t word_lower(uint64_t word)
{
	uint64_t low = word & ~highs;
	uint64_t upper = (low + ones * (0x80 - 'A')) & ~(low + ones * (0x80 - 'Z' - 1)) & ~word;
	return word | (upper & highs) >> 2;
}

/* Up to eight bytes, the others are zero. */
static uint64_t word_of(const char *p, size_t n)
{
	uint64_t word = 0;
	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)(unsigned char)p[i] << 8 * i;
	return htole64(word);
}

static bool word_copy(uint64_t word, char *to, char *to_low)
{
	uint64_t low = word_lower(word);
	memcpy(to, &word, 8);
	memcpy(to_low, &low, 8);
	return !needs_escape(word);
}

/* false: it has something to escape, and what was copied is no good. There is room for eight bytes
 * at least. */
static bool name_copy(struct str name, char *to, char *to_low)
{
	uint64_t word;
	bool good = true;
	for (size_t i = 0; i + 8 <= name.n; i += 8) {
		memcpy(&word, name.p + i, 8);
		good &= word_copy(word, to + i, to_low + i);
	}
	if (name.n < 8)
		return word_copy(word_of(name.p, name.n), to, to_low);
	memcpy(&word, name.p + name.n - 8, 8);
	return good & word_copy(word, to + name.n - 8, to_low + name.n - 8);
}

/* Escapes are small letters already. */
static size_t name_copy_escaped(struct str name, char *to, char *to_low)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT((size_t)2 * NAMES_NAME_MOST);
	names_escape(name, &text);
	memcpy(to, text.p, text.n);
	str_lower(buf_str(&text), to_low);
	return text.n;
}

static size_t name_put(struct str name, char *to, char *to_low)
{
	size_t n = name.n;
	if (UNLIKELY(!name_copy(name, to, to_low)))
		n = name_copy_escaped(name, to, to_low);
	to[n] = '\n';
	to_low[n] = '\n';
	return n + 1;
}

static void part_grew(struct part_out *o, size_t n)
{
	o->n += n;
	if (UNLIKELY(o->n >= STAGE))
		part_flush(o);
}

/* Returns what the file adds to the hash of its directory. */
static uint64_t index_put(struct names_parts_writer *w, struct str name, const char *data)
{
	struct part_out *index = &w->part[NAMES_INDEX], *nocase = &w->part[NAMES_NOCASE];
	if (w->entries % NAMES_INDEX_EVERY == 0)
		*VEC_PUSH(w->index.at, w->index.n, w->index.room) = part_at(index);
	char *line = index->stage + index->n;
	size_t n = name_put(name, line, nocase->stage + nocase->n);
	uint64_t hash = names_file_hash(data, (struct str){line, n - 1});
	part_grew(index, n);
	part_grew(nocase, n);
	return hash;
}

/* Directories */

static struct table_hashes dir_key_of(const struct names_parts_writer *w, struct str dir)
{
	return (struct table_hashes){hash64_seeded(dir, w->seed), hash64_seeded(dir, ~w->seed)};
}

static uint64_t dir_put(struct names_parts_writer *w, struct str dir)
{
	struct part_out *direc = &w->part[NAMES_DIREC];
	if (w->ndirs % NAMES_DIREC_EVERY == 0)
		*VEC_PUSH(w->direc.at, w->direc.n, w->direc.room) = part_at(direc);
	part_grew(direc, name_put(dir, direc->stage + direc->n, w->folded));
	VEC_ROOM(w->sum, w->sum_room, (size_t)w->ndirs + 1);
	w->sum[w->ndirs] = (struct names_dir_sum){0};
	return w->ndirs++;
}

/* The number of a directory, new or not; the limit was looked at. */
static void dir_enter(struct names_parts_writer *w, struct str dir)
{
	bool is_new;
	uint32_t *number = dir_table_put_new(&w->dirs, dir_key_of(w, dir), &is_new);
	if (is_new)
		*number = (uint32_t)dir_put(w, dir);
	w->last_dir = *number;
	buf_clear(&w->last);
	buf_add_str(&w->last, dir);
	w->some = true;
}

int names_parts_find_dir(const struct names_parts_writer *w, struct str dir, uint64_t *ret,
			 struct names_dir_sum *ret_sum)
{
	const uint32_t *number = dir_table_get(&w->dirs, dir_key_of(w, dir));
	if (!number)
		return 1;
	*ret = *number;
	*ret_sum = w->sum[*number];
	return 0;
}

/* Files */

static bool dir_fits(struct str dir)
{
	return dir.n <= NAMES_NAME_MOST &&
	       (dir.n == 0 || (dir.p[0] != '/' && dir.p[dir.n - 1] != '/'));
}

static int entry_refuse(const struct names_entry *e, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, "'" STR_FMT "': %s", STR_ARG(str_head(e->name, 60)), why);
}

static int entry_check(const struct names_parts_writer *w, const struct names_entry *e,
		       struct err *err)
{
	if (e->name.n == 0 || e->name.n > NAMES_NAME_MOST || memchr(e->name.p, '/', e->name.n))
		return entry_refuse(e, "a name has 1 to 65,536 bytes and no slash", err);
	if (!dir_fits(e->dir))
		return entry_refuse(
			e, "its directory has a slash at its end, or more than 65,536 bytes", err);
	if (w->entries >= NAMES_ENTRIES_MOST || w->ndirs >= NAMES_DIRS_MOST)
		return entry_refuse(e, "there are too many files or directories before it", err);
	return 0;
}

int names_parts_add(struct names_parts_writer *w, const struct names_entry *e, struct err *err)
{
	struct part_out *data = &w->part[NAMES_DATA];
	if (entry_check(w, e, err) < 0)
		return -1;
	if (!w->some || !str_eq(e->dir, buf_str(&w->last)))
		dir_enter(w, e->dir);
	char *line = data->stage + data->n;
	names_line_put(e, w->last_dir, line);
	w->sum[w->last_dir].hash += index_put(w, e->name, line);
	w->sum[w->last_dir].files++;
	w->entries++;
	part_grew(data, NAMES_LINE_BYTES);
	return 0;
}

uint64_t names_parts_written(const struct names_parts_writer *w, uint64_t *ret_dirs)
{
	*ret_dirs = w->ndirs;
	return w->entries;
}

/* The end */

int names_parts_finish(struct names_parts_writer *w, struct err *err)
{
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		struct part_out *o = &w->part[i];
		part_flush(o);
		o->open = false;
		if (page_finish_plain(&o->file, true, &o->table, err) < 0)
			return -1;
	}
	return 0;
}

int names_parts_write_pages(struct names_parts_writer *w, const char *path,
			    const struct names_about *about, const struct names_dir_runs *runs,
			    struct err *err)
{
	struct names_pages_content c = {
		.about = *about, .index = &w->index, .direc = &w->direc, .runs = runs};
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		c.bytes[i] = w->part[i].put;
		c.table[i] = buf_str(&w->part[i].table);
	}
	return names_pages_write(path, &c, err);
}
