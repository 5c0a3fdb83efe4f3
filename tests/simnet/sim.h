/* What the parts of simnet share: the world, its clock, the counts. One loop, one thread. */
#pragma once
#include "net/loop.h"
#include "simnet/answer.h"
#include "simnet/odd.h"
#include "simnet/tally.h"

struct sim {
	struct world world;
	struct loop *loop;
	struct tally *tally;
	struct odd *odd;     /* NULL: none */
	int64_t odd_idle_us; /* the idle limit of clients, for pauses of odd cases */
	int64_t idle_us;     /* of kept connections */
	double speed;        /* virtual seconds in a real one; 0: the clock stands */
	int64_t start_us;    /* monotonic */
	int64_t advanced_us; /* by the control port */
};

static inline int64_t sim_now_us(const struct sim *s)
{
	double ran = (double)(loop_now_us(s->loop) - s->start_us) * s->speed;
	return s->world.conf.epoch_s * US_PER_S + s->advanced_us + (int64_t)ran;
}
static inline int64_t sim_now_s(const struct sim *s)
{
	return sim_now_us(s) / US_PER_S;
}
/* The odd cases have the address after the last of the hosts. */
static inline uint32_t sim_odd_address(const struct sim *s)
{
	return (uint32_t)s->world.conf.addresses;
}

/* The web servers. */
struct http;
int http_new(struct http **ret, struct sim *s, int64_t port, struct err *err); /* 0: any port */
void http_free(struct http **h);
/* A host's profile has changed: its address may refuse connections now, or no longer. */
int http_host_changed(struct http *h, uint32_t host, struct err *err);
bool http_client_gone(void *owner); /* of a tally_mark */

/* The name server. */
struct names;
int names_new(struct names **ret, struct sim *s, int64_t port, struct err *err);
void names_free(struct names **n);
int names_port(const struct names *n);

/* The control port. */
struct control;
int control_new(struct control **ret, struct sim *s, struct http *http, const char *listen,
		struct err *err);
void control_free(struct control **c);
const char *control_name(const struct control *c); /* where it listens */

/* A JSON object for the page as it is now, with `host` asked for (a mirror, perhaps). */
void truth_page(const struct sim *s, uint32_t host, uint32_t number, int64_t now_s,
		struct buf *out);
/* Whether a good crawl finds the page by its words. */
bool truth_findable(const struct sim *s, uint32_t host, const struct page *p, int64_t now_s);
