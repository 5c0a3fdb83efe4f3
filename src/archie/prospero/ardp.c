/* ARDP without its sockets. A reply is one text and the places where it is cut, so any packet can
 * be sent again at any time; the packets that were sent and those that were acknowledged are two
 * numbers.
 *
 * Three clocks drive a reply. Acks move the window. If a window is not acknowledged, its last
 * packet is sent again after 2, 4, 8 and 16 s. If an ack shows a gap, what follows the gap is sent
 * again once a second has passed, since clients acknowledge while packets are on their way.
 *
 * Nothing in an ack is secret, so a correct ack proves nothing: anyone who forges a sender can
 * count to 16. If the owner wants proof, it throws dice, and a window ends at a random one of
 * ARDP_DICE packets. The receiver acknowledges that packet; a forger has one guess for each window.
 */
#include "archie/prospero/ardp.h"

#include "base/clock.h"
#include "base/cursor.h"

#define ASK_AGAIN_US (2 * US_PER_S)
#define SEND_AGAIN_US US_PER_S
enum { ASK_TRIES = 4, BACK_S = 5 };

/* Packets */

enum {
	HAS_ADDRESS = 1,
	HAS_PRIORITY = 2,
	HAS_PROTOCOL = 4,
	HAS_WINDOW = 8,
};

/* What stands after octet 12, low flag first. */
static void read_extras(struct reader *r, struct ardp_packet *p)
{
	if (p->flags & HAS_ADDRESS)
		return;
	if (p->flags & HAS_PRIORITY)
		p->priority = (int16_t)reader_u16be(r);
	if (p->flags & HAS_PROTOCOL)
		(void)reader_u16be(r);
	if (p->flags & HAS_WINDOW)
		p->window = reader_u16be(r);
	if (p->option == ARDP_ASK_STATUS)
		(void)reader_u8(r);
}

bool ardp_parse(struct str bytes, struct ardp_packet *ret)
{
	struct ardp_packet p = {.number = 1, .total = 1};
	struct reader r = reader_of(bytes);
	size_t length = reader_u8(&r);
	if (r.bad || length == 0 || length > ARDP_HEADER_MOST || length > bytes.n)
		return false;
	r.end = r.start + length;
	if (reader_left(&r))
		p.cid = reader_u16be(&r);
	if (reader_left(&r)) {
		p.number = reader_u16be(&r);
		p.total = 0;
	}
	if (reader_left(&r))
		p.total = reader_u16be(&r);
	if (reader_left(&r))
		p.through = reader_u16be(&r);
	if (reader_left(&r))
		p.wait_s = reader_u16be(&r);
	if (reader_left(&r))
		p.flags = reader_u8(&r);
	if (reader_left(&r)) {
		p.option = reader_u8(&r);
		read_extras(&r, &p);
	} else if (p.flags & (HAS_PRIORITY | HAS_PROTOCOL | HAS_WINDOW)) {
		return false;
	}
	p.data = str_from(bytes, length);
	*ret = p;
	return !r.bad;
}

static void put_16(unsigned char *to, unsigned v)
{
	to[0] = (unsigned char)(v >> 8);
	to[1] = (unsigned char)v;
}

struct ardp_header ardp_header(const struct ardp_packet *p, size_t length)
{
	struct ardp_header h = {.n = length};
	ENSURE(length <= sizeof h.b);
	h.b[0] = (unsigned char)length;
	put_16(h.b + 1, p->cid);
	put_16(h.b + 3, p->number);
	put_16(h.b + 5, p->total);
	put_16(h.b + 7, p->through);
	put_16(h.b + 9, p->wait_s);
	h.b[11] = p->flags;
	h.b[12] = p->option;
	if (p->option == ARDP_STATUS) {
		h.b[13] = 3; /* both follow */
		put_16(h.b + 14, p->position);
		put_16(h.b + 16, p->seconds >> 16);
		put_16(h.b + 18, p->seconds & 0xffff);
	}
	return h;
}

/* Requests */

bool ardp_part_fits(const struct ardp_packet *packet)
{
	return packet->number > 0 && packet->number <= ARDP_PARTS_MOST &&
	       packet->total <= ARDP_PARTS_MOST &&
	       (!packet->total || packet->number <= packet->total);
}

int ardp_parts_add(struct ardp_parts *p, const struct ardp_packet *packet)
{
	if (!ardp_part_fits(packet) || (p->total && packet->number > p->total) ||
	    (packet->total &&
	     (p->through > packet->total || (p->total && p->total != packet->total))))
		return -1;
	if (packet->total && !p->total)
		for (size_t i = packet->total; i < ARDP_PARTS_MOST; i++)
			if (p->part[i].p)
				return -1;
	struct str *part = &p->part[packet->number - 1];
	if (packet->total)
		p->total = packet->total;
	if (!part->p) {
		/* a control packet counts, but says nothing */
		struct str data = packet->flags & ARDP_CONTROL ? STR("") : packet->data;
		*part = (struct str){str_dup(data), data.n};
	}
	while (p->through < ARDP_PARTS_MOST && p->part[p->through].p)
		p->through++;
	return p->total && p->through == p->total ? 0 : 1;
}

void ardp_parts_join(const struct ardp_parts *p, struct buf *out)
{
	for (size_t i = 0; i < p->through; i++)
		buf_add_str(out, p->part[i]);
}

void ardp_parts_free(struct ardp_parts *p)
{
	for (size_t i = 0; i < ARDP_PARTS_MOST; i++)
		mem_free(&p->part[i].p);
	*p = (struct ardp_parts){0};
}

/* Replies */

/* Where the packet that begins at `from` ends: after its last whole line. */
static size_t packet_end(struct str text, size_t from)
{
	if (text.n - from <= ARDP_TEXT_MOST)
		return text.n;
	const char *nl = memrchr(text.p + from, '\n', ARDP_TEXT_MOST);
	return nl ? (size_t)(nl - text.p) + 1 : from + ARDP_TEXT_MOST;
}

static void divide_text(struct ardp_reply *r)
{
	struct str text = buf_str(&r->text);
	/* two packets that follow each other have more text than one may have */
	size_t most = MIN(text.n / (ARDP_TEXT_MOST / 2) + 2, (size_t)ARDP_REPLY_MOST), at = 0;
	r->end = mem_alloc(most * sizeof *r->end);
	do {
		ENSURE(r->total < most);
		at = packet_end(text, at);
		r->end[r->total++] = (uint32_t)at;
	} while (at < text.n && r->total < ARDP_REPLY_MOST);
}

/* Octets of the first n packets. */
static size_t text_through(const struct ardp_reply *r, uint16_t n)
{
	return n ? r->end[n - 1] : 0;
}

/* A larger window than usual is given only to those who have acknowledged something. */
static uint16_t window_end(const struct ardp_reply *r)
{
	unsigned window = r->window ? MIN(r->window, (uint16_t)ARDP_WINDOW_MOST) : ARDP_WINDOW;
	if (!r->acked)
		window = MIN(window, (unsigned)ARDP_WINDOW);
	return (uint16_t)MIN(r->acked + window, (unsigned)r->total);
}

/* ask: the client shall acknowledge it. */
static int64_t send_packet(const struct ardp_reply *r, uint16_t number, bool ask,
			   const struct ardp_out *out)
{
	size_t from = text_through(r, (uint16_t)(number - 1));
	const struct ardp_packet p = {.cid = r->cid,
				      .number = number,
				      .total = r->total,
				      .through = r->through,
				      .wait_s = r->waited && !r->back_quick ? BACK_S : 0,
				      .flags = ask ? ARDP_ACK : 0};
	const struct ardp_header h = ardp_header(&p, ask || r->waited ? 12 : r->total > 1 ? 7 : 3);
	return out->send(out->ctx, &h,
			 str_head(str_from(buf_str(&r->text), from), r->end[number - 1] - from));
}

/* What fits into a window asks for no ack, unless the client has to forget that it waits. */
static bool asks_ack(const struct ardp_reply *r)
{
	return r->waited || r->proves || r->total > ARDP_WINDOW ||
	       (r->window && r->total > r->window);
}

static void reply_rests(struct ardp_reply *r)
{
	r->asked = false;
	r->again = 0;
	r->due_us = INT64_MAX;
}

static void reply_sent(struct ardp_reply *r, int64_t now_us)
{
	r->last_us = now_us;
	r->asked = asks_ack(r);
	r->due_us = r->asked ? now_us + (ASK_AGAIN_US << r->tries) : INT64_MAX;
}

/* Packets from `from` to `to`, the last of which asks. Returns the last that went out, and says
 * when to go on where there was no room for all. */
static uint16_t send_range(struct ardp_reply *r, uint16_t from, uint16_t to, int64_t now_us,
			   const struct ardp_out *out)
{
	for (uint16_t i = from; i <= to && i; i++) {
		int64_t later_us = send_packet(r, i, asks_ack(r) && i == to, out);
		if (later_us > 0) {
			r->last_us = i > from ? now_us : r->last_us;
			r->due_us = now_us + later_us;
			return (uint16_t)(i - 1);
		}
	}
	reply_sent(r, now_us);
	return to;
}

/* Where the window ends, once what it has was sent and something was acknowledged since it was
 * opened. false: there is nothing more to send now. */
static bool open_window(struct ardp_reply *r, const struct ardp_out *out)
{
	unsigned end = window_end(r);
	if (r->stop && r->acked == r->opened)
		return false;
	if (out->dice)
		end = MIN(end, (unsigned)r->acked + ARDP_WINDOW);
	if (end <= r->sent)
		return false;
	/* too little to prove anything: rather the rest of it later */
	if (out->dice && end - r->sent < ARDP_DICE && end < r->total && r->acked < r->sent)
		return false;
	r->proof = 0;
	if (out->dice && end - r->sent >= ARDP_DICE) {
		end -= out->dice - 1;
		r->proof = (uint16_t)end;
		r->proof_from = r->sent;
		r->proves = true;
	}
	r->stop = (uint16_t)end;
	r->opened = r->acked;
	return true;
}

/* What the window allows and has not been sent. */
static void send_window(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out)
{
	while (r->sent < r->stop || open_window(r, out)) {
		uint16_t to = MIN(r->stop, window_end(r)); /* less, where acks were taken back */
		if (to <= r->sent)
			break;
		r->tries = 0;
		r->sent = send_range(r, (uint16_t)(r->sent + 1), to, now_us, out);
		if (r->sent < to)
			break;
	}
}

void ardp_reply_begin(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out)
{
	divide_text(r);
	reply_rests(r);
	send_window(r, now_us, out);
}

/* Continues sending again. Packets for which there is no room now are sent later. */
static void send_repeats(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out)
{
	uint16_t to = MIN(r->sent, window_end(r));
	uint16_t last = r->again <= to ? send_range(r, r->again, to, now_us, out) : to;
	r->again = last < to ? (uint16_t)(last + 1) : 0;
	if (!r->again)
		send_window(r, now_us, out); /* what it may have had no room for before */
}

/* What was sent and has not arrived, once more: now, or when a second has passed. */
static void send_again(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out)
{
	if (r->sent == r->acked || r->again)
		return;
	r->again = (uint16_t)(r->acked + 1);
	if (now_us - r->last_us < SEND_AGAIN_US)
		r->due_us = MIN(r->due_us, r->last_us + SEND_AGAIN_US);
	else
		send_repeats(r, now_us, out);
}

size_t ardp_reply_ack(struct ardp_reply *r, const struct ardp_packet *p, int64_t now_us,
		      const struct ardp_out *out)
{
	uint16_t before = r->acked, through = p->through;
	size_t proven = 0;
	if (r->total == 1 && r->sent)
		through = 1; /* old clients acknowledge a single packet with 0 */
	if (through > r->sent) {
		r->proof = 0;
		return 0;
	}
	if (through > r->acked && r->proof && r->sent >= r->proof) { /* the one guess */
		if (through == r->proof)
			proven = text_through(r, r->proof) - text_through(r, r->proof_from);
		r->proof = 0;
	}
	if (through > r->acked || p->option == ARDP_RESET)
		r->acked = through;
	if (r->acked == r->total) {
		reply_rests(r);
	} else {
		if (r->acked >= r->again)
			r->again = 0;
		send_window(r, now_us, out);
		/* an ack that says nothing new: the client misses the next one */
		if (r->acked <= before && through == r->acked)
			send_again(r, now_us, out);
	}
	return proven;
}

void ardp_reply_again(struct ardp_reply *r, const struct ardp_packet *p, int64_t now_us,
		      const struct ardp_out *out)
{
	if (now_us - r->last_us < SEND_AGAIN_US)
		return;
	/* old clients do not say what they have beyond the first packet: it may be less */
	r->acked = MIN(p->through, r->sent);
	r->proof = 0;
	r->again = 0;
	r->tries = 0;
	send_again(r, now_us, out);
	if (!r->again)
		send_window(r, now_us, out);
}

void ardp_reply_due(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out)
{
	if (now_us < r->due_us)
		return;
	r->due_us = INT64_MAX;
	if (r->again) {
		send_repeats(r, now_us, out);
	} else if (r->sent < MIN(r->stop, window_end(r))) {
		send_window(r, now_us, out);
	} else if (r->asked && r->tries < ASK_TRIES) {
		uint16_t last = MIN(r->sent, window_end(r)); /* less, where acks were taken back */
		r->tries++;
		(void)send_range(r, last, last, now_us, out);
	} else {
		reply_rests(r);
	}
}

void ardp_reply_free(struct ardp_reply *r)
{
	mem_free(&r->end);
	buf_free(&r->text);
}
