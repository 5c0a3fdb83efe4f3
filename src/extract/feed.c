/* Feeds: RSS 0.9 to 2.0 and Atom. Items become links with their titles; titles and summaries are
 * the text, and links in the summaries are links of the feed. An element counts where it belongs:
 * as a child of the feed (or its channel) or of an item, so that the title of a picture or of the
 * feed that an item was taken from is not mistaken for theirs. */
#include "extract/feed_inner.h"

#include "extract/date_inner.h"

/* The form is that of RSS; XML_OWN also stands for Atom, which says it itself. */
static const struct element {
	enum xml_space space;
	const char *name;
	enum feed_field field;
	enum feed_form form;
} elements[] = {
	{XML_OWN, "title", FEED_TITLE, FORM_GUESS},
	{XML_OWN, "link", FEED_LINK, FORM_TEXT},
	{XML_OWN, "guid", FEED_ID, FORM_TEXT},
	{XML_OWN, "pubDate", FEED_DATE, FORM_TEXT},
	{XML_OWN, "published", FEED_DATE, FORM_TEXT},
	{XML_OWN, "updated", FEED_DATE, FORM_TEXT},
	{XML_OWN, "modified", FEED_DATE, FORM_TEXT},
	{XML_OWN, "issued", FEED_DATE, FORM_TEXT},
	{XML_DC, "date", FEED_DATE, FORM_TEXT},
	{XML_DCTERMS, "issued", FEED_DATE, FORM_TEXT},
	{XML_DCTERMS, "modified", FEED_DATE, FORM_TEXT},
	{XML_OWN, "lastBuildDate", FEED_BUILT, FORM_TEXT},
	{XML_OWN, "description", FEED_SUMMARY, FORM_HTML},
	{XML_OWN, "summary", FEED_SUMMARY, FORM_HTML},
	{XML_OWN, "subtitle", FEED_SUMMARY, FORM_HTML},
	{XML_OWN, "content", FEED_SUMMARY, FORM_HTML},
	{XML_OWN, "tagline", FEED_SUMMARY, FORM_HTML},
	{XML_CONTENT, "encoded", FEED_SUMMARY, FORM_HTML},
	{XML_XHTML, "body", FEED_SUMMARY, FORM_INLINE},
	{XML_XHTML, "div", FEED_SUMMARY, FORM_INLINE},
	{XML_OWN, "language", FEED_LANGUAGE, FORM_TEXT},
	{XML_DC, "language", FEED_LANGUAGE, FORM_TEXT},
	{XML_DC, "creator", FEED_AUTHOR, FORM_GUESS},
};
static const struct element author_name = {XML_OWN, "name", FEED_AUTHOR, FORM_TEXT};

static bool is_own(const struct xml_name *name, const char *local)
{
	return (name->space == XML_OWN || name->space == XML_ATOM) && str_is(name->local, local);
}

static const struct element *element_of(const struct xml_name *name)
{
	enum xml_space space = name->space == XML_ATOM ? XML_OWN : name->space;
	for (size_t i = 0; i < ARRAY_LEN(elements); i++)
		if (elements[i].space == space && str_is(name->local, elements[i].name))
			return &elements[i];
	return NULL;
}

static void part_clear(struct feed_part *p)
{
	for (int i = 0; i < FEED_FIELDS; i++)
		buf_clear(&p->field[i]);
	buf_clear(&p->base);
	p->time_s = p->built_s = 0;
	p->id_is_link = true;
	p->link_is_page = p->markup = false;
}

static void part_init(struct feed_part *p)
{
	for (int i = 0; i < FEED_FIELDS; i++)
		p->field[i] = BUF_INIT(XML_VALUE_MAX);
	p->base = BUF_INIT(URL_MAX);
	part_clear(p);
}

static void part_free(struct feed_part *p)
{
	for (int i = 0; i < FEED_FIELDS; i++)
		buf_free(&p->field[i]);
	buf_free(&p->base);
}

static void part_set(struct feed_part *p, enum feed_field field, struct str value)
{
	buf_clear(&p->field[field]);
	buf_add_str(&p->field[field], value);
}

static void feed_begin(struct xml *x)
{
	struct feed *f = mem_alloc(sizeof *f);
	part_init(&f->head);
	part_init(&f->item);
	f->html = html_part_new(x->job, x->ret);
	x->feed = f;
}

/* Links. */

static void add_link(struct xml *x, const char *target, enum link_kind kind)
{
	struct str url;
	if (target && xml_resolve(x, str_of(target), &url))
		out_link(x->out, &(struct doc_link){.url = url, .kind = kind});
}

/* The first that leads to a page, or else the first. */
static void add_alternate(struct xml *x, struct feed_part *p, const char *href, const char *type)
{
	struct str t = type ? str_of(type) : STR("text/html"), url;
	bool page = str_eq_nocase(t, STR("text/html")) ||
		    str_eq_nocase(t, STR("application/xhtml+xml"));
	if (p->field[FEED_LINK].n && (p->link_is_page || !page))
		return;
	if (!xml_resolve(x, str_of(href), &url))
		return;
	part_set(p, FEED_LINK, url);
	p->link_is_page = page;
}

/* Atom's links: the target is in href. */
static void atom_link(struct xml *x, struct feed_part *p, const char **attributes)
{
	const char *href = xml_attribute(attributes, "href"),
		   *rel = xml_attribute(attributes, "rel");
	struct str word = rel ? str_of(rel) : STR("alternate");
	struct str registry = STR("http://www.iana.org/assignments/relation/");
	if (!href)
		return;
	if (str_starts(word, registry))
		word = str_from(word, registry.n);
	if (str_is(word, "alternate"))
		add_alternate(x, p, href, xml_attribute(attributes, "type"));
	else if (str_is(word, "enclosure"))
		add_link(x, href, LINK_EMBED);
	else if (str_is(word, "next"))
		add_link(x, href, LINK_FEED);
}

/* What is known. */

static bool says_now(struct feed *f, enum feed_field field)
{
	if (f->head.field[field].n == 0 || f->said & 1u << field)
		return false;
	f->said |= 1u << field;
	return true;
}

/* What the feed says of itself: before its first item, so that there is room for it, and again at
 * its end, since Atom has no order. */
static void say_head(struct xml *x)
{
	struct feed *f = x->feed;
	struct feed_part *p = &f->head;
	struct str title = buf_str(&p->field[FEED_TITLE]);
	struct str summary = buf_str(&p->field[FEED_SUMMARY]);
	if (says_now(f, FEED_TITLE))
		out_meta(x->out, 3, META_TITLE, title);
	if (says_now(f, FEED_SUMMARY))
		out_meta(x->out, 1, META_DESCRIPTION,
			 p->markup ? feed_text_plain(x, summary) : summary);
	if (says_now(f, FEED_AUTHOR))
		out_meta(x->out, 1, META_AUTHOR, buf_str(&p->field[FEED_AUTHOR]));
	if (says_now(f, FEED_LANGUAGE))
		(void)out_language(x->out, buf_str(&p->field[FEED_LANGUAGE]));
	if (says_now(f, FEED_DATE))
		out_meta_number(x->out, META_MODIFIED, p->time_s);
	if (says_now(f, FEED_LINK))
		out_link(x->out, &(struct doc_link){.url = buf_str(&p->field[FEED_LINK]),
						    .kind = LINK_ANCHOR,
						    .text = title});
}

static void put_summary(struct xml *x, const struct feed_part *p)
{
	struct str text = buf_str(&p->field[FEED_SUMMARY]);
	struct url base;
	text_gap(&x->flow, '\n');
	if (!p->markup) {
		text_flow(&x->flow, text);
		return;
	}
	bool has_base = url_parse(buf_str(&p->base), NULL, x->room, sizeof x->room, &base) == 0;
	html_part_read(x->feed->html, text, has_base ? &base : NULL, x->out);
	x->flow.gap = 0; /* what was due is in the output, or there was no text */
}

static void end_item(struct xml *x)
{
	struct feed_part *p = &x->feed->item;
	struct doc_link l = {.kind = LINK_ITEM,
			     .time_s = p->time_s,
			     .url = buf_str(&p->field[FEED_LINK]),
			     .text = buf_str(&p->field[FEED_TITLE])};
	if (l.url.n == 0)
		l.url = buf_str(&p->field[FEED_ID]);
	if (l.url.n)
		out_link(x->out, &l);
	else
		x->ret->links_left_out++;
	text_gap(&x->flow, '\n');
	text_flow(&x->flow, l.text);
	put_summary(x, p);
	x->feed->item_depth = 0;
}

/* Elements. */

static void begin_item(struct xml *x)
{
	say_head(x);
	part_clear(&x->feed->item);
	x->feed->item_depth = x->depth;
}

/* Whose child an element is that begins now; NULL: neither the feed's nor an item's. */
static struct feed_part *parent_part(struct xml *x)
{
	struct feed *f = x->feed;
	unsigned parent = x->depth - 1;
	if (f->author_depth)
		return NULL;
	if (f->item_depth)
		return parent == f->item_depth ? &f->item : NULL;
	return parent == 1 || (f->channel_depth && parent == f->channel_depth) ? &f->head : NULL;
}

static void keep_element(struct xml *x, struct feed_part *part, const struct element *e, bool atom,
			 const char **attributes)
{
	struct feed *f = x->feed;
	bool text = e->field == FEED_TITLE || e->field == FEED_SUMMARY;
	f->form = atom && text ? feed_atom_form(attributes) : e->form;
	f->part = part;
	f->bases = x->nbases;
	xml_keep(x, (int)e->field);
}

static void root_or_channel(struct xml *x, const char **attributes)
{
	const char *language = xml_attribute(attributes, "xml:lang");
	if (language && x->feed->head.field[FEED_LANGUAGE].n == 0)
		part_set(&x->feed->head, FEED_LANGUAGE, str_of(language));
}

static void start_child(struct xml *x, struct feed_part *part, const struct xml_name *name,
			const char **attributes)
{
	struct feed *f = x->feed;
	const struct element *e = element_of(name);
	bool atom = name->space == XML_ATOM || (f->atom && name->space == XML_OWN);
	if (is_own(name, "link"))
		atom_link(x, part, attributes);
	if (is_own(name, "enclosure"))
		add_link(x, xml_attribute(attributes, "url"), LINK_EMBED);
	if (is_own(name, "author"))
		f->author_depth = x->depth;
	if (is_own(name, "guid")) {
		const char *permanent = xml_attribute(attributes, "isPermaLink");
		part->id_is_link = !permanent || str_is(str_of(permanent), "true");
	}
	if (e)
		keep_element(x, part, e, atom, attributes);
}

static void feed_start(struct xml *x, const struct xml_name *name, const char **attributes)
{
	struct feed *f = x->feed;
	if (x->depth == 1) {
		f->atom = str_is(name->local, "feed");
		root_or_channel(x, attributes);
		return;
	}
	if (x->kept_depth) {
		feed_text_open(x, name, attributes);
		return;
	}
	if (!f->item_depth && (is_own(name, "item") || is_own(name, "entry"))) {
		begin_item(x);
		return;
	}
	if (x->depth == 2 && is_own(name, "channel")) {
		f->channel_depth = x->depth;
		root_or_channel(x, attributes);
		return;
	}
	struct feed_part *part = parent_part(x);
	if (part)
		start_child(x, part, name, attributes);
	else if (f->author_depth && x->depth == f->author_depth + 1 && is_own(name, "name"))
		keep_element(x, f->item_depth ? &f->item : &f->head, &author_name, false,
			     attributes);
}

static void keep_date(struct feed_part *p, enum feed_field field, struct str value)
{
	int64_t time_s, *known = field == FEED_DATE ? &p->time_s : &p->built_s;
	if (!date_parse(value, &time_s) || time_s <= *known)
		return;
	*known = time_s;
	part_set(p, field, value);
}

static void keep_summary(struct xml *x, struct feed_part *p, struct str value, bool markup)
{
	const struct url *base = xml_base_now(x);
	if (value.n <= p->field[FEED_SUMMARY].n)
		return;
	part_set(p, FEED_SUMMARY, value);
	p->markup = markup;
	buf_clear(&p->base);
	if (base)
		buf_add_str(&p->base, base->href);
}

/* The first link and title count, the longest summary, the latest date. */
static void keep_value(struct xml *x, enum feed_field field)
{
	struct feed_part *p = x->feed->part;
	struct str value = str_trim(buf_str(&x->value)), url;
	bool markup = feed_text_end(x), first = p->field[field].n == 0;
	if (value.n == 0)
		return;
	switch (field) {
	case FEED_DATE:
	case FEED_BUILT:
		keep_date(p, field, value);
		break;
	case FEED_SUMMARY:
		keep_summary(x, p, value, markup);
		break;
	case FEED_LINK:
	case FEED_ID:
		if (first && (field == FEED_LINK || p->id_is_link) && xml_resolve(x, value, &url))
			part_set(p, field, url);
		break;
	default:
		if (first)
			part_set(p, field, markup ? feed_text_plain(x, value) : value);
	}
}

static void feed_end(struct xml *x, const struct xml_name *name)
{
	struct feed *f = x->feed;
	if (x->kept_depth && x->depth > x->kept_depth) {
		feed_text_close(x, name);
		return;
	}
	int field = xml_kept(x);
	if (field)
		keep_value(x, (enum feed_field)field);
	if (x->depth == f->author_depth)
		f->author_depth = 0;
	if (x->depth == f->channel_depth)
		f->channel_depth = 0;
	if (x->depth == f->item_depth)
		end_item(x);
}

/* A feed may end anywhere. Of the element in which it does only text counts: half a link leads
 * elsewhere. An item of which nothing came is none. */
static void feed_finish(struct xml *x)
{
	struct feed *f = x->feed;
	struct feed_part *p = &f->item;
	if (x->kept_depth && (x->kept == FEED_TITLE || x->kept == FEED_SUMMARY))
		keep_value(x, (enum feed_field)x->kept);
	if (f->item_depth && (p->field[FEED_TITLE].n || p->field[FEED_LINK].n ||
			      p->field[FEED_ID].n || p->field[FEED_SUMMARY].n))
		end_item(x);
	say_head(x);
	if (!f->head.time_s && f->head.built_s)
		out_meta_number(x->out, META_MODIFIED, f->head.built_s);
	part_free(&f->head);
	part_free(&f->item);
	html_part_free(&f->html);
	mem_free(&x->feed);
}

const struct xml_kind xml_feed = {EXTRACT_FEED, feed_begin,    feed_start,
				  feed_end,     feed_text_add, feed_finish};
