/* Requests for new sites from a loop, which must not wait: threads count and send them, and the
 * loop is told the end. What may wait is bounded, for one asker and for all, and askers take turns.
 * Not for a process that forks without exec: threads and fork do not go together. */
#pragma once
#include "archie/mailer.h"
#include "net/loop.h"

enum {
	MAILER_DESK_MOST = 64, /* errands that wait or are done */
	MAILER_DESK_SHARE = 8, /* of one asker */
};

struct mailer_desk;
struct mailer_errand; /* one request, until its owner is told or forgets it */

int mailer_desk_new(struct mailer_desk **ret, struct loop *loop, const struct mailer *mailer,
		    struct err *err);
/* Ends what was begun; the others are lost. Tells nobody. */
void mailer_desk_free(struct mailer_desk **d);

/* why: NULL: it was sent; otherwise as mailer_ask_site() has it. Valid until the function returns.
 */
typedef void mailer_desk_fn(void *ctx, const struct err *why);
/* As mailer_ask_site(); copies the texts. Tells once, never from inside of this call. NULL: too
 * many wait, nothing is done. */
struct mailer_errand *mailer_desk_ask_site(struct mailer_desk *d, struct str host,
					   struct str reply_to, struct str asker,
					   mailer_desk_fn *told, void *ctx);
/* Tells nobody, but sends it all the same. */
void mailer_errand_forget(struct mailer_errand *e);
