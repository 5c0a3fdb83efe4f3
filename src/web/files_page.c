/* Files of archives by their names: /files for people, /api/files for programs, /archie/sites for
 * the list of sites. The parameters are the table of archie/ng_vars.h, so that a limit has one
 * name everywhere; a link to results contains the variables that differ from their defaults.
 *
 * A search may wait in the queue. A page is held for two seconds; then it shows its place in the
 * queue and makes the browser ask again under the id of the search, which keeps its place
 * meanwhile. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/rows.h"
#include "net/layout.h"
#include "web/files_inner.h"
#include "web/numbers.h"
#include "web/web_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum {
	ADDRESS_MOST = 256 << 10,
	REFRESH_MOST = 8 << 10, /* bytes of an address in a header: heads are bounded */
	DAY_S = 86400,
	DAYS_SHOWN = 60, /* beyond it ages are months, */
	MONTH_DAYS = 30,
	MONTHS_SHOWN = 24, /* and beyond these years */
	YEAR_DAYS = 365,
	PATH_MEMORY = 4 << 20, /* of one path */
};

_Static_assert(offsetof(struct web_files, vars) == 0, "their table fills it from the beginning");
const struct http_param web_files_params[WEB_FILES_PARAMS] = {
	{{"q", VALUE_TEXT_AT(struct web_files, q), .fallback = "",
	  .help = "The name of a file, a part of it, or an expression"}},
	{{"id", VALUE_TEXT_AT(struct web_files, id), .fallback = "",
	  .help = "Of a search that waits, as it was told: the same search goes on"}},
};

/* The question */

static void usual_vars(struct ng_vars *ret, struct arena *arena)
{
	*ret = (struct ng_vars){0};
	value_defaults(ng_var_specs, NG_VARS, arena, ret);
}

/* The question as the end of an address: what is not as usual. */
static void put_query(struct buf *out, const struct web_files *p)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 10);
	CLEANUP(buf_free) struct buf value = BUF_INIT(ADDRESS_MOST);
	struct ng_vars usual;
	usual_vars(&usual, &arena);
	buf_add_text(out, "?q=");
	http_encode(out, str_of(p->q));
	for (size_t i = 0; i < NG_VARS; i++) {
		const struct value_spec *spec = &ng_var_specs[i];
		if (value_equal(spec, &p->vars, &usual))
			continue;
		buf_clear(&value);
		value_print(spec, &p->vars, &value);
		buf_printf(out, "&%s=", spec->name);
		http_encode(out, buf_str(&value));
	}
}

static int64_t rows_of(const struct web_files *p)
{
	return p->vars.maxhits ? p->vars.maxhits : ARCHIE_ROWS_MOST;
}

/* A page asks for a row more than it shows: whether there is a next one. */
static int ask_files(struct http_request *req, bool page, struct files_told *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_files *p = req->params;
	CLEANUP(buf_free) struct buf question = BUF_INIT(ADDRESS_MOST);
	struct files_ask ask = {.ask = {.what = ARCHIE_FIND,
					.niceness = (int)p->vars.niceness,
					.verbose = true,
					.from = str_of(http_from(req))},
				.id = p->id,
				.patient = !page && !p->vars.status};
	if (!p->q[0])
		return err_set(err, ERR_USAGE,
			       "q: expected a name, a part of one or an expression");
	if (ng_vars_query(&p->vars, w->domains, &req->arena, &ask.ask.query, err) < 0)
		return -1;
	ask.ask.query.pattern = str_of(p->q);
	if (page)
		ask.ask.query.maxhits = (uint64_t)rows_of(p) + 1;
	put_query(&question, p);
	ask.same = hash64_seeded(buf_str(&question), page);
	return files_ask(w->files, req, &ask, ret, err);
}

/* The HTTP status of a refusal. */
static int refusal_status(enum archie_refusal why)
{
	static const int statuses[ARCHIE_REFUSALS] = {
		[ARCHIE_BAD] = 400,   [ARCHIE_BUSY] = 503,      [ARCHIE_FAILED] = 500,
		[ARCHIE_EMPTY] = 503, [ARCHIE_CANCELLED] = 503, [ARCHIE_AWAY] = 503,
	};
	return statuses[why];
}

static void answer_status(struct http_request *req, struct http_answer *ret, int status)
{
	ret->status = status;
	ret->cache = "no-store";
	if (status == 503)
		http_answer_header(req, ret, "Retry-After", STR("5"));
}

/* The form */

static const char *const search_texts[] = {
	[NAMES_EXACT] = "whole name",
	[NAMES_SUB] = "part of name",
	[NAMES_SUBCASE] = "part, with case",
	[NAMES_REGEX] = "expression",
	[NAMES_EXACT_SUB] = "whole name, else part",
	[NAMES_EXACT_SUBCASE] = "whole name, else part with case",
	[NAMES_EXACT_REGEX] = "whole name, else expression",
};
static const char *const sort_texts[] = {
	"usual order",     "name",           "host",           "largest first",  "newest first",
	"usual, reversed", "name, reversed", "host, reversed", "smallest first", "oldest first"};
static const char *const syntax_texts[] = {[NAMES_EXTENDED] = "extended", [NAMES_ED] = "as in ed"};

static void open_label(struct html *h, const char *text)
{
	html_open(h, "label");
	html_text(h, text);
	html_text(h, " ");
}

/* texts: one for each word of the variable. */
static void put_choice(struct html *h, const char *name, const char *label,
		       const char *const *texts, int chosen)
{
	const struct value_spec *spec = value_find(ng_var_specs, NG_VARS, str_of(name));
	open_label(h, label);
	html_open(h, "select", "name", name);
	for (int i = 0; spec->words[i]; i++)
		layout_option(h, spec->words[i], texts[i], i == chosen);
	html_close(h, "select");
	html_close(h, "label");
}

static void put_kinds(struct html *h, const char *chosen)
{
	static const char *const texts[NAMES_KINDS] = {"files", "folders", "links", "others"};
	bool known = !chosen[0];
	open_label(h, "Kind");
	html_open(h, "select", "name", "kind");
	layout_option(h, "", "any", known);
	for (unsigned i = 0; i < NAMES_KINDS; i++) {
		const char *word = names_kind_name((enum names_kind)i);
		bool is = strcmp(chosen, word) == 0;
		layout_option(h, word, texts[i], is);
		known |= is;
	}
	if (!known)
		layout_option(h, chosen, chosen, true);
	html_close(h, "select");
	html_close(h, "label");
}

/* Empty: as usual. */
static void put_var(struct html *h, const struct web_files *p, const struct ng_vars *usual,
		    const char *type, const char *name, const char *label, const char *hint)
{
	const struct value_spec *spec = value_find(ng_var_specs, NG_VARS, str_of(name));
	CLEANUP(buf_free) struct buf value = BUF_INIT(ADDRESS_MOST);
	if (!value_equal(spec, &p->vars, usual))
		value_print(spec, &p->vars, &value);
	layout_field(h, &(struct layout_field){.type = type,
					       .name = name,
					       .label = label,
					       .hint = hint ? hint : spec->fallback,
					       .list = strcmp(name, "match_domain") == 0 ? "domains"
											 : NULL,
					       .value = buf_str(&value)});
}

/* Browsers show a day; times of programs are texts. */
static void put_day(struct html *h, const char *name, const char *label, const char *value)
{
	bool day = !value[0] || strlen(value) == strlen("2024-02-29");
	layout_field(h, &(struct layout_field){.type = day ? "date" : "text",
					       .name = name,
					       .label = label,
					       .value = str_of(value)});
}

/* Names that a domain may be chosen by. */
static void put_domains(struct html *h, const struct domains *domains)
{
	html_open(h, "datalist", "id", "domains");
	for (size_t i = 0; i < domains->n; i++) {
		html_open(h, "option");
		html_attr(h, "value", domains->domain[i].name);
		html_str(h, domains->domain[i].text);
		html_close(h, "option");
	}
	html_close(h, "datalist");
}

/* Rare limits are folded up, unless they are used. */
static void put_limits(struct html *h, const struct web_files *p, const struct ng_vars *usual)
{
	static const char *const folded[] = {
		"match_site", "kind",    "size_min", "size_max",  "time_min", "time_max", "path",
		"mirrors",    "maxhits", "maxmatch", "maxhitspm", "syntax",   "niceness"};
	bool used = false;
	for (size_t i = 0; i < ARRAY_LEN(folded); i++)
		used |= !value_equal(value_find(ng_var_specs, NG_VARS, str_of(folded[i])), &p->vars,
				     usual);
	html_open(h, "details", "open", used ? "open" : NULL);
	html_put_text(h, "summary", "More limits");
	layout_open(h, "div", "limits");
	put_var(h, p, usual, "text", "match_site", "Sites", "ftp.example.org");
	put_kinds(h, p->vars.kind);
	put_var(h, p, usual, "text", "size_min", "Size from", "10K");
	put_var(h, p, usual, "text", "size_max", "Size to", "1.5M");
	put_day(h, "time_min", "Changed from", p->vars.time_min);
	put_day(h, "time_max", "Changed to", p->vars.time_max);
	put_var(h, p, usual, "number", "maxhits", "Files on a page", NULL);
	put_var(h, p, usual, "number", "maxmatch", "Different names", "any");
	put_var(h, p, usual, "number", "maxhitspm", "Files of each name", "any");
	put_choice(h, "syntax", "Expressions", syntax_texts, p->vars.syntax);
	layout_tick(h, NULL, "path", "yes", "Whole path", p->vars.path);
	layout_tick(h, NULL, "mirrors", "yes", "Fold mirrors", p->vars.mirrors);
	html_close(h, "div");
	html_close(h, "details");
}

void web_files_form(struct html *h, const struct web_files *p, const struct domains *domains)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 10);
	struct ng_vars usual;
	usual_vars(&usual, &arena);
	html_open(h, "form", "action", "/files", "role", "search", "class", "classic files");
	layout_box(h, &(struct layout_box){.name = "q",
					   .label = "Name of a file",
					   .hint = "Name of a file",
					   .longest = "4096",
					   .button = "Search",
					   .value = str_of(p->q),
					   .focus = !p->q[0]});
	layout_open(h, "div", "limits");
	put_choice(h, "search", "Match", search_texts, p->vars.search);
	put_choice(h, "sortby", "Sort by", sort_texts, p->vars.sortby);
	put_var(h, p, &usual, "text", "match_domain", "Domains", "usa:de");
	put_var(h, p, &usual, "text", "match_path", "In the path", "gnu:linux");
	html_close(h, "div");
	put_limits(h, p, &usual);
	put_domains(h, domains);
	html_close(h, "form");
}

/* Results */

static void put_link(struct html *h, const struct web_files *p, const char *rel, struct str text)
{
	CLEANUP(buf_free) struct buf to = BUF_INIT(ADDRESS_MOST);
	buf_add_text(&to, "/files");
	put_query(&to, p);
	html_link(h, buf_str(&to), rel, text);
}

static void put_count(struct html *h, uint64_t n, const char *what)
{
	char text[NUMBER_TEXT];
	number_text(n, text);
	html_printf(h, "%s %s%s", text, what, n == 1 ? "" : "s");
}

static void put_age(struct html *h, int64_t age_s)
{
	uint64_t days = (uint64_t)MAX(age_s, INT64_C(0)) / DAY_S;
	if (days == 0) {
		html_text(h, "today");
		return;
	}
	if (days <= DAYS_SHOWN)
		put_count(h, days, "day");
	else if (days <= (uint64_t)MONTHS_SHOWN * MONTH_DAYS)
		put_count(h, days / MONTH_DAYS, "month");
	else
		put_count(h, days / YEAR_DAYS, "year");
	html_text(h, " ago");
}

/* The folder that a file is in: its URL up to the last slash before its end. */
static struct str folder_url(struct str url)
{
	size_t n = url.n;
	while (n > 1 && url.p[n - 2] != '/')
		n--;
	return n > 1 ? str_head(url, n - 1) : url;
}

/* A link to others in two parts; only its text where there is no URL. */
static void put_foreign(struct html *h, struct str url, struct str text, struct str more)
{
	if (url.n) {
		html_open(h, "a");
		html_attr(h, "href", url);
		html_attr_text(h, "rel", "noreferrer");
	}
	html_str(h, text);
	html_str(h, more);
	if (url.n)
		html_close(h, "a");
}

static void put_place(struct html *h, const struct archie_row *row)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(PATH_MEMORY);
	struct str path = archie_row_path(row, &arena);
	size_t slash = path.n - row->file.name.n - 1;
	layout_open(h, "p", "where");
	struct str where = slash ? str_head(path, slash) : STR("/");
	put_foreign(h, folder_url(row->url), row->host, where);
	html_close(h, "p");
}

static void put_facts(struct html *h, const struct web_files *p, const struct archie_row *row,
		      int64_t now_s)
{
	const struct names_entry *f = &row->file;
	CLEANUP(buf_free) struct buf host = BUF_INIT(1 << 10);
	struct web_files site = *p;
	static const char *const kinds[NAMES_KINDS] = {"File", "Folder", "Link", "Other"};
	layout_open(h, "p", "more");
	html_text(h, kinds[f->kind]);
	if (f->size >= 0)
		web_put_size(h, (uint64_t)f->size);
	if (f->time_s >= 0)
		web_put_day(h, f->time_s);
	if (row->mirrors) {
		html_text(h, LAYOUT_DOT);
		put_count(h, row->mirrors, "mirror");
	}
	if (row->listed_s != -1) {
		html_text(h, LAYOUT_DOT "listed ");
		put_age(h, now_s - row->listed_s);
	}
	if (!p->vars.match_site[0] && row->host.n) {
		buf_add_str(&host, row->host);
		site.vars.match_site = buf_text(&host);
		site.vars.offset = 0;
		html_text(h, LAYOUT_DOT);
		put_link(h, &site, NULL, STR("only this site"));
	}
	html_close(h, "p");
}

static void put_file(struct html *h, const struct web_files *p, const struct archie_row *row,
		     int64_t now_s)
{
	html_open(h, "li");
	html_open(h, "h2");
	put_foreign(h, row->url, row->file.name, row->file.kind == NAMES_DIR ? STR("/") : STR(""));
	html_close(h, "h2");
	put_place(h, row);
	put_facts(h, p, row, now_s);
	html_close(h, "li");
}

static void put_turn(struct html *h, const struct web_files *p, int64_t offset, const char *rel,
		     struct str text)
{
	struct web_files other = *p;
	other.vars.offset = offset;
	put_link(h, &other, rel, text);
}

static void put_turns(struct html *h, const struct web_files *p, const struct archie_answer *a)
{
	const struct value_spec *spec = value_find(ng_var_specs, NG_VARS, STR("offset"));
	int64_t rows = rows_of(p), from = p->vars.offset, next = from + rows;
	bool more = a->n > (size_t)rows || (rows == ARCHIE_ROWS_MOST && a->n == (size_t)rows);
	bool after = more && (double)next <= spec->max;
	if (from == 0 && !after)
		return;
	html_open(h, "nav", "class", "pages", "aria-label", "Pages of results");
	if (from > 0)
		put_turn(h, p, MAX(from - rows, INT64_C(0)), "prev", STR("← Previous"));
	html_open(h, "span");
	if (a->n)
		html_printf(h, "%" PRId64 " to %" PRId64, from + 1,
			    from + MIN((int64_t)a->n, rows));
	html_close(h, "span");
	if (after)
		put_turn(h, p, next, "next", STR("Next →"));
	html_close(h, "nav");
}

void web_files_results(struct html *h, const struct web_files *p, const struct archie_answer *a,
		       int64_t now_s)
{
	layout_open(h, "p", "about");
	html_text(h, a->exact ? "" : "at least ");
	put_count(h, a->total, "file");
	html_printf(h, ", %.1f ms", (double)a->search_us / 1000.0);
	if (a->wait_us >= US_PER_S)
		html_printf(h, " after %.1f s in the queue", (double)a->wait_us / 1e6);
	html_close(h, "p");
	if (a->cut)
		layout_note(h, "note", "This took too long, or is too much: there may be more.");
	if (a->problem.n) {
		html_put(h, "p", a->problem, "class", "note");
	}
	if (a->n == 0)
		layout_note(h, "note",
			    a->total ? "There are no more files."
				     : "Nothing was found. Try a part of the name, or "
				       "fewer limits.");
	layout_open(h, "ol", "results");
	for (size_t i = 0; i < a->n && i < (size_t)rows_of(p); i++)
		put_file(h, p, &a->row[i], now_s);
	html_close(h, "ol");
	put_turns(h, p, a);
}

/* The place in the queue. again: the address under which the search goes on. */
static void put_waiting(struct html *h, const struct files_told *told, struct str again,
			bool by_itself)
{
	char place[NUMBER_TEXT];
	number_text(told->position, place);
	html_open(h, "p", "class", "note", "role", "status");
	if (told->position) {
		html_printf(h, "This search waits in the queue: its place is %s, and it may take ",
			    place);
		put_count(h, (uint64_t)MAX(told->seconds, INT64_C(1)), "second");
		html_text(h, " more. ");
	} else {
		html_text(h, "This search takes a while. ");
	}
	html_text(h, by_itself ? "The page loads itself again until it is answered. " : "");
	html_open(h, "a");
	html_attr(h, "href", again);
	html_text(h, "Ask again now");
	html_close(h, "a");
	html_close(h, "p");
}

static void answer_waiting(struct http_request *req, struct http_answer *ret, struct html *h,
			   const struct files_told *told)
{
	const struct web_files *p = req->params;
	CLEANUP(buf_free) struct buf header = BUF_INIT(ADDRESS_MOST);
	const char *first = "1; url=";
	buf_add_text(&header, first);
	buf_add_text(&header, "/files");
	put_query(&header, p);
	buf_printf(&header, "&id=%s", told->id);
	bool by_itself = header.n <= REFRESH_MOST;
	if (by_itself)
		http_answer_header(req, ret, "Refresh", buf_str(&header));
	ret->cache = "no-store";
	put_waiting(h, told, str_from(buf_str(&header), strlen(first)), by_itself);
}

static void answer_told(struct http_request *req, struct http_answer *ret, struct html *h,
			const struct files_told *told)
{
	if (told->state == FILES_ANSWERED) {
		web_files_results(h, req->params, &told->answer, clock_wall_us() / US_PER_S);
	} else if (told->state == FILES_WAITS) {
		answer_waiting(req, ret, h, told);
	} else {
		answer_status(req, ret, refusal_status(told->why));
		layout_note(h, "note bad", told->text);
	}
}

int web_files_page(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_files *p = req->params;
	struct html h = HTML_INIT(ret->body);
	struct files_told told = {0};
	bool asks = p->q[0];
	int rc = asks ? ask_files(req, true, &told, err) : 0;
	if (rc == HTTP_LATER)
		return rc;
	const struct domains domains = domains_file_get(w->domains, &req->arena);
	web_begin(&h,
		  asks ? arena_printf(&req->arena, "%s - files - garner", p->q) : "Files - garner",
		  NULL);
	html_put_text(&h, "h1", "Files in archives");
	web_files_form(&h, p, &domains);
	if (rc < 0) {
		answer_status(req, ret, err->code == ERR_BUSY ? 503 : 400);
		layout_note(&h, "note bad", err->msg);
	} else if (asks) {
		answer_told(req, ret, &h, &told);
	} else {
		layout_note(&h, "about",
			    "Names of files on FTP and web servers. Colons separate "
			    "domains and parts of a path, blanks separate sites.");
	}
	web_end(&h);
	arena_free(&told.arena);
	return 0;
}

/* For programs */

COL_NAMER(print_kind, enum names_kind, names_kind_name)

static void print_path(const void *row, struct buf *out)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(PATH_MEMORY);
	buf_add_str(out, str_from(archie_row_path(row, &arena), 1));
}

#define S struct archie_row
static const struct column hit_columns[] = {
	COL("host", S, host),
	COL("address", S, address),
	COL("listed", S, listed_s, .how = ROW_SOME | ROW_NEG),
	COL_OF("kind", S, file.kind, print_kind),
	COL("mode", S, file.mode, .how = ROW_SOME),
	COL("size", S, file.size, .how = ROW_SOME | ROW_NEG),
	COL("time", S, file.time_s, .how = ROW_SOME | ROW_NEG),
	COL_OF_ROW("path", S, print_path),
	COL("url", S, url, .how = ROW_SOME),
	COL("mirrors", S, mirrors, .how = ROW_SOME),
};
static const struct rows hit_rows = {ROWS(S, hit_columns)};
#undef S
#define S struct archie_answer
static const struct column answer_columns[] = {
	COL("total", S, total),
	COL("exact", S, exact),
	COL("cut", S, cut),
	COL("problem", S, problem, .how = ROW_SOME),
	COL("wait_us", S, wait_us),
	COL("search_us", S, search_us),
	COL_LIST("hits", S, row, n, hit_rows),
};
static const struct rows answer_rows = {ROWS(S, answer_columns)};
#undef S

/* 202: nothing is there yet, and the same search goes on under the id. */
static void put_place_json(struct jsonw *j, const struct files_told *told)
{
	jsonw_object(j);
	jsonw_put_bool(j, "waiting", true);
	if (told->position) {
		jsonw_put_uint(j, "position", told->position);
		jsonw_put_int(j, "seconds", told->seconds);
	}
	jsonw_put_text(j, "id", told->id);
	jsonw_object_end(j);
}

int web_files_api(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct jsonw j = JSONW_INIT(ret->body);
	struct files_told told = {0};
	int rc = ask_files(req, false, &told, err);
	if (rc != 0)
		return rc;
	if (told.state == FILES_REFUSED) {
		answer_status(req, ret, refusal_status(told.why));
		http_answer_error(req, ret, ret->status, "%s", told.text);
	} else if (told.state == FILES_WAITS) {
		answer_status(req, ret, 202);
		http_answer_header(req, ret, "Retry-After", STR("1"));
		put_place_json(&j, &told);
		buf_add_byte(ret->body, '\n');
	} else {
		rows_json_line(&answer_rows, &told.answer, ret->body);
	}
	arena_free(&told.arena);
	return 0;
}

int web_archie_sites(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	char path[PATH_MAX];
	struct file file = FILE_INIT;
	snprintf(path, sizeof path, "%s/archie/public/sites", w->data);
	int rc = file_open_plain(&file, path, err);
	if (rc == 0)
		rc = http_answer_file(ret, &file, "text/plain; charset=utf-8", err);
	else if (rc > 0)
		http_answer_error(req, ret, 404, "this server gives out no list of sites");
	file_drop(&file);
	if (rc < 0)
		err->code = ERR_SYSTEM; /* whatever is wrong with our file, it is not the asker */
	return rc < 0 ? -1 : 0;
}
