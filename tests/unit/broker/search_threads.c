/* Questions by several threads: while one is held inside the stemmer, the others are answered. */
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "broker/search.h"
#include "index/words.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <time.h>

enum { WAIT_S = 20 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool reached, released;
} hold = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_flag(bool *flag)
{
	pthread_mutex_lock(&hold.lock);
	*flag = true;
	pthread_cond_broadcast(&hold.changed);
	pthread_mutex_unlock(&hold.lock);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define FINDS_OURS /* sanitizers find their own functions by dlsym() */
#endif

#ifdef FINDS_OURS
static bool wait_until(const bool *flag)
{
	struct timespec until;
	int rc = 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&hold.lock);
	while (!*flag && rc == 0)
		rc = pthread_cond_timedwait(&hold.changed, &hold.lock, &until);
	bool came = *flag;
	pthread_mutex_unlock(&hold.lock);
	return came;
}

static const unsigned char *(*real_stem)(void *stemmer, const unsigned char *word, int n);

/* As the library does, but the word "held" takes until it is released. */
static const unsigned char *held_stem(void *stemmer, const unsigned char *word, int n)
{
	if (n == 4 && memcmp(word, "held", 4) == 0) {
		set_flag(&hold.reached);
		(void)wait_until(&hold.released);
	}
	return real_stem(stemmer, word, n);
}

/* The stemmer is found by name when rules are opened: here it finds ours. */
void *dlsym(void *restrict library, const char *restrict name)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
	void *(*real)(void *, const char *) = NULL;
	for (size_t i = 0; i < ARRAY_LEN(versions) && !real; i++) {
		void *f = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		memcpy(&real, &f, sizeof f);
	}
	assert_non_null(real);
	void *found = real(library, name);
	if (strcmp(name, "sb_stemmer_stem") == 0) {
		const unsigned char *(*ours)(void *, const unsigned char *, int) = held_stem;
		memcpy(&real_stem, &found, sizeof found);
		memcpy(&found, &ours, sizeof found);
	}
	return found;
}
#endif

/* An index of two documents, in English. */
static void make_index(const char *data)
{
	struct words_settings settings;
	struct words_options options = {.settings = &settings};
	struct words_writer *w = NULL;
	struct docstore *docs = NULL;
	struct docstore_mark mark;
	struct err err;
	char path[PATH_MAX];
	words_settings_default(&settings);
	snprintf(settings.language, sizeof settings.language, "english");
	snprintf(path, sizeof path, "%s/broker", data);
	assert_int_equal(dir_make(path, 0755, &err), 0);
	snprintf(path, sizeof path, "%s/broker/words", data);
	assert_int_equal(words_writer_open(&w, path, &options, &err), 0);
	snprintf(path, sizeof path, "%s/broker/docs", data);
	assert_int_equal(docstore_open(&docs, path, NULL, NULL, &err), 0);
	for (int i = 0; i < 2; i++) {
		struct arena arena = ARENA_INIT(1 << 20);
		struct soif obj = {.type = STR("FILE"),
				   .url = i ? STR("http://a/hold") : STR("http://a/walk")};
		struct str text = i ? STR("holding hands") : STR("walking dogs");
		struct words_attr attr = {STR("full-text"), text};
		struct words_doc doc = {
			.key = obj.url, .attr = &attr, .n = 1, .oid = (uint64_t)i + 1};
		soif_add(&obj, &arena, STR("Full-Text"), text);
		assert_int_equal(docstore_put(docs, doc.oid, &obj, &err), 0);
		assert_int_equal(words_add(w, &doc, &err), 0);
		arena_free(&arena);
	}
	assert_int_equal(docstore_sync(docs, &mark, &err), 0);
	assert_int_equal(words_commit(w, NULL, &err), 0);
	words_writer_close(&w);
	docstore_close(&docs);
}

struct question {
	struct search *search;
	const char *words;
	uint64_t total;
	bool answered;
	int rc;
};

static void *ask(void *ctx)
{
	struct question *q = ctx;
	struct search_ask ask = {.words = str_of(q->words), .limit = 10, .exact_total = true};
	struct arena arena = ARENA_INIT(1 << 24);
	struct search_answer answer = {0};
	struct err err;
	q->rc = search_run(q->search, &ask, &arena, &answer, &err);
	q->total = answer.total;
	arena_free(&arena);
	set_flag(&q->answered);
	return NULL;
}

#ifdef FINDS_OURS
static void a_question_held_in_the_stemmer_holds_up_no_other(void **state)
{
	struct search *s = NULL;
	pthread_t first, second;
	(void)state;
	make_index(scratch_dir);
	s = search_open(scratch_dir);
	struct question held = {.search = s, .words = "held OR hands"};
	struct question other = {.search = s, .words = "walks"};
	assert_int_equal(pthread_create(&first, NULL, ask, &held), 0);
	assert_true(wait_until(&hold.reached));
	assert_int_equal(pthread_create(&second, NULL, ask, &other), 0);
	bool answered = wait_until(&other.answered);
	assert_false(held.answered);
	set_flag(&hold.released);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	assert_true(answered);
	assert_int_equal(other.rc, 0);
	assert_int_equal(other.total, 1); /* walking */
	assert_int_equal(held.rc, 0);
	assert_int_equal(held.total, 1);
	search_close(&s);
}
#endif

static void questions_of_several_threads_are_answered_alike(void **state)
{
	enum { THREADS = 4, QUESTIONS = 50 };
	struct search *s = NULL;
	(void)state;
	make_index(scratch("threads"));
	s = search_open(scratch("threads"));
	for (int i = 0; i < QUESTIONS; i++) {
		pthread_t thread[THREADS];
		struct question q[THREADS];
		for (int k = 0; k < THREADS; k++) {
			q[k] = (struct question){.search = s, .words = k % 2 ? "hands" : "walked"};
			assert_int_equal(pthread_create(&thread[k], NULL, ask, &q[k]), 0);
		}
		for (int k = 0; k < THREADS; k++) {
			pthread_join(thread[k], NULL);
			assert_int_equal(q[k].rc, 0);
			assert_int_equal(q[k].total, 1);
		}
	}
	search_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef FINDS_OURS
		cmocka_unit_test(a_question_held_in_the_stemmer_holds_up_no_other),
#endif
		cmocka_unit_test(questions_of_several_threads_are_answered_alike),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
