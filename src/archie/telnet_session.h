/* A session of telnet, in a process of its own that was forked for it and does nothing else. It is
 * at the mercy of strangers, so before the first byte is read or sent it becomes another user and
 * can do no more than talk: to its user, to the process that started it (telnet_hand.h), and to the
 * queuer over sockets that are handed to it. It opens and executes nothing and writes to no file.
 */
#pragma once
#include "archie/shell.h"

enum {
	TELNET_USER_FD = 3, /* where the session has them; all others but 0 to 2 are closed */
	TELNET_PARENT_FD = 4,
	TELNET_FILES = 16, /* numbers of descriptors that it may use */
};

struct telnet_session {
	struct shell_options shell; /* but for its mode, ops and ctx */
	unsigned user, group;       /* whom root becomes; 0: nobody */
};

/* How it ended, for the parent: the status of the process. */
enum telnet_end {
	TELNET_LEFT,     /* the user left, hung up, or was logged out */
	TELNET_HOSTILE,  /* hung up on, for what was said on the wire */
	TELNET_UNLOCKED, /* the process could not be confined, and nothing was said */
	TELNET_ENDS
};

/* Both descriptors do not block. */
enum telnet_end telnet_session_run(const struct telnet_session *session);
