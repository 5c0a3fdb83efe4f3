/* HTML. Every text and value goes through one escape function, and names are checked against a
 * list of safe ones, so that no content can break a page. */
#include "net/html.h"

#include "base/ascii.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const void_elements[] = {"br",    "col",  "hr",   "img",
					    "input", "link", "meta", "wbr"};
static const char *const raw_elements[] = {"script",   "style",    "textarea", "title",
					   "xmp",      "iframe",   "noembed",  "noframes",
					   "noscript", "plaintext"};
static const char *const address_attributes[] = {"action", "formaction", "href", "poster", "src"};
/* After these comes a line break; elsewhere it would be a blank that nobody asked for. */
static const char *const block_elements[] = {
	"body", "div", "dl", "footer",  "h1",    "h2",    "head",  "header", "html", "li",
	"main", "nav", "p",  "section", "table", "tbody", "thead", "title",  "tr",   "ul"};
static const char *const schemes[] = {"ftp", "http", "https", "mailto"};

/* Ours, so it is a broken promise where it is wrong. */
static void check_name(const char *name)
{
	ENSURE(ascii_is_lower(name[0]));
	for (const char *p = name; *p; p++)
		ENSURE(ascii_is_lower(*p) || ascii_is_digit(*p) || *p == '-');
}

static size_t utf8_length(struct str s)
{
	unsigned char lead = (unsigned char)s.p[0];
	size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	return s.n >= n && str_utf8(str_head(s, n)) ? n : 0;
}

static const char *escape_of(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return (c < ' ' && c != '\t' && c != '\n') || c == 0x7f ? "\xef\xbf\xbd" : NULL;
	}
}

static void escape_text(struct buf *out, struct str s)
{
	size_t plain = 0; /* bytes that can stand for themselves */
	while (plain < s.n) {
		unsigned char c = (unsigned char)s.p[plain];
		size_t n = c < 0x80 ? 1 : utf8_length(str_from(s, plain));
		const char *instead = c < 0x80 ? escape_of(c) : n ? NULL : "\xef\xbf\xbd";
		if (!instead) {
			plain += n;
			continue;
		}
		buf_add(out, s.p, plain);
		buf_add_text(out, instead);
		s = str_from(s, plain + 1);
		plain = 0;
	}
	buf_add(out, s.p, plain);
}

static void end_tag(struct html *h)
{
	if (h->in_tag)
		buf_add_byte(h->out, '>');
	h->in_tag = false;
}

static void open_tag(struct html *h, const char *element)
{
	struct str name = str_of(element);
	check_name(element);
	ENSURE(!STR_AMONG_NOCASE(name, raw_elements) || str_is(name, "title") ||
	       str_is(name, "textarea"));
	end_tag(h);
	buf_printf(h->out, "<%s", element);
	h->in_tag = true;
	if (STR_AMONG_NOCASE(name, void_elements))
		return;
	ENSURE(h->depth < HTML_DEPTH);
	h->open[h->depth++] = element;
}

/* Blanks and control characters inside a scheme are what browsers pass over. */
static bool address_runs(struct str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] != ':' && s.p[n] != '/' && s.p[n] != '?' && s.p[n] != '#')
		n++;
	return n < s.n && s.p[n] == ':' && !STR_AMONG_NOCASE(str_head(s, n), schemes);
}

void html_attr(struct html *h, const char *name, struct str value)
{
	check_name(name);
	ENSURE(h->in_tag && strncmp(name, "on", 2) != 0 && strcmp(name, "style") != 0 &&
	       strcmp(name, "srcdoc") != 0);
	if (STR_AMONG_NOCASE(str_of(name), address_attributes) && address_runs(value))
		value = STR("about:invalid");
	buf_printf(h->out, " %s=\"", name);
	escape_text(h->out, value);
	buf_add_byte(h->out, '"');
}

/* Pairs of name and value up to a NULL. */
static void put_attrs(struct html *h, va_list pairs)
{
	const char *name, *value;
	while ((name = va_arg(pairs, const char *)))
		if ((value = va_arg(pairs, const char *)))
			html_attr(h, name, str_of(value));
}

void html_open_with(struct html *h, const char *element, ...)
{
	va_list pairs;
	open_tag(h, element);
	va_start(pairs, element);
	put_attrs(h, pairs);
	va_end(pairs);
}

void html_attr_text(struct html *h, const char *name, const char *value)
{
	html_attr(h, name, str_of(value));
}

void html_str(struct html *h, struct str text)
{
	end_tag(h);
	escape_text(h->out, text);
}

void html_text(struct html *h, const char *text)
{
	html_str(h, str_of(text));
}

void html_printf(struct html *h, const char *fmt, ...)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	char line[256];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	ENSURE(n >= 0);
	if ((size_t)n < sizeof line) {
		html_str(h, (struct str){line, (size_t)n});
		return;
	}
	char *room = buf_room(&text, (size_t)n + 1);
	ENSURE(room);
	va_start(ap, fmt);
	vsnprintf(room, (size_t)n + 1, fmt, ap);
	va_end(ap);
	html_str(h, (struct str){room, (size_t)n});
}

void html_close(struct html *h, const char *element)
{
	ENSURE(h->depth > 0 && strcmp(h->open[h->depth - 1], element) == 0);
	end_tag(h);
	h->depth--;
	buf_printf(h->out, "</%s>", element);
	if (STR_AMONG_NOCASE(str_of(element), block_elements))
		buf_add_byte(h->out, '\n');
}

void html_begin(struct html *h)
{
	ENSURE(h->depth == 0);
	buf_add_text(h->out, "<!DOCTYPE html>\n");
	html_open(h, "html", "lang", "en");
	html_open(h, "head");
	html_open(h, "meta", "charset", "utf-8");
}

void html_script(struct html *h, const char *path)
{
	ENSURE(path[0] == '/' && path[1] != '/');
	for (const char *p = path; *p; p++)
		ENSURE(ascii_is_lower(*p) || *p == '/' || *p == '.' || *p == '-');
	end_tag(h);
	buf_printf(h->out, "<script src=\"%s\" defer></script>\n", path);
}

void html_put_with(struct html *h, const char *element, struct str text, ...)
{
	va_list pairs;
	open_tag(h, element);
	va_start(pairs, text);
	put_attrs(h, pairs);
	va_end(pairs);
	html_str(h, text);
	html_close(h, element);
}

void html_put_text_with(struct html *h, const char *element, const char *text, ...)
{
	va_list pairs;
	open_tag(h, element);
	va_start(pairs, text);
	put_attrs(h, pairs);
	va_end(pairs);
	html_text(h, text);
	html_close(h, element);
}

void html_link(struct html *h, struct str href, const char *rel, struct str text)
{
	html_open(h, "a");
	html_attr(h, "href", href);
	if (rel)
		html_attr_text(h, "rel", rel);
	html_str(h, text);
	html_close(h, "a");
}
