/* Whatever was cut or changed in a file: after a restart nothing before the last checkpoint is
 * missing or changed where it can be had again, nothing half is visible, and damage is named. */
#include "unit/dice.h"
#include "unit/shepherd/play_unit.h"

#include <unistd.h>

enum { KNOWN = 18, MORE = 4 };

static const char *const files[] = {"journal", "contrib", "changes", "checkpoints",
				    "last",    "control", "params",  "index",
				    "sites",   "objects", "gone"};

struct seen {
	unsigned damaged, rebuilt, lost;
};

/* Recovers the copy and looks at every page. exact: it has to be as at the last checkpoint, or
 * later; not so where the buckets themselves are damaged. */
static void look(const char *folder, const char *file, uint64_t at, struct seen *seen)
{
	struct play p;
	struct recovery told = {0};
	struct err err = {0};
	bool buckets = strcmp(file, "objects") == 0;
	if (play_open(&p, folder, PLAY_START + 1000000000, &told, &err) != 0)
		fail_msg("%s at %" PRIu64 ": %s", file, at, err.msg);
	/* never wrong bytes, and only of a damaged bucket file may something be missing: named now,
	 * or when it is read */
	int rc = play_check(&p, KNOWN, true, &err);
	if (rc < 0 && !(buckets && (told.damaged || err.code == ERR_DAMAGED)))
		fail_msg("%s at %" PRIu64 ": %s\n%s", file, at, err.msg, buf_text(&told.told));
	seen->lost += rc < 0;
	seen->damaged += told.damaged > 0;
	seen->rebuilt += told.rebuilt > 0;
	recovery_free(&told);
	if (at % 11) {
		play_close(&p);
		return;
	}
	/* and it goes on: another cycle, which a second start finds as it was left */
	struct play_model m = {0};
	if (play_begin(&p, &err) < 0 || play_op(&p, &m, 5000, &err) < 0 ||
	    play_checkpoint(&p, &err) < 0 || play_cork(&p, &err) < 0 || play_merge(&p, &err) < 0)
		fail_msg("%s at %" PRIu64 ": does not go on: %s", file, at, err.msg);
	play_close(&p);
	if (play_open(&p, folder, PLAY_START + 2000000000, &told, &err) != 0 || told.damaged)
		fail_msg("%s at %" PRIu64 ": not mended: %s", file, at, buf_text(&told.told));
	recovery_free(&told);
	play_close(&p);
}

static void a_file_cut_at_any_byte_of_its_end_costs_nothing_that_a_checkpoint_knows(void **state)
{
	(void)state;
	const char *whole = scratch("whole"), *copy = scratch("copy");
	play_some(whole, KNOWN, MORE);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		path_in(whole, files[i], path);
		uint64_t size = size_of(path);
		uint64_t step = size > 500 ? 97 : 1; /* large ones have large last records */
		uint64_t most = size > 50000 ? 300 : MIN(size, (uint64_t)1200);
		path_in(copy, files[i], path);
		for (uint64_t cut = 1; cut <= most; cut += cut < 40 ? 1 : step) {
			fresh_copy(whole, copy);
			assert_int_equal(0, truncate(path, (off_t)(size - cut)));
			look(copy, files[i], size - cut, &seen);
		}
		if (strcmp(files[i], "objects") != 0)
			assert_int_equal(0, seen.lost);
	}
}

static void a_damaged_byte_anywhere_is_named_or_does_not_matter(void **state)
{
	(void)state;
	const char *whole = scratch("sound"), *copy = scratch("flipped");
	uint64_t seed = 4711;
	play_some(whole, KNOWN, 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		path_in(whole, files[i], path);
		uint64_t size = size_of(path);
		if (size == 0)
			continue;
		path_in(copy, files[i], path);
		for (unsigned k = 0; k < 16; k++) {
			struct err err = {0};
			struct file f;
			char c;
			size_t n;
			uint64_t at = dice(&seed) % size;
			fresh_copy(whole, copy);
			MUST(file_open(&f, path, O_RDWR, 0, &err));
			MUST(file_read(&f, &c, 1, at, &n, &err));
			c = (char)(c ^ (1 << k % 8));
			MUST(file_write(&f, &c, 1, at, &err));
			file_drop(&f);
			look(copy, files[i], at, &seen);
		}
		/* what is read at every start; others are found when they are read */
		if (strcmp(files[i], "journal") == 0 || strcmp(files[i], "contrib") == 0 ||
		    strcmp(files[i], "control") == 0 || strcmp(files[i], "params") == 0)
			assert_int_equal(16, seen.damaged);
	}
}

static void a_lost_file_is_made_again_or_named(void **state)
{
	(void)state;
	const char *whole = scratch("there"), *copy = scratch("lost");
	play_some(whole, KNOWN, MORE);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		if (strcmp(files[i], "objects") == 0)
			continue; /* without buckets there is nothing to make anything of */
		fresh_copy(whole, copy);
		path_in(copy, files[i], path);
		bool there = access(path, F_OK) == 0;
		assert_true(!there || unlink(path) == 0);
		look(copy, files[i], 0, &seen);
		/* a log of checkpoints has a copy, and a copy the log */
		if (there && strcmp(files[i], "gone") != 0 &&
		    strcmp(files[i], "checkpoints") != 0 && strcmp(files[i], "last") != 0)
			assert_true(seen.damaged + seen.rebuilt > 0);
	}
}

static void without_any_state_all_is_made_from_the_buckets(void **state)
{
	(void)state;
	const char *whole = scratch("all"), *copy = scratch("none");
	struct err err = {0};
	struct seen seen = {0};
	char path[PATH_MAX];
	play_some(whole, KNOWN, 0);
	fresh_copy(whole, copy);
	snprintf(path, sizeof path, "%s/state", copy);
	assert_int_equal(0, tree_remove(path, &err));
	MUST(dir_make(path, 0755, &err));
	look(copy, "state", 0, &seen);
	assert_int_equal(1, seen.rebuilt);
	assert_int_equal(0, tree_remove(path, &err)); /* not even its folder is left */
	look(copy, "state", 0, &seen);
	assert_int_equal(2, seen.rebuilt);
}

static void no_empty_state_is_made_over_buckets(void **state)
{
	(void)state;
	const char *folder = scratch("over");
	struct err err = {0};
	struct states *s = NULL;
	struct seen seen = {0};
	char path[PATH_MAX];
	play_some(folder, KNOWN, 0);
	snprintf(path, sizeof path, "%s/state", folder);
	assert_int_equal(0, tree_remove(path, &err));
	assert_int_equal(-1, states_open(&s, folder, false, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	assert_int_equal(-1, states_init(folder, 0, PLAY_START, &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_non_null(strstr(err.msg, "recover"));
	look(folder, "state", 0, &seen);
	assert_int_equal(1, seen.rebuilt);
}

static void damage_in_one_file_does_not_hide_that_in_another(void **state)
{
	(void)state;
	static const char *const both[] = {"journal", "contrib"};
	const char *folder = scratch("both");
	struct err err = {0};
	struct play p;
	struct recovery told;
	char path[PATH_MAX];
	play_some(folder, KNOWN, MORE);
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		path_in(folder, both[i], path);
		FILE *f = fopen(path, "r+b");
		assert_non_null(f);
		assert_int_equal(0, fseek(f, 80, SEEK_SET));
		assert_int_equal(0xff, fputc(0xff, f));
		assert_int_equal(0, fclose(f));
	}
	MUST(play_open(&p, folder, PLAY_START + 1000000000, &told, &err));
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		assert_non_null(strstr(buf_text(&told.told), both[i]));
	recovery_free(&told);
	play_close(&p);
}

static void without_the_bucket_file_nothing_is_forgotten(void **state)
{
	(void)state;
	const char *folder = scratch("unmounted"), *aside = scratch("aside");
	struct err err = {0};
	struct play p;
	struct seen seen = {0};
	char path[PATH_MAX];
	play_some(folder, KNOWN, 0);
	path_in(folder, "objects", path);
	assert_int_equal(0, rename(path, aside));
	assert_int_equal(-1, play_open(&p, folder, PLAY_START + 1000000000, NULL, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	assert_non_null(strstr(err.msg, "put it back"));
	assert_int_not_equal(0, access(path, F_OK));
	assert_int_equal(0, rename(aside, path));
	look(folder, "state", 0, &seen);
	assert_int_equal(0, seen.damaged + seen.rebuilt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_file_cut_at_any_byte_of_its_end_costs_nothing_that_a_checkpoint_knows),
		cmocka_unit_test(a_damaged_byte_anywhere_is_named_or_does_not_matter),
		cmocka_unit_test(a_lost_file_is_made_again_or_named),
		cmocka_unit_test(without_any_state_all_is_made_from_the_buckets),
		cmocka_unit_test(no_empty_state_is_made_over_buckets),
		cmocka_unit_test(damage_in_one_file_does_not_hide_that_in_another),
		cmocka_unit_test(without_the_bucket_file_nothing_is_forgotten),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
