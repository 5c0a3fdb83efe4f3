/* A line as it is typed: bytes come in, out come the line and what the terminal has to show. It
 * reads and writes nothing itself. Two ways, and it may change from one to the other at any byte:
 *
 *   editing       characters are echoed, keys move and erase, and lines of before come back
 *   not editing   the sender has edited it already, or is a program: bytes up to a line end
 *
 * The terminal need know no more than CR and BS, so a dumb one will do. A line that is longer than
 * the screen is shown in part. Keys are those of emacs, and the arrows. */
#pragma once
#include "base/buf.h"

enum { LINE_EDIT_HISTORY = 50 };

enum line_event {
	LINE_MORE,
	LINE_DONE,      /* line_edit_text() is the line */
	LINE_INTERRUPT, /* ^C, while editing */
	LINE_END,       /* ^D in an empty line, while editing */
};

struct line_edit;

/* most: bytes of a line that are kept; what comes after them is dropped. */
struct line_edit *line_edit_new(size_t most);
void line_edit_free(struct line_edit **e);

void line_edit_mode(struct line_edit *e, bool edits);       /* at first it does not */
void line_edit_columns(struct line_edit *e, unsigned cols); /* of the terminal; at first 80 */
void line_edit_erase(struct line_edit *e, char c);          /* erases, in addition to ^H and DEL */

/* A new line. The prompt is shown where it returns: at the end of `out`. */
void line_edit_begin(struct line_edit *e, struct str prompt, struct buf *out);
/* One byte; "\n" ends the line. What it makes the terminal show is added to `out`: "\n" ends a
 * line, "\r" and "\b" are meant as they are. */
enum line_event line_edit_byte(struct line_edit *e, char c, struct buf *out);
struct str line_edit_text(const struct line_edit *e); /* good until the next byte */
/* For the keys that bring lines back; a line that is the last one already is kept once. */
void line_edit_remember(struct line_edit *e, struct str line);
