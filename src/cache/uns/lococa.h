/* A session of the notification protocol (doc/protocols/lococa.md) without input and output: bytes
 * of a provider become events, answers become bytes. Checks each URL of a set and passes it on as a
 * notice or as an error. Allocates nothing per URL; a session that has received nothing yet takes
 * almost no memory. */
#pragma once
#include "cache/cache_conf.h"
#include "cache/db.h"
#include "cache/uns/prefix.h"
#include "net/xml.h"

enum {
	LOCOCA_INIT_MAX = 16 << 10,    /* bytes of init */
	LOCOCA_MESSAGE_MAX = 64 << 10, /* of another message that is not a set, and of a tag */
	LOCOCA_URLPREFIX_MAX = 2048,
	LOCOCA_ERRORS_MAX = 256 << 10, /* bytes of errors in init_accepted, at most one too many */
};

/* What all sessions of one loop share. */
struct lococa_shared;
struct lococa_shared *lococa_shared_new(const struct cache_conf *cache, uint64_t set_max,
					uint64_t set_bytes);
void lococa_shared_free(struct lococa_shared **s);

struct lococa;

/* Slices are valid during the call. These callbacks may call every function of this header except
 * lococa_put() and lococa_free(). */
struct lococa_ops {
	/* Answer with lococa_accept() or lococa_refuse() before the next lococa_put(). provider 0:
	 * the id is not a number. */
	void (*init)(void *ctx, uint64_t provider, struct str password);
	/* set 0: the latest. The next lococa_put() must wait until the answer is sent. */
	void (*receipts)(void *ctx, uint64_t set);
	void (*set)(void *ctx, bool is_full);
	/* A valid URL of a set; or, with op NOTICE_NAMED, an invalid one of a full set. */
	void (*notice)(void *ctx, const struct notice *n);
	/* An invalid URL: the element that reports it; send it after lococa_say_set(). */
	void (*wrong)(void *ctx, struct str element);
	/* The set is complete; `received` of its URLs are valid. */
	void (*whole)(void *ctx, uint64_t received);
	/* The session has failed; no callback follows. Report it with lococa_refuse(). */
	void (*error)(void *ctx, unsigned code, const char *text);
};

/* shared and ops must outlive it. */
struct lococa *lococa_new(struct lococa_shared *shared, const struct lococa_ops *ops, void *ctx);
void lococa_free(struct lococa **l);

/* Reads at most one message; *ret_n: bytes consumed, all of them once the session is over. */
void lococa_put(struct lococa *l, struct str bytes, size_t *ret_n);
/* Stops reading: no callback follows. */
void lococa_stop(struct lococa *l);
/* Whether a set is arriving. */
bool lococa_in_set(const struct lococa *l);

/* Answers, in the prefix of the peer. */

struct lococa_welcome {
	uint64_t seq;
	struct str last_address;
	uint64_t files, files_free, space, space_free;
	uint64_t fullsets; /* that may still be sent unasked */
	enum pidb_wanted wanted;
	uint64_t errors, processing;
	const struct db_error *error; /* n of them, the latest first */
	size_t n;
	/* URLs of its sets must lie below one of these; must outlive the session. */
	const struct prefixes *prefixes;
};
void lococa_accept(struct lococa *l, const struct lococa_welcome *w, struct buf *out);
/* Rejects in the form that fits the state, and ends the session. */
void lococa_refuse(struct lococa *l, unsigned code, const char *text, struct buf *out);
/* Opens the answer to a set, and its list of errors; does nothing the second time. */
void lococa_say_set(struct lococa *l, bool has_error, struct buf *out);
void lococa_say_taken(struct lococa *l, uint64_t received, uint64_t set, struct buf *out);

/* state: "kept", "queued", "absorbed" or "unknown"; at_us 0: not said. Then rows, and the end. */
void lococa_say_receipts(struct lococa *l, uint64_t set, const char *state, int64_t at_us,
			 uint64_t urls, struct buf *out);
void lococa_say_receipt(const struct db_receipt *r, struct buf *out);
void lococa_say_receipts_end(struct lococa *l, struct buf *out);
