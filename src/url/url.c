/* URLs: parsing by the WHATWG rules, the strict canonical form, sites, loops.
 *
 * The parser is the basic URL parser of the standard, cut down to what special schemes other than
 * file can do, and written to go over a clean URL once: each part is written after the one before.
 * Classes of bytes are a table, because it is asked for every byte of every link of every page.
 * Hosts that are not plain names are in url_host.c. */
#include "base/ascii.h"
#include "base/hash.h"
#include "base/value.h"
#include "url/url_inner.h"

/* Classes of bytes. ESC_x: is escaped in x. */
enum url_class {
	ESC_FRAGMENT = 1,
	ESC_QUERY = 2,
	ESC_PATH = 4,
	ESC_USER = 8,
	IN_SCHEME = 16,    /* letter, digit, + - . */
	ENDS_SEGMENT = 32, /* / \ ? # */
	STRICT_PLAIN = 64, /* needs no change in the strict canonical form */
	PATH_CARE = 128,   /* cannot be copied in a path without a look: \ ? # . % and ESC_PATH */
};
/* What the standard calls percent-encode sets; each is part of the next but for the apostrophe,
 * which only queries escape, and the number sign, which ends them. */
enum {
	PATH = ESC_PATH | PATH_CARE,
	EVERYWHERE = ESC_FRAGMENT | ESC_QUERY | PATH | ESC_USER,
	LETTER = IN_SCHEME | STRICT_PLAIN,
};

static const uint8_t url_class[256] = {
	[0 ... 0x20] = EVERYWHERE,
	['!'] = STRICT_PLAIN,
	['"'] = EVERYWHERE,
	['#'] = ESC_QUERY | PATH | ESC_USER | ENDS_SEGMENT,
	['$'] = STRICT_PLAIN,
	['%'] = PATH_CARE,
	['&'] = STRICT_PLAIN,
	['\''] = ESC_QUERY | STRICT_PLAIN,
	['(' ... '*'] = STRICT_PLAIN,
	['+'] = IN_SCHEME | STRICT_PLAIN,
	[','] = STRICT_PLAIN,
	['-'] = IN_SCHEME | STRICT_PLAIN,
	['.'] = IN_SCHEME | STRICT_PLAIN | PATH_CARE,
	['/'] = ESC_USER | ENDS_SEGMENT | STRICT_PLAIN,
	['0' ... '9'] = LETTER,
	[':'] = ESC_USER | STRICT_PLAIN,
	[';'] = ESC_USER | STRICT_PLAIN,
	['<'] = EVERYWHERE,
	['='] = ESC_USER | STRICT_PLAIN,
	['>'] = EVERYWHERE,
	['?'] = PATH | ESC_USER | ENDS_SEGMENT | STRICT_PLAIN,
	['@'] = ESC_USER | STRICT_PLAIN,
	['A' ... 'Z'] = LETTER,
	['['] = ESC_USER,
	['\\'] = ESC_USER | ENDS_SEGMENT | PATH_CARE,
	[']'] = ESC_USER,
	['^'] = PATH | ESC_USER,
	['_'] = STRICT_PLAIN,
	['`'] = ESC_FRAGMENT | PATH | ESC_USER,
	['a' ... 'z'] = LETTER,
	['{'] = PATH | ESC_USER,
	['|'] = ESC_USER,
	['}'] = PATH | ESC_USER,
	['~'] = STRICT_PLAIN,
	[0x7f ... 0xff] = EVERYWHERE,
};

static bool url_is(char c, unsigned classes)
{
	return url_class[(unsigned char)c] & classes;
}
static void url_put_escaped(struct url_out *o, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	char text[3] = {'%', digits[c >> 4], digits[c & 15]};
	url_put_str(o, (struct str){text, sizeof text});
}

void url_put_number(struct url_out *o, unsigned v)
{
	char text[STR_DECIMAL_MAX];
	url_put_str(o, (struct str){text, str_decimal(text, v)});
}

/* The same URL with its text at another place. */
static struct url url_moved(const struct url *u, const char *to)
{
	struct url m = *u;
	struct str *const part[] = {&m.href, &m.scheme, &m.username, &m.password,
				    &m.host, &m.path,   &m.query,    &m.fragment};
	for (size_t i = 0; i < ARRAY_LEN(part); i++)
		if (part[i]->p)
			part[i]->p = to + (part[i]->p - u->href.p);
	return m;
}

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
static unsigned segment_dots(const char *p, const char *end)
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

/* Where a path that begins after a slash stops being plain: nothing in it is escaped, and no
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

/* Segments after a slash that is already written, up to ? or # or the end. */
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
				     ? segment_dots(segment, s->out.p)
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

/* Digits after the colon; none at all is fine. */
static int port_of(struct str text, const struct protocol *protocol, uint16_t *ret)
{
	uint32_t v = 0;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_is_digit(text.p[i]))
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
	return ascii_is_digit(host.p[at]);
}

/* Most hosts are plain names with at most a port: written as they are read. false: it takes
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
		while (++p < s->end && ascii_is_digit(*p))
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
static void put_from_folder(struct parse *s, const struct url *base)
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
		put_from_folder(s, base);
	put_query_and_fragment(s);
	return 0;
}

/* The name before a colon; empty: there is none. */
static struct str scheme_of(const char *p, const char *end)
{
	const char *from = p;
	if (p == end || !ascii_is_letter(*p))
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
	str_lower((struct str){ret, n}, ret);
	return scheme_of(ret, ret + n);
}

/* Escaped, they are not what they are plainly. */
static bool is_reserved(unsigned char c)
{
	return c < 0x80 && c && strchr(";/?:@=&#$+,", c);
}

/* 0, or -(enum url_error); *p is moved past the escape. */
static int put_escape(struct url_out *o, const char **p, const char *end)
{
	const char *at = *p;
	int byte = end - at < 3 ? -1 : ascii_hex_byte(at + 1);
	if (byte < 0)
		return -URL_INVALID_ESCAPE;
	unsigned char c = (unsigned char)byte;
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

struct str url_host_bare(struct str host)
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
	struct str host = url_host_bare(u->host);
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
	if (error == -URL_RELATIVE)
		return err_set(err, ERR_USAGE,
			       "URL '%s': %s; write it in full, as http://example.org/", shown,
			       url_error_text(error));
	if (error != -URL_PROTOCOL)
		return err_set(err, ERR_USAGE, "URL '%s': %s", shown, url_error_text(error));
	struct str name = url_scheme_of(text, scheme);
	if (str_is(name, "ftp")) /* the caller does not take it */
		return err_set(err, ERR_USAGE,
			       "URL '%s': ftp cannot be used here, expected http or https", shown);
	return err_set(err, ERR_USAGE,
		       "URL '%s': unknown protocol '%s', expected http, https or ftp", shown,
		       value_show(name, shown_scheme));
}

const struct url_loop_limits url_loop_defaults = {
	.separators = "/?&",
	.min_repeats = 4,
	.max_length = 4,
	.max_occurrences = 10,
};

struct loop_parts {
	uint64_t hash[URL_COMPONENTS_MAX];
	size_t n;
};

/* What stands before the first separator counts only if there is anything: paths begin with one.
 * false: too many. */
static bool loop_split(struct str path, const char *separators, struct loop_parts *ret)
{
	bool separates[256] = {0};
	for (const char *s = separators; *s; s++)
		separates[(unsigned char)*s] = true;
	size_t from = path.n && separates[(unsigned char)path.p[0]] ? 1 : 0;
	ret->n = 0;
	for (size_t at = from; at <= path.n; at++) {
		if (at < path.n && !separates[(unsigned char)path.p[at]])
			continue;
		if (ret->n == URL_COMPONENTS_MAX)
			return false;
		ret->hash[ret->n++] = hash64((struct str){path.p + from, at - from});
		from = at + 1;
	}
	return true;
}

/* A sequence of `length` components stands there k times when k - 1 times its length in a row each
 * component equals the one `length` before it. */
static bool loop_repeats(const struct loop_parts *c, size_t length, unsigned times)
{
	size_t run = 0;
	for (size_t i = length; i < c->n; i++) {
		run = c->hash[i] == c->hash[i - length] ? run + 1 : 0;
		if (run >= (times - 1) * length)
			return true;
	}
	return false;
}

/* Open addressing over the components; each slot is the number of a component, from 1. */
static bool loop_occurs_too_often(const struct loop_parts *c, unsigned most)
{
	enum { SLOTS = 2 * URL_COMPONENTS_MAX };
	uint16_t slot[SLOTS] = {0}, count[URL_COMPONENTS_MAX] = {0};
	if (c->n <= most)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = c->hash[i] % SLOTS;
		while (slot[at] && c->hash[slot[at] - 1] != c->hash[i])
			at = (at + 1) % SLOTS;
		if (!slot[at])
			slot[at] = (uint16_t)(i + 1);
		if (++count[slot[at] - 1] > most)
			return true;
	}
	return false;
}

bool url_loops(struct str path, const struct url_loop_limits *limits)
{
	struct loop_parts c;
	if (!limits)
		limits = &url_loop_defaults;
	if (!loop_split(path, limits->separators, &c))
		return true;
	if (limits->max_occurrences && loop_occurs_too_often(&c, limits->max_occurrences))
		return true;
	if (limits->min_repeats < 2)
		return false;
	for (size_t length = 1; length <= limits->max_length && length < c.n; length++)
		if (loop_repeats(&c, length, limits->min_repeats))
			return true;
	return false;
}
