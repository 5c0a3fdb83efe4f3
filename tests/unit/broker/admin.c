/* The administrator: every command against a collector that a thread runs, and passwords. */
#include "collecting.h"

#include "broker/admin.h"
#include "role/password.h"

#include <pthread.h>
#include <stdatomic.h>

static struct control *control;
static struct events *events;
static struct search *search;
static struct counters *counters;
static struct admin *admin;
static struct buf out = BUF_INIT(1 << 20);
static char line[PASSWORD_LINE];
static struct admin_options ways;

/* The thread that collects. */
static pthread_t thread;
static atomic_bool ends;
static atomic_int then_was;

static void *collect_in_thread(void *arg)
{
	struct err e;
	(void)arg;
	while (!atomic_load(&ends)) {
		enum control_then then;
		const int fd = control_fd(control);
		if (control_run(control, collector, &then, &e) < 0)
			die("%s", e.msg);
		if (then != CONTROL_GO_ON)
			atomic_store(&then_was, then);
		int rc = collector_step(collector, clock_mono_us(), &e);
		if (rc < 0)
			die("%s", e.msg);
		if (rc > 0)
			collector_wait(collector, &fd, 1, clock_mono_us() + 20000);
	}
	return NULL;
}

static atomic_int_fast64_t lifetime_us;

static int64_t clock_us;
static int64_t now_us(void)
{
	return clock_us;
}

static int read_again(void *ctx, struct buf *said, struct err *e)
{
	(void)ctx, (void)e;
	buf_add_text(said, "read again");
	return 0;
}

static const struct counter_def counter_defs[] = {COLLECTOR_COUNTERS(COUNTER_DEF) COUNTER_DEF(
	USER, "queries", "kind=\"user\"", TOTAL, "Queries.")};

/* Cheap to check: what it costs is the test of role/password.h. */
static int make_line(void **state)
{
	(void)state;
	snprintf(line, sizeof line, "%s",
		 "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$"
		 "4mqQiyq0VpIzuZmp+8eSF3YJ7Av58TkEJ4LIdOVsAc4");
	return password_check(line, STR("secret"), &err);
}

static int setup_admin(void **state)
{
	if (setup_closed(state) != 0)
		return -1;
	assert_int_equal(dir_make(scratch("run/counters"), 0755, &err), 0);
	assert_int_equal(dir_make(path_of("add/more"), 0755, &err), 0);
	assert_int_equal(counters_create(&counters, scratch("run/counters/broker"), "broker",
					 counter_defs, ARRAY_LEN(counter_defs), 0, &err),
			 0);
	events = events_new(path_of("LOG"));
	options.events = events;
	options.counters = counters;
	assert_int_equal(control_new(&control, &err), 0);
	control_hook(control,
		     &(struct control_hooks){.restart = read_again, .shutdown = "it ends here"});
	search = search_open(data);
	clock_us = 1000 * US_PER_S;
	lifetime_us = 60 * US_PER_S;
	ways = (struct admin_options){.data = data,
				      .password = line,
				      .control = control,
				      .search = search,
				      .events = events,
				      .life_us = &lifetime_us,
				      .now_us = now_us};
	admin = admin_new(&ways);
	atomic_store(&ends, false);
	atomic_store(&then_was, CONTROL_GO_ON);
	return 0;
}

static void collector_go(void)
{
	begin();
	collect();
	assert_int_equal(pthread_create(&thread, NULL, collect_in_thread, NULL), 0);
}

/* The collector is ours again. */
static void collector_halt(void)
{
	if (!collector || atomic_load(&ends))
		return;
	atomic_store(&ends, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static int teardown_admin(void **state)
{
	collector_halt();
	admin_free(&admin);
	search_close(&search);
	collector_close(&collector);
	control_free(&control);
	events_free(&events);
	counters_close(&counters);
	buf_free(&out);
	return teardown(state);
}

static int64_t ask_from(const char *peer, const char *password, const char *command,
			const char *rest)
{
	struct request r = {.kind = REQUEST_ADMIN,
			    .password = str_of(password),
			    .command = str_of(command),
			    .rest = str_of(rest)};
	buf_clear(&out);
	int64_t wait_us = admin_run(admin, &r, peer, &out);
	assert_true(out.n && out.p[out.n - 1] == '\n');
	return wait_us;
}

static const char *ask(const char *command, const char *rest)
{
	assert_int_equal(ask_from("127.0.0.1", "secret", command, rest), 0);
	return buf_text(&out);
}

#define assert_done(command, rest, text) assert_answer(command, rest, "101 - ", text)
#define assert_refused(command, rest, text) assert_answer(command, rest, "111 - ERROR: ", text)
static void assert_answer(const char *command, const char *rest, const char *code, const char *text)
{
	const char *got = ask(command, rest);
	if (!str_starts(str_of(got), str_of(code)) || !strstr(got, text))
		fail_msg("%s %s: got '%s', want '%s%s'", command, rest, got, code, text);
}

static const char *log_text(void)
{
	static struct buf text = BUF_INIT(1 << 20);
	buf_free(&text);
	(void)file_slurp(path_of("LOG"), &text, &err);
	const char *kept = arena_text(&arena, buf_str(&text));
	buf_free(&text);
	return kept;
}

/* Passwords */

static void without_a_password_there_is_no_administrator(void **state)
{
	(void)state;
	admin_free(&admin);
	ways.password = "";
	admin = admin_new(&ways);
	assert_refused("#collection", "", "set broker.password");
	assert_non_null(strstr(buf_text(&out), "garner password"));
}

static void wrong_passwords_wait_longer_and_longer(void **state)
{
	static const int64_t want_s[] = {1, 2, 4, 8, 16, 30, 30};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want_s); i++) {
		int64_t wait_us = ask_from("192.0.2.1", "guess", "#collection", "");
		assert_int_equal(wait_us, want_s[i] * US_PER_S);
		assert_true(str_starts(buf_str(&out), STR("111 - ERROR: the password is wrong")));
		/* meanwhile nothing of that address is looked at, not even the right one */
		clock_us += wait_us - 1;
		assert_int_equal(ask_from("192.0.2.1", "secret", "#set", "max_lifetime 10s"), 1);
		assert_true(str_starts(buf_str(&out), STR("111 - ERROR: ")));
		/* others are */
		assert_int_equal(ask_from("192.0.2.2", "secret", "#set", "max_lifetime 20s"), 0);
		assert_true(str_starts(buf_str(&out), STR("101 - ")));
		clock_us += 1;
	}
	assert_int_equal(ask_from("192.0.2.1", "secret", "#set", "max_lifetime 20s"), 0);
	assert_int_equal(ask_from("192.0.2.1", "guess", "#set", ""),
			 US_PER_S); /* it was forgotten */
	assert_int_equal(lifetime_us, 20 * US_PER_S);
}

static void neighbours_in_a_network_of_version_six_are_one(void **state)
{
	(void)state;
	assert_int_equal(ask_from("2001:db8::1", "guess", "#set", ""), US_PER_S);
	assert_int_equal(ask_from("2001:db8::2", "secret", "#set", ""), US_PER_S);
	assert_int_equal(ask_from("2001:db8:0:1::2", "secret", "#set", ""), 0);
	assert_int_equal(ask_from("unix", "guess", "#set", ""), US_PER_S);
	assert_int_equal(ask_from(NULL, "guess", "#set", ""), US_PER_S);
}

static void so_many_addresses_are_remembered_and_the_first_forgotten(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ADMIN_ADDRESSES + 5; i++) {
		char peer[32];
		snprintf(peer, sizeof peer, "10.0.%u.%u", i / 256, i % 256);
		clock_us++;
		assert_int_equal(ask_from(peer, "guess", "#set", ""), US_PER_S);
	}
	assert_int_equal(ask_from("10.0.4.1", "secret", "#set", ""), US_PER_S - 3);
	assert_int_equal(ask_from("10.0.0.1", "secret", "#set", ""), 0);
	clock_us += INT64_C(3600) * US_PER_S;
	assert_int_equal(ask_from("10.0.4.1", "guess", "#set", ""), US_PER_S);
}

static void passwords_are_in_no_log(void **state)
{
	(void)state;
	(void)ask_from("192.0.2.1", "hunter2", "#collection", "hunter2");
	(void)ask_from("192.0.2.1", "hunter2", "hunter2", "hunter2");
	(void)ask("#set", "password hunter2");
	(void)ask("hunter2", "hunter2");
	assert_null(strstr(log_text(), "hunter2"));
	assert_null(strstr(log_text(), "secret"));
	assert_non_null(strstr(log_text(), "Admin 127.0.0.1 command=\"#set\""));
	assert_null(strstr(log_text(), "192.0.2.1"));
}

/* Commands */

static void commands_are_known_in_any_case_and_others_refused(void **state)
{
	(void)state;
	collector_go();
	assert_done("#COLLECTION", "", "no gatherers to ask");
	assert_refused("#collections", "", "no such command");
	assert_refused("#help", "",
		       "there is no such command; there are #add-log, #add-object, "
		       "#clean-broker, #close-log, #collection, #do-stats, #flush-log, "
		       "#full-index, #incremental-index, #open-log, #rem-log, #rem-object-path, "
		       "#rem-object-query, #restart, #rotate-log, #set, #shutdown");
	assert_refused("", "", "no such command");
	assert_refused("#collection", "now", "nothing may follow it");
	assert_refused("#add-log", "", "a type of event");
	assert_refused("#rem-object-query", "  ", "a query");
}

static void an_answer_has_the_lines_that_it_says(void **state)
{
	(void)state;
	assert_refused("#add-log", "x\n101 - forged\r\x1b", "no such event");
	assert_null(strstr(buf_text(&out), "\n101"));
	assert_int_equal(str_find_byte(buf_str(&out), '\n'), out.n - 1);
}

static void the_event_log_is_the_administrators(void **state)
{
	(void)state;
	assert_done("#add-log", "\"update\"", "are now logged");
	assert_true(events_on(events, EVENT_UPDATE));
	assert_done("#rem-log", "Update", "no longer logged");
	assert_false(events_on(events, EVENT_UPDATE));
	assert_refused("#rem-log", "Nothing", "no such event");
	assert_done("#flush-log", "", "on disk");
	assert_done("#rotate-log", "", "broker/LOG.");
	assert_done("#close-log", "", "is closed");
	size_t n = strlen(log_text());
	assert_done("#flush-log", "", "on disk");
	assert_int_equal(strlen(log_text()), n);
	assert_done("#open-log", "", "is open");
	assert_true(strlen(log_text()) > n);
}

static void put_file(const char *name, const char *text)
{
	assert_int_equal(file_replace(path_of(name), str_of(text), 0644, &err), 0);
}

/* An object as it stands in a file. */
static const char *object_text(const char *url, const char *text)
{
	return arena_printf(
		&arena,
		"@FILE { %s\nGatherer-Name{1}:\tG\nGatherer-Host{1}:\tH\n"
		"Gatherer-Version{1}:\t1\nUpdate-Time{10}:\t%u\nFull-Text{%zu}:\t%s\n}\n",
		url, time_s, strlen(text), text);
}

static void objects_of_a_file_are_added(void **state)
{
	(void)state;
	collector_go();
	(void)ask("#add-log", "Update");
	put_file("add/some.soif",
		 arena_printf(&arena, "%s@FILE { bad\n%s", object_text("http://a/1", "apple"),
			      object_text("http://a/2", "apple pie")));
	assert_done("#add-object", "some.soif", "2 objects were taken, 1 left out");
	assert_int_equal(found("apple", "", NULL), 2);
	assert_int_equal(found("way:soif AND apple", "", NULL), 2);
	assert_non_null(strstr(log_text(), "Update add url=http://a/2"));
	put_file("add/more/other.soif", arena_printf(&arena, "@DELETE {\n%s}\n@UPDATE { }\n",
						     object_text("http://a/1", "")));
	assert_done("#add-object", "\"more/other.soif\"", "1 object was taken, 0 left out");
	assert_int_equal(found("apple", "", NULL), 1);
}

/* What is left out counts as taken: the thread has other things to do in between. */
static void a_file_without_a_good_object_does_not_hold_the_collector(void **state)
{
	enum { BAD = COLLECTOR_BATCH + 1 };
	struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < BAD; i++)
		buf_add_text(&text, "@FILE { bad\n");
	put_file("add/bad.soif", buf_text(&text));
	buf_free(&text);
	collector_go();
	assert_done("#add-object", "bad.soif", "left out so far, and there are more");
}

static void files_elsewhere_are_not_read(void **state)
{
	(void)state;
	collector_go();
	put_file("secret.soif", object_text("http://a/1", "apple"));
	assert_int_equal(symlink("../secret.soif", path_of("add/link.soif")), 0);
	assert_int_equal(symlink("..", path_of("add/up")), 0);
	assert_int_equal(mkfifo(path_of("add/pipe"), 0644), 0);
	static const char *const bad[] = {"../secret.soif", "more/../../secret.soif",
					  "link.soif",      "up/secret.soif",
					  "pipe",           "more",
					  "/etc/passwd",    ".",
					  "more/",          "",
					  "./link.soif"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused("#add-object", bad[i], "");
	assert_refused("#add-object", "absent.soif", "no such file");
	assert_refused("#add-object", path_of("secret.soif"), "expected the name of a file");
	assert_int_equal(found("apple", "", NULL), 0);
}

static void objects_are_deleted_by_their_numbers(void **state)
{
	static const char *const forms[] = {"1", "OBJ2", "/object/3", "http://host:8080/object/4"};
	static const char *const bad[] = {"0",        "x",          "-1",  "OBJ",
					  "/object/", "4294967296", "1 2", "http://host/1"};
	(void)state;
	for (int i = 1; i <= 5; i++)
		tell(SOURCE_UPDATE, arena_printf(&arena, "http://a/%d", i), "One", "apple");
	collector_go();
	assert_int_equal(found("apple", "", NULL), 5);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		assert_done("#rem-object-path", forms[i], "was deleted");
		assert_int_equal(found("apple", "", NULL), 4 - i);
		assert_refused("#rem-object-path", forms[i], "there is no object");
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused("#rem-object-path", bad[i], "expected the number");
	assert_int_equal(found("apple", "", NULL), 1);
	assert_int_equal(objects_there(), 1);
}

static void objects_are_deleted_by_a_query(void **state)
{
	(void)state;
	for (int i = 1; i <= 30; i++)
		tell(SOURCE_UPDATE, arena_printf(&arena, "http://a/%d", i), "One",
		     i % 3 ? "apple pie" : "Apple");
	/* of two gatherers with one URL the later is shown, and hides the other */
	TELL(.op = SOURCE_UPDATE, .gatherer = "other", .url = "http://a/1", .text = "apple tart");
	/* a twin takes over when the first goes */
	TELL(.op = SOURCE_UPDATE, .url = "http://b/1", .text = "apple twin", .md5 = md5_of('a'));
	TELL(.op = SOURCE_UPDATE, .url = "http://b/2", .text = "apple twin", .md5 = md5_of('a'));
	collector_go();
	assert_int_equal(objects_there(), 33);
	assert_done("#rem-object-query", "nothing", "0 objects were deleted");
	assert_refused("#rem-object-query", "(apple", "");
	assert_done("#rem-object-query", "apple", "23 objects were deleted"); /* capitals count */
	assert_int_equal(found("apple", "", NULL), 10);
	assert_int_equal(objects_there(), 10);
	assert_done("#rem-object-query", "Apple AND url : 3",
		    "2 objects were deleted; their sources may tell them again");
	assert_done("#rem-object-query", "Apple AND url : 12",
		    "1 object was deleted; its source may tell it again");
	assert_int_equal(objects_there(), 7);
}

/* Expressions look at the clock before each text. */
static void deleting_by_a_query_has_a_lifetime(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "an apple.");
	lifetime_us = 1;
	collector_go();
	assert_refused("#rem-object-query", "/[a-z]+ple[.]/",
		       "the lifetime of the query was over; 0 objects were deleted until then");
	assert_int_equal(objects_there(), 1);
}

/* Until a question has this answer. */
static void wait_until(bool (*is)(void))
{
	while (!is())
		usleep(2000);
}

/* Of three records the dead one is gone: what lives and the tombstone, which is young, are left. */
static bool all_is_clean(void)
{
	struct registry *r;
	struct registry_stats stats;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	registry_stats(r, &stats);
	registry_close(&r);
	return stats.valid == 1 && stats.records == 2;
}

static void expired_objects_are_dropped_and_the_registry_compressed(void **state)
{
	(void)state;
	TELL(.op = SOURCE_UPDATE, .url = "http://a/1", .text = "apple", .time_to_live_s = 100000);
	/* it expires while it is there: a feed that is followed may still refresh it */
	TELL(.op = SOURCE_UPDATE, .url = "http://a/2", .text = "apple", .time_s = time_s - 100,
	     .time_to_live_s = 50);
	collector_go();
	assert_int_equal(objects_there(), 2);
	assert_done("#clean-broker", "", "being dropped");
	wait_until(all_is_clean);
	assert_int_equal(found("apple", "", NULL), 1);
	assert_non_null(strstr(log_text(), "Cleaner-On -\n"));
	assert_non_null(strstr(log_text(), "Cleaned - objects=1\n"));
	assert_non_null(strstr(log_text(), "Compressing-Registry -\n"));
	collector_halt();
	verify_all();
}

static bool index_is_new(void)
{
	return access(path_of("words.new"), F_OK) != 0 && access(path_of("words/mark"), F_OK) != 0;
}

static void the_index_is_built_again_while_the_old_one_answers(void **state)
{
	(void)state;
	for (int i = 1; i <= 20; i++)
		tell(SOURCE_UPDATE, arena_printf(&arena, "http://a/%d", i), "One", "apple");
	collector_go();
	put_file("words/mark", "a file of the old one");
	assert_done("#full-index", "", "being built again");
	while (!index_is_new())
		assert_int_equal(found("apple", "", NULL), 20);
	assert_int_equal(found("apple", "", NULL), 20);
	assert_done("#incremental-index", "", "has all changes and 20 documents");
	collector_halt();
	verify_all();
}

static void an_index_that_was_not_built_to_its_end_is_forgotten(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	begin();
	collect();
	assert_int_equal(collector_rebuild(collector), 0);
	assert_int_equal(collector_rebuild(collector), 1);
	assert_int_equal(collector_step(collector, clock_mono_us(), &err), 0);
	assert_int_equal(collector_rebuild(collector), 1);
	assert_int_equal(access(path_of("words.new"), F_OK), 0);
	again();
	assert_int_not_equal(access(path_of("words.new"), F_OK), 0);
	tell(SOURCE_UPDATE, "http://a/2", "Two", "apple");
	collect();
	assert_int_equal(found("apple", "", NULL), 2);
	verify_all();
	atomic_store(&ends, true); /* no thread was begun */
}

static void points_are_asked_now(void **state)
{
	(void)state;
	feed.every_us = INT64_C(86400) * US_PER_S;
	options.no_collect = true;
	collector_go();
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	assert_int_equal(found("apple", "", NULL), 0);
	assert_done("#collection", "", "1 gatherer is now being asked");
	while (found("apple", "", NULL) == 0)
		usleep(2000);
	while (!strstr(log_text(), "Collection list objects=1 bad=0\n"))
		usleep(2000);
}

static void variables_are_set_until_the_next_start(void **state)
{
	(void)state;
	feed.every_us = INT64_C(86400) * US_PER_S;
	options.no_collect = false;
	collector_go();
	assert_done("#set", "max_lifetime 2min", "max_lifetime is 2min, until the next start");
	assert_int_equal(lifetime_us, 120 * US_PER_S);
	assert_done("#set", "glimpse-maxlife 30", "max_lifetime is 30s");
	assert_int_equal(lifetime_us, 30 * US_PER_S);
	assert_done("#set", "broker.max_lifetime = 40s", "max_lifetime is 40s");
	assert_done("#set", "expire_every 2h", "expire_every is 2h");
	assert_done("#set", "remember_deleted 1d", "remember_deleted is 1d");
	assert_refused("#set", "max_lifetime 5s", "max_lifetime: ");
	assert_refused("#set", "max_lifetime", "max_lifetime: ");
	assert_refused("#set", "max_lifetime soon", "max_lifetime: ");
	assert_refused("#set", "listen 127.0.0.1:1", "expected one of");
	assert_int_equal(lifetime_us, 40 * US_PER_S);
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	assert_done("#set", "Collection-Interval 1", "collect_every is 1s");
	while (found("apple", "", NULL) == 0)
		usleep(2000);
}

static void statistics_are_the_counters(void **state)
{
	(void)state;
	tell(SOURCE_UPDATE, "http://a/1", "One", "apple");
	collector_go();
	counters_add(counters, COLLECTOR_NCOUNTERS, 7);
	assert_done("#do-stats", "", "\n101 - objects: 1 - Objects in the registry.\n");
	assert_non_null(strstr(buf_text(&out), "\n101 - queries{kind=\"user\"}: 7 - Queries.\n"));
}

static void restart_and_shutdown_are_said_to_the_loop(void **state)
{
	(void)state;
	collector_go();
	assert_done("#restart", "", "read again");
	while (atomic_load(&then_was) != CONTROL_THEN_RESTART)
		usleep(2000);
	assert_done("#shutdown", "", "it ends here");
	while (atomic_load(&then_was) != CONTROL_THEN_END)
		usleep(2000);
	collector_halt();
	control_end(control);
	assert_refused("#collection", "", "ends or starts again");
}

#define ADMIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup_admin, teardown_admin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ADMIN_TEST(without_a_password_there_is_no_administrator),
		ADMIN_TEST(wrong_passwords_wait_longer_and_longer),
		ADMIN_TEST(neighbours_in_a_network_of_version_six_are_one),
		ADMIN_TEST(so_many_addresses_are_remembered_and_the_first_forgotten),
		ADMIN_TEST(passwords_are_in_no_log),
		ADMIN_TEST(commands_are_known_in_any_case_and_others_refused),
		ADMIN_TEST(an_answer_has_the_lines_that_it_says),
		ADMIN_TEST(the_event_log_is_the_administrators),
		ADMIN_TEST(objects_of_a_file_are_added),
		ADMIN_TEST(a_file_without_a_good_object_does_not_hold_the_collector),
		ADMIN_TEST(files_elsewhere_are_not_read),
		ADMIN_TEST(objects_are_deleted_by_their_numbers),
		ADMIN_TEST(objects_are_deleted_by_a_query),
		ADMIN_TEST(deleting_by_a_query_has_a_lifetime),
		ADMIN_TEST(expired_objects_are_dropped_and_the_registry_compressed),
		ADMIN_TEST(the_index_is_built_again_while_the_old_one_answers),
		ADMIN_TEST(an_index_that_was_not_built_to_its_end_is_forgotten),
		ADMIN_TEST(points_are_asked_now),
		ADMIN_TEST(variables_are_set_until_the_next_start),
		ADMIN_TEST(statistics_are_the_counters),
		ADMIN_TEST(restart_and_shutdown_are_said_to_the_loop),
	};
	return cmocka_run_group_tests(tests, make_line, NULL);
}
