/* Words with errors, by the automaton of Wu and Manber: row j has a bit for each beginning of the
 * word that the text so far is with at most j errors. A character of the text moves all bits at
 * once: one row is made of the row before and of the one above by shifts. That no character was
 * reached has its bit apart (`none`), so that a word of 128 characters fits.
 *
 * Nearly all words have at most 64 characters, and their rows are machine words. The steps are
 * written once, as a macro, for both widths; the number of rows is a constant where it is small, so
 * that the compiler unrolls them. Tables of a Levenshtein automaton would be faster for one and two
 * errors, but are large, and a table for each k. */
#include "index/errors.h"

typedef unsigned __int128 wide_row;

enum { LEFT_BITS = 2 }; /* of `wide`: bytes to come; the code so far is above them */

static bool is_narrow(const struct errors_word *w)
{
	return w->chars <= 64;
}

/* Rows in which no character need have been reached. */
static inline uint32_t rows_mask(const struct errors_word *w)
{
	return ((w->left ? 1u : 2u) << w->k) - 1;
}

static wide_row *mask_for(struct errors_word *w, uint32_t c)
{
	uint32_t i = 0;
	if (c < 0x80)
		return &w->ascii[c];
	while (i < w->others && w->other[i].c != c)
		i++;
	if (i == w->others)
		w->other[w->others++].c = c;
	return &w->other[i].mask;
}

static uint32_t char_at(struct str s, size_t *at)
{
	size_t n = str_utf8_char(str_from(s, *at));
	uint32_t c = (unsigned char)s.p[*at];
	ENSURE(n > 0);
	if (n > 1)
		c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s.p[*at + i] & 0x3f);
	*at += n;
	return c;
}

void errors_init(struct errors_word *w, struct str word, uint32_t k, bool open_left,
		 bool open_right)
{
	memset(w->ascii, 0, sizeof w->ascii);
	w->k = k;
	w->open_left = open_left;
	w->open_right = open_right;
	w->swaps = false;
	w->others = 0;
	w->chars = 0;
	w->all = 0;
	for (size_t at = 0; at < word.n;) {
		ENSURE(w->chars < ERRORS_CHARS_MOST);
		w->lead[w->chars] = (unsigned char)word.p[at];
		uint32_t c = char_at(word, &at), others = w->others;
		wide_row *mask = mask_for(w, c), bit = (wide_row)1 << w->chars++;
		*mask = (others != w->others ? 0 : *mask) | bit;
		w->all |= bit;
	}
	ENSURE(w->chars > 0 && k <= ERRORS_MOST);
	w->top = w->all;
	w->left = 0;
}

void errors_begin_well(struct errors_word *w, uint32_t left)
{
	ENSURE(w->k > 0 && !w->open_left && !w->open_right && left < w->chars);
	w->left = left;
	w->top = w->all & ~(((wide_row)1 << left) - 1);
}

void errors_start(const struct errors_word *w, struct errors_rows *ret)
{
	ret->none = rows_mask(w);
	ret->wide = 0;
	for (uint32_t j = 0; j <= w->k; j++) {
		wide_row row = (((wide_row)1 << j) - 1) & (j < w->k ? w->all : w->top);
		if (is_narrow(w))
			ret->narrow[j] = (uint64_t)row;
		else
			ret->row[j] = row;
		if (j < w->k && is_narrow(w))
			ret->narrow_swap[j] = 0;
		else if (j < w->k)
			ret->swap[j] = 0;
	}
}

/* One character, of which `mask` says where it is in the word. `source` are the places before
 * which the next character of the word is expected. */
#define DEFINE_STEP(name, type, rows, swaps_of)                                            \
	static inline __attribute__((always_inline)) bool name(                            \
		const struct errors_word *w, const struct errors_rows *from, type mask,    \
		struct errors_rows *to, uint32_t k)                                        \
	{                                                                                  \
		uint32_t none = from->none;                                                \
		uint32_t none_then = w->open_left ? none : (none << 1) & rows_mask(w);     \
		type all = (type)w->all, last = all ^ all >> 1;                            \
		type stays = w->open_right ? last : 0;                                     \
		type old = from->rows[0], source = old << 1 | (none & 1);                  \
		type now = (source & mask) | (old & stays), any = now;                     \
		to->rows[0] = now;                                                         \
		for (uint32_t j = 1; j <= k; j++) {                                        \
			type here = from->rows[j], next = here << 1 | (none >> j & 1);     \
			type other = old | source | now << 1 | (none_then >> (j - 1) & 1); \
			if (w->swaps) {                                                    \
				other |= (from->swaps_of[j - 1] & mask) << 1;              \
				to->swaps_of[j - 1] = source & mask >> 1;                  \
				any |= to->swaps_of[j - 1];                                \
			}                                                                  \
			now = ((next & mask) | other | (here & stays)) &                   \
			      (j < k ? all : (type)w->top);                                \
			any |= now;                                                        \
			to->rows[j] = now;                                                 \
			old = here;                                                        \
			source = next;                                                     \
		}                                                                          \
		to->none = none_then;                                                      \
		to->wide = 0;                                                              \
		return any != 0 || none_then != 0;                                         \
	}

DEFINE_STEP(step_narrow, uint64_t, narrow, narrow_swap)
DEFINE_STEP(step_wide, wide_row, row, swap)

static bool step_char(const struct errors_word *w, const struct errors_rows *from, wide_row mask,
		      struct errors_rows *to)
{
	if (!is_narrow(w))
		return step_wide(w, from, mask, to, w->k);
	uint64_t m = (uint64_t)mask;
	switch (w->k) {
	case 1:
		return step_narrow(w, from, m, to, 1);
	case 2:
		return step_narrow(w, from, m, to, 2);
	case 3:
		return step_narrow(w, from, m, to, 3);
	default:
		return step_narrow(w, from, m, to, w->k);
	}
}

static wide_row mask_of(const struct errors_word *w, uint32_t c)
{
	for (uint32_t i = 0; i < w->others; i++)
		if (w->other[i].c == c)
			return w->other[i].mask;
	return 0;
}

/* A byte that is not ASCII, or one that ends what was begun. A character that is not UTF-8 is one
 * that the word does not have. */
static bool step_other(const struct errors_word *w, const struct errors_rows *from,
		       unsigned char byte, struct errors_rows *to)
{
	uint32_t left = from->wide & ((1u << LEFT_BITS) - 1), code = from->wide >> LEFT_BITS;
	if (left > 0 && (byte & 0xc0) == 0x80) {
		code = code << 6 | (byte & 0x3f);
		if (--left == 0)
			return step_char(w, from, mask_of(w, code), to);
	} else {
		if (left > 0) {
			(void)step_char(w, from, 0, to);
			from = to;
		}
		if (byte < 0x80)
			return step_char(w, from, w->ascii[byte], to);
		if (byte < 0xc2 || byte > 0xf4)
			return step_char(w, from, 0, to);
		left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
		code = byte & (0x3fu >> left);
	}
	if (to != from)
		*to = *from;
	to->wide = code << LEFT_BITS | left;
	return true;
}

bool errors_step(const struct errors_word *w, const struct errors_rows *from, unsigned char byte,
		 struct errors_rows *to)
{
	if (UNLIKELY(byte >= 0x80 || from->wide))
		return step_other(w, from, byte, to);
	return step_char(w, from, w->ascii[byte], to);
}

static inline __attribute__((always_inline)) size_t run_narrow(const struct errors_word *w,
							       struct errors_rows *state, size_t at,
							       struct str text, uint32_t k)
{
	for (; at < text.n; at++) {
		unsigned char byte = (unsigned char)text.p[at];
		bool on = LIKELY(byte < 0x80 && !state[at].wide)
				  ? step_narrow(w, &state[at], (uint64_t)w->ascii[byte],
						&state[at + 1], k)
				  : step_other(w, &state[at], byte, &state[at + 1]);
		if (!on)
			break;
	}
	return at;
}

size_t errors_run(const struct errors_word *w, struct errors_rows *state, size_t at,
		  struct str text)
{
	if (is_narrow(w) && w->k == 1)
		return run_narrow(w, state, at, text, 1);
	if (is_narrow(w) && w->k == 2)
		return run_narrow(w, state, at, text, 2);
	if (is_narrow(w) && w->k == 3)
		return run_narrow(w, state, at, text, 3);
	if (is_narrow(w))
		return run_narrow(w, state, at, text, w->k);
	while (at < text.n && errors_step(w, &state[at], (unsigned char)text.p[at], &state[at + 1]))
		at++;
	return at;
}

static wide_row row_of(const struct errors_word *w, const struct errors_rows *rows, uint32_t j)
{
	return is_narrow(w) ? rows->narrow[j] : rows->row[j];
}

static unsigned least_lead(const struct errors_word *w, uint64_t places, uint32_t first,
			   unsigned from, unsigned least)
{
	for (; places; places &= places - 1) {
		unsigned lead = w->lead[first + (unsigned)__builtin_ctzll(places)];
		least = lead >= from ? MIN(least, lead) : least;
	}
	return least;
}

/* Places before which a character of the word is expected, in a row. */
static wide_row source_of(const struct errors_word *w, const struct errors_rows *rows, uint32_t j)
{
	return (row_of(w, rows, j) << 1 | (rows->none >> j & 1)) & w->all;
}

unsigned errors_next(const struct errors_word *w, const struct errors_rows *rows, unsigned from)
{
	uint32_t k = w->k;
	wide_row last = w->all ^ w->all >> 1, above = 0;
	if (rows->wide || w->open_left || from > UINT8_MAX)
		return from;
	if (k > 1 && (row_of(w, rows, k - 2) || rows->none & ((1u << (k - 1)) - 1)))
		return from;
	if (k > 0) {
		/* An error may be made, if not among the first characters. */
		above = source_of(w, rows, k - 1);
		if (above >> w->left || (row_of(w, rows, k - 1) & last))
			return from;
	}
	if (w->open_right && row_of(w, rows, k) & last)
		return from;
	/* No error is left: only the next character of the word may follow. */
	wide_row places = source_of(w, rows, k) | above;
	/* Or the other one of two that are swapped, the second or the first. */
	if (k > 0 && w->swaps)
		places |= (above << 1 & w->all) |
			  (is_narrow(w) ? rows->narrow_swap[k - 1] : rows->swap[k - 1]);
	return least_lead(w, (uint64_t)(places >> 64), 64, from,
			  least_lead(w, (uint64_t)places, 0, from, UINT8_MAX + 1));
}

uint32_t errors_end(const struct errors_word *w, const struct errors_rows *rows)
{
	struct errors_rows ended;
	wide_row last = w->all ^ w->all >> 1;
	if (UNLIKELY(rows->wide)) {
		(void)step_char(w, rows, 0, &ended);
		rows = &ended;
	}
	uint32_t j = 0;
	while (j <= w->k && !(row_of(w, rows, j) & last))
		j++;
	return j;
}

uint32_t errors_of(const struct errors_word *w, struct str text)
{
	struct errors_rows rows;
	bool on = true;
	errors_start(w, &rows);
	for (size_t i = 0; i < text.n && on; i++)
		on = errors_step(w, &rows, (unsigned char)text.p[i], &rows);
	return on ? errors_end(w, &rows) : w->k + 1;
}
