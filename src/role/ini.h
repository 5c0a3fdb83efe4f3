/* The lines of a configuration file. UTF-8, a byte order mark and CRLF are fine.
 *   # comment          ; comment            key = value  # comment after a blank
 *   [section]          key = "quoted, with \" \\ and \n"
 * No continuation lines. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Bytes. A value with every character escaped still fits in a line. */
enum { INI_VALUE_MAX = 4000, INI_LINE_MAX = 8192, INI_FILE_MAX = 1024 * 1024 };

struct ini {
	struct str rest;
	struct arena *arena;
	size_t line; /* the one that ini_next() has looked at last; the first is 1 */
};

struct ini_item {
	bool is_section;
	struct str name;  /* of the section or of the key; a slice of the text */
	struct str value; /* a slice of the text, or in the arena where escapes were undone */
};

void ini_init(struct ini *it, struct str text, struct arena *arena);
/* 0: an item; 1: the end; negative: this line is wrong; the next call goes on after it. */
int ini_next(struct ini *it, struct ini_item *ret, struct err *err);

/* Appends a value as it is written in a file, in quotes if it needs them. */
void ini_quote(struct str value, struct buf *out);
/* The line "key = value", without a line feed. */
void ini_put(const char *key, struct str value, struct buf *out);
/* Whether a file can hold the value: at most INI_VALUE_MAX bytes of UTF-8 without control
 * characters other than tab and line feed. */
bool ini_holds(struct str value);
