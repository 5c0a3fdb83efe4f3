/* The owner's side, with the real worker. */
#include "base/clock.h"
#include "base/fault.h"
#include "extract/cage_door.h"
#include "extract/cage_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"

/* What came back of the last document. */
struct told {
	unsigned times, ends[CAGE_ENDS];
	enum cage_end end;
	char text[4096], reason[512], remark[512];
	uint64_t size;
	struct extract_result result;
};

static const char *program(void)
{
	static char path[PATH_MAX + 32];
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	assert_true(n > 0);
	here[n] = 0;
	*strrchr(here, '/') = 0;
	snprintf(path, sizeof path, "%s/%s", here,
		 getenv("PARSE_TRICK") ? "parse-tricks" : "../garner-parse");
	return path;
}

static struct cage *open_cage(unsigned workers, int64_t cpu_us)
{
	struct cage_options o = cage_defaults;
	struct cage *c;
	struct err err;
	o.program = program();
	o.workers = workers;
	o.cpu_us = cpu_us;
	o.body_max = 1 << 20;
	if (cage_new(&c, &o, clock_mono_us(), &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void note(void *ctx, const struct cage_result *r)
{
	struct told *t = ctx;
	size_t n = 0;
	t->times++;
	t->ends[r->end]++;
	t->end = r->end;
	t->result = r->result;
	snprintf(t->reason, sizeof t->reason, "%s", r->reason);
	snprintf(t->remark, sizeof t->remark, STR_FMT, STR_ARG(r->result.remark));
	for (size_t i = 0; i < r->attrs.n && n < sizeof t->text; i++)
		n += (size_t)snprintf(t->text + n, sizeof t->text - n, "%c" STR_FMT "|",
				      r->attrs.a[i].name, STR_ARG(r->attrs.a[i].value));
	assert_true(str_u64(attrs_get(&r->attrs, 'Z'), &t->size));
}

static void submit(struct cage *c, const char *type, const char *body, struct told *t)
{
	struct cage_slot *slot;
	assert_int_equal(cage_take(c, &slot), 0);
	memcpy(slot->body, body, strlen(body));
	struct extract_job job = {.url = STR("http://a/"),
				  .content_type = str_of(type),
				  .charset = STR(""),
				  .robots = STR(""),
				  .body = {NULL, strlen(body)}};
	cage_submit(c, slot, &job, note, t, clock_mono_us());
}

static void wait_for(struct cage *c, const struct told *t, unsigned times)
{
	for (int i = 0; t->times < times; i++) {
		struct pollfd p = {cage_fd(c), POLLIN, 0};
		assert_true(i < 10000);
		assert_true(poll(&p, 1, 60000) == 1);
		cage_poll(c, clock_mono_us());
	}
}

static void a_document_comes_back_as_attributes(void **state)
{
	struct cage *c = open_cage(1, 10 * US_PER_S);
	struct told t = {0};
	(void)state;
	submit(c, "text/plain; charset=latin1", "caf\xe9  au\nlait", &t);
	assert_int_equal(cage_under_way(c), 1);
	wait_for(c, &t, 1);
	assert_int_equal(t.end, CAGE_READ);
	assert_string_equal(t.text, "Ttext/plain; charset=windows-1252|Z13|"
				    "Xcaf\xc3\xa9 au\nlait|");
	assert_string_equal(t.result.charset.name, "windows-1252");
	assert_int_equal(t.result.charset.source, CHARSET_BY_HEADER);
	assert_int_equal(cage_under_way(c), 0);
	cage_free(&c);
	assert_null(c);
}

static void many_documents_come_back_in_order_of_each_worker(void **state)
{
	struct cage *c = open_cage(2, 10 * US_PER_S);
	struct told t = {0};
	struct cage_slot *slot;
	unsigned sent = 0;
	(void)state;
	while (t.times < 500) {
		while (sent < 500 && cage_under_way(c) < 2 * CAGE_SLOTS) {
			submit(c, "text/plain", "words", &t);
			sent++;
		}
		wait_for(c, &t, t.times + 1);
		assert_non_null(strstr(t.text, "Xwords|"));
	}
	assert_int_equal(t.ends[CAGE_READ], 500);
	assert_int_equal(c->started, 2);
	/* all slots lent: there is no other */
	for (int i = 0; i < 2 * CAGE_SLOTS; i++)
		assert_int_equal(cage_take(c, &slot), 0);
	assert_int_equal(cage_take(c, &slot), 1);
	cage_free(&c);
}

static void an_empty_document_and_one_that_fills_its_slot(void **state)
{
	struct cage *c = open_cage(1, 10 * US_PER_S);
	struct told t = {0};
	struct cage_slot *slot;
	(void)state;
	submit(c, "text/plain", "", &t);
	wait_for(c, &t, 1);
	assert_int_equal(t.size, 0);
	assert_int_equal(cage_take(c, &slot), 0);
	memset(slot->body, 'x', slot->body_max);
	struct extract_job job = {.content_type = STR("text/plain"),
				  .body = {NULL, slot->body_max}};
	cage_submit(c, slot, &job, note, &t, clock_mono_us());
	wait_for(c, &t, 2);
	assert_int_equal(t.end, CAGE_READ);
	assert_int_equal(t.size, 1 << 20);
	cage_free(&c);
}

/* In all slots at once. */
static void headers_come_through_and_are_cut_where_they_are_too_long(void **state)
{
	struct cage *c = open_cage(1, 10 * US_PER_S);
	static char robots[3 * CAGE_HEADER_MAX];
	struct told t = {0};
	(void)state;
	memset(robots, 'x', sizeof robots);
	memcpy(robots, "noindex,", 8);
	for (int i = 0; i < CAGE_SLOTS; i++) {
		struct cage_slot *slot;
		assert_int_equal(cage_take(c, &slot), 0);
		memcpy(slot->body, "<a href=y>\xe9", 11);
		struct extract_job job = {.url = STR("http://a/x"),
					  .content_type = STR("text/html"),
					  .charset = STR("iso-8859-2"),
					  .robots = {robots, sizeof robots},
					  .body = {NULL, 11}};
		cage_submit(c, slot, &job, note, &t, clock_mono_us());
	}
	for (unsigned i = 1; i <= CAGE_SLOTS; i++) {
		wait_for(c, &t, i);
		assert_string_equal(t.text, "Ttext/html; charset=iso-8859-2|Z11|M0rnoindex|"
					    "Rhttp://a/y a \xc3\xa9|X\xc3\xa9|");
	}
	assert_int_equal(t.ends[CAGE_READ], CAGE_SLOTS);
	cage_free(&c);
}

static void a_program_that_is_not_there_is_named(void **state)
{
	struct cage_options o = cage_defaults;
	struct cage *c = NULL;
	struct err err;
	(void)state;
	o.program = "/nonexistent/garner-parse";
	assert_true(cage_new(&c, &o, clock_mono_us(), &err) < 0);
	assert_null(c);
	assert_non_null(
		strstr(err.msg, "/nonexistent/garner-parse cannot be started: No such file"));
}

static void a_program_that_is_no_worker_is_tried_and_given_up(void **state)
{
	struct cage_options o = cage_defaults;
	struct cage *c;
	struct err err;
	struct told t = {0};
	(void)state;
	o.program = "/bin/true";
	assert_int_equal(cage_new(&c, &o, clock_mono_us(), &err), 0);
	submit(c, "text/plain", "words", &t);
	wait_for(c, &t, 1);
	assert_int_equal(t.end, CAGE_NO_WORKER);
	assert_non_null(strstr(t.reason, "/bin/true: it ended with status 0 before it was ready"));
	assert_int_equal(c->started, 3);
	/* and while there is none, it is said at once */
	submit(c, "text/plain", "words", &t);
	wait_for(c, &t, 2);
	assert_int_equal(t.end, CAGE_NO_WORKER);
	cage_free(&c);
}

#ifdef GARNER_FAULTS

/* A worker that plays a trick (tests/support/parse_tricks.c) with its first document; the next
 * documents find another one, which does so too. */
static void misbehave_once(const char *how, int64_t cpu_us, enum cage_end end, const char *words,
			   struct told *t)
{
	setenv("PARSE_TRICK", how, 1);
	struct cage *c = open_cage(1, cpu_us);
	memset(t, 0, sizeof *t);
	submit(c, "text/plain", "words", t);
	submit(c, "text/plain", "more words", t);
	wait_for(c, t, 2);
	unsetenv("PARSE_TRICK");
	if (t->end != end || !strstr(end == CAGE_READ ? t->remark : t->reason, words))
		fail_msg("%s: %s, '%s', '%s'", how, cage_end_name(t->end), t->reason, t->remark);
	assert_int_equal(t->ends[end], 2);
	assert_int_equal(c->started, end == CAGE_READ ? 1 : 3);
	cage_free(&c);
}

static void a_worker_that_dies_loses_one_document(void **state)
{
	struct told t;
	(void)state;
	misbehave_once("crash", 10 * US_PER_S, CAGE_DIED,
		       "the worker was reading this document when it died of SIGABRT", &t);
	assert_string_equal(t.text, "Z10|M0xno text: the worker was reading this "
				    "document when it died of SIGABRT|");
}

static void a_worker_that_does_not_end_is_ended(void **state)
{
	struct told t;
	(void)state;
	misbehave_once("cpu", US_PER_S / 5, CAGE_OVERRAN, "s of CPU, and was ended", &t);
}

static void a_worker_that_lies_is_ended(void **state)
{
	struct told t;
	(void)state;
	misbehave_once("lie", 10 * US_PER_S, CAGE_BROKE, "a value outside", &t);
}

static void what_a_worker_may_not_say_is_not_believed(void **state)
{
	static const struct {
		const char *how, *words;
	} lies[] = {{"letter", "an attribute"},
		    {"line", "(not plain text)"},
		    {"bytes", "(not plain text)"}};
	struct told t;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++)
		misbehave_once(lies[i].how, 10 * US_PER_S, CAGE_BROKE, lies[i].words, &t);
}

static struct cage *ready_cage(const char *how, int64_t cpu_us)
{
	setenv("PARSE_TRICK", how, 1);
	struct cage *c = open_cage(1, cpu_us);
	unsigned locks;
	const char *remark;
	while (cage_locks(c, &locks, &remark) == 1) {
		struct pollfd p = {cage_fd(c), POLLIN, 0};
		assert_true(poll(&p, 1, 60000) == 1);
		cage_poll(c, clock_mono_us());
	}
	return c;
}

/* Also when the worker is already at the others. */
static void the_document_of_a_wrong_answer_is_the_one_that_ends(void **state)
{
	struct told t[5] = {0};
	(void)state;
	struct cage *c = ready_cage("lie", 10 * US_PER_S);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		submit(c, "text/plain", "words", &t[i]);
	usleep(300000);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		wait_for(c, &t[i], 1);
		for (size_t k = i + 1; k < ARRAY_LEN(t); k++)
			assert_int_equal(t[k].times, 0);
	}
	unsetenv("PARSE_TRICK");
	cage_free(&c);
}

/* Their bytes are where they were. */
static void documents_after_a_death_are_read_by_the_next_worker(void **state)
{
	struct told first = {0}, others = {0};
	(void)state;
	struct cage *c = ready_cage("crash", 10 * US_PER_S);
	unsetenv("PARSE_TRICK"); /* the next is a good one */
	submit(c, "text/plain", "words", &first);
	for (int i = 1; i < CAGE_SLOTS; i++)
		submit(c, "text/plain; charset=latin1", "caf\xe9", &others);
	wait_for(c, &first, 1);
	assert_int_equal(first.end, CAGE_DIED);
	for (unsigned i = 1; i < CAGE_SLOTS; i++) {
		wait_for(c, &others, i);
		assert_int_equal(others.end, CAGE_READ);
		assert_string_equal(others.text, "Ttext/plain; charset=windows-1252|Z4|"
						 "Xcaf\xc3\xa9|");
	}
	assert_int_equal(c->started, 2);
	cage_free(&c);
}

/* Looks after the cage for so long. */
static void attend(struct cage *c, int64_t us)
{
	for (int64_t end_us = clock_mono_us() + us; clock_mono_us() < end_us;) {
		struct pollfd p = {cage_fd(c), POLLIN, 0};
		(void)poll(&p, 1, 50);
		cage_poll(c, clock_mono_us());
	}
}

static void a_worker_that_computes_for_nothing_is_ended(void **state)
{
	(void)state;
	struct cage *c = ready_cage("idle", US_PER_S / 10);
	for (int i = 0; c->started < 2; i++) {
		assert_true(i < 1000);
		attend(c, US_PER_S / 20);
	}
	unsetenv("PARSE_TRICK");
	cage_free(&c);
}

static void a_worker_that_leaves_at_once_is_not_started_for_ever(void **state)
{
	(void)state;
	struct cage *c = ready_cage("leave", 10 * US_PER_S);
	while (c->started < 3)
		attend(c, US_PER_S / 20);
	attend(c, US_PER_S / 2);
	assert_int_equal(c->started, 3);
	unsetenv("PARSE_TRICK");
	cage_free(&c);
}

static void a_worker_has_no_files_and_no_more_memory(void **state)
{
	struct told t;
	(void)state;
	misbehave_once("file", 10 * US_PER_S, CAGE_READ, "file: Permission denied", &t);
	if (DOOR_SANITIZED)
		return;
	misbehave_once("memory", 10 * US_PER_S, CAGE_READ,
		       "stack refused, addresses refused, shared refused", &t);
	assert_non_null(strstr(t.remark, "memory: refused after"));
	misbehave_once("body", 10 * US_PER_S, CAGE_READ, "body: Permission denied", &t);
}

static void a_worker_that_opens_a_socket_is_ended(void **state)
{
	struct told t;
	(void)state;
	misbehave_once("socket", 10 * US_PER_S, CAGE_DIED, "SIGSYS", &t);
}

#endif

/* Each lock alone, in a process of its own: what it lets through. */

enum { HELD = 1, OPENED = 2, CONNECTED = 4, ALLOCATED = 8 };

static int behind_lock(int (*lock)(void))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(lock());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 64 + WTERMSIG(status);
}

static const struct door_ends the_ends = {CAGE_SOCKET_FD, CAGE_SOCKET_FD};

static int only_landlock(void)
{
	unsigned held = door_no_new_privileges() ? door_landlock(NULL) : 0;
	int file = open("/etc/passwd", O_RDONLY);
	int here = open("/tmp", O_RDONLY | O_DIRECTORY);
	return (held & CAGE_LANDLOCK ? HELD : 0) | (file >= 0 || here >= 0 ? OPENED : 0);
}

static int landlock_but_for_etc(void)
{
	unsigned held = door_no_new_privileges() ? door_landlock("/etc") : 0;
	int file = open("/etc/passwd", O_RDONLY), other = open("/tmp", O_RDONLY | O_DIRECTORY);
	int written = open("/etc/passwd", O_RDWR);
	return (held & CAGE_LANDLOCK ? HELD : 0) | (file >= 0 ? OPENED : 0) |
	       (other >= 0 || written >= 0 ? CONNECTED : 0);
}

static int only_limits(void)
{
	bool held = door_limits(64 << 20, door_mapped(), 0);
	void *p = malloc(256 << 20);
	int fd = open("/etc/passwd", O_RDONLY);
	return (held ? HELD : 0) | (p ? ALLOCATED : 0) | (fd >= 0 ? OPENED : 0);
}

static int only_seccomp(void)
{
	bool held = door_no_new_privileges() && door_seccomp(the_ends);
	int fd = open("/etc/passwd", O_RDONLY);
	return (held ? HELD : 0) | (fd >= 0 ? OPENED : 0);
}

static int socket_behind_seccomp(void)
{
	if (!door_no_new_privileges() || !door_seccomp(the_ends))
		return 0;
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? CONNECTED : HELD;
}

static int exec_behind_seccomp(void)
{
	char *const argv[] = {"true", NULL};
	if (!door_no_new_privileges() || !door_seccomp(the_ends))
		return 0;
	execv("/bin/true", argv);
	return HELD;
}

/* Of the descriptors that are open, two can be used, each in one way, and standard error. */
static int write_after_seccomp(int in, int out, int fd)
{
	if (!door_no_new_privileges() || !door_seccomp((struct door_ends){in, out}))
		return 0;
	return write(fd, "", 0) == 0 ? HELD : OPENED;
}
static int write_to_the_out_end(void)
{
	int fd = open("/dev/null", O_RDWR);
	return write_after_seccomp(STDIN_FILENO, fd, fd);
}
static int write_to_the_in_end(void)
{
	int fd = open("/dev/null", O_RDWR);
	return write_after_seccomp(fd, STDOUT_FILENO, fd);
}
static int read_from_the_out_end(void)
{
	char c;
	int fd = open("/dev/null", O_RDWR);
	if (!door_no_new_privileges() || !door_seccomp((struct door_ends){STDIN_FILENO, fd}))
		return 0;
	return read(fd, &c, 1) == 0 ? OPENED : HELD;
}

/* What somebody needs in addition is let through, and no more. */
static int call_let_through(void)
{
	static const int calls[] = {SYS_getppid, SYS_close};
	const struct door_ends wide = {.in = 0, .out = 1, .calls = calls, .ncalls = 2};
	int fd = open("/dev/null", O_RDWR);
	if (!door_no_new_privileges() || !door_seccomp(wide))
		return 0;
	return getppid() > 0 && close(fd) == 0 ? HELD : OPENED;
}
static int call_not_let_through(void)
{
	if (!door_no_new_privileges() || !door_seccomp(the_ends))
		return 0;
	return getppid() > 0 ? OPENED : HELD;
}
static int limits_with_files(void)
{
	bool held = door_limits(0, door_mapped(), 64);
	return (held ? HELD : 0) | (open("/dev/null", O_RDONLY) >= 0 ? OPENED : 0);
}

static void each_lock_holds_alone(void **state)
{
	(void)state;
	int landlock = behind_lock(only_landlock);
	if (landlock & HELD) {
		assert_int_equal(landlock, HELD);
		assert_int_equal(behind_lock(landlock_but_for_etc), HELD | OPENED);
	} else {
		print_message("this kernel has no landlock\n");
	}
	if (DOOR_SANITIZED)
		return;
	assert_int_equal(behind_lock(only_limits), HELD);
	assert_int_equal(behind_lock(only_seccomp), HELD);
	assert_int_equal(behind_lock(socket_behind_seccomp), 64 + SIGSYS);
	assert_int_equal(behind_lock(exec_behind_seccomp), 64 + SIGSYS);
	assert_int_equal(behind_lock(write_to_the_out_end), HELD);
	assert_int_equal(behind_lock(write_to_the_in_end), 64 + SIGSYS);
	assert_int_equal(behind_lock(read_from_the_out_end), 64 + SIGSYS);
	assert_int_equal(behind_lock(call_let_through), HELD);
	assert_int_equal(behind_lock(call_not_let_through), 64 + SIGSYS);
	assert_int_equal(behind_lock(limits_with_files), HELD | OPENED);
}

static void the_owner_is_told_what_holds(void **state)
{
	struct cage *c = open_cage(1, 10 * US_PER_S);
	struct told t = {0};
	unsigned locks;
	const char *remark;
	(void)state;
	assert_int_equal(cage_locks(c, &locks, &remark), 1);
	submit(c, "text/plain", "x", &t);
	wait_for(c, &t, 1);
	assert_int_equal(cage_locks(c, &locks, &remark), 0);
	assert_true(locks & CAGE_NO_NEW_PRIVILEGES && locks & CAGE_LIMITS);
	assert_int_equal(!!(locks & CAGE_OTHER_USER), geteuid() == 0);
	assert_string_equal(remark, "");
	cage_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_comes_back_as_attributes),
		cmocka_unit_test(many_documents_come_back_in_order_of_each_worker),
		cmocka_unit_test(an_empty_document_and_one_that_fills_its_slot),
		cmocka_unit_test(headers_come_through_and_are_cut_where_they_are_too_long),
		cmocka_unit_test(a_program_that_is_not_there_is_named),
		cmocka_unit_test(a_program_that_is_no_worker_is_tried_and_given_up),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_worker_that_dies_loses_one_document),
		cmocka_unit_test(a_worker_that_does_not_end_is_ended),
		cmocka_unit_test(a_worker_that_lies_is_ended),
		cmocka_unit_test(what_a_worker_may_not_say_is_not_believed),
		cmocka_unit_test(the_document_of_a_wrong_answer_is_the_one_that_ends),
		cmocka_unit_test(documents_after_a_death_are_read_by_the_next_worker),
		cmocka_unit_test(a_worker_that_computes_for_nothing_is_ended),
		cmocka_unit_test(a_worker_that_leaves_at_once_is_not_started_for_ever),
		cmocka_unit_test(a_worker_has_no_files_and_no_more_memory),
		cmocka_unit_test(a_worker_that_opens_a_socket_is_ended),
#endif
		cmocka_unit_test(each_lock_holds_alone),
		cmocka_unit_test(the_owner_is_told_what_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
