/* A table of ways: each begins, is pushed bytes, and ends. What decides is the first bytes, of
 * which up to SIGN_MOST are held back until they are enough.
 *
 * zlib is linked, because sitemaps are packed with it as well. liblzma is loaded here and not
 * linked: only listings need it, and documents are read by the same program. */
#include "extract/unpack.h"

#include "base/buf.h"
#include "base/library.h"
#include "extract/lzw.h"

#include <inttypes.h>
#include <limits.h>
#include <lzma.h>
#include <zlib.h>

enum {
	SIGN_MOST = 6,
	PIECE = 256 << 10,            /* of output */
	XZ_MEMORY = 128 << 20,        /* xz -9 needs 65 MiB */
	GZIP_WINDOW = MAX_WBITS + 16, /* with the header of gzip */
};

#define LZMA_FUNCTIONS(X) X(stream_decoder) X(code) X(end)

struct way;

struct unpack {
	struct unpack_options options;
	unpack_sink_fn *sink;
	void *ctx;
	const struct way *way; /* NULL: not known yet */
	char sign[SIGN_MOST];
	size_t sign_n;
	uint64_t total;
	char *out; /* PIECE bytes */
	z_stream gzip;
	bool gzip_open, between; /* between two members */
	bool ended;              /* what follows does not belong to it */
	struct lzw *lzw;
	lzma_stream xz;
	bool xz_open;
	bool lzma_loaded;
	struct err lzma_err; /* why it is not */
#define X(name) __typeof__(lzma_##name) *lzma_##name;
	LZMA_FUNCTIONS(X)
#undef X
};

struct way {
	struct str sign;
	int (*begin)(struct unpack *u, struct err *err);
	int (*put)(struct unpack *u, struct str bytes, struct err *err);
	int (*end)(struct unpack *u, struct err *err);
};

static int sink_give(struct unpack *u, struct str piece, struct err *err)
{
	if (piece.n == 0)
		return 0;
	u->total += piece.n;
	if (u->options.unpacked_max && u->total > u->options.unpacked_max)
		return err_set(err, ERR_USAGE,
			       "more than %" PRIu64 " bytes when unpacked; it is refused",
			       u->options.unpacked_max);
	return u->sink(u->ctx, piece, err);
}

/* Plain */

static int plain_begin(struct unpack *u, struct err *err)
{
	(void)u, (void)err;
	return 0;
}

static int plain_put(struct unpack *u, struct str bytes, struct err *err)
{
	return sink_give(u, bytes, err);
}

static int plain_end(struct unpack *u, struct err *err)
{
	(void)u, (void)err;
	return 0;
}

/* gzip */

static int gzip_begin(struct unpack *u, struct err *err)
{
	if (inflateInit2(&u->gzip, GZIP_WINDOW) != Z_OK)
		return err_set(err, ERR_SYSTEM, "zlib cannot be used: %s",
			       u->gzip.msg ? u->gzip.msg : "no memory");
	u->gzip_open = true;
	return 0;
}

/* After a member there may be another one. Anything else is none of ours, as gzip has it. */
static int gzip_next_member(struct unpack *u, struct str *bytes, struct err *err)
{
	if ((unsigned char)bytes->p[0] != 0x1f) {
		u->ended = true;
		*bytes = (struct str){0};
		return 0;
	}
	if (inflateReset(&u->gzip) != Z_OK)
		return err_set(err, ERR_SYSTEM, "zlib cannot be used");
	u->between = false;
	return 0;
}

static int gzip_step(struct unpack *u, struct str *bytes, struct err *err)
{
	uInt given = (uInt)MIN(bytes->n, (size_t)INT_MAX);
	u->gzip.next_in = (Bytef *)(uintptr_t)bytes->p;
	u->gzip.avail_in = given;
	u->gzip.next_out = (Bytef *)u->out;
	u->gzip.avail_out = PIECE;
	int rc = inflate(&u->gzip, Z_NO_FLUSH);
	*bytes = str_from(*bytes, given - u->gzip.avail_in);
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return err_set(err, ERR_USAGE,
			       "damaged, after %" PRIu64 " bytes unpacked: gzip: %s", u->total,
			       u->gzip.msg ? u->gzip.msg : "it makes no sense");
	u->between = rc == Z_STREAM_END;
	return sink_give(u, (struct str){u->out, PIECE - u->gzip.avail_out}, err);
}

static int gzip_put(struct unpack *u, struct str bytes, struct err *err)
{
	bool full = false; /* more may come out, without more input */
	while (bytes.n || (full && !u->between)) {
		if (u->between && gzip_next_member(u, &bytes, err) < 0)
			return -1;
		if (u->ended)
			return 0;
		if (gzip_step(u, &bytes, err) < 0)
			return -1;
		full = u->gzip.avail_out == 0;
	}
	return 0;
}

static int gzip_end(struct unpack *u, struct err *err)
{
	return u->between || u->ended
		       ? 0
		       : err_set(err, ERR_USAGE, "cut off, after %" PRIu64 " bytes unpacked: gzip",
				 u->total);
}

/* xz */

static int xz_begin(struct unpack *u, struct err *err)
{
	if (!u->lzma_loaded) {
		*err = u->lzma_err;
		return -1;
	}
	u->xz = (lzma_stream)LZMA_STREAM_INIT;
	if (u->lzma_stream_decoder(&u->xz, u->options.memory ? u->options.memory : XZ_MEMORY,
				   LZMA_CONCATENATED) != LZMA_OK)
		return err_set(err, ERR_SYSTEM, "liblzma cannot be used");
	u->xz_open = true;
	return 0;
}

static int xz_step(struct unpack *u, lzma_action action, bool *ret_more, struct err *err)
{
	u->xz.next_out = (uint8_t *)u->out;
	u->xz.avail_out = PIECE;
	lzma_ret rc = u->lzma_code(&u->xz, action);
	size_t n = PIECE - u->xz.avail_out;
	*ret_more = rc == LZMA_OK && (u->xz.avail_in || u->xz.avail_out == 0);
	u->ended = rc == LZMA_STREAM_END;
	if (rc == LZMA_MEMLIMIT_ERROR)
		return err_set(err, ERR_USAGE, "xz: it needs more memory than it may have");
	if (rc != LZMA_OK && rc != LZMA_STREAM_END && rc != LZMA_BUF_ERROR)
		return err_set(err, ERR_USAGE, "damaged, after %" PRIu64 " bytes unpacked: xz (%d)",
			       u->total, (int)rc);
	return sink_give(u, (struct str){u->out, n}, err);
}

static int xz_put(struct unpack *u, struct str bytes, struct err *err)
{
	u->xz.next_in = (const uint8_t *)bytes.p;
	u->xz.avail_in = bytes.n;
	for (bool more = bytes.n > 0; more;)
		if (xz_step(u, LZMA_RUN, &more, err) < 0)
			return -1;
	return 0;
}

static int xz_end(struct unpack *u, struct err *err)
{
	u->xz.avail_in = 0;
	for (bool more = true; more;)
		if (xz_step(u, LZMA_FINISH, &more, err) < 0)
			return -1;
	return u->ended ? 0
			: err_set(err, ERR_USAGE, "cut off, after %" PRIu64 " bytes unpacked: xz",
				  u->total);
}

/* compress */

static int compress_begin(struct unpack *u, struct err *err)
{
	(void)err;
	u->lzw = lzw_new();
	return 0;
}

static int compress_put(struct unpack *u, struct str bytes, struct err *err)
{
	size_t n = PIECE;
	while (bytes.n || n == PIECE)
		if (lzw_run(u->lzw, &bytes, u->out, PIECE, &n, err) < 0 ||
		    sink_give(u, (struct str){u->out, n}, err) < 0)
			return -1;
	return 0;
}

static int compress_end(struct unpack *u, struct err *err)
{
	return lzw_end(u->lzw, err);
}

/* Which it is */

static const struct way ways[] = {
	{{"\x1f\x8b", 2}, gzip_begin, gzip_put, gzip_end},
	{{"\x1f\x9d", 2}, compress_begin, compress_put, compress_end},
	{{"\3757zXZ\0", 6}, xz_begin, xz_put, xz_end},
	{{"", 0}, plain_begin, plain_put, plain_end},
};

/* The way of a file that begins so. NULL: more bytes are needed. */
static const struct way *way_of(struct str head, bool all)
{
	const struct way *w = ways;
	for (; w->sign.n; w++) {
		if (str_starts(head, w->sign))
			return w;
		if (!all && head.n < w->sign.n && str_starts(w->sign, head))
			return NULL;
	}
	return w;
}

static int way_begin(struct unpack *u, bool all, struct err *err)
{
	struct str head = {u->sign, u->sign_n};
	const struct way *w = way_of(head, all);
	if (!w)
		return 0;
	if (w->begin(u, err) < 0)
		return -1;
	u->way = w;
	return head.n ? w->put(u, head, err) : 0;
}

int unpack_put(struct unpack *u, struct str bytes, struct err *err)
{
	while (!u->way && bytes.n) {
		u->sign[u->sign_n++] = bytes.p[0];
		bytes = str_from(bytes, 1);
		if (way_begin(u, false, err) < 0)
			return -1;
	}
	return bytes.n ? u->way->put(u, bytes, err) : 0;
}

int unpack_end(struct unpack *u, struct err *err)
{
	if (!u->way && way_begin(u, true, err) < 0)
		return -1;
	return u->way->end(u, err);
}

struct unpack *unpack_new(const struct unpack_options *options, unpack_sink_fn *sink, void *ctx)
{
	struct unpack *u = mem_alloc(sizeof *u);
	u->options = *options;
	u->sink = sink;
	u->ctx = ctx;
	u->out = mem_resize(NULL, PIECE);
#define X(name) {"lzma_" #name, &u->lzma_##name},
	const struct library_function functions[] = {LZMA_FUNCTIONS(X)};
#undef X
	u->lzma_loaded = library_load("liblzma.so.5", "unpacking xz needs the package liblzma5",
				      functions, ARRAY_LEN(functions), &u->lzma_err) == 0;
	return u;
}

void unpack_free(struct unpack **pu)
{
	struct unpack *u = *pu;
	if (!u)
		return;
	if (u->gzip_open)
		inflateEnd(&u->gzip);
	if (u->xz_open)
		u->lzma_end(&u->xz);
	lzw_free(&u->lzw);
	mem_free(&u->out);
	mem_free(pu);
}
