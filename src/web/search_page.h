/* Inside of the role `web`: searching. */
#pragma once
#include "web/web_inner.h"

struct web_search {
	const char *q, *site, *type;
	int64_t page, n;
};
enum { WEB_SEARCH_PARAMS = 5 };
extern const struct http_param web_search_params[WEB_SEARCH_PARAMS];

struct web_document {
	const char *url;
};
extern const struct http_param web_document_params[1];

int web_search_page(struct http_request *req, struct http_answer *ret, struct err *err);
int web_cached_page(struct http_request *req, struct http_answer *ret, struct err *err);
int web_search_api(struct http_request *req, struct http_answer *ret, struct err *err);
int web_document_api(struct http_request *req, struct http_answer *ret, struct err *err);
