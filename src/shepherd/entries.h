/* Formats that are record files whose payloads can be checked one by one, for this room. */
#pragma once
#include "base/record.h"

/* Appends a payload to `out` for people, without a line's end; ERR_DAMAGED: it cannot be. */
typedef int entry_print_fn(struct str payload, struct buf *out, struct err *err);

int entries_print(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		  void (*emit)(void *ctx, struct str), void *ctx, struct err *err);
/* All frames and all payloads. */
int entries_verify(const char *path, const struct record_kind *kind, entry_print_fn *fn,
		   struct err *err);

/* A format of that sort, by its name in C. */
#define ENTRIES_FORMAT(variable, word, magic_text, kind_of, fn, what)                      \
	static int variable##_print(const char *path, void (*emit)(void *ctx, struct str), \
				    void *ctx, struct err *err)                            \
	{                                                                                  \
		return entries_print(path, kind_of, fn, emit, ctx, err);                   \
	}                                                                                  \
	static int variable##_verify(const char *path, struct err *err)                    \
	{                                                                                  \
		return entries_verify(path, kind_of, fn, err);                             \
	}                                                                                  \
	const struct format variable = {.name = (word),                                    \
					.magic = magic_text,                               \
					.version = 1,                                      \
					.help = (what),                                    \
					.print = variable##_print,                         \
					.verify = variable##_verify};
