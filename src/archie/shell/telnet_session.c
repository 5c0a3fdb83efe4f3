/* One user of telnet. All waiting is done in poll(): for the user, for the parent, for room to
 * write. When the server ends, in whatever way, the parent's end of the socket pair is closed,
 * which tells the session to stop.
 *
 * Peers that answer options do so within a round trip. The greeting waits a moment for these
 * answers, because it names the terminal; later answers are accepted as well. */
#include "archie/telnet_session.h"

#include "archie/talk.h"
#include "archie/telnet_hand.h"
#include "archie/telnet_wire.h"
#include "base/clock.h"
#include "base/wait.h"
#include "extract/cage_door.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTLE_US (300 * US_PER_MS)
#define WRITE_US (60 * US_PER_S) /* that a user may not read */
#define HAND_US (4 * US_PER_S)   /* that the parent may not answer */
#define SEND_US (150 * US_PER_S) /* the same, while it sends a mail */
#define LINGER_US (1 * US_PER_S)
enum { MEMORY = 256 << 20, TEXT_BYTES = 2048 };

struct user {
	struct talk *talk;
	struct telnet_wire wire;
	bool gone;     /* cannot be written to */
	bool stopping; /* the parent has closed its end */
};

/* Descriptors. */

enum { READY_USER = 1, READY_PARENT = 2 };

/* Until one of them is as wanted, or the time has come, as wait_ready() has it. 0: it is time. */
static unsigned wait_for_either(short user, int64_t until_us)
{
	struct pollfd p[2] = {{.fd = user ? TELNET_USER_FD : -1, .events = user},
			      {.fd = TELNET_PARENT_FD, .events = POLLIN}};
	(void)wait_ready(p, ARRAY_LEN(p), until_us);
	return (p[0].revents ? READY_USER : 0) | (p[1].revents ? READY_PARENT : 0);
}

/* Nothing comes from the parent unasked but its end. */
static void user_stops(struct user *u)
{
	u->stopping = true;
	talk_leave(u->talk, "The server stops.");
}

static void send_bytes(struct user *u, struct str bytes)
{
	int64_t until_us = clock_mono_us() + WRITE_US;
	while (bytes.n && !u->gone) {
		ssize_t n = send(TELNET_USER_FD, bytes.p, bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			bytes = str_from(bytes, (size_t)n);
			continue;
		}
		if (errno == EAGAIN) {
			unsigned ready =
				u->stopping ? READY_PARENT : wait_for_either(POLLOUT, until_us);
			if (ready & READY_USER)
				continue;
			if (ready & READY_PARENT)
				user_stops(u);
			u->gone = true; /* one who does not read cannot be told, either */
		} else if (errno != EINTR) {
			u->gone = true;
		}
	}
}

static void send_out(struct user *u)
{
	send_bytes(u, buf_str(&u->wire.out));
	buf_clear(&u->wire.out);
}

static void heed_wire(struct user *u)
{
	struct telnet_wire *w = &u->wire;
	send_out(u);
	talk_keys(u->talk, w->keys);
	if (w->changed)
		talk_terminal(u->talk,
			      &(struct shell_terminal){str_of(w->type), w->rows, w->cols, false});
	if (w->interrupted)
		talk_interrupt(u->talk);
	w->changed = w->interrupted = false;
	if (w->broken)
		u->gone = true;
}

/* Takes what is there. 0: it did. 1: there is no more, ever. Negative: nothing is there. */
static int take_bytes(struct user *u, size_t most)
{
	char room[TELNET_PIECE_MOST];
	ssize_t n = recv(TELNET_USER_FD, room, MIN(most, sizeof room), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n <= 0)
		return 1;
	telnet_wire_take(&u->wire, (struct str){room, (size_t)n}, clock_mono_us());
	heed_wire(u);
	return u->gone ? 1 : 0;
}

/* What talk.h wants. */

static int user_read(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n)
{
	struct user *u = ctx;
	struct buf *typed = &u->wire.typed;
	if (typed->n == 0 && u->wire.ended)
		return 1;
	if (typed->n == 0) {
		unsigned ready = wait_for_either(POLLIN, until_us);
		if (ready & READY_PARENT)
			user_stops(u);
		if (!(ready & READY_USER))
			return ready ? 0 : -1;
		if (take_bytes(u, cap) == 1)
			return 1;
	}
	*ret_n = MIN(typed->n, cap);
	if (*ret_n) {
		memcpy(room, typed->p, *ret_n);
		memmove(typed->p, typed->p + *ret_n, typed->n - *ret_n);
		typed->n -= *ret_n;
	}
	return 0;
}

static bool user_write(void *ctx, struct str text)
{
	struct user *u = ctx;
	while (text.n && !u->gone) {
		struct str piece = str_head(text, TEXT_BYTES);
		telnet_text(piece, &u->wire.out);
		send_out(u);
		text = str_from(text, piece.n);
	}
	return !u->gone;
}

/* What the parent does for us. */

static int hand_over(struct user *u, struct str bytes, struct err *err)
{
	int64_t until_us = clock_mono_us() + HAND_US;
	while (bytes.n) {
		ssize_t n = hand_send(TELNET_PARENT_FD, bytes, -1);
		if (n >= 0) {
			bytes = str_from(bytes, (size_t)n);
			continue;
		}
		struct pollfd p = {.fd = TELNET_PARENT_FD, .events = POLLOUT};
		if (errno != EAGAIN || wait_ready(&p, 1, until_us) <= 0) {
			user_stops(u);
			return err_set(err, ERR_BUSY, "the server stops");
		}
	}
	return 0;
}

/* *ret_fd: of the socket that came with it; -1: none did. */
static int hear_answer(struct user *u, int64_t until_us, int *ret_fd, struct err *err)
{
	char said[HAND_ANSWER_MOST];
	size_t n = 0, whole;
	*ret_fd = -1;
	while (n < sizeof said && wait_for_either(0, until_us) == READY_PARENT) {
		int fd = -1;
		ssize_t got = hand_receive(TELNET_PARENT_FD, said + n, sizeof said - n, &fd);
		if (fd >= 0 && *ret_fd < 0)
			*ret_fd = fd;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (message_frame(&hand_answers, (struct str){said, n}, &whole) != 1)
			return hand_answer_parse((struct str){said, n}, err);
	}
	user_stops(u); /* without it, there is nothing to be had */
	return err_set(err, ERR_BUSY, "the server stops");
}

static int ask_parent(struct user *u, const struct hand_ask *ask, int *ret_fd, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(HAND_ASK_MOST);
	*ret_fd = -1;
	message_write(&hand_asks, ask->what, ask, &bytes);
	if (bytes.over)
		return err_set(err, ERR_USAGE, "it is too large");
	if (hand_over(u, buf_str(&bytes), err) < 0)
		return -1;
	int64_t most_us = ask->what == HAND_CONNECT ? HAND_US : SEND_US;
	return hear_answer(u, clock_mono_us() + most_us, ret_fd, err);
}

static int user_connect(void *ctx)
{
	struct err ignored;
	int fd;
	(void)ask_parent(ctx, &(struct hand_ask){.what = HAND_CONNECT}, &fd, &ignored);
	return fd;
}

static int user_mail(void *ctx, const struct shell_mail *mail, struct err *err)
{
	int fd;
	return ask_parent(ctx, &(struct hand_ask){.what = HAND_MAIL, .mail = *mail}, &fd, err);
}

static int user_new_site(void *ctx, struct str host, struct err *err)
{
	struct user *u = ctx;
	struct str to = shell_value(talk_shell(u->talk), "mailto");
	int fd;
	return ask_parent(ctx, &(struct hand_ask){.what = HAND_SITE, .host = host, .reply_to = to},
			  &fd, err);
}

static const struct talk_ops ops = {user_read, user_write, user_mail, user_new_site};

/* Beginning and end. */

/* All but talking is given up. The sockets are the only descriptors that there are, so what is let
 * through can reach nobody else. */
static bool lock_in(const struct telnet_session *session)
{
	static const int calls[] = {
		SYS_recvfrom, SYS_sendto,   SYS_recvmsg, SYS_sendmsg,
		SYS_ppoll,    SYS_shutdown, SYS_close,
#ifdef SYS_poll
		SYS_poll,
#endif
	};
	unsigned must = CAGE_NO_NEW_PRIVILEGES | CAGE_SECCOMP | CAGE_LIMITS;
	if (geteuid() == 0)
		must |= CAGE_OTHER_USER;
	door_silence();
	if (dup2(STDERR_FILENO, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return false;
	unsigned held = door_shut(MEMORY, (struct door_ends){.in = TELNET_USER_FD,
							     .out = TELNET_USER_FD,
							     .calls = calls,
							     .ncalls = ARRAY_LEN(calls),
							     .files = TELNET_FILES,
							     .user = session->user,
							     .group = session->group});
	return (held & must) == must;
}

/* Waits a moment for the peer's options. What is typed meanwhile waits as well. */
static void settle_options(struct user *u)
{
	int64_t until_us = clock_mono_us() + SETTLE_US;
	send_out(u);
	while (!telnet_wire_settled(&u->wire) && u->wire.typed.n == 0 && !u->gone) {
		unsigned ready = wait_for_either(POLLIN, until_us);
		if (ready != READY_USER || take_bytes(u, TELNET_PIECE_MOST) != 0)
			return;
	}
}

/* Closing with something unread would take back what was sent last. */
static void hang_up(struct user *u)
{
	char room[TELNET_PIECE_MOST];
	int64_t until_us = clock_mono_us() + LINGER_US;
	if (u->gone || shutdown(TELNET_USER_FD, SHUT_WR) < 0)
		return;
	while (!u->stopping && wait_for_either(POLLIN, until_us) == READY_USER)
		if (recv(TELNET_USER_FD, room, sizeof room, MSG_DONTWAIT) <= 0)
			return;
}

enum telnet_end telnet_session_run(const struct telnet_session *session)
{
	struct user u = {.gone = false};
	struct archie *archie = archie_new_handed(user_connect, &u);
	struct talk_options o = {.ops = &ops,
				 .ctx = &u,
				 .archie = archie,
				 .fd = TELNET_USER_FD,
				 .prompts = true,
				 .shell = session->shell};
	o.shell.mode = SHELL_INTERACTIVE;
	telnet_wire_init(&u.wire);
	u.talk = talk_new(&o);
	int now = nice((int)shell_number(talk_shell(u.talk), "niceness"));
	(void)now;
	if (!lock_in(session))
		return TELNET_UNLOCKED;
	settle_options(&u);
	talk_run(u.talk);
	hang_up(&u);
	enum telnet_end end = u.wire.broken ? TELNET_HOSTILE : TELNET_LEFT;
	talk_free(&u.talk);
	telnet_wire_done(&u.wire);
	archie_free(&archie);
	return end;
}
