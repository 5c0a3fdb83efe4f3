/* Packed bodies: zstd, with a dictionary for each size class that is trained from the pages
 * themselves. Dictionaries are kept in a record file next to the buckets and never change: a bucket
 * names its own by a number that follows from the dictionary's bytes. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bucket/bucket_inner.h"
#include "disk/record.h"

#include <inttypes.h>
#include <zdict.h>
#include <zstd.h>

/* With a dictionary the fast way of level 2 finds so little of it that pages may get larger; a
 * crawl that has dictionaries has them for the sake of room. */
enum { LEVEL = 2, DICT_LEVEL = 3, HEAD = 8, WORTH_TRYING = 128, DICT_MOST = 1 << 20 };

/* Size classes of bodies; larger ones are packed without a dictionary. */
enum { BUCKET_CLASSES = 4, BUCKET_CLASS_NONE = BUCKET_CLASSES };
static const uint32_t bucket_class_most[BUCKET_CLASSES] = {1 << 10, 4 << 10, 16 << 10, 64 << 10};

static const struct record_kind dict_kind = {.magic = "GARNERBD", .version = 2, .most = DICT_MOST};

struct dict {
	uint32_t id, most; /* most: of its class */
	struct str bytes;  /* ours */
	ZSTD_CDict *pack;  /* made when first needed */
	ZSTD_DDict *unpack;
};

struct bucket_packer {
	char *path; /* NULL: no dictionaries */
	bool looked;
	struct dict *dict;
	size_t ndicts, dict_room;
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
	char *room;
	size_t cap;
};

struct bucket_packer *bucket_packer_new(const char *dict_path)
{
	struct bucket_packer *p = mem_alloc(sizeof *p);
	p->path = dict_path ? mem_text(dict_path) : NULL;
	p->pack = ZSTD_createCCtx();
	p->unpack = ZSTD_createDCtx();
	if (!p->pack || !p->unpack)
		die("out of memory (for zstd)");
	return p;
}

void bucket_packer_free(struct bucket_packer **packer)
{
	struct bucket_packer *p = *packer;
	if (!p)
		return;
	for (size_t i = 0; i < p->ndicts; i++) {
		ZSTD_freeCDict(p->dict[i].pack);
		ZSTD_freeDDict(p->dict[i].unpack);
		char *bytes = (char *)p->dict[i].bytes.p;
		mem_free(&bytes);
	}
	mem_free(&p->dict);
	ZSTD_freeCCtx(p->pack);
	ZSTD_freeDCtx(p->unpack);
	mem_free(&p->room);
	mem_free(&p->path);
	mem_free(packer);
}

const char *bucket_dict_path(struct arena *arena, const char *path)
{
	return arena_printf(arena, "%s.dict", path);
}

static unsigned bucket_class(size_t n)
{
	unsigned i = 0;
	while (i < BUCKET_CLASSES && n > bucket_class_most[i])
		i++;
	return i;
}

/* Dictionaries */

/* Its number follows from its bytes: whatever becomes of the file, no other dictionary ever has the
 * number that a bucket names. 0 means none. */
static uint32_t dict_number(struct str dict)
{
	uint32_t n = crc32c(0, dict.p, dict.n);
	return n ? n : 1;
}

static struct dict *dict_by_id(struct bucket_packer *p, uint32_t id)
{
	for (size_t i = 0; i < p->ndicts; i++)
		if (p->dict[i].id == id)
			return &p->dict[i];
	return NULL;
}

static void dict_know(struct bucket_packer *p, uint32_t id, uint32_t most, struct str bytes)
{
	*VEC_PUSH(p->dict, p->ndicts, p->dict_room) = (struct dict){
		.id = id, .most = most, .bytes = {mem_copy(bytes.p, bytes.n), bytes.n}};
}

static int dict_learn(struct bucket_packer *p, const struct record *record, struct err *err)
{
	struct reader r = reader_of(record->payload);
	uint32_t id = reader_u32le(&r), most = reader_u32le(&r);
	struct str dict = reader_bytes(&r, reader_left(&r));
	if (r.bad || id != dict_number(dict))
		return err_set(err, ERR_DAMAGED,
			       "%s: the dictionary at %" PRIu64 " is not number %08" PRIx32,
			       p->path, record->place.at, id);
	if (!dict_by_id(p, id))
		dict_know(p, id, most, dict);
	return 0;
}

/* Reads those that are not known yet. */
static int dicts_read(struct bucket_packer *p, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	p->looked = true;
	int rc = p->path ? record_reader_open(&r, p->path, &dict_kind, err) : 1;
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		rc = dict_learn(p, &record, err);
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

/* The newest of a class. Where the file is damaged, of those before the damage: what is packed from
 * now on needs no other. */
static int dict_for_class(struct bucket_packer *p, unsigned class, struct dict **ret,
			  struct err *err)
{
	*ret = NULL;
	if (!p->looked && dicts_read(p, err) < 0 && err->code != ERR_DAMAGED)
		return -1;
	for (size_t i = 0; class < BUCKET_CLASSES && i < p->ndicts; i++)
		if (p->dict[i].most == bucket_class_most[class])
			*ret = &p->dict[i];
	return 0;
}

static int dict_keep(struct bucket_packer *p, struct str payload, struct err *err)
{
	struct record_writer *w = NULL;
	struct record_group group = {0};
	if (record_open(&w, p->path, &dict_kind, 0644, NULL, err) < 0)
		return -1;
	FAULT("bucket.train");
	int rc = record_append(w, payload, &group, NULL, err);
	if (rc == 0)
		rc = record_sync(w, &group, err);
	if (rc < 0) {
		record_drop(&w);
		return rc;
	}
	return record_close(&w, err);
}

/* Keeps a new one, durably, and uses it from now on. */
static int dict_add(struct bucket_packer *p, unsigned class, struct str dict, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(DICT_MOST);
	ENSURE(p->path && class < BUCKET_CLASSES);
	if (dicts_read(p, err) < 0)
		return -1;
	uint32_t id = dict_number(dict);
	put_u32le(&payload, id);
	put_u32le(&payload, bucket_class_most[class]);
	buf_add_str(&payload, dict);
	ENSURE(!payload.over);
	if (dict_keep(p, buf_str(&payload), err) < 0)
		return -1;
	dict_know(p, id, bucket_class_most[class], dict);
	return 0;
}

/* Packing */

static char *pack_room(struct bucket_packer *p, size_t n)
{
	if (n > p->cap) {
		mem_free(&p->room);
		p->room = mem_resize(NULL, n);
		p->cap = n;
	}
	return p->room;
}

/* The frame lies in p->room; its size, 0 when zstd could not. */
static size_t pack_compress(struct bucket_packer *p, const ZSTD_CDict *dict, struct str body)
{
	size_t bound = ZSTD_compressBound(body.n);
	char *room = pack_room(p, bound);
	ZSTD_CCtx_reset(p->pack, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(p->pack, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->pack, ZSTD_c_dictIDFlag, 0);
	ZSTD_CCtx_refCDict(p->pack, dict);
	size_t n = ZSTD_compress2(p->pack, room, bound, body.p, body.n);
	return ZSTD_isError(n) ? 0 : n;
}

static ZSTD_CDict *dict_for_packing(struct dict *dict)
{
	if (!dict->pack)
		dict->pack = ZSTD_createCDict(dict->bytes.p, dict->bytes.n, DICT_LEVEL);
	return dict->pack;
}

int bucket_pack(struct bucket_packer *p, struct str body, size_t before, struct buf *out,
		struct err *err)
{
	struct dict *dict;
	if (body.n < WORTH_TRYING)
		return 1;
	if (dict_for_class(p, bucket_class(body.n), &dict, err) < 0)
		return -1;
	ZSTD_CDict *with = dict ? dict_for_packing(dict) : NULL;
	size_t n = pack_compress(p, with, body), plain = before + body.n;
	if (n == 0 || before + HEAD + n > plain - plain / 8)
		return 1;
	put_u32le(out, (uint32_t)body.n);
	put_u32le(out, with ? dict->id : 0);
	buf_add(out, p->room, n);
	return 0;
}

/* Bytes that the samples take with a dictionary (empty: without one). */
static size_t pack_trial(struct bucket_packer *p, struct str dict, const struct str *sample,
			 size_t n)
{
	ZSTD_CDict *with = dict.n ? ZSTD_createCDict(dict.p, dict.n, DICT_LEVEL) : NULL;
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += pack_compress(p, with, sample[i]);
	ZSTD_freeCDict(with);
	return sum;
}

static int dict_for_unpacking(struct bucket_packer *p, uint32_t id, ZSTD_DDict **ret,
			      struct err *err)
{
	*ret = NULL;
	if (id == 0)
		return 0;
	if (!dict_by_id(p, id) && dicts_read(p, err) < 0)
		return -1;
	struct dict *dict = dict_by_id(p, id);
	if (!dict)
		return err_set(err, ERR_DAMAGED, "its dictionary %08" PRIx32 " is not in %s", id,
			       p->path ? p->path : "any file that was named");
	if (!dict->unpack)
		dict->unpack = ZSTD_createDDict(dict->bytes.p, dict->bytes.n);
	*ret = dict->unpack;
	return 0;
}

int bucket_dict_there(struct bucket_packer *p, struct str packed, uint32_t *ret_id, struct err *err)
{
	struct reader r = reader_of(packed);
	ZSTD_DDict *with;
	reader_skip(&r, 4);
	uint32_t id = reader_u32le(&r);
	*ret_id = r.bad ? 0 : id;
	return dict_for_unpacking(p, *ret_id, &with, err);
}

int bucket_unpack(struct bucket_packer *p, struct str packed, struct arena *arena, struct str *ret,
		  struct err *err)
{
	struct reader r = reader_of(packed);
	uint32_t length = reader_u32le(&r), id = reader_u32le(&r);
	struct str frame = {(const char *)r.p, reader_left(&r)};
	ZSTD_DDict *with;
	if (r.bad)
		return err_set(err, ERR_DAMAGED, "its packed body has only %zu bytes", packed.n);
	if (length > BUCKET_DATA_MOST || ZSTD_getFrameContentSize(frame.p, frame.n) != length)
		return err_set(err, ERR_DAMAGED,
			       "its packed body says %" PRIu32 " bytes, zstd says another number",
			       length);
	if (dict_for_unpacking(p, id, &with, err) < 0)
		return -1;
	char *to = arena_alloc(arena, MAX(length, 1u));
	size_t n = ZSTD_decompress_usingDDict(p->unpack, to, length, frame.p, frame.n, with);
	if (n != length)
		return err_set(err, ERR_DAMAGED, "its packed body cannot be unpacked: %s",
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it is too short");
	*ret = (struct str){to, length};
	return 0;
}

/* Training */

/* A dictionary wants a hundred times its size in samples. A quarter of them is kept back to see
 * what it is worth. */
enum { DICT_SIZE = 32 << 10, SAMPLES_LEAST = 40, HELD_BACK = 4 };
static const size_t samples_most[BUCKET_CLASSES] = {4000, 2000, 600, 150};

/* Bodies of one class, each as likely to be among them as any other. */
struct samples {
	struct str *sample;
	size_t n;
	uint64_t seen;
};

struct trainer {
	struct bucket_packer *packer;
	struct samples samples[BUCKET_CLASSES];
	uint64_t seed;
};

static uint64_t train_dice(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void train_offer(struct trainer *t, struct str body)
{
	unsigned class = bucket_class(body.n);
	if (class == BUCKET_CLASS_NONE || body.n == 0)
		return;
	struct samples *samples = &t->samples[class];
	size_t place = samples->n;
	samples->seen++;
	if (samples->n == samples_most[class]) {
		place = (size_t)(train_dice(&t->seed) % samples->seen);
		if (place >= samples->n)
			return;
		char *old = (char *)samples->sample[place].p;
		mem_free(&old);
	} else {
		samples->n++;
	}
	samples->sample[place] = (struct str){mem_copy(body.p, body.n), body.n};
}

/* What is damaged is not a sample. */
static int train_collect(struct trainer *t, struct buckets *b, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct str body;
	if (bucket_scan_init(&scan, b, 0, 0, err) < 0)
		return -1;
	int rc;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) == 0 || scan.passed) {
		if (rc == 0 && !bucket.deleted &&
		    bucket_body(t->packer, bucket.type, bucket.data, &arena, &body, err) == 0)
			train_offer(t, body);
		arena_clear(&arena);
	}
	arena_free(&arena);
	bucket_scan_done(&scan);
	return rc < 0 ? rc : 0;
}

/* Bytes of the new dictionary; 0: nothing can be learned from these. */
static size_t train_make_dict(const struct str *sample, size_t n, char *ret)
{
	struct buf all = BUF_INIT(SIZE_MAX / 2);
	size_t *sizes = mem_array(n, sizeof *sizes);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(&all, sample[i]);
		sizes[i] = sample[i].n;
	}
	size_t size = ZDICT_trainFromBuffer(ret, DICT_SIZE, all.p, sizes, (unsigned)n);
	mem_free(&sizes);
	buf_free(&all);
	return ZDICT_isError(size) ? 0 : size;
}

/* 0: a new one was kept; 1: the old one, or none, does as well. */
static int train_class(struct trainer *t, unsigned class, struct err *err)
{
	const struct samples *samples = &t->samples[class];
	size_t test = samples->n / HELD_BACK;
	struct dict *now;
	if (samples->n < SAMPLES_LEAST)
		return 1;
	if (dict_for_class(t->packer, class, &now, err) < 0)
		return -1;
	char *fresh = mem_alloc(DICT_SIZE);
	size_t n = train_make_dict(samples->sample + test, samples->n - test, fresh);
	size_t before =
		pack_trial(t->packer, now ? now->bytes : (struct str){0}, samples->sample, test);
	int rc = 1;
	if (n && pack_trial(t->packer, (struct str){fresh, n}, samples->sample, test) <=
			 before - before / 20)
		rc = dict_add(t->packer, class, (struct str){fresh, n}, err);
	mem_free(&fresh);
	return rc;
}

static void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->n; i++) {
		char *p = (char *)samples->sample[i].p;
		mem_free(&p);
	}
	mem_free(&samples->sample);
}

int bucket_train(struct buckets *b, struct bucket_packer *packer, unsigned *ret_kept,
		 struct err *err)
{
	struct trainer t = {.packer = packer, .seed = bucket_length(b) | 1};
	unsigned kept = 0;
	for (unsigned i = 0; i < BUCKET_CLASSES; i++)
		t.samples[i].sample = mem_array(samples_most[i], sizeof *t.samples[i].sample);
	int rc = train_collect(&t, b, err);
	for (unsigned i = 0; rc >= 0 && i < BUCKET_CLASSES; i++) {
		rc = train_class(&t, i, err);
		kept += rc == 0;
	}
	for (unsigned i = 0; i < BUCKET_CLASSES; i++)
		samples_free(&t.samples[i]);
	if (rc < 0)
		return rc;
	*ret_kept = kept;
	return 0;
}

/* The format */

static int dict_show(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	uint32_t id = reader_u32le(&r), most = reader_u32le(&r);
	if (r.bad)
		return err_set(err, ERR_DAMAGED, "not a dictionary: %zu bytes", payload.n);
	buf_printf(out, "dictionary %08" PRIx32 " for bodies of up to %" PRIu32 " bytes, %zu bytes",
		   id, most, reader_left(&r));
	return 0;
}

const struct format bucket_dict_format = {
	.name = "bucket-dict",
	.file = "objects.dict",
	.magic = "GARNERBD",
	.version = 2,
	.help = "dictionaries for the packed bodies of a bucket file",
	.remedy = "put it back from a copy: pages packed with it cannot be read without",
	.records = &dict_kind,
	.show = dict_show,
};
