/* The unpacking of what compress(1) wrote (.Z): LZW with codes of 9 to 16 bits. Input comes in
 * pieces of any size, output goes into room that the caller lends. Foreign bytes: a code that could
 * not have been written is an error. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct lzw;
struct lzw *lzw_new(void);
void lzw_free(struct lzw **z);
/* Unpacks from *in, of which what was read is cut off, into at most `room` bytes at `out`. Comes
 * back when either is used up; 0, *ret_n says how many bytes were written. ERR_USAGE: damaged. */
int lzw_run(struct lzw *z, struct str *in, char *out, size_t room, size_t *ret_n, struct err *err);
/* The end of the input. ERR_USAGE: it cannot end here. */
int lzw_end(const struct lzw *z, struct err *err);

/* Packs text as compress(1) does; out->over where it does not fit. */
struct buf;
void lzw_compress(struct str in, struct buf *out);
