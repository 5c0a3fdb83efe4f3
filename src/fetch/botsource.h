/* The source's side of the bot protocol: the botm at the top of a tree connects here and gets its
 * URLs. One botm at a time; a second one is refused.
 *
 * A submitted fetch is out until it is answered, even across connections: a botm that reconnects
 * gets all of them again. The owner makes each answer durable and then calls botsource_verdict() to
 * keep or drop the file. Until the botm has that verdict it may repeat the answer, also after the
 * owner was restarted. So an id is used again only for the same question, and the owner must know
 * for each file whether it kept it.
 *
 * Belongs to one loop and its thread. Callbacks come from the loop, never from these functions. */
#pragma once
#include "fetch/bot_wire.h"
#include "net/server.h"

struct botsource;

/* Slices are valid during the call. */
struct botsource_ops {
	/* More may be submitted than before. */
	void (*room)(void *ctx);
	/* The first answer to a fetch, which is no longer out. A verdict must follow, now or later.
	 */
	void (*answered)(void *ctx, const struct bot_message *m);
	/* An answer to a fetch that is not out: repeated, from a second machine, or asked for by an
	 * earlier process. A verdict must follow: kept if that file was kept, else dropped. */
	void (*repeated)(void *ctx, const struct bot_message *m);
	/* A delete has ended. */
	void (*deleted)(void *ctx, struct str id, enum bot_deletion how);
	/* A machine has connected or gone; may be NULL. */
	void (*machine)(void *ctx, struct str machine, bool is_up);
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
/* Sends what is queued, then stops everything and calls done(ctx), after within_us at the latest.
 */
void botsource_drain(struct botsource *s, int64_t within_us, void (*done)(void *ctx), void *ctx);
void botsource_free(struct botsource **s); /* not from a callback */

/* Returns how many fetches may be submitted now. */
uint64_t botsource_room(const struct botsource *s);
/* Submits a copy of a fetch. 1: no room; room() will be called. 2: that id is out already. */
int botsource_submit(struct botsource *s, const struct bot_message *fetch);
/* Tells the botm to keep or drop the file of an answer. Lost if no botm is connected: the botm then
 * repeats the answer. */
void botsource_verdict(struct botsource *s, const struct bot_message *answer, bool is_kept);
/* Deletes a file that was kept; deleted() follows. It says ABSENT if no botm is connected, or if
 * the botm disconnects before it answers: a delete may be repeated. At most a thousand are out at a
 * time; the others are queued. */
void botsource_delete(struct botsource *s, struct str id, struct str machine, struct str file);
