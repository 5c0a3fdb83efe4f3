#include "net/http_inner.h"

/* What a head says more than once, or in two ways, another server on the way may have read
 * otherwise: where it saw one request end, we would see another begin. */
struct look {
	unsigned hosts, lengths, encodings;
	const char *wrong;
};

static bool all_of(struct str s, const char *others)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c == 0x7f || strchr(others, c))
			return false;
	}
	return true;
}

static bool is_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	return true;
}

static const char *look_at_field(struct look *l, struct str name, struct str value)
{
	if (!all_of(name, "\"(),/:;<=>?@[\\]{}"))
		return "a header has an impossible name";
	if (!is_value(value))
		return "a header has a control character in it";
	if (str_eq_nocase(name, STR("Host"))) {
		if (++l->hosts > 1)
			return "there is more than one Host";
		return all_of(value, "\"#/<>?@\\") ? NULL : "Host is no name of a host";
	}
	if (str_eq_nocase(name, STR("Content-Length")))
		return ++l->lengths > 1 ? "there is more than one Content-Length" : NULL;
	if (str_eq_nocase(name, STR("Transfer-Encoding")) &&
	    (++l->encodings > 1 || !str_eq_nocase(value, STR("chunked"))))
		return "of transfer encodings only chunked is taken, and once";
	return NULL;
}

static enum MHD_Result look_at(void *look, enum MHD_ValueKind kind, const char *name, size_t name_n,
			       const char *value, size_t value_n)
{
	struct look *l = look;
	(void)kind;
	l->wrong = look_at_field(l, (struct str){name, name_n}, (struct str){value, value_n});
	return l->wrong ? MHD_NO : MHD_YES;
}

const char *http_head_wrong(const struct http_conn *c)
{
	struct look l = {0};
	c->server->mhd.get_connection_values_n(c->mhd, MHD_HEADER_KIND, look_at, &l);
	if (!l.wrong && l.lengths && l.encodings)
		l.wrong = "Content-Length and Transfer-Encoding exclude each other";
	return l.wrong;
}
