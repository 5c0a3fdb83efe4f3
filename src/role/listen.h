/* Listening sockets from their text form (base/endpoint.h). */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* Where a connection to such an address goes; "*" is nowhere. ret: a struct sockaddr_storage. */
struct sockaddr_storage;
int listen_address(const char *text, struct sockaddr_storage *ret, unsigned *ret_len,
		   struct err *err);
/* Opens, binds and listens, also in the form of endpoint_parse_udp(); non-blocking, close-on-exec.
 * A Unix socket without a listener is replaced. */
int listen_open(const char *text, int *ret_fd, struct err *err);
/* "udp:" ones are bound, and their packets come without a connection.
 * Another socket at the address of such a one, for another process. */
int listen_share(int fd, int *ret_fd, struct err *err);
/* So that of the n sockets at this address one and the same has all packets of a client: of an IPv4
 * address, or of an IPv6 network of 64 bits. Which one changes with n. */
int listen_spread(int fd, unsigned n, struct err *err);
/* The address it is really bound to, in the same form: port 0 shows as the port that was given. */
int listen_name(int fd, char *ret, size_t cap, struct err *err);
