/* What the files of the role `web` share. */
#pragma once
#include "archie/archie.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "net/html.h"
#include "net/http.h"
#include "role/status.h"

struct web {
	const char *data; /* the data directory */
	const char *url;  /* the base of links to here; "": not known */
	struct search *search;
	struct files *files;
	struct domains_file *domains; /* pseudo-domains, of archie/etc */
	struct http_channel *events;
	uint64_t said; /* atomic; hash of the states that were published last */
};

/* Time for a query of any page; after it the best results so far are shown. The few threads for
 * slow requests are shared by all pages. */
#define WEB_BUDGET_US (2 * US_PER_S)

/* frame.c */

struct web_ask {
	struct str words, site, type; /* values of the box and the filters */
	struct query_options match;   /* how words match; kept for the next search */
	bool bare;                    /* nothing was searched yet: show the box alone */
};
/* ask NULL: a page without a search box. */
void web_begin(struct html *h, const char *title, const struct web_ask *ask);
void web_end(struct html *h);

/* monitor.c */

int web_health(struct http_request *req, struct http_answer *ret, struct err *err);
int web_ready(struct http_request *req, struct http_answer *ret, struct err *err);
int web_metrics(struct http_request *req, struct http_answer *ret, struct err *err);
int web_status_json(struct http_request *req, struct http_answer *ret, struct err *err);

/* The states of all roles, and which are not ready though they should be: {"ready": ...,
 * "waiting": [...], "roles": {...}}. Returns whether all are ready. */
bool web_states_json(const struct status *s, struct buf *out);
bool web_role_waits(const struct status_row *row);

/* status_page.c */

int web_status_page(struct http_request *req, struct http_answer *ret, struct err *err);
struct reaper_status;
struct web_reapers {
	struct reaper_status *list;
	size_t n;
};
struct web_points {
	struct point_status *list;
	size_t n;
};
/* The page of a status as of now_wall_us. */
void web_status_html(struct html *h, const struct status *s, const struct web_reapers *reapers,
		     const struct web_points *points, int64_t now_wall_us);

/* search_page.c */

struct web_search {
	const char *q, *site, *type;
	int64_t page, n, errors;
	bool best, parts, exact, forgive, lines;
	struct value_list facets;
};
enum { WEB_SEARCH_PARAMS = 12 };
extern const struct http_param web_search_params[WEB_SEARCH_PARAMS];

int web_search_page(struct http_request *req, struct http_answer *ret, struct err *err);
int web_search_api(struct http_request *req, struct http_answer *ret, struct err *err);
/* The part below the box: the answer. */
void web_search_results(struct html *h, const struct search_ask *ask, const struct search_answer *a,
			uint64_t page);

/* A text with what matched marked. */
void web_put_marked(struct html *h, const struct marked *m);
/* A size and a day for people, after a dot. */
void web_put_size(struct html *h, uint64_t bytes);
void web_put_day(struct html *h, int64_t time_s);

/* files_page.c */

struct web_files {
	struct ng_vars vars;
	const char *q, *id;
};
enum { WEB_FILES_PARAMS = 2 }; /* and those of ng_var_specs */
extern const struct http_param web_files_params[WEB_FILES_PARAMS];
int web_files_page(struct http_request *req, struct http_answer *ret, struct err *err);
int web_files_api(struct http_request *req, struct http_answer *ret, struct err *err);
int web_archie_sites(struct http_request *req, struct http_answer *ret, struct err *err);
void web_files_form(struct html *h, const struct web_files *p, const struct domains *domains);
/* now_s: by which the age of a site counts. */
void web_files_results(struct html *h, const struct web_files *p, const struct archie_answer *a,
		       int64_t now_s);

/* query_page.c */

struct web_query {
	const char *query;
	bool any_case, words, desc, verbose, opaque;
	int64_t errors, lines, results, objects, lifetime_s;
};
enum { WEB_QUERY_PARAMS = 11 };
extern const struct http_param web_query_params[WEB_QUERY_PARAMS];

/* The search that a query stands for. */
struct search_ask web_query_ask(const struct web_query *p);
int web_query_page(struct http_request *req, struct http_answer *ret, struct err *err);
void web_query_form(struct html *h, const struct web_query *p);
/* description: of each row, or NULL. */
void web_query_results(struct html *h, const struct web_query *p, const struct search_answer *a,
		       const struct str *description);

/* document.c */

struct web_document {
	const char *url;
};
extern const struct http_param web_document_params[1];
int web_cached_page(struct http_request *req, struct http_answer *ret, struct err *err);
int web_document_api(struct http_request *req, struct http_answer *ret, struct err *err);
struct web_object {
	int64_t oid;
};
extern const struct http_param web_object_params[1];
int web_object_text(struct http_request *req, struct http_answer *ret, struct err *err);
/* The lines of a text that are not blank, as paragraphs; the text may come in parts. */
void web_text_part(struct html *h, bool *in_line, struct str text);
void web_text_end(struct html *h, bool *in_line);
