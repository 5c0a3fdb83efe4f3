/* brkclient: sends one line to a broker's port and prints what comes back, as the old program did.
 * Names are those of this machine, /etc/hosts included: a person named the host, not a document. */
#include "base/ascii.h"
#include "base/clock.h"
#include "cmd/commands.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 64 << 10, CODE = 6 /* bytes of "111 - " */ };

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
	const struct cmd_call *call;
	const char *host, *port;
	int64_t timeout_us;
	int fd;
	struct str unsent;
	bool some; /* an answer has begun */
	struct brk_code line, last;
};

/* Waits until the socket is ready for these. */
static int wait_for(const struct brk *b, short events, short *ret, struct err *err)
{
	int64_t until_us = clock_mono_us() + b->timeout_us;
	for (;;) {
		struct pollfd p = {.fd = b->fd, .events = events};
		int64_t left_us = MAX(until_us - clock_mono_us(), INT64_C(0));
		int rc = poll(&p, 1, (int)((left_us + 999) / 1000));
		if (rc == 0)
			return err_set(err, ERR_REMOTE, "%s port %s: no answer within %lld s",
				       b->host, b->port,
				       (long long)((b->timeout_us + 999999) / US_PER_S));
		if (rc < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (rc > 0) {
			*ret = p.revents;
			return 0;
		}
	}
}

static int connection_failed(const struct brk *b, int number, struct err *err)
{
	errno = number;
	(void)err_sys(err, "%s port %s", b->host, b->port);
	err->code = ERR_REMOTE;
	return -1;
}

static int connect_to(struct brk *b, const struct addrinfo *to, struct err *err)
{
	short events;
	int failed = 0;
	socklen_t n = sizeof failed;
	b->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->fd < 0)
		return err_sys(err, "socket");
	if (connect(b->fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return connection_failed(b, errno, err);
	if (wait_for(b, POLLOUT, &events, err) < 0)
		return -1;
	if (getsockopt(b->fd, SOL_SOCKET, SO_ERROR, &failed, &n) < 0)
		return err_sys(err, "getsockopt");
	return failed ? connection_failed(b, failed, err) : 0;
}

/* To the first of its addresses that accepts. */
static int connect_host(struct brk *b, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG};
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(b->host, b->port, &hints, &list);
	if (rc != 0)
		return err_set(err, ERR_REMOTE, "%s: %s", b->host, gai_strerror(rc));
	rc = -1;
	for (const struct addrinfo *to = list; to && rc < 0; to = to->ai_next) {
		rc = connect_to(b, to, err);
		if (rc < 0 && b->fd >= 0)
			(void)close(b->fd);
	}
	freeaddrinfo(list);
	if (rc < 0)
		b->fd = -1;
	return rc;
}

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

static int send_some(struct brk *b, struct err *err)
{
	ssize_t n = send(b->fd, b->unsent.p, b->unsent.n, MSG_NOSIGNAL);
	if (n >= 0)
		b->unsent = str_from(b->unsent, (size_t)n);
	else if (errno == EPIPE || errno == ECONNRESET)
		b->unsent.n = 0; /* it may have said why before it closed */
	else if (errno != EAGAIN && errno != EINTR)
		return connection_failed(b, errno, err);
	return 0;
}

/* 1: the answer has ended, or nobody reads it. */
static int read_some(struct brk *b, struct err *err)
{
	char piece[PIECE];
	ssize_t n = recv(b->fd, piece, sizeof piece, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return connection_failed(b, errno, err);
	if (n == 0)
		return 1;
	b->some = true;
	follow_lines(b, (struct str){piece, (size_t)n});
	(void)fwrite(piece, 1, (size_t)n, b->call->out);
	return fflush(b->call->out) != 0;
}

static int exchange_lines(struct brk *b, struct err *err)
{
	int rc = 0;
	while (rc == 0) {
		short events = 0, wanted = POLLIN | (b->unsent.n ? POLLOUT : 0);
		if (wait_for(b, wanted, &events, err) < 0)
			return -1;
		if (events & POLLOUT && b->unsent.n && send_some(b, err) < 0)
			return -1;
		if (events & (POLLIN | POLLHUP | POLLERR))
			rc = read_some(b, err);
	}
	end_line(b);
	return MIN(rc, 0);
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
		return err_set(err, ERR_REMOTE, "%s port %s: closed without an answer", b->host,
			       b->port);
	if (last_is(b, "111 - ") || last_is(b, "400 - "))
		return 1;
	if (end && !last_is(b, end))
		return err_set(err, ERR_PARTLY,
			       "%s port %s: the answer is not whole, its last line does not begin "
			       "with %.3s",
			       b->host, b->port, end);
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
	struct brk b = {.call = call,
			.host = call->argv[0],
			.port = call->argv[1],
			.timeout_us = o->timeout_us,
			.fd = -1};
	if (check_line(b.port, str_of(call->argv[2]), err) < 0)
		return -1;
	buf_printf(&line, "%s\n", call->argv[2]);
	b.unsent = buf_str(&line);
	int rc = connect_host(&b, err);
	if (rc == 0)
		rc = exchange_lines(&b, err);
	if (b.fd >= 0)
		(void)close(b.fd);
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
