#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "net/http_inner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

enum { TICK_S = 1 };
#define PEER_UNIX UINT64_MAX /* has no cap of its own */

static bool equal_u64(uint64_t a, uint64_t b)
{
	return a == b;
}
TABLE(peer_table, uint64_t, int64_t, hash_u64, equal_u64)
struct http_peers {
	struct peer_table table; /* connections by peer_of() */
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

/* The IPv4 address that is meant, also by ::ffff:1.2.3.4. */
static bool v4_of(const struct sockaddr *addr, uint32_t *ret)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	if (addr->sa_family == AF_INET)
		*ret = ntohl(v4->sin_addr.s_addr);
	else if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		*ret = (uint32_t)v6->sin6_addr.s6_addr[12] << 24 |
		       (uint32_t)v6->sin6_addr.s6_addr[13] << 16 |
		       (uint32_t)v6->sin6_addr.s6_addr[14] << 8 | v6->sin6_addr.s6_addr[15];
	else
		return false;
	return true;
}

/* Whoever has one IPv6 address has 2^64 of them. */
static uint64_t peer_of(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	uint32_t v4;
	uint64_t net;
	if (!addr || (addr->sa_family != AF_INET && addr->sa_family != AF_INET6))
		return PEER_UNIX;
	if (v4_of(addr, &v4))
		return v4;
	memcpy(&net, v6->sin6_addr.s6_addr, sizeof net);
	return hash_u64(net) | UINT64_C(1) << 32; /* apart from IPv4 */
}

const struct sockaddr *http_conn_peer(const struct http_conn *c)
{
	const union MHD_ConnectionInfo *info =
		c->server->mhd.get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	return info ? info->client_addr : NULL;
}

bool http_conn_local(const struct http_conn *c)
{
	const struct sockaddr *addr = http_conn_peer(c);
	uint32_t v4;
	if (c->peer == PEER_UNIX)
		return true;
	if (v4_of(addr, &v4))
		return v4 >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

void http_conn_address(const struct http_conn *c, char *ret, size_t cap)
{
	const struct sockaddr *addr = http_conn_peer(c);
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	char text[INET6_ADDRSTRLEN] = "";
	uint32_t v4;
	if (c->peer == PEER_UNIX) {
		snprintf(ret, cap, "unix:");
	} else if (v4_of(addr, &v4)) {
		snprintf(ret, cap, "%u.%u.%u.%u:%u", v4 >> 24, v4 >> 16 & 255, v4 >> 8 & 255,
			 v4 & 255, ntohs(v6->sin6_port)); /* the port is where IPv4 has it */
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
		snprintf(ret, cap, "[%s]:%u", text, ntohs(v6->sin6_port));
	}
}

/* Several threads may be here at once before the first of them counts: the caps may be passed by
 * less than the number of threads. */
enum MHD_Result http_conns_allow(void *server, const struct sockaddr *addr, socklen_t n)
{
	struct http_server *s = server;
	uint64_t peer = n ? peer_of(addr) : PEER_UNIX;
	pthread_mutex_lock(&s->lock);
	const int64_t *of_peer = peer_table_get(&s->peers->table, peer);
	bool full = s->nconns >= (size_t)s->options.limits.max_connections ||
		    (of_peer && peer != PEER_UNIX && *of_peer >= s->options.limits.max_per_address);
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

static struct http_conn *opened(struct http_server *s, struct MHD_Connection *mhd)
{
	struct http_conn *c = mem_alloc(sizeof *c);
	c->server = s;
	c->mhd = mhd;
	c->fd = s->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->peer = peer_of(http_conn_peer(c));
	c->due_us = clock_mono_us() + s->options.limits.request_us;
	c->request.arena = ARENA_INIT((size_t)2 * HTTP_BODY_MAX);
	c->body = c->packed = BUF_INIT(HTTP_BODY_MAX);
	pthread_mutex_lock(&s->lock);
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->nconns++;
	++*peer_table_put(&s->peers->table, c->peer);
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
static void closed(struct http_server *s, struct http_conn *c)
{
	pthread_mutex_lock(&s->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->nconns--;
	if (--*peer_table_put(&s->peers->table, c->peer) == 0)
		peer_table_remove(&s->peers->table, c->peer);
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
		*ret_conn = opened(server, mhd);
	else if (*ret_conn)
		closed(server, *ret_conn);
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
