/* Expressions of ed(1), as the classic server takes them, in the syntax of rx.h. Operators are
 * . [] * \{m,n\}, ^ at the beginning and $ at the end; a backslash before anything but { means just
 * that character. One .* at either end says nothing and is cut off, as long as it is one: not in
 * "a\.*", whose dot is a dot, nor before another repeat. */
#include "index/names/names_exec.h"

#include "base/ascii.h"

enum { TIMES_MOST = 255 };

struct ed {
	struct str pattern;
	size_t at;
	struct buf *out;
	struct err *err;
};

static bool ed_looks_at(const struct ed *e, const char *text)
{
	return str_starts(str_from(e->pattern, e->at), str_of(text));
}

static bool is_repeat_at(struct str s)
{
	return str_starts(s, STR("*")) || str_starts(s, STR("\\{"));
}

static struct str strip_ends(struct str s)
{
	if (str_starts(s, STR(".*")) && !is_repeat_at(str_from(s, 2)))
		s = str_from(s, 2);
	if (!str_ends(s, STR(".*")))
		return s;
	size_t quotes = 0;
	while (quotes + 2 < s.n && s.p[s.n - 3 - quotes] == '\\')
		quotes++;
	return quotes % 2 ? s : str_head(s, s.n - 2);
}

static bool has_operator(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr("\\^$.,[]<>*+?|(){}/", s.p[i]))
			return true;
	return false;
}

/* A character that means itself. */
static void put_plain(struct ed *e, struct str c)
{
	if (c.p[0] && strchr("\\^$.[]*+?|(){}-", c.p[0]))
		buf_add_byte(e->out, '\\');
	buf_add_str(e->out, c);
}

/* The character here, which is passed. */
static int take_plain(struct ed *e, struct str *ret)
{
	struct str rest = str_from(e->pattern, e->at);
	size_t n = str_utf8_char(rest);
	if (n == 0)
		return err_set(e->err, ERR_USAGE, "the byte 0x%02x is not UTF-8; an expression is",
			       (unsigned char)rest.p[0]);
	*ret = str_head(rest, n);
	e->at += n;
	return 0;
}

/* After "\{". */
static int take_times(struct ed *e)
{
	uint64_t number[2] = {0, 0};
	struct str rest = str_from(e->pattern, e->at);
	size_t end = str_find(rest, STR("\\}"));
	if (end == rest.n)
		return err_set(e->err, ERR_USAGE, "the \\{ here has no \\}");
	struct str all = str_head(rest, end), field = {0};
	size_t comma = str_find_byte(all, ',');
	for (size_t i = 0; i < 2; i++) {
		field = i ? str_from(all, comma + 1) : str_head(all, comma);
		if (i && (comma == all.n || field.n == 0))
			break;
		if (!str_u64(field, &number[i]) || number[i] > TIMES_MOST)
			return err_set(e->err, ERR_USAGE,
				       "'" STR_FMT "' after \\{ is not a number of times, 0 to %d",
				       STR_ARG(str_head(field, 20)), TIMES_MOST);
	}
	if (comma < all.n && field.n && number[1] < number[0])
		return err_set(e->err, ERR_USAGE, "the lower bound in \\{ is above the upper one");
	buf_add_byte(e->out, '{');
	buf_add_str(e->out, all);
	buf_add_byte(e->out, '}');
	e->at += end + 2;
	return 0;
}

/* After "[". A bracket that comes first, and a hyphen that comes first or last, mean themselves. */
static int take_set(struct ed *e)
{
	buf_add_byte(e->out, '[');
	if (ed_looks_at(e, "^")) {
		buf_add_byte(e->out, '^');
		e->at++;
	}
	for (bool first = true; first || !ed_looks_at(e, "]"); first = false) {
		struct str low, high;
		if (e->at >= e->pattern.n)
			return err_set(e->err, ERR_USAGE, "the [ here has no ]");
		if (take_plain(e, &low) < 0)
			return -1;
		put_plain(e, low);
		struct str rest = str_from(e->pattern, e->at);
		if (rest.n < 2 || rest.p[0] != '-' || rest.p[1] == ']')
			continue;
		e->at++;
		if (take_plain(e, &high) < 0)
			return -1;
		if (str_cmp(high, low) < 0)
			return err_set(e->err, ERR_USAGE,
				       "the range " STR_FMT "-" STR_FMT " runs backwards",
				       STR_ARG(low), STR_ARG(high));
		buf_add_byte(e->out, '-');
		put_plain(e, high);
	}
	e->at++;
	buf_add_byte(e->out, ']');
	return 0;
}

/* One item; *began: something that can be repeated stands before it. */
static int take_item(struct ed *e, bool *began)
{
	struct str c;
	size_t from = e->at;
	if (take_plain(e, &c) < 0)
		return -1;
	bool last = e->at == e->pattern.n, could = *began;
	*began = true;
	switch (c.p[0]) {
	case '^':
		*began = from > 0;
		if (from > 0)
			break;
		buf_add_byte(e->out, '^');
		return 0;
	case '$':
		if (!last)
			break;
		buf_add_byte(e->out, '$');
		return 0;
	case '.':
		buf_add_byte(e->out, '.');
		return 0;
	case '*':
		if (!could)
			break;
		buf_add_byte(e->out, '*');
		return 0;
	case '[':
		return take_set(e);
	case '\\':
		if (last)
			return err_set(e->err, ERR_USAGE,
				       "nothing follows the backslash; \\\\ is one");
		if (!ed_looks_at(e, "{"))
			return take_plain(e, &c) < 0 ? -1 : (put_plain(e, c), 0);
		e->at++;
		if (could)
			return take_times(e);
		return err_set(e->err, ERR_USAGE, "the \\{ here has nothing to repeat");
	default:
		break;
	}
	put_plain(e, c);
	return 0;
}

int names_ed(struct str pattern, struct buf *out, enum names_ed *ret, size_t *ret_at,
	     struct err *err)
{
	struct str rest = strip_ends(pattern);
	size_t cut = rest.n ? (size_t)(rest.p - pattern.p) : 0;
	struct ed e = {.pattern = rest, .out = out, .err = err};
	bool began = false;
	buf_clear(out);
	*ret = !rest.n ? NAMES_ED_NOTHING : has_operator(rest) ? NAMES_ED_RX : NAMES_ED_TEXT;
	if (*ret == NAMES_ED_TEXT)
		buf_add_str(out, rest);
	while (*ret == NAMES_ED_RX && e.at < rest.n) {
		size_t from = e.at;
		if (take_item(&e, &began) < 0) {
			*ret_at = cut + from;
			return -1;
		}
	}
	return 0;
}
