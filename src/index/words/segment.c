/* Segments that are open: their parts, their documents (keys, ranges of attributes), and the
 * forms of terms. Terms are in dict.c, lists in postings.c, columns in columns.c. */
#include "index/segment.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "index/token.h"
#include "index/words/segment_inner.h"

#include <inttypes.h>

const struct parts_kind segment_kind = {.what = "a segment",
					.magic = SEGMENT_MAGIC,
					.version = SEGMENT_VERSION,
					.parts = SEGMENT_PARTS,
					.foot = SEGMENT_FOOT};

/* Opening */

static int read_foot(struct segment *s, struct reader *r, struct err *err)
{
	for (unsigned i = 0; i < SEGMENT_PARTS; i++)
		if (i != PART_TERMS && s->f.part[i].at % 8 != 0)
			return parts_damaged(&s->f, err, "part %u begins at an odd place", i);
	s->foot.docs = reader_u32le(r);
	s->foot.attrs = reader_u32le(r);
	s->foot.columns = reader_u32le(r);
	s->foot.rank_most = reader_u32le(r);
	s->foot.terms = reader_u64le(r);
	s->foot.occurrences = reader_u64le(r);
	s->foot.weighted_length = reader_u64le(r);
	return 0;
}

static uint64_t group_count(uint32_t docs, uint32_t size)
{
	return ((uint64_t)docs + size - 1) / size;
}

/* Parts with an entry for each document or block have their length; nothing else is known yet. */
static int check_foot(struct segment *s, struct err *err)
{
	const struct segment_foot *f = &s->foot;
	uint64_t blocks = s->f.part[PART_DICT_PREFIX].n / 8, docs = f->docs;
	const struct {
		enum segment_part part;
		uint64_t n;
	} must[] = {
		{PART_DICT_PREFIX, blocks * 8},
		{PART_DICT_WHERE, (blocks + 1) * 4},
		{PART_LENGTHS, docs},
		{PART_RANGES_WHERE, group_count(f->docs, SEGMENT_RANGE_GROUP) * 8},
		{PART_KEYS_WHERE, group_count(f->docs, SEGMENT_KEY_GROUP) * 8},
		{PART_HASHES, docs * 4},
		{PART_HASH_DOCS, docs * 4},
		{PART_SPANS, columns_span_bytes(f->docs, f->columns)},
	};
	if (f->docs > SEGMENT_DOCS_MOST || f->attrs == 0 || f->attrs > WORDS_ATTRS_MOST ||
	    f->columns < SEGMENT_COLUMN || f->columns > SEGMENT_COLUMNS_MOST ||
	    f->rank_most > UINT16_MAX || blocks >= UINT32_MAX)
		return parts_damaged(&s->f, err, "a number at its end is out of bounds");
	for (size_t i = 0; i < ARRAY_LEN(must); i++)
		if (s->f.part[must[i].part].n != must[i].n)
			return parts_damaged(&s->f, err,
					     "part %d has %" PRIu64 " bytes, not %" PRIu64,
					     must[i].part, s->f.part[must[i].part].n, must[i].n);
	s->dict_blocks = (uint32_t)blocks;
	return 0;
}

static int read_attrs(struct segment *s, struct err *err)
{
	const uint8_t *p;
	uint32_t attrs = s->foot.attrs;
	if (parts_whole(&s->f, PART_ATTRS, &p, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){(const char *)p, s->f.part[PART_ATTRS].n});
	s->name = mem_array(attrs, sizeof *s->name);
	s->first = mem_array((size_t)attrs + 1, sizeof *s->first);
	for (uint32_t i = 0; i < attrs; i++)
		s->name[i] = reader_text(&r, WORDS_NAME_MOST);
	for (uint32_t i = 0; i <= attrs; i++) {
		s->first[i] = reader_u32le(&r);
		if (s->first[i] > s->dict_blocks || (i && s->first[i] < s->first[i - 1]))
			r.bad = true;
	}
	if (r.bad || reader_left(&r) || s->first[0] != 0 || s->first[attrs] != s->dict_blocks)
		return parts_damaged(&s->f, err, "its table of attributes is wrong");
	return 0;
}

static void fill_info(struct segment *s)
{
	s->info = (struct segment_info){
		.docs = s->foot.docs,
		.attrs = s->foot.attrs,
		.terms = s->foot.terms,
		.occurrences = s->foot.occurrences,
		.weighted_length = s->foot.weighted_length,
		.file_bytes = page_bytes(s->f.file),
		.rank_most = (uint16_t)s->foot.rank_most,
	};
}

int segment_open(struct segment **ret, const char *path, struct err *err)
{
	struct segment *s = mem_alloc(sizeof *s);
	struct reader foot;
	int rc = parts_open(&s->f, path, &segment_kind, &foot, err);
	if (rc == 0 && (read_foot(s, &foot, err) < 0 || check_foot(s, err) < 0 ||
			read_attrs(s, err) < 0 || segment_blob_open(s, err) < 0))
		rc = -1;
	if (rc != 0) {
		segment_close(&s);
		return rc;
	}
	fill_info(s);
	*ret = s;
	return 0;
}

void segment_close(struct segment **sp)
{
	struct segment *s = *sp;
	if (!s)
		return;
	parts_close(&s->f);
	mem_free(&s->name);
	mem_free(&s->first);
	segment_blob_close(s);
	mem_free(sp);
}

const char *segment_path(const struct segment *s)
{
	return s->f.path;
}

const struct segment_info *segment_info(const struct segment *s)
{
	return &s->info;
}

int segment_verify(struct segment *s, struct err *err)
{
	return page_verify(s->f.file, err);
}

int segment_check(const struct segment *s, struct err *err)
{
	return page_check(s->f.file, err);
}

void segment_forget(struct segment *s)
{
	page_forget(s->f.file);
}

void segment_warm(struct segment *s)
{
	static const enum segment_part parts[] = {PART_DICT, PART_DICT_PREFIX, PART_DICT_WHERE,
						  PART_LENGTHS, PART_SPANS};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		page_want(s->f.file, s->f.part[parts[i]].at, s->f.part[parts[i]].n);
}

int segment_attr(const struct segment *s, struct str name)
{
	for (uint32_t i = 0; i < s->foot.attrs; i++)
		if (str_eq(s->name[i], name))
			return (int)i;
	return -1;
}

struct str segment_attr_name(const struct segment *s, unsigned attr)
{
	return attr < s->foot.attrs ? s->name[attr] : (struct str){0};
}

/* Documents */

int segment_lengths(struct segment *s, const uint8_t **ret, struct err *err)
{
	return parts_whole(&s->f, PART_LENGTHS, ret, err);
}

/* Where the group of a document begins, and all that follows it. */
static int group_of(struct segment *s, enum segment_part part, enum segment_part where,
		    uint32_t group, struct reader *ret, struct err *err)
{
	const uint8_t *p, *bytes;
	if (parts_whole(&s->f, where, &p, err) < 0)
		return -1;
	size_t n = s->f.part[where].n / 8;
	uint64_t from = load_u64(p, group);
	uint64_t to = group + 1 < n ? load_u64(p, (size_t)group + 1) : s->f.part[part].n;
	if (from > to)
		return parts_damaged(&s->f, err, "group %" PRIu32 " of part %d is wrong", group,
				     part);
	if (parts_bytes(&s->f, part, from, to - from, &bytes, err) < 0)
		return -1;
	*ret = reader_of((struct str){(const char *)bytes, (size_t)(to - from)});
	return 0;
}

/* A varint that is a length of a key. */
static inline uint32_t key_length(struct reader *r)
{
	uint32_t v = 0;
	for (unsigned shift = 0; shift < 28 && r->p < r->end; shift += 7) {
		uint8_t byte = *r->p++;
		v |= (byte & 0x7fu) << shift;
		if (LIKELY(byte < 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

/* The key is put together from its end: of most keys before it no byte is left in it. */
bool segment_read_key(struct reader r, uint32_t nth, char *text, size_t *ret_n)
{
	const uint8_t *own[SEGMENT_KEY_GROUP];
	uint32_t shares[SEGMENT_KEY_GROUP], n = 0;
	ENSURE(nth < SEGMENT_KEY_GROUP);
	for (uint32_t i = 0; i <= nth; i++) {
		uint32_t shared, rest;
		if (LIKELY(r.end - r.p >= 2 && ((r.p[0] | r.p[1]) & 0x80) == 0)) {
			shared = r.p[0];
			rest = r.p[1];
			r.p += 2;
		} else {
			shared = key_length(&r);
			rest = key_length(&r);
		}
		if (UNLIKELY(r.bad || shared > n || rest > WORDS_KEY_MOST - shared ||
			     rest > reader_left(&r)))
			return false;
		own[i] = r.p;
		shares[i] = shared;
		r.p += rest;
		n = shared + rest;
	}
	*ret_n = n;
	for (uint32_t i = nth + 1; i-- > 0 && n > 0;) {
		if (shares[i] >= n)
			continue;
		memcpy(text + shares[i], own[i], n - shares[i]);
		n = shares[i];
	}
	return true;
}

/* The key of a document; text has room for WORDS_KEY_MOST bytes. */
static int key_text(struct segment *s, uint32_t doc, char *text, size_t *ret_n, struct err *err)
{
	struct reader r;
	if (doc >= s->foot.docs)
		return parts_damaged(&s->f, err, "there is no document %" PRIu32, doc);
	if (group_of(s, PART_KEYS, PART_KEYS_WHERE, doc / SEGMENT_KEY_GROUP, &r, err) < 0)
		return -1;
	if (UNLIKELY(!segment_read_key(r, doc % SEGMENT_KEY_GROUP, text, ret_n)))
		return parts_damaged(&s->f, err, "the key of document %" PRIu32 " is wrong", doc);
	return 0;
}

int segment_key(struct segment *s, uint32_t doc, struct arena *arena, struct str *ret,
		struct err *err)
{
	char text[WORDS_KEY_MOST];
	size_t n = 0;
	if (key_text(s, doc, text, &n, err) < 0)
		return -1;
	*ret = arena_str(arena, (struct str){text, n});
	return 0;
}

static size_t first_not_below(const uint8_t *hashes, size_t n, uint32_t hash)
{
	return BISECT(i, 0, n, load_u32(hashes, i) < hash);
}

/* How many of the sorted hashes, none of which is below this one, are equal to it. */
static size_t equal_ones(const uint8_t *hashes, size_t n, uint32_t hash)
{
	if (LIKELY(n < 2 || load_u32(hashes, 1) != hash))
		return n > 0 && load_u32(hashes, 0) == hash;
	return hash == UINT32_MAX ? n : first_not_below(hashes, n, hash + 1);
}

/* Keys are URLs, which strangers choose, and anybody can make any number of them with one CRC:
 * those lie in the order of their bytes, so that no key takes more than two bisections. */
int segment_find(struct segment *s, struct str key, uint32_t *ret, struct err *err)
{
	const uint8_t *hashes, *docs;
	char text[WORDS_KEY_MOST];
	uint32_t hash = crc32c(0, key.p, key.n);
	if (parts_whole(&s->f, PART_HASHES, &hashes, err) < 0 ||
	    parts_whole(&s->f, PART_HASH_DOCS, &docs, err) < 0)
		return -1;
	size_t lo = first_not_below(hashes, s->foot.docs, hash);
	size_t n = equal_ones(hashes + 4 * lo, s->foot.docs - lo, hash);
	while (n > 0) {
		size_t half = n / 2, key_n = 0;
		uint32_t doc = load_u32(docs, lo + half);
		if (key_text(s, doc, text, &key_n, err) < 0)
			return -1;
		int order = str_cmp((struct str){text, key_n}, key);
		if (order == 0) {
			*ret = doc;
			return 0;
		}
		lo += order < 0 ? half + 1 : 0;
		n = order < 0 ? n - half - 1 : half;
	}
	return 1;
}

/* Ranges */

static int bad_range(struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "the ranges of a document in a segment are wrong; the index has to be "
		       "built again");
}

int segment_ranges(struct segment *s, uint32_t doc, struct segment_ranges *ret, struct err *err)
{
	struct reader r;
	if (doc >= s->foot.docs)
		return parts_damaged(&s->f, err, "there is no document %" PRIu32, doc);
	if (group_of(s, PART_RANGES, PART_RANGES_WHERE, doc / SEGMENT_RANGE_GROUP, &r, err) < 0)
		return -1;
	for (uint32_t i = 0;; i++) {
		uint64_t n = reader_varint(&r);
		if (r.bad || n > UINT32_MAX)
			return bad_range(err);
		if (i == doc % SEGMENT_RANGE_GROUP) {
			*ret = (struct segment_ranges){r.p, r.end, (uint32_t)n, 0, s->foot.attrs};
			return 0;
		}
		for (uint64_t k = 0; k < 2 * n && !r.bad; k++)
			(void)reader_varint(&r);
	}
}

int segment_ranges_next(struct segment_ranges *it, struct segment_range *ret, struct err *err)
{
	if (it->left == 0)
		return 1;
	struct reader r = reader_of(str_range((const char *)it->p, (const char *)it->stop));
	uint64_t attr = reader_varint(&r), n = reader_varint(&r);
	if (r.bad || attr >= it->attrs || n >= UINT32_MAX - it->at)
		return bad_range(err);
	*ret = (struct segment_range){(uint32_t)attr, it->at, (uint32_t)n};
	it->p = r.p;
	it->at += (uint32_t)n + 1;
	it->left--;
	return 0;
}

/* Forms: how words were written. The usual ones go by rule, the others are in a table of the term.
 */

static bool is_capitalised(struct str term, struct str form, size_t n)
{
	for (size_t i = 0; i < term.n; i++)
		if (form.p[i] != (i < n ? ascii_upper(term.p[i]) : term.p[i]))
			return false;
	return true;
}

bool segment_form_plain(struct str term, struct str form, uint32_t *ret)
{
	if (term.n != form.n)
		return false;
	if (is_capitalised(term, form, 0))
		*ret = SEGMENT_FORM_TERM;
	else if (is_capitalised(term, form, 1))
		*ret = SEGMENT_FORM_FIRST;
	else if (is_capitalised(term, form, term.n))
		*ret = SEGMENT_FORM_CAPITALS;
	else
		return false;
	return true;
}

bool segment_has_forms(struct segment *s, const struct segment_term *info)
{
	struct err ignored;
	const uint8_t *p;
	uint64_t from = info->at - s->f.part[PART_TERMS].at;
	if (info->bytes == 0)
		return info->variant != SEGMENT_FORM_TERM;
	if (info->df < SEGMENT_BLOCK)
		return parts_bytes(&s->f, PART_TERMS, from, 1, &p, &ignored) < 0 || *p & LIST_FORMS;
	from += -info->at & 3;
	return parts_bytes(&s->f, PART_TERMS, from, LIST_HEAD, &p, &ignored) < 0 ||
	       load_u32(p, 3) & LIST_FORMS;
}

int segment_forms(struct segment *s, const struct segment_term *info, struct segment_forms *ret,
		  struct err *err)
{
	const uint8_t *p;
	*ret = (struct segment_forms){0};
	if (info->bytes == 0 || info->occurrences == 0 || !segment_has_forms(s, info))
		return 0;
	uint64_t base = s->f.part[PART_TERMS].at;
	if (parts_bytes(&s->f, PART_TERMS, info->at - base, info->bytes, &p, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){(const char *)p, (size_t)info->bytes});
	struct str table = STR("");
	if (info->df < SEGMENT_BLOCK) {
		if (reader_u8(&r) & LIST_OWN)
			table = reader_text(&r, (size_t)info->bytes);
	} else {
		reader_skip(&r, (size_t)(-info->at & 3) + 4);
		uint32_t n = reader_u32le(&r);
		reader_skip(&r, LIST_HEAD - 8 +
					(size_t)info->blocks * (3 * 4 + 2 * SEGMENT_BOUNDS + 1));
		table = reader_bytes(&r, n);
	}
	ret->p = (const unsigned char *)table.p;
	ret->stop = ret->p + table.n;
	return 0;
}

int segment_forms_next(struct segment_forms *it, struct str *ret, struct err *err)
{
	struct reader r = reader_of(str_range((const char *)it->p, (const char *)it->stop));
	if (!reader_left(&r))
		return 1;
	struct str form = reader_text(&r, TOKEN_FORM_MOST);
	if (r.bad)
		return err_set(err, ERR_DAMAGED,
			       "a table of forms in a segment is wrong; the index has to be built "
			       "again");
	it->p = r.p;
	*ret = form;
	return 0;
}

int segment_form(struct segment *s, const struct segment_term *info, struct str term,
		 struct str form, uint32_t *ret, struct err *err)
{
	struct segment_forms it;
	struct str own;
	int rc;
	if (segment_form_plain(term, form, ret))
		return 0;
	if (segment_forms(s, info, &it, err) < 0)
		return -1;
	*ret = SEGMENT_FORM_OWN;
	while ((rc = segment_forms_next(&it, &own, err)) == 0 && !str_eq(own, form))
		++*ret;
	return rc;
}
