/* The settings of TLS: what is refused, and by which name. */
#include "net/server.h"

#include "identity.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void refused(const struct tls_conf *conf, bool server, const char *what)
{
	struct tls *t;
	struct err err = {0};
	assert_int_equal(tls_new(&t, conf, server, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.msg, what))
		fail_msg("got '%s', want '%s'", err.msg, what);
	assert_null(t);
}

static void nothing_set_is_no_tls(void **state)
{
	(void)state;
	struct tls *t;
	struct err err;
	assert_int_equal(tls_new(&t, &(struct tls_conf){0}, true, &err), 1);
	assert_int_equal(tls_new(&t, &(struct tls_conf){"", "", "", ""}, false, &err), 1);
	assert_null(t);
}

static void a_key_that_others_may_read_is_none(void **state)
{
	(void)state;
	for (unsigned bit = 1; bit <= 040; bit <<= 1) {
		refused(&(struct tls_conf){put_file("open", shared_digits, 0600 | bit)}, true,
			scratch("open"));
		chmod(have.server.key_path, 0600 | bit);
		refused(&have.serves, true, "others may read");
		refused(&have.serves, true, have.server.key_path);
		chmod(have.server.key_path, 0600);
	}
}

static void keys_have_a_form(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "\n", "0011\n",
		"no hexadecimal digits at all, but as many as there have to be, or more"};
	char digits[1024];
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		refused(&(struct tls_conf){put_file("bad", bad[i], 0600)}, true, "64 to 512");
	snprintf(digits, sizeof digits, "%.63s\n", shared_digits);
	refused(&(struct tls_conf){put_file("bad", digits, 0600)}, true, "64 to 512");
	snprintf(digits, sizeof digits, "%s%s", shared_digits, shared_digits);
	refused(&(struct tls_conf){put_file("bad", digits, 0600)}, true, "one line");
	memset(digits, '0', 514);
	digits[514] = 0;
	refused(&(struct tls_conf){put_file("bad", digits, 0600)}, true, "64 to 512");
	refused(&(struct tls_conf){scratch("absent")}, true, "is not there");
	refused(&(struct tls_conf){scratch_dir}, true, "is not a file");
	assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);
	refused(&(struct tls_conf){scratch("pipe")}, false, "tls_shared_key");
}

static void certificates_have_a_form(void **state)
{
	(void)state;
	struct tls_conf c = have.serves;
	c.cert = put_file("words", "-----BEGIN CERTIFICATE-----\nwords\n", 0600);
	refused(&c, true, "tls_cert");
	c.cert = put_file("empty", "", 0600);
	refused(&c, true, "not PEM");
	c = have.serves;
	c.key = have.client.key_path;
	refused(&c, true, "not the key of tls_cert");
	FILE *f = fopen(put_file("locked", "", 0600), "w");
	assert_int_equal(PEM_write_PrivateKey(f, have.server.key, EVP_aes_128_cbc(),
					      (unsigned char *)"pass", 4, NULL, NULL),
			 1);
	fclose(f);
	c.key = scratch("locked");
	refused(&c, true, "without a password");
	c = have.asks;
	c.ca = scratch("words");
	refused(&c, false, "tls_ca");
}

static void settings_have_to_fit_together(void **state)
{
	(void)state;
	struct tls_conf both = have.shared;
	both.ca = have.ca.cert_path;
	refused(&both, true, "tls_shared_key");
	refused(&(struct tls_conf){.cert = have.server.cert_path}, true, "tls_key");
	refused(&(struct tls_conf){.key = have.server.key_path}, false, "tls_cert");
	refused(&have.asks, true, "tls_cert");
	refused(&have.serves, false, "tls_ca");
}

static int bound_to(uint32_t address)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	return fd;
}

static void who_may_be_reached_has_to_know_its_peers(void **state)
{
	(void)state;
	struct err err;
	struct tls *key, *anyone, *known;
	int everywhere = bound_to(INADDR_ANY), here = bound_to(INADDR_LOOPBACK), local[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, local), 0);
	assert_int_equal(tls_new(&key, &have.shared, true, &err), 0);
	assert_int_equal(tls_new(&anyone, &have.serves, true, &err), 0);
	assert_int_equal(tls_new(&known, &have.demands, true, &err), 0);
	assert_int_equal(server_may_listen(here, NULL, &err), 0);
	assert_int_equal(server_may_listen(local[0], NULL, &err), 0);
	assert_int_equal(server_may_listen(everywhere, key, &err), 0);
	assert_int_equal(server_may_listen(everywhere, known, &err), 0);
	assert_int_equal(server_may_listen(everywhere, anyone, &err), -1);
	assert_int_equal(server_may_listen(everywhere, NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_true(strstr(err.msg, "0.0.0.0:") && strstr(err.msg, "tls_shared_key"));
	tls_free(&key);
	tls_free(&anyone);
	tls_free(&known);
	close(everywhere);
	close(here);
	close(local[0]);
	close(local[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_set_is_no_tls),
		cmocka_unit_test(a_key_that_others_may_read_is_none),
		cmocka_unit_test(keys_have_a_form),
		cmocka_unit_test(certificates_have_a_form),
		cmocka_unit_test(settings_have_to_fit_together),
		cmocka_unit_test(who_may_be_reached_has_to_know_its_peers),
	};
	return cmocka_run_group_tests(tests, make_all, drop_all);
}
