#include "base/value.h"
#include "url/url_internal.h"

static struct str moved(struct str s, const char *from, const char *to)
{
	return s.p ? (struct str){to + (s.p - from), s.n} : s;
}

struct url url_moved(const struct url *u, const char *to)
{
	const char *from = u->href.p;
	struct url m = *u;
	m.href.p = to;
	m.scheme = moved(u->scheme, from, to);
	m.username = moved(u->username, from, to);
	m.password = moved(u->password, from, to);
	m.host = moved(u->host, from, to);
	m.path = moved(u->path, from, to);
	m.query = moved(u->query, from, to);
	m.fragment = moved(u->fragment, from, to);
	return m;
}

struct url_site url_site(const struct url *u)
{
	return (struct url_site){u->protocol, u->port, u->host};
}

bool url_site_eq(struct url_site a, struct url_site b)
{
	return a.protocol == b.protocol && a.port == b.port && str_eq(a.host, b.host);
}

struct str url_site_print(struct url_site s, char *ret, size_t cap)
{
	ENSURE(cap > 0);
	struct url_out o = {ret, ret + cap - 1, false};
	url_put_str(&o, str_of(url_protocol_name(s.protocol)));
	url_put_str(&o, STR("://"));
	url_put_str(&o, str_head(s.host, (size_t)(o.end - o.p)));
	if (s.port != url_default_port(s.protocol)) {
		url_put(&o, ':');
		url_put_number(&o, s.port);
	}
	*o.p = 0;
	return str_range(ret, o.p);
}

struct str url_target(const struct url *u)
{
	return (struct str){u->path.p, u->path.n + (u->has_query ? 1 + u->query.n : 0)};
}

const char *url_error_text(int error)
{
	static const char *const text[] = {
		[URL_OK] = "done",
		[URL_TOO_LONG] = "too long",
		[URL_INVALID_CHAR] = "invalid char",
		[URL_INVALID_ESCAPE] = "invalid escape",
		[URL_INVALID_ESCAPED_CHAR] = "invalid escaped char",
		[URL_INVALID_PORT] = "invalid port",
		[URL_RELATIVE] = "relative not allowed",
		[URL_PROTOCOL] = "unknown protocol",
		[URL_SYNTAX] = "syntax error",
		[URL_UNDERFLOW] = "path underflow",
	};
	unsigned n = (unsigned)(error < 0 ? -error : error);
	ENSURE(n < ARRAY_LEN(text));
	return text[n];
}

static size_t skip_in(struct str text, size_t at, struct str set, bool in)
{
	while (at < text.n && (str_find_byte(set, text.p[at]) < set.n) == in)
		at++;
	return at;
}

void url_show(struct str text, struct buf *out)
{
	size_t from = skip_in(text, 0, STR(":/\\"), false);
	from = from < text.n && text.p[from] == ':' ? from + 1 : 0;
	from = skip_in(text, from, STR("/\\\t\r\n "), true);
	size_t at = skip_in(text, from, STR("/\\?#"), false);
	while (at > from && text.p[at - 1] != '@')
		at--;
	buf_add_str(out, str_head(text, from));
	buf_add_str(out, str_from(text, at));
}

int url_fail(int error, struct str text, struct err *err)
{
	char shown[VALUE_SHOWN], scheme[URL_SCHEME_MAX], shown_scheme[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf plain = BUF_INIT(text.n + 1);
	url_show(text, &plain);
	value_show(buf_str(&plain), shown);
	if (error != -URL_PROTOCOL)
		return err_set(err, ERR_USAGE, "URL '%s': %s", shown, url_error_text(error));
	return err_set(err, ERR_USAGE,
		       "URL '%s': unknown protocol '%s', expected http, https or ftp", shown,
		       value_show(url_scheme_of(text, scheme), shown_scheme));
}
