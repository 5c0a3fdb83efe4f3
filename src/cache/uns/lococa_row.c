/* The checks of a URL of a set. A set has millions of them, so what most rows have in common (type,
 * hours) is looked at once, and what is absent costs nothing. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cache/uns/lococa_inner.h"
#include "url/url.h"

#include <inttypes.h>

#define ROW_ATTRS(X)        \
	X(C, "c")           \
	X(B, "b")           \
	X(F, "f")           \
	X(OP, "op")         \
	X(BROWSE, "browse") \
	X(MIME, "mime")     \
	X(SUB, "sub")       \
	X(MTIME, "mtime")   \
	X(SIZE, "size")     \
	X(MD5, "md5")       \
	X(HOURS, "hours")

enum row_attr {
#define X(symbol, name) ROW_##symbol,
	ROW_ATTRS(X)
#undef X
		ROW_NATTRS
};

struct row {
	struct str value[ROW_NATTRS]; /* p NULL: it is absent */
};

static bool has_attr(const struct row *row, enum row_attr a)
{
	return row->value[a].p;
}

static enum row_attr attr_of(struct str name)
{
	static const struct {
		const char *name;
		size_t n;
	} known[ROW_NATTRS] = {
#define X(symbol, text) [ROW_##symbol] = {text, sizeof(text) - 1},
		ROW_ATTRS(X)
#undef X
	};
	enum row_attr a = 0;
	while (a < ROW_NATTRS &&
	       (known[a].n != name.n || memcmp(known[a].name, name.p, name.n) != 0))
		a++;
	return a;
}

static bool row_read(struct lococa *l, const struct xml_tag *tag, struct row *ret)
{
	*ret = (struct row){0};
	for (size_t i = 0; i < tag->n; i++) {
		enum row_attr a = attr_of(tag->attr[i].name);
		if (a < ROW_NATTRS)
			ret->value[a] = tag->attr[i].value;
		else if (!lococa_learn_name(l, tag->attr[i].name))
			return false;
	}
	return true;
}

static int row_wrong(struct row_said *said, unsigned code, const char *text)
{
	said->code = code;
	said->text = text;
	return 1;
}

/* URLs. */

static bool has_scheme(struct str text)
{
	char room[URL_SCHEME_MAX];
	if (str_starts(text, STR("http://")) || str_starts(text, STR("https://")))
		return true;
	return url_scheme_of(text, room).n > 0;
}

static int url_take(struct lococa *l, struct str text, char room[NOTICE_URL_MAX], struct url *ret,
		    struct row_said *said)
{
	struct lococa_shared *s = l->shared;
	if (text.n > NOTICE_URL_MAX)
		return row_wrong(said, CACHE_SYNTAX, url_error_text(URL_TOO_LONG));
	if (l->urlprefix_n && !has_scheme(text)) {
		memcpy(s->joined, l->urlprefix, l->urlprefix_n);
		memcpy(s->joined + l->urlprefix_n, text.p, text.n);
		text = (struct str){s->joined, l->urlprefix_n + text.n};
	}
	int rc = url_parse(text, NULL, room, NOTICE_URL_MAX, ret);
	return rc < 0 ? row_wrong(said, CACHE_SYNTAX, url_error_text(rc)) : 0;
}

static int url_check(struct lococa *l, const struct url *u, struct row_said *said)
{
	if (u->protocol != URL_HTTP && u->protocol != URL_HTTPS)
		return row_wrong(said, CACHE_PREFIX, "neither http nor https");
	if (!prefixes_cover(l->prefixes, u, NULL))
		return row_wrong(said, CACHE_PREFIX, cache_code_text(CACHE_PREFIX));
	return 0;
}

/* b or f; n 0: the same as c. */
static int url_further(struct lococa *l, const struct row *row, enum row_attr a,
		       const struct url *c, char room[NOTICE_URL_MAX], struct str *ret,
		       struct row_said *said)
{
	struct url u;
	*ret = STR("");
	if (row->value[a].n == 0 || str_eq(row->value[a], row->value[ROW_C]))
		return 0;
	int rc = url_take(l, row->value[a], room, &u, said);
	if (rc == 0)
		rc = url_check(l, &u, said);
	if (rc == 0 && !str_eq(u.href, c->href))
		*ret = u.href;
	return rc;
}

/* Types. */

static bool is_token(char c)
{
	const struct str others = STR("()<>@,;:\\\"/[]?=*");
	return c > ' ' && c < 0x7f && str_find_byte(others, c) == others.n;
}

/* Lower case, without parameters; n 0: it has no form. */
static struct str mime_read(struct str text, char room[NOTICE_MIME_MAX])
{
	struct str whole = str_trim(str_head(text, str_find_byte(text, ';')));
	size_t slash = str_find_byte(whole, '/');
	if (whole.n > NOTICE_MIME_MAX || slash == 0 || slash + 1 >= whole.n)
		return STR("");
	for (size_t i = 0; i < whole.n; i++) {
		if (i != slash && !is_token(whole.p[i]))
			return STR("");
		room[i] = ascii_lower(whole.p[i]);
	}
	return (struct str){room, whole.n};
}

static struct str mime_take(struct lococa_shared *s, struct str text)
{
	if (text.n > NOTICE_MIME_MAX)
		text = str_head(text, str_find_byte(text, ';'));
	if (text.n > NOTICE_MIME_MAX || text.n == 0)
		return STR("");
	if (text.n != s->mime_said_n || memcmp(text.p, s->mime_said, text.n) != 0) {
		memcpy(s->mime_said, text.p, text.n);
		s->mime_said_n = text.n;
		s->mime_known = mime_read(text, s->mime);
		s->mime_is_taken = cache_takes_mime(s->cache, s->mime_known);
	}
	return s->mime_known;
}

/* What else is said of a URL. */

static bool sub_is_good(struct str sub)
{
	size_t colon = str_find_byte(sub, ':');
	if (sub.n > NOTICE_SUB_MAX || colon == 0 || colon + 1 >= sub.n || !str_utf8(sub))
		return false;
	for (size_t i = 0; i < sub.n; i++)
		if (ascii_is_control(sub.p[i]))
			return false;
	return true;
}

static bool hours_are_good(struct lococa_shared *s, struct str text)
{
	struct hours hours;
	struct err err;
	if (text.n > NOTICE_HOURS_MAX)
		return false;
	if (text.n != s->hours_said_n || memcmp(text.p, s->hours_said, text.n) != 0) {
		memcpy(s->hours_said, text.p, text.n);
		s->hours_said_n = text.n;
		s->hours_are_good = hours_parse(text, cache_period(s->cache), &hours, &err) == 0;
	}
	return s->hours_are_good;
}

static int number_take(const struct row *row, enum row_attr a, uint64_t most, uint64_t *ret,
		       struct notice *n, enum notice_has has)
{
	if (!has_attr(row, a))
		return 0;
	if (!str_u64(row->value[a], ret) || *ret > most)
		return -1;
	n->has |= has;
	return 0;
}

static int facts_take(struct lococa *l, const struct row *row, struct notice *n,
		      struct row_said *said)
{
	uint64_t mtime = 0;
	if (number_take(row, ROW_MTIME, CLOCK_MOST_US / US_PER_S, &mtime, n, NOTICE_HAS_MTIME) < 0)
		return row_wrong(said, CACHE_SYNTAX,
				 "mtime= is not a number of seconds since 1970");
	n->mtime_s = (int64_t)mtime;
	if (number_take(row, ROW_SIZE, INT64_MAX, &n->size, n, NOTICE_HAS_SIZE) < 0)
		return row_wrong(said, CACHE_SYNTAX, "size= is not a number of bytes");
	if (has_attr(row, ROW_MD5)) {
		if (!hex_parse(row->value[ROW_MD5], n->md5, sizeof n->md5))
			return row_wrong(said, CACHE_SYNTAX, "md5= is not 32 hexadecimal digits");
		n->has |= NOTICE_HAS_MD5;
	}
	if (row->value[ROW_HOURS].n && !hours_are_good(l->shared, row->value[ROW_HOURS]))
		return row_wrong(said, CACHE_SYNTAX, "hours= is not a list of hours");
	n->hours = row->value[ROW_HOURS].n ? row->value[ROW_HOURS] : STR("");
	n->sub = sub_is_good(row->value[ROW_SUB]) ? row->value[ROW_SUB] : STR("");
	return 0;
}

static int browse_take(const struct row *row, struct notice *n, struct row_said *said)
{
	struct str browse = row->value[ROW_BROWSE];
	if (!has_attr(row, ROW_BROWSE) || str_is(browse, "yes"))
		return 0;
	if (!str_is(browse, "no"))
		return row_wrong(said, CACHE_SYNTAX, "browse= has to be \"yes\" or \"no\"");
	n->has |= NOTICE_NOT_BROWSABLE;
	return 0;
}

/* The operation; an empty f is a removal. */
static int op_take(const struct row *row, struct notice *n, struct row_said *said)
{
	struct str op = has_attr(row, ROW_OP) ? row->value[ROW_OP] : STR("update");
	if (!str_is(op, "remove") && !str_is(op, "update"))
		return row_wrong(said, CACHE_SYNTAX, "op= has to be \"update\" or \"remove\"");
	if (str_is(op, "remove") || (has_attr(row, ROW_F) && row->value[ROW_F].n == 0))
		n->op = NOTICE_REMOVE;
	return 0;
}

static int rest_take(struct lococa *l, const struct row *row, const struct url *c, struct notice *n,
		     struct row_said *said)
{
	struct lococa_shared *s = l->shared;
	if (n->mime.n == 0)
		return row_wrong(said, CACHE_SYNTAX, "mime= is needed, and has to be a type");
	int rc = op_take(row, n, said);
	if (rc == 0 && !s->mime_is_taken)
		rc = row_wrong(said, CACHE_MIME, cache_code_text(CACHE_MIME));
	if (rc == 0)
		rc = url_check(l, c, said);
	if (rc != 0 || n->op == NOTICE_REMOVE)
		return rc;
	rc = url_further(l, row, ROW_F, c, s->f_room, &n->f, said);
	if (rc == 0 && n->f.n)
		said->url = n->f;
	if (rc == 0)
		rc = url_further(l, row, ROW_B, c, s->b_room, &n->b, said);
	if (rc == 0)
		rc = browse_take(row, n, said);
	return rc == 0 ? facts_take(l, row, n, said) : rc;
}

int lococa_row(struct lococa *l, const struct xml_tag *tag, struct notice *ret,
	       struct row_said *said)
{
	struct lococa_shared *s = l->shared;
	struct row row;
	struct url c;
	*said = (struct row_said){.url = STR("")};
	*ret = (struct notice){.b = STR(""), .f = STR(""), .sub = STR(""), .hours = STR("")};
	if (!row_read(l, tag, &row))
		return -1;
	if (!has_attr(&row, ROW_C) || row.value[ROW_C].n + l->urlprefix_n == 0)
		return row_wrong(said, CACHE_SYNTAX, "c= is needed");
	said->url = row.value[ROW_C];
	if (url_take(l, row.value[ROW_C], s->c_room, &c, said) != 0)
		return 1;
	said->url = ret->c = c.href;
	ret->mime = mime_take(s, row.value[ROW_MIME]);
	int rc = rest_take(l, &row, &c, ret, said);
	if (rc != 0) {
		*ret = (struct notice){.op = NOTICE_NAMED,
				       .c = c.href,
				       .mime = ret->mime,
				       .b = STR(""),
				       .f = STR(""),
				       .sub = STR(""),
				       .hours = STR("")};
		said->is_named = true;
	}
	return rc;
}

/* Whether an attribute can be said again: not twice, and not by a prefix that the answer does not
 * bind. */
static bool can_be_echoed(struct str name)
{
	return !str_is(name, "code") && !str_is(name, "url") && str_find_byte(name, ':') == name.n;
}

void lococa_print_wrong(const struct xml_tag *tag, const struct row_said *said, struct buf *out)
{
	buf_add_text(out, "<url");
	xml_add_number(out, "code", said->code);
	xml_add_attr(out, "url", said->url);
	for (size_t i = 0; i < tag->n; i++) {
		if (!can_be_echoed(tag->attr[i].name))
			continue;
		buf_add_byte(out, ' ');
		buf_add_str(out, tag->attr[i].name);
		buf_add_text(out, "=\"");
		xml_escape(out, tag->attr[i].value);
		buf_add_byte(out, '"');
	}
	buf_add_byte(out, '>');
	xml_escape(out, str_of(said->text));
	buf_add_text(out, "</url>\n");
}
