/* Files that are cut: after a restart nothing that a checkpoint knows is missing or changed, and
 * nothing half is visible. */
#include "unit/shepherd/damage_unit.h"

/* Records have less than this, and so have the ends of files that are no records; a last bucket and
 * a last block of an index have more, of which every byte more counts the less. */
enum { EVERY = 170, MOST = 1200, STEP = 97 };

static void a_file_cut_at_any_byte_of_its_end_costs_nothing_that_a_checkpoint_knows(void **state)
{
	(void)state;
	const char *whole = scratch("whole"), *copy = scratch("copy");
	play_some(whole, KNOWN, MORE);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[PATH_MAX];
		struct seen seen = {0};
		path_in(whole, files[i].name, path);
		uint64_t size = size_of(path);
		assert_true(size > 0);
		path_in(copy, files[i].name, path);
		for (uint64_t cut = 1; cut <= MIN(size, (uint64_t)MOST);
		     cut += cut < EVERY ? 1 : STEP) {
			fresh_copy(whole, copy);
			unshare(path);
			assert_int_equal(0, truncate(path, (off_t)(size - cut)));
			look(copy, files[i].name, size - cut, &seen);
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
