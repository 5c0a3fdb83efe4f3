/* What stands after a kill or a failed call at any point: the last commit that was acknowledged, or
 * the one that was being made, whole. */
#include "../unit.h"
#include "base/fault.h"
#include "index/words/manifest.h"
#include "shelf.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { STAGES = 4, PER_STAGE = 40 };

/* The index after each commit; the documents are the same in every process. */
struct plan {
	struct shelf *after[STAGES + 1];
};

static void copy_shelf(struct shelf *to, const struct shelf *from)
{
	memcpy(to->doc, from->doc, sizeof to->doc);
	to->n = from->n;
}

/* What a stage does to the index (w NULL: only to the shelf). */
static int do_stage(struct shelf *s, unsigned stage, struct words_writer *w, struct err *err)
{
	shelf_seed = 100 + stage;
	for (unsigned i = 0; i < PER_STAGE; i++) {
		struct words_doc doc = random_doc(s, below(60));
		if (w && words_add(w, &doc, err) < 0)
			return -1;
		put(s, doc);
	}
	for (unsigned i = 0; i < 5; i++) {
		struct str key = s->doc[below((unsigned)s->n)].key;
		if (w && words_delete(w, key, err) < 0)
			return -1;
		forget(s, key);
	}
	return w ? words_commit(w, NULL, err) : 0;
}

static struct plan make_plan(struct shelf *s)
{
	struct plan plan;
	for (unsigned stage = 0; stage <= STAGES; stage++) {
		plan.after[stage] = mem_alloc(sizeof *s);
		*plan.after[stage] = *s;
		struct err err;
		if (stage < STAGES)
			assert_int_equal(do_stage(s, stage, NULL, &err), 0);
	}
	return plan;
}

static void free_plan(struct plan *plan)
{
	for (unsigned stage = 0; stage <= STAGES; stage++)
		mem_free(&plan->after[stage]);
}

static struct words_writer *try_writer(struct shelf *s, struct err *err)
{
	struct words_writer *w = NULL;
	struct words_options options = {.settings = &s->settings, .memory = WORDS_MEMORY_MIN};
	return words_writer_open(&w, s->folder, &options, err) == 0 ? w : NULL;
}

/* The stage whose end the folder shows: it has so many keys with such times that only one fits. */
static unsigned stage_of(struct plan *plan)
{
	struct err err;
	struct words_reader *r;
	int rc = words_open(&r, plan->after[0]->folder, &err);
	if (rc == 1)
		return 0;
	assert_int_equal(rc, 0);
	struct lines got = {0};
	lines_of_index(r, &got);
	lines_sort(&got);
	words_close(&r);
	unsigned found = UINT32_MAX;
	for (unsigned stage = 0; stage <= STAGES && found == UINT32_MAX; stage++) {
		struct lines want = {0};
		const struct shelf *s = plan->after[stage];
		for (size_t i = 0; i < s->n; i++)
			lines_of_doc(&s->doc[i], &s->settings, s->rules, &want);
		lines_sort(&want);
		bool same = got.n == want.n;
		for (size_t i = 0; same && i < got.n; i++)
			same = strcmp(got.line[i], want.line[i]) == 0;
		lines_free(&want);
		if (same)
			found = stage;
	}
	lines_free(&got);
	assert_int_not_equal(found, UINT32_MAX);
	return found;
}

/* No file is left that is no part of the index. */
static void assert_tidy(struct shelf *s)
{
	struct err err;
	struct words_reader *r;
	size_t n, deletes = 0;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	const struct words_part *part = words_parts(r, &n);
	for (size_t i = 0; i < n; i++)
		deletes += part[i].deleted_docs != 0;
	assert_int_equal(files_in(s->folder, ".words"), n);
	assert_int_equal(files_in(s->folder, ".gone"), deletes);
	words_close(&r);
}

static void run_stages(struct shelf *s, atomic_uint *acknowledged)
{
	struct err err;
	struct words_writer *w = try_writer(s, &err);
	ENSURE(w);
	for (unsigned stage = 0; stage < STAGES; stage++) {
		ENSURE(do_stage(s, stage, w, &err) == 0);
		atomic_store(acknowledged, stage + 1);
		if (stage % 2)
			ENSURE(words_merge_all(w, &err) == 0);
	}
	words_writer_close(&w);
}

static void new_folder(struct shelf *s)
{
	static unsigned number;
	snprintf(s->folder, sizeof s->folder, "%s/fault%u", scratch_dir, number++);
}

/* The shelf at the beginning, with documents of its own from then on. */
static struct shelf *new_shelf(struct plan *plan)
{
	struct shelf *s = mem_copy(plan->after[0], sizeof *s);
	s->arena = ARENA_INIT(SIZE_MAX);
	new_folder(s);
	for (unsigned stage = 0; stage <= STAGES; stage++)
		memcpy(plan->after[stage]->folder, s->folder, sizeof s->folder);
	return s;
}

/* true: the child was killed at the point. */
static bool kill_at(struct plan *plan, const char *point, unsigned n)
{
	struct err err;
	atomic_uint *acknowledged = mmap(NULL, sizeof *acknowledged, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shelf *s = new_shelf(plan);
	pid_t pid = fork();
	if (pid == 0) {
		char spec[100];
		snprintf(spec, sizeof spec, "%s=kill@%u", point, n);
		ENSURE(fault_arm(spec, &err) == 0);
		run_stages(s, acknowledged);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bool killed = WIFSIGNALED(status);
	assert_true(killed ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
	unsigned stage = stage_of(plan);
	assert_in_range(stage, atomic_load(acknowledged), atomic_load(acknowledged) + killed);

	struct words_writer *w = try_writer(plan->after[stage], &err);
	assert_non_null(w);
	assert_tidy(s);
	assert_int_equal(stage_of(plan), stage);
	copy_shelf(s, plan->after[stage]);
	if (stage < STAGES) {
		assert_int_equal(do_stage(s, stage, w, &err), 0);
		assert_int_equal(stage_of(plan), stage + 1);
	}
	words_writer_close(&w);
	(void)munmap(acknowledged, sizeof *acknowledged);
	arena_free(&s->arena);
	mem_free(&s);
	return killed;
}

/* Every call in `make prove`, or every few. */
static unsigned kill_step(void)
{
	return unit_thorough() ? 1 : 7;
}

static void a_kill_at_any_named_point_leaves_a_whole_commit(void **state)
{
	static const char *const points[] = {"words.segment",   "words.deletes", "words.manifest",
					     "words.published", "words.removed", "words.merged"};
	struct plan plan = make_plan(*state);
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		unsigned n = 1;
		while (kill_at(&plan, points[i], n))
			n += kill_step();
		assert_true(n > 1);
	}
	free_plan(&plan);
}

static void a_kill_at_any_call_of_the_file_layer_leaves_a_whole_commit(void **state)
{
	static const char *const points[] = {"file.open", "file.write", "file.sync", "file.rename"};
	struct plan plan = make_plan(*state);
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		unsigned n = 1;
		while (kill_at(&plan, points[i], n))
			n += kill_step() * (i == 0 ? 3 : 1);
		assert_true(n > 1);
	}
	free_plan(&plan);
}

static struct manifest manifest_of(const struct shelf *s)
{
	struct manifest m;
	struct err err;
	assert_int_equal(manifest_read(s->folder, &m, NULL, &err), 0);
	manifest_free(&m);
	return m;
}

/* One stage with the n-th call failing. false: no call failed. */
static bool fail_at(struct plan *plan, const char *point, const char *action, unsigned n)
{
	struct err err;
	char spec[100];
	struct shelf *s = new_shelf(plan);
	struct words_writer *w = try_writer(s, &err);
	assert_non_null(w);
	assert_int_equal(do_stage(s, 0, w, &err), 0);
	snprintf(spec, sizeof spec, "%s=%s@%u", point, action, n);
	struct manifest before = manifest_of(s);
	assert_int_equal(fault_arm(spec, &err), 0);
	int rc = do_stage(s, 1, w, &err);
	bool fired = fault_fired() > 0;
	int merged = rc == 0 ? words_merge_all(w, &err) : 0;
	fired |= fault_fired() > 0;
	assert_int_equal(fault_arm(NULL, &err), 0);
	if (!fired)
		assert_true(rc == 0 && merged == 0);
	unsigned stage = stage_of(plan);
	assert_int_equal(stage, rc == 0 ? 2 : 1);
	/* Segments that others saw in a manifest that was taken back: no later one has their name.
	 */
	struct manifest after = manifest_of(s);
	if (rc < 0 && after.generation > before.generation)
		assert_true(after.next_id > before.next_id);
	/* It goes on as if nothing had been. */
	for (; stage < STAGES; stage++) {
		copy_shelf(s, plan->after[stage]);
		assert_int_equal(do_stage(s, stage, w, &err), 0);
		assert_int_equal(stage_of(plan), stage + 1);
	}
	words_writer_close(&w);
	w = try_writer(s, &err);
	assert_non_null(w);
	assert_tidy(s);
	words_writer_close(&w);
	assert_int_equal(stage_of(plan), STAGES);
	arena_free(&s->arena);
	mem_free(&s);
	return fired;
}

static void a_call_that_fails_gives_up_what_was_not_committed_and_no_more(void **state)
{
	static const struct {
		const char *point, *action;
	} faults[] = {{"file.open", "eio"}, {"file.write", "enospc"}, {"file.write", "short"},
		      {"file.sync", "eio"}, {"file.rename", "eio"},   {"file.read", "eio"}};
	struct plan plan = make_plan(*state);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		unsigned n = 1;
		while (fail_at(&plan, faults[i].point, faults[i].action, n))
			n += kill_step();
		assert_true(n > 1);
	}
	free_plan(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHELF_TEST(a_kill_at_any_named_point_leaves_a_whole_commit),
		SHELF_TEST(a_kill_at_any_call_of_the_file_layer_leaves_a_whole_commit),
		SHELF_TEST(a_call_that_fails_gives_up_what_was_not_committed_and_no_more),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
