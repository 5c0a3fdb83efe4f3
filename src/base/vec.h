/* Growing arrays: a pointer, how many there are, how many there is room for, wherever these three
 * stand. Doubling, so that adding one at a time stays linear; the owner bounds what comes from
 * outside, and frees with mem_free().
 *
 *   struct rule *rule;
 *   size_t rules, room;
 *   *VEC_PUSH(rule, rules, room) = (struct rule){...};
 */
#pragma once
#include "base/base.h"

/* Room for `need` elements in all. */
#define VEC_ROOM(array, room, need)                                                              \
	((need) > (room) ? (void)((array) = vec_grow((array), &(room), (need), sizeof *(array))) \
			 : (void)0)
/* A pointer to one more element, which is not set to anything. */
#define VEC_PUSH(array, n, room) (VEC_ROOM(array, room, (n) + 1), &(array)[(n)++])

void *vec_grow(void *array, size_t *room, size_t need, size_t size) MUST_USE;
