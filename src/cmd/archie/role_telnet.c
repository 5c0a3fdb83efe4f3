/* The role archie-telnet: accepts users, forks a session for each (archie/telnet_session.h), and
 * does for the sessions what they may not do themselves. Sessions are forked without exec, so they
 * share this process's memory until they change it, and a thousand idle ones cost little. This
 * process never reads a byte of a user, and of a session only messages that archie/telnet_hand.h
 * bounds. Mails and requests are sent by couriers, a forked process for each: threads do not
 * survive forks, and the loop would keep everyone else waiting.
 *
 * The role is in this room because only this room starts processes. */
#include "cmd/archie/role_telnet.h"

#include "archie/archie_conf.h"
#include "archie/mailer.h"
#include "archie/telnet_hand.h"
#include "archie/telnet_session.h"
#include "archie/telnet_wire.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/log.h"
#include "cmd/system/proc.h"
#include "net/listener.h"
#include "net/net_section.h"
#include "net/role_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROLE "archie-telnet"
#define TEXTS_US US_PER_S /* after which the texts are read again */

enum {
	MAILS_MOST = 3,  /* of a session */
	TRIES_MOST = 30, /* of a session: mails and sites, taken or not */
	ASKS_MOST = 200, /* of a session within a second; one that waits for the queuer: 20 */
	MAIL_MEMORY = 64 << 20, /* of all that sessions hand over at the same time */
	COURIERS_MOST = 16,
	COURIER_FD = PROC_FIRST_FD, /* where a courier says why it could not */
	/* We do not wait for those we refuse, so this has to fit into the kernel's buffer. */
	SERVERS_MOST = 16 << 10,
	REFUSAL_MOST = 2 * SERVERS_MOST + 1024,
	READ_BYTES = 64 << 10,
};

struct telnet_conf {
	const char *listen, *user;
	int64_t max_sessions, max_per_address;
	int64_t drain_us;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct telnet_conf, listen), .fallback = "127.0.0.1:2323",
	 .moves = "net.port", .help = "Address on which people ask for files by telnet"},
	{"max_sessions", VALUE_INT_AT(struct telnet_conf, max_sessions), .fallback = "200",
	 .min = 1, .max = 100000,
	 .help = "Sessions at the same time, each a process; further ones are told that the server "
		 "is busy, and shown the list of servers"},
	{"max_per_address", VALUE_INT_AT(struct telnet_conf, max_per_address), .fallback = "5",
	 .min = 1, .max = 100000,
	 .help = "Sessions from one address, or one IPv6 network of 64 bits"},
	{"user", VALUE_TEXT_AT(struct telnet_conf, user), .fallback = "nobody",
	 .help = "User that a session becomes if the role runs as root; it should own nothing"},
	DRAIN_SPEC(struct telnet_conf, drain_us, "2s"),
};

static const struct config_section section = {
	.name = ROLE,
	.help = "Files of archives for people: the archive's shell by telnet.",
	.size = sizeof(struct telnet_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct telnet_counts {
	uint64_t accepted, refused, hostile, deaths, connects, mails, mails_refused, new_sites;
	uint64_t sessions;
};
#define COUNT(name, member, kind, help)                                          \
	{                                                                        \
		name, NULL, kind, help, COUNTER_AT(struct telnet_counts, member) \
	}
static const struct counter_def counter_defs[] = {
	COUNT("accepted", accepted, COUNTER_TOTAL, "sessions that began"),
	COUNT("refused", refused, COUNTER_TOTAL, "connections refused because there were too many"),
	COUNT("hostile", hostile, COUNTER_TOTAL, "sessions closed for sending what is not telnet"),
	COUNT("session_deaths", deaths, COUNTER_TOTAL,
	      "sessions whose process crashed or was killed"),
	COUNT("connects", connects, COUNTER_TOTAL,
	      "connections to the queuer that sessions were handed"),
	COUNT("mails", mails, COUNTER_TOTAL, "results that were mailed"),
	COUNT("mails_refused", mails_refused, COUNTER_TOTAL,
	      "results and requests for sites that were not sent"),
	COUNT("new_sites", new_sites, COUNTER_TOTAL, "requests that a site be indexed"),
	COUNT("sessions", sessions, COUNTER_GAUGE, "sessions now"),
};

struct telnet_role {
	struct role_loop role;
	const struct telnet_conf *conf;
	struct arena arena;
	struct shell_texts texts;
	struct telnet_session how; /* what all sessions have in common */
	char host[ARCHIE_HOST_MOST];
	struct mailer mailer;
	struct gate *gate;
	struct listener *listener;
	struct buf refusal;  /* stays where it is: the listener has it */
	struct buf warnings; /* about the texts, when they were last read */
	int64_t read_us;     /* when that was */
	struct link sessions;
	struct loop_timer deadline;
	bool drains;
	size_t held; /* bytes of what sessions are handing over */
	struct link couriers;
	size_t ncouriers;
	struct telnet_counts counts;
};

/* One session, as its parent has it. */
struct served {
	struct link link;
	struct telnet_role *r;
	struct peer peer;
	struct proc proc;
	struct loop_io ended, hand;
	int fd; /* our end of the pair */
	struct buf asked;
	unsigned mails, tries;
	int64_t since_us;
	unsigned asks;           /* since then */
	struct courier *courier; /* of what it asked for last, while it is at work */
	bool ends;               /* nothing more is done for it */
};

/* A process that sends a mail. */
struct courier {
	struct link link;
	struct telnet_role *r;
	struct served *served; /* NULL: that session has ended */
	int what;              /* enum hand_what */
	struct proc proc;
	struct loop_io ended;
	int fd; /* where it says why it could not: a byte for the code, and words */
};

/* Answers to a session. */

static void served_kill(struct served *s)
{
	s->ends = true;
	loop_io_end(&s->hand);
	proc_signal(&s->proc, SIGKILL);
}

static void served_answer(struct served *s, const char *reason, int fd)
{
	struct buf said = BUF_INIT(HAND_ANSWER_MOST);
	hand_answer_print(reason, &said);
	/* it asks one thing at a time, so there is room; who leaves answers unread is not ours */
	if (hand_send(s->fd, buf_str(&said), fd) != (ssize_t)said.n)
		served_kill(s);
	buf_free(&said);
}

static void serve_connect(struct served *s)
{
	int fd = archie_dial(s->r->role.env->data);
	served_answer(s, fd < 0 ? "the server does not search now" : NULL, fd);
	if (fd < 0)
		return;
	s->r->counts.connects++;
	close(fd);
}

static bool may_try(struct served *s)
{
	if (s->tries++ < TRIES_MOST)
		return true;
	s->r->counts.mails_refused++;
	return false;
}

/* What a stranger hears of a failure; the log has the rest. */
static const char *told_of(const struct served *s, const struct err *err)
{
	const char *told = mailer_told(err);
	if (told != err->msg)
		log_warn(ROLE, "mail lost", KV_TEXT("why", err->msg),
			 KV_TEXT("from", s->peer.text));
	return told;
}

/* In the child. */
static _Noreturn void courier_run(const struct served *s, const struct hand_ask *ask)
{
	struct telnet_role *r = s->r;
	struct str from = str_of(s->peer.text);
	struct err err;
	(void)prctl(PR_SET_NAME, "archie-courier");
	int rc = ask->what == HAND_MAIL
			 ? mailer_send_output(&r->mailer, &ask->mail, from, &err)
			 : mailer_ask_site(&r->mailer, ask->host, ask->reply_to, from, &err);
	if (rc < 0)
		dprintf(COURIER_FD, "%c%s", (char)err.code, err.msg);
	_exit(rc < 0);
}

/* 0: it is at work. Negative: nothing has changed. */
static int courier_fork(struct courier *k, const struct hand_ask *ask, struct err *err)
{
	int pair[2];
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "no pipe for what is to be sent");
	int rc = proc_safe_fd(&pair[1], err);
	if (rc == 0)
		rc = proc_fork(&k->proc, &pair[1], 1, err);
	if (rc == 1)
		courier_run(k->served, ask);
	close(pair[1]);
	if (rc < 0)
		close(pair[0]);
	else
		k->fd = pair[0];
	return rc;
}

static void courier_free(struct courier *k)
{
	close(k->fd);
	list_remove(&k->link);
	k->r->ncouriers--;
	mem_free(&k);
}

/* 0: it was sent. Negative: err says why not. */
static int courier_result(struct courier *k, struct err *err)
{
	char said[sizeof err->msg + 1];
	siginfo_t info = {0};
	loop_io_end(&k->ended);
	if (proc_reap(&k->proc, &info, err) < 0)
		return -1;
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	ssize_t n = read(k->fd, said, sizeof said - 1);
	if (n < 1)
		return err_set(err, ERR_SYSTEM, "the process that was to do it died");
	said[n] = 0;
	return err_set(err, (enum err_code)said[0], "%s", said + 1);
}

static void serve_waiting(struct served *s);

static void courier_ended(void *ctx, unsigned what)
{
	struct courier *k = ctx;
	struct telnet_role *r = k->r;
	struct served *s = k->served;
	bool is_mail = k->what == HAND_MAIL;
	struct err err;
	(void)what;
	int rc = courier_result(k, &err);
	++*(rc < 0 ? &r->counts.mails_refused : is_mail ? &r->counts.mails : &r->counts.new_sites);
	if (rc == 0)
		FAULT("telnet.mail_sent");
	courier_free(k);
	if (!s) {
		if (rc < 0)
			log_warn(ROLE, "mail lost", KV_TEXT("why", err.msg));
		return;
	}
	s->courier = NULL;
	s->mails += rc == 0 && is_mail;
	served_answer(s, rc < 0 ? told_of(s, &err) : NULL, -1);
	if (s->ends)
		return;
	loop_io_want(r->role.loop, &s->hand, s->fd, LOOP_READ);
	serve_waiting(s);
}

static int courier_start(struct served *s, const struct hand_ask *ask, struct err *err)
{
	struct telnet_role *r = s->r;
	struct courier *k = mem_alloc(sizeof *k);
	*k = (struct courier){.r = r, .served = s, .what = ask->what};
	if (courier_fork(k, ask, err) < 0) {
		mem_free(&k);
		return -1;
	}
	list_append(&r->couriers, &k->link);
	r->ncouriers++;
	k->ended = (struct loop_io){.fn = courier_ended, .ctx = k};
	loop_io_want(r->role.loop, &k->ended, k->proc.pidfd, LOOP_READ);
	s->courier = k;
	loop_io_want(r->role.loop, &s->hand, s->fd, 0);
	return 0;
}

/* The answer comes when the courier has ended; until then nothing is read of this session. */
static void serve_sending(struct served *s, const struct hand_ask *ask)
{
	struct telnet_role *r = s->r;
	struct err err;
	int rc = 0;
	if (ask->what == HAND_MAIL && s->mails >= MAILS_MOST)
		rc = err_set(&err, ERR_BUSY, "a session may send %d mails, and has", MAILS_MOST);
	else if (r->ncouriers >= COURIERS_MOST)
		rc = err_set(&err, ERR_BUSY, "the server is busy; try again in a moment");
	else
		rc = courier_start(s, ask, &err);
	if (rc == 0)
		return;
	r->counts.mails_refused++;
	served_answer(s, told_of(s, &err), -1);
}

/* A session that was taken over shall not keep us from the others. */
static bool asks_too_often(struct served *s)
{
	int64_t now_us = loop_now_us(s->r->role.loop);
	if (now_us - s->since_us >= US_PER_S) {
		s->since_us = now_us;
		s->asks = 0;
	}
	return ++s->asks > ASKS_MOST;
}

/* Whether it has asked for something as a whole; that has been done, or begun, then. */
static bool serve_next(struct served *s)
{
	struct hand_ask ask;
	struct err err;
	size_t used;
	int rc = s->asked.n && !s->courier ? message_frame(&hand_asks, buf_str(&s->asked), &used)
					   : 1;
	if (rc == 0)
		rc = hand_ask_read(str_head(buf_str(&s->asked), used), &ask, &err);
	if (rc < 0 || (rc == 0 && asks_too_often(s))) {
		served_kill(s);
		return false;
	}
	if (rc != 0)
		return false;
	if (ask.what == HAND_CONNECT)
		serve_connect(s);
	else if (!may_try(s))
		served_answer(s, "this session has tried too often", -1);
	else
		serve_sending(s, &ask);
	s->r->held -= used;
	memmove(s->asked.p, s->asked.p + used, s->asked.n - used);
	s->asked.n -= used;
	if (s->asked.n == 0)
		buf_free(&s->asked);
	return true;
}

static void serve_waiting(struct served *s)
{
	while (!s->ends && serve_next(s))
		;
}

static void on_asked(void *ctx, unsigned what)
{
	struct served *s = ctx;
	size_t most = MIN((size_t)READ_BYTES, (size_t)HAND_ASK_MOST - s->asked.n);
	char *room = buf_room(&s->asked, most);
	(void)what;
	ssize_t n = room ? recv(s->fd, room, most, MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		loop_io_end(&s->hand); /* it ends, and will be reaped */
		return;
	}
	buf_grew(&s->asked, (size_t)n);
	s->r->held += (size_t)n;
	if (s->r->held > MAIL_MEMORY) {
		log_warn(ROLE, "sessions send too much at once; one was ended",
			 KV_TEXT("from", s->peer.text));
		served_kill(s);
		return;
	}
	serve_waiting(s);
}

/* Texts. */

static void say_warnings(struct telnet_role *r, struct buf *warnings)
{
	struct str rest, line;
	bool same = str_eq(buf_str(warnings), buf_str(&r->warnings));
	for (rest = buf_str(warnings); !same && rest.n && str_cut(&rest, '\n', &line) == 0;)
		if (line.n)
			log_warn(ROLE, "invalid text in archie/etc", KV_STR("why", line));
	buf_free(&r->warnings);
	r->warnings = *warnings;
}

/* For the sessions that begin from now on. */
static void read_texts(struct telnet_role *r)
{
	struct buf warnings = BUF_INIT(1 << 20);
	const struct archie_conf *archie = config_get(r->role.env->config, &archie_section);
	arena_free(&r->arena);
	shell_texts_read(r->role.env->data, &r->arena, &r->texts, &warnings);
	say_warnings(r, &warnings);
	r->read_us = loop_now_us(r->role.loop);
	r->how.shell = (struct shell_options){.layout = (enum shell_layout)archie->layout,
					      .host = archie_host(archie, r->host),
					      .texts = &r->texts};
	buf_clear(&r->refusal);
	telnet_text(
		STR("# The server is busy: there are too many sessions. Try again later, or ask "
		    "another server.\n"),
		&r->refusal);
	telnet_text(str_utf8_head(r->texts.servers, SERVERS_MOST), &r->refusal);
}

/* Sessions begin and end. */

static void served_free(struct served *s)
{
	struct telnet_role *r = s->r;
	if (s->courier)
		s->courier->served = NULL;
	loop_io_end(&s->ended);
	loop_io_end(&s->hand);
	r->held -= s->asked.n;
	buf_free(&s->asked);
	close(s->fd);
	list_remove(&s->link);
	gate_leave(r->gate, &s->peer.server);
	mem_free(&s);
	if (r->drains && list_is_empty(&r->sessions))
		loop_stop(r->role.loop);
}

static void on_ended(void *ctx, unsigned what)
{
	struct served *s = ctx;
	struct telnet_role *r = s->r;
	siginfo_t info = {0};
	char reason[64];
	struct err err;
	(void)what;
	if (proc_reap(&s->proc, &info, &err) < 0) {
		role_loop_fail(&r->role, &err);
		return;
	}
	bool died = info.si_code != CLD_EXITED || info.si_status >= TELNET_UNLOCKED;
	if (died) {
		proc_reason(&info, reason, sizeof reason);
		r->counts.deaths++;
		log_warn(ROLE,
			 info.si_code == CLD_EXITED
				 ? "a session could not be confined, and was ended"
				 : "a session died",
			 KV_TEXT("from", s->peer.text), KV_TEXT("of", reason));
	} else if (info.si_status == TELNET_HOSTILE) {
		r->counts.hostile++;
	}
	served_free(s);
}

/* In the child: nothing of the parent is left but memory, of which the counters are shared. */
/* A session that is taken over finds no setting of ours; copies of the strings are of no use to it.
 */
static void environ_forget(void)
{
	for (char **e = environ; *e; e++)
		explicit_bzero(*e, strlen(*e));
	clearenv();
}

static _Noreturn void session_begin(struct telnet_role *r, const struct peer *peer)
{
	struct telnet_session session = r->how;
	counters_close(&r->role.env->counters);
	(void)prctl(PR_SET_NAME, "archie-session");
	environ_forget();
	session.shell.from = peer->server.family ? str_of(peer->text) : STR("");
	_exit(telnet_session_run(&session));
}

/* 0: it runs. Negative: nothing has changed. */
static int served_start(struct served *s, int user, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, "no socket for a session");
	s->fd = pair[0];
	int fds[2] = {user, pair[1]};
	int rc = proc_safe_fd(&fds[1], err);
	if (rc == 0)
		rc = proc_fork(&s->proc, fds, 2, err);
	if (rc == 1)
		session_begin(s->r, &s->peer);
	close(fds[1]);
	if (rc < 0)
		close(s->fd);
	return rc;
}

static void on_accepted(void *ctx, int fd, const struct peer *peer)
{
	struct telnet_role *r = ctx;
	struct served *s = mem_alloc(sizeof *s);
	struct err err;
	*s = (struct served){.r = r, .peer = *peer, .asked = BUF_INIT(HAND_ASK_MOST)};
	if (loop_now_us(r->role.loop) - r->read_us >= TEXTS_US)
		read_texts(r);
	int rc = proc_safe_fd(&fd, &err);
	if (rc == 0)
		rc = served_start(s, fd, &err);
	if (rc < 0) {
		log_warn(ROLE, "cannot start a session for a user", KV_TEXT("why", err.msg));
		(void)!send(fd, r->refusal.p, r->refusal.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		gate_leave(r->gate, &peer->server);
		mem_free(&s);
	}
	close(fd);
	if (rc < 0)
		return;
	list_append(&r->sessions, &s->link);
	s->ended = (struct loop_io){.fn = on_ended, .ctx = s};
	s->hand = (struct loop_io){.fn = on_asked, .ctx = s};
	loop_io_want(r->role.loop, &s->ended, s->proc.pidfd, LOOP_READ);
	loop_io_want(r->role.loop, &s->hand, s->fd, LOOP_READ);
}

/* The role. */

static void tell_counters(void *ctx)
{
	struct telnet_role *r = ctx;
	if (r->listener) {
		r->counts.accepted = listener_stats(r->listener)->accepted;
		r->counts.refused = listener_stats(r->listener)->refused;
	}
	r->counts.sessions = gate_inside(r->gate);
	role_loop_tell_of(&r->role, &r->counts, "%" PRIu64 " sessions", r->counts.sessions);
}

static void kill_sessions(void *ctx)
{
	struct telnet_role *r = ctx;
	LIST_EACH (struct served, s, &r->sessions, link)
		served_kill(s);
}

/* The sessions see our end of their pair close, and say so to their users. */
static void role_drain(void *ctx)
{
	struct telnet_role *r = ctx;
	tell_counters(r);
	listener_free(&r->listener);
	if (list_is_empty(&r->sessions)) {
		loop_stop(r->role.loop);
		return;
	}
	if (r->drains)
		return;
	r->drains = true;
	LIST_EACH (struct served, s, &r->sessions, link)
		(void)shutdown(s->fd, SHUT_WR);
	r->deadline = (struct loop_timer){.fn = kill_sessions, .ctx = r};
	loop_timer_in(r->role.loop, &r->deadline, r->conf->drain_us);
}

static int find_user(struct telnet_role *r, struct err *err)
{
	if (geteuid() != 0) {
		log_warn(ROLE, "sessions run as the user of this role, since it is not root; their "
			       "other locks hold");
		return 0;
	}
	const struct passwd *p = getpwnam(r->conf->user);
	if (!p || p->pw_uid == 0)
		return err_set(err, ERR_USAGE, ROLE ".user: '%s' is %s", r->conf->user,
			       p ? "root" : "not a user of this machine");
	r->how.user = p->pw_uid;
	r->how.group = p->pw_gid;
	return 0;
}

static int role_make(struct telnet_role *r, struct err *err)
{
	struct role_env *env = r->role.env;
	uint64_t has, wants;
	int fd = role_fd(env, "listen");
	if (fd < 0)
		return err_set(err, ERR_USAGE, ROLE ".listen is empty: there is nothing to do");
	if (find_user(r, err) < 0 || role_loop_open(&r->role, err) < 0)
		return -1;
	/* of each session we have a socket and its process, of a courier a pipe */
	if (listener_make_room(2 * (r->conf->max_sessions + COURIERS_MOST), &has, &wants) != 0)
		log_warn(ROLE, "too few descriptors for max_sessions, see ulimit -n",
			 KV_UINT("has", has), KV_UINT("wants", wants));
	if (!buf_room(&r->refusal, REFUSAL_MOST))
		die("out of memory");
	read_texts(r);
	r->mailer = mailer_of(env->data, env->config);
	r->gate = gate_new((size_t)r->conf->max_sessions, (size_t)r->conf->max_per_address);
	return listener_new(&r->listener, r->role.loop, fd, r->gate,
			    &(struct listener_options){
				    .refusal = r->refusal.p, .accepted = on_accepted, .ctx = r},
			    err);
}

static void sessions_end(struct telnet_role *r)
{
	siginfo_t info;
	struct err ignored;
	r->drains = false;
	LIST_EACH (struct served, s, &r->sessions, link) {
		served_kill(s);
		(void)proc_reap(&s->proc, &info, &ignored);
		served_free(s);
	}
}

/* What has not been sent by now is lost: their users have gone. */
static void couriers_end(struct telnet_role *r)
{
	siginfo_t info;
	struct err ignored;
	LIST_EACH (struct courier, k, &r->couriers, link) {
		loop_io_end(&k->ended);
		proc_signal(&k->proc, SIGKILL);
		(void)proc_reap(&k->proc, &info, &ignored);
		if (info.si_code != CLD_EXITED)
			log_warn(ROLE, "mail lost", KV_TEXT("why", "the role stops"));
		courier_free(k);
	}
}

static int role_run(struct role_env *env, struct err *err)
{
	struct telnet_role r = {
		.role = {.env = env, .tell = tell_counters, .drain = role_drain, .ctx = &r},
		.conf = config_get(env->config, &section),
		.arena = ARENA_INIT((size_t)SHELL_TEXTS_MOST + (64 << 10)),
		.refusal = BUF_INIT(REFUSAL_MOST)};
	list_init(&r.sessions);
	list_init(&r.couriers);
	int rc = role_make(&r, err);
	if (rc == 0)
		rc = role_loop_run(&r.role, err);
	sessions_end(&r);
	couriers_end(&r);
	loop_timer_stop(&r.deadline);
	listener_free(&r.listener);
	gate_free(&r.gate);
	role_loop_close(&r.role);
	buf_free(&r.refusal);
	buf_free(&r.warnings);
	arena_free(&r.arena);
	return rc;
}

const struct role archie_telnet_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "answer people who look for files of archives, by telnet",
	.description =
		"The archive's shell for anyone who has telnet, or nc: no name and no password is "
		"asked for. Each user has a process, which becomes another user before it reads "
		"the "
		"first byte, and can open, execute and write nothing; it asks the role "
		"archie-queuer. What users mail to themselves is sent at once, as mail.via says, "
		"or "
		"they are told that it cannot be.",
	.section = &section,
	.counters = counter_defs,
	.ncounters = ARRAY_LEN(counter_defs),
	.check = archie_conf_check,
	.run = role_run,
};
