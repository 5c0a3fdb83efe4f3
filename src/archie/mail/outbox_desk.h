/* Putting into the outbox for a loop that must not wait: counts of the day are locked, and files
 * are synced, by threads. The owner's loop is told when it is done. What may wait is bounded, for
 * one asker and for all, and askers take turns. Of a process that forks without exec there can be
 * none: threads and fork do not go together. */
#pragma once
#include "archie/outbox.h"

enum {
	OUTBOX_DESK_MOST = 64, /* errands that wait or are done */
	OUTBOX_DESK_SHARE = 8, /* of one asker */
};

struct outbox_desk;
struct outbox_errand; /* one request, until its owner is told or forgets it */

/* sender: woken when something was put. Both must outlive the desk. */
int outbox_desk_new(struct outbox_desk **ret, struct loop *loop, struct outbox *o,
		    struct outbox_sender *sender, struct err *err);
/* Does what it was given first; nobody is told any more. */
void outbox_desk_free(struct outbox_desk **d);

/* why: NULL: it is kept, durable; otherwise as outbox_put_new_site() has it. Good until it returns.
 */
typedef void outbox_desk_fn(void *ctx, const struct err *why);
/* As outbox_put_new_site(); the texts are copied. Tells once, never from inside of this call. NULL:
 * too many wait, nothing is done. */
struct outbox_errand *outbox_desk_new_site(struct outbox_desk *d, struct str host,
					   struct str reply_to, struct str asker,
					   outbox_desk_fn *told, void *ctx);
/* It is done all the same, but nobody is told. */
void outbox_errand_forget(struct outbox_errand *e);
