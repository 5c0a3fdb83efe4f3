/* What url.c and url_host.c share: the writer, and hosts. */
#pragma once
#include "url/url.h"

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
void url_put_number(struct url_out *o, unsigned v);

/* What is written for a byte of a host; 0: it ends the host, or it takes more than that. */
extern const uint8_t url_host_byte[256];
/* The host between userinfo and port, as it is written. Returns 0 or -(enum url_error). */
int url_put_host(struct url_out *o, struct str host, enum url_host_kind *ret);
struct str url_host_bare(struct str host); /* without trailing dots */
/* 0: not the form of an IPv4 address; 1: *ret is it; negative: meant as one, but wrong. `host` is
 * lower case. */
int url_ipv4(struct str host, uint32_t *ret);
