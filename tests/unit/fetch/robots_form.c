/* The compiled form: its bounds, its size, what happens to damaged ones; and random files. */
#include "../dice.h"
#include "robots_unit.h"
#include "support/robots_slow.h"

/* A file in which so many bytes of a last line stand before the bound. */
static struct buf compiled_long(size_t before_bound)
{
	struct buf file = BUF_INIT((size_t)4 << 20);
	buf_add_text(&file, "user-agent: *\n");
	while (file.n < 512000)
		buf_add_text(&file, "# what nobody reads, but everybody has to pass by\n");
	buf_add_text(&file, "disallow: /late\n");
	buf_fill(&file, '\n', ROBOTS_FILE_MAX - file.n - before_bound);
	buf_add_text(&file, "disallow: /last\n");
	struct buf form = compiled(buf_str(&file), "garner");
	assert_int_equal(form_was_cut(buf_str(&form)), file.n > ROBOTS_FILE_MAX);
	assert_false(robots_verdict(buf_str(&form), STR("/late")).allowed);
	assert_true(robots_verdict(buf_str(&form), STR("/")).allowed);
	buf_free(&file);
	return form;
}

/* 2.5 */
static void half_a_mebibyte_is_read_and_no_line_in_part(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 16; n++) {
		struct buf form = compiled_long(n);
		assert_int_equal(robots_verdict(buf_str(&form), STR("/last")).allowed, n < 15);
		buf_free(&form);
	}
}

static void a_long_line_is_cut_and_the_next_one_counts(void **state)
{
	(void)state;
	struct buf file = BUF_INIT((size_t)4 << 20), path = BUF_INIT((size_t)1 << 20);
	buf_add_text(&file, "user-agent: *\ndisallow: /x/");
	size_t left = ROBOTS_LINE_MAX - strlen("disallow: /x/");
	buf_fill(&file, 'a', left);
	buf_add_text(&file, "b\ndisallow: /y\n");
	buf_add_text(&path, "/x/");
	buf_fill(&path, 'a', left - 1);
	struct buf form = compiled(buf_str(&file), "garner");
	assert_true(robots_verdict(buf_str(&form), buf_str(&path)).allowed);
	buf_add_text(&path, "a");
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), -2);
	buf_add_text(&path, "c");
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), -2);
	assert_int_equal(as_number(robots_verdict(buf_str(&form), STR("/y"))), -3);
	buf_free(&form);

	/* longer than all that is read of a file */
	buf_fill(&file, '\n', 1);
	buf_add_text(&file, "disallow: /z");
	buf_fill(&file, 'z', ROBOTS_FILE_MAX);
	form = compiled(buf_str(&file), "garner");
	assert_true(form_was_cut(buf_str(&form)));
	buf_clear(&path);
	buf_add_text(&path, "/z");
	buf_fill(&path, 'z', ROBOTS_LINE_MAX);
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), -5);
	buf_free(&form);
	buf_free(&path);
	buf_free(&file);
}

static void no_dollar_matches_a_path_that_is_too_long(void **state)
{
	(void)state;
	struct buf path = BUF_INIT((size_t)1 << 20);
	struct buf form =
		compiled(STR("user-agent: *\nallow: /\ndisallow: *a$\ndisallow: /b*a"), "garner");
	buf_add_text(&path, "/");
	buf_fill(&path, 'a', ROBOTS_PATH_MAX - 3);
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), -3);
	buf_fill(&path, 'a', 3);
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), 2);
	path.p[1] = 'b';
	assert_int_equal(as_number(robots_verdict(buf_str(&form), buf_str(&path))), -4);
	buf_free(&form);
	buf_free(&path);
}

/* Trying all ways would outlast the test. */
static void hostile_patterns_are_walked_once(void **state)
{
	(void)state;
	struct buf file = BUF_INIT((size_t)1 << 20), path = BUF_INIT((size_t)1 << 20);
	buf_add_text(&file, "user-agent: *\ndisallow: /");
	for (int i = 0; i < 8000; i++)
		buf_add_text(&file, "*a");
	buf_add_text(&file, "*b\n");
	buf_add_text(&path, "/");
	buf_fill(&path, 'a', 60000);
	struct buf form = compiled(buf_str(&file), "garner");
	for (int i = 0; i < 100; i++)
		assert_true(robots_verdict(buf_str(&form), buf_str(&path)).allowed);
	buf_add_text(&path, "b");
	assert_false(robots_verdict(buf_str(&form), buf_str(&path)).allowed);
	buf_free(&form);
	buf_free(&path);
	buf_free(&file);
}

static void the_most_rules_that_a_file_can_have_compile(void **state)
{
	(void)state;
	struct buf file = BUF_INIT((size_t)4 << 20);
	buf_add_text(&file, "user-agent:*\n");
	for (unsigned i = 0; file.n < ROBOTS_FILE_MAX; i++) {
		char rule[] = {(char)(i & 1 ? '/' : '*'), (char)(0x80 + i / 2 % 127),
			       (char)(0x80 + i / 254 % 127), 0};
		buf_printf(&file, "allow %s\n", rule);
	}
	struct buf form = compiled(buf_str(&file), "garner");
	assert_true(robots_verdict(buf_str(&form), STR("/\x80\x80")).line > 0);
	assert_int_equal(robots_verdict(buf_str(&form), STR("/a")).line, 0);
	buf_free(&form);
	buf_free(&file);
}

static void a_form_that_does_not_fit_leaves_the_buffer_alone(void **state)
{
	(void)state;
	struct buf small = BUF_INIT(40);
	struct err err;
	buf_add_text(&small, "before");
	assert_true(robots_compile(STR("user-agent: *\ndisallow: /a/long/path\n"), STR("garner"),
				   &small, &err) < 0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_str(buf_str(&small), "before");
	assert_int_equal(
		robots_compile(STR("user-agent: *\nallow: /\n"), STR("garner"), &small, &err), 0);
	assert_int_equal(robots_check(str_from(buf_str(&small), 6), &err), 0);
	buf_free(&small);
}

static void all_and_nothing_are_forms_too(void **state)
{
	(void)state;
	struct err err;
	assert_int_equal(robots_check(robots_allow_all, &err), 0);
	assert_int_equal(robots_check(robots_disallow_all, &err), 0);
	assert_true(robots_verdict(robots_allow_all, STR("/a")).allowed);
	assert_false(robots_verdict(robots_disallow_all, STR("/a")).allowed);
	assert_false(robots_verdict(robots_disallow_all, STR("")).allowed);
	assert_true(robots_verdict(robots_disallow_all, STR("/robots.txt")).allowed);
	assert_int_equal(robots_crawl_delay_us(robots_disallow_all), -1);
	assert_false(form_was_cut(robots_allow_all) || form_names_us(robots_allow_all));
}

#define SMALL                                                                                     \
	"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nDisallow: /*?s=\n" \
	"Disallow: /cgi-bin/\nDisallow: /tmp/\nSitemap: https://e.org/sitemap.xml\n"

static void a_small_file_stays_small(void **state)
{
	(void)state;
	struct buf form = compiled(STR(SMALL), "garner");
	assert_true(form.n < 200);
	buf_free(&form);
}

/* Cut anywhere or with any byte changed: asked without harm, and no longer sound if it says
 * something else. Each copy has its own memory, so that the sanitizers see its bounds. */
static void damaged_forms_are_asked_without_harm(void **state)
{
	(void)state;
	struct buf form = compiled(STR(SMALL), "garner");
	struct err err;
	for (size_t n = 0; n < form.n; n++) {
		char *copy = mem_copy(form.p, n);
		struct str cut = {copy, n};
		assert_true(robots_check(cut, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		(void)robots_verdict(cut, STR("/wp-admin/?s=x"));
		mem_free(&copy);
	}
	assert_false(robots_verdict(STR(""), STR("/")).allowed);
	size_t noticed = 0;
	for (size_t i = 0; i < form.n * 8; i++) {
		char *copy = mem_copy(form.p, form.n);
		copy[i / 8] = (char)(copy[i / 8] ^ 1 << i % 8);
		struct str bad = {copy, form.n};
		noticed += robots_check(bad, &err) < 0;
		(void)robots_verdict(bad, STR("/wp-admin/admin-ajax.php?s=x"));
		struct robots_sitemaps it = robots_sitemaps_of(bad);
		struct str url;
		while (robots_sitemap_next(&it, &url) == 0)
			assert_true(url.p + url.n <= copy + form.n);
		mem_free(&copy);
	}
	assert_true(noticed > form.n); /* not those in letters, line numbers and the delay */
	buf_free(&form);
}

/* Few letters, so that much matches. */
static struct str words(uint64_t *seed, const char *const *from, size_t n, size_t most,
			struct buf *out)
{
	size_t start = out->n;
	for (size_t i = dice(seed) % most + 1; i-- > 0;)
		buf_add_text(out, from[dice(seed) % n]);
	return str_from(buf_str(out), start);
}

static void thousands_of_random_files_agree_with_the_slow_reader(void **state)
{
	(void)state;
	static const char *const parts[] = {"/",   "a", "b", "*", "$",    "?",   "%2F", "%61",
					    "%3a", ":", "%", "*", "\xc3", "%C3", "/",   "a"};
	static const char *const lines[] = {"user-agent: *\n", "user-agent: garner\n",
					    "user-agent: x\n", "crawl-delay: 1\n", "foo\r"};
	uint64_t seed = 7;
	struct buf file = BUF_INIT((size_t)1 << 20), path = BUF_INIT((size_t)1 << 20);
	for (int round = 0; round < 3000; round++) {
		buf_clear(&file);
		buf_add_text(&file, "user-agent: *\n");
		for (size_t i = dice(&seed) % 20; i-- > 0;) {
			if (dice(&seed) % 12 == 0)
				words(&seed, lines, ARRAY_LEN(lines), 2, &file);
			buf_add_text(&file, dice(&seed) % 2 ? "allow: /" : "disallow: /");
			words(&seed, parts, ARRAY_LEN(parts), 6, &file);
			buf_add_text(&file, dice(&seed) % 8 ? "\n" : "\r\n");
		}
		struct buf form = compiled(buf_str(&file), "garner");
		for (int i = 0; i < 10; i++) {
			buf_clear(&path);
			buf_add_text(&path, "/");
			words(&seed, parts, ARRAY_LEN(parts), 10, &path);
			struct robots_verdict fast = robots_verdict(buf_str(&form), buf_str(&path));
			struct robots_verdict slow =
				slow_verdict(buf_str(&file), STR("garner"), buf_str(&path));
			if (as_number(fast) != as_number(slow))
				fail_msg("%s: got %d, slowly %d, in\n%s", buf_text(&path),
					 as_number(fast), as_number(slow), buf_text(&file));
		}
		buf_free(&form);
	}
	buf_free(&file);
	buf_free(&path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_a_mebibyte_is_read_and_no_line_in_part),
		cmocka_unit_test(a_long_line_is_cut_and_the_next_one_counts),
		cmocka_unit_test(no_dollar_matches_a_path_that_is_too_long),
		cmocka_unit_test(hostile_patterns_are_walked_once),
		cmocka_unit_test(the_most_rules_that_a_file_can_have_compile),
		cmocka_unit_test(a_form_that_does_not_fit_leaves_the_buffer_alone),
		cmocka_unit_test(all_and_nothing_are_forms_too),
		cmocka_unit_test(a_small_file_stays_small),
		cmocka_unit_test(damaged_forms_are_asked_without_harm),
		cmocka_unit_test(thousands_of_random_files_agree_with_the_slow_reader),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
