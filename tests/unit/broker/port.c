/* The port over loopback: what happens around answers. Those are made by a function of the test,
 * which stands where the administrator does, or by queries of a broker that has collected nothing.
 */
#include "broker/port.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"
#include "role/listen.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 100 };

static struct err err;
static struct port *port;
static int listening = -1;
static char address[64];
static struct counters *counters;
static struct events *events;

/* The administrator: holds who asks "#hold" until he is released. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned held;
	bool release;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int64_t administer_port(void *ctx, const struct request *r, const char *peer,
			       struct buf *out)
{
	(void)ctx;
	assert_string_equal(peer, "127.0.0.1");
	pthread_mutex_lock(&gate.lock);
	if (str_is(r->command, "#hold")) {
		gate.held++;
		pthread_cond_broadcast(&gate.changed);
		while (!gate.release)
			pthread_cond_wait(&gate.changed, &gate.lock);
		gate.held--;
		pthread_cond_broadcast(&gate.changed);
	}
	pthread_mutex_unlock(&gate.lock);
	if (str_is(r->command, "#large"))
		buf_fill(out, 'x', 10 << 20);
	else
		buf_printf(out, "101 - " STR_FMT " of " STR_FMT "\n", STR_ARG(r->command),
			   STR_ARG(r->password));
	return str_is(r->command, "#slow") ? 50 * US_PER_MS : 0;
}

static void wait_held(unsigned n)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.held != n)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void release_all(bool on)
{
	pthread_mutex_lock(&gate.lock);
	gate.release = on;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static int start_port(void **state)
{
	static const struct counter_def defs[] = {PORT_COUNTERS(COUNTER_DEF)};
	(void)state;
	_Static_assert(ARRAY_LEN(defs) == PORT_NCOUNTERS, "each has a definition");
	release_all(false);
	assert_int_equal(counters_create(&counters, scratch("counters"), "broker", defs,
					 ARRAY_LEN(defs), 1, &err),
			 0);
	(void)unlink(scratch("LOG"));
	events = events_new(scratch("LOG"));
	assert_int_equal(listen_open("127.0.0.1:0", &listening, &err), 0);
	assert_int_equal(listen_name(listening, address, sizeof address, &err), 0);
	static atomic_int_fast64_t life_us = 60 * US_PER_S;
	const struct port_options options = {
		.data = scratch_dir,
		.url = "http://pages",
		.home = "",
		.life_us = &life_us,
		.limits = {.max_connections = CONNECTIONS,
			   .max_per_address = CONNECTIONS,
			   .line_max = 1000,
			   .queue_max = 1 << 20,
			   .memory = 64 << 20},
		.threads = 2,
		.queue = 2,
		.admin = administer_port,
		.counters = counters,
		.events = events,
	};
	assert_int_equal(port_start(&port, &options, listening, &err), 0);
	return 0;
}

static int stop_port(void **state)
{
	(void)state;
	release_all(true);
	port_stop(&port, 5 * US_PER_S);
	close(listening);
	counters_close(&counters);
	events_free(&events);
	return 0;
}

static int64_t port_counted(enum port_counter which)
{
	struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view view;
	assert_int_equal(counters_read(scratch("counters"), &arena, &view, &err), 0);
	int64_t value = view.value[which].value;
	arena_free(&arena);
	return value;
}

/* A counter that the port's thread sets a moment after the client has its answer. */
static void wait_counted(enum port_counter which, int64_t want)
{
	for (int i = 0; i < 2000 && port_counted(which) != want; i++)
		usleep(5000);
	assert_int_equal(port_counted(which), want);
}

static int client_new(void)
{
	struct sockaddr_storage at;
	unsigned n;
	assert_int_equal(listen_address(address, &at, &n, &err), 0);
	int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, n) == 0);
	return fd;
}

static int client_ask(const char *line)
{
	int fd = client_new();
	assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
	return fd;
}

/* All that comes, without the banner. */
static struct buf client_rest(int fd)
{
	struct buf all = BUF_INIT(64 << 20);
	char some[65536];
	ssize_t n;
	while ((n = recv(fd, some, sizeof some, 0)) > 0)
		buf_add(&all, some, (size_t)n);
	close(fd);
	return all;
}

static void client_is_told(int fd, const char *want)
{
	static const char banner[] = "200 - garner Broker, version " GARNER_VERSION "\n";
	struct buf got = client_rest(fd);
	assert_true(str_starts(buf_str(&got), str_of(banner)));
	assert_str(str_from(buf_str(&got), sizeof banner - 1), want);
	buf_free(&got);
}

static void a_broker_that_has_nothing_answers(void **state)
{
	(void)state;
	client_is_told(client_ask("#USER #desc #END apple\n"),
		       "101 - 0 objects match\n126 - http://pages/query.html\n");
	client_is_told(client_ask("#user #end \"a b\"\r\n"),
		       "101 - 0 objects match\n126 - http://pages/query.html\n");
	client_is_told(client_ask("#USER #what #END x\n"),
		       "111 - ERROR: character 7: there is no flag '#what'\n");
	wait_counted(PORT_ANSWERED, 2);
	wait_counted(PORT_BAD, 1);
	wait_counted(PORT_OPEN, 0);
	assert_int_equal(port_counted(PORT_USER), 3);
	assert_int_equal(port_counted(PORT_TOOK_10MS) + port_counted(PORT_TOOK_100MS) +
				 port_counted(PORT_TOOK_1S) + port_counted(PORT_TOOK_10S),
			 2);
}

/* The events, each without its time and with a bar at its end; numbers are left out. */
static struct buf events_so_far(void)
{
	struct buf text = BUF_INIT(1 << 16), ret = BUF_INIT(1 << 16);
	struct str rest, line, word;
	assert_int_equal(file_slurp(scratch("LOG"), &text, &err), 0);
	for (rest = buf_str(&text); rest.n && str_cut(&rest, '\n', &line) == 0;) {
		(void)str_cut(&line, ' ', &word);
		while (line.n && str_cut(&line, ' ', &word) == 0)
			if (!str_starts(word, STR("us=")) && !str_starts(word, STR("bytes=")))
				buf_printf(&ret, STR_FMT " ", STR_ARG(word));
		buf_add_text(&ret, "| ");
	}
	buf_free(&text);
	return ret;
}

static void each_event_of_a_request_has_one_of_its_end(void **state)
{
	(void)state;
	client_is_told(client_ask("#USER #END #ALLB\n"),
		       "101 - 0 objects match\n126 - http://pages/query.html\n");
	client_is_told(client_ask("#USER #what #END x\n"), /* not a request: no event */
		       "111 - ERROR: character 7: there is no flag '#what'\n");
	struct buf all = client_rest(client_ask("#BULK #END #allb\n"));
	buf_free(&all);
	struct buf got = events_so_far();
	assert_str(
		buf_str(&got),
		"Query 127.0.0.1 query=\"#allb\" | Query-Return 127.0.0.1 result=done objects=0 | "
		"Bulk-Transfer 127.0.0.1 since=0 query=\"#allb\" | "
		"Bulk-Return 127.0.0.1 result=done objects=0 | ");
	buf_free(&got);
	/* transfers are counted, but how long they take is up to the client */
	assert_int_equal(port_counted(PORT_TOOK_10MS) + port_counted(PORT_TOOK_100MS) +
				 port_counted(PORT_TOOK_1S) + port_counted(PORT_TOOK_10S),
			 1);
}

static void an_event_has_the_beginning_of_a_long_query(void **state)
{
	char line[600], want[300];
	(void)state;
	snprintf(line, sizeof line, "#USER #END %0*d\n", 500, 0);
	snprintf(want, sizeof want, "Query 127.0.0.1 query=%0*d | ", 256, 0);
	struct buf all = client_rest(client_ask(line)), got = events_so_far();
	assert_true(str_starts(buf_str(&got), str_of(want)));
	buf_free(&got);
	buf_free(&all);
}

static void an_administrator_is_answered_after_his_wait(void **state)
{
	(void)state;
	client_is_told(client_ask("#ADMIN #password secret #one\n"), "101 - #one of secret\n");
	int64_t start_us = clock_mono_us();
	client_is_told(client_ask("#admin #Password secret #slow\n"), "101 - #slow of secret\n");
	assert_true(clock_mono_us() - start_us >= 50 * US_PER_MS);
	wait_counted(PORT_ANSWERED, 2);
	assert_int_equal(port_counted(PORT_ADMIN), 2);
}

static void what_is_larger_than_the_queue_goes_out_in_parts(void **state)
{
	(void)state;
	int slow = client_ask("#ADMIN #password x #large\n");
	client_is_told(client_ask("#USER #END x\n"),
		       "101 - 0 objects match\n126 - http://pages/query.html\n");
	struct buf got = client_rest(slow);
	assert_true(got.n > 10 << 20 && got.p[got.n - 1] == 'x');
	buf_free(&got);
}

/* More than the pool takes of one address: those are told at once, while the others wait. */
static void those_who_find_no_place_are_told_at_once(void **state)
{
	enum { ASKED = 12, SHARE = 8 };
	int fd[ASKED];
	(void)state;
	fd[0] = client_ask("#ADMIN #password x #hold\n");
	wait_held(1);
	for (int i = 1; i < ASKED; i++) {
		fd[i] = client_ask("#ADMIN #password x #hold\n");
		if (i < SHARE)
			wait_counted(PORT_WAITING, i);
	}
	for (int i = SHARE; i < ASKED; i++)
		client_is_told(fd[i], "111 - ERROR: too many requests wait, try later\n");
	assert_int_equal(port_counted(PORT_FULL), ASKED - SHARE);
	assert_int_equal(port_counted(PORT_RUNNING), 1);
	client_is_told(client_ask("#USER #END x\n"), /* nobody else is held up */
		       "101 - 0 objects match\n126 - http://pages/query.html\n");
	release_all(true);
	for (int i = 0; i < SHARE; i++)
		client_is_told(fd[i], "101 - #hold of x\n");
	wait_counted(PORT_WAITING, 0);
	wait_counted(PORT_RUNNING, 0);
	wait_counted(PORT_OPEN, 0);
}

static void a_client_too_many_is_greeted_and_told(void **state)
{
	int fd[CONNECTIONS];
	(void)state;
	for (size_t i = 0; i < CONNECTIONS; i++)
		fd[i] = client_new();
	client_is_told(client_new(), "111 - ERROR: there are too many connections, try later\n");
	for (size_t i = 0; i < CONNECTIONS; i++)
		close(fd[i]);
}

static void who_waits_is_told_that_the_broker_still_works(void **state)
{
	struct buf got = BUF_INIT(10000);
	char some[1000];
	(void)state;
	int fd = client_ask("#ADMIN #password x #hold\n");
	wait_held(1);
	while (got.n < 2 * (sizeof "200 - garner Broker, version " GARNER_VERSION)) {
		ssize_t n = recv(fd, some, sizeof some, 0);
		assert_true(n > 0);
		buf_add(&got, some, (size_t)n);
		if (str_find(str_from(buf_str(&got), 1), STR("200 - ")) + 1 < got.n)
			break;
	}
	release_all(true);
	struct buf rest = client_rest(fd);
	assert_true(str_ends(buf_str(&rest), STR("101 - #hold of x\n")));
	buf_free(&rest);
	buf_free(&got);
}

static void a_client_that_goes_away_is_outlived_by_its_job(void **state)
{
	(void)state;
	int fd = client_ask("#ADMIN #password x #hold\n");
	wait_held(1);
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	close(fd); /* with a reset: the next write fails */
	wait_counted(PORT_CANCELLED, 1);
	assert_int_equal(port_counted(PORT_RUNNING), 1);
	release_all(true);
	wait_counted(PORT_OPEN, 0);
	client_is_told(client_ask("#ADMIN #password x #two\n"), "101 - #two of x\n");
}

static void *stop_now(void *arg)
{
	(void)arg;
	port_stop(&port, 5 * US_PER_S);
	return NULL;
}

static void an_end_tells_those_who_wait_and_lets_the_others_finish(void **state)
{
	pthread_t thread;
	(void)state;
	int runs = client_ask("#ADMIN #password x #hold\n");
	wait_held(1);
	int waits = client_ask("#ADMIN #password x #hold\n");
	wait_counted(PORT_WAITING, 1);
	int idle = client_new();
	assert_int_equal(pthread_create(&thread, NULL, stop_now, NULL), 0);
	client_is_told(waits, "111 - ERROR: the broker is stopping\n");
	client_is_told(idle, "111 - ERROR: the broker is stopping\n");
	release_all(true);
	client_is_told(runs, "101 - #hold of x\n");
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(port);
}

int main(void)
{
#define PORT_TEST(name) cmocka_unit_test_setup_teardown(name, start_port, stop_port)
	const struct CMUnitTest tests[] = {
		PORT_TEST(a_broker_that_has_nothing_answers),
		PORT_TEST(each_event_of_a_request_has_one_of_its_end),
		PORT_TEST(an_event_has_the_beginning_of_a_long_query),
		PORT_TEST(an_administrator_is_answered_after_his_wait),
		PORT_TEST(what_is_larger_than_the_queue_goes_out_in_parts),
		PORT_TEST(those_who_find_no_place_are_told_at_once),
		PORT_TEST(a_client_too_many_is_greeted_and_told),
		PORT_TEST(who_waits_is_told_that_the_broker_still_works),
		PORT_TEST(a_client_that_goes_away_is_outlived_by_its_job),
		PORT_TEST(an_end_tells_those_who_wait_and_lets_the_others_finish),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
