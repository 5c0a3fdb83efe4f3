#include "base/attrs.h"

#include <string.h>

void attrs_add(struct attrs *list, struct arena *arena, char name, struct str value)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct attr *grown = arena_array(arena, room, sizeof(*grown));
		if (list->n)
			memcpy(grown, list->a, list->n * sizeof(*grown));
		list->a = grown;
		list->room = room;
	}
	list->a[list->n++] = (struct attr){name, value};
}

struct str attrs_get(const struct attrs *list, char name)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == name)
			return list->a[i].value;
	return (struct str){0};
}
