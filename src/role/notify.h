/* Readiness: the protocols of systemd, which the supervisor speaks upwards and the roles speak to
 * it: a datagram to $NOTIFY_SOCKET, listening sockets from descriptor 3 on named by
 * $LISTEN_FDNAMES. Without these variables nothing is sent and nothing was handed down. */
#pragma once
#include "base/err.h"

/* "READY=1", "STOPPING=1", "STATUS=...": lines. */
void notify_send(const char *state);

/* The inherited socket of that name, or -1. The variables stay; the descriptor is made
 * close-on-exec and belongs to the caller. */
int notify_socket(const char *name);
