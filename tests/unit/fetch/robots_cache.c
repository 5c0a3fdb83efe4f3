#include "../scratch.h"
#include "../unit.h"

#include "base/file.h"
#include "fetch/robots.h"
#include "fetch/robots_cache.h"
#include "store/small.h"
#include "url/url.h"

#include <sys/wait.h>
#include <unistd.h>

#define T0 (INT64_C(1794700800) * US_PER_S)
#define SITE STR("http://a.test")

struct told {
	int times;
	bool is_reachable, allows_x;
};

static bool allows(struct str compiled, const char *path)
{
	return robots_verdict(compiled, str_of(path)).allowed;
}

static void take_answer(void *ctx, const struct robots_answer *answer)
{
	struct told *t = ctx;
	t->times++;
	t->is_reachable = answer->is_reachable;
	t->allows_x = allows(answer->compiled, "/x");
}

static struct robots_cache *cache_of(const char *path, uint64_t bytes, int64_t now_us)
{
	struct robots_cache_options o = {
		.path = path, .agent = STR("garner"), .bytes = bytes, .now_us = now_us};
	struct robots_cache *c = NULL;
	struct err err;
	if (robots_cache_new(&c, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void end(struct robots_cache *c)
{
	struct err err;
	assert_int_equal(robots_cache_free(&c, &err), 0);
}

/* Asks and has it told at once. */
static struct told learn(struct robots_cache *c, struct str site, int64_t now_us,
			 const struct robots_file *file)
{
	struct told told = {0};
	struct robots_wait wait = {.done = take_answer, .ctx = &told};
	struct robots_answer answer;
	bool first = false;
	assert_int_equal(robots_cache_ask(c, site, now_us, &wait, &answer, &first), 1);
	assert_true(first);
	robots_cache_told(c, site, file, now_us);
	assert_int_equal(told.times, 1);
	return told;
}

/* What is known without asking; fails when nothing is. */
static struct told known(struct robots_cache *c, struct str site, int64_t now_us)
{
	struct told told = {0};
	struct robots_wait wait = {.done = take_answer, .ctx = &told};
	struct robots_answer answer;
	bool first;
	assert_int_equal(robots_cache_ask(c, site, now_us, &wait, &answer, &first), 0);
	take_answer(&told, &answer);
	return told;
}

static bool is_known(struct robots_cache *c, struct str site, int64_t now_us)
{
	struct told told = {0};
	struct robots_wait wait = {.done = take_answer, .ctx = &told};
	struct robots_answer answer;
	bool first;
	if (robots_cache_ask(c, site, now_us, &wait, &answer, &first) == 0)
		return true;
	robots_cache_cancel(&wait);
	robots_cache_told(c, site, &(struct robots_file){.outcome = OUTCOME_CANCELLED}, now_us);
	return false;
}

static const struct robots_file forbids_x = {.outcome = OUTCOME_OK,
					     .body = {"User-agent: *\nDisallow: /x\n", 26}};
static const struct robots_file forbids_y = {.outcome = OUTCOME_OK,
					     .body = {"User-agent: *\nDisallow: /y\n", 26}};
static const struct robots_file is_absent = {.outcome = OUTCOME_PERMANENT};
static const struct robots_file is_silent = {.outcome = OUTCOME_TEMPORARY};

static void a_site_is_asked_once_however_many_wait(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	struct told told[100] = {0};
	struct robots_wait wait[100];
	struct robots_answer answer;
	int firsts = 0;
	(void)state;
	for (int i = 0; i < 100; i++) {
		bool first;
		wait[i] = (struct robots_wait){.done = take_answer, .ctx = &told[i]};
		assert_int_equal(robots_cache_ask(c, SITE, T0, &wait[i], &answer, &first), 1);
		firsts += first;
	}
	assert_int_equal(firsts, 1);
	robots_cache_cancel(&wait[50]);
	robots_cache_told(c, SITE, &forbids_x, T0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(told[i].times, i != 50);
		assert_false(told[i].allows_x);
	}
	end(c);
}

static void a_file_holds_for_a_day_and_no_longer(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	(void)state;
	assert_false(learn(c, SITE, T0, &forbids_x).allows_x);
	assert_false(known(c, SITE, T0 + ROBOTS_KEEP_US - 1).allows_x);
	assert_false(is_known(c, SITE, T0 + ROBOTS_KEEP_US));
	assert_true(learn(c, SITE, T0 + ROBOTS_KEEP_US, &forbids_y).allows_x);
	end(c);
}

static void no_file_and_too_many_redirects_allow_everything(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	struct robots_file loop = {.outcome = OUTCOME_LIMIT, .too_many_redirects = true};
	(void)state;
	struct told t = learn(c, SITE, T0, &is_absent);
	assert_true(t.is_reachable && t.allows_x);
	t = learn(c, STR("http://b.test"), T0, &loop);
	assert_true(t.is_reachable && t.allows_x);
	end(c);
}

static void a_site_that_cannot_say_forbids_everything_for_a_while(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	struct robots_file later = {.outcome = OUTCOME_SITE_TEMPORARY,
				    .retry_after_us = 2 * US_PER_H};
	(void)state;
	struct told t = learn(c, SITE, T0, &is_silent);
	assert_false(t.is_reachable || t.allows_x);
	assert_true(is_known(c, SITE, T0 + ROBOTS_RETRY_US - 1));
	assert_false(is_known(c, SITE, T0 + ROBOTS_RETRY_US));
	assert_false(learn(c, STR("http://b.test"), T0, &later).is_reachable);
	assert_true(is_known(c, STR("http://b.test"), T0 + 2 * US_PER_H - 1));
	assert_false(is_known(c, STR("http://b.test"), T0 + 2 * US_PER_H));
	end(c);
}

static void an_older_file_holds_on_while_the_site_cannot_say(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	(void)state;
	learn(c, SITE, T0, &forbids_x);
	struct told t = learn(c, SITE, T0 + 2 * ROBOTS_KEEP_US, &is_silent);
	assert_true(t.is_reachable);
	assert_false(t.allows_x);
	end(c);
}

static void after_thirty_days_of_silence_there_is_no_file(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	(void)state;
	assert_false(learn(c, SITE, T0, &is_silent).is_reachable);
	assert_false(learn(c, SITE, T0 + ROBOTS_FORGET_US - 1, &is_silent).is_reachable);
	struct told t = learn(c, SITE, T0 + ROBOTS_FORGET_US + US_PER_H, &is_silent);
	assert_true(t.is_reachable && t.allows_x);
	assert_false(learn(c, SITE, T0 + 2 * ROBOTS_FORGET_US, &forbids_x).allows_x);
	end(c);
}

static void what_is_known_survives_a_restart(void **state)
{
	const char *path = scratch(__func__);
	struct robots_cache *c = cache_of(path, 0, T0);
	(void)state;
	learn(c, SITE, T0, &forbids_y);
	learn(c, SITE, T0 + ROBOTS_KEEP_US, &forbids_x);
	learn(c, STR("http://b.test"), T0, &is_silent);
	end(c);
	c = cache_of(path, 0, T0 + ROBOTS_KEEP_US + US_PER_H);
	assert_false(known(c, SITE, T0 + ROBOTS_KEEP_US + US_PER_H).allows_x);
	/* the silence of before counts */
	assert_true(learn(c, STR("http://b.test"), T0 + ROBOTS_FORGET_US, &is_silent).allows_x);
	end(c);
}

static void what_was_synced_survives_a_kill(void **state)
{
	const char *path = scratch(__func__);
	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct robots_cache *c = cache_of(path, 0, T0);
		struct err err;
		learn(c, SITE, T0, &forbids_x);
		bool ok = robots_cache_dirty(c) && robots_cache_sync(c, &err) == 0 &&
			  !robots_cache_dirty(c);
		learn(c, STR("http://b.test"), T0, &forbids_x);
		_exit(ok ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	struct robots_cache *c = cache_of(path, 0, T0 + 1);
	assert_false(known(c, SITE, T0 + 1).allows_x);
	assert_false(is_known(c, STR("http://b.test"), T0 + 1));
	end(c);
}

static void what_another_process_learns_is_known_at_once(void **state)
{
	const char *path = scratch(__func__);
	struct robots_cache *c = cache_of(path, 0, T0), *second = cache_of(path, 0, T0);
	struct robots_answer answer;
	struct err err;
	(void)state;
	assert_false(is_known(second, SITE, T0));
	learn(c, SITE, T0, &forbids_x);
	assert_false(is_known(second, SITE, T0));
	assert_int_equal(robots_cache_sync(c, &err), 0);
	assert_false(known(second, SITE, T0).allows_x);
	learn(second, STR("http://d.test"), T0, &forbids_x);
	end(second);
	assert_int_equal(robots_cache_known(c, STR("http://d.test"), T0, &answer), 0);
	assert_false(allows(answer.compiled, "/x"));
	end(c);
}

static void rules_for_another_robot_do_not_hold(void **state)
{
	const char *path = scratch(__func__);
	struct robots_cache_options o = {.path = path, .agent = STR("other"), .now_us = T0};
	struct robots_cache *c = cache_of(path, 0, T0), *other = NULL;
	struct err err;
	(void)state;
	learn(c, SITE, T0, &forbids_x);
	end(c);
	assert_int_equal(robots_cache_new(&other, &o, &err), 0);
	assert_false(is_known(other, SITE, T0));
	learn(other, SITE, T0, &forbids_y);
	end(other);
	c = cache_of(path, 0, T0);
	assert_false(known(c, SITE, T0).allows_x);
	end(c);
}

static void many_sites_are_kept_and_found_again(void **state)
{
	const char *path = scratch(__func__);
	struct robots_cache *c = cache_of(path, 64 << 10, T0);
	char name[64];
	(void)state;
	for (int i = 0; i < 2500; i++) {
		snprintf(name, sizeof name, "http://h%d.test", i);
		learn(c, str_of(name), T0, i % 2 ? &forbids_x : &forbids_y);
	}
	for (int i = 0; i < 2500; i++) { /* more than memory holds */
		snprintf(name, sizeof name, "http://h%d.test", i);
		assert_int_equal(known(c, str_of(name), T0).allows_x, i % 2 == 0);
	}
	end(c);
}

/* A row as it may be in a database that others wrote. */
struct foreign {
	char site[URL_SITE_MAX + 1], agent[257];
	int64_t until_us, got_us, silent_us;
	struct str rules;
};
static const struct column foreign_columns[] = {
	COL("site", struct foreign, site),
	COL("agent", struct foreign, agent),
	COL("until", struct foreign, until_us, .unit = UNIT_TIME),
	COL("got", struct foreign, got_us, .unit = UNIT_TIME),
	COL("silent", struct foreign, silent_us, .unit = UNIT_TIME),
	COL("rules", struct foreign, rules, .most = SMALL_STR_MOST),
};
static const struct small_table foreign_table = {
	"robots",         {ROWS(struct foreign, foreign_columns)},
	.key = 2,         .most = 1000000,
	.loose = true,    .writer = "a test",
	.loss = "nothing"};

static void put_foreign(const char *path, int64_t until_us, int64_t got_us, struct str rules)
{
	const struct small_table *const tables[] = {&foreign_table};
	struct foreign row = {"http://a.test", "garner", until_us, got_us, 0, rules};
	struct small *small = NULL;
	struct err err;
	assert_int_equal(small_open(&small, path, tables, 1, SMALL_WRITE, &err), 0);
	assert_int_equal(small_put(small, &foreign_table, &row, &err), 0);
	small_close(&small);
}

static void what_a_row_says_is_checked(void **state)
{
	CLEANUP(buf_free) struct buf rules = BUF_INIT(ROBOTS_COMPILED_MAX);
	const char *path = scratch(__func__);
	struct robots_cache *c;
	struct err err;
	(void)state;
	assert_int_equal(robots_compile(forbids_x.body, STR("garner"), &rules, &err), 0);
	put_foreign(path, T0 + US_PER_H, T0, STR("nonsense"));
	c = cache_of(path, 0, T0);
	assert_false(is_known(c, SITE, T0));
	end(c);
	put_foreign(path, T0 - ROBOTS_FORGET_US - 2, T0 - ROBOTS_FORGET_US - 2, buf_str(&rules));
	c = cache_of(path, 0, T0);
	assert_false(learn(c, SITE, T0, &is_silent).is_reachable); /* too old to hold on */
	end(c);
	put_foreign(path, T0 + 50 * US_PER_DAY, T0 + 40 * US_PER_DAY, buf_str(&rules));
	c = cache_of(path, 0, T0);
	assert_false(is_known(c, SITE, T0)); /* the clock was wrong then */
	struct told t = learn(c, SITE, T0, &is_silent);
	assert_true(t.is_reachable && !t.allows_x);
	end(c);
}

static void memory_is_bounded_and_the_latest_stay(void **state)
{
	struct robots_cache *c = cache_of(NULL, 64 << 10, T0);
	char name[64];
	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "http://h%d.test", i);
		learn(c, str_of(name), T0, &forbids_x);
	}
	assert_false(known(c, STR("http://h9999.test"), T0).allows_x);
	int left = 0; /* the newest are */
	do
		snprintf(name, sizeof name, "http://h%d.test", 9999 - left);
	while (is_known(c, str_of(name), T0) && ++left < 10000);
	assert_in_range(left, 10, 400);
	assert_false(is_known(c, STR("http://h0.test"), T0));
	end(c);
}

static void damage_costs_questions_and_no_more(void **state)
{
	const char *path = scratch(__func__);
	struct robots_cache *c = cache_of(path, 0, T0);
	struct err err;
	char name[64];
	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "http://h%d.test", i);
		learn(c, str_of(name), T0, &forbids_x);
	}
	end(c);
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp(path, &bytes, &err), 0);
	memset(bytes.p + bytes.n / 2, 0xff, bytes.n / 4);
	assert_int_equal(file_replace(path, buf_str(&bytes), 0644, &err), 0);
	c = cache_of(path, 0, T0 + 1);
	assert_false(learn(c, STR("http://new.test"), T0 + 1, &forbids_x).allows_x);
	end(c);
	c = cache_of(path, 0, T0 + 2);
	assert_false(known(c, STR("http://new.test"), T0 + 2).allows_x);
	end(c);
}

static void what_is_known_can_be_looked_at_without_asking(void **state)
{
	struct robots_cache *c = cache_of(NULL, 0, T0);
	struct robots_answer answer;
	(void)state;
	assert_int_equal(robots_cache_known(c, SITE, T0, &answer), 1);
	/* nobody is asking for it: the next one is the first, and is told */
	assert_false(learn(c, SITE, T0, &forbids_x).allows_x);
	assert_int_equal(robots_cache_known(c, SITE, T0, &answer), 0);
	assert_true(answer.is_reachable && !allows(answer.compiled, "/x"));
	assert_int_equal(answer.until_us, T0 + ROBOTS_KEEP_US);
	assert_int_equal(robots_cache_known(c, SITE, T0 + ROBOTS_KEEP_US, &answer), 1);
	assert_true(learn(c, SITE, T0 + ROBOTS_KEEP_US, &is_absent).allows_x);
	end(c);
}

static void a_site_that_nobody_asked_for_can_be_told(void **state)
{
	const char *path = scratch("unasked");
	struct robots_cache *c = cache_of(path, 0, T0);
	struct robots_answer answer;
	(void)state;
	robots_cache_told(c, SITE, &forbids_x, T0 - US_PER_H); /* of an hour ago */
	robots_cache_told(c, STR("http://b.test"), &is_silent, T0);
	robots_cache_told(c, STR("http://c.test"), &is_absent, T0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(robots_cache_known(c, SITE, T0, &answer), 0);
		assert_int_equal(answer.until_us, T0 - US_PER_H + ROBOTS_KEEP_US);
		assert_false(allows(answer.compiled, "/x"));
		assert_int_equal(robots_cache_known(c, STR("http://b.test"), T0, &answer), 0);
		assert_false(answer.is_reachable || allows(answer.compiled, "/x"));
		assert_int_equal(robots_cache_known(c, STR("http://c.test"), T0, &answer), 0);
		assert_true(answer.is_reachable && allows(answer.compiled, "/x"));
		end(c);
		c = cache_of(path, 0, T0);
	}
	robots_cache_told(c, SITE, &is_silent, T0 + US_PER_DAY); /* the older one stays */
	assert_false(known(c, SITE, T0 + US_PER_DAY).allows_x);
	robots_cache_told(c, SITE, &is_silent, T0 + 40 * US_PER_DAY);
	assert_true(known(c, SITE, T0 + 40 * US_PER_DAY).allows_x);
	end(c);
}

static void what_another_process_knows_holds_until_it_says(void **state)
{
	CLEANUP(buf_free) struct buf rules = BUF_INIT(ROBOTS_COMPILED_MAX);
	struct robots_cache *c = cache_of(NULL, 0, T0);
	struct told told = {0};
	struct robots_wait wait = {.done = take_answer, .ctx = &told};
	struct robots_answer answer;
	struct err err;
	bool first;
	(void)state;
	assert_int_equal(robots_compile(forbids_x.body, STR("garner"), &rules, &err), 0);
	assert_int_equal(robots_cache_ask(c, SITE, T0, &wait, &answer, &first), 1);
	assert_int_equal(robots_cache_put(c, SITE, true, buf_str(&rules), T0, T0, &err), 0);
	assert_int_equal(told.times, 0); /* it was over before it came */
	assert_int_equal(robots_cache_put(c, SITE, true, buf_str(&rules), T0 + US_PER_H, T0, &err),
			 0);
	assert_int_equal(told.times, 1);
	assert_true(told.is_reachable && !told.allows_x);
	assert_int_equal(robots_cache_known(c, SITE, T0 + US_PER_H - 1, &answer), 0);
	assert_false(is_known(c, SITE, T0 + US_PER_H));
	assert_int_equal(robots_cache_put(c, SITE, false, STR(""), INT64_MAX, T0, &err), 0);
	assert_int_equal(robots_cache_known(c, SITE, T0, &answer), 0);
	assert_false(answer.is_reachable || allows(answer.compiled, "/y"));
	assert_int_equal(answer.until_us, T0 + ROBOTS_KEEP_US);
	assert_false(robots_cache_dirty(c));
	end(c);
}

static void rules_that_are_damaged_are_refused(void **state)
{
	CLEANUP(buf_free) struct buf rules = BUF_INIT(ROBOTS_COMPILED_MAX + 1);
	struct robots_cache *c = cache_of(NULL, 0, T0);
	char name[URL_SITE_MAX + 1];
	struct robots_answer answer;
	struct err err;
	(void)state;
	memset(name, 'a', sizeof name);
	assert_int_equal(robots_compile(forbids_x.body, STR("garner"), &rules, &err), 0);
	struct str whole = buf_str(&rules);
	const struct {
		struct str site, compiled;
		bool is_reachable;
	} bad[] = {
		{SITE, STR(""), true},          {SITE, STR("nonsense"), true},
		{SITE, STR("nonsense"), false}, {SITE, str_head(whole, whole.n - 1), true},
		{STR(""), whole, true},         {{name, sizeof name}, whole, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(robots_cache_put(c, bad[i].site, bad[i].is_reachable, bad[i].compiled,
					     T0 + US_PER_H, T0, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(robots_cache_known(c, bad[i].site, T0, &answer), 1);
	}
	end(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_is_asked_once_however_many_wait),
		cmocka_unit_test(a_file_holds_for_a_day_and_no_longer),
		cmocka_unit_test(no_file_and_too_many_redirects_allow_everything),
		cmocka_unit_test(a_site_that_cannot_say_forbids_everything_for_a_while),
		cmocka_unit_test(an_older_file_holds_on_while_the_site_cannot_say),
		cmocka_unit_test(after_thirty_days_of_silence_there_is_no_file),
		cmocka_unit_test(what_is_known_survives_a_restart),
		cmocka_unit_test(what_was_synced_survives_a_kill),
		cmocka_unit_test(what_another_process_learns_is_known_at_once),
		cmocka_unit_test(rules_for_another_robot_do_not_hold),
		cmocka_unit_test(many_sites_are_kept_and_found_again),
		cmocka_unit_test(what_a_row_says_is_checked),
		cmocka_unit_test(memory_is_bounded_and_the_latest_stay),
		cmocka_unit_test(damage_costs_questions_and_no_more),
		cmocka_unit_test(what_is_known_can_be_looked_at_without_asking),
		cmocka_unit_test(a_site_that_nobody_asked_for_can_be_told),
		cmocka_unit_test(what_another_process_knows_holds_until_it_says),
		cmocka_unit_test(rules_that_are_damaged_are_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
