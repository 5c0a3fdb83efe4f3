/* What a document says of its own charset, before anything is decoded: all charsets that can be
 * named in this way have ASCII in common. HTML is read by its tokens, so that comments and scripts
 * do not count, as far as browsers look: within the first 1024 bytes anywhere, later as long as
 * only elements of the head have come. (The standard only asks for the former, but also has
 * browsers begin again when they meet a later <meta>; those that look ahead do not have to.) */
#include "base/ascii.h"
#include "extract/charset_inner.h"
#include "extract/html_element_inner.h"

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
		while (n < s.n && !html_is_space(s.p[n]) && s.p[n] != ';' && s.p[n] != ',')
			n++;
		return str_head(s, n);
	}
}

/* What cannot be, since these very bytes were read one by one as ASCII; and a charset that pages
 * name which are not in it. */
static const char *name_as_ascii(const struct charset_def *def)
{
	if (!def)
		return NULL;
	if (def->kind == CHARSET_UTF16LE || def->kind == CHARSET_UTF16BE)
		return "utf-8";
	return def->index == INDEX_X_USER_DEFINED ? "windows-1252" : def->name;
}

/* HTML. */

struct prescan {
	const char *found;
	bool late;       /* past the first bytes */
	bool after_head; /* something has come that is not part of it */
};

static bool is_over(const struct prescan *p)
{
	return p->found || (p->late && p->after_head);
}

static const struct charset_def *meta_charset(const struct html_tag *tag)
{
	const struct charset_def *def = charset_def(attr_of(tag, STR("charset")));
	if (def || !str_eq_nocase(attr_of(tag, STR("http-equiv")), STR("content-type")))
		return def;
	return charset_def(charset_in_content_type(attr_of(tag, STR("content"))));
}

static bool is_in_head(enum html_element e, bool end)
{
	switch (e) {
	case EL_HTML:
	case EL_HEAD:
		return !end;
	case EL_BASE:
	case EL_LINK:
	case EL_META:
	case EL_NOSCRIPT:
	case EL_OBJECT:
	case EL_SCRIPT:
	case EL_STYLE:
	case EL_TITLE:
		return true;
	default:
		return false;
	}
}

static enum html_state on_prescan_tag(void *ctx, const struct html_tag *tag)
{
	struct prescan *p = ctx;
	enum html_element e = html_element_of(tag->name);
	if (e == EL_META && !tag->end && !is_over(p))
		p->found = name_as_ascii(meta_charset(tag));
	p->after_head |= !is_in_head(e, tag->end);
	return e == EL_NOSCRIPT ? HTML_DATA : (enum html_state)html_elements[e].state;
}

const char *charset_prescan_html(struct str body)
{
	static const struct html_sink sink = {.tag = on_prescan_tag};
	static const struct html_limits limits = {.name = 32, .value = 512, .attrs = 32};
	enum { STEP = 256 };
	struct html_tokens *tokens = html_tokens_new(&limits);
	struct prescan p = {0};
	body = str_head(body, CHARSET_HEAD);
	html_tokens_begin(tokens, &sink, &p, HTML_DATA, STR(""));
	for (size_t at = 0; at < body.n && !is_over(&p); at += STEP) {
		html_tokens_add(tokens, str_head(str_from(body, at), STEP));
		p.late = at + STEP >= CHARSET_PRESCAN;
	}
	html_tokens_free(&tokens);
	return p.found;
}

/* XML. */

/* Cuts name='value' off the declaration. 1: there is none. */
static int next_attribute(struct str *rest, struct str *ret_name, struct str *ret_value)
{
	size_t equals = str_find_byte(*rest, '=');
	struct str value = str_trim(str_from(*rest, equals + 1));
	if (value.n == 0 || (value.p[0] != '"' && value.p[0] != '\''))
		return 1;
	size_t n = str_find_byte(str_from(value, 1), value.p[0]);
	*ret_name = str_trim(str_head(*rest, equals));
	*ret_value = str_head(str_from(value, 1), n);
	*rest = str_from(value, n + 2);
	return 0;
}

const char *charset_prescan_xml(struct str body)
{
	struct str s = str_head(body, CHARSET_PRESCAN), name, value;
	if (!str_starts(s, STR("<?xml")))
		return NULL;
	s = str_head(str_from(s, 5), str_find(str_from(s, 5), STR("?>")));
	while (next_attribute(&s, &name, &value) == 0)
		if (str_is(name, "encoding"))
			return name_as_ascii(charset_def(value));
	return NULL;
}
