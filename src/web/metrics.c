#include "web/web_inner.h"

/* OpenMetrics for who asks for it by name, the older text for all others. */
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
