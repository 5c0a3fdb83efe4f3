/* garner password: makes a password line for the configuration. A password is never an argument,
 * since all users can see arguments. */
#include "role/password.h"

#include "base/file.h"
#include "cmd/commands.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* A password with its end of line, and a byte that says that there is more. */
struct typed {
	char text[PASSWORD_MOST + 3];
	size_t n;
};

/* Waits for a byte. signals: -1, or what ends it before. */
static int wait_typed(int signals, struct err *err)
{
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
	if (signals >= 0 && poll(fds, ARRAY_LEN(fds), -1) >= 0 && fds[1].revents)
		return err_set(err, ERR_USAGE, "interrupted");
	return 0;
}

/* Up to the end of a line, or the end of the input; without it. */
static int read_typed(int signals, struct typed *ret, struct err *err)
{
	const struct file in = {.fd = STDIN_FILENO, .path = (char[]){"standard input"}};
	size_t n = 1;
	ret->n = 0;
	while (ret->n < sizeof ret->text) {
		if (wait_typed(signals, err) < 0 ||
		    file_read_next(&in, ret->text + ret->n, 1, &n, err) < 0)
			return -1;
		if (n == 0 || ret->text[ret->n] == '\n')
			break;
		ret->n++;
	}
	if (ret->n && n && ret->text[ret->n - 1] == '\r')
		ret->n--;
	return 0;
}

static int ask_typed(const char *prompt, int signals, struct typed *ret, struct err *err)
{
	fputs(prompt, stderr);
	int rc = read_typed(signals, ret, err);
	fputs("\n", stderr);
	return rc;
}

static int ask_twice(int signals, struct typed *ret, struct err *err)
{
	struct typed second;
	int rc = ask_typed("Password: ", signals, ret, err);
	if (rc == 0)
		rc = ask_typed("The same again: ", signals, &second, err);
	if (rc == 0 &&
	    !str_eq((struct str){ret->text, ret->n}, (struct str){second.text, second.n}))
		rc = err_set(err, ERR_USAGE, "the two are not the same");
	explicit_bzero(&second, sizeof second);
	return rc;
}

/* The terminal shows nothing meanwhile; a signal that ends us must not leave it so. */
static int read_silently(struct typed *ret, struct err *err)
{
	struct termios was, silent;
	sigset_t blocked, before;
	if (tcgetattr(STDIN_FILENO, &was) < 0)
		return err_sys(err, "the terminal");
	silent = was;
	silent.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	int signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || sigprocmask(SIG_BLOCK, &blocked, &before) < 0 ||
	    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) < 0)
		return err_sys(err, "the terminal");
	int rc = ask_twice(signals, ret, err);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
	(void)close(signals);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct typed typed;
	char line[PASSWORD_LINE];
	int rc = isatty(STDIN_FILENO) ? read_silently(&typed, err) : read_typed(-1, &typed, err);
	if (rc == 0)
		rc = password_make((struct str){typed.text, typed.n}, line, err);
	explicit_bzero(&typed, sizeof typed);
	if (rc == 0)
		fprintf(call->out, "%s\n", line);
	return rc;
}

const struct command password_command = {
	.name = "password",
	.summary = "make the line of a password for the configuration",
	.description =
		"Reads a password, the first line of standard input, and prints the line that "
		"stands for it in the configuration (broker.password): argon2id, with a salt of "
		"its "
		"own, from which the password cannot be had. On a terminal it asks twice and shows "
		"nothing.\n\nA password has no blanks and no quotes, which not every client of the "
		"broker's port could send.",
	CMD_EXAMPLES({"garner password", "asks for it on the terminal"},
		     {"garner password < secret.txt", "the first line of a file"}),
	.run = run,
};
