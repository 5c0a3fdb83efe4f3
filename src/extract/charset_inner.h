/* What the files of charset share. */
#pragma once
#include "extract/charset.h"
#include "extract/charset_index_inner.h"

/* How an encoding is decoded. */
enum charset_kind {
	CHARSET_UTF8,
	CHARSET_SINGLE, /* one byte each */
	CHARSET_UTF16LE,
	CHARSET_UTF16BE,
	CHARSET_BIG5,
	CHARSET_EUC_JP,
	CHARSET_EUC_KR,
	CHARSET_GB18030,
	CHARSET_ISO_2022_JP,
	CHARSET_SHIFT_JIS,
	CHARSET_REPLACEMENT, /* not decoded at all: attackers could hide markup in it */
	CHARSET_KINDS,
};

struct charset_def {
	const char *name;
	enum charset_kind kind;
	enum charset_index_id index;
	const char *labels; /* what it is also called, separated by blanks */
};
enum { CHARSET_DEFS = 40 };
extern const struct charset_def charset_defs[CHARSET_DEFS];
/* By label; NULL: not known. */
const struct charset_def *charset_def(struct str label);

/* The UTF-8 of the bytes from 0x80 on, of an encoding with one byte a character. */
struct charset_table {
	struct {
		unsigned char n;
		char b[3];
	} high[128];
};

/* What is unpacked when it is first needed. */
struct charset {
	uint32_t *points[CHARSET_INDEXES]; /* by pointer; 0: it stands for nothing */
	struct charset_table *tables[CHARSET_INDEXES];
	uint16_t *pointers[CHARSET_DEFS]; /* by point, plus one; 0: it has none */
	struct detector *detector;        /* of uchardet; NULL: not loaded, or it is not there */
	bool detector_asked;
	char piece[CHARSET_PIECE];
};

enum { CHARSET_POINTS = 0x30000 }; /* those that indexes have are below */

/* The points of an index. */
const uint32_t *charset_points(struct charset *c, enum charset_index_id id);
const struct charset_table *charset_table(struct charset *c, enum charset_index_id id);
/* The pointer of a point, as encoders choose among several; negative: none. */
int charset_pointer(struct charset *c, const struct charset_def *def, uint32_t point);
/* The range of gb18030 that a pointer, or a point, lies in; a point is at least 0x80. */
const struct charset_range *charset_range(uint32_t value, bool point);
void charset_points_free(struct charset *c);

/* What bytes that are not ASCII stand for, in encodings with several bytes to a character. */
#define CHARSET_BAD UINT32_MAX /* nothing */
struct charset_char {
	uint32_t point;
	uint32_t second; /* a combining mark after it; 0: none */
	size_t n;        /* bytes */
};
/* The character at p, where n is at least 1 and p[0] is not ASCII. */
struct charset_char charset_char(const struct charset *c, enum charset_kind kind,
				 const unsigned char *p, size_t n);
