#include "url/url_internal.h"

/* Escaped, they are not what they are plainly. */
static bool is_reserved(unsigned char c)
{
	return c < 0x80 && c && strchr(";/?:@=&#$+,", c);
}

/* 0, or -(enum url_error); *p is moved behind the escape. */
static int put_escape(struct url_out *o, const char **p, const char *end)
{
	const char *at = *p;
	if (end - at < 3 || !url_is(at[1], HEX_DIGIT) || !url_is(at[2], HEX_DIGIT))
		return -URL_INVALID_ESCAPE;
	unsigned char c = (unsigned char)(url_hex_digit(at[1]) << 4 | url_hex_digit(at[2]));
	if (c < 0x20)
		return -URL_INVALID_ESCAPED_CHAR;
	if (url_is((char)c, STRICT_PLAIN) && !is_reserved(c))
		url_put(o, (char)c);
	else
		url_put_escaped(o, c);
	*p = at + 3;
	return 0;
}

static int put_strict(struct url_out *o, struct str text)
{
	for (const char *p = text.p, *end = text.p + text.n; p < end;) {
		if (url_is(*p, STRICT_PLAIN)) {
			url_put(o, *p++);
		} else if (*p != '%') {
			url_put_escaped(o, (unsigned char)*p++);
		} else {
			int rc = put_escape(o, &p, end);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static bool is_strict(struct str text)
{
	const char *p = text.p, *end = text.p + text.n;
	while (p < end && url_is(*p, STRICT_PLAIN))
		p++;
	return p == end;
}

static struct str without_dots(struct str host)
{
	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	return host;
}

/* Nothing has to be written anew: what is dropped stands at the end. */
static bool is_canonical(const struct url *u)
{
	return u->username.n == 0 && u->password.n == 0 && u->port != 0 &&
	       u->host.p[u->host.n - 1] != '.' && is_strict(url_target(u));
}

static int put_canonical(struct url_out *o, const struct url *u, struct url *ret)
{
	struct url c = {.protocol = u->protocol, .host_kind = u->host_kind, .port = u->port};
	char *start = o->p;
	struct str host = without_dots(u->host);
	if (host.n == 0)
		return -URL_SYNTAX;
	if (c.port == 0)
		c.port = url_default_port(u->protocol);
	url_put_str(o, u->scheme);
	c.scheme = str_range(start, o->p);
	url_put_str(o, STR("://"));
	c.username = c.password = (struct str){o->p, 0};
	c.host.p = o->p;
	url_put_str(o, host);
	c.host.n = host.n;
	if (c.port != url_default_port(c.protocol)) {
		url_put(o, ':');
		url_put_number(o, c.port);
	}
	c.path.p = o->p;
	int rc = put_strict(o, u->path);
	c.path.n = (size_t)(o->p - c.path.p);
	c.has_query = u->has_query;
	if (rc == 0 && c.has_query) {
		url_put(o, '?');
		c.query.p = o->p;
		rc = put_strict(o, u->query);
		c.query.n = (size_t)(o->p - c.query.p);
	}
	c.href = str_range(start, o->p);
	if (rc == 0)
		*ret = c;
	return rc;
}

/* A host that loses its dots may turn out to be an address: "1.2.3.4.." */
static int check_host(struct url *c)
{
	uint32_t address;
	return c->host_kind == URL_NAME && url_ipv4(c->host, &address) != 0 ? -URL_SYNTAX : 0;
}

int url_canon(const struct url *u, bool forgive_underflow, char *room, size_t cap, struct url *ret)
{
	struct url c;
	size_t limit = MIN(cap, (size_t)URL_STRICT_MAX);
	if (u->underflow && !forgive_underflow)
		return -URL_UNDERFLOW;
	if (LIKELY(is_canonical(u))) {
		c = *u;
		struct str target = url_target(u);
		c.href.n = (size_t)(target.p + target.n - u->href.p);
		c.fragment = (struct str){0};
		c.has_fragment = c.underflow = false;
		if (c.href.n > limit)
			return -URL_TOO_LONG;
		*ret = c;
		return 0;
	}
	struct url_out o = {room, room + limit, false};
	int rc = put_canonical(&o, u, &c);
	if (rc == 0)
		rc = o.over ? -URL_TOO_LONG : check_host(&c);
	if (rc == 0)
		*ret = c;
	return rc;
}
