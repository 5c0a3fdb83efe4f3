/* Sets of characters: ranges of code points, the general categories of Unicode, and what folding
 * makes of them. Categories are asked of libutf8proc, a character at a time, once for a pattern
 * that names any; the large areas that are of one category for good are passed over. */
#include "index/rx/rx_inner.h"

#include "base/ascii.h"

#include <stdlib.h>

/* Characters that are looked at one by one, and ranges that are put together, for one pattern: some
 * milliseconds, which nothing interrupts. */
enum { LOOKED_MOST = 200000 };

void rx_ranges_add(struct rx_ranges *r, int32_t from, int32_t to)
{
	if (r->n && from <= r->range[r->n - 1].to + 1 && from >= r->range[r->n - 1].from) {
		r->range[r->n - 1].to = MAX(r->range[r->n - 1].to, to);
		return;
	}
	*VEC_PUSH(r->range, r->n, r->room) = (struct rx_range){from, to};
}

static int compare_ranges(const void *a, const void *b)
{
	const struct rx_range *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

void rx_ranges_settle(struct rx_ranges *r)
{
	if (r->n < 2)
		return;
	qsort(r->range, r->n, sizeof *r->range, compare_ranges);
	size_t n = 1;
	for (size_t i = 1; i < r->n; i++) {
		struct rx_range *last = &r->range[n - 1], next = r->range[i];
		if (next.from <= last->to + 1)
			last->to = MAX(last->to, next.to);
		else
			r->range[n++] = next;
	}
	r->n = n;
}

void rx_ranges_negate(struct rx_ranges *r)
{
	struct rx_ranges not = {0};
	int32_t from = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (r->range[i].from > from)
			rx_ranges_add(&not, from, r->range[i].from - 1);
		from = r->range[i].to + 1;
	}
	if (from <= RX_CHAR_LAST)
		rx_ranges_add(&not, from, RX_CHAR_LAST);
	rx_ranges_free(r);
	*r = not ;
}

void rx_ranges_free(struct rx_ranges *r)
{
	mem_free(&r->range);
	*r = (struct rx_ranges){0};
}

uint32_t rx_ranges_count(const struct rx_ranges *r)
{
	uint32_t n = 0;
	for (size_t i = 0; i < r->n; i++)
		n += (uint32_t)(r->range[i].to - r->range[i].from + 1);
	return n;
}

int rx_chars_open(struct rx_chars *c, struct err *err)
{
	*c = (struct rx_chars){0};
	return token_unicode_load(&c->unicode, err);
}

bool rx_may_look(struct rx_chars *c, size_t n)
{
	c->looked += MIN(n, (size_t)LOOKED_MOST);
	return c->looked <= LOOKED_MOST;
}

void rx_chars_close(struct rx_chars *c)
{
	mem_free(&c->run);
}

/* Areas all of whose characters are of one category and one class of words, and fold to themselves.
 * Unicode does not change them any more, but for the planes that nobody has asked for. */
static const struct rx_range areas[] = {
	{0x3400, 0x4db5},     /* Han */
	{0x4e00, 0x9fa5},     /* Han */
	{0xac00, 0xd7a3},     /* Hangul */
	{0xd800, 0xdfff},     /* surrogates */
	{0xe000, 0xf8ff},     /* private use */
	{0x17000, 0x187ec},   /* Tangut */
	{0x20000, 0x2a6d6},   /* Han */
	{0x2a700, 0x2b734},   /* Han */
	{0x2b820, 0x2cea1},   /* Han */
	{0x2ceb0, 0x2ebe0},   /* Han */
	{0x30000, 0x3134a},   /* Han */
	{0x34000, 0xdffff},   /* nothing */
	{0xe0200, 0xeffff},   /* nothing */
	{0xf0000, 0xffffd},   /* private use */
	{0x100000, 0x10fffd}, /* private use */
};

/* The last character of the area that c lies in, or c. */
static int32_t area_last(int32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(areas) && c >= areas[i].from; i++)
		if (c <= areas[i].to)
			return areas[i].to;
	return c;
}

/* Categories */

#define CATEGORY(name) (UINT32_C(1) << UTF8PROC_CATEGORY_##name)

enum {
	CASED = CATEGORY(LU) | CATEGORY(LL) | CATEGORY(LT),
	LETTERS = CASED | CATEGORY(LM) | CATEGORY(LO),
	MARKS = CATEGORY(MN) | CATEGORY(MC) | CATEGORY(ME),
	NUMBERS = CATEGORY(ND) | CATEGORY(NL) | CATEGORY(NO),
	PUNCTUATION = CATEGORY(PC) | CATEGORY(PD) | CATEGORY(PS) | CATEGORY(PE) | CATEGORY(PI) |
		      CATEGORY(PF) | CATEGORY(PO),
	SYMBOLS = CATEGORY(SM) | CATEGORY(SC) | CATEGORY(SK) | CATEGORY(SO),
	SEPARATORS = CATEGORY(ZS) | CATEGORY(ZL) | CATEGORY(ZP),
	OTHERS = CATEGORY(CC) | CATEGORY(CF) | CATEGORY(CS) | CATEGORY(CO) | CATEGORY(CN),
};

const char *const rx_category_known =
	"L, Lu, Ll, Lt, LC, Lm, Lo, M, Mn, Mc, Me, N, Nd, Nl, No, P, Pc, Pd, Ps, Pe, Pi, Pf, Po, "
	"S, Sm, Sc, Sk, So, Z, Zs, Zl, Zp, C, Cc, Cf, Cs, Co, Cn and their long names";

static const struct {
	const char *brief, *name;
	uint32_t mask;
} categories[] = {
	{"L", "Letter", LETTERS},
	{"Lu", "UppercaseLetter", CATEGORY(LU)},
	{"Ll", "LowercaseLetter", CATEGORY(LL)},
	{"Lt", "TitlecaseLetter", CATEGORY(LT)},
	{"LC", "CasedLetter", CASED},
	{"Lm", "ModifierLetter", CATEGORY(LM)},
	{"Lo", "OtherLetter", CATEGORY(LO)},
	{"M", "Mark", MARKS},
	{"Mn", "NonspacingMark", CATEGORY(MN)},
	{"Mc", "SpacingMark", CATEGORY(MC)},
	{"Me", "EnclosingMark", CATEGORY(ME)},
	{"N", "Number", NUMBERS},
	{"Nd", "DecimalNumber", CATEGORY(ND)},
	{"Nl", "LetterNumber", CATEGORY(NL)},
	{"No", "OtherNumber", CATEGORY(NO)},
	{"P", "Punctuation", PUNCTUATION},
	{"Pc", "ConnectorPunctuation", CATEGORY(PC)},
	{"Pd", "DashPunctuation", CATEGORY(PD)},
	{"Ps", "OpenPunctuation", CATEGORY(PS)},
	{"Pe", "ClosePunctuation", CATEGORY(PE)},
	{"Pi", "InitialPunctuation", CATEGORY(PI)},
	{"Pf", "FinalPunctuation", CATEGORY(PF)},
	{"Po", "OtherPunctuation", CATEGORY(PO)},
	{"S", "Symbol", SYMBOLS},
	{"Sm", "MathSymbol", CATEGORY(SM)},
	{"Sc", "CurrencySymbol", CATEGORY(SC)},
	{"Sk", "ModifierSymbol", CATEGORY(SK)},
	{"So", "OtherSymbol", CATEGORY(SO)},
	{"Z", "Separator", SEPARATORS},
	{"Zs", "SpaceSeparator", CATEGORY(ZS)},
	{"Zl", "LineSeparator", CATEGORY(ZL)},
	{"Zp", "ParagraphSeparator", CATEGORY(ZP)},
	{"C", "Other", OTHERS},
	{"Cc", "Control", CATEGORY(CC)},
	{"Cf", "Format", CATEGORY(CF)},
	{"Cs", "Surrogate", CATEGORY(CS)},
	{"Co", "PrivateUse", CATEGORY(CO)},
	{"Cn", "Unassigned", CATEGORY(CN)},
};

uint32_t rx_category_mask(struct str name)
{
	char bare[32];
	size_t n = 0;
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == '_' || name.p[i] == ' ' || name.p[i] == '-')
			continue;
		if (n == sizeof bare)
			return 0;
		bare[n++] = name.p[i];
	}
	struct str s = {bare, n};
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		if (str_eq_nocase(s, str_of(categories[i].brief)) ||
		    str_eq_nocase(s, str_of(categories[i].name)))
			return categories[i].mask;
	return 0;
}

static void make_runs(struct rx_chars *c)
{
	const utf8proc_property_t *last = NULL;
	size_t area = 0;
	for (int32_t at = 0; at <= RX_CHAR_LAST; at++) {
		const utf8proc_property_t *p = c->unicode.property(at);
		if (p != last) { /* the library has one for many characters */
			uint32_t bit = UINT32_C(1) << p->category;
			if (c->runs == 0 || c->run[c->runs - 1].bit != bit)
				*VEC_PUSH(c->run, c->runs, c->room) = (struct rx_category){at, bit};
			last = p;
		}
		if (area < ARRAY_LEN(areas) && at == areas[area].from)
			at = areas[area++].to;
	}
}

void rx_add_categories(struct rx_chars *c, struct rx_ranges *to, uint32_t mask)
{
	if (!c->runs)
		make_runs(c);
	for (size_t i = 0; i < c->runs; i++)
		if (c->run[i].bit & mask)
			rx_ranges_add(to, c->run[i].from,
				      i + 1 < c->runs ? c->run[i + 1].from - 1 : RX_CHAR_LAST);
}

/* Alphabetic, marks, decimal digits, connectors and joiners, as Unicode recommends for
 * expressions: the circled letters are alphabetic, though symbols by category. */
void rx_add_word(struct rx_chars *c, struct rx_ranges *to)
{
	static const struct rx_range circled[] = {
		{0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
	rx_add_categories(c, to, LETTERS | MARKS | CATEGORY(ND) | CATEGORY(NL) | CATEGORY(PC));
	rx_ranges_add(to, 0x200c, 0x200d);
	for (size_t i = 0; i < ARRAY_LEN(circled); i++)
		rx_ranges_add(to, circled[i].from, circled[i].to);
}

void rx_add_space(struct rx_ranges *to)
{
	static const struct rx_range spaces[] = {
		{9, 13},          {' ', ' '},       {0x85, 0x85},     {0xa0, 0xa0},
		{0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
		{0x205f, 0x205f}, {0x3000, 0x3000}};
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		rx_ranges_add(to, spaces[i].from, spaces[i].to);
}

/* Folding */

static void keep_long_fold(struct rx_long_folds *l, const int32_t *chars, size_t n)
{
	if (l->n == RX_LONG_FOLDS_MOST || n > RX_LONG_FOLD_CHARS)
		return;
	memcpy(l->fold[l->n].c, chars, n * sizeof *chars);
	l->fold[l->n++].n = (uint32_t)n;
}

bool rx_ranges_fold(struct rx_chars *c, struct rx_ranges *r, struct rx_long_folds *ret_long)
{
	struct rx_ranges folded = {0};
	ret_long->n = 0;
	for (size_t i = 0; i < r->n; i++) {
		for (int32_t at = r->range[i].from; at <= r->range[i].to; at++) {
			if (!rx_may_look(c, 1)) {
				rx_ranges_free(&folded);
				return false;
			}
			int32_t last = MIN(area_last(at), r->range[i].to);
			int32_t chars[TOKEN_CHARS_MOST];
			if (last > at || token_unicode_class(&c->unicode, at) == TOKEN_SEPARATES) {
				rx_ranges_add(&folded, at, last);
				at = last;
				continue;
			}
			size_t n = token_unicode_fold(&c->unicode, &at, 1, chars);
			if (n == 1)
				rx_ranges_add(&folded, chars[0], chars[0]);
			else if (n > 1)
				keep_long_fold(ret_long, chars, n);
		}
	}
	rx_ranges_settle(&folded);
	rx_ranges_free(r);
	*r = folded;
	return true;
}

unsigned rx_ranges_kinds(const struct rx_chars *c, const struct rx_ranges *r)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < r->n; i++)
		for (int32_t at = r->range[i].from; at <= r->range[i].to && kinds != 15;
		     at = area_last(at) + 1)
			kinds |= 1u << token_unicode_class(&c->unicode, at);
	return kinds;
}

int rx_load(struct err *err)
{
	struct token_unicode unicode;
	return token_unicode_load(&unicode, err);
}
