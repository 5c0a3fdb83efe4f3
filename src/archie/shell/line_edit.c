/* Edits one line. The screen is updated with as few bytes as possible: a character typed at the end
 * is echoed, one erased at the end is overwritten with a blank, and any other change redraws the
 * line after a CR. A line has a few hundred bytes at most, so anything cleverer would not pay.
 *
 * Columns are counted in characters of UTF-8, each assumed to be one column wide. */
#include "archie/shell/line_edit.h"

#include "base/ascii.h"

enum { PROMPT_MOST = 512, WIDTH_LEAST = 8 };
enum { KEY_TAB = '\t', KEY_ESC = 0x1b, KEY_DEL = 0x7f };
#define CTRL(c) ((c) - '@')

enum sequence { NO_SEQUENCE, AFTER_ESC, AFTER_CSI, AFTER_SS3 };

struct line_edit {
	size_t most;
	bool edits;
	unsigned cols;
	char erase;
	enum sequence sequence; /* of keys */
	unsigned number;        /* in it */
	struct buf prompt, line;
	size_t at;    /* the cursor, in bytes */
	size_t left;  /* the first byte that is shown */
	size_t shown; /* columns of the line that are on the screen */
	char *past[LINE_EDIT_HISTORY];
	size_t npast, back; /* how many lines back we are; 0: the one that is typed */
	char *typed;        /* that one, while another is shown */
};

struct line_edit *line_edit_new(size_t most)
{
	struct line_edit *e = mem_alloc(sizeof *e);
	*e = (struct line_edit){.most = most,
				.cols = 80,
				.erase = '\b',
				.prompt = BUF_INIT(PROMPT_MOST),
				.line = BUF_INIT(most)};
	return e;
}

void line_edit_free(struct line_edit **ep)
{
	struct line_edit *e = *ep;
	if (!e)
		return;
	for (size_t i = 0; i < e->npast; i++)
		mem_free(&e->past[i]);
	mem_free(&e->typed);
	buf_free(&e->prompt);
	buf_free(&e->line);
	mem_free(ep);
}

void line_edit_mode(struct line_edit *e, bool edits)
{
	e->edits = edits;
}

void line_edit_columns(struct line_edit *e, unsigned cols)
{
	e->cols = cols;
}

void line_edit_erase(struct line_edit *e, char c)
{
	e->erase = c;
}

struct str line_edit_text(const struct line_edit *e)
{
	return buf_str(&e->line);
}

/* Places in the line. */

static bool inside_character(const struct line_edit *e, size_t at)
{
	return at < e->line.n && ((unsigned char)e->line.p[at] & 0xc0) == 0x80;
}

static size_t place_before(const struct line_edit *e, size_t at)
{
	do
		at -= at > 0;
	while (at > 0 && inside_character(e, at));
	return at;
}

static size_t place_after(const struct line_edit *e, size_t at)
{
	do
		at += at < e->line.n;
	while (inside_character(e, at));
	return at;
}

static size_t word_before(const struct line_edit *e, size_t at)
{
	while (at > 0 && ascii_is_blank(e->line.p[at - 1]))
		at--;
	while (at > 0 && !ascii_is_blank(e->line.p[at - 1]))
		at--;
	return at;
}

static size_t columns_between(const struct line_edit *e, size_t from, size_t to)
{
	size_t n = 0;
	for (size_t i = from; i < to; i++)
		n += !inside_character(e, i);
	return n;
}

/* The screen. */

static size_t columns_left(const struct line_edit *e)
{
	size_t prompt = str_utf8_count(buf_str(&e->prompt));
	return MAX(e->cols > prompt + 1 ? e->cols - prompt - 1 : 0, (size_t)WIDTH_LEAST);
}

/* Draws all of it, from the beginning of the row. */
static void draw_line(struct line_edit *e, struct buf *out)
{
	size_t width = columns_left(e), end;
	if (e->left > e->at)
		e->left = e->at;
	while (columns_between(e, e->left, e->at) >= width)
		e->left = place_after(e, e->left);
	for (end = e->left; end < e->line.n && columns_between(e, e->left, end) + 1 < width;)
		end = place_after(e, end);
	size_t now = columns_between(e, e->left, end);
	buf_add_byte(out, '\r');
	buf_add_str(out, buf_str(&e->prompt));
	for (size_t i = e->left; i < end; i++) /* some may be from before there was editing */
		buf_add_byte(out, ascii_is_control(e->line.p[i]) ? '?' : e->line.p[i]);
	buf_fill(out, ' ', e->shown > now ? e->shown - now : 0);
	size_t back = MAX(e->shown, now) - columns_between(e, e->left, e->at);
	buf_fill(out, '\b', back);
	e->shown = now;
}

void line_edit_begin(struct line_edit *e, struct str prompt, struct buf *out)
{
	buf_clear(&e->prompt);
	buf_add_str(&e->prompt, str_head(prompt, PROMPT_MOST));
	buf_clear(&e->line);
	e->at = e->left = e->shown = e->back = 0;
	e->sequence = NO_SEQUENCE;
	mem_free(&e->typed);
	buf_add_str(out, buf_str(&e->prompt));
}

/* Changes. */

static void put_line(struct line_edit *e, struct str text, struct buf *out)
{
	buf_clear(&e->line);
	buf_add_str(&e->line, str_head(text, e->most));
	e->at = e->line.n;
	draw_line(e, out);
}

static void cut_out(struct line_edit *e, size_t from, size_t to, struct buf *out)
{
	bool last = to == e->line.n && to == e->at && columns_between(e, from, to) == 1 &&
		    columns_between(e, e->left, to) == e->shown && e->left < from;
	if (from == to)
		return;
	memmove(e->line.p + from, e->line.p + to, e->line.n - to);
	e->line.n -= to - from;
	e->line.p[e->line.n] = 0;
	e->at = from;
	if (!last) {
		draw_line(e, out);
		return;
	}
	buf_add_text(out, "\b \b");
	e->shown--;
}

static void put_character(struct line_edit *e, char c, struct buf *out)
{
	if (e->line.n == e->most) {
		buf_add_byte(out, '\a');
		return;
	}
	buf_add_byte(&e->line, c);
	memmove(e->line.p + e->at + 1, e->line.p + e->at, e->line.n - 1 - e->at);
	e->line.p[e->at++] = c;
	size_t now = columns_between(e, e->left, e->line.n);
	if (e->at != e->line.n || now >= columns_left(e)) {
		draw_line(e, out);
		return;
	}
	buf_add_byte(out, c);
	e->shown = now;
}

static void move_to(struct line_edit *e, size_t at, struct buf *out)
{
	if (at == e->at)
		return;
	e->at = at;
	draw_line(e, out);
}

/* History. */

void line_edit_remember(struct line_edit *e, struct str line)
{
	line = str_head(line, e->most);
	if (e->npast && str_eq(line, str_of(e->past[e->npast - 1])))
		return;
	if (e->npast == LINE_EDIT_HISTORY) {
		mem_free(&e->past[0]);
		memmove(e->past, e->past + 1, (LINE_EDIT_HISTORY - 1) * sizeof *e->past);
		e->npast--;
	}
	e->past[e->npast++] = str_dup(line);
}

static void go_back(struct line_edit *e, size_t back, struct buf *out)
{
	if (back == e->back || back > e->npast)
		return;
	if (e->back == 0) {
		mem_free(&e->typed);
		e->typed = str_dup(buf_str(&e->line));
	}
	e->back = back;
	put_line(e, str_of(back ? e->past[e->npast - back] : e->typed), out);
}

/* Keys. */

/* false: not one of ours. */
static bool take_control(struct line_edit *e, char c, struct buf *out)
{
	if (c == CTRL('A'))
		move_to(e, 0, out);
	else if (c == CTRL('B'))
		move_to(e, place_before(e, e->at), out);
	else if (c == CTRL('D'))
		cut_out(e, e->at, place_after(e, e->at), out);
	else if (c == CTRL('E'))
		move_to(e, e->line.n, out);
	else if (c == CTRL('F'))
		move_to(e, place_after(e, e->at), out);
	else if (c == CTRL('K'))
		cut_out(e, e->at, e->line.n, out);
	else if (c == CTRL('L'))
		draw_line(e, out);
	else if (c == CTRL('N'))
		go_back(e, e->back ? e->back - 1 : 0, out);
	else if (c == CTRL('P'))
		go_back(e, e->back + 1, out);
	else if (c == CTRL('U'))
		cut_out(e, 0, e->at, out);
	else if (c == CTRL('W'))
		cut_out(e, word_before(e, e->at), e->at, out);
	else if (c == KEY_ESC)
		e->sequence = AFTER_ESC;
	else
		return ascii_is_control(c) && c != KEY_TAB;
	return true;
}

/* One that ends a sequence: ESC [ A, ESC O A, ESC [ 3 ~. It does what a control character does. */
static void take_sequence(struct line_edit *e, char c, struct buf *out)
{
	static const char arrows[] = "ABCDHF", control[] = "PNFBAE"; /* Home and End as well */
	static const char numbered[] = {0, 'A', 0, 'D', 'E', 0, 0, 'A', 'E'};
	const char *arrow = c ? strchr(arrows, c) : NULL;
	char key = arrow ? control[arrow - arrows] : 0;
	if (c == '~' && e->number < sizeof numbered)
		key = numbered[e->number];
	e->sequence = NO_SEQUENCE;
	if (key)
		(void)take_control(e, (char)CTRL(key), out);
}

static void go_on_with_sequence(struct line_edit *e, char c, struct buf *out)
{
	enum { NUMBER_MOST = 1000 };
	if (e->sequence == AFTER_ESC && (c == '[' || c == 'O')) {
		e->sequence = c == '[' ? AFTER_CSI : AFTER_SS3;
		e->number = 0;
	} else if (e->sequence == AFTER_CSI && c >= '0' && c <= '9') {
		e->number = MIN(e->number * 10 + (unsigned)(c - '0'), NUMBER_MOST);
	} else if (e->sequence == AFTER_CSI && c >= ' ' && c < '@') {
		/* what modifies a key; the key counts alone */
	} else if (e->sequence == AFTER_ESC) {
		e->sequence = NO_SEQUENCE;
	} else {
		take_sequence(e, c, out);
	}
}

static enum line_event take_key(struct line_edit *e, char c, struct buf *out)
{
	if (c == CTRL('C'))
		return LINE_INTERRUPT;
	if (e->sequence != NO_SEQUENCE)
		go_on_with_sequence(e, c, out);
	else if (c == '\b' || c == KEY_DEL || c == e->erase)
		cut_out(e, place_before(e, e->at), e->at, out);
	else if (c == CTRL('D') && e->line.n == 0)
		return LINE_END;
	else if (!take_control(e, c, out))
		put_character(e, c == KEY_TAB ? ' ' : c, out);
	return LINE_MORE;
}

enum line_event line_edit_byte(struct line_edit *e, char c, struct buf *out)
{
	if (c == '\n') {
		if (e->edits)
			buf_add_byte(out, '\n');
		return LINE_DONE;
	}
	if (e->edits)
		return take_key(e, c, out);
	if (e->line.n < e->most)
		buf_add_byte(&e->line, c);
	e->at = e->line.n;
	return LINE_MORE;
}
