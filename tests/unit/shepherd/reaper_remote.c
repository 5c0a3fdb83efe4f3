/* The line between a master and a reapd: both ends in one loop, and each of them against a peer
 * that the test plays by hand. */
#include "unit/said.h"
#include "unit/shepherd/reapd_lab.h"

#define HELLO "hello version=2 capacity=8\n"

static void jobs_go_out_and_answers_come_back(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	assert_int_equal(w.remote->ops->room(w.remote), 8);
	give_job(&w, 1);
	give_job(&w, 2);
	assert_int_equal(w.field.n, 2);
	assert_true(w.field.begun && !w.field.has_dict);
	assert_str(w.field.job[0].url, "http://a.test/1");
	assert_int_equal(w.remote->ops->room(w.remote), 6);
	fetched(&w, 1, 0);
	fetched(&w, 0, 0);
	expect(&w, "done:2=0+1 done:1=0+1 ");
	assert_int_equal(w.remote->counts.documents, 2);
	assert_int_equal(w.remote->counts.out, 0);
	world_free(&w);
}

/* While the job is out nobody asks its server; then the delay counts from the first byte. */
static void the_delay_counts_from_the_first_byte(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	assert_true(server_rests_us(&w, 1) > 0);
	give_job(&w, 3);
	wait_us(&w, 40 * US_PER_S); /* longer than the delay: it is still being asked */
	assert_true(server_rests_us(&w, 1) > 0);
	fetched(&w, 0, 12 * US_PER_S);
	assert_int_equal(server_rests_us(&w, 1), DELAY_US - 12 * US_PER_S);
	expect(&w, "done:1=0+1 ");
	world_free(&w);
}

static void a_server_that_may_not_be_asked_is_put_off(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	char text[64];
	world_both(&w);
	give_job(&w, 1);
	struct reaper_job job = job_of(1, text);
	job.id = 7;
	MUST(w.remote->ops->submit(w.remote, &job, NULL, &err));
	expect(&w, ""); /* not from inside the call */
	settle(&w);
	expect_part(&w, "not-now:7@");
	assert_int_equal(w.field.n, 1);
	assert_int_equal(w.remote->counts.jobs, 1); /* those that were sent */
	w.field.room = 0;
	give_job(&w, 2);
	expect(&w, "not-now:2@100 ");
	assert_int_equal(w.remote->counts.out, 1);
	world_free(&w);
}

static void one_that_was_busy_gets_no_more_than_it_has_until_it_answers(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	give_job(&w, 2);
	w.field.room = 0;
	give_job(&w, 3);
	expect(&w, "not-now:3@100 ");
	assert_int_equal(w.remote->ops->room(w.remote), 0);
	w.field.room = 8;
	fetched(&w, 0, 0);
	assert_int_equal(w.remote->ops->room(w.remote), 2); /* its place, and one more */
	give_job(&w, 4);
	give_job(&w, 5);
	assert_int_equal(w.field.n, 4);
	world_free(&w);
}

static void a_cancelled_job_keeps_its_lease_until_it_has_ended(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	w.remote->ops->cancel(w.remote, 1);
	wait_us(&w, 31 * US_PER_S);
	assert_true(server_rests_us(&w, 1) > 0);
	fetched(&w, 0, 31 * US_PER_S);
	assert_int_equal(server_rests_us(&w, 1), 0);
	expect(&w, "");
	assert_int_equal(w.remote->counts.out, 0);
	world_free(&w);
}

/* Every lie: nothing of the answer is kept, the others are lost, and it is left alone for a while.
 */
static void liars_are_dropped_and_named(void **state)
{
	(void)state;
	static const struct {
		const char *fault, *named;
	} lies[] = {
		{"lie.url=lie", "it is about another URL"},
		{"lie.id=lie", "which it was never given"},
		{"lie.bucket=lie", "its bucket"},
		{"lie.key=lie", "it asked another server"},
		{"lie.date=lie", "at a time at which the job was not out"},
		{"lie.code=lie", "no reaper comes to code 2"},
		{"lie.link=lie", "a link that is not canonical"},
		{"lie.size=lie", "cannot be so large"},
	};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct world w;
		world_both(&w);
		give_job(&w, 1);
		give_job(&w, 2);
		wait_us(&w, 4 * US_PER_S); /* the last tock is 1.5 s old */
		MUST(fault_arm(lies[i].fault, &err));
		fetched(&w, 0, 0);
		assert_int_equal(fault_fired(), 1);
		MUST(fault_arm("", &err));
		assert_null(strstr(buf_text(&w.story), "done:"));
		assert_non_null(strstr(buf_text(&w.story), "lost:1@8 lost:2@8 "));
		expect_part(&w, lies[i].named);
		assert_int_equal(w.remote->ops->state(w.remote), REAPER_PUNISHED);
		assert_int_equal(w.remote->ops->room(w.remote), 0);
		assert_true(server_rests_us(&w, 2) > 8 * US_PER_S);
		assert_int_equal(w.field.drops, 1); /* the other side has stopped too */
		wait_us(&w, PENALTY_US - US_PER_S);
		assert_int_equal(w.remote->ops->state(w.remote), REAPER_PUNISHED);
		wait_us(&w, US_PER_S);
		assert_int_equal(w.remote->ops->state(w.remote), REAPER_UP);
		give_job(&w, 1);
		fetched(&w, 0, 0);
		expect(&w, "done:1=0+1 ");
		world_free(&w);
	}
}

static void a_lost_connection_loses_its_jobs_on_both_sides(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	assert_true(w.field.until_us > loop_now_us(w.loop));
	w.remote->ops->free(&w.remote);
	settle(&w);
	assert_int_equal(w.field.drops, 1);
	assert_int_equal(w.field.until_us, 0);
	assert_int_equal(reapd_server_counts(w.server)->dropped, 1);
	assert_true(server_rests_us(&w, 1) >= LEASE_US); /* nobody asks it until that is certain */
	world_master(&w);
	give_job(&w, 2);
	reapd_server_free(&w.server);
	close(w.listen_fd);
	w.listen_fd = 0;
	settle(&w);
	expect_part(&w, "lost:2@10 ");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_AWAY);
	assert_int_equal(w.remote->counts.lost, 1);
	world_free(&w);
}

static void dictionaries_and_rules_go_before_the_jobs(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	char text[64];
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 16);
	struct reaper_rules rules = {.site = STR("http://a.test"),
				     .is_reachable = true,
				     .until_us = clock_wall_us() + US_PER_H,
				     .compiled = STR("rules")};
	world_both(&w);
	MUST(file_replace(scratch("dict.sent"), STR("dictionaries"), 0600, &err));
	MUST(w.remote->ops->begin(w.remote, scratch("dict.sent"), &err));
	for (uint64_t id = 1; id < 5; id++) {
		struct reaper_job job = job_of(id, text);
		rules.until_us += id == 4; /* they were read again */
		MUST(w.remote->ops->submit(w.remote, &job, &rules, &err));
		settle(&w);
	}
	assert_true(w.field.has_dict);
	MUST(file_slurp(scratch("dict.received"), &got, &err));
	assert_str(buf_str(&got), "dictionaries");
	assert_int_equal(w.field.rules, 2);
	assert_int_equal(w.field.n, 4);
	world_free(&w);
}

/* TLS with the key of a file that has this digit in it. */
static struct tls *tls_of(const char *name, char digit, bool server)
{
	char key[65];
	struct err err = {0};
	struct tls *tls = NULL;
	struct tls_conf conf = {.shared_key = scratch(name)};
	memset(key, digit, 64);
	key[64] = '\n';
	MUST(file_replace(conf.shared_key, (struct str){key, sizeof key}, 0600, &err));
	MUST(tls_new(&tls, &conf, server, &err));
	return tls;
}

static void tls_lets_only_those_with_the_key_in(void **state)
{
	(void)state;
	struct world w;
	world_make(&w, true, NULL);
	w.tls_reapd = tls_of("key", '7', true);
	w.tls_master = tls_of("key", '7', false);
	world_reapd(&w);
	world_master(&w);
	give_job(&w, 1);
	fetched(&w, 0, 0);
	expect(&w, "done:1=0+1 ");
	w.remote->ops->free(&w.remote);
	settle(&w);
	tls_free(&w.tls_master);
	w.tls_master = tls_of("other", '8', false);
	world_master(&w);
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_AWAY);
	expect_part(&w, "reaper away; reconnecting");
	w.remote->ops->free(&w.remote);
	settle(&w);
	tls_free(&w.tls_master); /* and who speaks plainly is not even heard */
	world_master(&w);
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_AWAY);
	assert_int_equal(reapd_server_counts(w.server)->masters, 1);
	world_free(&w);
}

/* Peers that are played by hand. */

static int play_master(struct world *w)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	snprintf(un.sun_path, sizeof un.sun_path, "%s", w->address + 5);
	assert_int_equal(0, connect(fd, (struct sockaddr *)&un, sizeof un));
	settle(w);
	return fd;
}

static void say_bytes(struct world *w, int fd, struct str bytes)
{
	(void)!send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
	settle(w);
}

/* Messages, a line each. */
static void say(struct world *w, int fd, const char *lines)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	said_write(lines, &out);
	say_bytes(w, fd, buf_str(&out));
}

/* All that has come; "!" after it: the peer has hung up. */
static const char *heard(int fd)
{
	static char got[4096], lines[4096];
	size_t n = 0;
	ssize_t r;
	while ((r = read(fd, got + n, sizeof got - n)) > 0)
		n += (size_t)r;
	bool over = r == 0 || (r < 0 && errno != EAGAIN);
	said_lines((struct str){got, n}, lines, sizeof lines - 1);
	if (over)
		memcpy(lines + strlen(lines), "!", 2);
	return lines;
}

static void add_job(struct buf *out, uint64_t id)
{
	char text[64];
	const struct reap_message m = {.id = id, .job = job_of(id, text)};
	message_write(&reap_of_master, REAP_JOB, &m, out);
}

static void say_job(struct world *w, int fd, uint64_t id)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	add_job(&out, id);
	say_bytes(w, fd, buf_str(&out));
}

static void hostile_masters_are_hung_up_on(void **state)
{
	(void)state;
	static const char *const before[] = {
		"garbage\n",
		"\n",
		"job id=1\n",
		"tock tick=1 lease=1000000\n",
		"tock tick=0 lease=0\n",
		"tock tick=0 lease=600000001\n",
		"tock tick=0\n",
		"dict\n",
		"rules site=http://a.test for=1\n",
		"cancel id=1\n",
		"tock tick=-1 lease=5\n",
		"hello version=2 capacity=1\n",
	};
	static const char *const after[] = {
		"garbage\n",
		"job id=1\n",
		"job id=0 url=http://a.test/ address=192.0.2.1:80 what=page now=1 delay=1 "
		"connections=1 body=1 idle=1 total=1\n",
		"job id=1 url=http://A.test/ address=192.0.2.1:80 what=page now=1 delay=1 "
		"connections=1 body=1 idle=1 total=1\n",
		"tock tick=99 lease=1000\n",
		"tock tick=0 lease=1000\n",
		"rules site=http://a.test\n",
		"rules for=1 site=http://a.test\n",
		"done id=1\n",
	};
	/* refused by their first line */
	static const char *const large[] = {"job 65537\n", "dict 16777473\n", "rules 8454145\n",
					    "job 18446744073709551616\n", "cancel 257\n"};
	/* and these by anyone but the master, so that strangers hold no memory */
	static const char *const long_before[] = {"dict 16777300\n", "rules 100\n", "job 1000\n"};
	struct world w;
	world_make(&w, true, NULL);
	world_reapd(&w);
	for (size_t i = 0; i < ARRAY_LEN(long_before); i++) {
		int fd = play_master(&w);
		assert_string_equal(heard(fd), HELLO);
		say_bytes(&w, fd, str_of(long_before[i]));
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", long_before[i]);
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		int fd = play_master(&w);
		assert_string_equal(heard(fd), HELLO);
		say(&w, fd, before[i]);
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", before[i]);
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		int fd = play_master(&w);
		say(&w, fd, "tock tick=0 lease=10000000\n");
		assert_string_equal(heard(fd), HELLO "tick tick=1\n");
		say(&w, fd, after[i]);
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", after[i]);
		close(fd);
		settle(&w);
	}
	for (size_t i = 0; i < ARRAY_LEN(large); i++) {
		int fd = play_master(&w);
		say(&w, fd, "tock tick=0 lease=10000000\n");
		(void)heard(fd);
		say_bytes(&w, fd, str_of(large[i]));
		if (strcmp(heard(fd), "!") != 0)
			fail_msg("'%s' was taken", large[i]);
		close(fd);
		settle(&w);
	}
	assert_int_equal(w.field.n, 0);
	world_master(&w); /* and it serves the next one */
	give_job(&w, 1);
	fetched(&w, 0, 0);
	expect(&w, "done:1=0+1 ");
	world_free(&w);
}

static void a_second_master_is_told_to_go(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	int fd = play_master(&w);
	assert_string_equal(heard(fd), "busy\n!");
	close(fd);
	w.remote->ops->free(&w.remote);
	settle(&w);
	fd = play_master(&w);
	say(&w, fd, "tock tick=0 lease=10000000\n");
	assert_string_equal(heard(fd), HELLO "tick tick=1\n");
	world_master(&w);
	expect_part(&w, "reaper serves another master");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_REFUSED);
	close(fd);
	wait_us(&w, 30 * US_PER_S);
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_UP);
	world_free(&w);
}

/* Ticks are answered up to the third; the lease counts from when that was sent. */
static void without_tocks_everything_is_dropped(void **state)
{
	(void)state;
	struct world w;
	world_make(&w, true, NULL);
	world_reapd(&w);
	int fd = play_master(&w);
	int64_t from_us = loop_now_us(w.loop);
	say(&w, fd, "tock tick=0 lease=10000000\n");
	say_job(&w, fd, 1);
	assert_int_equal(w.field.n, 1);
	assert_int_equal(w.field.until_us, from_us + LEASE_US);
	wait_us(&w, 5 * US_PER_S);
	assert_string_equal(heard(fd), HELLO "tick tick=1\ntick tick=2\ntick tick=3\n");
	wait_us(&w, US_PER_S);
	say(&w, fd, "tock tick=3 lease=10000000\n");
	assert_int_equal(w.field.until_us, from_us + 5 * US_PER_S + LEASE_US);
	say(&w, fd, "tock tick=2 lease=10000000\n"); /* late: nothing becomes earlier */
	assert_int_equal(w.field.until_us, from_us + 5 * US_PER_S + LEASE_US);
	wait_us(&w, 9 * US_PER_S - 1);
	assert_int_equal(w.field.drops, 0);
	wait_us(&w, 1);
	assert_int_equal(w.field.drops, 1);
	assert_int_equal(w.field.until_us, 0);
	assert_int_equal(w.field.n, 0);
	assert_non_null(strchr(heard(fd), '!'));
	assert_int_equal(reapd_server_counts(w.server)->dropped, 1);
	close(fd);
	world_free(&w);
}

/* Jobs of the lab have a minute each. */
static void who_ticks_and_never_answers_loses_its_jobs(void **state)
{
	(void)state;
	struct world w;
	world_both(&w);
	give_job(&w, 1);
	wait_us(&w, 11 * US_PER_MIN);
	expect(&w, "");
	wait_us(&w, LEASE_US);
	expect_part(&w, "lost:1@");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_PUNISHED);
	world_free(&w);
}

/* An answer that comes when the lease is over, before any timer has run. */
struct late_answer {
	struct loop_timer timer;
	struct world *world;
	unsigned drops_inside;
};

static void late_answer_give(void *ctx)
{
	struct late_answer *l = ctx;
	const struct reaper_host *host = l->world->field.reaper.host;
	struct reaper_answer a = {.id = 1, .code = CODE_GONE, .url = STR("http://a.test/1")};
	host->done(host->ctx, &l->world->field.reaper, &a);
	l->drops_inside = l->world->field.drops;
}

static void a_late_answer_drops_nothing_while_its_reaper_is_at_it(void **state)
{
	(void)state;
	struct world w;
	world_make(&w, true, NULL);
	world_reapd(&w);
	struct late_answer late = {.timer = {.fn = late_answer_give, .ctx = &late}, .world = &w};
	int fd = play_master(&w);
	loop_timer_in(w.loop, &late.timer, LEASE_US);
	settle(&w);
	say(&w, fd, "tock tick=0 lease=10000000\n");
	say_job(&w, fd, 1);
	wait_us(&w, LEASE_US);
	assert_int_equal(late.drops_inside, 0);
	assert_int_equal(w.field.drops, 1);
	assert_null(strstr(heard(fd), "done"));
	close(fd);
	world_free(&w);
}

/* A reapd that is played by hand: up to the hello. */
static int play_reapd(struct world *w, int *ret_listen)
{
	struct err err = {0};
	MUST(listen_open(w->address, ret_listen, &err));
	world_master(w);
	int fd = accept(*ret_listen, NULL, NULL);
	assert_true(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	return fd;
}

static void one_that_had_another_master_and_died_is_away(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true, NULL);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "busy\n");
	expect_part(&w, "reaper serves another master");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_REFUSED);
	close(fd);
	close(listening);
	wait_us(&w, 30 * US_PER_S);
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_AWAY);
	expect_part(&w, "reaper away");
	wait_us(&w, 30 * US_PER_S);
	expect(&w, ""); /* it was said */
	world_free(&w);
}

static void another_version_is_refused_by_name(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true, NULL);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "hello version=3 capacity=10\n");
	expect_part(&w, "version=3 expected=2");
	assert_string_equal(heard(fd), "!");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_REFUSED);
	close(fd);
	close(listening);
	world_free(&w);
}

static void hostile_reapds_are_dropped(void **state)
{
	(void)state;
	static const char *const words[] = {
		"garbage\n",
		"hello version=2 capacity=10\n",
		"tick tick=0\n",
		"tick tick=x\n",
		"busy id=9\n",
		"busy\n",
		"done id=2 code=2410 url=http://a.test/1 md5=00000000000000000000000000000000\n",
		"done id=1\n",
		"done id=1 code=2410 url=http://a.test/1\n",
		"done id=1 code=2410 url=http://a.test/1 md5=0\n",
		"done id=1 code=65536 url=http://a.test/1 md5=00000000000000000000000000000000\n",
		"cancel id=1\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct world w;
		int listening;
		world_make(&w, true, NULL);
		int fd = play_reapd(&w, &listening);
		say(&w, fd, "hello version=2 capacity=10\n");
		assert_string_equal(heard(fd), "tock tick=0 lease=10000000\n");
		give_job(&w, 1);
		say(&w, fd, words[i]);
		if (w.remote->ops->state(w.remote) != REAPER_PUNISHED)
			fail_msg("'%s' was taken", words[i]);
		expect_part(&w, "lost:1@10 ");
		close(fd);
		close(listening);
		world_free(&w);
	}
}

/* An answer without a document, as a reapd would say it. */
static void say_gone(struct world *w, int fd, uint64_t number, uint64_t id)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	char text[64];
	struct reaper_job job = job_of(id, text);
	const struct reaper_answer a = {
		.id = number, .code = CODE_GONE, .url = job.url, .key = kit_qkey(&job.addr)};
	reap_answer_write(&a, &out);
	say_bytes(w, fd, buf_str(&out));
}

/* A job that comes back over a new session is not the one that went out over the old. */
static void silence_loses_the_jobs_and_late_answers_count_nothing(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true, NULL);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "hello version=2 capacity=10\n");
	give_job(&w, 1);
	wait_us(&w, 5 * US_PER_S);
	say(&w, fd, "tick tick=1\n");
	expect(&w, "");
	wait_us(&w, 11 * US_PER_S);
	assert_int_equal(logged_times("reaper timed out"), 1);
	expect_part(&w, "lost:1@0 ");
	say_gone(&w, fd, 1, 1);
	expect(&w, "");
	close(fd);
	wait_us(&w, 30 * US_PER_S);
	int again = -1, next; /* it has come several times, and nobody has answered */
	while ((next = accept(listening, NULL, NULL)) >= 0) {
		close(again);
		again = next;
	}
	assert_true(again >= 0 && fcntl(again, F_SETFL, O_NONBLOCK) == 0);
	say(&w, again, "hello version=2 capacity=10\n");
	say_gone(&w, again, 1, 1);
	expect_part(&w, "which it was never given");
	close(again);
	close(listening);
	world_free(&w);
}

/* What was given once and is not out any more is refused; what was never given is a lie. */
static void a_late_answer_is_refused_and_the_session_goes_on(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true, NULL);
	int fd = play_reapd(&w, &listening);
	say(&w, fd, "hello version=2 capacity=10\n");
	give_job(&w, 7); /* its first */
	give_job(&w, 5);
	give_job(&w, 9);
	say_gone(&w, fd, 2, 5);
	expect(&w, "done:5=2410+0 ");
	say_gone(&w, fd, 2, 5);
	say_gone(&w, fd, 2, 7);
	say(&w, fd, "done id=2 code=0 url=http://b.test/ md5=00000000000000000000000000000000\n");
	expect(&w, "");
	assert_int_equal(w.remote->counts.late, 3);
	say(&w, fd, "busy id=1\n");
	expect(&w, "not-now:7@100 ");
	say(&w, fd, "busy id=1\n");
	say_gone(&w, fd, 1, 7);
	expect(&w, "");
	assert_int_equal(w.remote->counts.late, 5);
	assert_int_equal(w.remote->counts.errors, 1); /* the one that was answered */
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_UP);
	say_gone(&w, fd, 4, 9); /* its jobs are 1 to 3 */
	assert_non_null(strstr(buf_text(&w.story), "lost:9@"));
	expect_part(&w, "job 4, which it was never given");
	assert_int_equal(w.remote->ops->state(w.remote), REAPER_PUNISHED);
	close(fd);
	close(listening);
	world_free(&w);
}

/* One that waits for TLS, or for a request of HTTP: no reapd at all. */
static void who_never_says_hello_is_told_from_one_that_fell_silent(void **state)
{
	(void)state;
	struct world w;
	int listening;
	world_make(&w, true, NULL);
	int fd = play_reapd(&w, &listening);
	wait_us(&w, 11 * US_PER_S);
	expect_part(&w, "silent: is it a garner reapd, and do both have TLS, or neither?");
	close(fd);
	close(listening);
	world_free(&w);
}

/* A process that was stopped for longer than the lease takes nothing of what lies in its socket. */
#define STOPPED_LEASE_US (300 * US_PER_MS)

static void stopped_child(struct world *w, int report)
{
	struct err err;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	world_reapd(w);
	w->field.report = report;
	assert_int_equal(1, write(report, "r", 1));
	(void)loop_run(w->loop, &err);
	_exit(0);
}

static char next_report(int fd)
{
	char c = 0;
	return read(fd, &c, 1) == 1 ? c : 0;
}

static void a_reapd_that_was_stopped_drops_everything(void **state)
{
	(void)state;
	struct world w;
	int pipe_fd[2];
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	world_make(&w, false, NULL);
	assert_int_equal(0, pipe(pipe_fd));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		stopped_child(&w, pipe_fd[1]);
	close(pipe_fd[1]);
	assert_int_equal('r', next_report(pipe_fd[0]));
	int fd = play_master(&w);
	assert_int_equal(0, fcntl(fd, F_SETFL, 0)); /* this side waits */
	struct reap_message tock = {.lease_us = STOPPED_LEASE_US};
	message_write(&reap_of_master, REAP_TOCK, &tock, &out);
	assert_int_equal(out.n, write(fd, out.p, out.n));
	char line[128] = {0};
	for (size_t n = 0; !strstr(line, "tick 1\n"); n++)
		assert_int_equal(1, read(fd, line + n, 1));
	assert_int_equal(0, kill(child, SIGSTOP));
	assert_int_equal(child, waitpid(child, NULL, WUNTRACED));
	buf_clear(&out);
	tock.id = 1;
	message_write(&reap_of_master, REAP_TOCK, &tock, &out);
	add_job(&out, 1);
	assert_int_equal(out.n, write(fd, out.p, out.n));
	usleep(STOPPED_LEASE_US + 50 * US_PER_MS);
	assert_int_equal(0, kill(child, SIGCONT));
	while (read(fd, line, sizeof line) > 0) /* until it hangs up */
		;
	assert_int_equal(0, kill(child, SIGKILL));
	assert_int_equal(child, waitpid(child, NULL, 0));
	assert_int_equal(0, next_report(pipe_fd[0])); /* no job */
	close(fd);
	close(pipe_fd[0]);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_go_out_and_answers_come_back),
		cmocka_unit_test(the_delay_counts_from_the_first_byte),
		cmocka_unit_test(a_server_that_may_not_be_asked_is_put_off),
		cmocka_unit_test(one_that_was_busy_gets_no_more_than_it_has_until_it_answers),
		cmocka_unit_test(a_cancelled_job_keeps_its_lease_until_it_has_ended),
		cmocka_unit_test(liars_are_dropped_and_named),
		cmocka_unit_test(a_lost_connection_loses_its_jobs_on_both_sides),
		cmocka_unit_test(dictionaries_and_rules_go_before_the_jobs),
		cmocka_unit_test(tls_lets_only_those_with_the_key_in),
		cmocka_unit_test(hostile_masters_are_hung_up_on),
		cmocka_unit_test(a_second_master_is_told_to_go),
		cmocka_unit_test(without_tocks_everything_is_dropped),
		cmocka_unit_test(who_ticks_and_never_answers_loses_its_jobs),
		cmocka_unit_test(a_late_answer_drops_nothing_while_its_reaper_is_at_it),
		cmocka_unit_test(one_that_had_another_master_and_died_is_away),
		cmocka_unit_test(another_version_is_refused_by_name),
		cmocka_unit_test(hostile_reapds_are_dropped),
		cmocka_unit_test(silence_loses_the_jobs_and_late_answers_count_nothing),
		cmocka_unit_test(a_late_answer_is_refused_and_the_session_goes_on),
		cmocka_unit_test(who_never_says_hello_is_told_from_one_that_fell_silent),
		cmocka_unit_test(a_reapd_that_was_stopped_drops_everything),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
