/* Whatever was changed in a file or lost: after a restart nothing before the last checkpoint is
 * missing or changed where it can be had again, nothing half is visible, and damage is named. */
#include "unit/dice.h"
#include "unit/state/damage_unit.h"

static void flip(const char *path, uint64_t at, unsigned bit)
{
	struct err err = {0};
	struct file f;
	char c;
	size_t n;
	MUST(file_open(&f, path, O_RDWR, 0, &err));
	MUST(file_read(&f, &c, 1, at, &n, &err));
	assert_int_equal(1, n);
	c = (char)(c ^ (1 << bit));
	MUST(file_write(&f, &c, 1, at, &err));
	file_drop(&f);
}

/* A torn slot is what a crash leaves, not damage: another has what it lost. */
static bool has_a_copy(const char *file)
{
	return strcmp(file, "checkpoints") == 0;
}

/* Between the header of an index and its first block. */
static bool is_zero(const char *file, uint64_t at)
{
	return strcmp(file, "index") == 0 && at >= 32 && at < 4096;
}

/* Every byte of small files, some of large ones; every fifth of those, but in `make prove`. */
static void a_damaged_byte_anywhere_is_named_or_does_not_matter(void **state)
{
	(void)state;
	enum { SOME = 40, SMALL = 150 };
	const char *whole = scratch("sound"), *copy = scratch("flipped");
	uint64_t seed = 4711, step = unit_thorough() ? 1 : 5;
	play_some(whole, KNOWN, 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		struct err err = {0};
		path_in(whole, files[i].name, path);
		uint64_t size = size_of(path), rounds = size <= SMALL ? size : SOME;
		assert_true(size > 0);
		unsigned meant = 0;
		uint64_t begins, known; /* what follows the last record says nothing */
		last_record(path, &begins, &known);
		path_in(copy, files[i].name, path);
		for (uint64_t k = 0; k < rounds; k += step) {
			uint64_t at = rounds == size ? k : dice(&seed) % size;
			fresh_copy(whole, copy);
			own_file(path);
			flip(path, at, k % 8);
			/* garner check says so, or recovery, or who follows hears of it */
			bool named = format_verify(files[i].format, path, &err) < 0;
			unsigned before = seen.damaged + seen.heard;
			look(copy, files[i].name, at, true, &seen);
			bool says = at < known && !is_zero(files[i].name, at);
			meant += says;
			if (!named && seen.damaged + seen.heard == before && says &&
			    !has_a_copy(files[i].name))
				fail_msg("%s at %" PRIu64 ": sound", files[i].name, at);
		}
		/* what is read at every start; others are found when they are read */
		static const char *const read[] = {"journal", "contrib", "control", "plan",
						   "index",   "sites",   "gone"};
		for (size_t k = 0; k < ARRAY_LEN(read); k++)
			if (strcmp(files[i].name, read[k]) == 0)
				assert_true(seen.damaged >=
					    meant); /* also what follows the last record */
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
		const char *file = files[i].name;
		if (strcmp(file, "objects") == 0)
			continue; /* without buckets there is nothing to make anything of */
		fresh_copy(whole, copy);
		path_in(copy, file, path);
		assert_int_equal(0, unlink(path));
		look(copy, file, 0, true, &seen);
		if (strcmp(file, "gone") != 0)
			assert_true(seen.damaged + seen.rebuilt + seen.heard > 0);
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
	look(copy, "state", 0, true, &seen);
	assert_int_equal(1, seen.rebuilt);
	assert_int_equal(0, tree_remove(path, &err)); /* not even its folder is left */
	look(copy, "state", 0, true, &seen);
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
	look(folder, "state", 0, true, &seen);
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
	look(folder, "state", 0, true, &seen);
	assert_int_equal(0, seen.damaged + seen.rebuilt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_byte_anywhere_is_named_or_does_not_matter),
		cmocka_unit_test(a_lost_file_is_made_again_or_named),
		cmocka_unit_test(without_any_state_all_is_made_from_the_buckets),
		cmocka_unit_test(no_empty_state_is_made_over_buckets),
		cmocka_unit_test(damage_in_one_file_does_not_hide_that_in_another),
		cmocka_unit_test(without_the_bucket_file_nothing_is_forgotten),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
