/* Places: records of 25 bytes, sorted by footprint, in a paged file (disk/page.h), so a URL is
 * found by halving: 20 looks among a million entries, of which the last ones share a page. The
 * index keeps fences in memory for that; here one question is asked of each file, so they would
 * only be read for nothing.
 *
 * Written when a state ends, from the files as they are then: those who append need not know of it,
 * and nothing has to be kept in step. */
#include "state/places.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "disk/page.h"
#include "state/state_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define PLACES_MAGIC "GARNERPC"
enum {
	PLACES_VERSION = 2,
	PLACES_HEAD = FORMAT_MAGIC + 4,
	PLACE = FOOTPRINT_KEY + 9,
	PLACES_SORT = 16 << 20, /* bytes of memory */
	PLACES_LEAST = 1 << 20, /* bytes of journal and changes below which reading them is quick */
};

/* The files that it knows, by the number that stands for them. */
static const enum appended place_files[] = {APPEND_JOURNAL, APPEND_CHANGES};

struct place {
	unsigned char key[FOOTPRINT_KEY];
	uint8_t kind; /* in place_files */
	uint64_t at;
};

/* Writing */

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

static int places_put_all(struct page_writer *out, struct sort *sort, struct err *err)
{
	const char magic[] = PLACES_MAGIC;
	const uint32_t version = htole32(PLACES_VERSION);
	struct str rec;
	int rc;
	page_put(out, magic, FORMAT_MAGIC);
	page_put(out, &version, sizeof version);
	while ((rc = sort_next(sort, &rec, err)) == 0)
		page_put(out, rec.p, rec.n);
	return rc == 1 ? page_finish(out, true, err) : -1;
}

static int places_save(struct state *st, struct sort *sort, const char *path, struct err *err)
{
	char fresh[PATH_MAX];
	CLEANUP(page_drop) struct page_writer out = {0};
	path_in(st->folder, ".places.new", fresh);
	if (page_create(&out, fresh, 0644, NULL, err) < 0 || places_put_all(&out, sort, err) < 0)
		return -1;
	FAULT("state.places");
	/* the folder is synced with the control that is written next */
	return file_rename(fresh, path, err);
}

int state_places_write(struct state *st, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(sort_free) struct sort *sort = NULL;
	const struct sort_spec spec = {.order = {.size = PLACE, .key_len = FOOTPRINT_KEY},
				       .memory = PLACES_SORT,
				       .folder = st->folder};
	uint64_t n = 0;
	path_in(st->folder, "places", path);
	int rc = st->last.journal + st->last.changes > PLACES_LEAST ? sort_new(&sort, &spec, err)
								    : 0;
	for (size_t i = 0; rc == 0 && sort && i < ARRAY_LEN(place_files); i++)
		rc = places_add_file(st, (uint8_t)i, sort, &n, err);
	if (rc == 0 && n)
		return places_save(st, sort, path, err);
	/* what is damaged is named by others, and read the slow way */
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	return MIN(file_remove(path, err), 0);
}

/* Reading */

struct places {
	const char *path; /* the caller's */
	struct page_file *file;
	uint64_t records;
};

static void places_close(struct places *p)
{
	page_close(&p->file);
}

/* 1: there is none. */
static int places_open(struct places *ret, const char *path, struct err *err)
{
	struct str head = STR("");
	*ret = (struct places){.path = path};
	int rc = page_open(&ret->file, path, err);
	if (rc)
		return rc;
	uint64_t bytes = page_bytes(ret->file);
	if (bytes >= PLACES_HEAD && page_get(ret->file, 0, PLACES_HEAD, &head, err) < 0)
		return -1;
	struct reader r = reader_of(head);
	if (!str_is(reader_bytes(&r, FORMAT_MAGIC), PLACES_MAGIC) ||
	    (bytes - PLACES_HEAD) % PLACE != 0)
		return err_set(err, ERR_DAMAGED, "%s: it does not begin as places do", path);
	uint32_t version = reader_u32le(&r);
	if (version != PLACES_VERSION)
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 ", this program knows version %d", path,
			       version, PLACES_VERSION);
	ret->records = (bytes - PLACES_HEAD) / PLACE;
	return 0;
}

static int places_get(struct places *p, uint64_t i, struct place *ret, struct err *err)
{
	struct str rec;
	if (page_get(p->file, PLACES_HEAD + i * PLACE, PLACE, &rec, err) < 0)
		return -1;
	struct reader r = reader_of(str_from(rec, FOOTPRINT_KEY));
	memcpy(ret->key, rec.p, FOOTPRINT_KEY);
	ret->kind = reader_u8(&r);
	ret->at = reader_u64le(&r);
	if (ret->kind < ARRAY_LEN(place_files))
		return 0;
	return err_set(err, ERR_DAMAGED, "%s: a place in no file", p->path);
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
	return page_check(p->file, err);
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
	CLEANUP(places_close) struct places p = {0};
	uint64_t first = 0, n = 0;
	path_in(a->st->folder, "places", path);
	int rc = phase_is_done(a->st->phase) ? places_open(&p, path, err) : 1;
	if (rc == 0)
		rc = places_find(&p, a->key, &first, &n, err);
	if (rc == 0)
		rc = entries_get(a, &p, first, n, false, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		rc = 1;
	if (rc == 0)
		rc = entries_get(a, &p, first, n, true, err);
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

static int places_print(const char *path, struct printer *out, struct err *err)
{
	CLEANUP(places_close) struct places p = {0};
	struct place place, before = {0};
	char fp[FOOTPRINT_TEXT];
	int rc = places_open(&p, path, err);
	for (uint64_t i = 0; rc == 0 && i < p.records; i++) {
		if (places_get(&p, i, &place, err) < 0)
			return -1;
		if (memcmp(before.key, place.key, FOOTPRINT_KEY) > 0)
			return err_set(err, ERR_DAMAGED, "%s: its records are not in order", path);
		before = place;
		footprint_print(footprint_of_key(place.key), fp);
		buf_printf(&out->out, "%s %s %" PRIu64 "\n", fp,
			   appended_files[place_files[place.kind]].name, place.at);
		printer_step(out);
	}
	return rc == 0 ? page_verify(p.file, err) : rc;
}

const struct format places_format = {
	.name = "places",
	.file = "places",
	.magic = PLACES_MAGIC,
	.version = PLACES_VERSION,
	.help = "where the entries of a URL lie in the journal and the changes of a state",
	.remedy = "remove it; garner why then reads those files from end to end",
	.print = places_print,
};
