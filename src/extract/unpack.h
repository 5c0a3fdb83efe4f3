/* Unpacking of one file that is pushed in pieces: gzip (also several members), xz, compress; by its
 * first bytes, and as it is where these say nothing. What comes out is bounded. Foreign bytes, so
 * it is done in garner-parse; only what is loaded before its door is shut can be used there. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct unpack;
/* Takes what came out, in pieces. Negative ends the unpacking with that. */
typedef int unpack_sink_fn(void *ctx, struct str piece, struct err *err);

struct unpack_options {
	uint64_t unpacked_max; /* bytes that may come out; 0: no limit */
	uint64_t memory;       /* that xz may use; 0: a default */
};

/* Loads liblzma. Without it, xz files are refused with the reason why. */
struct unpack *unpack_new(const struct unpack_options *options, unpack_sink_fn *sink, void *ctx);
void unpack_free(struct unpack **u);
/* ERR_USAGE: it is damaged, or too much came out. */
int unpack_put(struct unpack *u, struct str bytes, struct err *err);
/* The end of the file. ERR_USAGE: it is cut off. */
int unpack_end(struct unpack *u, struct err *err);
