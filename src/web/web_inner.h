/* Inside of the role `web`: what its files share. Not for others. */
#pragma once
#include "broker/broker.h"
#include "net/http.h"
#include "role/status.h"

struct web {
	const char *data; /* the data directory */
	struct search *search;
	struct http_channel *events;
	uint64_t said; /* atomic; hash of the states that were published last */
};

int web_health(struct http_request *req, struct http_answer *ret, struct err *err);
int web_ready(struct http_request *req, struct http_answer *ret, struct err *err);
int web_metrics(struct http_request *req, struct http_answer *ret, struct err *err);
int web_status_json(struct http_request *req, struct http_answer *ret, struct err *err);
int web_status_page(struct http_request *req, struct http_answer *ret, struct err *err);

/* The roles of a supervisor that are not ready, though they should be: {"ready": ..., "roles":
 * ...}. Returns whether there are none. */
bool web_states_json(const struct status *s, struct buf *out);
bool web_role_waits(const struct status_row *row);
