/* Segments of names that are open: the dictionary, forms and entries. Lists of trigrams are in
 * names_segment_lists.c.
 *
 * The dictionary is front-coded in blocks, each with its entries after its names: a look-up is a
 * bisection of the blocks' prefixes and one block. Many a name is followed by its neighbour from
 * the same directory, so the first entry of a form is one bit where it comes right after the first
 * one of the form before; that, and gaps with a class in four bits, keeps entries at half of what
 * plain numbers take. */
#include "index/names_segment_inner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays of numbers are read in place");

const uint8_t names_gap_bits[GAP_CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 30};
const uint32_t names_gap_base[GAP_CLASSES] = {0,   1,   3,    7,    15,   31,   63,    127,
					      255, 511, 1023, 2047, 4095, 8191, 24575, 155647};

int names_damaged(const struct names_segment *s, struct err *err, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return err_set(err, ERR_DAMAGED, "%s: %s; the index has to be built again", s->path, what);
}

int names_part_bytes(struct names_segment *s, enum names_segment_part part, uint64_t from,
		     uint64_t n, const uint8_t **ret, struct err *err)
{
	struct str bytes;
	const struct names_part_place *place = &s->part[part];
	if (UNLIKELY(from > place->n || n > place->n - from))
		return names_damaged(s, err,
				     "%" PRIu64 " bytes at %" PRIu64 " of part %d, which has "
				     "%" PRIu64,
				     n, from, part, place->n);
	if (page_get(s->file, place->at + from, (size_t)n, &bytes, err) < 0)
		return -1;
	*ret = (const uint8_t *)bytes.p;
	return 0;
}

int names_part_slowly(struct names_segment *s, enum names_segment_part part, const uint8_t **ret,
		      struct err *err)
{
	if (names_part_bytes(s, part, 0, s->part[part].n, ret, err) < 0)
		return -1;
	atomic_store_explicit(&s->ready[part], *ret, memory_order_release);
	return 0;
}

/* Opening */

static int read_names_foot(struct names_segment *s, struct err *err)
{
	uint64_t bytes = page_bytes(s->file);
	struct str head, tail;
	if (bytes < NAMES_HEAD + NAMES_FOOT)
		return names_damaged(s, err, "it is too short for a segment of names");
	if (page_get(s->file, 0, NAMES_HEAD, &head, err) < 0 ||
	    page_get(s->file, bytes - NAMES_FOOT, NAMES_FOOT, &tail, err) < 0)
		return -1;
	struct reader h = reader_of(head), r = reader_of(tail);
	if (!str_is(reader_bytes(&h, FORMAT_MAGIC), NAMES_SEGMENT_MAGIC))
		return names_damaged(s, err, "it is not a segment of names");
	uint32_t version = reader_u32le(&h);
	if (version != NAMES_SEGMENT_VERSION)
		return names_damaged(s, err, "version %" PRIu32 ", this program knows version %d",
				     version, NAMES_SEGMENT_VERSION);
	for (unsigned i = 0; i < NAMES_SEGMENT_PARTS; i++) {
		struct names_part_place *place = &s->part[i];
		place->at = reader_u64le(&r);
		place->n = reader_u64le(&r);
		if (place->at > bytes - NAMES_FOOT || place->n > bytes - NAMES_FOOT - place->at)
			return names_damaged(s, err, "part %u is not inside it", i);
	}
	s->info.entries = reader_u32le(&r);
	s->info.names = reader_u32le(&r);
	s->info.forms = reader_u32le(&r);
	s->info.trigrams = reader_u32le(&r);
	return 0;
}

static int check_names_foot(struct names_segment *s, struct err *err)
{
	const struct names_segment_info *i = &s->info;
	uint64_t blocks = ((uint64_t)i->names + NAMES_BLOCK - 1) / NAMES_BLOCK;
	if (i->entries > NAMES_ENTRIES_MOST || i->forms > i->entries || i->names > i->forms ||
	    i->trigrams > 1 << 24 || (i->names == 0 && i->entries != 0))
		return names_damaged(s, err, "a number at its end is out of bounds");
	if (s->part[NAMES_PREFIXES].n != blocks * 8 ||
	    s->part[NAMES_PLACES].n != blocks * NAMES_WHERE ||
	    s->part[NAMES_TRIGRAMS].n !=
		    (NAMES_BYTES + 1) * 4 + (uint64_t)i->trigrams * NAMES_DIRECTORY)
		return names_damaged(s, err, "a part has a length that does not fit its numbers");
	s->blocks = (uint32_t)blocks;
	s->entry_bits = names_bits_of(i->entries ? i->entries - 1 : 0);
	s->info.file_bytes = page_bytes(s->file);
	return 0;
}

int names_segment_open(struct names_segment **ret, const char *path, struct err *err)
{
	struct page_file *file;
	int rc = page_open(&file, path, err);
	if (rc > 0)
		return err_set(err, ERR_DAMAGED, "%s: it is not there", path);
	if (rc < 0)
		return -1;
	struct names_segment *s = mem_alloc(sizeof *s);
	s->file = file;
	s->path = mem_text(path);
	if (read_names_foot(s, err) < 0 || check_names_foot(s, err) < 0) {
		names_segment_close(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void names_segment_close(struct names_segment **s)
{
	if (*s) {
		page_close(&(*s)->file);
		mem_free(&(*s)->path);
	}
	mem_free(s);
}

int names_segment_check(const struct names_segment *s, struct err *err)
{
	return page_check(s->file, err);
}

const struct names_segment_info *names_segment_info(const struct names_segment *s)
{
	return &s->info;
}

/* Blocks */

/* A name's head in its block. */
struct name_head {
	uint32_t shared, own, entries;
	bool has_forms;
	const uint8_t *text; /* its own bytes */
	const uint8_t *forms, *after;
};

static inline bool read_name_more(const uint8_t **pp, const uint8_t *stop, unsigned flags,
				  struct name_head *h)
{
	bool bad = false;
	const uint8_t *p = *pp;
	if (h->shared == NAME_SHARED_MORE)
		h->shared += names_varint(&p, stop, &bad);
	if (h->own == NAME_OWN_MORE)
		h->own += names_varint(&p, stop, &bad);
	if (flags & NAME_MANY)
		h->entries = names_varint(&p, stop, &bad) + 2;
	*pp = p;
	return !bad && h->shared <= NAMES_FOLDED_MOST && h->own <= NAMES_FOLDED_MOST &&
	       h->entries <= NAMES_ENTRIES_MOST;
}

static inline bool read_name(const uint8_t *p, const uint8_t *stop, bool first,
			     struct name_head *ret)
{
	struct name_head h = {.entries = 1};
	if (UNLIKELY(stop - p < 2 - first))
		return false;
	if (!first)
		h.shared = *p++;
	unsigned flags = *p++;
	h.own = flags & NAME_OWN_MORE;
	if (UNLIKELY(flags & 1 << 7))
		return false;
	if (UNLIKELY((flags & NAME_MANY) || h.own == NAME_OWN_MORE ||
		     h.shared == NAME_SHARED_MORE) &&
	    !read_name_more(&p, stop, flags, &h))
		return false;
	if (UNLIKELY((size_t)(stop - p) < h.own))
		return false;
	h.text = p;
	p += h.own;
	if (flags & NAME_FORMS) {
		bool bad = false;
		uint32_t bytes = names_varint(&p, stop, &bad);
		if (bad || (size_t)(stop - p) < bytes)
			return false;
		h.has_forms = true;
		h.forms = p;
		p += bytes;
	}
	h.after = p;
	*ret = h;
	return true;
}

static int names_bad_block(const struct names_segment *s, uint32_t block, struct err *err)
{
	return names_damaged(s, err, "block %" PRIu32 " of the dictionary is wrong", block);
}

static uint32_t names_in_block(const struct names_segment *s, uint32_t block)
{
	return MIN(s->info.names - block * NAMES_BLOCK, (uint32_t)NAMES_BLOCK);
}

struct block_view {
	const uint8_t *head, *stop, *end; /* names, their end (entries begin), end of entries */
};

static inline int enter_names_block(struct names_segment *s, uint32_t block, struct block_view *ret,
				    struct err *err)
{
	const uint8_t *places, *p;
	if (UNLIKELY(names_part_whole(s, NAMES_PLACES, &places, err) < 0))
		return -1;
	places += (size_t)block * NAMES_WHERE;
	uint64_t at = (uint64_t)names_load_u32(places) | (uint64_t)places[4] << 32;
	uint64_t left = s->part[NAMES_DICT].n;
	if (UNLIKELY(at > left))
		return names_bad_block(s, block, err);
	/* What is after the part can be read as well: there is always the foot. */
	left -= at;
	if (names_part_bytes(s, NAMES_DICT, at, MIN(left, 10), &p, err) < 0)
		return -1;
	bool bad = false;
	const uint8_t *q = p, *most = p + MIN(left, 10);
	uint32_t names = names_varint(&q, most, &bad), entries = names_varint(&q, most, &bad);
	uint64_t head = (uint64_t)(q - p);
	if (UNLIKELY(bad))
		return names_bad_block(s, block, err);
	if (names_part_bytes(s, NAMES_DICT, at, head + names + entries, &p, err) < 0)
		return -1;
	ret->head = p + head;
	ret->stop = ret->head + names;
	ret->end = ret->stop + entries;
	return 0;
}

/* Looking up */

static int compare_block_head(struct names_segment *s, uint32_t block, struct str name, int *ret,
			      struct err *err)
{
	struct block_view b;
	struct name_head h;
	if (enter_names_block(s, block, &b, err) < 0)
		return -1;
	if (!read_name(b.head, b.stop, true, &h))
		return names_bad_block(s, block, err);
	*ret = str_cmp((struct str){(const char *)h.text, h.own}, name);
	return 0;
}

/* The last block whose first name is not after the name; 0 when there is none. */
static int find_names_block(struct names_segment *s, struct str name, uint32_t *ret,
			    struct err *err)
{
	const uint8_t *prefixes;
	uint64_t want = names_prefix(name);
	uint32_t lo = 0, hi = s->blocks;
	if (names_part_whole(s, NAMES_PREFIXES, &prefixes, err) < 0)
		return -1;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		uint64_t prefix = names_load_u64(prefixes + (size_t)middle * 8);
		int order = prefix < want ? -1 : prefix > want;
		if (order == 0 && compare_block_head(s, middle, name, &order, err) < 0)
			return -1;
		if (order <= 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	*ret = lo ? lo - 1 : 0;
	return 0;
}

/* Names before the wanted one share with it as much as the last compared one (`same` bytes): one
 * that shares more with its neighbour differs at the same place, one that shares less is past it.
 */
int names_segment_find(struct names_segment *s, struct str folded, uint32_t *ret, struct err *err)
{
	struct block_view b;
	uint32_t block, same = 0;
	*ret = 0;
	if (s->info.names == 0)
		return 1;
	if (find_names_block(s, folded, &block, err) < 0 ||
	    enter_names_block(s, block, &b, err) < 0)
		return -1;
	const uint8_t *p = b.head;
	uint32_t n = names_in_block(s, block);
	for (uint32_t i = 0; i < n; i++) {
		struct name_head h;
		if (!read_name(p, b.stop, i == 0, &h))
			return names_bad_block(s, block, err);
		p = h.after;
		*ret = block * NAMES_BLOCK + i;
		if (h.shared > same)
			continue;
		if (h.shared < same)
			return 1;
		uint32_t k = 0, most = (uint32_t)MIN((size_t)h.own, folded.n - same);
		while (k < most && h.text[k] == (uint8_t)folded.p[same + k])
			k++;
		same += k;
		if (k == h.own && same == folded.n)
			return 0;
		if (same == folded.n || (k < h.own && h.text[k] > (uint8_t)folded.p[same]))
			return 1;
	}
	*ret = block * NAMES_BLOCK + n;
	return 1;
}

/* Walking */

enum { WALK_ROOM = 1024 }; /* bytes of a name that there is always room for */

static int enter_walk_block(struct names_walk *w, uint32_t block, struct err *err)
{
	struct block_view b;
	w->left = 0;
	if (enter_names_block(w->segment, block, &b, err) < 0)
		return -1;
	w->head = w->p = b.head;
	w->stop = w->bits = b.stop;
	w->end = b.end;
	w->block = block;
	w->left = names_in_block(w->segment, block);
	w->next = block * NAMES_BLOCK;
	w->text.n = 0;
	w->place = (struct names_entry_place){.p = b.head};
	return 0;
}

int names_walk_begin(struct names_walk *w, struct names_segment *s, uint32_t name, struct err *err)
{
	*w = (struct names_walk){.segment = s,
				 .text = BUF_INIT(NAMES_FOLDED_MOST + WALK_ROOM),
				 .form = BUF_INIT(NAMES_FOLDED_MOST)};
	(void)buf_room(&w->text, WALK_ROOM);
	return names_walk_seek(w, name, err);
}

void names_walk_end(struct names_walk *w)
{
	buf_free(&w->text);
	buf_free(&w->form);
}

/* The next name's bytes after those that it shares. */
static inline bool add_name_bytes(struct names_walk *w, const struct name_head *h)
{
	if (UNLIKELY(h->shared > w->text.n || h->shared + h->own > NAMES_FOLDED_MOST))
		return false;
	size_t n = h->shared + h->own;
	w->text.n = h->shared;
	if (LIKELY(n + 16 <= w->text.cap && h->own <= 16)) {
		memcpy(w->text.p + h->shared, h->text, 16); /* there are always more bytes */
		w->text.n = n;
	} else {
		char *to = buf_room(&w->text, h->own + 16);
		if (!to)
			return false;
		memcpy(to, h->text, h->own);
		w->text.n = n;
	}
	return true;
}

static inline int step_walk(struct names_walk *w, struct err *err)
{
	struct name_head h;
	if (UNLIKELY(!read_name(w->p, w->stop, w->p == w->head, &h) || !add_name_bytes(w, &h)))
		return names_bad_block(w->segment, w->block, err);
	w->name = w->next++;
	w->left--;
	w->entries = h.entries;
	w->forms_at = h.forms;
	w->form_p = NULL;
	w->p = h.after;
	return 0;
}

int names_walk_next(struct names_walk *w, struct err *err)
{
	if (UNLIKELY(w->left == 0)) {
		if (w->next >= w->segment->info.names)
			return 1;
		if (enter_walk_block(w, w->next / NAMES_BLOCK, err) < 0)
			return -1;
	}
	if (step_walk(w, err) < 0)
		return -1;
	w->folded = (struct str){w->text.p, w->text.n};
	w->forms = 1;
	if (UNLIKELY(w->forms_at != NULL)) {
		bool bad = false;
		const uint8_t *p = w->forms_at;
		w->forms = names_varint(&p, w->p, &bad) + 1;
		if (bad || w->forms > w->entries)
			return names_bad_block(w->segment, w->block, err);
	}
	return 0;
}

int names_walk_seek(struct names_walk *w, uint32_t name, struct err *err)
{
	if (name >= w->segment->info.names) {
		w->next = w->segment->info.names;
		w->left = 0;
		return 0;
	}
	bool here = w->left > 0 && w->block == name / NAMES_BLOCK && w->next <= name;
	if (!here && enter_walk_block(w, name / NAMES_BLOCK, err) < 0)
		return -1;
	while (w->next < name)
		if (step_walk(w, err) < 0)
			return -1;
	return 0;
}

/* Forms */

struct form_head {
	unsigned way;
	uint32_t entries;
	const uint8_t *text;
	uint32_t bytes;
};

/* The next form of a name that has `total` entries and n bytes. */
static bool read_form(const uint8_t **pp, const uint8_t *stop, bool several, uint32_t total,
		      uint32_t n, struct form_head *ret)
{
	bool bad = false;
	const uint8_t *p = *pp;
	struct form_head f = {.entries = total};
	if (p >= stop)
		return false;
	f.way = *p++;
	if (several)
		f.entries = names_varint(&p, stop, &bad) + 1;
	if (f.way == FORM_CAPITALS)
		f.bytes = (n + 7) / 8;
	else if (f.way == FORM_BYTES)
		f.bytes = names_varint(&p, stop, &bad);
	f.text = p;
	if (bad || f.way >= FORM_WAYS || (size_t)(stop - p) < f.bytes || f.entries > total ||
	    f.bytes > NAMES_NAME_MOST)
		return false;
	*pp = p + f.bytes;
	*ret = f;
	return true;
}

/* Bits */

static inline uint64_t load_entry_bits(const struct names_walk *w, uint64_t bit)
{
	return names_load_u64(w->bits + bit / 8) >> bit % 8; /* the foot is always after them */
}

static inline uint32_t low_bits(uint64_t v, unsigned bits)
{
	return (uint32_t)(v & (((uint64_t)1 << bits) - 1));
}

/* Over the bits of a form with so many entries: *ret (or NULL) gets the entries from `from` on, at
 * most `want`. false: wrong. */
static bool read_entries(const struct names_walk *w, struct names_entry_place *place,
			 uint32_t entries, uint32_t from, uint32_t want, uint32_t *ret)
{
	const struct names_segment *s = w->segment;
	uint64_t limit = (uint64_t)(w->end - w->bits) * 8, bit = place->bit;
	if (entries > NAMES_INLINE) {
		if (bit + 32 > limit)
			return false;
		place->tail += low_bits(load_entry_bits(w, bit), 32);
		place->bit = bit + 32;
		return true;
	}
	if (bit + 1 > limit)
		return false;
	uint64_t v = load_entry_bits(w, bit++);
	uint32_t entry = place->before + 1;
	if ((v & 1) == 0) {
		entry = low_bits(v >> 1, s->entry_bits);
		bit += s->entry_bits;
	}
	place->before = entry;
	for (uint32_t i = 0;; i++) {
		if (entry >= s->info.entries || bit > limit)
			return false;
		if (ret && i >= from && i - from < want)
			ret[i - from] = entry;
		if (i + 1 == entries)
			break;
		if (bit + GAP_CLASS_BITS > limit)
			return false;
		v = load_entry_bits(w, bit);
		unsigned class = v & (GAP_CLASSES - 1), n = names_gap_bits[class];
		entry += 1 + names_gap_base[class] + low_bits(v >> GAP_CLASS_BITS, n);
		bit += GAP_CLASS_BITS + n;
	}
	place->bit = bit;
	return true;
}

/* Over one name: all its forms. n: bytes of the folded name. */
static bool skip_entries(const struct names_walk *w, struct names_entry_place *place,
			 const struct name_head *h, uint32_t n)
{
	if (LIKELY(!h->has_forms))
		return read_entries(w, place, h->entries, 0, 0, NULL);
	bool bad = false;
	const uint8_t *p = h->forms;
	uint32_t forms = names_varint(&p, h->after, &bad) + 1;
	for (uint32_t i = 0; i < forms && !bad; i++) {
		struct form_head f;
		bad = !read_form(&p, h->after, forms > 1, h->entries, n, &f) ||
		      !read_entries(w, place, f.entries, 0, 0, NULL);
	}
	return !bad;
}

/* Moves the walk's place of entries on to the current name. */
static int reach_entries(struct names_walk *w, struct err *err)
{
	uint32_t want = w->name % NAMES_BLOCK;
	struct names_entry_place *place = &w->place;
	if (place->name > want)
		*place = (struct names_entry_place){.p = w->head};
	while (place->name < want) {
		struct name_head h;
		if (!read_name(place->p, w->stop, place->p == w->head, &h) ||
		    !skip_entries(w, place, &h, h.shared + h.own))
			return names_bad_block(w->segment, w->block, err);
		place->p = h.after;
		place->name++;
	}
	return 0;
}

static bool write_form(struct names_walk *w, const struct form_head *f, struct names_form *ret)
{
	if (f->way == FORM_FOLDED) {
		ret->text = w->folded;
	} else if (f->way == FORM_BYTES) {
		ret->text = (struct str){(const char *)f->text, f->bytes};
	} else {
		buf_clear(&w->form);
		buf_add_str(&w->form, w->folded);
		for (size_t i = 0; i < w->form.n; i++)
			w->form.p[i] = (char)(w->form.p[i] & ~((f->text[i / 8] >> i % 8 & 1) << 5));
		ret->text = buf_str(&w->form);
	}
	return ret->text.n <= NAMES_FOLDED_MOST;
}

/* Forms are mostly asked for one after the other: where the next one is, the walk knows. */
int names_form_get(struct names_walk *w, uint32_t form, struct names_form *ret, struct err *err)
{
	bool bad = false;
	struct form_head f;
	if (form >= w->forms)
		return 1;
	if (reach_entries(w, err) < 0)
		return -1;
	*ret = (struct names_form){.text = w->folded, .entries = w->entries, .place = w->place};
	if (LIKELY(!w->forms_at))
		return 0;
	if (!w->form_p || w->form_next > form) {
		w->form_p = w->forms_at;
		w->form_next = 0;
		w->form_place = w->place;
		(void)names_varint(&w->form_p, w->p, &bad);
	}
	for (; !bad && w->form_next <= form; w->form_next++) {
		ret->place = w->form_place;
		bad = !read_form(&w->form_p, w->p, w->forms > 1, w->entries, (uint32_t)w->folded.n,
				 &f) ||
		      !read_entries(w, &w->form_place, f.entries, 0, 0, NULL);
	}
	if (bad || !write_form(w, &f, ret)) {
		w->form_p = NULL;
		return names_bad_block(w->segment, w->block, err);
	}
	ret->entries = f.entries;
	return 0;
}

/* Long lists: u32 for each block, where it ends; then the blocks, bit strings of a whole number of
 * bytes: the first entry in 32 bits, then gaps. */
static bool read_long_block(const struct names_segment *s, const uint8_t *p, uint64_t bytes,
			    uint32_t n, uint32_t ret[NAMES_LONG_BLOCK])
{
	uint64_t limit = bytes * 8, bit = 32;
	if (bit > limit)
		return false;
	uint32_t entry = names_load_u32(p);
	for (uint32_t i = 0;; i++) {
		if (entry >= s->info.entries || bit > limit)
			return false;
		ret[i] = entry;
		if (i + 1 == n)
			return true;
		if (bit + GAP_CLASS_BITS > limit)
			return false;
		uint64_t v = names_load_u64(p + bit / 8) >> bit % 8;
		unsigned class = v & (GAP_CLASSES - 1), k = names_gap_bits[class];
		entry += 1 + names_gap_base[class] + low_bits(v >> GAP_CLASS_BITS, k);
		bit += GAP_CLASS_BITS + k;
	}
}

static int read_long(struct names_walk *w, const struct names_form *form, uint32_t from, uint32_t n,
		     uint32_t *ret, struct err *err)
{
	struct names_segment *s = w->segment;
	struct names_entry_place place = form->place;
	const uint8_t *dict, *table, *p;
	uint64_t blocks = (form->entries + NAMES_LONG_BLOCK - 1) / NAMES_LONG_BLOCK;
	if (names_part_bytes(s, NAMES_DICT, 0, 0, &dict, err) < 0)
		return -1;
	uint64_t at = (uint64_t)(w->end - dict) + place.tail;
	if (!read_entries(w, &place, form->entries, 0, 0, NULL))
		return names_bad_block(s, w->block, err);
	uint64_t bytes = place.tail - form->place.tail;
	if (bytes < blocks * 4)
		return names_bad_block(s, w->block, err);
	if (names_part_bytes(s, NAMES_DICT, at, blocks * 4, &table, err) < 0)
		return -1;
	uint32_t done = 0, list[NAMES_LONG_BLOCK];
	for (uint32_t block = from / NAMES_LONG_BLOCK; done < n; block++) {
		uint64_t start = block ? names_load_u32(table + ((size_t)block - 1) * 4) : 0;
		uint64_t stop = names_load_u32(table + (size_t)block * 4);
		if (stop < start || stop > bytes - blocks * 4)
			return names_bad_block(s, w->block, err);
		if (names_part_bytes(s, NAMES_DICT, at + blocks * 4 + start, stop - start, &p,
				     err) < 0)
			return -1;
		uint32_t first = block * NAMES_LONG_BLOCK;
		uint32_t in = MIN(form->entries - first, (uint32_t)NAMES_LONG_BLOCK);
		if (!read_long_block(s, p, stop - start, in, list))
			return names_bad_block(s, w->block, err);
		uint32_t skip = from + done - first, take = MIN(in - skip, n - done);
		memcpy(ret + done, list + skip, take * sizeof *ret);
		done += take;
	}
	return (int)done;
}

int names_form_entries(struct names_walk *w, const struct names_form *form, uint32_t from,
		       uint32_t n, uint32_t *ret, struct err *err)
{
	if (from >= form->entries || n == 0)
		return 0;
	n = MIN(n, form->entries - from);
	if (form->entries > NAMES_INLINE)
		return read_long(w, form, from, n, ret, err);
	struct names_entry_place place = form->place;
	if (!read_entries(w, &place, form->entries, from, n, ret))
		return names_bad_block(w->segment, w->block, err);
	return (int)n;
}
