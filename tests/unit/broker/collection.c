#include "broker/collection.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"

static struct arena arena = ARENA_INIT(16 << 20);
static struct collection c;

static void read_text(const char *text)
{
	arena_clear(&arena);
	collection_parse(str_of(text), "C", &arena, &c);
}

static void a_line_is_a_point(void **state)
{
	(void)state;
	read_text("# comment 1 2 3\n\n  \t\ngatherer.example.org 8500 0 --\n"
		  "\tB.Example.  1\t1\t--\r\n10.0.0.1 65535 2 --  \n[2001:DB8::1] 8500 3 --");
	assert_int_equal(c.nproblems, 0);
	assert_int_equal(c.n, 4);
	static const struct collection_point want[] = {
		{"gatherer.example.org", 8500, .full = true, .line = 4},
		{"b.example", 1, .line = 5},
		{"10.0.0.1", 65535, .full = true, .compressed = true, .line = 6},
		{"2001:db8::1", 8500, .compressed = true, .line = 7},
	};
	for (size_t i = 0; i < c.n; i++) {
		assert_string_equal(c.point[i].host, want[i].host);
		assert_int_equal(c.point[i].port, want[i].port);
		assert_int_equal(c.point[i].full, want[i].full);
		assert_int_equal(c.point[i].compressed, want[i].compressed);
		assert_int_equal(c.point[i].line, want[i].line);
	}
}

static void a_bad_line_is_named_and_leaves_the_others(void **state)
{
	static const struct {
		const char *line, *named;
	} bad[] = {
		{"a", "expected a port from 1 to 65535 after the host, got ''"},
		{"a b 1 --", "expected a port from 1 to 65535 after the host, got 'b'"},
		{"a 0 1 --", "got '0'"},
		{"a 65536 1 --", "got '65536'"},
		{"a 1", "expected a type from 0 to 7 after the port, got ''"},
		{"a 1 8 --", "got '8'"},
		{"a 1 -1 --", "got '-1'"},
		{"a 1 4 --", "type 4 collects from a broker, which is not there yet"},
		{"a 1 7 --QUERY x", "type 7 collects from a broker, which is not there yet"},
		{"a 1 1", "expected -- after the type"},
		{"a 1 1 --QUERY x y", "got '--QUERY x y'"},
		{"a/b 1 1 --", "'a/b' is neither a name nor an address"},
		{"-a 1 1 --", "'-a' is neither"},
		{"a.. 1 1 --", "'a..' is neither"},
		{"[a] 1 1 --", "'[a]' is neither"},
		{"a\x01 1 1 --", "'a?' is neither"},
		{"FIRST 7 3 --", "first port 7 is in line 1 already"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[200], begins[8] = "C:2: ";
		snprintf(text, sizeof text, "first 7 1 --\n%s\nlast 7 1 --\n", bad[i].line);
		read_text(text);
		assert_int_equal(c.n, 2);
		assert_string_equal(c.point[1].host, "last");
		assert_int_equal(c.nproblems, 1);
		if (!strstr(c.problem[0], bad[i].named))
			fail_msg("'%s': wanted '%s' in '%s'", bad[i].line, bad[i].named,
				 c.problem[0]);
		assert_memory_equal(c.problem[0], begins, strlen(begins));
		assert_non_null(strstr(c.problem[0], "; the line is passed over"));
	}
}

static void points_lines_and_problems_are_bounded(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	(void)state;
	for (int i = 0; i < COLLECTION_POINTS; i++)
		buf_printf(&text, "h%d 8500 1 --\n", i);
	read_text(buf_text(&text));
	assert_int_equal(c.n, COLLECTION_POINTS);
	assert_int_equal(c.nproblems, 0);
	buf_add_text(&text, "one-more 8500 1 --\nh5 8500 1 --\n");
	read_text(buf_text(&text));
	assert_int_equal(c.n, COLLECTION_POINTS);
	assert_int_equal(c.nproblems, 2);
	assert_non_null(strstr(c.problem[0], "C:1001: more than 1000 collection points"));
	assert_non_null(strstr(c.problem[1], "C:1002: h5 port 8500 is in line 6 already"));
	buf_clear(&text);
	buf_fill(&text, ' ', COLLECTION_LINE - 7);
	buf_add_text(&text, "h 1 1 --\nh 1 1 --\n");
	read_text(buf_text(&text));
	assert_int_equal(c.n, 1);
	assert_int_equal(c.point[0].line, 2);
	assert_non_null(strstr(c.problem[0], "C:1: 4097 bytes long, more than 4096"));
	buf_clear(&text);
	for (int i = 0; i <= COLLECTION_PROBLEMS; i++)
		buf_add_text(&text, "x\n");
	read_text(buf_text(&text));
	assert_int_equal(c.nproblems, COLLECTION_PROBLEMS);
	buf_free(&text);
}

static void a_file_may_be_absent_but_not_too_large(void **state)
{
	struct err err;
	(void)state;
	const char *path = scratch("Collection.conf");
	assert_int_equal(collection_read(path, &arena, &c, &err), 1);
	assert_int_equal(file_replace(path, STR("a 8500 1 --\nb\n"), 0644, &err), 0);
	assert_int_equal(collection_read(path, &arena, &c, &err), 0);
	assert_int_equal(c.n, 1);
	assert_memory_equal(c.problem[0], path, strlen(path));
	struct buf much = BUF_INIT(COLLECTION_FILE + 1);
	buf_fill(&much, '\n', COLLECTION_FILE + 1);
	assert_int_equal(file_replace(path, buf_str(&much), 0644, &err), 0);
	assert_int_equal(collection_read(path, &arena, &c, &err), -1);
	buf_free(&much);
}

static int teardown(void **state)
{
	arena_free(&arena);
	return scratch_done(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_point),
		cmocka_unit_test(a_bad_line_is_named_and_leaves_the_others),
		cmocka_unit_test(points_lines_and_problems_are_bounded),
		cmocka_unit_test(a_file_may_be_absent_but_not_too_large),
	};
	return cmocka_run_group_tests(tests, scratch_make, teardown);
}
