/* Doubling, and never fewer than eight: most arrays stay small. */
#include "base/vec.h"

enum { VEC_LEAST = 8 };

void *vec_grow(void *array, size_t *room, size_t need, size_t size)
{
	size_t more = MAX(*room, VEC_LEAST / 2);
	do {
		ENSURE(more <= SIZE_MAX / 2 / size);
		more *= 2;
	} while (more < need);
	array = mem_resize(array, more * size);
	*room = more;
	return array;
}
