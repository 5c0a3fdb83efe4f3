/* The dictionary of a segment: names, their forms and entries.
 *
 * It is front-coded in blocks, each with its entries after its names: a look-up is a bisection of
 * the blocks' prefixes and one block. Capitals are told apart from names, so that names that differ
 * in them alone are one, and a name inherits those of the one before in what it shares with it.
 * Many a name is followed by its neighbour from the same directory, so the first entry of a form is
 * one bit where it comes right after the first one of the form before; that, and gaps with a class
 * in four bits, keeps entries at half of what plain numbers take. */
#include "index/names/names_segment_inner.h"

#include <inttypes.h>

/* Blocks */

static int names_bad_block(const struct names_segment *s, uint32_t block, struct err *err)
{
	return parts_damaged(&s->f, err, "block %" PRIu32 " of the dictionary is wrong", block);
}

static uint32_t names_in_block(const struct names_segment *s, uint32_t block)
{
	return MIN(s->info.names - block * NAMES_BLOCK, (uint32_t)NAMES_BLOCK);
}

static inline uint64_t names_block_place(const uint8_t *places, uint32_t block)
{
	places += (size_t)block * NAMES_WHERE;
	return (uint64_t)load_u32(places, 0) | (uint64_t)places[4] << 32;
}

/* Of a block whose first n bytes are at p: its head, and how far it reaches. */
static inline bool read_block_head(const uint8_t *p, uint64_t n, uint64_t *ret_bytes,
				   struct names_block *ret)
{
	const uint8_t *q = p + BLOCK_HEAD, *most = p + n;
	uint64_t at[4] = {0};
	bool bad = false, forms = p[0] & BLOCK_FORMS;
	if (UNLIKELY(n < BLOCK_HEAD + 8u * forms || p[0] > BLOCK_FLAGS))
		return false;
	ret->plain = p[0] & BLOCK_PLAIN;
	ret->many = load_u32(p + 1, 0);
	ret->follows = load_u32(p + 5, 0);
	ret->ways = forms ? load_u64(q, 0) : 0;
	q += forms ? 8 : 0;
	at[0] = names_varint(&q, most, &bad);
	at[1] = at[0] + names_varint(&q, most, &bad);
	at[2] = at[1] + (forms ? names_varint(&q, most, &bad) : 0);
	at[3] = at[2] + names_varint(&q, most, &bad);
	ret->names = q;
	ret->counts = q + at[0];
	ret->forms = q + at[1];
	ret->firsts = q + at[2];
	ret->end = q + at[3];
	*ret_bytes = (uint64_t)(q - p) + at[3];
	return !bad;
}

static inline int enter_names_block(struct names_segment *s, uint32_t block,
				    struct names_block *ret, struct err *err)
{
	const uint8_t *places, *p;
	uint64_t left = s->f.part[NAMES_DICT].n, bytes;
	if (UNLIKELY(parts_whole(&s->f, NAMES_PLACES, &places, err) < 0))
		return -1;
	uint64_t at = names_block_place(places, block);
	if (UNLIKELY(at >= left))
		return names_bad_block(s, block, err);
	uint64_t n = MIN(left - at, (uint64_t)BLOCK_HEAD_MOST);
	if (parts_bytes(&s->f, NAMES_DICT, at, n, &p, err) < 0)
		return -1;
	if (UNLIKELY(!read_block_head(p, n, &bytes, ret)))
		return names_bad_block(s, block, err);
	if (parts_bytes(&s->f, NAMES_DICT, at, bytes, &p, err) < 0)
		return -1;
	uint32_t names = names_in_block(s, block);
	uint32_t apart = ~ret->follows & (uint32_t)(((uint64_t)1 << names) - 1);
	uint64_t firsts = (uint64_t)__builtin_popcount(apart) * s->entry_bits;
	ret->gaps = ret->firsts + (firsts + 7) / 8;
	if (UNLIKELY((apart & 1) == 0 || (uint64_t)(ret->end - ret->firsts) < (firsts + 7) / 8))
		return names_bad_block(s, block, err);
	return 0;
}

/* Walking */

enum {
	WALK_ROOM = 1024, /* bytes of a name that there is always room for */
	WANT_BYTES = 320, /* of a block, about what its names take */
};

static int enter_walk_block(struct names_walk *w, uint32_t block, struct err *err)
{
	w->names = 0;
	if (enter_names_block(w->segment, block, &w->view, err) < 0)
		return -1;
	w->own[0] = w->view.names;
	w->counts = w->view.counts;
	w->forms_p = w->view.forms;
	w->parsed = w->have = w->counts_at = w->forms_at = 0;
	w->block = block;
	w->names = names_in_block(w->segment, block);
	w->next = block * NAMES_BLOCK;
	w->text.n = 0;
	w->place = (struct names_entry_place){.counts = w->counts, .forms = w->forms_p};
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

/* The head of a name that has a varint of more than a byte. */
static const uint8_t *parse_long_head(const uint8_t *p, const uint8_t *stop, uint32_t *own,
				      uint32_t *shared)
{
	bool bad = false, apart = *p++ >> 4 == NAME_MORE;
	if (*own == NAME_MORE)
		*own += names_varint(&p, stop, &bad);
	if (apart)
		*shared = names_varint(&p, stop, &bad);
	return bad ? stop + 1 : p;
}

/* Heads of names up to this one of the block. Whether what is shared follows cannot be guessed, so
 * it is read in any case; the foot is always after it. */
static inline bool parse_names(struct names_walk *w, uint32_t to)
{
	const uint8_t *stop = w->view.counts, *p = w->own[w->parsed];
	uint32_t i = w->parsed, shared = i ? w->shared[i - 1] : 0;
	for (; i <= to; i++) {
		if (UNLIKELY(p >= stop))
			return false;
		uint32_t own = *p & NAME_MORE, more = *p >> 4, apart = more == NAME_MORE;
		/* What would be less than nothing is too much. */
		shared = apart ? p[1] : shared + more - NAME_BIAS;
		if (UNLIKELY(own == NAME_MORE || (apart & p[1] >> 7)))
			p = parse_long_head(p, stop, &own, &shared);
		else
			p += 1 + apart;
		if (UNLIKELY(p > stop || own > (size_t)(stop - p) || shared > NAMES_FOLDED_MOST))
			return false;
		w->shared[i] = shared;
		w->own_n[i] = own;
		w->own[i] = p;
		p += own;
	}
	w->own[i] = p;
	w->parsed = i;
	return true;
}

/* Puts the own bytes of a name after those that it shares with what is in the text. */
static inline bool add_own_bytes(struct names_walk *w, uint32_t i)
{
	const uint8_t *p = w->own[i];
	size_t own = w->own_n[i], n = own;
	size_t most = w->view.plain ? own : own * NAMES_SYMBOL_MOST;
	if (UNLIKELY(w->shared[i] > w->text.n))
		return false;
	w->text.n = w->shared[i];
	if (UNLIKELY(w->text.cap - w->text.n < most + NAMES_UNPACK_SLACK)) {
		w->text.over = false;
		most = MIN(most, (size_t)NAMES_FOLDED_MOST - w->text.n) + NAMES_UNPACK_SLACK;
		if (!buf_room(&w->text, most))
			return false;
	}
	char *to = w->text.p + w->text.n;
	size_t room = w->text.cap - w->text.n;
	if (LIKELY(!w->view.plain))
		n = names_unpack(&w->segment->table, p, p + own, to, room);
	else if (own <= room)
		memcpy(to, p, own);
	else
		return false;
	if (UNLIKELY(n > NAMES_FOLDED_MOST - w->text.n))
		return false;
	w->text.n += n;
	w->have = i + 1;
	return true;
}

/* The text of a name of the block: of the names before it only those matter that brought bytes
 * which are still there. */
static inline bool read_walk_name(struct names_walk *w, uint32_t i)
{
	if (i >= w->parsed && UNLIKELY(!parse_names(w, i)))
		return false;
	if (LIKELY(w->have == i))
		return add_own_bytes(w, i);
	uint32_t chain[NAMES_BLOCK], n = 0, need = UINT32_MAX;
	for (uint32_t k = i + 1; k-- > w->have && need > 0;)
		if (w->shared[k] < need) {
			chain[n++] = k;
			need = w->shared[k];
		}
	while (n > 0)
		if (UNLIKELY(!add_own_bytes(w, chain[--n])))
			return false;
	return true;
}

/* Over a name's forms. */
static bool skip_forms(const struct names_block *b, uint32_t name, const uint8_t **p)
{
	bool bad = false;
	unsigned way = b->ways >> 2 * name & 3;
	if (way < WAY_CAPITALS)
		return true;
	uint32_t v = names_varint(p, b->firsts, &bad);
	if (bad || (way == WAY_LISTED && v > (size_t)(b->firsts - *p)))
		return false;
	*p += way == WAY_LISTED ? v : 0;
	return true;
}

/* What is known of the current name, but for its text. */
static inline bool read_walk_numbers(struct names_walk *w)
{
	uint32_t i = w->name % NAMES_BLOCK;
	bool bad = false;
	w->entries = w->forms = 1;
	w->form_p = w->listed = NULL;
	if (w->view.many >> i & 1) {
		for (; w->counts_at < i; w->counts_at++)
			if (w->view.many >> w->counts_at & 1)
				(void)names_varint(&w->counts, w->view.forms, &bad);
		w->entries = names_varint(&w->counts, w->view.forms, &bad) + 2;
		w->counts_at = i + 1;
	}
	if (UNLIKELY((w->view.ways >> 2 * i & 3) == WAY_LISTED)) {
		for (; w->forms_at < i; w->forms_at++)
			bad |= !skip_forms(&w->view, w->forms_at, &w->forms_p);
		w->listed = w->forms_p;
		bad = bad || !skip_forms(&w->view, w->forms_at++, &w->forms_p);
		w->listed_end = w->forms_p;
		(void)names_varint(&w->listed, w->listed_end, &bad); /* its bytes */
		const uint8_t *p = w->listed;
		w->forms = names_varint(&p, w->listed_end, &bad) + 1;
		bad |= w->forms > w->entries || w->forms == 0;
	}
	return !bad && w->entries <= w->segment->info.entries &&
	       w->entries - 1 <= names_entries_most(w->segment);
}

int names_walk_next(struct names_walk *w, struct err *err)
{
	if (w->next >= w->segment->info.names)
		return 1;
	uint32_t i = w->next % NAMES_BLOCK;
	if (i == 0 || UNLIKELY(w->names == 0)) {
		uint32_t next = w->next;
		if (enter_walk_block(w, next / NAMES_BLOCK, err) < 0)
			return -1;
		w->next = next;
	}
	w->name = w->next;
	if (UNLIKELY(!read_walk_name(w, i) || !read_walk_numbers(w))) {
		w->names = 0;
		return names_bad_block(w->segment, w->block, err);
	}
	w->folded = (struct str){w->text.p, w->text.n};
	w->next++;
	return 0;
}

int names_walk_seek(struct names_walk *w, uint32_t name, struct err *err)
{
	if (name < w->segment->info.names && (w->names == 0 || w->block != name / NAMES_BLOCK) &&
	    name % NAMES_BLOCK != 0 && enter_walk_block(w, name / NAMES_BLOCK, err) < 0)
		return -1;
	if (w->names && w->have > name % NAMES_BLOCK) { /* back */
		w->have = w->counts_at = w->forms_at = 0;
		w->counts = w->view.counts;
		w->forms_p = w->view.forms;
		w->text.n = 0;
	}
	w->next = name;
	return 0;
}

/* Only what is in memory and known is fetched; where it is not, the walk finds out. */
void names_segment_want(struct names_segment *s, const struct names_run *run, size_t runs)
{
	struct err err;
	const uint8_t *places, *dict;
	uint64_t most = s->f.part[NAMES_DICT].n;
	if (parts_whole(&s->f, NAMES_PLACES, &places, &err) < 0 ||
	    parts_bytes(&s->f, NAMES_DICT, 0, 0, &dict, &err) < 0)
		return;
	for (size_t i = 0; i < runs; i++)
		__builtin_prefetch(places + (size_t)(run[i].from / NAMES_BLOCK) * NAMES_WHERE);
	for (size_t i = 0; i < runs; i++) {
		uint32_t block = run[i].from / NAMES_BLOCK;
		uint64_t at = block < s->blocks ? names_block_place(places, block) : most;
		for (unsigned line = 0; line < WANT_BYTES && at + line < most; line += 64)
			__builtin_prefetch(dict + at + line);
	}
}

/* Counts */

/* The entries of a name of which the column does not tell them. */
static int count_in_block(struct names_segment *s, uint32_t name, uint64_t *ret, struct err *err)
{
	struct names_block b = {0};
	bool bad = false;
	if (enter_names_block(s, name / NAMES_BLOCK, &b, err) < 0)
		return -1;
	const uint8_t *p = b.counts;
	uint32_t before = b.many & (uint32_t)(((uint64_t)1 << name % NAMES_BLOCK) - 1);
	for (; before; before &= before - 1)
		(void)names_varint(&p, b.forms, &bad);
	*ret = (uint64_t)names_varint(&p, b.forms, &bad) + 2;
	if (UNLIKELY(bad || *ret > s->info.entries))
		return names_bad_block(s, name / NAMES_BLOCK, err);
	return 0;
}

/* What lies apart is asked for at first, so that memory is not waited for once a run. */
int names_segment_count(struct names_segment *s, const struct names_run *run, size_t runs,
			uint64_t *ret, struct err *err)
{
	const uint8_t *counts;
	uint64_t sum = 0;
	if (UNLIKELY(parts_whole(&s->f, NAMES_COUNTS, &counts, err) < 0))
		return -1;
	for (size_t i = 0; i < runs; i++) {
		if (UNLIKELY(run[i].to >= s->info.names))
			return parts_damaged(&s->f, err, "it has no name %" PRIu32, run[i].to);
		__builtin_prefetch(counts + run[i].from / 2);
	}
	for (size_t i = 0; i < runs; i++)
		for (uint32_t name = run[i].from; name <= run[i].to; name++) {
			uint64_t more = counts[name / 2] >> name % 2 * 4 & NAMES_COUNT_MOST;
			if (UNLIKELY(more == 0) && count_in_block(s, name, &more, err) < 0)
				return -1;
			sum += more;
		}
	*ret = sum;
	return 0;
}

/* Looking up */

static int compare_block_head(struct names_walk *w, uint32_t block, struct str name, int *ret,
			      struct err *err)
{
	if (enter_walk_block(w, block, err) < 0)
		return -1;
	if (!read_walk_name(w, 0))
		return names_bad_block(w->segment, block, err);
	*ret = str_cmp((struct str){w->text.p, w->text.n}, name);
	return 0;
}

/* The last block whose first name is not after the name; 0 when there is none. */
static int find_names_block(struct names_walk *w, struct str name, uint32_t *ret, struct err *err)
{
	const uint8_t *prefixes;
	uint64_t want = text_prefix(name);
	uint32_t lo = 0, hi = w->segment->blocks;
	if (parts_whole(&w->segment->f, NAMES_PREFIXES, &prefixes, err) < 0)
		return -1;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		uint64_t prefix = load_u64(prefixes, middle);
		int order = prefix < want ? -1 : prefix > want;
		if (order == 0 && compare_block_head(w, middle, name, &order, err) < 0)
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
 * Only those that share just as much have to be read. */
static int look_in_block(struct names_walk *w, struct str folded, uint32_t *ret, struct err *err)
{
	uint32_t same = 0;
	if (!parse_names(w, w->names - 1))
		return names_bad_block(w->segment, w->block, err);
	for (uint32_t i = 0; i < w->names; i++) {
		*ret = w->block * NAMES_BLOCK + i;
		if (w->shared[i] > same)
			continue;
		if (w->shared[i] < same)
			return 1;
		if (!read_walk_name(w, i))
			return names_bad_block(w->segment, w->block, err);
		const char *p = w->text.p;
		uint32_t n = (uint32_t)w->text.n, most = (uint32_t)MIN(w->text.n, folded.n);
		while (same < most && p[same] == folded.p[same])
			same++;
		if (same == folded.n)
			return n == same ? 0 : 1;
		if (same < n && (uint8_t)p[same] > (uint8_t)folded.p[same])
			return 1;
	}
	*ret = w->block * NAMES_BLOCK + w->names;
	return 1;
}

int names_segment_find(struct names_segment *s, struct str folded, uint32_t *ret, struct err *err)
{
	struct names_walk w = {.segment = s, .text = BUF_INIT(NAMES_FOLDED_MOST + WALK_ROOM)};
	uint32_t block;
	*ret = 0;
	if (s->info.names == 0)
		return 1;
	(void)buf_room(&w.text, WALK_ROOM);
	int rc = find_names_block(&w, folded, &block, err);
	if (rc == 0)
		rc = enter_walk_block(&w, block, err);
	if (rc == 0)
		rc = look_in_block(&w, folded, ret, err);
	names_walk_end(&w);
	return rc;
}

/* Forms */

struct form_head {
	unsigned way;
	uint32_t entries;
	const uint8_t *text;
	uint32_t bytes;
};

/* The next form of a name that has `total` entries. */
static bool read_form(const uint8_t **pp, const uint8_t *stop, bool several, uint32_t total,
		      struct form_head *ret)
{
	bool bad = false;
	const uint8_t *p = *pp;
	struct form_head f = {.entries = total};
	if (p >= stop)
		return false;
	f.way = *p++;
	if (several)
		f.entries = names_varint(&p, stop, &bad) + 1;
	if (f.way != FORM_FOLDED)
		f.bytes = names_varint(&p, stop, &bad);
	f.text = p;
	if (bad || f.way >= FORM_WAYS || (size_t)(stop - p) < f.bytes || f.entries > total ||
	    f.bytes > NAMES_NAME_MOST)
		return false;
	*pp = p + f.bytes;
	*ret = f;
	return true;
}

/* Entries */

/* The foot is always after them. */
static inline uint64_t load_bits(const uint8_t *p, uint64_t bit)
{
	return load_u64(p + bit / 8, 0) >> bit % 8;
}

static inline uint32_t low_bits(uint64_t v, unsigned bits)
{
	return (uint32_t)(v & (((uint64_t)1 << bits) - 1));
}

/* The first entry of a name: of one before it that has it in full, and one more for each after. */
static inline uint32_t first_entry(const struct names_walk *w, uint32_t i)
{
	uint32_t apart = ~w->view.follows & (uint32_t)(((uint64_t)2 << i) - 1);
	uint32_t from = 31 - (uint32_t)__builtin_clz(apart); /* that of name 0 is set */
	uint64_t bit = ((uint64_t)__builtin_popcount(apart) - 1) * w->segment->entry_bits;
	return low_bits(load_bits(w->view.firsts, bit), w->segment->entry_bits) + (i - from);
}

/* Gaps after an entry, n of them: `ret`, where there is one, gets the entries from number `from`
 * of all on, at most `want`; the first is number 0. The bit after them; UINT64_MAX: wrong. */
static uint64_t read_gaps(const uint8_t *p, uint64_t bit, uint64_t limit, uint32_t entry,
			  uint32_t n, uint32_t most, uint32_t from, uint32_t want, uint32_t *ret)
{
	for (uint32_t i = 0;; i++) {
		if (UNLIKELY(entry >= most || bit > limit))
			return UINT64_MAX;
		if (ret && i >= from && i - from < want)
			ret[i - from] = entry;
		if (i == n)
			return bit;
		if (UNLIKELY(bit + GAP_CLASS_BITS > limit))
			return UINT64_MAX;
		uint64_t v = load_bits(p, bit);
		unsigned class = v & (GAP_CLASSES - 1), bits = names_gap_bits[class];
		entry += 1 + names_gap_base[class] + low_bits(v >> GAP_CLASS_BITS, bits);
		bit += GAP_CLASS_BITS + bits;
	}
}

/* Over the gaps of a form; in the same way. false: wrong. */
static bool read_entries(const struct names_walk *w, struct names_entry_place *place,
			 uint32_t entries, uint32_t from, uint32_t want, uint32_t *ret)
{
	uint64_t limit = (uint64_t)(w->view.end - w->view.gaps) * 8;
	if (entries > NAMES_INLINE) {
		if (place->bit + 32 > limit)
			return false;
		place->tail += low_bits(load_bits(w->view.gaps, place->bit), 32);
		place->bit += 32;
		return true;
	}
	uint64_t bit = read_gaps(w->view.gaps, place->bit, limit, place->first, entries - 1,
				 w->segment->info.entries, from, want, ret);
	if (bit != UINT64_MAX)
		place->bit = bit;
	return bit != UINT64_MAX;
}

/* The first entry of a listed form: of those after the first it is before the gaps. */
static bool read_form_first(const struct names_walk *w, struct names_entry_place *place,
			    uint32_t form)
{
	if (form == 0) {
		place->first = first_entry(w, place->name);
		return true;
	}
	unsigned bits = w->segment->entry_bits;
	if (place->bit + bits > (uint64_t)(w->view.end - w->view.gaps) * 8)
		return false;
	place->first = low_bits(load_bits(w->view.gaps, place->bit), bits);
	place->bit += bits;
	return true;
}

/* Over a list of forms. */
static bool skip_listed(const struct names_walk *w, struct names_entry_place *place,
			uint32_t entries)
{
	bool bad = false;
	const uint8_t *p = place->forms, *stop = w->view.firsts;
	uint32_t bytes = names_varint(&p, stop, &bad);
	if (bad || bytes > (size_t)(stop - p))
		return false;
	stop = p + bytes;
	uint32_t forms = names_varint(&p, stop, &bad) + 1;
	for (uint32_t i = 0; i < forms && !bad; i++) {
		struct form_head f;
		bad = !read_form(&p, stop, forms > 1, entries, &f) ||
		      !read_form_first(w, place, i) ||
		      !read_entries(w, place, f.entries, 0, 0, NULL);
	}
	place->forms = stop;
	return !bad;
}

/* Moves the walk's place of entries on to the current name. */
static int reach_entries(struct names_walk *w, struct err *err)
{
	uint32_t want = w->name % NAMES_BLOCK;
	struct names_entry_place *place = &w->place;
	if (place->name > want)
		*place = (struct names_entry_place){.counts = w->view.counts,
						    .forms = w->view.forms};
	for (; place->name < want; place->name++) {
		unsigned way = w->view.ways >> 2 * place->name & 3;
		uint32_t entries = 1;
		bool bad = false;
		if (w->view.many >> place->name & 1)
			entries = names_varint(&place->counts, w->view.forms, &bad) + 2;
		if (way == WAY_LISTED) {
			bad = bad || !skip_listed(w, place, entries);
		} else {
			bad |= !skip_forms(&w->view, place->name, &place->forms);
			/* Where they begin does not matter, as long as none is too large. */
			place->first = entries > 1 ? first_entry(w, place->name) : 0;
			bad = bad || (entries > 1 && !read_entries(w, place, entries, 0, 0, NULL));
		}
		if (UNLIKELY(bad))
			return names_bad_block(w->segment, w->block, err);
	}
	return 0;
}

/* The folded name with capitals. */
static struct str write_capitals(struct names_walk *w, const uint8_t *mask, size_t bytes)
{
	buf_clear(&w->form);
	buf_add_str(&w->form, w->folded);
	for (size_t i = 0; i < MIN(w->form.n, bytes * 8); i++)
		w->form.p[i] = (char)(w->form.p[i] & ~((mask[i / 8] >> i % 8 & 1) << 5));
	return buf_str(&w->form);
}

/* The capitals of the current name, which is not listed: those of its own, and what it inherits
 * from the names before it. */
static bool read_capitals(struct names_walk *w, uint64_t *ret)
{
	const uint8_t *p = w->view.forms;
	uint64_t capitals = 0;
	bool bad = false;
	for (uint32_t i = 0; i <= w->name % NAMES_BLOCK && !bad; i++) {
		unsigned way = w->view.ways >> 2 * i & 3;
		capitals = way == WAY_FOLDED || way == WAY_LISTED
				   ? 0
				   : names_inherited(capitals, w->shared[i]);
		if (way == WAY_CAPITALS) {
			uint64_t own = names_varint(&p, w->view.firsts, &bad);
			capitals |= w->shared[i] < NAMES_CAPITALS ? own << w->shared[i] : 0;
		} else {
			bad |= !skip_forms(&w->view, i, &p);
		}
	}
	*ret = capitals;
	return !bad;
}

static struct str write_form(struct names_walk *w, const struct form_head *f)
{
	if (f->way == FORM_FOLDED)
		return w->folded;
	if (f->way == FORM_BYTES)
		return (struct str){(const char *)f->text, f->bytes};
	return write_capitals(w, f->text, f->bytes);
}

/* Forms are mostly asked for one after the other: where the next one is, the walk knows. */
static int get_listed(struct names_walk *w, uint32_t form, struct names_form *ret, struct err *err)
{
	bool bad = false;
	struct form_head f;
	if (!w->form_p || w->form_next > form) {
		w->form_p = w->listed;
		(void)names_varint(&w->form_p, w->listed_end, &bad);
		w->form_next = 0;
		w->form_place = w->place;
	}
	for (; !bad && w->form_next <= form; w->form_next++) {
		bad = !read_form(&w->form_p, w->listed_end, w->forms > 1, w->entries, &f) ||
		      !read_form_first(w, &w->form_place, w->form_next);
		ret->place = w->form_place;
		bad = bad || !read_entries(w, &w->form_place, f.entries, 0, 0, NULL);
	}
	if (bad) {
		w->form_p = NULL;
		return names_bad_block(w->segment, w->block, err);
	}
	ret->text = write_form(w, &f);
	ret->entries = f.entries;
	return 0;
}

int names_form_get(struct names_walk *w, uint32_t form, struct names_form *ret, struct err *err)
{
	uint32_t i = w->name % NAMES_BLOCK;
	uint64_t mask = 0;
	if (form >= w->forms)
		return 1;
	if ((w->entries > 1 || w->listed) && reach_entries(w, err) < 0)
		return -1;
	*ret = (struct names_form){.text = w->folded, .entries = w->entries, .place = w->place};
	if (UNLIKELY(w->listed != NULL))
		return get_listed(w, form, ret, err);
	ret->place.first = first_entry(w, i);
	if ((w->view.ways >> 2 * i & 3) == 0)
		return 0;
	if (!read_capitals(w, &mask))
		return names_bad_block(w->segment, w->block, err);
	mask = htole64(mask);
	ret->text = write_capitals(w, (const uint8_t *)&mask, sizeof mask);
	return 0;
}

/* Long lists: u32 for each block, where it ends; then the blocks, bit strings of a whole number of
 * bytes: the first entry in 32 bits, then gaps. */
static bool read_long_block(const struct names_segment *s, const uint8_t *p, uint64_t bytes,
			    uint32_t n, uint32_t ret[NAMES_LONG_BLOCK])
{
	return bytes >= 4 && read_gaps(p, 32, bytes * 8, load_u32(p, 0), n - 1, s->info.entries, 0,
				       n, ret) != UINT64_MAX;
}

static int read_long(struct names_walk *w, const struct names_form *form, uint32_t from, uint32_t n,
		     uint32_t *ret, struct err *err)
{
	struct names_segment *s = w->segment;
	struct names_entry_place place = form->place;
	const uint8_t *dict, *table, *p;
	uint64_t blocks = (form->entries + NAMES_LONG_BLOCK - 1) / NAMES_LONG_BLOCK;
	if (parts_bytes(&s->f, NAMES_DICT, 0, 0, &dict, err) < 0)
		return -1;
	uint64_t at = (uint64_t)(w->view.end - dict) + place.tail;
	if (!read_entries(w, &place, form->entries, 0, 0, NULL))
		return names_bad_block(s, w->block, err);
	uint64_t bytes = place.tail - form->place.tail;
	if (bytes < blocks * 4)
		return names_bad_block(s, w->block, err);
	if (parts_bytes(&s->f, NAMES_DICT, at, blocks * 4, &table, err) < 0)
		return -1;
	uint32_t done = 0, list[NAMES_LONG_BLOCK];
	for (uint32_t block = from / NAMES_LONG_BLOCK; done < n; block++) {
		uint64_t start = block ? load_u32(table, (size_t)block - 1) : 0;
		uint64_t stop = load_u32(table, block);
		if (stop < start || stop > bytes - blocks * 4)
			return names_bad_block(s, w->block, err);
		if (parts_bytes(&s->f, NAMES_DICT, at + blocks * 4 + start, stop - start, &p, err) <
		    0)
			return -1;
		uint32_t first = block * NAMES_LONG_BLOCK;
		uint32_t in = MIN(form->entries - first, (uint32_t)NAMES_LONG_BLOCK);
		if (!read_long_block(s, p, stop - start, in, list))
			return names_bad_block(s, w->block, err);
		uint32_t skip = from + done - first, take = MIN(in - skip, n - done);
		if (done && list[0] <= ret[done - 1])
			return names_bad_block(s, w->block, err);
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
