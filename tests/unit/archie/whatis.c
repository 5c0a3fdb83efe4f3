#include "archie/whatis.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/file.h"
#include "disk/lock.h"

#include <stdio.h>

static char folder[300], file[320];

static void import_text(const char *text, struct whatis_result *ret)
{
	struct whatis_import *w = whatis_import_new(folder);
	struct str rest = str_of(text), line;
	struct err err;
	while (str_cut(&rest, '\n', &line) == 0)
		if (whatis_import_line(w, line, &err) < 0)
			fail_msg("%s", err.msg);
	if (whatis_import_end(w, ret, &err) < 0)
		fail_msg("%s", err.msg);
	whatis_import_free(&w);
}

static void assert_file(const char *want)
{
	struct buf got = BUF_INIT(1 << 20);
	struct err err;
	assert_int_equal(0, file_slurp(file, &got, &err));
	assert_str(buf_str(&got), want);
	buf_free(&got);
}

static int begin_empty(void **state)
{
	(void)state;
	struct err err;
	snprintf(folder, sizeof folder, "%s/archie", scratch_dir);
	snprintf(file, sizeof file, "%s/whatis", folder);
	(void)file_remove(file, &err);
	return 0;
}

static void lines_of_name_and_description_are_sorted(void **state)
{
	(void)state;
	struct whatis_result r;
	import_text("zip\tpacks files\nawk\t finds  patterns \n\nZip\tanother\n", &r);
	assert_file("Zip\tanother\nawk\tfinds  patterns\nzip\tpacks files\n");
	assert_int_equal(3, r.read);
	assert_int_equal(3, r.added);
	assert_int_equal(0, r.replaced);
	assert_int_equal(3, r.names);
	assert_int_equal(0, r.bad);
}

static void the_last_description_of_a_name_counts(void **state)
{
	(void)state;
	struct whatis_result r;
	import_text("a\tone\nb\ttwo\nc\tthree", &r);
	import_text("b\tnew\nd\tfour\nc\tthree\nd\tfive", &r);
	assert_file("a\tone\nb\tnew\nc\tthree\nd\tfive\n");
	assert_int_equal(4, r.read);
	assert_int_equal(1, r.added);
	assert_int_equal(1, r.replaced);
	assert_int_equal(4, r.names);
}

static void packages_have_a_name_and_a_first_line(void **state)
{
	(void)state;
	struct whatis_result r;
	import_text("Package: 0ad\nVersion: 1\nDescription: Real-time strategy game\n more of it\n"
		    "\tPackage: no\nDescription-md5: 00\n\nPackage: zsh\nDepends: x\n"
		    "Description: shell with lots of features\n\nDescription: of nothing\n",
		    &r);
	assert_file("0ad\tReal-time strategy game\nzsh\tshell with lots of features\n");
	assert_int_equal(1, r.bad);
	assert_int_equal(12, r.bad_line[0]);
}

static void what_whatis_prints_is_taken(void **state)
{
	(void)state;
	struct whatis_result r;
	import_text("ls (1)               - list directory contents\n"
		    "printf (3p)          - print formatted output\n"
		    "sin, sinf (3)        - sine function\n"
		    "nothing of it\nwhat (one) - no section\nx (1) no dash\n",
		    &r);
	assert_file("ls\tlist directory contents\nprintf\tprint formatted output\n"
		    "sin\tsine function\nsinf\tsine function\n");
	assert_int_equal(3, r.bad);
	assert_int_equal(4, r.bad_line[0]);
	assert_int_equal(6, r.bad_line[2]);
}

static void a_text_of_no_form_is_refused(void **state)
{
	(void)state;
	struct whatis_import *w = whatis_import_new(folder);
	struct err err;
	assert_int_equal(0, whatis_import_line(w, STR("  "), &err));
	assert_int_equal(-1, whatis_import_line(w, STR("just words"), &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_non_null(strstr(err.msg, "line 2:"));
	whatis_import_free(&w);
}

static void what_is_too_long_is_cut_or_skipped(void **state)
{
	(void)state;
	struct whatis_result r;
	struct buf text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
	buf_add_text(&text, "long\t");
	buf_fill(&text, 'a', WHATIS_TEXT_MOST - 1);
	buf_add_text(&text, "\xc3\xa4 and more\n"); /* a character is not cut in two */
	buf_fill(&text, 'n', WHATIS_NAME_MOST + 1);
	buf_add_text(&text, "\ttoo long a name\nbell\ta\ab");
	import_text(buf_text(&text), &r);
	buf_add_text(&want, "bell\ta b\nlong\t");
	buf_fill(&want, 'a', WHATIS_TEXT_MOST - 1);
	buf_add_byte(&want, '\n');
	assert_file(buf_text(&want));
	assert_int_equal(1, r.bad);
	assert_int_equal(2, r.bad_line[0]);
	buf_free(&text);
	buf_free(&want);
}

static void lines_of_the_file_without_a_tab_stay(void **state)
{
	(void)state;
	struct whatis_result r;
	struct err err;
	assert_int_equal(0, dir_make(folder, DIR_MODE, &err));
	assert_int_equal(0, file_replace(file, STR("b\nc\told\n\na\n"), 0640, &err));
	import_text("c\tnew\nb\tnow described", &r);
	assert_file("a\nb\tnow described\nc\tnew\n");
	assert_int_equal(0, r.added);
	assert_int_equal(2, r.replaced);
}

static void an_empty_text_changes_nothing(void **state)
{
	(void)state;
	struct whatis_result r;
	struct stat st;
	import_text("\n\n", &r);
	assert_int_equal(0, r.names);
	assert_int_equal(-1, stat(file, &st));
}

static void one_import_at_a_time(void **state)
{
	(void)state;
	struct whatis_import *w = whatis_import_new(folder);
	struct whatis_result r;
	struct lock lock;
	struct err err;
	assert_int_equal(0, lock_take(&lock, folder, &err));
	assert_int_equal(0, whatis_import_line(w, STR("a\tb"), &err));
	assert_int_equal(-1, whatis_import_end(w, &r, &err));
	assert_int_equal(ERR_BUSY, err.code);
	lock_free(&lock);
	whatis_import_free(&w);
}

#ifdef GARNER_FAULTS
static void a_full_disk_leaves_the_old_file(void **state)
{
	(void)state;
	struct whatis_result r;
	struct err err;
	import_text("a\told", &r);
	struct whatis_import *w = whatis_import_new(folder);
	assert_int_equal(0, whatis_import_line(w, STR("a\tnew"), &err));
	assert_int_equal(0, fault_arm("file.write/whatis=enospc@1+", &err));
	assert_int_equal(-1, whatis_import_end(w, &r, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	assert_true(fault_fired() > 0);
	assert_int_equal(0, fault_arm(NULL, &err));
	whatis_import_free(&w);
	assert_file("a\told\n");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lines_of_name_and_description_are_sorted, begin_empty),
		cmocka_unit_test_setup(the_last_description_of_a_name_counts, begin_empty),
		cmocka_unit_test_setup(packages_have_a_name_and_a_first_line, begin_empty),
		cmocka_unit_test_setup(what_whatis_prints_is_taken, begin_empty),
		cmocka_unit_test_setup(a_text_of_no_form_is_refused, begin_empty),
		cmocka_unit_test_setup(what_is_too_long_is_cut_or_skipped, begin_empty),
		cmocka_unit_test_setup(lines_of_the_file_without_a_tab_stay, begin_empty),
		cmocka_unit_test_setup(an_empty_text_changes_nothing, begin_empty),
		cmocka_unit_test_setup(one_import_at_a_time, begin_empty),
#ifdef GARNER_FAULTS
		cmocka_unit_test_setup(a_full_disk_leaves_the_old_file, begin_empty),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
