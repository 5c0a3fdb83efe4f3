/* What the files of charset share. */
#pragma once
#include "extract/charset.h"

#include <iconv.h>

/* How an encoding is decoded. */
enum charset_kind {
	CHARSET_UTF8,
	CHARSET_TABLE, /* one byte each: a table that iconv fills */
	CHARSET_ICONV,
	CHARSET_UTF16LE,
	CHARSET_UTF16BE,
};

struct charset_def {
	const char *name;
	enum charset_kind kind;
	const char *iconv;  /* its name there */
	const char *labels; /* what it is also called, separated by blanks */
};
enum { CHARSET_DEFS = 38 };
extern const struct charset_def charset_defs[CHARSET_DEFS];
/* By label; NULL: not known. */
const struct charset_def *charset_def(struct str label);

#define NO_ICONV ((iconv_t)-1)

/* The UTF-8 of the bytes from 0x80 on, of an encoding with one byte a character. */
struct charset_table {
	struct {
		unsigned char n;
		char b[3];
	} high[128];
};

struct charset_loaded {
	iconv_t cd; /* NO_ICONV: not open */
	struct charset_table *table;
};

struct charset {
	struct charset_loaded loaded[CHARSET_DEFS];
	struct detector *detector; /* of uchardet; NULL: not loaded, or it is not there */
	bool detector_asked;
	char piece[CHARSET_PIECE];
};

/* Fills the table or opens the converter. Negative: iconv does not have it. */
int charset_load(struct charset *c, const struct charset_def *def, struct err *err);
