/* The role `web`: its settings, its routes, and the events that keep open pages current. */
#include "web/web.h"

#include "base/clock.h"
#include "base/hash.h"
#include "net/layout.h"
#include "net/serve.h"
#include "web/files_inner.h"
#include "web/numbers.h"
#include "web/web_inner.h"

#include <limits.h>
#include <stdio.h>

enum { BEAT_S = 15 };

static const struct counter_def counters[] = {HTTP_COUNTERS(COUNTER_DEF)};

static int answer_events(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct web *w = req->ctx;
	(void)err;
	http_channel_answer(w->events, req, ret);
	__atomic_store_n(&w->said, 0, __ATOMIC_RELAXED); /* the newcomer has heard nothing yet */
	return 0;
}

static int answer_openapi(struct http_request *req, struct http_answer *ret, struct err *err);

#define SEARCH                                                     \
	.params = web_search_params, .nparams = WEB_SEARCH_PARAMS, \
	.params_size = sizeof(struct web_search), .slow = true
#define DOCUMENT                                                                                 \
	.params = web_document_params, .nparams = 1, .params_size = sizeof(struct web_document), \
	.slow = true
#define FILES                                                                            \
	.params = web_files_params, .nparams = WEB_FILES_PARAMS,                         \
	.params_size = sizeof(struct web_files), .more = ng_var_specs, .nmore = NG_VARS, \
	.slow = true
#define PAGE "text/html; charset=utf-8"
#define JSON "application/json"
static const struct http_route routes[] = {
	{HTTP_GET, "/", "Search, for people", PAGE, .loose = true, SEARCH,
	 .handle = web_search_page},
	{HTTP_GET, "/cached", "The text of a document, for people", PAGE, .loose = true, DOCUMENT,
	 .handle = web_cached_page},
	{HTTP_GET, "/api/search", "Search", JSON, SEARCH, .handle = web_search_api},
	{HTTP_GET, "/api/document", "A document as it was indexed", JSON, DOCUMENT,
	 .handle = web_document_api},
	{HTTP_GET, "/query.html", "The broker's classic form, for people", PAGE, .loose = true,
	 .clips = true, .params = web_query_params, .nparams = WEB_QUERY_PARAMS,
	 .params_size = sizeof(struct web_query), .slow = true, .handle = web_query_page},
	{HTTP_GET, "/object/:oid", "An object as SOIF, as it is stored",
	 "text/plain; charset=utf-8", .params = web_object_params, .nparams = 1,
	 .params_size = sizeof(struct web_object), .slow = true, .handle = web_object_text},
	{HTTP_GET, "/files", "Files of archives, for people", PAGE, .loose = true, FILES,
	 .handle = web_files_page},
	{HTTP_GET, "/api/files",
	 "Files of archives; 202 with the place in the queue where status is asked for", JSON,
	 FILES, .handle = web_files_api},
	{HTTP_GET, "/archie/sites", "The list of archives that this server gives out",
	 "text/plain; charset=utf-8", .handle = web_archie_sites},
	{HTTP_GET, "/status", "Status, for people", PAGE, .loose = true, .handle = web_status_page},
	{HTTP_GET, "/style.css", "The style sheet of all pages", "text/css; charset=utf-8",
	 .loose = true, .handle = layout_style},
	{HTTP_GET, "/status.js", "Makes the status page live", "text/javascript; charset=utf-8",
	 .loose = true, .handle = layout_status_js},
	{HTTP_GET, "/healthz", "Always 200 while this process runs", JSON, .handle = web_health},
	{HTTP_GET, "/readyz", "Whether all roles are ready; 503 when not", JSON,
	 .handle = web_ready},
	{HTTP_GET, "/metrics", "The counters of all roles, as OpenMetrics or Prometheus text",
	 "text/plain; version=0.0.4; charset=utf-8", .handle = web_metrics},
	{HTTP_GET, "/api/status", "Status, as garner status --json prints it", JSON,
	 .handle = web_status_json},
	{HTTP_GET, "/api/events", "Changes as they happen, as server-sent events",
	 "text/event-stream", .handle = answer_events},
	{HTTP_GET, "/api/openapi.json", "This interface as an OpenAPI document", JSON,
	 .handle = answer_openapi},
};

static int answer_openapi(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct http_about about = {"garner", GARNER_VERSION, w->url};
	(void)err;
	http_openapi(routes, ARRAY_LEN(routes), &about, ret->body);
	return 0;
}

/* Tells the listeners the numbers, and when a role has changed its state. */
static void publish_changes(void *ctx, int64_t now_us)
{
	struct web *w = ctx;
	struct status s;
	struct err err;
	http_channel_tick(w->events, now_us);
	if (http_channel_listeners(w->events) == 0 || status_read(&s, w->data, &err) < 0)
		return;
	struct buf text = BUF_INIT(1 << 20);
	(void)web_states_json(&s, &text);
	uint64_t hash = hash64(buf_str(&text));
	if (__atomic_exchange_n(&w->said, hash, __ATOMIC_RELAXED) != hash && !text.over)
		http_channel_publish(w->events, "status", buf_str(&text));
	struct numbers numbers;
	numbers_of(&s, clock_wall_us(), &numbers);
	buf_clear(&text);
	numbers_json(&numbers, now_us, &text);
	http_channel_publish(w->events, "numbers", buf_str(&text));
	buf_free(&text);
	status_free(&s);
}

static void stop_waiting(void *ctx)
{
	const struct web *w = ctx;
	files_stop(w->files);
}

static int run(struct role_env *env, struct err *err)
{
	const struct web_conf *conf = config_get(env->config, env->role->section);
	struct web web = {.data = env->data, .url = conf->names.url};
	char folder[PATH_MAX];
	struct http_options options = {
		.routes = routes,
		.nroutes = ARRAY_LEN(routes),
		.limits = conf->http,
		.ctx = &web,
		.log_all = conf->access_log,
		.tick = publish_changes,
		.stopping = stop_waiting,
	};
	web.search = search_open(env->data);
	if (files_open(&web.files, env->data, err) < 0) {
		search_close(&web.search);
		return -1;
	}
	snprintf(folder, sizeof folder, "%s/archie", env->data);
	web.domains = domains_file_new(folder);
	web.events = http_channel_new((size_t)conf->max_listeners, BEAT_S * US_PER_S);
	int rc = http_serve(env, &options, conf->drain_us, err);
	http_channel_free(&web.events);
	domains_file_free(&web.domains);
	files_close(&web.files);
	search_close(&web.search);
	return rc;
}

const struct role web_role = {
	.name = "web",
	.summary = "serve pages, the JSON interface and metrics",
	.description =
		"Serves search at /, files of archives at /files (with the role archie-queuer), "
		"the status page at /status, /healthz (this process answers), "
		"/readyz (all roles "
		"are ready), /metrics (the counters of all roles, for Prometheus), /api/status, "
		"/api/events (server-sent events) and /api/openapi.json, which describes "
		"the "
		"rest.\n\n"
		"It listens on the loopback address unless told otherwise. It answers to "
		"localhost, to addresses, and to the names that web.url and web.names say; with "
		"a reverse proxy, set web.url to what people type, and let the proxy pass Host "
		"on. Connections are limited in number, in total and per address, and in time, "
		"and so is the memory for large answers that were not taken yet; what runs is "
		"finished before the role stops.",
	.scheme = "http",
	.section = &web_section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
