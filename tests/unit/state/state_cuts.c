/* Files that are cut: after a restart nothing that a checkpoint knows is missing or changed, and
 * nothing half is visible. */
#include "unit/state/damage_unit.h"

/* Every byte of the last record, or of so much of the end of what has no records: notes as a whole,
 * the end of an index with its fence, of a last bucket what follows its text. Then in steps. Every
 * FEWERth of those bytes, but in `make prove`. */
enum { EVERY = 130, MOST = 1200, STEP = 97, FEWER = 5 };

static uint64_t bytes_one_by_one(const char *path, uint64_t size)
{
	uint64_t at, next;
	last_record(path, &at, &next);
	return at < size ? size - at + 1 : EVERY;
}

static void a_file_cut_at_any_byte_of_its_end_costs_nothing_that_a_checkpoint_knows(void **state)
{
	(void)state;
	const char *whole = scratch("whole"), *copy = scratch("copy");
	const uint64_t near = unit_thorough() ? 1 : FEWER;
	play_some(whole, KNOWN, MORE);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		path_in(whole, files[i].name, path);
		uint64_t size = size_of(path);
		assert_true(size > 0);
		uint64_t every = bytes_one_by_one(path, size);
		path_in(copy, files[i].name, path);
		for (uint64_t cut = 1; cut <= MIN(size, (uint64_t)MOST);
		     cut += cut < every ? near : STEP) {
			fresh_copy(whole, copy);
			own_file(path);
			assert_int_equal(0, truncate(path, (off_t)(size - cut)));
			look(copy, files[i].name, size - cut, cut % 4 == 0, &seen);
		}
		if (strcmp(files[i].name, "objects") != 0)
			assert_int_equal(0, seen.lost);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_file_cut_at_any_byte_of_its_end_costs_nothing_that_a_checkpoint_knows),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
