/* What all kinds of reapers share: names, and the numbers that jobs are shared out by, which have
 * to be of one measure. */
#include "shepherd/reap/reaper.h"

enum { ROUND_OVER = 256 }; /* jobs that the mean time of one is taken over */

const char *const reaper_state_names[REAPER_STATES] = {"away", "up", "refused", "punished"};

const char *const reaper_what_names[REAPER_WHATS] = {"page", "robots", "sitemap"};

void reaper_count(struct reaper *r, const struct reaper_answer *a, int64_t took_us)
{
	struct reaper_counts *c = &r->counts;
	c->rounds += c->rounds < ROUND_OVER;
	c->round_us += (took_us - c->round_us) / (int64_t)c->rounds;
	c->documents += a->bucket.n > 0;
	c->bytes += a->bytes;
	c->errors += code_class(a->code) != CODE_CLASS_OK;
}
