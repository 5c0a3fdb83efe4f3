#include "fetch/bot/botm_names.h"
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/file.h"
#include "disk/tree.h"
#include "store/small.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct err err;

static struct botm_names *names_open(const char *data, const char *folder,
				     struct botm_names_found *found)
{
	struct botm_names *n = NULL;
	if (botm_names_open(&n, data, folder, found, &err) < 0)
		fail_msg("%s", err.msg);
	return n;
}

static void names_close(struct botm_names **n)
{
	if (botm_names_close(n, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct botm_name name_given(struct botm_names *n)
{
	struct botm_name name;
	if (botm_names_give(n, &name, &err) < 0)
		fail_msg("%s", err.msg);
	return name;
}

static const char *file_of(const char *folder, struct botm_name name)
{
	static char path[512];
	char text[BOTM_NAME_ROOM];
	botm_name_print(name, text);
	snprintf(path, sizeof path, "%s/%s", folder, text);
	return path;
}

static void file_make(const char *folder, struct botm_name name)
{
	struct file f = FILE_INIT;
	if (file_open(&f, file_of(folder, name), O_WRONLY | O_CREAT | O_EXCL, 0600, &err) != 0 ||
	    file_write(&f, "page", 4, 0, &err) < 0)
		fail_msg("%s", err.msg);
	file_drop(&f);
}

static bool file_is_there(const char *folder, struct botm_name name)
{
	return access(file_of(folder, name), F_OK) == 0;
}

/* Gives a name and makes its file. */
static struct botm_name file_given(struct botm_names *n, const char *folder, enum botm_place place)
{
	struct botm_name name = name_given(n);
	file_make(folder, name);
	botm_names_put(n, name, place);
	return name;
}

static void must_be(struct botm_name name, uint32_t number, uint32_t generation)
{
	assert_int_equal(name.number, number);
	assert_int_equal(name.generation, generation);
}

static void names_have_one_form(void **state)
{
	static const struct {
		const char *text;
		struct botm_name name;
	} good[] = {
		{"000000/000", {0, 1}},        {"000012/345", {12345, 1}},
		{"000012/345.2", {12345, 2}},  {"999999/999.1073741823", {999999999, 1073741823}},
		{"000001/000.10", {1000, 10}},
	};
	static const char *const bad[] = {
		"",
		"000012",
		"000012/",
		"000012/34",
		"12/345",
		"000012/345.",
		"000012/345.1",
		"000012/345.0",
		"000012/345.02",
		"/000012/345",
		"000012/345/1",
		"000012/345.1073741824",
		"000012/+45",
		"000012/345.2.part",
		"1000000/000",
		"000012/345 ",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char text[BOTM_NAME_ROOM];
		struct botm_name name;
		assert_true(botm_name_parse(str_of(good[i].text), &name));
		assert_int_equal(name.number, good[i].name.number);
		assert_int_equal(name.generation, good[i].name.generation);
		botm_name_print(name, text);
		assert_string_equal(text, good[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct botm_name name;
		if (botm_name_parse(str_of(bad[i]), &name))
			fail_msg("'%s' is taken for a name", bad[i]);
	}
}

static void a_name_is_used_again_in_another_generation(void **state)
{
	(void)state;
	const char *data = scratch("again"), *folder = scratch("again.files");
	struct botm_names *n = names_open(data, folder, NULL);
	for (uint32_t i = 0; i < BOTM_BLOCK; i++)
		must_be(name_given(n), i, 1);
	assert_int_equal(botm_names_count(n, BOTM_OPEN), BOTM_BLOCK);
	botm_names_put(n, (struct botm_name){5, 1}, BOTM_FREE);
	botm_names_put(n, (struct botm_name){7, 1}, BOTM_FREE);
	assert_int_equal(botm_names_count(n, BOTM_FREE), 2);
	must_be(name_given(n), 5, 2);
	must_be(name_given(n), 7, 2);
	must_be(name_given(n), BOTM_BLOCK, 1);
	names_close(&n);
}

static void a_start_frees_what_has_no_file_and_sweeps_the_folder(void **state)
{
	(void)state;
	const char *data = scratch("start"), *folder = scratch("start.files");
	struct botm_names_found found;
	struct botm_name open, late = {4, 1};
	size_t at = 0;
	struct botm_names *n = names_open(data, folder, NULL);
	struct botm_name given = name_given(n);
	struct botm_name stored = file_given(n, folder, BOTM_OPEN);
	struct botm_name kept = file_given(n, folder, BOTM_KEPT);
	struct botm_name freed = file_given(n, folder, BOTM_FREE); /* killed before it was gone */
	assert_int_equal(
		file_replace(scratch("start.files/000000/000.9.part"), STR(""), 0600, &err), 0);
	assert_int_equal(file_replace(scratch("start.files/000000/notes"), STR(""), 0600, &err), 0);
	assert_int_equal(botm_names_flush(n, &err), 0);
	names_close(&n);

	n = names_open(data, folder, &found);
	assert_false(found.has_lost);
	assert_int_equal(found.freed, BOTM_BLOCK - 3);
	assert_int_equal(found.removed, 2);
	assert_int_equal(botm_names_next_open(n, &at, &open), 0);
	must_be(open, stored.number, stored.generation);
	assert_int_equal(botm_names_next_open(n, &at, &open), 1);
	assert_true(file_is_there(folder, kept) && !file_is_there(folder, freed));
	assert_int_equal(access(scratch("start.files/000000/notes"), F_OK), 0);
	assert_int_equal(botm_names_place(n, kept.number), BOTM_KEPT);
	must_be(name_given(n), given.number, 2);
	must_be(name_given(n), freed.number, 2);
	struct botm_name again = file_given(n, folder, BOTM_KEPT);
	must_be(again, late.number, 2);
	names_close(&n);

	/* a robot that was late */
	file_make(folder, late);
	n = names_open(data, folder, &found);
	assert_int_equal(found.removed, 1);
	assert_true(file_is_there(folder, again) && !file_is_there(folder, late));
	names_close(&n);
}

static void a_block_whose_names_are_all_kept_has_no_row(void **state)
{
	(void)state;
	const char *data = scratch("kept"), *folder = scratch("kept.files");
	struct botm_names_found found;
	struct botm_names *n = names_open(data, folder, NULL);
	for (uint32_t i = 0; i < BOTM_BLOCK; i++)
		botm_names_put(n, name_given(n), BOTM_KEPT);
	assert_int_equal(botm_names_flush(n, &err), 0);
	/* but the last one has: which names were given is known without the folder */
	names_close(&n);
	assert_int_equal(tree_remove(folder, &err), 0);
	n = names_open(data, folder, &found);
	assert_false(found.has_lost);
	struct botm_name next = name_given(n);
	must_be(next, BOTM_BLOCK, 1);
	assert_int_equal(botm_names_flush(n, &err), 0);
	assert_false(botm_names_is_own(n, (struct botm_name){3, 1}));
	assert_true(botm_names_is_own(n, next));
	/* and gets one again with its first free name */
	botm_names_put(n, (struct botm_name){3, 4}, BOTM_FREE);
	names_close(&n);
	n = names_open(data, folder, &found);
	assert_int_equal(botm_names_place(n, 2), BOTM_KEPT);
	assert_int_equal(botm_names_place(n, 3), BOTM_FREE);
	struct botm_name again = name_given(n);
	while (again.number != 3)
		again = name_given(n);
	must_be(again, 3, 5);
	names_close(&n);
}

static void without_its_rows_a_folder_keeps_what_is_in_it(void **state)
{
	(void)state;
	const char *data = scratch("lost"), *folder = scratch("lost.files");
	struct botm_names_found found;
	struct botm_names *n = names_open(data, folder, NULL);
	struct botm_name stored = file_given(n, folder, BOTM_OPEN);
	struct botm_name kept = file_given(n, folder, BOTM_KEPT);
	names_close(&n);
	assert_int_equal(tree_remove(data, &err), 0);
	n = names_open(data, folder, &found);
	assert_true(found.has_lost);
	assert_true(file_is_there(folder, stored) && file_is_there(folder, kept));
	assert_int_equal(botm_names_place(n, stored.number), BOTM_KEPT);
	must_be(name_given(n), BOTM_BLOCK, 1);
	names_close(&n);
	n = names_open(data, folder, &found);
	assert_false(found.has_lost);
	names_close(&n);
}

/* It would take all names that are left. */
static void an_empty_folder_far_away_is_passed_over(void **state)
{
	(void)state;
	const char *data = scratch("far"), *folder = scratch("far.files");
	struct botm_names_found found;
	struct botm_names *n = names_open(data, folder, NULL);
	for (uint32_t i = 0; i < BOTM_BLOCK; i++)
		botm_names_put(n, name_given(n), BOTM_KEPT);
	assert_int_equal(botm_names_flush(n, &err), 0);
	names_close(&n);
	assert_int_equal(dir_make(scratch("far.files/999999"), 0700, &err), 0);
	n = names_open(data, folder, &found);
	assert_false(found.has_lost);
	must_be(name_given(n), BOTM_BLOCK, 1);
	names_close(&n);
	/* one close by may be of names that were given, and have no row any more */
	assert_int_equal(dir_make(scratch("far.files/000007"), 0700, &err), 0);
	n = names_open(data, folder, &found);
	assert_true(found.has_lost);
	names_close(&n);
}

static void database_copy(const char *from, const char *to)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20);
	if (file_slurp(from, &bytes, &err) != 0 ||
	    file_replace(to, buf_str(&bytes), 0600, &err) < 0)
		fail_msg("%s", err.msg);
}

static void with_older_rows_a_folder_keeps_what_is_in_it(void **state)
{
	(void)state;
	const char *data = scratch("older"), *folder = scratch("older.files");
	const char *now = scratch("older/" SMALL_FILE), *before = scratch("older.db");
	struct botm_names_found found;
	struct botm_names *n = names_open(data, folder, NULL);
	(void)name_given(n);
	names_close(&n);
	n = names_open(data, folder, NULL); /* all are free */
	names_close(&n);
	database_copy(now, before);
	n = names_open(data, folder, NULL);
	struct botm_name kept = file_given(n, folder, BOTM_KEPT);
	must_be(kept, 0, 2);
	names_close(&n);
	database_copy(before, now);
	n = names_open(data, folder, &found);
	assert_true(found.has_lost);
	assert_true(file_is_there(folder, kept));
	struct botm_name next = name_given(n);
	assert_int_equal(next.number, 1);
	assert_true(next.generation > 10000); /* minutes */
	names_close(&n);
}

static void two_botms_do_not_share_a_folder(void **state)
{
	(void)state;
	const char *data = scratch("two"), *folder = scratch("two.files");
	struct botm_names *n = names_open(data, folder, NULL), *other = NULL;
	assert_true(botm_names_open(&other, data, folder, NULL, &err) < 0);
	assert_int_equal(err.code, ERR_BUSY);
	assert_non_null(strstr(err.msg, "botm.folder"));
	/* but a database */
	other = names_open(data, scratch("two.more"), NULL);
	must_be(name_given(n), 0, 1);
	must_be(name_given(other), 0, 1);
	names_close(&other);
	names_close(&n);
}

#ifdef GARNER_FAULTS
/* Killed at each point, by a child that says in shared memory what it has promised. */

enum { NAMES = 6000 };
/* GONE: a kill came between the end of a kept file and what is said of it. Its name is nobody's. */
enum promised { NOTHING, GIVEN, STORED, KEPT, GONE };

struct promise {
	struct {
		enum promised is;
		uint32_t generation; /* that it was last given with */
		bool moving;         /* the next step was begun */
	} name[NAMES];
	uint32_t names;
};

static void child_remove(struct botm_names *n, struct botm_name name, const char *folder)
{
	if (file_remove(file_of(folder, name), &err) < 0)
		abort();
	FAULT("botm.remove");
	botm_names_put(n, name, BOTM_FREE);
	if (botm_names_flush(n, &err) < 0)
		abort();
}

static void child_give(struct botm_names *n, struct promise *p)
{
	struct botm_name name;
	if (botm_names_give(n, &name, &err) < 0 || name.number >= NAMES)
		abort();
	/* the promise that counts most: never the same name twice */
	if (name.generation <= p->name[name.number].generation)
		abort();
	p->name[name.number].is = GIVEN;
	p->name[name.number].generation = name.generation;
	p->names = MAX(p->names, name.number + 1);
}

static void child_step(struct botm_names *n, struct promise *p, uint64_t *seed, const char *folder)
{
	uint32_t i = p->names ? (uint32_t)(dice(seed) % p->names) : 0;
	if (p->names == 0 || p->name[i].is == NOTHING || p->name[i].is == GONE ||
	    dice(seed) % 3 == 0) {
		child_give(n, p);
		return;
	}
	struct botm_name name = {i, p->name[i].generation};
	enum promised next = NOTHING;
	p->name[i].moving = true;
	if (p->name[i].is == GIVEN && dice(seed) % 4) {
		file_make(folder, name);
		next = STORED;
	} else if (p->name[i].is == GIVEN) {
		botm_names_put(n, name, BOTM_FREE);
	} else if (p->name[i].is == STORED && dice(seed) % 4) {
		botm_names_put(n, name, BOTM_KEPT);
		if (botm_names_flush(n, &err) < 0)
			abort();
		next = KEPT;
	} else {
		child_remove(n, name, folder);
	}
	p->name[i].is = next;
	p->name[i].moving = false;
}

static void child_run(const char *faults, struct promise *p, const char *data, const char *folder,
		      uint64_t seed)
{
	struct botm_names *n = NULL;
	if (fault_arm(faults, &err) < 0 || botm_names_open(&n, data, folder, NULL, &err) < 0)
		abort();
	for (int i = 0; i < 3000; i++)
		child_step(n, p, &seed, folder);
	_exit(0);
}

static bool is_killed(const char *faults, struct promise *p, const char *data, const char *folder,
		      uint64_t seed)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		child_run(faults, p, data, folder, seed);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!was_killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		fail_msg("%s: the child ended with %x", faults, status);
	return was_killed;
}

static void promises_must_hold(struct promise *p, const char *data, const char *folder)
{
	static const enum botm_place after[] = {BOTM_FREE, BOTM_FREE, BOTM_OPEN, BOTM_KEPT,
						BOTM_KEPT};
	struct botm_names_found found;
	struct botm_names *n = names_open(data, folder, &found);
	assert_false(found.has_lost);
	for (uint32_t i = 0; i < p->names; i++) {
		enum botm_place place = botm_names_place(n, i);
		const struct botm_name name = {i, p->name[i].generation};
		if (!p->name[i].moving && place != after[p->name[i].is])
			fail_msg("name %u: promised %d, is %d", i, p->name[i].is, place);
		bool is_there = name.generation && file_is_there(folder, name);
		if (p->name[i].moving && place == BOTM_KEPT && !is_there)
			p->name[i].is = GONE;
		if (is_there != (place != BOTM_FREE && p->name[i].is != GONE))
			fail_msg("name %u: is %d, and its file %d", i, place, is_there);
		if (p->name[i].is != GONE)
			p->name[i].is = place == BOTM_FREE   ? NOTHING
					: place == BOTM_OPEN ? STORED
							     : KEPT;
		p->name[i].moving = false;
	}
	names_close(&n);
}

static void killed_at_every_point_no_name_is_lost_or_given_twice(void **state)
{
	static const char *const points[] = {"botm.flush",     "botm.reserve", "botm.reserved",
					     "botm.remove",    "botm.sweep",   "small.commit",
					     "small.committed"};
	(void)state;
	const char *data = scratch("killed"), *folder = scratch("killed.files");
	struct promise *p =
		mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		bool is_sweep = strcmp(points[i], "botm.sweep") == 0;
		unsigned kills = 0;
		for (unsigned at = 1; at < (unit_thorough() ? 40u : 5u); at++) {
			char faults[64];
			snprintf(faults, sizeof faults, "%s=kill@%u", points[i],
				 is_sweep || at < 3 ? 1 : at * 7);
			if (is_sweep) /* a file of a robot that nobody waits for */
				assert_int_equal(file_replace(scratch("killed.files/000000/1.part"),
							      STR(""), 0600, &err),
						 0);
			kills += is_killed(faults, p, data, folder, 99 + at);
			promises_must_hold(p, data, folder);
		}
		if (kills == 0)
			fail_msg("%s was never passed", points[i]);
	}
	munmap(p, sizeof *p);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form),
		cmocka_unit_test(a_name_is_used_again_in_another_generation),
		cmocka_unit_test(a_start_frees_what_has_no_file_and_sweeps_the_folder),
		cmocka_unit_test(a_block_whose_names_are_all_kept_has_no_row),
		cmocka_unit_test(an_empty_folder_far_away_is_passed_over),
		cmocka_unit_test(without_its_rows_a_folder_keeps_what_is_in_it),
		cmocka_unit_test(with_older_rows_a_folder_keeps_what_is_in_it),
		cmocka_unit_test(two_botms_do_not_share_a_folder),
#ifdef GARNER_FAULTS
		cmocka_unit_test(killed_at_every_point_no_name_is_lost_or_given_twice),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
