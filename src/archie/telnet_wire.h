/* Telnet as it is on the wire: bytes of a connection become what was typed, and text becomes bytes.
 * Options by libtelnet: ECHO and SGA are offered, NAWS and TTYPE asked for, all others refused. No
 * input or output. A peer that answers no option (nc) is one that sends whole lines. */
#pragma once
#include "base/buf.h"

enum {
	TELNET_PIECE_MOST = 1024,    /* bytes that are taken at once */
	TELNET_TYPE_MOST = 40,       /* of a terminal's type */
	TELNET_COMMANDS_MOST = 1000, /* commands and answers to options within 10 s; more end it */
};

struct telnet_wire {
	struct buf typed; /* for the caller to take and clear, like the next */
	struct buf out;   /* to be sent as it is */
	bool keys; /* the peer leaves the echo to us: it sends each character as it is typed */
	unsigned rows, cols;             /* 0: not known */
	char type[TELNET_TYPE_MOST + 1]; /* in lower case; "": not known */
	bool changed;       /* size or type did, since the caller last put false here */
	bool interrupted;   /* by a command of telnet; the same. What was typed before it is dropped
			     */
	bool ended;         /* there will be no more input, says the peer */
	const char *broken; /* why it must be hung up on; NULL: all is well */
	/* From here on its own. */
	struct telnet_t *telnet;
	unsigned wanted; /* answers of the peer that are not here yet */
	int64_t since_us;
	unsigned commands; /* since then */
};

/* Puts our options into `out`. */
void telnet_wire_init(struct telnet_wire *w);
void telnet_wire_done(struct telnet_wire *w);
/* At most TELNET_PIECE_MOST bytes of the peer. now_us: of any clock that does not go back. */
void telnet_wire_take(struct telnet_wire *w, struct str bytes, int64_t now_us);
/* Whether the peer has agreed to all that we asked for; refusals do not count as answers. */
bool telnet_wire_settled(const struct telnet_wire *w);

/* Text as a terminal at the other end shows it: "\n" begins a line, "\r" and bytes of 255 are what
 * they are. */
void telnet_text(struct str text, struct buf *out);
