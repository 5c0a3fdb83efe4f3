/* TLS 1.3 under line servers and outgoing connections: with one shared key, the same file on both
 * sides, or with certificates. A struct tls has the configuration of one side of many connections;
 * a struct tls_conn is one connection, and belongs to net/conn.c, which reads and writes it like a
 * socket.
 *
 * No tickets, no resumption, no early data: connections are long-lived. */
#pragma once
#include "base/buf.h"
#include "base/value.h"

#include <sys/types.h>

struct sockaddr;
struct tls;
struct tls_conn;

struct tls_conf {
	const char *shared_key, *cert, *key, *ca; /* paths; NULL or empty: not set */
};

/* For the table of a section; `m` is the struct tls_conf in it. [net] has these for all links
 * between roles; TLS_SPECS_FROM is for others, and names what each inherits from. */
/* clang-format off */
#define TLS_SPECS(s, m) \
	TLS_SPECS_FROM(s, m, "net.tls_shared_key", "net.tls_cert", "net.tls_key", "net.tls_ca")
#define TLS_SPECS_FROM(s, m, from_shared_key, from_cert, from_key, from_ca) \
	{"tls_shared_key", VALUE_PATH_AT(s, m.shared_key), \
	 .help = "Connections are encrypted (TLS 1.3) by the key in this file, a line of at least 64 " \
		 "hexadecimal digits; the peer has the same file, and nobody else may read it", \
	 .inherits = from_shared_key}, \
	{"tls_cert", VALUE_PATH_AT(s, m.cert), \
	 .help = "Connections are encrypted (TLS 1.3) by certificates: a file with ours and those " \
		 "between it and its root, PEM", \
	 .inherits = from_cert}, \
	{"tls_key", VALUE_PATH_AT(s, m.key), \
	 .help = "The key of tls_cert, PEM without a password; nobody else may read it", \
	 .inherits = from_key}, \
	{"tls_ca", VALUE_PATH_AT(s, m.ca), \
	 .help = "CA certificates (PEM) that the peer's certificate is verified against; a server that " \
		 "has them wants a certificate of each client, a client needs them, and the " \
		 "certificate of its server has to name the address that is connected to", \
	 .inherits = from_ca}
/* clang-format on */

/* 1: nothing is set, no TLS (*ret is NULL). ERR_USAGE names the setting and the file that cannot be
 * used; a key that others may read is refused. */
int tls_new(struct tls **ret, const struct tls_conf *conf, bool server, struct err *err);
/* Reads the file of a setting, at most out->max bytes; `secret`: one that others may read is
 * refused. ERR_USAGE names the setting. tls_wipe() frees what was read and leaves nothing of it in
 * memory. */
int tls_read_file(const char *setting, const char *path, bool secret, struct buf *out,
		  struct err *err);
void tls_wipe(struct buf *b);
/* Only after all connections that use it are freed. */
void tls_free(struct tls **t);
/* Returns whether peers at that address are on this machine (loopback, a Unix socket) or have to
 * authenticate: they do with TLS (t; NULL: none), except to a server without tls_ca. For roles that
 * must not talk to everyone on the network. */
bool tls_trusts(const struct tls *t, const struct sockaddr *at, size_t n);

/* Most memory of one connection in the handshake, whatever the peer sends; later at most two
 * records (34 KB), and none while idle. */
enum { TLS_SHAKE_MEMORY = 192 * 1024 };

/* fd is a connected, non-blocking socket, which the caller still owns. */
struct tls_conn *tls_conn_new(const struct tls *t, int fd);
void tls_conn_free(struct tls_conn **c);
/* Continues the handshake without blocking. 0: done; 1: see tls_conn_wants(); negative: failed,
 * errno is set. */
int tls_conn_shake(struct tls_conn *c);
/* Like recv() and send(); writes at most one record. A failure of TLS itself is EPROTO. */
ssize_t tls_conn_read(struct tls_conn *c, char *p, size_t cap);
ssize_t tls_conn_write(struct tls_conn *c, const char *p, size_t n);
/* Returns the number of bytes written that the socket has not accepted. tls_conn_flush() sends
 * them; it returns the number sent, or negative with errno. */
size_t tls_conn_held(const struct tls_conn *c);
ssize_t tls_conn_flush(struct tls_conn *c);
/* Returns what the handshake or the last read waits for: LOOP_READ or LOOP_WRITE; 0: nothing, more
 * data may be buffered. */
unsigned tls_conn_wants(const struct tls_conn *c);
/* Sends close_notify. 1: there is no room for that yet. */
int tls_conn_bye(struct tls_conn *c);
/* Returns why EPROTO was set: "the peer has another key". Valid until c is freed. */
const char *tls_conn_why(const struct tls_conn *c);
