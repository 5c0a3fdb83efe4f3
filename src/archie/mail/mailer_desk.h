/* Sends requests for new sites in threads, for loops, which must not block. The queue is bounded
 * for each asker and in all, and askers take turns. Not for a process that forks without exec:
 * threads do not survive fork. */
#pragma once
#include "archie/mailer.h"
#include "net/loop.h"

enum {
	MAILER_DESK_MOST = 64, /* errands waiting or running */
	MAILER_DESK_SHARE = 8, /* of these, for one asker */
};

struct mailer_desk;
struct mailer_errand; /* one request, until its owner was called back or forgets it */

int mailer_desk_new(struct mailer_desk **ret, struct loop *loop, const struct mailer *mailer,
		    struct err *err);
/* Waits for running errands and drops the others. Calls nobody back. */
void mailer_desk_free(struct mailer_desk **d);

/* why: NULL: sent; otherwise the error of mailer_ask_site(). Valid until the function returns. */
typedef void mailer_desk_fn(void *ctx, const struct err *why);
/* As mailer_ask_site(); copies the texts. Calls back once, never from inside this call. NULL: the
 * queue is full. */
struct mailer_errand *mailer_desk_ask_site(struct mailer_desk *d, struct str host,
					   struct str reply_to, struct str asker,
					   mailer_desk_fn *told, void *ctx);
/* Sends it without calling back. */
void mailer_errand_forget(struct mailer_errand *e);
