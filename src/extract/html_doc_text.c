/* Text of a page as a reader sees it: one blank between words, one LF between lines. */
#include "extract/html_doc_inner.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { STEP = HTML_STEP };

/* What a byte is in text. CARE: the first of characters that are white space, or are not seen. */
enum { PLAIN, WHITE, CARE };

static int kind_of(unsigned char c)
{
	if (c <= ' ')
		return WHITE;
	return c == 0xc2 || c == 0xe2 || c == 0xe3 || c == 0xef ? CARE : PLAIN;
}

size_t html_copyable_portable(const char *p, size_t n, bool after_blank)
{
	for (size_t i = 0; i < n; i++) {
		int kind = kind_of((unsigned char)p[i]);
		if (kind == CARE || (kind == WHITE && (p[i] != ' ' || after_blank)))
			return i;
		after_blank = kind == WHITE;
	}
	return n;
}

#ifdef __SSE2__
static unsigned equal(__m128i v, int byte)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8((char)byte)));
}

size_t html_copyable(const char *p, size_t n, bool after_blank)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v);
	unsigned white = (unsigned)_mm_movemask_epi8(low), blank = equal(v, ' ');
	unsigned bad = (white ^ blank) | (blank & (blank << 1 | after_blank));
	if (_mm_movemask_epi8(v))
		bad |= equal(v, 0xc2) | equal(v, 0xe2) | equal(v, 0xe3) | equal(v, 0xef);
	bad |= 1u << n; /* n is at most STEP */
	return (size_t)__builtin_ctz(bad);
}
#else
size_t html_copyable(const char *p, size_t n, bool after_blank)
{
	return html_copyable_portable(p, n, after_blank);
}
#endif

struct str html_span_text(const struct doc *d, const struct span *s)
{
	return str_range(d->out->text + MIN(s->from, d->out->text_n),
			 d->out->text + d->out->text_n);
}

/* The text begins with a word. */
static void put_gap(struct doc *d)
{
	struct out *o = d->out;
	if (d->gap && o->text_n && o->text_n < o->text_max)
		o->text[o->text_n++] = d->gap;
	d->gap = 0;
}

/* Words from p on, as far as they can be taken as they are. There is room for STEP more than
 * that. */
static const char *copy_words(struct doc *d, const char *p, const char *end)
{
	struct out *o = d->out;
	char *to = o->text + o->text_n, tail[STEP] = {0};
	bool after_blank = false;
	size_t n, took;
	do {
		const char *from = p;
		n = MIN((size_t)(end - p), (size_t)STEP);
		if (n < STEP)
			from = memcpy(tail, p, n);
		took = html_copyable(from, n, after_blank);
		memcpy(to, from, STEP);
		p += took;
		to += took;
		after_blank = took ? to[-1] == ' ' : after_blank;
	} while (took == STEP);
	if (after_blank) {
		to--;
		d->gap = ' ';
	}
	o->text_n = (size_t)(to - o->text);
	return p;
}

/* Characters that look like a blank, or like nothing. */
static const struct odd {
	unsigned char bytes[3], n;
	char gap; /* 0: it is not seen */
} odd[] = {
	{{0xc2, 0xa0}, 2, ' '},        {{0xc2, 0xad}, 2, 0},          {{0xc2, 0x85}, 2, ' '},
	{{0xe3, 0x80, 0x80}, 3, ' '},  {{0xef, 0xbb, 0xbf}, 3, 0},    {{0xe2, 0x80, 0x8b}, 3, 0},
	{{0xe2, 0x80, 0xa8}, 3, '\n'}, {{0xe2, 0x80, 0xa9}, 3, '\n'}, {{0xe2, 0x80, 0xaf}, 3, ' '},
	{{0xe2, 0x81, 0x9f}, 3, ' '},  {{0xe2, 0x81, 0xa0}, 3, 0},
};

/* U+2000 to U+200A: blanks of all widths. */
static bool is_wide_blank(const unsigned char *u, size_t n)
{
	return n >= 3 && u[0] == 0xe2 && u[1] == 0x80 && u[2] >= 0x80 && u[2] <= 0x8a;
}

static const char *take_odd(struct doc *d, const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t left = (size_t)(end - p), n = MIN(left, *u == 0xc2 ? (size_t)2 : (size_t)3);
	if (is_wide_blank(u, left)) {
		html_gap(d, ' ');
		return p + 3;
	}
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		if (left < odd[i].n || memcmp(u, odd[i].bytes, odd[i].n) != 0)
			continue;
		if (odd[i].gap)
			html_gap(d, odd[i].gap);
		return p + odd[i].n;
	}
	put_gap(d);
	out_text(d->out, (struct str){p, n});
	return p + n;
}

/* A word near the end of the room: whole, so that it can be cut between characters. */
static const char *copy_slowly(struct doc *d, const char *p, const char *end)
{
	size_t n = html_copyable_portable(p, (size_t)(end - p), true);
	struct str word = {p, MIN(n, str_find_byte((struct str){p, n}, ' '))};
	out_text(d->out, word);
	return p + word.n;
}

void html_flow(struct doc *d, struct str s)
{
	const char *p = s.p, *end = p + s.n;
	struct out *o = d->out;
	while (p < end && !(o->flags & OUT_TEXT_CUT)) {
		int kind = kind_of((unsigned char)*p);
		if (kind == CARE) {
			p = take_odd(d, p, end);
		} else if (kind == WHITE) {
			if (*p)
				html_gap(d, d->pre && *p == '\n' ? '\n' : ' ');
			p++;
		} else {
			put_gap(d);
			/* copy_words() writes no more than it reads, and STEP bytes too many */
			p = o->text_max - o->text_n > (size_t)(end - p) + STEP
				    ? copy_words(d, p, end)
				    : copy_slowly(d, p, end);
		}
	}
}
