/* Lines of the link. Both sides are programs of ours, so there is one spelling of everything: one
 * blank between words, numbers without leading zeros. What differs comes from somebody else, and
 * ends the connection. */
#include "cache/link_wire.h"

#include "base/ascii.h"

#include <inttypes.h>

#define VERSION "1" /* of QM */

static const char *const words[LINK_NKINDS] = {
#define X(symbol, word) [LINK_##symbol] = (word),
	LINK_KINDS(X)
#undef X
};

bool link_name_is_good(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!ascii_is_alnum(c) && c != '.' && c != '_' && c != '-')
			return false;
	}
	return name.n > 0 && name.n <= LINK_NAME_MAX;
}

/* The words after the first, one by one. A failed read makes all that follow fail. */
struct word_reader {
	struct str rest;
	bool bad;
};

static struct str read_word(struct word_reader *r)
{
	struct str word = STR("");
	if (r->bad || str_cut(&r->rest, ' ', &word) != 0 || word.n == 0)
		r->bad = true;
	return word;
}

static uint64_t read_number(struct word_reader *r, uint64_t least, uint64_t most)
{
	struct str word = read_word(r);
	uint64_t v = 0;
	if (r->bad || !str_u64(word, &v) || (word.n > 1 && word.p[0] == '0') || v < least ||
	    v > most)
		r->bad = true;
	return r->bad ? 0 : v;
}

static bool is_printable(char c)
{
	return c >= 0x20 && c <= 0x7e;
}

static bool text_is_good(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!is_printable(text.p[i]))
			return false;
	return text.n > 0 && text.n <= LINK_TEXT_MAX;
}

static void read_set(struct word_reader *r, struct link_line *l)
{
	l->number = read_number(r, 1, INT64_MAX);
	l->provider = read_number(r, 1, INT64_MAX);
	struct str what = read_word(r);
	l->is_full = str_is(what, "full");
	r->bad = r->bad || (!l->is_full && !str_is(what, "partial"));
	l->urls = read_number(r, 0, INT64_MAX);
	l->at_us = (int64_t)read_number(r, 0, INT64_MAX);
}

static void read_refused(struct word_reader *r, struct link_line *l)
{
	l->number = read_number(r, 1, INT64_MAX);
	l->code = (unsigned)read_number(r, 100, 999);
	l->text = r->rest;
	r->bad = r->bad || !text_is_good(l->text);
	r->rest = (struct str){0};
}

static void read_rest(struct word_reader *r, struct link_line *l)
{
	switch (l->kind) {
	case LINK_QM:
		r->bad = !str_is(read_word(r), VERSION);
		break;
	case LINK_UNS:
		l->name = read_word(r);
		r->bad = r->bad || !link_name_is_good(l->name);
		break;
	case LINK_SET:
		read_set(r, l);
		break;
	case LINK_PIECE:
		l->bytes = read_number(r, 1, LINK_PIECE_MAX);
		break;
	case LINK_END:
	case LINK_HAVE:
		l->number = read_number(r, 1, INT64_MAX);
		break;
	case LINK_REFUSED:
		read_refused(r, l);
		break;
	case LINK_BUSY:
	case LINK_NKINDS:
		break;
	}
}

int link_line_read(struct str line, struct link_line *ret, struct err *err)
{
	struct word_reader r = {.rest = line};
	struct link_line l = {0};
	struct str verb = read_word(&r);
	while (l.kind < LINK_NKINDS && !str_is(verb, words[l.kind]))
		l.kind++;
	if (l.kind == LINK_NKINDS)
		return err_set(err, ERR_USAGE, "not a line of the link between uns and qm");
	read_rest(&r, &l);
	if (r.bad || r.rest.p)
		return err_set(err, ERR_USAGE, "a line %s of another form", words[l.kind]);
	*ret = l;
	return 0;
}

static void print_text(struct str text, struct buf *out)
{
	char room[LINK_TEXT_MAX];
	size_t n = 0;
	for (; n < text.n && n < sizeof room; n++)
		room[n] = is_printable(text.p[n]) ? text.p[n] : '?';
	buf_add_str(out, n ? (struct str){room, n} : STR("refused"));
}

void link_line_print(const struct link_line *l, struct buf *out)
{
	buf_add_text(out, words[l->kind]);
	switch (l->kind) {
	case LINK_QM:
		buf_add_text(out, " " VERSION);
		break;
	case LINK_UNS:
		buf_printf(out, " " STR_FMT, STR_ARG(l->name));
		break;
	case LINK_SET:
		buf_printf(out, " %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRId64, l->number,
			   l->provider, l->is_full ? "full" : "partial", l->urls, l->at_us);
		break;
	case LINK_PIECE:
		buf_printf(out, " %" PRIu64, l->bytes);
		break;
	case LINK_END:
	case LINK_HAVE:
		buf_printf(out, " %" PRIu64, l->number);
		break;
	case LINK_REFUSED:
		buf_printf(out, " %" PRIu64 " %u ", l->number, l->code);
		print_text(l->text, out);
		break;
	case LINK_BUSY:
	case LINK_NKINDS:
		break;
	}
	buf_add_byte(out, '\n');
}
