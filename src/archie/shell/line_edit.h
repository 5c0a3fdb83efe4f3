/* Editing of a line: takes bytes, returns the line and what the terminal must show. No input or
 * output of its own. There are two modes, which may change at any byte:
 *
 *   editing       echoes characters; keys move, erase, and bring back earlier lines
 *   not editing   the peer sends finished lines: takes bytes up to a line end
 *
 * Any terminal that knows CR and BS will do. Of a line longer than the screen, a part is shown.
 * Keys are those of emacs, and the arrows. */
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

/* most: bytes of a line; more are dropped. */
struct line_edit *line_edit_new(size_t most);
void line_edit_free(struct line_edit **e);

void line_edit_mode(struct line_edit *e, bool edits);       /* off at first */
void line_edit_columns(struct line_edit *e, unsigned cols); /* of the terminal; at first 80 */
void line_edit_erase(struct line_edit *e, char c);          /* erases, in addition to ^H and DEL */

/* Begins a line and adds the prompt to `out`. */
void line_edit_begin(struct line_edit *e, struct str prompt, struct buf *out);
/* Takes a byte; "\n" ends the line. Adds to `out` what the terminal must show. */
enum line_event line_edit_byte(struct line_edit *e, char c, struct buf *out);
struct str line_edit_text(const struct line_edit *e); /* valid until the next byte */
/* Adds a line to the history, unless it equals the last one. */
void line_edit_remember(struct line_edit *e, struct str line);
