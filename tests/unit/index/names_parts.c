/* The four parts of a site, byte by byte, and as they are read again. */
#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "index/names/names_store.h"

#include <fcntl.h>
#include <inttypes.h>

/* A file of which nothing is told. */
static struct names_entry bare(const char *dir, const char *name)
{
	return (struct names_entry){
		.name = str_of(name), .dir = str_of(dir), .links = -1, .size = -1, .time_s = -1};
}

static struct names_entry told(const char *dir, const char *name, const char *mode)
{
	struct names_entry e = bare(dir, name);
	memcpy(e.mode, mode, sizeof e.mode);
	e.kind = *mode == 'd' ? NAMES_DIR : *mode == 'l' ? NAMES_LINK : NAMES_FILE;
	e.links = 1;
	e.owner = STR("ftp");
	e.group = STR("staff");
	e.size = 1234;
	e.time_s = 760000000;
	return e;
}

static struct names_parts_writer *writer(void)
{
	struct err err;
	struct names_parts_writer *w;
	assert_int_equal(dir_make(scratch("g"), 0700, &err), 0);
	assert_int_equal(names_parts_create(&w, scratch("g"), &err), 0);
	return w;
}

static void add(struct names_parts_writer *w, struct names_entry e)
{
	struct err err;
	assert_int_equal(names_parts_add(w, &e, &err), 0);
}

static void finish(struct names_parts_writer *w)
{
	struct err err;
	struct names_about about = {
		.key = STR("a-1.2.3.4"), .url = STR("ftp://a/"), .generation = 7};
	about.entries = names_parts_written(w, &about.dirs);
	struct names_dir_run run = {about.dirs, 7};
	struct names_dir_runs runs = {.run = &run, .n = about.dirs ? 1 : 0};
	assert_int_equal(names_parts_finish(w, &err), 0);
	assert_int_equal(names_parts_write_pages(w, scratch("g/pages"), &about, &runs, &err), 0);
	names_parts_drop(&w);
}

static struct names_parts *parts_of(void)
{
	struct err err;
	struct names_parts *p;
	assert_int_equal(names_parts_open(&p, scratch("g"), 7, &err), 0);
	return p;
}

static void assert_file(const char *name, const char *want)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 20);
	struct err err;
	assert_int_equal(file_slurp(scratch(name), &b, &err), 0);
	assert_str(buf_str(&b), want);
}

static void parts_have_the_bytes_of_the_document(void **state)
{
	(void)state;
	struct names_parts_writer *w = writer();
	add(w, told("", "README", "-rw-r--r--"));
	add(w, told("pub/Linux", "Kernel.TAR", "-rw-rw-r--"));
	add(w, told("", "pub", "drwxr-xr-x"));
	add(w, bare("pub/Linux", "a\nb\rc\\D"));
	finish(w);
	assert_file("g/index", "README\nKernel.TAR\npub\na\\nb\\rc\\\\D\n");
	assert_file("g/nocaseindex", "readme\nkernel.tar\npub\na\\nb\\rc\\\\d\n");
	assert_file("g/direc", "\npub/Linux\n");
	assert_file("g/data",
		    "-rw-r--r--    1 ftp      staff            1234  760000000        0\n"
		    "-rw-rw-r--    1 ftp      staff            1234  760000000        1\n"
		    "drwxr-xr-x    1 ftp      staff            1234  760000000        0\n"
		    "                                                                 1\n");
}

static void assert_line(struct names_entry e, uint64_t dir, const char *want)
{
	char line[NAMES_LINE_BYTES + 1];
	names_line_put(&e, dir, line);
	assert_int_equal(strlen(want), NAMES_LINE_BYTES - 1);
	assert_int_equal(line[NAMES_LINE_BYTES - 1], '\n');
	assert_str(((struct str){line, NAMES_LINE_BYTES - 1}), want);
}

static void fields_that_do_not_fit_are_cut_as_the_document_says(void **state)
{
	(void)state;
	struct names_entry e = told("", "x", "-rw-r--r--");
	e.links = 10000;
	e.owner = STR("administrator");
	e.group = STR("Domain Users");
	e.size = INT64_C(999999999999);
	e.time_s = INT64_C(9999999999);
	assert_line(e, 99999999,
		    "-rw-r--r-- 9999 administ Domain U 999999999999 9999999999 99999999");
	e.size = INT64_C(1000000000000);
	e.links = 9999;
	assert_line(e, 0, "-rw-r--r-- 9999 administ Domain U   976562500K 9999999999        0");
	e.size = INT64_MAX;
	e.time_s = INT64_C(10000000000);
	e.owner = STR("a\nb");
	e.group = STR("");
	assert_line(e, 0, "-rw-r--r-- 9999 a?b               99999999999K                   0");
	e.owner = STR("1234567\xc3\xa9"); /* no half of a character */
	e.size = 0;
	e.time_s = 0;
	e.links = 0;
	assert_line(e, 0, "-rw-r--r--    0 1234567                      0          0        0");
}

static void a_kind_without_a_mode_is_a_letter(void **state)
{
	(void)state;
	struct names_entry e = bare("", "x"), got;
	static const char *const want[] = {" ", "d", "l", "?"};
	uint64_t dir;
	for (unsigned kind = 0; kind < NAMES_KINDS; kind++) {
		char line[NAMES_LINE_BYTES];
		e.kind = kind;
		names_line_put(&e, 5, line);
		assert_int_equal(line[0], want[kind][0]);
		assert_true(names_line_get(line, &got, &dir));
		assert_int_equal(got.kind, kind);
		assert_int_equal(got.mode[0], 0);
		assert_int_equal(dir, 5);
	}
	e = told("", "x", "brw-r--r--"); /* a mode that says something else than the kind */
	e.kind = NAMES_DIR;
	char line[NAMES_LINE_BYTES];
	names_line_put(&e, 0, line);
	assert_memory_equal(line, "drw-r--r--", 10);
	e.kind = NAMES_OTHER;
	names_line_put(&e, 0, line);
	assert_memory_equal(line, "brw-r--r--", 10);
}

static void assert_same(const struct names_entry *got, const struct names_entry *want)
{
	assert_true(str_eq(got->name, want->name));
	assert_true(str_eq(got->dir, want->dir));
	assert_int_equal(got->kind, want->kind);
	assert_memory_equal(got->mode, want->mode, sizeof got->mode);
	assert_int_equal(got->links, want->links);
	assert_true(str_eq(got->owner, want->owner));
	assert_true(str_eq(got->group, want->group));
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->time_s, want->time_s);
}

/* Names of any bytes and of any length, in any order of directories. */
static struct names_entry any_entry(unsigned i, struct arena *arena)
{
	char mode[] = "-rw-r--r--";
	mode[0] = "-dl"[i % 3];
	struct names_entry e = i % 5 ? told("", "", mode) : bare("", "");
	size_t n = i % 97 == 0 ? 5000 : 1 + i * 7 % 40;
	char *name = arena_alloc(arena, n);
	for (size_t k = 0; k < n; k++) {
		name[k] = (char)(i * 31 + k * 17 + (i >> 3));
		if (name[k] == '/')
			name[k] = '\\';
	}
	e.name = (struct str){name, n};
	e.dir = str_of(i % 11 == 0 ? "" : arena_printf(arena, "d%u/\\\n%u", i % 7, i % 61));
	if (i % 5) {
		e.size = i * INT64_C(1000003);
		e.time_s = i * INT64_C(12345);
		e.links = (int32_t)(i % 9999);
	}
	return e;
}

enum { MANY = 1000 };

static void what_was_added_is_read_again(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_parts_writer *w = writer();
	struct err err;
	for (unsigned i = 0; i < MANY; i++)
		add(w, any_entry(i, &arena));
	finish(w);
	struct names_parts *p = parts_of();
	assert_int_equal(names_parts_entries(p), MANY);
	for (unsigned i = 0; i < MANY; i++) {
		struct names_entry want = any_entry(i, &arena), got;
		uint64_t dir;
		assert_int_equal(names_parts_data(p, i, &got, &dir, &err), 0);
		assert_int_equal(names_parts_name(p, i, &arena, &got.name, &err), 0);
		assert_int_equal(names_parts_dir(p, dir, &arena, &got.dir, &err), 0);
		assert_same(&got, &want);
	}
	struct str s;
	struct names_entry e;
	uint64_t dir;
	assert_int_equal(names_parts_name(p, MANY, &arena, &s, &err), -1);
	assert_int_equal(names_parts_dir(p, names_parts_dirs(p), &arena, &s, &err), -1);
	assert_int_equal(names_parts_data(p, MANY, &e, &dir, &err), -1);
	assert_int_equal(names_parts_verify(p, &err), 0);
	names_parts_close(&p);
	arena_free(&arena);
}

static void a_scan_gives_all_lines_from_anywhere(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_parts *p = parts_of();
	struct err err;
	for (uint64_t from = 0; from < MANY; from += 13) {
		uint64_t lines, at = from;
		struct str s, line, name;
		int rc;
		while ((rc = names_parts_scan(p, NAMES_INDEX, at, &s, &lines, &err)) == 0)
			for (uint64_t i = 0; i < lines; i++, at++) {
				assert_int_equal(str_cut(&s, '\n', &line), 0);
				assert_int_equal(names_parts_name(p, at, &arena, &name, &err), 0);
				assert_true(str_eq(names_unescape(line, &arena), name));
			}
		assert_int_equal(rc, 1);
		assert_int_equal(at, MANY);
		arena_clear(&arena);
	}
	names_parts_close(&p);
	arena_free(&arena);
}

static void lines_of_a_directory_are_found(void **state)
{
	(void)state;
	struct names_parts *p = parts_of();
	struct err err;
	uint64_t seen = 0;
	for (uint64_t dir = 0; dir < names_parts_dirs(p); dir++)
		for (uint64_t line = 0, of; names_parts_dir_line(p, dir, &line, &err) == 0;
		     line++, seen++) {
			struct names_entry e;
			assert_int_equal(names_parts_data(p, line, &e, &of, &err), 0);
			assert_int_equal(of, dir);
		}
	assert_int_equal(seen, MANY);
	uint64_t line = 0;
	assert_int_equal(names_parts_dir_line(p, names_parts_dirs(p), &line, &err), 1);
	names_parts_close(&p);
}

static void parts_by_key_need_no_pages(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_parts *p;
	struct err err;
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		char from[64];
		snprintf(from, sizeof from, "g/%s", names_part_name[i]);
		char *source = mem_text(scratch(from));
		assert_int_equal(dir_make(scratch(names_part_name[i]), 0700, &err), 0);
		char *to = names_key_path(scratch_dir, i, STR("k-1"));
		(void)file_remove(to, &err);
		assert_int_equal(file_link(source, to, &err), 0);
		mem_free(&to);
		mem_free(&source);
	}
	assert_int_equal(names_parts_open_by_key(&p, scratch_dir, STR("k-1"), &err), 0);
	assert_int_equal(names_parts_entries(p), MANY);
	for (unsigned i = 0; i < MANY; i += 7) {
		struct names_entry want = any_entry(i, &arena), got;
		uint64_t dir;
		assert_int_equal(names_parts_data(p, i, &got, &dir, &err), 0);
		assert_int_equal(names_parts_name(p, i, &arena, &got.name, &err), 0);
		assert_int_equal(names_parts_dir(p, dir, &arena, &got.dir, &err), 0);
		assert_same(&got, &want);
	}
	assert_int_equal(names_parts_verify(p, &err), 0);
	names_parts_close(&p);
	assert_int_equal(names_parts_open_by_key(&p, scratch_dir, STR("k-2"), &err), 1);
	arena_free(&arena);
}

static void change(const char *path, uint64_t at)
{
	struct file f = FILE_INIT;
	struct err err;
	size_t got;
	char c;
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_read(&f, &c, 1, at, &got, &err), 0);
	c ^= 0x10;
	assert_int_equal(file_write(&f, &c, 1, at, &err), 0);
	file_drop(&f);
}

static bool sound(void)
{
	struct names_parts *p = NULL;
	struct err err;
	int rc = names_parts_open(&p, scratch("g"), 7, &err);
	if (rc == 0)
		rc = names_parts_verify(p, &err);
	names_parts_close(&p);
	assert_true(rc == 0 || err.code == ERR_DAMAGED);
	return rc == 0;
}

static void a_changed_byte_of_any_part_or_of_the_pages_is_found(void **state)
{
	(void)state;
	static const char *const files[] = {"g/index", "g/nocaseindex", "g/data", "g/direc",
					    "g/pages"};
	struct names_parts_writer *w = writer();
	add(w, told("", "a", "-rw-r--r--"));
	add(w, told("d", "b\n", "-rw-r--r--"));
	finish(w);
	assert_true(sound());
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct stat st;
		assert_int_equal(stat(scratch(files[i]), &st), 0);
		bool small = st.st_size < 1000;
		for (off_t at = 0; at < st.st_size; at += small || at < 400 ? 1 : 1021) {
			change(scratch(files[i]), (uint64_t)at);
			assert_false(sound());
			change(scratch(files[i]), (uint64_t)at);
		}
	}
	assert_true(sound());
}

static void what_cannot_be_a_file_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	struct names_parts_writer *w = writer();
	struct err err;
	char *longest = mem_array(NAMES_NAME_MOST + 1, 1);
	memset(longest, '\n', NAMES_NAME_MOST + 1);
	const struct names_entry bad[] = {
		bare("", ""),
		bare("", "a/b"),
		bare("/a", "b"),
		bare("a/", "b"),
		{.name = {longest, NAMES_NAME_MOST + 1}, .links = -1, .size = -1, .time_s = -1},
		{.name = STR("x"),
		 .dir = {longest, NAMES_NAME_MOST + 1},
		 .links = -1,
		 .size = -1,
		 .time_s = -1},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(names_parts_add(w, &bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	add(w, (struct names_entry){.name = {longest, NAMES_NAME_MOST},
				    .dir = {longest, NAMES_NAME_MOST},
				    .links = -1,
				    .size = -1,
				    .time_s = -1});
	finish(w);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_parts *p = parts_of();
	struct str s;
	assert_int_equal(names_parts_entries(p), 1);
	assert_int_equal(names_parts_name(p, 0, &arena, &s, &err), 0);
	assert_int_equal(s.n, NAMES_NAME_MOST);
	assert_memory_equal(s.p, longest, s.n);
	names_parts_close(&p);
	arena_free(&arena);
	mem_free(&longest);
}

static void a_site_without_files_has_empty_parts(void **state)
{
	(void)state;
	struct err err;
	finish(writer());
	assert_file("g/index", "");
	assert_file("g/data", "");
	struct names_parts *p = parts_of();
	struct str s;
	uint64_t n;
	assert_int_equal(names_parts_entries(p), 0);
	assert_int_equal(names_parts_scan(p, NAMES_INDEX, 0, &s, &n, &err), 1);
	assert_int_equal(names_parts_verify(p, &err), 0);
	names_parts_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_have_the_bytes_of_the_document),
		cmocka_unit_test(fields_that_do_not_fit_are_cut_as_the_document_says),
		cmocka_unit_test(a_kind_without_a_mode_is_a_letter),
		cmocka_unit_test(what_was_added_is_read_again),
		cmocka_unit_test(a_scan_gives_all_lines_from_anywhere),
		cmocka_unit_test(lines_of_a_directory_are_found),
		cmocka_unit_test(parts_by_key_need_no_pages),
		cmocka_unit_test(a_changed_byte_of_any_part_or_of_the_pages_is_found),
		cmocka_unit_test(what_cannot_be_a_file_is_refused_and_changes_nothing),
		cmocka_unit_test(a_site_without_files_has_empty_parts),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
