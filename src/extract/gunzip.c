#include "extract/gunzip.h"

#include <zlib.h>

enum { STEP = 256 << 10, GZIP_WINDOW = 15 + 16 };

bool is_gzip(struct str s)
{
	return str_starts(s, STR("\x1f\x8b\x08"));
}

bool gunzip(struct str s, struct buf *out)
{
	z_stream z = {.next_in = (unsigned char *)s.p, .avail_in = (unsigned)MIN(s.n, UINT32_MAX)};
	int rc = Z_OK;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return false;
	while (rc == Z_OK) {
		size_t step = MIN((size_t)STEP, out->max - out->n);
		char *to = step ? buf_room(out, step) : NULL;
		if (!to)
			break;
		z.next_out = (unsigned char *)to;
		z.avail_out = (unsigned)step;
		rc = inflate(&z, Z_NO_FLUSH);
		buf_grew(out, step - z.avail_out);
		/* files that were put together are one; other bytes behind the end are padding */
		struct str rest = {(const char *)z.next_in, z.avail_in};
		if (rc == Z_STREAM_END && is_gzip(rest))
			rc = inflateReset(&z);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END;
}
