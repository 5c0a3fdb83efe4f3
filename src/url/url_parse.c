/* The basic URL parser of the WHATWG standard, cut down to what special schemes other than file
 * can do, and written to go over a clean URL once: each part is written behind the one before. */
#include "url/url_internal.h"

struct parse {
	const char *p, *end; /* what is left of the text */
	struct url_out out;
	struct url u; /* its scheme, host and path begin in `out` */
};

static const struct protocol {
	struct str name;
	enum url_protocol protocol;
	uint16_t port;
} protocols[] = {
	{{"http", 4}, URL_HTTP, 80},
	{{"https", 5}, URL_HTTPS, 443},
	{{"ftp", 3}, URL_FTP, 21},
};

static const struct protocol *protocol_of(enum url_protocol p)
{
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
		if (protocols[i].protocol == p)
			return &protocols[i];
	die("protocol %d does not exist", (int)p);
}

uint16_t url_default_port(enum url_protocol p)
{
	return protocol_of(p)->port;
}

const char *url_protocol_name(enum url_protocol p)
{
	return protocol_of(p)->name.p;
}

static bool is_slash(const struct parse *s)
{
	return s->p < s->end && (*s->p == '/' || *s->p == '\\');
}

/* Text and writer go on together up to a byte of these classes. */
static void copy_plain(struct parse *s, unsigned stop)
{
	const char *p = s->p, *end = p + MIN(s->end - p, s->out.end - s->out.p);
	char *o = s->out.p;
	while (p < end && !url_is(*p, stop))
		*o++ = *p++;
	s->out.over |= p == end && p < s->end && !url_is(*p, stop);
	s->p = p;
	s->out.p = o;
}

/* Up to the end of the text or, when asked, to a number sign. */
static struct str put_rest(struct parse *s, unsigned escaped, bool stops_at_number_sign)
{
	const char *from = s->out.p;
	for (;;) {
		copy_plain(s, escaped);
		if (s->p == s->end || s->out.over || (stops_at_number_sign && *s->p == '#'))
			return str_range(from, s->out.p);
		url_put_escaped(&s->out, (unsigned char)*s->p++);
	}
}

/* How many dots a segment stands for, escaped ones included: 1 or 2; 0: it is a name. */
static unsigned dots(const char *p, const char *end)
{
	unsigned n = 0;
	for (; p < end; n++) {
		bool escaped = end - p >= 3 && p[0] == '%' && p[1] == '2' && (p[2] | 32) == 'e';
		if (n == 2 || (*p != '.' && !escaped))
			return 0;
		p += escaped ? 3 : 1;
	}
	return n;
}

/* Takes the last segment off a path that ends in a slash; the root stays. */
static void drop_segment(struct parse *s)
{
	if (s->out.p - s->u.path.p == 1) {
		s->u.underflow = true;
		return;
	}
	do
		s->out.p--;
	while (s->out.p[-1] != '/');
}

/* Where a path that begins behind a slash stops being plain: nothing in it is escaped, and no
 * segment begins with a dot. */
static const char *plain_path(const char *p, const char *end)
{
	for (char before = '/'; p < end; before = *p++) {
		if (LIKELY(!url_is(*p, PATH_CARE)))
			continue;
		if ((*p != '.' && *p != '%') || before == '/')
			break;
	}
	return p;
}

/* Segments behind a slash that is already written, up to ? or # or the end. */
static void put_segments(struct parse *s)
{
	const char *plain = plain_path(s->p, s->end);
	if (LIKELY(plain == s->end || *plain == '?' || *plain == '#')) {
		url_put_str(&s->out, str_range(s->p, plain));
		s->p = plain;
		return;
	}
	for (;;) {
		char *segment = s->out.p;
		for (;;) {
			copy_plain(s, ESC_PATH | ENDS_SEGMENT);
			if (s->out.over)
				return;
			if (s->p == s->end || url_is(*s->p, ENDS_SEGMENT))
				break;
			url_put_escaped(&s->out, (unsigned char)*s->p++);
		}
		bool more = is_slash(s);
		unsigned n = s->out.p > segment && (*segment == '.' || *segment == '%')
				     ? dots(segment, s->out.p)
				     : 0;
		if (n)
			s->out.p = segment;
		if (n == 2)
			drop_segment(s);
		if (n == 0 && more)
			url_put(&s->out, '/');
		if (!more)
			return;
		s->p++;
	}
}

/* The path from its first slash on, which may be missing. */
static void put_path(struct parse *s)
{
	s->u.path.p = s->out.p;
	if (is_slash(s))
		s->p++;
	url_put(&s->out, '/');
	if (!s->out.over)
		put_segments(s);
	s->u.path.n = (size_t)(s->out.p - s->u.path.p);
}

static void put_query_and_fragment(struct parse *s)
{
	if (s->p < s->end && *s->p == '?') {
		s->p++;
		url_put(&s->out, '?');
		s->u.has_query = true;
		s->u.query = put_rest(s, ESC_QUERY, true);
	}
	if (s->p < s->end && *s->p == '#') {
		s->p++;
		url_put(&s->out, '#');
		s->u.has_fragment = true;
		s->u.fragment = put_rest(s, ESC_FRAGMENT, false);
	}
}

/* Digits behind the colon; none at all is fine. */
static int port_of(struct str text, const struct protocol *protocol, uint16_t *ret)
{
	uint32_t v = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -URL_INVALID_PORT;
		v = v * 10 + (uint32_t)(text.p[i] - '0');
		if (v > UINT16_MAX)
			return -URL_INVALID_PORT;
	}
	*ret = text.n ? (uint16_t)v : protocol->port;
	return 0;
}

static void put_port(struct parse *s, const struct protocol *protocol)
{
	if (s->u.port == protocol->port)
		return;
	url_put(&s->out, ':');
	url_put_number(&s->out, s->u.port);
}

/* All forms of IPv4 addresses have a last label that begins with a digit. */
static bool may_be_address(struct str host)
{
	size_t at = host.n - (host.p[host.n - 1] == '.');
	while (at && host.p[at - 1] != '.')
		at--;
	return host.p[at] >= '0' && host.p[at] <= '9';
}

/* Most hosts are plain names with at most a port behind: written as they are read. false: it takes
 * more than that, and nothing has moved. */
static bool put_plain_authority(struct parse *s, const struct protocol *protocol)
{
	char *host = s->out.p, *o = host;
	const char *p = s->p, *end = p + MIN(s->end - p, s->out.end - o);
	bool hyphen = false;
	uint8_t c;
	for (; p < end && (c = url_host_byte[(unsigned char)*p]) != 0; p++) {
		hyphen |= c == '-';
		*o++ = (char)c;
	}
	const char *host_end = p;
	if (p < s->end && *p == ':')
		while (++p < s->end && *p >= '0' && *p <= '9')
			;
	bool ended = p == s->end || url_is(*p, ENDS_SEGMENT);
	struct str name = str_range(host, o);
	if (!ended || o == host || may_be_address(name) ||
	    (hyphen && str_find(name, STR("xn--")) < name.n))
		return false;
	struct str port = p > host_end ? str_range(host_end + 1, p) : (struct str){0};
	if (port_of(port, protocol, &s->u.port) < 0)
		return false;
	s->u.host = name;
	s->u.host_kind = URL_NAME;
	s->out.p = o;
	s->p = p;
	put_port(s, protocol);
	return true;
}

static struct str put_escaped(struct parse *s, struct str text, unsigned escaped)
{
	struct parse part = {.p = text.p, .end = text.p + text.n, .out = s->out};
	struct str ret = put_rest(&part, escaped, false);
	s->out = part.out;
	return ret;
}

static void put_userinfo(struct parse *s, struct str userinfo)
{
	size_t colon = str_find_byte(userinfo, ':');
	s->u.username = put_escaped(s, str_head(userinfo, colon), ESC_USER);
	struct str password = str_from(userinfo, colon + 1);
	s->u.password = str_range(s->out.p, s->out.p);
	if (password.n) {
		url_put(&s->out, ':');
		s->u.password = put_escaped(s, password, ESC_USER);
	}
	if (s->u.username.n || password.n)
		url_put(&s->out, '@');
}

/* Where the host ends: at the first colon that is not in brackets. */
static size_t host_length(struct str text)
{
	bool inside = false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == ':' && !inside)
			return i;
		if (text.p[i] == '[' || text.p[i] == ']')
			inside = text.p[i] == '[';
	}
	return text.n;
}

static int put_authority(struct parse *s, const struct protocol *protocol)
{
	while (is_slash(s))
		s->p++;
	if (put_plain_authority(s, protocol))
		return 0;
	const char *from = s->p, *at = NULL;
	for (; s->p < s->end && !url_is(*s->p, ENDS_SEGMENT); s->p++)
		if (*s->p == '@')
			at = s->p;
	if (at)
		put_userinfo(s, str_range(from, at));
	struct str rest = str_range(at ? at + 1 : from, s->p),
		   host = str_head(rest, host_length(rest));
	if (host.n == 0)
		return -URL_SYNTAX;
	if (s->out.over)
		return -URL_TOO_LONG;
	const char *start = s->out.p;
	int rc = url_put_host(&s->out, host, &s->u.host_kind);
	s->u.host = str_range(start, s->out.p);
	if (rc == 0)
		rc = port_of(str_from(rest, host.n + 1), protocol, &s->u.port);
	if (rc == 0)
		put_port(s, protocol);
	return rc;
}

static int put_absolute(struct parse *s, const struct protocol *protocol)
{
	s->u.protocol = protocol->protocol;
	s->u.scheme = (struct str){s->out.p, protocol->name.n};
	url_put_str(&s->out, protocol->name);
	url_put_str(&s->out, STR("://"));
	s->u.username = s->u.password = (struct str){s->out.p, 0};
	if (s->out.over)
		return -URL_TOO_LONG;
	int rc = put_authority(s, protocol);
	if (rc < 0)
		return rc;
	put_path(s);
	put_query_and_fragment(s);
	return 0;
}

/* The base up to the end of its authority, its path or its query. */
static bool put_base(struct parse *s, const struct url *base, const char *upto)
{
	struct url moved = url_moved(base, s->out.p);
	url_put_str(&s->out, str_range(base->href.p, upto));
	moved.href = (struct str){0};
	moved.underflow = false;
	moved.fragment = (struct str){0};
	moved.has_fragment = false;
	if (upto == base->path.p) {
		moved.query = (struct str){0};
		moved.has_query = false;
	}
	s->u = moved;
	return !s->out.over;
}

/* Against the base's last folder. */
static void put_beside(struct parse *s, const struct url *base)
{
	const char *slash = base->path.p + base->path.n;
	while (slash[-1] != '/')
		slash--;
	url_put_str(&s->out, str_range(base->path.p, slash));
	if (!s->out.over)
		put_segments(s);
	s->u.path.n = (size_t)(s->out.p - s->u.path.p);
}

static int put_relative(struct parse *s, const struct url *base)
{
	const char *authority_end = base->path.p, *path_end = base->path.p + base->path.n;
	char first = s->p < s->end ? *s->p : '#';
	if (is_slash(s) && s->end - s->p > 1 && (s->p[1] == '/' || s->p[1] == '\\'))
		return put_absolute(s, protocol_of(base->protocol));
	if (first == '#') {
		const char *query_end = base->has_query ? base->query.p + base->query.n : path_end;
		if (put_base(s, base, query_end))
			put_query_and_fragment(s);
		return 0;
	}
	if (!put_base(s, base, authority_end))
		return 0;
	if (first == '?')
		url_put_str(&s->out, base->path);
	else if (is_slash(s))
		put_path(s);
	else
		put_beside(s, base);
	put_query_and_fragment(s);
	return 0;
}

/* The name before a colon; empty: there is none. */
static struct str scheme_of(const char *p, const char *end)
{
	const char *from = p;
	if (p == end || (*p | 32) < 'a' || (*p | 32) > 'z')
		return (struct str){0};
	while (p < end && url_is(*p, IN_SCHEME))
		p++;
	return p < end && *p == ':' ? str_range(from, p) : (struct str){0};
}

static const struct protocol *protocol_named(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
		if (str_eq_nocase(protocols[i].name, name))
			return &protocols[i];
	return NULL;
}

static int put_url(struct parse *s, const struct url *base)
{
	struct str scheme = scheme_of(s->p, s->end);
	if (scheme.n == 0)
		return base ? put_relative(s, base) : -URL_RELATIVE;
	const struct protocol *protocol = protocol_named(scheme);
	if (!protocol)
		return -URL_PROTOCOL;
	s->p += scheme.n + 1;
	/* "http:page" is relative to a base of the same scheme */
	bool authority = s->end - s->p >= 2 && s->p[0] == '/' && s->p[1] == '/';
	if (base && base->protocol == protocol->protocol && !authority)
		return put_relative(s, base);
	return put_absolute(s, protocol);
}

static int parse_clean(struct str text, const struct url *base, char *room, size_t cap,
		       struct url *ret)
{
	struct parse s = {.p = text.p, .end = text.p + text.n, .out = {room, room + cap, false}};
	int rc = put_url(&s, base);
	if (rc == 0 && s.out.over)
		rc = -URL_TOO_LONG;
	if (rc == 0) {
		s.u.href = str_range(room, s.out.p);
		*ret = s.u;
	}
	return rc;
}

static bool is_line_break(char c)
{
	return c == '\t' || c == '\n' || c == '\r';
}

/* Tabs and line breaks count for nothing, wherever they stand. */
static size_t without_line_breaks(struct str text, char *ret, size_t cap)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n && n < cap; i++)
		if (!is_line_break(text.p[i]))
			ret[n++] = text.p[i];
	return n;
}

static __attribute__((noinline)) int parse_broken(struct str text, const struct url *base,
						  char *room, size_t cap, struct url *ret)
{
	char clean[URL_TEXT_MAX];
	size_t n = without_line_breaks(text, clean, sizeof clean);
	return parse_clean((struct str){clean, n}, base, room, cap, ret);
}

static bool has_line_break(struct str text)
{
	return text.n && (memchr(text.p, '\n', text.n) || memchr(text.p, '\t', text.n) ||
			  memchr(text.p, '\r', text.n));
}

static struct str without_blank_ends(struct str text)
{
	while (text.n && (unsigned char)text.p[0] <= ' ')
		text = str_from(text, 1);
	while (text.n && (unsigned char)text.p[text.n - 1] <= ' ')
		text.n--;
	return text;
}

int url_parse(struct str text, const struct url *base, char *room, size_t cap, struct url *ret)
{
	text = without_blank_ends(text);
	if (text.n > URL_TEXT_MAX)
		return -URL_TOO_LONG;
	if (UNLIKELY(has_line_break(text)))
		return parse_broken(text, base, room, cap, ret);
	return parse_clean(text, base, room, cap, ret);
}

struct str url_scheme_of(struct str text, char ret[URL_SCHEME_MAX])
{
	size_t n = without_line_breaks(without_blank_ends(text), ret, URL_SCHEME_MAX);
	struct str scheme = scheme_of(ret, ret + n);
	for (size_t i = 0; i < scheme.n; i++)
		if (ret[i] >= 'A' && ret[i] <= 'Z')
			ret[i] |= 32;
	return scheme;
}
