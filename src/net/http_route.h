/* Inside of the HTTP server: which route a request goes to, and its parameters. */
#pragma once
#include "net/http.h"

enum { HTTP_SEGMENTS = 16, HTTP_QUERY_PAIRS = 100 };

struct http_router;

/* A table that contradicts itself (two routes for the same, a :name that is no parameter, one
 * without a handler) is a broken promise. */
struct http_router *http_router_new(const struct http_route *routes, size_t n);
void http_router_free(struct http_router **r);

struct http_match {
	const struct http_route *route;
	unsigned allow;                    /* bits 1 << method that the path has */
	struct str segment[HTTP_SEGMENTS]; /* decoded */
	size_t n;
};

/* method: HTTP_NMETHODS for one that no route has. Literals go before parameters. 0: ret->route is
 * set; 1: not there, or not with this method: then ret->allow is not 0. Negative (ERR_USAGE): no
 * path at all. */
int http_router_find(const struct http_router *r, enum http_method method, struct str path,
		     struct arena *arena, struct http_match *ret, struct err *err);

/* Fills the route's struct from path and query: defaults first. ERR_USAGE: err names the parameter
 * and what was expected. */
int http_params_parse(const struct http_match *m, struct str query, struct arena *arena,
		      const void **ret, struct err *err);
