/* garner archie shell: the archive's shell at a terminal, or between pipes. It is the login shell
 * of an account without a password, so anyone may be at the other end. Arguments and environment
 * are ignored (struct command, bare), and before the first line is read the process gives up
 * opening and executing files. It can then only talk to the queuer.
 *
 * The terminal passes on each character as it is typed, ^C included; archie/talk.h does the rest.
 */
#include "archie/archie_conf.h"
#include "archie/talk.h"
#include "base/file.h"
#include "base/wait.h"
#include "cmd/commands.h"
#include "extract/cage_door.h"

#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

struct local {
	const struct cmd_call *call;
	bool tty;             /* both ends are a terminal */
	struct termios usual; /* how it was */
};

/* Bytes. */

static int local_read(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	(void)ctx;
	int rc = wait_ready(&p, 1, until_us);
	if (rc <= 0)
		return rc < 0 ? 1 : -1;
	ssize_t n = read(STDIN_FILENO, room, cap);
	*ret_n = n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : 1;
}

static bool local_write(void *ctx, struct str text)
{
	struct local *l = ctx;
	fwrite(text.p, 1, text.n, l->call->out);
	return fflush(l->call->out) == 0;
}

static const struct talk_ops local_ops = {.read = local_read, .write = local_write};

/* The terminal. */

/* No signals of the terminal, which would end or stop the only program that its user has. */
static void own_terminal(struct local *l)
{
	const struct sigaction leave = {.sa_handler = SIG_IGN};
	struct termios t = l->usual;
	t.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	sigaction(SIGINT, &leave, NULL);
	sigaction(SIGQUIT, &leave, NULL);
	sigaction(SIGTSTP, &leave, NULL);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

static void look_at_terminal(struct local *l, struct shell_options *o)
{
	struct winsize size;
	o->terminal.type = str_of(getenv("TERM"));
	if (tcgetattr(STDIN_FILENO, &l->usual) < 0)
		return;
	l->tty = isatty(STDOUT_FILENO);
	o->erase = (char)l->usual.c_cc[VERASE];
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		o->terminal.rows = size.ws_row;
		o->terminal.cols = size.ws_col;
	}
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

static void serve_user(struct local *l, struct talk *talk)
{
	int now = nice((int)shell_number(talk_shell(talk), "niceness"));
	(void)now;
	give_up();
	if (l->tty) {
		own_terminal(l);
		talk_keys(talk, true);
	}
	talk_run(talk);
	if (l->tty)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &l->usual);
}

static int run(const struct cmd_call *call, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)SHELL_TEXTS_MOST);
	CLEANUP(buf_free) struct buf rc = BUF_INIT(SHELL_TEXT_MOST), warnings = BUF_INIT(1 << 20);
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX], host[ARCHIE_HOST_MOST];
	struct shell_texts texts;
	if (cmd_config_data(call, &config, data, err) < 0)
		return -1;
	const struct archie_conf *conf = config_get(config, &archie_section);
	struct local l = {.call = call};
	struct archie *archie = archie_new(data);
	shell_texts_read(data, &arena, &texts, &warnings);
	read_user_rc(call, &rc);
	texts.user_rc = buf_str(&rc);
	struct talk_options o = {
		.ops = &local_ops,
		.ctx = &l,
		.archie = archie,
		.fd = STDIN_FILENO,
		.shell = {.mode = SHELL_INTERACTIVE,
			  .layout = (enum shell_layout)conf->layout,
			  .host = archie_host(conf, host),
			  .texts = &texts},
	};
	look_at_terminal(&l, &o.shell);
	o.prompts = isatty(STDIN_FILENO);
	struct talk *talk = talk_new(&o);
	serve_user(&l, talk);
	talk_free(&talk);
	archie_free(&archie);
	return 0;
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
