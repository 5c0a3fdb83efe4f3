/* Footprints: a URL as 128 bits, the site in the first half and the path in the second, so that
 * all pages of a site lie together when footprints are sorted.
 *   site: the first 8 bytes of MD5(port as a little-endian u16, protocol id as a u8, host)
 *   path: the first 8 bytes of MD5(path with query)
 * Each half is read as two little-endian u32, the first of them in the upper bits: that is the
 * order in which they print and sort. The host is as in struct url: lower case, ASCII, an IPv6
 * address in its brackets. http is 1 and ftp 2 as in Shepherd; https is 4. */
#pragma once
#include "url/url.h"

struct footprint {
	uint64_t site, path;
};

enum { FOOTPRINT_TEXT = 34 }; /* 16 digits, a colon, 16 digits, NUL */

uint64_t footprint_site(struct url_site site);
uint64_t footprint_path(struct str target); /* url_target() */
/* Of a URL in strict canonical form. */
struct footprint footprint_of(const struct url *u);

static inline int footprint_cmp(struct footprint a, struct footprint b)
{
	return a.site != b.site ? (a.site > b.site) - (a.site < b.site)
				: (a.path > b.path) - (a.path < b.path);
}

/* "7487015f09754160:76cd6666465669f9" */
const char *footprint_print(struct footprint f, char ret[FOOTPRINT_TEXT]);
/* The same, or its 32 digits without the colon (the O attribute of buckets). */
bool footprint_parse(struct str text, struct footprint *ret) MUST_USE;
