/* Text of others on a terminal. */
#pragma once
#include "base/buf.h"

/* What a terminal could take for a command is left out: control characters, also those of two
 * bytes. */
void put_safe(struct buf *out, struct str text);
