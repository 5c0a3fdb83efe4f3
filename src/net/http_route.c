/* Routes: a table becomes a tree of path segments, in which a request finds its route and
 * parameters. The OpenAPI document is printed from the same table, so that the two cannot differ.
 */
#include "base/ascii.h"
#include "base/jsonw.h"
#include "base/nearest.h"
#include "net/http_inner.h"

#include <math.h>
#include <string.h>

const char *const http_methods[HTTP_NMETHODS] = {"GET", "POST", "PUT", "DELETE"};

/* A segment of one or more patterns. The child for parameters, at most one, is the last. */
struct node {
	struct str name; /* p is NULL: a parameter */
	struct node *child, *next;
	const struct http_route *route[HTTP_NMETHODS];
};

struct http_router {
	struct arena arena;
	struct node root;
	const struct http_route *rest[HTTP_NMETHODS]; /* what no other route has */
};

static size_t split_path(struct str path, struct str ret[HTTP_SEGMENTS])
{
	size_t n = 0;
	struct str rest = str_from(path, 1), segment;
	while (n < HTTP_SEGMENTS && str_cut(&rest, '/', &segment) == 0)
		ret[n++] = segment;
	return rest.p ? HTTP_SEGMENTS + 1 : n;
}

static size_t param_count(const struct http_route *route)
{
	return route->nparams + route->nmore;
}

static const struct value_spec *param_spec(const struct http_route *route, size_t i)
{
	return i < route->nparams ? &route->params[i].spec : &route->more[i - route->nparams];
}

static bool param_required(const struct http_route *route, size_t i)
{
	return i < route->nparams && route->params[i].required;
}

/* param_count(): there is none of this name. */
static size_t find_param(const struct http_route *route, struct str name)
{
	size_t i = 0;
	while (i < param_count(route) && !str_is(name, param_spec(route, i)->name))
		i++;
	return i;
}

static struct node *add_child(struct http_router *r, struct node *parent, struct str name)
{
	struct node **at = &parent->child;
	for (; *at; at = &(*at)->next) {
		struct node *c = *at;
		if (name.p ? c->name.p && str_eq(c->name, name) : !c->name.p)
			return c;
		if (!c->name.p) /* a literal goes before it */
			break;
	}
	struct node *made = arena_alloc(&r->arena, sizeof *made);
	made->name = name;
	made->next = *at;
	*at = made;
	return made;
}

static void add_route(struct http_router *r, const struct http_route *route)
{
	struct str segments[HTTP_SEGMENTS];
	struct node *node = &r->root;
	size_t n = split_path(str_of(route->pattern), segments);
	ENSURE(route->pattern[0] == '/' && n <= HTTP_SEGMENTS && param_count(route) <= 64);
	ENSURE(route->handle && route->summary && route->method < HTTP_NMETHODS);
	ENSURE(route->slow || route->scope != HTTP_PROVIDER);
	if (strcmp(route->pattern, "/*") == 0) {
		ENSURE(!r->rest[route->method]);
		r->rest[route->method] = route;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool param = str_starts(segments[i], STR(":"));
		ENSURE(!param || find_param(route, str_from(segments[i], 1)) < route->nparams);
		node = add_child(r, node, param ? (struct str){0} : segments[i]);
	}
	ENSURE(!node->route[route->method]);
	node->route[route->method] = route;
}

struct http_router *http_router_new(const struct http_route *routes, size_t n)
{
	struct http_router *r = mem_alloc(sizeof *r);
	r->arena = ARENA_INIT(64 << 20);
	for (size_t i = 0; i < n; i++)
		add_route(r, &routes[i]);
	return r;
}

void http_router_free(struct http_router **r)
{
	if (*r)
		arena_free(&(*r)->arena);
	mem_free(r);
}

/* A path that has routes, though not for this method, is remembered and the search goes on. */
static const struct http_route *node_walk(const struct node *node, enum http_method method,
					  struct http_match *m, size_t at)
{
	if (at == m->n) {
		for (unsigned i = 0; i < HTTP_NMETHODS; i++)
			if (node->route[i])
				m->allow |= 1u << i;
		return method < HTTP_NMETHODS ? node->route[method] : NULL;
	}
	for (const struct node *c = node->child; c; c = c->next) {
		struct str segment = m->segment[at];
		if (c->name.p ? !str_eq(c->name, segment) : segment.n == 0)
			continue;
		const struct http_route *found = node_walk(c, method, m, at + 1);
		if (found)
			return found;
	}
	return NULL;
}

int http_router_find(const struct http_router *r, enum http_method method, struct str path,
		     struct arena *arena, struct http_match *ret, struct err *err)
{
	ret->route = NULL;
	ret->allow = 0;
	if (!str_starts(path, STR("/")))
		return err_set(err, ERR_USAGE, "a path begins with /");
	ret->n = split_path(path, ret->segment);
	if (ret->n <= HTTP_SEGMENTS) {
		for (size_t i = 0; i < ret->n; i++)
			if (http_decode(ret->segment[i], false, arena, &ret->segment[i], err) < 0)
				return err_in(err, "path");
		ret->route = node_walk(&r->root, method, ret, 0);
	}
	for (unsigned i = 0; i < HTTP_NMETHODS && !ret->route; i++)
		if (r->rest[i])
			ret->allow |= 1u << i;
	if (!ret->route && method < HTTP_NMETHODS)
		ret->route = r->rest[method];
	return ret->route ? 0 : 1;
}

int http_decode(struct str s, bool query, struct arena *arena, struct str *ret, struct err *err)
{
	if (str_find_byte(s, '%') == s.n && (!query || str_find_byte(s, '+') == s.n)) {
		*ret = s;
		return 0;
	}
	char *text = arena_alloc(arena, s.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = query && s.p[i] == '+' ? ' ' : s.p[i];
		if (c == '%') {
			int high = i + 2 < s.n ? ascii_hex(s.p[i + 1]) : -1;
			int low = i + 2 < s.n ? ascii_hex(s.p[i + 2]) : -1;
			char shown[VALUE_SHOWN];
			if (high < 0 || low < 0 || (high | low) == 0)
				return err_set(
					err, ERR_USAGE,
					"'%s': each %% is followed by two hex digits, not 00",
					value_show(s, shown));
			c = (char)(high << 4 | low);
			i += 2;
		}
		text[n++] = c;
	}
	*ret = (struct str){text, n};
	return 0;
}

void http_encode(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~')
			buf_add_byte(out, c);
		else
			buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

/* The struct of parameters that is being filled. */
struct filling {
	const struct http_route *route;
	struct arena *arena;
	void *base;
	uint64_t seen; /* a bit per parameter */
};

static bool is_whole_number(struct str text)
{
	bool sign = text.n && text.p[0] == '-';
	size_t i = sign;
	while (i < text.n && ascii_is_digit(text.p[i]))
		i++;
	return i == text.n && i > sign;
}

/* Replaces a refused value: a number by its nearest bound, anything else by the default. */
static void clip_param(const struct value_spec *spec, struct str value, void *base)
{
	uint64_t number;
	if (spec->type != VALUE_INT || !is_whole_number(value))
		return;
	bool less = value.p[0] == '-' || (str_u64(value, &number) && (double)number < spec->min);
	double bound = less ? spec->min : spec->max;
	int64_t whole = isfinite(bound) ? (int64_t)bound : 0;
	if (isfinite(bound))
		memcpy((char *)base + spec->offset, &whole, sizeof whole);
}

static int fill_param(struct filling *f, size_t param, struct str value, struct err *err)
{
	const struct value_spec *spec = param_spec(f->route, param);
	uint64_t bit = UINT64_C(1) << param;
	if ((f->seen & bit) && spec->type != VALUE_LIST)
		return err_set(err, ERR_USAGE, "parameter '%s': is there twice", spec->name);
	if (f->route->loose && value.n == 0 && spec->type != VALUE_TEXT)
		return 0;
	int rc = f->seen & bit ? value_add(spec, value, f->arena, f->base, err)
			       : value_parse(spec, value, f->arena, f->base, err);
	f->seen |= bit;
	if (rc < 0 && f->route->clips && spec->type != VALUE_TEXT) {
		clip_param(spec, value, f->base);
		return 0;
	}
	return rc < 0 ? err_in(err, "parameter '%s'", spec->name) : 0;
}

static int param_unknown(const struct http_route *route, struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < param_count(route); i++)
		nearest_try(&near, param_spec(route, i)->name);
	return err_set(err, ERR_USAGE, "unknown parameter '%s'%s", value_show(name, shown),
		       nearest_words(&near));
}

static int fill_path(struct filling *f, const struct http_match *m, struct err *err)
{
	struct str segments[HTTP_SEGMENTS] = {0};
	size_t n = split_path(str_of(f->route->pattern), segments);
	for (size_t i = 0; i < n; i++)
		if (str_starts(segments[i], STR(":")) &&
		    fill_param(f, find_param(f->route, str_from(segments[i], 1)), m->segment[i],
			       err) < 0)
			return -1;
	return 0;
}

static int fill_pair(struct filling *f, struct str pair, struct err *err)
{
	size_t eq = str_find_byte(pair, '=');
	struct str name, value;
	if (http_decode(str_head(pair, eq), true, f->arena, &name, err) < 0)
		return err_in(err, "query");
	size_t param = find_param(f->route, name);
	if (param == param_count(f->route))
		return f->route->loose ? 0 : param_unknown(f->route, name, err);
	if (http_decode(str_from(pair, eq + 1), true, f->arena, &value, err) < 0)
		return err_in(err, "parameter '%s'", param_spec(f->route, param)->name);
	return fill_param(f, param, value, err);
}

static int fill_query(struct filling *f, struct str query, struct err *err)
{
	struct str pair;
	for (size_t n = 0; query.n && str_cut(&query, '&', &pair) == 0;) {
		if (pair.n == 0)
			continue;
		if (++n > HTTP_QUERY_PAIRS)
			return err_set(err, ERR_USAGE, "query: more than %d parameters",
				       HTTP_QUERY_PAIRS);
		if (fill_pair(f, pair, err) < 0)
			return -1;
	}
	return 0;
}

int http_params_parse(const struct http_match *m, struct str query, struct arena *arena,
		      const void **ret, struct err *err)
{
	const struct http_route *route = m->route;
	struct filling f = {.route = route, .arena = arena};
	f.base = arena_alloc(arena, MAX(route->params_size, (size_t)1));
	for (size_t i = 0; i < param_count(route); i++)
		value_defaults(param_spec(route, i), 1, arena, f.base);
	if (fill_path(&f, m, err) < 0 || fill_query(&f, query, err) < 0)
		return -1;
	for (size_t i = 0; i < param_count(route); i++)
		if (param_required(route, i) && !(f.seen >> i & 1))
			return err_set(err, ERR_USAGE, "parameter '%s': is missing",
				       param_spec(route, i)->name);
	*ret = f.base;
	return 0;
}

/* The table as a document. */

/* What a value is in JSON Schema; sizes and times are texts with units. */
static const struct {
	const char *type;
	bool bounds;
} kinds[] = {
	[VALUE_BOOL] = {"boolean", false}, [VALUE_INT] = {"integer", true},
	[VALUE_REAL] = {"number", true},   [VALUE_PERCENT] = {"string", false},
	[VALUE_SIZE] = {"string", false},  [VALUE_TIME] = {"string", false},
	[VALUE_TEXT] = {"string", false},  [VALUE_WORD] = {"string", false},
	[VALUE_PATH] = {"string", false},  [VALUE_LISTEN] = {"string", false},
	[VALUE_UDP] = {"string", false},   [VALUE_LIST] = {"array", false},
};

static void put_bound(struct jsonw *j, const char *key, double v)
{
	if (isfinite(v))
		jsonw_put_real(j, key, v);
}

static void put_schema(struct jsonw *j, const struct value_spec *spec)
{
	jsonw_put_object(j, "schema");
	jsonw_put_text(j, "type", kinds[spec->type].type);
	if (kinds[spec->type].bounds && (spec->min != 0 || spec->max != 0)) {
		put_bound(j, "minimum", spec->min);
		put_bound(j, "maximum", spec->max);
	}
	if (spec->type == VALUE_WORD) {
		jsonw_put_array(j, "enum");
		for (size_t i = 0; spec->words[i]; i++)
			jsonw_text(j, spec->words[i]);
		jsonw_array_end(j);
	}
	if (spec->type == VALUE_LIST) {
		jsonw_put_object(j, "items");
		jsonw_put_text(j, "type", "string");
		jsonw_object_end(j);
	}
	jsonw_object_end(j);
}

static bool in_path(const struct http_route *route, const char *name)
{
	struct str rest = str_of(route->pattern), segment;
	while (str_cut(&rest, '/', &segment) == 0)
		if (str_starts(segment, STR(":")) && str_is(str_from(segment, 1), name))
			return true;
	return false;
}

static void put_param(struct jsonw *j, const struct http_route *route, size_t param)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(2000);
	const struct value_spec *spec = param_spec(route, param);
	bool path = in_path(route, spec->name);
	buf_printf(&text, "%s (", spec->help ? spec->help : spec->name);
	value_describe(spec, &text);
	if (spec->fallback)
		buf_printf(&text, "; default %s", spec->fallback);
	buf_add_byte(&text, ')');
	jsonw_object(j);
	jsonw_put_text(j, "name", spec->name);
	jsonw_put_text(j, "in", path ? "path" : "query");
	jsonw_put_bool(j, "required", path || param_required(route, param));
	jsonw_put_str(j, "description", buf_str(&text));
	put_schema(j, spec);
	jsonw_object_end(j);
}

static void put_answers(struct jsonw *j, const struct http_route *route)
{
	jsonw_put_object(j, "responses");
	jsonw_put_object(j, "200");
	jsonw_put_text(j, "description", route->summary);
	jsonw_put_object(j, "content");
	jsonw_put_object(j, route->type ? route->type : "application/json");
	jsonw_object_end(j);
	jsonw_object_end(j);
	jsonw_object_end(j);
	jsonw_object_end(j);
}

static void put_operation(struct jsonw *j, const struct http_route *route)
{
	static const char *const names[HTTP_NMETHODS] = {"get", "post", "put", "delete"};
	jsonw_put_object(j, names[route->method]);
	jsonw_put_text(j, "summary", route->summary);
	jsonw_put_array(j, "parameters");
	for (size_t i = 0; i < param_count(route); i++)
		put_param(j, route, i);
	jsonw_array_end(j);
	put_answers(j, route);
	jsonw_object_end(j);
}

/* "/a/:id" is "/a/{id}" there. */
static void path_of(const char *pattern, struct buf *out)
{
	struct str rest = str_from(str_of(pattern), 1), segment;
	while (str_cut(&rest, '/', &segment) == 0) {
		bool param = str_starts(segment, STR(":"));
		struct str name = str_from(segment, param);
		buf_printf(out, param ? "/{" STR_FMT "}" : "/" STR_FMT, STR_ARG(name));
	}
}

static void put_about(struct jsonw *j, const struct http_about *about)
{
	jsonw_put_object(j, "info");
	jsonw_put_text(j, "title", about->title);
	jsonw_put_text(j, "version", about->version);
	jsonw_object_end(j);
	struct str url = str_of(about->url); /* paths are put after it */
	if (url.n == 0)
		return;
	jsonw_put_array(j, "servers");
	jsonw_object(j);
	jsonw_put_str(j, "url", str_head(url, url.n - str_ends(url, STR("/"))));
	jsonw_object_end(j);
	jsonw_array_end(j);
}

void http_openapi(const struct http_route *routes, size_t n, const struct http_about *about,
		  struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_text(&j, "openapi", "3.0.3");
	put_about(&j, about);
	jsonw_put_object(&j, "paths");
	for (size_t i = 0; i < n; i++) {
		struct buf path = BUF_INIT(4096);
		bool first = true;
		for (size_t k = 0; k < i; k++)
			first &= strcmp(routes[k].pattern, routes[i].pattern) != 0;
		path_of(routes[i].pattern, &path);
		if (first) {
			jsonw_put_object(&j, buf_text(&path));
			for (size_t k = i; k < n; k++)
				if (strcmp(routes[k].pattern, routes[i].pattern) == 0)
					put_operation(&j, &routes[k]);
			jsonw_object_end(&j);
		}
		buf_free(&path);
	}
	jsonw_object_end(&j);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}
