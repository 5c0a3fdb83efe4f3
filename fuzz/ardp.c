/* Packets of ARDP. What is read as one has sensible fields; a reply that is asked, acknowledged and
 * repeated by whatever comes sends nothing beyond its window, and whole lines. The first byte says
 * how large the reply is, then each packet has its length before it. */
#include "archie/prospero/ardp.h"

#include "base/clock.h"

struct way {
	const struct ardp_reply *reply;
	uint64_t sent;
	bool full; /* each third packet finds no room */
};

static int64_t way_send(void *ctx, const struct ardp_header *h, struct str text)
{
	struct way *w = ctx;
	struct ardp_packet p;
	if (w->full && w->sent++ % 3 == 2)
		return 1000;
	ENSURE(ardp_parse((struct str){(const char *)h->b, h->n}, &p));
	ENSURE(p.number >= 1 && p.number <= w->reply->total);
	ENSURE(p.number <= w->reply->acked + (w->reply->acked ? ARDP_WINDOW_MOST : ARDP_WINDOW));
	ENSURE(text.n <= ARDP_TEXT_MOST && (!text.n || text.p[text.n - 1] == '\n'));
	return 0;
}

static void fuzz_parts(struct ardp_parts *parts, const struct ardp_packet *p)
{
	struct buf text = BUF_INIT(ARDP_PARTS_MOST * ARDP_PACKET_MOST);
	if (ardp_parts_add(parts, p) == 0) {
		ardp_parts_join(parts, &text);
		ENSURE(!text.over);
		ardp_parts_free(parts);
	}
	ENSURE(parts->through <= ARDP_PARTS_MOST);
	buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 16 << 10)
		return 0;
	struct str rest = {(const char *)data + 2, size - 2};
	struct ardp_parts parts = {0};
	struct ardp_reply reply = {.cid = 1, .window = data[1], .waited = data[0] & 1};
	struct way way = {.reply = &reply, .full = data[0] & 2};
	const struct ardp_out out = {way_send, &way, data[0] & 4 ? 1 + data[0] / 8 % ARDP_DICE : 0};
	int64_t now_us = 0;
	reply.text = BUF_INIT(1 << 20);
	for (unsigned i = 0; i < data[0]; i++) {
		buf_fill(&reply.text, 'x', 1 + i * 131 % 1249);
		buf_add_byte(&reply.text, '\n');
	}
	ardp_reply_begin(&reply, now_us, &out);
	while (rest.n) {
		struct ardp_packet p;
		size_t n = (unsigned char)rest.p[0];
		struct str bytes = str_head(str_from(rest, 1), n);
		rest = str_from(rest, n + 1);
		if (!ardp_parse(bytes, &p))
			continue;
		ENSURE(p.data.n < bytes.n);
		now_us += p.wait_s * US_PER_MS;
		if (p.number == 0)
			(void)ardp_reply_ack(&reply, &p, now_us, &out);
		else if (p.number == 1 && p.total == 1)
			ardp_reply_again(&reply, &p, now_us, &out);
		else
			fuzz_parts(&parts, &p);
		ENSURE(reply.acked <= reply.sent && reply.sent <= reply.total);
		if (reply.due_us != INT64_MAX) {
			now_us = MAX(now_us, reply.due_us);
			ardp_reply_due(&reply, now_us, &out);
		}
	}
	for (unsigned i = 0; reply.due_us != INT64_MAX; i++) {
		ENSURE(i < 2000); /* it comes to rest */
		now_us = MAX(now_us, reply.due_us);
		ardp_reply_due(&reply, now_us, &out);
	}
	ENSURE(reply.sent == reply.total || reply.sent >= reply.stop ||
	       reply.sent >= reply.acked + (data[1] ? MIN(data[1], ARDP_WINDOW) : ARDP_WINDOW));
	ENSURE(reply.stop == reply.total || reply.stop > reply.acked);
	ardp_parts_free(&parts);
	ardp_reply_free(&reply);
	return 0;
}
