/* Listening sockets from their text form (base/endpoint.h). */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* Where a connection to such an address goes; "*" is nowhere. ret: a struct sockaddr_storage. */
struct sockaddr_storage;
int listen_address(const char *text, struct sockaddr_storage *ret, unsigned *ret_len,
		   struct err *err);
/* Opens, binds and listens; non-blocking, close-on-exec. A Unix socket without a listener is
 * replaced. */
int listen_open(const char *text, int *ret_fd, struct err *err);
/* The address it is really bound to, in the same form: port 0 shows as the port that was given. */
int listen_name(int fd, char *ret, size_t cap, struct err *err);
