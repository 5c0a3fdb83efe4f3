/* What the tags of a page say: links of all kinds, made absolute, and what the page says of itself
 * by <meta>, <time> and lang. */
#include "base/ascii.h"
#include "extract/date_inner.h"
#include "extract/html_doc_inner.h"
#include "extract/readers_inner.h"

/* Links. */

static struct str skip_blanks(struct str s)
{
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = str_from(s, 1);
	return s;
}

/* Makes it absolute, in the room. Negative: it is not a URL that links can have. */
static int link_absolute(struct doc *d, struct str href, char room[URL_MAX], struct url *ret)
{
	if (d->in)
		href = charset_link(d->in, href, &d->encoded);
	if (!href.p)
		return -URL_TOO_LONG;
	return url_parse(href, d->has_base ? &d->base : NULL, room, URL_MAX, ret);
}

/* The same. false: it leads nowhere, or to the page itself. */
static bool link_resolve(struct doc *d, struct str href, char room[URL_MAX], struct url *ret)
{
	href = skip_blanks(href);
	if (href.n == 0 || href.p[0] == '#')
		return false;
	return link_absolute(d, href, room, ret) == 0;
}

static struct str without_fragment(const struct url *u)
{
	if (!u->has_fragment)
		return u->href;
	return str_range(u->href.p, u->fragment.p - 1);
}

/* There is no room for another one. */
static bool links_full(struct doc *d)
{
	if (d->out->links < d->out->links_max && !(d->out->flags & OUT_LINKS_CUT))
		return false;
	d->out->links_left_out++;
	d->out->flags |= OUT_LINKS_CUT;
	return true;
}

/* Whether a word is among those of rel, upper or lower case. */
static bool has_word(struct str words, struct str word)
{
	while (words.n) {
		words = skip_blanks(words);
		size_t n = 0;
		while (n < words.n && (unsigned char)words.p[n] > ' ')
			n++;
		if (str_eq_nocase(str_head(words, n), word))
			return true;
		words = str_from(words, n);
	}
	return false;
}

static unsigned flags_of(struct str rel)
{
	if (rel.n == 0)
		return 0;
	return (has_word(rel, STR("nofollow")) ? LINK_NOFOLLOW : 0u) |
	       (has_word(rel, STR("ugc")) ? LINK_UGC : 0u) |
	       (has_word(rel, STR("sponsored")) ? LINK_SPONSORED : 0u);
}

static void link_add(struct doc *d, struct str href, enum link_kind kind, unsigned flags,
		     struct str text)
{
	struct url u;
	if (!href.p || links_full(d) || !link_resolve(d, href, d->room, &u))
		return;
	out_link(d->out,
		 &(struct doc_link){
			 .url = without_fragment(&u), .kind = kind, .flags = flags, .text = text});
}

void html_link_begin(struct doc *d)
{
	d->has_base = d->job->url.n &&
		      url_parse(d->job->url, NULL, d->base_room[0], URL_MAX, &d->base) == 0;
}

/* Only the first one counts, and only if it is a URL that links can have. */
static void link_base(struct doc *d, const struct html_tag *tag)
{
	struct str href = attr_of(tag, STR("href"));
	struct url base;
	if (!href.p || d->base_said)
		return;
	d->base_said = true;
	if (link_absolute(d, href, d->base_room[1], &base) != 0)
		return;
	d->base = base;
	d->has_base = true;
}

/* What stands in for the text of an anchor that has none. */
static void set_label(struct doc *d, struct str text)
{
	buf_clear(&d->label);
	if (text.p)
		buf_add_str(&d->label, str_utf8_head(text, LABEL_MAX));
}

static void link_anchor(struct doc *d, const struct html_tag *tag)
{
	struct str href = attr_of(tag, STR("href")), label;
	struct url u;
	html_link_anchor_end(d);
	if (!href.p)
		href = attr_of(tag, STR("xlink:href"));
	if (!href.p || links_full(d) || !link_resolve(d, href, d->anchor_room, &u))
		return;
	d->anchor_link = (struct doc_link){.url = without_fragment(&u),
					   .kind = LINK_ANCHOR,
					   .flags = flags_of(attr_of(tag, STR("rel")))};
	d->anchor = (struct span){true, d->out->text_n};
	label = attr_of(tag, STR("aria-label"));
	set_label(d, label.p ? label : attr_of(tag, STR("title")));
}

void html_link_anchor_end(struct doc *d)
{
	if (!d->anchor.open)
		return;
	d->anchor.open = false;
	d->anchor_link.text = html_span_text(d, &d->anchor);
	if (d->anchor_link.text.n == 0)
		d->anchor_link.text = buf_str(&d->label);
	out_link(d->out, &d->anchor_link);
}

static void link_area(struct doc *d, const struct html_tag *tag)
{
	struct str alt = attr_of(tag, STR("alt"));
	link_add(d, attr_of(tag, STR("href")), LINK_ANCHOR, flags_of(attr_of(tag, STR("rel"))),
		 alt);
}

static bool is_feed(struct str type)
{
	static const char *const types[] = {"application/rss+xml", "application/atom+xml",
					    "application/rdf+xml", "application/feed+json"};
	type = str_trim(str_head(type, str_find_byte(type, ';')));
	return STR_AMONG_NOCASE(type, types);
}

static void add_canonical(struct doc *d, struct str href)
{
	struct url u;
	if (d->has_canonical || !link_resolve(d, href, d->room, &u))
		return;
	d->has_canonical = true;
	out_meta(d->out, 0, META_CANONICAL, without_fragment(&u));
}

/* What <link> may lead to, except for what has rules of its own. */
static const struct {
	struct str word;
	enum link_kind kind;
} relations[] = {
	{{"amphtml", 7}, LINK_ALTERNATE},   {{"sitemap", 7}, LINK_SITEMAP},
	{{"next", 4}, LINK_RELATED},        {{"prev", 4}, LINK_RELATED},
	{{"previous", 8}, LINK_RELATED},    {{"up", 2}, LINK_RELATED},
	{{"contents", 8}, LINK_RELATED},    {{"toc", 3}, LINK_RELATED},
	{{"index", 5}, LINK_RELATED},       {{"first", 5}, LINK_RELATED},
	{{"last", 4}, LINK_RELATED},        {{"start", 5}, LINK_RELATED},
	{{"home", 4}, LINK_RELATED},        {{"top", 3}, LINK_RELATED},
	{{"help", 4}, LINK_RELATED},        {{"license", 7}, LINK_RELATED},
	{{"copyright", 9}, LINK_RELATED},   {{"glossary", 8}, LINK_RELATED},
	{{"chapter", 7}, LINK_RELATED},     {{"section", 7}, LINK_RELATED},
	{{"subsection", 10}, LINK_RELATED}, {{"appendix", 8}, LINK_RELATED},
	{{"author", 6}, LINK_RELATED},
};

static void link_head(struct doc *d, const struct html_tag *tag)
{
	struct str rel = attr_of(tag, STR("rel")), href = attr_of(tag, STR("href"));
	struct str title = attr_of(tag, STR("title"));
	if (!rel.p || !href.p || has_word(rel, STR("stylesheet")))
		return;
	if (has_word(rel, STR("canonical"))) {
		add_canonical(d, href);
		return;
	}
	if (has_word(rel, STR("alternate")) || has_word(rel, STR("feed"))) {
		bool feed = is_feed(attr_of(tag, STR("type"))) || has_word(rel, STR("feed"));
		link_add(d, href, feed ? LINK_FEED : LINK_ALTERNATE, flags_of(rel), title);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(relations); i++) {
		if (has_word(rel, relations[i].word)) {
			link_add(d, href, relations[i].kind, flags_of(rel), title);
			return;
		}
	}
}

static void link_form(struct doc *d, const struct html_tag *tag)
{
	struct str method = str_trim(attr_of(tag, STR("method")));
	if (str_eq_nocase(method, STR("post")) || str_eq_nocase(method, STR("dialog")))
		return;
	link_add(d, attr_of(tag, STR("action")), LINK_FORM, flags_of(attr_of(tag, STR("rel"))),
		 STR(""));
}

/* Where an element of this kind keeps what it shows; the first that is there counts. */
static struct str first_of(const struct html_tag *tag, const char *const *names)
{
	for (; *names; names++) {
		struct str value = attr_of(tag, str_of(*names));
		if (value.p)
			return value;
	}
	return (struct str){0};
}

static void link_image(struct doc *d, const struct html_tag *tag)
{
	static const char *const names[] = {"src",        "data-src",   "href",
					    "xlink:href", "background", NULL};
	struct str alt = attr_of(tag, STR("alt"));
	if (alt.n && !html_hidden(d)) {
		out_meta(d->out, 0, META_ALT, alt);
		if (d->anchor.open && d->label.n == 0)
			set_label(d, alt);
	}
	link_add(d, first_of(tag, names), LINK_IMAGE, 0, STR(""));
}

static void link_frame(struct doc *d, const struct html_tag *tag)
{
	link_add(d, attr_of(tag, STR("src")), LINK_FRAME, 0, attr_of(tag, STR("title")));
}

static void link_embed(struct doc *d, const struct html_tag *tag)
{
	static const char *const names[] = {"src", "data", "archive", "code", NULL};
	link_add(d, first_of(tag, names), LINK_EMBED, 0, STR(""));
}

static struct str skip_white(struct str s)
{
	while (s.n && html_is_space(s.p[0]))
		s = str_from(s, 1);
	return s;
}

/* What follows "url =", quotes taken off; without that the text as it is. */
static struct str refresh_target(struct str s)
{
	if (s.n >= 3 && str_eq_nocase(str_head(s, 3), STR("url"))) {
		struct str value = skip_white(str_from(s, 3));
		if (!value.n || value.p[0] != '=')
			return s;
		s = skip_white(str_from(value, 1));
	}
	if (s.n && (s.p[0] == '"' || s.p[0] == '\'')) {
		char quote = s.p[0];
		s = str_from(s, 1);
		s = str_head(s, str_find_byte(s, quote));
	}
	return s;
}

/* "5; url='next.html'": a time, and where to go then. The shared declarative refresh steps of the
 * HTML standard. */
static void link_refresh(struct doc *d, struct str s, char tag)
{
	(void)tag;
	s = skip_white(s);
	if (!s.n || (!ascii_is_digit(s.p[0]) && s.p[0] != '.'))
		return;
	while (s.n && (ascii_is_digit(s.p[0]) || s.p[0] == '.'))
		s = str_from(s, 1);
	if (!s.n || (s.p[0] != ';' && s.p[0] != ',' && !html_is_space(s.p[0])))
		return;
	s = skip_white(s);
	if (s.n && (s.p[0] == ';' || s.p[0] == ','))
		s = skip_white(str_from(s, 1));
	link_add(d, refresh_target(s), LINK_REFRESH, 0, STR(""));
}

/* What a page says of itself. */

/* tag: the enum meta_tag that it is, where a function takes several. */
typedef void meta_fn(struct doc *d, struct str content, char tag);

static void take_description(struct doc *d, struct str content, char tag)
{
	if (d->has_description || str_trim(content).n == 0)
		return;
	d->has_description = true;
	out_meta(d->out, 1, tag, content);
}

/* Where the page has none of its own. */
static void take_spare(struct doc *d, struct str content, char tag)
{
	struct buf *b = tag == META_TITLE         ? &d->spare_title
			: tag == META_DESCRIPTION ? &d->spare_description
						  : &d->spare_language;
	if (b->n == 0)
		buf_add_str(b, str_utf8_head(content, b->max));
}

static void take_text(struct doc *d, struct str content, char tag)
{
	out_meta(d->out, tag != META_GENERATOR, tag, content);
}

static void take_author(struct doc *d, struct str content, char tag)
{
	if (d->authors < AUTHORS_MAX && str_trim(content).n) {
		out_meta(d->out, 1, tag, content);
		d->authors++;
	}
}

static void take_date(struct doc *d, struct str content, char tag)
{
	bool *has = tag == META_PUBLISHED ? &d->has_published : &d->has_modified;
	int64_t time_s;
	if (*has || !date_parse(str_trim(content), &time_s))
		return;
	*has = true;
	out_meta_number(d->out, tag, time_s);
}

static void take_robots(struct doc *d, struct str content, char tag)
{
	(void)tag;
	extract_robots(content, false, d->out);
}

static void meta_language(struct doc *d, struct str language)
{
	d->has_language = d->has_language || out_language(d->out, language);
}

/* By name, property or itemprop. */
static const struct meta_name {
	struct str name;
	meta_fn *take;
	char tag;
} names[] = {
	{{"description", 11}, take_description, META_DESCRIPTION},
	{{"og:description", 14}, take_spare, META_DESCRIPTION},
	{{"twitter:description", 19}, take_spare, META_DESCRIPTION},
	{{"dc.description", 14}, take_spare, META_DESCRIPTION},
	{{"dcterms.description", 19}, take_spare, META_DESCRIPTION},
	{{"dcterms.abstract", 16}, take_spare, META_DESCRIPTION},
	{{"og:title", 8}, take_spare, META_TITLE},
	{{"twitter:title", 13}, take_spare, META_TITLE},
	{{"dc.title", 8}, take_spare, META_TITLE},
	{{"citation_title", 14}, take_spare, META_TITLE},
	{{"keywords", 8}, take_text, META_KEYWORDS},
	{{"dc.subject", 10}, take_text, META_KEYWORDS},
	{{"news_keywords", 13}, take_text, META_KEYWORDS},
	{{"citation_keywords", 17}, take_text, META_KEYWORDS},
	{{"author", 6}, take_author, META_AUTHOR},
	{{"dc.creator", 10}, take_author, META_AUTHOR},
	{{"dcterms.creator", 15}, take_author, META_AUTHOR},
	{{"citation_author", 15}, take_author, META_AUTHOR},
	{{"article:author", 14}, take_author, META_AUTHOR},
	{{"robots", 6}, take_robots, META_ROBOTS},
	{{"garner", 6}, take_robots, META_ROBOTS},
	{{"generator", 9}, take_text, META_GENERATOR},
	{{"date", 4}, take_date, META_PUBLISHED},
	{{"dc.date", 7}, take_date, META_PUBLISHED},
	{{"dc.date.issued", 14}, take_date, META_PUBLISHED},
	{{"dcterms.created", 15}, take_date, META_PUBLISHED},
	{{"dcterms.issued", 14}, take_date, META_PUBLISHED},
	{{"dcterms.date", 12}, take_date, META_PUBLISHED},
	{{"citation_publication_date", 25}, take_date, META_PUBLISHED},
	{{"article:published_time", 22}, take_date, META_PUBLISHED},
	{{"og:published_time", 17}, take_date, META_PUBLISHED},
	{{"datepublished", 13}, take_date, META_PUBLISHED},
	{{"pubdate", 7}, take_date, META_PUBLISHED},
	{{"last-modified", 13}, take_date, META_MODIFIED},
	{{"dc.date.modified", 16}, take_date, META_MODIFIED},
	{{"dcterms.modified", 16}, take_date, META_MODIFIED},
	{{"article:modified_time", 21}, take_date, META_MODIFIED},
	{{"og:updated_time", 15}, take_date, META_MODIFIED},
	{{"datemodified", 12}, take_date, META_MODIFIED},
	{{"revised", 7}, take_date, META_MODIFIED},
	{{"og:locale", 9}, take_spare, META_LANGUAGE},
	{{"dc.language", 11}, take_spare, META_LANGUAGE},
	{{"language", 8}, take_spare, META_LANGUAGE},
};

/* By http-equiv. */
static const struct meta_name equivalents[] = {
	{{"refresh", 7}, link_refresh, 0},
	{{"content-language", 16}, take_spare, META_LANGUAGE},
	{{"last-modified", 13}, take_date, META_MODIFIED},
};

static void meta_take(struct doc *d, struct str name, struct str content,
		      const struct meta_name *table, size_t n)
{
	name = str_trim(name);
	if (name.n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (str_eq_nocase(name, table[i].name)) {
			table[i].take(d, content, table[i].tag);
			return;
		}
	}
}

static void meta_tag(struct doc *d, const struct html_tag *tag)
{
	struct str content = attr_of(tag, STR("content"));
	static const char *const keys[] = {"name", "property", "itemprop"};
	if (!content.p)
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		meta_take(d, attr_of(tag, str_of(keys[i])), content, names, ARRAY_LEN(names));
	meta_take(d, attr_of(tag, STR("http-equiv")), content, equivalents, ARRAY_LEN(equivalents));
}

/* A time counts if it says what happened then. */
static void meta_time(struct doc *d, const struct html_tag *tag)
{
	struct str when = attr_of(tag, STR("datetime")), of = attr_of(tag, STR("itemprop"));
	if (!when.p)
		return;
	if (attr_of(tag, STR("pubdate")).p || str_eq_nocase(of, STR("datepublished")))
		take_date(d, when, META_PUBLISHED);
	else if (str_eq_nocase(of, STR("datemodified")))
		take_date(d, when, META_MODIFIED);
}

void html_meta_end(struct doc *d)
{
	take_description(d, buf_str(&d->spare_description), META_DESCRIPTION);
	meta_language(d, buf_str(&d->spare_language));
	if (!d->has_title)
		out_meta(d->out, 3, META_TITLE, buf_str(&d->spare_title));
}

static void root_language(struct doc *d, const struct html_tag *tag)
{
	struct str lang = attr_of(tag, STR("lang"));
	meta_language(d, lang.p ? lang : attr_of(tag, STR("xml:lang")));
}

static void background_image(struct doc *d, const struct html_tag *tag)
{
	if (tag->nattrs && attr_of(tag, STR("background")).p)
		link_image(d, tag);
}

static void input_image(struct doc *d, const struct html_tag *tag)
{
	if (str_eq_nocase(attr_of(tag, STR("type")), STR("image")))
		link_image(d, tag);
}

static void video_poster(struct doc *d, const struct html_tag *tag)
{
	struct str poster = attr_of(tag, STR("poster"));
	struct html_attr only = {STR("src"), poster};
	if (poster.p)
		link_image(d, &(struct html_tag){.attrs = &only, .nattrs = 1});
	link_embed(d, tag);
}

html_start_fn *const html_says[HTML_ELEMENT_COUNT] = {
	[EL_A] = link_anchor,       [EL_AREA] = link_area,        [EL_BASE] = link_base,
	[EL_LINK] = link_head,      [EL_META] = meta_tag,         [EL_TIME] = meta_time,
	[EL_FORM] = link_form,      [EL_IMG] = link_image,        [EL_IMAGE] = link_image,
	[EL_INPUT] = input_image,   [EL_FRAME] = link_frame,      [EL_IFRAME] = link_frame,
	[EL_VIDEO] = video_poster,  [EL_APPLET] = link_embed,     [EL_AUDIO] = link_embed,
	[EL_BGSOUND] = link_embed,  [EL_EMBED] = link_embed,      [EL_OBJECT] = link_embed,
	[EL_SOURCE] = link_embed,   [EL_BODY] = background_image, [EL_TABLE] = background_image,
	[EL_TD] = background_image, [EL_HTML] = root_language,
};
