#include "base/fault.h"
#include "base/log.h"
#include "cmd/help.h"
#include "cmd/names.h"
#include "cmd/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* A program that was started with a standard descriptor closed would else write its errors into
 * the first file that it opens. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0)
			abort();
}

static int say(const struct err *err)
{
	fprintf(stderr, "garner: %s\n", err->msg);
	return err->code ? (int)err->code : ERR_SYSTEM;
}

int cmd_fail(const struct cmd_call *call, const struct err *err)
{
	fflush(call->out);
	return say(err);
}

static void show_help(const struct program *program, const struct cmd_line *line)
{
	struct buf out = BUF_INIT(HELP_MOST);
	struct help h = {&out, help_wants_bold(stdout)};
	if (line->command)
		help_of_command(&h, line->command, line->full_name);
	else
		help_of_program(&h, program);
	fwrite(buf_text(&out), 1, out.n, stdout);
	buf_free(&out);
}

static int show_short_help(const struct program *program)
{
	struct buf out = BUF_INIT(HELP_MOST);
	help_short(&(struct help){&out, false}, program);
	fwrite(buf_text(&out), 1, out.n, stderr);
	buf_free(&out);
	return ERR_USAGE;
}

/* What is wrong, how it is written, where to read more. */
static int show_usage(const struct cmd_line *line, const struct err *err)
{
	struct buf out = BUF_INIT(HELP_MOST);
	bool named = line->command != NULL;
	if (named)
		help_usage(&(struct help){&out, false}, line->command, line->full_name);
	buf_printf(&out, "Try 'garner%s%s --help'.\n", named ? " " : "", line->full_name);
	int code = say(err);
	fwrite(buf_text(&out), 1, out.n, stderr);
	buf_free(&out);
	return code;
}

static int run(const struct program *program, const struct cmd_line *line, char *self)
{
	struct cmd_call call = {
		.program = program,
		.command = line->command,
		.full_name = line->full_name,
		.self = self,
		.options = line->options,
		.argc = line->argc,
		.argv = line->argv,
		.input = {.file = line->file,
			  .env = environ,
			  .sets = line->sets,
			  .nsets = line->nsets},
		.out = stdout,
	};
	return line->command->run(&call);
}

static int dispatch(const struct program *program, struct cmd_line *line, int argc, char **argv)
{
	struct err err;
	const struct command *called = cmd_find_called(program, argv[0], &line->arena);
	if (line_parse(line, program, called, argc, argv, &err) < 0)
		return show_usage(line, &err);
	if (line->help) {
		show_help(program, line);
		return 0;
	}
	if (line->version) {
		puts(version_text);
		return 0;
	}
	return line->command ? run(program, line, argv[0]) : show_short_help(program);
}

/* Whether nobody is left who would read our output: no fault of ours, and nothing to say. */
static bool reader_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* Output that did not arrive makes the command fail, whatever it thought. */
static int finish(int code)
{
	bool lost = ferror(stdout);
	errno = 0;
	if (fflush(stdout) == 0 && !lost)
		return code;
	if (errno == EPIPE || reader_gone(STDOUT_FILENO))
		return code;
	struct err err;
	if (errno)
		err_sys(&err, "standard output");
	else
		err_set(&err, ERR_SYSTEM, "standard output: not all could be written");
	return say(&err);
}

int cmd_main(const struct program *program, int argc, char **argv)
{
	static char *nameless[] = {"garner", NULL};
	struct err err;
	struct cmd_line line = LINE_INIT;
	fill_standard_descriptors();
	signal(SIGPIPE, SIG_IGN);
	const char *faults = getenv("GARNER_FAULTS");
	if (faults && fault_arm(faults, &err) < 0)
		return say(&err);
	int code = argc > 0 ? dispatch(program, &line, argc, argv)
			    : dispatch(program, &line, 1, nameless);
	log_flush();
	line_free(&line);
	return finish(code);
}
