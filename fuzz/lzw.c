/* compress: bytes are unpacked the same way whole and in pieces, or refused; and what is packed by
 * the plainest packer, or by ours, comes out again. The first byte says how. */
#include "extract/lzw.h"
#include "../tests/unit/extract/lzw_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4 << 20 };

/* Stops after MOST bytes: a small file can be very long unpacked. */
static int unpack_cut(struct str in, size_t piece, size_t room, struct buf *out)
{
	struct lzw *z = lzw_new();
	struct err err;
	char *to = mem_resize(NULL, room);
	int rc = 0;
	while (in.n && rc == 0 && !out->over) {
		struct str part = str_head(in, piece);
		size_t n = room;
		in = str_from(in, part.n);
		while (rc == 0 && (part.n || n == room) && !out->over) {
			rc = lzw_run(z, &part, to, room, &n, &err);
			if (rc == 0)
				buf_add(out, to, n);
		}
	}
	if (rc == 0 && !out->over)
		rc = lzw_end(z, &err);
	if (rc < 0)
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
	mem_free(&to);
	lzw_free(&z);
	return rc;
}

static void check_packed(struct str in, unsigned how)
{
	CLEANUP(buf_free) struct buf whole = BUF_INIT(MOST), cut = BUF_INIT(MOST);
	int rc = unpack_cut(in, SIZE_MAX, 1 << 16, &whole);
	int again = unpack_cut(in, 1 + how % 13, 1 + how % 257, &cut);
	if (whole.over || cut.over)
		return;
	ENSURE(rc == again);
	/* what was unpacked before the damage was found depends on the cuts */
	if (rc == 0)
		ENSURE(str_eq(buf_str(&whole), buf_str(&cut)));
}

static void check_plain(struct str in, unsigned how)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(MOST), plain = BUF_INIT(MOST);
	static const size_t clears[] = {0, SIZE_MAX, 50, 700};
	lzw_pack(in, 9 + how % 8, how & 8, clears[how >> 4 & 3], &packed);
	ENSURE(!packed.over);
	ENSURE(unpack_cut(buf_str(&packed), 1 + how, 1 + how % 100, &plain) == 0);
	ENSURE(str_eq(buf_str(&plain), in));
	buf_clear(&packed);
	buf_clear(&plain);
	lzw_compress(in, &packed);
	ENSURE(unpack_cut(buf_str(&packed), 1 + how, 1 + how % 100, &plain) == 0);
	ENSURE(str_eq(buf_str(&plain), in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str rest = {(const char *)data + 1, size - 1};
	check_packed(rest, data[0]);
	check_plain(str_head(rest, 64 << 10), data[0]);
	return 0;
}
