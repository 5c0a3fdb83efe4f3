/* What a document says of its own charset, by the prescan of the HTML standard: only markup counts,
 * comments do not, and only the first bytes are looked at. */
#include "extract/charset_inner.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* An attribute and its value; rest goes behind them. 1: the tag ends here. */
static int next_attribute(struct str *rest, struct str *ret_name, struct str *ret_value)
{
	struct str s = *rest;
	size_t i = 0, from;
	while (i < s.n && (is_space(s.p[i]) || s.p[i] == '/'))
		i++;
	if (i == s.n || s.p[i] == '>') {
		*rest = str_from(s, i + (i < s.n));
		return 1;
	}
	for (from = i; i < s.n && !is_space(s.p[i]) && s.p[i] != '/' && s.p[i] != '>' &&
		       (s.p[i] != '=' || i == from);)
		i++;
	*ret_name = str_range(s.p + from, s.p + i);
	*ret_value = STR("");
	size_t behind = i;
	while (behind < s.n && is_space(s.p[behind]))
		behind++;
	if (behind < s.n && s.p[behind] == '=') {
		for (i = behind + 1; i < s.n && is_space(s.p[i]);)
			i++;
		if (i < s.n && (s.p[i] == '"' || s.p[i] == '\'')) {
			struct str quoted = str_from(s, i + 1);
			size_t n = str_find_byte(quoted, s.p[i]);
			*ret_value = str_head(quoted, n);
			i += n + 2;
		} else {
			for (from = i; i < s.n && !is_space(s.p[i]) && s.p[i] != '>';)
				i++;
			*ret_value = str_range(s.p + from, s.p + i);
		}
	}
	*rest = str_from(s, i);
	return 0;
}

static size_t find_nocase(struct str s, struct str word)
{
	for (size_t i = 0; i + word.n <= s.n; i++)
		if (str_eq_nocase(str_head(str_from(s, i), word.n), word))
			return i;
	return s.n;
}

struct str charset_in_content_type(struct str value)
{
	static const struct str word = {"charset", 7};
	for (;;) {
		size_t at = find_nocase(value, word);
		if (at == value.n)
			return STR("");
		value = str_from(value, at + word.n);
		struct str s = str_trim(value);
		if (s.n == 0 || s.p[0] != '=')
			continue;
		s = str_trim(str_from(s, 1));
		if (s.n && (s.p[0] == '"' || s.p[0] == '\'')) {
			struct str quoted = str_from(s, 1);
			size_t n = str_find_byte(quoted, s.p[0]);
			return n < quoted.n ? str_head(quoted, n) : STR("");
		}
		size_t n = 0;
		while (n < s.n && !is_space(s.p[n]) && s.p[n] != ';' && s.p[n] != ',')
			n++;
		return str_head(s, n);
	}
}

/* What cannot be, since these very bytes were read one by one as ASCII. */
static const char *as_ascii(const struct charset_def *def)
{
	if (!def)
		return NULL;
	bool wide = def->kind == CHARSET_UTF16LE || def->kind == CHARSET_UTF16BE;
	return wide ? "utf-8" : def->name;
}

/* Behind "<meta". */
static const char *meta_charset(struct str *rest)
{
	struct str name, value, content = STR("");
	const struct charset_def *found = NULL;
	bool pragma = false, by_charset = false;
	while (next_attribute(rest, &name, &value) == 0) {
		if (str_eq_nocase(name, STR("http-equiv")))
			pragma = str_eq_nocase(value, STR("content-type"));
		else if (str_eq_nocase(name, STR("content")))
			content = value;
		else if (str_eq_nocase(name, STR("charset")) && !by_charset) {
			found = charset_def(value);
			by_charset = true;
		}
	}
	if (!by_charset && pragma)
		found = charset_def(charset_in_content_type(content));
	return as_ascii(found);
}

const char *charset_prescan_html(struct str body)
{
	struct str s = str_head(body, CHARSET_PRESCAN), name, value;
	const char *found;
	for (;;) {
		s = str_from(s, str_find_byte(s, '<'));
		if (s.n < 2)
			return NULL;
		if (str_starts(s, STR("<!--"))) {
			struct str inner = str_from(s, 2);
			s = str_from(inner, str_find(inner, STR("-->")) + 3);
			continue;
		}
		struct str tag = str_from(s, s.p[1] == '/' ? 2 : 1);
		if (tag.n && is_letter(tag.p[0])) {
			size_t n = 0;
			while (n < tag.n && !is_space(tag.p[n]) && tag.p[n] != '/' &&
			       tag.p[n] != '>')
				n++;
			bool meta = s.p[1] != '/' && str_eq_nocase(str_head(tag, n), STR("meta"));
			s = str_from(tag, n);
			if (meta && s.n && (found = meta_charset(&s)))
				return found;
			if (!meta)
				while (next_attribute(&s, &name, &value) == 0)
					;
		} else if (s.p[1] == '!' || s.p[1] == '/' || s.p[1] == '?') {
			s = str_from(s, str_find_byte(s, '>'));
		} else {
			s = str_from(s, 1);
		}
	}
}

const char *charset_prescan_xml(struct str body)
{
	struct str s = str_head(body, CHARSET_PRESCAN), name, value;
	if (!str_starts(s, STR("<?xml")))
		return NULL;
	s = str_head(str_from(s, 5), str_find(str_from(s, 5), STR("?>")));
	while (next_attribute(&s, &name, &value) == 0)
		if (str_is(name, "encoding"))
			return as_ascii(charset_def(value));
	return NULL;
}
