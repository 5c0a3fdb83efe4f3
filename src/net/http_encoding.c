#include "base/clock.h"
#include "net/http_inner.h"

#include <stdio.h>
#include <time.h>
#include <zlib.h>

/* Below this the head outweighs what is saved. */
enum { GZIP_MIN = 1000, GZIP_LEVEL = 5, GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8 };

/* "q=0", "q=0.000": explicitly not. */
static bool q_is_zero(struct str params)
{
	struct str param;
	while (str_cut(&params, ';', &param) == 0) {
		param = str_trim(param);
		if (!str_starts(param, STR("q=")) && !str_starts(param, STR("Q=")))
			continue;
		for (size_t i = 2; i < param.n; i++)
			if (param.p[i] != '0' && param.p[i] != '.')
				return false;
		return true;
	}
	return false;
}

bool http_accepts(struct str accept, const char *word)
{
	struct str item;
	while (accept.p && str_cut(&accept, ',', &item) == 0) {
		size_t n = str_find_byte(item, ';');
		if (str_eq_nocase(str_trim(str_head(item, n)), str_of(word)))
			return !q_is_zero(str_from(item, n + 1));
	}
	return false;
}

static bool type_shrinks(struct str type)
{
	static const char *const kinds[] = {"text/",
					    "application/json",
					    "application/openmetrics-text",
					    "application/javascript",
					    "application/xml",
					    "image/svg+xml"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_starts(type, str_of(kinds[i])))
			return true;
	return false;
}

bool http_gzip_wanted(const struct http_conn *c, struct str bytes, bool *ret_varies)
{
	*ret_varies = bytes.n >= GZIP_MIN && c->answer.status == 200 &&
		      type_shrinks(str_of(c->answer.type));
	return *ret_varies && http_accepts(http_header(&c->request, "Accept-Encoding"), "gzip");
}

bool http_gzip(struct str bytes, struct buf *out)
{
	z_stream z = {0};
	size_t most = bytes.n - bytes.n / 10; /* at least a tenth must be saved */
	char *room = buf_room(out, most);
	if (!room || most > UINT32_MAX || bytes.n > UINT32_MAX ||
	    deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	z.next_in = (unsigned char *)bytes.p;
	z.avail_in = (unsigned)bytes.n;
	z.next_out = (unsigned char *)room;
	z.avail_out = (unsigned)most;
	bool done = deflate(&z, Z_FINISH) == Z_STREAM_END;
	if (done)
		buf_grew(out, most - z.avail_out);
	deflateEnd(&z);
	return done;
}

enum http_range http_range_parse(struct str value, uint64_t size, uint64_t *ret_from,
				 uint64_t *ret_n)
{
	uint64_t from = 0, last = UINT64_MAX;
	if (!str_starts(value, STR("bytes=")))
		return HTTP_RANGE_NONE;
	value = str_trim(str_from(value, strlen("bytes=")));
	size_t dash = str_find_byte(value, '-');
	struct str a = str_head(value, dash), b = str_from(value, dash + 1);
	if (dash == value.n || (a.n == 0 && b.n == 0) || (a.n && !str_u64(a, &from)) ||
	    (b.n && !str_u64(b, &last)) || (a.n && from > last))
		return HTTP_RANGE_NONE;
	if (a.n == 0) { /* the last so many */
		if (last == 0)
			return HTTP_RANGE_OUTSIDE;
		from = size - MIN(last, size);
		last = UINT64_MAX;
	}
	if (from >= size)
		return HTTP_RANGE_OUTSIDE;
	*ret_from = from;
	*ret_n = MIN(last, size - 1) - from + 1;
	return HTTP_RANGE_PART;
}

bool http_tag_listed(struct str list, const char *tag)
{
	struct str item;
	while (list.p && str_cut(&list, ',', &item) == 0) {
		item = str_trim(item);
		if (str_starts(item, STR("W/")))
			item = str_from(item, 2);
		if (str_is(item, "*") || (item.n >= 2 && item.p[0] == '"' &&
					  str_is(str_head(str_from(item, 1), item.n - 2), tag)))
			return true;
	}
	return false;
}

void http_date(char ret[32], int64_t wall_us)
{
	static const char days[] = "SunMonTueWedThuFriSat",
			  months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t s = (time_t)(wall_us / US_PER_S);
	struct tm t;
	if (!gmtime_r(&s, &t))
		t = (struct tm){0};
	snprintf(ret, 32, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
		 days + (size_t)3 * (size_t)t.tm_wday, (unsigned)t.tm_mday % 100,
		 months + (size_t)3 * (size_t)t.tm_mon, (unsigned)(t.tm_year + 1900) % 10000,
		 (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100);
}
