/* How feeds write text: as it stands, as HTML that is escaped once more, or as elements in the
 * middle of the feed. Markup of both kinds is gathered as HTML and then read by the reader of HTML.
 * Atom says which it is. RSS does not, and titles come in both forms: those that have an end tag
 * or a reference, and no tag or reference unknown to HTML, are taken for HTML, as other readers of
 * feeds do. */
#include "base/ascii.h"
#include "extract/feed_inner.h"
#include "extract/html_element_inner.h"
#include "extract/html_entities_inner.h"

static const struct {
	const char *type;
	enum feed_form form;
} types[] = {
	{"text", FORM_TEXT},      {"html", FORM_HTML},       {"xhtml", FORM_INLINE},
	{"text/html", FORM_HTML}, {"text/xml", FORM_INLINE}, {"application/xml", FORM_INLINE},
};

/* RFC 4287, 3.1.1 and 4.1.3; `mode` is that of Atom 0.3. */
enum feed_form feed_atom_form(const char **attributes)
{
	const char *type = xml_attribute(attributes, "type"),
		   *mode = xml_attribute(attributes, "mode");
	bool escaped = mode && str_is(str_of(mode), "escaped");
	if (mode && str_is(str_of(mode), "base64"))
		return FORM_BINARY;
	if (!type)
		return escaped ? FORM_GUESS : FORM_TEXT;
	struct str t = str_of(type);
	t = str_trim(str_head(t, str_find_byte(t, ';')));
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq_nocase(t, str_of(types[i].type)))
			return types[i].form;
	if (t.n > 4 && str_eq_nocase(str_from(t, t.n - 4), STR("+xml")))
		return escaped ? FORM_HTML : FORM_INLINE;
	bool plain = str_find_byte(t, '/') == t.n || str_eq_nocase(str_head(t, 5), STR("text/"));
	return plain ? FORM_TEXT : FORM_BINARY;
}

static void add_escaped(struct xml *x, struct str s)
{
	static const struct str escapes[] = {['"'] = {"&quot;", 6},
					     ['&'] = {"&amp;", 5},
					     ['<'] = {"&lt;", 4},
					     ['>'] = {"&gt;", 4}};
	size_t from = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= ARRAY_LEN(escapes) || escapes[c].n == 0)
			continue;
		xml_keep_text(x, str_range(s.p + from, s.p + i));
		xml_keep_text(x, escapes[c]);
		from = i + 1;
	}
	xml_keep_text(x, str_from(s, from));
}

/* Elements where plain text was expected: it is markup from here on. */
static void become_inline(struct xml *x)
{
	CLEANUP(buf_free) struct buf before = BUF_INIT(XML_VALUE_MAX);
	buf_add_str(&before, buf_str(&x->value));
	buf_clear(&x->value);
	add_escaped(x, buf_str(&before));
	x->feed->form = FORM_INLINE;
}

/* Those of other namespaces mean nothing in HTML. */
static bool is_html(const struct xml_name *name)
{
	return name->space == XML_XHTML || name->space == XML_OWN || name->space == XML_ATOM;
}

static void add_attribute(struct xml *x, const char *name, const char *value)
{
	struct str key = str_of(name), text = str_of(value), url;
	bool link = str_is(key, "href") || str_is(key, "src");
	/* the reader of HTML knows one base, that of the whole */
	if (link && x->nbases > x->feed->bases && xml_resolve(x, text, &url))
		text = url;
	xml_keep_text(x, STR(" "));
	xml_keep_text(x, key);
	xml_keep_text(x, STR("=\""));
	add_escaped(x, text);
	xml_keep_text(x, STR("\""));
}

void feed_text_open(struct xml *x, const struct xml_name *name, const char **attributes)
{
	struct feed *f = x->feed;
	if (f->form == FORM_BINARY)
		return;
	if (f->form != FORM_HTML && f->form != FORM_INLINE)
		become_inline(x);
	if (!is_html(name)) {
		xml_keep_text(x, STR(" "));
		return;
	}
	xml_keep_text(x, STR("<"));
	xml_keep_text(x, name->local);
	for (; attributes[0]; attributes += 2)
		if (!strchr(attributes[0], ':'))
			add_attribute(x, attributes[0], attributes[1]);
	xml_keep_text(x, STR(">"));
}

void feed_text_close(struct xml *x, const struct xml_name *name)
{
	if (x->feed->form == FORM_BINARY)
		return;
	if (!is_html(name)) {
		xml_keep_text(x, STR(" "));
		return;
	}
	xml_keep_text(x, STR("</"));
	xml_keep_text(x, name->local);
	xml_keep_text(x, STR(">"));
}

void feed_text_add(struct xml *x, struct str s)
{
	if (!x->kept_depth || x->feed->form == FORM_BINARY)
		return;
	if (x->feed->form == FORM_INLINE)
		add_escaped(x, s);
	else
		xml_keep_text(x, s);
}

/* Elements that make no difference to the text of a page, and are still HTML. */
static const char *const plain_elements[] = {
	"abbr", "acronym", "bdi",   "bdo",    "big",  "blink", "cite", "code", "data", "del",
	"font", "ins",     "kbd",   "label",  "nobr", "q",     "rb",   "rt",   "rtc",  "ruby",
	"s",    "samp",    "small", "strike", "sub",  "sup",   "time", "tt",   "u",    "var",
};

/* Of those that a title may have: not of a whole page, and not one that would hide what is inside,
 * which is what titles that have these write about. */
static bool is_element(struct str name)
{
	char lower[16];
	if (name.n > sizeof lower)
		return false;
	name = str_lower(name, lower);
	if (STR_AMONG(name, plain_elements))
		return true;
	enum html_element e = html_element_of(name);
	bool whole = e == EL_TITLE || e == EL_HEAD || e == EL_BODY;
	return e != EL_OTHER && !whole && !(html_elements[e].flags & (HE_INERT | HE_PAGE));
}

static struct str word_at(struct str s)
{
	size_t n = 0;
	while (n < s.n && ascii_is_alnum(s.p[n]))
		n++;
	return str_head(s, n);
}

/* Looks at the tag at `<`. false: it is not one of HTML. */
static bool see_tag(struct str s, bool *html)
{
	bool end = s.n > 1 && s.p[1] == '/';
	struct str name = word_at(str_from(s, end ? 2 : 1));
	if (name.n == 0)
		return true; /* nothing but a sign */
	if (end && str_from(s, 2 + name.n).n && s.p[2 + name.n] == '>')
		*html = true;
	return is_element(name);
}

/* The same of a reference at `&`. */
static bool see_reference(struct str s, bool *html)
{
	bool number = s.n > 1 && s.p[1] == '#';
	struct str name = word_at(str_from(s, number ? 2 : 1)), text;
	if (name.n == 0 || str_from(s, (number ? 2 : 1) + name.n).n == 0 ||
	    s.p[(number ? 2 : 1) + name.n] != ';')
		return true;
	*html = true;
	return number || html_entity(name, &text) == 0;
}

static bool looks_like_html(struct str s)
{
	bool html = false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '<' && !see_tag(str_from(s, i), &html))
			return false;
		if (s.p[i] == '&' && !see_reference(str_from(s, i), &html))
			return false;
	}
	return html;
}

bool feed_text_end(struct xml *x)
{
	enum feed_form form = x->feed->form;
	return form == FORM_HTML || form == FORM_INLINE ||
	       (form == FORM_GUESS && looks_like_html(buf_str(&x->value)));
}

struct str feed_text_plain(struct xml *x, struct str markup)
{
	struct out out = {.text = x->feed->text, .text_max = sizeof x->feed->text};
	html_part_read(x->feed->html, markup, NULL, &out);
	return (struct str){out.text, out.text_n};
}
