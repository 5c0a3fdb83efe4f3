/* The role archie-prospero: packets of ardp.h on a UDP socket, with texts of prospero.h in them,
 * and questions to the queuer. garner up runs several such processes at one address. The kernel
 * gives all packets of a client to the same process (role/listen.h), so acks and repeated requests
 * reach the reply they are about, and the quota of an address (prospero_share.h) is counted in one
 * place.
 *
 * A talk is one request and its reply. It waits for the queuer, is sent, and is then kept, since
 * clients ask again when packets are lost. Nothing is stored on disk: after a crash clients ask
 * again, which they do soon because they are told to wait only for seconds. */
#include "archie/prospero_role.h"

#include "archie/archie_conf.h"
#include "archie/prospero/ardp.h"
#include "archie/prospero/prospero.h"
#include "archie/prospero/prospero_share.h"
#include "archie/shell.h"
#include "base/hash.h"
#include "base/table.h"
#include "net/addr.h"
#include "net/role_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#define ROLE "archie-prospero"
#define WAIT_FIRST_US (800 * US_PER_MS) /* without an answer, the client is told to wait */
#define WAIT_EVERY_US (2 * US_PER_S)
#define PARTS_US (60 * US_PER_S) /* that the rest of a request may take */
#define TEXTS_US (10 * US_PER_S) /* between looks at archie/etc */

enum {
	WAIT_S = 3,         /* told; so long is a client lost when we are killed */
	ASKING_MOST = 1000, /* talks that wait for the queuer */
	DONE_MOST = 256,    /* talks that are kept */
	DONE_BYTES = 64 << 20,
	PARTIAL_MOST = 20, /* requests that are not whole */
	BATCH = 64,        /* packets that go out with one call */
	READ_AT_ONCE = 32, /* packets that are read with one call */
	PORT = 1525,       /* that clients take where none is named */
	TEXTS_MEMORY = 8 << 20,
	LINK_MEMORY = 256 << 20,
};

struct prospero_conf {
	const char *listen;
	int64_t daemons;
	uint64_t unacked;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_UDP_AT(struct prospero_conf, listen), .fallback = "udp:127.0.0.1:1525",
	 .moves = "net.port", .help = "Address on which clients of Prospero are answered"},
	{"daemons", VALUE_INT_AT(struct prospero_conf, daemons), .fallback = "4", .min = 1,
	 .max = 64, .help = "Processes that garner up runs at this address"},
	{"unacked", VALUE_SIZE_AT(struct prospero_conf, unacked), .fallback = "64K", .min = 4096,
	 .max = INFINITY,
	 .help = "Most bytes to send to one address in a second without proof that they arrive; "
		 "after 16 times as many, a 16th of it"},
};

static const struct config_section section = {
	.name = ROLE,
	.help = "Searching archives by Prospero over UDP, for clients of the 1990s.",
	.several = true,
	.size = sizeof(struct prospero_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct prospero_counts {
	uint64_t packets, garbage, strays, requests_1, requests_5, repeated, cancelled, refused;
	uint64_t links, left_out, waits, sent, sent_bytes, held_back, proven_bytes, evicted, unsent;
	uint64_t asking, kept; /* now */
};
#define COUNTED(member) COUNTER_AT(struct prospero_counts, member)
static const struct counter_def counter_defs[] = {
	{"packets", NULL, COUNTER_TOTAL, "packets received", COUNTED(packets)},
	{"garbage", NULL, COUNTER_TOTAL, "packets that make no sense, dropped", COUNTED(garbage)},
	{"strays", NULL, COUNTER_TOTAL, "acks of unknown replies", COUNTED(strays)},
	{"requests", "version=\"1\"", COUNTER_TOTAL, "requests by dialect", COUNTED(requests_1)},
	{"requests", "version=\"5\"", COUNTER_TOTAL, "requests by dialect", COUNTED(requests_5)},
	{"repeated", NULL, COUNTER_TOTAL, "requests that were repeated", COUNTED(repeated)},
	{"cancelled", NULL, COUNTER_TOTAL, "requests that were cancelled", COUNTED(cancelled)},
	{"refused", NULL, COUNTER_TOTAL, "requests refused for lack of room", COUNTED(refused)},
	{"links", NULL, COUNTER_TOTAL, "results sent", COUNTED(links)},
	{"left_out", NULL, COUNTER_TOTAL, "results left out because the client could not read them",
	 COUNTED(left_out)},
	{"waits", NULL, COUNTER_TOTAL, "packets that tell a client to wait", COUNTED(waits)},
	{"sent", NULL, COUNTER_TOTAL, "packets sent", COUNTED(sent)},
	{"sent_bytes", NULL, COUNTER_TOTAL, "bytes sent", COUNTED(sent_bytes)},
	{"held_back", NULL, COUNTER_TOTAL,
	 "packets delayed because nothing proves that the client receives them",
	 COUNTED(held_back)},
	{"proven_bytes", NULL, COUNTER_TOTAL, "bytes that acks proved to have arrived",
	 COUNTED(proven_bytes)},
	{"evicted", NULL, COUNTER_TOTAL, "replies dropped before the client had all of them",
	 COUNTED(evicted)},
	{"unsent", NULL, COUNTER_TOTAL, "packets that the system refused to send", COUNTED(unsent)},
	{"asking", NULL, COUNTER_GAUGE, "requests that wait for the queuer", COUNTED(asking)},
	{"kept", NULL, COUNTER_GAUGE, "replies that are kept", COUNTED(kept)},
};

/* Identifies a request: an address with its port, and the client's number for it. */
struct talk_key {
	struct addr from;
	uint16_t cid;
};

static uint64_t key_hash(struct talk_key k)
{
	return hash_u64(addr_hash(k.from) + k.cid);
}

static bool key_same(struct talk_key a, struct talk_key b)
{
	return a.cid == b.cid && addr_eq(a.from, b.from);
}

union peer {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct prospero_role;

struct talk {
	struct place place; /* in asking or kept */
	struct prospero_role *role;
	struct talk_key key;
	union peer peer;
	socklen_t peer_len;
	uint64_t text_hash; /* of the request */
	struct loop_timer timer;
	/* until it is answered */
	struct arena arena;
	struct prospero_request request;
	struct prospero_reply texts;
	struct asked {
		struct talk *talk;
		uint64_t id;
		bool under_way, busy;
	} asked[PROSPERO_LISTS_MOST];
	uint64_t position; /* in the queue; 0: not known */
	int64_t seconds;
	bool done;
	struct ardp_reply reply;
};

struct partial {
	bool used;
	struct talk_key key;
	const struct share *share;
	struct ardp_parts parts;
	int64_t since_us;
};

TABLE(talks, struct talk_key, struct talk *, key_hash, key_same)

/* Packets on their way out; texts lie in talks. */
struct batch {
	unsigned n;
	struct mmsghdr msg[BATCH];
	struct iovec part[BATCH][2];
	struct ardp_header header[BATCH];
	union peer peer[BATCH];
};

struct intake {
	struct mmsghdr msg[READ_AT_ONCE];
	struct iovec part[READ_AT_ONCE];
	union peer peer[READ_AT_ONCE];
	char bytes[READ_AT_ONCE][ARDP_PACKET_MOST];
};

struct prospero_role {
	struct role_loop role;
	const struct prospero_conf *conf;
	struct conn_pool *pool;
	struct archie_link *link;
	int fd;
	struct loop_io io;
	char server[ARCHIE_HOST_MOST + 16]; /* "host(port)" */
	struct talks talks;
	struct crowd asking, kept;
	struct partial partial[PARTIAL_MOST];
	struct shares shares;
	struct arena_pool arenas;
	struct arena texts_arena;
	struct shell_texts texts;
	int64_t texts_us; /* when they were read; 0: not yet */
	struct batch *batch;
	struct intake *intake;
	struct prospero_counts count;
};

static int64_t now_of(const struct prospero_role *r)
{
	return loop_now_us(r->role.loop);
}

/* Sending */

static void batch_send(struct prospero_role *r)
{
	struct batch *b = r->batch;
	for (unsigned at = 0; at < b->n;) {
		int n = sendmmsg(r->fd, b->msg + at, b->n - at, MSG_DONTWAIT);
		if (n > 0) {
			at += (unsigned)n;
			r->count.sent += (uint64_t)n;
		} else if (errno != EINTR) {
			at++; /* lost, as on any other way; the client asks again */
			r->count.unsent++;
		}
	}
	b->n = 0;
}

static void batch_add(struct prospero_role *r, const struct talk *t,
		      const struct ardp_header *header, struct str text)
{
	struct batch *b = r->batch;
	if (b->n == BATCH)
		batch_send(r);
	unsigned i = b->n++;
	b->header[i] = *header;
	b->peer[i] = t->peer;
	b->part[i][0] = (struct iovec){b->header[i].b, header->n};
	b->part[i][1] = (struct iovec){(void *)(uintptr_t)text.p, text.n};
	b->msg[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &b->peer[i],
						 .msg_namelen = t->peer_len,
						 .msg_iov = b->part[i],
						 .msg_iovlen = text.n ? 2 : 1}};
	r->count.sent_bytes += header->n + text.n;
}

/* struct ardp_out */
static int64_t talk_send(void *ctx, const struct ardp_header *header, struct str text)
{
	struct talk *t = ctx;
	struct prospero_role *r = t->role;
	int64_t later_us = share_spend(&r->shares, t->place.share, header->n + text.n, now_of(r));
	if (later_us > 0)
		r->count.held_back++;
	else
		batch_add(r, t, header, text);
	return later_us;
}

/* Where its packets go. An address that was sent a lot has to prove that it is there. */
static struct ardp_out talk_out(struct talk *t)
{
	struct prospero_role *r = t->role;
	struct ardp_out out = {.send = talk_send, .ctx = t};
	uint8_t random;
	if (share_is_low(&r->shares, t->place.share, now_of(r))) {
		ENSURE(getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random);
		out.dice = 1 + random % ARDP_DICE;
	}
	return out;
}

/* Without a text, and not counted: the packet that it answers was not much shorter. */
static void send_control(struct talk *t, const struct ardp_packet *p, size_t length)
{
	const struct ardp_header h = ardp_header(p, length);
	batch_add(t->role, t, &h, STR(""));
}

/* Talks */

/* Its timer is set to when its reply wants it. */
static void talk_rest(struct talk *t)
{
	if (t->reply.due_us == INT64_MAX) {
		t->place.rank = PLACE_RESTS;
		loop_timer_stop(&t->timer);
	} else {
		t->place.rank = t->reply.acked ? PLACE_MOVES : PLACE_BEGUN;
		loop_timer_in(t->role->role.loop, &t->timer, t->reply.due_us - now_of(t->role));
	}
}

static void talk_forget_request(struct talk *t)
{
	struct prospero_role *r = t->role;
	for (size_t i = 0; i < t->request.lists; i++)
		if (t->asked[i].under_way)
			archie_link_cancel(r->link, t->asked[i].id);
	prospero_reply_free(&t->texts);
	prospero_request_free(&t->request);
	arena_give(&t->arena, &r->arenas);
}

static void talk_free(struct talk *t)
{
	struct prospero_role *r = t->role;
	batch_send(r); /* it may have texts of this one */
	loop_timer_stop(&t->timer);
	crowd_remove(t->done ? &r->kept : &r->asking, &t->place);
	if (t->key.cid)
		talks_remove(&r->talks, t->key);
	if (!t->done)
		talk_forget_request(t);
	ardp_reply_free(&t->reply);
	mem_free(&t);
}

static void talk_wait(struct talk *t)
{
	struct prospero_role *r = t->role;
	struct ardp_packet p = {.cid = t->key.cid, .wait_s = WAIT_S};
	bool status = t->request.version == 5 && t->position;
	if (status) {
		p.option = ARDP_STATUS;
		p.position = (uint16_t)MIN(t->position, (uint64_t)UINT16_MAX);
		p.seconds = (uint32_t)MIN(MAX(t->seconds, INT64_C(0)), (int64_t)UINT32_MAX);
	}
	/* one request has many of these, so they count */
	if (share_spend(&r->shares, t->place.share, status ? 20 : 11, now_of(r)) == 0) {
		send_control(t, &p, status ? 20 : 11);
		t->reply.waited = true;
		r->count.waits++;
	}
	loop_timer_in(r->role.loop, &t->timer, WAIT_EVERY_US);
}

static void talk_due(void *ctx)
{
	struct talk *t = ctx;
	struct prospero_role *r = t->role;
	if (t->done) {
		const struct ardp_out out = talk_out(t);
		ardp_reply_due(&t->reply, now_of(r), &out);
		talk_rest(t);
	} else {
		talk_wait(t);
	}
	batch_send(r);
}

static const struct shell_texts *texts_of(struct prospero_role *r)
{
	int64_t now_us = now_of(r);
	struct buf ignored = BUF_INIT(64 << 10); /* the queue's other interfaces tell these */
	if (r->texts_us && now_us - r->texts_us < TEXTS_US)
		return &r->texts;
	arena_free(&r->texts_arena);
	r->texts_arena = ARENA_INIT(TEXTS_MEMORY);
	shell_texts_read(r->role.env->data, &r->texts_arena, &r->texts, &ignored);
	buf_free(&ignored);
	r->texts_us = MAX(now_us, 1);
	return &r->texts;
}

static bool talk_is_busy(const struct talk *t)
{
	for (size_t i = 0; i < t->request.lists; i++)
		if (!t->asked[i].busy)
			return false;
	return t->request.lists && t->request.version == 5;
}

static struct talk *talk_of(struct place *p)
{
	return p ? LIST_OF(struct talk, p, place) : NULL;
}

/* Other replies make room. */
static void talk_is_done(struct talk *t)
{
	struct prospero_role *r = t->role;
	struct talk *other;
	crowd_remove(&r->asking, &t->place);
	t->done = true;
	t->place.bytes = t->reply.text.cap;
	t->place.rank = PLACE_BEGUN;
	crowd_add(&r->kept, &t->place);
	while ((other = talk_of(crowd_excess(&r->kept, DONE_MOST, DONE_BYTES, &t->place)))) {
		r->count.evicted += other->place.rank != PLACE_RESTS;
		talk_free(other);
	}
}

/* All its questions are answered. */
static void talk_answer(struct talk *t)
{
	struct prospero_role *r = t->role;
	if (talk_is_busy(t)) {
		const struct ardp_packet refused = {.cid = t->key.cid, .option = ARDP_CANCEL};
		r->count.refused++;
		send_control(t, &refused, 13);
		talk_free(t);
		return;
	}
	struct str motd = t->request.asks_motd ? texts_of(r)->motd : STR("");
	t->reply.text = BUF_INIT(PROSPERO_REPLY_MOST);
	prospero_reply_end(&t->texts, motd, &t->reply.text);
	r->count.links += t->texts.links;
	r->count.left_out += t->texts.left_out;
	t->reply.back_quick = t->request.version == 5;
	talk_forget_request(t);
	talk_is_done(t);
	const struct ardp_out out = talk_out(t);
	ardp_reply_begin(&t->reply, now_of(r), &out);
	talk_rest(t);
}

static bool talk_asks(const struct talk *t)
{
	for (size_t i = 0; i < t->request.lists; i++)
		if (t->asked[i].under_way)
			return true;
	return false;
}

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct asked *a = ctx;
	a->talk->position = position;
	a->talk->seconds = seconds;
}

static void on_answered(void *ctx, const struct archie_answer *answer, enum archie_refusal why,
			const char *text)
{
	struct asked *a = ctx;
	struct talk *t = a->talk;
	struct prospero_role *r = t->role;
	size_t i = (size_t)(a - t->asked);
	a->under_way = false;
	a->busy = why == ARCHIE_BUSY;
	if (answer)
		prospero_reply_answer(&t->texts, i, answer);
	else
		prospero_reply_refusal(&t->texts, i, why, text);
	if (!talk_asks(t))
		talk_answer(t);
	batch_send(r);
}

static const struct archie_link_ops link_ops = {.queued = on_queued, .answered = on_answered};

static void talk_ask(struct talk *t, size_t i, int niceness, struct str from)
{
	struct prospero_role *r = t->role;
	struct prospero_list *l = &t->request.list[i];
	if (l->kind == PROSPERO_FAILED) {
		prospero_reply_refusal(&t->texts, i, ARCHIE_NOT_REFUSED, "");
	} else if (l->kind == PROSPERO_DOMAINS) {
		prospero_reply_domains(&t->texts, i, &texts_of(r)->domains);
	} else {
		l->ask.niceness = niceness;
		l->ask.verbose = t->request.version == 5;
		l->ask.from = from;
		t->asked[i] = (struct asked){.talk = t, .under_way = true};
		t->asked[i].id = archie_link_ask(r->link, &l->ask, &link_ops, &t->asked[i]);
	}
}

/* A request that is whole. */
static void talk_begin(struct prospero_role *r, struct talk *t, const struct ardp_packet *p,
		       uint16_t through, struct str text)
{
	char from[ADDR_SHOWN];
	struct addr address = t->key.from;
	t->arena = arena_from(&r->arenas, PROSPERO_ARENA);
	if (text.n > PROSPERO_TEXT_MOST ||
	    !prospero_parse(arena_str(&t->arena, text), &texts_of(r)->domains, &t->arena,
			    &t->request)) {
		r->count.garbage++;
		talk_free(t);
		return;
	}
	++*(t->request.version == 5 ? &r->count.requests_5 : &r->count.requests_1);
	prospero_reply_init(&t->texts, &t->request, str_of(r->server));
	t->reply = (struct ardp_reply){
		.cid = t->key.cid, .through = through, .window = p->window, .due_us = INT64_MAX};
	address.port = 0;
	addr_print(&address, from);
	for (size_t i = 0; i < t->request.lists && !t->request.error; i++)
		talk_ask(t, i, MAX((int)p->priority, 0), str_of(from));
	if (talk_asks(t))
		loop_timer_in(r->role.loop, &t->timer, WAIT_FIRST_US);
	else
		talk_answer(t);
}

/* Packets */

struct received {
	struct talk_key key;
	const union peer *peer;
	socklen_t peer_len;
	struct ardp_packet packet;
};

/* For one more request: where there is none, of an address that has many. */
static bool make_room(struct prospero_role *r, const struct share *share)
{
	if (r->asking.n < ASKING_MOST)
		return true;
	struct talk *other =
		crowd_has_many(&r->asking, share) ? NULL : talk_of(crowd_of_most(&r->asking));
	if (other)
		talk_free(other);
	return other;
}

static void take_request(struct prospero_role *r, const struct received *in, uint16_t through,
			 struct str text)
{
	struct share *share = shares_of(&r->shares, addr_server(&in->key.from));
	if (share_is_out(&r->shares, share, now_of(r)) || !make_room(r, share)) {
		r->count.refused++;
		return; /* it asks again */
	}
	struct talk *t = mem_alloc(sizeof *t);
	*t = (struct talk){.role = r,
			   .key = in->key,
			   .place = {.share = share},
			   .peer = *in->peer,
			   .peer_len = in->peer_len,
			   .text_hash = hash64(text)};
	t->timer = (struct loop_timer){.fn = talk_due, .ctx = t};
	crowd_add(&r->asking, &t->place);
	if (t->key.cid)
		*talks_put(&r->talks, t->key) = t;
	talk_begin(r, t, &in->packet, through, text);
}

static void partial_free(struct partial *p)
{
	ardp_parts_free(&p->parts);
	*p = (struct partial){0};
}

/* How many the address of this one has. */
static size_t partials_like(const struct prospero_role *r, const struct partial *p)
{
	size_t n = 0;
	for (size_t i = 0; i < PARTIAL_MOST; i++)
		n += r->partial[i].used && r->partial[i].share == p->share;
	return n;
}

/* The oldest of the address that has most. */
static struct partial *partial_to_go(struct prospero_role *r)
{
	struct partial *first = &r->partial[0];
	size_t most = partials_like(r, first);
	for (size_t i = 1; i < PARTIAL_MOST; i++) {
		struct partial *p = &r->partial[i];
		size_t n = partials_like(r, p);
		if (n > most || (n == most && p->since_us < first->since_us)) {
			first = p;
			most = n;
		}
	}
	return first;
}

/* The place of this one, or one that is free, or that of another. */
static struct partial *partial_of(struct prospero_role *r, const struct received *in)
{
	struct partial *free = NULL;
	for (size_t i = 0; i < PARTIAL_MOST; i++) {
		struct partial *p = &r->partial[i];
		if (p->used && now_of(r) - p->since_us > PARTS_US)
			partial_free(p);
		if (p->used && key_same(p->key, in->key))
			return p;
		if (!p->used)
			free = p;
	}
	if (!free)
		partial_free(free = partial_to_go(r));
	free->used = true;
	free->key = in->key;
	free->share = shares_of(&r->shares, addr_server(&in->key.from));
	free->since_us = now_of(r);
	return free;
}

static void tell_through(struct prospero_role *r, const struct received *in, uint16_t through)
{
	const struct ardp_packet ack = {.cid = in->key.cid, .through = through};
	struct talk to = {.role = r, .peer = *in->peer, .peer_len = in->peer_len};
	send_control(&to, &ack, 9);
}

/* A packet of a request that has several. */
static void take_part(struct prospero_role *r, const struct received *in)
{
	struct buf text = BUF_INIT((size_t)ARDP_PARTS_MOST * ARDP_PACKET_MOST);
	if (!in->key.cid || !ardp_part_fits(&in->packet)) {
		r->count.garbage++; /* without an id, what belongs together is not known */
		return;
	}
	struct partial *p = partial_of(r, in);
	int rc = ardp_parts_add(&p->parts, &in->packet);
	if (rc < 0) {
		r->count.garbage++;
		if (!p->parts.through && !p->parts.total)
			partial_free(p);
	} else if (rc == 1) {
		tell_through(r, in, p->parts.through);
	} else {
		uint16_t total = p->parts.total;
		ardp_parts_join(&p->parts, &text);
		partial_free(p);
		take_request(r, in, total, buf_str(&text));
		buf_free(&text);
	}
}

static void take_control(struct prospero_role *r, struct talk *t, const struct received *in)
{
	const struct ardp_packet *p = &in->packet;
	if (!t) {
		r->count.strays++;
	} else if (p->option == ARDP_CANCEL) {
		r->count.cancelled++;
		talk_free(t);
	} else if (t->done) {
		const struct ardp_out out = talk_out(t);
		uint16_t before = t->reply.acked;
		size_t n = ardp_reply_ack(&t->reply, p, now_of(r), &out);
		share_proven(t->place.share, n);
		r->count.proven_bytes += n;
		if (t->reply.acked > before)
			crowd_moved(&r->kept, &t->place);
		talk_rest(t);
	}
}

static void take_data(struct prospero_role *r, struct talk *t, const struct received *in)
{
	const struct ardp_packet *p = &in->packet;
	bool whole = p->number == 1 && p->total == 1;
	if (t && whole && t->text_hash != hash64(p->data)) {
		talk_free(t); /* another request under the same number */
		t = NULL;
	}
	if (t) {
		r->count.repeated++;
		if (!t->done)
			return;
		const struct ardp_out out = talk_out(t);
		ardp_reply_again(&t->reply, p, now_of(r), &out);
		talk_rest(t);
	} else if (whole && !(p->flags & ARDP_CONTROL)) {
		take_request(r, in, 1, p->data);
	} else {
		take_part(r, in);
	}
}

static void take_packet(struct prospero_role *r, const struct mmsghdr *m, const char *bytes)
{
	const struct msghdr *h = &m->msg_hdr;
	struct received in = {.peer = h->msg_name, .peer_len = h->msg_namelen};
	r->count.packets++;
	if ((h->msg_flags & MSG_TRUNC) ||
	    !addr_from_sockaddr(h->msg_name, h->msg_namelen, &in.key.from) || !in.key.from.port ||
	    !ardp_parse((struct str){bytes, m->msg_len}, &in.packet)) {
		r->count.garbage++;
		return;
	}
	in.key.cid = in.packet.cid;
	struct talk **known = in.key.cid ? talks_get(&r->talks, in.key) : NULL;
	if (in.packet.number == 0)
		take_control(r, known ? *known : NULL, &in);
	else
		take_data(r, known ? *known : NULL, &in);
}

static void on_readable(void *ctx, unsigned what)
{
	struct prospero_role *r = ctx;
	struct intake *in = r->intake;
	(void)what;
	for (size_t i = 0; i < READ_AT_ONCE; i++) {
		in->part[i] = (struct iovec){in->bytes[i], sizeof in->bytes[i]};
		in->msg[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &in->peer[i],
							  .msg_namelen = sizeof in->peer[i],
							  .msg_iov = &in->part[i],
							  .msg_iovlen = 1}};
	}
	int n = recvmmsg(r->fd, in->msg, READ_AT_ONCE, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		take_packet(r, &in->msg[i], in->bytes[i]);
	batch_send(r);
}

/* The role */

static void tell_counters(void *ctx)
{
	struct prospero_role *r = ctx;
	r->count.asking = r->asking.n;
	r->count.kept = r->kept.n;
	role_loop_tell_of(&r->role, &r->count, "%" PRIu64 " requests, %zu wait for the queuer",
			  r->count.requests_1 + r->count.requests_5, r->asking.n);
}

/* As links name us. */
static void find_server(struct prospero_role *r)
{
	const struct archie_conf *conf = config_get(r->role.env->config, &archie_section);
	char host[ARCHIE_HOST_MOST];
	unsigned port = archie_port(r->fd);
	if (port == PORT || port == 0)
		snprintf(r->server, sizeof r->server, "%s", archie_host(conf, host));
	else
		snprintf(r->server, sizeof r->server, "%s(%u)", archie_host(conf, host), port);
}

static int role_make(struct prospero_role *r, struct err *err)
{
	r->fd = role_fd(r->role.env, "listen");
	if (r->fd < 0)
		return err_set(err, ERR_USAGE, ROLE ".listen is empty: there is nothing to do");
	if (role_loop_open(&r->role, err) < 0)
		return -1;
	find_server(r);
	r->pool = conn_pool_new(r->role.loop, LINK_MEMORY);
	r->link = archie_link_new(r->pool, r->role.env->data);
	r->batch = mem_alloc(sizeof *r->batch);
	r->batch->n = 0;
	r->intake = mem_alloc(sizeof *r->intake);
	r->io = (struct loop_io){.fn = on_readable, .ctx = r};
	loop_io_want(r->role.loop, &r->io, r->fd, LOOP_READ);
	return 0;
}

static void role_unmake(struct prospero_role *r)
{
	loop_io_end(&r->io);
	LIST_EACH (struct talk, t, &r->asking.all, place.link)
		talk_free(t);
	LIST_EACH (struct talk, t, &r->kept.all, place.link)
		talk_free(t);
	for (size_t i = 0; i < PARTIAL_MOST; i++)
		partial_free(&r->partial[i]);
	talks_free(&r->talks);
	shares_free(&r->shares);
	archie_link_free(&r->link);
	conn_pool_free(&r->pool);
	arena_pool_free(&r->arenas);
	arena_free(&r->texts_arena);
	mem_free(&r->batch);
	mem_free(&r->intake);
	role_loop_close(&r->role);
}

static int role_run(struct role_env *env, struct err *err)
{
	struct prospero_role r = {.role = {.env = env, .tell = tell_counters, .ctx = &r},
				  .conf = config_get(env->config, &section)};
	crowd_init(&r.asking, CROWD_ASKING);
	crowd_init(&r.kept, CROWD_KEPT);
	shares_init(&r.shares, r.conf->unacked);
	int rc = role_make(&r, err);
	if (rc == 0)
		rc = role_loop_run(&r.role, err);
	role_unmake(&r);
	return rc;
}

const struct role archie_prospero_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "answer Prospero clients that search archives",
	.description =
		"The protocol of the programs archie and xarchie of the 1990s: questions and "
		"answers in UDP packets, in the dialects of versions 1 and 5. It asks the role "
		"archie-queuer. garner up runs as many processes of it as the setting daemons "
		"says. Packets and lines: doc/protocols/archie-prospero.md.",
	.section = &section,
	.processes = "daemons",
	.counters = counter_defs,
	.ncounters = ARRAY_LEN(counter_defs),
	.check = archie_conf_check,
	.run = role_run,
};
