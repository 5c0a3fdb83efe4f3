/* /query.html: the classic form and its answer, with the field names of old pages and bookmarks. A
 * box that is not ticked is not sent, so a query without any flag is read as the broker's port
 * reads one: case counts, and parts of words match. The form starts with the defaults of the old
 * manual. */
#include "base/clock.h"
#include "net/layout.h"
#include "web/numbers.h"
#include "web/web_inner.h"

enum {
	RESULTS = 50,
	RESULTS_MOST = 1000,
	LINES = 50,
	DESCRIPTION = 1024, /* bytes that are shown */
};

const struct http_param web_query_params[WEB_QUERY_PARAMS] = {
	{{"query", VALUE_TEXT_AT(struct web_query, query), .fallback = "",
	  .help = "What is asked, in the broker's language"}},
	{{"caseflag", VALUE_BOOL_AT(struct web_query, any_case), .fallback = "no",
	  .help = "Capitals and accents do not count"}},
	{{"wordflag", VALUE_BOOL_AT(struct web_query, words), .fallback = "no",
	  .help = "Parts of words do not match"}},
	{{"errorflag", VALUE_INT_AT(struct web_query, errors), .fallback = "0", .min = 0,
	  .max = QUERY_ERRORS_MOST, .help = "Characters that may be wrong in a word"}},
	{{"maxlineflag", VALUE_INT_AT(struct web_query, lines), .fallback = "50", .min = 0,
	  .max = 100000, .help = "Matched lines of an object that are shown"}},
	{{"maxresultflag", VALUE_INT_AT(struct web_query, results), .fallback = "50", .min = 1,
	  .max = 100000, .help = "Results, of which the first thousand are shown"}},
	{{"maxobjflag", VALUE_INT_AT(struct web_query, objects), .fallback = "0", .min = 0,
	  .max = 100000, .help = "Objects; 0: as many as results"}},
	{{"descflag", VALUE_BOOL_AT(struct web_query, desc), .fallback = "no",
	  .help = "Descriptions are shown"}},
	{{"verbose", VALUE_BOOL_AT(struct web_query, verbose), .fallback = "no",
	  .help = "Numbers and notes are shown"}},
	{{"opaqueflag", VALUE_BOOL_AT(struct web_query, opaque), .fallback = "no",
	  .help = "Matched lines are shown"}},
	{{"lifetime", VALUE_INT_AT(struct web_query, lifetime_s), .fallback = "0", .min = 0,
	  .max = 86400, .help = "Seconds that the query may take, at most 2"}},
};

/* least NULL: it is not shown. */
static void put_number_field(struct html *h, const char *name, const char *label, const char *least,
			     int64_t value)
{
	char digits[STR_DECIMAL_MAX];
	struct str text = {digits, str_decimal(digits, (uint64_t)value)};
	if (least)
		layout_field(h, &(struct layout_field){.type = "number",
						       .name = name,
						       .label = label,
						       .least = least,
						       .value = text});
	else
		layout_hidden(h, name, text);
}

void web_query_form(struct html *h, const struct web_query *p)
{
	html_open(h, "form", "action", "/query.html", "class", "classic");
	layout_box(h, &(struct layout_box){.name = "query",
					   .label = "Query",
					   .longest = "10000",
					   .button = "Submit Query",
					   .value = str_of(p->query)});
	layout_tick(h, NULL, "caseflag", "on", "Any capitals", p->any_case);
	layout_tick(h, NULL, "wordflag", "on", "Whole words only", p->words);
	layout_tick(h, NULL, "descflag", "on", "Descriptions", p->desc);
	layout_tick(h, NULL, "opaqueflag", "on", "Matched lines", p->opaque);
	layout_tick(h, NULL, "verbose", "on", "Numbers and notes", p->verbose);
	put_number_field(h, "errorflag", "Spelling errors", "0", p->errors);
	put_number_field(h, "maxlineflag", "Most lines of an object", "0", p->lines);
	put_number_field(h, "maxresultflag", "Most results", "1", p->results);
	put_number_field(h, "maxobjflag", "Most objects", "0", p->objects);
	put_number_field(h, "lifetime", NULL, NULL, p->lifetime_s);
	html_close(h, "form");
	html_put_text(h, "p", "Words, \"phrases\", Attribute : value, AND, OR, NOT and brackets.",
		      "class", "about");
}

static void put_line(struct html *h, const struct matched_line *line)
{
	layout_open(h, "p", "line");
	html_put(h, "b", line->attribute);
	html_text(h, ": ");
	web_put_marked(h, &line->line);
	html_close(h, "p");
}

static void put_object(struct html *h, const struct web_query *p, const struct search_row *row,
		       struct str description)
{
	html_open(h, "li");
	html_open(h, "h2");
	html_link(h, row->url, "noreferrer", row->url);
	html_close(h, "h2");
	if (description.n)
		html_put(h, "p", description, "class", "snippet");
	for (size_t i = 0; i < row->lines && i < (size_t)p->lines; i++)
		put_line(h, &row->line[i]);
	CLEANUP(buf_free) struct buf to = BUF_INIT(100);
	buf_printf(&to, "/object/%llu", (unsigned long long)row->oid);
	layout_open(h, "p", "more");
	html_link(h, buf_str(&to), NULL, STR("content summary"));
	html_close(h, "p");
	html_close(h, "li");
}

static void put_about(struct html *h, const struct search_answer *a)
{
	char total[NUMBER_TEXT], documents[NUMBER_TEXT];
	number_text(a->total, total);
	number_text(a->documents, documents);
	layout_open(h, "p", "about");
	html_printf(h, "%s%s of %s objects match, %.1f ms", a->total_exact ? "" : "At least ",
		    total, documents, (double)a->took_us / 1000.0);
	html_close(h, "p");
	layout_notes(h, a->notes);
}

void web_query_results(struct html *h, const struct web_query *p, const struct search_answer *a,
		       const struct str *description)
{
	if (p->verbose)
		put_about(h, a);
	if (a->cut)
		layout_note(h, "note",
			    "The time of this query was over: these are the best results so far.");
	if (a->n == 0)
		layout_note(h, "note", "Nothing was found.");
	layout_open(h, "ol", "results");
	for (size_t i = 0; i < a->n; i++)
		put_object(h, p, &a->row[i], description ? description[i] : (struct str){0});
	html_close(h, "ol");
}

/* Of each row. One whose object went away since has none: it was there when the row was made, so
 * nothing is hidden by this. */
static void read_descriptions(const struct web *w, const struct search_answer *a,
			      struct arena *arena, struct str *ret)
{
	for (size_t i = 0; i < a->n; i++) {
		struct document *d = NULL;
		struct str part;
		struct err gone;
		if (document_open_oid(&d, w->search, a->row[i].oid, &gone) == 0 &&
		    document_find(d, STR("Description"), &gone) == 0 &&
		    document_value(d, &part, &gone) == 0)
			ret[i] = arena_str(arena, str_utf8_head(part, DESCRIPTION));
		document_free(&d);
	}
}

struct search_ask web_query_ask(const struct web_query *p)
{
	int64_t asked_us = p->lifetime_s * US_PER_S;
	int64_t objects = p->objects ? MIN(p->objects, p->results) : p->results;
	return (struct search_ask){
		.words = str_trim(str_of(p->query)),
		.limit = (uint32_t)MIN(objects, (int64_t)RESULTS_MOST),
		.budget_us = asked_us ? MIN(asked_us, WEB_BUDGET_US) : WEB_BUDGET_US,
		.match = {.exact = !p->any_case,
			  .parts = !p->words,
			  .errors = (uint8_t)p->errors,
			  .classic = true},
		.lines = p->opaque && p->lines > 0,
	};
}

static const struct web_query first_form = {.query = "",
					    .any_case = true,
					    .words = true,
					    .desc = true,
					    .opaque = true,
					    .verbose = true,
					    .lines = LINES,
					    .results = RESULTS,
					    .objects = RESULTS,
					    .lifetime_s = WEB_BUDGET_US / US_PER_S};

/* The page up to its form. */
static void begin_page(struct html *h, const char *title, const struct web_query *form)
{
	web_begin(h, title, NULL);
	html_put_text(h, "h1", "Broker query");
	web_query_form(h, form);
}

static int answer_query(struct http_request *req, struct html *h, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_query *p = req->params;
	struct search_ask ask = web_query_ask(p);
	struct search_answer a;
	struct str *description = NULL;
	int rc = search_run(w->search, &ask, &req->arena, &a, err);
	if (rc < 0 && err->code != ERR_USAGE)
		return -1;
	if (rc == 0 && p->desc) {
		description = arena_array(&req->arena, a.n + 1, sizeof *description);
		read_descriptions(w, &a, &req->arena, description);
	}
	begin_page(h, arena_printf(&req->arena, "%s - broker query", p->query), p);
	if (rc < 0)
		layout_note(h, "note bad", err->msg);
	else
		web_query_results(h, p, &a, description);
	return 0;
}

int web_query_page(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web_query *p = req->params;
	struct html h = HTML_INIT(ret->body);
	if (str_trim(str_of(p->query)).n == 0)
		begin_page(&h, "Broker query - garner", &first_form);
	else if (answer_query(req, &h, err) < 0)
		return -1;
	web_end(&h);
	return 0;
}
