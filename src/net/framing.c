/* Framing. Frames are returned where they lie in the piece that was read. Only the beginning of an
 * incomplete frame is copied, so memory does not depend on how the stream was split. */
#include "net/framing.h"

#include "base/message.h"

void framing_init(struct framing *f, size_t line_max, size_t held_max)
{
	*f = (struct framing){.line_max = line_max, .data = STR(""), .held = BUF_INIT(held_max)};
}

void framing_messages(struct framing *f, const struct message_wire *wire, size_t piece_max)
{
	*f = (struct framing){.mode = FRAMING_MESSAGES,
			      .wire = wire,
			      .data = STR(""),
			      .held = BUF_INIT(message_wire_most(wire) + piece_max)};
}

void framing_switch(struct framing *f, const struct message_wire *wire)
{
	f->held.max += message_wire_most(wire) - message_wire_most(f->wire);
	f->wire = wire;
}

void framing_free(struct framing *f)
{
	buf_free(&f->held);
	f->data = STR("");
	f->at = f->scanned = 0;
}

/* Moves what waits to the front of held. */
static void held_compact(struct framing *f)
{
	size_t n = framing_waiting(f);
	memmove(f->held.p, f->held.p + f->at, n);
	f->held.n = n;
	f->at = 0;
	f->data = buf_str(&f->held);
}

void framing_put(struct framing *f, struct str piece)
{
	if (f->held.n == 0) {
		f->data = piece;
		return;
	}
	if (f->at)
		held_compact(f);
	buf_add_str(&f->held, piece);
	ENSURE(!f->held.over);
	f->data = buf_str(&f->held);
}

/* Many small frames may be left of a big piece, and taken one by one: moving them each time would
 * cost more than reading them. */
void framing_keep(struct framing *f)
{
	size_t n = framing_waiting(f);
	if (n == 0) {
		framing_free(f);
	} else if (f->held.n == 0) {
		buf_add(&f->held, f->data.p + f->at, n);
		ENSURE(!f->held.over);
		f->at = 0;
		f->data = buf_str(&f->held);
	} else if (f->at > n) {
		held_compact(f);
	}
}

static int next_line(struct framing *f, struct str *ret)
{
	size_t n = framing_waiting(f);
	const char *p = f->data.p + f->at;
	const char *lf = f->scanned < n ? memchr(p + f->scanned, '\n', n - f->scanned) : NULL;
	if (!lf) {
		/* one more than fits may yet turn out to be the CR */
		f->scanned = n;
		return n > f->line_max + 1 ? -1 : 1;
	}
	struct str line = str_range(p, lf);
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > f->line_max)
		return -1;
	f->at += (size_t)(lf - p) + 1;
	f->scanned = 0;
	*ret = line;
	return 0;
}

static int next_piece(struct framing *f, struct str *ret)
{
	*ret = (struct str){f->data.p + f->at, framing_waiting(f)};
	f->at += ret->n;
	return ret->n == 0;
}

static int next_message(struct framing *f, struct str *ret)
{
	struct str waiting = {f->data.p + f->at, framing_waiting(f)};
	int rc = waiting.n ? message_frame(f->wire, waiting, &waiting.n) : 1;
	if (rc > 0)
		return 1;
	f->at += waiting.n;
	*ret = waiting;
	return 0;
}

int framing_next(struct framing *f, struct str *ret)
{
	if (f->mode == FRAMING_MESSAGES)
		return next_message(f, ret);
	return f->mode == FRAMING_LINES ? next_line(f, ret) : next_piece(f, ret);
}

void framing_pieces(struct framing *f)
{
	f->mode = FRAMING_PIECES;
}
