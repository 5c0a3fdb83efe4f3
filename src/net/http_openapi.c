#include "base/jsonw.h"
#include "net/http.h"

#include <math.h>

/* What a value is in JSON Schema; sizes and times are texts with units. */
static const struct {
	const char *type;
	bool bounds;
} kinds[] = {
	[VALUE_BOOL] = {"boolean", false},  [VALUE_INT] = {"integer", true},
	[VALUE_REAL] = {"number", true},    [VALUE_SIZE] = {"string", false},
	[VALUE_TIME] = {"string", false},   [VALUE_TEXT] = {"string", false},
	[VALUE_WORD] = {"string", false},   [VALUE_PATH] = {"string", false},
	[VALUE_LISTEN] = {"string", false}, [VALUE_LIST] = {"array", false},
};

static void put_bound(struct jsonw *j, const char *key, double v)
{
	if (!isfinite(v))
		return;
	jsonw_key(j, key);
	jsonw_real(j, v);
}

static void put_schema(struct jsonw *j, const struct value_spec *spec)
{
	jsonw_key(j, "schema");
	jsonw_object(j);
	jsonw_put_text(j, "type", kinds[spec->type].type);
	if (kinds[spec->type].bounds && (spec->min != 0 || spec->max != 0)) {
		put_bound(j, "minimum", spec->min);
		put_bound(j, "maximum", spec->max);
	}
	if (spec->type == VALUE_WORD) {
		jsonw_key(j, "enum");
		jsonw_array(j);
		for (size_t i = 0; spec->words[i]; i++)
			jsonw_text(j, spec->words[i]);
		jsonw_array_end(j);
	}
	if (spec->type == VALUE_LIST) {
		jsonw_key(j, "items");
		jsonw_object(j);
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

static void put_param(struct jsonw *j, const struct http_route *route, const struct http_param *p)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(2000);
	bool path = in_path(route, p->spec.name);
	buf_printf(&text, "%s (", p->spec.help ? p->spec.help : p->spec.name);
	value_describe(&p->spec, &text);
	if (p->spec.fallback)
		buf_printf(&text, "; default %s", p->spec.fallback);
	buf_add_byte(&text, ')');
	jsonw_object(j);
	jsonw_put_text(j, "name", p->spec.name);
	jsonw_put_text(j, "in", path ? "path" : "query");
	jsonw_put_bool(j, "required", path || p->required);
	jsonw_put_str(j, "description", buf_str(&text));
	put_schema(j, &p->spec);
	jsonw_object_end(j);
}

static void put_answers(struct jsonw *j, const struct http_route *route)
{
	jsonw_key(j, "responses");
	jsonw_object(j);
	jsonw_key(j, "200");
	jsonw_object(j);
	jsonw_put_text(j, "description", route->summary);
	jsonw_key(j, "content");
	jsonw_object(j);
	jsonw_key(j, route->type ? route->type : "application/json");
	jsonw_object(j);
	jsonw_object_end(j);
	jsonw_object_end(j);
	jsonw_object_end(j);
	jsonw_object_end(j);
}

static void put_operation(struct jsonw *j, const struct http_route *route)
{
	static const char *const names[HTTP_NMETHODS] = {"get", "post", "put", "delete"};
	jsonw_key(j, names[route->method]);
	jsonw_object(j);
	jsonw_put_text(j, "summary", route->summary);
	jsonw_key(j, "parameters");
	jsonw_array(j);
	for (size_t i = 0; i < route->nparams; i++)
		put_param(j, route, &route->params[i]);
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

void http_openapi(const struct http_route *routes, size_t n, const char *title, const char *version,
		  struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_text(&j, "openapi", "3.0.3");
	jsonw_key(&j, "info");
	jsonw_object(&j);
	jsonw_put_text(&j, "title", title);
	jsonw_put_text(&j, "version", version);
	jsonw_object_end(&j);
	jsonw_key(&j, "paths");
	jsonw_object(&j);
	for (size_t i = 0; i < n; i++) {
		struct buf path = BUF_INIT(4096);
		bool first = true;
		for (size_t k = 0; k < i; k++)
			first &= strcmp(routes[k].pattern, routes[i].pattern) != 0;
		path_of(routes[i].pattern, &path);
		if (first) {
			jsonw_key(&j, buf_text(&path));
			jsonw_object(&j);
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
