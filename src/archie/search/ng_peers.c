/* Loads of other servers. A connection stays open and asks every minute. Only the first line of the
 * answer counts, which is about that server itself: what it knows of others is older than what they
 * tell us. A server that does not answer keeps its last load, which ages. */
#include "archie/ng_peers.h"

#include "base/clock.h"
#include "net/outgoing.h"

#include <inttypes.h>
#include <stdio.h>

#define ASK_US US_PER_MIN

struct ng_peer {
	const char *name;
	struct ng_peers *all;
	struct outgoing *out;
	struct loop_timer timer;
	bool wants; /* the first line of an answer */
	struct ng_load load;
	int64_t heard_us;
};

struct ng_peers {
	struct loop *loop;
	struct ng_peer peer[NG_PEERS_MOST];
	size_t n;
};

static const struct conn_limits limits = {
	.line_max = 8192, .high_mark = 65536, .queue_max = 65536, .frame_us = US_PER_MIN};

static bool is_decimal(struct str s)
{
	uint64_t whole, part = 0;
	size_t dot = str_find_byte(s, '.');
	return s.n < NG_RATE && str_u64(str_head(s, dot), &whole) &&
	       (dot >= s.n || str_u64(str_from(s, dot + 1), &part));
}

bool ng_load_parse(struct str line, struct str *ret_server, struct ng_load *ret)
{
	enum { WORD, SERVER, QUEUE, WAIT, RATE, AGE, FIELDS };
	struct str field[FIELDS] = {0};
	struct ng_load load = {.known = true};
	for (size_t i = 0; i < FIELDS; i++)
		if (str_cut(&line, '\t', &field[i]) != 0)
			return false;
	if (!str_is(field[WORD], "LOAD") || !field[SERVER].n)
		return false;
	*ret_server = field[SERVER];
	*ret = (struct ng_load){0};
	if (str_is(field[QUEUE], "-"))
		return true;
	if (!str_u64(field[QUEUE], &load.queue) || !str_u64(field[WAIT], &load.wait_ms) ||
	    !is_decimal(field[RATE]) || !str_u64(field[AGE], &load.age_s))
		return false;
	memcpy(load.per_s, field[RATE].p, field[RATE].n);
	*ret = load;
	return true;
}

void ng_load_print(struct buf *out, const char *server, const struct ng_load *load)
{
	if (load->known)
		buf_printf(out, "LOAD\t%s\t%" PRIu64 "\t%" PRIu64 "\t%s\t%" PRIu64 "\n", server,
			   load->queue, load->wait_ms, load->per_s, load->age_s);
	else
		buf_printf(out, "LOAD\t%s\t-\t-\t-\t-\n", server);
}

static void peer_line(void *ctx, struct str line)
{
	struct ng_peer *p = ctx;
	struct str server;
	struct ng_load load;
	if (!p->wants)
		return;
	p->wants = false;
	if (!ng_load_parse(line, &server, &load) || !load.known)
		return;
	p->load = load;
	p->heard_us = loop_now_us(p->all->loop);
}

static void peer_ask(void *ctx)
{
	struct ng_peer *p = ctx;
	struct conn *c = outgoing_conn(p->out);
	if (!c)
		return;
	p->wants = true;
	conn_send(c, STR("LOAD\n"));
}

static void peer_up(void *ctx, struct conn *c)
{
	struct ng_peer *p = ctx;
	p->wants = true;
	conn_send(c, STR("LOAD\n"));
	loop_timer_every(p->all->loop, &p->timer, ASK_US);
}

static void peer_down(void *ctx, const char *why, int64_t retry_us)
{
	struct ng_peer *p = ctx;
	(void)why, (void)retry_us;
	loop_timer_stop(&p->timer);
}

static const struct conn_ops ops = {.line = peer_line};

static int peer_open(struct ng_peer *p, struct ng_peers *all, struct conn_pool *pool,
		     const char *name, struct err *err)
{
	*p = (struct ng_peer){.name = name, .all = all, .timer = {.fn = peer_ask, .ctx = p}};
	const struct outgoing_options options = {.address = name,
						 .retry_min_us = US_PER_S,
						 .retry_max_us = US_PER_MIN,
						 .limits = &limits,
						 .ops = &ops,
						 .up = peer_up,
						 .down = peer_down,
						 .ctx = p};
	return pool ? outgoing_new(&p->out, pool, &options, err) : 0;
}

int ng_peers_new(struct ng_peers **ret, struct conn_pool *pool, const struct value_list *servers,
		 const char *self, struct err *err)
{
	struct ng_peers *all = mem_alloc(sizeof *all);
	*all = (struct ng_peers){.loop = pool ? conn_pool_loop(pool) : NULL};
	for (size_t i = 0; i < servers->n; i++) {
		if (strcmp(servers->item[i], self) == 0)
			continue;
		if (all->n == NG_PEERS_MOST) {
			ng_peers_free(&all);
			return err_set(err, ERR_USAGE, "archie.servers: more than %d",
				       NG_PEERS_MOST);
		}
		if (peer_open(&all->peer[all->n], all, pool, servers->item[i], err) < 0) {
			ng_peers_free(&all);
			return err_in(err, "archie.servers");
		}
		all->n++;
	}
	*ret = all;
	return 0;
}

void ng_peers_free(struct ng_peers **p)
{
	if (!*p)
		return;
	for (size_t i = 0; i < (*p)->n; i++) {
		loop_timer_stop(&(*p)->peer[i].timer);
		outgoing_free(&(*p)->peer[i].out);
	}
	mem_free(p);
}

size_t ng_peers_count(const struct ng_peers *p)
{
	return p->n;
}

size_t ng_peers_up(const struct ng_peers *p)
{
	size_t up = 0;
	for (size_t i = 0; i < p->n; i++)
		up += p->peer[i].out && outgoing_conn(p->peer[i].out);
	return up;
}

const char *ng_peers_name(const struct ng_peers *p, size_t i)
{
	return p->peer[i].name;
}

void ng_peers_load(const struct ng_peers *p, size_t i, struct ng_load *ret)
{
	const struct ng_peer *peer = &p->peer[i];
	*ret = peer->load;
	if (ret->known)
		ret->age_s += (uint64_t)((loop_now_us(p->loop) - peer->heard_us) / US_PER_S);
}
