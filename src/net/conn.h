/* Connections: a stream socket on the loop, with lines and counted bytes coming in, an output
 * queue, and bounds on everything. All connections of a loop share a pool: its scratch space, so
 * that one that keeps up owns no memory at all, and its byte budget.
 *
 * Back-pressure: while the output queue is above its high mark, or the budget is used up, nothing
 * is read and no frame handed out; the producer stops when conn_send() says false and goes on
 * in drained(). Where both sides speak unasked, each could wait for the other to read: there one
 * of them reads on (read_mark), and bounds by itself what that makes it send.
 *
 * With TLS (net/tls.h) all this begins after the handshake, which has its own limits: of time
 * (frame_us and idle_us, 30 s at most), and of memory (TLS_SHAKE_MEMORY, begun only within the
 * budget). What is sent before that waits in the queue.
 *
 * Calls back: never from inside a function of this header, and never again after closed(), which
 * comes exactly once, also after conn_close(). The connection is freed after it. All functions may
 * be called from inside callbacks, and do nothing once the connection is ending. */
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
	X(SLOW, "a line or block took too long to arrive")  \
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
	/* Slices are good until the callback returns. */
	void (*line)(void *ctx, struct str line); /* without LF or CRLF; or a message */
	void (*bytes)(void *ctx, struct str piece, uint64_t left); /* left: yet to come; NULL: never
								      asked for */
	void (*drained)(void *ctx); /* the queue was above high_mark and is below a quarter of it;
				       may be NULL */
	/* May send a last word; the connection is finished after it. May be NULL. */
	void (*long_line)(void *ctx);
	void (*closed)(void *ctx, enum conn_end end, int sys_errno); /* of FAILED, else 0 */
	/* Once, before all others but closed(), when lines may flow: with TLS the peer has shown by
	 * then who it is. May be NULL. */
	void (*ready)(void *ctx);
};

struct conn_limits {
	size_t line_max;  /* bytes of a line */
	size_t block_max; /* of conn_want() */
	size_t high_mark; /* of the output queue */
	size_t queue_max; /* past it the connection ends: FULL */
	int64_t idle_us;  /* without a byte in either direction, unless paused; 0: for ever */
	int64_t frame_us; /* from the first byte of a line or block to its last; 0: any */
	size_t read_mark; /* of the output queue: above it nothing is read; 0: high_mark */
	/* Messages in place of lines (net/framing.h), each of them one call of line(). line_max and
	 * block_max do not count then. NULL: lines. */
	const struct message_wire *messages;
};
/* So one connection holds at most MAX(line_max, block_max) + CONN_READ bytes of input and twice
 * queue_max of output. */
enum { CONN_READ = 32 * 1024 };

struct conn_stats {
	uint64_t bytes_in, bytes_out, frames;
	uint64_t conns, memory, memory_peak; /* now, now, ever */
	uint64_t starved;                    /* times that reading stopped for the budget */
	uint64_t ended[CONN_NENDS];
};

/* memory: bytes that all connections together may hold before reading stops. */
struct conn_pool *conn_pool_new(struct loop *loop, uint64_t memory);
/* Closes all that are left, closed() included; not from inside a callback of one of them. */
void conn_pool_free(struct conn_pool **pool);
const struct conn_stats *conn_pool_stats(const struct conn_pool *pool);
struct loop *conn_pool_loop(const struct conn_pool *pool);

/* Takes the descriptor, which must not block. Limits, ops and tls are used where they are; tls:
 * NULL for none. */
struct conn *conn_new(struct conn_pool *pool, int fd, const struct tls *tls,
		      const struct conn_limits *limits, const struct conn_ops *ops, void *ctx);

/* Queues; what callbacks queue goes out together after them. false: stop producing, drained() will
 * come, unless the connection is ending. */
bool conn_send(struct conn *c, struct str bytes);
bool conn_printf(struct conn *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
size_t conn_queued(const struct conn *c);

/* What comes next is not a line but n bytes: as one block (at most block_max), or in pieces as they
 * arrive. Then lines again. 0 bytes are one empty piece. */
void conn_want(struct conn *c, size_t n);
void conn_want_pieces(struct conn *c, uint64_t n);

/* No more frames, and nothing is read, until resumed: while an answer is being made. */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);

/* Ends it when the queue is empty; what still comes in is thrown away, for a short while, so that
 * the peer gets our last words rather than a reset. */
void conn_finish(struct conn *c);
/* Ends it now. */
void conn_close(struct conn *c);
/* For closed(): why it ended, in words that say more than conn_end_text() where more is known: "the
 * peer has another key". Good until closed() returns. */
const char *conn_why(const struct conn *c);
/* For a TCP socket, before conn_new(): answers leave at once, and a peer whose machine went without
 * a word is noticed within two minutes, also by one that only waits for it. */
void conn_tune_tcp(int fd);
/* Whether the peer has something running here: frames, a pause, a queue. For drains. */
bool conn_busy(const struct conn *c);
/* Whether the peer has ended it, also where that was not read yet: asks the kernel. */
bool conn_is_cut(const struct conn *c);
