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
static inline void attrs_add(struct attrs *list, struct arena *arena, char name, struct str value)
{
	*ARENA_PUSH(arena, list->a, list->n, list->room) = (struct attr){name, value};
}
/* The first with this letter; p is NULL when there is none. */
static inline struct str attrs_get(const struct attrs *list, char name)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == name)
			return list->a[i].value;
	return (struct str){0};
}
