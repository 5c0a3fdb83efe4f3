/* Segments written. Data of terms go to the file as they come; everything else (documents, the
 * dictionary) is collected in memory and follows them, so that a segment is written in one pass and
 * no byte of it twice. The last bytes say where each part lies. */
#include "index/words/segment_write.h"

#include "base/hash.h"

#include <stdlib.h>

/* For what is collected in memory: more than there is. */
static const size_t most_bytes = (size_t)1 << 40;

struct segment_writer {
	struct page_writer out;
	char *path;
	bool failed; /* a list was too long */
	struct segment_foot foot;
	struct parts_place place[SEGMENT_PARTS];
	enum segment_part part; /* the current one */
	uint32_t attr;          /* of the current list */
	struct list_writer list;
	struct dict_writer dict;
	struct buf term; /* data of the current term */
	struct columns_writer columns;
	struct buf names, lengths, ranges, ranges_where, keys, keys_where, hashes;
	struct buf last_key;
	struct buf blob[TOKEN_TERM_MOST + 1][SEGMENT_RUNS]; /* terms by their length */
};

static struct buf *buf_number(struct segment_writer *w, size_t i)
{
	struct buf *all[] = {&w->term, &w->names,      &w->lengths, &w->ranges,  &w->ranges_where,
			     &w->keys, &w->keys_where, &w->hashes,  &w->last_key};
	return i < ARRAY_LEN(all) ? all[i] : NULL;
}

static void begin_part(struct segment_writer *w, enum segment_part part)
{
	w->part = part;
	w->place[part].at = w->out.n;
}

static void put_bytes(struct segment_writer *w, const void *p, size_t n)
{
	page_put(&w->out, p, n);
	w->place[w->part].n += n;
}

static void put_part(struct segment_writer *w, enum segment_part part, struct str bytes)
{
	/* Arrays of numbers are read in place. */
	static const char zeroes[8];
	page_put(&w->out, zeroes, (size_t)(-w->out.n & 7));
	begin_part(w, part);
	put_bytes(w, bytes.p, bytes.n);
}

int segment_create(struct segment_writer **ret, const char *path, const struct str *attr,
		   uint32_t attrs, uint32_t columns, bool direct, struct err *err)
{
	struct segment_writer *w = mem_alloc(sizeof *w);
	struct stream_options options = {.buffered = !direct};
	if (page_create(&w->out, path, 0644, &options, err) < 0) {
		mem_free(&w);
		return -1;
	}
	ENSURE(attrs > 0 && columns >= SEGMENT_COLUMN && columns <= SEGMENT_COLUMNS_MOST);
	w->path = mem_text(path);
	struct buf *b;
	for (size_t i = 0; (b = buf_number(w, i)); i++)
		*b = BUF_INIT(most_bytes);
	for (size_t i = 1; i < ARRAY_LEN(w->blob); i++)
		for (size_t k = 0; k < SEGMENT_RUNS; k++)
			w->blob[i][k] = BUF_INIT(most_bytes);
	list_init(&w->list);
	dict_init(&w->dict);
	columns_init(&w->columns, columns);
	w->foot.attrs = attrs;
	w->foot.columns = columns;
	for (uint32_t i = 0; i < attrs; i++)
		put_text(&w->names, attr[i]);
	parts_put_head(&segment_kind, &w->out);
	begin_part(w, PART_TERMS);
	*ret = w;
	return 0;
}

/* Documents */

static void put_key(struct segment_writer *w, struct str key)
{
	size_t shared = 0;
	if (w->foot.docs % SEGMENT_KEY_GROUP == 0)
		put_u64le(&w->keys_where, w->keys.n);
	else
		while (shared < MIN(key.n, w->last_key.n) && key.p[shared] == w->last_key.p[shared])
			shared++;
	put_varint(&w->keys, shared);
	put_text(&w->keys, str_from(key, shared));
	buf_clear(&w->last_key);
	buf_add_str(&w->last_key, key);
	/* The hash above the number: sorted as numbers. */
	put_u64le(&w->hashes, (uint64_t)crc32c(0, key.p, key.n) << 32 | w->foot.docs);
}

static void put_ranges(struct segment_writer *w, const struct segment_doc *doc)
{
	if (w->foot.docs % SEGMENT_RANGE_GROUP == 0)
		put_u64le(&w->ranges_where, w->ranges.n);
	put_varint(&w->ranges, doc->ranges);
	for (uint32_t i = 0; i < doc->ranges; i++) {
		put_varint(&w->ranges, doc->range[i].attr);
		put_varint(&w->ranges, doc->range[i].n);
	}
}

uint32_t segment_put_value(struct segment_writer *w, uint32_t column, struct str text)
{
	ENSURE(column < w->foot.columns);
	return value_table_add(&w->columns.values[column], text);
}

void segment_put_doc(struct segment_writer *w, const struct segment_doc *doc)
{
	ENSURE(w->foot.docs < SEGMENT_DOCS_MOST && w->dict.terms == 0);
	put_key(w, doc->key);
	put_ranges(w, doc);
	put_u8(&w->lengths, words_length_code(doc->length));
	w->foot.weighted_length += doc->length;
	columns_put(&w->columns, doc->number);
	w->foot.rank_most = (uint32_t)MAX(doc->number[SEGMENT_RANK], (int64_t)w->foot.rank_most);
	w->foot.docs++;
}

const uint8_t *segment_put_lengths(const struct segment_writer *w)
{
	return (const uint8_t *)w->lengths.p;
}

/* Terms */

struct list_writer *segment_put_begin(struct segment_writer *w, uint32_t attr, bool forms)
{
	if (w->dict.terms == 0 && w->foot.docs)
		list_mean(&w->list, (double)w->foot.weighted_length / w->foot.docs);
	w->attr = attr;
	list_begin(&w->list, attr == SEGMENT_COMBINED, forms);
	return &w->list;
}

/* One occurrence with a plain form, which the dictionary itself holds. (In the list of an attribute
 * the position is 0.) */
static bool goes_inside(const struct list_writer *l, struct segment_term *ret)
{
	if (l->df || l->n != 1 || l->occurrences != 1 || l->tf[0] != 1)
		return false;
	uint32_t form = l->positions ? l->form[0] : 0;
	if (form >= SEGMENT_FORM_OWN)
		return false;
	*ret = (struct segment_term){.df = 1, .blocks = 1, .doc = l->last, .variant = form};
	ret->position = l->positions ? l->pos[0] : 0;
	return true;
}

void segment_put_end(struct segment_writer *w, struct str term, struct str own)
{
	struct list_writer *l = &w->list;
	struct segment_term info = {0};
	uint64_t at = w->out.n;
	if (l->df == 0 && l->n == 0)
		return;
	if (!goes_inside(l, &info)) {
		buf_clear(&w->term);
		list_end(l, at, own, &w->term);
		w->failed |= l->docs.n > UINT32_MAX || l->occ.n > UINT32_MAX ||
			     l->occurrences > UINT32_MAX || own.n > UINT32_MAX || w->term.over;
		put_bytes(w, w->term.p, w->term.n);
		info.df = (uint32_t)l->df;
		info.occurrences = l->occurrences;
		info.bytes = w->term.n;
	}
	dict_put(&w->dict, w->attr, term, at, &info);
	if (w->attr == SEGMENT_COMBINED) {
		w->foot.occurrences += l->occurrences;
		buf_add_str(&w->blob[term.n][segment_run_of(term)], term);
	}
}

/* The end */

static int by_number(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	x = le64toh(x);
	y = le64toh(y);
	return (x > y) - (x < y);
}

struct doc_key {
	struct str key;
	uint64_t number;
};

static int by_key(const void *a, const void *b)
{
	const struct doc_key *x = a, *y = b;
	return str_cmp(x->key, y->key);
}

static struct str key_of(const struct segment_writer *w, uint32_t doc, struct arena *arena)
{
	char text[WORDS_KEY_MOST];
	struct reader where = reader_of(buf_str(&w->keys_where));
	size_t n = 0;
	(void)reader_bytes(&where, (size_t)doc / SEGMENT_KEY_GROUP * 8);
	struct str group = str_from(buf_str(&w->keys), reader_u64le(&where));
	ENSURE(segment_read_key(reader_of(group), doc % SEGMENT_KEY_GROUP, text, &n));
	return arena_str(arena, (struct str){text, n});
}

/* Numbers whose hashes are equal, by the keys of their documents. */
static void sort_equal(const struct segment_writer *w, uint64_t *number, size_t n)
{
	struct arena arena = ARENA_INIT(most_bytes);
	struct doc_key *sorted = arena_array(&arena, n, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct doc_key){key_of(w, (uint32_t)le64toh(number[i]), &arena),
					     number[i]};
	qsort(sorted, n, sizeof *sorted, by_key);
	for (size_t i = 0; i < n; i++)
		number[i] = sorted[i].number;
	arena_free(&arena);
}

static void sort_hashes(struct segment_writer *w)
{
	uint64_t *number = (uint64_t *)(void *)w->hashes.p;
	size_t docs = w->foot.docs;
	if (docs)
		qsort(number, docs, sizeof *number, by_number);
	for (size_t i = 0, n; i < docs; i += n) {
		for (n = 1;
		     i + n < docs && le64toh(number[i]) >> 32 == le64toh(number[i + n]) >> 32;)
			n++;
		if (n > 1)
			sort_equal(w, number + i, n);
	}
}

static void put_hashes(struct segment_writer *w)
{
	struct buf hash = BUF_INIT(most_bytes), docs = BUF_INIT(most_bytes);
	sort_hashes(w);
	struct reader r = reader_of(buf_str(&w->hashes));
	for (uint32_t i = 0; i < w->foot.docs; i++) {
		uint64_t v = reader_u64le(&r);
		put_u32le(&hash, (uint32_t)(v >> 32));
		put_u32le(&docs, (uint32_t)v);
	}
	put_part(w, PART_HASHES, buf_str(&hash));
	put_part(w, PART_HASH_DOCS, buf_str(&docs));
	buf_free(&hash);
	buf_free(&docs);
}

/* A short one is left out: readers make it. */
static void put_blob(struct segment_writer *w)
{
	struct buf head = BUF_INIT(SEGMENT_BLOB_HEAD);
	uint64_t bytes = 0;
	for (size_t i = 1; i < ARRAY_LEN(w->blob); i++)
		for (size_t k = 0; k < SEGMENT_RUNS; k++)
			bytes += w->blob[i][k].n;
	if (bytes < SEGMENT_BLOB_LEAST) {
		put_part(w, PART_BLOB, STR(""));
		return;
	}
	for (size_t i = 1; i < ARRAY_LEN(w->blob); i++)
		for (size_t k = 0; k < SEGMENT_RUNS; k++)
			put_u32le(&head, (uint32_t)(w->blob[i][k].n / i));
	put_part(w, PART_BLOB, buf_str(&head));
	for (size_t i = 1; i < ARRAY_LEN(w->blob); i++)
		for (size_t k = 0; k < SEGMENT_RUNS; k++)
			put_bytes(w, w->blob[i][k].p, w->blob[i][k].n);
	buf_free(&head);
}

static void put_foot(struct segment_writer *w)
{
	struct buf b = BUF_INIT(SEGMENT_FOOT);
	parts_put_places(&segment_kind, w->place, &b);
	put_u32le(&b, w->foot.docs);
	put_u32le(&b, w->foot.attrs);
	put_u32le(&b, w->foot.columns);
	put_u32le(&b, w->foot.rank_most);
	put_u64le(&b, w->dict.terms);
	put_u64le(&b, w->foot.occurrences);
	put_u64le(&b, w->foot.weighted_length);
	put_u64le(&b, 0);
	page_put(&w->out, b.p, b.n);
	buf_free(&b);
}

static void put_parts(struct segment_writer *w)
{
	struct columns_parts columns;
	w->failed |= !columns_end(&w->columns, &columns);
	dict_end(&w->dict, w->foot.attrs);
	buf_add_str(&w->names, buf_str(&w->dict.firsts));
	put_part(w, PART_DICT, buf_str(&w->dict.blocks));
	put_part(w, PART_DICT_PREFIX, buf_str(&w->dict.prefixes));
	put_part(w, PART_DICT_WHERE, buf_str(&w->dict.wheres));
	put_part(w, PART_ATTRS, buf_str(&w->names));
	put_part(w, PART_LENGTHS, buf_str(&w->lengths));
	put_part(w, PART_RANGES, buf_str(&w->ranges));
	put_part(w, PART_RANGES_WHERE, buf_str(&w->ranges_where));
	put_part(w, PART_COLUMNS, buf_str(&columns.numbers));
	put_part(w, PART_KEYS, buf_str(&w->keys));
	put_part(w, PART_KEYS_WHERE, buf_str(&w->keys_where));
	put_hashes(w);
	put_blob(w);
	put_part(w, PART_VALUES, buf_str(&columns.values));
	put_part(w, PART_SPANS, buf_str(&columns.spans));
	put_foot(w);
	columns_parts_free(&columns);
}

static void writer_release(struct segment_writer **wp)
{
	struct segment_writer *w = *wp;
	struct buf *b;
	page_drop(&w->out);
	for (size_t i = 0; (b = buf_number(w, i)); i++)
		buf_free(b);
	for (size_t i = 1; i < ARRAY_LEN(w->blob); i++)
		for (size_t k = 0; k < SEGMENT_RUNS; k++)
			buf_free(&w->blob[i][k]);
	list_free(&w->list);
	dict_free(&w->dict);
	columns_free(&w->columns);
	mem_free(&w->path);
	mem_free(wp);
}

int segment_put_finish(struct segment_writer **wp, bool sync, struct err *err)
{
	struct segment_writer *w = *wp;
	int rc = 0;
	put_parts(w);
	if (w->failed || w->dict.blocks.over)
		rc = err_set(err, ERR_SYSTEM,
			     "%s: more words than a segment can hold; use a smaller memory or "
			     "merge fewer",
			     w->path);
	else
		rc = page_finish(&w->out, sync, err);
	if (rc < 0)
		segment_put_drop(wp);
	else
		writer_release(wp);
	return rc;
}

void segment_put_drop(struct segment_writer **wp)
{
	struct err ignored;
	if (!*wp)
		return;
	page_drop(&(*wp)->out);
	(void)file_remove((*wp)->path, &ignored);
	writer_release(wp);
}
