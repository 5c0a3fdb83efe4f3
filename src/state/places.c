/* Places: records of 25 bytes, sorted by footprint, in blocks of a page with a checksum each. How
 * many there are stands in the header, so a file that was cut is noticed by its length, and a URL
 * is found by halving: 15 reads among a million entries. The index keeps fences in memory for that;
 * here one question is asked of each file, so they would only be read for nothing.
 *
 * Written when a state ends, from the files as they are then: those who append need not know of it,
 * and nothing has to be kept in step. */
#include "state/places.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "state/state_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

#define PLACES_MAGIC "GARNERPC"
enum {
	PLACES_VERSION = 1,
	PLACES_HEADER = 32,
	PLACES_BLOCK = 4096,
	PLACES_FOOT = 12, /* number, records, checksum */
	PLACE = FOOTPRINT_KEY + 9,
	PLACES_PER_BLOCK = (PLACES_BLOCK - PLACES_FOOT) / PLACE,
	PLACES_SORT = 16 << 20, /* bytes of memory */
	PLACES_PIECE = 64 * PLACES_BLOCK,
	PLACES_LEAST = 1 << 20, /* bytes of journal and changes below which reading them is quick */
};

/* The files that it knows, by the number that stands for them. */
static const enum appended place_files[] = {APPEND_JOURNAL, APPEND_CHANGES};

struct place {
	unsigned char key[FOOTPRINT_KEY];
	uint8_t kind; /* in place_files */
	uint64_t at;
};

static uint64_t places_blocks(uint64_t records)
{
	return records / PLACES_PER_BLOCK + (records % PLACES_PER_BLOCK != 0);
}

static unsigned places_in_block(uint64_t records, uint64_t block)
{
	return (unsigned)MIN(records - block * PLACES_PER_BLOCK, (uint64_t)PLACES_PER_BLOCK);
}

/* Writing */

struct places_out {
	struct file file;
	uint64_t at, blocks, records; /* records: all */
	uint32_t salt;
	struct buf bytes; /* blocks that are complete, and one that is not */
	size_t begin;     /* of that one */
	unsigned count;   /* records in it */
};

static int places_add_file(struct state *st, uint8_t kind, struct sort *sort, uint64_t *n,
			   struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	int rc = state_read(st, appended_files[place_files[kind]].name, &in, err);
	while (rc == 0 && (rc = record_next(in, &record, err)) == 0) {
		char bytes[PLACE];
		if (record.payload.n < FOOTPRINT_KEY)
			continue;
		memcpy(bytes, record.payload.p, FOOTPRINT_KEY);
		bytes[FOOTPRINT_KEY] = (char)kind;
		for (unsigned i = 0; i < 8; i++)
			bytes[FOOTPRINT_KEY + 1 + i] = (char)(record.place.at >> 8 * i);
		(*n)++;
		if (sort_add(sort, (struct str){bytes, sizeof bytes}, err) < 0)
			rc = -1;
	}
	record_reader_free(&in);
	return MIN(rc, 0);
}

static int places_flush(struct places_out *o, struct err *err)
{
	int rc = file_write(&o->file, buf_str(&o->bytes).p, o->bytes.n, o->at, err);
	o->at += o->bytes.n;
	buf_clear(&o->bytes);
	o->begin = 0;
	return rc;
}

static int places_end_block(struct places_out *o, struct err *err)
{
	buf_fill(&o->bytes, 0, o->begin + PLACES_BLOCK - PLACES_FOOT - o->bytes.n);
	put_u32le(&o->bytes, (uint32_t)o->blocks++);
	put_u32le(&o->bytes, o->count);
	struct str block = str_from(buf_str(&o->bytes), o->begin);
	put_u32le(&o->bytes, crc32c(o->salt, block.p, block.n));
	o->begin = o->bytes.n;
	o->count = 0;
	return o->bytes.n >= PLACES_PIECE ? places_flush(o, err) : 0;
}

static int places_put_header(struct places_out *o, struct err *err)
{
	struct buf h = BUF_INIT(PLACES_HEADER);
	buf_add_text(&h, PLACES_MAGIC);
	put_u32le(&h, PLACES_VERSION);
	put_u32le(&h, PLACE);
	put_u64le(&h, o->records);
	put_u32le(&h, o->salt);
	put_u32le(&h, crc32c(0, buf_str(&h).p, h.n));
	int rc = file_write(&o->file, buf_str(&h).p, h.n, 0, err);
	o->at = h.n;
	buf_free(&h);
	return rc;
}

static int places_put_all(struct places_out *o, struct sort *sort, struct err *err)
{
	struct str rec;
	int rc = places_put_header(o, err);
	while (rc == 0 && (rc = sort_next(sort, &rec, err)) == 0) {
		buf_add_str(&o->bytes, rec);
		if (++o->count == PLACES_PER_BLOCK)
			rc = places_end_block(o, err);
	}
	if (rc == 1)
		rc = o->count ? places_end_block(o, err) : 0;
	return rc < 0 || places_flush(o, err) < 0 || file_sync(&o->file, err) < 0 ? -1 : 0;
}

static int places_save(struct state *st, struct sort *sort, uint64_t n, const char *path,
		       struct err *err)
{
	char fresh[PATH_MAX];
	struct places_out o = {
		.file = FILE_INIT, .records = n, .bytes = BUF_INIT(PLACES_PIECE + PLACES_BLOCK)};
	snprintf(fresh, sizeof fresh, "%s/.places.new", st->folder);
	if (getrandom(&o.salt, sizeof o.salt, 0) < 0)
		return err_sys(err, "%s: random bytes for the header", fresh);
	int rc = file_open(&o.file, fresh, O_RDWR | O_CREAT | O_TRUNC, 0644, err);
	if (rc == 0)
		rc = places_put_all(&o, sort, err);
	buf_free(&o.bytes);
	file_drop(&o.file);
	FAULT("state.places");
	/* the folder is synced with the control that is written next */
	return rc < 0 ? -1 : file_rename(fresh, path, err);
}

int state_places_write(struct state *st, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(sort_free) struct sort *sort = NULL;
	const struct sort_spec spec = {.order = {.size = PLACE, .key_len = FOOTPRINT_KEY},
				       .memory = PLACES_SORT,
				       .folder = st->folder};
	uint64_t n = 0;
	snprintf(path, sizeof path, "%s/places", st->folder);
	int rc = st->last.journal + st->last.changes > PLACES_LEAST ? sort_new(&sort, &spec, err)
								    : 0;
	for (size_t i = 0; rc == 0 && sort && i < ARRAY_LEN(place_files); i++)
		rc = places_add_file(st, (uint8_t)i, sort, &n, err);
	if (rc == 0 && n)
		return places_save(st, sort, n, path, err);
	/* what is damaged is named by others, and read the slow way */
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	return MIN(file_remove(path, err), 0);
}

/* Reading */

struct places {
	struct file file;
	uint64_t records, blocks;
	uint32_t salt;
	uint64_t held; /* which block is here; UINT64_MAX: none */
	char block[PLACES_BLOCK];
};

static int places_damaged(const struct places *p, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s", p->file.path, what);
}

static int places_read(const struct places *p, void *ret, size_t n, uint64_t at, struct err *err)
{
	size_t got;
	if (file_read(&p->file, ret, n, at, &got, err) < 0)
		return -1;
	return got == n ? 0 : places_damaged(p, "it is cut", err);
}

static int places_read_header(struct places *p, struct err *err)
{
	char h[PLACES_HEADER];
	uint64_t size;
	if (file_size(&p->file, &size, err) < 0 || places_read(p, h, sizeof h, 0, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){h, sizeof h});
	bool ours = str_is(reader_bytes(&r, FORMAT_MAGIC), PLACES_MAGIC);
	uint32_t version = reader_u32le(&r), record = reader_u32le(&r);
	p->records = reader_u64le(&r);
	p->salt = reader_u32le(&r);
	p->blocks = places_blocks(p->records);
	if (!ours || reader_u32le(&r) != crc32c(0, h, sizeof h - 4))
		return places_damaged(p, "it does not begin as places do", err);
	if (version != PLACES_VERSION || record != PLACE)
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 ", this program knows version %d",
			       p->file.path, version, PLACES_VERSION);
	if (p->blocks > size / PLACES_BLOCK || size != PLACES_HEADER + p->blocks * PLACES_BLOCK)
		return places_damaged(p, "its length does not fit its header", err);
	return 0;
}

static void places_close(struct places **pp)
{
	if (!*pp)
		return;
	file_drop(&(*pp)->file);
	mem_free(pp);
}

/* 1: there is none. */
static int places_open(struct places **ret, const char *path, struct err *err)
{
	struct places *p = mem_alloc(sizeof *p);
	p->file = FILE_INIT;
	p->held = UINT64_MAX;
	int rc = file_open(&p->file, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = places_read_header(p, err);
	if (rc == 0)
		*ret = p;
	else
		places_close(&p);
	return rc;
}

static int places_load_block(struct places *p, uint64_t block, struct err *err)
{
	uint64_t at = PLACES_HEADER + block * PLACES_BLOCK;
	p->held = UINT64_MAX;
	if (places_read(p, p->block, PLACES_BLOCK, at, err) < 0)
		return -1;
	struct str foot = {p->block + PLACES_BLOCK - PLACES_FOOT, PLACES_FOOT};
	struct reader r = reader_of(foot);
	if (reader_u32le(&r) != (uint32_t)block ||
	    reader_u32le(&r) != places_in_block(p->records, block) ||
	    reader_u32le(&r) != crc32c(p->salt, p->block, PLACES_BLOCK - 4))
		return err_set(err, ERR_DAMAGED,
			       "%s: block %" PRIu64 " (byte %" PRIu64 ") is damaged", p->file.path,
			       block, at);
	p->held = block;
	return 0;
}

static int places_get(struct places *p, uint64_t i, struct place *ret, struct err *err)
{
	uint64_t block = i / PLACES_PER_BLOCK;
	if (p->held != block && places_load_block(p, block, err) < 0)
		return -1;
	struct str rec = {p->block + i % PLACES_PER_BLOCK * PLACE, PLACE};
	struct reader r = reader_of(str_from(rec, FOOTPRINT_KEY));
	memcpy(ret->key, rec.p, FOOTPRINT_KEY);
	ret->kind = reader_u8(&r);
	ret->at = reader_u64le(&r);
	return ret->kind < ARRAY_LEN(place_files) ? 0
						  : places_damaged(p, "a place in no file", err);
}

/* The first that is not before a key, and how many have it. */
static int places_find(struct places *p, const unsigned char *key, uint64_t *ret_first,
		       uint64_t *ret_n, struct err *err)
{
	uint64_t from = 0, to = p->records, n = 0;
	struct place place;
	while (from < to) {
		uint64_t mid = from + (to - from) / 2;
		if (places_get(p, mid, &place, err) < 0)
			return -1;
		if (memcmp(place.key, key, FOOTPRINT_KEY) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	for (; from + n < p->records; n++) {
		if (places_get(p, from + n, &place, err) < 0)
			return -1;
		if (memcmp(place.key, key, FOOTPRINT_KEY) != 0)
			break;
	}
	*ret_first = from;
	*ret_n = n;
	return 0;
}

/* Entries of one URL */

struct asking {
	struct state *st;
	unsigned char key[FOOTPRINT_KEY];
	state_entry_fn *fn;
	void *ctx;
};

static int entry_give(const struct asking *a, size_t kind, struct str payload, struct err *err)
{
	struct journal_entry entry;
	struct change change;
	if (place_files[kind] == APPEND_JOURNAL)
		return journal_read(payload, &entry, err) < 0 ? 0
							      : a->fn(a->ctx, &entry, NULL, err);
	return change_read(payload, &change, err) < 0 ? 0 : a->fn(a->ctx, NULL, &change, err);
}

static bool entry_is_asked(const struct asking *a, struct str payload)
{
	return payload.n >= FOOTPRINT_KEY && memcmp(payload.p, a->key, FOOTPRINT_KEY) == 0;
}

/* All of a file. */
static int entries_read(const struct asking *a, size_t kind, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	int rc = state_read(a->st, appended_files[place_files[kind]].name, &in, err);
	while (rc == 0 && (rc = record_next(in, &record, err)) == 0)
		if (entry_is_asked(a, record.payload))
			rc = entry_give(a, kind, record.payload, err);
	record_reader_free(&in);
	return MIN(rc, 0);
}

/* Those in places. 1: they do not fit the files. */
static int entries_get(const struct asking *a, struct places *p, uint64_t first, uint64_t n,
		       bool give, struct err *err)
{
	struct record_reader *in[ARRAY_LEN(place_files)] = {NULL};
	struct record record;
	struct place place;
	int rc = 0;
	for (uint64_t i = first; rc == 0 && i < first + n; i++) {
		rc = places_get(p, i, &place, err);
		if (rc == 0 && !in[place.kind])
			rc = state_read(a->st, appended_files[place_files[place.kind]].name,
					&in[place.kind], err);
		if (rc != 0)
			break;
		record_seek(in[place.kind], place.at);
		rc = record_next(in[place.kind], &record, err);
		if (rc == 0 && !entry_is_asked(a, record.payload))
			rc = 1;
		if (rc == 0 && give)
			rc = entry_give(a, place.kind, record.payload, err);
	}
	for (size_t i = 0; i < ARRAY_LEN(in); i++)
		record_reader_free(&in[i]);
	return rc;
}

/* 1: there are no places, or none that can be used. */
static int entries_find(const struct asking *a, struct err *err)
{
	char path[PATH_MAX];
	struct places *p = NULL;
	uint64_t first = 0, n = 0;
	snprintf(path, sizeof path, "%s/places", a->st->folder);
	int rc = phase_is_done(a->st->phase) ? places_open(&p, path, err) : 1;
	if (rc == 0)
		rc = places_find(p, a->key, &first, &n, err);
	if (rc == 0)
		rc = entries_get(a, p, first, n, false, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		rc = 1;
	if (rc == 0)
		rc = entries_get(a, p, first, n, true, err);
	places_close(&p);
	return rc;
}

int state_entries(struct state *st, struct footprint fp, state_entry_fn *fn, void *ctx,
		  struct err *err)
{
	struct asking a = {.st = st, .fn = fn, .ctx = ctx};
	footprint_key(fp, a.key);
	int rc = entries_find(&a, err);
	for (size_t i = 0; rc == 1 && i < ARRAY_LEN(place_files); i++)
		rc = entries_read(&a, i, err) < 0 ? -1 : 1;
	return MIN(rc, 0);
}

/* For `garner dump` and `garner check`. */

static int places_each(const char *path, struct printer *out, struct err *err)
{
	struct places *p = NULL;
	struct place place, before = {0};
	char fp[FOOTPRINT_TEXT];
	int rc = places_open(&p, path, err);
	for (uint64_t i = 0; rc == 0 && i < p->records; i++) {
		rc = places_get(p, i, &place, err);
		if (rc == 0 && i && memcmp(before.key, place.key, FOOTPRINT_KEY) > 0)
			rc = places_damaged(p, "its records are not in order", err);
		before = place;
		if (rc < 0 || !out)
			continue;
		footprint_print(footprint_of_key(place.key), fp);
		buf_printf(&out->out, "%s %s %" PRIu64 "\n", fp,
			   appended_files[place_files[place.kind]].name, place.at);
		printer_step(out);
	}
	places_close(&p);
	return rc;
}

static int places_print(const char *path, struct printer *p, struct err *err)
{
	return places_each(path, p, err);
}

static int places_verify(const char *path, struct err *err)
{
	return places_each(path, NULL, err);
}

const struct format places_format = {
	.name = "places",
	.file = "places",
	.magic = PLACES_MAGIC,
	.version = PLACES_VERSION,
	.help = "where the entries of a URL lie in the journal and the changes of a state",
	.remedy = "remove it; garner why then reads those files from end to end",
	.print = places_print,
	.verify = places_verify,
};
