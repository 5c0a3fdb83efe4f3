/* ARDP, the transport of Prospero over UDP (version 0 of its header): packets in and out, requests
 * of several packets, and replies that are sent window by window until they are acknowledged. No
 * sockets and no clock: packets go through a function, time is a parameter.
 * doc/protocols/archie-prospero.md has every octet. */
#pragma once
#include "base/buf.h"
#include "base/str.h"

enum {
	ARDP_HEADER_MOST = 31,   /* octets that are read; what we send has at most 20 */
	ARDP_TEXT_MOST = 1250,   /* octets of text in a packet of a reply */
	ARDP_PACKET_MOST = 2048, /* octets of a packet that is read */
	ARDP_WINDOW = 16,
	ARDP_WINDOW_MOST = 256,   /* that a client may ask for */
	ARDP_DICE = 8,            /* ends that a window may have which is to prove something */
	ARDP_PARTS_MOST = 16,     /* packets of a request */
	ARDP_REPLY_MOST = 0xffff, /* packets of a reply */
};

enum { ARDP_ACK = 0x80, ARDP_CONTROL = 0x40 }; /* flags */

enum ardp_option {
	ARDP_NOTHING = 0,
	ARDP_CANCEL = 1, /* of a server: refused */
	ARDP_RESET = 2,  /* received-through counts though it is less than before */
	ARDP_ASK_STATUS = 253,
	ARDP_STATUS = 254,
};

struct ardp_packet {
	uint16_t cid;
	uint16_t number; /* 0: a control packet, never data */
	uint16_t total;  /* 0: not known yet */
	uint16_t through;
	uint16_t wait_s;
	uint8_t flags, option;
	int16_t priority;
	uint16_t window; /* 0: not told */
	/* of ARDP_STATUS */
	uint16_t position;
	uint32_t seconds;
	struct str data;
};

/* data lies in the bytes. false: it is no packet of this version, or its header is cut inside of a
 * field. Fields that a server has no use for are passed over; after an extra address, whose length
 * nobody tells, nothing is read. */
bool ardp_parse(struct str bytes, struct ardp_packet *ret) MUST_USE;
/* The first `length` octets of its header: 3, 7, 9, 11, 12 or 13; with ARDP_STATUS 20. */
struct ardp_header {
	unsigned char b[20];
	size_t n;
};
struct ardp_header ardp_header(const struct ardp_packet *p, size_t length);

/* A request of several packets. */
struct ardp_parts {
	struct str part[ARDP_PARTS_MOST]; /* ours; p NULL: not there */
	uint16_t total, through;
};
/* Whether it can be part of any request at all. */
bool ardp_part_fits(const struct ardp_packet *packet) MUST_USE;
/* 0: all are there. 1: more have to come; `through` is what is there without a gap. Negative: too
 * many, or they contradict each other; nothing changed. */
int ardp_parts_add(struct ardp_parts *p, const struct ardp_packet *packet);
void ardp_parts_join(const struct ardp_parts *p, struct buf *out);
void ardp_parts_free(struct ardp_parts *p);

/* A reply, kept as long as its client may ask for it again. */
struct ardp_reply {
	/* Set by the owner. */
	uint16_t cid, through;   /* of the request */
	uint16_t window;         /* that the client asked for; 0: the usual */
	bool waited, back_quick; /* it was told to wait; and wants 0, not 5, to forget that */
	struct buf text;         /* whole lines, none longer than ARDP_TEXT_MOST */
	/* From here on its own, to be read. */
	uint32_t *end; /* of each packet, in the text */
	uint16_t total, acked, sent;
	uint16_t stop;   /* where the window ends that is being sent */
	uint16_t opened; /* what was acknowledged when that window was opened */
	uint16_t proof;  /* the window's end, if an ack of just that proves something; 0: no */
	uint16_t proof_from;
	bool proves;    /* a window was to prove something: from then on all ask for acks */
	uint16_t again; /* the first packet that has to be sent again; 0: none */
	bool asked;     /* an ack is wanted */
	unsigned tries;
	int64_t last_us; /* when something was sent last */
	int64_t due_us;  /* when ardp_reply_due() wants to be called; INT64_MAX: never */
};

/* Where packets go. send: 0, or the time in us after which there is room for it again; it is not
 * sent then. The text stays where it is until the reply is freed. */
struct ardp_out {
	int64_t (*send)(void *ctx, const struct ardp_header *header, struct str text);
	void *ctx;
	/* 0: a window that is opened now ends as usual. 1 to ARDP_DICE, at random: it ends dice - 1
	 * packets early, and asks for an ack. Only those who receive it know where it ends. */
	unsigned dice;
};

/* Divides the text into packets and sends the first window. An empty text is one packet. More
 * packets than ARDP_REPLY_MOST are cut off. */
void ardp_reply_begin(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out);
/* A packet of the client that is not its request: an ack. Returns how many octets of text it proves
 * to have arrived: those of a window whose end was thrown, if no other end was claimed before. An
 * ack of what was never sent is a lie, and changes nothing else. */
size_t ardp_reply_ack(struct ardp_reply *r, const struct ardp_packet *p, int64_t now_us,
		      const struct ardp_out *out);
/* The request once more: what it does not say that it has is sent again, at most each second. */
void ardp_reply_again(struct ardp_reply *r, const struct ardp_packet *p, int64_t now_us,
		      const struct ardp_out *out);
void ardp_reply_due(struct ardp_reply *r, int64_t now_us, const struct ardp_out *out);
void ardp_reply_free(struct ardp_reply *r);
