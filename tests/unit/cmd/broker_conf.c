#include "cmd/index/broker_conf.h"

#include "../unit.h"

#include <stdio.h>

static struct arena arena = ARENA_INIT(16 << 20);
static struct buf warnings = BUF_INIT(1 << 20);
static struct role_said said;
static struct err err;

/* A line that shows what was hashed, which only a test may do. */
static int hash_plainly(struct str password, char ret[PASSWORD_LINE], struct err *ret_err)
{
	if (str_is(password, "unlucky"))
		return err_set(ret_err, ERR_SYSTEM, "no memory for it");
	snprintf(ret, PASSWORD_LINE, "$argon2id$of-%zu-bytes", password.n);
	return 0;
}

static int read_for(const char *listen, struct str text)
{
	const struct broker_conf_ask ask = {
		.path = "b.conf", .listen = listen, .hash = hash_plainly};
	arena_clear(&arena);
	buf_clear(&warnings);
	said = (struct role_said){0};
	return broker_conf_parse(text, &ask, &arena, &said, &warnings, &err);
}

static int read_text(const char *text)
{
	return read_for("127.0.0.1:8501", str_of(text));
}

static void each_name_is_a_setting_with_its_line(void **state)
{
	static const struct config_said want[] = {
		{"data=/var/lib/my broker", "b.conf:2"},
		{"broker.listen=127.0.0.1:8600", "b.conf:4"},
		{"broker.collection=admin/Collection.conf", "b.conf:5"},
		{"broker.collect_every=86400s", "b.conf:6"},
		{"broker.home=http://h.example/b/", "b.conf:7"},
		{"broker.log=admin/LOG", "b.conf:8"},
		{"broker.max_lifetime=2min", "b.conf:9"},
	};
	(void)state;
	assert_int_equal(read_text("\xef\xbb\xbf# a broker\n"
				   "Directory\t/var/lib/my broker  \n\n"
				   "PORT 8600\r\n"
				   "collection-file admin/Collection.conf\n"
				   "Collection-Interval 86400\n"
				   "  Home-Page http://h.example/b/\n"
				   "Log-File admin/LOG\n"
				   "Glimpse-MaxLife 2min"),
			 0);
	assert_int_equal(warnings.n, 0);
	assert_int_equal(said.n, ARRAY_LEN(want));
	for (size_t i = 0; i < said.n; i++) {
		assert_string_equal(said.said[i].set, want[i].set);
		assert_string_equal(said.said[i].where, want[i].where);
	}
	assert_int_equal(read_text(""), 0);
	assert_int_equal(said.n, 0);
}

static void the_port_keeps_its_address(void **state)
{
	static const struct {
		const char *listen, *want;
	} cases[] = {
		{"0.0.0.0:8501", "broker.listen=0.0.0.0:1996"},
		{"*:8501", "broker.listen=*:1996"},
		{"[2001:db8::1]:8501", "broker.listen=[2001:db8::1]:1996"},
		{"unix:/run/broker", "broker.listen=127.0.0.1:1996"},
		{"", "broker.listen=127.0.0.1:1996"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(read_for(cases[i].listen, STR("Port 1996\n")), 0);
		assert_string_equal(said.said[0].set, cases[i].want);
	}
}

static void names_that_mean_nothing_here_are_warnings(void **state)
{
	(void)state;
	assert_int_equal(read_text("GlimpseIndex-Option -n\nglimpseserver-port 8503\nPrt 1\n"
				   "GlimpseServer-Host false\nGlimpseIndex-Host x\nB\x01 y\n"
				   "Port 1\n"),
			 0);
	assert_int_equal(said.n, 1);
	assert_string_equal(
		buf_text(&warnings),
		"b.conf:1: GlimpseIndex-Option: garner has no such part; the line is passed over\n"
		"b.conf:2: GlimpseServer-Port: garner has no such part; the line is passed over\n"
		"b.conf:3: unknown name 'Prt'; did you mean 'Port'?; the line is passed over\n"
		"b.conf:4: GlimpseServer-Host: garner has no such part; the line is passed over\n"
		"b.conf:5: GlimpseIndex-Host: garner has no such part; the line is passed over\n"
		"b.conf:6: unknown name 'B?'; the line is passed over\n");
}

static void warnings_are_bounded(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < BROKER_CONF_WARNINGS + 7; i++)
		buf_add_text(&text, "zzz\n");
	assert_int_equal(read_for("", buf_str(&text)), 0);
	assert_non_null(strstr(buf_text(&warnings), "b.conf:100: unknown name 'zzz'"));
	assert_null(strstr(buf_text(&warnings), "b.conf:101:"));
	assert_non_null(strstr(buf_text(&warnings), "b.conf: 7 more warnings"));
	buf_free(&text);
}

static void a_password_is_hashed_and_never_shown(void **state)
{
	(void)state;
	assert_int_equal(read_text("Password Secret#1\n"), 0);
	assert_string_equal(said.said[0].set, "broker.password=$argon2id$of-8-bytes");
	assert_string_equal(buf_text(&warnings),
			    "b.conf:1: the password is in plain text; garner password makes a line "
			    "that can stand here in its place\n");
	assert_int_equal(read_text("Password $argon2id$v=19$m=65536,t=3,p=1$c2FsdA$aGFzaA\n"), 0);
	assert_string_equal(said.said[0].set,
			    "broker.password=$argon2id$v=19$m=65536,t=3,p=1$c2FsdA$aGFzaA");
	assert_int_equal(warnings.n, 0);
	assert_int_equal(read_text("\nPassword unlucky\n"), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_string_equal(err.msg, "b.conf:2: Password: no memory for it");
	struct buf text = BUF_INIT(1 << 16);
	buf_add_text(&text, "Password ");
	buf_fill(&text, 'x', PASSWORD_MOST + 1);
	assert_int_equal(read_for("", buf_str(&text)), -1);
	assert_string_equal(err.msg, "b.conf:1: Password: it is too long");
	buf_free(&text);
}

static void what_cannot_be_is_refused_with_its_line(void **state)
{
	static const struct {
		struct str text;
		const char *want;
	} cases[] = {
		{STR("Port x"), "b.conf:1: Port: expected 0 to 65535, got 'x'"},
		{STR("#\nPort 65536"), "b.conf:2: Port: expected 0 to 65535, got '65536'"},
		{STR("Port -1"), "b.conf:1: Port: expected 0 to 65535, got '-1'"},
		{STR("Port"), "b.conf:1: Port: a value is missing"},
		{STR("Directory \t\r\n"), "b.conf:1: Directory: a value is missing"},
		{STR("Port 1\nPORT 2\n"), "b.conf:2: Port: given on line 1 already"},
		{STR("Log-File a\0b"), "b.conf:1: Log-File: expected plain UTF-8 text"},
		{STR("Directory \xff"), "b.conf:1: Directory: expected plain UTF-8 text"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(read_for("", cases[i].text), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_string_equal(err.msg, cases[i].want);
	}
	struct buf text = BUF_INIT(1 << 16);
	buf_add_text(&text, "Port 1\n#");
	buf_fill(&text, 'x', BROKER_CONF_LINE);
	assert_int_equal(read_for("", buf_str(&text)), -1);
	assert_string_equal(err.msg, "b.conf:2: 4097 bytes long, more than 4096");
	buf_free(&text);
}

static int give_back(void **state)
{
	(void)state;
	buf_free(&warnings);
	arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_a_setting_with_its_line),
		cmocka_unit_test(the_port_keeps_its_address),
		cmocka_unit_test(names_that_mean_nothing_here_are_warnings),
		cmocka_unit_test(warnings_are_bounded),
		cmocka_unit_test(a_password_is_hashed_and_never_shown),
		cmocka_unit_test(what_cannot_be_is_refused_with_its_line),
	};
	return cmocka_run_group_tests(tests, NULL, give_back);
}
