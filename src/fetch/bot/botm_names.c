/* Only blocks with a row are in memory: in all other blocks every name is kept. A row has two bits
 * for each name and one generation, the greatest that any name of the block may have been given
 * with while it was not kept. When the free names of a block are reserved, its generation rises,
 * so that a robot that outlives a botm never has a name that is given again.
 *
 * A reservation is durable before a name is given, since the source may learn of its file at once.
 * Everything else may be lost by a power cut: an open name with a file is reported to the source
 * again.
 *
 * A ledger with a record for each step of each name was the alternative. It was as safe, at three
 * records and a sync per URL, and had to be rewritten whenever it had grown too long. */
#include "fetch/bot/botm_names.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "base/vec.h"
#include "disk/lock.h"
#include "store/small.h"

#include <errno.h>
#include <stdio.h>

enum {
	BITS = BOTM_BLOCK / 8,
	FAR = 1000, /* blocks after the last one */
};

struct block {
	char folder[PATH_MAX]; /* below the data directory, or absolute */
	uint32_t block, generation;
	uint8_t free[BITS], kept[BITS]; /* neither: open */
};
static const struct column block_columns[] = {
	COL("folder", struct block, folder),
	COL("block", struct block, block, .most = BOTM_BLOCKS_MOST - 1),
	COL("generation", struct block, generation, .most = BOTM_GENERATION_MOST),
	COL("free", struct block, free),
	COL("kept", struct block, kept),
};
static const struct small_table botm_names_table = {
	.name = "botm_names",
	.row = {ROWS(struct block, block_columns)},
	.key = 2,
	.most = BOTM_BLOCKS_MOST,
	.loose = true,
	.writer = "botm",
	.loss = "which file names of a botm are free",
};
static const struct small_table *const tables[] = {&botm_names_table};

struct known {
	struct link free, dirty; /* of the blocks with free names; of the blocks to be written */
	uint32_t number, generation;
	uint32_t nfree, nkept;
	uint8_t is_free[BITS], is_kept[BITS];
};
TABLE(known_blocks, uint64_t, struct known *, hash_u64, table_same_u64)

struct botm_names {
	struct lock lock; /* of the folder */
	struct small *small;
	char *path;         /* of the folder */
	const char *folder; /* the end of it that rows have */
	struct known_blocks blocks;
	struct link free, dirty;
	uint32_t next; /* block */
	uint64_t nfree, nopen;
	uint32_t *ready; /* open names that nobody has */
	size_t nready, ready_room;
	struct botm_name *open; /* at the start */
	size_t nopened, open_room;
	struct block row; /* that is written: its folder stays */
};

/* Names as text */

void botm_name_print(struct botm_name name, char ret[BOTM_NAME_ROOM])
{
	int n = snprintf(ret, BOTM_NAME_ROOM, "%06u/%03u", name.number / BOTM_BLOCK % 1000000,
			 name.number % BOTM_BLOCK);
	if (name.generation > 1)
		snprintf(ret + n, BOTM_NAME_ROOM - (size_t)n, ".%u",
			 name.generation & BOTM_GENERATION_MOST);
}

/* Accepts only the form that is printed, so each name has one form. */
bool botm_name_parse(struct str text, struct botm_name *ret)
{
	char again[BOTM_NAME_ROOM];
	uint64_t folder, number, generation = 1;
	struct str rest = text, part;
	if (str_cut(&rest, '/', &part) != 0 || part.n != 6 || !str_u64(part, &folder) ||
	    str_cut(&rest, '.', &part) != 0 || part.n != 3 || !str_u64(part, &number) ||
	    (rest.p && (!str_u64(rest, &generation) || generation > BOTM_GENERATION_MOST)))
		return false;
	struct botm_name name = {(uint32_t)(folder * BOTM_BLOCK + number), (uint32_t)generation};
	botm_name_print(name, again);
	if (generation == 0 || !str_is(text, again))
		return false;
	*ret = name;
	return true;
}

/* Blocks in memory */

static bool bit_is(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static void bit_set(uint8_t *bits, uint32_t i, bool is)
{
	bits[i / 8] = (uint8_t)((bits[i / 8] & ~(1u << i % 8)) | (unsigned)is << i % 8);
}

static uint32_t bits_count(const uint8_t *bits)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < BITS; i++)
		n += (uint32_t)__builtin_popcount(bits[i]);
	return n;
}

static struct known *block_of(const struct botm_names *n, uint32_t block)
{
	struct known **k = known_blocks_get(&n->blocks, block);
	return k ? *k : NULL;
}

static struct known *block_add(struct botm_names *n, const struct block *row)
{
	struct known *k = mem_alloc(sizeof *k);
	k->number = row->block;
	k->generation = row->generation;
	memcpy(k->is_free, row->free, BITS);
	memcpy(k->is_kept, row->kept, BITS);
	k->nfree = bits_count(k->is_free);
	k->nkept = bits_count(k->is_kept);
	n->nfree += k->nfree;
	n->nopen += BOTM_BLOCK - k->nfree - k->nkept;
	n->next = MAX(n->next, k->number + 1);
	if (k->nfree)
		list_append(&n->free, &k->free);
	*known_blocks_put(&n->blocks, k->number) = k;
	return k;
}

static void block_drop(struct botm_names *n, struct known *k)
{
	known_blocks_remove(&n->blocks, k->number);
	list_remove(&k->free);
	list_remove(&k->dirty);
	mem_free(&k);
}

static void block_touch(struct botm_names *n, struct known *k)
{
	if (!list_has(&k->dirty))
		list_append(&n->dirty, &k->dirty);
}

static enum botm_place place_in(const struct known *k, uint32_t i)
{
	return bit_is(k->is_kept, i) ? BOTM_KEPT : bit_is(k->is_free, i) ? BOTM_FREE : BOTM_OPEN;
}

static void place_set(struct botm_names *n, struct known *k, uint32_t i, enum botm_place place)
{
	enum botm_place old = place_in(k, i);
	k->nfree += (uint32_t)(place == BOTM_FREE) - (old == BOTM_FREE);
	k->nkept += (uint32_t)(place == BOTM_KEPT) - (old == BOTM_KEPT);
	n->nfree += (uint64_t)(place == BOTM_FREE) - (old == BOTM_FREE);
	n->nopen += (uint64_t)(place == BOTM_OPEN) - (old == BOTM_OPEN);
	bit_set(k->is_free, i, place == BOTM_FREE);
	bit_set(k->is_kept, i, place == BOTM_KEPT);
	if (k->nfree == 0)
		list_remove(&k->free);
	else if (!list_has(&k->free))
		list_append(&n->free, &k->free);
	block_touch(n, k);
}

/* A block without a row gets one when the first of its names is free again. */
static struct known *block_have(struct botm_names *n, uint32_t number)
{
	struct known *k = block_of(n, number / BOTM_BLOCK);
	if (k)
		return k;
	n->row.block = number / BOTM_BLOCK;
	n->row.generation = 1;
	memset(n->row.free, 0, BITS);
	memset(n->row.kept, 0xff, BITS);
	return block_add(n, &n->row);
}

void botm_names_put(struct botm_names *n, struct botm_name name, enum botm_place place)
{
	struct known *k = block_have(n, name.number);
	k->generation = MAX(k->generation, name.generation);
	place_set(n, k, name.number % BOTM_BLOCK, place);
}

enum botm_place botm_names_place(const struct botm_names *n, uint32_t number)
{
	const struct known *k = block_of(n, number / BOTM_BLOCK);
	if (k)
		return place_in(k, number % BOTM_BLOCK);
	return number / BOTM_BLOCK < n->next ? BOTM_KEPT : BOTM_FREE;
}

bool botm_names_is_own(const struct botm_names *n, struct botm_name name)
{
	const struct known *k = block_of(n, name.number / BOTM_BLOCK);
	return k && name.generation <= k->generation &&
	       place_in(k, name.number % BOTM_BLOCK) != BOTM_KEPT;
}

uint64_t botm_names_count(const struct botm_names *n, enum botm_place place)
{
	uint64_t all = (uint64_t)n->next * BOTM_BLOCK;
	return place == BOTM_FREE   ? n->nfree
	       : place == BOTM_OPEN ? n->nopen
				    : all - n->nfree - n->nopen;
}

/* Rows */

/* The last block has a row in any case: it says which is next. */
static bool block_is_over(const struct botm_names *n, const struct known *k)
{
	return k->nkept == BOTM_BLOCK && k->number + 1 < n->next;
}

static int block_write(struct botm_names *n, const struct known *k, struct err *err)
{
	n->row.block = k->number;
	n->row.generation = k->generation;
	memcpy(n->row.free, k->is_free, BITS);
	memcpy(n->row.kept, k->is_kept, BITS);
	if (block_is_over(n, k))
		return MIN(small_delete(n->small, &botm_names_table, &n->row, err), 0);
	int rc = small_put(n->small, &botm_names_table, &n->row, err);
	return rc == 1 ? err_set(err, ERR_SYSTEM, "%s: all names are in use", n->path) : rc;
}

static int blocks_write(struct botm_names *n, bool loose, struct err *err)
{
	if (list_is_empty(&n->dirty))
		return 0;
	if (small_begin(n->small, loose, err) < 0)
		return -1;
	int rc = 0;
	LIST_EACH (struct known, k, &n->dirty, dirty)
		rc = rc < 0 ? rc : block_write(n, k, err);
	if (small_end(n->small, rc, err) < 0)
		return -1;
	LIST_EACH (struct known, k, &n->dirty, dirty) {
		list_remove(&k->dirty);
		if (block_is_over(n, k))
			block_drop(n, k);
	}
	return 0;
}

int botm_names_sync(const struct botm_names *n, struct err *err)
{
	return file_sync_all(&n->lock.file, err);
}

int botm_names_flush(struct botm_names *n, struct err *err)
{
	if (blocks_write(n, true, err) < 0)
		return -1;
	FAULT("botm.flush");
	return 0;
}

/* Reserving */

static int subfolder_make(const struct botm_names *n, uint32_t block, struct err *err)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/%06u", n->path, block) >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
	return dir_make(path, DIR_MODE, err);
}

/* The first one comes last, as it is taken first. */
static void block_reserve(struct botm_names *n, struct known *k)
{
	for (uint32_t i = BOTM_BLOCK; i-- > 0;)
		if (bit_is(k->is_free, i)) {
			place_set(n, k, i, BOTM_OPEN);
			*VEC_PUSH(n->ready, n->nready, n->ready_room) = k->number * BOTM_BLOCK + i;
		}
}

static int block_begin(struct botm_names *n, struct err *err)
{
	if (n->next == BOTM_BLOCKS_MOST)
		return err_set(err, ERR_SYSTEM, "%s: all names are in use", n->path);
	struct known *last = n->next ? block_of(n, n->next - 1) : NULL;
	if (last)
		block_touch(n, last); /* it may no longer need a row */
	n->row.block = n->next;
	n->row.generation = 1;
	memset(n->row.free, 0xff, BITS);
	memset(n->row.kept, 0, BITS);
	block_reserve(n, block_add(n, &n->row));
	return 0;
}

/* Free names first, so that the folder stays as full as it can be; many in one commit. */
static int names_reserve(struct botm_names *n, struct err *err)
{
	uint32_t before = n->next;
	LIST_EACH (struct known, k, &n->free, free)
		if (n->nready < BOTM_BLOCK && k->generation < BOTM_GENERATION_MOST) {
			k->generation++;
			block_reserve(n, k);
		}
	if (n->nready == 0 && block_begin(n, err) < 0)
		return -1;
	FAULT("botm.reserve");
	if (blocks_write(n, false, err) < 0)
		return -1;
	FAULT("botm.reserved");
	return before < n->next ? subfolder_make(n, before, err) : 0;
}

int botm_names_give(struct botm_names *n, struct botm_name *ret, struct err *err)
{
	if (n->nready == 0 && names_reserve(n, err) < 0)
		return -1;
	uint32_t number = n->ready[--n->nready];
	*ret = (struct botm_name){number, block_of(n, number / BOTM_BLOCK)->generation};
	return 0;
}

/* The start */

struct survey {
	struct botm_names *n;
	struct botm_names_found *found;
	struct known *k;
	struct botm_name *file;
	size_t files, room;
	uint32_t latest[BOTM_BLOCK]; /* generation of a file; 0: there is none */
	bool with_empty;             /* folders */
};

/* 1: it is a folder, which no robot of ours makes. */
static int survey_remove(struct survey *s, const char *path, struct err *err)
{
	FAULT("botm.sweep");
	if (file_remove(path, err) < 0)
		return err->sys_errno == EISDIR ? 1 : -1;
	s->found->removed++;
	return 0;
}

static int survey_file(void *ctx, const char *path, const struct botm_name *name, struct err *err)
{
	struct survey *s = ctx;
	if (!name)
		return MIN(survey_remove(s, path, err), 0);
	uint32_t *latest = &s->latest[name->number % BOTM_BLOCK];
	*latest = MAX(*latest, name->generation);
	*VEC_PUSH(s->file, s->files, s->room) = *name;
	return 0;
}

/* Of several files of one number the others are of robots that were late. */
static int file_settle(struct survey *s, struct botm_name name, struct err *err)
{
	char text[BOTM_NAME_ROOM], path[PATH_MAX + BOTM_NAME_ROOM + 1];
	uint32_t i = name.number % BOTM_BLOCK;
	enum botm_place place = place_in(s->k, i);
	botm_name_print(name, text);
	snprintf(path, sizeof path, "%s/%s", s->n->path, text);
	if (name.generation > s->k->generation) {
		s->found->has_lost = true;
		botm_names_put(s->n, name, BOTM_KEPT);
		return 0;
	}
	if (place == BOTM_FREE || name.generation < s->latest[i]) {
		int rc = survey_remove(s, path, err);
		if (rc == 1 && place == BOTM_FREE)
			place_set(s->n, s->k, i, BOTM_KEPT);
		return MIN(rc, 0);
	}
	if (place == BOTM_OPEN)
		*VEC_PUSH(s->n->open, s->n->nopened, s->n->open_room) = name;
	return 0;
}

static int block_settle(struct survey *s, struct known *k, struct err *err)
{
	s->k = k;
	s->files = 0;
	memset(s->latest, 0, sizeof s->latest);
	if (subfolder_make(s->n, k->number, err) < 0 ||
	    botm_block_walk(s->n->path, k->number, survey_file, s, err) < 0)
		return -1;
	for (size_t i = 0; i < s->files; i++)
		if (file_settle(s, s->file[i], err) < 0)
			return -1;
	for (uint32_t i = 0; i < BOTM_BLOCK; i++)
		if (place_in(k, i) == BOTM_OPEN && s->latest[i] == 0) {
			place_set(s->n, k, i, BOTM_FREE);
			s->found->freed++;
		}
	return 0;
}

static int file_seen(void *ctx, const char *path, const struct botm_name *name, struct err *err)
{
	(void)path, (void)name, (void)err;
	*(bool *)ctx = true;
	return 0;
}

/* Blocks follow one another. An empty folder far after the last one was made by somebody else: to
 * go on there would leave no names. */
static int block_seen(void *ctx, uint32_t block, struct err *err)
{
	struct survey *s = ctx;
	bool has_files = false;
	if (block < s->n->next)
		return 0;
	if (botm_block_walk(s->n->path, block, file_seen, &has_files, err) < 0)
		return -1;
	if (!has_files && (!s->with_empty || block - s->n->next >= FAR))
		return 0;
	s->n->next = block + 1;
	s->found->has_lost = true;
	return 0;
}

/* Nobody knows what else was given: from now on it is with a generation by the clock, in minutes
 * since 1970. The last block has a row again, else the next start would find the same loss. */
static int loss_mend(struct botm_names *n, struct err *err)
{
	uint32_t era = (uint32_t)MIN(MAX(clock_wall_us() / US_PER_MIN, (int64_t)1),
				     (int64_t)BOTM_GENERATION_MOST / 2);
	if (n->next)
		(void)block_have(n, (n->next - 1) * BOTM_BLOCK);
	TABLE_EACH (known_blocks, slot, &n->blocks) {
		slot->value->generation = MAX(slot->value->generation, era);
		block_touch(n, slot->value);
	}
	return small_forgive(n->small, &botm_names_table, err);
}

static int names_settle(struct botm_names *n, struct botm_names_found *found, struct err *err)
{
	struct survey s = {.n = n, .found = found};
	found->has_lost = small_lost(n->small, &botm_names_table);
	int rc = botm_folder_walk(n->path, block_seen, &s, err);
	s.with_empty = true;
	if (rc == 0)
		rc = botm_folder_walk(n->path, block_seen, &s, err);
	TABLE_EACH (known_blocks, slot, &n->blocks)
		rc = rc < 0 ? rc : block_settle(&s, slot->value, err);
	mem_free(&s.file);
	if (rc == 0 && found->has_lost)
		rc = loss_mend(n, err);
	return rc < 0 ? rc : botm_names_flush(n, err);
}

static int rows_load(struct botm_names *n, struct err *err)
{
	struct small_iter it;
	struct block row;
	int rc;
	n->row.block = 0;
	small_iter_init(&it, n->small, &botm_names_table, &n->row);
	while ((rc = small_iter_next(&it, &row, err)) == 0 && strcmp(row.folder, n->folder) == 0)
		block_add(n, &row);
	small_iter_done(&it);
	return MIN(rc, 0);
}

static struct botm_names *names_new(const char *data, const char *folder)
{
	struct botm_names *n = mem_alloc(sizeof *n);
	struct str in = str_of(data);
	n->path = mem_text(folder);
	n->lock.file = FILE_INIT;
	list_init(&n->free);
	list_init(&n->dirty);
	bool is_below = str_starts(str_of(folder), in) && folder[in.n] == '/';
	n->folder = n->path + (is_below ? in.n + 1 : 0);
	snprintf(n->row.folder, sizeof n->row.folder, "%s", n->folder);
	return n;
}

static int names_load(struct botm_names *n, const char *data, struct botm_names_found *found,
		      struct err *err)
{
	if (dir_make(n->path, DIR_MODE, err) < 0)
		return -1;
	if (lock_take(&n->lock, n->path, err) < 0)
		return err->code == ERR_BUSY
			       ? err_set(err, ERR_BUSY,
					 "%s: another botm has this folder; set botm.folder, for "
					 "each botm another one",
					 n->path)
			       : -1;
	if (small_open_data(&n->small, data, tables, ARRAY_LEN(tables), SMALL_WRITE, err) < 0 ||
	    rows_load(n, err) < 0)
		return -1;
	return names_settle(n, found, err);
}

int botm_names_open(struct botm_names **ret, const char *data, const char *folder,
		    struct botm_names_found *ret_found, struct err *err)
{
	struct botm_names_found found = {0};
	struct botm_names *n = names_new(data, folder);
	struct err ignored;
	if (names_load(n, data, &found, err) < 0) {
		(void)botm_names_close(&n, &ignored);
		return -1;
	}
	*ret = n;
	if (ret_found)
		*ret_found = found;
	return 0;
}

int botm_names_read(struct botm_names **ret, const char *data, const char *folder, struct err *err)
{
	struct botm_names *n = names_new(data, folder);
	struct err ignored;
	int rc = small_open_data(&n->small, data, tables, ARRAY_LEN(tables), SMALL_READ, err);
	if (rc == 0)
		rc = rows_load(n, err);
	if (rc >= 0)
		*ret = n;
	else
		(void)botm_names_close(&n, &ignored);
	return MIN(rc, 0);
}

int botm_names_close(struct botm_names **names, struct err *err)
{
	struct botm_names *n = *names;
	if (!n)
		return 0;
	int rc = n->small ? blocks_write(n, true, err) : 0;
	TABLE_EACH (known_blocks, slot, &n->blocks)
		mem_free(&slot->value);
	known_blocks_free(&n->blocks);
	small_close(&n->small);
	lock_free(&n->lock);
	mem_free(&n->ready);
	mem_free(&n->open);
	mem_free(&n->path);
	mem_free(names);
	return rc;
}

int botm_names_next_open(const struct botm_names *n, size_t *at, struct botm_name *ret)
{
	if (*at == n->nopened)
		return 1;
	*ret = n->open[(*at)++];
	return 0;
}
