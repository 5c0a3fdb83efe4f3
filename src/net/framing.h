/* Framing: splits a stream that arrives in pieces into lines or messages. How the stream was cut
 * makes no difference. A complete frame is returned where it lies; only the beginning of an
 * incomplete one is copied, so between frames nothing is held.
 *
 *	framing_put(&f, piece);
 *	while ((rc = framing_next(&f, &frame)) == 0) ...   may stop early, go on without a put
 *	framing_keep(&f);                                  before the piece is gone
 *
 * A frame is valid until the next call. */
#pragma once
#include "base/buf.h"

enum framing_mode { FRAMING_LINES, FRAMING_PIECES, FRAMING_MESSAGES };

struct message_wire;

struct framing {
	size_t line_max; /* bytes of a line without its LF or CRLF */
	enum framing_mode mode;
	const struct message_wire *wire; /* of FRAMING_MESSAGES */
	struct str data;                 /* the piece, or held */
	size_t at;                       /* where the next frame begins */
	size_t scanned;                  /* bytes after `at` that have no LF */
	struct buf held;
};

/* At most held_max bytes are kept: no piece may bring more. A line that is not complete holds at
 * most line_max + 1 bytes. */
void framing_init(struct framing *f, size_t line_max, size_t held_max);
/* In place of framing_init(): frames are whole messages of this wire (base/message.h), out of
 * pieces of at most piece_max bytes. Anything else is a frame too, for message_read() to refuse:
 * after it the stream is unusable. */
void framing_messages(struct framing *f, const struct message_wire *wire, size_t piece_max);
/* Frames after the last one taken are of this wire. Its longest message is not shorter than before.
 */
void framing_switch(struct framing *f, const struct message_wire *wire);
void framing_free(struct framing *f);

/* All frames that were complete must have been taken, or the piece be empty. */
void framing_put(struct framing *f, struct str piece);
/* 0: *ret is a line without its end, or a piece; 1: it is not complete yet; negative: a line longer
 * than line_max, and so again if asked again. */
int framing_next(struct framing *f, struct str *ret);
void framing_keep(struct framing *f);

/* From here on frames are whatever arrives, in pieces. */
void framing_pieces(struct framing *f);

static inline size_t framing_waiting(const struct framing *f)
{
	return f->data.n - f->at;
}
