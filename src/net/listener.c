#include "net/listener.h"

#include "base/hash.h"
#include "base/table.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64 }; /* accepted before others have their turn */
#define STALL_US (100 * US_PER_MS)

static uint64_t hash_key(struct gate_key key)
{
	return hash_u64(key.bits ^ (uint64_t)key.family << 56);
}

static bool equal_key(struct gate_key a, struct gate_key b)
{
	return a.bits == b.bits && a.family == b.family;
}

TABLE(addresses, struct gate_key, size_t, hash_key, equal_key)

struct gate {
	size_t max, max_per_address, inside;
	struct addresses addresses;
};

struct gate *gate_new(size_t max, size_t max_per_address)
{
	struct gate *g = mem_alloc(sizeof *g);
	g->max = max;
	g->max_per_address = max_per_address;
	return g;
}

void gate_free(struct gate **g)
{
	if (!*g)
		return;
	addresses_free(&(*g)->addresses);
	mem_free(g);
}

int gate_enter(struct gate *g, const struct gate_key *key)
{
	if (g->inside >= g->max)
		return 1;
	if (key->family != AF_UNIX) {
		size_t *n = addresses_put(&g->addresses, *key);
		if (*n >= g->max_per_address) {
			if (*n == 0)
				addresses_remove(&g->addresses, *key);
			return 1;
		}
		++*n;
	}
	g->inside++;
	return 0;
}

void gate_leave(struct gate *g, const struct gate_key *key)
{
	ENSURE(g->inside > 0);
	g->inside--;
	if (key->family == AF_UNIX)
		return;
	size_t *n = addresses_get(&g->addresses, *key);
	ENSURE(n && *n > 0);
	if (--*n == 0)
		addresses_remove(&g->addresses, *key);
}

size_t gate_inside(const struct gate *g)
{
	return g->inside;
}

size_t gate_addresses(const struct gate *g)
{
	return addresses_count(&g->addresses);
}

static void peer_v4(const void *address, struct peer *ret)
{
	uint32_t bits;
	memcpy(&bits, address, sizeof bits);
	ret->key = (struct gate_key){.bits = bits, .family = AF_INET};
	inet_ntop(AF_INET, address, ret->text, sizeof ret->text);
}

/* IPv4 in IPv6's clothes is IPv4. */
static void peer_v6(const struct in6_addr *address, struct peer *ret)
{
	if (IN6_IS_ADDR_V4MAPPED(address)) {
		peer_v4(address->s6_addr + 12, ret);
		return;
	}
	ret->key.family = AF_INET6;
	memcpy(&ret->key.bits, address->s6_addr, sizeof ret->key.bits);
	inet_ntop(AF_INET6, address, ret->text, sizeof ret->text);
}

void peer_of(const struct sockaddr *from, struct peer *ret)
{
	*ret = (struct peer){.key.family = AF_UNIX, .text = "unix"};
	if (from->sa_family == AF_INET)
		peer_v4(&((const struct sockaddr_in *)from)->sin_addr, ret);
	else if (from->sa_family == AF_INET6)
		peer_v6(&((const struct sockaddr_in6 *)from)->sin6_addr, ret);
}

struct listener {
	struct loop *loop;
	struct gate *gate;
	struct listener_options options;
	struct listener_stats stats;
	struct loop_io io;
	struct loop_timer stall;
	int fd;
};

static void refuse(struct listener *l, int fd)
{
	const char *word = l->options.refusal;
	l->stats.refused++;
	if (word)
		(void)!send(fd, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void let_in(struct listener *l, int fd, const struct sockaddr *from)
{
	struct peer peer;
	int one = 1;
	peer_of(from, &peer);
	if (gate_enter(l->gate, &peer.key) != 0) {
		refuse(l, fd);
		return;
	}
	/* answers leave whole, so waiting to fill a packet would only delay the last */
	if (peer.key.family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	l->stats.accepted++;
	l->options.accepted(l->options.ctx, fd, &peer);
}

static void go_on(void *ctx)
{
	struct listener *l = ctx;
	loop_io_want(l->loop, &l->io, l->fd, LOOP_READ);
}

static void stall(struct listener *l)
{
	l->stats.stalls++;
	loop_io_want(l->loop, &l->io, l->fd, 0);
	loop_timer_in(l->loop, &l->stall, STALL_US);
}

static void on_ready(void *ctx, unsigned what)
{
	(void)what;
	struct listener *l = ctx;
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_storage from = {0};
		socklen_t n = sizeof from;
		int fd = accept4(l->fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			let_in(l, fd, (const struct sockaddr *)&from);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			stall(l);
			return;
		} else if (errno == EAGAIN || errno == EINVAL) {
			return;
		} /* else one connection failed before it was accepted: the next, please */
	}
}

int listener_new(struct listener **ret, struct loop *loop, int fd, struct gate *gate,
		 const struct listener_options *options, struct err *err)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(err, "descriptor %d cannot be listened on", fd);
	if (options->backlog > 0 && listen(fd, options->backlog) < 0)
		return err_sys(err, "descriptor %d: a backlog of %d", fd, options->backlog);
	struct listener *l = mem_alloc(sizeof *l);
	*l = (struct listener){.loop = loop,
			       .gate = gate,
			       .options = *options,
			       .io = {.fn = on_ready, .ctx = l},
			       .stall = {.fn = go_on, .ctx = l},
			       .fd = fd};
	go_on(l);
	*ret = l;
	return 0;
}

void listener_free(struct listener **l)
{
	if (!*l)
		return;
	loop_timer_stop(&(*l)->stall);
	loop_io_end(&(*l)->io);
	mem_free(l);
}

const struct listener_stats *listener_stats(const struct listener *l)
{
	return &l->stats;
}
