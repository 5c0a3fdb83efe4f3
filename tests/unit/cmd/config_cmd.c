#include "../scratch.h"
#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/system/help.h"

#include <limits.h>

struct web_conf {
	const char *listen;
	int64_t limit;
};
static const struct value_spec web_specs[] = {
	{"listen", VALUE_LISTEN_AT(struct web_conf, listen), "127.0.0.1:8080",
	 .help = "Where the pages are"},
	{"limit", VALUE_INT_AT(struct web_conf, limit), "5", .min = 1, .max = 10,
	 .help = "How many. Not more"},
};
static const struct config_section web_section = {"web", "The pages", sizeof(struct web_conf),
						  web_specs, ARRAY_LEN(web_specs)};
static const struct role web = {.name = "web", .section = &web_section};
static const struct role twin = {.name = "twin", .section = &web_section};
static const struct role bare = {.name = "bare"};
static const struct role *const some_roles[] = {&web, &bare, &twin};
static const struct program program = {.roles = some_roles, .nroles = ARRAY_LEN(some_roles)};

/* What a command printed, and its exit code. */
struct outcome {
	char *out;
	struct buf problems; /* standard error */
	int code;
};

static struct outcome run(const char *sub, const struct config_input *in, const void *options,
			  char *arg)
{
	struct outcome o = {.problems = BUF_INIT(1 << 20)};
	const struct command *command = NULL;
	for (size_t i = 0; i < config_command.nsubs; i++)
		if (strcmp(config_command.subs[i]->name, sub) == 0)
			command = config_command.subs[i];
	assert_non_null(command);
	size_t n;
	struct cmd_call call = {.program = &program,
				.command = command,
				.options = options,
				.argc = arg ? 1 : 0,
				.argv = &arg,
				.input = *in,
				.out = open_memstream(&o.out, &n)};
	assert_non_null(call.out);
	fflush(stderr);
	int kept = dup(STDERR_FILENO);
	FILE *errors = fopen(scratch("stderr"), "w");
	assert_non_null(errors);
	dup2(fileno(errors), STDERR_FILENO);
	o.code = cmd_run(&call);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	fclose(errors);
	fclose(call.out);
	struct err err;
	assert_int_equal(file_slurp(scratch("stderr"), &o.problems, &err), 0);
	return o;
}

static void done(struct outcome *o)
{
	free(o->out);
	buf_free(&o->problems);
}

static const char *file_of(const char *name, const char *text)
{
	struct err err;
	const char *path = scratch(name);
	assert_int_equal(file_replace(path, str_of(text), 0600, &err), 0);
	return path;
}

static void sections_come_once_each(void **state)
{
	(void)state;
	const struct config_section *list[CMD_SECTIONS_MAX];
	assert_int_equal(cmd_sections(&program, list, ARRAY_LEN(list)), 9);
	assert_ptr_equal(list[0], &global_section);
	assert_string_equal(list[1]->name, "up");
	assert_string_equal(list[2]->name, "net");
	assert_string_equal(list[3]->name, "robot");
	assert_string_equal(list[4]->name, "parse");
	assert_string_equal(list[5]->name, "mail");
	assert_string_equal(list[6]->name, "cache");
	assert_string_equal(list[7]->name, "provider");
	assert_ptr_equal(list[8], &web_section);
}

static void check_counts_what_a_good_file_sets(void **state)
{
	(void)state;
	char *env[] = {"GARNER_NONSENSE=1", NULL}, want[600];
	const char *path = file_of("good.conf", "data = /x\n[web]\nlimit = 7\n");
	/* a file that is named is looked at alone */
	struct outcome o = run("check", &(struct config_input){.env = env}, NULL, (char *)path);
	snprintf(want, sizeof want, "%s: 2 settings, all good\n", path);
	assert_string_equal(o.out, want);
	assert_string_equal(buf_text(&o.problems), "");
	assert_int_equal(o.code, 0);
	done(&o);
	o = run("check", &(struct config_input){.file = path, .env = env}, NULL, NULL);
	assert_int_equal(o.code, 2);
	assert_non_null(strstr(buf_text(&o.problems), "GARNER_NONSENSE: "));
	done(&o);
}

static void check_names_every_problem(void **state)
{
	(void)state;
	const char *path = file_of("bad.conf", "[web]\nlimit = 70\nlisten = x\n");
	struct outcome o = run("check", &(struct config_input){0}, NULL, (char *)path);
	assert_int_equal(o.code, 2);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(buf_text(&o.problems), "bad.conf:2: web.limit: must be 1 to 10"));
	assert_non_null(strstr(buf_text(&o.problems), "bad.conf:3: web.listen: expected"));
	done(&o);
	o = run("check", &(struct config_input){0}, NULL, (char *)scratch("none.conf"));
	assert_int_equal(o.code, 2);
	assert_non_null(strstr(buf_text(&o.problems), "none.conf: no such file"));
	done(&o);
}

static void check_knows_the_sections_of_the_log(void **state)
{
	(void)state;
	const char *path = file_of("log.conf", "\nlog = registry:5 nonsense:5\n");
	struct outcome o = run("check", &(struct config_input){0}, NULL, (char *)path);
	assert_int_equal(o.code, 2);
	assert_non_null(strstr(buf_text(&o.problems), "log.conf:2: log: "));
	assert_non_null(strstr(buf_text(&o.problems), "nonsense"));
	done(&o);
}

struct show_options {
	bool all, json;
};

static void show_tells_values_and_origins(void **state)
{
	(void)state;
	const char *sets[] = {"web.limit=9", "data=/a #b"};
	char *env[] = {"GARNER_WEB_LISTEN=", "GARNER_CONFIG=", NULL};
	struct config_input in = {
		.file = file_of("empty.conf", ""), .env = env, .sets = sets, .nsets = 2};
	struct outcome o = run("show", &in, &(struct show_options){0}, NULL);
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, "SETTING     VALUE    FROM\n"
				   "data        \"/a #b\"  -s\n"
				   "web.listen           GARNER_WEB_LISTEN\n"
				   "web.limit   9        -s\n");
	done(&o);
	o = run("show", &in, &(struct show_options){.all = true}, NULL);
	assert_non_null(strstr(o.out, "\nlog "));
	assert_non_null(strstr(o.out, " default\n"));
	done(&o);
	o = run("show", &in, &(struct show_options){.json = true}, NULL);
	assert_non_null(strstr(o.out, "{\"setting\":\"data\",\"value\":\"/a #b\",\"default\":\"\","
				      "\"type\":\"path\",\"from\":\"-s\",\"set\":true}"));
	assert_null(strstr(o.out, "\"log\""));
	done(&o);
	in = (struct config_input){.file = file_of("empty.conf", "")};
	o = run("show", &in, &(struct show_options){0}, NULL);
	assert_non_null(strstr(o.out, "Nothing is set"));
	done(&o);
}

static void show_of_a_wrong_file_shows_nothing(void **state)
{
	(void)state;
	struct config_input in = {.file = file_of("two.conf", "x\ny\n")};
	struct outcome o = run("show", &in, &(struct show_options){.all = true}, NULL);
	assert_int_equal(o.code, 2);
	assert_string_equal(o.out, "");
	assert_true(str_starts(buf_str(&o.problems), STR("garner: ")));
	assert_non_null(strstr(buf_text(&o.problems), "two.conf:1: "));
	assert_non_null(strstr(buf_text(&o.problems), "two.conf:2: "));
	done(&o);
}

static void explain_tells_all_about_a_setting(void **state)
{
	(void)state;
	struct config_input in = {0};
	struct outcome o = run("explain", &in, NULL, "web.limit");
	assert_string_equal(o.out, "web.limit\n"
				   "    How many. Not more\n"
				   "    type         number, 1 to 10\n"
				   "    default      5\n"
				   "    file         [web] limit = 5\n"
				   "    environment  GARNER_WEB_LIMIT\n"
				   "    command line -s web.limit=VALUE\n");
	done(&o);
	o = run("explain", &in, NULL, "data");
	assert_non_null(strstr(o.out, "    file         data =\n    environment  GARNER_DATA\n"));
	done(&o);
	o = run("explain", &in, NULL, "web");
	assert_non_null(strstr(o.out, "web.limit\n"));
	assert_non_null(strstr(o.out, "web.listen\n"));
	assert_null(strstr(o.out, "up."));
	done(&o);
	o = run("explain", &in, NULL, NULL);
	assert_non_null(strstr(o.out, "web.limit "));
	assert_non_null(strstr(o.out, "[up] "));
	assert_int_equal(o.code, 0);
	done(&o);
}

static void explain_helps_who_mistypes(void **state)
{
	(void)state;
	static const struct {
		char *name;
		const char *want;
	} cases[] = {
		{"web.limt", "'web.limt'; did you mean web.limit?"},
		{"limit", "'limit'; did you mean web.limit?"},
		{"wep.listen", "'wep.listen'; did you mean web.listen?"},
		{"zzz", "'zzz'; 'garner config explain' lists all"},
		{"", "''"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct outcome o = run("explain", &(struct config_input){0}, NULL, cases[i].name);
		assert_int_equal(o.code, 2);
		assert_string_equal(o.out, "");
		if (!strstr(buf_text(&o.problems), cases[i].want))
			fail_msg("'%s' gave %s", cases[i].name, buf_text(&o.problems));
		done(&o);
	}
}

static void the_sample_passes_the_check(void **state)
{
	(void)state;
	struct outcome o = run("sample", &(struct config_input){0}, NULL, NULL);
	assert_non_null(strstr(o.out, "\n[web]\n"));
	const char *path = file_of("sample.conf", o.out);
	done(&o);
	o = run("check", &(struct config_input){0}, NULL, (char *)path);
	assert_int_equal(o.code, 0);
	assert_non_null(strstr(o.out, ": 0 settings, all good\n"));
	done(&o);
}

static void the_page_has_every_setting(void **state)
{
	(void)state;
	const struct config_section *list[CMD_SECTIONS_MAX];
	size_t n = cmd_sections(&program, list, ARRAY_LEN(list));
	struct buf page = BUF_INIT(1 << 20);
	config_man(&(struct config_list){list, n}, &page);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i]->nspecs; k++) {
			char item[100];
			snprintf(item, sizeof item, "\n.It Cm %s\n", list[i]->specs[k].name);
			assert_non_null(strstr(buf_text(&page), item));
		}
	/* each sentence on a line of its own */
	assert_non_null(strstr(buf_text(&page), "\nHow many.\nNot more.\n"));
	assert_non_null(strstr(buf_text(&page), "environment: GARNER_WEB_LIMIT.\n"));
	buf_free(&page);
}

static void the_file_is_looked_for_in_order(void **state)
{
	(void)state;
	char path[PATH_MAX], home[600], xdg[600], named[600];
	struct err err;
	assert_int_equal(dir_make(scratch("home/.config/garner"), 0700, &err), 0);
	assert_int_equal(dir_make(scratch("xdg/garner"), 0700, &err), 0);
	snprintf(home, sizeof home, "HOME=%s", scratch("home"));
	snprintf(xdg, sizeof xdg, "XDG_CONFIG_HOME=%s", scratch("xdg"));
	snprintf(named, sizeof named, "GARNER_CONFIG=%s", scratch("named"));
	char *env[] = {"HOMES=/x", home, xdg, named, NULL};
	struct config_input in = {.file = "given", .env = env};
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), 0);
	assert_string_equal(path, "given");
	in.file = NULL;
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), 0);
	assert_string_equal(path, scratch("named")); /* also when it is not there */
	env[3] = NULL;
	file_of("home/.config/garner/garner.conf", "");
	/* with XDG_CONFIG_HOME nobody looks into ~/.config */
	bool system = access("/etc/garner/garner.conf", F_OK) == 0;
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), system ? 0 : 1);
	file_of("xdg/garner/garner.conf", "");
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), 0);
	assert_string_equal(path, scratch("xdg/garner/garner.conf"));
	env[2] = "XDG_CONFIG_HOME=relative";
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), 0);
	assert_string_equal(path, scratch("home/.config/garner/garner.conf"));
	assert_int_equal(cmd_config_file(&in, path, 10, &err), -1);
	in.env = NULL;
	assert_int_equal(cmd_config_file(&in, path, sizeof path, &err), system ? 0 : 1);
}

static void assert_data(const char *set, const char *want)
{
	struct config *config = NULL;
	struct err err;
	char path[PATH_MAX];
	struct config_input in = {.sets = &set, .nsets = 1};
	assert_int_equal(cmd_load(&program, &in, &config, NULL, &err), 0);
	assert_int_equal(cmd_data_dir(config, path, sizeof path, &err), 0);
	assert_string_equal(path, want);
	assert_int_equal(cmd_data_dir(config, path, 4, &err), -1);
	config_free(&config);
}

static void the_data_directory_is_absolute(void **state)
{
	(void)state;
	char here[PATH_MAX], want[PATH_MAX + 20];
	assert_non_null(getcwd(here, sizeof here));
	snprintf(want, sizeof want, "%s/some/where", here);
	assert_data("data=/var/x//", "/var/x");
	assert_data("data=some/where/", want);
	assert_int_equal(chdir("/"), 0);
	assert_data("data=some", "/some");
	assert_int_equal(chdir(here), 0);
	assert_int_equal(setenv("XDG_DATA_HOME", "/xdg", 1), 0);
	assert_int_equal(setenv("HOME", "/h/me", 1), 0);
	assert_data("data=", "/xdg/garner");
	assert_int_equal(setenv("XDG_DATA_HOME", "xdg", 1), 0);
	assert_data("data=", "/h/me/.local/share/garner");
	assert_int_equal(unsetenv("HOME"), 0);
	assert_data("data=", "/var/lib/garner");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_come_once_each),
		cmocka_unit_test(check_counts_what_a_good_file_sets),
		cmocka_unit_test(check_names_every_problem),
		cmocka_unit_test(check_knows_the_sections_of_the_log),
		cmocka_unit_test(show_tells_values_and_origins),
		cmocka_unit_test(show_of_a_wrong_file_shows_nothing),
		cmocka_unit_test(explain_tells_all_about_a_setting),
		cmocka_unit_test(explain_helps_who_mistypes),
		cmocka_unit_test(the_sample_passes_the_check),
		cmocka_unit_test(the_page_has_every_setting),
		cmocka_unit_test(the_file_is_looked_for_in_order),
		cmocka_unit_test(the_data_directory_is_absolute),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
