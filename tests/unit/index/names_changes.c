/* What those hear who follow the sites of a names index: directories that changed or went away
 * after a generation, and no others. */
#include "names_sites.h"

#include "base/clock.h"
#include "index/names/names_writer.h"

static char folder[512];

static int fresh_folder(void **state)
{
	(void)state;
	static unsigned number;
	snprintf(folder, sizeof folder, "%s/%u", scratch_dir, number++);
	return 0;
}

/* "-KEY:dir", "+KEY:dir" and with files that are left "-KEY:dir(1/2)", a line each. */
static void changes_of(struct names_reader *r, uint64_t after, struct buf *out)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_changes *c;
	struct names_change change;
	struct err err;
	int rc;
	assert_int_equal(names_changes_open(&c, r, after, &err), 0);
	while ((rc = names_changes_next(c, &arena, &change, &err)) == 0) {
		assert_true(change.generation > after);
		assert_true(change.generation <= names_generation(r));
		buf_printf(out, "%c" STR_FMT ":" STR_FMT, change.gone ? '-' : '+',
			   STR_ARG(change.key), STR_ARG(change.dir));
		if (change.gone && change.files_left)
			buf_printf(out, "(%" PRIu64 "/%" PRIu64 ")", change.files_left,
				   change.files_was);
		buf_add_byte(out, '\n');
	}
	assert_int_equal(rc, 1);
	assert_int_equal(names_changes_next(c, &arena, &change, &err), 1);
	names_changes_close(&c);
	arena_free(&arena);
}

static void assert_changes(uint64_t after, const char *want)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct names_reader *r = site_reader(folder);
	changes_of(r, after, &got);
	assert_str(buf_str(&got), want);
	names_close(&r);
}

static uint64_t generation_now(void)
{
	struct names_reader *r = site_reader(folder);
	uint64_t generation = names_generation(r);
	names_close(&r);
	return generation;
}

static void only_directories_whose_files_changed_are_told(void **state)
{
	(void)state;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "top", "d/x=1", "d/y=2", "e/z", "f/g/h");
	assert_changes(0, "+a-1:\n+a-1:d\n+a-1:e\n+a-1:f/g\n");
	uint64_t first = generation_now();
	assert_changes(first, "");
	/* another order is no change, and other numbers of directories are none */
	SITE_PUT(w, "a-1", "e/z", "d/y=2", "f/g/h", "top", "d/x=1");
	assert_changes(first, "");
	assert_changes(0, "+a-1:e\n+a-1:d\n+a-1:f/g\n+a-1:\n");
	/* a size, a new file, a name that goes */
	SITE_PUT(w, "a-1", "e/z=9", "d/y=2", "d/x=1", "f/g/h", "f/g/i", "top");
	assert_changes(first, "+a-1:e\n+a-1:f/g\n");
	uint64_t third = generation_now();
	SITE_PUT(w, "a-1", "e/z=9", "d/y=2", "d/x=1", "f/g/h", "f/g/i", "new/n", "top");
	assert_changes(third, "+a-1:new\n");
	assert_changes(first, "+a-1:e\n+a-1:f/g\n+a-1:new\n");
	names_writer_close(&w);
}

static void directories_that_went_away_are_told_first(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/x", "e/z", "\xff\n/odd");
	SITE_PUT(w, "b-1", "q/x", "top");
	uint64_t first = generation_now();
	SITE_PUT(w, "a-1", "d/x", "g/z");
	assert_changes(first, "-a-1:e\n-a-1:\xff\n\n+a-1:g\n");
	uint64_t second = generation_now();
	assert_int_equal(names_remove(w, STR("b-1"), &err), 0);
	assert_changes(second, "-b-1:q\n-b-1:\n");
	assert_changes(first, "-a-1:e\n-a-1:\xff\n\n-b-1:q\n-b-1:\n+a-1:g\n");
	/* one that comes back is told after it went */
	SITE_PUT(w, "a-1", "d/x", "e/z");
	assert_changes(first, "-a-1:e\n-a-1:\xff\n\n-b-1:q\n-b-1:\n-a-1:g\n+a-1:e\n");
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_forgotten(r), 0);
	assert_int_equal(names_verify(r, &err), 0);
	names_close(&r);
}

static void what_cannot_be_read_any_more_can_be_removed(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/x");
	SITE_PUT(w, "b-1", "q/x");
	char *path = names_generation_path(folder, 1, names_part_name[0]);
	assert_int_equal(unlink(path), 0);
	mem_free(&path);
	assert_int_equal(names_remove(w, STR("a-1"), &err), 0);
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	size_t sites;
	(void)names_sites(r, &sites);
	assert_int_equal(sites, 1);
	assert_int_equal(names_forgotten(r), names_generation(r));
	names_close(&r);
}

static void another_url_makes_all_directories_others(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/x", "e/y");
	uint64_t first = generation_now();
	struct names_site_spec spec = {.key = STR("a-1"), .url = STR("http://a/")};
	struct names_entry e = site_entry("d/x");
	assert_int_equal(names_begin(w, &spec, &err), 0);
	assert_int_equal(names_add(w, &e, &err), 0);
	assert_int_equal(names_commit(w, &err), 0);
	assert_changes(first, "-a-1:d\n-a-1:e\n+a-1:d\n");
	names_writer_close(&w);
}

static void put_many(struct names_writer *w, unsigned files)
{
	struct err err;
	struct names_site_spec spec = {.key = STR("a-1"), .url = STR("ftp://a/")};
	assert_int_equal(names_begin(w, &spec, &err), 0);
	for (unsigned i = 0; i < files; i++) {
		char name[16];
		struct names_entry e = site_entry("d/");
		snprintf(name, sizeof name, "f%u", i);
		e.name = str_of(name);
		assert_int_equal(names_add(w, &e, &err), 0);
	}
	assert_int_equal(names_commit(w, &err), 0);
}

static void a_large_directory_that_shrinks_tells_how_much(void **state)
{
	(void)state;
	struct names_writer *w = site_writer(folder);
	put_many(w, 2 * NAMES_DIR_PART + 1);
	uint64_t first = generation_now();
	put_many(w, 2 * NAMES_DIR_PART);
	assert_changes(first, "-a-1:d(10000/10001)\n+a-1:d\n");
	uint64_t second = generation_now();
	put_many(w, 2 * NAMES_DIR_PART - 1); /* as many parts as before */
	assert_changes(second, "+a-1:d\n");
	names_writer_close(&w);
}

/* Many commits with directories that go: the files that remember them stay few. */
static void what_went_away_is_kept_in_few_files(void **state)
{
	(void)state;
	struct err err;
	struct names_manifest m;
	CLEANUP(buf_free) struct buf want = BUF_INIT(1 << 16);
	struct names_writer *w = site_writer(folder);
	const unsigned commits = NAMES_GONE_FILES * (unit_thorough() ? 3 : 1) + 3;
	for (unsigned i = 0; i < commits; i++) {
		char path[32];
		snprintf(path, sizeof path, "d%u/x", i);
		SITE_PUT(w, "a-1", path);
		if (i)
			buf_printf(&want, "-a-1:d%u\n", i - 1);
	}
	buf_printf(&want, "+a-1:d%u\n", commits - 1);
	names_writer_close(&w);
	assert_changes(0, buf_text(&want));
	assert_int_equal(names_manifest_read(folder, &m, NULL, &err), 0);
	assert_in_range(m.gones, 1, NAMES_GONE_FILES);
	assert_int_equal(m.forgotten, 0);
	names_manifest_free(&m);
	/* five of the site, one segment, and these */
	assert_in_range(site_files(folder), 6 + 1, 6 + NAMES_GONE_FILES);
}

/* What the manifest says of a file that remembers is changed to what it would say later. */
static void what_went_away_is_forgotten_after_a_month(void **state)
{
	(void)state;
	struct err err;
	struct names_manifest m;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/x");
	SITE_PUT(w, "a-1", "e/x");
	names_writer_close(&w);
	uint64_t second = generation_now();
	assert_int_equal(names_manifest_read(folder, &m, NULL, &err), 0);
	assert_int_equal(m.gones, 1);
	m.gone[0].newest_s -= (NAMES_GONE_DAYS + 1) * (US_PER_DAY / US_PER_S);
	assert_int_equal(names_manifest_write(folder, &m, &err), 0);
	names_manifest_free(&m);
	w = site_writer(folder);
	SITE_PUT(w, "a-1", "f/x");
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_forgotten(r), second);
	names_close(&r);
	assert_changes(0, "-a-1:e\n+a-1:f\n");
}

static void who_follows_a_lost_index_has_to_begin_again(void **state)
{
	(void)state;
	struct err err;
	struct names_changes *c = NULL;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/x");
	SITE_PUT(w, "a-1", "e/x");
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	uint64_t identity = names_identity(r), generation = names_generation(r);
	names_close(&r);
	char *path = names_path(folder, "names/manifest");
	assert_int_equal(file_remove(path, &err), 0);
	mem_free(&path);
	r = site_reader(folder);
	assert_int_equal(names_identity(r), 0);
	assert_int_equal(names_changes_open(&c, r, 0, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	names_close(&r);
	w = site_writer(folder);
	names_writer_close(&w);
	r = site_reader(folder);
	assert_true(names_identity(r) != identity && names_identity(r) != 0);
	assert_true(names_forgotten(r) > generation);
	names_close(&r);
	assert_changes(0, "+a-1:e\n");
}

static void files_of_a_directory_come_by_line(void **state)
{
	(void)state;
	struct err err;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_entry e;
	CLEANUP(buf_free) struct buf got = BUF_INIT(1000);
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/a", "b", "d/c", "d/e/f", "d/g=3");
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	for (uint64_t line = 0; names_dir_next(r, 0, 0, &line, &arena, &e, &err) == 0;)
		buf_printf(&got, STR_FMT "/" STR_FMT " ", STR_ARG(e.dir), STR_ARG(e.name));
	assert_str(buf_str(&got), "d/a d/c d/g ");
	uint64_t line = 0;
	assert_int_equal(names_dir_next(r, 0, 3, &line, &arena, &e, &err), 1);
	assert_int_equal(names_dir_next(r, 1, 0, &line, &arena, &e, &err), 1);
	names_close(&r);
	arena_free(&arena);
}

static void a_directory_is_found_by_its_path(void **state)
{
	enum { DIRS = 20000 }; /* more than are looked at together */
	struct err err;
	char path[64], want[64];
	uint64_t number;
	struct names_writer *w = site_writer(folder);
	const struct names_site_spec spec = {.key = STR("a-1"), .url = STR("ftp://a-1/")};
	(void)state;
	assert_int_equal(names_begin(w, &spec, &err), 0);
	for (unsigned i = 0; i < DIRS; i++) {
		snprintf(path, sizeof path, "pub/%u\n\\/f", i);
		struct names_entry e = site_entry(path);
		assert_int_equal(names_add(w, &e, &err), 0);
	}
	assert_int_equal(names_commit(w, &err), 0);
	SITE_PUT(w, "b-1", "f");
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	for (unsigned i = 0; i < DIRS; i += DIRS / 10 - 1) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct names_entry e;
		uint64_t line = 0;
		snprintf(want, sizeof want, "pub/%u\n\\", i);
		assert_int_equal(names_dir_find(r, 0, str_of(want), &number, &err), 0);
		assert_int_equal(names_dir_next(r, 0, number, &line, &arena, &e, &err), 0);
		assert_str(e.dir, want);
		arena_free(&arena);
	}
	assert_int_equal(names_dir_find(r, 0, STR("pub"), &number, &err), 1);
	assert_int_equal(names_dir_find(r, 0, STR("pub/1"), &number, &err), 1);
	assert_int_equal(names_dir_find(r, 0, STR(""), &number, &err), 1);
	assert_int_equal(names_dir_find(r, 1, STR(""), &number, &err), 0);
	assert_int_equal(names_dir_find(r, 2, STR(""), &number, &err), 1);
	names_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_directories_whose_files_changed_are_told, fresh_folder),
		cmocka_unit_test_setup(directories_that_went_away_are_told_first, fresh_folder),
		cmocka_unit_test_setup(what_cannot_be_read_any_more_can_be_removed, fresh_folder),
		cmocka_unit_test_setup(another_url_makes_all_directories_others, fresh_folder),
		cmocka_unit_test_setup(a_large_directory_that_shrinks_tells_how_much, fresh_folder),
		cmocka_unit_test_setup(what_went_away_is_kept_in_few_files, fresh_folder),
		cmocka_unit_test_setup(what_went_away_is_forgotten_after_a_month, fresh_folder),
		cmocka_unit_test_setup(who_follows_a_lost_index_has_to_begin_again, fresh_folder),
		cmocka_unit_test_setup(files_of_a_directory_come_by_line, fresh_folder),
		cmocka_unit_test_setup(a_directory_is_found_by_its_path, fresh_folder),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
