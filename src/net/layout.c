/* The common parts of all pages: head, foot, parts of forms, and the files that they load, which
 * come from web/ and are part of the program. */
#include "net/layout.h"

#include "base/embed.h"
#include "base/hash.h"

#include <inttypes.h>
#include <net/assets_sum.h> /* made by meson.build: changes with the files */
#include <stdio.h>

void layout_open(struct html *h, const char *element, const char *class)
{
	html_open(h, element, "class", class);
}

void layout_tick(struct html *h, const char *class, const char *name, const char *value,
		 const char *label, bool on)
{
	layout_open(h, "label", class);
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

void layout_begin(struct html *h, const char *title, const char *class)
{
	html_begin(h);
	html_open(h, "meta", "name", "viewport", "content", "width=device-width, initial-scale=1");
	html_open(h, "meta", "name", "robots", "content", "noindex");
	html_put_text(h, "title", title);
	html_open(h, "link", "rel", "stylesheet", "href", "/style.css");
	html_close(h, "head");
	html_open(h, "body");
	layout_open(h, "header", class);
}

void layout_home(struct html *h, bool is_heading)
{
	if (is_heading)
		html_open(h, "h1");
	html_put_text(h, "a", "garner", "class", "name", "href", "/");
	if (is_heading)
		html_close(h, "h1");
}

void layout_main(struct html *h)
{
	html_close(h, "header");
	html_open(h, "main");
}

void layout_end(struct html *h, const struct layout_link *links, size_t n)
{
	html_close(h, "main");
	html_open(h, "footer");
	for (size_t i = 0; i < n; i++) {
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

int layout_style(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return answer_asset(ret, asset_style_begin, asset_style_end, "text/css; charset=utf-8");
}

int layout_status_js(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return answer_asset(ret, asset_status_begin, asset_status_end,
			    "text/javascript; charset=utf-8");
}
