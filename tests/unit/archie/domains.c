#include "archie/domains.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"

#include <limits.h>

static struct arena arena = ARENA_INIT(16 << 20);
static struct buf warnings = BUF_INIT(1 << 20);

static int begin_empty(void **state)
{
	(void)state;
	arena_free(&arena);
	buf_clear(&warnings);
	return 0;
}

static struct domains parse_text(const char *text)
{
	return domains_parse(str_of(text), &arena, &warnings);
}

/* What a list stands for, with blanks between, or the error. */
static const char *expand_list(const struct domains *d, const char *list)
{
	static struct buf out = BUF_INIT(1 << 20);
	const struct str *member;
	uint32_t n;
	struct err err;
	buf_free(&out);
	if (domains_expand(d, str_of(list), 64, &arena, &member, &n, &err) < 0)
		buf_printf(&out, "! %s", err.msg);
	else
		for (uint32_t i = 0; i < n; i++)
			buf_printf(&out, "%s" STR_FMT, i ? " " : "", STR_ARG(member[i]));
	return buf_text(&out);
}

static void a_line_is_name_members_and_description(void **state)
{
	(void)state;
	struct domains d = parse_text("# comment\n\nusa edu:com:us United States\n"
				      "  anzac\tau:nz\r\nw a:\\\n   b:c \\\n  more words\n");
	assert_int_equal(3, d.n);
	assert_str(d.domain[0].name, "usa");
	assert_str(d.domain[0].members, "edu:com:us");
	assert_str(d.domain[0].text, "United States");
	assert_int_equal(3, d.domain[0].line);
	assert_str(d.domain[1].name, "anzac");
	assert_str(d.domain[1].members, "au:nz");
	assert_str(d.domain[1].text, "");
	assert_str(d.domain[2].members, "a:b:c");
	assert_str(d.domain[2].text, "more words");
	assert_int_equal(5, d.domain[2].line);
	assert_int_equal(0, warnings.n);
}

static void lines_of_another_form_are_left_out_with_words(void **state)
{
	(void)state;
	struct domains d = parse_text("alone\na:b c\nx de\nX fr\nlast no\\");
	assert_int_equal(2, d.n);
	assert_str(d.domain[1].name, "last");
	assert_str(buf_str(&warnings),
		   "line 1: expected a name and its members, such as 'usa edu:com:us'\n"
		   "line 2: a name has no colon in it\n"
		   "line 4: this name is defined already, the line is left out\n");
}

static void lines_that_are_too_long_or_too_many_are_left_out(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 20);
	for (int i = 0; i <= DOMAINS_MOST; i++)
		buf_printf(&text, "d%d x\n", i);
	buf_add_text(&text, "long ");
	buf_fill(&text, 'a', 5000);
	struct domains d = parse_text(buf_text(&text));
	assert_int_equal(DOMAINS_MOST, d.n);
	assert_str(buf_str(&warnings), "line 1001: too many pseudo-domains, the line is left out\n"
				       "line 1002: too long, the line is left out\n");
	buf_free(&text);
}

static void members_are_expanded_once_each(void **state)
{
	(void)state;
	struct domains d = parse_text("usa edu:COM:us\nna usa:ca:usa\nworld na:.de.:us\n");
	assert_string_equal("edu com us ca de", expand_list(&d, "world"));
	assert_string_equal("edu com us ca no", expand_list(&d, "NA:no:No:.no"));
	assert_string_equal("uni-x.de", expand_list(&d, "uni-x.de"));
	assert_string_equal("", expand_list(&d, ""));
	assert_string_equal("", expand_list(&d, "::."));
}

static void a_loop_is_an_error(void **state)
{
	(void)state;
	struct domains d = parse_text("self x:self\na b\nb c\nc a:x\nfine no\n");
	assert_string_equal("! the pseudo-domain 'self' is in a loop", expand_list(&d, "self"));
	assert_string_equal("! the pseudo-domain 'a' is in a loop", expand_list(&d, "a"));
	assert_string_equal("! the pseudo-domain 'b' is in a loop", expand_list(&d, "fine:b"));
	assert_string_equal("no", expand_list(&d, "fine"));
}

static void a_member_must_be_defined_above_its_use(void **state)
{
	(void)state;
	struct domains d = parse_text("na usa:ca\nusa us\n");
	assert_string_equal("! the pseudo-domain 'usa' is used by 'na' before it is defined",
			    expand_list(&d, "na"));
	assert_string_equal("us", expand_list(&d, "usa"));
}

static void twenty_deep_is_deep_enough(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 20);
	buf_add_text(&text, "d1 no\n");
	for (int i = 2; i <= 22; i++)
		buf_printf(&text, "d%d d%d\n", i, i - 1);
	struct domains d = parse_text(buf_text(&text));
	assert_string_equal("no", expand_list(&d, "d20"));
	assert_string_equal("! the pseudo-domain 'd1' is more than 20 deep",
			    expand_list(&d, "d21"));
	buf_free(&text);
}

/* Without care this would take 30 to the power of 20 steps. */
static void many_roads_to_one_domain_cost_no_more_than_one(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 20);
	buf_add_text(&text, "d1 no\n");
	for (int i = 2; i <= 20; i++) {
		buf_printf(&text, "d%d d%d", i, i - 1);
		for (int k = 0; k < 30; k++)
			buf_printf(&text, ":d%d", i - 1);
		buf_add_byte(&text, '\n');
	}
	struct domains d = parse_text(buf_text(&text));
	assert_string_equal("no", expand_list(&d, "d20"));
	buf_free(&text);
}

static void too_many_or_too_long_domains_are_an_error(void **state)
{
	(void)state;
	struct domains d = {0};
	struct buf list = BUF_INIT(1 << 20);
	for (int i = 0; i < 65; i++)
		buf_printf(&list, "d%d:", i);
	assert_string_equal("! more than 64 domains", expand_list(&d, buf_text(&list)));
	buf_clear(&list);
	buf_fill(&list, 'a', 256);
	assert_string_equal("! a domain of 256 bytes is too long",
			    expand_list(&d, buf_text(&list)));
	buf_free(&list);
}

/* The file */

static void put_file(const char *text)
{
	struct err err;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/etc", scratch_dir);
	assert_int_equal(0, dir_make(path, 0700, &err));
	snprintf(path, sizeof path, "%s/etc/ardomains.cf", scratch_dir);
	assert_int_equal(0, file_replace(path, str_of(text), 0600, &err));
}

static void a_file_is_read_again_after_it_has_changed(void **state)
{
	(void)state;
	struct domains_file *f = domains_file_new(scratch_dir);
	size_t own = domains_parse(domains_own(), &arena, NULL).n;
	char path[PATH_MAX];
	assert_int_equal(own, domains_file_get(f, &arena).n);
	put_file("a b:c words\n");
	struct domains first = domains_file_get(f, &arena);
	assert_int_equal(1, first.n);
	assert_int_equal(1, domains_file_get(f, &arena).n);
	put_file("x y\nz y\n");
	assert_int_equal(2, domains_file_get(f, &arena).n);
	assert_str(first.domain[0].name, "a"); /* a copy: it is used while the file changes */
	assert_str(first.domain[0].members, "b:c");
	assert_str(first.domain[0].text, "words");
	snprintf(path, sizeof path, "%s/etc/ardomains.cf", scratch_dir);
	assert_int_equal(0, unlink(path));
	assert_int_equal(own, domains_file_get(f, &arena).n);
	domains_file_free(&f);
}

static void all_readers_leave_out_a_file_that_is_too_large(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(1 << 20);
	size_t own = domains_parse(domains_own(), &arena, NULL).n;
	struct domains_file *f = domains_file_new(scratch_dir);
	buf_add_text(&text, "a b\n");
	buf_fill(&text, '\n', DOMAINS_FILE_MOST - text.n);
	put_file(buf_text(&text));
	assert_int_equal(1, domains_read(scratch_dir, &arena, &warnings).n);
	assert_int_equal(1, domains_file_get(f, &arena).n);
	assert_int_equal(0, warnings.n);
	buf_add_byte(&text, '\n');
	put_file(buf_text(&text));
	assert_int_equal(own, domains_read(scratch_dir, &arena, &warnings).n);
	assert_int_equal(own, domains_file_get(f, &arena).n);
	assert_true(str_starts(buf_str(&warnings), STR("not read, our own hold: ")));
	domains_file_free(&f);
	buf_free(&text);
}

static void the_largest_file_fits_its_memory(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(DOMAINS_FILE_MOST);
	struct domains_file *f = domains_file_new(scratch_dir);
	struct arena copy = ARENA_INIT(DOMAINS_MEMORY_MOST);
	for (int i = 0; i < DOMAINS_MOST; i++) {
		buf_printf(&text, "n%d ", i);
		buf_fill(&text, 'm', (DOMAINS_FILE_MOST - text.n) / (size_t)(DOMAINS_MOST - i) - 8);
		buf_add_text(&text, " t\n");
	}
	assert_false(text.over);
	put_file(buf_text(&text));
	assert_int_equal(DOMAINS_MOST, domains_file_get(f, &copy).n);
	arena_free(&copy);
	domains_file_free(&f);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_line_is_name_members_and_description, begin_empty),
		cmocka_unit_test_setup(lines_of_another_form_are_left_out_with_words, begin_empty),
		cmocka_unit_test_setup(lines_that_are_too_long_or_too_many_are_left_out,
				       begin_empty),
		cmocka_unit_test_setup(members_are_expanded_once_each, begin_empty),
		cmocka_unit_test_setup(a_loop_is_an_error, begin_empty),
		cmocka_unit_test_setup(a_member_must_be_defined_above_its_use, begin_empty),
		cmocka_unit_test_setup(twenty_deep_is_deep_enough, begin_empty),
		cmocka_unit_test_setup(many_roads_to_one_domain_cost_no_more_than_one, begin_empty),
		cmocka_unit_test_setup(too_many_or_too_long_domains_are_an_error, begin_empty),
		cmocka_unit_test_setup(a_file_is_read_again_after_it_has_changed, begin_empty),
		cmocka_unit_test_setup(all_readers_leave_out_a_file_that_is_too_large, begin_empty),
		cmocka_unit_test_setup(the_largest_file_fits_its_memory, begin_empty),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
