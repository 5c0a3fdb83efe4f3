/* gzip in independent parts: each part is a run of deflate blocks that ends on a byte and does not
 * refer to earlier parts. That costs a few percent in size and saves a compressor of 256 KiB for
 * every slow client. */
#include "base/cursor.h"
#include "net/http_inner.h"

#include <zlib.h>

enum { GZIP_LEVEL = 5, RAW_WINDOW = -15, GZIP_MEMORY = 8, FLUSH_MOST = 16 };

static const char gzip_head[10] = {0x1f, '\x8b', 8, 0, 0, 0, 0, 0, 0, 3}; /* no name, no time */

void http_pack_part(struct http_packer *z, struct str part, bool last, struct buf *out)
{
	z_stream s = {0};
	if (!z->begun)
		buf_add(out, gzip_head, sizeof gzip_head);
	z->begun = true;
	ENSURE(part.n <= UINT32_MAX / 2);
	ENSURE(deflateInit2(&s, GZIP_LEVEL, Z_DEFLATED, RAW_WINDOW, GZIP_MEMORY,
			    Z_DEFAULT_STRATEGY) == Z_OK);
	size_t most = deflateBound(&s, part.n) + FLUSH_MOST;
	char *room = buf_room(out, most);
	ENSURE(room);
	s.next_in = (unsigned char *)part.p;
	s.avail_in = (unsigned)part.n;
	s.next_out = (unsigned char *)room;
	s.avail_out = (unsigned)most;
	int rc = deflate(&s, last ? Z_FINISH : Z_SYNC_FLUSH);
	ENSURE(rc == (last ? Z_STREAM_END : Z_OK) && s.avail_in == 0);
	buf_grew(out, most - s.avail_out);
	deflateEnd(&s);
	z->crc = (uint32_t)crc32(z->crc, (const unsigned char *)part.p, (unsigned)part.n);
	z->n += (uint32_t)part.n;
	if (!last)
		return;
	put_u32le(out, z->crc);
	put_u32le(out, z->n);
}

bool http_gzip(struct str bytes, struct buf *out)
{
	struct http_packer z = {0};
	http_pack_part(&z, bytes, true, out);
	bool pays = out->n <= bytes.n - bytes.n / 10; /* at least a tenth must be saved */
	if (!pays)
		buf_clear(out);
	return pays;
}
