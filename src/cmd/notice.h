/* Notices: what roles say to the supervisor, the datagrams of notify_send() as their reader sees
 * them. The kernel vouches for the sender's pid. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

struct notice {
	pid_t pid; /* of the sender, at the time of sending */
	bool ready, stopping;
	struct str status; /* inside the bytes that were read; n == 0: none was given */
};

/* Lines KEY=VALUE; what is not known is passed over, as the protocol wants it. pid is untouched. */
void notice_parse(struct str bytes, struct notice *ret);

/* A socket for them at an abstract address that the kernel chose; ret_name gets it in the form of
 * $NOTIFY_SOCKET ("@00a1f"). */
int notice_open(int *ret_fd, char *ret_name, size_t cap, struct err *err);
/* The next one that waits; its bytes go into `bytes`. 1: none. Never blocks. */
int notice_read(int fd, struct buf *bytes, struct notice *ret, struct err *err);
