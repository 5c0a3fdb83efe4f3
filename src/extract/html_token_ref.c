/* Character references: &name; &#10; &#xa; in text and in values of attributes. */
#include "extract/html_entities.h"
#include "extract/html_token_inner.h"

enum { CODE_MAX = 0x10ffff };

/* What these numbers are taken for: they mean windows-1252. 0: the number itself. */
static const uint16_t c1[32] = {
	0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
	0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

static bool in_value(const struct html_tokens *t)
{
	return t->back >= S_VALUE_DOUBLE && t->back <= S_VALUE_BARE;
}

static void put(struct html_tokens *t, struct str s)
{
	if (in_value(t))
		html_item_keep(t, s.p, s.n);
	else
		put_text(t, s.p, s.n);
}

/* Back to where the reference stood, to go on at p. */
static const char *back(struct html_tokens *t, const char *p)
{
	if (in_value(t))
		t->mark = p;
	return turn(t, t->back, p);
}

static const char *as_written(struct html_tokens *t, const char *p)
{
	put(t, (struct str){t->ref, t->ref_n});
	return back(t, p);
}

static void ref_add(struct html_tokens *t, char c)
{
	t->ref[t->ref_n++] = c;
}

const char *html_ref(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	t->ref_n = 0;
	ref_add(t, '&');
	if (is(*p, C_ALPHA | C_DIGIT))
		return turn(t, S_REF_NAMED, p);
	if (*p != '#')
		return as_written(t, p);
	ref_add(t, '#');
	return turn(t, S_REF_NUMBER, p + 1);
}

/* All letters and digits have come; `next` is what stands behind them, 0 at the end of the input.
 * In values what looks like the argument of a query stays what it is. */
static const char *named_done(struct html_tokens *t, char next, const char *p)
{
	struct str name = {t->ref + 1, t->ref_n - 1}, text;
	if (next == ';' && html_entity(name, &text) == 0) {
		put(t, text);
		return back(t, p + 1);
	}
	size_t n = html_entity_old(name, &text);
	bool argument = in_value(t) && (n < name.n || next == '=' || is(next, C_ALPHA | C_DIGIT));
	if (n == 0 || argument)
		return as_written(t, p);
	put(t, text);
	put(t, str_from(name, n));
	return back(t, p);
}

const char *html_ref_named(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && t->ref_n < REF_MAX && is(*p, C_ALPHA | C_DIGIT))
		ref_add(t, *p++);
	return p == end ? p : named_done(t, *p, p);
}

const char *html_ref_number(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	t->code = 0;
	if (*p == 'x' || *p == 'X') {
		ref_add(t, *p);
		return turn(t, S_REF_HEX_START, p + 1);
	}
	return is(*p, C_DIGIT) ? turn(t, S_REF_DECIMAL, p) : as_written(t, p);
}

const char *html_ref_hex_start(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	return is(*p, C_HEX) ? turn(t, S_REF_HEX, p) : as_written(t, p);
}

static size_t utf8(uint32_t c, char ret[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		ret[i] = (char)(0x80 | (c & 0x3f));
	ret[0] = (char)(lead[n] | c);
	return n;
}

static void put_code(struct html_tokens *t)
{
	uint32_t c = t->code;
	char text[4];
	if (c == 0 || c > CODE_MAX || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	else if (c >= 0x80 && c <= 0x9f && c1[c - 0x80])
		c = c1[c - 0x80];
	put(t, (struct str){text, utf8(c, text)});
}

static const char *number(struct html_tokens *t, const char *p, const char *end, unsigned base)
{
	for (; p < end && is(*p, base == 16 ? C_HEX : C_DIGIT); p++) {
		unsigned digit =
			is(*p, C_DIGIT) ? (unsigned)(*p - '0') : (unsigned)(lower(*p) - 'a') + 10;
		t->code = MIN(t->code * base + digit, (uint32_t)CODE_MAX + 1);
	}
	if (p == end)
		return p;
	put_code(t);
	return back(t, p + (*p == ';'));
}

const char *html_ref_decimal(struct html_tokens *t, const char *p, const char *end)
{
	return number(t, p, end, 10);
}

const char *html_ref_hex(struct html_tokens *t, const char *p, const char *end)
{
	return number(t, p, end, 16);
}

void html_ref_eof(struct html_tokens *t)
{
	if (t->state == S_REF)
		put(t, STR("&"));
	else if (t->state == S_REF_NAMED)
		named_done(t, 0, NULL);
	else if (t->state == S_REF_NUMBER || t->state == S_REF_HEX_START)
		as_written(t, NULL);
	else
		put_code(t);
	t->state = t->back;
}
