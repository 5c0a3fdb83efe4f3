/* The provider's side of a notification session (doc/protocols/lococa.md): one connection, one set
 * at most. Answers are read while the set is being sent, since the server reports rows as they
 * arrive; after a rejection nothing more is sent. */
#pragma once
#include "base/arena.h"
#include "net/loop.h"

struct conn_pool;
struct lococa_client;
struct tls;

/* What the server says of one URL: an error of this set, or of an earlier one. */
struct lococa_fault {
	unsigned code;
	struct str url, c, mime, at, text; /* c: "" where it was not told; at: of earlier sets */
};

enum { LOCOCA_MIMES = 1000, LOCOCA_FAULTS = 10000 }; /* more of them are passed over */

/* What init_accepted says. Slices live as long as the client. */
struct lococa_info {
	uint64_t seq;
	struct str last_address;
	struct str *mime;
	size_t mimes;
	uint64_t files_used, files_free, space_used, space_free; /* free: UINT64_MAX for no limit */
	uint64_t fullsets;                                       /* unasked ones that are left */
	bool wanted;
	struct str reason; /* "old", "expired", "crash"; "" */
	uint64_t errors, processing;
	struct lococa_fault *fault; /* the latest of the errors */
	size_t faults;
};

enum lococa_ending {
	LOCOCA_ACCEPTED,      /* the set is kept */
	LOCOCA_INIT_REJECTED, /* code and text say why; also of an error at another place */
	LOCOCA_SET_REJECTED,
	LOCOCA_BROKEN, /* no connection, or no answer that can be read; the set may be kept or not
			*/
	LOCOCA_QUIT,   /* by lococa_client_quit() */
};

struct lococa_end {
	enum lococa_ending how;
	unsigned code;
	uint64_t received, set;
	struct str text;
};

struct lococa_client_ops {
	/* Answered by lococa_client_set() or lococa_client_quit(), there or later. */
	void (*accepted)(void *ctx, const struct lococa_info *info);
	/* Appends rows, some ten kilobytes; false: these were the last. */
	bool (*rows)(void *ctx, struct buf *out);
	void (*fault)(void *ctx, const struct lococa_fault *fault);
	/* Once, unless the client is freed before. Slices are good until it returns. */
	void (*ended)(void *ctx, const struct lococa_end *end);
};

struct lococa_client_options {
	const char *address;   /* as of outgoing connections */
	const struct tls *tls; /* NULL: none */
	bool plain;            /* also another machine without TLS */
	uint64_t provider;
	struct str password;
	int64_t timeout_us; /* of silence on both sides */
	const struct lococa_client_ops *ops;
	void *ctx;
};

/* Options are copied, not what they point to. ERR_USAGE: the address. */
int lococa_client_new(struct lococa_client **ret, struct conn_pool *pool,
		      const struct lococa_client_options *options, struct err *err);
/* Not from inside a call of its own. */
void lococa_client_free(struct lococa_client **c);

/* Sends the set: rows() is called until it has no more. empty: a full one without rows. */
void lococa_client_set(struct lococa_client *c, bool full, bool empty);
/* As if the server had said this: for those who try what it might say, without a connection. */
void lococa_client_hear(struct lococa_client *c, struct str bytes);
/* The session ends without a set. */
void lococa_client_quit(struct lococa_client *c);
