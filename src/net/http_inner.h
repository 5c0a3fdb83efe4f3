/* Inside of the HTTP server: what its files share. Not for others.
 *
 * Locks, in the order in which they may be taken: an owner's (a channel's, that of pieces),
 * server->lock, a stream's, and last the budget's and whatever libmicrohttpd has. */
#pragma once
#include "base/err.h"
#include "base/list.h"
#include "base/pool.h"
#include "net/addr.h"
#include "net/http.h"
#include "net/http_intake_inner.h"

#include <microhttpd.h>
#include <pthread.h>

/* libmicrohttpd, loaded when a server starts and not before: it brings GnuTLS and ten more shared
 * objects along, which would cost every command of garner more than a millisecond. */
#define MHD_FUNCTIONS(X)                       \
	X(add_response_header)                 \
	X(create_response_from_buffer)         \
	X(create_response_from_callback)       \
	X(create_response_from_fd_at_offset64) \
	X(destroy_response)                    \
	X(get_connection_info)                 \
	X(get_connection_values_n)             \
	X(lookup_connection_value)             \
	X(queue_response)                      \
	X(quiesce_daemon)                      \
	X(resume_connection)                   \
	X(start_daemon)                        \
	X(stop_daemon)                         \
	X(suspend_connection)

struct mhd_lib {
#define X(name) __typeof__(&MHD_##name) name;
	MHD_FUNCTIONS(X)
#undef X
};

/* Stays loaded until the process ends. */
int mhd_lib_load(struct mhd_lib *ret, struct err *err);

/* http_route.c: which route a request goes to, and its parameters. */

enum { HTTP_SEGMENTS = 16, HTTP_QUERY_PAIRS = 100 };

struct http_router;

/* A table that contradicts itself (two routes for the same, a :name that is not a parameter, one
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

/* http_host.c: by which names it may be asked. */

struct http_hosts;
/* Of the names as they are written; ERR_USAGE: err says which setting is wrong. */
int http_hosts_new(struct http_hosts **ret, const struct http_names *names, struct err *err);
void http_hosts_free(struct http_hosts **h);

/* Whether it is a name of this server, not someone else's. */
bool http_host_is_ours(const struct http_hosts *h, struct str host);
/* Without the port, which may be empty. false: what follows the last colon is not one. */
bool http_host_cut_port(struct str *host);

/* http_login.c: who asks, and what comes before the handler. */

/* Of an Authorization header: the number and the password, in the arena. false: not Basic, or the
 * name is not a number. */
bool http_basic_parse(struct str value, struct arena *arena, uint64_t *ret_number,
		      struct str *ret_password);
/* Whether the browser says that a page of another site sent it: by these headers of the request,
 * whose p is NULL where they did not come. */
bool http_is_foreign(struct str sec_fetch_site, struct str origin, struct str host);
/* Logs in, and reads the form. 1: the answer says what is wrong. HTTP_LOGIN_LATER: to be called
 * again. */
struct http_conn;
int http_before_handler(struct http_conn *c, struct err *err);

/* Where a request is. */
enum http_step {
	HTTP_IDLE,
	HTTP_HEAD,     /* its first line has come */
	HTTP_BODY,     /* routed; what is left of it comes */
	HTTP_SLOW,     /* in the pool, or set aside until http_again() */
	HTTP_GONE,     /* the client has gone while it waited */
	HTTP_ANSWERED, /* by the handler */
};

/* A connection, and the request that it is about. One thread of libmicrohttpd at a time touches it,
 * or the pool, but for what is marked. */
struct http_conn {
	struct http_server *server;
	struct MHD_Connection *mhd;
	struct link link; /* server->lock */
	int fd;
	struct addr peer; /* no family: a Unix peer */
	uint64_t client;  /* by which it has its share of pool and budget */
	int64_t due_us;   /* atomic; it is shut when this is past */
	int64_t took_us;  /* atomic; when it took something of what it holds; 0: holds nothing */
	struct http_stream *stream; /* server->lock */
	struct http_intake intake;
	bool refused; /* the head was, by the intake */
	enum http_step step;
	struct http_request request;
	struct http_answer answer;
	struct MHD_Response *response;  /* of the answer, once it is made */
	bool unhurried;                 /* it is a stream, which may take any time */
	struct buf body, taken, packed; /* of the answer, of the request, compressed */
	size_t came;                    /* bytes of the request's body */
	int status;
	uint64_t sent;
	int64_t began_us;
	const char *method;
	bool active; /* counted in server->active */
	struct pool_job job;
	bool half; /* atomic; of HTTP_LATER and http_again() one has come */
};

struct http_server {
	struct http_options options;
	struct mhd_lib mhd;
	struct MHD_Daemon *daemon;
	struct http_router *router;
	struct http_hosts *hosts;
	struct pool *pool; /* of slow handlers, and of what is made in pieces */
	struct http_budget *budget;
	pthread_t ticker;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct link conns;  /* lock */
	struct gate *gate;  /* lock; counts them */
	bool ticker_sleeps; /* lock */
	bool ended;         /* lock; the ticker has to end, and no stream may wait */
	bool draining;      /* atomic; connections are closed after their answer */
	size_t active;      /* atomic; requests that have begun and have not ended */
};

/* http_server.c: its request no longer counts as active. */
void http_conn_over(struct http_conn *c);

/* http_answer.c */
void http_answer_init(struct http_conn *c);
/* Makes the response of the filled answer, unless there is one; of a slow route in the pool. close:
 * the connection ends after it. */
void http_answer_make(struct http_conn *c, bool close);
enum MHD_Result http_answer_send(struct http_conn *c); /* hands it to libmicrohttpd */
void http_answer_done(struct http_conn *c);            /* gives back what it held */

bool http_gzip(struct str bytes, struct buf *out); /* false: it does not pay */
enum http_range { HTTP_RANGE_NONE, HTTP_RANGE_PART, HTTP_RANGE_OUTSIDE };
/* Of a Range header for `size` bytes; more than one range, or what is not a range, is none. */
enum http_range http_range_parse(struct str value, uint64_t size, uint64_t *ret_from,
				 uint64_t *ret_n);
bool http_tag_listed(struct str list, const char *tag); /* in If-None-Match */

/* http_stream.c */
struct MHD_Response *http_stream_response(struct http_conn *c, uint64_t size);
void http_stream_drop(struct http_stream *s);           /* one that was never sent */
void http_stream_orphan(struct http_conn *c);           /* with server->lock: it goes */
void http_streams_end(struct http_server *s, bool all); /* those that are endless, or all */

/* http_pieces.c: large answers. */

enum {
	HTTP_PIECE = 64 << 10,      /* bytes that are made at a time; smaller answers are whole */
	HTTP_PIECE_MOST = 96 << 10, /* what an answer in pieces holds, about */
};

/* The memory that large answers may hold, with shares by client. */
struct http_budget;
struct http_budget *http_budget_new(uint64_t limit);
void http_budget_free(struct http_budget **b);
bool http_budget_take(struct http_budget *b, uint64_t client, uint64_t n);
void http_budget_give(struct http_budget *b, uint64_t client, uint64_t n);
size_t http_budget_refused(struct http_budget *b); /* since it was asked last */

/* Makes the first piece of an answer in pieces, as its body. If that was all, the answer is one
 * like any other. */
int http_pieces_begin(struct http_conn *c, struct err *err);
void http_pieces_free(struct http_pieces *p); /* of an answer that is not sent, too */
/* Makes a stream of the answer: `bytes` of the body or static ones, or the body and what follows it
 * in pieces. false: there is no memory for it now. */
bool http_pieces_stream(struct http_conn *c, struct str bytes, bool packs);

/* Parts of one gzip file, each packed alone: what is kept in between is two numbers. */
struct http_packer {
	bool begun;
	uint32_t crc, n;
};
void http_pack_part(struct http_packer *z, struct str part, bool last, struct buf *out);
