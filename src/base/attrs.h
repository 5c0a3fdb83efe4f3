/* Attributes as buckets keep them: a letter and a value, in order, letters may repeat. This is what
 * extraction yields, what a bucket holds and what a source turns into SOIF; the letters and the
 * form of their values are in doc/formats/attributes.md. Slices only: the values live in the arena
 * or in the bytes they were parsed from. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

struct attr {
	char name; /* one printable ASCII character */
	struct str value;
};

struct attrs {
	struct attr *a;
	size_t n, room;
};

/* Copies the slice, not its bytes. */
void attrs_add(struct attrs *list, struct arena *arena, char name, struct str value);
/* The first with this letter; p is NULL when there is none. */
struct str attrs_get(const struct attrs *list, char name);
