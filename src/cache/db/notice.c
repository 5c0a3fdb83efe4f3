/* Notices as bytes: a byte of the operation and one of flags, then the texts and numbers that the
 * flags name. Blocks of them are packed, since URLs of one site have much in common. */
#include "cache/notice.h"

#include "base/hash.h"

#include <zstd.h>

enum { LEVEL = 1 };

/* Beyond enum notice_has, in the byte of flags: which texts are there. */
enum { HAS_B = 1 << 4, HAS_F = 1 << 5, HAS_SUB = 1 << 6, HAS_HOURS = 1 << 7 };

int64_t notice_hash(struct str c, struct str mime)
{
	struct xxh64 h;
	xxh64_begin(&h);
	xxh64_add(&h, c.p, c.n);
	xxh64_add(&h, "", 1);
	xxh64_add(&h, mime.p, mime.n);
	return (int64_t)xxh64_end(&h);
}

void notice_write(const struct notice *n, struct buf *out)
{
	unsigned flags = n->has | (n->b.n ? HAS_B : 0u) | (n->f.n ? HAS_F : 0u) |
			 (n->sub.n ? HAS_SUB : 0u) | (n->hours.n ? HAS_HOURS : 0u);
	put_u8(out, (uint8_t)n->op);
	put_u8(out, (uint8_t)flags);
	put_text(out, n->c);
	put_text(out, n->mime);
	if (n->b.n)
		put_text(out, n->b);
	if (n->f.n)
		put_text(out, n->f);
	if (n->sub.n)
		put_text(out, n->sub);
	if (n->hours.n)
		put_text(out, n->hours);
	if (n->has & NOTICE_HAS_MTIME)
		put_varint(out, (uint64_t)n->mtime_s);
	if (n->has & NOTICE_HAS_SIZE)
		put_varint(out, n->size);
	if (n->has & NOTICE_HAS_MD5)
		buf_add(out, n->md5, sizeof n->md5);
}

int notice_next(struct reader *r, struct notice *ret, struct err *err)
{
	struct notice n = {0};
	if (reader_left(r) == 0 && !r->bad)
		return 1;
	size_t at = reader_at(r);
	unsigned op = reader_u8(r), flags = reader_u8(r);
	n.op = (enum notice_op)op;
	n.has = flags & (HAS_B - 1u);
	n.c = reader_text(r, NOTICE_URL_MAX);
	n.mime = reader_text(r, NOTICE_MIME_MAX);
	if (flags & HAS_B)
		n.b = reader_text(r, NOTICE_URL_MAX);
	if (flags & HAS_F)
		n.f = reader_text(r, NOTICE_URL_MAX);
	if (flags & HAS_SUB)
		n.sub = reader_text(r, NOTICE_SUB_MAX);
	if (flags & HAS_HOURS)
		n.hours = reader_text(r, NOTICE_HOURS_MAX);
	if (flags & NOTICE_HAS_MTIME)
		n.mtime_s = (int64_t)reader_varint(r);
	if (flags & NOTICE_HAS_SIZE)
		n.size = reader_varint(r);
	if (flags & NOTICE_HAS_MD5) {
		struct str sum = reader_bytes(r, sizeof n.md5);
		if (sum.n == sizeof n.md5)
			memcpy(n.md5, sum.p, sum.n);
	}
	if (r->bad || op >= NOTICE_OPS || n.c.n == 0 || (n.mime.n == 0 && op != NOTICE_NAMED) ||
	    n.size > (uint64_t)INT64_MAX)
		return err_set(err, ERR_DAMAGED, "byte %zu: not a notice", at);
	*ret = n;
	return 0;
}

struct notice notice_copy(const struct notice *n, struct arena *arena)
{
	struct notice copy = *n;
	struct str *const text[] = {&copy.c, &copy.b, &copy.f, &copy.mime, &copy.sub, &copy.hours};
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		*text[i] = text[i]->n ? arena_str(arena, *text[i]) : STR("");
	return copy;
}

void notice_pack(struct str notices, struct buf *out)
{
	size_t room = ZSTD_compressBound(notices.n);
	char *to = buf_room(out, room);
	if (!to)
		return;
	size_t n = ZSTD_compress(to, room, notices.p, notices.n, LEVEL);
	if (ZSTD_isError(n))
		die("zstd cannot pack %zu bytes: %s", notices.n, ZSTD_getErrorName(n));
	buf_grew(out, n);
}

int notice_unpack(struct str block, struct buf *ret, struct err *err)
{
	unsigned long long n = ZSTD_getFrameContentSize(block.p, block.n);
	if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN ||
	    n > NOTICE_PIECE + NOTICE_MOST)
		return err_set(err, ERR_DAMAGED, "not a block of notices");
	char *to = buf_room(ret, n);
	if (!to)
		return err_set(err, ERR_DAMAGED, "a block of notices is too large: %llu bytes", n);
	size_t got = ZSTD_decompress(to, n, block.p, block.n);
	if (ZSTD_isError(got) || got != n)
		return err_set(err, ERR_DAMAGED, "a block of notices is damaged: %s",
			       ZSTD_isError(got) ? ZSTD_getErrorName(got) : "cut off");
	buf_grew(ret, got);
	return 0;
}
