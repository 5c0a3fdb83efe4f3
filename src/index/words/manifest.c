/* The small files of a words index: the manifest, which is replaced in one step and says what
 * counts, and deletes; and segments as the manifest names them, counted, since snapshots share
 * them. */
#include "index/words/manifest.h"

#include "base/cursor.h"
#include "disk/small_file.h"
#include "index/words/segment_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define MANIFEST_NAME "manifest"
enum {
	MANIFEST_MOST = 16 << 20, /* bytes */
	SEGMENTS_MOST = 64 << 10,
};

static char *manifest_path(const char *folder)
{
	return mem_printf("%s/" MANIFEST_NAME, folder);
}

static void segment_name(char ret[64], uint64_t id)
{
	(void)snprintf(ret, 64, "%08" PRIx64 ".words", id);
}

static void deletes_name(char ret[64], uint64_t id, uint64_t generation)
{
	(void)snprintf(ret, 64, "%08" PRIx64 "-%08" PRIx64 ".gone", id, generation);
}

char *segment_file_path(const char *folder, uint64_t id)
{
	char name[64];
	segment_name(name, id);
	return mem_printf("%s/%s", folder, name);
}

char *deletes_file_path(const char *folder, uint64_t id, uint64_t generation)
{
	char name[64];
	deletes_name(name, id, generation);
	return mem_printf("%s/%s", folder, name);
}

/* Settings */

void words_settings_default(struct words_settings *ret)
{
	static const struct {
		const char *name;
		uint8_t weight;
	} weights[] = {{"title", 4}, {"headings", 2}, {"keywords", 2}, {"url-text", 2}};
	struct words_settings s = {.main = "full-text"};
	for (size_t i = 0; i < ARRAY_LEN(weights); i++) {
		(void)snprintf(s.weight[i].name, sizeof s.weight[i].name, "%s", weights[i].name);
		s.weight[i].weight = weights[i].weight;
	}
	s.weights = ARRAY_LEN(weights);
	*ret = s;
}

uint8_t words_weight(const struct words_settings *s, struct str name)
{
	for (uint32_t i = 0; i < s->weights; i++)
		if (str_is(name, s->weight[i].name))
			return s->weight[i].weight;
	return 1;
}

int words_column(const struct words_settings *s, struct str name)
{
	for (uint32_t i = 0; i < s->columns; i++)
		if (str_is(name, s->column[i].name))
			return (int)i;
	return -1;
}

struct str words_value(struct str text, char ret[WORDS_VALUE_MOST])
{
	text = str_trim(text);
	text = str_head(text, str_find_byte(text, '\n'));
	text = str_utf8_head(str_trim(text), WORDS_VALUE_MOST);
	return str_lower(text, ret);
}

const char *words_type_name(enum words_type type)
{
	static const char *const names[] = {
		[WORDS_NUMBER] = "number", [WORDS_DATE] = "date", [WORDS_WORD] = "word"};
	return names[type];
}

bool words_settings_same(const struct words_settings *a, const struct words_settings *b)
{
	bool same = strcmp(a->language, b->language) == 0 && strcmp(a->main, b->main) == 0 &&
		    a->weights == b->weights && a->columns == b->columns &&
		    a->by_rank == b->by_rank;
	for (uint32_t i = 0; same && i < a->weights; i++)
		same = strcmp(a->weight[i].name, b->weight[i].name) == 0 &&
		       a->weight[i].weight == b->weight[i].weight;
	for (uint32_t i = 0; same && i < a->columns; i++)
		same = strcmp(a->column[i].name, b->column[i].name) == 0 &&
		       a->column[i].type == b->column[i].type;
	return same;
}

/* Writing */

static void put_settings(struct buf *b, const struct words_settings *s)
{
	put_text(b, str_of(s->language));
	put_text(b, str_of(s->main));
	put_u8(b, s->by_rank);
	put_varint(b, s->weights);
	for (uint32_t i = 0; i < s->weights; i++) {
		put_text(b, str_of(s->weight[i].name));
		put_u8(b, s->weight[i].weight);
	}
	put_varint(b, s->columns);
	for (uint32_t i = 0; i < s->columns; i++) {
		put_text(b, str_of(s->column[i].name));
		put_u8(b, (uint8_t)s->column[i].type);
	}
}

int manifest_write(const char *folder, const struct manifest *m, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(MANIFEST_MOST - SMALL_FILE_HEAD);
	CLEANUP(mem_free) char *path = manifest_path(folder);
	put_u64le(&b, m->generation);
	put_u64le(&b, m->next_id);
	put_u64le(&b, m->note.follows);
	put_u32le(&b, m->note.docs.file);
	put_u64le(&b, m->note.docs.length);
	put_settings(&b, &m->settings);
	put_varint(&b, m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_segment *s = &m->segment[i];
		put_varint(&b, s->id);
		put_varint(&b, s->deletes);
		put_varint(&b, s->bytes);
		put_varint(&b, s->docs);
		put_varint(&b, s->deleted);
	}
	if (b.over || m->n > SEGMENTS_MOST)
		return err_set(err, ERR_USAGE, "%s: %zu segments are too many to list; merge", path,
			       m->n);
	return small_file_write(path, &words_manifest_format, buf_str(&b), err);
}

/* Reading */

static bool get_name(struct reader *r, char *ret, size_t room)
{
	struct str s = reader_text(r, room - 1);
	if (r->bad || memchr(s.p, 0, s.n))
		return false;
	memcpy(ret, s.p, s.n);
	ret[s.n] = 0;
	return true;
}

static bool get_settings(struct reader *r, struct words_settings *s)
{
	bool good = get_name(r, s->language, sizeof s->language) &&
		    get_name(r, s->main, sizeof s->main);
	s->by_rank = reader_u8(r) != 0;
	s->weights = (uint32_t)reader_varint(r);
	if (!good || s->weights > WORDS_WEIGHTS_MOST)
		return false;
	for (uint32_t i = 0; i < s->weights; i++) {
		if (!get_name(r, s->weight[i].name, sizeof s->weight[i].name))
			return false;
		s->weight[i].weight = reader_u8(r);
	}
	s->columns = (uint32_t)reader_varint(r);
	if (s->columns > WORDS_COLUMNS_MOST)
		return false;
	for (uint32_t i = 0; i < s->columns; i++) {
		if (!get_name(r, s->column[i].name, sizeof s->column[i].name))
			return false;
		uint8_t type = reader_u8(r);
		if (type > WORDS_WORD)
			return false;
		s->column[i].type = (enum words_type)type;
	}
	return !r->bad;
}

static bool get_segments(struct reader *r, struct manifest *m)
{
	uint64_t n = reader_varint(r);
	if (r->bad || n > SEGMENTS_MOST)
		return false;
	m->n = (size_t)n;
	m->segment = mem_array(m->n, sizeof *m->segment);
	for (size_t i = 0; i < m->n && !r->bad; i++) {
		struct manifest_segment *s = &m->segment[i];
		s->id = reader_varint(r);
		s->deletes = reader_varint(r);
		s->bytes = reader_varint(r);
		uint64_t docs = reader_varint(r), deleted = reader_varint(r);
		if (docs > SEGMENT_DOCS_MOST || deleted > docs || s->id >= m->next_id)
			return false;
		s->docs = (uint32_t)docs;
		s->deleted = (uint32_t)deleted;
	}
	return !r->bad;
}

/* One of another version is as good as a damaged one: nothing here reads it. What the system
 * refuses may be given another time. */
static int manifest_give_up(struct err *err)
{
	if (err->code != ERR_DAMAGED && err->code != ERR_USAGE)
		return -1;
	err->code = ERR_DAMAGED;
	return err_in(err, "the words index has to be built again");
}

static int parse_manifest(const char *path, struct str bytes, struct manifest *ret, struct err *err)
{
	struct manifest m = {0};
	struct str payload;
	if (small_file_unseal(path, &words_manifest_format, bytes, &payload, err) < 0)
		return manifest_give_up(err);
	struct reader r = reader_of(payload);
	m.generation = reader_u64le(&r);
	m.next_id = reader_u64le(&r);
	m.note.follows = reader_u64le(&r);
	m.note.docs.file = reader_u32le(&r);
	m.note.docs.length = reader_u64le(&r);
	if (!get_settings(&r, &m.settings) || !get_segments(&r, &m) || reader_left(&r)) {
		manifest_free(&m);
		return err_set(err, ERR_DAMAGED,
			       "%s: it contradicts itself; the index has to be built again", path);
	}
	*ret = m;
	return 0;
}

static int read_manifest(const char *path, struct manifest *ret, struct file *ret_file,
			 struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(MANIFEST_MOST + 2);
	int rc = small_file_hold(path, MANIFEST_MOST, ret_file, &b, err);
	return rc ? rc : parse_manifest(path, buf_str(&b), ret, err);
}

int manifest_read(const char *folder, struct manifest *ret, struct file *ret_file, struct err *err)
{
	CLEANUP(mem_free) char *path = manifest_path(folder);
	return read_manifest(path, ret, ret_file, err);
}

int manifest_read_file(const char *path, struct manifest *ret, struct err *err)
{
	return read_manifest(path, ret, NULL, err);
}

void manifest_free(struct manifest *m)
{
	mem_free(&m->segment);
	m->n = 0;
}

int manifest_changed(const char *folder, const struct file *file, struct err *err)
{
	CLEANUP(mem_free) char *path = manifest_path(folder);
	struct stat now, then;
	if (stat(path, &now) < 0 || fstat(file->fd, &then) < 0)
		return err_sys(err, "%s", path);
	return now.st_ino == then.st_ino && now.st_dev == then.st_dev;
}

/* Sweeping */

static bool is_ours(struct str name)
{
	return str_ends(name, STR(".words")) || str_ends(name, STR(".gone")) ||
	       (str_starts(name, STR(MANIFEST_NAME)) && name.n > sizeof MANIFEST_NAME - 1);
}

static bool is_named(const struct manifest *m, struct str name)
{
	char text[64];
	for (size_t i = 0; i < m->n; i++) {
		segment_name(text, m->segment[i].id);
		if (str_is(name, text))
			return true;
		deletes_name(text, m->segment[i].id, m->segment[i].deletes);
		if (m->segment[i].deletes && str_is(name, text))
			return true;
	}
	return false;
}

int manifest_sweep(const char *folder, const struct manifest *m, struct err *err)
{
	struct dir d;
	const char *name;
	int rc = dir_init_own(&d, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc >= 0 && dir_next(&d, &name) == 0) {
		if (!is_ours(str_of(name)) || is_named(m, str_of(name)))
			continue;
		CLEANUP(mem_free) char *path = mem_printf("%s/%s", folder, name);
		rc = file_remove(path, err);
	}
	dir_done(&d);
	return MIN(rc, 0);
}

/* Deletes: small files with the number of documents, the number of those deleted, then a bit for
 * each document or, where that is shorter, the numbers of the deleted ones. */

static const size_t deletes_bytes_most = SMALL_FILE_HEAD + 4 + 4 + SEGMENT_DOCS_MOST / 8 + 8;

static uint32_t count_bits(const uint64_t *bits, uint32_t docs)
{
	uint32_t n = 0;
	for (size_t i = 0; i < deletes_words(docs); i++)
		n += (uint32_t)__builtin_popcountll(bits[i]);
	return n;
}

static bool as_numbers(uint32_t docs, uint32_t deleted)
{
	return (uint64_t)deleted * 4 < deletes_words(docs) * 8;
}

static int deletes_write_new(const char *path, struct str bytes, struct err *err)
{
	struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, err);
	if (rc == 0)
		rc = file_write(&f, bytes.p, bytes.n, 0, err);
	if (rc == 0)
		rc = file_sync(&f, err);
	if (rc == 0)
		rc = file_close(&f, err);
	file_drop(&f);
	return rc;
}

int deletes_write(const char *path, const uint64_t *bits, uint32_t docs, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(deletes_bytes_most);
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(deletes_bytes_most);
	uint32_t deleted = count_bits(bits, docs);
	put_u32le(&b, docs);
	put_u32le(&b, deleted);
	for (size_t i = 0; i < deletes_words(docs); i++) {
		if (!as_numbers(docs, deleted)) {
			put_u64le(&b, bits[i]);
			continue;
		}
		for (uint64_t word = bits[i]; word; word &= word - 1)
			put_u32le(&b, (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)));
	}
	small_file_seal(&words_deletes_format, buf_str(&b), &bytes);
	return deletes_write_new(path, buf_str(&bytes), err);
}

static bool deletes_parse_bits(struct reader *r, uint32_t docs, uint32_t deleted, uint64_t *bits)
{
	for (size_t i = 0; !as_numbers(docs, deleted) && i < deletes_words(docs); i++)
		bits[i] = reader_u64le(r);
	for (uint32_t i = 0; as_numbers(docs, deleted) && i < deleted; i++) {
		uint32_t doc = reader_u32le(r);
		if (doc >= docs)
			return false;
		bits[doc / 64] |= UINT64_C(1) << doc % 64;
	}
	bool beyond = docs % 64 && bits[docs / 64] >> docs % 64;
	return !r->bad && !reader_left(r) && !beyond && count_bits(bits, docs) == deleted;
}

static int deletes_read_bits(const char *path, uint32_t *ret_docs, uint32_t *ret_deleted,
			     uint64_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(deletes_bytes_most);
	struct str payload;
	int rc = small_file_read(path, &words_deletes_format, &b, &payload, err);
	if (rc != 0)
		return rc < 0 ? manifest_give_up(err) : rc;
	struct reader r = reader_of(payload);
	uint32_t docs = reader_u32le(&r), deleted = reader_u32le(&r);
	uint64_t *bits = NULL;
	bool good = !r.bad && docs <= SEGMENT_DOCS_MOST && deleted <= docs;
	if (good) {
		bits = mem_array(deletes_words(docs) + 1, sizeof *bits);
		good = deletes_parse_bits(&r, docs, deleted, bits);
	}
	if (!good) {
		mem_free(&bits);
		return err_set(err, ERR_DAMAGED,
			       "%s: not a list of deletes; the index has to be built again", path);
	}
	*ret_docs = docs;
	*ret_deleted = deleted;
	*ret = bits;
	return 0;
}

static int deletes_read(const char *path, uint32_t docs, uint32_t deleted, uint64_t **ret,
			struct err *err)
{
	uint32_t has_docs, has_deleted;
	uint64_t *bits;
	int rc = deletes_read_bits(path, &has_docs, &has_deleted, &bits, err);
	if (rc != 0)
		return rc;
	if (has_docs != docs || has_deleted != deleted) {
		mem_free(&bits);
		return err_set(err, ERR_DAMAGED,
			       "%s: %" PRIu32 " of %" PRIu32
			       " documents, the manifest says %" PRIu32 " of %" PRIu32
			       "; the index has to be built again",
			       path, has_deleted, has_docs, deleted, docs);
	}
	*ret = bits;
	return 0;
}

int deletes_read_any(const char *path, uint32_t *ret_docs, uint64_t **ret, struct err *err)
{
	uint32_t deleted;
	return deletes_read_bits(path, ret_docs, &deleted, ret, err);
}

/* Shared segments and deletes */

struct shared *shared_new(struct segment *segment, uint64_t *bits)
{
	struct shared *s = mem_alloc(sizeof *s);
	atomic_init(&s->refs, 1);
	s->segment = segment;
	s->bits = bits;
	return s;
}

struct shared *shared_hold(struct shared *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void shared_drop(struct shared **sp)
{
	struct shared *s = *sp;
	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	segment_close(&s->segment);
	mem_free(&s->bits);
	mem_free(&s);
}

int shared_segment(struct shared **ret, const char *folder, const struct manifest_segment *m,
		   struct err *err)
{
	CLEANUP(mem_free) char *path = segment_file_path(folder, m->id);
	struct segment *segment = NULL;
	int rc = segment_open(&segment, path, err);
	if (rc == 0 && segment_info(segment)->docs != m->docs)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: it has %" PRIu32 " documents, the manifest says %" PRIu32
			     "; the index has to be built again",
			     path, segment_info(segment)->docs, m->docs);
	if (rc != 0) {
		segment_close(&segment);
		return rc;
	}
	*ret = shared_new(segment, NULL);
	return 0;
}

int shared_deletes(struct shared **ret, const char *folder, const struct manifest_segment *m,
		   struct err *err)
{
	uint64_t *bits = NULL;
	if (m->deletes) {
		CLEANUP(mem_free) char *path = deletes_file_path(folder, m->id, m->deletes);
		int rc = deletes_read(path, m->docs, m->deleted, &bits, err);
		if (rc != 0)
			return rc;
	}
	*ret = shared_new(NULL, bits);
	return 0;
}
