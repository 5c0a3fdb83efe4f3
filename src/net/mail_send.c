/* Sending. A sendmail program gets the message as an unnamed file, never through a pipe: it must
 * not take the end of a killed sender for the end of the mail. An SMTP server gets it from
 * libcurl, with TLS if the server offers it. Without a login any certificate is accepted, as
 * between mail servers: anyone who can forge one could also hide the offer. A password is sent
 * only to a server whose certificate is verified. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/wait.h"
#include "net/curl.h"
#include "net/mail.h"
#include "net/tls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum {
	HOST_MOST = 256,
	LOGIN_MOST = 1024, /* bytes of the file */
	PORT_SMTP = 25,
	PORT_SMTPS = 465,
};
#define QUIT_US US_PER_S /* the server may take to answer QUIT */

/* The settings */

struct smtp_server {
	bool tls; /* from the first byte */
	char url[HOST_MOST + 32];
};

static bool is_host(struct str host)
{
	for (size_t i = 0; i < host.n; i++)
		if (!ascii_is_alnum(host.p[i]) && (!host.p[i] || !strchr(".-_:", host.p[i])))
			return false;
	return host.n > 0 && host.n < HOST_MOST;
}

/* false: it is not of the form smtp[s]:HOST[:PORT]. */
static bool read_server(const char *via, struct smtp_server *ret)
{
	struct str text = str_of(via), scheme = {0};
	if (str_cut(&text, ':', &scheme) != 0 ||
	    !(str_is(scheme, "smtp") || str_is(scheme, "smtps")))
		return false;
	ret->tls = str_is(scheme, "smtps");
	uint64_t port = ret->tls ? PORT_SMTPS : PORT_SMTP;
	bool brackets = text.n && text.p[0] == '[';
	struct str host = str_from(text, brackets);
	size_t n = str_find_byte(host, brackets ? ']' : ':');
	if (brackets && n == host.n)
		return false;
	text = str_from(host, n + brackets);
	host = str_head(host, n);
	if (text.n && (text.p[0] != ':' || !str_u64(str_from(text, 1), &port)))
		return false;
	if (!is_host(host) || port == 0 || port > UINT16_MAX)
		return false;
	snprintf(ret->url, sizeof ret->url,
		 brackets ? STR_FMT "://[" STR_FMT "]:%u" : STR_FMT "://" STR_FMT ":%u",
		 STR_ARG(scheme), STR_ARG(host), (unsigned)port);
	return true;
}

struct login {
	char text[LOGIN_MOST + 1]; /* both words, each with a NUL */
	const char *user, *password;
};

/* The caller wipes *l. */
static int read_login(const char *path, struct login *l, struct err *err)
{
	struct buf text CLEANUP(tls_wipe) = BUF_INIT(LOGIN_MOST);
	if (tls_read_file("mail.login", path, true, &text, err) < 0)
		return -1;
	snprintf(l->text, sizeof l->text, "%s", buf_text(&text));
	char *end = strchr(l->text, '\n');
	if (end)
		*end = 0;
	l->user = l->text;
	l->password = end ? end + 1 : "";
	if (end && (end = strchr(end + 1, '\n')))
		*end = 0;
	if (l->user[0] && l->password[0] && !str_has_control(str_of(l->user)) &&
	    !str_has_control(str_of(l->password)))
		return 0;
	return err_set(err, ERR_USAGE,
		       "mail.login: %s: expected the user in a line, the password in the next",
		       path);
}

static bool has_login(const struct mail_conf *conf)
{
	return conf->login && conf->login[0];
}

int mail_check(const struct mail_conf *conf, struct err *err)
{
	struct smtp_server server;
	struct login login;
	bool is_smtp = read_server(conf->via, &server);
	if (conf->via[0] != '/' && !is_smtp)
		return err_set(
			err, ERR_USAGE,
			"mail.via: expected the path of a sendmail program, smtp:HOST[:PORT] or "
			"smtps:HOST[:PORT], got '%s'",
			conf->via);
	if (!has_login(conf))
		return 0;
	if (!is_smtp)
		return err_set(
			err, ERR_USAGE,
			"mail.login needs mail.via = smtp:HOST or smtps:HOST; a sendmail program "
			"takes no login");
	int rc = read_login(conf->login, &login, err);
	explicit_bzero(&login, sizeof login);
	return rc < 0 ? -1 : 0;
}

static enum mail_result say_later(struct err *err, const char *via, const char *why)
{
	(void)err_set(err, ERR_REMOTE, "%s: %s", via, why);
	return MAIL_LATER;
}

/* A sendmail program */

static int start_sendmail(const char *via, const char *from, const char *to, int fd, pid_t *ret_pid,
			  struct err *err)
{
	const char *const argv[] = {via, "-i", "-f", from, "--", to, NULL};
	const char *const environment[] = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	if (spawn_program(via, argv, environment, (const int[]){fd, -1}, 2, ret_pid) < 0)
		return err_sys(err, "%s (mail.via) cannot be started", via);
	return 0;
}

/* How it ended; -1: it did not in time, and was ended. */
static int wait_sendmail(pid_t pid, int64_t deadline_us)
{
	int pidfd = pidfd_open(pid, 0), status = 0;
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	bool in_time = pidfd >= 0 && wait_ready(&p, 1, deadline_us) > 0;
	if (pidfd >= 0)
		close(pidfd);
	if (!in_time)
		kill(-pid, SIGKILL); /* with what it started */
	(void)UNINTERRUPTED(waitpid(pid, &status, 0));
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
		return MAIL_LATER;
	return judge_sendmail(via, wait_sendmail(pid, deadline_us), err);
}

/* An SMTP server */

struct smtp {
	const struct curl_lib *curl;
	CURL *easy;
	struct str rest;               /* of the message */
	int64_t end_us;                /* no answer is waited for any longer */
	char reply[CURL_ERROR_SIZE];   /* the last refusal of the server, else its last line */
	char problem[CURL_ERROR_SIZE]; /* libcurl's words */
};

static size_t smtp_piece(char *to, size_t size, size_t n, void *ctx)
{
	struct smtp *s = ctx;
	struct str piece = str_head(s->rest, size * n);
	memcpy(to, piece.p, piece.n);
	s->rest = str_from(s->rest, piece.n);
	return piece.n;
}

static bool is_refusal(char digit)
{
	return digit == '4' || digit == '5';
}

static size_t smtp_reply(char *line, size_t size, size_t n, void *ctx)
{
	struct smtp *s = ctx;
	struct str text = str_trim((struct str){line, size * n});
	if (s->rest.n == 0 && text.n && text.p[0] == '2') /* the mail is taken; QUIT is next */
		s->end_us = MIN(s->end_us, clock_mono_us() + QUIT_US);
	/* libcurl also says QUIT, and what comes of that is not the cause */
	if (is_refusal(s->reply[0]) && text.n && !is_refusal(text.p[0]))
		return size * n;
	snprintf(s->reply, sizeof s->reply, STR_FMT, STR_ARG(str_head(text, sizeof s->reply - 1)));
	return size * n;
}

/* Nonzero ends the session. libcurl's own timeout does not hold for QUIT. */
static int smtp_progress(void *ctx, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send,
			 curl_off_t sent)
{
	const struct smtp *s = ctx;
	(void)to_load, (void)loaded, (void)to_send, (void)sent;
	return clock_mono_us() >= s->end_us;
}

#define SET(s, option, value) \
	ENSURE((s)->curl->easy_setopt((s)->easy, CURLOPT_##option, value) == CURLE_OK)

static void smtp_set(struct smtp *s, const struct smtp_server *server, const char *from,
		     const struct curl_slist *to, int64_t left_us)
{
	SET(s, URL, server->url);
	SET(s, PROTOCOLS_STR, "smtp,smtps");
	SET(s, PROXY, "");
	SET(s, NOSIGNAL, 1L);
	SET(s, TIMEOUT_MS, (long)(left_us / US_PER_MS));
	SET(s, FORBID_REUSE, 1L); /* QUIT is said within the call, where smtp_progress() is asked */
	SET(s, NOPROGRESS, 0L);
	SET(s, XFERINFOFUNCTION, smtp_progress);
	SET(s, XFERINFODATA, s);
	SET(s, ERRORBUFFER, s->problem);
	SET(s, HEADERFUNCTION, smtp_reply);
	SET(s, HEADERDATA, s);
	SET(s, MAIL_FROM, from);
	SET(s, MAIL_RCPT, to);
	SET(s, UPLOAD, 1L);
	SET(s, CRLF, 1L); /* ends of lines; dots it doubles by itself */
	SET(s, READFUNCTION, smtp_piece);
	SET(s, READDATA, s);
}

/* TLS and the login. */
static int smtp_trust(struct smtp *s, const struct mail_conf *conf,
		      const struct smtp_server *server, struct err *err)
{
	const char *authorities = getenv("SSL_CERT_FILE"); /* as OpenSSL's own programs have it */
	bool verified = server->tls || has_login(conf);
	struct login login;
	SET(s, USE_SSL, (long)(has_login(conf) ? CURLUSESSL_ALL : CURLUSESSL_TRY));
	SET(s, SSL_VERIFYPEER, (long)verified);
	SET(s, SSL_VERIFYHOST, verified ? 2L : 0L);
	if (authorities && authorities[0])
		SET(s, CAINFO, authorities);
	if (!has_login(conf))
		return 0;
	int rc = read_login(conf->login, &login, err);
	if (rc == 0) {
		SET(s, USERNAME, login.user);
		SET(s, PASSWORD, login.password);
	}
	explicit_bzero(&login, sizeof login);
	return rc;
}

/* Whether the server rejected this mail for good, with 5xx. Such a status before the mail was
 * named, or a connection that ends in the middle of it, says nothing of the mail; 530 asks for a
 * login or TLS, which is a matter of settings. */
static bool smtp_refused(const struct smtp *s, CURLcode code, long status)
{
	if (status / 100 != 5 || status == 530)
		return false;
	if (code == CURLE_SEND_ERROR)
		return true;
	return (code == CURLE_RECV_ERROR || code == CURLE_WEIRD_SERVER_REPLY) && s->rest.n == 0;
}

static enum mail_result smtp_judge(const struct smtp *s, const char *via, CURLcode code,
				   struct err *err)
{
	char shown[VALUE_SHOWN];
	long status = 0;
	if (code == CURLE_OK)
		return MAIL_SENT;
	(void)s->curl->easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)err_set(err, ERR_REMOTE, "%s: %s%s%s", via,
		      s->problem[0] ? s->problem : s->curl->easy_strerror(code),
		      s->reply[0] ? "; the server said: " : "",
		      value_show(str_of(s->reply), shown));
	return smtp_refused(s, code, status) ? MAIL_REFUSED : MAIL_LATER;
}

static enum mail_result send_by_smtp(const struct mail_conf *conf, const struct smtp_server *server,
				     const char *from, const char *to, struct str message,
				     int64_t deadline_us, struct err *err)
{
	struct smtp s = {.curl = curl_load(err), .rest = message, .end_us = deadline_us + QUIT_US};
	int64_t left_us = deadline_us - clock_mono_us();
	enum mail_result r = MAIL_LATER;
	if (!s.curl)
		return MAIL_LATER;
	if (left_us < US_PER_MS)
		return say_later(err, conf->via, "no time is left");
	struct curl_slist *list = s.curl->slist_append(NULL, to);
	s.easy = s.curl->easy_init();
	if (!s.easy || !list)
		die("out of memory");
	smtp_set(&s, server, from, list, left_us);
	if (smtp_trust(&s, conf, server, err) == 0)
		r = smtp_judge(&s, conf->via, s.curl->easy_perform(s.easy), err);
	s.curl->easy_cleanup(s.easy);
	s.curl->slist_free_all(list);
	curl_memory_drop();
	return r;
}

enum mail_result mail_send(const struct mail_conf *conf, struct str from, struct str to,
			   struct str message, int64_t deadline_us, struct err *err)
{
	char from_text[MAIL_ADDRESS_MOST + 1], to_text[MAIL_ADDRESS_MOST + 1];
	struct smtp_server server;
	if (mail_check(conf, err) < 0)
		return MAIL_LATER;
	if (!mail_is_address(from) || !mail_is_address(to) || !message.n ||
	    message.p[message.n - 1] != '\n' || memchr(message.p, '\r', message.n) ||
	    memchr(message.p, 0, message.n)) {
		(void)err_set(err, ERR_USAGE, "a mail that was not composed, or to no address");
		return MAIL_REFUSED;
	}
	snprintf(from_text, sizeof from_text, STR_FMT, STR_ARG(from));
	snprintf(to_text, sizeof to_text, STR_FMT, STR_ARG(to));
	if (read_server(conf->via, &server))
		return send_by_smtp(conf, &server, from_text, to_text, message, deadline_us, err);
	return send_by_program(conf->via, from_text, to_text, message, deadline_us, err);
}
