/* What a telnet session asks of its parent, which may do what the session may not: connect to the
 * queuer, send mails, request sites. Messages (base/message.h) over a pair of sockets, without a
 * version, since both ends are one program; the answer to `connect` carries a socket of the queuer.
 * A stranger may have taken over the session: all its messages are checked and bounded. */
#pragma once
#include "archie/shell.h"
#include "base/message.h"

enum {
	HAND_WORD_MOST = 1024, /* an address, a command, a host */
	HAND_ASK_MOST = SHELL_OUTPUT_MOST + 4 * HAND_WORD_MOST,
	HAND_REASON_MOST = 400,
	HAND_ANSWER_MOST = HAND_REASON_MOST + 64,
};

enum hand_what {
	HAND_CONNECT,
	HAND_MAIL,
	HAND_SITE,
	HAND_OK, /* the answers */
	HAND_NO,
};

struct hand_ask {
	int what;
	struct shell_mail mail; /* MAIL */
	struct str host;        /* SITE */
	struct str reply_to;    /* SITE: the variable mailto, or "" */
	struct str reason;      /* NO */
};

/* The messages of a session and of its parent, read into struct hand_ask. */
extern const struct message_wire hand_asks, hand_answers;

/* Reads a complete message of hand_asks; slices point into the bytes. Negative: not one. */
int hand_ask_read(struct str bytes, struct hand_ask *ret, struct err *err);

/* reason NULL: OK. */
void hand_answer_print(const char *reason, struct buf *out);
/* Reads a complete message of hand_answers. 0: OK. Negative: NO, err has the reason. */
int hand_answer_parse(struct str bytes, struct err *err);

/* Sends bytes with a descriptor (-1: none); receives up to n bytes and a descriptor (*ret_fd is -1:
 * none came). Both return what sendmsg() and recvmsg() do. */
ssize_t hand_send(int socket, struct str bytes, int fd);
ssize_t hand_receive(int socket, char *room, size_t n, int *ret_fd);
