#include "page.h"
#include "web/web_inner.h"

static struct arena arena = ARENA_INIT(1 << 20);
static struct web_files asked;

static int begin(void **state)
{
	(void)state;
	asked = (struct web_files){.q = "zebra", .id = ""};
	value_defaults(ng_var_specs, NG_VARS, &arena, &asked.vars);
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_free(&page);
	page = BUF_INIT(1 << 20);
	arena_free(&arena);
	return 0;
}

static struct archie_row a_row(const char *name, enum names_kind kind)
{
	return (struct archie_row){.host = STR("ftp.example.test"),
				   .listed_s = 1000000000,
				   .file = {.name = str_of(name),
					    .dir = STR("pub/a b"),
					    .kind = kind,
					    .size = 1234567,
					    .time_s = 951782400},
				   .url = STR("ftp://ftp.example.test/pub/a%20b/x")};
}

static void show(struct archie_row *rows, size_t n, uint64_t total)
{
	const struct archie_answer a = {.row = rows, .n = n, .total = total, .exact = true};
	web_files_results(page_new(), &asked, &a, 1000000000 + 3 * 86400);
}

static void every_choice_of_the_table_has_words_in_the_form(void **state)
{
	(void)state;
	static const char *const names[] = {"search", "sortby", "syntax"};
	web_files_form(page_new(), &asked, &(struct domains){0});
	assert_page_lacks("></option>");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct value_spec *spec = value_find(ng_var_specs, NG_VARS, str_of(names[i]));
		for (size_t k = 0; spec->words[k]; k++)
			assert_page_has(
				arena_printf(&arena, "<option value=\"%s\"", spec->words[k]));
	}
	assert_page_has("<option value=\"sub\" selected");
	assert_page_lacks("<details open");
}

static void what_was_asked_stands_in_the_form(void **state)
{
	(void)state;
	asked.q = "\"><b>";
	asked.vars.kind = "file link";
	asked.vars.time_min = "20240229120000Z";
	asked.vars.time_max = "2024-02-29";
	asked.vars.size_max = 10 << 10;
	asked.vars.mirrors = true;
	web_files_form(page_new(), &asked, &(struct domains){0});
	assert_page_lacks("<b>");
	assert_page_has("<details open");
	assert_page_has("<option value=\"file link\" selected");
	assert_page_has("type=\"text\" name=\"time_min\" value=\"20240229120000Z\"");
	assert_page_has("type=\"date\" name=\"time_max\" value=\"2024-02-29\"");
	assert_page_has("name=\"size_max\" placeholder=\"1.5M\" value=\"10K\"");
	assert_page_has("name=\"mirrors\" value=\"yes\" checked");
}

static void a_result_links_to_the_file_its_folder_and_its_site(void **state)
{
	(void)state;
	struct archie_row row = a_row("<x>\xff", NAMES_FILE), folder = a_row("d", NAMES_DIR);
	folder.url = STR("ftp://ftp.example.test/pub/a%20b/d/");
	folder.listed_s = -1;
	row.mirrors = 1;
	asked.vars.offset = 100;
	show(&row, 1, 101);
	assert_page_has("<a href=\"ftp://ftp.example.test/pub/a%20b/x\"");
	assert_page_has("<a href=\"ftp://ftp.example.test/pub/a%20b/\"");
	assert_page_has("&lt;x&gt;\xef\xbf\xbd");
	assert_page_has("File · 1.2 MB · 2000-02-29 · 1 mirror · listed 3 days ago");
	assert_page_has("/files?q=zebra&amp;match_site=ftp.example.test\"");
	show(&folder, 1, 1);
	assert_page_has("<a href=\"ftp://ftp.example.test/pub/a%20b/\"");
	assert_page_has(">d/</a>");
	assert_page_has(">ftp.example.test/pub/a b</a>");
	assert_page_lacks("listed");
	folder.url = STR("http://ftp.example.test/m%20x/pub/a%20b/d/");
	show(&folder, 1, 1);
	assert_page_has(">ftp.example.test/m x/pub/a b</a>");
	folder.url = (struct str){0};
	show(&folder, 1, 1);
	assert_page_lacks("<a href=\"ftp");
	folder.url = STR("javascript:alert(1)//");
	show(&folder, 1, 1);
	assert_page_lacks("javascript");
}

static void there_is_a_next_page_where_there_are_more_rows(void **state)
{
	(void)state;
	struct archie_row rows[3] = {a_row("a", NAMES_FILE), a_row("b", NAMES_FILE),
				     a_row("c", NAMES_FILE)};
	asked.vars.maxhits = 2;
	show(rows, 3, 3); /* a row more than the page has was asked for */
	assert_int_equal(page_count("<li>"), 2);
	assert_page_has("/files?q=zebra&amp;maxhits=2&amp;offset=2\" rel=\"next\"");
	assert_page_lacks("rel=\"prev\"");
	asked.vars.offset = 1;
	show(rows, 2, 3);
	assert_page_lacks("rel=\"next\"");
	assert_page_has("/files?q=zebra&amp;maxhits=2\" rel=\"prev\"");
	asked.vars.offset = 999999; /* as far as one can go */
	show(rows, 3, 9000000);
	assert_page_lacks("rel=\"next\"");
	show(rows, 0, 3);
	assert_page_has("There are no more files.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_choice_of_the_table_has_words_in_the_form),
		TEST(what_was_asked_stands_in_the_form),
		TEST(a_result_links_to_the_file_its_folder_and_its_site),
		TEST(there_is_a_next_page_where_there_are_more_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
