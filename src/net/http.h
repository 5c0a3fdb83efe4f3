/* The HTTP server, over libmicrohttpd: a table of routes, handlers that fill an answer, and
 * everything that all answers share: validators, HEAD, ranges, compression, limits, streams.
 *
 * Handlers run in the server's threads, several at a time, and must not wait; those of a route that
 * is `slow` run in a pool while their connection is set aside. ctx is the owner's. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"
#include "role/counters.h"

#include <sys/types.h>

struct http_server;
struct http_conn;
struct file;

/* Routes. */

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_DELETE, HTTP_NMETHODS };
extern const char *const http_methods[HTTP_NMETHODS];

/* Who may ask. PROVIDER: clients with the number and password (HTTP Basic) of a provider; only on
 * slow routes, because checking a password takes time. In any scope, only GET is accepted from
 * pages of other sites (else 403). */
enum http_scope { HTTP_PUBLIC, HTTP_PROVIDER };

struct http_param {
	struct value_spec spec;
	bool required; /* those of the path always are */
};

struct http_request;
struct http_answer;

struct http_route {
	enum http_method method; /* HEAD goes where GET goes */
	/* "/api/document/:id": each :name is one of params. A lone star after the first slash
	 * stands for every path that no other route has. */
	const char *pattern;
	const char *summary; /* one sentence */
	const char *type;    /* of the answer, unless the handler says another */
	const struct http_param *params;
	size_t nparams, params_size; /* size: of the struct that they fill */
	/* Further parameters of the query, from a table shared with others, for the same struct.
	 * Each list has at most 64. */
	const struct value_spec *more;
	size_t nmore;
	size_t body_max; /* bytes; 0: it takes no body */
	enum http_scope scope;
	bool slow;
	bool form;  /* parameters come in the body, application/x-www-form-urlencoded, and not in
		     * the query; those of the path stay where they are */
	bool loose; /* a page: unknown query parameters are ignored, and so are empty ones that are
		     * not text */
	bool clips; /* a form: a number out of bounds becomes the nearest bound, and a value of the
		     * wrong type is ignored */
	/* 0: the answer is filled. Negative: the words are in err; ERR_USAGE becomes 400, ERR_BUSY
	 * 503 with Retry-After, all others 500, whose words go to the log alone. HTTP_LATER, of a
	 * slow route: see http_again(). */
	int (*handle)(struct http_request *req, struct http_answer *ret, struct err *err);
	const void *with; /* for a handler that serves several routes; the server ignores it */
};

/* The table as an OpenAPI 3.0 document. */
struct http_about {
	const char *title, *version;
	const char *url; /* where it is served; "": where the document was found */
};
void http_openapi(const struct http_route *routes, size_t n, const struct http_about *about,
		  struct buf *out);

enum { HTTP_LATER = 1, HTTP_LOGIN_LATER = 2 };

struct http_request {
	const struct http_route *route; /* NULL: there is none for it */
	const void *params;             /* the struct that the route's parameters filled */
	struct str path, query;         /* as they came */
	struct str body;
	bool head;
	const void *who;    /* of a PROVIDER route: set by the login */
	struct arena arena; /* lives as long as the answer */
	void *ctx;          /* of the server's owner */
	void *later;        /* the handler's, from one call to the next; NULL at first */
	struct http_conn *conn;
};

/* Calls the handler again. From any thread, once for each HTTP_LATER that the handler returns,
 * before or after it does. Until then the connection is set aside and holds no thread. The caller
 * must not use the request afterwards. If the client has gone, the handler is not called and the
 * request ends. */
void http_again(struct http_request *req);
/* The client's address without a port, in the request's arena; "": a Unix peer. */
const char *http_from(struct http_request *req);

/* Whether the server is stopping: long-running handlers give up then. */
bool http_stops(const struct http_request *req);
/* The value of a header, the name in any case; p is NULL when it did not come. */
struct str http_header(const struct http_request *req, const char *name);

/* Whether a header like Accept-Encoding names the word, its q not 0. */
bool http_accepts(struct str accept, const char *word);

/* Appends s with everything but letters, digits and -._~ as %XX: for a segment of a path, a name or
 * a value of a query. */
void http_encode(struct buf *out, struct str s);
/* Undoes %XX and, in a query, '+'. ERR_USAGE: a '%' without two digits, or %00. */
int http_decode(struct str s, bool query, struct arena *arena, struct str *ret, struct err *err);

/* Answers. */

struct http_answer {
	int status;       /* 200 at first */
	const char *type; /* the route's at first; must last as long as the request's arena */
	const char
		*cache;   /* Cache-Control; at first "no-cache": may be kept, must be asked about */
	struct buf *body; /* empty at first; at most HTTP_BODY_MAX */
	/* The rest is filled by the functions below. */
	struct str bytes; /* in place of the body */
	bool ranges, bad;
	struct file *file;
	uint64_t file_size;
	int64_t modified_wall_us; /* 0: not known */
	char etag[72];            /* "": made from the body */
	struct http_stream *stream;
	struct http_pieces *pieces;
	struct http_headers {
		struct http_headers *next;
		const char *name, *value;
	} * headers;
	const char *fault; /* of a 500: what the log says */
};

enum { HTTP_BODY_MAX = 128 << 20 };

/* Adds a header. A value with a line break or other control character, or an impossible name, makes
 * the answer a 500. */
void http_answer_header(struct http_request *req, struct http_answer *a, const char *name,
			struct str value);
/* A strong validator, without quotes: at most 64 visible characters, no quotes. */
void http_answer_etag(struct http_answer *a, struct str tag);
/* Bytes that outlive the server; ranges of them may be asked for. */
void http_answer_static(struct http_answer *a, struct str bytes, const char *type);
/* A file, whole or in ranges. Takes over the file and leaves FILE_INIT behind. */
int http_answer_file(struct http_answer *a, struct file *file, const char *type, struct err *err);
/* An error as JSON {"error": ..., "status": ...}, or as a small page if the client accepts HTML. */
void http_answer_error(struct http_request *req, struct http_answer *a, int status, const char *fmt,
		       ...) PRINTF_LIKE(4, 5);

/* Large answers are made in pieces, in the pool, as the client reads them. For slow routes only.
 * An answer that ends with its first piece is sent like any other. The handler sets the ETag,
 * since there is no body to make it from. */
struct http_piece_ops {
	/* Appends about `n` more bytes to out. 0: more follow; 1: that was all; negative: reading
	 * failed. */
	int (*make)(void *ctx, size_t n, struct buf *out, struct err *err);
	void (*close)(void *ctx); /* the last call, once */
};
void http_answer_pieces(struct http_answer *a, const struct http_piece_ops *ops, void *ctx);

/* Streams: bytes that are made while they are sent. */

enum { HTTP_STREAM_END = -1, HTTP_STREAM_BROKEN = -2 };

struct http_stream_ops {
	/* Writes at most n bytes to p and returns their number. 0: none now; http_stream_wake()
	 * resumes. HTTP_STREAM_END: that was all. HTTP_STREAM_BROKEN: reading failed. */
	ssize_t (*read)(void *ctx, char *p, size_t n);
	/* The last call, once: all was sent, the client has gone, or the server stops. */
	void (*close)(void *ctx);
	size_t block; /* bytes that are asked for at a time; 0: 16 KiB */
	bool endless; /* ends when the server drains; others are finished first */
	bool holds;   /* memory of the budget: it has to be taken in its time */
};

struct http_stream *http_answer_stream(struct http_request *req, struct http_answer *a,
				       const struct http_stream_ops *ops, void *ctx);
/* From any thread, until close() was called: the owner's lock keeps these apart. */
void http_stream_wake(struct http_stream *s);

/* Channels: server-sent events, published to all listeners. A listener that lags by
 * HTTP_CHANNEL_QUEUE events gets a comment that says so and is dropped. All get a comment now and
 * then, so that each end notices when the other has gone. */

enum { HTTP_CHANNEL_QUEUE = 64 };

struct http_channel;
struct http_channel *http_channel_new(size_t max_listeners, int64_t beat_us);
void http_channel_free(struct http_channel **ch); /* after the server was stopped */
/* Answers with the events from now on; 503 when there are too many listeners. */
void http_channel_answer(struct http_channel *ch, struct http_request *req, struct http_answer *a);
/* name and data as in the event's lines; data may have several, and a line feed at its end. */
void http_channel_publish(struct http_channel *ch, const char *name, struct str data);
size_t http_channel_listeners(struct http_channel *ch);
/* Sends the comments that are due. Called by the server's tick. */
void http_channel_tick(struct http_channel *ch, int64_t now_us);

/* The server. */

struct http_limits {
	int64_t threads, slow_threads, slow_queue;
	int64_t max_connections, max_per_address;
	uint64_t connection_memory, answer_memory;
	int64_t idle_us, request_us, answer_us;
};

/* The settings of every role that serves HTTP, which [net] has for all of them: `m` is the struct
 * http_limits. Two of them line servers have as well, with other defaults. */
/* clang-format off */
#define HTTP_LIMIT_SPECS(s, m) \
	{"max_connections", VALUE_INT_AT(s, m.max_connections), "2000", 1, 100000, \
	 .help = "Connections at the same time; more are closed at once", \
	 .inherits = "net.max_connections"}, \
	{"max_per_address", VALUE_INT_AT(s, m.max_per_address), "500", 1, 100000, \
	 .help = "Connections from one address, or one IPv6 network of 64 bits", \
	 .inherits = "net.max_per_address"}, \
	HTTP_OWN_SPECS(s, m)
#define HTTP_OWN_SPECS(s, m) \
	{"threads", VALUE_INT_AT(s, m.threads), "2", 1, 64, \
	 .help = "Threads that answer HTTP requests", .inherits = "net.threads"}, \
	{"slow_threads", VALUE_INT_AT(s, m.slow_threads), "4", 1, 64, \
	 .help = "Threads for HTTP answers that take their time; one address has at most half", \
	 .inherits = "net.slow_threads"}, \
	{"slow_queue", VALUE_INT_AT(s, m.slow_queue), "64", 1, 100000, \
	 .help = "HTTP requests that may wait for one of these; more are refused with 503", \
	 .inherits = "net.slow_queue"}, \
	{"connection_memory", VALUE_SIZE_AT(s, m.connection_memory), "32K", 4096, 1 << 20, \
	 .help = "Memory of an HTTP connection, which bounds the head of a request", \
	 .inherits = "net.connection_memory"}, \
	{"answer_memory", VALUE_SIZE_AT(s, m.answer_memory), "32M", 1 << 20, 1e12, \
	 .help = "Memory that HTTP answers over 64 KiB may hold while they are sent; one address has " \
		 "at most half, more are refused with 503", \
	 .inherits = "net.answer_memory"}, \
	{"idle_timeout", VALUE_TIME_AT(s, m.idle_us), "30s", 1e6, 3600e6, \
	 .help = "Time without data after which an HTTP connection is closed", \
	 .inherits = "net.idle_timeout"}, \
	{"request_timeout", VALUE_TIME_AT(s, m.request_us), "30s", 1e6, 3600e6, \
	 .help = "Time allowed to send a whole HTTP request", .inherits = "net.request_timeout"}, \
	{"answer_timeout", VALUE_TIME_AT(s, m.answer_us), "5min", 1e6, 86400e6, \
	 .help = "Time allowed to receive an HTTP answer that is not a stream", \
	 .inherits = "net.answer_timeout"}
/* clang-format on */

/* The names of the server. Requests for any name but these, localhost and addresses are answered
 * with 421: such a name may be anyone's, and a page under it could read everything that is served
 * here. */
struct http_names {
	const char *url; /* the base of links to it; "": none */
	struct value_list names;
};

/* ERR_USAGE: err says which setting is wrong, and how. */
int http_names_check(const struct http_names *names, struct err *err);

/* Their settings: `member` is the struct http_names in the section's struct. */
#define HTTP_NAME_SPECS(strukt, member)                                                        \
	{"url", VALUE_TEXT_AT(strukt, member.url),                                             \
	 .help = "The address that people use, such as https://search.example.org/: the base " \
		 "of links to here; its host may be asked for"},                               \
	{                                                                                      \
		"names", VALUE_LIST_AT(strukt, member.names),                                  \
			.help = "Names of hosts that may be asked for, in all roles that "     \
				"serve HTTP, as well as localhost, any address and the host "  \
				"of url; what is asked by another name is answered with 421"   \
	}

/* The counters of every role that serves HTTP, in this order. */
#define HTTP_COUNTERS(X)                                                                     \
	/* 2XX: and below */                                                                 \
	X(2XX, "requests", "class=\"2xx\"", TOTAL, "Requests by the class of their status.") \
	X(3XX, "requests", "class=\"3xx\"", TOTAL, "Requests by the class of their status.") \
	X(4XX, "requests", "class=\"4xx\"", TOTAL, "Requests by the class of their status.") \
	X(5XX, "requests", "class=\"5xx\"", TOTAL, "Requests by the class of their status.") \
	X(BYTES, "sent_bytes", NULL, TOTAL, "Bytes of answers, without their heads.")        \
	X(CONNECTIONS, "connections", NULL, TOTAL, "Connections that were accepted.")        \
	X(OPEN, "connections_open", NULL, GAUGE, "Connections that are open.")               \
	X(REFUSED, "connections_refused", NULL, TOTAL,                                       \
	  "Connections that were closed because too many were open.")                        \
	X(LATE, "connections_late", NULL, TOTAL,                                             \
	  "Connections that were closed because the client took too long.")                  \
	X(GONE, "requests_dropped", NULL, TOTAL,                                             \
	  "Requests whose client had gone before their turn came.")

enum http_counter {
#define X(symbol, ...) HTTP_COUNT_##symbol,
	HTTP_COUNTERS(X)
#undef X
		HTTP_NCOUNTERS
};

/* A request that is over, for the log. */
struct http_done {
	const char *method;
	struct str path, query;
	int status;
	uint64_t bytes;
	int64_t took_us;
	const char *address; /* "127.0.0.1:4711" */
	const char *fault;   /* why it was a 500, or NULL */
	bool whole;          /* false: the connection was lost before the end */
};

struct http_options {
	const struct http_route *routes;
	size_t nroutes;
	int listen_fd; /* owned by the caller; stays open */
	struct http_limits limits;
	struct http_names names;
	void *ctx;
	struct counters *counters; /* HTTP_COUNT_2XX is the first; NULL: none */
	/* Each may be NULL. done: called after each request with a `fault`, and after all others
	 * if log_all. tick: called about every second while any connection is open. stopping:
	 * called once, before the server stops; the owner calls http_again() for all pending
	 * requests, and from then on no handler may return HTTP_LATER. */
	bool log_all;
	/* Checks the login of PROVIDER routes; runs in the pool. 0: accepted, and req->who is set.
	 * 1: refused; *ret_wait_us, if set: the time until the next attempt is accepted.
	 * HTTP_LOGIN_LATER: called again after http_again(), with `later` as it left it; it then
	 * leaves NULL there. */
	int (*login)(struct http_request *req, uint64_t number, struct str password,
		     int64_t *ret_wait_us, struct err *err);
	void (*done)(void *ctx, const struct http_done *done);
	void (*tick)(void *ctx, int64_t now_us);
	void (*stopping)(void *ctx);
};

/* Block signals that must not end a thread before calling it. */
int http_server_start(struct http_server **ret, const struct http_options *options,
		      struct err *err);
/* Stops accepting, lets running requests finish for at most drain_us, then drops the rest. */
void http_server_stop(struct http_server **s, int64_t drain_us);
