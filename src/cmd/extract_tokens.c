#include "cmd/extract_tokens.h"

#include "cmd/input.h"
#include "extract/html_token_json.h"

#include <jansson.h>

enum { LINE_MAX_BYTES = 64 << 20 };

/* Far beyond what pages have; so that nothing in a test is cut. */
static const struct html_limits limits = {
	.name = 1 << 20, .value = 64 << 20, .attrs = 4096, .comment = 64 << 20};

struct run {
	const struct cmd_call *call;
	struct html_tokens *tokens;
	struct html_json json;
	struct buf out;
	enum html_state state;
	struct str last;
	bool begun;
	uint64_t bad;
};

static int parse_state(struct str name, enum html_state *ret, struct err *err)
{
	if (html_state_of(name, ret) == 0)
		return 0;
	return err_set(err, ERR_USAGE,
		       "no state '" STR_FMT "'; there are 'Data state', 'RCDATA state', 'RAWTEXT "
		       "state', 'Script data state', 'PLAINTEXT state', 'CDATA section state'",
		       STR_ARG(str_head(name, 40)));
}

static void begin(struct run *r, enum html_state state, struct str last)
{
	html_json_begin(&r->json, &r->out);
	html_tokens_begin(r->tokens, &html_json_sink, &r->json, state, last);
	r->begun = true;
}

/* Prints the line; 1: it cannot be written. */
static int finish(struct run *r)
{
	html_tokens_end(r->tokens);
	html_json_end(&r->json);
	r->begun = false;
	buf_add_byte(&r->out, '\n');
	fwrite(r->out.p, 1, r->out.n, r->call->out);
	buf_clear(&r->out);
	return fflush(r->call->out) ? 1 : 0;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct run *r = ctx;
	if (!r->begun)
		begin(r, r->state, r->last);
	html_tokens_add(r->tokens, piece);
	if (r->out.over || r->json.text.over)
		return err_set(err, ERR_USAGE, "%s: more than %zu bytes of tokens", name,
			       r->out.max);
	return piece.n ? 0 : finish(r);
}

static struct str text_member(const json_t *object, const char *key, struct str missing)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_string(value))
		return missing;
	return (struct str){json_string_value(value), json_string_length(value)};
}

static int tokenize(struct run *r, const json_t *question, struct err *err)
{
	struct str input = text_member(question, "input", (struct str){0});
	struct str state = text_member(question, "state", (struct str){0});
	enum html_state first = r->state;
	if (!input.p)
		return err_set(err, ERR_USAGE, "expected an object with a text as 'input'");
	if (state.p && parse_state(state, &first, err) < 0)
		return -1;
	begin(r, first, text_member(question, "lastStartTag", r->last));
	html_tokens_add(r->tokens, input);
	return 0;
}

static int put_error(struct run *r, const char *message)
{
	struct jsonw j = JSONW_INIT(&r->out);
	jsonw_object(&j);
	jsonw_put_text(&j, "error", message);
	jsonw_object_end(&j);
	buf_add_byte(&r->out, '\n');
	fwrite(r->out.p, 1, r->out.n, r->call->out);
	buf_clear(&r->out);
	r->bad++;
	return fflush(r->call->out) ? 1 : 0;
}

/* Every line has its answer, at once: who asks may be waiting for it. */
static int take_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct run *r = ctx;
	json_error_t wrong;
	struct err said;
	(void)name;
	(void)line;
	(void)err;
	json_t *question = json_loadb(text.p, text.n, JSON_ALLOW_NUL, &wrong);
	int rc = !question                          ? put_error(r, wrong.text)
		 : tokenize(r, question, &said) < 0 ? put_error(r, said.msg)
						    : finish(r);
	json_decref(question);
	return rc;
}

int extract_tokens(const struct cmd_call *call, const struct extract_tokens_options *o,
		   int first_arg)
{
	struct run r = {.call = call, .out = BUF_INIT((size_t)1 << 30)};
	struct err err;
	if (o->state && *o->state && parse_state(str_of(o->state), &r.state, &err) < 0)
		return cmd_fail(call, &err);
	r.last = str_of(o->last_start_tag ? o->last_start_tag : "");
	r.tokens = html_tokens_new(&limits);
	int rc = o->batch ? cmd_read_lines(call, first_arg, LINE_MAX_BYTES, take_line, &r, &err)
			  : cmd_read(call, first_arg, take_piece, &r, &err);
	if (r.begun)
		html_json_end(&r.json);
	html_tokens_free(&r.tokens);
	buf_free(&r.out);
	if (rc < 0)
		return cmd_fail(call, &err);
	return r.bad ? ERR_PARTLY : 0;
}
