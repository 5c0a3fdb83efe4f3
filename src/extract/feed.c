/* Feeds: RSS 0.9 to 2.0 and Atom. Items become links with their titles; titles and summaries are
 * the text. */
#include "extract/date.h"
#include "extract/xml_inner.h"

static const struct {
	const char *name;
	enum feed_field field;
} elements[] = {
	{"title", FEED_TITLE},
	{"link", FEED_LINK},
	{"guid", FEED_ID},
	{"pubDate", FEED_DATE},
	{"published", FEED_DATE},
	{"updated", FEED_DATE},
	{"modified", FEED_DATE},
	{"dc:date", FEED_DATE},
	{"description", FEED_SUMMARY},
	{"summary", FEED_SUMMARY},
	{"subtitle", FEED_SUMMARY},
	{"content", FEED_SUMMARY},
	{"content:encoded", FEED_SUMMARY},
	{"tagline", FEED_SUMMARY},
	{"language", FEED_LANGUAGE},
	{"dc:language", FEED_LANGUAGE},
	{"dc:creator", FEED_AUTHOR},
	{"name", FEED_AUTHOR},
};

static enum feed_field field_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(elements); i++)
		if (str_is(name, elements[i].name))
			return elements[i].field;
	return FEED_NONE;
}

static bool is_item(struct str name)
{
	return str_is(name, "item") || str_is(name, "entry");
}

static void clear_fields(struct xml *x)
{
	for (int i = 0; i < FEED_FIELDS; i++)
		buf_clear(&x->field[i]);
	x->time_s = 0;
	x->id_is_link = true;
}

static void set_field(struct xml *x, int field, struct str value)
{
	buf_clear(&x->field[field]);
	buf_add_str(&x->field[field], value);
}

static bool is_block(struct str tag)
{
	static const char *const names[] = {"p", "br", "div", "li", "tr", "h1", "h2", "h3"};
	size_t n = 0;
	while (n < tag.n && tag.p[n] != '>' && tag.p[n] != ' ' && tag.p[n] != '/')
		n++;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(str_head(tag, n), str_of(names[i])))
			return true;
	return false;
}

/* Markup in titles and summaries is text that was escaped once more: tags are dropped, the most
 * common entities are read. */
static void flow_markup(struct text_flow *f, struct str s)
{
	static const struct {
		struct str name, text;
	} entities[] = {{{"&amp;", 5}, {"&", 1}},  {{"&lt;", 4}, {"<", 1}},
			{{"&gt;", 4}, {">", 1}},   {{"&quot;", 6}, {"\"", 1}},
			{{"&apos;", 6}, {"'", 1}}, {{"&#39;", 5}, {"'", 1}},
			{{"&nbsp;", 6}, {" ", 1}}, {{"&#8217;", 7}, {"\xe2\x80\x99", 3}}};
	while (s.n) {
		size_t n = 0;
		while (n < s.n && s.p[n] != '<' && s.p[n] != '&')
			n++;
		text_flow(f, str_head(s, n));
		s = str_from(s, n);
		if (s.n == 0)
			return;
		size_t k = 0;
		while (k < ARRAY_LEN(entities) && !str_starts(s, entities[k].name))
			k++;
		if (k < ARRAY_LEN(entities)) {
			text_flow(f, entities[k].text);
			s = str_from(s, entities[k].name.n);
		} else if (s.p[0] == '<' && s.n > 1 && (s.p[1] | 32) >= '/' && s.p[1] != ' ') {
			bool block = is_block(str_from(s, 1));
			s = str_from(s, str_find_byte(s, '>') + 1);
			text_gap(f, block ? '\n' : ' ');
		} else {
			text_flow(f, str_head(s, 1));
			s = str_from(s, 1);
		}
	}
}

/* Atom's links: the target is in href. */
static void atom_link(struct xml *x, const char **attributes)
{
	const char *href = xml_attribute(attributes, "href"),
		   *rel = xml_attribute(attributes, "rel");
	struct str url;
	if (!href)
		return;
	if (!rel || str_is(str_of(rel), "alternate")) {
		if (x->field[FEED_LINK].n == 0)
			set_field(x, FEED_LINK, str_of(href));
	} else if (str_is(str_of(rel), "enclosure") && xml_resolve(x, str_of(href), &url)) {
		out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_EMBED});
	} else if (str_is(str_of(rel), "next") && xml_resolve(x, str_of(href), &url)) {
		out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_FEED});
	}
}

/* The link, title and summary of the feed itself, before its first item. */
static void end_head(struct xml *x)
{
	struct str url, title = buf_str(&x->field[FEED_TITLE]);
	out_meta(x->out, 3, META_TITLE, title);
	out_meta(x->out, 1, META_DESCRIPTION, buf_str(&x->field[FEED_SUMMARY]));
	out_meta(x->out, 1, META_AUTHOR, buf_str(&x->field[FEED_AUTHOR]));
	(void)out_language(x->out, buf_str(&x->field[FEED_LANGUAGE]));
	if (x->time_s)
		out_meta_number(x->out, META_MODIFIED, x->time_s);
	if (x->field[FEED_LINK].n && xml_resolve(x, buf_str(&x->field[FEED_LINK]), &url))
		out_link(x->out,
			 &(struct doc_link){.url = url, .kind = LINK_ANCHOR, .text = title});
	clear_fields(x);
}

static void end_item(struct xml *x)
{
	struct doc_link l = {.kind = LINK_ITEM, .time_s = x->time_s};
	struct buf *to = &x->field[FEED_LINK];
	l.text = buf_str(&x->field[FEED_TITLE]);
	if (to->n == 0 && x->id_is_link)
		to = &x->field[FEED_ID];
	if (to->n && xml_resolve(x, buf_str(to), &l.url))
		out_link(x->out, &l);
	else
		x->ret->links_left_out++;
	text_gap(&x->flow, '\n');
	flow_markup(&x->flow, l.text);
	text_gap(&x->flow, '\n');
	flow_markup(&x->flow, buf_str(&x->field[FEED_SUMMARY]));
	x->in_item = false;
	clear_fields(x);
}

static void feed_start(struct xml *x, struct str name, const char **attributes)
{
	enum feed_field field = field_of(name);
	if (x->depth == 1) {
		const char *language = xml_attribute(attributes, "xml:lang");
		clear_fields(x);
		if (language)
			set_field(x, FEED_LANGUAGE, str_of(language));
	}
	if (is_item(name) && !x->in_item && !x->kept_depth) {
		if (!x->head_ended)
			end_head(x);
		x->head_ended = x->in_item = true;
		return;
	}
	if (x->kept_depth || (x->head_ended && !x->in_item))
		return;
	if (str_is(name, "link") || str_is(name, "atom:link"))
		atom_link(x, attributes);
	if (str_is(name, "enclosure") && xml_attribute(attributes, "url")) {
		struct str url;
		if (xml_resolve(x, str_of(xml_attribute(attributes, "url")), &url))
			out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_EMBED});
	}
	if (str_is(name, "guid")) {
		const char *permanent = xml_attribute(attributes, "isPermaLink");
		x->id_is_link = !permanent || str_is(str_of(permanent), "true");
	}
	if (field != FEED_NONE)
		xml_keep(x, (int)field);
}

/* The first link and title count, the longest summary, the latest date. */
static void keep_value(struct xml *x, int field, struct str value)
{
	int64_t time_s;
	if (field == FEED_DATE) {
		if (date_parse(value, &time_s) && time_s > x->time_s)
			x->time_s = time_s;
	} else if (value.n && (x->field[field].n == 0 ||
			       (field == FEED_SUMMARY && value.n > x->field[field].n))) {
		set_field(x, field, value);
	}
}

static void feed_end(struct xml *x, struct str name)
{
	int field = xml_kept(x);
	if (field)
		keep_value(x, field, str_trim(buf_str(&x->value)));
	if (is_item(name) && x->in_item && !x->kept_depth)
		end_item(x);
	if (x->depth == 1 && !x->head_ended)
		end_head(x);
}

const struct xml_kind xml_feed = {EXTRACT_FEED, feed_start, feed_end, xml_no_text};
