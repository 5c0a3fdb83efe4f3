/* The status page: the crawl in a few numbers, then all roles and their counters. */
#include "base/clock.h"
#include "net/layout.h"
#include "web/numbers.h"
#include "web/web_inner.h"

#include <stdio.h>

static void put_numbers(struct html *h, const struct numbers *n)
{
	layout_open(h, "dl", "numbers");
	for (size_t i = 0; i < NUMBERS; i++) {
		char id[32];
		snprintf(id, sizeof id, "n-%s", n->n[i].id);
		html_open(h, "div");
		html_put_text(h, "dt", n->n[i].title);
		html_put_text(h, "dd", n->n[i].text, "id", id);
		html_close(h, "div");
	}
	html_close(h, "dl");
}

static void svg_line(struct html *h, const char *element, const char *class)
{
	html_open(h, element, "class", class, "points", "");
	html_close(h, element);
}

/* Hidden until the page's script has something to draw. */
static void put_plot(struct html *h)
{
	html_open(h, "figure", "id", "plot", "hidden", "hidden");
	html_open(h, "svg", "class", "plot", "viewbox", "0 0 100 40", "preserveaspectratio", "none",
		  "aria-hidden", "true");
	svg_line(h, "polygon", "area");
	svg_line(h, "polyline", "line");
	html_close(h, "svg");
	layout_open(h, "figcaption", "dim");
	html_close(h, "figcaption");
	html_close(h, "figure");
	html_put_text(h, "p", "This page updates itself when JavaScript is on.", "id", "still",
		      "class", "dim");
}

/* The colour of a state, of a role, a reaper or a source. */
static const char *state_class(struct str state)
{
	static const struct {
		const char *state, *class;
	} known[] = {
		{"ready", "good"},      {"running", "good"}, {"up", "good"},
		{"collecting", "good"}, {"good", "good"},    {"stopped", "dim"},
		{"ended", "dim"},       {"waits", "dim"},    {"never asked", "dim"},
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_is(state, known[i].state))
			return known[i].class;
	return "bad";
}

/* The class of a cell of that column; NULL: none. */
static const char *label_class(const char *label, struct str text)
{
	if (strcmp(label, "State") == 0)
		return state_class(text);
	if (strcmp(label, "Counter") == 0)
		return "code";
	return strcmp(label, "Meaning") == 0 ? "help dim"
	       : strcmp(label, "Why") == 0   ? "dim"
					     : NULL;
}

static void put_head(void *ctx, const struct column *c, const void *row)
{
	struct html *h = ctx;
	(void)row;
	html_put_text(h, "th", c->label, "scope", "col", "class",
		      rows_is_right(c)                   ? "n"
		      : strcmp(c->label, "Meaning") == 0 ? "help"
							 : NULL);
}

static void put_cell(void *ctx, const struct column *c, const void *row)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(64 << 10);
	rows_cell(c, row, &text);
	html_put(ctx, "td", buf_str(&text), "class",
		 rows_is_right(c) ? "n" : label_class(c->label, buf_str(&text)));
}

static void put_row(struct html *h, const struct rows *t, const void *row, const char *class)
{
	html_open(h, "tr", "class", class);
	rows_each(t, row, put_cell, h);
	html_close(h, "tr");
}

/* A table with heads. */
static void open_table(struct html *h, struct str title, const struct rows *t)
{
	if (title.n)
		html_put(h, "h2", title);
	html_open(h, "div", "class", "wide", "tabindex", "0"); /* it may have to be scrolled */
	html_open(h, "table");
	html_open(h, "tr");
	rows_each(t, NULL, put_head, h);
	html_close(h, "tr");
}

static void close_table(struct html *h)
{
	html_close(h, "table");
	html_close(h, "div");
}

static void put_table(struct html *h, struct str title, const struct rows *t, const void *first,
		      size_t n)
{
	open_table(h, title, t);
	for (size_t i = 0; i < n; i++)
		put_row(h, t, (const char *)first + i * t->size, NULL);
	close_table(h);
}

/* A section that live numbers fill, and show once there is something in it. */
static void open_section(struct html *h, const char *id, const char *title, bool empty)
{
	html_open(h, "section", "id", id, "hidden", empty ? "hidden" : NULL);
	html_put_text(h, "h2", title);
	html_open(h, "table");
	html_open(h, "tbody");
}

static void close_section(struct html *h)
{
	html_close(h, "tbody");
	html_close(h, "table");
	html_close(h, "section");
}

static void put_causes(struct html *h, const struct numbers *n)
{
	open_section(h, "causes", "Pages not fetched", n->causes == 0);
	for (size_t i = 0; i < n->causes; i++)
		put_row(h, &numbers_cause_rows, &n->cause[i], NULL);
	close_section(h);
}

static void put_codes(struct html *h, const struct numbers *n)
{
	open_section(h, "codes", "Fetch results by code", n->codes == 0);
	for (size_t i = 0; i < n->codes; i++)
		put_row(h, &numbers_code_rows, &n->code[i], n->code[i].words[0] ? "code" : "class");
	close_section(h);
}

/* One sentence about all roles. */
static void put_summary(struct html *h, const struct status *s)
{
	size_t waiting = 0, live = 0;
	for (size_t i = 0; i < s->nrows; i++) {
		waiting += web_role_waits(&s->row[i]);
		live += status_is_live(&s->row[i]) && !str_is(s->row[i].name, "up");
	}
	layout_open(h, "p", waiting ? "bad" : "good");
	if (waiting)
		html_printf(h, "%zu of %zu roles not ready:", waiting, live);
	else
		html_printf(h, "%zu role%s, all ready.", live, live == 1 ? "" : "s");
	for (size_t i = 0; i < s->nrows; i++)
		if (web_role_waits(&s->row[i]))
			html_printf(h, " " STR_FMT " is %s.", STR_ARG(s->row[i].name),
				    status_words[s->row[i].state]);
	html_close(h, "p");
}

/* Without the codes, which are shown above with words. */
static void put_counters(struct html *h, const struct counters_view *view)
{
	open_table(h, view->instance, &counter_rows);
	for (size_t i = 0; i < view->n; i++)
		if (!str_is(view->value[i].name, "codes"))
			put_row(h, &counter_rows, &view->value[i], NULL);
	close_table(h);
}

void web_status_html(struct html *h, const struct status *s, const struct web_reapers *reapers,
		     const struct web_points *points, int64_t now_wall_us)
{
	struct numbers numbers;
	struct numbers_queries queries;
	struct web_ask box = {.match = {.forgive = true}};
	numbers_of(s, now_wall_us, &numbers);
	web_begin(h, "garner: status", &box);
	html_put_text(h, "h1", "Status");
	put_summary(h, s);
	put_numbers(h, &numbers);
	put_plot(h);
	put_causes(h, &numbers);
	put_codes(h, &numbers);
	html_put_text(h, "h2", "Roles");
	if (s->damaged[0])
		html_put_text(h, "p", s->damaged);
	put_table(h, STR(""), &role_rows, s->row, s->nrows);
	if (reapers->n > 1) /* else this machine alone fetches */
		put_table(h, STR("Reapers"), &reaper_rows, reapers->list, reapers->n);
	if (points_are_told(points->list, points->n))
		put_table(h, STR("Sources"), &point_rows, points->list, points->n);
	if (numbers_queries(s, &queries) == 0)
		put_table(h, STR("Queries of the broker's port"), &numbers_queries_rows, &queries,
			  1);
	for (size_t i = 0; i < s->nviews; i++)
		if (s->view[i].n && s->view[i].alive)
			put_counters(h, &s->view[i]);
	html_script(h, "/status.js");
	web_end(h);
}

int web_status_page(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	struct html h = HTML_INIT(ret->body);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(8 << 20);
	struct web_reapers reapers = {0};
	struct web_points points = {0};
	struct status s;
	struct err unread; /* a page about everything does not fail for a part */
	if (status_read(&s, w->data, err) < 0)
		return -1;
	(void)reapers_load(w->data, &arena, &reapers.list, &reapers.n, &unread);
	(void)points_load(w->data, &points.list, &points.n, &unread);
	web_status_html(&h, &s, &reapers, &points, clock_wall_us());
	mem_free(&points.list);
	status_free(&s);
	return 0;
}
