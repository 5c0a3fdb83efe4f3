/* Typed hash tables: TABLE(name, key, value, hash, equal) makes `struct name` and its functions.
 * Open addressing in one block with a byte of hash per slot; pointers to values stay good until the
 * next put or remove. Not thread-safe.
 *   TABLE(ports, uint16_t, struct site *, hash_port, equal_port)
 *   struct ports t = {0}; *ports_put(&t, 80) = site; struct site **s = ports_get(&t, 80);
 * ports_free(&t); */
#pragma once
#include "base/base.h"
