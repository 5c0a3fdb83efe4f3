/* Sessions of the notification protocol: whole and in small pieces the same is heard and said;
 * notices keep their bounds, and written they are read as the same; what is said is well-formed.
 * The first byte is the seed of the cuts. */
#include "cache/uns/lococa.h"
#include "base/hash.h"

struct talk {
	struct lococa *l;
	struct buf heard, said;
	bool is_asked, is_over;
};

static const char *const mimes[] = {"text/*", "application/pdf"};
static const struct cache_conf cache = {.mime = {.n = 2, .item = mimes}};
static char below[] = "http://a.example/\0https://b.example/x/";
static const struct prefixes prefixes = {.n = 2, .text = below};

static void hear_init(void *ctx, uint64_t provider, struct str password)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over && !t->is_asked);
	buf_printf(&t->heard, "init %d ", (int)(provider % 1000));
	buf_add_str(&t->heard, password);
	t->is_asked = true;
}

static void hear_receipts(void *ctx, uint64_t set)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over && set <= INT64_MAX);
	buf_add_text(&t->heard, "receipts ");
}

static void hear_set(void *ctx, bool is_full)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over && lococa_in_set(t->l));
	buf_add_text(&t->heard, is_full ? "full " : "partial ");
	lococa_say_set(t->l, false, &t->said);
}

static void hear_notice(void *ctx, const struct notice *n)
{
	struct talk *t = ctx;
	struct notice again;
	struct err err;
	size_t from = t->heard.n;
	ENSURE(!t->is_over && n->op < NOTICE_OPS && n->c.n && n->c.n <= NOTICE_URL_MAX);
	ENSURE(n->b.n <= NOTICE_URL_MAX && n->f.n <= NOTICE_URL_MAX);
	ENSURE(n->mime.n || n->op == NOTICE_NAMED);
	ENSURE(n->mime.n <= NOTICE_MIME_MAX && n->sub.n <= NOTICE_SUB_MAX);
	ENSURE(n->hours.n <= NOTICE_HOURS_MAX && n->size <= INT64_MAX && n->mtime_s >= 0);
	notice_write(n, &t->heard);
	ENSURE(t->heard.n - from <= NOTICE_MOST);
	struct reader r = reader_of(str_from(buf_str(&t->heard), from));
	ENSURE(notice_next(&r, &again, &err) == 0 && str_eq(again.c, n->c) && !reader_left(&r));
}

static void hear_wrong(void *ctx, struct str element)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over && str_starts(element, STR("<url code=\"")));
	lococa_say_set(t->l, true, &t->said);
	buf_add_str(&t->said, element);
}

static void hear_whole(void *ctx, uint64_t received)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over);
	lococa_say_taken(t->l, received, 1, &t->said);
	t->is_over = true;
}

static void hear_error(void *ctx, unsigned code, const char *text)
{
	struct talk *t = ctx;
	ENSURE(!t->is_over && (code == CACHE_SYNTAX || code == CACHE_QUOTA) && text[0]);
	lococa_refuse(t->l, code, "", &t->said); /* where in the line depends on the cuts */
	t->is_over = true;
}

static void said_start(void *ctx, const struct xml_tag *tag)
{
	(void)ctx, (void)tag;
}

static void said_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)line, (void)column;
	die("what was said is not well-formed: %s", err->msg);
}

/* The peer has bound each prefix that is said to it, and may have changed it from message to
 * message. */
static void bind_prefixes(struct str said, struct buf *out)
{
	struct str bound[8] = {{0}};
	for (size_t n = 0; said.n; said = str_from(said, 1)) {
		if (said.p[0] != '<' || str_starts(said, STR("</")))
			continue;
		struct str name = str_head(said, str_find_byte(said, '>'));
		name = str_from(str_head(name, str_find_byte(name, ' ')), 1);
		struct str prefix = str_head(name, str_find_byte(name, ':'));
		bool is_known = prefix.n == name.n;
		for (size_t i = 0; i < n; i++)
			is_known = is_known || str_eq(bound[i], prefix);
		if (is_known)
			continue;
		ENSURE(n < ARRAY_LEN(bound));
		bound[n++] = prefix;
		buf_add_text(out, " xmlns:");
		buf_add_str(out, prefix);
		buf_add_text(out, "='u'");
	}
}

/* What was said, as the content of an element. */
static void must_be_well_formed(struct str said)
{
	static const struct xml_limits limits = {.depth = 8,
						 .attrs = 100,
						 .token_max = 4 << 20,
						 .message_max = 64 << 20,
						 .bindings = 16};
	static const struct xml_ops ops = {
		.start = said_start, .end = said_start, .error = said_error};
	struct buf whole = BUF_INIT(64 << 20);
	buf_add_text(&whole, "<stream");
	bind_prefixes(said, &whole);
	buf_add_byte(&whole, '>');
	buf_add_str(&whole, said);
	buf_add_text(&whole, "</stream>");
	struct xml_stream *x = xml_stream_new(&limits, &ops, NULL);
	ENSURE(xml_stream_put(x, buf_str(&whole)) == 0);
	xml_stream_free(&x);
	buf_free(&whole);
}

static void talk_run(struct talk *t, struct lococa_shared *shared, struct str text, uint64_t seed)
{
	static const struct lococa_ops ops = {hear_init,  hear_receipts, hear_set,  hear_notice,
					      hear_wrong, hear_whole,    hear_error};
	static const struct lococa_welcome welcome = {.last_address = {"::1", 3},
						      .prefixes = &prefixes};
	t->heard = t->said = BUF_INIT(64 << 20);
	t->l = lococa_new(shared, &ops, t);
	while (text.n) {
		size_t n = seed ? 1 + (size_t)(hash_u64(seed + text.n) % 7) : text.n;
		lococa_put(t->l, str_head(text, n), &n);
		text = str_from(text, n);
		if (t->is_asked)
			lococa_accept(t->l, &welcome, &t->said);
		t->is_asked = false;
	}
}

static void talk_end(struct talk *t)
{
	lococa_free(&t->l);
	buf_free(&t->heard);
	buf_free(&t->said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct str text = {(const char *)data + 1, size - 1};
	struct lococa_shared *shared = lococa_shared_new(&cache, 1000, 1 << 30);
	struct talk whole = {0}, cut = {0};
	talk_run(&whole, shared, text, 0);
	talk_run(&cut, shared, text, (uint64_t)data[0] + 1);
	/* what is wrong in a long tag may be noticed only when more has come */
	if (whole.is_over == cut.is_over) {
		ENSURE(str_eq(buf_str(&whole.heard), buf_str(&cut.heard)));
		ENSURE(str_eq(buf_str(&whole.said), buf_str(&cut.said)));
	}
	if (whole.is_over)
		must_be_well_formed(buf_str(&whole.said));
	talk_end(&whole);
	talk_end(&cut);
	lococa_shared_free(&shared);
	return 0;
}
