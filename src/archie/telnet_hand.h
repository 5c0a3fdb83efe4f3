/* What a session of telnet asks of the process that started it, which can do what the session may
 * not: connect to the queuer, send mails and requests for sites. Messages (base/message.h) over a
 * pair of sockets, both ends of one program, so without a version; the answer to `connect` brings a
 * socket of the queuer with it. The session is the one that strangers might have taken over: all
 * that it says is checked and bounded. */
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

/* What a session may say, and its parent: of the size of struct hand_ask. */
extern const struct message_wire hand_asks, hand_answers;

/* A whole message of hand_asks; slices are in the bytes. Negative: it cannot be one. */
int hand_ask_read(struct str bytes, struct hand_ask *ret, struct err *err);

/* reason NULL: OK. */
void hand_answer_print(const char *reason, struct buf *out);
/* A whole message of hand_answers. 0: OK. Negative: NO, and err has the reason. */
int hand_answer_parse(struct str bytes, struct err *err);

/* Sends bytes with a descriptor (-1: none) in one piece, and receives up to n of them; -1 in
 * *ret_fd: none came. Both return what sendmsg() and recvmsg() do. */
ssize_t hand_send(int socket, struct str bytes, int fd);
ssize_t hand_receive(int socket, char *room, size_t n, int *ret_fd);
