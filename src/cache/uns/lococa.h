/* A session of the notification protocol (doc/protocols/lococa.md) without input and output: bytes
 * of a provider become events, answers become bytes. Each URL of a set is checked here, and handed
 * over as a notice or as an error. Nothing is allocated for a URL, and a session that has said
 * nothing yet holds next to nothing. */
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

/* Slices are good during the call. From inside of them the functions of this header may be called,
 * but for lococa_put() and lococa_free(). */
struct lococa_ops {
	/* To be answered by lococa_accept() or lococa_refuse() before more is put. provider 0: what
	 * was said is not a number. */
	void (*init)(void *ctx, uint64_t provider, struct str password);
	/* 0: of the latest. More may be put when the answer is out. */
	void (*receipts)(void *ctx, uint64_t set);
	void (*set)(void *ctx, bool is_full);
	/* Of a set: a URL that is right; or one that is wrong and stands in a full set, whose op is
	 * NOTICE_NAMED. */
	void (*notice)(void *ctx, const struct notice *n);
	/* A URL in error: the element that tells of it, after lococa_say_set(). */
	void (*wrong)(void *ctx, struct str element);
	/* The set is whole; `received` of its URLs are right. */
	void (*whole)(void *ctx, uint64_t received);
	/* The session cannot go on, and nothing is called any more: to be told by lococa_refuse(),
	 * within a set or not. */
	void (*error)(void *ctx, unsigned code, const char *text);
};

/* shared and ops are used where they are. */
struct lococa *lococa_new(struct lococa_shared *shared, const struct lococa_ops *ops, void *ctx);
void lococa_free(struct lococa **l);

/* Reads at most to the end of a message; *ret_n of the bytes were taken, all of them where the
 * session is over. */
void lococa_put(struct lococa *l, struct str bytes, size_t *ret_n);
/* Nothing is called any more. */
void lococa_stop(struct lococa *l);
/* Of the set that is arriving, until it is over. */
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
	/* What its URLs have to lie below; used where it is. */
	const struct prefixes *prefixes;
};
void lococa_accept(struct lococa *l, const struct lococa_welcome *w, struct buf *out);
/* In the form that the state of the session asks for; it is over then. */
void lococa_refuse(struct lococa *l, unsigned code, const char *text, struct buf *out);
/* What an error in a row needs before it; nothing for the second. */
void lococa_say_set(struct lococa *l, bool has_error, struct buf *out);
void lococa_say_taken(struct lococa *l, uint64_t received, uint64_t set, struct buf *out);

/* state: "kept", "queued", "absorbed" or "unknown"; at_us 0: not said. Then rows, and the end. */
void lococa_say_receipts(struct lococa *l, uint64_t set, const char *state, int64_t at_us,
			 uint64_t urls, struct buf *out);
void lococa_say_receipt(const struct db_receipt *r, struct buf *out);
void lococa_say_receipts_end(struct lococa *l, struct buf *out);
