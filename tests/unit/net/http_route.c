#include "net/http_inner.h"

#include "../unit.h"

struct values {
	const char *id, *name;
	int64_t limit;
	bool loud;
	int colour;
	struct value_list tags;
};
static const char *const colours[] = {"red", "green", NULL};
static const struct http_param params[] = {
	{{"id", VALUE_TEXT_AT(struct values, id)}},
	{{"name", VALUE_TEXT_AT(struct values, name), .fallback = "x"}, .required = true},
	{{"limit", VALUE_INT_AT(struct values, limit), .fallback = "10", .min = 1, .max = 100}},
	{{"loud", VALUE_BOOL_AT(struct values, loud)}},
	{{"colour", VALUE_WORD_AT(struct values, colour), .fallback = "green", .words = colours}},
	{{"tags", VALUE_LIST_AT(struct values, tags), .fallback = "a b"}},
};

static const struct value_spec more[] = {
	{"limit", VALUE_INT_AT(struct values, limit), .fallback = "10", .min = 1, .max = 100},
	{"name", VALUE_TEXT_AT(struct values, name), .fallback = "x"},
};

static int handle(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)ret;
	(void)err;
	return 0;
}

#define ID .params = params, .nparams = 1, .params_size = sizeof(struct values), .handle = handle
#define ALL                                                                                   \
	.params = params, .nparams = ARRAY_LEN(params), .params_size = sizeof(struct values), \
	.handle = handle
static const struct http_route routes[] = {
	{HTTP_GET, "/", "root", .handle = handle},
	{HTTP_GET, "/a", "a", .handle = handle},
	{HTTP_GET, "/a/", "a slash", .handle = handle},
	{HTTP_GET, "/a/:id", "a id", ID},
	{HTTP_DELETE, "/a/:id", "delete a id", ID},
	{HTTP_GET, "/a/b", "a b", .handle = handle},
	{HTTP_POST, "/a/b", "post a b", .handle = handle},
	{HTTP_GET, "/a/b/d", "a b d", .handle = handle},
	{HTTP_GET, "/a/:id/c", "a id c", ID},
	{HTTP_GET, "/all/:id", "all", ALL},
	{HTTP_GET, "/page", "page", ID, .loose = true},
	{HTTP_GET, "/form/:id", "form", ALL, .clips = true},
	{HTTP_GET, "/more", "more", ID, .loose = true, .more = more, .nmore = ARRAY_LEN(more)},
};

static struct arena arena = ARENA_INIT(1 << 20);
static struct http_router *router;
static struct http_match match;
static struct err err;

static int begin(void **state)
{
	(void)state;
	router = http_router_new(routes, ARRAY_LEN(routes));
	return 0;
}

static int end(void **state)
{
	(void)state;
	http_router_free(&router);
	arena_free(&arena);
	return 0;
}

static int find(enum http_method method, const char *path)
{
	return http_router_find(router, method, str_of(path), &arena, &match, &err);
}

static void expect(enum http_method method, const char *path, const char *summary)
{
	int rc = find(method, path);
	if (rc != 0 || strcmp(match.route->summary, summary) != 0)
		fail_msg("%s: rc %d, went to '%s' instead of '%s'", path, rc,
			 match.route ? match.route->summary : "nothing", summary);
}

static void paths_go_to_their_routes(void **state)
{
	(void)state;
	expect(HTTP_GET, "/", "root");
	expect(HTTP_GET, "/a", "a");
	expect(HTTP_GET, "/a/", "a slash");
	expect(HTTP_GET, "/a/b", "a b");
	expect(HTTP_GET, "/a/x", "a id");
	expect(HTTP_GET, "/a/b/d", "a b d");
	expect(HTTP_POST, "/a/b", "post a b");
}

static void a_literal_that_leads_nowhere_gives_way_to_a_parameter(void **state)
{
	(void)state;
	expect(HTTP_GET, "/a/b/c", "a id c");
	expect(HTTP_DELETE, "/a/b", "delete a id");
}

static void encoded_segments_are_the_same_segments(void **state)
{
	(void)state;
	expect(HTTP_GET, "/%61/%62", "a b");
	expect(HTTP_GET, "/a/b%2Fc", "a id"); /* a slash that is meant does not part */
	assert_str(match.segment[1], "b/c");
	expect(HTTP_GET, "/a/+", "a id"); /* a blank in queries alone */
	assert_str(match.segment[1], "+");
}

static void what_is_not_there_is_nothing(void **state)
{
	static const char *const paths[] = {"/b", "//",   "/a//",  "/a/b/", "/a/b/c/",
					    "/A", "/all", "/all/", "/a/x/y"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(find(HTTP_GET, paths[i]), 1);
		assert_int_equal(match.allow, 0);
		assert_null(match.route);
	}
	assert_int_equal(find(HTTP_GET, "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"), 1);
}

static void another_method_is_told_what_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(find(HTTP_PUT, "/a/b"), 1);
	assert_int_equal(match.allow, 1 << HTTP_GET | 1 << HTTP_POST | 1 << HTTP_DELETE);
	assert_int_equal(find(HTTP_NMETHODS, "/a"), 1);
	assert_int_equal(match.allow, 1 << HTTP_GET);
}

static void paths_that_are_none_are_refused(void **state)
{
	static const char *const paths[] = {"",    "a",    "*",    "http://x/", "/%",
					    "/%4", "/%4g", "/%00", "/a/%zz",    "/%%"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		err = (struct err){0};
		if (find(HTTP_GET, paths[i]) >= 0 || err.code != ERR_USAGE)
			fail_msg("'%s' is taken for a path", paths[i]);
	}
}

static int parse(const char *path, const char *query, const struct values **ret)
{
	const void *got = NULL;
	assert_int_equal(find(HTTP_GET, path), 0);
	int rc = http_params_parse(&match, str_of(query), &arena, &got, &err);
	*ret = got;
	return rc;
}

static void parameters_come_from_path_and_query(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/all/x%20y", "name=a+b%26c&limit=100&loud=yes&colour=red", &v), 0);
	assert_string_equal(v->id, "x y");
	assert_string_equal(v->name, "a b&c");
	assert_int_equal(v->limit, 100);
	assert_true(v->loud);
	assert_int_equal(v->colour, 0);
	assert_int_equal(v->tags.n, 2);
}

static void what_is_not_said_has_its_default(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/all/x", "&&name=&", &v), 0);
	assert_string_equal(v->name, "");
	assert_int_equal(v->limit, 10);
	assert_false(v->loud);
	assert_int_equal(v->colour, 1);
	assert_string_equal(v->tags.item[1], "b");
}

static void a_list_may_be_repeated_and_replaces_its_default(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/all/x", "name=n&tags=1,2&tags=3", &v), 0);
	assert_int_equal(v->tags.n, 3);
	assert_string_equal(v->tags.item[0], "1");
	assert_string_equal(v->tags.item[2], "3");
}

static void a_form_takes_the_nearest_number_and_else_what_it_begins_with(void **state)
{
	static const struct {
		const char *query;
		int64_t limit;
	} samples[] = {
		{"name=n", 10},
		{"name=n&limit=0", 1},
		{"name=n&limit=-5", 1},
		{"name=n&limit=101", 100},
		{"name=n&limit=99999999999999999999", 100},
		{"name=n&limit=-99999999999999999999", 1},
		{"name=n&limit=", 10},
		{"name=n&limit=x&loud=&colour=blue", 10},
		{"name=n&limit=-", 10},
	};
	const struct values *v;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		assert_int_equal(parse("/form/x", samples[i].query, &v), 0);
		assert_int_equal(v->limit, samples[i].limit);
		assert_false(v->loud);
	}
	assert_true(parse("/form/x", "limit=3", &v) < 0); /* a name is needed all the same */
}

static void wrong_values_name_their_parameter(void **state)
{
	static const char *const samples[][2] = {
		{"limit=1", "parameter 'name': is missing"},
		{"name=n&limit=0", "parameter 'limit': must be 1 to 100, got '0'"},
		{"name=n&limit=101", "parameter 'limit': must be 1 to 100, got '101'"},
		{"name=n&limit=x", "parameter 'limit': expected a whole number, got 'x'"},
		{"name=n&limit=", "parameter 'limit': expected a whole number, got ''"},
		{"name=n&limit", "parameter 'limit': expected a whole number, got ''"},
		{"name=n&limit=99999999999999999999",
		 "parameter 'limit': expected a whole number, got '99999999999999999999'"},
		{"name=n&limit=1&limit=2", "parameter 'limit': is there twice"},
		{"name=n&id=2", "parameter 'id': is there twice"},
		{"name=n&colour=blue",
		 "parameter 'colour': expected one of red, green, got 'blue'"},
		{"name=n&lmit=3", "unknown parameter 'lmit'; did you mean 'limit'?"},
		{"name=n&something=3", "unknown parameter 'something'"},
		{"name=%0", "parameter 'name': '%0': each % is followed by two hex digits, not 00"},
		{"%=1", "query: '%': each % is followed by two hex digits, not 00"},
	};
	const struct values *v;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		assert_true(parse("/all/x", samples[i][0], &v) < 0);
		assert_int_equal(err.code, ERR_USAGE);
		assert_string_equal(err.msg, samples[i][1]);
	}
}

static void pages_pass_over_what_they_do_not_know(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/page", "utm_source=x&id=1&%41=2", &v), 0);
	assert_string_equal(v->id, "1");
	assert_true(parse("/page", "id=1&id=2", &v) < 0);
}

static void parameters_of_another_table_are_parameters(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/more", "", &v), 0);
	assert_int_equal(v->limit, 10);
	assert_string_equal(v->name, "x");
	assert_int_equal(parse("/more", "id=1&limit=7&name=n", &v), 0);
	assert_string_equal(v->id, "1");
	assert_int_equal(v->limit, 7);
	assert_string_equal(v->name, "n");
	assert_true(parse("/more", "limit=7&limit=8", &v) < 0);
	assert_true(parse("/more", "limit=700", &v) < 0);
	assert_string_equal(err.msg, "parameter 'limit': must be 1 to 100, got '700'");
}

static void empty_fields_of_a_page_are_as_if_they_were_not_there(void **state)
{
	const struct values *v;
	(void)state;
	assert_int_equal(parse("/more", "limit=&name=", &v), 0);
	assert_int_equal(v->limit, 10);
	assert_string_equal(v->name, "");
	assert_int_equal(parse("/more", "limit=&limit=3", &v), 0);
	assert_int_equal(v->limit, 3);
}

static void too_many_parameters_are_refused(void **state)
{
	const struct values *v;
	struct buf query = BUF_INIT(10000);
	(void)state;
	for (int i = 0; i < HTTP_QUERY_PAIRS; i++)
		buf_add_text(&query, "x=1&");
	assert_int_equal(parse("/page", buf_text(&query), &v), 0);
	buf_add_text(&query, "x=1");
	assert_true(parse("/page", buf_text(&query), &v) < 0);
	assert_string_equal(err.msg, "query: more than 100 parameters");
	buf_free(&query);
}

static void what_is_encoded_is_decoded_to_the_same(void **state)
{
	struct buf text = BUF_INIT(10000);
	char all[255];
	struct str back;
	(void)state;
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (char)(i + 1);
	http_encode(&text, (struct str){all, sizeof all});
	for (int query = 0; query < 2; query++) {
		assert_int_equal(http_decode(buf_str(&text), query, &arena, &back, &err), 0);
		assert_true(str_eq(back, (struct str){all, sizeof all}));
	}
	buf_free(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static void a_star_takes_what_no_other_has(void **state)
{
	static const struct http_route some[] = {
		{HTTP_GET, "/a/:id", "a id", ID},
		{HTTP_POST, "/b", "post b", .handle = handle},
		{HTTP_GET, "/*", "rest", .handle = handle},
	};
	(void)state;
	http_router_free(&router);
	router = http_router_new(some, ARRAY_LEN(some));
	expect(HTTP_GET, "/a/x", "a id");
	expect(HTTP_GET, "/", "rest");
	expect(HTTP_GET, "/a", "rest");
	expect(HTTP_GET, "/b", "rest");
	expect(HTTP_POST, "/b", "post b");
	expect(HTTP_GET, "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18", "rest");
	assert_int_equal(find(HTTP_POST, "/c"), 1);
	assert_int_equal(match.allow, 1u << HTTP_GET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths_go_to_their_routes),
		TEST(a_literal_that_leads_nowhere_gives_way_to_a_parameter),
		TEST(encoded_segments_are_the_same_segments),
		TEST(what_is_not_there_is_nothing),
		TEST(another_method_is_told_what_is_allowed),
		TEST(paths_that_are_none_are_refused),
		TEST(parameters_come_from_path_and_query),
		TEST(what_is_not_said_has_its_default),
		TEST(a_list_may_be_repeated_and_replaces_its_default),
		TEST(a_form_takes_the_nearest_number_and_else_what_it_begins_with),
		TEST(wrong_values_name_their_parameter),
		TEST(pages_pass_over_what_they_do_not_know),
		TEST(parameters_of_another_table_are_parameters),
		TEST(empty_fields_of_a_page_are_as_if_they_were_not_there),
		TEST(too_many_parameters_are_refused),
		TEST(what_is_encoded_is_decoded_to_the_same),
		TEST(a_star_takes_what_no_other_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
