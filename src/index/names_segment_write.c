/* Segments of names, written: names come in order, one by one, and go to the file at once, block by
 * block. What has to wait are the tables of blocks and the lists of trigrams
 * (names_segment_trigrams.c), so that memory does not grow with the names themselves. */
#include "index/names_segment_inner.h"

struct names_put {
	struct page_writer out;
	struct names_part_place part[NAMES_SEGMENT_PARTS];
	struct names_segment_info info; /* so far */
	uint32_t entries;               /* that there will be */
	unsigned entry_bits;
	struct buf names, bits, tail; /* of the block: names, their entries, long lists */
	uint64_t hold;                /* bits that are no whole byte yet */
	unsigned held;
	uint32_t before; /* the first entry of the form before */
	struct buf last; /* the last name */
	struct buf forms, prefixes, places;
	struct names_trigrams *trigrams;
};

static const size_t most_buffer = (size_t)1 << 40;

int names_put_begin(struct names_put **ret, const char *path, uint32_t entries, uint64_t memory,
		    const char *folder, struct err *err)
{
	struct names_put *w = mem_alloc(sizeof *w);
	struct buf *const all[] = {&w->names, &w->bits,     &w->tail,  &w->last,
				   &w->forms, &w->prefixes, &w->places};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		*all[i] = BUF_INIT(most_buffer);
	if (page_create(&w->out, path, 0640, NULL, err) < 0) {
		mem_free(&w);
		return -1;
	}
	w->entries = entries;
	w->entry_bits = names_bits_of(entries ? entries - 1 : 0);
	w->trigrams = names_trigrams_new(memory, folder);
	char head[NAMES_HEAD] = NAMES_SEGMENT_MAGIC;
	uint32_t version = htole32(NAMES_SEGMENT_VERSION);
	memcpy(head + FORMAT_MAGIC, &version, sizeof version);
	page_put(&w->out, head, sizeof head);
	w->part[NAMES_DICT].at = w->out.n;
	*ret = w;
	return 0;
}

void names_put_drop(struct names_put **wp)
{
	struct names_put *w = *wp;
	if (!w)
		return;
	page_drop(&w->out);
	names_trigrams_free(&w->trigrams);
	buf_free(&w->names);
	buf_free(&w->bits);
	buf_free(&w->tail);
	buf_free(&w->last);
	buf_free(&w->forms);
	buf_free(&w->prefixes);
	buf_free(&w->places);
	mem_free(wp);
}

/* Entries */

/* At most 32 bits. */
static void put_bits(struct names_put *w, struct buf *out, uint64_t v, unsigned n)
{
	w->hold |= v << w->held;
	w->held += n;
	if (w->held >= 32) {
		put_u32le(out, (uint32_t)w->hold);
		w->hold >>= 32;
		w->held -= 32;
	}
}

static void end_bits(struct names_put *w, struct buf *out)
{
	for (; w->held > 0; w->held -= MIN(w->held, 8u), w->hold >>= 8)
		put_u8(out, (uint8_t)w->hold);
	w->hold = 0;
}

static void put_gap(struct names_put *w, struct buf *out, uint32_t gap)
{
	unsigned class = names_bits_of(gap + 1) - 1;
	if (class > 12)
		class = gap < names_gap_base[14] ? 13 : gap < names_gap_base[15] ? 14 : 15;
	uint64_t rest = gap - names_gap_base[class];
	put_bits(w, out, class, GAP_CLASS_BITS);
	put_bits(w, out, rest, names_gap_bits[class]);
}

static uint32_t put_long_block(struct names_put *w, const uint32_t *entry, uint32_t n)
{
	size_t start = w->tail.n;
	put_bits(w, &w->tail, entry[0], 32);
	for (uint32_t i = 1; i < n; i++)
		put_gap(w, &w->tail, entry[i] - entry[i - 1] - 1);
	end_bits(w, &w->tail);
	return (uint32_t)(w->tail.n - start);
}

/* Its bytes. The bits of the block wait meanwhile. */
static uint32_t put_long(struct names_put *w, const struct names_put_form *form)
{
	uint64_t hold = w->hold;
	unsigned held = w->held;
	size_t start = w->tail.n, at = start;
	uint32_t end = 0;
	w->hold = w->held = 0;
	buf_fill(&w->tail, 0,
		 ((size_t)form->entries + NAMES_LONG_BLOCK - 1) / NAMES_LONG_BLOCK * 4);
	for (uint32_t i = 0; i < form->entries; i += NAMES_LONG_BLOCK, at += 4) {
		end += put_long_block(w, form->entry + i,
				      MIN(form->entries - i, (uint32_t)NAMES_LONG_BLOCK));
		uint32_t le = htole32(end);
		memcpy(w->tail.p + at, &le, sizeof le);
	}
	w->hold = hold;
	w->held = held;
	return (uint32_t)(w->tail.n - start);
}

static void put_entries(struct names_put *w, const struct names_put_form *form)
{
	if (form->entries > NAMES_INLINE) {
		put_bits(w, &w->bits, put_long(w, form), 32);
		return;
	}
	uint64_t first = form->entry[0];
	if (first == (uint64_t)w->before + 1)
		put_bits(w, &w->bits, 1, 1);
	else
		put_bits(w, &w->bits, first << 1, 1 + w->entry_bits);
	w->before = (uint32_t)first;
	for (uint32_t i = 1; i < form->entries; i++)
		put_gap(w, &w->bits, form->entry[i] - form->entry[i - 1] - 1);
}

/* Blocks */

static void end_names_block(struct names_put *w)
{
	if (w->names.n == 0)
		return;
	end_bits(w, &w->bits);
	uint64_t at = w->out.n - w->part[NAMES_DICT].at;
	struct buf head = BUF_INIT(64);
	put_u32le(&w->places, (uint32_t)at);
	put_u8(&w->places, (uint8_t)(at >> 32));
	put_varint(&head, w->names.n);
	put_varint(&head, w->bits.n);
	page_put(&w->out, head.p, head.n);
	page_put(&w->out, w->names.p, w->names.n);
	page_put(&w->out, buf_str(&w->bits).p, w->bits.n);
	page_put(&w->out, buf_str(&w->tail).p, w->tail.n);
	buf_free(&head);
	buf_clear(&w->names);
	buf_clear(&w->bits);
	buf_clear(&w->tail);
	w->before = 0;
}

/* Whether only ASCII letters differ, as capitals. */
static bool is_by_capitals(struct str folded, struct str text)
{
	if (folded.n != text.n)
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (folded.p[i] != text.p[i] &&
		    (text.p[i] < 'A' || text.p[i] > 'Z' || folded.p[i] != (text.p[i] | 0x20)))
			return false;
	return true;
}

static void put_form(struct names_put *w, struct str folded, const struct names_put_form *form,
		     bool several)
{
	bool same = str_eq(folded, form->text), capitals = is_by_capitals(folded, form->text);
	put_u8(&w->forms, same ? FORM_FOLDED : capitals ? FORM_CAPITALS : FORM_BYTES);
	if (several)
		put_varint(&w->forms, form->entries - 1);
	if (same)
		return;
	if (!capitals) {
		put_text(&w->forms, form->text);
		return;
	}
	for (size_t i = 0; i < folded.n; i += 8) {
		unsigned mask = 0;
		for (size_t k = i; k < MIN(i + 8, folded.n); k++)
			mask |= (unsigned)(folded.p[k] != form->text.p[k]) << (k - i);
		put_u8(&w->forms, (uint8_t)mask);
	}
}

static void put_name(struct names_put *w, struct str folded, uint32_t shared, bool first,
		     uint32_t entries, bool has_forms)
{
	uint32_t own = (uint32_t)folded.n - shared;
	if (!first)
		put_u8(&w->names, (uint8_t)MIN(shared, (uint32_t)NAME_SHARED_MORE));
	put_u8(&w->names, (uint8_t)(MIN(own, (uint32_t)NAME_OWN_MORE) |
				    (entries > 1 ? NAME_MANY : 0) | (has_forms ? NAME_FORMS : 0)));
	if (shared >= NAME_SHARED_MORE)
		put_varint(&w->names, shared - NAME_SHARED_MORE);
	if (own >= NAME_OWN_MORE)
		put_varint(&w->names, own - NAME_OWN_MORE);
	if (entries > 1)
		put_varint(&w->names, entries - 2);
	buf_add(&w->names, folded.p + shared, own);
}

static uint32_t common_length(struct str a, struct str b)
{
	size_t n = 0, most = MIN(a.n, b.n);
	while (n + 8 <= most) {
		uint64_t differ = names_load_u64((const uint8_t *)a.p + n) ^
				  names_load_u64((const uint8_t *)b.p + n);
		if (differ)
			return (uint32_t)(n + (size_t)__builtin_ctzll(differ) / 8);
		n += 8;
	}
	while (n < most && a.p[n] == b.p[n])
		n++;
	return (uint32_t)n;
}

int names_put(struct names_put *w, struct str folded, const struct names_put_form *form,
	      uint32_t forms, struct err *err)
{
	bool first = w->info.names % NAMES_BLOCK == 0;
	uint32_t entries = 0, shared = 0;
	if (first) {
		end_names_block(w);
		put_u64le(&w->prefixes, names_prefix(folded));
	} else {
		shared = common_length(buf_str(&w->last), folded);
	}
	for (uint32_t i = 0; i < forms; i++)
		entries += form[i].entries;
	bool plain = forms == 1 && str_eq(folded, form->text);
	put_name(w, folded, shared, first, entries, !plain);
	if (!plain) {
		buf_clear(&w->forms);
		put_varint(&w->forms, forms - 1);
		for (uint32_t i = 0; i < forms; i++)
			put_form(w, folded, &form[i], forms > 1);
		put_text(&w->names, buf_str(&w->forms));
	}
	for (uint32_t i = 0; i < forms; i++)
		put_entries(w, &form[i]);
	if (names_trigrams_add(w->trigrams, folded, w->info.names, err) < 0)
		return -1;
	w->last.n = shared;
	buf_add(&w->last, folded.p + shared, folded.n - shared);
	w->info.names++;
	w->info.forms += forms;
	w->info.entries += entries;
	return 0;
}

static void put_part(struct names_put *w, enum names_segment_part part, const struct buf *bytes)
{
	w->part[part].at = w->out.n;
	w->part[part].n = bytes->n;
	page_put(&w->out, buf_str(bytes).p, bytes->n);
}

static void put_names_foot(struct names_put *w)
{
	struct buf foot = BUF_INIT(NAMES_FOOT);
	for (unsigned i = 0; i < NAMES_SEGMENT_PARTS; i++) {
		put_u64le(&foot, w->part[i].at);
		put_u64le(&foot, w->part[i].n);
	}
	put_u32le(&foot, w->info.entries);
	put_u32le(&foot, w->info.names);
	put_u32le(&foot, w->info.forms);
	put_u32le(&foot, w->info.trigrams);
	buf_fill(&foot, 0, NAMES_SLACK);
	page_put(&w->out, foot.p, foot.n);
	buf_free(&foot);
}

int names_put_finish(struct names_put **wp, struct err *err)
{
	struct names_put *w = *wp;
	struct buf directory = BUF_INIT(most_buffer);
	ENSURE(w->info.entries == w->entries);
	end_names_block(w);
	w->part[NAMES_DICT].n = w->out.n - w->part[NAMES_DICT].at;
	put_part(w, NAMES_PREFIXES, &w->prefixes);
	put_part(w, NAMES_PLACES, &w->places);
	w->part[NAMES_LISTS].at = w->out.n;
	int rc = names_trigrams_write(w->trigrams, &w->out, &directory, &w->info.trigrams, err);
	w->part[NAMES_LISTS].n = w->out.n - w->part[NAMES_LISTS].at;
	if (rc == 0) {
		put_part(w, NAMES_TRIGRAMS, &directory);
		put_names_foot(w);
		rc = page_finish(&w->out, true, err);
	}
	buf_free(&directory);
	names_put_drop(wp);
	return rc;
}
