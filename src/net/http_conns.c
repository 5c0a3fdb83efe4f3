#include "base/clock.h"
#include "base/table.h"
#include "net/http_inner.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

enum { TICK_S = 1 };

static uint64_t hash_server(struct addr a)
{
	return addr_hash(&a);
}
static bool same_server(struct addr a, struct addr b)
{
	return addr_eq(&a, &b);
}
TABLE(peer_table, struct addr, int64_t, hash_server, same_server)
struct http_peers {
	struct peer_table table; /* connections by addr_server(), those of Unix peers apart */
};

struct http_peers *http_peers_new(void)
{
	return mem_alloc(sizeof(struct http_peers));
}

void http_peers_free(struct http_peers **p)
{
	if (*p)
		peer_table_free(&(*p)->table);
	mem_free(p);
}

/* IPv4 in IPv6's clothes is IPv4. */
static struct addr peer_of(const struct sockaddr *from, size_t n)
{
	struct addr a, server;
	if (!from || !addr_from_sockaddr(from, n, &a))
		return (struct addr){0};
	server = addr_server(&a);
	if (server.family == a.family)
		return a;
	server.port = a.port;
	return server;
}

static struct addr peer_of_conn(const struct http_conn *c)
{
	const union MHD_ConnectionInfo *info =
		c->server->mhd.get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	/* it is as long as its family has it */
	return peer_of(info ? info->client_addr : NULL, sizeof(struct sockaddr_in6));
}

bool http_conn_local(const struct http_conn *c)
{
	return !c->peer.family || addr_loopback(&c->peer);
}

const char *http_conn_address(const struct http_conn *c, char ret[ADDR_SHOWN])
{
	if (c->peer.family)
		return addr_print_port(&c->peer, ret);
	snprintf(ret, ADDR_SHOWN, "unix:");
	return ret;
}

/* Several threads may be here at once before the first of them counts: the caps may be passed by
 * less than the number of threads. */
enum MHD_Result http_conns_allow(void *server, const struct sockaddr *addr, socklen_t n)
{
	struct http_server *s = server;
	struct addr peer = peer_of(addr, n);
	pthread_mutex_lock(&s->lock);
	const int64_t *of_peer = peer_table_get(&s->peers->table, addr_server(&peer));
	bool full = s->nconns >= (size_t)s->options.limits.max_connections ||
		    (of_peer && peer.family && *of_peer >= s->options.limits.max_per_address);
	pthread_mutex_unlock(&s->lock);
	if (full)
		http_count(s, HTTP_COUNT_REFUSED, 1);
	return full ? MHD_NO : MHD_YES;
}

static void count_open(struct http_server *s)
{
	if (s->options.counters)
		counters_set(s->options.counters, s->options.counters_at + HTTP_COUNT_OPEN,
			     (int64_t)s->nconns);
}

static struct http_conn *conn_opened(struct http_server *s, struct MHD_Connection *mhd)
{
	struct http_conn *c = mem_alloc(sizeof *c);
	c->server = s;
	c->mhd = mhd;
	c->fd = s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->peer = peer_of_conn(c);
	c->due_us = clock_mono_us() + s->options.limits.request_us;
	c->request.arena = ARENA_INIT((size_t)2 * HTTP_BODY_MAX);
	c->body = c->packed = BUF_INIT(HTTP_BODY_MAX);
	pthread_mutex_lock(&s->lock);
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->nconns++;
	++*peer_table_put(&s->peers->table, addr_server(&c->peer));
	count_open(s);
	if (s->ticker_sleeps)
		pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	http_count(s, HTTP_COUNT_CONNECTIONS, 1);
	return c;
}

void http_conn_over(struct http_conn *c)
{
	if (c->active)
		__atomic_sub_fetch(&c->server->active, 1, __ATOMIC_RELAXED);
	c->active = false;
}

/* The descriptor is still open: libmicrohttpd closes it after this. */
static void conn_closed(struct http_server *s, struct http_conn *c)
{
	pthread_mutex_lock(&s->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->nconns--;
	struct addr server = addr_server(&c->peer);
	if (--*peer_table_put(&s->peers->table, server) == 0)
		peer_table_remove(&s->peers->table, server);
	count_open(s);
	http_stream_orphan(c);
	pthread_mutex_unlock(&s->lock);
	http_conn_over(c);
	http_answer_done(c);
	arena_free(&c->request.arena);
	buf_free(&c->body);
	buf_free(&c->taken);
	buf_free(&c->packed);
	mem_free(&c);
}

void http_conns_notify(void *server, struct MHD_Connection *mhd, void **ret_conn,
		       enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*ret_conn = conn_opened(server, mhd);
	else if (*ret_conn)
		conn_closed(server, *ret_conn);
}

/* Clients that send or take a byte now and then are never idle, but late. */
static void shut_late(struct http_server *s, int64_t now_us)
{
	for (struct http_conn *c = s->conns; c; c = c->next)
		if (__atomic_load_n(&c->due_us, __ATOMIC_RELAXED) < now_us) {
			shutdown(c->fd, SHUT_RDWR);
			__atomic_store_n(&c->due_us, INT64_MAX, __ATOMIC_RELAXED);
			http_count(s, HTTP_COUNT_LATE, 1);
		}
}

void *http_conns_ticker(void *server)
{
	struct http_server *s = server;
	struct timespec next = {0};
	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		if (s->nconns == 0) {
			s->ticker_sleeps = true;
			pthread_cond_wait(&s->wake, &s->lock);
			s->ticker_sleeps = false;
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_sec += TICK_S;
		while (!s->ended && pthread_cond_timedwait(&s->wake, &s->lock, &next) == 0)
			;
		if (s->ended)
			break;
		int64_t now_us = clock_mono_us();
		shut_late(s, now_us);
		pthread_mutex_unlock(&s->lock);
		if (s->options.tick)
			s->options.tick(s->options.ctx, now_us);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
