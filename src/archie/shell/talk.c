/* A person at the shell, over an interface that reads and writes bytes. Either a line is being
 * typed or a command runs. While a command runs, input is kept for later, except that ^C is noticed
 * at once. */
#include "archie/talk.h"

#include "archie/shell/line_edit.h"
#include "base/clock.h"

enum {
	AHEAD_MOST = 4096, /* typed ahead; the rest waits where it is */
	PIECE_BYTES = 4096,
	OUT_MOST = 64 << 10,
	TYPE_MOST = 40,
	CTRL_C = 3,
};

struct talk {
	struct talk_options o;
	struct shell_ops shell_ops;
	struct shell *shell;
	struct line_edit *edit;
	struct buf out;
	bool keys;
	bool interrupted; /* since the last line */
	bool ended;       /* no more will come */
	bool gone;        /* the reader has gone */
	bool after_cr;    /* a LF or NUL that comes next belongs to it */
	bool waiting;     /* "working..." is on the screen */
	unsigned spins;
	const char *reason; /* why the server ends it; NULL: it does not */
	int64_t heard_us;   /* when something was last typed, or asked for */
	unsigned rows, cols;
	bool pager;
	unsigned row; /* of the page that is being filled */
	struct shell_terminal now;
	char type[TYPE_MOST];
	bool told; /* the shell knows what is in `now` */
	char ahead[AHEAD_MOST];
	size_t n, at;
};

/* Output. */

static void put_text(struct talk *t, struct str text)
{
	if (!t->gone && text.n)
		t->gone = !t->o.ops->write(t->o.ctx, text);
}

static void put_out(struct talk *t)
{
	put_text(t, buf_str(&t->out));
	buf_clear(&t->out);
}

/* The spinner is on a line of its own, which goes away. */
static void clear_waiting(struct talk *t)
{
	if (t->waiting)
		put_text(t, STR("\r              \r"));
	t->waiting = false;
}

/* Input. */

static int64_t logout_us(const struct talk *t)
{
	return t->heard_us + (int64_t)shell_number(t->shell, "autologout") * US_PER_MIN;
}

static bool is_over(const struct talk *t)
{
	return t->gone || t->reason;
}

/* Reads more, after what is typed ahead, if there is room. 0: there may be more of it. 1: no more
 * will come, or there is no room for it. Negative: it is time. */
static int read_ahead(struct talk *t, int64_t until_us)
{
	size_t n = 0;
	if (t->at > 0) {
		memmove(t->ahead, t->ahead + t->at, t->n - t->at);
		t->n -= t->at;
		t->at = 0;
	}
	if (t->ended || t->n == AHEAD_MOST)
		return 1;
	int rc = t->o.ops->read(t->o.ctx, until_us, t->ahead + t->n, AHEAD_MOST - t->n, &n);
	if (rc == 1)
		t->ended = true;
	if (n > 0)
		t->heard_us = clock_mono_us();
	t->n += n;
	return rc;
}

/* Looks for ^C where there is no room for more: what comes is lost, but for ^C and what follows it.
 */
static void look_beyond(struct talk *t)
{
	char piece[256];
	size_t n = 0;
	if (t->o.ops->read(t->o.ctx, 0, piece, sizeof piece, &n) == 1)
		t->ended = true;
	for (size_t i = n; i > 0; i--)
		if (piece[i - 1] == CTRL_C) {
			t->interrupted = true;
			t->at = 0;
			t->n = n - i;
			memcpy(t->ahead, piece + i, t->n);
			break;
		}
}

/* While a command runs: takes what has come, and looks for ^C in it, which drops what was typed
 * before. */
static bool wants_to_stop(struct talk *t)
{
	size_t seen = t->n - t->at;
	if (t->keys && !t->ended && seen == AHEAD_MOST)
		look_beyond(t);
	else
		(void)read_ahead(t, 0);
	for (size_t i = t->n; t->keys && i > t->at + seen; i--)
		if (t->ahead[i - 1] == CTRL_C) {
			t->interrupted = true;
			t->at = i;
			break;
		}
	return t->interrupted || is_over(t);
}

/* CR, LF, CR LF and CR NUL are one line end. */
static bool is_byte(struct talk *t, char *c)
{
	bool belongs = t->after_cr && (*c == '\n' || *c == 0);
	t->after_cr = *c == '\r';
	if (*c == '\r')
		*c = '\n';
	return !belongs;
}

/* 0: the next byte. 1: none will come. Negative: ^C, the server ends it, or the time is over. */
static int next_byte(struct talk *t, char *ret)
{
	while (!t->interrupted && !is_over(t)) {
		if (t->at < t->n) {
			*ret = t->ahead[t->at++];
			if (is_byte(t, ret))
				return 0;
			continue;
		}
		if (t->ended)
			return 1;
		if (read_ahead(t, logout_us(t)) < 0)
			t->reason = "auto-logout";
	}
	return -1;
}

/* Pages. */

/* How much of the text fits into what is left of the page. */
static size_t fill_page(struct talk *t, struct str text)
{
	size_t n = 0;
	while (n < text.n) {
		size_t line = str_find_byte(str_from(text, n), '\n');
		size_t columns = str_utf8_count(str_head(str_from(text, n), line));
		unsigned rows = (unsigned)(MAX(columns, (size_t)1) - 1) / MAX(t->cols, 1u) + 1;
		if (t->row > 0 && t->row + rows >= t->rows)
			break;
		t->row += rows;
		n = MIN(n + line + 1, text.n);
	}
	return n;
}

/* Blank: the next page; Return: the next line; q: no more. Where lines come whole, Return is the
 * next page. false: no more. */
static bool turn_page(struct talk *t)
{
	char c = 0, first = 0;
	put_text(t, STR("--More--"));
	t->heard_us = MAX(t->heard_us, clock_mono_us());
	int rc = next_byte(t, &c);
	first = c;
	while (!t->keys && rc == 0 && c != '\n')
		rc = next_byte(t, &c);
	if (t->keys)
		put_text(t, STR("\r        \r"));
	if (t->keys && rc == 0 && (first == CTRL_C || first == 4))
		t->interrupted = true;
	if (rc != 0 || t->interrupted || first == 'q' || first == 'Q')
		return false;
	bool line = t->keys && first == '\n';
	t->row = line && t->rows > 2 ? t->rows - 2 : 0;
	return true;
}

static bool put_pages(struct talk *t, struct str text)
{
	for (;;) {
		size_t n = fill_page(t, text);
		put_text(t, str_head(text, n));
		text = str_from(text, n);
		if (text.n == 0 || is_over(t))
			return !is_over(t);
		if (!turn_page(t))
			return false;
	}
}

static bool talk_print(void *ctx, struct str text, enum shell_text what)
{
	struct talk *t = ctx;
	clear_waiting(t);
	if (what == SHELL_NOTICE) {
		put_text(t, text);
		return !t->gone;
	}
	if (t->interrupted || is_over(t))
		return false;
	if (t->pager && t->o.prompts && !t->ended)
		return put_pages(t, text);
	while (text.n) {
		struct str piece = str_head(text, PIECE_BYTES);
		put_text(t, piece);
		text = str_from(text, piece.n);
		if (text.n && wants_to_stop(t))
			return false;
	}
	return !t->gone;
}

/* Asking. */

static void talk_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct talk *t = ctx;
	CLEANUP(buf_free) struct buf text = BUF_INIT(512);
	shell_queue_text(position, seconds, &text);
	clear_waiting(t);
	put_text(t, buf_str(&text));
}

/* Called every half second while it waits, and when something was typed; also turns the spinner,
 * for anyone who has `status` set. */
static bool talk_stop(void *ctx)
{
	struct talk *t = ctx;
	if (wants_to_stop(t))
		return true;
	if (t->keys && shell_value(t->shell, "status").p && t->spins++ > 0) {
		char spin[] = {SHELL_SPINNER[t->spins % 2], 0};
		put_text(t, str_of(t->waiting ? "\b" : SHELL_WORKING));
		put_text(t, str_of(spin));
		t->waiting = true;
	}
	return is_over(t);
}

static int talk_ask(void *ctx, const struct archie_ask *ask, struct arena *arena,
		    struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err)
{
	struct talk *t = ctx;
	const struct archie_wait wait = {.queued = talk_queued,
					 .stop = talk_stop,
					 .every_us = SHELL_SPIN_US,
					 .fd = t->o.fd,
					 .ctx = t};
	t->spins = 0;
	int rc = archie_call(t->o.archie, ask, &wait, arena, ret, ret_why, err);
	clear_waiting(t);
	return rc;
}

static int talk_mail(void *ctx, const struct shell_mail *mail, struct err *err)
{
	struct talk *t = ctx;
	return t->o.ops->mail(t->o.ctx, mail, err);
}

static int talk_new_site(void *ctx, struct str host, struct err *err)
{
	struct talk *t = ctx;
	return t->o.ops->new_site(t->o.ctx, host, err);
}

/* The terminal. */

static void shell_has_terminal(void *ctx, const struct shell_terminal *terminal)
{
	struct talk *t = ctx;
	t->rows = terminal->rows;
	t->cols = terminal->cols;
	t->pager = terminal->pager;
	line_edit_columns(t->edit, t->cols);
}

static void shell_has_erase(void *ctx, char c)
{
	struct talk *t = ctx;
	line_edit_erase(t->edit, c);
}

/* Not while a command runs, which may be looking at the variable. */
static void tell_shell(struct talk *t)
{
	if (t->told)
		return;
	t->told = true;
	shell_terminal_is(t->shell, &t->now);
	line_edit_columns(t->edit, t->cols);
}

void talk_terminal(struct talk *t, const struct shell_terminal *terminal)
{
	size_t n = MIN(terminal->type.n, (size_t)TYPE_MOST);
	if (n)
		memcpy(t->type, terminal->type.p, n);
	t->now = (struct shell_terminal){{t->type, n}, terminal->rows, terminal->cols, false};
	if (terminal->rows > 1 && terminal->cols > 1) {
		t->rows = terminal->rows;
		t->cols = terminal->cols;
	}
	t->told = false;
}

void talk_keys(struct talk *t, bool keys)
{
	t->keys = keys;
	line_edit_mode(t->edit, keys);
}

void talk_interrupt(struct talk *t)
{
	t->interrupted = true;
	t->at = t->n;
}

void talk_leave(struct talk *t, const char *reason)
{
	t->reason = reason;
}

/* Lines. */

/* 0: a line, or the beginning of one before the end. 1: the end. Negative: as next_byte(). */
static int read_line(struct talk *t)
{
	char c;
	int rc;
	while ((rc = next_byte(t, &c)) == 0) {
		tell_shell(t);
		enum line_event event = line_edit_byte(t->edit, c, &t->out);
		if (t->at == t->n || event != LINE_MORE || t->out.n > PIECE_BYTES)
			put_out(t);
		if (event == LINE_INTERRUPT)
			t->interrupted = true;
		else if (event == LINE_DONE)
			return 0;
		else if (event == LINE_END)
			return 1;
	}
	return rc == 1 && line_edit_text(t->edit).n ? 0 : rc;
}

static int run_line(struct talk *t)
{
	struct str line = line_edit_text(t->edit);
	if (t->keys && shell_remembers(line))
		line_edit_remember(t->edit, line);
	return shell_line(t->shell, line);
}

/* Takes a line, and runs it. 1: the user leaves. */
static int take_line(struct talk *t)
{
	t->interrupted = false;
	t->row = 0;
	tell_shell(t);
	t->heard_us = clock_mono_us();
	line_edit_begin(t->edit, t->o.prompts ? shell_prompt(t->shell) : STR(""), &t->out);
	put_out(t);
	int rc = read_line(t);
	if (rc == 0)
		return run_line(t);
	if (t->o.prompts)
		put_text(t, STR("\n"));
	if (is_over(t))
		return 1;
	if (t->interrupted) {
		shell_interrupt(t->shell);
		return 0;
	}
	return shell_eof(t->shell);
}

void talk_run(struct talk *t)
{
	struct err err;
	tell_shell(t);
	shell_begin(t->shell);
	while (!is_over(t) && take_line(t) == 0)
		;
	if (t->reason) {
		buf_printf(&t->out, "# %s\n", t->reason);
		put_out(t);
	}
	(void)shell_end(t->shell, &err);
}

/* Beginning and end. */

struct talk *talk_new(const struct talk_options *options)
{
	struct talk *t = mem_alloc(sizeof *t);
	t->o = *options;
	t->out = BUF_INIT(OUT_MOST);
	t->told = true;
	t->edit = line_edit_new(SHELL_LINE_MOST + 1);
	t->shell_ops = (struct shell_ops){.print = talk_print,
					  .ask = talk_ask,
					  .mail = options->ops->mail ? talk_mail : NULL,
					  .new_site = options->ops->new_site ? talk_new_site : NULL,
					  .terminal = shell_has_terminal,
					  .erase = shell_has_erase};
	t->o.shell.ops = &t->shell_ops;
	t->o.shell.ctx = t;
	t->shell = shell_new(&t->o.shell);
	return t;
}

struct shell *talk_shell(struct talk *t)
{
	return t->shell;
}

void talk_free(struct talk **tp)
{
	struct talk *t = *tp;
	if (!t)
		return;
	shell_free(&t->shell);
	line_edit_free(&t->edit);
	buf_free(&t->out);
	mem_free(tp);
}
