#include "fetch/botm_files.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "fetch/bot/botm_names.h"

static struct err err;

static void file_make(const char *folder, const char *name)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(dir_make(path, 0755, &err), 0);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(file_replace(path, STR("page"), 0644, &err), 0);
}

/* A name in a place, with its file. */
static void name_put(struct botm_names *names, const char *folder, enum botm_place place)
{
	struct botm_name name;
	char text[BOTM_NAME_ROOM];
	assert_int_equal(botm_names_give(names, &name, &err), 0);
	botm_names_put(names, name, place);
	botm_name_print(name, text);
	file_make(folder, text);
}

static void only_kept_and_lost_files_that_the_source_does_not_know_are_named(void **state)
{
	(void)state;
	const char *folder = scratch("files");
	struct botm_files *files = NULL;
	struct botm_names *names = NULL;
	char name[BOT_FILE_MAX + 1];
	size_t at = 0;
	assert_int_equal(botm_files_open(&files, scratch_dir, folder, &err), 1);
	assert_int_equal(botm_names_open(&names, scratch_dir, folder, NULL, &err), 0);
	name_put(names, folder, BOTM_KEPT); /* 000000/000, which the source knows */
	name_put(names, folder, BOTM_KEPT); /* 000000/001, which it does not */
	name_put(names, folder, BOTM_OPEN); /* 000000/002 */
	name_put(names, folder, BOTM_FREE); /* 000000/003 */
	file_make(folder, "000007/123.5");  /* of a name that was never given */
	file_make(folder, "000000/notes");  /* not of a botm */
	assert_int_equal(botm_names_flush(names, &err), 0);

	assert_int_equal(botm_files_open(&files, scratch_dir, folder, &err), 0);
	assert_true(botm_files_known(files, STR("000000/000")));
	assert_false(botm_files_known(files, STR("000000/004")));
	assert_false(botm_files_known(files, STR("000000/000.2")));
	assert_false(botm_files_known(files, STR("../passwd")));
	file_make(folder, "000000/005"); /* after the look */
	assert_true(botm_files_known(files, STR("000000/005")));
	assert_int_equal(botm_files_next_unknown(files, &at, name), 0);
	assert_string_equal(name, "000000/001");
	assert_int_equal(botm_files_next_unknown(files, &at, name), 0);
	assert_string_equal(name, "000007/123.5");
	assert_int_equal(botm_files_next_unknown(files, &at, name), 1);
	botm_files_free(&files);
	assert_int_equal(botm_names_close(&names, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_kept_and_lost_files_that_the_source_does_not_know_are_named),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
