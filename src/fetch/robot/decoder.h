/* Content codings (RFC 9110, 8.4): taken off a body as it comes. libcurl could do that, but it does
 * not say whether a body ended where its coding does: half a page would pass for a whole one. */
#pragma once
#include "base/str.h"

enum { DECODER_LAYERS = 4 }; /* codings on top of each other */

/* What is asked for: the Accept-Encoding. */
extern const char decoder_accepts[];

struct decoder;

/* codings: the Content-Encoding, in the order in which they were applied. most: bytes that may come
 * of one that lies on top of another. 0: *ret is a decoder. 1: there is nothing to take off.
 * Negative: one that we do not know, or too many. */
int decoder_new(struct decoder **ret, struct str codings, uint64_t most);
void decoder_free(struct decoder **d);

/* Takes what was decoded; what is not 0 ends the call and is returned. */
typedef int decoder_fn(void *ctx, struct str bytes);
/* Negative where it was not `fn`: the bytes are not of that coding, or more than `most`. Nothing
 * may be fed afterwards. */
enum { DECODER_BAD = -1, DECODER_LARGE = -2 };
int decoder_feed(struct decoder *d, struct str bytes, decoder_fn *fn, void *ctx);
/* Whether a body that ends here is a whole one: every coding has come to its end, or not a byte has
 * come at all. */
bool decoder_is_whole(const struct decoder *d);
