/* The status page: how the crawl goes in a few numbers, then all roles and their counters. */
#include "base/clock.h"
#include "shepherd/shepherd.h"
#include "web/layout.h"
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

/* Not seen until the page's script has something to draw. */
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

static void put_cell(struct html *h, const char *class, struct str text)
{
	html_put(h, "td", text, "class", class);
}

static void put_number(struct html *h, int64_t v)
{
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)v);
	put_cell(h, "n", str_of(text));
}

static void put_duration(struct html *h, int64_t us, bool known)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(100);
	if (known)
		duration_print_short(&text, MAX(us, 0));
	put_cell(h, "n", known ? buf_str(&text) : STR("-"));
}

/* A section with a table of its own, which live numbers fill when it is empty. */
static void open_table(struct html *h, const char *id, const char *title, bool empty)
{
	html_open(h, "section", "id", id, "hidden", empty ? "hidden" : NULL);
	html_put_text(h, "h2", title);
	html_open(h, "table");
	html_open(h, "tbody");
}

static void close_table(struct html *h)
{
	html_close(h, "tbody");
	html_close(h, "table");
	html_close(h, "section");
}

static void put_causes(struct html *h, const struct status *s)
{
	struct numbers_cause cause[NUMBERS_CAUSES];
	size_t n = numbers_causes(s, cause);
	open_table(h, "causes", "Pages not fetched", n == 0);
	for (size_t i = 0; i < n; i++) {
		html_open(h, "tr");
		put_cell(h, NULL, cause[i].result);
		put_number(h, cause[i].count);
		html_close(h, "tr");
	}
	close_table(h);
}

static void put_codes(struct html *h, const struct status *s)
{
	struct numbers_code code[NUMBERS_CODES];
	size_t n = numbers_codes(s, code);
	open_table(h, "codes", "Fetch results by code", n == 0);
	for (size_t i = 0; i < n; i++) {
		layout_open(h, "tr", code[i].words[0] ? "code" : "class");
		put_cell(h, NULL, code[i].name);
		put_cell(h, NULL, str_of(code[i].words));
		put_number(h, code[i].count);
		html_close(h, "tr");
	}
	close_table(h);
}

static const char *state_class(const struct status_row *r)
{
	return r->state == STATUS_READY || r->state == STATUS_RUNNING ? "good"
	       : status_is_live(r)                                    ? "bad"
								      : "dim";
}

/* A table with heads; from `numbers` on its columns are numbers. */
struct wide {
	const char *class, *const *head;
	size_t n, numbers;
};
#define WIDE(class, head, numbers) (&(struct wide){class, head, ARRAY_LEN(head), numbers})

/* title "": none */
static void open_wide(struct html *h, struct str title, const struct wide *w)
{
	if (title.n)
		html_put(h, "h2", title);
	layout_open(h, "div", "wide");
	layout_open(h, "table", w->class);
	html_open(h, "tr");
	for (size_t i = 0; i < w->n; i++)
		html_put_text(h, "th", w->head[i], "scope", "col", "class",
			      i >= w->numbers ? "n" : NULL);
	html_close(h, "tr");
}

static void close_wide(struct html *h)
{
	html_close(h, "table");
	html_close(h, "div");
}

static void put_roles(struct html *h, const struct status *s, int64_t now_wall_us)
{
	static const char *const names[] = {"Role", "State", "Since", "Restarts", "CPU", "Memory"};
	open_wide(h, STR(""), WIDE("roles", names, 2));
	for (size_t i = 0; i < s->nrows; i++) {
		const struct status_row *r = &s->row[i];
		char memory[32] = "-";
		if (r->rss >= 0)
			snprintf(memory, sizeof memory, "%.1f MiB", (double)r->rss / (1 << 20));
		html_open(h, "tr");
		put_cell(h, NULL, r->name);
		put_cell(h, state_class(r), str_of(status_words[r->state]));
		put_duration(h, now_wall_us - r->since_wall_us, r->since_wall_us > 0);
		put_number(h, r->restarts);
		put_duration(h, r->cpu_us, r->cpu_us >= 0);
		put_cell(h, "n", str_of(memory));
		html_close(h, "tr");
	}
	close_wide(h);
}

/* Who fetches for the crawl; nothing while it is this machine alone. */
static void put_reapers(struct html *h, const struct web_reapers *reapers)
{
	static const char *const names[] = {"Reaper", "State",  "Jobs", "Out",  "Documents",
					    "Bytes",  "Errors", "Lost", "Late", "Round trip"};
	if (reapers->n < 2)
		return;
	open_wide(h, STR("Reapers"), WIDE("reapers", names, 2));
	for (size_t i = 0; i < reapers->n; i++) {
		const struct reaper_status *r = &reapers->list[i];
		const uint64_t number[] = {r->jobs,   r->out,  r->documents, r->bytes,
					   r->errors, r->lost, r->late};
		html_open(h, "tr");
		put_cell(h, NULL, str_of(r->name));
		put_cell(h,
			 strcmp(r->state, "up") == 0      ? "good"
			 : strcmp(r->state, "waits") == 0 ? "dim"
							  : "bad",
			 str_of(r->state));
		for (size_t j = 0; j < ARRAY_LEN(number); j++)
			put_number(h, (int64_t)number[j]);
		put_duration(h, (int64_t)r->round_us, r->round_us > 0);
		html_close(h, "tr");
	}
	close_wide(h);
}

/* How it went with each source and gatherer of the broker. */
static void put_points(struct html *h, const struct web_points *points, int64_t now_wall_us)
{
	static const char *const names[] = {"Source",  "State", "Why",     "Last, ago",
					    "Objects", "Bad",   "Next, in"};
	static const char *const classes[] = {[POINT_NEVER] = "dim",
					      [POINT_RUNS] = "good",
					      [POINT_GOOD] = "good",
					      [POINT_FAILED] = "bad"};
	if (!points_are_told(points->list, points->n))
		return;
	open_wide(h, STR("Sources"), WIDE("points", names, 3));
	for (size_t i = 0; i < points->n; i++) {
		const struct point_status *p = &points->list[i];
		html_open(h, "tr");
		put_cell(h, NULL, str_of(p->name));
		put_cell(h, p->state < POINT_STATES ? classes[p->state] : "bad",
			 str_of(point_state_text(p->state)));
		put_cell(h, "dim", str_of(p->text));
		put_duration(h, now_wall_us - p->last_us, p->last_us != 0);
		put_number(h, (int64_t)p->objects);
		put_number(h, (int64_t)p->bad);
		put_duration(h, p->next_us - now_wall_us, p->next_us != 0);
		html_close(h, "tr");
	}
	close_wide(h);
}

/* The broker's port, once it was asked something. */
static void put_queries(struct html *h, const struct status *s)
{
	int64_t count[NUMBERS_QUERIES], average_us;
	if (numbers_queries(s, count, &average_us) != 0)
		return;
	open_wide(h, STR("Queries of the broker's port"), WIDE("queries", numbers_query_titles, 0));
	html_open(h, "tr");
	for (size_t i = 0; i < ARRAY_LEN(count); i++)
		put_number(h, count[i]);
	put_duration(h, average_us, average_us >= 0);
	html_close(h, "tr");
	close_wide(h);
}

static void put_counters(struct html *h, const struct counters_view *view)
{
	static const char *const names[] = {"Counter", "Meaning", "Value"};
	open_wide(h, view->instance, WIDE("counters", names, 2));
	for (size_t i = 0; i < view->n; i++) {
		const struct counter_value *v = &view->value[i];
		if (str_is(v->name, "codes")) /* shown above, with words */
			continue;
		html_open(h, "tr");
		html_open(h, "td");
		html_open(h, "code");
		html_str(h, v->name);
		if (v->labels.n)
			html_printf(h, "{" STR_FMT "}", STR_ARG(v->labels));
		html_close(h, "code");
		html_close(h, "td");
		put_cell(h, "help dim", v->help);
		put_number(h, v->value);
		html_close(h, "tr");
	}
	close_wide(h);
}

/* One sentence that says it all. */
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

void web_status_html(struct html *h, const struct status *s, const struct web_reapers *reapers,
		     const struct web_points *points, int64_t now_wall_us)
{
	struct numbers numbers;
	struct layout_ask box = {.match = {.forgive = true}};
	numbers_of(s, now_wall_us, &numbers);
	layout_begin(h, "garner: status", &box);
	html_put_text(h, "h1", "Status");
	put_summary(h, s);
	put_numbers(h, &numbers);
	put_plot(h);
	put_causes(h, s);
	put_codes(h, s);
	html_put_text(h, "h2", "Roles");
	if (s->damaged[0])
		html_put_text(h, "p", s->damaged);
	put_roles(h, s, now_wall_us);
	put_reapers(h, reapers);
	put_points(h, points, now_wall_us);
	put_queries(h, s);
	for (size_t i = 0; i < s->nviews; i++)
		if (s->view[i].n && s->view[i].alive)
			put_counters(h, &s->view[i]);
	html_script(h, "/status.js");
	layout_end(h);
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
