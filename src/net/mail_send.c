/* Sending: a sendmail program gets the message as a file without a name, never through a pipe, so
 * that it does not take the end of a killed sender for the end of the mail; an SMTP server gets it
 * in a plain dialogue (RFC 5321), in which a message counts only after its last line, the dot.
 * Everything waits with poll() until the deadline. */
#include "base/clock.h"
#include "base/file.h"
#include "net/mail.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum {
	HOST_MOST = 256,
	REPLY_LINE = 2000, /* bytes of a line of a server; what is beyond is not looked at */
	REPLY_LINES = 100,
	PIECE = 64 << 10,
};

/* The setting */

struct smtp_server {
	char host[HOST_MOST], port[8];
};

/* false: it is not of the form smtp:HOST[:PORT]. */
static bool read_server(const char *via, struct smtp_server *ret)
{
	static const struct str prefix = STR("smtp:");
	struct str text = str_of(via), host;
	uint64_t port = 25;
	if (!str_starts(text, prefix))
		return false;
	text = str_from(text, prefix.n);
	if (text.n && text.p[0] == '[') {
		size_t n = str_find_byte(text, ']');
		if (n == text.n)
			return false;
		host = str_head(str_from(text, 1), n - 1);
		text = str_from(text, n + 1);
	} else {
		host = str_head(text, str_find_byte(text, ':'));
		text = str_from(text, host.n);
	}
	if (text.n && (text.p[0] != ':' || !str_u64(str_from(text, 1), &port)))
		return false;
	if (!host.n || host.n >= HOST_MOST || port == 0 || port > UINT16_MAX)
		return false;
	snprintf(ret->host, sizeof ret->host, STR_FMT, STR_ARG(host));
	snprintf(ret->port, sizeof ret->port, "%u", (unsigned)port);
	return true;
}

int mail_check(const struct mail_conf *conf, struct err *err)
{
	struct smtp_server server;
	if (conf->via[0] == '/' || read_server(conf->via, &server))
		return 0;
	return err_set(err, ERR_USAGE,
		       "mail.via: expected the path of a sendmail program, smtp:HOST or "
		       "smtp:HOST:PORT, got '%s'",
		       conf->via);
}

/* Waits for it. false: the time is over. */
static bool wait_for(int fd, short events, int64_t deadline_us)
{
	struct pollfd p = {.fd = fd, .events = events};
	for (;;) {
		int64_t left_us = deadline_us - clock_mono_us();
		if (left_us <= 0)
			return false;
		int rc = poll(&p, 1, (int)MIN(left_us / US_PER_MS + 1, INT64_C(60000)));
		if (rc > 0 || (rc < 0 && errno != EINTR))
			return rc > 0;
	}
}

static enum mail_result say_later(struct err *err, const char *via, const char *why)
{
	(void)err_set(err, ERR_REMOTE, "%s: %s", via, why);
	return MAIL_LATER;
}

static enum mail_result say_away(struct err *err, const char *via, const char *why)
{
	(void)say_later(err, via, why);
	return MAIL_AWAY;
}

/* A sendmail program */

static int start_sendmail(const char *via, const char *from, const char *to, int fd, pid_t *ret_pid,
			  struct err *err)
{
	const char *const argv[] = {via, "-i", "-f", from, "--", to, NULL};
	const char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	errno = posix_spawn(ret_pid, via, &files, &attributes, (char *const *)argv,
			    (char *const *)environment);
	int rc = errno ? err_sys(err, "%s (mail.via) cannot be started", via) : 0;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* How it ended; -1: it did not in time, and was ended. */
static int wait_sendmail(pid_t pid, int64_t deadline_us)
{
	int pidfd = pidfd_open(pid, 0), status = 0;
	bool in_time = pidfd >= 0 && wait_for(pidfd, POLLIN, deadline_us);
	if (pidfd >= 0)
		close(pidfd);
	if (!in_time)
		kill(-pid, SIGKILL); /* with what it started */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return in_time ? status : -1;
}

static enum mail_result judge_sendmail(const char *via, int status, struct err *err)
{
	if (status == -1)
		return say_later(err, via, "it took too long, and was ended");
	if (!WIFEXITED(status))
		return say_later(err, via, "it died of a signal");
	int code = WEXITSTATUS(status);
	if (code == 0)
		return MAIL_SENT;
	(void)err_set(err, ERR_REMOTE, "%s: it ended with status %d", via, code);
	return code == EX_USAGE || code == EX_DATAERR || code == EX_NOUSER || code == EX_NOHOST
		       ? MAIL_REFUSED
		       : MAIL_LATER;
}

static enum mail_result send_by_program(const char *via, const char *from, const char *to,
					struct str message, int64_t deadline_us, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	pid_t pid;
	if (file_of_bytes(&f, message, err) < 0 ||
	    start_sendmail(via, from, to, f.fd, &pid, err) < 0)
		return MAIL_AWAY;
	return judge_sendmail(via, wait_sendmail(pid, deadline_us), err);
}

/* An SMTP server */

struct smtp {
	const char *via;
	int fd;
	int64_t deadline_us;
	size_t at, n;
	char in[4096];
	char line[REPLY_LINE]; /* the last one of a reply */
};

/* One line; what is too long of it is dropped. */
static bool smtp_line(struct smtp *s)
{
	size_t n = 0;
	for (;;) {
		if (s->at == s->n) {
			if (!wait_for(s->fd, POLLIN, s->deadline_us))
				return false;
			ssize_t got = recv(s->fd, s->in, sizeof s->in, 0);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return false;
			s->at = 0;
			s->n = (size_t)got;
		}
		char c = s->in[s->at++];
		if (c == '\n')
			break;
		if (c != '\r' && n + 1 < sizeof s->line)
			s->line[n++] = c;
	}
	s->line[n] = 0;
	return true;
}

/* The number of the next reply; 0: there is none that makes sense. */
static unsigned smtp_reply(struct smtp *s)
{
	for (size_t i = 0; i < REPLY_LINES; i++) {
		uint64_t code;
		if (!smtp_line(s) || strlen(s->line) < 3 ||
		    !str_u64((struct str){s->line, 3}, &code))
			return 0;
		if (s->line[3] != '-')
			return code >= 200 && code < 600 ? (unsigned)code : 0;
	}
	return 0;
}

static bool smtp_write(struct smtp *s, struct str text)
{
	while (text.n) {
		ssize_t n = send(s->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			text = str_from(text, (size_t)n);
		else if (n < 0 && errno == EAGAIN) {
			if (!wait_for(s->fd, POLLOUT, s->deadline_us))
				return false;
		} else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

/* What a reply means, where `want` is the first digit of a good one. */
static enum mail_result smtp_judge(struct smtp *s, unsigned code, unsigned want, struct err *err)
{
	char shown[VALUE_SHOWN];
	if (code / 100 == want)
		return MAIL_SENT;
	if (!code)
		return say_later(err, s->via, "the server said nothing that makes sense");
	(void)err_set(err, ERR_REMOTE, "%s: the server said '%s'", s->via,
		      value_show(str_of(s->line), shown));
	return code / 100 == 5 ? MAIL_REFUSED : MAIL_LATER;
}

/* A command, and whether its reply begins with the wanted digit. MAIL_SENT: it does. */
static enum mail_result smtp_say(struct smtp *s, struct str line, unsigned want, struct err *err)
{
	if (!smtp_write(s, line))
		return say_later(err, s->via, "the connection broke, or took too long");
	return smtp_judge(s, smtp_reply(s), want, err);
}

/* Lines end in CR LF, and a line that begins with a dot gets another one. */
static bool smtp_message(struct smtp *s, struct str message)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(MAIL_MESSAGE_MOST);
	struct str line;
	while (message.n && str_cut(&message, '\n', &line) == 0) {
		if (line.n && line.p[0] == '.')
			buf_add_byte(&out, '.');
		buf_add_str(&out, line);
		buf_add_str(&out, STR("\r\n"));
		if (out.n >= PIECE) {
			if (!smtp_write(s, buf_str(&out)))
				return false;
			buf_clear(&out);
		}
	}
	buf_add_str(&out, STR(".\r\n"));
	return smtp_write(s, buf_str(&out));
}

static enum mail_result smtp_hello(struct smtp *s, struct err *err)
{
	char name[HOST_MOST] = "", line[HOST_MOST + 8];
	enum mail_result r = smtp_judge(s, smtp_reply(s), 2, err);
	if (r != MAIL_SENT)
		return MAIL_AWAY; /* not of this mail does it speak */
	if (gethostname(name, sizeof name - 1) < 0 || !name[0])
		snprintf(name, sizeof name, "localhost");
	int n = snprintf(line, sizeof line, "HELO %s\r\n", name);
	r = smtp_say(s, (struct str){line, (size_t)n}, 2, err);
	return r == MAIL_SENT ? MAIL_SENT : MAIL_AWAY;
}

static enum mail_result smtp_dialogue(struct smtp *s, const char *from, const char *to,
				      struct str message, struct err *err)
{
	char line[MAIL_ADDRESS_MOST + 32];
	enum mail_result r = smtp_hello(s, err);
	if (r != MAIL_SENT)
		return r;
	int n = snprintf(line, sizeof line, "MAIL FROM:<%s>\r\n", from);
	if ((r = smtp_say(s, (struct str){line, (size_t)n}, 2, err)) != MAIL_SENT)
		return r;
	n = snprintf(line, sizeof line, "RCPT TO:<%s>\r\n", to);
	if ((r = smtp_say(s, (struct str){line, (size_t)n}, 2, err)) != MAIL_SENT)
		return r;
	if ((r = smtp_say(s, STR("DATA\r\n"), 3, err)) != MAIL_SENT)
		return r;
	if (!smtp_message(s, message))
		return say_later(err, s->via, "the connection broke, or took too long");
	r = smtp_judge(s, smtp_reply(s), 2, err);
	if (r == MAIL_SENT)
		(void)smtp_write(s, STR("QUIT\r\n"));
	return r;
}

static int connect_to(const struct addrinfo *a, int64_t deadline_us)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failed = 0;
	socklen_t n = sizeof failed;
	if (fd < 0)
		return -1;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return fd;
	if (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline_us) &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n) == 0 && failed == 0)
		return fd;
	close(fd);
	return -1;
}

static enum mail_result send_by_smtp(const char *via, const struct smtp_server *server,
				     const char *from, const char *to, struct str message,
				     int64_t deadline_us, struct err *err)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM};
	struct smtp s = {.via = via, .fd = -1, .deadline_us = deadline_us};
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(server->host, server->port, &want, &found);
	if (rc != 0)
		return say_away(err, via, gai_strerror(rc));
	int64_t left = 0; /* addresses: each has its share of the time, so that the next is tried */
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		left++;
	for (const struct addrinfo *a = found; a && s.fd < 0; a = a->ai_next, left--) {
		int64_t now_us = clock_mono_us();
		s.fd = connect_to(a, now_us + (deadline_us - now_us) / left);
	}
	freeaddrinfo(found);
	if (s.fd < 0)
		return say_away(err, via, "no connection");
	enum mail_result r = smtp_dialogue(&s, from, to, message, err);
	close(s.fd);
	return r;
}

enum mail_result mail_send(const struct mail_conf *conf, struct str from, struct str to,
			   struct str message, int64_t deadline_us, struct err *err)
{
	char from_text[MAIL_ADDRESS_MOST + 1], to_text[MAIL_ADDRESS_MOST + 1];
	struct smtp_server server;
	if (mail_check(conf, err) < 0)
		return MAIL_AWAY;
	if (!mail_is_address(from) || !mail_is_address(to) || !message.n ||
	    message.p[message.n - 1] != '\n' || memchr(message.p, '\r', message.n) ||
	    memchr(message.p, 0, message.n)) {
		(void)err_set(err, ERR_USAGE, "a mail that was not composed, or to no address");
		return MAIL_REFUSED;
	}
	snprintf(from_text, sizeof from_text, STR_FMT, STR_ARG(from));
	snprintf(to_text, sizeof to_text, STR_FMT, STR_ARG(to));
	if (read_server(conf->via, &server))
		return send_by_smtp(conf->via, &server, from_text, to_text, message, deadline_us,
				    err);
	return send_by_program(conf->via, from_text, to_text, message, deadline_us, err);
}
