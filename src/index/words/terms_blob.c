/* Terms looked for in the blob: all terms as plain bytes, those of one length after the other.
 *
 * A part of a word is looked for by three of its bytes, the rarest, 32 places at a time; where all
 * are there the rest is compared, and the place tells in which term it is, and whether it is
 * in one at all. An end is compared with the end of each. Errors run their automaton over the terms
 * of each length that fits; terms of a length are in order, so that each goes on from what it
 * shares with the one before.
 *
 * Terms of hex digits, which may be most of all (each object of a broker has its MD5), are a run of
 * their own: nothing with another letter in it is looked for there.
 *
 * Finds come by length and are sorted by merging: the runs of a length are sorted already. Then
 * they are looked up in the dictionary, each from where the one before was found. */
#include "base/vec.h"
#include "index/words/dict.h"
#include "index/words/terms_inner.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	FINDS_MOST = 1 << 18, /* that are put in order */
	CUT_FROM =
		120, /* bytes of terms that may be cut: a character that did not fit is shorter */
};

int terms_finds_add(struct terms_finds *s, struct str term, uint32_t errors)
{
	s->too_many = s->n == FINDS_MOST;
	if (s->too_many)
		return 1;
	*VEC_PUSH(s->find, s->n, s->room) =
		(struct terms_find){text_prefix(term), term.p, (uint32_t)term.n, errors};
	return 0;
}

void terms_finds_new_run(struct terms_finds *s)
{
	if (s->runs && s->run[s->runs - 1] == s->n)
		return;
	*VEC_PUSH(s->run, s->runs, s->runs_room) = s->n;
}

static int find_order(const struct terms_find *a, const struct terms_find *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return str_cmp((struct str){a->p, a->n}, (struct str){b->p, b->n});
}

/* Two runs that lie one after the other, and end at `end`. */
static void merge_two(const struct terms_find *from, size_t a, size_t b, size_t end,
		      struct terms_find *to)
{
	size_t middle = b, n = a;
	while (a < middle && b < end)
		to[n++] = find_order(&from[a], &from[b]) <= 0 ? from[a++] : from[b++];
	memcpy(to + n, from + a, (middle - a) * sizeof *to);
	n += middle - a;
	memcpy(to + n, from + b, (end - b) * sizeof *to);
}

/* false: it is late, and they are in no order. */
static bool finds_sort(struct terms_finds *s)
{
	VEC_ROOM(s->other, s->other_room, s->n);
	while (s->runs > 1) {
		size_t runs = 0;
		for (size_t i = 0; i < s->runs; i += 2) {
			size_t a = s->run[i], b = i + 1 < s->runs ? s->run[i + 1] : s->n;
			size_t end = i + 2 < s->runs ? s->run[i + 2] : s->n;
			merge_two(s->find, a, b, end, s->other);
			s->run[runs++] = a;
			/* To move a find takes a fraction of the time to look at a term. */
			if (terms_looked(s->f, (uint32_t)(end - a) / 16))
				return false;
		}
		s->runs = runs;
		struct terms_find *swap = s->find;
		size_t room = s->room;
		s->find = s->other;
		s->room = s->other_room;
		s->other = swap;
		s->other_room = room;
	}
	return true;
}

/* In order, each once: several parts may have found it. */
static int finds_take(struct terms_finds *s)
{
	int rc = 0;
	if (s->n == 0)
		return 0;
	if (!finds_sort(s))
		return 1;
	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const struct terms_find *find = &s->find[i];
		if (i > 0 && find_order(find, find - 1) == 0)
			continue;
		rc = terms_try(s->f, (struct str){find->p, find->n}, find->errors);
		if (rc == 0 && terms_looked(s->f, 1))
			rc = 1;
	}
	return rc;
}

/* Where that would be a good part of all terms, all are looked at in the dictionary. */
int terms_finds_end(struct terms_finds *s, int rc)
{
	if (rc >= 0 && !s->too_many)
		rc = finds_take(s);
	mem_free(&s->find);
	mem_free(&s->other);
	mem_free(&s->run);
	return rc >= 0 && s->too_many ? terms_walk_range(s->f, STR(""), true) : rc;
}

/* Parts */

struct part_search {
	struct str part;
	struct terms_probes probe; /* its rarest bytes, perhaps the same */
	bool compare;
	struct terms_finds *finds;
};

/* The less often a byte occurs in words, the sooner it is in this row; all others are rarer. */
static unsigned byte_frequency(unsigned char c)
{
	static const char row[] = "qjzxvk0123456789wybpgfhmudclstnorai";
	const char *at = c == 'e' ? row + sizeof row : memchr(row, c, sizeof row - 1);
	return at ? (unsigned)(at - row) + 1 : c >= 0x80 && c < 0xc0 ? 20 : c >= 0xc0 ? 30 : 0;
}

static void choose_probes(struct part_search *p)
{
	for (unsigned n = 0; n < TERMS_PROBES; n++) {
		size_t best = SIZE_MAX;
		for (size_t i = 0; i < p->part.n; i++) {
			bool taken = false;
			for (unsigned k = 0; k < n; k++)
				taken |= p->probe.at[k] == i;
			if (!taken && (best == SIZE_MAX ||
				       byte_frequency((unsigned char)p->part.p[i]) <
					       byte_frequency((unsigned char)p->part.p[best])))
				best = i;
		}
		p->probe.at[n] = best == SIZE_MAX ? p->probe.at[0] : best;
		p->probe.byte[n] = p->part.p[p->probe.at[n]];
	}
}

static int part_found(struct part_search *p, struct str term)
{
	struct terms_finder *f = p->finds->f;
	uint32_t errors = 0;
	if (p->compare && !f->by_forms && !terms_text_is(&f->text, term, &errors))
		return 0;
	return terms_finds_add(p->finds, term, errors);
}

/* The part begins perhaps at this place of the terms; *done: all before were looked at. */
static int part_at(struct part_search *p, const char *text, size_t at, size_t length, size_t *done)
{
	if (length == 0 || at < *done || memcmp(text + at, p->part.p, p->part.n) != 0)
		return 0;
	size_t begin = at - at % length;
	if (at + p->part.n > begin + length)
		return 0;
	*done = begin + length;
	return part_found(p, (struct str){text + begin, length});
}

#ifdef __x86_64__
size_t terms_scan_sse2(const struct terms_probes *p, const char *text, size_t at, size_t end,
		       uint32_t *ret_places)
{
	__m128i byte[TERMS_PROBES];
	for (unsigned i = 0; i < TERMS_PROBES; i++)
		byte[i] = _mm_set1_epi8(p->byte[i]);
	uint32_t places = 0;
	for (; at + 32 <= end; at += 32) {
		__m128i low = _mm_set1_epi8(-1), high = low;
		for (unsigned i = 0; i < TERMS_PROBES; i++) {
			const __m128i *from = (const void *)(text + at + p->at[i]);
			low = _mm_and_si128(low, _mm_cmpeq_epi8(_mm_loadu_si128(from), byte[i]));
			high = _mm_and_si128(high,
					     _mm_cmpeq_epi8(_mm_loadu_si128(from + 1), byte[i]));
		}
		places = (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
		if (places)
			break;
	}
	*ret_places = places;
	return at;
}

__attribute__((target("avx2"))) size_t terms_scan_avx2(const struct terms_probes *p,
						       const char *text, size_t at, size_t end,
						       uint32_t *ret_places)
{
	__m256i byte[TERMS_PROBES];
	for (unsigned i = 0; i < TERMS_PROBES; i++)
		byte[i] = _mm256_set1_epi8(p->byte[i]);
	uint32_t places = 0;
	for (; at + 32 <= end; at += 32) {
		__m256i all = _mm256_set1_epi8(-1);
		for (unsigned i = 0; i < TERMS_PROBES; i++) {
			const __m256i *from = (const void *)(text + at + p->at[i]);
			all = _mm256_and_si256(
				all, _mm256_cmpeq_epi8(_mm256_loadu_si256(from), byte[i]));
		}
		places = (uint32_t)_mm256_movemask_epi8(all);
		if (places)
			break;
	}
	*ret_places = places;
	return at;
}
#endif

/* In n terms of one length. */
static int part_inside(struct part_search *p, const char *text, size_t length, size_t n)
{
	size_t all = length * n, at = 0, done = 0;
	int rc = 0;
	if (all < p->part.n)
		return 0;
	size_t places = all - p->part.n + 1;
#ifdef __x86_64__
	terms_scan_fn *scan = __builtin_cpu_supports("avx2") ? terms_scan_avx2 : terms_scan_sse2;
	uint32_t hits;
	while (rc == 0 && (at = scan(&p->probe, text, at, places, &hits), hits)) {
		for (; hits && rc == 0; hits &= hits - 1)
			rc = part_at(p, text, at + (size_t)__builtin_ctz(hits), length, &done);
		at += 32;
	}
#endif
	for (; at < places && rc == 0; at++)
		if (text[at + p->probe.at[0]] == p->probe.byte[0])
			rc = part_at(p, text, at, length, &done);
	return rc;
}

/* Up to four bytes as a number. */
static inline uint32_t last_bytes(const char *end, size_t n)
{
	uint32_t v = 0;
	if (LIKELY(n >= 4)) {
		memcpy(&v, end - 4, 4);
		return v;
	}
	for (size_t i = 1; i <= n; i++)
		v = v << 8 | (unsigned char)end[-(ptrdiff_t)i];
	return v;
}

static inline __attribute__((always_inline)) int ends_of(struct part_search *p, const char *text,
							 size_t length, size_t n, size_t last)
{
	const char *end = text + length, *part = p->part.p;
	uint32_t want = last_bytes(part + p->part.n, last);
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++, end += length)
		if (UNLIKELY(last_bytes(end, last) == want) &&
		    memcmp(end - p->part.n, part, p->part.n) == 0)
			rc = part_found(p, (struct str){end - length, length});
	return rc;
}

static int part_ends(struct part_search *p, const char *text, size_t length, size_t n)
{
	switch (p->part.n) {
	case 1:
		return ends_of(p, text, length, n, 1);
	case 2:
		return ends_of(p, text, length, n, 2);
	case 3:
		return ends_of(p, text, length, n, 3);
	default:
		return ends_of(p, text, length, n, 4);
	}
}

/* All terms of these runs of a length, in portions, between which it may become late. */
typedef int portion_fn(void *ctx, const char *text, size_t length, size_t n);

static int each_portion(struct terms_finds *finds, uint32_t length, unsigned runs, portion_fn *fn,
			void *ctx)
{
	struct terms_finder *f = finds->f;
	struct segment_blob blob;
	int rc = 0;
	if (!runs)
		return 0;
	enum segment_run run = (enum segment_run)__builtin_ctz(runs);
	if (segment_blob(f->segment, length, run, &blob, f->err) < 0)
		return -1;
	for (; run < SEGMENT_RUNS && rc == 0; run++) {
		size_t end = runs >> run & 1 ? blob.from[run + 1] : 0;
		if (blob.from[run] < end)
			terms_finds_new_run(finds);
		for (size_t i = blob.from[run], n; i < end && rc == 0; i += n) {
			n = MIN(end - i, (size_t)TERMS_LATE);
			rc = fn(ctx, blob.p + i * length, length, n);
			if (rc == 0 && terms_looked(f, (uint32_t)n))
				rc = 1;
		}
	}
	return rc;
}

static int inside_portion(void *ctx, const char *text, size_t length, size_t n)
{
	return part_inside(ctx, text, length, n);
}

static int end_portion(void *ctx, const char *text, size_t length, size_t n)
{
	return part_ends(ctx, text, length, n);
}

static int any_portion(void *ctx, const char *text, size_t length, size_t n)
{
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = part_found(ctx, (struct str){text + i * length, length});
	return rc;
}

size_t terms_outside_hex(struct str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i += terms_char_bytes(str_from(s, i)))
		n += !segment_is_hex(s.p[i]);
	return n;
}

/* Runs that may have what is looked for in terms of this length. */
static unsigned runs_of_length(const struct terms_parts *parts, uint32_t length)
{
	unsigned ascii = parts->no_hex ? RUN_ASCII : RUN_HEX | RUN_ASCII;
	return (!parts->most || length <= parts->most ? ascii : 0u) |
	       (!parts->most_other || length <= parts->most_other ? RUN_OTHERS : 0u);
}

static int search_part(const struct terms_parts *parts, struct part_search *p)
{
	uint32_t most = parts->cut ? CUT_FROM - 1 : TOKEN_TERM_MOST;
	unsigned runs = terms_outside_hex(p->part) ? RUN_ALL & ~RUN_HEX : RUN_ALL;
	int rc = 0;
	for (uint32_t length = MAX((uint32_t)p->part.n, parts->least); length <= most && rc == 0;
	     length++)
		rc = each_portion(p->finds, length, runs & runs_of_length(parts, length),
				  parts->ends ? end_portion : inside_portion, p);
	return rc;
}

int terms_blob_parts(struct terms_finder *f, const struct terms_parts *parts,
		     struct terms_finds *finds)
{
	struct terms_finds own = {.f = f};
	int rc = 0;
	if (!finds)
		finds = &own;
	for (uint32_t i = 0; i < parts->n && rc == 0; i++) {
		struct part_search p = {.part = parts->part[i], .finds = finds};
		p.compare = parts->compare;
		choose_probes(&p);
		rc = search_part(parts, &p);
	}
	struct part_search any = {.finds = finds, .compare = true};
	for (uint32_t length = parts->n ? CUT_FROM : 1;
	     (parts->cut || !parts->n) && length <= TOKEN_TERM_MOST && rc == 0; length++)
		rc = each_portion(finds, length, runs_of_length(parts, length), any_portion, &any);
	return finds == &own ? terms_finds_end(finds, rc) : rc;
}

/* Errors */

struct errors_search {
	const struct errors_word *word;
	struct terms_finds *finds;
	const char *last;
	size_t alive; /* bytes of the last term whose states are good */
	struct errors_rows state[TOKEN_TERM_MOST + 1];
};

static size_t bytes_shared(const char *a, const char *b, size_t most)
{
	size_t n = 0;
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static int errors_portion(void *ctx, const char *text, size_t length, size_t n)
{
	struct errors_search *s = ctx;
	const struct errors_word *w = s->word;
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++, text += length) {
		size_t at = s->last ? bytes_shared(s->last, text, MIN(length, s->alive + 1)) : 0;
		if (at > s->alive)
			continue;
		at = errors_run(w, s->state, at, (struct str){text, length});
		s->last = text;
		s->alive = at;
		if (at < length)
			continue;
		uint32_t errors = errors_end(w, &s->state[length]);
		if (errors <= w->k)
			rc = terms_finds_add(s->finds, (struct str){text, length}, errors);
	}
	return rc;
}

/* An error changes the length by at most one character, which has at most four bytes, and takes
 * away at most one that is not a hex digit. */
void terms_blob_bounds(const struct terms_finder *f, struct terms_parts *ret)
{
	const struct errors_word *w = &f->text.errors;
	uint32_t bytes = (uint32_t)f->text.word.n, k = w->k;
	ret->least = w->chars > k ? w->chars - k : 1;
	ret->no_hex = terms_outside_hex(f->text.word) > k;
	if (w->open_left || w->open_right)
		return;
	ret->most = w->chars + k;
	ret->most_other = bytes + 4 * k;
}

int terms_blob_errors(struct terms_finder *f)
{
	struct terms_finds finds = {.f = f};
	struct terms_parts bounds = {0};
	struct errors_search s = {.word = &f->text.errors, .finds = &finds};
	terms_blob_bounds(f, &bounds);
	int rc = 0;
	errors_start(s.word, &s.state[0]);
	for (uint32_t length = bounds.least; length <= TOKEN_TERM_MOST && rc == 0; length++) {
		s.last = NULL;
		rc = each_portion(&finds, length, runs_of_length(&bounds, length), errors_portion,
				  &s);
	}
	return terms_finds_end(&finds, rc);
}
