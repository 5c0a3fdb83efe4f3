/* Keys and certificates for the tests of TLS, made when the group of tests begins: `have`. */
#pragma once
#include "net/tls.h"

#include "../scratch.h"
#include "../unit.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

static const char shared_digits[] = "00112233445566778899aabbccddeeff"
				    "00112233445566778899aabbccddeeff\n";
static const char other_digits[] = "ffffffffffffffffffffffffffffffff"
				   "ffffffffffffffffffffffffffffffff\n";

static inline const char *put_file(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(scratch(name), "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(scratch(name), mode), 0);
	return scratch(name);
}

struct identity {
	EVP_PKEY *key;
	X509 *cert;
	char cert_path[300], key_path[300];
};

static inline void say_extension(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
	assert_non_null(e);
	assert_int_equal(X509_add_ext(cert, e, -1), 1);
	X509_EXTENSION_free(e);
}

static inline void save_identity(struct identity *id, const char *name)
{
	char file[64];
	snprintf(file, sizeof file, "%s.cert", name);
	snprintf(id->cert_path, sizeof id->cert_path, "%s", scratch(file));
	snprintf(file, sizeof file, "%s.key", name);
	snprintf(id->key_path, sizeof id->key_path, "%s", put_file(file, "", 0600));
	FILE *f = fopen(id->cert_path, "w");
	assert_int_equal(PEM_write_X509(f, id->cert), 1);
	fclose(f);
	f = fopen(id->key_path, "w");
	assert_int_equal(PEM_write_PrivateKey(f, id->key, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
}

/* issuer NULL: vouches for itself and others. days: until it ends. */
static inline void make_identity(struct identity *ret, const char *name,
				 const struct identity *issuer, const char *san, int days)
{
	static long serial;
	struct identity id = {.key = EVP_EC_gen("P-256"), .cert = X509_new()};
	assert_true(id.key && id.cert);
	X509_set_version(id.cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(id.cert), ++serial);
	X509_gmtime_adj(X509_getm_notBefore(id.cert), -10L * 86400);
	X509_gmtime_adj(X509_getm_notAfter(id.cert), days * 86400L);
	X509_set_pubkey(id.cert, id.key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(id.cert), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(id.cert, X509_get_subject_name(issuer ? issuer->cert : id.cert));
	say_extension(id.cert, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
	if (san)
		say_extension(id.cert, NID_subject_alt_name, san);
	assert_true(X509_sign(id.cert, issuer ? issuer->key : id.key, EVP_sha256()) > 0);
	save_identity(&id, name);
	*ret = id;
}

static struct {
	struct identity ca, foreign_ca, server, old, elsewhere, client, foreign;
	struct tls_conf shared, other, serves, demands, asks, shows;
} have;

static inline int make_all(void **state)
{
	if (scratch_make(state) < 0)
		return -1;
	make_identity(&have.ca, "ca", NULL, NULL, 10);
	make_identity(&have.foreign_ca, "foreign_ca", NULL, NULL, 10);
	make_identity(&have.server, "server", &have.ca, "IP:127.0.0.1", 10);
	make_identity(&have.old, "old", &have.ca, "IP:127.0.0.1", -1);
	make_identity(&have.elsewhere, "elsewhere", &have.ca, "IP:127.0.0.2", 10);
	make_identity(&have.client, "client", &have.ca, NULL, 10);
	make_identity(&have.foreign, "foreign", &have.foreign_ca, "IP:127.0.0.1", 10);
	have.shared.shared_key = put_file("shared", shared_digits, 0600);
	have.other.shared_key = put_file("other", other_digits, 0600);
	have.serves = (struct tls_conf){.cert = have.server.cert_path, .key = have.server.key_path};
	have.demands = have.serves;
	have.demands.ca = have.ca.cert_path;
	have.asks = (struct tls_conf){.ca = have.ca.cert_path};
	have.shows = (struct tls_conf){.cert = have.client.cert_path,
				       .key = have.client.key_path,
				       .ca = have.ca.cert_path};
	return 0;
}

static inline int drop_all(void **state)
{
	struct identity *all[] = {&have.ca,        &have.foreign_ca, &have.server, &have.old,
				  &have.elsewhere, &have.client,     &have.foreign};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		EVP_PKEY_free(all[i]->key);
		X509_free(all[i]->cert);
	}
	return scratch_done(state);
}
