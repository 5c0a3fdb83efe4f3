/* Checks the heads of requests before libmicrohttpd reads them. libmicrohttpd accepts NUL, bare
 * line feeds and folded lines, answers some heads twice and others never. A head that passes here
 * has only one reading, for it and for any server on the way.
 *
 * Pure: takes bytes and says how many of them to pass on. Only whole heads pass. */
#pragma once
#include "base/str.h"

enum http_head_at {
	HTTP_AT_LINE, /* before or in the first line of a head */
	HTTP_AT_FIELDS,
	HTTP_AT_BODY,
	HTTP_AT_REST, /* after the head of a chunked body: it is the last of its connection */
	HTTP_AT_REFUSED,
};

struct http_head {
	size_t memory; /* of the connection: the most that a head may cost in it */
	enum http_head_at at;
	size_t line; /* where in the head its first incomplete line begins */
	size_t cost; /* of its complete lines, in libmicrohttpd */
	unsigned hosts, lengths;
	bool chunked, old; /* old: HTTP/1.0 */
	uint64_t body;     /* bytes that are still to come */
	/* Set once one is refused. */
	int status;
	const char *wrong;
};

#define HTTP_HEAD_INIT(bytes) ((struct http_head){.memory = (bytes)})

/* How many of the bytes may be handed on. The rest is the beginning of a head, with which the bytes
 * of the next call have to begin; or, if `status` is set, a head that is refused. */
size_t http_head_read(struct http_head *h, struct str bytes);

/* For servers of other protocols: whether a line, without its end, is the first of a request. A
 * page can make the browser of somebody send one to any port, with lines of its own in the body. */
bool http_is_first_line(struct str line);
