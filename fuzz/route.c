/* Anything as the target of a request. What is taken obeys its bounds, and written out again it is
 * taken again with the same values. */
#include "net/http_inner.h"

struct values {
	const char *id, *text;
	int64_t limit, wait_us;
	double share;
	uint64_t size;
	bool on;
	int colour;
	struct value_list tags;
};
static const char *const colours[] = {"red", "green", NULL};
static const struct http_param params[] = {
	{{"id", VALUE_TEXT_AT(struct values, id)}},
	{{"text", VALUE_TEXT_AT(struct values, text)}, .required = true},
	{{"limit", VALUE_INT_AT(struct values, limit), .fallback = "10", .min = 1, .max = 100}},
	{{"wait", VALUE_TIME_AT(struct values, wait_us), .fallback = "1s", .min = 0, .max = 60e6}},
	{{"share", VALUE_REAL_AT(struct values, share), .fallback = "0.5", .min = 0, .max = 1}},
	{{"size", VALUE_SIZE_AT(struct values, size), .fallback = "1K", .min = 1, .max = 1 << 20}},
	{{"on", VALUE_BOOL_AT(struct values, on)}},
	{{"colour", VALUE_WORD_AT(struct values, colour), .words = colours}},
	{{"tags", VALUE_LIST_AT(struct values, tags)}},
};

static int handle(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req;
	(void)ret;
	(void)err;
	return 0;
}

#define VALUES params, ARRAY_LEN(params), sizeof(struct values), .handle = handle
static const struct http_route routes[] = {
	{HTTP_GET, "/", "root", .handle = handle},
	{HTTP_GET, "/a/b/c", "literal", .handle = handle},
	{HTTP_GET, "/a/:id", "values", NULL, VALUES},
	{HTTP_GET, "/a/:id/d", "values and more", NULL, VALUES},
	{HTTP_POST, "/a/b/d", "literal", .handle = handle},
};

static void in_bounds(const struct values *v)
{
	ENSURE(v->id && *v->id && v->text);
	ENSURE(v->limit >= 1 && v->limit <= 100);
	ENSURE(v->wait_us >= 0 && v->wait_us <= 60000000);
	ENSURE(v->share >= 0 && v->share <= 1);
	ENSURE(v->size >= 1 && v->size <= 1 << 20);
	ENSURE(v->colour == 0 || v->colour == 1);
}

static void print(const struct values *v, struct buf *path, struct buf *query)
{
	struct buf text = BUF_INIT(1 << 20);
	buf_add_text(path, "/a/");
	http_encode(path, str_of(v->id));
	for (size_t i = 1; i < ARRAY_LEN(params); i++) {
		buf_clear(&text);
		value_print(&params[i].spec, v, &text);
		buf_printf(query, "&%s=", params[i].spec.name);
		http_encode(query, buf_str(&text));
	}
	buf_free(&text);
}

static void round_trip(const struct http_router *router, struct arena *arena,
		       const struct values *v)
{
	struct buf path = BUF_INIT(4 << 20), query = BUF_INIT(16 << 20);
	struct http_match match;
	struct err err;
	const void *again;
	print(v, &path, &query);
	ENSURE(http_router_find(router, HTTP_GET, buf_str(&path), arena, &match, &err) == 0);
	ENSURE(http_params_parse(&match, buf_str(&query), arena, &again, &err) == 0);
	for (size_t i = 0; i < ARRAY_LEN(params); i++)
		ENSURE(value_equal(&params[i].spec, v, again));
	buf_free(&path);
	buf_free(&query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	struct str target = {(const char *)data, size};
	size_t mark = str_find_byte(target, '?');
	struct arena arena = ARENA_INIT((size_t)256 << 20);
	struct http_router *router = http_router_new(routes, ARRAY_LEN(routes));
	struct http_match match;
	struct err err = {0};
	const void *values;
	int rc = http_router_find(router, HTTP_GET, str_head(target, mark), &arena, &match, &err);
	ENSURE((rc == 0) == (match.route != NULL) && (rc >= 0 || err.code == ERR_USAGE));
	if (rc == 0) {
		rc = http_params_parse(&match, str_from(target, mark + 1), &arena, &values, &err);
		ENSURE(rc == 0 || (err.code == ERR_USAGE && err.msg[0]));
		if (rc == 0 && match.route->nparams) {
			in_bounds(values);
			round_trip(router, &arena, values);
		}
	}
	http_router_free(&router);
	arena_free(&arena);
	return 0;
}
