/* TLS 1.3 by OpenSSL. It reads and writes through a BIO of our own, because OpenSSL's raises
 * SIGPIPE, and because ours returns no more bytes per round than conn.c would read: a peer that
 * sends nothing but key updates cannot keep the loop busy. Buffers are released between records,
 * so an idle connection holds only its keys.
 *
 * Bytes that the socket does not take are kept here, at most one record and small messages, so
 * that every write succeeds for OpenSSL: it breaks a connection that has to answer a key update in
 * the middle of a write.
 *
 * Both sides of a shared key use the identity "garner". The keys themselves are compared, so a
 * peer with another key is told apart from one without. */
#include "net/tls.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/hash.h"
#include "net/addr.h"
#include "net/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/socket.h>

enum {
	KEY_MIN = 32, /* bytes of a shared key */
	KEY_MAX = 256,
	FILE_MAX = 1 << 20,
	CHAIN_MAX = 64 * 1024, /* bytes of a peer's certificates */
	ROUND_MAX = 40 * 1024, /* bytes from the socket in one call: two records and some */
	RECORD_MAX = 16 * 1024,
	HELD_MAX = 32 * 1024, /* bytes to be sent; past it nothing is read */
	/* what one call may add: in the handshake our certificates, else an answer to each key
	 * update, which is no longer than that */
	HELD_LIMIT = HELD_MAX + ROUND_MAX * 2 + FILE_MAX,
};
#define KEY_NAME "garner"
/* Both work with the hash that a shared key is for. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"

struct tls {
	SSL_CTX *ctx;
	BIO_METHOD *wire;
	bool server, knows_peer;
	unsigned char key[KEY_MAX];
	size_t key_n; /* 0: certificates */
};

struct tls_conn {
	const struct tls *tls;
	SSL *ssl;
	int fd;
	size_t budget;   /* bytes that may still be read in this call */
	unsigned wants;  /* see tls_conn_wants() */
	int wire_errno;  /* of the socket's last failure; 0: none */
	struct buf held; /* records that the socket has not taken */
	size_t held_at;  /* bytes of them that it has */
	bool wire_eof;
	bool ended;  /* nothing more arrives; end is the result of further reads */
	int end;     /* errno; 0: the peer is done */
	bool broken; /* nothing may be written */
	char why[160];
};

/* The files. */

static bool is_set(const char *path)
{
	return path && *path;
}

static const char *library_says(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());
	return text ? text : "it has another form";
}

int tls_read_file(const char *setting, const char *path, bool secret, struct buf *out,
		  struct err *err)
{
	struct file f = FILE_INIT;
	struct stat st = {0};
	size_t n = 0;
	int rc = file_open(&f, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s is not there", path);
	else if (rc == 0 && fstat(f.fd, &st) < 0)
		rc = err_sys(err, "%s", path);
	else if (rc == 0 && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > out->max))
		rc = err_set(err, ERR_USAGE, "%s is not a file of at most %zu bytes", path,
			     out->max);
	else if (rc == 0 && secret && (st.st_mode & 077))
		rc = err_set(err, ERR_USAGE, "others may read %s or write to it: chmod 600", path);
	else if (rc == 0)
		rc = file_read(&f, buf_room(out, (size_t)st.st_size), (size_t)st.st_size, 0, &n,
			       err);
	if (n)
		buf_grew(out, n);
	file_drop(&f);
	return rc < 0 ? err_in(err, "%s", setting) : 0;
}

void tls_wipe(struct buf *b)
{
	if (b->p)
		OPENSSL_cleanse(b->p, b->cap);
	buf_free(b);
}

static int load_shared_key(struct tls *t, const char *path, struct err *err)
{
	struct buf text CLEANUP(tls_wipe) = BUF_INIT(FILE_MAX);
	if (tls_read_file("tls_shared_key", path, true, &text, err) < 0)
		return -1;
	struct str line = buf_str(&text);
	while (line.n && ascii_is_space(line.p[line.n - 1]))
		line.n--;
	t->key_n = line.n / 2;
	if (t->key_n < KEY_MIN || t->key_n > KEY_MAX || !hex_parse(line, t->key, t->key_n))
		return err_set(err, ERR_USAGE,
			       "tls_shared_key: %s is not one line of %d to %d hexadecimal digits",
			       path, KEY_MIN * 2, KEY_MAX * 2);
	return 0;
}

/* A key with a password is refused: nobody is there to be asked for it. */
static int no_password(char *p, int n, int writing, void *ctx)
{
	(void)p, (void)n, (void)writing, (void)ctx;
	return -1;
}

typedef bool certificate_fn(SSL_CTX *ctx, X509 *certificate, bool first);

static bool add_ours(SSL_CTX *ctx, X509 *certificate, bool first)
{
	return first ? SSL_CTX_use_certificate(ctx, certificate) == 1
		     : SSL_CTX_add1_chain_cert(ctx, certificate) == 1;
}

static bool add_trusted(SSL_CTX *ctx, X509 *certificate, bool first)
{
	(void)first;
	return X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate) == 1;
}

static int load_certificates(struct tls *t, const char *setting, const char *path,
			     certificate_fn *add, struct err *err)
{
	struct buf text CLEANUP(tls_wipe) = BUF_INIT(FILE_MAX);
	if (tls_read_file(setting, path, false, &text, err) < 0)
		return -1;
	BIO *in = BIO_new_mem_buf(text.p, (int)text.n);
	size_t n = 0;
	bool good = true;
	X509 *one;
	ENSURE(in);
	ERR_clear_error();
	while (good && (one = PEM_read_bio_X509(in, NULL, no_password, NULL))) {
		good = add(t->ctx, one, n++ == 0);
		X509_free(one);
	}
	BIO_free(in);
	bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	if (good && n && at_end)
		return 0;
	return err_set(err, ERR_USAGE, "%s: %s has no certificates that can be used: %s", setting,
		       path, n ? library_says() : "it is not PEM");
}

static int load_key(struct tls *t, const char *path, struct err *err)
{
	struct buf text CLEANUP(tls_wipe) = BUF_INIT(FILE_MAX);
	if (tls_read_file("tls_key", path, true, &text, err) < 0)
		return -1;
	BIO *in = BIO_new_mem_buf(text.p, (int)text.n);
	ENSURE(in);
	ERR_clear_error();
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, no_password, NULL);
	bool good = key && SSL_CTX_use_PrivateKey(t->ctx, key) == 1 &&
		    SSL_CTX_check_private_key(t->ctx) == 1;
	EVP_PKEY_free(key);
	BIO_free(in);
	if (good)
		return 0;
	return err_set(err, ERR_USAGE,
		       "tls_key: %s is not the key of tls_cert, without a password: %s", path,
		       library_says());
}

/* Shared keys: called by OpenSSL, on each side. */

static const struct tls *tls_of(SSL *ssl)
{
	return ((struct tls_conn *)SSL_get_app_data(ssl))->tls;
}

static unsigned give_key(const struct tls *t, unsigned char *ret, unsigned max)
{
	if (t->key_n > max)
		return 0;
	memcpy(ret, t->key, t->key_n);
	return (unsigned)t->key_n;
}

static unsigned on_client_key(SSL *ssl, const char *hint, char *name, unsigned name_max,
			      unsigned char *ret, unsigned max)
{
	(void)hint;
	if (name_max < sizeof KEY_NAME)
		return 0;
	memcpy(name, KEY_NAME, sizeof KEY_NAME);
	return give_key(tls_of(ssl), ret, max);
}

static unsigned on_server_key(SSL *ssl, const char *name, unsigned char *ret, unsigned max)
{
	return strcmp(name, KEY_NAME) == 0 ? give_key(tls_of(ssl), ret, max) : 0;
}

/* The wire: how OpenSSL reads and writes. */

static int wire_read(BIO *b, char *p, int n)
{
	struct tls_conn *c = BIO_get_data(b);
	BIO_clear_retry_flags(b);
	size_t most = MIN((size_t)MAX(n, 0), c->budget);
	ssize_t rc = -1;
	errno = EAGAIN;
	if (most)
		rc = recv(c->fd, p, most, 0);
	if (rc < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	else if (rc < 0)
		c->wire_errno = errno;
	else
		c->budget -= (size_t)rc;
	c->wire_eof = c->wire_eof || (rc == 0 && most);
	return (int)rc;
}

/* Sends what it can; -1: the socket has failed. */
static ssize_t wire_send(struct tls_conn *c, const char *p, size_t n)
{
	ssize_t rc = send(c->fd, p, n, MSG_NOSIGNAL);
	if (rc < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (rc < 0)
		c->wire_errno = errno;
	return rc;
}

static int wire_write(BIO *b, const char *p, int n)
{
	struct tls_conn *c = BIO_get_data(b);
	BIO_clear_retry_flags(b);
	ssize_t sent = c->held.n || n <= 0 ? 0 : wire_send(c, p, (size_t)n);
	if (sent < 0)
		return -1;
	buf_add(&c->held, p + sent, (size_t)(n - sent));
	ENSURE(!c->held.over);
	return n;
}

static long wire_ctrl(BIO *b, int command, long number, void *p)
{
	(void)number, (void)p;
	const struct tls_conn *c = BIO_get_data(b);
	return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && c->wire_eof);
}

/* One side. */

static int tls_check_conf(const struct tls_conf *conf, bool server, struct err *err)
{
	bool cert = is_set(conf->cert), key = is_set(conf->key), ca = is_set(conf->ca);
	if (is_set(conf->shared_key))
		return cert || key || ca ? err_set(err, ERR_USAGE,
						   "tls_shared_key is set, and so are certificates "
						   "(tls_cert, tls_key or tls_ca): set one or the "
						   "other; what [net] "
						   "has is switched off by an empty value")
					 : 0;
	if (cert != key)
		return err_set(err, ERR_USAGE, "tls_cert and tls_key: one is set, both are needed");
	if (server && !cert)
		return err_set(err, ERR_USAGE,
			       "tls_ca is set: tls_cert and tls_key are needed, too");
	if (!server && !ca)
		return err_set(err, ERR_USAGE,
			       "tls_cert is set: tls_ca is needed, too, to know the peer by");
	return 0;
}

static void make_wire(struct tls *t)
{
	t->wire = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "garner");
	ENSURE(t->wire && BIO_meth_set_read(t->wire, wire_read) &&
	       BIO_meth_set_write(t->wire, wire_write) && BIO_meth_set_ctrl(t->wire, wire_ctrl));
}

static void make_ctx(struct tls *t)
{
	t->ctx = SSL_CTX_new(t->server ? TLS_server_method() : TLS_client_method());
	ENSURE(t->ctx && SSL_CTX_set_min_proto_version(t->ctx, TLS1_3_VERSION) &&
	       SSL_CTX_set_max_proto_version(t->ctx, TLS1_3_VERSION) &&
	       SSL_CTX_set_ciphersuites(t->ctx, SUITES) && SSL_CTX_set_num_tickets(t->ctx, 0) &&
	       SSL_CTX_set_max_early_data(t->ctx, 0));
	/* A peer that was killed is cut off without a goodbye. Frames are counted or have an end,
	 * so half of one is not taken for a whole one: it is the same as with. */
	SSL_CTX_set_options(t->ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					    SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(t->ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(t->ctx, 1);
	SSL_CTX_set_max_cert_list(t->ctx, CHAIN_MAX);
}

static int tls_load(struct tls *t, const struct tls_conf *conf, struct err *err)
{
	/* a client with a shared key trusts no certificate at all */
	int verify = t->knows_peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE;
	if (is_set(conf->shared_key)) {
		SSL_CTX_set_verify(t->ctx, t->server ? SSL_VERIFY_NONE : verify, NULL);
		SSL_CTX_set_psk_client_callback(t->ctx, t->server ? NULL : on_client_key);
		SSL_CTX_set_psk_server_callback(t->ctx, t->server ? on_server_key : NULL);
		return load_shared_key(t, conf->shared_key, err);
	}
	SSL_CTX_set_verify(t->ctx, verify | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	if (is_set(conf->cert) &&
	    (load_certificates(t, "tls_cert", conf->cert, add_ours, err) < 0 ||
	     load_key(t, conf->key, err) < 0))
		return -1;
	return is_set(conf->ca) ? load_certificates(t, "tls_ca", conf->ca, add_trusted, err) : 0;
}

int tls_new(struct tls **ret, const struct tls_conf *conf, bool server, struct err *err)
{
	*ret = NULL;
	if (!is_set(conf->shared_key) && !is_set(conf->cert) && !is_set(conf->key) &&
	    !is_set(conf->ca))
		return 1;
	if (tls_check_conf(conf, server, err) < 0)
		return -1;
	struct tls *t = mem_alloc(sizeof *t);
	t->server = server;
	t->knows_peer = is_set(conf->shared_key) || is_set(conf->ca);
	make_wire(t);
	make_ctx(t);
	if (tls_load(t, conf, err) < 0) {
		tls_free(&t);
		return -1;
	}
	*ret = t;
	return 0;
}

void tls_free(struct tls **tp)
{
	if (!*tp)
		return;
	SSL_CTX_free((*tp)->ctx);
	BIO_meth_free((*tp)->wire);
	OPENSSL_cleanse((*tp)->key, sizeof(*tp)->key);
	mem_free(tp);
}

bool tls_trusts(const struct tls *t, const struct sockaddr *at, size_t n)
{
	struct addr a;
	return (t && t->knows_peer) || at->sa_family == AF_UNIX ||
	       (addr_from_sockaddr(at, n, &a) && addr_loopback(&a));
}

/* One connection. */

/* The certificate has to name the address that we are connected to. On a Unix socket there is none;
 * then it is enough that one of tls_ca vouches for it. */
static void expect_address(struct tls_conn *c)
{
	struct sockaddr_storage at;
	socklen_t n = sizeof at;
	struct addr a;
	if (getpeername(c->fd, (struct sockaddr *)&at, &n) < 0 ||
	    !addr_from_sockaddr((const struct sockaddr *)&at, n, &a))
		return;
	ENSURE(X509_VERIFY_PARAM_set1_ip(SSL_get0_param(c->ssl), a.b, addr_bytes(&a)) == 1);
}

struct tls_conn *tls_conn_new(const struct tls *t, int fd)
{
	struct tls_conn *c = mem_alloc(sizeof *c);
	BIO *wire = BIO_new(t->wire);
	*c = (struct tls_conn){
		.tls = t, .ssl = SSL_new(t->ctx), .fd = fd, .held = BUF_INIT(HELD_LIMIT)};
	ENSURE(wire && c->ssl && SSL_set_app_data(c->ssl, c));
	BIO_set_data(wire, c);
	BIO_set_init(wire, 1);
	SSL_set_bio(c->ssl, wire, wire);
	if (t->server) {
		SSL_set_accept_state(c->ssl);
	} else {
		SSL_set_connect_state(c->ssl);
		expect_address(c);
	}
	return c;
}

void tls_conn_free(struct tls_conn **c)
{
	if (!*c)
		return;
	SSL_free((*c)->ssl);
	buf_free(&(*c)->held);
	mem_free(c);
}

/* What OpenSSL says, in the words of those who have to mend it. Alerts are what the peer says. */
static const struct {
	int reason;
	bool shared_key; /* only then */
	const char *words;
} reasons[] = {
	{SSL_R_BINDER_DOES_NOT_VERIFY, true, "the peer has another key"},
	{SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER, true, "the peer has another key"},
	{SSL_R_TLSV1_ALERT_DECRYPT_ERROR, true, "the peer has another key"},
	{SSL_R_CERTIFICATE_VERIFY_FAILED, true, "the peer has certificates, not a shared key"},
	{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, true, "the peer has no shared key"},
	{SSL_R_NO_SHARED_CIPHER, true, "the peer has no shared key"},
	{SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, true, "the peer has no shared key"},
	{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, false, "the peer has a shared key, or other ciphers"},
	{SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, false, "the peer has no certificate"},
	{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, false, "the peer wants a certificate"},
	{SSL_R_TLSV1_ALERT_UNKNOWN_CA, false, "the peer trusts nobody who vouches for us"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, false,
	 "the peer says that our certificate is over"},
	{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, false, "the peer refuses our certificate"},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, false, "the peer refuses our certificate"},
	{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, false, "the peer does not speak TLS 1.3"},
	{SSL_R_UNSUPPORTED_PROTOCOL, false, "the peer does not speak TLS 1.3"},
	{SSL_R_WRONG_VERSION_NUMBER, false, "the peer does not speak TLS"},
	{SSL_R_HTTP_REQUEST, false, "the peer does not speak TLS"},
	{SSL_R_HTTPS_PROXY_REQUEST, false, "the peer does not speak TLS"},
	{SSL_R_PACKET_LENGTH_TOO_LONG, false, "the peer does not speak TLS"},
};

static void explain_failure(struct tls_conn *c)
{
	unsigned long failed = ERR_peek_last_error();
	int reason = ERR_GET_REASON(failed);
	long verdict = SSL_get_verify_result(c->ssl);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].reason == reason && (!reasons[i].shared_key || c->tls->key_n)) {
			snprintf(c->why, sizeof c->why, "%s", reasons[i].words);
			return;
		}
	if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		snprintf(c->why, sizeof c->why, "the peer's certificate: %s",
			 X509_verify_cert_error_string(verdict));
	else
		snprintf(c->why, sizeof c->why, "TLS: %s", library_says());
}

/* Remembers how it ended; returns -1 with errno. */
static int conn_ended(struct tls_conn *c, int end)
{
	c->ended = true;
	c->end = end;
	c->broken = c->broken || end;
	errno = end;
	return -1;
}

/* Looks at a call that did not succeed. 1: it waits for c->wants; else as conn_ended(). */
static int conn_judge(struct tls_conn *c, int rc)
{
	switch (SSL_get_error(c->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		c->wants = LOOP_READ;
		return 1;
	case SSL_ERROR_ZERO_RETURN:
		return conn_ended(c, 0);
	default:
		break;
	}
	if (c->wire_errno)
		return conn_ended(c, c->wire_errno);
	explain_failure(c);
	return conn_ended(c, EPROTO);
}

static void begin_call(struct tls_conn *c)
{
	ERR_clear_error();
	c->budget = ROUND_MAX;
}

size_t tls_conn_held(const struct tls_conn *c)
{
	return c->held.n - c->held_at;
}

ssize_t tls_conn_flush(struct tls_conn *c)
{
	size_t n = tls_conn_held(c);
	if (n == 0)
		return 0;
	ssize_t sent = wire_send(c, c->held.p + c->held_at, n);
	if (sent < 0)
		return conn_ended(c, c->wire_errno);
	c->held_at += (size_t)sent;
	if ((size_t)sent == n) {
		buf_free(&c->held);
		c->held_at = 0;
	}
	return sent;
}

int tls_conn_shake(struct tls_conn *c)
{
	if (tls_conn_flush(c) < 0)
		return -1;
	begin_call(c);
	int rc = SSL_do_handshake(c->ssl);
	if (rc != 1) {
		rc = conn_judge(c, rc);
		if (rc < 0 && c->end == 0) { /* a goodbye before the first word */
			snprintf(c->why, sizeof c->why, "the peer hung up in the TLS handshake");
			return conn_ended(c, EPROTO);
		}
		return rc;
	}
	c->wants = 0;
	if (c->tls->key_n && !SSL_session_reused(c->ssl)) { /* OpenSSL calls a shared key that */
		snprintf(c->why, sizeof c->why, "the peer did not use the shared key");
		return conn_ended(c, EPROTO);
	}
	return 0;
}

ssize_t tls_conn_read(struct tls_conn *c, char *p, size_t cap)
{
	size_t n = 0, got;
	if (!c->broken)
		(void)tls_conn_flush(c);
	if (!c->ended && c->held.n > HELD_MAX) {
		c->wants = LOOP_WRITE;
		errno = EAGAIN;
		return -1;
	}
	begin_call(c);
	while (!c->ended && n < cap) {
		c->wants = 0;
		int rc = SSL_read_ex(c->ssl, p + n, cap - n, &got);
		if (rc == 1)
			n += got;
		else if (conn_judge(c, rc) == 1)
			break;
	}
	if (n || (c->ended && c->end == 0))
		return (ssize_t)n;
	errno = c->ended ? c->end : EAGAIN;
	return -1;
}

ssize_t tls_conn_write(struct tls_conn *c, const char *p, size_t n)
{
	size_t written;
	if (c->broken || tls_conn_flush(c) < 0) {
		errno = c->end;
		return -1;
	}
	if (tls_conn_held(c)) {
		errno = EAGAIN;
		return -1;
	}
	begin_call(c);
	int rc = SSL_write_ex(c->ssl, p, MIN(n, (size_t)RECORD_MAX), &written);
	if (rc == 1)
		return (ssize_t)written;
	c->broken = true;
	return conn_judge(c, rc) == 1 ? conn_ended(c, EPROTO) : -1;
}

unsigned tls_conn_wants(const struct tls_conn *c)
{
	return c->ended ? 0 : c->wants;
}

int tls_conn_bye(struct tls_conn *c)
{
	if (c->broken || !SSL_is_init_finished(c->ssl) || tls_conn_flush(c) < 0)
		return 0;
	begin_call(c);
	if (!(SSL_get_shutdown(c->ssl) & SSL_SENT_SHUTDOWN))
		(void)SSL_shutdown(c->ssl);
	return tls_conn_held(c) ? 1 : 0;
}

const char *tls_conn_why(const struct tls_conn *c)
{
	return c->why;
}
