/* html-tokens: the tokens of HTML in the form of the html5lib tests. Each line of standard input is
 * an object with "input", and where wanted "state" ("RCDATA state"), "lastStartTag" and "piece":
 * after how many bytes the text is cut; its answer is a line, too. */
#include "support/html_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Far beyond what pages have, so that nothing is cut. */
static const struct html_limits limits = {
	.name = 1 << 20, .value = 64 << 20, .attrs = 4096, .comment = 64 << 20};

static struct str text_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_string(value)
		       ? (struct str){json_string_value(value), json_string_length(value)}
		       : (struct str){0};
}

/* Why not; NULL: done. */
static const char *answer(struct html_tokens *t, const json_t *question, struct buf *out)
{
	struct str input = text_of(question, "input"), state = text_of(question, "state");
	json_int_t piece = json_integer_value(json_object_get(question, "piece"));
	enum html_state first = HTML_DATA;
	struct html_json json;
	if (!input.p)
		return "no text as input";
	if (state.p && html_state_of(state, &first) != 0)
		return "no such state";
	html_json_begin(&json, out);
	html_tokens_begin(t, &html_json_sink, &json, first, text_of(question, "lastStartTag"));
	for (size_t n; input.n > 0; input = str_from(input, n)) {
		n = piece > 0 ? MIN((size_t)piece, input.n) : input.n;
		html_tokens_add(t, str_head(input, n));
	}
	html_tokens_end(t);
	html_json_end(&json);
	return NULL;
}

int main(void)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)1 << 30);
	struct html_tokens *t = html_tokens_new(&limits);
	char *line = NULL;
	size_t room = 0;
	for (ssize_t n; (n = getline(&line, &room, stdin)) > 0; buf_clear(&out)) {
		json_error_t wrong;
		json_t *question = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, &wrong);
		const char *why = question ? answer(t, question, &out) : "not JSON";
		if (why)
			buf_printf(&out, "{\"error\":\"%s\"}", why);
		buf_add_byte(&out, '\n');
		fwrite(out.p, 1, out.n, stdout);
		json_decref(question);
	}
	free(line);
	html_tokens_free(&t);
	return fflush(stdout) ? 1 : 0;
}
