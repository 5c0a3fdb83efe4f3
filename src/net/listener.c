/* Listeners, and the gate that counts connections in total and by address. A refused peer gets a
 * message and is closed at once. When descriptors run out, accepting pauses instead of spinning. */
#include "net/listener.h"

#include "base/table.h"
#include "net/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SPARE_FDS = 128 }; /* descriptors other than connections: files, what libraries hold */
enum { BATCH = 64 };      /* accepted before others have their turn */
#define STALL_US (100 * US_PER_MS)

TABLE(addresses, struct addr, size_t, addr_hash, addr_eq)

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

bool gate_is_full(const struct gate *g, const struct addr *server)
{
	const size_t *n = server->family ? addresses_get(&g->addresses, *server) : NULL;
	return g->inside >= g->max || (server->family && (n ? *n : 0) >= g->max_per_address);
}

void gate_count(struct gate *g, const struct addr *server)
{
	g->inside++;
	if (server->family)
		++*addresses_put(&g->addresses, *server);
}

int gate_enter(struct gate *g, const struct addr *server)
{
	if (gate_is_full(g, server))
		return 1;
	gate_count(g, server);
	return 0;
}

void gate_leave(struct gate *g, const struct addr *server)
{
	ENSURE(g->inside > 0);
	g->inside--;
	if (!server->family)
		return;
	size_t *n = addresses_get(&g->addresses, *server);
	ENSURE(n && *n > 0);
	if (--*n == 0)
		addresses_remove(&g->addresses, *server);
}

size_t gate_inside(const struct gate *g)
{
	return g->inside;
}

size_t gate_addresses(const struct gate *g)
{
	return addresses_count(&g->addresses);
}

/* IPv4 in IPv6's clothes is IPv4, also to people. */
void peer_of(const struct sockaddr *from, size_t len, struct peer *ret)
{
	struct addr a;
	*ret = (struct peer){.text = "unix", .uid = -1};
	if (!addr_from_sockaddr(from, len, &a))
		return;
	a.port = 0;
	ret->server = addr_server(&a);
	addr_print(ret->server.family == AF_INET ? &ret->server : &a, ret->text);
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

static void refuse_peer(struct listener *l, int fd)
{
	const char *word = l->options.refusal;
	l->stats.refused++;
	if (word)
		(void)!send(fd, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static int64_t unix_uid(int fd)
{
	struct ucred who;
	socklen_t n = sizeof who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 ? (int64_t)who.uid : -1;
}

static void let_in(struct listener *l, int fd, const struct sockaddr *from, size_t len)
{
	struct peer peer;
	peer_of(from, len, &peer);
	if (!peer.server.family)
		peer.uid = unix_uid(fd);
	if (gate_enter(l->gate, &peer.server) != 0) {
		refuse_peer(l, fd);
		return;
	}
	if (peer.server.family)
		conn_tune_tcp(fd);
	l->stats.accepted++;
	l->options.accepted(l->options.ctx, fd, &peer);
}

static void go_on(void *ctx)
{
	struct listener *l = ctx;
	loop_io_want(l->loop, &l->io, l->fd, LOOP_READ);
}

static void listener_stall(struct listener *l)
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
			let_in(l, fd, (const struct sockaddr *)&from, n);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			listener_stall(l);
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

int listener_make_room(int64_t connections, uint64_t *ret_has, uint64_t *ret_wants)
{
	struct rlimit limit;
	rlim_t want = (rlim_t)connections + SPARE_FDS;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= want)
		return 0;
	limit.rlim_cur = MIN(want, limit.rlim_max);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	*ret_has = limit.rlim_cur;
	*ret_wants = want;
	return limit.rlim_cur < want;
}
