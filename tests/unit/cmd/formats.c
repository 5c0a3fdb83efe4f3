/* dump and check, called as cmd_main() would call them. */
#include "base/file.h"
#include "cmd/commands.h"
#include "role/counters.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct counter_def defs[] = {
	{"requests", NULL, COUNTER_TOTAL, "Requests that were answered."},
};

static char folder[64];
static struct err err;
static char *output;

/* A path below the folder of the test, good until the fourth call after. */
static char *below(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *p = paths[next++ % ARRAY_LEN(paths)];
	snprintf(p, sizeof paths[0], "%s/%s", folder, name);
	return p;
}

static void put(const char *name, struct str bytes)
{
	assert_int_equal(file_replace(below(name), bytes, 0600, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/garner-formats-XXXXXX");
	if (!mkdtemp(folder) || dir_make(below("run/counters"), 0700, &err) < 0)
		return -1;
	struct counters *c = NULL;
	int rc = counters_create(&c, below("run/counters/web"), "web", defs, 1, 0, &err);
	counters_close(&c);
	return rc;
}

static void remove_all(const char *path)
{
	struct dir d;
	const char *name;
	if (dir_init(&d, path, &err) == 0) {
		while (dir_next(&d, &name) == 0) {
			struct stat st;
			char file[512];
			snprintf(file, sizeof file, "%s/%s", path, name);
			if (lstat(file, &st) == 0 && S_ISDIR(st.st_mode))
				remove_all(file);
			else
				(void)unlink(file);
		}
		dir_done(&d);
	}
	(void)rmdir(path);
}

static int teardown(void **state)
{
	(void)state;
	free(output);
	output = NULL;
	remove_all(folder);
	return 0;
}

/* Runs a command; its output is in `output`. option: --json of check. */
static int run(const struct command *command, bool option, int argc, char **argv)
{
	const struct program program = {.formats = formats, .nformats = nformats};
	size_t n;
	free(output);
	output = NULL;
	FILE *out = open_memstream(&output, &n);
	struct cmd_call call = {
		.program = &program,
		.command = command,
		.options = &(bool[]){option, false}, /* struct check_options */
		.argc = argc,
		.argv = argv,
		.out = out,
	};
	int code = cmd_run(&call);
	fclose(out);
	return code;
}

static int check(bool json, char *path)
{
	return run(&check_command, json, 1, (char *[]){path, NULL});
}

static void every_format_has_all_its_parts_and_a_magic_of_its_own(void **state)
{
	(void)state;
	assert_true(nformats > 0);
	for (size_t i = 0; i < nformats; i++) {
		bool by_magic = !formats[i]->claims;
		assert_int_equal(strlen(formats[i]->magic), by_magic ? FORMAT_MAGIC : 0);
		assert_int_equal(formats[i]->version > 0, by_magic);
		assert_non_null(formats[i]->help);
		bool by_table = formats[i]->records || formats[i]->fields || formats[i]->show;
		assert_true(by_table || formats[i]->print);
		for (size_t j = 0; j < i; j++)
			if (by_magic)
				assert_string_not_equal(formats[i]->magic, formats[j]->magic);
	}
	assert_null(formats[nformats]);
}

static void dump_prints_a_file(void **state)
{
	(void)state;
	char *paths[] = {below("run/counters/web"), NULL};
	assert_int_equal(run(&dump_command, false, 1, paths), 0);
	assert_int_equal(strncmp(output, "counters of web, pid ", 21), 0);
	assert_non_null(strstr(output, "Requests that were answered.\n"));
}

static void dump_goes_on_after_a_file_that_it_cannot_print(void **state)
{
	(void)state;
	put("strange", STR("something else"));
	char *paths[] = {below("strange"), below("run/counters/web"), below("nothing"), NULL};
	assert_int_equal(run(&dump_command, false, 3, paths), ERR_PARTLY);
	assert_non_null(strstr(output, "run/counters/web:\ncounters of web"));
	assert_int_equal(run(&dump_command, false, 1, paths), ERR_USAGE);
	put("other", STR("GARNERCN\x09\0\0\0"));
	paths[0] = below("other");
	assert_int_equal(run(&dump_command, false, 1, paths), ERR_DAMAGED);
}

static void check_counts_what_is_sound_and_what_is_unknown(void **state)
{
	(void)state;
	put("strange", STR("something else"));
	put("empty", STR(""));
	assert_int_equal(check(false, folder), 0);
	assert_string_equal(output,
			    "3 files: 1 sound, 2 unknown, 0 noted, 0 damaged, 0 unreadable\n");
}

static void check_names_each_damaged_file_and_the_reason(void **state)
{
	(void)state;
	put("cut", STR("GARNERCN\1\0\0\0\1\0\0\0"));
	put("run/other", STR("GARNERCN\x09\0\0\0"));
	assert_int_equal(check(false, folder), ERR_DAMAGED);
	assert_non_null(strstr(
		output,
		"/cut: byte 16: the file ends inside its head; the next start makes it anew\n"));
	assert_non_null(strstr(output, "/run/other: counters file in version 9; this program knows "
				       "version 1: another one wrote it, or it is damaged\n"));
	assert_non_null(
		strstr(output, "3 files: 1 sound, 0 unknown, 0 noted, 2 damaged, 0 unreadable\n"));
}

static void check_says_the_same_in_json(void **state)
{
	(void)state;
	char want[512];
	assert_int_equal(check(true, folder), 0);
	assert_string_equal(output, "{\"problems\":[],\"files\":1,\"sound\":1,\"unknown\":0,"
				    "\"noted\":0,\"damaged\":0,\"unreadable\":0}\n");
	put("cut", STR("GARNERCN\1"));
	assert_int_equal(check(true, folder), ERR_DAMAGED);
	snprintf(want, sizeof want,
		 "{\"problems\":[{\"path\":\"%s/cut\",\"verdict\":\"damaged\",\"format\":"
		 "\"counters\",\"reason\":\"%s/cut: counters file cut off after 9 bytes\","
		 "\"remedy\":\"the next start makes it anew\"}],\"files\":2,"
		 "\"sound\":1,\"unknown\":0,\"noted\":0,\"damaged\":1,\"unreadable\":0}\n",
		 folder, folder);
	assert_string_equal(output, want);
}

static void check_follows_no_links_and_opens_no_fifos(void **state)
{
	(void)state;
	put("cut", STR("GARNERCN\1"));
	assert_int_equal(symlink(folder, below("run/round")), 0);
	assert_int_equal(symlink(below("cut"), below("run/link")), 0);
	assert_int_equal(mkfifo(below("run/fifo"), 0600), 0);
	assert_int_equal(check(false, below("run")), 0);
	assert_string_equal(output,
			    "1 file: 1 sound, 0 unknown, 0 noted, 0 damaged, 0 unreadable\n");
	/* a link that the user names is meant */
	assert_int_equal(check(false, below("run/link")), ERR_DAMAGED);
}

static void check_of_what_is_not_there_is_partly_done(void **state)
{
	(void)state;
	assert_int_equal(check(false, below("nothing")), ERR_PARTLY);
	assert_non_null(strstr(output, "unreadable: "));
	assert_non_null(strstr(output, "/nothing: No such file or directory\n"));
}

static void check_stops_at_a_depth(void **state)
{
	(void)state;
	char path[512];
	size_t n = (size_t)snprintf(path, sizeof path, "%s", folder);
	for (int i = 0; i < 80; i++)
		n += (size_t)snprintf(path + n, sizeof path - n, "/d");
	assert_int_equal(dir_make(path, 0700, &err), 0);
	assert_int_equal(check(false, folder), ERR_PARTLY);
	assert_non_null(strstr(output, "64 folders deep, not looked into\n"));
}

/* One page is called as a file of ours, others begin as one does. */
static void what_a_robot_fetched_is_no_file_of_ours_whatever_it_looks_like(void **state)
{
	static const char *const pages[] = {"spider/h.test/index",   "spider@2/h,80/a%2Fb",
					    "spider/intranet/index", "cache/files/000000/001",
					    "pages/000000/001.12",   "other/000000/1"};
	(void)state;
	assert_int_equal(dir_make(below("cache"), 0700, &err), 0);
	put("run/other", STR("GARNERCN\x09\0\0\0"));
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		char *path = below(pages[i]);
		*strrchr(path, '/') = 0;
		assert_int_equal(dir_make(path, 0700, &err), 0);
		put(pages[i], STR("GARNERCN\x09\0\0\0"));
	}
	put("spider/results.jsonl", STR("{}\n"));
	put("spider@2/results.jsonl", STR("{}\n"));
	assert_int_equal(check(false, below("spider")), 0);
	assert_int_equal(check(false, below("spider@2")), 0);
	assert_int_equal(check(false, below("cache")), 0);
	assert_int_equal(check(false, below("pages")), 0);
	assert_int_equal(check(false, below("other")), ERR_DAMAGED); /* not such a name */
	put("spider/h.test/index", STR("<p>a page"));
	assert_int_equal(check(false, below("spider")), 0);
	assert_string_equal(output,
			    "3 files: 2 sound, 1 unknown, 0 noted, 0 damaged, 0 unreadable\n");
	/* in the data directory itself they do not hide ours */
	put("results.jsonl", STR("{}\n"));
	assert_int_equal(check(false, below("run")), ERR_DAMAGED);
}

static void outcomes_are_known_by_their_list_when_their_first_bytes_are_damaged(void **state)
{
	(void)state;
	put("list.done", STR("XXRNEROC\1\0\0\0"));
	assert_int_equal(check(false, below("list.done")), 0);
	put("list", STR("http://a/\n"));
	assert_int_equal(check(false, below("list.done")), ERR_DAMAGED);
	assert_non_null(strstr(
		output, "; the first role that starts while no other has it open sets it aside"));
	/* not so what a robot fetched */
	assert_int_equal(dir_make(below("spider/h.test"), 0700, &err), 0);
	put("spider/results.jsonl", STR("{}\n"));
	put("spider/h.test/list", STR("a page"));
	put("spider/h.test/list.done", STR("another"));
	assert_int_equal(check(false, below("spider")), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_has_all_its_parts_and_a_magic_of_its_own),
		TEST(dump_prints_a_file),
		TEST(dump_goes_on_after_a_file_that_it_cannot_print),
		TEST(check_counts_what_is_sound_and_what_is_unknown),
		TEST(check_names_each_damaged_file_and_the_reason),
		TEST(check_says_the_same_in_json),
		TEST(check_follows_no_links_and_opens_no_fifos),
		TEST(check_of_what_is_not_there_is_partly_done),
		TEST(check_stops_at_a_depth),
		TEST(what_a_robot_fetched_is_no_file_of_ours_whatever_it_looks_like),
		TEST(outcomes_are_known_by_their_list_when_their_first_bytes_are_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
