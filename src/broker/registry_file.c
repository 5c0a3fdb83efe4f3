/* The file of the registry as bytes: its header, its records, and records one after the other. A
 * record is checked to the last byte before any of it is believed; what it says about its own size
 * must be just what its strings and numbers add up to. */
#include "base/cursor.h"
#include "broker/registry_inner.h"

#include <inttypes.h>

enum {
	HEADER_MAGIC = 0x47524547,
	OBJECT_MAGIC = 0x47524F42,
	TOMBSTONE_MAGIC = 0x47525453,
	SIZE = 4, /* bytes of the number before a record */
	STRINGS = 6,
};

static int file_damaged(const char *path, uint64_t at, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: byte %" PRIu64 ": %s", path, at, what);
}

void registry_header_print(const struct registry_counts *counts, char ret[REGISTRY_HEADER])
{
	const uint32_t number[] = {HEADER_MAGIC, REGISTRY_VERSION, counts->records, counts->deleted,
				   counts->valid};
	for (size_t i = 0; i < ARRAY_LEN(number); i++) {
		uint32_t v = htobe32(number[i]);
		memcpy(ret + i * sizeof v, &v, sizeof v);
	}
}

int registry_header_read(const struct file *file, struct registry_counts *ret, struct err *err)
{
	char bytes[REGISTRY_HEADER];
	size_t got;
	if (file_read(file, bytes, sizeof bytes, 0, &got, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){bytes, got});
	uint32_t magic = reader_u32be(&r), version = reader_u32be(&r);
	struct registry_counts counts = {reader_u32be(&r), reader_u32be(&r), reader_u32be(&r)};
	if (r.bad || magic != HEADER_MAGIC)
		return file_damaged(file->path, 0, "this is not the header of a registry", err);
	if (version != REGISTRY_VERSION)
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 ", this program knows version %d", file->path,
			       version, REGISTRY_VERSION);
	*ret = counts;
	return 0;
}

#define AT(member) offsetof(struct registry_object, member)

/* Strings in their order in a record, the first four of which may not be empty; then numbers. */
static const struct {
	const char *name;
	size_t at;
} strings[STRINGS] = {
	{"URL", AT(url)},
	{"Gatherer-Name", AT(gatherer_name)},
	{"Gatherer-Host", AT(gatherer_host)},
	{"Gatherer-Version", AT(gatherer_version)},
	{"MD5", AT(md5)},
	{"Description", AT(description)},
};
enum { MANDATORY = 4, MD5 = 4, DESCRIPTION = 5 };
static const size_t numbers[] = {AT(oid),
				 AT(point),
				 AT(update_time_s),
				 AT(last_modification_time_s),
				 AT(refresh_rate_s),
				 AT(time_to_live_s),
				 AT(changed_s),
				 AT(stored_s)};

static void object_strings(const struct registry_object *o, struct str ret[STRINGS])
{
	for (unsigned i = 0; i < STRINGS; i++)
		ret[i] = *(const struct str *)((const char *)o + strings[i].at);
}

/* NULL, or what is wrong with the i-th string. */
static const char *string_wrong(unsigned i, struct str s)
{
	if (i < MANDATORY && s.n == 0)
		return "is empty";
	if (i == DESCRIPTION && s.n > REGISTRY_DESCRIPTION)
		return "has more than 1,024 bytes";
	if (s.n > REGISTRY_STRING)
		return "has more than 8,191 bytes";
	if (i != MD5 || s.n == 0)
		return NULL;
	bool hex = s.n == REGISTRY_MD5;
	for (size_t k = 0; hex && k < s.n; k++)
		hex = (s.p[k] >= '0' && s.p[k] <= '9') || (s.p[k] >= 'a' && s.p[k] <= 'f');
	return hex ? NULL : "is not 32 hexadecimal digits in lower case";
}

int registry_object_check(const struct registry_object *object, struct err *err)
{
	struct str string[STRINGS];
	object_strings(object, string);
	string[DESCRIPTION] = str_head(string[DESCRIPTION], REGISTRY_DESCRIPTION);
	for (unsigned i = 0; i < STRINGS; i++) {
		const char *wrong = string_wrong(i, string[i]);
		if (wrong)
			return err_set(err, ERR_USAGE,
				       "object " STR_FMT ": its %s %s; not registered",
				       STR_ARG(str_head(object->url, 200)), strings[i].name, wrong);
	}
	return 0;
}

void registry_record_print(struct buf *out, const struct registry_object *object, bool tombstone)
{
	struct str string[STRINGS];
	uint32_t size = REGISTRY_NUMBERS;
	object_strings(object, string);
	string[DESCRIPTION] =
		tombstone ? STR("") : str_utf8_head(string[DESCRIPTION], REGISTRY_DESCRIPTION);
	for (unsigned i = 0; i < STRINGS; i++)
		size += (uint32_t)string[i].n;
	put_u32be(out, size);
	put_u32be(out, tombstone ? TOMBSTONE_MAGIC : OBJECT_MAGIC);
	put_u32be(out, tombstone);
	for (unsigned i = 0; i < STRINGS; i++) {
		put_u32be(out, (uint32_t)string[i].n);
		buf_add_str(out, string[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		put_u32be(out, *(const uint32_t *)((const char *)object + numbers[i]));
}

static int strings_parse(const char *path, uint64_t at, struct reader *r,
			 struct registry_object *ret, struct err *err)
{
	for (unsigned i = 0; i < STRINGS; i++) {
		struct str *string = (struct str *)((char *)ret + strings[i].at);
		uint32_t n = reader_u32be(r);
		if (n > REGISTRY_STRING)
			r->bad = true;
		*string = reader_bytes(r, r->bad ? 0 : n);
		const char *wrong = r->bad ? "is too long" : string_wrong(i, *string);
		if (wrong)
			return err_set(err, ERR_DAMAGED,
				       "%s: byte %" PRIu64 ": the %s of a record %s", path, at,
				       strings[i].name, wrong);
	}
	return 0;
}

int registry_record_parse(const char *path, uint64_t at, struct str bytes, struct registry_raw *ret,
			  struct err *err)
{
	struct reader r = reader_of(bytes);
	struct registry_raw raw = {.bytes = bytes, .at = at};
	uint32_t size = reader_u32be(&r), magic = reader_u32be(&r);
	raw.flag = reader_u32be(&r);
	raw.tombstone = magic == TOMBSTONE_MAGIC;
	if (r.bad || size != bytes.n - SIZE || (magic != OBJECT_MAGIC && !raw.tombstone))
		return file_damaged(path, at, "not a record", err);
	if (strings_parse(path, at, &r, &raw.object, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*(uint32_t *)((char *)&raw.object + numbers[i]) = reader_u32be(&r);
	if (r.bad || reader_left(&r))
		return file_damaged(path, at, "the size of a record is not that of its fields",
				    err);
	log_debug(REGISTRY, 9, raw.tombstone ? "tombstone read" : "record read", KV_UINT("at", at),
		  KV_STR("url", raw.object.url), KV_UINT("oid", raw.object.oid));
	*ret = raw;
	return 0;
}

void registry_hash_add(struct xxh64 *hash, struct str record)
{
	static const char zeroes[4];
	xxh64_add(hash, record.p, REGISTRY_FLAG);
	xxh64_add(hash, zeroes, sizeof zeroes);
	struct str rest = str_from(record, REGISTRY_FLAG + sizeof zeroes);
	xxh64_add(hash, rest.p, rest.n);
}

/* Walking */

enum { WALK_ROOM = REGISTRY_SCAN + SIZE + REGISTRY_RECORD };

void registry_walk_begin(struct registry_walk *w, const struct file *file, uint64_t from,
			 uint64_t end)
{
	*w = (struct registry_walk){file, from, end, mem_alloc(WALK_ROOM), 0, 0};
}

void registry_walk_end(struct registry_walk *w)
{
	mem_free(&w->p);
}

/* At least `need` bytes from `at` on, where the part has so many. */
static int walk_fill(struct registry_walk *w, size_t need, struct err *err)
{
	size_t have = w->n - w->used, got = 0;
	if (have >= need)
		return 0;
	memmove(w->p, w->p + w->used, have);
	w->used = 0;
	w->n = have;
	uint64_t left = w->end - w->at - have;
	size_t want = (size_t)MIN(left, (uint64_t)REGISTRY_SCAN);
	if (file_read(w->file, w->p + have, want, w->at + have, &got, err) < 0)
		return -1;
	w->n += got;
	if (w->n < need)
		return file_damaged(w->file->path, w->at, "a record goes past the end", err);
	return 0;
}

static uint32_t walk_u32be(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return be32toh(v);
}

/* All bytes of the next record. 1: the end. */
static int walk_record(struct registry_walk *w, struct str *ret, struct err *err)
{
	if (w->at == w->end)
		return 1;
	if (walk_fill(w, SIZE, err) < 0)
		return -1;
	uint32_t size = walk_u32be(w->p + w->used);
	if (size > REGISTRY_RECORD)
		return file_damaged(w->file->path, w->at, "a record is too large", err);
	if (walk_fill(w, SIZE + size, err) < 0)
		return -1;
	*ret = (struct str){w->p + w->used, SIZE + size};
	return 0;
}

void registry_walk_pass(struct registry_walk *w)
{
	size_t n = SIZE + walk_u32be(w->p + w->used);
	w->used += n;
	w->at += n;
}

void registry_walk_to(struct registry_walk *w, uint64_t at)
{
	w->at = at;
	w->n = w->used = 0;
}

int registry_walk_next(struct registry_walk *w, struct registry_raw *ret, struct err *err)
{
	struct str bytes = {0};
	int rc = walk_record(w, &bytes, err);
	if (rc != 0)
		return rc;
	if (registry_record_parse(w->file->path, w->at, bytes, ret, err) < 0)
		return -1;
	registry_walk_pass(w);
	return 0;
}

int registry_walk_glance(struct registry_walk *w, struct registry_glance *ret, struct err *err)
{
	struct str bytes = {0};
	int rc = walk_record(w, &bytes, err);
	if (rc != 0)
		return rc;
	if (bytes.n < SIZE + REGISTRY_NUMBERS)
		return file_damaged(w->file->path, w->at, "not a record", err);
	const char *end = bytes.p + bytes.n;
	*ret = (struct registry_glance){.at = w->at,
					.tombstone = walk_u32be(bytes.p + SIZE) == TOMBSTONE_MAGIC,
					.changed_s = walk_u32be(end - 8),
					.stored_s = walk_u32be(end - 4)};
	return 0;
}

/* Keys */

uint64_t registry_url_key(struct str url)
{
	return xxh64(url);
}

uint64_t registry_md5_key(struct str gatherer_name, struct str gatherer_host, struct str md5,
			  bool with_text)
{
	const char text = with_text;
	struct xxh64 h;
	xxh64_begin(&h);
	xxh64_add(&h, gatherer_name.p, gatherer_name.n);
	xxh64_add(&h, "", 1);
	xxh64_add(&h, gatherer_host.p, gatherer_host.n);
	xxh64_add(&h, "", 1);
	xxh64_add(&h, md5.p, md5.n);
	xxh64_add(&h, &text, 1);
	return xxh64_end(&h);
}
