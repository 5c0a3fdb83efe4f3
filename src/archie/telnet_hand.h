/* What a session of telnet asks of the process that started it, which can do what the session may
 * not: connect to the queuer, keep mails, keep requests for sites. Over a pair of sockets:
 *
 *   CONNECT                              a socket of the queuer, handed over with the answer
 *   MAIL TO COMMAND TEXT C E SPLIT       three counts of bytes, then these bytes; C, E: 0 or 1
 *   SITE HOST TO                         two counts of bytes, then these bytes
 *
 * each after a line end; the answer is a line, OK or NO and a reason. The session is the one that
 * strangers might have taken over: all that it says is checked and bounded. */
#pragma once
#include "archie/shell.h"

enum {
	HAND_LINE_MOST = 128,
	HAND_WORD_MOST = 1024, /* an address, a command, a host */
	HAND_ASK_MOST = HAND_LINE_MOST + SHELL_OUTPUT_MOST + 3 * HAND_WORD_MOST,
	HAND_REASON_MOST = 400,
	HAND_ANSWER_MOST = HAND_REASON_MOST + 8,
};

enum hand_what { HAND_CONNECT, HAND_MAIL, HAND_SITE };

struct hand_ask {
	enum hand_what what;
	struct shell_mail mail; /* MAIL */
	struct str host;        /* SITE */
	struct str reply_to;    /* SITE: the variable mailto, or "" */
};

void hand_ask_print(const struct hand_ask *a, struct buf *out);
/* 0: *ret lies in the bytes, of which it has *ret_used. 1: there is more to come. Negative: this
 * cannot be one. */
int hand_ask_parse(struct str bytes, struct hand_ask *ret, size_t *ret_used, struct err *err);

/* reason NULL: OK. */
void hand_answer_print(const char *reason, struct buf *out);
/* A whole line, with its end. 0: OK. Negative: NO, and err has the reason. */
int hand_answer_parse(struct str line, struct err *err);

/* Sends bytes with a descriptor (-1: none) in one piece, and receives up to n of them; -1 in
 * *ret_fd: none came. Both return what sendmsg() and recvmsg() do. */
ssize_t hand_send(int socket, struct str bytes, int fd);
ssize_t hand_receive(int socket, char *room, size_t n, int *ret_fd);
