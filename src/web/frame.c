/* The parts of all pages of the role `web`: the search box with its filters, and the links at the
 * foot. */
#include "net/layout.h"
#include "web/web_inner.h"

/* Types of documents that the filter offers. */
static const char *const types[] = {"HTML",  "Text",  "Mail",    "PostScript",
				    "Image", "Audio", "Archive", "Binary"};

static void select_type(struct html *h, struct str chosen)
{
	html_put_text(h, "label", "Type of document", "class", "aside", "for", "type");
	html_open(h, "select", "name", "type", "id", "type");
	layout_option(h, "", "any type", false);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		layout_option(h, types[i], types[i], str_is(chosen, types[i]));
	html_close(h, "select");
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

static void put_box(struct html *h, const struct web_ask *ask)
{
	html_open(h, "form", "action", "/", "role", "search", "class", "ask");
	layout_home(h, ask->bare);
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

void web_begin(struct html *h, const char *title, const struct web_ask *ask)
{
	layout_begin(h, title, ask && ask->bare ? "bare" : NULL);
	if (ask)
		put_box(h, ask);
	else
		layout_home(h, false);
	layout_main(h);
}

void web_end(struct html *h)
{
	static const struct layout_link links[] = {
		{"/files", "Files"},
		{"/status", "Status"},
		{"/api/openapi.json", "For programs"},
	};
	layout_end(h, links, ARRAY_LEN(links));
}
