/* brkclient: sends one line to a broker's port and prints what comes back, as the old program did.
 */
#include "base/ascii.h"
#include "cmd/commands.h"
#include "net/call.h"

enum { CODE = 6 /* bytes of "111 - " */ };

struct brk_options {
	int64_t timeout_us;
};

static const struct cmd_option options[] = {
	CMD_OPTION('t', "TIME", "timeout", VALUE_TIME_AT(struct brk_options, timeout_us), "1min",
		   1e3, 86400e6,
		   .help = "how long the broker may take to accept, and then be silent"),
};

/* The beginning of a line. */
struct brk_code {
	char text[CODE];
	size_t n;
};

struct brk {
	const struct cmd_call *command;
	const char *peer;
	bool some; /* an answer has begun */
	struct brk_code line, last;
};

static void end_line(struct brk *b)
{
	if (b->line.n)
		b->last = b->line;
	b->line.n = 0;
}

/* Remembers how the last line began. */
static void follow_lines(struct brk *b, struct str piece)
{
	while (piece.n) {
		size_t end = str_find_byte(piece, '\n');
		size_t n = MIN(end, CODE - b->line.n);
		memcpy(b->line.text + b->line.n, piece.p, n);
		b->line.n += n;
		if (end < piece.n)
			end_line(b);
		piece = str_from(piece, end + 1);
	}
}

/* true: nobody reads it. */
static bool print_piece(void *ctx, struct str piece)
{
	struct brk *b = ctx;
	b->some = true;
	follow_lines(b, piece);
	(void)fwrite(piece.p, 1, piece.n, b->command->out);
	return fflush(b->command->out) != 0;
}

static bool last_is(const struct brk *b, const char *code)
{
	return str_is((struct str){b->last.text, b->last.n}, code);
}

/* How an answer to this line ends; NULL: nobody knows. */
static const char *end_of(struct str line)
{
	static const struct {
		const char *verb, *end;
	} ends[] = {{"#USER", "126 - "}, {"#BULK", "099 - "}};
	line = str_trim(line);
	size_t n = 0;
	while (n < line.n && !ascii_is_blank(line.p[n]))
		n++;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (str_eq_nocase(str_head(line, n), str_of(ends[i].verb)))
			return ends[i].end;
	return NULL;
}

/* 1: the broker refused. An answer that only stops is not whole, however the connection ended. */
static int judge_end(const struct brk *b, struct str line, struct err *err)
{
	const char *end = end_of(line);
	if (!b->some)
		return err_set(err, ERR_REMOTE, "%s: closed without an answer", b->peer);
	if (last_is(b, "111 - ") || last_is(b, "400 - "))
		return 1;
	if (end && !last_is(b, end))
		return err_set(
			err, ERR_PARTLY,
			"%s: the answer is not whole, its last line does not begin with %.3s",
			b->peer, end);
	return 0;
}

static int check_line(const char *port, struct str line, struct err *err)
{
	uint64_t number;
	if (!str_u64(str_of(port), &number) || number == 0 || number > UINT16_MAX)
		return err_set(err, ERR_USAGE,
			       "brkclient: expected a port from 1 to 65535, got "
			       "'%s'",
			       port);
	if (line.n == 0 || str_find_byte(line, '\n') < line.n || str_find_byte(line, '\r') < line.n)
		return err_set(err, ERR_USAGE,
			       "brkclient: expected one line, such as '#USER #END apple'");
	return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct brk_options *o = call->options;
	CLEANUP(buf_free) struct buf line = BUF_INIT((size_t)64 << 20);
	CLEANUP(buf_free) struct buf name = BUF_INIT(1 << 10);
	const char *host = call->argv[0], *port = call->argv[1];
	if (check_line(port, str_of(call->argv[2]), err) < 0)
		return -1;
	buf_printf(&line, "%s\n", call->argv[2]);
	buf_printf(&name, "%s port %s", host, port);
	struct brk b = {.command = call, .peer = buf_text(&name)};
	struct call c = {.fd = -1, .name = b.peer, .silent_us = o->timeout_us};
	int rc = call_connect_name(&c, host, port, err);
	if (rc == 0)
		rc = call_talk(&c, buf_str(&line), print_piece, &b, err) < 0 ? -1 : 0;
	call_end(&c);
	end_line(&b);
	if (rc == 0)
		rc = judge_end(&b, str_of(call->argv[2]), err);
	if (rc < 0 && b.some && err->code == ERR_REMOTE)
		err->code = ERR_PARTLY;
	return rc;
}

const struct command brkclient_command = {
	.name = "brkclient",
	.aliases = "brkclient",
	.summary = "send one line to a broker and print its answer",
	.description =
		"Connects to the port of a broker, sends the line and prints what comes back, as "
		"it comes: the lines begin with a number, 120 for a URL that matched, 103 and 111 "
		"for what went wrong. Lines that begin with 200 mean nothing, they only try the "
		"connection.\n\n"
		"A password in the line can be seen by others of this machine in its list of "
		"processes.",
	CMD_OPTIONS(options, struct brk_options),
	CMD_ARGS("HOST PORT LINE", 3, 3,
		 "the broker's name or address, its port (8501 unless it was given another), and "
		 "the request in quotes"),
	CMD_EXAMPLES({"garner brkclient localhost 8501 '#USER #desc #END apple AND pie'",
		      "what matches, with descriptions"},
		     {"brkclient broker.example.org 8501 '#BULK #since 0 #END #allb'",
		      "all objects of a broker"}),
	CMD_EXITS({1, "the broker refused: its last line is a 111 or 400"},
		  {ERR_PARTLY, "the answer is not whole: it does not end with 126 (#USER) or 099 "
			       "(#BULK), or the connection broke"},
		  {ERR_REMOTE, "the broker cannot be reached, or says nothing"}),
	.run = run,
};
