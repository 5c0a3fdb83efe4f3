/* Notes: small files of text with a checksum, replaced as a whole: control, params, locks. For this
 * room. A note is lines "name value"; control is one word. */
#pragma once
#include "base/arena.h"
#include "disk/format.h"

enum { NOTE_MOST = 4096 };

/* magic: of the format, which has this version. */
int note_write(const char *path, const char *magic, struct str text, struct err *err);
/* 1: there is none. ERR_DAMAGED. The text lives in the arena. */
int note_read(const char *path, const char *magic, struct arena *arena, struct str *ret,
	      struct err *err);
/* The value behind a name; p NULL: the name is not there. */
struct str note_get(struct str text, const char *name);
bool note_u64(struct str text, const char *name, uint64_t *ret);

int note_print(const char *path, const char *magic, void (*emit)(void *ctx, struct str), void *ctx,
	       struct err *err);
int note_verify(const char *path, const char *magic, struct err *err);
/* print and verify of one kind, for its format. */
#define NOTE_FUNCTIONS(kind, magic)                                                               \
	static int kind##_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx, \
				struct err *err)                                                  \
	{                                                                                         \
		return note_print(path, magic, emit, ctx, err);                                   \
	}                                                                                         \
	static int kind##_verify(const char *path, struct err *err)                               \
	{                                                                                         \
		return note_verify(path, magic, err);                                             \
	}
