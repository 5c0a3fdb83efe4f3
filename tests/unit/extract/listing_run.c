/* The owner's side of listings, with the real worker, and with workers that lie: this program is
 * then its own worker, and PARSE_TRICK says what it tells. */
#include "extract/listing_run.h"
#include "base/clock.h"
#include "base/file.h"
#include "extract/listing_wire_inner.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../scratch.h"
#include "../unit.h"

#define LINE "-rw-r--r--   1 root     staff       1024 Mar  1 09:15 "

static const char *program(bool liar)
{
	static char path[PATH_MAX + 32];
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	assert_true(n > 0);
	here[n] = 0;
	if (liar)
		return memcpy(path, here, (size_t)n + 1);
	*strrchr(here, '/') = 0;
	snprintf(path, sizeof path, "%s/../garner-parse", here);
	return path;
}

static const struct listing_job job = {
	.listed_s = 762566400, .errors_max_percent = 5, .prefix = {"/srv/ftp", 8}};

/* Reads a listing to its end; what came of it. */
struct told {
	int rc;
	struct err err;
	struct buf text; /* dir|name|owner|group|size|mode, a line each */
	struct listing_stats stats;
};

static void put_told(struct buf *out, const struct listing_entry *e)
{
	buf_printf(out, STR_FMT "|" STR_FMT "|" STR_FMT "|%s|%lld|%.*s\n", STR_ARG(e->dir),
		   STR_ARG(e->name), STR_ARG(e->owner), e->group.p ? "group" : "",
		   (long long)e->size, e->mode[0] ? (int)sizeof e->mode : 0, e->mode);
}

static void run_text(struct str text, const struct listing_run_options *with, struct told *ret)
{
	struct listing_run_options o = *with;
	struct listing_run *run;
	struct listing_entry e;
	struct file f;
	*ret = (struct told){.text = BUF_INIT(1 << 20)};
	if (!o.program)
		o.program = program(false);
	assert_int_equal(file_replace(scratch("listing"), text, 0600, &ret->err), 0);
	assert_int_equal(file_open(&f, scratch("listing"), O_RDONLY, 0, &ret->err), 0);
	if (listing_run_open(&run, f.fd, &o, &ret->err) < 0)
		fail_msg("%s", ret->err.msg);
	while ((ret->rc = listing_run_next(run, &e, &ret->err)) == 0)
		put_told(&ret->text, &e);
	assert_int_equal(listing_run_next(run, &e, &ret->err), ret->rc); /* and stays so */
	ret->stats = *listing_run_stats(run);
	listing_run_close(&run);
	assert_null(run);
	file_drop(&f);
}

static void entries_come_back_through_the_worker(void **state)
{
	struct told t;
	(void)state;
	run_text(STR("/srv/ftp:\ntotal 2\n" LINE "a b\n" LINE "c/d\n\n/srv/ftp/pub:\n"
		     "dr-xr-xr-x   2 root     512 Apr  8  1994 etc\n"
		     "04-27-00  12:09PM       <DIR>          caf\xe9"),
		 &(struct listing_run_options){.job = {.listed_s = job.listed_s,
						       .errors_max_percent = 20,
						       .prefix = job.prefix}},
		 &t);
	assert_int_equal(t.rc, 1);
	assert_string_equal(buf_text(&t.text), "|a b|root|group|1024|-rw-r--r--\n"
					       "pub|etc|root||512|dr-xr-xr-x\n"
					       "pub|caf\xe9|||-1|\n");
	assert_int_equal(t.stats.entries, 3);
	assert_int_equal(t.stats.lines, 8);
	assert_int_equal(t.stats.headings, 1); /* that of the root does not count */
	assert_int_equal(t.stats.bad, 1);
	assert_int_equal(t.stats.bad_line[0], 4);
	assert_string_equal(t.stats.bad_why[0], "a slash in a name");
	buf_free(&t.text);
}

/* More than any buffer holds, and names as long as lines. */
static void a_large_listing_comes_back_whole(void **state)
{
	enum { DIRS = 40, NAMES = 500 };
	struct buf text = BUF_INIT(16 << 20);
	(void)state;
	for (int d = 0; d < DIRS; d++) {
		buf_printf(&text, "./d%d:\n", d);
		for (int i = 0; i < NAMES; i++)
			buf_printf(&text, LINE "file number %d\n", i);
		buf_add_text(&text, LINE);
		buf_fill(&text, 'n', 60000);
		buf_add_byte(&text, '\n');
	}
	struct listing_run *run;
	struct listing_entry e;
	struct file f;
	struct err err;
	int rc, n = 0;
	assert_int_equal(file_replace(scratch("listing"), buf_str(&text), 0600, &err), 0);
	assert_int_equal(file_open(&f, scratch("listing"), O_RDONLY, 0, &err), 0);
	struct listing_run_options o = {.program = program(false), .job = job};
	assert_int_equal(listing_run_open(&run, f.fd, &o, &err), 0);
	while ((rc = listing_run_next(run, &e, &err)) == 0) {
		char want[32];
		snprintf(want, sizeof want, "d%d", n / (NAMES + 1));
		assert_str(e.dir, want);
		if (n % (NAMES + 1) == NAMES) {
			assert_int_equal(e.name.n, 60000);
		} else {
			snprintf(want, sizeof want, "file number %d", n % (NAMES + 1));
			assert_str(e.name, want);
		}
		n++;
	}
	assert_int_equal(rc, 1);
	assert_int_equal(n, DIRS * (NAMES + 1));
	listing_run_close(&run);
	file_drop(&f);
	buf_free(&text);
}

static void what_is_refused_says_why(void **state)
{
	static const struct {
		struct str text;
		const char *why;
		uint64_t most;
	} cases[] = {
		{{"", 0}, "no entries", 0},
		{{"<html>\n", 7}, "no entries", 0},
		{{LINE "a\nx\n", sizeof LINE + 3}, "1 of 2 lines are bad", 0},
		{{"\x1f\x8b\x08", 3}, "cut off", 0},
		{{"\x1f\x9d\x11", 3}, "17 bits", 0},
		{{LINE "a\n", sizeof LINE + 1}, "more than 20 bytes", 20},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct told t;
		run_text(cases[i].text,
			 &(struct listing_run_options){.job = job, .unpacked_max = cases[i].most},
			 &t);
		assert_int_equal(t.rc, -1);
		assert_int_equal(t.err.code, ERR_USAGE);
		if (!strstr(t.err.msg, cases[i].why))
			fail_msg("'%s' says nothing of '%s'", t.err.msg, cases[i].why);
		buf_free(&t.text);
	}
}

static void a_prefix_that_cannot_be_passed_on_is_refused(void **state)
{
	struct listing_run_options o = {.program = program(false), .job = job};
	struct listing_run *run;
	struct err err;
	(void)state;
	o.job.prefix = STR("a\0b");
	assert_int_equal(listing_run_open(&run, 0, &o, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	struct listing_run_options o = {.program = scratch("nothing"), .job = job};
	struct listing_run *run;
	struct err err;
	(void)state;
	assert_int_equal(listing_run_open(&run, 0, &o, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.msg, "nothing cannot be started"));
}

/* A pipe that never says anything: the owner gives up, and may leave at any time. */
static void a_silent_worker_is_ended(void **state)
{
	struct listing_run_options o = {
		.program = program(false), .job = job, .idle_us = 50 * US_PER_MS};
	struct listing_run *run;
	struct listing_entry e;
	struct err err;
	int ends[2];
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(listing_run_open(&run, ends[0], &o, &err), 0);
	assert_int_equal(listing_run_next(run, &e, &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	assert_non_null(strstr(err.msg, "said nothing"));
	listing_run_close(&run);
	assert_int_equal(listing_run_open(&run, ends[0], &o, &err), 0);
	listing_run_close(&run);
	close(ends[0]);
	close(ends[1]);
}

/* The owner is told that there is nothing yet, and never waits. */
static void who_does_not_want_to_wait_need_not(void **state)
{
	struct listing_run_options o = {
		.program = program(false), .job = job, .idle_us = 200 * US_PER_MS, .no_wait = true};
	struct listing_run *run;
	struct listing_entry e;
	struct err err;
	int ends[2], rc;
	unsigned later = 0;
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(listing_run_open(&run, ends[0], &o, &err), 0);
	while ((rc = listing_run_next(run, &e, &err)) == 2) {
		struct pollfd p = {listing_run_fd(run), POLLIN, 0};
		(void)poll(&p, 1, 10);
		later++;
	}
	assert_int_equal(rc, -1);
	assert_true(later > 0);
	assert_non_null(strstr(err.msg, "said nothing"));
	listing_run_close(&run);
	/* and it misses nothing */
	o.idle_us = 0;
	assert_int_equal(listing_run_open(&run, ends[0], &o, &err), 0);
	assert_int_equal(listing_run_next(run, &e, &err), 2);
	assert_int_equal(write(ends[1], LINE "a\n", sizeof LINE + 1), sizeof LINE + 1);
	close(ends[1]);
	for (unsigned n = 0; (rc = listing_run_next(run, &e, &err)) != 1; n += rc == 0) {
		struct pollfd p = {listing_run_fd(run), POLLIN, 0};
		assert_true(rc == 2 || (rc == 0 && n == 0 && str_is(e.name, "a")));
		if (rc == 2)
			(void)poll(&p, 1, 1000);
	}
	assert_int_equal(listing_run_stats(run)->entries, 1);
	listing_run_close(&run);
	close(ends[0]);
}

/* Workers that lie */

static void say_bytes(const void *p, size_t n)
{
	if (write(STDOUT_FILENO, p, n) != (ssize_t)n)
		_exit(1);
}

static void say_record(uint32_t type, const void *p, size_t n)
{
	struct wire_head head = {type, (uint32_t)n};
	say_bytes(&head, sizeof head);
	if (n)
		say_bytes(p, n);
}

struct lie {
	struct wire_entry wire;
	char text[16];
};

static void say_entry(struct lie lie)
{
	say_record(WIRE_ENTRY, &lie,
		   sizeof lie.wire + lie.wire.name_n +
			   (lie.wire.owner_n == WIRE_UNTOLD ? 0 : lie.wire.owner_n));
}

static struct lie good_entry(void)
{
	return (struct lie){.wire = {.links = -1,
				     .size = -1,
				     .time_s = -1,
				     .name_n = 4,
				     .owner_n = WIRE_UNTOLD,
				     .group_n = WIRE_UNTOLD},
			    .text = "name"};
}

static struct wire_end good_end(void)
{
	return (struct wire_end){.lines = 1, .entries = 1};
}

static void lie_magic(void)
{
	say_record(WIRE_HELLO, &(struct wire_hello){.magic = 1}, sizeof(struct wire_hello));
}
static void lie_length(void)
{
	say_bytes(&(struct wire_head){WIRE_DIR, WIRE_MOST}, sizeof(struct wire_head));
}
static void lie_type(void)
{
	say_record(99, "x", 1);
}
static void lie_short(void)
{
	say_record(WIRE_ENTRY, "x", 1);
}
static void lie_kind(void)
{
	struct lie e = good_entry();
	e.wire.kind = 4;
	say_entry(e);
}
static void lie_mode(void)
{
	struct lie e = good_entry();
	memcpy(e.wire.mode, "-rw\n......", 10);
	say_entry(e);
}
static void lie_size(void)
{
	struct lie e = good_entry();
	e.wire.size = INT64_MIN;
	say_entry(e);
}
static void lie_name_length(void)
{
	struct lie e = good_entry();
	e.wire.name_n = 5;
	say_record(WIRE_ENTRY, &e, sizeof e.wire + 4);
}
static void lie_rest(void)
{
	struct lie e = good_entry();
	say_record(WIRE_ENTRY, &e, sizeof e);
}
static void lie_named(const char *name)
{
	struct lie e = good_entry();
	memcpy(e.text, name, 4);
	say_entry(e);
}
static void lie_slash(void)
{
	lie_named("a/bc");
}
static void lie_newline(void)
{
	lie_named("a\nbc");
}
static void lie_nul(void)
{
	lie_named("a\0bc");
}
static void lie_dots(void)
{
	struct lie e = good_entry();
	e.wire.name_n = 2;
	memcpy(e.text, "..", 2);
	say_entry(e);
}
static void lie_owner(void)
{
	struct lie e = good_entry();
	e.wire.name_n = e.wire.owner_n = 2;
	memcpy(e.text, "abc\n", 4);
	say_entry(e);
}
static void lie_dir_up(void)
{
	say_record(WIRE_DIR, "a/..", 4);
}
static void lie_dir_slash(void)
{
	say_record(WIRE_DIR, "a/", 2);
}
static void lie_dir_root(void)
{
	say_record(WIRE_DIR, "/a", 2);
}
static void lie_dir_deep(void)
{
	char deep[2 * 256 - 1];
	for (size_t i = 0; i < sizeof deep; i++)
		deep[i] = i % 2 ? '/' : 'a';
	say_record(WIRE_DIR, deep, sizeof deep);
}
static void lie_end_of(struct wire_end end)
{
	say_entry(good_entry());
	say_record(WIRE_END, &end, sizeof end);
}
static void lie_count(void)
{
	struct wire_end end = good_end();
	end.entries = 2;
	end.lines = 2;
	lie_end_of(end);
}
static void lie_headings(void)
{
	struct wire_end end = good_end();
	end.headings = 2;
	lie_end_of(end);
}
static void lie_bad_more(void)
{
	struct wire_end end = good_end();
	end.bad = 2;
	lie_end_of(end);
}
static void lie_bad_line(void)
{
	struct wire_end end = good_end();
	end.bad = 1;
	end.bad_line[0] = 2;
	end.bad_why[0] = WHY_DATE;
	lie_end_of(end);
}
static void lie_bad_why(void)
{
	struct wire_end end = good_end();
	end.bad = 1;
	end.bad_line[0] = 1;
	end.bad_why[0] = WHYS;
	lie_end_of(end);
}
static void lie_code(void)
{
	struct wire_end end = good_end();
	end.code = ERR_BUSY;
	end.message[0] = 'x';
	lie_end_of(end);
}
static void lie_message(void)
{
	struct wire_end end = good_end();
	end.code = ERR_USAGE;
	memset(end.message, 'x', sizeof end.message);
	lie_end_of(end);
}
static void lie_more(void)
{
	struct {
		struct wire_head head;
		struct wire_end end;
		char more;
	} all = {{WIRE_END, sizeof(struct wire_end)}, good_end(), 'x'};
	say_entry(good_entry());
	say_bytes(&all, sizeof all);
}
static void lie_much(void)
{
	for (int i = 0; i < 100000; i++)
		say_entry(good_entry());
}
static void lie_nothing(void)
{
}
static void lie_crash(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}
/* The truth, for comparison: what it says is believed. */
static void lie_not(void)
{
	say_record(WIRE_DIR, "a/b", 3);
	say_record(WIRE_ALIVE, NULL, 0);
	lie_end_of(good_end());
}

static const struct {
	const char *name;
	void (*say)(void);
	const char *why;
} lies[] = {
	{"magic", lie_magic, "its first word"},
	{"length", lie_length, "a length"},
	{"type", lie_type, "a record"},
	{"short", lie_short, "an entry"},
	{"kind", lie_kind, "a field"},
	{"mode", lie_mode, "a field"},
	{"size", lie_size, "a field"},
	{"name_length", lie_name_length, "a name"},
	{"rest", lie_rest, "a name"},
	{"slash", lie_slash, "a name"},
	{"newline", lie_newline, "a name"},
	{"nul", lie_nul, "a name"},
	{"dots", lie_dots, "a name"},
	{"owner", lie_owner, "a name"},
	{"dir_up", lie_dir_up, "a directory"},
	{"dir_slash", lie_dir_slash, "a directory"},
	{"dir_root", lie_dir_root, "a directory"},
	{"dir_deep", lie_dir_deep, "a directory"},
	{"count", lie_count, "its counts"},
	{"headings", lie_headings, "its counts"},
	{"bad_more", lie_bad_more, "its counts"},
	{"bad_line", lie_bad_line, "its counts"},
	{"bad_why", lie_bad_why, "its counts"},
	{"code", lie_code, "its message"},
	{"message", lie_message, "its message"},
	{"more", lie_more, "its end"},
	{"much", lie_much, "a name"},
	{"nothing", lie_nothing, "it ended with status 0"},
	{"crash", lie_crash, "it died of SIGABRT"},
};

static int act_as_liar(const char *trick)
{
	if (strcmp(trick, "magic") != 0)
		say_record(WIRE_HELLO, &(struct wire_hello){.magic = WIRE_MAGIC},
			   sizeof(struct wire_hello));
	for (size_t i = 0; i < ARRAY_LEN(lies); i++)
		if (strcmp(trick, lies[i].name) == 0)
			lies[i].say();
	if (strcmp(trick, "not") == 0)
		lie_not();
	return 0;
}

static void run_liar(const char *trick, struct told *ret)
{
	setenv("PARSE_TRICK", trick, 1);
	run_text(STR("x"),
		 &(struct listing_run_options){
			 .program = program(true), .job = job, .unpacked_max = 100000},
		 ret);
	unsetenv("PARSE_TRICK");
}

static void no_lie_is_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct told t;
		run_liar(lies[i].name, &t);
		if (t.rc != -1 || t.err.code != ERR_REMOTE || !strstr(t.err.msg, lies[i].why))
			fail_msg("%s: %d, '%s'", lies[i].name, t.rc, t.err.msg);
		buf_free(&t.text);
	}
}

static void the_truth_is_believed(void **state)
{
	struct told t;
	(void)state;
	run_liar("not", &t);
	assert_int_equal(t.rc, 1);
	assert_string_equal(buf_text(&t.text), "a/b|name|||-1|\n");
	buf_free(&t.text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_back_through_the_worker),
		cmocka_unit_test(a_large_listing_comes_back_whole),
		cmocka_unit_test(what_is_refused_says_why),
		cmocka_unit_test(a_prefix_that_cannot_be_passed_on_is_refused),
		cmocka_unit_test(a_program_that_is_not_there_is_named),
		cmocka_unit_test(a_silent_worker_is_ended),
		cmocka_unit_test(who_does_not_want_to_wait_need_not),
		cmocka_unit_test(the_truth_is_believed),
		cmocka_unit_test(no_lie_is_believed),
	};
	const char *trick = getenv("PARSE_TRICK");
	if (argc > 1 && trick && strcmp(argv[1], "--listing") == 0)
		return act_as_liar(trick);
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
