/* Attributes built in place. The memory is cut in three: the list, the values, and the text, which
 * grows in reading order while the others are added; out_end() then puts the text into the list.
 * Nothing is allocated, so that a worker can write straight into memory it shares with its owner.
 */
#include "extract/out.h"
#include "base/ascii.h"

/* An entry of the list takes about as much room as a short URL; text becomes few attributes, since
 * they are long. */
enum { LIST_SHARE = 8, SIDE_SHARE = 2 };

void out_begin(struct out *o, void *memory, size_t size, size_t links_max)
{
	size_t list = size / LIST_SHARE / sizeof(struct attr);
	char *p = memory;
	*o = (struct out){.attr = memory, .max = list, .links_max = links_max};
	p += list * sizeof(struct attr);
	size -= list * sizeof(struct attr);
	o->side = p;
	o->side_max = size / SIDE_SHARE;
	o->text = p + o->side_max;
	o->text_max = size - o->side_max;
	if (o->links_max == 0)
		o->links_max = SIZE_MAX;
}

void out_text(struct out *o, struct str s)
{
	size_t n = str_utf8_head(s, o->text_max - o->text_n).n;
	if (n < s.n)
		o->flags |= OUT_TEXT_CUT;
	if (n == 0)
		return;
	memcpy(o->text + o->text_n, s.p, n);
	o->text_n += n;
}

/* Where a value that is too long is cut: after a blank if there is one in its last quarter. */
static size_t piece_of(struct str s)
{
	size_t n = str_utf8_head(s, OUT_VALUE_MAX).n;
	if (n == s.n)
		return n;
	for (size_t i = n; i > OUT_VALUE_MAX * 3 / 4; i--)
		if (s.p[i - 1] == ' ' || s.p[i - 1] == '\n')
			return i;
	return n;
}

static bool attr_enter(struct out *o, char name, const char *p, size_t n)
{
	if (o->n == o->max) {
		o->flags |= name == 'X' ? OUT_TEXT_CUT : OUT_SIDE_CUT;
		return false;
	}
	o->attr[o->n++] = (struct attr){name, {p, n}};
	return true;
}

void out_end(struct out *o)
{
	struct str rest = {o->text, o->text_n};
	while (rest.n) {
		size_t n = piece_of(rest);
		if (!attr_enter(o, 'X', rest.p, n))
			return;
		rest = str_from(rest, n);
	}
}

/* Room for n bytes of a value, which add_written() then ends; NULL: there is none. An eighth of the
 * entries is left for what out_end() adds. */
static char *room_for(struct out *o, size_t n)
{
	if (o->side_max - o->side_n < n || o->n + o->max / 8 >= o->max) {
		o->flags |= OUT_SIDE_CUT;
		return NULL;
	}
	return o->side + o->side_n;
}

static void add_written(struct out *o, char name, size_t n)
{
	if (attr_enter(o, name, o->side + o->side_n, n))
		o->side_n += n;
}

bool out_add(struct out *o, char name, struct str value)
{
	do {
		size_t n = piece_of(value);
		char *p = room_for(o, n);
		if (!p)
			return false;
		if (n)
			memcpy(p, value.p, n);
		add_written(o, name, n);
		value = str_from(value, n);
	} while (value.n);
	return true;
}

/* Drops the beginning of a character at the end. */
static size_t without_torn(const char *p, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)p[n - back];
		if (c >= 0xc0)
			return back < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n - back : n;
		if (c < 0x80)
			return n;
	}
	return n;
}

/* Copies with white space and control characters as single blanks, none at the ends, at most cap
 * bytes. */
static size_t squeeze_blanks(char *to, size_t cap, struct str from)
{
	size_t n = 0;
	bool blank = false;
	for (size_t i = 0; i < from.n; i++) {
		unsigned char c = (unsigned char)from.p[i];
		if (c <= ' ' || c == 0x7f) {
			blank = n > 0;
			continue;
		}
		if (n + blank >= cap)
			return without_torn(to, n);
		if (blank)
			to[n++] = ' ';
		blank = false;
		to[n++] = (char)c;
	}
	return n;
}

static size_t text_limit(char tag)
{
	return tag == META_DESCRIPTION || tag == META_KEYWORDS || tag == META_CANONICAL
		       ? OUT_VALUE_MAX - 2
		       : OUT_META_MAX;
}

void out_meta(struct out *o, int weight, char tag, struct str text)
{
	size_t cap = MIN(text_limit(tag), text.n);
	char *p = room_for(o, 2 + cap);
	if (!p)
		return;
	size_t n = squeeze_blanks(p + 2, cap, text);
	if (n == 0)
		return;
	p[0] = (char)('0' + weight);
	p[1] = tag;
	add_written(o, 'M', 2 + n);
}

void out_number(struct out *o, char name, uint64_t number)
{
	char text[STR_DECIMAL_MAX];
	out_add(o, name, (struct str){text, str_decimal(text, number)});
}

void out_meta_number(struct out *o, char tag, int64_t number)
{
	char text[STR_DECIMAL_MAX];
	if (number >= 0)
		out_meta(o, 0, tag, (struct str){text, str_decimal(text, (uint64_t)number)});
}

bool out_language(struct out *o, struct str language)
{
	char text[36];
	size_t n = 0;
	language = str_trim(str_head(language, str_find_byte(language, ',')));
	for (; n < MIN(language.n, sizeof text); n++) {
		char c = ascii_lower(language.p[n]);
		if (!ascii_is_alnum(c) && c != '-' && c != '_')
			return false;
		text[n] = c == '_' ? '-' : c;
	}
	if (n == 0 || language.n > sizeof text)
		return false;
	out_meta(o, 0, META_LANGUAGE, (struct str){text, n});
	return true;
}

void out_link(struct out *o, const struct doc_link *l)
{
	struct str url = str_head(l->url, str_find_byte(l->url, '#'));
	size_t cap = MIN((size_t)OUT_META_MAX, l->text.n);
	if (url.n == 0)
		return;
	if (url.n > OUT_URL_MAX) {
		o->links_left_out++;
		return;
	}
	char *p = o->links < o->links_max ? room_for(o, url.n + 1 + LINK_WORD_MAX + 1 + cap) : NULL;
	if (!p) {
		o->flags |= OUT_LINKS_CUT;
		o->links_left_out++;
		return;
	}
	memcpy(p, url.p, url.n);
	size_t n = url.n;
	p[n++] = ' ';
	n += link_word(p + n, l);
	size_t text = squeeze_blanks(p + n + 1, cap, l->text);
	if (text) {
		p[n] = ' ';
		n += 1 + text;
	}
	add_written(o, link_letter(l->kind), n);
	o->links++;
}
