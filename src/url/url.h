/* URLs of http, https and ftp, by the WHATWG rules, and the strict canonical form that footprints
 * are made of. Pure functions of bytes; nothing is allocated: the caller lends the room in which
 * the result is written, and its size is the limit on the length. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
	URL_MAX = 8192,          /* room for what servers must take (RFC 9110, 4.1: 8000 bytes) */
	URL_STRICT_MAX = 1024,   /* document 001: the canonical form is not longer */
	URL_TEXT_MAX = 16 << 10, /* what is parsed, blanks at its ends not counted */
	URL_SCHEME_MAX = 32,     /* room for a foreign scheme's name */
	URL_SITE_MAX = URL_STRICT_MAX,
};

/* What can be wrong, numbered as Shepherd did. Functions return the negative number; url_fail()
 * makes words of it. */
enum url_error {
	URL_OK = 0,
	URL_TOO_LONG = 1,
	URL_INVALID_CHAR = 2,         /* in the host */
	URL_INVALID_ESCAPE = 3,       /* % without two digits; strict form only */
	URL_INVALID_ESCAPED_CHAR = 4, /* %00 to %1F; strict form only */
	URL_INVALID_PORT = 5,
	URL_RELATIVE = 6,  /* relative, and there is no base */
	URL_PROTOCOL = 7,  /* neither http nor https nor ftp */
	URL_SYNTAX = 8,    /* no host, or one that is neither name nor address */
	URL_UNDERFLOW = 9, /* `..` above the root; strict form only */
};

/* Each number is also the protocol's id in site footprints. */
enum url_protocol { URL_HTTP = 1, URL_FTP = 2, URL_HTTPS = 4 };

enum url_host_kind { URL_NAME, URL_IPV4, URL_IPV6 };

/* The parts are slices of href, empty where there is none. Escapes stay as they are written. */
struct url {
	struct str href;
	struct str scheme; /* "http": no colon */
	struct str username, password;
	struct str host; /* lower case, ASCII; IPv6 in brackets, shortest form */
	struct str path; /* begins with a slash */
	struct str query, fragment;
	enum url_protocol protocol;
	enum url_host_kind host_kind;
	uint16_t port; /* also when it is the protocol's own, which href leaves out */
	bool has_query, has_fragment; /* `http://a/?` has an empty query, `http://a/` has none */
	bool underflow;               /* a `..` above the root was ignored */
};

/* Parses text against a base (NULL: none) into room of cap bytes, which must not be the base's.
 * The rules are those of https://url.spec.whatwg.org/ for strings, with UTF-8 as the encoding of
 * queries, applied to bytes: what is not UTF-8 is escaped as it is in paths, queries and fragments,
 * and not taken in hosts. Names go through libidn2 (url_host.c says where it differs).
 * 0, or -(enum url_error) with *ret untouched. */
int url_parse(struct str text, const struct url *base, char *room, size_t cap,
	      struct url *ret) MUST_USE;

/* Brings a parsed URL into the strict canonical form of document 001. Beyond the WHATWG rules:
 *  - the fragment, user name and password are dropped;
 *  - trailing dots of the host are dropped (a host of nothing but dots: URL_SYNTAX); port 0 is the
 *    protocol's own;
 *  - `..` above the root is URL_UNDERFLOW, unless `forgive_underflow`;
 *  - in path and query, % without two hexadecimal digits is URL_INVALID_ESCAPE, an escaped byte
 *    below 0x20 URL_INVALID_ESCAPED_CHAR;
 *  - escaped ; / ? : @ = & # $ + , stay escaped, since they mean something else when they are not;
 *    of all other bytes letters, digits and - _ . ~ ! * ' ( ) are written plainly, and so are the
 *    reserved ones that came plainly; the rest is escaped. Hexadecimal digits are upper case;
 *  - more than cap or URL_STRICT_MAX bytes are URL_TOO_LONG.
 * Parsing the result and making that canonical gives the same. *ret may point into u's room
 * where nothing had to change. u and ret may be the same. */
int url_canon(const struct url *u, bool forgive_underflow, char *room, size_t cap,
	      struct url *ret) MUST_USE;

/* A site: what robots.txt, footprints and equivalences are about. */
struct url_site {
	enum url_protocol protocol;
	uint16_t port;
	struct str host;
};
struct url_site url_site(const struct url *u);
bool url_site_eq(struct url_site a, struct url_site b);
/* "http://example.com:8080", at most cap bytes with the NUL; what does not fit is cut off. */
struct str url_site_print(struct url_site s, char *ret, size_t cap);

/* What is hashed as the path and sent to the server: path, and query with its question mark. */
struct str url_target(const struct url *u);

/* Whether a segment of a path is dots, by any reading that servers are known to have: escapes are
 * undone more than once, backslashes are slashes, segments end at a semicolon, UTF-8 is overlong.
 * Also where something is escaped more than 3 times over. The path of a parsed URL. */
bool url_path_leaves(struct str path);
/* Whether by such a reading it has more segments than it shows: a slash or backslash is escaped. */
bool url_path_hides_slash(struct str path);

uint16_t url_default_port(enum url_protocol p);
const char *url_protocol_name(enum url_protocol p);

/* The URL as it may be shown and logged: without the user name and password that some put into it.
 * The text need not be a URL: it is cut where any reader of URLs would find a name in it. */
void url_show(struct str text, struct buf *out);

/* The words for a number or its negative: "path underflow". */
const char *url_error_text(int error);
/* Fills err for what parsing `text` returned, shown as url_show() does; returns -1. */
int url_fail(int error, struct str text, struct err *err);
/* The scheme that text begins with, lower case, cut to fit; empty: it has none. */
struct str url_scheme_of(struct str text, char ret[URL_SCHEME_MAX]);

/* The registrable domain: the public suffix and one label more, "example.co.uk" of
 * "www.example.co.uk". A slice of host. 1: none (an address, a public suffix itself, or a machine
 * without libpsl). `host` as in a parsed URL; trailing dots do not count. */
int url_domain(struct str host, struct str *ret) MUST_USE;
/* Whether two hosts belong to one owner: they have the same registrable domain, or they are the
 * same where one has none, as addresses do. Hosts as for url_domain(). */
bool url_same_domain(struct str a, struct str b);

/* Paths that robots walk in circles: /a/b/a/b/a/b/... */
struct url_loop_limits {
	const char *separators; /* bytes between components */
	/* A sequence of up to max_length components that follows itself, so that it stands there
	 * min_repeats times, is a loop; so is a component that occurs more than max_occurrences
	 * times, wherever. 0: not looked for. */
	unsigned min_repeats, max_length, max_occurrences;
};
extern const struct url_loop_limits url_loop_defaults;
enum { URL_COMPONENTS_MAX = 1024 }; /* a path of more components counts as a loop */

/* Of url_target(), or of a path. limits NULL: the defaults. Time is proportional to the length of
 * the path times max_length. */
bool url_loops(struct str path, const struct url_loop_limits *limits);
