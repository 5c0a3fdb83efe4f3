/* Sitemaps. Extraction reads all of their forms but one: text with a URL in each line is known to
 * it by its name (sitemap.txt) alone, since a page of prose may begin with URLs too. What
 * robots.txt names is a sitemap whatever it is called, so here the text of such a document is read.
 *
 * Scopes are compared as text: canonical URLs have no user name, no default port, no `..` and a
 * path, so one lies below another exactly if it begins with it. */
#include "shepherd/reap/reap_sitemap.h"

#include "shepherd/reap/reaper_links.h"
#include "soif/doc_attrs.h"

struct sitemap_list {
	struct arena *arena;
	struct reaper_link *link;
	size_t n, room;
	size_t bytes; /* of the URLs */
};

/* false: it is full. */
static bool list_add(struct sitemap_list *list, struct str url, uint32_t changed_s, bool is_sitemap)
{
	struct reaper_link link;
	if (list->n == REAP_SITEMAP_LINKS || list->bytes > REAP_SITEMAP_BYTES - URL_STRICT_MAX)
		return false;
	if (!reaper_link_of(url, list->arena, &link))
		return true;
	link.changed_s = changed_s;
	link.is_sitemap = is_sitemap;
	list->bytes += link.url.n;
	*ARENA_PUSH(list->arena, list->link, list->n, list->room) = link;
	return true;
}

static bool link_is_listed(const struct doc_link *link)
{
	return link->kind == LINK_PAGE || link->kind == LINK_SITEMAP || link->kind == LINK_ITEM;
}

/* A time that has not come yet would make its page new for ever. */
static uint32_t time_of_change(int64_t time_s, int64_t now_s)
{
	return time_s > 0 && time_s <= MIN(now_s, (int64_t)UINT32_MAX) ? (uint32_t)time_s : 0;
}

/* false: the list is full. A line with blanks is prose. */
static bool list_add_line(struct sitemap_list *list, struct buf *line)
{
	struct str url = buf_str(line);
	bool good = !line->over && str_find_byte(url, ' ') == url.n;
	bool more = !good || list_add(list, url, 0, false);
	buf_clear(line);
	return more;
}

/* The only remark on text is that it was cut. */
static bool has_remark(const struct attrs *body)
{
	struct doc_meta meta;
	for (size_t i = 0; i < body->n; i++)
		if (body->a[i].name == 'M' && meta_parse(body->a[i].value, &meta) &&
		    meta.tag == META_REMARK)
			return true;
	return false;
}

/* Text, in the pieces that attributes have, as lines. Half a URL leads elsewhere: where the text
 * was cut its last line does not count. */
static void list_read_text(struct sitemap_list *list, const struct attrs *body)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(URL_MAX);
	for (size_t i = 0; i < body->n; i++) {
		struct str rest = body->a[i].name == 'X' ? body->a[i].value : STR("");
		while (rest.n) {
			size_t n = str_find_byte(rest, '\n');
			buf_add_str(&line, str_head(rest, n));
			if (n < rest.n && !list_add_line(list, &line))
				return;
			rest = str_from(rest, n + 1);
		}
	}
	if (!has_remark(body))
		list_add_line(list, &line);
}

static bool is_plain_text(const struct attrs *body)
{
	struct str type = attrs_get(body, 'T');
	return str_is(str_head(type, str_find_byte(type, ';')), "text/plain");
}

size_t reap_sitemap_links(const struct attrs *body, int64_t now_s, struct arena *arena,
			  const struct reaper_link **ret)
{
	struct sitemap_list list = {.arena = arena};
	struct doc_link link;
	for (size_t i = 0; i < body->n; i++)
		if (body->a[i].name == 'R' && link_parse('R', body->a[i].value, &link) &&
		    link_is_listed(&link) &&
		    !list_add(&list, link.url, time_of_change(link.time_s, now_s),
			      link.kind == LINK_SITEMAP))
			break;
	if (list.n == 0 && is_plain_text(body))
		list_read_text(&list, body);
	*ret = list.link;
	return list.n;
}

/* Of a canonical URL: with the slash at its end. */
static struct str site_of_url(struct str url)
{
	size_t from = MIN(str_find(url, STR("://")) + 3, url.n);
	return str_head(url, from + str_find_byte(str_from(url, from), '/') + 1);
}

static struct str folder_of_url(struct str url)
{
	url = str_head(url, str_find_byte(url, '?'));
	return str_head(url, str_after_last(url, '/'));
}

bool reap_sitemap_in_scope(struct str sitemap, const struct reaper_link *link, struct str site)
{
	struct str own = link->is_sitemap ? site_of_url(sitemap) : folder_of_url(sitemap);
	return str_starts(link->url, own) ||
	       (str_starts(link->url, site) && link->url.n > site.n && link->url.p[site.n] == '/');
}
