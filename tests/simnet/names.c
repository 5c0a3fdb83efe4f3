/* The name server of the zone, by UDP and TCP. Hosts have an address each; www.hN is another name
 * of hN; what else there is says the table below. All else does not exist. */
#include "base/cursor.h"
#include "net/conn.h"
#include "net/listener.h"
#include "simnet/sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PACKET_MAX = 4096,
	UDP_MAX = 512, /* without EDNS, which is not understood here */
	NAME_MAX_BYTES = 255,
	BATCH = 64,
	NEGATIVE_TTL_S = 300,
	TYPE_A = 1,
	TYPE_CNAME = 5,
	TYPE_SOA = 6,
	TYPE_AAAA = 28,
	MANY = 100, /* answers that do not fit a datagram */
	CLIENTS_MAX = 500,
};
enum { RCODE_NONE = 0, RCODE_FORMAT = 1, RCODE_FAILED = 2, RCODE_NXDOMAIN = 3, RCODE_REFUSED = 5 };

/* Names with a mind of their own, before the zone. */
static const struct special {
	const char *name;
	uint8_t rcode;
	const char *cname; /* in the zone too */
	const char *a;     /* "": host 0 */
	const char *aaaa;
	bool slow, mute, many, rebind; /* rebind: the first answer is host 0, the next `a` */
} specials[] = {
	{"servfail", .rcode = RCODE_FAILED},
	{"refused", .rcode = RCODE_REFUSED},
	{"mute", .mute = true},
	{"slow", .a = "", .slow = true},
	{"cname", .cname = "h0"},
	{"chain", .cname = "cname"},
	{"loop", .cname = "pool"},
	{"pool", .cname = "loop"},
	{"dangling", .cname = "nowhere"},
	{"many", .a = "", .many = true},
	{"inside", .a = "127.0.0.1"},
	{"private", .a = "10.0.0.1"},
	{"metadata", .a = "169.254.169.254"},
	{"mapped", .aaaa = "::ffff:127.0.0.1"},
	{"six", .aaaa = "::1"},
	{"rebind", .a = "127.0.0.1", .rebind = true},
	{"noaddress"},
};

struct late;

struct names {
	struct sim *sim;
	struct loop_io udp;
	struct listener *listener;
	struct gate *gate;
	struct conn_pool *pool;
	struct late *late; /* answers that are held back */
	uint64_t rebinds;
	int udp_fd, tcp_fd, port;
};

/* A TCP client. */
struct asker {
	struct names *names;
	struct conn *conn;
	struct addr server;
	struct buf in; /* what has come and is not answered: a length of two bytes, a question */
};

/* An answer that waits: to a datagram's sender, or to a TCP client. */
struct late {
	struct names *names;
	struct late *next, *prev;
	struct loop_timer timer;
	struct asker *asker;
	struct sockaddr_in to;
	struct buf answer;
};

struct question {
	struct str raw; /* as it came: name, type, class */
	char name[NAME_MAX_BYTES + 1];
	uint16_t id, type;
	bool recursion;
};

static bool read_question(struct str packet, struct question *ret)
{
	struct reader r = reader_of(packet);
	size_t n = 0;
	ret->id = reader_u16be(&r);
	uint16_t flags = reader_u16be(&r), count = reader_u16be(&r);
	reader_skip(&r, 6);
	ret->recursion = flags & 0x100;
	if (r.bad || (flags & 0xf800) || count != 1)
		return false;
	size_t start = reader_at(&r);
	for (uint8_t length; (length = reader_u8(&r)) > 0 && !r.bad;) {
		struct str label = reader_bytes(&r, length);
		if (length > 63 || n + label.n + 1 >= sizeof ret->name)
			return false;
		if (n > 0)
			ret->name[n++] = '.';
		memcpy(ret->name + n, label.p, label.n);
		n += label.n;
	}
	ret->name[n] = '\0';
	ret->type = reader_u16be(&r);
	reader_u16be(&r);
	ret->raw = str_head(str_from(packet, start), reader_at(&r) - start);
	return !r.bad;
}

/* An answer while it is written. */
struct reply {
	struct buf *out;
	size_t start;
	uint16_t answers;
	uint8_t rcode;
	uint32_t ttl_s;
	bool slow, mute;
};

static void add_name(struct buf *out, const char *name)
{
	struct str rest = str_of(name), label;
	while (rest.n && str_cut(&rest, '.', &label) == 0) {
		put_u8(out, (uint8_t)label.n);
		buf_add_str(out, label);
	}
	put_u8(out, 0);
}

/* owner NULL: the name of the question. */
static void add_record(struct reply *r, const char *owner, uint16_t type, const void *data,
		       size_t n)
{
	if (owner)
		add_name(r->out, owner);
	else
		put_u16be(r->out, 0xc00c);
	put_u16be(r->out, type);
	put_u16be(r->out, 1);
	put_u32be(r->out, r->ttl_s);
	put_u16be(r->out, (uint16_t)n);
	buf_add(r->out, data, n);
	r->answers++;
}

static void add_address(const struct names *names, struct reply *r, const char *owner,
			uint32_t index)
{
	uint32_t bits = htonl(names->sim->world.network + 1 + index);
	add_record(r, owner, TYPE_A, &bits, sizeof bits);
}

static void add_host(const struct names *names, struct reply *r, const char *owner, uint32_t host,
		     uint16_t type)
{
	const struct world *w = &names->sim->world;
	switch (w->profile[host]) {
	case PROFILE_NXDOMAIN:
		r->rcode = RCODE_NXDOMAIN;
		return;
	case PROFILE_SERVFAIL:
		r->rcode = RCODE_FAILED;
		return;
	case PROFILE_MUTE:
		r->mute = true;
		return;
	case PROFILE_SLOWDNS:
		r->slow = true;
		break;
	default:
		break;
	}
	if (type == TYPE_A)
		add_address(names, r, owner, world_address(w, host));
}

static void add_cname(struct reply *r, const char *owner, const char *target)
{
	char room[NAME_MAX_BYTES + 2];
	struct buf data = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	add_name(&data, target);
	add_record(r, owner, TYPE_CNAME, data.p, data.n);
}

static void answer_special(struct names *names, const struct special *s, uint16_t type,
			   struct reply *r)
{
	char target[NAME_MAX_BYTES + 1];
	uint8_t bits[16];
	bool first = s->rebind && type == TYPE_A && names->rebinds++ % 2 == 0;
	r->rcode = s->rcode;
	r->slow = s->slow;
	r->mute = s->mute;
	if (s->rebind)
		r->ttl_s = 0;
	if (s->cname) {
		snprintf(target, sizeof target, "%s.%s", s->cname, names->sim->world.conf.zone);
		add_cname(r, NULL, target);
		if (strcmp(s->cname, "h0") == 0)
			add_host(names, r, target, 0, type);
	}
	for (uint32_t i = 0; s->many && type == TYPE_A && i < MANY; i++)
		add_address(names, r, NULL, i % (uint32_t)names->sim->world.conf.addresses);
	if (s->many)
		return;
	if (s->a && type == TYPE_A && (*s->a == '\0' || first))
		add_address(names, r, NULL, 0);
	else if (s->a && type == TYPE_A && inet_pton(AF_INET, s->a, bits) == 1)
		add_record(r, NULL, TYPE_A, bits, 4);
	if (s->aaaa && type == TYPE_AAAA && inet_pton(AF_INET6, s->aaaa, bits) == 1)
		add_record(r, NULL, TYPE_AAAA, bits, 16);
}

static const struct special *find_special(const struct names *names, struct str name)
{
	struct str zone = str_of(names->sim->world.conf.zone);
	for (size_t i = 0; i < ARRAY_LEN(specials); i++) {
		struct str own = str_of(specials[i].name);
		if (name.n == own.n + 1 + zone.n && name.p[own.n] == '.' &&
		    str_eq_nocase(str_head(name, own.n), own) &&
		    str_eq_nocase(str_from(name, own.n + 1), zone))
			return &specials[i];
	}
	return NULL;
}

static void answer_name(struct names *names, const struct question *q, struct reply *r)
{
	char target[NAME_MAX_BYTES + 1];
	const struct world *w = &names->sim->world;
	struct str name = str_of(q->name), zone = str_of(w->conf.zone);
	const struct special *special = find_special(names, name);
	bool alias = false, in_zone = name.n > zone.n && name.p[name.n - zone.n - 1] == '.' &&
				      str_eq_nocase(str_from(name, name.n - zone.n), zone);
	int64_t host = in_zone ? world_host(w, name, &alias) : -1;
	if (special) {
		answer_special(names, special, q->type, r);
	} else if (host >= 0 && alias) {
		snprintf(target, sizeof target, "h%u.%s", (unsigned)host, w->conf.zone);
		add_cname(r, NULL, target);
		add_host(names, r, target, (uint32_t)host, q->type);
	} else if (host >= 0) {
		add_host(names, r, NULL, (uint32_t)host, q->type);
	} else if (names->sim->odd && str_eq_nocase(name, STR("odd.test"))) {
		if (q->type == TYPE_A)
			add_address(names, r, NULL, sim_odd_address(names->sim));
	} else if (!str_eq_nocase(name, zone)) {
		r->rcode = in_zone ? RCODE_NXDOMAIN : RCODE_REFUSED;
	}
}

/* How long caches may remember that there is nothing. */
static void add_authority(const struct names *names, struct buf *out)
{
	const char *zone = names->sim->world.conf.zone;
	char room[NAME_MAX_BYTES + 64];
	struct buf data = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	add_name(&data, zone);
	add_name(&data, zone);
	for (int i = 0; i < 5; i++) /* serial, refresh, retry, expire, minimum */
		put_u32be(&data, i == 0 ? 1 : NEGATIVE_TTL_S);
	add_name(out, zone);
	put_u16be(out, TYPE_SOA);
	put_u16be(out, 1);
	put_u32be(out, NEGATIVE_TTL_S);
	put_u16be(out, (uint16_t)data.n);
	buf_add_str(out, buf_str(&data));
}

/* Writes the answer; false: none is to be given. *ret_slow: it is to be held back. */
static bool make_reply(struct names *names, struct str packet, size_t most, struct buf *out,
		       bool *ret_slow)
{
	struct question q;
	struct reply r = {.out = out, .ttl_s = (uint32_t)names->sim->world.conf.ttl_s};
	if (!read_question(packet, &q))
		return false;
	tally_query(names->sim->tally);
	buf_fill(out, 0, 12);
	buf_add_str(out, q.raw);
	size_t question_end = out->n;
	answer_name(names, &q, &r);
	bool soa = r.answers == 0 && (r.rcode == RCODE_NONE || r.rcode == RCODE_NXDOMAIN);
	if (soa)
		add_authority(names, out);
	bool cut = out->n > most;
	if (cut) {
		out->n = question_end;
		r.answers = 0;
		soa = false;
	}
	unsigned char *h = (unsigned char *)out->p;
	unsigned flags =
		0x8400u | (cut ? 0x200u : 0) | (q.recursion ? 0x100u : 0) | 0x80u | r.rcode;
	h[0] = (unsigned char)(q.id >> 8), h[1] = (unsigned char)q.id;
	h[2] = (unsigned char)(flags >> 8), h[3] = (unsigned char)flags;
	h[5] = 1;
	h[6] = (unsigned char)(r.answers >> 8), h[7] = (unsigned char)r.answers;
	h[9] = soa;
	*ret_slow = r.slow;
	return !r.mute && !out->over;
}

/* Sending. */

static void send_udp(const struct names *names, const struct sockaddr_in *to, struct str answer)
{
	(void)!sendto(names->udp_fd, answer.p, answer.n, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)to, sizeof *to);
}

static void send_tcp(const struct asker *a, struct str answer)
{
	char length[2] = {(char)(answer.n >> 8), (char)answer.n};
	conn_send(a->conn, (struct str){length, 2});
	conn_send(a->conn, answer);
}

static void late_free(struct late *l)
{
	loop_timer_stop(&l->timer);
	if (l->prev)
		l->prev->next = l->next;
	else
		l->names->late = l->next;
	if (l->next)
		l->next->prev = l->prev;
	buf_free(&l->answer);
	mem_free(&l);
}

static void late_send(void *ctx)
{
	struct late *l = ctx;
	if (l->asker)
		send_tcp(l->asker, buf_str(&l->answer));
	else
		send_udp(l->names, &l->to, buf_str(&l->answer));
	late_free(l);
}

static void answer_late(struct names *names, struct asker *asker, const struct sockaddr_in *to,
			struct str answer)
{
	struct late *l = mem_alloc(sizeof *l);
	*l = (struct late){.names = names,
			   .next = names->late,
			   .timer = {.fn = late_send, .ctx = l},
			   .asker = asker,
			   .answer = BUF_INIT(PACKET_MAX)};
	if (to)
		l->to = *to;
	buf_add_str(&l->answer, answer);
	if (names->late)
		names->late->prev = l;
	names->late = l;
	loop_timer_in(names->sim->loop, &l->timer, names->sim->world.conf.slow_us);
}

static void on_datagram(void *ctx, unsigned what)
{
	(void)what;
	struct names *names = ctx;
	char packet[PACKET_MAX];
	struct buf out = BUF_INIT(PACKET_MAX);
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_in from;
		socklen_t size = sizeof from;
		ssize_t n = recvfrom(names->udp_fd, packet, sizeof packet, MSG_DONTWAIT,
				     (struct sockaddr *)&from, &size);
		bool slow;
		if (n < 0)
			break;
		buf_clear(&out);
		if (!make_reply(names, (struct str){packet, (size_t)n}, UDP_MAX, &out, &slow))
			continue;
		if (slow)
			answer_late(names, NULL, &from, buf_str(&out));
		else
			send_udp(names, &from, buf_str(&out));
	}
	buf_free(&out);
}

static void answer_tcp(struct asker *a, struct str question)
{
	struct buf out = BUF_INIT(PACKET_MAX);
	bool slow;
	if (make_reply(a->names, question, PACKET_MAX, &out, &slow)) {
		if (slow)
			answer_late(a->names, a, NULL, buf_str(&out));
		else
			send_tcp(a, buf_str(&out));
	}
	buf_free(&out);
}

static void on_bytes(void *ctx, struct str piece)
{
	struct asker *a = ctx;
	buf_add_str(&a->in, piece);
	struct reader r = reader_of(buf_str(&a->in));
	size_t done = 0;
	for (;;) {
		size_t n = reader_u8(&r);
		n = n << 8 | reader_u8(&r);
		struct str question = reader_bytes(&r, n);
		if (r.bad)
			break;
		answer_tcp(a, question);
		done = reader_at(&r);
	}
	memmove(a->in.p, a->in.p + done, a->in.n - done);
	a->in.n -= done;
}

static void on_closed(void *ctx, enum conn_end end, int sys_errno)
{
	(void)end, (void)sys_errno;
	struct asker *a = ctx;
	for (struct late *l = a->names->late, *after; l; l = after) {
		after = l->next;
		if (l->asker == a)
			late_free(l);
	}
	gate_leave(a->names->gate, &a->server);
	buf_free(&a->in);
	mem_free(&a);
}

static void on_accept(void *ctx, int fd, const struct peer *peer)
{
	static const struct conn_limits limits = {.pieces = true,
						  .high_mark = 1 << 16,
						  .queue_max = 1 << 20,
						  .idle_us = 10 * US_PER_S};
	static const struct conn_ops ops = {.bytes = on_bytes, .closed = on_closed};
	struct names *names = ctx;
	struct asker *a = mem_alloc(sizeof *a);
	*a = (struct asker){
		.names = names, .server = peer->server, .in = BUF_INIT(2 + 65535 + CONN_READ)};
	a->conn = conn_new(names->pool, fd, NULL, &limits, &ops, a);
}

/* Both sockets on one port. */
static int open_sockets(struct names *names, int64_t port, struct err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int one = 1, room = 4 << 20;
	names->tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	names->udp_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (names->tcp_fd < 0 || names->udp_fd < 0)
		return err_sys(err, "sockets of the name server");
	(void)setsockopt(names->tcp_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	(void)setsockopt(names->udp_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	if (bind(names->tcp_fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
	    getsockname(names->tcp_fd, (struct sockaddr *)&at, &n) < 0 ||
	    bind(names->udp_fd, (const struct sockaddr *)&at, sizeof at) < 0)
		return err_sys(err, "port %d of the name server", ntohs(at.sin_port));
	names->port = ntohs(at.sin_port);
	return 0;
}

int names_new(struct names **ret, struct sim *s, int64_t port, struct err *err)
{
	struct names *names = mem_alloc(sizeof *names);
	struct listener_options options = {.backlog = 128, .accepted = on_accept, .ctx = names};
	*names = (struct names){.sim = s, .udp_fd = -1, .tcp_fd = -1};
	names->gate = gate_new(CLIENTS_MAX, CLIENTS_MAX);
	names->pool = conn_pool_new(s->loop, 64 << 20);
	if (open_sockets(names, port, err) < 0 ||
	    listener_new(&names->listener, s->loop, names->tcp_fd, names->gate, &options, err) <
		    0) {
		names_free(&names);
		return -1;
	}
	names->udp = (struct loop_io){.fn = on_datagram, .ctx = names};
	loop_io_want(s->loop, &names->udp, names->udp_fd, LOOP_READ);
	*ret = names;
	return 0;
}

void names_free(struct names **np)
{
	struct names *names = *np;
	if (!names)
		return;
	listener_free(&names->listener);
	conn_pool_free(&names->pool);
	while (names->late)
		late_free(names->late);
	loop_io_end(&names->udp);
	if (names->udp_fd >= 0)
		close(names->udp_fd);
	if (names->tcp_fd >= 0)
		close(names->tcp_fd);
	gate_free(&names->gate);
	mem_free(np);
}

int names_port(const struct names *names)
{
	return names->port;
}
