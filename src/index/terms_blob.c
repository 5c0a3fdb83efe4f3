/* Terms looked for in the blob: all terms as plain bytes, those of one length after the other.
 *
 * A part of a word is looked for by two of its bytes, the rarest, sixteen places at a time; where
 * both are there the rest is compared, and the place tells in which term it is, and whether it is
 * in one at all. An end is compared with the end of each. Errors run their automaton over the terms
 * of each length that fits; terms of a length are in order, so that each goes on from what it
 * shares with the one before.
 *
 * Finds come by length and are sorted by merging: the lengths are sorted already. Then they are
 * looked up in the dictionary, each from where the one before was found. */
#include "base/vec.h"
#include "index/dict.h"
#include "index/terms_inner.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
	FINDS_MOST = 1 << 18, /* that are put in order */
	CUT_FROM =
		120, /* bytes of terms that may be cut: a character that did not fit is shorter */
};

struct find {
	uint64_t prefix;
	const char *p;
	uint32_t n, errors;
};

struct finds {
	struct terms_finder *f;
	struct find *find, *other;
	size_t n, room, other_room;
	size_t *run, runs, runs_room; /* where each sorted run begins */
	bool too_many;
};

static int finds_add(struct finds *s, struct str term, uint32_t errors)
{
	s->too_many = s->n == FINDS_MOST;
	if (s->too_many)
		return 1;
	*VEC_PUSH(s->find, s->n, s->room) =
		(struct find){segment_prefix(term), term.p, (uint32_t)term.n, errors};
	return 0;
}

static void finds_new_run(struct finds *s)
{
	if (s->runs && s->run[s->runs - 1] == s->n)
		return;
	*VEC_PUSH(s->run, s->runs, s->runs_room) = s->n;
}

static int find_order(const struct find *a, const struct find *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return str_cmp((struct str){a->p, a->n}, (struct str){b->p, b->n});
}

/* Two runs that lie one after the other, and end at `end`. */
static void merge_two(const struct find *from, size_t a, size_t b, size_t end, struct find *to)
{
	size_t middle = b, n = a;
	while (a < middle && b < end)
		to[n++] = find_order(&from[a], &from[b]) <= 0 ? from[a++] : from[b++];
	memcpy(to + n, from + a, (middle - a) * sizeof *to);
	n += middle - a;
	memcpy(to + n, from + b, (end - b) * sizeof *to);
}

static void finds_sort(struct finds *s)
{
	VEC_ROOM(s->other, s->other_room, s->n);
	while (s->runs > 1) {
		size_t runs = 0;
		for (size_t i = 0; i < s->runs; i += 2) {
			size_t a = s->run[i], b = i + 1 < s->runs ? s->run[i + 1] : s->n;
			size_t end = i + 2 < s->runs ? s->run[i + 2] : s->n;
			merge_two(s->find, a, b, end, s->other);
			s->run[runs++] = a;
		}
		s->runs = runs;
		struct find *swap = s->find;
		size_t room = s->room;
		s->find = s->other;
		s->room = s->other_room;
		s->other = swap;
		s->other_room = room;
	}
}

/* In order, each once: a term lies in one place, and several parts may have found it there. */
static int finds_take(struct finds *s)
{
	int rc = 0;
	if (s->n == 0)
		return 0;
	finds_sort(s);
	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const struct find *find = &s->find[i];
		if (i > 0 && find->p == find[-1].p)
			continue;
		rc = terms_try(s->f, (struct str){find->p, find->n}, find->errors);
		if (rc == 0 && terms_looked(s->f, 1))
			rc = 1;
	}
	return rc;
}

/* Where that would be a good part of all terms, all are looked at in the dictionary. */
static int finds_end(struct finds *s, int rc)
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
	size_t rare, rarer; /* places in it of two bytes, the second not before the first */
	bool compare;
	struct finds *finds;
};

/* The less often a byte occurs in words, the sooner it is in this row; all others are rarer. */
static unsigned byte_frequency(unsigned char c)
{
	static const char row[] = "qjzxvk0123456789wybpgfhmudclstnorai";
	const char *at = c == 'e' ? row + sizeof row : memchr(row, c, sizeof row - 1);
	return at ? (unsigned)(at - row) + 1 : c >= 0x80 && c < 0xc0 ? 20 : c >= 0xc0 ? 30 : 0;
}

static void choose_bytes(struct part_search *p)
{
	size_t best = 0, second = p->part.n - 1;
	for (size_t i = 0; i < p->part.n; i++) {
		unsigned f = byte_frequency((unsigned char)p->part.p[i]);
		if (f < byte_frequency((unsigned char)p->part.p[best]))
			best = i;
	}
	if (second == best)
		second = 0;
	for (size_t i = 0; i < p->part.n; i++)
		if (i != best && byte_frequency((unsigned char)p->part.p[i]) <
					 byte_frequency((unsigned char)p->part.p[second]))
			second = i;
	p->rare = MIN(best, second);
	p->rarer = MAX(best, second);
}

static int part_found(struct part_search *p, struct str term)
{
	struct terms_finder *f = p->finds->f;
	uint32_t errors = 0;
	if (p->compare && !f->by_forms && !terms_text_is(&f->text, term, &errors))
		return 0;
	return finds_add(p->finds, term, errors);
}

/* The part begins perhaps at this place of the terms; *done: all before were looked at. */
static int part_at(struct part_search *p, const char *text, size_t at, size_t length, size_t *done)
{
	if (at < *done || memcmp(text + at, p->part.p, p->part.n) != 0)
		return 0;
	size_t begin = at - at % length;
	if (at + p->part.n > begin + length)
		return 0;
	*done = begin + length;
	return part_found(p, (struct str){text + begin, length});
}

/* In n terms of one length. */
static int part_inside(struct part_search *p, const char *text, size_t length, size_t n)
{
	size_t all = length * n, at = 0, done = 0;
	int rc = 0;
	if (all < p->part.n)
		return 0;
	size_t places = all - p->part.n + 1;
#if defined(__SSE2__)
	__m128i a = _mm_set1_epi8(p->part.p[p->rare]), b = _mm_set1_epi8(p->part.p[p->rarer]);
	for (; at + 16 <= places && rc == 0; at += 16) {
		const char *from = text + at;
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)(from + p->rare));
		__m128i y = _mm_loadu_si128((const __m128i *)(const void *)(from + p->rarer));
		__m128i both = _mm_and_si128(_mm_cmpeq_epi8(x, a), _mm_cmpeq_epi8(y, b));
		unsigned hits = (unsigned)_mm_movemask_epi8(both);
		for (; hits && rc == 0; hits &= hits - 1)
			rc = part_at(p, text, at + (size_t)__builtin_ctz(hits), length, &done);
	}
#endif
	for (; at < places && rc == 0; at++)
		if (text[at + p->rare] == p->part.p[p->rare])
			rc = part_at(p, text, at, length, &done);
	return rc;
}

static int part_ends(struct part_search *p, const char *text, size_t length, size_t n)
{
	size_t part = p->part.n;
	const char *end = text + length, *want = p->part.p;
	int rc = 0;
	char last = want[part - 1], before = want[part > 1 ? part - 2 : 0];
	size_t back = part > 1 ? 2 : 1;
	for (size_t i = 0; i < n && rc == 0; i++, end += length)
		if (end[-1] == last && *(end - back) == before &&
		    memcmp(end - part, want, part) == 0)
			rc = part_found(p, (struct str){end - length, length});
	return rc;
}

/* All terms of a length, in portions, between which it may become late. */
typedef int portion_fn(void *ctx, const char *text, size_t length, size_t n);

static int each_portion(struct terms_finder *f, uint32_t length, portion_fn *fn, void *ctx)
{
	struct segment_blob blob;
	int rc = 0;
	if (segment_blob(f->segment, length, &blob, f->err) < 0)
		return -1;
	for (size_t i = 0, n; i < blob.n && rc == 0; i += n) {
		n = MIN(blob.n - i, (size_t)TERMS_LATE);
		rc = fn(ctx, blob.p + i * length, length, n);
		if (rc == 0 && terms_looked(f, (uint32_t)n))
			rc = 1;
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

int terms_blob_parts(struct terms_finder *f, const struct terms_parts *parts)
{
	struct finds finds = {.f = f};
	int rc = 0;
	for (uint32_t i = 0; i < parts->n && rc == 0; i++) {
		struct part_search p = {.part = parts->part[i], .finds = &finds};
		uint32_t most = parts->cut ? CUT_FROM - 1 : TOKEN_TERM_MOST;
		p.compare = parts->compare;
		choose_bytes(&p);
		for (uint32_t length = (uint32_t)p.part.n; length <= most && rc == 0; length++) {
			finds_new_run(&finds);
			rc = each_portion(f, length, parts->ends ? end_portion : inside_portion,
					  &p);
		}
	}
	struct part_search any = {.finds = &finds, .compare = true};
	for (uint32_t length = CUT_FROM; parts->cut && length <= TOKEN_TERM_MOST && rc == 0;
	     length++) {
		finds_new_run(&finds);
		rc = each_portion(f, length, any_portion, &any);
	}
	return finds_end(&finds, rc);
}

/* Errors */

struct errors_search {
	const struct errors_word *word;
	struct finds *finds;
	uint32_t most; /* characters; longer terms are passed over */
	const char *last;
	size_t alive; /* bytes of the last term whose states are good */
	struct errors_rows state[TOKEN_TERM_MOST + 1];
};

static size_t chars_of(const char *p, size_t n)
{
	size_t chars = 0;
	for (size_t i = 0; i < n; i++)
		chars += ((unsigned char)p[i] & 0xc0) != 0x80;
	return chars;
}

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
		if (length > s->most && chars_of(text, length) > s->most)
			continue;
		size_t at = s->last ? bytes_shared(s->last, text, MIN(length, s->alive + 1)) : 0;
		if (at > s->alive)
			continue;
		while (at < length &&
		       errors_step(w, &s->state[at], (unsigned char)text[at], &s->state[at + 1]))
			at++;
		s->last = text;
		s->alive = at;
		if (at < length)
			continue;
		uint32_t errors = errors_end(w, &s->state[length]);
		if (errors <= w->k)
			rc = finds_add(s->finds, (struct str){text, length}, errors);
	}
	return rc;
}

int terms_blob_errors(struct terms_finder *f)
{
	const struct errors_word *w = &f->text.errors;
	struct finds finds = {.f = f};
	bool open = w->open_left || w->open_right;
	uint32_t least = w->chars > w->k ? w->chars - w->k : 1, most = w->chars + w->k;
	struct errors_search s = {.word = w, .finds = &finds, .most = open ? UINT32_MAX : most};
	uint32_t longest = open ? TOKEN_TERM_MOST : MIN(4 * most, (uint32_t)TOKEN_TERM_MOST);
	int rc = 0;
	errors_start(w, &s.state[0]);
	for (uint32_t length = least; length <= longest && rc == 0; length++) {
		finds_new_run(&finds);
		s.last = NULL;
		rc = each_portion(f, length, errors_portion, &s);
	}
	return finds_end(&finds, rc);
}
