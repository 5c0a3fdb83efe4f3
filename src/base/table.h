/* Typed hash tables: TABLE(name, key, value, hash, equal) makes `struct name` and its functions.
 * Open addressing in one block with a byte of hash per slot; pointers to values stay good until the
 * next put or remove. Not thread-safe.
 *
 *   TABLE(ports, uint16_t, struct site *, hash_u64, table_same_u64)
 *
 *   struct ports t = {0};
 *   *ports_put(&t, 80) = site;                   the value of the key; zeroes if it was not there
 *   *ports_put_new(&t, 80, &is_new) = site;      the same, and whether it was not there
 *   struct site **s = ports_get(&t, 80);         NULL: not there
 *   ports_near(&t, 80);                          a get or put will follow after a while
 *   bool was_there = ports_remove(&t, 80);
 *   TABLE_EACH(ports, slot, &t)                  in no order; slot->key must not be changed;
 *           use(slot->key, slot->value);         the slot itself may be removed, nothing be put
 *   ports_count(&t);
 *   ports_clear(&t);                             empty, memory kept
 *   ports_free(&t);                              memory given back; {0} again
 *
 * `hash` must spread over all 64 bits: hash64() and hash_u64() do, the bare number does not. Keys
 * are copied as they are: what they point to belongs to the caller and must outlive them. A key in
 * memory that does not last is looked up with get first and put as a copy. */
#pragma once
#include "base/base.h"

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The slots come in groups of 16. A key belongs to the group that its hash names or, while those
 * are full, to one further on; a search ends at the first group with an empty slot. A slot's byte
 * is 7 bits of the hash, or one of these. A removed key leaves `gone` only in a group without an
 * empty slot, since no search goes past the others. Never more than 7/8 of the slots are not empty;
 * the put that would pass this makes the table anew, without what is gone and twice as big if half
 * of that room is in use. */
enum { TABLE_GROUP = 16, TABLE_EMPTY = 0x80, TABLE_GONE = 0xfe };

#define TABLE_FN static inline __attribute__((unused))

/* For keys that are numbers, with hash_u64(). */
TABLE_FN bool table_same_u64(uint64_t a, uint64_t b)
{
	return a == b;
}

/* For keys that are texts, told apart by 128 bits of hash: hash64_seeded() with two seeds. */
struct table_hashes {
	uint64_t a, b;
};
TABLE_FN uint64_t table_hash_hashes(struct table_hashes k)
{
	return k.a;
}
TABLE_FN bool table_same_hashes(struct table_hashes x, struct table_hashes y)
{
	return x.a == y.a && x.b == y.b;
}

/* One bit for each of the group's bytes that is equal to `byte`. */
TABLE_FN unsigned table_match_portable(const uint8_t *group, uint8_t byte)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	uint64_t word[2], bits = 0;
	memcpy(word, group, sizeof word);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t differ = le64toh(word[i]) ^ byte * UINT64_C(0x0101010101010101);
		uint64_t equal = ~(((differ & low) + low) | differ | low); /* 0x80 in its byte */
		bits |= ((equal >> 7) * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
	}
	return (unsigned)bits;
}

TABLE_FN unsigned table_match(const uint8_t *group, uint8_t byte)
{
#ifdef __SSE2__
	__m128i bytes = _mm_loadu_si128((const __m128i *)group);
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
#else
	return table_match_portable(group, byte);
#endif
}

#define TABLE_EACH(name, slot, table)                                   \
	for (struct name##_slot *slot = name##_next(table, NULL); slot; \
	     slot = name##_next(table, slot))

#define TABLE(name, key_type, value_type, hash, equal)                                            \
	struct name##_slot {                                                                      \
		key_type key;                                                                     \
		value_type value;                                                                 \
	};                                                                                        \
	struct name {                                                                             \
		struct name##_slot *slots; /* the block: slots, then their bytes */               \
		uint8_t *bytes;                                                                   \
		size_t cap, n, room; /* slots, keys, empty slots that may yet be used */          \
	};                                                                                        \
	TABLE_FN size_t name##_count(const struct name *t)                                        \
	{                                                                                         \
		return t->n;                                                                      \
	}                                                                                         \
	TABLE_FN struct name##_slot *name##_find(const struct name *t, key_type key, uint64_t h)  \
	{                                                                                         \
		size_t mask = t->cap / TABLE_GROUP - 1;                                           \
		if (t->n == 0)                                                                    \
			return NULL;                                                              \
		for (size_t g = h >> 7 & mask, step = 0;; g = (g + ++step) & mask) {              \
			const uint8_t *bytes = t->bytes + g * TABLE_GROUP;                        \
			struct name##_slot *slots = t->slots + g * TABLE_GROUP;                   \
			for (unsigned m = table_match(bytes, h & 0x7f); m; m &= m - 1)            \
				if (LIKELY(equal(slots[__builtin_ctz(m)].key, key)))              \
					return &slots[__builtin_ctz(m)];                          \
			if (LIKELY(table_match(bytes, TABLE_EMPTY)))                              \
				return NULL;                                                      \
		}                                                                                 \
	}                                                                                         \
	/* The first slot that a key of this hash may take; there must be an empty one. */        \
	TABLE_FN size_t name##_place(const struct name *t, uint64_t h)                            \
	{                                                                                         \
		size_t mask = t->cap / TABLE_GROUP - 1;                                           \
		for (size_t g = h >> 7 & mask, step = 0;; g = (g + ++step) & mask) {              \
			const uint8_t *bytes = t->bytes + g * TABLE_GROUP;                        \
			unsigned m =                                                              \
				table_match(bytes, TABLE_EMPTY) | table_match(bytes, TABLE_GONE); \
			if (m)                                                                    \
				return g * TABLE_GROUP + (size_t)__builtin_ctz(m);                \
		}                                                                                 \
	}                                                                                         \
	TABLE_FN void name##_take(struct name *t, size_t at, uint64_t h)                          \
	{                                                                                         \
		t->room -= t->bytes[at] == TABLE_EMPTY;                                           \
		t->bytes[at] = h & 0x7f;                                                          \
		t->n++;                                                                           \
	}                                                                                         \
	TABLE_FN void name##_clear(struct name *t)                                                \
	{                                                                                         \
		if (t->cap)                                                                       \
			memset(t->bytes, TABLE_EMPTY, t->cap);                                    \
		t->n = 0;                                                                         \
		t->room = t->cap / 8 * 7;                                                         \
	}                                                                                         \
	TABLE_FN void name##_free(struct name *t)                                                 \
	{                                                                                         \
		mem_free(&t->slots);                                                              \
		*t = (struct name){0};                                                            \
	}                                                                                         \
	TABLE_FN struct name##_slot *name##_next(const struct name *t, struct name##_slot *slot)  \
	{                                                                                         \
		for (size_t i = slot ? (size_t)(slot - t->slots) + 1 : 0; i < t->cap; i++)        \
			if (t->bytes[i] < TABLE_EMPTY)                                            \
				return &t->slots[i];                                              \
		return NULL;                                                                      \
	}                                                                                         \
	static __attribute__((unused, noinline)) void name##_renew(struct name *t)                \
	{                                                                                         \
		struct name old = *t;                                                             \
		size_t bytes;                                                                     \
		t->cap = old.n < old.cap / 16 * 7 ? old.cap                                       \
						  : MAX(old.cap * 2, (size_t)TABLE_GROUP);        \
		ENSURE(!__builtin_mul_overflow(t->cap, sizeof *t->slots + 1, &bytes));            \
		t->slots = mem_resize(NULL, bytes);                                               \
		t->bytes = (uint8_t *)(t->slots + t->cap);                                        \
		name##_clear(t);                                                                  \
		TABLE_EACH (name, slot, &old) {                                                   \
			uint64_t h = hash(slot->key);                                             \
			size_t at = name##_place(t, h);                                           \
			t->slots[at] = *slot;                                                     \
			name##_take(t, at, h);                                                    \
		}                                                                                 \
		name##_free(&old);                                                                \
	}                                                                                         \
	TABLE_FN value_type *name##_put_new(struct name *t, key_type key, bool *ret_new)          \
	{                                                                                         \
		uint64_t h = hash(key);                                                           \
		struct name##_slot *slot = name##_find(t, key, h);                                \
		*ret_new = !slot;                                                                 \
		if (slot)                                                                         \
			return &slot->value;                                                      \
		if (t->cap == 0)                                                                  \
			name##_renew(t);                                                          \
		size_t at = name##_place(t, h);                                                   \
		if (t->room == 0 && t->bytes[at] == TABLE_EMPTY) {                                \
			name##_renew(t);                                                          \
			at = name##_place(t, h);                                                  \
		}                                                                                 \
		name##_take(t, at, h);                                                            \
		memset(&t->slots[at], 0, sizeof t->slots[at]);                                    \
		t->slots[at].key = key;                                                           \
		return &t->slots[at].value;                                                       \
	}                                                                                         \
	TABLE_FN value_type *name##_put(struct name *t, key_type key)                             \
	{                                                                                         \
		bool is_new;                                                                      \
		return name##_put_new(t, key, &is_new);                                           \
	}                                                                                         \
	TABLE_FN value_type *name##_get(const struct name *t, key_type key)                       \
	{                                                                                         \
		struct name##_slot *slot = name##_find(t, key, hash(key));                        \
		return slot ? &slot->value : NULL;                                                \
	}                                                                                         \
	/* Memory that a search for the key looks at is asked for. */                             \
	TABLE_FN void name##_near(const struct name *t, key_type key)                             \
	{                                                                                         \
		uint64_t h = hash(key);                                                           \
		size_t g = t->cap ? (h >> 7 & (t->cap / TABLE_GROUP - 1)) * TABLE_GROUP : 0;      \
		if (t->cap == 0)                                                                  \
			return;                                                                   \
		__builtin_prefetch(t->bytes + g);                                                 \
		for (size_t at = 0; at < TABLE_GROUP * sizeof *t->slots; at += 64)                \
			__builtin_prefetch((const char *)(t->slots + g) + at);                    \
	}                                                                                         \
	TABLE_FN bool name##_remove(struct name *t, key_type key)                                 \
	{                                                                                         \
		struct name##_slot *slot = name##_find(t, key, hash(key));                        \
		if (!slot)                                                                        \
			return false;                                                             \
		size_t at = (size_t)(slot - t->slots);                                            \
		bool passed =                                                                     \
			!table_match(t->bytes + at / TABLE_GROUP * TABLE_GROUP, TABLE_EMPTY);     \
		t->bytes[at] = passed ? TABLE_GONE : TABLE_EMPTY;                                 \
		t->room += !passed;                                                               \
		t->n--;                                                                           \
		return true;                                                                      \
	}
