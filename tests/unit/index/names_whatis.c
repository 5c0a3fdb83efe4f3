#include "../scratch.h"
#include "../unit.h"
#include "index/names.h"

static void write_whatis(const char *p, size_t n)
{
	FILE *f = fopen(scratch("whatis"), "w");
	assert_non_null(f);
	assert_int_equal(n, fwrite(p, 1, n, f));
	assert_int_equal(0, fclose(f));
}

static struct arena arena = {.limit = SIZE_MAX};
static struct names_description *found;
static size_t founds;

static void ask_whatis(const char *pattern, uint64_t most, size_t want)
{
	struct err err;
	arena_clear(&arena);
	assert_int_equal(
		0, names_whatis(scratch_dir, str_of(pattern), most, &arena, &found, &founds, &err));
	assert_int_equal(want, founds);
}

static void lines_are_found_by_any_part_of_them(void **state)
{
	(void)state;
	static const char text[] = "Emacs\tThe extensible editor\nvi\tAn EDITOR, visual\n"
				   "a line without a tab\n\nless\topposite of\tmore";
	write_whatis(text, sizeof text - 1);
	ask_whatis("editor", 0, 2);
	assert_str(found[0].name, "Emacs");
	assert_str(found[0].text, "The extensible editor");
	assert_str(found[1].name, "vi");
	ask_whatis("EMACS", 0, 1);
	ask_whatis("emacs\tthe", 0, 1);
	ask_whatis("without", 0, 1);
	assert_str(found[0].name, "a line without a tab");
	assert_str(found[0].text, "");
	ask_whatis("more", 0, 1);
	assert_str(found[0].text, "opposite of\tmore");
	ask_whatis("editor", 1, 1);
	ask_whatis("", 0, 4);
	ask_whatis("editor\nvi", 0, 0);
	ask_whatis("nothing of the kind", 0, 0);
}

static void lines_across_pieces_are_whole(void **state)
{
	(void)state;
	size_t n = 0, most = 2 << 20;
	char *text = mem_array(most + 64, 1);
	for (size_t i = 0; n < most; i++)
		n += (size_t)snprintf(text + n, 64, "name%zu\tis number %zu of them\n", i, i);
	write_whatis(text, n);
	ask_whatis("IS NUMBER 50000 OF", 0, 1);
	assert_str(found[0].name, "name50000");
	size_t lines = 0;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	ask_whatis("them", 0, lines);
	mem_free(&text);
}

static void a_line_without_end_is_damage(void **state)
{
	(void)state;
	struct err err;
	size_t n = 3 << 20;
	char *text = mem_array(n, 1);
	memset(text, 'x', n);
	write_whatis(text, n);
	mem_free(&text);
	arena_clear(&arena);
	assert_int_equal(-1, names_whatis(scratch_dir, STR("x"), 0, &arena, &found, &founds, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
}

static void a_file_that_is_not_there_is_told(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(0, unlink(scratch("whatis")));
	assert_int_equal(1, names_whatis(scratch_dir, STR("x"), 0, &arena, &found, &founds, &err));
}

static void a_pipe_is_refused_and_not_waited_for(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(0, mkfifo(scratch("whatis"), 0640));
	assert_int_equal(-1, names_whatis(scratch_dir, STR("x"), 0, &arena, &found, &founds, &err));
	assert_non_null(strstr(err.msg, "a pipe"));
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found_by_any_part_of_them),
		cmocka_unit_test(lines_across_pieces_are_whole),
		cmocka_unit_test(a_line_without_end_is_damage),
		cmocka_unit_test(a_file_that_is_not_there_is_told),
		cmocka_unit_test(a_pipe_is_refused_and_not_waited_for),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
