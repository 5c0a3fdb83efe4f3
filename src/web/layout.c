/* What all pages have: head, search box, foot; and the files that they load, which lie in web/ and
 * are part of the program. */
#include "web/layout.h"

#include "base/embed.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <web/assets_sum.h> /* made by meson.build: changes with the files */

/* The types that can be asked for. */
static const char *const types[] = {"HTML",  "Text",  "Mail",    "PostScript",
				    "Image", "Audio", "Archive", "Binary"};

void layout_open(struct html *h, const char *element, const char *class)
{
	html_open(h, element);
	html_attr_text(h, "class", class);
}

void layout_tick(struct html *h, const char *name, const char *value, const char *label, bool on)
{
	html_open(h, "label");
	html_open(h, "input");
	html_attr_text(h, "type", "checkbox");
	html_attr_text(h, "name", name);
	html_attr_text(h, "value", value);
	if (on)
		html_attr_text(h, "checked", "checked");
	html_text(h, " ");
	html_text(h, label);
	html_close(h, "label");
}

void layout_note(struct html *h, const char *class, const char *text)
{
	layout_open(h, "p", class);
	html_text(h, text);
	html_close(h, "p");
}

static void put_meta(struct html *h, const char *name, const char *content)
{
	html_open(h, "meta");
	html_attr_text(h, "name", name);
	html_attr_text(h, "content", content);
}

static void select_type(struct html *h, struct str chosen)
{
	layout_open(h, "label", "aside");
	html_attr_text(h, "for", "type");
	html_text(h, "Type of document");
	html_close(h, "label");
	html_open(h, "select");
	html_attr_text(h, "name", "type");
	html_attr_text(h, "id", "type");
	html_open(h, "option");
	html_attr_text(h, "value", "");
	html_text(h, "any type");
	html_close(h, "option");
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		html_open(h, "option");
		html_attr_text(h, "value", types[i]);
		if (str_is(chosen, types[i]))
			html_attr_text(h, "selected", "selected");
		html_text(h, types[i]);
		html_close(h, "option");
	}
	html_close(h, "select");
}

/* On the page that has nothing but the box it is also the heading. */
static void put_home(struct html *h, bool bare)
{
	if (bare)
		html_open(h, "h1");
	layout_open(h, "a", "name");
	html_attr_text(h, "href", "/");
	html_text(h, "garner");
	html_close(h, "a");
	if (bare)
		html_close(h, "h1");
}

static void put_hidden(struct html *h, const char *name, struct str value)
{
	html_open(h, "input");
	html_attr_text(h, "type", "hidden");
	html_attr_text(h, "name", name);
	html_attr(h, "value", value);
}

static void put_match(struct html *h, const struct query_options *match)
{
	const char errors[] = {(char)('0' + match->errors), 0};
	if (match->errors)
		put_hidden(h, "errors", str_of(errors));
	if (match->best)
		put_hidden(h, "best", STR("yes"));
	if (match->parts)
		put_hidden(h, "parts", STR("yes"));
	if (match->exact)
		put_hidden(h, "case", STR("yes"));
	if (!match->forgive)
		put_hidden(h, "forgive", STR("no"));
}

static void put_box(struct html *h, const struct layout_ask *ask)
{
	html_open(h, "form");
	html_attr_text(h, "action", "/");
	html_attr_text(h, "role", "search");
	html_attr_text(h, "class", "ask");
	put_home(h, ask->bare);
	layout_open(h, "div", "box");
	html_open(h, "input");
	html_attr_text(h, "type", "search");
	html_attr_text(h, "name", "q");
	html_attr_text(h, "aria-label", "Words to search for");
	html_attr_text(h, "placeholder", "Search");
	html_attr_text(h, "maxlength", "1000");
	html_attr(h, "value", ask->words);
	if (ask->bare)
		html_attr_text(h, "autofocus", "autofocus");
	html_open(h, "button");
	html_attr_text(h, "type", "submit");
	html_text(h, "Search");
	html_close(h, "button");
	html_close(h, "div");
	if (ask->site.n)
		put_hidden(h, "site", ask->site);
	if (!ask->bare)
		put_match(h, &ask->match);
	if (!ask->bare)
		select_type(h, ask->type);
	html_close(h, "form");
}

void layout_begin(struct html *h, const char *title, const struct layout_ask *ask)
{
	html_begin(h);
	put_meta(h, "viewport", "width=device-width, initial-scale=1");
	put_meta(h, "robots", "noindex");
	html_put_text(h, "title", title);
	html_open(h, "link");
	html_attr_text(h, "rel", "stylesheet");
	html_attr_text(h, "href", "/style.css");
	html_close(h, "head");
	html_open(h, "body");
	html_open(h, "header");
	if (ask && ask->bare)
		html_attr_text(h, "class", "bare");
	if (ask)
		put_box(h, ask);
	else
		put_home(h, false);
	html_close(h, "header");
	html_open(h, "main");
}

void layout_end(struct html *h)
{
	static const struct {
		const char *href, *text;
	} links[] = {
		{"/files", "Files"},
		{"/status", "What runs"},
		{"/api/openapi.json", "For programs"},
	};
	html_close(h, "main");
	html_open(h, "footer");
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		html_text(h, i ? " · " : "");
		html_open(h, "a");
		html_attr_text(h, "href", links[i].href);
		html_text(h, links[i].text);
		html_close(h, "a");
	}
	html_close(h, "footer");
	html_close(h, "body");
	html_close(h, "html");
}

EMBED(asset_style, GARNER_ASSETS "/style.css");
EMBED(asset_status, GARNER_ASSETS "/status.js");

static int answer_asset(struct http_answer *ret, const char *begin, const char *end,
			const char *type)
{
	char tag[20];
	struct str bytes = str_range(begin, end);
	snprintf(tag, sizeof tag, "%016" PRIx64, hash64(bytes));
	http_answer_static(ret, bytes, type);
	http_answer_etag(ret, str_of(tag));
	ret->cache = "no-cache"; /* asked for again with every page, so that an update is seen */
	return 0;
}

int web_style(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return answer_asset(ret, asset_style_begin, asset_style_end, "text/css; charset=utf-8");
}

int web_status_js(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return answer_asset(ret, asset_status_begin, asset_status_end,
			    "text/javascript; charset=utf-8");
}
