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
	html_open(h, element, "class", class);
}

void layout_tick(struct html *h, const char *name, const char *value, const char *label, bool on)
{
	html_open(h, "label");
	html_open(h, "input", "type", "checkbox", "name", name, "value", value, "checked",
		  on ? "checked" : NULL);
	html_text(h, " ");
	html_text(h, label);
	html_close(h, "label");
}

void layout_note(struct html *h, const char *class, const char *text)
{
	html_put_text(h, "p", text, "class", class);
}

void layout_option(struct html *h, const char *value, const char *text, bool chosen)
{
	html_put_text(h, "option", text, "value", value, "selected", chosen ? "selected" : NULL);
}

void layout_hidden(struct html *h, const char *name, struct str value)
{
	html_open(h, "input", "type", "hidden", "name", name);
	html_attr(h, "value", value);
}

void layout_field(struct html *h, const struct layout_field *f)
{
	html_open(h, "label");
	html_text(h, f->label);
	html_text(h, " ");
	html_open(h, "input", "type", f->type, "name", f->name, "placeholder", f->hint, "min",
		  f->least);
	html_attr(h, "value", f->value);
	if (f->list)
		html_attr_text(h, "list", f->list);
	html_close(h, "label");
}

void layout_box(struct html *h, const struct layout_box *b)
{
	layout_open(h, "div", "box");
	html_open(h, "input", "type", "search", "name", b->name, "aria-label", b->label,
		  "placeholder", b->hint, "maxlength", b->longest);
	html_attr(h, "value", b->value);
	if (b->focus)
		html_attr_text(h, "autofocus", "autofocus");
	html_put_text(h, "button", b->button, "type", "submit");
	html_close(h, "div");
}

void layout_notes(struct html *h, struct str notes)
{
	struct str line;
	while (notes.n && str_cut(&notes, '\n', &line) == 0)
		if (line.n)
			html_put(h, "p", line, "class", "note");
}

static void select_type(struct html *h, struct str chosen)
{
	html_put_text(h, "label", "Type of document", "class", "aside", "for", "type");
	html_open(h, "select", "name", "type", "id", "type");
	layout_option(h, "", "any type", false);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		layout_option(h, types[i], types[i], str_is(chosen, types[i]));
	html_close(h, "select");
}

/* On the page that has nothing but the box it is also the heading. */
static void put_home(struct html *h, bool bare)
{
	if (bare)
		html_open(h, "h1");
	html_put_text(h, "a", "garner", "class", "name", "href", "/");
	if (bare)
		html_close(h, "h1");
}

static void put_match(struct html *h, const struct query_options *match)
{
	const char errors[] = {(char)('0' + match->errors), 0};
	if (match->errors)
		layout_hidden(h, "errors", str_of(errors));
	if (match->best)
		layout_hidden(h, "best", STR("yes"));
	if (match->parts)
		layout_hidden(h, "parts", STR("yes"));
	if (match->exact)
		layout_hidden(h, "case", STR("yes"));
	if (!match->forgive)
		layout_hidden(h, "forgive", STR("no"));
}

static void put_box(struct html *h, const struct layout_ask *ask)
{
	html_open(h, "form", "action", "/", "role", "search", "class", "ask");
	put_home(h, ask->bare);
	layout_box(h, &(struct layout_box){.name = "q",
					   .label = "Words to search for",
					   .hint = "Search",
					   .longest = "1000",
					   .button = "Search",
					   .value = ask->words,
					   .focus = ask->bare});
	if (ask->site.n)
		layout_hidden(h, "site", ask->site);
	if (!ask->bare) {
		put_match(h, &ask->match);
		select_type(h, ask->type);
	}
	html_close(h, "form");
}

void layout_begin(struct html *h, const char *title, const struct layout_ask *ask)
{
	html_begin(h);
	html_open(h, "meta", "name", "viewport", "content", "width=device-width, initial-scale=1");
	html_open(h, "meta", "name", "robots", "content", "noindex");
	html_put_text(h, "title", title);
	html_open(h, "link", "rel", "stylesheet", "href", "/style.css");
	html_close(h, "head");
	html_open(h, "body");
	html_open(h, "header", "class", ask && ask->bare ? "bare" : NULL);
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
		{"/status", "Status"},
		{"/api/openapi.json", "For programs"},
	};
	html_close(h, "main");
	html_open(h, "footer");
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		html_text(h, i ? LAYOUT_DOT : "");
		html_put_text(h, "a", links[i].text, "href", links[i].href);
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
