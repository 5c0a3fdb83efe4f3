/* Messages between a session and its parent. Descriptors are passed one way only: any that a
 * session sends along are not received. */
#include "archie/telnet_hand.h"

#include <sys/socket.h>

enum { SPLIT_LEAST = 1024 };

#define S struct hand_ask
static const struct message_field of_mail[] = {
	{MESSAGE_BYTES_AT(S, mail.to, "to", HAND_WORD_MOST)},
	{MESSAGE_BYTES_AT(S, mail.command, "command", HAND_WORD_MOST)},
	{MESSAGE_BYTES_AT(S, mail.text, "text", SHELL_OUTPUT_MOST + HAND_WORD_MOST)},
	{MESSAGE_FLAG_AT(S, mail.compress, "compress")},
	{MESSAGE_FLAG_AT(S, mail.encode, "encode")},
	{MESSAGE_NUMBER_AT(S, mail.max_split_size, "split", SPLIT_LEAST, INT32_MAX), .must = true},
};
static const struct message_field of_site[] = {
	{MESSAGE_BYTES_AT(S, host, "host", HAND_WORD_MOST)},
	{MESSAGE_BYTES_AT(S, reply_to, "reply-to", HAND_WORD_MOST)},
};
static const struct message_field of_no[] = {
	{MESSAGE_SAID_AT(S, reason, "reason", HAND_REASON_MOST)},
};
static const struct message asks[] = {
	MESSAGE_BARE("connect", HAND_CONNECT),
	MESSAGE("mail", HAND_MAIL, HAND_ASK_MOST - MESSAGE_HEAD_MAX, of_mail),
	MESSAGE("site", HAND_SITE, 3 * HAND_WORD_MOST, of_site),
};
static const struct message answers[] = {
	MESSAGE_BARE("ok", HAND_OK),
	MESSAGE("no", HAND_NO, HAND_ANSWER_MOST - MESSAGE_HEAD_MAX, of_no),
};
const struct message_wire hand_asks = {asks, ARRAY_LEN(asks), sizeof(S)};
const struct message_wire hand_answers = {answers, ARRAY_LEN(answers), sizeof(S)};

int hand_ask_read(struct str bytes, struct hand_ask *ret, struct err *err)
{
	int what;
	if (message_read(&hand_asks, bytes, &what, ret, err) < 0)
		return -1;
	ret->what = what;
	if (ret->mail.compress && !ret->mail.encode)
		return err_set(err, ERR_DAMAGED, "mail: compressed, and not encoded");
	return 0;
}

void hand_answer_print(const char *reason, struct buf *out)
{
	const struct hand_ask said = {.reason = str_of(reason)};
	message_write(&hand_answers, reason ? HAND_NO : HAND_OK, &said, out);
}

int hand_answer_parse(struct str bytes, struct err *err)
{
	struct hand_ask said;
	int what;
	if (message_read(&hand_answers, bytes, &what, &said, err) < 0)
		return err_set(err, ERR_REMOTE, "the server does not say what it did");
	if (what == HAND_OK)
		return 0;
	return err_set(err, ERR_BUSY, STR_FMT, STR_ARG(said.reason));
}

/* Room for one descriptor, aligned as the macros want it. */
union hand_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

ssize_t hand_send(int socket, struct str bytes, int fd)
{
	union hand_control control = {.room = {0}};
	struct iovec iov = {.iov_base = (char *)bytes.p, .iov_len = bytes.n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t hand_receive(int socket, char *room, size_t n, int *ret_fd)
{
	union hand_control control = {.room = {0}};
	struct iovec iov = {.iov_base = room, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	*ret_fd = -1;
	ssize_t got = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
		memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
	return got;
}
