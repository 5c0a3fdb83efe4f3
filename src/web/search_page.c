/* Search, as pages for people and as JSON for programs. A page is a question and its answer. Every
 * link on it is another question, so it can be bookmarked, sent and gone back to. */
#include "base/clock.h"
#include "net/layout.h"
#include "web/numbers.h"
#include "web/web_inner.h"

enum { PAGE_ROWS = 10, SITE_ROWS = 2 /* of a site, before those of others */ };

const struct http_param web_search_params[WEB_SEARCH_PARAMS] = {
	{{"q", VALUE_TEXT_AT(struct web_search, q), .fallback = "", .help = "The words"}},
	{{"site", VALUE_TEXT_AT(struct web_search, site), .fallback = "",
	  .help = "Only documents of this host"}},
	{{"type", VALUE_TEXT_AT(struct web_search, type), .fallback = "",
	  .help = "Only documents of this type: HTML, Text ..."}},
	{{"page", VALUE_INT_AT(struct web_search, page), .fallback = "1", .min = 1, .max = 1000,
	  .help = "Which page of results"}},
	{{"n", VALUE_INT_AT(struct web_search, n), .fallback = "10", .min = 1,
	  .max = SEARCH_PAGE_MOST, .help = "Results on a page"}},
	{{"errors", VALUE_INT_AT(struct web_search, errors), .fallback = "0", .min = 0,
	  .max = QUERY_ERRORS_MOST, .help = "Characters that may be wrong in a word"}},
	{{"best", VALUE_BOOL_AT(struct web_search, best), .fallback = "no",
	  .help = "As many errors as it takes to find something"}},
	{{"parts", VALUE_BOOL_AT(struct web_search, parts), .fallback = "no",
	  .help = "Words may be parts of longer ones"}},
	{{"case", VALUE_BOOL_AT(struct web_search, exact), .fallback = "no",
	  .help = "Case and accents count"}},
	{{"forgive", VALUE_BOOL_AT(struct web_search, forgive), .fallback = "yes",
	  .help = "Words that hardly any document has also mean their neighbours"}},
	{{"lines", VALUE_BOOL_AT(struct web_search, lines), .fallback = "no",
	  .help = "The lines that matched, in JSON"}},
	{{"facets", VALUE_LIST_AT(struct web_search, facets), .fallback = "",
	  .help = "What the matches are counted by, in JSON: site, type, year ..."}},
};

static struct search_ask ask_of(const struct web_search *p)
{
	return (struct search_ask){
		.words = str_of(p->q),
		.site = str_of(p->site),
		.type = str_of(p->type),
		.limit = (uint32_t)p->n,
		.offset = (uint32_t)((p->page - 1) * p->n),
		.budget_us = WEB_BUDGET_US,
		.match = {.exact = p->exact,
			  .errors = (uint8_t)p->errors,
			  .best = p->best,
			  .parts = p->parts,
			  .forgive = p->forgive},
		.per_site = SITE_ROWS,
		.lines = p->lines,
		.meant = true,
	};
}

/* How words are taken, where that is not as usual: as a part of an address, and in words. */
static const struct {
	const char *name, *value, *text;
	size_t at; /* of struct query_options */
	bool usual;
} choices[] = {
	{"best", "yes", "best match", offsetof(struct query_options, best), false},
	{"parts", "yes", "parts of words", offsetof(struct query_options, parts), false},
	{"case", "yes", "case and accents", offsetof(struct query_options, exact), false},
	{"forgive", "no", "as written only", offsetof(struct query_options, forgive), true},
};

static bool *choice_of(struct query_options *match, size_t i)
{
	return (bool *)((char *)match + choices[i].at);
}

static void add_part(struct buf *to, const char *name, struct str value)
{
	if (value.n) {
		buf_add_text(to, name);
		http_encode(to, value);
	}
}

/* The address of results: the same question with another page or filter. */
static struct buf href_of(const struct search_ask *ask, uint64_t page)
{
	struct buf to = BUF_INIT(64 << 10);
	buf_add_text(&to, "/?q=");
	http_encode(&to, ask->words);
	add_part(&to, "&site=", ask->site);
	add_part(&to, "&type=", ask->type);
	if (ask->match.errors)
		buf_printf(&to, "&errors=%u", ask->match.errors);
	struct query_options match = ask->match;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		if (*choice_of(&match, i) != choices[i].usual)
			buf_printf(&to, "&%s=%s", choices[i].name, choices[i].value);
	if (page > 1)
		buf_printf(&to, "&page=%llu", (unsigned long long)page);
	return to;
}

/* rel NULL: none */
static void put_link(struct html *h, const struct search_ask *ask, uint64_t page, const char *rel,
		     struct str text)
{
	CLEANUP(buf_free) struct buf to = href_of(ask, page);
	html_link(h, buf_str(&to), rel, text);
}

void web_put_marked(struct html *h, const struct marked *m)
{
	size_t at = 0;
	html_text(h, m->cut_before ? "… " : "");
	for (size_t i = 0; i < m->n; i++) {
		html_str(h, (struct str){m->text.p + at, m->mark[i].at - at});
		html_put(h, "mark", (struct str){m->text.p + m->mark[i].at, m->mark[i].n});
		at = m->mark[i].at + m->mark[i].n;
	}
	html_str(h, (struct str){m->text.p + at, m->text.n - at});
	html_text(h, m->cut_after ? " …" : "");
}

void web_put_size(struct html *h, uint64_t bytes)
{
	if (bytes >= 1000000)
		html_printf(h, LAYOUT_DOT "%.1f MB", (double)bytes / 1e6);
	else if (bytes >= 1000)
		html_printf(h, LAYOUT_DOT "%.0f kB", (double)bytes / 1e3);
	else
		html_printf(h, LAYOUT_DOT "%llu bytes", (unsigned long long)bytes);
}

void web_put_day(struct html *h, int64_t time_s)
{
	CLEANUP(buf_free) struct buf day = BUF_INIT(64);
	time_print(&day, time_s * US_PER_S, 0);
	html_text(h, LAYOUT_DOT);
	html_str(h, str_head(buf_str(&day), strlen("2024-02-29")));
}

static void put_more(struct html *h, const struct search_ask *ask, const struct search_row *row)
{
	CLEANUP(buf_free) struct buf to = BUF_INIT(64 << 10);
	struct search_ask site = *ask;
	site.site = row->host;
	layout_open(h, "p", "more");
	if (row->type.n)
		html_str(h, row->type);
	if (row->size)
		web_put_size(h, row->size);
	if (row->time_s > 0)
		web_put_day(h, row->time_s);
	html_text(h, LAYOUT_DOT);
	buf_add_text(&to, "/cached?url=");
	http_encode(&to, row->url);
	html_link(h, buf_str(&to), NULL, STR("cached text"));
	if (!ask->site.n) {
		html_text(h, LAYOUT_DOT);
		put_link(h, &site, 1, NULL, STR("more from this site"));
	}
	html_close(h, "p");
}

static void put_row(struct html *h, const struct search_ask *ask, const struct search_row *row)
{
	html_open(h, "li");
	html_open(h, "h2");
	html_open(h, "a");
	html_attr(h, "href", row->url);
	html_attr_text(h, "rel", "noreferrer");
	web_put_marked(h, &row->title);
	html_close(h, "a");
	html_close(h, "h2");
	html_put(h, "p", row->url, "class", "where");
	if (row->snippet.text.n) {
		layout_open(h, "p", "snippet");
		web_put_marked(h, &row->snippet);
		html_close(h, "p");
	}
	put_more(h, ask, row);
	html_close(h, "li");
}

/* A filter, and the way to be rid of it. */
static void put_chip(struct html *h, const struct search_ask *without, const char *before,
		     struct str value)
{
	CLEANUP(buf_free) struct buf to = href_of(without, 1);
	html_open(h, "li");
	layout_open(h, "a", "on");
	html_attr(h, "href", buf_str(&to));
	html_text(h, before);
	html_str(h, value);
	html_text(h, " ✕");
	html_put_text(h, "span", " (remove this filter)", "class", "aside");
	html_close(h, "a");
	html_close(h, "li");
}

static void put_chips(struct html *h, const struct search_ask *ask)
{
	struct search_ask no_site = *ask, no_type = *ask, no_errors = *ask;
	struct query_options match = ask->match;
	bool some = ask->site.n || ask->type.n || match.errors;
	no_site.site = no_type.type = (struct str){0};
	no_errors.match.errors = 0;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++)
		some |= *choice_of(&match, i) != choices[i].usual;
	if (!some)
		return;
	layout_open(h, "ul", "chips");
	if (ask->site.n)
		put_chip(h, &no_site, "only ", ask->site);
	if (ask->type.n)
		put_chip(h, &no_type, "only ", ask->type);
	if (match.errors) {
		const char digit[] = {(char)('0' + match.errors), 0};
		put_chip(h, &no_errors, "errors: ", str_of(digit));
	}
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		struct search_ask usual = *ask;
		*choice_of(&usual.match, i) = choices[i].usual;
		if (*choice_of(&match, i) != choices[i].usual)
			put_chip(h, &usual, "", str_of(choices[i].text));
	}
	html_close(h, "ul");
}

/* Another query that has hits. */
static void put_meant(struct html *h, const struct search_ask *ask, struct str meant)
{
	struct search_ask other = *ask;
	other.words = meant;
	layout_open(h, "p", "note");
	html_text(h, "Did you mean ");
	put_link(h, &other, 1, NULL, meant);
	html_text(h, "?");
	html_close(h, "p");
}

/* Ways to find more by the same words. */
static void put_ways(struct html *h, const struct search_ask *ask)
{
	struct search_ask best = *ask, parts = *ask;
	best.match.best = parts.match.parts = true;
	if (ask->match.best && ask->match.parts)
		return;
	layout_open(h, "p", "note");
	html_text(h, "Or search for ");
	if (!ask->match.best)
		put_link(h, &best, 1, NULL, STR("words like these"));
	html_text(h, ask->match.best || ask->match.parts ? "" : " or ");
	if (!ask->match.parts)
		put_link(h, &parts, 1, NULL, STR("words that contain these"));
	html_text(h, ".");
	html_close(h, "p");
}

static void put_pages(struct html *h, const struct search_ask *ask, const struct search_answer *a,
		      uint64_t page)
{
	bool before = page > 1;
	bool after = ask->offset + a->n < a->total || (!a->total_exact && a->n == ask->limit);
	if (!before && !after)
		return;
	html_open(h, "nav", "class", "pages", "aria-label", "Pages of results");
	if (before)
		put_link(h, ask, page - 1, "prev", STR("← Previous"));
	html_open(h, "span");
	html_printf(h, "Page %llu", (unsigned long long)page);
	html_close(h, "span");
	if (after)
		put_link(h, ask, page + 1, "next", STR("Next →"));
	html_close(h, "nav");
}

void web_search_results(struct html *h, const struct search_ask *ask, const struct search_answer *a,
			uint64_t page)
{
	char total[NUMBER_TEXT], documents[NUMBER_TEXT];
	number_text(a->total, total);
	number_text(a->documents, documents);
	layout_open(h, "p", "about");
	html_printf(h, "%s%s result%s of %s documents, %.1f ms", a->total_exact ? "" : "at least ",
		    total, a->total == 1 ? "" : "s", documents, (double)a->took_us / 1000.0);
	html_close(h, "p");
	put_chips(h, ask);
	if (a->cut)
		layout_note(h, "note", "This took too long: these are the best results so far.");
	layout_notes(h, a->notes);
	if (a->meant.n)
		put_meant(h, ask, a->meant);
	if (a->documents == 0)
		layout_note(h, "note",
			    "Nothing is indexed yet. Give garner a site: garner add URL");
	else if (a->n == 0)
		layout_note(h, "note", "Nothing was found. Try fewer or other words.");
	if (a->documents && a->n == 0)
		put_ways(h, ask);
	layout_open(h, "ol", "results");
	for (size_t i = 0; i < a->n; i++)
		put_row(h, ask, &a->row[i]);
	html_close(h, "ol");
	put_pages(h, ask, a, page);
}

/* Nothing was asked: the box, and how much there is to search. */
static int answer_bare(const struct web *w, struct html *h, const struct web_ask *box,
		       struct err *err)
{
	uint64_t documents;
	char text[NUMBER_TEXT];
	if (search_documents(w->search, &documents, err) < 0)
		return -1;
	number_text(documents, text);
	web_begin(h, "garner", box);
	layout_open(h, "p", "about");
	html_printf(h, "%s documents", text);
	html_close(h, "p");
	web_end(h);
	return 0;
}

int web_search_page(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_search *p = req->params;
	struct html h = HTML_INIT(ret->body);
	struct search_answer answer;
	struct search_ask ask = ask_of(p);
	struct web_ask box = {
		.words = ask.words, .site = ask.site, .type = ask.type, .match = ask.match};
	ask.words = str_trim(ask.words);
	box.bare = ask.words.n == 0;
	ask.limit = PAGE_ROWS;
	ask.offset = (uint32_t)((p->page - 1) * PAGE_ROWS);
	ask.exact_total = true;
	if (box.bare)
		return answer_bare(w, &h, &box, err);
	int rc = search_run(w->search, &ask, &req->arena, &answer, err);
	if (rc < 0 && err->code != ERR_USAGE)
		return -1;
	web_begin(&h, arena_printf(&req->arena, "%s - garner", p->q), &box);
	html_put_text(&h, "h1", "Results", "class", "aside");
	if (rc < 0)
		layout_note(&h, "note bad", err->msg);
	else
		web_search_results(&h, &ask, &answer, (uint64_t)p->page);
	web_end(&h);
	return 0;
}

int web_search_api(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_search *p = req->params;
	struct search_ask ask = ask_of(p);
	struct jsonw j = JSONW_INIT(ret->body);
	struct search_answer answer;
	if (search_ask_facets(&ask, &p->facets, err) < 0 ||
	    search_run(w->search, &ask, &req->arena, &answer, err) < 0)
		return -1;
	search_answer_json(&ask, &answer, &j);
	buf_add_byte(ret->body, '\n');
	return 0;
}
