/* A server of lines or messages: a greeting, a function for each line, and limits in one struct. It
 * owns the listeners' gate, the connections and their sessions; a protocol is its functions and the
 * state of a session. tests/demo/lines.c is one, as small as they come. A protocol with other
 * frames (net/xml.h) takes the bytes as they arrive.
 *
 * To send, pause or finish, a protocol uses session_conn(); see net/conn.h. */
#pragma once
#include "base/value.h"
#include "net/conn.h"
#include "net/listener.h"
#include "net/tls.h"

#include <math.h>

struct server;
struct session;

enum { SERVER_LISTENERS = 4 };

/* Messages of the server itself. */
enum server_word {
	SERVER_LONG_LINE, /* then the connection ends */
	SERVER_FULL,      /* too many connections; then it ends */
	SERVER_STOPPING,  /* to idle clients when the server stops; then it ends */
	SERVER_WORDS,
};

struct server_protocol {
	const char *name; /* for messages */
	bool reads_on;    /* also while a client does not read; see read_mark of net/conn.h */
	/* Messages in place of lines, for line(), see conn_limits; NULL: lines. */
	const struct message_wire *messages;
	const char *greeting;            /* with its line end, like all words; NULL: none */
	const char *words[SERVER_WORDS]; /* NULL: a plain one of our own; "": silence */
	size_t state_size;               /* of session_state(), zeroes at first */
	/* These may be NULL. opened: after the handshake, where there is TLS; drained: below the
	 * low mark again, see conn_send(); closed: the last moment of a session that was opened. */
	void (*opened)(struct session *s);
	/* Each line as it came, without its end; or a message. */
	void (*line)(struct session *s, struct str line);
	/* In place of lines: whatever arrives, in pieces of at most CONN_READ bytes. */
	void (*bytes)(struct session *s, struct str piece);
	void (*drained)(struct session *s);
	void (*closed)(struct session *s, enum conn_end end);
	/* In place of opened and closed: the handshake failed; why is valid during the call. */
	void (*refused)(struct session *s, const char *why);
};

/* The settings of every line server, which [net] has for all of them: SERVER_LIMITS_AT(struct conf,
 * member); where idle connections are closed at another time than there:
 * SERVER_LIMITS_IDLE_AT(struct conf, member, "0"). */
struct server_limits {
	int64_t max_connections, max_per_address, backlog;
	uint64_t line_max, queue_max, memory;
	int64_t idle_us, line_us;
};

#define SERVER_LIMITS_AT(s, m) SERVER_LIMITS_IDLE_AT(s, m, "10min")
/* clang-format off */
#define SERVER_LIMITS_IDLE_AT(s, m, idle) \
	{"max_connections", VALUE_INT_AT(s, m.max_connections), "1000", 1, 100000, \
	 .help = "Connections at the same time; more are closed at once", \
	 .inherits = "net.max_connections"}, \
	{"max_per_address", VALUE_INT_AT(s, m.max_per_address), "100", 1, 100000, \
	 .help = "Connections from one address, or one IPv6 network of 64 bits", \
	 .inherits = "net.max_per_address"}, \
	{"backlog", VALUE_INT_AT(s, m.backlog), "1024", 1, 65535, \
	 .help = "Connections that may wait to be accepted", .inherits = "net.backlog"}, \
	{"line_max", VALUE_SIZE_AT(s, m.line_max), "8K", 64, 16 << 20, \
	 .help = "Bytes of a line", .inherits = "net.line_max"}, \
	{"queue_max", VALUE_SIZE_AT(s, m.queue_max), "4M", 65536, 1 << 30, \
	 .help = "Bytes of answers that may wait for one connection", \
	 .inherits = "net.queue_max"}, \
	{"memory", VALUE_SIZE_AT(s, m.memory), "256M", 1 << 20, INFINITY, \
	 .help = "Bytes of all connections of a role; above that nothing is read", \
	 .inherits = "net.memory"}, \
	{"idle", VALUE_TIME_AT(s, m.idle_us), idle, 0, INFINITY, \
	 .help = "Time without data after which a connection is closed; 0: never", \
	 .inherits = "net.idle"}, \
	{"line_time", VALUE_TIME_AT(s, m.line_us), "1min", 0, INFINITY, \
	 .help = "Time allowed to receive a complete line; 0: no limit", \
	 .inherits = "net.line_time"}
/* clang-format on */

/* The protocol and tls (NULL: none) are used where they are; ctx is for server_ctx(). */
struct server *server_new(struct loop *loop, const struct server_protocol *protocol,
			  const struct server_limits *limits, const struct tls *tls, void *ctx);
/* For roles that must not obey everyone on the network: checks that only this machine (loopback, a
 * Unix socket) and authenticated peers can use this listening socket. ERR_USAGE names the address
 * and the settings. */
int server_may_listen(int fd, const struct tls *tls, struct err *err);
/* The same for an address as written in settings (base/endpoint.h; NULL or empty: none), before
 * there is a socket. Also reports wrong TLS settings. */
int server_may_listen_at(const char *address, const struct tls_conf *conf, struct err *err);
/* Starts accepting on fd, which the caller still owns. Call it at most SERVER_LISTENERS times. */
int server_listen(struct server *s, int fd, struct err *err);
/* Serves one connection that is there already, whatever the limits are: takes over fd, which must
 * not block. */
void server_adopt(struct server *s, int fd);
/* Stops accepting, closes idle connections at once and the others once they have their answers, all
 * within within_us; then calls done(ctx), never from inside this call. */
void server_drain(struct server *s, int64_t within_us, void (*done)(void *ctx), void *ctx);
/* Drops the remaining connections. Not from inside a callback of the protocol. */
void server_free(struct server **s);

struct server_stats {
	struct listener_stats listeners; /* of all */
	struct conn_stats conns;
	uint64_t inside, addresses; /* now */
};
void server_stats(const struct server *s, struct server_stats *ret);
void *server_ctx(const struct server *s);

void *session_state(struct session *s);
struct conn *session_conn(struct session *s);
struct server *session_server(struct session *s);
const char *session_peer(const struct session *s);
const struct peer *session_from(const struct session *s);
