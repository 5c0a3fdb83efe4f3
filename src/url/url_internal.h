/* What the files of url.h share. */
#pragma once
#include "url/url.h"

/* Classes of bytes. ESC_x: is escaped in x. */
enum url_class {
	ESC_FRAGMENT = 1,
	ESC_QUERY = 2,
	ESC_PATH = 4,
	ESC_USER = 8,
	IN_SCHEME = 16, /* letter, digit, + - . */
	HEX_DIGIT = 32,
	ENDS_SEGMENT = 64,  /* / \ ? # */
	STRICT_PLAIN = 128, /* needs no change in the strict canonical form */
	PATH_CARE = 256,    /* cannot be copied in a path without a look: \ ? # . % and ESC_PATH */
};
extern const uint16_t url_class[256];

/* What is written for a byte of a host; 0: it ends the host, or it takes more than that. */
extern const uint8_t url_host_byte[256];

static inline bool url_is(char c, unsigned classes)
{
	return url_class[(unsigned char)c] & classes;
}
static inline unsigned url_hex_digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

/* A writer with a hard end; past it nothing is written and `over` stays set. */
struct url_out {
	char *p, *end;
	bool over;
};
static inline void url_put(struct url_out *o, char c)
{
	if (LIKELY(o->p < o->end))
		*o->p++ = c;
	else
		o->over = true;
}
static inline void url_put_str(struct url_out *o, struct str s)
{
	if (UNLIKELY(s.n > (size_t)(o->end - o->p))) {
		o->over = true;
		return;
	}
	if (s.n)
		memcpy(o->p, s.p, s.n);
	o->p += s.n;
}
void url_put_escaped(struct url_out *o, unsigned char c); /* %XX */
void url_put_number(struct url_out *o, unsigned v);

/* The host between userinfo and port, as it is written. Returns 0 or -(enum url_error). */
int url_put_host(struct url_out *o, struct str host, enum url_host_kind *ret);
/* 0: not the form of an IPv4 address; 1: *ret is it; negative: meant as one, but wrong. `host` is
 * lower case. */
int url_ipv4(struct str host, uint32_t *ret);
bool url_ipv6(struct str host, uint16_t ret[8]); /* without brackets */
void url_put_ipv6(struct url_out *o, const uint16_t piece[8]);

/* The same URL with its text at another place. */
struct url url_moved(const struct url *u, const char *to);
