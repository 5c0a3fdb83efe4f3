/* What stands after a failed call, or a kill, at any point of the file layer: the last commit, or
 * the one that was being made, whole. */
#include "names_sites.h"

#include "base/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char folder[512];

static void new_folder(void)
{
	static unsigned number;
	snprintf(folder, sizeof folder, "%s/%u", scratch_dir, number++);
}

/* Each stage commits once, or merges; afterwards the index has just these files. */
enum { STAGES = 7 };
static const char *const after[STAGES + 1] = {
	"",
	"a-1 d/one=1\na-1 d/two\na-1 three\n",
	"a-1 d/one=1\na-1 d/two\na-1 three\nb-1 x\n",
	"a-1 d/one=2\na-1 e/four\nb-1 x\n",
	"a-1 d/one=2\na-1 e/four\nb-1 x\nc-1 y\nc-1 z\n",
	"a-1 d/one=2\na-1 e/four\nc-1 y\nc-1 z\n",
	"a-1 d/one=2\na-1 e/four\nc-1 y\nc-1 z\n",
	"a-1 last\nc-1 y\nc-1 z\n",
};

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int do_stage(struct names_writer *w, unsigned stage, struct err *err)
{
	switch (stage) {
	case 0:
		return site_try(w, "a-1", PATHS("d/one=1", "d/two", "three"), err);
	case 1:
		return site_try(w, "b-1", PATHS("x"), err);
	case 2:
		return site_try(w, "a-1", PATHS("d/one=2", "e/four"), err);
	case 3:
		return site_try(w, "c-1", PATHS("y", "z"), err);
	case 4:
		return MIN(names_remove(w, STR("b-1"), err), 0);
	case 5:
		return MIN(names_merge_all(w, err), 0);
	default:
		return site_try(w, "a-1", PATHS("last"), err);
	}
}

/* Sound, found by the index and as after the stage. */
static void assert_stage(unsigned stage)
{
	struct names_reader *r = NULL;
	struct err err;
	int rc = names_open(&r, folder, &err);
	if (rc == 1 && stage == 0)
		return;
	assert_int_equal(rc, 0);
	if (names_problem(r))
		fail_msg("%s", names_problem(r));
	assert_reader(r, after[stage]);
	names_close(&r);
}

static bool is_stage(unsigned stage)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct names_reader *r = NULL;
	struct err err;
	if (names_open(&r, folder, &err) == 0)
		site_lines(r, &got);
	names_close(&r);
	return str_is(buf_str(&got), after[stage]);
}

/* Links by key are those of the manifest, and nothing else lies around. */
static void assert_tidy(void)
{
	struct names_manifest m;
	struct err err;
	assert_int_equal(names_manifest_read(folder, &m, NULL, &err), 0);
	assert_int_equal(site_files(folder), m.sites * 5 + m.layers + m.gones);
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		struct dir d;
		char *path = names_path(folder, names_part_name[i]);
		assert_int_equal(dir_init(&d, path, &err), 0);
		assert_int_equal(d.n, m.sites);
		dir_done(&d);
		mem_free(&path);
		for (size_t k = 0; k < m.sites; k++) {
			struct stat a, b;
			char *own = names_generation_path(folder, m.site[k].about.generation,
							  names_part_name[i]);
			path = names_key_path(folder, i, m.site[k].about.key);
			assert_int_equal(stat(own, &a), 0);
			assert_int_equal(stat(path, &b), 0);
			assert_int_equal(a.st_ino, b.st_ino);
			mem_free(&own);
			mem_free(&path);
		}
	}
	names_manifest_free(&m);
}

/* All stages with the n-th call failing. false: no call failed. */
static bool fail_at(const char *point, const char *action, unsigned n)
{
	struct err err;
	char spec[sizeof folder + 100];
	new_folder();
	struct names_writer *w = site_writer(folder);
	snprintf(spec, sizeof spec, "%s/%s=%s@%u", point, folder, action, n);
	assert_int_equal(fault_arm(spec, &err), 0);
	bool fired = false;
	for (unsigned stage = 0; stage < STAGES; stage++) {
		int rc = do_stage(w, stage, &err);
		bool now = !fired && fault_fired() > 0;
		fired |= now;
		assert_true(rc == 0 || now);
		if (rc < 0) {
			/* it stands as it was, and the same works the next time */
			assert_true(err.code == ERR_SYSTEM);
			assert_stage(stage);
			assert_int_equal(do_stage(w, stage, &err), 0);
		}
		if (now)
			assert_stage(stage + 1);
	}
	assert_int_equal(fault_arm(NULL, &err), 0);
	names_writer_close(&w);
	assert_stage(STAGES);
	w = site_writer(folder);
	assert_tidy();
	names_writer_close(&w);
	assert_stage(STAGES);
	return fired;
}

/* Memory is what it costs: with ASan, which is slow at that, less often. */
static unsigned fault_step(void)
{
#if defined(__SANITIZE_ADDRESS__)
	return unit_thorough() ? 5 : 499;
#else
	return unit_thorough() ? 1 : 61;
#endif
}

static void a_call_that_fails_gives_up_what_was_not_committed_and_no_more(void **state)
{
	(void)state;
	static const struct {
		const char *point, *action;
	} faults[] = {{"file.open", "eio"}, {"file.write", "enospc"}, {"file.write", "short"},
		      {"file.sync", "eio"}, {"file.rename", "eio"},   {"file.read", "eio"}};
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		unsigned n = 1;
		while (fail_at(faults[i].point, faults[i].action, n))
			n += fault_step();
		assert_true(n > 1);
	}
}

static void run_stages(atomic_uint *done)
{
	struct err err;
	struct names_writer *w = site_writer(folder);
	for (unsigned stage = 0; stage < STAGES; stage++) {
		if (do_stage(w, stage, &err) < 0)
			_exit(1);
		atomic_store(done, stage + 1);
	}
	names_writer_close(&w);
}

/* true: the child was killed there. */
static bool kill_at(const char *point, unsigned n)
{
	struct err err;
	atomic_uint *done =
		mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	new_folder();
	pid_t pid = fork();
	if (pid == 0) {
		char spec[100];
		snprintf(spec, sizeof spec, "%s=kill@%u", point, n);
		ENSURE(fault_arm(spec, &err) == 0);
		run_stages(done);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bool killed = WIFSIGNALED(status);
	assert_true(killed ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
	unsigned stage = atomic_load(done);
	if (killed && !is_stage(stage))
		stage++; /* committed, and not yet said so */
	assert_stage(stage);
	struct names_writer *w = site_writer(folder);
	assert_tidy();
	assert_stage(stage);
	for (; stage < STAGES; stage++) {
		assert_int_equal(do_stage(w, stage, &err), 0);
		assert_stage(stage + 1);
	}
	names_writer_close(&w);
	(void)munmap(done, sizeof *done);
	return killed;
}

static void a_kill_at_any_call_leaves_a_whole_commit(void **state)
{
	(void)state;
	static const char *const points[] = {"file.open", "file.write", "file.sync", "file.rename"};
#if defined(__SANITIZE_ADDRESS__)
	if (!unit_thorough())
		skip(); /* what is killed leaves the sanitizer nothing to say */
#endif
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		unsigned n = 1;
		while (kill_at(points[i], n))
			n += fault_step() * (i == 0 ? 4 : 1);
		assert_true(n > 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_fails_gives_up_what_was_not_committed_and_no_more),
		cmocka_unit_test(a_kill_at_any_call_leaves_a_whole_commit),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
