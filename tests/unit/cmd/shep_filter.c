#include "cmd/crawl/shep_filter.h"
#include "base/file.h"
#include "cmd/commands.h"
#include "shepherd/master.h"
#include "state/state.h"

#include "../scratch.h"
#include "../unit.h"

#include <limits.h>

/* A crawl that knows some sites of one server, and one that was never asked. */
static void make_crawl(const char *folder, unsigned sites_of_one_server)
{
	struct states *s = NULL;
	struct state *from = NULL, *st = NULL;
	struct sites *sites = NULL;
	struct qkey_addr a = {.b = {192, 0, 2, 7}};
	struct err err;
	char host[64];
	bool is_new;
	assert_int_equal(states_init(folder, 0, 1000000, &err), 0);
	assert_int_equal(states_open(&s, folder, true, &err), 0);
	assert_int_equal(state_open(&from, s, "current", &err), 0);
	assert_int_equal(state_clone(&st, from, false, 5000000, &err), 0);
	assert_int_equal(state_sites(st, &sites, &err), 0);
	for (unsigned i = 0; i < sites_of_one_server; i++) {
		int n = snprintf(host, sizeof host, "h%u.example", i);
		struct url_site site = {URL_HTTP, 80, {host, (size_t)n}};
		sites_put(sites, site, &is_new)->qkey = qkey_of(&a, 80);
	}
	sites_put(sites, (struct url_site){URL_HTTP, 80, STR("new.example")}, &is_new);
	assert_int_equal(state_sites_put(st, sites, &err), 0);
	sites_free(&sites);
	state_free(&st);
	state_free(&from);
	states_close(&s);
}

/* What garner shep filter URL or garner why URL prints; *ret_code: how it ends. */
static char *answer_of(const struct command *command, const char *data, const char *url,
		       int *ret_code)
{
	static const struct role *const some[] = {&shepherd_role};
	const struct program program = {.roles = some, .nroles = 1};
	struct {
		const char *type;
		bool json;
	} options = {.type = ""};
	const bool why_json = false; /* the options of why */
	char setting[PATH_MAX], *arg = mem_text(url), *out = NULL;
	const char *sets[] = {setting};
	snprintf(setting, sizeof setting, "data=%s", data);
	size_t n;
	struct cmd_call call = {.program = &program,
				.command = command,
				.options = command == &why_command ? (const void *)&why_json
								   : (const void *)&options,
				.argc = 1,
				.argv = &arg,
				.out = open_memstream(&out, &n)};
	call.input = (struct config_input){.sets = sets, .nsets = 1};
	assert_non_null(call.out);
	*ret_code = cmd_run(&call);
	fclose(call.out);
	mem_free(&arg);
	return out;
}

static void tells_by(const struct command *command, const char *data, const char *url, int code,
		     const char *what)
{
	int got;
	char *out = answer_of(command, data, url, &got);
	if (got != code || !strstr(out, what))
		fail_msg("%s: %d, %s", url, got, out);
	free(out);
}

static void tells(const char *data, const char *url, int code, const char *what)
{
	tells_by(&shep_filter_command, data, url, code, what);
}

static void why_and_filter_know_as_much_of_a_site(void **state)
{
	(void)state;
	struct err err;
	make_crawl(scratch("both/shepherd"), 3);
	assert_int_equal(dir_make(scratch("both/shepherd/cf"), 0700, &err), 0);
	assert_int_equal(file_replace(scratch("both/" FILTER_FILE),
				      STR("key_sites > 2 & path /cgi/*: reject\n"), 0600, &err),
			 0);
	const char *data = scratch("both");
	tells(data, "http://h1.example/cgi/x", 1, FILTER_FILE ":1\n");
	tells_by(&why_command, data, "http://h1.example/cgi/x", 1, FILTER_FILE ":1\n");
}

static void sites_that_are_known_are_looked_up(void **state)
{
	(void)state;
	struct err err;
	make_crawl(scratch("data/shepherd"), 3);
	assert_int_equal(dir_make(scratch("data/shepherd/cf"), 0700, &err), 0);
	assert_int_equal(file_replace(scratch("data/" FILTER_FILE),
				      STR("key_sites > 2: min_delay=1s\n"
					  "net 192.0.2.0/24: max_conn=2\n"
					  "host there.example: accept\n"),
				      0600, &err),
			 0);
	const char *data = scratch("data");
	tells(data, "http://h1.example/", 0, "min_delay=1s");
	tells(data, "http://h1.example/", 0, FILTER_FILE ":1\n");
	tells(data, "http://h1.example/", 0, "max_conn=2");
	tells(data, "http://new.example/", 0, "accept                   no rule");
	tells(data, "http://h9.example/", 1, "shepherd.follow");
	tells(data, "http://there.example/", 0, FILTER_FILE ":3\n");
}

static void without_a_crawl_no_site_is_known(void **state)
{
	(void)state;
	tells(scratch("none"), "http://h1.example/", 1, "shepherd.follow");
	assert_int_not_equal(access(scratch("none"), F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_that_are_known_are_looked_up),
		cmocka_unit_test(why_and_filter_know_as_much_of_a_site),
		cmocka_unit_test(without_a_crawl_no_site_is_known),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
