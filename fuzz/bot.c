/* Messages of the bot protocol out of a stream: whole and in small pieces the same comes out; what
 * is read, printed again, is read as the same; the bounds hold; and a person who types goes on
 * after errors. The first byte is the seed of the cuts. */
#include "base/hash.h"
#include "fetch/bot_wire.h"

struct heard {
	struct buf out;
	struct bot_reader *r;
	bool typed, over;
};

/* The one message of a text; its slices are not looked at. */
static void hear_again(void *ctx, const struct bot_message *m)
{
	bot_message_print(m, ctx);
}

static void hear_nothing(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)line, (void)column;
	die("what was printed is not read: %s", err->msg);
}

static void hear_message(void *ctx, const struct bot_message *m)
{
	static const struct bot_reader_ops ops = {hear_again, hear_nothing};
	struct heard *h = ctx;
	struct buf again = BUF_INIT(BOT_MESSAGE_MAX);
	size_t from = h->out.n;
	ENSURE(!h->over && m->kind < BOT_NKINDS && m->has < 1u << BOT_NATTRS);
	ENSURE(m->id.n <= BOT_ID_MAX && m->url.n <= BOT_URL_MAX && m->within.n <= BOT_URL_MAX);
	ENSURE(m->file.n <= BOT_FILE_MAX && m->machine.n <= BOT_ID_MAX && m->node.n <= BOT_ID_MAX);
	ENSURE(m->parallel <= BOT_PARALLEL_MAX && m->capacity <= BOT_PARALLEL_MAX);
	ENSURE(m->outcome < OUTCOME_COUNT && m->deletion < BOT_NDELETIONS);
	bot_message_print(m, &h->out);
	struct bot_reader *r = bot_reader_new(&ops, &again);
	struct str printed = str_from(buf_str(&h->out), from);
	ENSURE(bot_reader_put(r, printed) == 0 && str_eq(buf_str(&again), printed));
	bot_reader_free(&r);
	buf_free(&again);
}

static void hear_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct heard *h = ctx;
	char reason[BOT_REASON_MAX + 1];
	ENSURE(!h->over && err->msg[0] && line && column);
	bot_error_print(err, line, column, reason);
	ENSURE(reason[0] && str_utf8(str_of(reason)));
	buf_add_byte(&h->out, '!');
	h->over = !h->typed;
	if (h->typed)
		xml_stream_resync(h->r->xml);
}

/* What is wrong in a long tag may be noticed only when more has come: so more comes. */
static void hear_stream(struct heard *h, struct str text, uint64_t seed)
{
	static const struct bot_reader_ops ops = {hear_message, hear_error};
	char more[4096];
	int rc = 0;
	h->out = BUF_INIT(SIZE_MAX);
	h->r = bot_reader_new(&ops, h);
	while (text.n && rc == 0) {
		size_t n = seed ? 1 + (size_t)(hash_u64(seed + text.n) % 7) : text.n;
		rc = xml_stream_put(h->r->xml, str_head(text, n));
		text = str_from(text, n);
	}
	memset(more, '<', sizeof more);
	if (rc == 0)
		rc = xml_stream_put(h->r->xml, (struct str){more, sizeof more});
	ENSURE((rc < 0) == h->over);
	bot_reader_free(&h->r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct str text = {(const char *)data + 1, size - 1};
	struct heard whole = {0}, cut = {0}, typed = {.typed = true};
	hear_stream(&whole, text, 0);
	hear_stream(&cut, text, (uint64_t)data[0] + 1);
	hear_stream(&typed, text, data[0]);
	ENSURE(str_eq(buf_str(&whole.out), buf_str(&cut.out)));
	buf_free(&whole.out);
	buf_free(&cut.out);
	buf_free(&typed.out);
	return 0;
}
