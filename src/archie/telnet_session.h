/* A telnet session, in a process forked for it. It is exposed to strangers, so before the first
 * byte is read or sent it becomes another user and can only talk: to its user, to its parent
 * (telnet_hand.h), and to the queuer over sockets that the parent passes to it. It cannot open,
 * execute or write files. */
#pragma once
#include "archie/shell.h"

enum {
	TELNET_USER_FD = 3, /* descriptors; all others except 0 to 2 are closed */
	TELNET_PARENT_FD = 4,
	TELNET_FILES = 16, /* most descriptors */
};

struct telnet_session {
	struct shell_options shell; /* without mode, ops and ctx */
	unsigned user, group;       /* replace root; 0: nobody */
};

/* How it ended, for the parent: the status of the process. */
enum telnet_end {
	TELNET_LEFT,     /* the user left, hung up, or was logged out */
	TELNET_HOSTILE,  /* disconnected for what the peer sent */
	TELNET_UNLOCKED, /* the process could not be confined; nothing was sent */
	TELNET_ENDS
};

/* Both descriptors must be non-blocking. */
enum telnet_end telnet_session_run(const struct telnet_session *session);
