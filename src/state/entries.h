/* Formats that are record files whose payloads can be checked one by one, for this room. */
#pragma once
#include "disk/record.h"

/* Appends a payload to `out` for people, without a line's end; ERR_DAMAGED: it cannot be. */
typedef int entry_print_fn(struct str payload, struct buf *out, struct err *err);

int entries_print(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		  void (*emit)(void *ctx, struct str), void *ctx, struct err *err);
/* All frames and all payloads. */
int entries_verify(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		   struct err *err);

/* The functions of such a format: NAME_print and NAME_verify. */
#define ENTRIES_FUNCTIONS(name, kind_of, fn)                                                      \
	static int name##_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx, \
				struct err *err)                                                  \
	{                                                                                         \
		return entries_print(path, kind_of, fn, emit, ctx, err);                          \
	}                                                                                         \
	static int name##_verify(const char *path, struct err *err)                               \
	{                                                                                         \
		return entries_verify(path, kind_of, fn, err);                                    \
	}
