/* The source's side of the bot protocol: where the botm at the top of a tree connects to, and gets
 * its URLs. One botm at a time; a second one is refused.
 *
 * A fetch that was submitted is out until it has been answered, whatever becomes of connections:
 * a botm that comes back is given all of them again. The owner makes each answer durable, as it
 * likes, and then says what is to become of the file: botsource_verdict(). Until that has reached
 * the botm, the answer may come again, also after the owner was started anew: so ids are never used
 * twice but for the very same question, to which each answer is a good one; and the owner knows for
 * each file whether it has kept it.
 *
 * One loop and its thread. Callbacks come from the loop, never from inside these functions. */
#pragma once
#include "fetch/bot_wire.h"
#include "net/server.h"

struct botsource;

/* Slices are good during the call. */
struct botsource_ops {
	/* More may be submitted than before. */
	void (*room)(void *ctx);
	/* The first answer to a fetch that is out, which it then is not any more. A verdict must
	 * follow, now or later. */
	void (*answered)(void *ctx, const struct bot_message *m);
	/* An answer to what is not out: a repeated one, a second one by another machine, or one
	 * that an earlier process asked for. A verdict must follow: kept, if that very file was
	 * kept, else dropped. */
	void (*repeated)(void *ctx, const struct bot_message *m);
	/* A delete has ended. */
	void (*deleted)(void *ctx, struct str id, enum bot_deletion how);
	/* A machine has come or gone; NULL: not wanted. */
	void (*machine)(void *ctx, struct str machine, bool is_up);
	/* For the log; NULL: not wanted. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *who);
};

struct botsource_options {
	struct loop *loop;
	const struct server_limits *limits; /* used where they are, as are tls and ops */
	const struct tls *tls;              /* NULL: none */
	unsigned overload;                  /* percent that a botm is filled beyond its capacity */
	const struct botsource_ops *ops;
	void *ctx;
};

struct botsource *botsource_new(const struct botsource_options *options);
int botsource_listen(struct botsource *s, int fd, struct err *err);
/* What was said goes out, then everything ends and done(ctx) is called; at the latest after
 * within_us. */
void botsource_drain(struct botsource *s, int64_t within_us, void (*done)(void *ctx), void *ctx);
void botsource_free(struct botsource **s); /* not from inside a callback */

/* How many may be submitted now. */
uint64_t botsource_room(const struct botsource *s);
/* Submits a fetch; all of it is copied. 1: there is no room now, room() will come. 2: that id is
 * out already. */
int botsource_submit(struct botsource *s, const struct bot_message *fetch);
/* Kept or dropped, of an answer that was told; lost where no botm is there: then it is asked for
 * again. */
void botsource_verdict(struct botsource *s, const struct bot_message *answer, bool is_kept);
/* Deletes a file that was kept; deleted() follows. At once and with ABSENT where no botm is there,
 * and when it goes before it has answered: a delete may be said twice. The botm has a thousand at a
 * time; the others wait. */
void botsource_delete(struct botsource *s, struct str id, struct str machine, struct str file);
