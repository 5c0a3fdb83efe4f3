/* Collects the events of libtelnet in one struct. libtelnet parses more than was asked for: peers
 * may still send data for an option that was refused. Such data is ignored. A peer that turns on
 * compression, which nobody offered, is disconnected, and so is one that sends nothing but
 * commands.
 *
 * Text is escaped here, because libtelnet's own function takes a format and at most 1 KiB. */
#include "archie/telnet_wire.h"

#include "base/ascii.h"
#include "base/clock.h"

#include <libtelnet.h>

#define COMMANDS_US (10 * US_PER_S)
enum { WANT_ECHO = 1, WANT_SGA = 2, WANT_SIZE = 4, WANT_TYPE = 8 };
enum {
	OUT_MOST = 64 << 10,
	IAC_EOF = 236,
	IAC_SUSP = 237,
	IAC_ABORT = 238,
	KEY_ERASE = 0x7f,
	KEY_KILL = 0x15, /* ^U */
};

static const telnet_telopt_t options[] = {{TELNET_TELOPT_ECHO, TELNET_WILL, TELNET_DONT},
					  {TELNET_TELOPT_SGA, TELNET_WILL, TELNET_DO},
					  {TELNET_TELOPT_NAWS, TELNET_WONT, TELNET_DO},
					  {TELNET_TELOPT_TTYPE, TELNET_WONT, TELNET_DO},
					  {-1, 0, 0}};

static void wire_break(struct telnet_wire *w, const char *why)
{
	if (!w->broken)
		w->broken = why;
	buf_clear(&w->typed);
}

static void take_typed(struct telnet_wire *w, const char *p, size_t n)
{
	if (!w->broken && !w->ended)
		buf_add(&w->typed, p, n);
}

static void take_key(struct telnet_wire *w, char key)
{
	if (w->keys)
		take_typed(w, &key, 1);
}

static void take_command(struct telnet_wire *w, unsigned char command)
{
	if (command == TELNET_IP || command == TELNET_BREAK || command == IAC_ABORT ||
	    command == IAC_SUSP) {
		buf_clear(&w->typed);
		w->interrupted = true;
	} else if (command == TELNET_EC) {
		take_key(w, KEY_ERASE);
	} else if (command == TELNET_EL) {
		take_key(w, KEY_KILL);
	} else if (command == TELNET_AYT) {
		telnet_text(STR("\n[Yes]\n"), &w->out);
	} else if (command == IAC_EOF) {
		w->ended = true;
	}
}

static void take_agreed(struct telnet_wire *w, unsigned char option, bool agreed)
{
	if (option == TELNET_TELOPT_ECHO) {
		w->keys = agreed;
		w->wanted &= ~(unsigned)WANT_ECHO;
	} else if (option == TELNET_TELOPT_SGA) {
		w->wanted &= ~(unsigned)WANT_SGA;
	}
}

static void take_size(struct telnet_wire *w, const unsigned char *p, size_t n)
{
	if (n != 4)
		return;
	w->cols = (unsigned)p[0] << 8 | p[1];
	w->rows = (unsigned)p[2] << 8 | p[3];
	w->changed = true;
	w->wanted &= ~(unsigned)WANT_SIZE;
}

static void take_type(struct telnet_wire *w, const char *name)
{
	struct str type = str_head(str_of(name), TELNET_TYPE_MOST);
	size_t i;
	for (i = 0; i < type.n && type.p[i] > ' ' && type.p[i] < 0x7f; i++)
		w->type[i] = ascii_lower(type.p[i]);
	w->type[i] = 0;
	w->changed = true;
	w->wanted &= ~(unsigned)WANT_TYPE;
}

static void on_event(telnet_t *telnet, telnet_event_t *ev, void *ctx)
{
	struct telnet_wire *w = ctx;
	if (ev->type != TELNET_EV_DATA && ++w->commands > TELNET_COMMANDS_MOST)
		wire_break(w, "too many commands of telnet");
	switch (ev->type) {
	case TELNET_EV_DATA:
		take_typed(w, ev->data.buffer, ev->data.size);
		break;
	case TELNET_EV_SEND:
		if (!w->broken)
			buf_add(&w->out, ev->data.buffer, ev->data.size);
		break;
	case TELNET_EV_IAC:
		take_command(w, ev->iac.cmd);
		break;
	case TELNET_EV_DO:
	case TELNET_EV_DONT:
		take_agreed(w, ev->neg.telopt, ev->type == TELNET_EV_DO);
		break;
	case TELNET_EV_WILL:
		if (ev->neg.telopt == TELNET_TELOPT_TTYPE)
			telnet_ttype_send(telnet);
		break;
	case TELNET_EV_SUBNEGOTIATION:
		if (ev->sub.telopt == TELNET_TELOPT_NAWS)
			take_size(w, (const unsigned char *)ev->sub.buffer, ev->sub.size);
		break;
	case TELNET_EV_TTYPE:
		if (ev->ttype.cmd == TELNET_TTYPE_IS)
			take_type(w, ev->ttype.name);
		break;
	case TELNET_EV_COMPRESS:
		wire_break(w, "compression, which was not offered");
		break;
	case TELNET_EV_ERROR:
		wire_break(w, "what cannot be telnet");
		break;
	default:
		break;
	}
}

void telnet_wire_init(struct telnet_wire *w)
{
	*w = (struct telnet_wire){.typed = BUF_INIT(TELNET_PIECE_MOST),
				  .out = BUF_INIT(OUT_MOST),
				  .wanted = WANT_ECHO | WANT_SGA | WANT_SIZE | WANT_TYPE};
	w->telnet = telnet_init(options, on_event, 0, w);
	if (!w->telnet)
		die("out of memory");
	telnet_negotiate(w->telnet, TELNET_WILL, TELNET_TELOPT_ECHO);
	telnet_negotiate(w->telnet, TELNET_WILL, TELNET_TELOPT_SGA);
	telnet_negotiate(w->telnet, TELNET_DO, TELNET_TELOPT_NAWS);
	telnet_negotiate(w->telnet, TELNET_DO, TELNET_TELOPT_TTYPE);
}

void telnet_wire_done(struct telnet_wire *w)
{
	if (w->telnet)
		telnet_free(w->telnet);
	buf_free(&w->typed);
	buf_free(&w->out);
	*w = (struct telnet_wire){.telnet = NULL};
}

void telnet_wire_take(struct telnet_wire *w, struct str bytes, int64_t now_us)
{
	ENSURE(bytes.n <= TELNET_PIECE_MOST);
	if (w->broken)
		return;
	if (now_us - w->since_us >= COMMANDS_US) {
		w->since_us = now_us;
		w->commands = 0;
	}
	telnet_recv(w->telnet, bytes.p, bytes.n);
	if (w->typed.over || w->out.over)
		wire_break(w, "more than fits");
}

bool telnet_wire_settled(const struct telnet_wire *w)
{
	return w->wanted == 0;
}

void telnet_text(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (c == '\n')
			buf_add_byte(out, '\r');
		buf_add_byte(out, c);
		if (c == '\r')
			buf_add_byte(out, 0);
		else if (c == (char)TELNET_IAC)
			buf_add_byte(out, c);
	}
}
