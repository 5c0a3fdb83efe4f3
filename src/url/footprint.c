/* Footprints are MD5 because document 001 made them so: they are in every file of a state. */
#include "url/footprint.h"

#include "base/hash.h"

#include <endian.h>
#include <stdio.h>

/* The longest "port, id, host" that is put together on the stack: no canonical host is longer. */
enum { SITE_BYTES = 3 + URL_STRICT_MAX };

static uint64_t first_half(struct str s)
{
	unsigned char m[16];
	md5(s, m);
	uint32_t word[2];
	memcpy(word, m, sizeof word);
	return (uint64_t)le32toh(word[0]) << 32 | le32toh(word[1]);
}

uint64_t footprint_site(struct url_site site)
{
	char bytes[SITE_BYTES];
	ENSURE(site.host.n <= URL_STRICT_MAX);
	bytes[0] = (char)(site.port & 255);
	bytes[1] = (char)(site.port >> 8);
	bytes[2] = (char)site.protocol;
	if (site.host.n)
		memcpy(bytes + 3, site.host.p, site.host.n);
	return first_half((struct str){bytes, 3 + site.host.n});
}

uint64_t footprint_path(struct str target)
{
	return first_half(target);
}

struct footprint footprint_of(const struct url *u)
{
	return (struct footprint){footprint_site(url_site(u)), footprint_path(url_target(u))};
}

const char *footprint_print(struct footprint f, char ret[FOOTPRINT_TEXT])
{
	snprintf(ret, FOOTPRINT_TEXT, "%016jx:%016jx", (uintmax_t)f.site, (uintmax_t)f.path);
	return ret;
}

static bool half_parse(struct str text, uint64_t *ret)
{
	unsigned char b[8];
	if (!hex_parse(text, b, sizeof b))
		return false;
	*ret = 0;
	for (size_t i = 0; i < sizeof b; i++)
		*ret = *ret << 8 | b[i];
	return true;
}

bool footprint_parse(struct str text, struct footprint *ret)
{
	struct footprint f;
	bool colon = text.n == 33 && text.p[16] == ':';
	if (!half_parse(str_head(text, 16), &f.site) ||
	    !half_parse(str_from(text, colon ? 17 : 16), &f.path))
		return false;
	*ret = f;
	return true;
}
