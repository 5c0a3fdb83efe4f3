/* XML messages from a stream: whole and in small pieces the same comes out, an error included;
 * depth, attributes and the order of beginnings and ends hold; and a person who types goes on after
 * errors. The first byte is the seed of the cuts. */
#include "net/xml.h"
#include "base/hash.h"

struct seen {
	struct buf out;
	struct xml_stream *x;
	size_t tags; /* bytes of `out` up to the last tag */
	unsigned depth;
	bool typed, over;
};

static const struct xml_limits limits = {
	.depth = 8, .attrs = 8, .token_max = 2048, .message_max = 8192, .bindings = 4};

static void see_start(void *ctx, const struct xml_tag *tag)
{
	struct seen *s = ctx;
	ENSURE(!s->over && tag->depth == s->depth && s->depth < limits.depth);
	ENSURE(tag->n <= limits.attrs && (tag->prefix.n == 0 || tag->uri.n));
	s->depth++;
	buf_add_byte(&s->out, '(');
	buf_add_str(&s->out, tag->uri);
	buf_add_byte(&s->out, ':');
	buf_add_str(&s->out, tag->name);
	for (size_t i = 0; i < tag->n; i++) {
		buf_add_str(&s->out, tag->attr[i].name);
		buf_add_byte(&s->out, '=');
		xml_escape(&s->out, tag->attr[i].value);
	}
	s->tags = s->out.n;
}

static void see_text(void *ctx, struct str text)
{
	struct seen *s = ctx;
	ENSURE(!s->over && s->depth);
	buf_add_str(&s->out, text);
}

static void see_end(void *ctx, const struct xml_tag *tag)
{
	struct seen *s = ctx;
	ENSURE(!s->over && s->depth == tag->depth + 1);
	s->depth--;
	buf_add_byte(&s->out, ')');
	s->tags = s->out.n;
}

static void see_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct seen *s = ctx;
	ENSURE(!s->over && err->msg[0] && line && column);
	s->out.n = s->tags; /* how much of the text before it was told depends on the cuts */
	buf_add_byte(&s->out, '!');
	s->tags = s->out.n;
	s->over = !s->typed;
	s->depth = 0;
	if (s->typed)
		xml_stream_resync(s->x);
}

/* What is wrong in a long tag may be noticed only when more has come: so more comes. */
static void see_stream(struct seen *s, struct str text, uint64_t seed)
{
	static const struct xml_ops ops = {see_start, see_text, see_end, see_error};
	char more[4096];
	int rc = 0;
	s->out = BUF_INIT(SIZE_MAX);
	s->x = xml_stream_new(&limits, &ops, s);
	while (text.n && rc == 0) {
		size_t n = seed ? 1 + (size_t)(hash_u64(seed + text.n) % 5) : text.n;
		rc = xml_stream_put(s->x, str_head(text, n));
		text = str_from(text, n);
	}
	memset(more, '<', sizeof more);
	if (rc == 0)
		rc = xml_stream_put(s->x, (struct str){more, sizeof more});
	ENSURE(rc == (s->over ? -1 : 0));
	xml_stream_free(&s->x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct str text = {(const char *)data + 1, size - 1};
	struct seen whole = {0}, cut = {0}, typed = {.typed = true};
	see_stream(&whole, text, 0);
	see_stream(&cut, text, (uint64_t)data[0] + 1);
	see_stream(&typed, text, data[0]);
	/* a token that is too long may be noticed before something else that is wrong in it */
	ENSURE(str_eq(buf_str(&whole.out), buf_str(&cut.out)) || text.n > limits.token_max);
	buf_free(&whole.out);
	buf_free(&cut.out);
	buf_free(&typed.out);
	return 0;
}
