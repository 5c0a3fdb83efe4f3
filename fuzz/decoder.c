/* Content codings: whatever comes, a body that is whole in one piece is so in many and gives the
 * same bytes, and none gives more than it is let. The first byte chooses the coding. */
#include "fetch/robot/decoder.h"
#include "base/buf.h"

enum { MOST = 256 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int keep(void *ctx, struct str bytes)
{
	struct buf *out = ctx;
	buf_add_str(out, str_head(bytes, MOST - out->n));
	return out->n == MOST;
}

/* 2 where the body is cut. */
static int decode(const char *coding, struct str body, size_t piece, struct buf *out)
{
	struct decoder *d;
	int rc = 0;
	ENSURE(decoder_new(&d, str_of(coding), MOST) == 0);
	for (; body.n && rc == 0; body = str_from(body, piece))
		rc = decoder_feed(d, str_head(body, piece), keep, out);
	if (rc == 0 && !decoder_is_whole(d))
		rc = 2;
	decoder_free(&d);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const codings[] = {"gzip", "deflate", "br", "zstd", "gzip, br"};
	CLEANUP(buf_free) struct buf whole = BUF_INIT(MOST), pieces = BUF_INIT(MOST);
	if (size < 2)
		return 0;
	const char *coding = codings[data[0] % ARRAY_LEN(codings)];
	struct str body = {(const char *)data + 1, size - 1};
	int rc = decode(coding, body, body.n, &whole);
	int again = decode(coding, body, 1 + data[0] / ARRAY_LEN(codings), &pieces);
	/* damage may show before or after what is cut, or too much */
	ENSURE((rc == 0) == (again == 0));
	ENSURE(rc != 0 || str_eq(buf_str(&whole), buf_str(&pieces)));
	return 0;
}
