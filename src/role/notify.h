/* Both ends of systemd's readiness protocols: roles speak them to the supervisor, and the
 * supervisor to systemd. A datagram of lines goes to $NOTIFY_SOCKET; listening sockets are
 * inherited from descriptor 3 on and named by $LISTEN_FDNAMES. Without these variables nothing is
 * sent or inherited. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* "READY=1", "STOPPING=1", "STATUS=...": lines. */
void notify_send(const char *state);

/* The inherited socket of that name, or -1. The variables stay; the descriptor is made
 * close-on-exec and belongs to the caller. */
int notify_socket(const char *name);

/* The content of one datagram. */
struct notice {
	pid_t pid; /* of the sender, when it was sent; the kernel vouches for it. 0: unknown */
	bool ready, stopping;
	struct str status; /* inside the bytes that were read; n == 0: none was given */
};

/* A socket to read notices from, at an abstract address that the kernel chose; ret_name gets the
 * address in the form of $NOTIFY_SOCKET ("@00a1f"). */
int notice_open(int *ret_fd, char *ret_name, size_t cap, struct err *err);
/* The next notice in the queue; its bytes go into `bytes`. 1: none. Never blocks. Unknown
 * lines are ignored, as the protocol demands. */
int notice_read(int fd, struct buf *bytes, struct notice *ret, struct err *err);
