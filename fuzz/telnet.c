/* A whole session of telnet: what a caller sends, in pieces, goes through the options, the line
 * editor and the shell. Whatever it is, the answer is bounded, text that is shown has no control
 * characters but those of a terminal, a terminal is one that is known, and a connection that is
 * broken says no more. The same bytes as what a session asks of its parent: what is taken lies
 * within them. */
#include "archie/talk.h"
#include "archie/telnet_hand.h"
#include "archie/telnet_wire.h"
#include "base/ascii.h"

struct caller {
	struct str rest;
	struct telnet_wire wire;
	struct talk *talk;
	size_t piece, shown;
};

static int caller_read(void *ctx, int64_t until_us, char *room, size_t cap, size_t *ret_n)
{
	struct caller *c = ctx;
	struct telnet_wire *w = &c->wire;
	(void)until_us;
	struct str piece = str_head(c->rest, MIN(c->piece, cap));
	c->rest = str_from(c->rest, piece.n);
	if (piece.n == 0 || w->ended || w->broken)
		return 1;
	telnet_wire_take(w, piece, 0);
	ENSURE(strlen(w->type) <= TELNET_TYPE_MOST && !w->typed.over && !w->out.over);
	ENSURE(!w->broken || w->typed.n == 0);
	talk_keys(c->talk, w->keys);
	if (w->changed)
		talk_terminal(c->talk,
			      &(struct shell_terminal){str_of(w->type), w->rows, w->cols, false});
	if (w->interrupted)
		talk_interrupt(c->talk);
	w->changed = w->interrupted = false;
	*ret_n = MIN(w->typed.n, cap);
	if (*ret_n)
		memcpy(room, w->typed.p, *ret_n);
	buf_clear(&w->typed);
	buf_clear(&w->out);
	c->piece = c->piece % 97 + 1;
	return 0;
}

static bool caller_write(void *ctx, struct str text)
{
	struct caller *c = ctx;
	ENSURE(text.n > 0);
	for (size_t i = 0; i < text.n; i++)
		ENSURE(!ascii_is_control(text.p[i]) || strchr("\n\r\b\t\a", text.p[i]));
	c->shown += text.n;
	telnet_text(text, &c->wire.out);
	buf_clear(&c->wire.out);
	return c->shown < 8 << 20;
}

static int no_connection(void *ctx)
{
	(void)ctx;
	return -1;
}

static void try_asks(struct str bytes)
{
	struct hand_ask ask;
	struct err err;
	size_t used;
	while (bytes.n && message_frame(&hand_asks, bytes, &used) == 0) {
		ENSURE(used > 0 && used <= bytes.n);
		if (hand_ask_read(str_head(bytes, used), &ask, &err) == 0)
			ENSURE(ask.mail.to.n + ask.mail.command.n + ask.mail.text.n + ask.host.n +
				       ask.reply_to.n <
			       used);
		bytes = str_from(bytes, used);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct talk_ops ops = {caller_read, caller_write, NULL, NULL};
	/* what would wait for a queuer */
	static const struct shell_texts texts = {
		.rc = STR("disable_command find prog whatis list site\n")};
	struct caller c = {.rest = {(const char *)data, size}, .piece = 1};
	if (size < 1 || size > 16 << 10)
		return 0;
	try_asks(c.rest);
	struct archie *archie = archie_new_handed(no_connection, NULL);
	telnet_wire_init(&c.wire);
	c.piece = data[0] % 97 + 1;
	c.talk = talk_new(&(struct talk_options){.ops = &ops,
						 .ctx = &c,
						 .archie = archie,
						 .fd = -1,
						 .prompts = true,
						 .shell = {.texts = &texts}});
	talk_run(c.talk);
	talk_free(&c.talk);
	telnet_wire_done(&c.wire);
	archie_free(&archie);
	return 0;
}
