/* Endpoints for monitoring: /healthz, /readyz, /metrics, /api/status. */
#include "base/jsonw.h"
#include "web/web_inner.h"

#include <stdio.h>

bool web_role_waits(const struct status_row *row)
{
	return row->state == STATUS_STARTING || row->state == STATUS_BACKING_OFF ||
	       row->state == STATUS_STOPPING;
}

bool web_states_json(const struct status *s, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	bool ready = true;
	for (size_t i = 0; i < s->nrows; i++)
		ready &= !web_role_waits(&s->row[i]);
	jsonw_object(&j);
	jsonw_put_bool(&j, "ready", ready);
	jsonw_put_array(&j, "waiting");
	for (size_t i = 0; i < s->nrows; i++)
		if (web_role_waits(&s->row[i]))
			jsonw_str(&j, s->row[i].name);
	jsonw_array_end(&j);
	jsonw_put_object(&j, "roles");
	for (size_t i = 0; i < s->nrows; i++) {
		char name[128]; /* longer ones there are not: counters.h bounds them */
		snprintf(name, sizeof name, STR_FMT, STR_ARG(s->row[i].name));
		jsonw_put_text(&j, name, status_words[s->row[i].state]);
	}
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
	return ready;
}

int web_health(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)err;
	ret->cache = "no-store";
	buf_add_text(ret->body, "{\"alive\":true}\n");
	return 0;
}

int web_ready(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	struct status s;
	if (status_read(&s, w->data, err) < 0)
		return -1;
	ret->cache = "no-store";
	ret->status = web_states_json(&s, ret->body) ? 200 : 503;
	status_free(&s);
	return 0;
}

struct told {
	const struct status *status;
	const struct point_status *point;
	size_t points;
};
static const struct column told_columns[] = {
	COL_POINTER(NULL, struct told, status, status_rows),
	COL_LIST("points", struct told, point, points, point_rows),
};
static const struct rows told_rows = {ROWS(struct told, told_columns)};

int web_status_json(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	struct status s;
	if (status_read(&s, w->data, err) < 0)
		return -1;
	struct point_status *points = NULL;
	size_t npoints = 0;
	struct err unread; /* the rest is still reported */
	(void)points_load(w->data, &points, &npoints, &unread);
	rows_json_line(&told_rows, &(struct told){&s, points, npoints}, ret->body);
	mem_free(&points);
	status_free(&s);
	return 0;
}

/* OpenMetrics where it is asked for by name, the older text otherwise. */
static bool wants_openmetrics(const struct http_request *req)
{
	struct str accept = http_header(req, "Accept");
	return str_find(accept, STR("application/openmetrics-text")) < accept.n;
}

int web_metrics(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	struct status s;
	if (status_read(&s, w->data, err) < 0)
		return -1;
	ret->cache = "no-store";
	http_answer_header(req, ret, "Vary", STR("Accept"));
	if (wants_openmetrics(req)) {
		ret->type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
		counters_openmetrics(s.view, s.nviews, ret->body);
	} else {
		counters_prometheus(s.view, s.nviews, ret->body);
	}
	status_free(&s);
	return 0;
}
