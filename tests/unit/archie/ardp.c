#include "archie/prospero/ardp.h"

#include "base/clock.h"

#include "../unit.h"

/* A way that keeps what is sent. */
struct kept {
	struct ardp_packet packet[400];
	unsigned char length[400];
	size_t n;
	size_t room;     /* packets that it takes; 0 from then on */
	int64_t wait_us; /* that it wants then */
};

static int64_t kept_send(void *ctx, const struct ardp_header *h, struct str text)
{
	struct kept *k = ctx;
	if (k->n == k->room)
		return k->wait_us;
	assert_true(k->n < ARRAY_LEN(k->packet));
	assert_true(ardp_parse((struct str){(const char *)h->b, h->n}, &k->packet[k->n]));
	k->packet[k->n].data = text;
	k->length[k->n++] = (unsigned char)h->n;
	return 0;
}

static struct ardp_out kept_out(struct kept *k)
{
	*k = (struct kept){.room = ARRAY_LEN(k->packet), .wait_us = 1000};
	return (struct ardp_out){kept_send, k};
}

/* A text that makes so many packets, each line nearly one. */
static struct buf text_of(size_t packets)
{
	struct buf text = BUF_INIT(1 << 20);
	for (size_t i = 0; i < packets; i++) {
		buf_fill(&text, 'x', 1000);
		buf_add_byte(&text, '\n');
	}
	return text;
}

static struct ardp_packet ack_of(unsigned through)
{
	return (struct ardp_packet){.through = (uint16_t)through};
}

static void headers_are_read_however_short_they_are(void **state)
{
	(void)state;
	struct ardp_packet p;
	assert_true(ardp_parse(STR("\1text"), &p));
	assert_true(p.cid == 0 && p.number == 1 && p.total == 1 && str_is(p.data, "text"));
	assert_true(ardp_parse(STR("\3\x12\x34text"), &p));
	assert_true(p.cid == 0x1234 && p.number == 1 && p.total == 1);
	assert_true(ardp_parse(STR("\5\x12\x34\0\2"), &p));
	assert_true(p.number == 2 && p.total == 0 && p.data.n == 0);
	assert_true(ardp_parse(STR("\x13\xc0\x0a\0\1\0\1\0\0\0\0\x0e\0\0\5\0\0\0\x20t"), &p));
	assert_true(p.priority == 5 && p.window == 32 && str_is(p.data, "t"));
	assert_true(ardp_parse(STR("\x10\xc0\x0c\0\1\0\1\0\0\0\0\x82\xfd\xff\xff\3t"), &p));
	assert_true(p.priority == -1 && p.option == ARDP_ASK_STATUS && p.flags == 0x82);
	assert_true(ardp_parse(STR("\x12\xc0\x0c\0\1\0\1\0\0\0\0\3\0\0\0\0\0\7t"), &p));
	assert_int_equal(p.priority, 0); /* after an extra address */
}

static void what_is_cut_or_not_of_version_0_is_no_packet(void **state)
{
	(void)state;
	static const char whole[] = "\x0f\xc0\x0d\0\1\0\1\0\0\0\0\2\0\1\xf4text";
	char bytes[64] = {0};
	struct ardp_packet p;
	for (size_t n = 0; n < sizeof whole; n++)
		assert_int_equal(ardp_parse((struct str){whole, n}, &p), n >= 15);
	for (unsigned length = 0; length < 256; length++) {
		static const bool fits[13] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1};
		bytes[0] = (char)length;
		assert_int_equal(ardp_parse((struct str){bytes, sizeof bytes}, &p),
				 length < 13 ? fits[length] : length < 32);
	}
	bytes[0] = 14; /* half a priority */
	bytes[11] = 2;
	assert_false(ardp_parse((struct str){bytes, sizeof bytes}, &p));
	bytes[0] = 12; /* none at all */
	assert_false(ardp_parse((struct str){bytes, sizeof bytes}, &p));
}

static void control_packets_have_the_known_octets(void **state)
{
	(void)state;
	const struct ardp_packet status = {
		.cid = 0xb60d, .wait_s = 900, .option = ARDP_STATUS, .position = 7, .seconds = 42};
	struct ardp_header h = ardp_header(&status, 20);
	assert_memory_equal(h.b, "\x14\xb6\x0d\0\0\0\0\0\0\x03\x84\0\xfe\3\0\7\0\0\0\x2a", 20);
	h = ardp_header(&(struct ardp_packet){.cid = 0xb60e, .option = ARDP_CANCEL}, 13);
	assert_memory_equal(h.b, "\x0d\xb6\x0e\0\0\0\0\0\0\0\0\0\1", 13);
	h = ardp_header(&(struct ardp_packet){.cid = 0xb609, .wait_s = 900}, 11);
	assert_memory_equal(h.b, "\x0b\xb6\x09\0\0\0\0\0\0\x03\x84", 11);
}

static void requests_of_several_packets_are_put_together_in_any_order(void **state)
{
	(void)state;
	struct ardp_parts parts = {0};
	struct buf text = BUF_INIT(100);
	struct ardp_packet one = {.number = 1, .data = STR("one ")},
			   two = {.number = 2, .data = STR("two ")},
			   three = {.number = 3, .total = 3, .data = STR("three")};
	assert_int_equal(ardp_parts_add(&parts, &two), 1);
	assert_int_equal(parts.through, 0);
	assert_int_equal(ardp_parts_add(&parts, &three), 1);
	assert_int_equal(ardp_parts_add(&parts, &two), 1);
	assert_int_equal(ardp_parts_add(&parts, &one), 0);
	assert_int_equal(parts.through, 3);
	ardp_parts_join(&parts, &text);
	assert_string_equal(buf_text(&text), "one two three");
	ardp_parts_free(&parts);
	/* what contradicts, and what is too many */
	assert_int_equal(ardp_parts_add(&parts, &three), 1);
	assert_int_equal(ardp_parts_add(&parts, &(struct ardp_packet){.number = 4}), -1);
	assert_int_equal(ardp_parts_add(&parts, &(struct ardp_packet){.number = 1, .total = 2}),
			 -1);
	ardp_parts_free(&parts);
	assert_int_equal(ardp_parts_add(&parts, &(struct ardp_packet){.number = 17}), -1);
	assert_int_equal(ardp_parts_add(&parts, &(struct ardp_packet){.number = 0}), -1);
	ardp_parts_free(&parts);
	buf_free(&text);
}

static void a_reply_that_fits_is_sent_once_and_asks_for_nothing(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .through = 1, .text = text_of(1)};
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 1 && k.length[0] == 3 && k.packet[0].cid == 9);
	assert_true(r.due_us == INT64_MAX);
	ardp_reply_free(&r);
	out = kept_out(&k);
	r = (struct ardp_reply){.cid = 9, .through = 1, .text = text_of(16)};
	ardp_reply_begin(&r, 0, &out);
	assert_int_equal(k.n, 16);
	for (size_t i = 0; i < k.n; i++)
		assert_true(k.length[i] == 7 && k.packet[i].number == i + 1 &&
			    k.packet[i].total == 16);
	assert_true(r.due_us == INT64_MAX);
	ardp_reply_free(&r);
	out = kept_out(&k);
	r = (struct ardp_reply){.cid = 9, .text = BUF_INIT(1)}; /* nothing is an answer, too */
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 1 && k.length[0] == 3 && k.packet[0].data.n == 0);
	ardp_reply_free(&r);
}

static void packets_have_whole_lines_of_at_most_1250_octets(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .window = 256, .text = BUF_INIT(1 << 20)};
	size_t all = 0;
	for (unsigned n = 1; n <= 1249; n += 7) {
		buf_fill(&r.text, 'x', n);
		buf_add_byte(&r.text, '\n');
	}
	ardp_reply_begin(&r, 0, &out);
	(void)ardp_reply_ack(&r, &(struct ardp_packet){.through = 16}, 0, &out);
	assert_int_equal(k.n, r.total);
	for (size_t i = 0; i < k.n; i++) {
		assert_true(k.packet[i].data.n && k.packet[i].data.n <= 1250);
		assert_true(str_ends(k.packet[i].data, STR("\n")));
		assert_ptr_equal(k.packet[i].data.p, r.text.p + all);
		all += k.packet[i].data.n;
	}
	assert_int_equal(all, r.text.n);
	ardp_reply_free(&r);
}

static void a_window_goes_on_when_it_is_acknowledged(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .through = 1, .text = text_of(40)};
	struct ardp_packet ack = ack_of(16);
	ardp_reply_begin(&r, 0, &out);
	assert_int_equal(k.n, 16);
	assert_true(k.length[14] == 7 && k.length[15] == 12);
	assert_true(k.packet[15].flags == ARDP_ACK && k.packet[15].through == 1 &&
		    k.packet[15].wait_s == 0);
	assert_int_equal(ardp_reply_ack(&r, &ack, 100, &out), 0); /* anyone can count to 16 */
	assert_true(k.n == 32 && k.packet[31].flags == ARDP_ACK);
	/* the same ack twice says that something is missing, but packets may be on their way */
	assert_int_equal(ardp_reply_ack(&r, &ack, 200, &out), 0);
	assert_int_equal(k.n, 32);
	ack = ack_of(32);
	assert_int_equal(ardp_reply_ack(&r, &ack, 300, &out), 0);
	assert_true(k.n == 40 && k.packet[39].number == 40 && k.packet[39].flags == ARDP_ACK);
	ack = ack_of(40);
	(void)ardp_reply_ack(&r, &ack, 400, &out);
	assert_true(k.n == 40 && r.due_us == INT64_MAX);
	/* an ack of what was never sent is a lie */
	ardp_reply_free(&r);
	out = kept_out(&k);
	r = (struct ardp_reply){.cid = 9, .text = text_of(40)};
	ardp_reply_begin(&r, 0, &out);
	ack = ack_of(65535);
	(void)ardp_reply_ack(&r, &ack, 1, &out);
	assert_true(k.n == 16 && r.acked == 0);
	ardp_reply_free(&r);
}

static void a_gap_is_sent_again_after_a_second(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .through = 1, .text = text_of(20)};
	struct ardp_packet ack = ack_of(3);
	ardp_reply_begin(&r, 0, &out);
	(void)ardp_reply_ack(&r, &ack, 100, &out); /* 4 is lost, the window moves */
	assert_true(k.n == 19 && k.packet[18].number == 19);
	(void)ardp_reply_ack(&r, &ack, 200, &out);
	assert_true(k.n == 19 && r.due_us == 100 + US_PER_S);
	ardp_reply_due(&r, r.due_us, &out);
	assert_true(k.n == 19 + 16 && k.packet[19].number == 4 && k.packet[34].number == 19);
	assert_true(k.packet[34].flags == ARDP_ACK);
	ardp_reply_free(&r);
}

static void an_ack_that_never_comes_is_asked_for_four_times(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .waited = true, .text = text_of(3)};
	int64_t at_us[8] = {0};
	size_t n = 0;
	ardp_reply_begin(&r, 0, &out);
	assert_int_equal(k.n, 3);
	while (r.due_us != INT64_MAX) {
		assert_true(n < ARRAY_LEN(at_us));
		at_us[n] = r.due_us;
		ardp_reply_due(&r, r.due_us, &out);
		n += k.n > 3 + n;
	}
	assert_true(n == 4 && at_us[0] == 2 * US_PER_S && at_us[1] == 6 * US_PER_S &&
		    at_us[2] == 14 * US_PER_S && at_us[3] == 30 * US_PER_S);
	for (size_t i = 3; i < k.n; i++)
		assert_true(k.packet[i].number == 3 && k.packet[i].flags == ARDP_ACK);
	ardp_reply_free(&r);
}

static void data_take_a_wait_back(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 0xb609, .through = 1, .waited = true, .text = text_of(1)};
	struct ardp_packet ack = ack_of(0);
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 1 && k.length[0] == 12 && k.packet[0].wait_s == 5 &&
		    k.packet[0].through == 1 && k.packet[0].flags == ARDP_ACK);
	/* an old client that has the one packet says 0 */
	assert_int_equal(ardp_reply_ack(&r, &ack, 1, &out), 0);
	assert_true(r.due_us == INT64_MAX && k.n == 1);
	ardp_reply_free(&r);
	out = kept_out(&k);
	r = (struct ardp_reply){.waited = true, .back_quick = true, .text = text_of(2)};
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 2 && k.length[0] == 12 && k.packet[0].wait_s == 0 &&
		    k.packet[0].flags == 0 && k.packet[1].flags == ARDP_ACK);
	ardp_reply_free(&r);
}

static void a_request_that_comes_again_is_answered_at_most_each_second(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .text = text_of(9)};
	struct ardp_packet again = ack_of(0);
	ardp_reply_begin(&r, 0, &out);
	ardp_reply_again(&r, &again, US_PER_S - 1, &out);
	assert_int_equal(k.n, 9);
	ardp_reply_again(&r, &again, US_PER_S, &out);
	assert_true(k.n == 18 && k.packet[9].number == 1 && k.length[9] == 7);
	again.through = 7; /* and without what it has */
	ardp_reply_again(&r, &again, 3 * US_PER_S, &out);
	assert_true(k.n == 20 && k.packet[18].number == 8);
	ardp_reply_free(&r);
}

static void a_client_may_have_another_window_but_no_larger_first_one(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.window = 4, .text = text_of(9)};
	struct ardp_packet ack = ack_of(4);
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 4 && k.packet[3].flags == ARDP_ACK);
	(void)ardp_reply_ack(&r, &ack, 1, &out);
	assert_int_equal(k.n, 8);
	ardp_reply_free(&r);
	out = kept_out(&k);
	r = (struct ardp_reply){.window = 9999, .text = text_of(400)};
	ack = ack_of(16);
	ardp_reply_begin(&r, 0, &out);
	assert_int_equal(k.n, 16);
	(void)ardp_reply_ack(&r, &ack, 1, &out);
	assert_int_equal(k.n, 16 + 256);
	ardp_reply_free(&r);
}

static void what_there_is_no_room_for_follows_later(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .text = text_of(10)};
	k.room = 3;
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 3 && r.due_us == 1000);
	k.room = 5;
	ardp_reply_due(&r, 1000, &out);
	assert_true(k.n == 5 && r.due_us == 2000);
	k.room = 400;
	ardp_reply_due(&r, 2000, &out);
	assert_true(k.n == 10 && r.due_us == INT64_MAX);
	for (size_t i = 0; i < k.n; i++)
		assert_int_equal(k.packet[i].number, i + 1);
	ardp_reply_free(&r);
	/* so does what comes again, and what has not been sent yet comes after it */
	out = kept_out(&k);
	r = (struct ardp_reply){.cid = 9, .text = text_of(10)};
	k.room = 4;
	ardp_reply_begin(&r, 0, &out);
	k.room = 6;
	ardp_reply_again(&r, &(struct ardp_packet){0}, 2 * US_PER_S, &out);
	k.room = 400;
	ardp_reply_due(&r, r.due_us, &out);
	assert_true(k.n == 14 && r.due_us == INT64_MAX);
	for (size_t i = 4; i < k.n; i++)
		assert_int_equal(k.packet[i].number, i - 3);
	ardp_reply_free(&r);
}

static void only_the_end_of_a_thrown_window_proves_something(void **state)
{
	(void)state;
	struct kept k;
	struct ardp_out out = kept_out(&k);
	struct ardp_reply r = {.cid = 9, .window = 256, .text = text_of(60)};
	struct ardp_packet ack = ack_of(13);
	out.dice = 4;
	ardp_reply_begin(&r, 0, &out);
	assert_true(k.n == 13 && k.packet[12].flags == ARDP_ACK);
	out.dice = 8; /* a larger window is of no use to those who have to prove something */
	assert_int_equal(ardp_reply_ack(&r, &ack, 100, &out), 13 * 1001);
	assert_true(k.n == 22 && k.packet[21].flags == ARDP_ACK);
	assert_int_equal(ardp_reply_ack(&r, &ack, 200, &out), 0);
	assert_int_equal(k.n, 22);
	ack = ack_of(21); /* a part of it arrived: that goes on, but there is one guess */
	out.dice = 1;
	assert_int_equal(ardp_reply_ack(&r, &ack, 300, &out), 0);
	assert_int_equal(k.n, 37);
	ack = ack_of(22);
	assert_int_equal(ardp_reply_ack(&r, &ack, 400, &out), 0);
	assert_int_equal(k.n, 37); /* 38 may be sent, but is not worth a window */
	ack = ack_of(37);
	assert_int_equal(ardp_reply_ack(&r, &ack, 500, &out), 0);
	assert_int_equal(k.n, 53);
	ack = ack_of(54); /* a lie */
	assert_int_equal(ardp_reply_ack(&r, &ack, 600, &out), 0);
	assert_int_equal(k.n, 53);
	ack = ack_of(53);
	assert_int_equal(ardp_reply_ack(&r, &ack, 700, &out), 0);
	assert_true(k.n == 60 && k.packet[59].flags == ARDP_ACK && r.proof == 0);
	ardp_reply_free(&r);
	/* a reply of one window asks then, too; one that is shorter cannot prove anything */
	for (size_t packets = ARDP_DICE - 1; packets <= ARDP_DICE; packets++) {
		out = kept_out(&k);
		out.dice = 2;
		r = (struct ardp_reply){.cid = 9, .text = text_of(packets)};
		ardp_reply_begin(&r, 0, &out);
		assert_int_equal(k.n, ARDP_DICE - 1);
		assert_int_equal(k.packet[k.n - 1].flags, packets < ARDP_DICE ? 0 : ARDP_ACK);
		ardp_reply_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_read_however_short_they_are),
		cmocka_unit_test(what_is_cut_or_not_of_version_0_is_no_packet),
		cmocka_unit_test(control_packets_have_the_known_octets),
		cmocka_unit_test(requests_of_several_packets_are_put_together_in_any_order),
		cmocka_unit_test(a_reply_that_fits_is_sent_once_and_asks_for_nothing),
		cmocka_unit_test(packets_have_whole_lines_of_at_most_1250_octets),
		cmocka_unit_test(a_window_goes_on_when_it_is_acknowledged),
		cmocka_unit_test(a_gap_is_sent_again_after_a_second),
		cmocka_unit_test(an_ack_that_never_comes_is_asked_for_four_times),
		cmocka_unit_test(data_take_a_wait_back),
		cmocka_unit_test(a_request_that_comes_again_is_answered_at_most_each_second),
		cmocka_unit_test(a_client_may_have_another_window_but_no_larger_first_one),
		cmocka_unit_test(what_there_is_no_room_for_follows_later),
		cmocka_unit_test(only_the_end_of_a_thrown_window_proves_something),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
