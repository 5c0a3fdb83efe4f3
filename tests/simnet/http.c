/* The web servers of all hosts: connections, requests, answers piece by piece. */
#include "net/listener.h"
#include "simnet/sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	HEAD_MAX = 32 << 10,
	OUT_MAX = 32 << 20,
	CLIENTS_MAX = 18000,
	BACKLOG = 4096,
	/* with more addresses one socket listens for all of them, and `refuse` is `reset` */
	OWN_SOCKETS_MAX = 1024,
	ANY_ADDRESS = -1,
	CLOCKS_APART_US = 20, /* between two looks at clocks, where nobody else ran */
};

struct door {
	struct http *http;
	struct listener *listener; /* NULL: closed */
	int64_t address;           /* index, or ANY_ADDRESS */
	int fd;
};

struct client {
	struct http *http;
	struct client *next, *prev;
	struct loop_io io;
	struct loop_timer timer; /* between pieces; else the idle limit */
	struct addr server;
	struct tally_mark mark;
	struct buf in;  /* of a request that is not whole, or came too early */
	struct buf out; /* what could not be sent at once, from `sent` on; up to `until` for now */
	size_t sent, until, piece;
	uint64_t total;
	struct answer answer;
	const struct odd_case *odd;
	struct odd_at odd_at;
	int64_t start_us; /* of the first bytes in `in` */
	uint32_t address;
	int fd;
	bool busy; /* a request is being answered */
};

struct http {
	struct sim *sim;
	struct answerer *answerer;
	struct gate *gate;
	struct door *doors;
	size_t ndoors;
	bool any; /* one door for all addresses */
	struct client *clients;
	uint32_t *nth; /* requests per host */
	struct buf out;
	char scratch[HEAD_MAX];
};

static void client_free(struct client *c)
{
	struct http *h = c->http;
	tally_end(h->sim->tally, &c->mark, 0, c->total);
	loop_timer_stop(&c->timer);
	loop_io_end(&c->io);
	close(c->fd);
	gate_leave(h->gate, &c->server);
	if (c->prev)
		c->prev->next = c->next;
	else
		h->clients = c->next;
	if (c->next)
		c->next->prev = c->prev;
	buf_free(&c->in);
	buf_free(&c->out);
	mem_free(&c);
}

static void client_reset(struct client *c)
{
	struct linger now = {.l_onoff = 1};
	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	client_free(c);
}

bool http_client_gone(void *owner)
{
	struct client *c = owner;
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) > 0;
}

/* Sends from p; bytes that went out, or -1: the client has gone. */
static ssize_t send_some(struct client *c, const char *p, size_t n)
{
	size_t sent = 0;
	while (sent < n) {
		ssize_t got = send(c->fd, p + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got < 0)
			return -1;
		sent += (size_t)got;
	}
	c->total += sent;
	return (ssize_t)sent;
}

static bool take_requests(struct client *c, struct str bytes, int64_t at_us, bool early);

/* The answer is out. false: so is the client. */
static bool ended(struct client *c)
{
	enum ending ending = c->answer.ending;
	if (ending == ENDING_HANG)
		return true; /* until the client leaves */
	if (c->answer.not_before_s > 0)
		tally_not_before(c->http->sim->tally, c->address,
				 loop_now_us(c->http->sim->loop) +
					 c->answer.not_before_s * US_PER_S);
	tally_end(c->http->sim->tally, &c->mark, c->answer.status, c->total);
	if (ending == ENDING_CLOSE)
		client_free(c);
	else if (ending == ENDING_RESET)
		client_reset(c);
	if (ending != ENDING_KEEP)
		return false;
	c->busy = false;
	c->odd = NULL;
	loop_io_want(c->http->sim->loop, &c->io, c->fd, LOOP_READ);
	loop_timer_in(c->http->sim->loop, &c->timer, c->http->sim->idle_us);
	return true;
}

/* The next step of an odd case: what is to be sent is in c->out. ODD_END: c->answer says how it
 * ends. */
static enum odd_do odd_step(struct client *c)
{
	static const enum ending endings[] = {[ODD_CLOSE] = ENDING_CLOSE,
					      [ODD_RESET] = ENDING_RESET,
					      [ODD_HANG] = ENDING_HANG,
					      [ODD_END] = ENDING_KEEP};
	struct sim *s = c->http->sim;
	double wait = 0;
	buf_clear(&c->out);
	enum odd_do what = odd_next(c->odd, &c->odd_at, clock_wall_us() / US_PER_S, &c->out, &wait);
	c->sent = 0;
	c->until = c->out.n;
	if (what == ODD_WAIT)
		loop_timer_in(s->loop, &c->timer, (int64_t)(wait * (double)s->odd_idle_us));
	if (what == ODD_SEND || what == ODD_WAIT)
		return what;
	c->answer = (struct answer){.ending = endings[what]};
	return ODD_END;
}

/* Sends what may go now, piece by piece. false: more is to come, or the client is freed. */
static bool send_all(struct client *c)
{
	struct loop *loop = c->http->sim->loop;
	for (enum odd_do what = ODD_SEND; what == ODD_SEND;) {
		ssize_t n = send_some(c, buf_text(&c->out) + c->sent, c->until - c->sent);
		if (n < 0) {
			client_free(c);
			return false;
		}
		c->sent += (size_t)n;
		bool full = c->sent < c->until;
		loop_io_want(loop, &c->io, c->fd, full ? LOOP_READ | LOOP_WRITE : LOOP_READ);
		if (full)
			return false;
		if (c->sent < c->out.n) {
			loop_timer_in(loop, &c->timer, c->answer.wait_us);
			return false;
		}
		what = c->odd ? odd_step(c) : ODD_END;
		if (what == ODD_WAIT)
			return false;
	}
	return true;
}

static void go_on(struct client *c)
{
	if (!send_all(c))
		return;
	buf_free(&c->out);
	c->sent = c->until = 0;
	if (!ended(c) || c->busy || c->in.n == 0)
		return;
	struct buf in = c->in; /* a request that was there too early */
	c->in = BUF_INIT(HEAD_MAX);
	take_requests(c, buf_str(&in), c->start_us, true);
	buf_free(&in);
}

static void on_timer(void *ctx)
{
	struct client *c = ctx;
	if (!c->busy) {
		client_free(c); /* idle for too long */
		return;
	}
	c->until = MIN(c->out.n, c->until + c->piece);
	go_on(c);
}

/* The host that is meant, or -1: it is not at this address. */
static int64_t host_of(const struct http *h, const struct client *c, struct str name, bool *alias)
{
	const struct world *w = &h->sim->world;
	int64_t host = world_host(w, name, alias);
	if (host < 0) /* an address, or a name that DNS alone knows */
		return (int64_t)c->address < w->conf.addresses ? (int64_t)c->address : -1;
	return world_address(w, (uint32_t)host) == c->address ? host : -1;
}

static void count(struct client *c, const struct request *r, int64_t host, bool alias,
		  int64_t at_us, bool pipelined)
{
	char url[200];
	const struct world *w = &c->http->sim->world;
	struct tally_start start = {.address = c->address, .at_us = at_us, .pipelined = pipelined};
	start.robots = str_is(r->path, "/robots.txt");
	start.disallowed = host >= 0 && !alias && !world_allows(w, (uint32_t)host, r->path);
	int n = snprintf(url, sizeof url, STR_FMT STR_FMT, STR_ARG(r->host), STR_ARG(r->path));
	start.url = (struct str){url, MIN((size_t)MAX(n, 0), sizeof url - 1)};
	tally_begin(c->http->sim->tally, &c->mark, &start);
}

/* Puts the answer into http->out. false: an odd case goes on by itself. */
static bool make_answer(struct client *c, struct str head, int64_t at_us, bool pipelined)
{
	struct http *h = c->http;
	struct sim *s = h->sim;
	struct request r;
	bool alias = false, odd_host = s->odd && c->address == sim_odd_address(s);
	if (!request_parse(head, &r)) {
		r = (struct request){.path = STR("(no request)")};
		count(c, &r, -1, false, at_us, pipelined);
		answer_status(400, "This is no request.", &h->out, &c->answer);
		return true;
	}
	int64_t host = host_of(h, c, r.host, &alias);
	count(c, &r, host, alias, at_us, pipelined);
	if (odd_host && (c->odd = odd_find(s->odd, r.path))) {
		c->odd_at = (struct odd_at){0};
		return false;
	}
	if (odd_host) {
		answer_status(404, "There is no such case.", &h->out, &c->answer);
	} else if (host < 0) {
		tally_wrong_host(s->tally);
		answer_status(421, "That host is not at this address.", &h->out, &c->answer);
	} else {
		answer_make(h->answerer, (uint32_t)host, alias, &r, h->nth[host], sim_now_s(s),
			    clock_wall_us() / US_PER_S, &h->out, &c->answer);
		h->nth[host] += !str_is(r.path, "/robots.txt");
	}
	return true;
}

/* false: the client is freed. */
static bool answer(struct client *c, struct str head, int64_t at_us, bool pipelined)
{
	struct http *h = c->http;
	c->busy = true;
	c->total = 0;
	buf_clear(&h->out);
	if (!make_answer(c, head, at_us, pipelined)) {
		loop_timer_in(h->sim->loop, &c->timer, 0); /* odd cases begin in go_on() */
		c->piece = 0;
		return true;
	}
	bool whole = c->answer.pieces <= 1 && c->answer.wait_us == 0;
	ssize_t n = whole ? send_some(c, h->out.p, h->out.n) : 0;
	if (n < 0) {
		client_free(c);
		return false;
	}
	if (whole && (size_t)n == h->out.n)
		return ended(c);
	loop_timer_stop(&c->timer);
	buf_clear(&c->out);
	buf_add_str(&c->out, str_from(buf_str(&h->out), (size_t)n));
	c->sent = 0;
	c->until = whole ? c->out.n : 0;
	c->piece = c->out.n / MAX(c->answer.pieces, 1) + 1;
	if (whole)
		loop_io_want(h->sim->loop, &c->io, c->fd, LOOP_READ | LOOP_WRITE);
	else
		loop_timer_in(h->sim->loop, &c->timer, c->answer.wait_us);
	return true;
}

/* Length of the first head in the bytes, with its empty line; 0: it is not whole. */
static size_t head_length(struct str s)
{
	size_t crlf = str_find(s, STR("\r\n\r\n"));
	if (crlf < s.n)
		return crlf + 4;
	size_t lf = str_find(s, STR("\n\n"));
	return lf < s.n ? lf + 2 : 0;
}

/* Answers what is whole, keeps the rest. early: an answer was not out when it came. false: the
 * client is freed. */
static bool take_requests(struct client *c, struct str bytes, int64_t at_us, bool early)
{
	for (size_t n; !c->busy && (n = head_length(bytes)) > 0; early = true) {
		struct str head = str_head(bytes, n);
		bytes = str_from(bytes, n);
		if (!answer(c, head, at_us, early))
			return false;
	}
	if (c->in.n == 0)
		c->start_us = at_us;
	buf_add_str(&c->in, bytes);
	if (c->in.over) { /* more than any request */
		client_free(c);
		return false;
	}
	return true;
}

/* How far the wall clock is ahead. A system that lets others run between two looks at a clock must
 * not shift a start: it is tried again. */
static int64_t wall_ahead_us(void)
{
	int64_t least_us = INT64_MAX, ahead_us = 0;
	for (int i = 0; i < 5 && least_us > CLOCKS_APART_US; i++) {
		int64_t before_us = clock_mono_us(), wall_us = clock_wall_us();
		int64_t took_us = clock_mono_us() - before_us;
		if (took_us < least_us)
			ahead_us = wall_us - before_us;
		least_us = MIN(least_us, took_us);
	}
	return ahead_us;
}

/* When the last bytes came, give or take a tick of the system. An end is no bytes. */
static int64_t last_data_us(struct client *c, int64_t now_us)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof info;
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
		return now_us;
	return now_us - info.tcpi_last_data_recv * US_PER_MS;
}

/* When the kernel got the bytes, on the monotonic clock. Where the client closed before we came to
 * read, the stamp is that of its end: the kernel joins the two. A client that is killed just after
 * its request would seem to have asked when it was killed. */
static int64_t arrival_us(struct client *c, struct msghdr *msg, int64_t now_us)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m; m = CMSG_NXTHDR(msg, m)) {
		struct timespec stamp;
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_TIMESTAMPING)
			continue;
		memcpy(&stamp, CMSG_DATA(m), sizeof stamp);
		int64_t stamp_us = (int64_t)stamp.tv_sec * US_PER_S + stamp.tv_nsec / 1000;
		int64_t at_us = stamp_us - wall_ahead_us();
		if (stamp_us > 0 && at_us < now_us && now_us - at_us < US_PER_MIN)
			return http_client_gone(c) ? MIN(at_us, last_data_us(c, now_us)) : at_us;
	}
	return now_us;
}

static void on_read(struct client *c)
{
	struct http *h = c->http;
	struct iovec room = {.iov_base = h->scratch, .iov_len = sizeof h->scratch};
	char control[256];
	struct msghdr msg = {.msg_iov = &room,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof control};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_free(c);
		return;
	}
	int64_t at_us = arrival_us(c, &msg, loop_now_us(h->sim->loop));
	struct str bytes = {h->scratch, (size_t)n};
	if (c->in.n == 0 || c->busy) {
		take_requests(c, bytes, at_us, false);
		return;
	}
	buf_add_str(&c->in, bytes);
	struct buf in = c->in;
	c->in = BUF_INIT(HEAD_MAX);
	if (in.over)
		client_free(c);
	else
		take_requests(c, buf_str(&in), c->start_us, false);
	buf_free(&in);
}

static void on_ready(void *ctx, unsigned what)
{
	struct client *c = ctx;
	if (what & LOOP_WRITE)
		go_on(c);
	else
		on_read(c);
}

/* The index of the address that the client connected to; negative: none of ours. */
static int64_t local_address(const struct http *h, int fd)
{
	struct sockaddr_in at;
	socklen_t n = sizeof at;
	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 || at.sin_family != AF_INET)
		return -1;
	int64_t index = (int64_t)ntohl(at.sin_addr.s_addr) - h->sim->world.network - 1;
	return index <= sim_odd_address(h->sim) ? index : -1;
}

static void on_accept(void *ctx, int fd, const struct peer *peer)
{
	struct door *d = ctx;
	struct http *h = d->http;
	int64_t address = d->address == ANY_ADDRESS ? local_address(h, fd) : d->address;
	if (address < 0) {
		gate_leave(h->gate, &peer->server);
		close(fd);
		return;
	}
	struct client *c = mem_alloc(sizeof *c);
	*c = (struct client){.http = h,
			     .next = h->clients,
			     .io = {.fn = on_ready, .ctx = c},
			     .timer = {.fn = on_timer, .ctx = c},
			     .server = peer->server,
			     .mark = {.owner = c},
			     .in = BUF_INIT(HEAD_MAX),
			     .out = BUF_INIT(OUT_MAX),
			     .address = (uint32_t)address,
			     .fd = fd};
	if (h->clients)
		h->clients->prev = c;
	h->clients = c;
	tally_connection(h->sim->tally);
	loop_io_want(h->sim->loop, &c->io, fd, LOOP_READ);
	loop_timer_in(h->sim->loop, &c->timer, h->sim->idle_us);
}

/* Doors. */

static int door_bind(struct door *d, int64_t port, struct err *err)
{
	uint32_t address = d->address == ANY_ADDRESS
				   ? INADDR_ANY
				   : d->http->sim->world.network + 1 + (uint32_t)d->address;
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(address)};
	int one = 1, stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	d->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		return err_sys(err, "a socket for the web servers");
	(void)setsockopt(d->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	/* the loopback interface alone; accepted clients inherit the stamps */
	(void)setsockopt(d->fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo");
	if (setsockopt(d->fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) < 0)
		return err_sys(err, "time stamps of the kernel");
	if (bind(d->fd, (const struct sockaddr *)&at, sizeof at) < 0)
		return err_sys(err, "port %d of the web servers", (int)port);
	return 0;
}

static int door_open(struct door *d, struct err *err)
{
	struct listener_options options = {.backlog = BACKLOG, .accepted = on_accept, .ctx = d};
	return d->listener ? 0
			   : listener_new(&d->listener, d->http->sim->loop, d->fd, d->http->gate,
					  &options, err);
}

/* It keeps the port, but connections are refused. */
static void door_shut(struct door *d)
{
	if (!d->listener)
		return;
	listener_free(&d->listener);
	(void)shutdown(d->fd, SHUT_RD);
}

/* An address refuses when all its hosts do; it has one at least. */
static bool refuses(const struct http *h, uint32_t address)
{
	const struct world *w = &h->sim->world;
	for (int64_t host = 0; host < w->conf.hosts; host++)
		if (w->profile[host] != PROFILE_REFUSE &&
		    world_address(w, (uint32_t)host) == address)
			return false;
	return true;
}

int http_host_changed(struct http *h, uint32_t host, struct err *err)
{
	uint32_t address = world_address(&h->sim->world, host);
	if (h->any)
		return 0;
	if (!refuses(h, address))
		return door_open(&h->doors[address], err);
	door_shut(&h->doors[address]);
	return 0;
}

static int bound_port(const struct door *d)
{
	struct sockaddr_in at = {0};
	socklen_t n = sizeof at;
	(void)getsockname(d->fd, (struct sockaddr *)&at, &n);
	return ntohs(at.sin_port);
}

static int open_doors(struct http *h, int64_t port, struct err *err)
{
	for (size_t i = 0; i < h->ndoors; i++) {
		struct door *d = &h->doors[i];
		*d = (struct door){
			.http = h, .address = h->any ? ANY_ADDRESS : (int64_t)i, .fd = -1};
		if (door_bind(d, port, err) < 0)
			return -1;
		port = bound_port(d);
		h->sim->world.conf.port = port;
		if (door_open(d, err) < 0)
			return -1;
	}
	for (int64_t host = 0; host < h->sim->world.conf.hosts; host++)
		if (h->sim->world.profile[host] == PROFILE_REFUSE &&
		    http_host_changed(h, (uint32_t)host, err) < 0)
			return -1;
	return 0;
}

int http_new(struct http **ret, struct sim *s, int64_t port, struct err *err)
{
	uint32_t addresses = sim_odd_address(s) + (s->odd != NULL);
	struct http *h = mem_alloc(sizeof *h);
	h->sim = s;
	h->out = BUF_INIT(OUT_MAX);
	h->gate = gate_new(CLIENTS_MAX, CLIENTS_MAX);
	h->answerer = answerer_new(&s->world);
	h->nth = mem_array((size_t)s->world.conf.hosts, sizeof *h->nth);
	h->any = addresses > OWN_SOCKETS_MAX;
	h->ndoors = h->any ? 1 : addresses;
	h->doors = mem_array(h->ndoors, sizeof *h->doors);
	if (open_doors(h, port, err) < 0) {
		http_free(&h);
		return -1;
	}
	*ret = h;
	return 0;
}

void http_free(struct http **hp)
{
	struct http *h = *hp;
	if (!h)
		return;
	while (h->clients)
		client_free(h->clients);
	for (size_t i = 0; i < h->ndoors; i++) {
		listener_free(&h->doors[i].listener);
		if (h->doors[i].http && h->doors[i].fd >= 0)
			close(h->doors[i].fd);
	}
	mem_free(&h->doors);
	gate_free(&h->gate);
	answerer_free(&h->answerer);
	mem_free(&h->nth);
	buf_free(&h->out);
	mem_free(hp);
}
