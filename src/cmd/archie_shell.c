/* garner archie shell: the archive's shell at a terminal, or between pipes. It is the login shell
 * of an account without a password, so anyone may be at the other end: arguments and environment do
 * not count (struct command, bare), and before the first line is read the process can open no file
 * and execute nothing any more. What it still can do is talk to the queuer.
 *
 * Lines are edited by the terminal itself. */
#include "archie/archie_conf.h"
#include "archie/shell.h"
#include "base/clock.h"
#include "base/file.h"
#include "cmd/commands.h"
#include "extract/cage_door.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted; /* by ^C, since the last line */

static void take_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* Signals that a terminal sends: ^C is for what runs, the others would end or stop the only program
 * that its user has. */
static void own_signals(void)
{
	const struct sigaction take = {.sa_handler = take_interrupt}; /* poll() returns */
	const struct sigaction leave = {.sa_handler = SIG_IGN};
	sigaction(SIGINT, &take, NULL);
	sigaction(SIGQUIT, &leave, NULL);
	sigaction(SIGTSTP, &leave, NULL);
}

/* ^C waits from here on until somebody looks for it, so that none is lost in between. */
static void hold_interrupt(bool held)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

struct local {
	const struct cmd_call *call;
	struct archie *archie;
	struct shell *shell;
	struct shell_terminal terminal;
	bool in_tty, out_tty;
	bool gone;    /* nobody reads us any more */
	bool waiting; /* "working..." is on the screen */
	unsigned spins;
	char room[4096]; /* what was read */
	size_t n, at;
};

/* Output. */

static void put_text(struct local *l, struct str text)
{
	fwrite(text.p, 1, text.n, l->call->out);
	if (fflush(l->call->out) != 0)
		l->gone = true;
}

/* The spinner is on a line of its own, which goes away. */
static void clear_waiting(struct local *l)
{
	if (l->waiting)
		put_text(l, STR("\r              \r"));
	l->waiting = false;
}

static bool read_line(struct local *l, int64_t until_us, struct buf *ret);
static int64_t logout_us(const struct local *l);

/* A page at a time. Return shows the next, q leaves the rest out. */
static bool put_pages(struct local *l, struct str text)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(SHELL_LINE_MOST + 1);
	while (!l->gone && text.n) {
		size_t n = 0;
		for (unsigned row = 1; row < l->terminal.rows && n < text.n; row++)
			n += str_find_byte(str_from(text, n), '\n') + 1;
		put_text(l, str_head(text, n));
		text = str_from(text, n);
		if (text.n == 0)
			break;
		hold_interrupt(true);
		put_text(l, STR("--More--"));
		bool came = read_line(l, logout_us(l), &line);
		hold_interrupt(false);
		if (!came || str_starts(buf_str(&line), STR("q")))
			return false;
	}
	return true;
}

static bool local_print(void *ctx, struct str text, enum shell_text what)
{
	struct local *l = ctx;
	clear_waiting(l);
	if (interrupted && what != SHELL_NOTICE)
		return false;
	if (what != SHELL_NOTICE && l->terminal.pager && l->in_tty && l->out_tty)
		return put_pages(l, text);
	put_text(l, text);
	return !l->gone;
}

/* Asking. */

static void local_queued(void *ctx, uint64_t position, int64_t seconds)
{
	struct local *l = ctx;
	CLEANUP(buf_free) struct buf text = BUF_INIT(512);
	shell_queue_text(position, seconds, &text);
	clear_waiting(l);
	put_text(l, buf_str(&text));
}

/* Called every half second while it waits; also turns the spinner. */
static bool local_stop(void *ctx)
{
	struct local *l = ctx;
	if (l->out_tty && l->spins++ > 0) {
		char spin[] = {SHELL_SPINNER[l->spins % 2], 0};
		put_text(l, str_of(l->waiting ? "\b" : SHELL_WORKING));
		put_text(l, str_of(spin));
		l->waiting = true;
	}
	return interrupted || l->gone;
}

static int local_ask(void *ctx, const struct archie_ask *ask, struct arena *arena,
		     struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err)
{
	struct local *l = ctx;
	const struct archie_wait wait = {
		.queued = local_queued, .stop = local_stop, .every_us = SHELL_SPIN_US, .fd = -1, l};
	l->spins = 0;
	int rc = archie_call(l->archie, ask, &wait, arena, ret, ret_why, err);
	clear_waiting(l);
	return rc;
}

/* The terminal. */

static void local_terminal(void *ctx, const struct shell_terminal *t)
{
	struct local *l = ctx;
	l->terminal.rows = t->rows;
	l->terminal.pager = t->pager;
}

static void local_erase(void *ctx, char c)
{
	struct local *l = ctx;
	struct termios t;
	if (l->in_tty && tcgetattr(STDIN_FILENO, &t) == 0) {
		t.c_cc[VERASE] = (cc_t)c;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
}

static const struct shell_ops local_ops = {
	.print = local_print,
	.ask = local_ask,
	.terminal = local_terminal,
	.erase = local_erase,
};

static void look_at_terminal(struct local *l, struct shell_options *o)
{
	struct winsize size;
	struct termios t;
	l->in_tty = isatty(STDIN_FILENO);
	l->out_tty = isatty(STDOUT_FILENO);
	o->terminal.type = str_of(getenv("TERM"));
	if (l->in_tty && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		o->terminal.rows = size.ws_row;
		o->terminal.cols = size.ws_col;
	}
	if (l->in_tty && tcgetattr(STDIN_FILENO, &t) == 0)
		o->erase = (char)t.c_cc[VERASE];
}

/* Input. */

/* 0: more bytes. 1: the end. Negative: ^C, or the time is over. */
static int read_more(struct local *l, int64_t until_us)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t none;
	int rc = -1;
	sigemptyset(&none);
	while (rc < 0 && !interrupted) {
		int64_t left_us = MAX(until_us - clock_mono_us(), 0);
		struct timespec left = {left_us / US_PER_S, left_us % US_PER_S * 1000};
		rc = ppoll(&p, 1, &left, &none);
		if (rc < 0 && errno != EINTR)
			break;
	}
	if (rc <= 0)
		return -1;
	ssize_t n = read(STDIN_FILENO, l->room, sizeof l->room);
	l->n = n > 0 ? (size_t)n : 0;
	l->at = 0;
	return n > 0 ? 0 : 1;
}

/* A line without its end; of one that is too long, just what shows that it is. The last may have no
 * end. */
static bool read_line(struct local *l, int64_t until_us, struct buf *ret)
{
	bool any = false;
	buf_clear(ret);
	for (;;) {
		int rc = l->at == l->n ? read_more(l, until_us) : 0;
		if (rc != 0)
			return rc == 1 && any;
		struct str have = {l->room + l->at, l->n - l->at};
		size_t n = str_find_byte(have, '\n');
		buf_add_str(ret, str_head(have, MIN(n, ret->max - ret->n)));
		any = true;
		l->at += MIN(n + 1, have.n);
		if (n < have.n)
			return true;
	}
}

static int64_t logout_us(const struct local *l)
{
	return clock_mono_us() + (int64_t)shell_number(l->shell, "autologout") * US_PER_MIN;
}

/* One line, or what came in its place. 1: the user leaves. */
static int take_line(struct local *l)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(SHELL_LINE_MOST + 1);
	int64_t until_us = logout_us(l);
	hold_interrupt(true);
	interrupted = 0;
	if (l->in_tty && !l->gone)
		put_text(l, shell_prompt(l->shell));
	bool came = read_line(l, until_us, &line);
	hold_interrupt(false);
	if (came)
		return shell_line(l->shell, buf_str(&line));
	if (l->in_tty)
		put_text(l, STR("\n"));
	if (interrupted) {
		shell_interrupt(l->shell);
		return 0;
	}
	if (clock_mono_us() < until_us)
		return shell_eof(l->shell);
	put_text(l, STR("# auto-logout\n"));
	return 1;
}

/* Beginning. */

/* Of a user who has other programs as well; an account for strangers has no home. */
static void read_user_rc(const struct cmd_call *call, struct buf *rc)
{
	char path[PATH_MAX];
	struct err err;
	const struct passwd *me = getpwuid(getuid());
	if (call->self[0] == '-' || !me || !me->pw_dir || me->pw_dir[0] != '/')
		return;
	snprintf(path, sizeof path, "%s/.archierc", me->pw_dir);
	if (file_slurp(path, rc, &err) < 0)
		buf_clear(rc);
}

/* No file can be opened from here on, none executed, and a core would tell what people look for. */
static void give_up(void)
{
	const struct rlimit none = {0, 0};
	(void)door_no_new_privileges();
	(void)setrlimit(RLIMIT_CORE, &none);
	if (DOOR_SANITIZED)
		return;
	(void)setrlimit(RLIMIT_NPROC, &none);
	(void)door_landlock(NULL);
}

static int serve_user(struct local *l, struct shell_options *o)
{
	struct err err;
	l->shell = shell_new(o);
	int now = nice((int)shell_number(l->shell, "niceness"));
	(void)now;
	own_signals();
	give_up();
	shell_begin(l->shell);
	while (!l->gone && take_line(l) == 0)
		;
	interrupted = 0;
	(void)shell_end(l->shell, &err);
	shell_free(&l->shell);
	return 0;
}

static int run(const struct cmd_call *call)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)SHELL_TEXTS_MOST);
	CLEANUP(buf_free) struct buf rc = BUF_INIT(SHELL_TEXT_MOST), warnings = BUF_INIT(1 << 20);
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX], host[ARCHIE_HOST_MOST];
	struct shell_texts texts;
	struct err err;
	int code = cmd_config(call, &config);
	if (code)
		return code;
	if (cmd_data_dir(config, data, sizeof data, &err) < 0)
		return cmd_fail(call, &err);
	const struct archie_conf *conf = config_get(config, &archie_section);
	struct local l = {.call = call, .archie = archie_new(data)};
	shell_texts_read(data, &arena, &texts, &warnings);
	read_user_rc(call, &rc);
	texts.user_rc = buf_str(&rc);
	struct shell_options o = {
		.mode = SHELL_INTERACTIVE,
		.layout = (enum shell_layout)conf->layout,
		.host = archie_host(conf, host),
		.texts = &texts,
		.ops = &local_ops,
		.ctx = &l,
	};
	look_at_terminal(&l, &o);
	code = serve_user(&l, &o);
	archie_free(&l.archie);
	return code;
}

const struct command archie_shell_command = {
	.name = "shell",
	.aliases = "archie",
	.bare = true,
	.summary = "ask for files, as users of telnet do",
	.description =
		"The shell that telnet and mail have, at this terminal: find, whatis, list and the "
		"others; help explains them. Called archie, it can be the login shell of an "
		"account without a password.\n\nIt takes no arguments and nothing of the "
		"environment but TERM, so it reads the configuration in /etc/garner/garner.conf, "
		"or without that file has the data in /var/lib/garner. It executes nothing and "
		"writes to no file; mail is refused. The role archie-queuer must run.",
	CMD_EXAMPLES({"echo find emacs | garner archie shell", "one search"}),
	.run = run,
};
