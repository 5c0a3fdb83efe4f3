/* Decoders: zlib, brotli and zstd with one interface. A layer removes one coding and passes its
 * output to the next, piece by piece; memory does not depend on the size of a body.
 *
 * A body may go on after the end of a coding. Further members (gzip) and frames (zstd) belong to
 * it, as their own tools and RFC 1952 and 8878 have it. Anything else is ignored, as browsers do:
 * many servers pad.
 *
 * The state of a layer is large and needed for each document, so it is allocated from libcurl's
 * free lists (net/curl.h). */
#include "fetch/robot/decoder.h"

#include "net/curl.h"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

enum {
	DECODER_ROOM = 16 << 10,
	DECODER_HEAD = 4,        /* bytes at the start of a member by which it is known */
	DECODER_ZSTD_WINDOW = 23 /* 8 MiB: more is not for HTTP (RFC 9659) */
};

enum step { STEP_MORE, STEP_END, STEP_BAD };

struct layer {
	const struct coding *coding;
	union {
		z_stream z;
		BrotliDecoderState *brotli;
		ZSTD_DStream *zstd;
	};
	bool is_open;  /* the library has its state */
	bool is_begun; /* a byte has come */
	bool is_ended; /* a member has ended, and no other has begun */
	bool is_done;  /* what comes now is padding */
	bool is_known; /* of zstd: the first frame is one */
	/* Of deflate, until it is known which of the two it is; of what may be another member. */
	unsigned char head[DECODER_HEAD];
	size_t nhead;
	uint64_t made;
	char room[DECODER_ROOM];
};

/* step: takes from *in, puts at most DECODER_ROOM bytes into l->room. */
struct coding {
	const char *name;
	bool (*open)(struct layer *l);
	enum step (*step)(struct layer *l, struct str *in, size_t *ret_n);
	void (*close)(struct layer *l);
	/* Further members: how many bytes show one, whether these may begin one, and the state for
	 * it. 0: there are none. */
	size_t magic;
	bool (*begins)(const unsigned char *head, size_t n);
	bool (*again)(struct layer *l);
};

struct decoder {
	size_t n;
	uint64_t most; /* bytes that a layer may make for the next */
	decoder_fn *fn;
	void *ctx;
	struct layer *layer[DECODER_LAYERS]; /* in the order in which they are taken off */
};

/* Until there are n bytes of the head. */
static bool head_fill(struct layer *l, size_t n, struct str *in)
{
	for (; l->nhead < n && in->n; *in = str_from(*in, 1))
		l->head[l->nhead++] = (unsigned char)in->p[0];
	return l->nhead == n;
}

/* gzip and deflate */

enum { WINDOW = 15, WINDOW_GZIP = WINDOW + 16, DEFLATE_HEAD = 2 };

static void *zlib_alloc(void *ctx, unsigned n, unsigned size)
{
	(void)ctx;
	return curl_memory_alloc((size_t)n * size);
}

static void zlib_release(void *ctx, void *p)
{
	(void)ctx;
	curl_memory_free(p);
}

static bool zlib_open(struct layer *l, int window)
{
	l->z.zalloc = zlib_alloc;
	l->z.zfree = zlib_release;
	return inflateInit2(&l->z, window) == Z_OK;
}

static bool gzip_open(struct layer *l)
{
	return zlib_open(l, WINDOW_GZIP);
}

static enum step zlib_step(struct layer *l, struct str *in, size_t *ret_n)
{
	size_t n = MIN(in->n, (size_t)UINT32_MAX);
	l->z.next_in = (unsigned char *)in->p;
	l->z.avail_in = (unsigned)n;
	l->z.next_out = (unsigned char *)l->room;
	l->z.avail_out = sizeof l->room;
	int rc = inflate(&l->z, Z_NO_FLUSH);
	*in = str_from(*in, n - l->z.avail_in);
	*ret_n = sizeof l->room - l->z.avail_out;
	return rc == Z_STREAM_END                ? STEP_END
	       : rc == Z_OK || rc == Z_BUF_ERROR ? STEP_MORE
						 : STEP_BAD;
}

static bool gzip_begins(const unsigned char *head, size_t n)
{
	return memcmp(head, "\x1f\x8b\x08", n) == 0;
}

static bool gzip_again(struct layer *l)
{
	return inflateReset(&l->z) == Z_OK;
}

static void zlib_close(struct layer *l)
{
	inflateEnd(&l->z);
}

/* Which of the two it is shows in the first bytes. */
static bool deflate_open(struct layer *l)
{
	(void)l;
	return true;
}

/* The standard means a frame of zlib's (RFC 1950); some servers leave it out. */
static int deflate_window(const unsigned char head[2])
{
	bool framed = (head[0] & 0xf) == Z_DEFLATED && head[0] >> 4 <= 7 &&
		      (head[0] << 8 | head[1]) % 31 == 0;
	return framed ? WINDOW : -WINDOW;
}

static enum step deflate_step(struct layer *l, struct str *in, size_t *ret_n)
{
	struct str head = {(const char *)l->head, DEFLATE_HEAD};
	if (l->nhead == DEFLATE_HEAD)
		return zlib_step(l, in, ret_n);
	if (!head_fill(l, DEFLATE_HEAD, in))
		return STEP_MORE;
	return zlib_open(l, deflate_window(l->head)) ? zlib_step(l, &head, ret_n) : STEP_BAD;
}

static void deflate_close(struct layer *l)
{
	if (l->nhead == DEFLATE_HEAD)
		inflateEnd(&l->z);
}

/* br */

static bool brotli_open(struct layer *l)
{
	l->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	return l->brotli != NULL;
}

static enum step brotli_step(struct layer *l, struct str *in, size_t *ret_n)
{
	const uint8_t *from = (const uint8_t *)in->p;
	uint8_t *to = (uint8_t *)l->room;
	size_t in_left = in->n, out_left = sizeof l->room;
	BrotliDecoderResult rc =
		BrotliDecoderDecompressStream(l->brotli, &in_left, &from, &out_left, &to, NULL);
	*in = str_from(*in, in->n - in_left);
	*ret_n = sizeof l->room - out_left;
	return rc == BROTLI_DECODER_RESULT_SUCCESS ? STEP_END
	       : rc == BROTLI_DECODER_RESULT_ERROR ? STEP_BAD
						   : STEP_MORE;
}

static void brotli_close(struct layer *l)
{
	BrotliDecoderDestroyInstance(l->brotli);
}

/* zstd */

static bool zstd_open(struct layer *l)
{
	l->zstd = ZSTD_createDStream();
	return l->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(l->zstd, ZSTD_d_windowLogMax,
							       DECODER_ZSTD_WINDOW));
}

/* Frames and skippable frames. */
static bool zstd_begins(const unsigned char *head, size_t n)
{
	bool skipped = (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", n - 1) == 0;
	return skipped || memcmp(head, "\x28\xb5\x2f\xfd", n) == 0;
}

static enum step zstd_run(struct layer *l, struct str *in, size_t *ret_n)
{
	ZSTD_inBuffer from = {in->p, in->n, 0};
	ZSTD_outBuffer to = {l->room, sizeof l->room, 0};
	size_t rc = ZSTD_decompressStream(l->zstd, &to, &from);
	*in = str_from(*in, from.pos);
	*ret_n = to.pos;
	return ZSTD_isError(rc) ? STEP_BAD : rc == 0 ? STEP_END : STEP_MORE;
}

/* The library would also take frames of versions before the standard, by code that is not for
 * hostile input. */
static enum step zstd_step(struct layer *l, struct str *in, size_t *ret_n)
{
	struct str head = {(const char *)l->head, DECODER_HEAD};
	if (l->is_known)
		return zstd_run(l, in, ret_n);
	l->is_known = head_fill(l, DECODER_HEAD, in);
	if (!zstd_begins(l->head, l->nhead))
		return STEP_BAD;
	if (!l->is_known)
		return STEP_MORE;
	l->nhead = 0;
	return zstd_run(l, &head, ret_n);
}

static bool zstd_again(struct layer *l)
{
	return !ZSTD_isError(ZSTD_DCtx_reset(l->zstd, ZSTD_reset_session_only));
}

static void zstd_close(struct layer *l)
{
	ZSTD_freeDStream(l->zstd);
}

/* The codings. "identity" is the name of none. */

const char decoder_accepts[] = "gzip, deflate, br, zstd";

static const struct coding codings_known[] = {
	{"gzip", gzip_open, zlib_step, zlib_close, 3, gzip_begins, gzip_again},
	{"x-gzip", gzip_open, zlib_step, zlib_close, 3, gzip_begins, gzip_again},
	{"deflate", deflate_open, deflate_step, deflate_close, 0, NULL, NULL},
	{"br", brotli_open, brotli_step, brotli_close, 0, NULL, NULL},
	{"zstd", zstd_open, zstd_step, zstd_close, DECODER_HEAD, zstd_begins, zstd_again},
};

static const struct coding *coding_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(codings_known); i++)
		if (str_eq_nocase(name, str_of(codings_known[i].name)))
			return &codings_known[i];
	return NULL;
}

static int layer_add(struct decoder *d, const struct coding *coding)
{
	if (!coding || d->n == DECODER_LAYERS)
		return -1;
	struct layer *l = curl_memory_alloc(sizeof *l);
	if (!l)
		die("out of memory (for a coding)");
	memset(l, 0, offsetof(struct layer, room)); /* what is in the room was put there */
	l->coding = coding;
	memmove(d->layer + 1, d->layer, d->n * sizeof d->layer[0]);
	d->layer[0] = l;
	d->n++;
	return (l->is_open = coding->open(l)) ? 0 : -1;
}

int decoder_new(struct decoder **ret, struct str codings, uint64_t most)
{
	struct decoder *d = mem_alloc(sizeof *d);
	d->most = most;
	struct str name;
	int rc = 0;
	while (rc == 0 && str_cut(&codings, ',', &name) == 0) {
		name = str_trim(name);
		if (name.n && !str_eq_nocase(name, STR("identity")))
			rc = layer_add(d, coding_find(name));
	}
	if (rc == 0 && d->n) {
		*ret = d;
		return 0;
	}
	rc = rc < 0 ? -1 : 1;
	decoder_free(&d);
	return rc;
}

void decoder_free(struct decoder **pd)
{
	struct decoder *d = *pd;
	for (size_t i = 0; d && i < d->n; i++) {
		if (d->layer[i]->is_open)
			d->layer[i]->coding->close(d->layer[i]);
		curl_memory_free(d->layer[i]);
	}
	mem_free(pd);
}

/* After the end of a member: whether another one begins. Its head is taken then. */
static bool layer_goes_on(struct layer *l, struct str *in)
{
	const struct coding *coding = l->coding;
	bool is_full = head_fill(l, coding->magic, in);
	struct str head = {(const char *)l->head, coding->magic};
	size_t none;
	l->is_done = !coding->magic || !coding->begins(l->head, l->nhead);
	if (l->is_done || !is_full)
		return false;
	l->is_ended = false;
	l->nhead = 0;
	l->is_done = !coding->again(l) || coding->step(l, &head, &none) != STEP_MORE;
	return !l->is_done;
}

/* One step; *ret_n bytes are in the room. DECODER_BAD: the bytes are not of this coding. */
static int layer_step(struct layer *l, struct str *in, size_t *ret_n)
{
	*ret_n = 0;
	l->is_begun = true;
	if (l->is_ended && !layer_goes_on(l, in))
		return 0;
	enum step step = l->coding->step(l, in, ret_n);
	l->is_ended = step == STEP_END;
	return step == STEP_BAD ? DECODER_BAD : 0;
}

static int layer_feed(struct decoder *d, size_t i, struct str in);

/* What the last layer makes is bounded by who takes it; between two of them it may be any amount of
 * which nothing comes, such as padding. */
static int layer_hand_on(struct decoder *d, size_t i, struct str made)
{
	if (i + 1 == d->n)
		return d->fn(d->ctx, made);
	d->layer[i]->made += made.n;
	return d->layer[i]->made > d->most ? DECODER_LARGE : layer_feed(d, i + 1, made);
}

static int layer_feed(struct decoder *d, size_t i, struct str in)
{
	struct layer *l = d->layer[i];
	size_t n = 0;
	/* a full room may be followed by more */
	while (!l->is_done && (in.n || (n == sizeof l->room && !l->is_ended))) {
		int rc = layer_step(l, &in, &n);
		struct str made = {l->room, n};
		if (rc == 0 && n)
			rc = layer_hand_on(d, i, made);
		if (rc)
			return rc;
	}
	return 0;
}

int decoder_feed(struct decoder *d, struct str bytes, decoder_fn *fn, void *ctx)
{
	d->fn = fn;
	d->ctx = ctx;
	return layer_feed(d, 0, bytes);
}

/* Of a layer that nothing came to, nothing is missing. */
static bool layer_is_whole(const struct layer *l)
{
	return !l->is_begun || l->is_done || l->is_ended;
}

bool decoder_is_whole(const struct decoder *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (!layer_is_whole(d->layer[i]))
			return false;
	return true;
}
