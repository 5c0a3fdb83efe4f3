#include "soif/source.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "support/source_check.h"
#include "support/source_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct source_change change(enum source_op op, const char *url, struct arena *arena)
{
	struct source_change c = {
		.op = op, .reason = STR(""), .obj = {.type = STR("FILE"), .url = str_of(url)}};
	if (op == SOURCE_UPDATE)
		soif_add(&c.obj, arena, STR("Title"), str_of(url));
	return c;
}

struct growing {
	struct source_list *list;
	unsigned first; /* number of the first new file */
};

static void grow_list(void *ctx, unsigned step)
{
	struct growing *g = ctx;
	struct arena arena = ARENA_INIT(1 << 16);
	struct source_change c =
		change(step % 3 == 2 ? SOURCE_DELETE : SOURCE_UPDATE, "http://g/", &arena);
	source_list_add(g->list, &c);
	arena_free(&arena);
}

static void a_list_is_a_source(void **state)
{
	(void)state;
	struct growing g = {.list = source_list_new()};
	struct source_list *other = source_list_new();
	struct source_check check = {.ops = &source_list_ops,
				     .store = g.list,
				     .other = other,
				     .grow = grow_list,
				     .ctx = &g,
				     .steps = 5};
	for (int i = 0; i < 500; i++) {
		struct arena arena = ARENA_INIT(1 << 16);
		char url[32];
		snprintf(url, sizeof url, "http://a/%d", i / 2);
		struct source_change c = change(i % 2 ? SOURCE_DELETE : SOURCE_UPDATE, url, &arena);
		source_list_add(g.list, &c);
		arena_free(&arena);
	}
	assert_int_equal(505, source_check(&check));
	source_list_free(&g.list);
	source_list_free(&other);
}

static void put(const char *name, const char *text)
{
	struct file f;
	struct err err;
	uint64_t size;
	assert_int_equal(0, file_open(&f, scratch(name), O_WRONLY | O_CREAT, 0644, &err));
	assert_int_equal(0, file_size(&f, &size, &err));
	assert_int_equal(0, file_write(&f, text, strlen(text), size, &err));
	assert_int_equal(0, file_close(&f, &err));
}

static void grow_folder(void *ctx, unsigned step)
{
	struct growing *g = ctx;
	char name[32], text[128];
	snprintf(name, sizeof name, "%u.soif",
		 g->first + step / 2); /* every other time the same file */
	snprintf(text, sizeof text, "@FILE { http://g/%u\nTitle{1}:\tx\n}\n", step);
	put(name, text);
}

static void a_folder_of_numbered_files_is_a_source(void **state)
{
	(void)state;
	const char *folder = scratch_dir;
	struct growing g = {.first = 100};
	struct source_check check = {.ops = &source_folder_ops,
				     .store = folder,
				     .grow = grow_folder,
				     .ctx = &g,
				     .steps = 6};
	assert_int_equal(6, source_check(&check)); /* empty at first */
	put("7.soif", "@DELETE { @FILE { http://d/\nReason{4}:\tgone\n}\n}\n@REFRESH {\n@FILE { "
		      "http://r/\n}\n}\n"
		      "@UPDATE {\n@FILE { http://u/\nTitle{3}:\tabc\n}\n@FILE { "
		      "http://v/\nTitle{3}:\tabc\n}\n");
	put("0009.soif", "@FILE { http://w/\nTitle{1}:\tx\n}\n");
	/* another folder, with files of the same numbers, as long and longer */
	assert_int_equal(0, mkdir(scratch("other"), 0755));
	for (int i = 7; i < 110; i++) {
		char name[32];
		snprintf(name, sizeof name, "other/%d.soif", i);
		put(name, "@FILE { http://another.example/with/a/long/name\nText{300}:\t");
		for (int k = 0; k < 10; k++)
			put(name, "thirty bytes that are different");
	}
	check.other = scratch("other");
	put("other.txt", "@FILE { http://no/\n}\n");
	put("10.soif.tmp", "@FILE { http://no/\n}\n");
	g.first = 200;
	assert_int_equal(5 + 6 + 6, source_check(&check));
}

static void next_is(struct source *s, enum source_op op, const char *url, const char *reason)
{
	struct arena arena = ARENA_INIT(1 << 16);
	struct source_change c;
	struct err err;
	int rc = source_next(s, &arena, &c, &err);
	if (rc != 0)
		fail_msg("wanted %s, got %d %s", url, rc, rc < 0 ? err.msg : "");
	assert_int_equal(op, c.op);
	assert_str(c.obj.url, url);
	assert_str(c.reason, reason);
	arena_free(&arena);
}

static int next_fails(struct source *s, const char *part)
{
	struct arena arena = ARENA_INIT(1 << 16);
	struct source_change c;
	struct err err = {0};
	int rc = source_next(s, &arena, &c, &err);
	if (rc < 0 && !strstr(err.msg, part))
		fail_msg("wanted '%s' in '%s'", part, err.msg);
	arena_free(&arena);
	return rc;
}

static struct source *open_folder(const char *folder, const struct source_cursor *from)
{
	struct source *s;
	struct err err;
	assert_int_equal(0, source_folder_ops.open(&s, folder, from, &err));
	return s;
}

static void sections_say_what_happened_and_why(void **state)
{
	(void)state;
	const char *folder = scratch_dir;
	put("1.soif",
	    "@DELETE { @FILE { d\nReason{4}:\tgone\n}\n}\n@REFRESH { @FILE { r\n}\n}\n@FILE { "
	    "u\n}\n");
	struct source *s = open_folder(folder, &(struct source_cursor){0});
	next_is(s, SOURCE_DELETE, "d", "gone");
	next_is(s, SOURCE_REFRESH, "r", "");
	next_is(s, SOURCE_UPDATE, "u", "");
	assert_int_equal(1, next_fails(s, ""));
	source_close(&s);
}

static void an_object_still_being_written_waits(void **state)
{
	(void)state;
	const char *folder = scratch_dir;
	put("1.soif", "@FILE { a\n}\n@FILE { b\nTi");
	struct source *s = open_folder(folder, &(struct source_cursor){0});
	next_is(s, SOURCE_UPDATE, "a", "");
	assert_int_equal(1, next_fails(s, ""));
	put("1.soif", "tle{1}:\tx\n}\n");
	next_is(s, SOURCE_UPDATE, "b", "");
	source_close(&s);
}

static void what_is_cut_off_or_broken_is_named_and_passed(void **state)
{
	(void)state;
	const char *folder = scratch_dir;
	put("1.soif", "@FILE { a\nT{x}:\ty\n}\n@FILE { b\n}\n@FILE { c\nT{5}:\tx");
	put("2.soif", "@FILE { d\n}\n");
	struct source *s = open_folder(folder, &(struct source_cursor){0});
	struct source_cursor behind_bad;
	assert_true(next_fails(s, "1.soif: byte 10") < 0);
	source_cursor(s, &behind_bad);
	next_is(s, SOURCE_UPDATE, "b", "");
	assert_true(next_fails(s, "1.soif: cut off in the middle of c") < 0);
	next_is(s, SOURCE_UPDATE, "d", "");
	source_close(&s);
	s = open_folder(folder, &behind_bad);
	next_is(s, SOURCE_UPDATE, "b", "");
	source_close(&s);
}

static void a_cursor_survives_the_removal_of_its_file(void **state)
{
	(void)state;
	const char *folder = scratch_dir;
	struct source_cursor at;
	struct err err;
	put("1.soif", "@FILE { a\n}\n");
	put("2.soif", "@FILE { b\n}\n");
	struct source *s = open_folder(folder, &(struct source_cursor){0});
	next_is(s, SOURCE_UPDATE, "a", "");
	source_cursor(s, &at);
	source_close(&s);
	assert_int_equal(0, file_remove(scratch("1.soif"), &err));
	s = open_folder(folder, &at);
	next_is(s, SOURCE_UPDATE, "b", "");
	source_close(&s);
	put("1.soif", "@FIL"); /* shorter than what was read of it */
	assert_true(source_folder_ops.open(&s, folder, &at, &err) < 0);
	assert_int_equal(ERR_DAMAGED, err.code);
}

static void a_file_that_shrinks_is_named_and_followed(void **state)
{
	(void)state;
	struct source_cursor at;
	put("1.soif", "@FILE { a\n}\n@FILE { b\nTi");
	struct source *s = open_folder(scratch_dir, &(struct source_cursor){0});
	next_is(s, SOURCE_UPDATE, "a", "");
	assert_int_equal(1, next_fails(s, ""));
	assert_int_equal(0, truncate(scratch("1.soif"), 0));
	assert_true(next_fails(s, "1.soif: 0 bytes long, but 24 were read") < 0);
	assert_int_equal(1, next_fails(s, ""));
	source_cursor(s, &at);
	put("1.soif", "@FILE { c\n}\n");
	next_is(s, SOURCE_UPDATE, "c", "");
	source_close(&s);
	s = open_folder(scratch_dir, &at);
	next_is(s, SOURCE_UPDATE, "c", "");
	source_close(&s);
}

static void what_is_no_file_is_named_and_passed(void **state)
{
	(void)state;
	put("1.soif", "@FILE { a\n}\n");
	assert_int_equal(0, mkdir(scratch("2.soif"), 0755));
	put("3.soif", "@FILE { c\n}\n");
	struct source *s = open_folder(scratch_dir, &(struct source_cursor){0});
	next_is(s, SOURCE_UPDATE, "a", "");
	assert_true(next_fails(s, "2.soif: not a file, skipped") < 0);
	next_is(s, SOURCE_UPDATE, "c", "");
	assert_int_equal(1, next_fails(s, ""));
	source_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_a_source),
		cmocka_unit_test_setup_teardown(a_folder_of_numbered_files_is_a_source,
						scratch_make, scratch_done),
		cmocka_unit_test_setup_teardown(sections_say_what_happened_and_why, scratch_make,
						scratch_done),
		cmocka_unit_test_setup_teardown(an_object_still_being_written_waits, scratch_make,
						scratch_done),
		cmocka_unit_test_setup_teardown(what_is_cut_off_or_broken_is_named_and_passed,
						scratch_make, scratch_done),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_named_and_passed, scratch_make,
						scratch_done),
		cmocka_unit_test_setup_teardown(a_cursor_survives_the_removal_of_its_file,
						scratch_make, scratch_done),
		cmocka_unit_test_setup_teardown(a_file_that_shrinks_is_named_and_followed,
						scratch_make, scratch_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
