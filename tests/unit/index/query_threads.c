/* Queries while documents are replaced, in threads of one process and in another process: a
 * snapshot always has every document exactly once. */
#include "../scratch.h"
#include "../unit.h"
#include "base/thread.h"
#include "index/token.h"
#include "index/words.h"

#include <stdatomic.h>
#include <sys/wait.h>

enum { DOCS = 300, COMMITS = 60, READERS = 3 };

static atomic_bool over;

static int put(struct words_writer *w, unsigned number, unsigned round, struct err *err)
{
	char key[32], text[128];
	snprintf(key, sizeof key, "k%u", number);
	snprintf(text, sizeof text, "all round%u number%u Word%u word%u side by side", round,
		 number, number % 7, round % 3);
	struct words_attr attr[] = {{STR("full-text"), str_of(text)}, {STR("title"), str_of(key)}};
	struct words_doc doc = {.key = str_of(key),
				.time_s = round,
				.rank = (uint16_t)(number + round),
				.attr = attr,
				.n = 2};
	return words_add(w, &doc, err);
}

/* One query: how many match it, whatever the order. Negative: it failed. */
static int64_t count(struct words_reader *r, const struct token_rules *rules, const char *text,
		     struct err *err)
{
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct query q;
	struct hits hits;
	int64_t n = -1;
	if (query_parse(str_of(text), NULL, rules, &arena, &q, err) == 0) {
		q.exact_total = true;
		q.limit = 20;
		if (words_query(r, &q, &arena, &hits, err) == 0)
			n = hits.total_exact && hits.n <= hits.total ? (int64_t)hits.total : -1;
	}
	arena_free(&arena);
	return n;
}

/* What is true of every commit. */
static bool whole(struct words_reader *r, const struct token_rules *rules)
{
	static const char *const every[] = {"all",        "\"side by side\"",
					    "all side",   "all OR nothing",
					    "* -nothing", "title : k5 OR -number5"};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(every); i++) {
		int64_t n = count(r, rules, every[i], &err);
		if (n != DOCS) {
			fprintf(stderr, "'%s': %lld %s\n", every[i], (long long)n, err.msg);
			return false;
		}
	}
	return count(r, rules, "=Word3 -=word9", &err) == DOCS / 7 + (3 < DOCS % 7);
}

/* Until it is over; what it has seen is true, or NULL. */
static void *read_on(void *arg)
{
	struct words_reader *r = NULL;
	struct token_rules *rules = NULL;
	struct err err;
	bool good = token_rules_open(&rules, STR(""), &err) == 0 && words_open(&r, arg, &err) == 0;
	while (good && !atomic_load(&over)) {
		good = whole(r, rules);
		if (words_refresh(&r, &err) < 0)
			good = false;
	}
	words_close(&r);
	token_rules_close(&rules);
	return good ? arg : NULL;
}

/* Each commit replaces some, deletes some and adds them again. */
static void write_on(struct words_writer *w)
{
	struct err err;
	for (unsigned round = 1; round <= COMMITS; round++) {
		for (unsigned i = 0; i < DOCS / 4; i++) {
			unsigned number = (round * 31 + i * 7) % DOCS;
			char key[32];
			snprintf(key, sizeof key, "k%u", number);
			if (i % 5 == 0)
				assert_int_equal(0, words_delete(w, str_of(key), &err));
			assert_int_equal(0, put(w, number, round, &err));
		}
		assert_int_equal(0, words_commit(w, NULL, &err));
		if (round % 10 == 0)
			assert_true(words_merge_all(w, &err) >= 0);
	}
}

static void begin(struct words_writer **w, const char *name)
{
	struct err err;
	assert_int_equal(0, words_writer_open(w, scratch(name), NULL, &err));
	for (unsigned i = 0; i < DOCS; i++)
		assert_int_equal(0, put(*w, i, 0, &err));
	assert_int_equal(0, words_commit(*w, NULL, &err));
	atomic_store(&over, false);
}

static void threads_see_whole_snapshots(void **state)
{
	(void)state;
	struct words_writer *w;
	struct err err;
	pthread_t reader[READERS];
	void *good;
	begin(&w, "threads");
	for (int i = 0; i < READERS; i++)
		assert_int_equal(
			0, thread_start(&reader[i], read_on, (void *)scratch("threads"), &err));
	write_on(w);
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(reader[i], &good);
		assert_non_null(good);
	}
	words_writer_close(&w);
}

/* The other process ends by itself: it has seen the last commit. */
static int read_to_the_end(const char *folder)
{
	struct words_reader *r = NULL;
	struct token_rules *rules = NULL;
	struct err err;
	char last[32];
	snprintf(last, sizeof last, "round%d", COMMITS);
	bool good =
		token_rules_open(&rules, STR(""), &err) == 0 && words_open(&r, folder, &err) == 0;
	for (int tries = 0; good && tries < 1000000; tries++) {
		good = whole(r, rules);
		if (good && count(r, rules, last, &err) > 0)
			break;
		good = good && words_refresh(&r, &err) >= 0;
	}
	words_close(&r);
	token_rules_close(&rules);
	return good ? 0 : 1;
}

static void another_process_sees_whole_snapshots(void **state)
{
	(void)state;
	struct words_writer *w;
	int status;
	begin(&w, "processes");
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(read_to_the_end(scratch("processes")));
	write_on(w);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	words_writer_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_sees_whole_snapshots),
		cmocka_unit_test(threads_see_whole_snapshots),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
