/* Connections: a stream socket on the loop that receives lines, messages or pieces, with an output
 * queue and bounds on everything. All connections of a loop share a pool: its scratch space, so
 * that a connection that keeps up owns no memory, and its memory budget.
 *
 * Back-pressure: while the output queue is above its high mark, or the budget is used up, the
 * connection reads nothing and delivers no frame; the producer stops when conn_send() returns false
 * and continues in drained(). If both sides send without being asked, each could wait for the other
 * to read: then one of them keeps reading (read_mark) and must itself bound what it sends in
 * return.
 *
 * With TLS (net/tls.h) all this starts after the handshake, which has its own limits: time
 * (frame_us and idle_us, at most 30 s) and memory (TLS_SHAKE_MEMORY, started only within the
 * budget). Data sent before that waits in the queue.
 *
 * Callbacks never come from inside a function of this header, and never after closed(), which comes
 * exactly once, also after conn_close(). The connection is freed after it. All functions may be
 * called from inside callbacks, and do nothing once the connection is ending. */
#pragma once
#include "net/loop.h"

struct conn;
struct conn_pool;
struct message_wire;
struct tls;

/* Why a connection ended. */
#define CONN_ENDS(X)                                        \
	X(DONE, "finished")                                 \
	X(EOF, "closed by the peer")                        \
	X(DROPPED, "dropped")                               \
	X(IDLE, "idle for too long")                        \
	X(SLOW, "a line took too long to arrive")           \
	X(LONG_LINE, "a line is too long")                  \
	X(FULL, "the peer does not read what it asked for") \
	X(TLS, "no TLS, or not with our key")               \
	X(FAILED, "the connection failed")

enum conn_end {
#define X(symbol, text) CONN_END_##symbol,
	CONN_ENDS(X)
#undef X
		CONN_NENDS
};
const char *conn_end_text(enum conn_end end);

struct conn_ops {
	/* Slices are valid until the callback returns. */
	void (*line)(void *ctx, struct str line);   /* without LF or CRLF; or a message */
	void (*bytes)(void *ctx, struct str piece); /* in place of line(), see conn_limits */
	void (*drained)(void *ctx); /* the queue was above high_mark and is below a quarter of it;
				       may be NULL */
	/* May send a last message before the connection is finished. May be NULL. */
	void (*long_line)(void *ctx);
	void (*closed)(void *ctx, enum conn_end end, int sys_errno); /* of FAILED, else 0 */
	/* Called once, before all others except closed(): the connection is usable and, with TLS,
	 * the peer authenticated. May be NULL. */
	void (*ready)(void *ctx);
};

struct conn_limits {
	size_t line_max;  /* bytes of a line */
	size_t high_mark; /* of the output queue */
	size_t queue_max; /* past it the connection ends: FULL */
	int64_t idle_us;  /* without a byte in either direction, unless paused; 0: for ever */
	int64_t frame_us; /* from the first byte of a line to its last; 0: any */
	size_t read_mark; /* of the output queue: above it nothing is read; 0: high_mark */
	/* Messages in place of lines (net/framing.h), each of them one call of line(). line_max
	 * does not count then. NULL: lines. */
	const struct message_wire *messages;
	bool pieces; /* neither: bytes() gets whatever arrives, at most CONN_READ bytes a call */
};
/* So one connection holds at most line_max + CONN_READ bytes of input and twice queue_max of
 * output. */
enum { CONN_READ = 32 * 1024 };

struct conn_stats {
	uint64_t bytes_in, frames;
	uint64_t conns, memory, memory_peak; /* now, now, ever */
	uint64_t starved;                    /* times that reading stopped for the budget */
	uint64_t ended[CONN_NENDS];
};

/* memory: bytes that all connections together may hold before reading stops. */
struct conn_pool *conn_pool_new(struct loop *loop, uint64_t memory);
/* Closes the connections that are left and calls their closed(). Do not call it from a callback of
 * one of them. */
void conn_pool_free(struct conn_pool **pool);
const struct conn_stats *conn_pool_stats(const struct conn_pool *pool);
struct loop *conn_pool_loop(const struct conn_pool *pool);

/* Takes over fd, which must be non-blocking. Limits, ops and tls must outlive the connection; tls
 * may be NULL. */
struct conn *conn_new(struct conn_pool *pool, int fd, const struct tls *tls,
		      const struct conn_limits *limits, const struct conn_ops *ops, void *ctx);

/* Queues bytes; those queued by callbacks are sent together afterwards. false: stop producing until
 * drained(), which comes unless the connection is ending. */
bool conn_send(struct conn *c, struct str bytes);
bool conn_printf(struct conn *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
size_t conn_queued(const struct conn *c);

/* For a connection of messages: the following ones are of this wire (framing_switch()). */
void conn_messages(struct conn *c, const struct message_wire *wire);
/* Stops reading and delivering frames until conn_resume(), for instance while an answer is made. */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);

/* Ends the connection when the queue is empty. Discards what still arrives for a short while, so
 * that the peer gets our last message rather than a reset. */
void conn_finish(struct conn *c);
/* Ends the connection now. */
void conn_close(struct conn *c);
/* For closed(): why the connection ended, more precisely than conn_end_text() if more is known:
 * "the peer has another key". Valid until closed() returns. */
const char *conn_why(const struct conn *c);
/* For a TCP socket, before conn_new(): sends answers at once, and detects within two minutes that a
 * peer's machine is gone. */
void conn_tune_tcp(int fd);
/* Returns whether a request of the peer is still in progress: frames, a pause, a queue. For drains.
 */
bool conn_busy(const struct conn *c);
/* Returns whether the peer has closed its side, even if that has not been read yet: asks the
 * kernel.
 */
bool conn_is_cut(const struct conn *c);
