/* Telnet on the wire: turns bytes of a connection into what was typed, and text into bytes. Options
 * are libtelnet's: it offers ECHO and SGA, asks for NAWS and TTYPE, and refuses all others. No
 * input or output. A peer that answers no option (nc) sends whole lines. */
#pragma once
#include "base/buf.h"

enum {
	TELNET_PIECE_MOST = 1024,    /* most bytes at once */
	TELNET_TYPE_MOST = 40,       /* of a terminal's type */
	TELNET_COMMANDS_MOST = 1000, /* most commands and answers to options in 10 s */
};

struct telnet_wire {
	struct buf typed;                /* for the caller to consume, like `out` */
	struct buf out;                  /* to be sent as it is */
	bool keys;                       /* we echo: the peer sends each character as it is typed */
	unsigned rows, cols;             /* 0: not known */
	char type[TELNET_TYPE_MOST + 1]; /* in lower case; "": not known */
	bool changed;                    /* size or type changed; the caller resets it */
	bool interrupted;   /* by a telnet command; the same. Earlier input is dropped */
	bool ended;         /* the peer sent its end of input */
	const char *broken; /* why to disconnect; NULL: do not */
	/* From here on its own. */
	struct telnet_t *telnet;
	unsigned wanted; /* options that the peer has not answered */
	int64_t since_us;
	unsigned commands; /* since then */
};

/* Puts our options into `out`. */
void telnet_wire_init(struct telnet_wire *w);
void telnet_wire_done(struct telnet_wire *w);
/* Takes at most TELNET_PIECE_MOST bytes of the peer. now_us: of any monotonic clock. */
void telnet_wire_take(struct telnet_wire *w, struct str bytes, int64_t now_us);
/* Whether the peer has agreed to all options; refusals do not count as answers. */
bool telnet_wire_settled(const struct telnet_wire *w);

/* Escapes text for the peer's terminal: "\n" becomes CR LF; "\r" and bytes of 255 are sent as such.
 */
void telnet_text(struct str text, struct buf *out);
