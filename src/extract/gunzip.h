/* Sitemaps come compressed as files, whatever the transfer does. */
#pragma once
#include "base/buf.h"

bool is_gzip(struct str s);
/* All that gzip holds, at most out->max bytes of it. true: it was whole and fit. What could be read
 * before damage or the limit is in `out` in any case. */
bool gunzip(struct str s, struct buf *out);
