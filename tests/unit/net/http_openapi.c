#include "../unit.h"
#include "net/http.h"

#include <math.h>

struct values {
	const char *id;
	int64_t limit;
	int colour;
	struct value_list tags;
	int64_t wait_us;
};
static const char *const colours[] = {"red", "green", NULL};
static const struct http_param params[] = {
	{{"id", VALUE_TEXT_AT(struct values, id), .help = "Which \"one\""}},
	{{"limit", VALUE_INT_AT(struct values, limit), .fallback = "10", .min = 1, .max = INFINITY,
	  .help = "How many"}},
	{{"colour", VALUE_WORD_AT(struct values, colour), .words = colours, .help = "Which"},
	 .required = true},
	{{"tags", VALUE_LIST_AT(struct values, tags), .help = "Some"}},
	{{"wait", VALUE_TIME_AT(struct values, wait_us), .help = "How long", .max = 1e6}},
};

static int handle(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)ret;
	(void)err;
	return 0;
}

static const struct http_route routes[] = {
	{HTTP_GET, "/", "Root", "text/html", .handle = handle},
	{HTTP_GET, "/a/:id", "One", NULL, params, ARRAY_LEN(params), sizeof(struct values),
	 .handle = handle},
	{HTTP_DELETE, "/a/:id", "No more", NULL, params, 1, sizeof(struct values),
	 .handle = handle},
};

static void has(const struct buf *text, const char *part)
{
	if (!strstr(buf_text(text), part))
		fail_msg("no %s in %s", part, buf_text(text));
}

static void the_table_becomes_a_document(void **state)
{
	struct buf out = BUF_INIT(1 << 20);
	(void)state;
	http_openapi(routes, ARRAY_LEN(routes),
		     &(struct http_about){"a \"title\"", "1.2", "https://a.example/"}, &out);
	has(&out,
	    "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"a \\\"title\\\"\",\"version\":\"1.2\"}");
	has(&out, "\"servers\":[{\"url\":\"https://a.example\"}]");
	has(&out, "\"paths\":{\"/\":{\"get\":{\"summary\":\"Root\",\"parameters\":[]");
	has(&out, "\"content\":{\"text/html\":{}}");
	has(&out, "\"/a/{id}\":{\"get\":{");
	has(&out, "\"delete\":{\"summary\":\"No more\"");
	has(&out, "{\"name\":\"id\",\"in\":\"path\",\"required\":true,\"description\":\"Which "
		  "\\\"one\\\" (text)\",\"schema\":{\"type\":\"string\"}}");
	has(&out,
	    "\"in\":\"query\",\"required\":false,\"description\":\"How many (number, at least 1; "
	    "default 10)\",\"schema\":{\"type\":\"integer\",\"minimum\":1}}");
	has(&out, "\"required\":true,\"description\":\"Which (one of red, green)\",\"schema\":{"
		  "\"type\":\"string\",\"enum\":[\"red\",\"green\"]}}");
	has(&out, "\"schema\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}");
	assert_null(strstr(strstr(buf_text(&out), "/a/{id}") + 1, "/a/{id}")); /* once */
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_becomes_a_document),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
