#include "cmd/index_input.h"

#include "cmd/soif_json.h"

#include <jansson.h>

const char *const index_form_words[] = {"auto", "ndjson", "soif", "tsv", NULL};

enum { LINE_MOST = 2 * SOIF_MAX_VALUE };

struct input {
	const struct cmd_call *call;
	struct index_reading *r;
	enum index_form form; /* of the input at hand; DETECT: nothing has come yet */
	struct soif_parser soif;
	struct cmd_lines lines;
	struct arena arena;
};

static void reject_input(struct input *in, const char *name, uint64_t line, struct err *err)
{
	in->r->rejected++;
	if (line)
		(void)err_in(err, "%s:%llu", name, (unsigned long long)line);
	else
		(void)err_in(err, "%s", name);
	(void)cmd_fail(in->call, err);
}

static int hand_over(struct input *in, const struct soif *doc, bool gone, struct err *err)
{
	in->r->docs++;
	return in->r->take(in->r->ctx, doc, gone, err);
}

/* JSON: what "garner soif to-json" prints, or an object whose members are attributes. */

static bool is_key(const char *name)
{
	return strcmp(name, "url") == 0 || strcmp(name, "key") == 0 || strcmp(name, "id") == 0;
}

static bool value_of(const json_t *v, struct arena *arena, struct str *ret)
{
	if (json_is_string(v))
		*ret = arena_str(arena, (struct str){json_string_value(v), json_string_length(v)});
	else if (json_is_integer(v))
		*ret = str_of(arena_printf(arena, "%lld", (long long)json_integer_value(v)));
	else if (json_is_real(v))
		*ret = str_of(arena_printf(arena, "%.17g", json_real_value(v)));
	else if (json_is_boolean(v))
		*ret = json_is_true(v) ? STR("true") : STR("false");
	else
		return false;
	return true;
}

static void add_member(struct soif *obj, const char *name, const json_t *v, struct arena *arena)
{
	struct str as = arena_str(arena, str_of(name)), value;
	if (value_of(v, arena, &value)) {
		if (is_key(name) && obj->url.n == 0)
			obj->url = value;
		else
			soif_add(obj, arena, as, value);
	}
	for (size_t i = 0; i < json_array_size(v); i++)
		if (value_of(json_array_get(v, i), arena, &value))
			soif_append(obj, arena, as, value);
}

static int object_of(const json_t *root, struct arena *arena, struct soif *ret, struct err *err)
{
	struct soif obj = {.type = STR("FILE")};
	const char *name;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)root, name, v) add_member(&obj, name, v, arena);
	if (obj.url.n == 0)
		return err_set(err, ERR_USAGE, "no member \"url\", \"key\" or \"id\"");
	*ret = obj;
	return 0;
}

static int take_json(struct input *in, struct str text, struct soif *ret, bool *ret_gone,
		     struct err *err)
{
	json_error_t wrong;
	enum soif_section section = SOIF_PLAIN;
	json_t *root = json_loadb(text.p, text.n, JSON_ALLOW_NUL, &wrong);
	if (!root)
		return err_set(err, ERR_USAGE, "column %d: %s", wrong.column, wrong.text);
	bool printed = json_is_array(json_object_get(root, "attributes"));
	int rc = printed ? soif_json_parse(text, &in->arena, ret, &section, err)
			 : object_of(root, &in->arena, ret, err);
	*ret_gone = section == SOIF_DELETE;
	json_decref(root);
	return rc;
}

static int take_tsv(struct input *in, struct str text, struct soif *ret, struct err *err)
{
	struct str id, title;
	if (str_cut(&text, '\t', &id) != 0 || !text.p || str_cut(&text, '\t', &title) != 0 ||
	    !text.p)
		return err_set(err, ERR_USAGE, "expected id, title and text with tabs between");
	*ret = (struct soif){.type = STR("FILE"), .url = id};
	soif_add(ret, &in->arena, STR("Title"), title);
	soif_add(ret, &in->arena, STR("Full-Text"), text);
	return 0;
}

static int take_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct input *in = ctx;
	struct soif obj;
	bool gone = false;
	if (text.n == 0)
		return 0;
	int rc = in->form == INDEX_TSV ? take_tsv(in, text, &obj, err)
				       : take_json(in, text, &obj, &gone, err);
	if (rc < 0) {
		reject_input(in, name, line, err);
		rc = 0;
	} else {
		rc = hand_over(in, &obj, gone, err);
	}
	arena_clear(&in->arena);
	return rc;
}

static int take_soif(struct input *in, const char *name, struct str piece, struct err *err)
{
	struct soif obj;
	int rc;
	if (piece.n == 0)
		soif_feed_end(&in->soif);
	else if (soif_feed(&in->soif, piece, err) < 0)
		return err_in(err, "%s", name);
	while ((rc = soif_next(&in->soif, &in->arena, &obj, err)) != 1) {
		if (rc == 0 && obj.truncated)
			rc = err_set(err, ERR_USAGE, "the last object is cut off");
		if (rc < 0)
			reject_input(in, name, 0, err);
		else if (in->soif.section != SOIF_REFRESH &&
			 hand_over(in, &obj, in->soif.section == SOIF_DELETE, err) < 0)
			return -1;
		arena_clear(&in->arena);
	}
	return 0;
}

static enum index_form detect_form(struct str piece)
{
	piece = str_trim(piece);
	return piece.n == 0        ? INDEX_DETECT
	       : piece.p[0] == '@' ? INDEX_SOIF
	       : piece.p[0] == '{' ? INDEX_NDJSON
				   : INDEX_TSV;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct input *in = ctx;
	in->r->bytes += piece.n;
	if (in->form == INDEX_DETECT)
		in->form = in->r->form ? in->r->form : detect_form(piece);
	int rc = in->form == INDEX_SOIF ? take_soif(in, name, piece, err)
					: cmd_split(&in->lines, name, piece, err);
	if (piece.n == 0) { /* the next input is another */
		in->form = INDEX_DETECT;
		soif_parser_free(&in->soif);
		in->soif = SOIF_PARSER_INIT;
	}
	return rc;
}

int index_read(const struct cmd_call *call, int first_arg, struct index_reading *r, struct err *err)
{
	struct input in = {.call = call,
			   .r = r,
			   .soif = SOIF_PARSER_INIT,
			   .lines = {.take = take_line,
				     .most = LINE_MOST,
				     .begun = BUF_INIT((size_t)LINE_MOST + 1)},
			   .arena = ARENA_INIT(SIZE_MAX)};
	in.lines.ctx = &in;
	int rc = cmd_read(call, first_arg, take_piece, &in, err);
	soif_parser_free(&in.soif);
	buf_free(&in.lines.begun);
	arena_free(&in.arena);
	return rc;
}
