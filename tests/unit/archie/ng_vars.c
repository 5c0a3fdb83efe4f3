#include "archie/ng_vars.h"
#include "../scratch.h"
#include "../unit.h"
#include "archie/ng_peers.h"
#include "base/file.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static struct ng_held held;
static struct domains_file *domains; /* of the scratch folder */

static int set_var(const char *name, const char *value)
{
	struct err err;
	return ng_held_set(&held, domains, str_of(name), str_of(value), &err);
}

static void times_are_read_as_they_are_printed(void **state)
{
	(void)state;
	static const int64_t times[] = {0, 951782400, 1709208000, INT64_C(253402300799)};
	struct buf out = BUF_INIT(100);
	int64_t got;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		buf_clear(&out);
		ng_time_print(&out, times[i]);
		assert_true(ng_time_parse(buf_str(&out), &got));
		assert_true(got == times[i]);
	}
	buf_clear(&out);
	ng_time_print(&out, 951782400);
	assert_string_equal(buf_text(&out), "20000229000000Z");
	buf_clear(&out);
	ng_time_print(&out, -86401);
	ng_time_print(&out, INT64_C(-62167219200));
	assert_string_equal(buf_text(&out), "19691230235959Z00000101000000Z");
	buf_clear(&out);
	ng_time_print(&out, INT64_C(-62167219201));
	ng_time_print(&out, INT64_MIN);
	assert_string_equal(buf_text(&out), "--");
	buf_clear(&out);
	ng_time_print(&out, -1);
	ng_time_print(&out, INT64_MAX);
	assert_string_equal(buf_text(&out), "--");
	buf_free(&out);
}

static void what_is_not_a_time_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "20000229000000",
					  "20000230000000Z",
					  "20001301000000Z",
					  "20000101240000Z",
					  "2000 101000000Z",
					  "+0000101000000Z",
					  "20000101000000Zx"};
	int64_t got;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(ng_time_parse(str_of(bad[i]), &got));
}

static void a_variable_that_cannot_be_so_stays_as_it_was(void **state)
{
	(void)state;
	ng_held_init(&held);
	assert_int_equal(set_var("kind", "file dir"), 0);
	assert_int_equal(set_var("maxhits", "7"), 0);
	assert_true(set_var("kind", "door") < 0);
	assert_true(set_var("maxhits", "10001") < 0);
	assert_true(set_var("nothing", "1") < 0);
	assert_string_equal(held.vars.kind, "file dir");
	assert_int_equal(held.vars.maxhits, 7);
	assert_int_equal(set_var("maxhits", ""), 0);
	assert_int_equal(held.vars.maxhits, 100);
	ng_held_free(&held);
}

static void a_session_that_sets_for_ever_holds_what_is_set(void **state)
{
	(void)state;
	char text[4000];
	ng_held_init(&held);
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	for (int i = 0; i < 1000; i++) /* four times what an arena of its may have */
		assert_int_equal(set_var("match_path", text), 0);
	assert_string_equal(held.vars.match_path, text);
	ng_held_free(&held);
}

static void variables_become_a_query(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct names_query q;
	struct err err;
	ng_held_init(&held);
	assert_int_equal(set_var("search", "regex"), 0);
	assert_int_equal(set_var("sortby", "rsize"), 0);
	assert_int_equal(set_var("match_domain", "DE:.edu"), 0);
	assert_int_equal(set_var("match_path", "gnu:linux kernel:"), 0);
	assert_int_equal(set_var("size_max", "2K"), 0);
	assert_int_equal(set_var("time_min", "20000229000000Z"), 0);
	assert_int_equal(ng_vars_query(&held.vars, domains, &arena, &q, &err), 0);
	assert_true(q.type == NAMES_REGEX && q.syntax == NAMES_ED);
	assert_true(q.sort == NAMES_BY_SIZE && q.reverse);
	assert_true(q.domains == 2 && q.components == 2 && q.sites == 0);
	assert_str(q.domain[0], "de");
	assert_str(q.domain[1], "edu");
	assert_str(q.component[1], "linux kernel");
	assert_true(!q.has_size_min && q.has_size_max && q.size_max == 2048);
	assert_true(q.has_time_min && q.time_min == 951782400 && !q.has_time_max);
	assert_int_equal(q.maxhits, 100);
	ng_held_free(&held);
	arena_free(&arena);
}

static void a_day_stands_for_all_of_it(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct names_query q;
	struct err err;
	static const char *const bad[] = {"2000-02-30", "2000-2-29",  "2000-13-01",  "20000-1-01",
					  "+200-01-01", "2000-01-0x", "2000-01-011", "-"};
	ng_held_init(&held);
	assert_int_equal(set_var("time_min", "2000-02-29"), 0);
	assert_int_equal(set_var("time_max", "2000-02-29"), 0);
	assert_int_equal(ng_vars_query(&held.vars, domains, &arena, &q, &err), 0);
	assert_true(q.has_time_min && q.time_min == 951782400);
	assert_true(q.has_time_max && q.time_max == 951782400 + 86399);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(set_var("time_min", bad[i]) < 0);
	ng_held_free(&held);
	arena_free(&arena);
}

static void pseudo_domains_are_those_of_the_file_or_our_own(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct names_query q;
	struct err err;
	char path[PATH_MAX];
	ng_held_init(&held);
	assert_int_equal(set_var("match_domain", "anzac"), 0);
	assert_int_equal(ng_vars_query(&held.vars, domains, &arena, &q, &err), 0);
	assert_int_equal(q.domains, 2);
	assert_str(q.domain[0], "au");
	snprintf(path, sizeof path, "%s/etc", scratch_dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/etc/ardomains.cf", scratch_dir);
	assert_int_equal(file_replace(path, STR("west edu:com:org West\n"), 0600, &err), 0);
	assert_int_equal(ng_vars_query(&held.vars, domains, &arena, &q, &err), 0);
	assert_int_equal(q.domains, 1); /* the name is a domain now */
	assert_int_equal(set_var("match_domain", "west"), 0);
	assert_int_equal(ng_vars_query(&held.vars, domains, &arena, &q, &err), 0);
	assert_int_equal(q.domains, 3);
	ng_held_free(&held);
	arena_free(&arena);
}

static void a_load_is_read_as_it_is_printed(void **state)
{
	(void)state;
	static const char *const lines[] = {"LOAD\ta:1\t3\t1200\t7.10\t41",
					    "LOAD\t[::1]:1527\t0\t0\t0\t0",
					    "LOAD\ta:1\t-\t-\t-\t-"};
	static const char *const bad[] = {"",
					  "OK 1",
					  "LOAD\ta:1\t3\t1200\t7.10",
					  "LOAD\t\t3\t1200\t7.10\t1",
					  "LOAD\ta:1\t-3\t1200\t7.10\t1",
					  "LOAD\ta:1\t3\t1200\t7.1.0\t1",
					  "LOAD\ta:1\t3\t1200\t7\x1b[2J\t1"};
	struct buf out = BUF_INIT(1000);
	struct ng_load load;
	struct str server;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		char name[32];
		buf_clear(&out);
		assert_true(ng_load_parse(str_of(lines[i]), &server, &load));
		assert_int_equal(load.known, i < 2);
		snprintf(name, sizeof name, STR_FMT, STR_ARG(server));
		ng_load_print(&out, name, &load);
		assert_str(str_head(buf_str(&out), out.n - 1), lines[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(ng_load_parse(str_of(bad[i]), &server, &load));
	buf_free(&out);
}

static int begin_all(void **state)
{
	int rc = scratch_make(state);
	domains = domains_file_new(scratch_dir);
	return rc;
}

static int end_all(void **state)
{
	domains_file_free(&domains);
	return scratch_done(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read_as_they_are_printed),
		cmocka_unit_test(what_is_not_a_time_is_refused),
		cmocka_unit_test(a_variable_that_cannot_be_so_stays_as_it_was),
		cmocka_unit_test(a_session_that_sets_for_ever_holds_what_is_set),
		cmocka_unit_test(variables_become_a_query),
		cmocka_unit_test(a_day_stands_for_all_of_it),
		cmocka_unit_test(pseudo_domains_are_those_of_the_file_or_our_own),
		cmocka_unit_test(a_load_is_read_as_it_is_printed),
	};
	return cmocka_run_group_tests(tests, begin_all, end_all);
}
