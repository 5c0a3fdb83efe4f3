/* Sitemaps and their indexes: https://www.sitemaps.org/protocol.html. */
#include "extract/date.h"
#include "extract/xml_inner.h"

enum { PAGE_URL = 1, PAGE_TIME, SITEMAP_URL };

static void start(struct xml *x, struct str name, const char **attributes)
{
	bool page = str_is(name, "url"), map = str_is(name, "sitemap");
	if ((page || map) && x->depth == 2) {
		x->in_item = true;
		x->id_is_link = map;
		x->time_s = 0;
		buf_clear(&x->field[FEED_LINK]);
	} else if (x->in_item && x->depth == 3 && str_is(name, "loc")) {
		xml_keep(x, PAGE_URL);
	} else if (x->in_item && x->depth == 3 && str_is(name, "lastmod")) {
		xml_keep(x, PAGE_TIME);
	} else if (x->in_item && str_ends(name, STR(":link"))) { /* another language of the page */
		const char *href = xml_attribute(attributes, "href");
		struct str url;
		if (href && xml_resolve(x, str_of(href), &url))
			out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_ALTERNATE});
	}
}

static void end_item(struct xml *x)
{
	struct doc_link l = {.kind = x->id_is_link ? LINK_SITEMAP : LINK_PAGE, .time_s = x->time_s};
	if (x->field[FEED_LINK].n && xml_resolve(x, buf_str(&x->field[FEED_LINK]), &l.url))
		out_link(x->out, &l);
	else
		x->ret->links_left_out++;
	x->in_item = false;
}

static void end(struct xml *x, struct str name)
{
	(void)name;
	struct str value = str_trim(buf_str(&x->value));
	switch (xml_kept(x)) {
	case PAGE_URL:
		buf_clear(&x->field[FEED_LINK]);
		buf_add_str(&x->field[FEED_LINK], value);
		break;
	case PAGE_TIME:
		if (!date_parse(value, &x->time_s))
			x->time_s = 0;
		break;
	}
	if (x->in_item && x->depth == 2)
		end_item(x);
}

static void text(struct xml *x, struct str s)
{
	(void)x, (void)s;
}

const struct xml_kind xml_sitemap = {EXTRACT_SITEMAP, start, end, text};
