#include "role/config.h"

#include "../scratch.h"
#include "base/clock.h"
#include "role/ini.h"

#include <stdio.h>

/* What is shared, with a struct for all sections, and those that share it. */
struct any_conf {
	const char *listen, *peer, *site, *packets;
	int64_t port, spare_port, idle_us;
};
#define IDLE(usual)                                                                            \
	{                                                                                      \
		"idle", VALUE_TIME_AT(struct any_conf, idle_us), usual, .inherits = "net.idle" \
	}
static const char *const any_port[] = {"0", NULL};
static const struct value_spec net_specs[] = {
	{"port", VALUE_INT_AT(struct any_conf, port), "8080", 7600, 65000, .words = any_port},
	IDLE("10min"),
};
static const struct value_spec uns_specs[] = {
	IDLE("10min"),
	{"listen", VALUE_LISTEN_AT(struct any_conf, listen), "127.0.0.1:8194", .moves = "net.port"},
	{"peer", VALUE_TEXT_AT(struct any_conf, peer), "[::1]:8192", .moves = "net.port"},
	{"site", VALUE_TEXT_AT(struct any_conf, site), "http://127.0.0.1:8083/",
	 .moves = "net.port"},
	{"packets", VALUE_UDP_AT(struct any_conf, packets), "udp:127.0.0.1:1525",
	 .moves = "net.port"},
	{"spare_port", VALUE_INT_AT(struct any_conf, spare_port), "8190", 0, 65535,
	 .moves = "net.port"},
};
static const struct value_spec qm_specs[] = {IDLE("0")};
#define SECTION(name, specs, several)                                                          \
	{                                                                                      \
		name, "For a test.", sizeof(struct any_conf), specs, ARRAY_LEN(specs), several \
	}
static const struct config_section net = SECTION("net", net_specs, false),
				   uns = SECTION("uns", uns_specs, true),
				   qm = SECTION("qm", qm_specs, false);
/* those that share may come first */
static const struct config_section *const sections[] = {&uns, &net, &qm};
static const struct config_list list = {sections, ARRAY_LEN(sections)};

static int teardown(void **state)
{
	struct config *c = *state;
	config_free(&c);
	return 0;
}

static const struct config *load(void **state, const char *text)
{
	struct config_input in = {.file = "f", .text = str_of(text)};
	struct config *c = *state;
	struct err err;
	config_free(&c);
	*state = NULL;
	if (config_load(&c, sections, ARRAY_LEN(sections), &in, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	*state = c;
	return c;
}

static const struct any_conf *of(const struct config *c, const struct config_section *section,
				 const char *name)
{
	return config_get(c, config_instance(c, section, name));
}

static int64_t idle_s(const struct config *c, const struct config_section *section)
{
	return of(c, section, section->name)->idle_us / US_PER_S;
}

static void nothing_said_leaves_each_its_own_default(void **state)
{
	const struct config *c = load(state, "");
	assert_int_equal(idle_s(c, &net), 600);
	assert_int_equal(idle_s(c, &uns), 600);
	assert_int_equal(idle_s(c, &qm), 0);
	assert_true(config_inherits(c, &uns, &uns_specs[0]));
	assert_false(config_inherits(c, &qm, &qm_specs[0]));
	assert_false(config_inherits(c, &net, &net_specs[1]));
	assert_string_equal(of(c, &uns, "uns")->listen, "127.0.0.1:8194");
}

static void what_is_shared_holds_for_all_but_the_exceptions(void **state)
{
	const struct config *c = load(state, "[qm]\nidle = 2s\n[net]\nidle = 1s\n"
					     "[uns@2]\nidle = 3s\n[uns@4]\nspare_port = 9\n");
	assert_int_equal(idle_s(c, &uns), 1);
	assert_int_equal(idle_s(c, &qm), 2);
	assert_int_equal(of(c, &uns, "uns@2")->idle_us, 3 * US_PER_S);
	assert_int_equal(of(c, &uns, "uns@4")->idle_us, US_PER_S);
	assert_string_equal(config_origin(c, &uns, &uns_specs[0]), "f:4");
	assert_false(config_is_set(c, &uns, &uns_specs[0]));
	assert_true(config_is_set(c, &qm, &qm_specs[0]));
	c = load(state, "[net]\nidle = 1s\n");
	assert_int_equal(idle_s(c, &qm), 1); /* it was set, and that default was not */
	c = load(state, "[net]\nidle = 1s\n[qm]\nidle = 0s\n");
	assert_int_equal(idle_s(c, &qm), 0);
	c = load(state, "[uns]\nidle = 5s\n[uns@2]\nspare_port = 1\n[net]\nidle = 1s\n");
	assert_int_equal(of(c, &uns, "uns@2")->idle_us, 5 * US_PER_S);
}

static void default_ports_keep_their_distance_and_set_ones_stay(void **state)
{
	const struct config *c = load(state, "[net]\nport = 18080\n[uns@2]\npeer = x:1\n");
	const struct any_conf *conf = of(c, &uns, "uns");
	assert_string_equal(conf->listen, "127.0.0.1:18194");
	assert_string_equal(conf->peer, "[::1]:18192");
	assert_string_equal(conf->site, "http://127.0.0.1:18083/");
	assert_string_equal(conf->packets, "udp:127.0.0.1:11525");
	assert_int_equal(conf->spare_port, 18190);
	assert_string_equal(of(c, &uns, "uns@2")->peer, "x:1");
	assert_false(config_is_set(c, &uns, &uns_specs[1]));
	c = load(state, "[uns]\nlisten = 127.0.0.1:8194\nsite = \n[net]\nport = 7600\n");
	conf = of(c, &uns, "uns");
	assert_string_equal(conf->listen, "127.0.0.1:8194");
	assert_string_equal(conf->site, "");
	assert_string_equal(conf->packets, "udp:127.0.0.1:1045");
}

static void without_a_port_listeners_take_any_and_peers_have_none(void **state)
{
	const struct any_conf *conf = of(load(state, "[net]\nport = 0\n"), &uns, "uns");
	assert_string_equal(conf->listen, "127.0.0.1:0");
	assert_string_equal(conf->packets, "udp:127.0.0.1:0");
	assert_string_equal(conf->peer, "");
	assert_string_equal(conf->site, "");
	assert_int_equal(conf->spare_port, 0);
}

static void a_port_out_of_bounds_is_refused(void **state)
{
	static const char *const wrong[] = {"1", "7599", "65001", "-1"};
	struct config *c = *state;
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char text[64];
		snprintf(text, sizeof text, "[net]\nport = %s\n", wrong[i]);
		struct config_input in = {.file = "f", .text = str_of(text)};
		assert_int_equal(config_load(&c, sections, 3, &in, NULL, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void assert_loads_the_same(void **state, const char *text, bool only_set)
{
	struct config *before = (struct config *)(uintptr_t)load(state, text);
	CLEANUP(buf_free) struct buf out = BUF_INIT(INI_FILE_MAX);
	*state = NULL;
	config_write(before, only_set, &out);
	const struct config *c = load(state, buf_text(&out));
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (!config_section_equal(before, c, sections[i], sections[i]->name) ||
		    !config_section_equal(before, c, sections[i], "uns@2"))
			fail_msg("[%s] of '%s' is another after '%s'", sections[i]->name, text,
				 buf_text(&out));
	config_free(&before);
}

static void what_is_written_loads_the_same(void **state)
{
	static const char *const texts[] = {
		"",
		"[net]\nidle = 1s\nport = 9000\n",
		"[qm]\nidle = 10min\n[uns@2]\nidle = 10min\n",
		"[net]\nidle = 0s\nport = 0\n[uns]\nidle = 10min\n[qm]\nidle = 10min\n",
		"[net]\nidle = 3s\n[uns]\nidle = 4s\n[uns@2]\nidle = 3s\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_loads_the_same(state, texts[i], false);
		assert_loads_the_same(state, texts[i], true);
	}
}

static void lists_have_a_shared_setting_once(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf sample = BUF_INIT(INI_FILE_MAX);
	config_sample(&list, &sample);
	const char *at = strstr(buf_text(&sample), "\n#idle = 10min\n");
	assert_non_null(at);
	assert_null(strstr(at + 2, "#idle"));
	assert_non_null(strstr(buf_text(&sample), "; other defaults: qm 0; GARNER_NET_IDLE\n"));
	assert_non_null(strstr(buf_text(&sample), "\n# Also, as exceptions from [net]: idle.\n"));
	assert_true(config_is_above(&net, &net_specs[1], &qm_specs[0]));
	assert_true(config_is_above(&net, &net_specs[0], &uns_specs[1]));
	assert_false(config_is_above(&net, &net_specs[1], &uns_specs[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)
		T(nothing_said_leaves_each_its_own_default),
		T(what_is_shared_holds_for_all_but_the_exceptions),
		T(default_ports_keep_their_distance_and_set_ones_stay),
		T(without_a_port_listeners_take_any_and_peers_have_none),
		T(a_port_out_of_bounds_is_refused),
		T(what_is_written_loads_the_same),
		T(lists_have_a_shared_setting_once),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
