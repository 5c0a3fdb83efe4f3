/* Plain messages. For each message expat starts again and builds tables of its names, which costs
 * more than the parsing: 3 us for the answer of a robot, and a tree of botms reads eight messages
 * per URL. Anything that is not plainly valid is left to expat, so that only one place refuses
 * messages and says why. */
#include "net/xml_plain_inner.h"

#include "base/ascii.h"

/* Bytes at the beginning that are a name without a prefix. */
static size_t name_length(struct str s)
{
	size_t n = 0;
	while (n < s.n && (ascii_is_letter(s.p[n]) || s.p[n] == '_' ||
			   (n && (ascii_is_digit(s.p[n]) || s.p[n] == '-' || s.p[n] == '.'))))
		n++;
	return n;
}

/* Bytes of a value up to its quote; *ret_escaped: there are entities among them. Where it is not
 * plain it ends without a quote. */
static size_t value_length(struct str s, bool *ret_escaped)
{
	size_t n = 0;
	*ret_escaped = false;
	for (; n < s.n && s.p[n] != '"'; n++) {
		if (s.p[n] < ' ' || s.p[n] > '~' || s.p[n] == '<')
			break;
		*ret_escaped |= s.p[n] == '&';
	}
	return n;
}

/* The character of the entity at the beginning, whose length is *ret_n; 0: it is none of XML's. */
static char entity_char(struct str s, size_t *ret_n)
{
	static const struct {
		const char *text;
		char c;
	} entities[] = {
		{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}};
	for (size_t i = 0; i < ARRAY_LEN(entities); i++)
		if (str_starts(s, str_of(entities[i].text))) {
			*ret_n = strlen(entities[i].text);
			return entities[i].c;
		}
	return 0;
}

static bool value_unescape(struct xml_plain *p, struct str s, struct str *ret)
{
	size_t from = p->values.n;
	while (s.n) {
		size_t n = str_find_byte(s, '&');
		buf_add(&p->values, s.p, n);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		char c = entity_char(s, &n);
		if (!c)
			return false;
		buf_add_byte(&p->values, c);
		s = str_from(s, n);
	}
	*ret = (struct str){p->values.p + from, p->values.n - from};
	return true;
}

static bool has_attr(const struct xml_tag *tag, struct str name)
{
	for (size_t i = 0; i < tag->n; i++)
		if (str_eq(tag->attr[i].name, name))
			return true;
	return false;
}

/* ` name="value"`; how long it is, 0: something else. */
static size_t attr_read(struct xml_plain *p, struct str s, struct xml_tag *tag)
{
	bool is_escaped;
	size_t at = 0;
	while (at < s.n && s.p[at] == ' ')
		at++;
	if (at == 0)
		return 0;
	struct str name = str_head(str_from(s, at), name_length(str_from(s, at)));
	at += name.n;
	if (name.n == 0 || !str_starts(str_from(s, at), STR("=\"")) || has_attr(tag, name) ||
	    str_starts(name, STR("xmlns")))
		return 0;
	at += 2;
	struct str value = str_head(str_from(s, at), value_length(str_from(s, at), &is_escaped));
	at += value.n;
	if (at == s.n || s.p[at] != '"' || (is_escaped && !value_unescape(p, value, &value)))
		return 0;
	p->attr[tag->n++] = (struct xml_attr){name, value};
	return at + 1;
}

int xml_plain_read(struct xml_plain *p, struct str bytes, const struct xml_limits *limits,
		   struct xml_tag *ret, size_t *ret_n)
{
	size_t most = MIN(limits->attrs, (size_t)XML_PLAIN_ATTRS);
	size_t end = str_find_byte(bytes, '>'); /* one in a value is escaped, or it is not plain */
	struct xml_tag tag = {.uri = STR(""), .prefix = STR(""), .attr = p->attr};
	if (end >= MIN(limits->token_max, limits->message_max) || end + 1 > bytes.n || end < 3 ||
	    bytes.p[0] != '<' || bytes.p[end - 1] != '/')
		return 1;
	struct str s = {bytes.p + 1, end - 2};
	tag.name = str_head(s, name_length(s));
	s = str_from(s, tag.name.n);
	buf_clear(&p->values);
	(void)buf_room(&p->values, s.n); /* so that it stays where it is */
	for (size_t n; tag.n < most && (n = attr_read(p, s, &tag)) > 0;)
		s = str_from(s, n);
	while (s.n && s.p[0] == ' ')
		s = str_from(s, 1);
	if (tag.name.n == 0 || s.n)
		return 1;
	*ret = tag;
	*ret_n = end + 1;
	return 0;
}
