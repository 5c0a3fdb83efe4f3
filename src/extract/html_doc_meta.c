/* What a page says of itself: <meta>, <time>, lang. */
#include "extract/date.h"
#include "extract/html_doc_inner.h"

typedef void meta_fn(struct doc *d, struct str content);

static void take_description(struct doc *d, struct str content)
{
	if (d->has_description || str_trim(content).n == 0)
		return;
	d->has_description = true;
	out_meta(d->out, 1, META_DESCRIPTION, content);
}

static void spare(struct buf *b, struct str content)
{
	if (b->n == 0)
		buf_add_str(b, head_of(content, b->max));
}

static void take_spare_description(struct doc *d, struct str content)
{
	spare(&d->spare_description, content);
}

static void take_spare_title(struct doc *d, struct str content)
{
	spare(&d->spare_title, content);
}

static void take_keywords(struct doc *d, struct str content)
{
	out_meta(d->out, 1, META_KEYWORDS, content);
}

static void take_author(struct doc *d, struct str content)
{
	if (d->authors < AUTHORS_MAX && str_trim(content).n) {
		out_meta(d->out, 1, META_AUTHOR, content);
		d->authors++;
	}
}

static void take_generator(struct doc *d, struct str content)
{
	out_meta(d->out, 0, META_GENERATOR, content);
}

static void take_date(struct doc *d, struct str content, char tag, bool *has)
{
	int64_t time_s;
	if (*has || !date_parse(str_trim(content), &time_s))
		return;
	*has = true;
	out_meta_number(d->out, tag, time_s);
}

static void take_published(struct doc *d, struct str content)
{
	take_date(d, content, META_PUBLISHED, &d->has_published);
}

static void take_modified(struct doc *d, struct str content)
{
	take_date(d, content, META_MODIFIED, &d->has_modified);
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Words in lower case with commas between them; "none" stands for two of them. What does not fit
 * is no such word. */
static void take_robots(struct doc *d, struct str content)
{
	CLEANUP(buf_free) struct buf words = BUF_INIT(OUT_META_MAX);
	struct str word;
	while (str_cut(&content, ',', &word) == 0) {
		word = str_trim(word);
		if (str_eq_nocase(word, STR("none")))
			word = STR("noindex,nofollow");
		if (word.n == 0 || words.n + 1 + word.n > words.max)
			continue;
		if (words.n)
			buf_add_byte(&words, ',');
		for (size_t i = 0; i < word.n; i++)
			if ((unsigned char)word.p[i] > ' ')
				buf_add_byte(&words, small(word.p[i]));
	}
	out_meta(d->out, 0, META_ROBOTS, buf_str(&words));
}

/* "en_GB" and "EN-gb" are "en-gb"; of a list the first. */
void html_meta_language(struct doc *d, struct str language)
{
	char text[36];
	size_t n = 0;
	language = str_trim(str_head(language, str_find_byte(language, ',')));
	for (; n < MIN(language.n, sizeof text); n++) {
		char c = small(language.p[n]);
		bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
		if (!is_part && c != '-' && c != '_')
			return;
		text[n] = c == '_' ? '-' : c;
	}
	if (n == 0 || language.n > sizeof text || d->has_language)
		return;
	d->has_language = true;
	out_meta(d->out, 0, META_LANGUAGE, (struct str){text, n});
}

static void take_spare_language(struct doc *d, struct str content)
{
	spare(&d->spare_language, content);
}

/* By name, property or itemprop. */
static const struct meta_name {
	struct str name;
	meta_fn *take;
} names[] = {
	{{"description", 11}, take_description},
	{{"og:description", 14}, take_spare_description},
	{{"twitter:description", 19}, take_spare_description},
	{{"dc.description", 14}, take_spare_description},
	{{"dcterms.description", 19}, take_spare_description},
	{{"dcterms.abstract", 16}, take_spare_description},
	{{"og:title", 8}, take_spare_title},
	{{"twitter:title", 13}, take_spare_title},
	{{"dc.title", 8}, take_spare_title},
	{{"citation_title", 14}, take_spare_title},
	{{"keywords", 8}, take_keywords},
	{{"dc.subject", 10}, take_keywords},
	{{"news_keywords", 13}, take_keywords},
	{{"citation_keywords", 17}, take_keywords},
	{{"author", 6}, take_author},
	{{"dc.creator", 10}, take_author},
	{{"dcterms.creator", 15}, take_author},
	{{"citation_author", 15}, take_author},
	{{"article:author", 14}, take_author},
	{{"robots", 6}, take_robots},
	{{"garner", 6}, take_robots},
	{{"generator", 9}, take_generator},
	{{"date", 4}, take_published},
	{{"dc.date", 7}, take_published},
	{{"dc.date.issued", 14}, take_published},
	{{"dcterms.created", 15}, take_published},
	{{"dcterms.issued", 14}, take_published},
	{{"dcterms.date", 12}, take_published},
	{{"citation_publication_date", 25}, take_published},
	{{"article:published_time", 22}, take_published},
	{{"og:published_time", 17}, take_published},
	{{"datepublished", 13}, take_published},
	{{"pubdate", 7}, take_published},
	{{"last-modified", 13}, take_modified},
	{{"dc.date.modified", 16}, take_modified},
	{{"dcterms.modified", 16}, take_modified},
	{{"article:modified_time", 21}, take_modified},
	{{"og:updated_time", 15}, take_modified},
	{{"datemodified", 12}, take_modified},
	{{"revised", 7}, take_modified},
	{{"og:locale", 9}, take_spare_language},
	{{"dc.language", 11}, take_spare_language},
	{{"language", 8}, take_spare_language},
};

/* By http-equiv. */
static const struct meta_name equivalents[] = {
	{{"refresh", 7}, html_link_refresh},
	{{"content-language", 16}, take_spare_language},
	{{"last-modified", 13}, take_modified},
};

static void take(struct doc *d, struct str name, struct str content, const struct meta_name *table,
		 size_t n)
{
	name = str_trim(name);
	if (name.n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (str_eq_nocase(name, table[i].name)) {
			table[i].take(d, content);
			return;
		}
	}
}

void html_meta(struct doc *d, const struct html_tag *tag)
{
	struct str content = attr_of(tag, STR("content"));
	static const char *const keys[] = {"name", "property", "itemprop"};
	if (!content.p)
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		take(d, attr_of(tag, str_of(keys[i])), content, names, ARRAY_LEN(names));
	take(d, attr_of(tag, STR("http-equiv")), content, equivalents, ARRAY_LEN(equivalents));
}

/* A time counts when it says what it is of. */
void html_meta_time(struct doc *d, const struct html_tag *tag)
{
	struct str when = attr_of(tag, STR("datetime")), of = attr_of(tag, STR("itemprop"));
	if (!when.p)
		return;
	if (attr_of(tag, STR("pubdate")).p || str_eq_nocase(of, STR("datepublished")))
		take_published(d, when);
	else if (str_eq_nocase(of, STR("datemodified")))
		take_modified(d, when);
}

void html_meta_end(struct doc *d)
{
	take_description(d, buf_str(&d->spare_description));
	html_meta_language(d, buf_str(&d->spare_language));
	if (!d->has_title)
		out_meta(d->out, 3, META_TITLE, buf_str(&d->spare_title));
}
