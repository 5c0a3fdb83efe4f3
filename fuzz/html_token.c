/* HTML: told at once and in pieces the tokens are the same, in each state and with tight limits;
 * names are in lower case and no attribute is there twice. The first byte chooses state, pieces and
 * limits, the rest is the document. */
#include "../tests/support/html_json.h"

static const struct html_limits tight = {.name = 3, .value = 5, .attrs = 2, .comment = 4};

struct sink {
	struct html_json json;
	struct html_tokens *tokens;
};

static void on_text(void *ctx, struct str text)
{
	struct sink *s = ctx;
	ENSURE(text.n > 0);
	html_json_sink.text(&s->json, text);
}

static void check_tag(const struct html_tag *tag)
{
	ENSURE(tag->name.n > 0);
	ENSURE(!tag->end || tag->nattrs == 0);
	for (size_t i = 0; i < tag->nattrs; i++) {
		struct str name = tag->attrs[i].name;
		ENSURE(name.n > 0 && tag->attrs[i].value.p);
		for (size_t k = 0; k < name.n; k++)
			ENSURE(name.p[k] && !(name.p[k] >= 'A' && name.p[k] <= 'Z'));
		for (size_t k = 0; k < i; k++)
			ENSURE(!str_eq(tag->attrs[k].name, name));
	}
}

static enum html_state on_tag(void *ctx, const struct html_tag *tag)
{
	struct sink *s = ctx;
	check_tag(tag);
	html_json_sink.tag(&s->json, tag);
	if (tag->name.p[0] == 'f')
		html_tokens_foreign(s->tokens, !tag->end);
	/* states in turn, by the first letter of what begins */
	return tag->end ? HTML_DATA : (enum html_state)(tag->name.p[0] % HTML_STATES);
}

static void on_comment(void *ctx, struct str data)
{
	struct sink *s = ctx;
	html_json_sink.comment(&s->json, data);
}

static void on_doctype(void *ctx, const struct html_doctype *d)
{
	struct sink *s = ctx;
	html_json_sink.doctype(&s->json, d);
}

static const struct html_sink sink = {on_text, on_tag, on_comment, on_doctype};

/* Each piece lies in memory of its own, so that the sanitizers see any read beyond it. */
static void tell(struct str in, unsigned how, size_t piece, struct buf *out)
{
	struct sink s = {.tokens = html_tokens_new(how & 8 ? &tight : NULL)};
	html_json_begin(&s.json, out);
	html_tokens_begin(s.tokens, &sink, &s, (enum html_state)(how % HTML_STATES), STR("ti"));
	for (size_t at = 0; at < in.n; at += piece) {
		struct str part = str_head(str_from(in, at), piece);
		char *own = mem_copy(part.p, part.n);
		html_tokens_add(s.tokens, (struct str){own, part.n});
		mem_free(&own);
	}
	html_tokens_end(s.tokens);
	html_json_end(&s.json);
	html_tokens_free(&s.tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 16)
		return 0;
	struct str in = {(const char *)data + 1, size - 1};
	struct buf whole = BUF_INIT((size_t)1 << 26), pieces = BUF_INIT((size_t)1 << 26);
	tell(in, data[0], size, &whole);
	tell(in, data[0], data[0] / 16 % 7 + 1, &pieces);
	ENSURE(str_eq(buf_str(&whole), buf_str(&pieces)));
	buf_free(&whole);
	buf_free(&pieces);
	return 0;
}
