/* The provider's side of a notification session (doc/protocols/lococa.md): one connection, at most
 * one set. It reads answers while it sends the set, since the server reports errors as rows arrive,
 * and stops sending after a rejection. */
#pragma once
#include "base/arena.h"
#include "net/loop.h"

struct conn_pool;
struct lococa_client;
struct tls;

/* What the server says of one URL: an error of this set, or of an earlier one. */
struct lococa_fault {
	unsigned code;
	struct str url, c, mime, at, text; /* c: "" if not given; at: of earlier sets */
};

enum { LOCOCA_MIMES = 1000, LOCOCA_FAULTS = 10000 }; /* further ones are ignored */

/* Contents of init_accepted. Slices are valid as long as the client. */
struct lococa_info {
	uint64_t seq;
	struct str last_address;
	struct str *mime;
	size_t mimes;
	uint64_t files_used, files_free, space_used, space_free; /* free: UINT64_MAX for no limit */
	uint64_t fullsets; /* that may still be sent unasked */
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
	LOCOCA_BROKEN, /* no connection, or an unreadable answer: the set may have been accepted */
	LOCOCA_QUIT,   /* by lococa_client_quit() */
};

struct lococa_end {
	enum lococa_ending how;
	unsigned code;
	uint64_t received, set;
	struct str text;
};

struct lococa_client_ops {
	/* Answer with lococa_client_set() or lococa_client_quit(), at once or later. */
	void (*accepted)(void *ctx, const struct lococa_info *info);
	/* Appends some ten kilobytes of rows; false: these are the last. */
	bool (*rows)(void *ctx, struct buf *out);
	void (*fault)(void *ctx, const struct lococa_fault *fault);
	/* Called once, unless the client is freed first. Slices are valid during the call. */
	void (*ended)(void *ctx, const struct lococa_end *end);
};

struct lococa_client_options {
	const char *address;   /* as of outgoing connections */
	const struct tls *tls; /* NULL: none */
	bool plain;            /* allow another machine without TLS */
	uint64_t provider;
	struct str password;
	int64_t timeout_us; /* of silence on both sides */
	const struct lococa_client_ops *ops;
	void *ctx;
};

/* Copies the options, but not what they point to. ERR_USAGE: bad address. */
int lococa_client_new(struct lococa_client **ret, struct conn_pool *pool,
		      const struct lococa_client_options *options, struct err *err);
/* Do not call it from a callback. */
void lococa_client_free(struct lococa_client **c);

/* Sends the set, calling rows() until there are no more. empty: a full set without rows. */
void lococa_client_set(struct lococa_client *c, bool full, bool empty);
/* Parses these bytes as if the server had sent them: for tests. */
void lococa_client_hear(struct lococa_client *c, struct str bytes);
/* Ends the session without a set. */
void lococa_client_quit(struct lococa_client *c);
