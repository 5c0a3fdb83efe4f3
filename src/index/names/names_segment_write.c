/* Segments of names, written: names come in order, one by one, and go to the file at once, block by
 * block. What has to wait are the tables of blocks and the lists of trigrams
 * (names_segment_trigrams.c), so that memory does not grow with the names themselves. */
#include "index/names/names_segment_inner.h"

struct names_put {
	struct page_writer out;
	struct parts_place part[NAMES_SEGMENT_PARTS];
	struct names_segment_info info; /* so far */
	uint32_t entries;               /* that there will be */
	unsigned entry_bits;
	/* Of the block: names as codes and as bytes, numbers of entries, forms, entries, long lists
	 */
	struct buf names, plain, counts, forms, firsts, bits, tail;
	uint64_t ways;
	uint32_t many, follows;
	uint64_t capitals; /* of the last name */
	uint64_t hold;     /* bits that are no whole byte yet */
	unsigned held;
	uint32_t first[NAMES_BLOCK], apart; /* first entries that do not follow */
	uint32_t before, before_shared;     /* first entry of the last name, and what it shared */
	struct buf last;                    /* the last name */
	struct buf listed, prefixes, places, column;
	struct names_trigrams *trigrams;
	struct names_packer packer;
};

static const size_t most_buffer = (size_t)1 << 40;

enum { BUFFERS = 12 };
static void each_buffer(struct names_put *w, struct buf *ret[BUFFERS])
{
	struct buf *const all[BUFFERS] = {&w->names,  &w->plain,    &w->counts, &w->forms,
					  &w->bits,   &w->firsts,   &w->tail,   &w->last,
					  &w->listed, &w->prefixes, &w->places, &w->column};
	memcpy(ret, all, sizeof all);
}

static void put_part(struct names_put *w, enum names_segment_part part, const struct buf *bytes)
{
	w->part[part].at = w->out.n;
	w->part[part].n = bytes->n;
	page_put(&w->out, buf_str(bytes).p, bytes->n);
}

static void put_codes(struct names_put *w, struct names_sample *sample)
{
	struct names_table table;
	struct buf bytes = BUF_INIT(NAMES_TABLE_MOST);
	names_sample_table(sample, &table);
	names_packer_init(&w->packer, &table);
	names_table_put(&table, &bytes);
	put_part(w, NAMES_CODES, &bytes);
	buf_free(&bytes);
}

int names_put_begin(struct names_put **ret, const char *path, struct names_sample *sample,
		    uint32_t entries, uint64_t memory, const char *folder, struct err *err)
{
	struct names_put *w = mem_alloc(sizeof *w);
	struct buf *all[BUFFERS];
	each_buffer(w, all);
	for (size_t i = 0; i < BUFFERS; i++)
		*all[i] = BUF_INIT(most_buffer);
	if (page_create(&w->out, path, 0640, NULL, err) < 0) {
		mem_free(&w);
		return -1;
	}
	w->entries = entries;
	w->entry_bits = names_bits_of(entries ? entries - 1 : 0);
	w->trigrams = names_trigrams_new(memory, folder);
	parts_put_head(&names_segment_kind, &w->out);
	put_codes(w, sample);
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
	struct buf *all[BUFFERS];
	each_buffer(w, all);
	for (size_t i = 0; i < BUFFERS; i++)
		buf_free(all[i]);
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

/* The entries of a form; first: the name's first, whose first entry is apart. */
static void put_entries(struct names_put *w, const struct names_put_form *form, bool first)
{
	if (!first)
		put_bits(w, &w->bits, form->entry[0], w->entry_bits);
	if (form->entries > NAMES_INLINE) {
		put_bits(w, &w->bits, put_long(w, form), 32);
		return;
	}
	for (uint32_t i = 1; i < form->entries; i++)
		put_gap(w, &w->bits, form->entry[i] - form->entry[i - 1] - 1);
}

/* The first entries that do not follow, side by side. */
static void put_firsts(struct names_put *w)
{
	struct buf *out = &w->firsts;
	for (uint32_t i = 0; i < w->apart; i++)
		put_bits(w, out, w->first[i], w->entry_bits);
	end_bits(w, out);
}

/* Blocks */

static void end_names_block(struct names_put *w)
{
	if (w->names.n == 0)
		return;
	end_bits(w, &w->bits);
	put_firsts(w);
	bool plain = w->plain.n < w->names.n;
	const struct buf *part[] = {plain ? &w->plain : &w->names,
				    &w->counts,
				    &w->forms,
				    &w->firsts,
				    &w->bits,
				    &w->tail};
	uint64_t at = w->out.n - w->part[NAMES_DICT].at;
	struct buf head = BUF_INIT(BLOCK_HEAD_MOST);
	put_u32le(&w->places, (uint32_t)at);
	put_u8(&w->places, (uint8_t)(at >> 32));
	put_u8(&head, (uint8_t)((plain ? BLOCK_PLAIN : 0) | (w->ways ? BLOCK_FORMS : 0)));
	put_u32le(&head, w->many);
	put_u32le(&head, w->follows);
	if (w->ways)
		put_u64le(&head, w->ways);
	put_varint(&head, part[0]->n);
	put_varint(&head, w->counts.n);
	if (w->ways)
		put_varint(&head, w->forms.n);
	put_varint(&head, w->firsts.n + w->bits.n);
	page_put(&w->out, head.p, head.n);
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		page_put(&w->out, buf_str(part[i]).p, part[i]->n);
	buf_free(&head);
	buf_clear(&w->names);
	buf_clear(&w->plain);
	buf_clear(&w->counts);
	buf_clear(&w->forms);
	buf_clear(&w->firsts);
	buf_clear(&w->bits);
	buf_clear(&w->tail);
	w->ways = w->capitals = 0;
	w->many = w->follows = w->apart = w->before_shared = 0;
	w->last.n = 0;
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

/* Which of n bytes are capitals, of those from `from` on. */
static uint64_t capitals_of(struct str folded, struct str text, size_t from, size_t n)
{
	uint64_t mask = 0;
	for (size_t i = 0; i < n && from + i < folded.n; i++)
		mask |= (uint64_t)(folded.p[from + i] != text.p[from + i]) << i;
	return mask;
}

static void put_form(struct buf *out, struct str folded, const struct names_put_form *form,
		     bool several)
{
	bool same = str_eq(folded, form->text), capitals = is_by_capitals(folded, form->text);
	put_u8(out, same ? FORM_FOLDED : capitals ? FORM_CAPITALS : FORM_BYTES);
	if (several)
		put_varint(out, form->entries - 1);
	if (same)
		return;
	if (!capitals) {
		put_text(out, form->text);
		return;
	}
	put_varint(out, (folded.n + 7) / 8);
	for (size_t i = 0; i < folded.n; i += 8)
		put_u8(out, (uint8_t)capitals_of(folded, form->text, i, 8));
}

static enum names_way put_listed(struct names_put *w, struct str folded,
				 const struct names_put_form *form, uint32_t forms)
{
	buf_clear(&w->listed);
	put_varint(&w->listed, forms - 1);
	for (uint32_t i = 0; i < forms; i++)
		put_form(&w->listed, folded, &form[i], forms > 1);
	put_text(&w->forms, buf_str(&w->listed));
	w->capitals = 0;
	return WAY_LISTED;
}

static enum names_way put_forms(struct names_put *w, struct str folded, uint32_t shared,
				const struct names_put_form *form, uint32_t forms)
{
	uint64_t inherited = names_inherited(w->capitals, shared);
	if (forms > 1)
		return put_listed(w, folded, form, forms);
	if (str_eq(folded, form->text)) {
		w->capitals = 0;
		return WAY_FOLDED;
	}
	if (!is_by_capitals(folded, form->text))
		return put_listed(w, folded, form, forms);
	w->capitals = capitals_of(folded, form->text, 0, NAMES_CAPITALS);
	for (size_t i = NAMES_CAPITALS; i < folded.n; i++)
		if (folded.p[i] != form->text.p[i])
			return put_listed(w, folded, form, forms);
	if (w->capitals == inherited)
		return WAY_INHERITS;
	if (shared >= NAMES_CAPITALS || names_inherited(w->capitals, shared) != inherited ||
	    w->capitals >> shared > UINT32_MAX)
		return put_listed(w, folded, form, forms);
	put_varint(&w->forms, w->capitals >> shared);
	return WAY_CAPITALS;
}

static void put_own(struct buf *out, const void *own, uint32_t n, uint32_t shared, uint32_t before)
{
	uint32_t more = shared + NAME_BIAS - before;
	more = MIN(more, (uint32_t)NAME_MORE);
	put_u8(out, (uint8_t)(MIN(n, (uint32_t)NAME_MORE) | more << 4));
	if (n >= NAME_MORE)
		put_varint(out, n - NAME_MORE);
	if (more == NAME_MORE)
		put_varint(out, shared);
	buf_add(out, own, n);
}

/* The last name becomes this one. */
static void put_name(struct names_put *w, struct str folded, uint32_t shared)
{
	uint8_t few[256], *codes = few;
	uint32_t own = (uint32_t)folded.n - shared;
	w->last.n = shared;
	buf_add(&w->last, folded.p + shared, own);
	(void)buf_room(&w->last, NAMES_SYMBOL_MOST); /* to be read past the end */
	if (own > sizeof few / 2)
		codes = mem_array(own, 2);
	const char *text = w->last.p + shared;
	size_t n = names_pack(&w->packer, text, own, codes);
	put_own(&w->names, codes, (uint32_t)n, shared, w->before_shared);
	put_own(&w->plain, text, own, shared, w->before_shared);
	w->before_shared = shared;
	if (codes != few)
		mem_free(&codes);
}

static uint32_t common_length(struct str a, struct str b)
{
	size_t n = 0, most = MIN(a.n, b.n);
	while (n + 8 <= most) {
		uint64_t differ = load_u64((const uint8_t *)a.p + n, 0) ^
				  load_u64((const uint8_t *)b.p + n, 0);
		if (differ)
			return (uint32_t)(n + (size_t)__builtin_ctzll(differ) / 8);
		n += 8;
	}
	while (n < most && a.p[n] == b.p[n])
		n++;
	return (uint32_t)n;
}

/* In the column of counts, a half byte. */
static void put_count(struct names_put *w, uint32_t entries)
{
	uint8_t half = entries > NAMES_COUNT_MOST ? 0 : (uint8_t)entries;
	if (w->info.names % 2 == 0)
		put_u8(&w->column, half);
	else
		w->column.p[w->column.n - 1] = (char)(w->column.p[w->column.n - 1] | half << 4);
}

int names_put(struct names_put *w, struct str folded, const struct names_put_form *form,
	      uint32_t forms, struct err *err)
{
	uint32_t entries = 0, at = w->info.names % NAMES_BLOCK;
	if (at == 0) {
		end_names_block(w);
		put_u64le(&w->prefixes, text_prefix(folded));
	}
	uint32_t shared = common_length(buf_str(&w->last), folded);
	put_name(w, folded, shared);
	w->ways |= (uint64_t)put_forms(w, folded, shared, form, forms) << 2 * at;
	uint32_t first = form->entry[0];
	if (at > 0 && first == w->before + 1)
		w->follows |= (uint32_t)1 << at;
	else
		w->first[w->apart++] = first;
	w->before = first;
	for (uint32_t i = 0; i < forms; i++) {
		put_entries(w, &form[i], i == 0);
		entries += form[i].entries;
	}
	if (entries > 1) {
		w->many |= (uint32_t)1 << at;
		put_varint(&w->counts, entries - 2);
	}
	put_count(w, entries);
	w->info.names++;
	w->info.forms += forms;
	w->info.entries += entries;
	return names_trigrams_add(w->trigrams, folded, w->info.names - 1, err);
}

static void put_names_foot(struct names_put *w)
{
	struct buf foot = BUF_INIT(NAMES_FOOT);
	parts_put_places(&names_segment_kind, w->part, &foot);
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
	put_part(w, NAMES_COUNTS, &w->column);
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
