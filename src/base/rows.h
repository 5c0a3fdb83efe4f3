/* Rows: what a list, or a single object, consists of, said once as constant data. JSON, an aligned
 * table, lines for people and the payload of a file or record follow from it.
 *
 *   #define S struct reaper_status
 *   static const struct column columns[] = {
 *           COL("name", S, name, .label = "Reaper"),
 *           COL("bytes", S, bytes, .label = "Bytes", .unit = UNIT_BYTES),
 *           COL("time", S, time_us, .unit = UNIT_TIME, .how = ROW_SOME),
 *   };
 *   static const struct rows reaper_rows = {ROWS(S, columns)};
 *
 * The type of a column is that of the member. A value that has to be computed is a member that is
 * filled before, or what COL_OF() prints. */
#pragma once
#include "base/err.h"
#include "base/jsonw.h"
#include "base/text.h"

enum column_type {
	COL_BOOL,
	COL_UINT,    /* uint8_t to uint64_t, enumerations */
	COL_INT,     /* int32_t, int64_t */
	COL_REAL,    /* double, float */
	COL_TEXT,    /* const char *; NULL: none */
	COL_CHARS,   /* char[], ends in NUL */
	COL_STR,     /* struct str */
	COL_BYTES,   /* uint8_t[], shown in hexadecimal */
	COL_PRINTED, /* text that .print makes of the member */
	COL_ROW,     /* a struct, described by .rows */
	COL_POINTER, /* a pointer to one; NULL: none */
	COL_LIST,    /* many: a pointer to the first, or an array that is larger than a pointer;
		      * their number is at .count */
	COL_TYPES,
};

/* What a number counts. In files it is the number alone. */
enum column_unit {
	UNIT_NONE,
	UNIT_BYTES,    /* for people "1.5G" */
	UNIT_US,       /* a duration: for people "3d 4h" */
	UNIT_AGO,      /* the same: for people "3d 4h ago" */
	UNIT_IN,       /* the same: for people "in 3d 4h" */
	UNIT_US_MS,    /* the same in milliseconds for people */
	UNIT_US_S,     /* the same in seconds in JSON, with a fraction */
	UNIT_SHARE,    /* of 1: for people in percent */
	UNIT_RATE,     /* URLs in 1,000 s: for people "1.500 URLs a second", in JSON a second */
	UNIT_HEX,      /* a text in hexadecimal with all digits */
	UNIT_TIME,     /* us since 1970: a text, RFC 3339; to the microsecond but for people */
	UNIT_TIME_SEC, /* the same, to the second everywhere */
	UNIT_TIME_S,   /* seconds since 1970, shown as UNIT_TIME */
	UNITS,
};

/* What becomes of a value that is none: zero, an empty text, NULL. Without these flags a number or
 * text is shown as it is, and only NULL is null. */
enum {
	ROW_SOME = 1,   /* there is no member in JSON */
	ROW_NULL = 2,   /* null */
	ROW_NEG = 4,    /* of a number: none is what is negative, not zero */
	ROW_MOST = 8,   /* of a number of 64 bits: none is the largest value, not zero */
	ROW_RIGHT = 16, /* stands right in a table, as numbers do */
	ROW_BLANK = 32, /* in a table none is an empty cell, not "-" */
	ROW_LOOSE = 64, /* in a table a long cell pushes the next aside and does not widen others */
};

struct column {
	const char *key; /* in JSON and dumps; NULL: for people alone, or of a sub-table: its
			  * members belong to this object */
	enum column_type type;
	size_t offset, size; /* of the member */
	const char *label;   /* for people, in a table's head in capitals; NULL: not shown */
	enum column_unit unit;
	unsigned how;
	size_t if_at, if_size; /* there is no such member in JSON where this one is zero; size 0:
				* there always is. A text or list counts by its first byte. */
	uint64_t is;           /* 1 + the value that this one must have; 0: any but zero */
	uint64_t most; /* small state: the greatest number, or bytes of a COL_STR; 0: what the
			* member has room for */
	const char *const *names; /* of the values of a number, nnames of them */
	size_t nnames;
	void (*print)(const void *member, struct buf *out);
	const struct rows *rows;
	size_t count, count_size; /* of the number of a list: its offset, and its own size */
};

struct rows {
	const struct column *column;
	size_t n, size;                                     /* columns; bytes of a row */
	enum { ROWS_OBJECT, ROWS_ARRAY, ROWS_VALUE } shape; /* in JSON; VALUE: of one column */
	const char *what;                                   /* of payloads: "a checkpoint" */
	bool many; /* a payload has any number of rows, one after another */
};
#define ROWS(strukt, columns) columns, ARRAY_LEN(columns), sizeof(strukt)

/* From the address of a member. */
#define COL_TYPE(p) \
	_Generic((p),                                                                   \
		bool *: COL_BOOL,                                                       \
		uint8_t *: COL_UINT,                                                    \
		uint16_t *: COL_UINT,                                                   \
		uint32_t *: COL_UINT,                                                   \
		unsigned long *: COL_UINT,                                              \
		unsigned long long *: COL_UINT,                                         \
		int *: COL_INT,                                                         \
		long *: COL_INT,                                                        \
		long long *: COL_INT,                                                   \
		float *: COL_REAL,                                                      \
		double *: COL_REAL,                                                     \
		const char **: COL_TEXT,                                                \
		char **: COL_TEXT,                                                      \
		char(*)[]: COL_CHARS,                                                   \
		struct str *: COL_STR,                                                  \
		uint8_t(*)[]: COL_BYTES)
#define COL_AT(strukt, member) offsetof(strukt, member), sizeof(((strukt *)0)->member)
#define COL(key, strukt, member, ...)                                                      \
	{                                                                                  \
		key, COL_TYPE(&((strukt *)0)->member), COL_AT(strukt, member), __VA_ARGS__ \
	}
/* What the function prints of a member, or of the whole row. */
#define COL_OF(key, strukt, member, function, ...)                                         \
	{                                                                                  \
		key, COL_PRINTED, COL_AT(strukt, member), .print = (function), __VA_ARGS__ \
	}
#define COL_OF_ROW(key, strukt, function, ...)                                        \
	{                                                                             \
		key, COL_PRINTED, 0, sizeof(strukt), .print = (function), __VA_ARGS__ \
	}
/* An object by another table: in this struct, or pointed to. COL_GROUP: of members of the same. */
#define COL_ROW(key, strukt, member, table, ...)                                    \
	{                                                                           \
		key, COL_ROW, COL_AT(strukt, member), .rows = &(table), __VA_ARGS__ \
	}
#define COL_POINTER(key, strukt, member, table, ...)                                    \
	{                                                                               \
		key, COL_POINTER, COL_AT(strukt, member), .rows = &(table), __VA_ARGS__ \
	}
#define COL_GROUP(key, strukt, table, ...)                                     \
	{                                                                      \
		key, COL_ROW, 0, sizeof(strukt), .rows = &(table), __VA_ARGS__ \
	}
#define COL_LIST(key, strukt, member, number, table, ...)                                          \
	{                                                                                          \
		key, COL_LIST, COL_AT(strukt, member),                                             \
			.count = offsetof(strukt, number),                                         \
			.count_size = sizeof(((strukt *)0)->number), .rows = &(table), __VA_ARGS__ \
	}
/* Makes a function for COL_OF() of one that names the values of an enumeration (NULL: none). */
#define COL_NAMER(function, type, name_of)                                \
	static void function(const void *member, struct buf *out)         \
	{                                                                 \
		buf_add_str(out, str_of(name_of(*(const type *)member))); \
	}
#define COL_NAMES(table) .names = (table), .nnames = ARRAY_LEN(table)
#define COL_IF(strukt, member) \
	.if_at = offsetof(strukt, member), .if_size = sizeof(((strukt *)0)->member)
#define COL_IF_IS(strukt, member, value) COL_IF(strukt, member), .is = (uint64_t)(value) + 1

/* Lists of const char * and of struct str; and a struct err as {"error": ...}. */
extern const struct rows rows_texts, rows_strs, rows_err;

/* JSON: as a value, after jsonw_key() or in an array; its members in an object that is open; and
 * one on a line of its own. */
void rows_json(const struct rows *t, const void *row, struct jsonw *j);
void rows_json_members(const struct rows *t, const void *row, struct jsonw *j);
void rows_json_line(const struct rows *t, const void *row, struct buf *out);

/* A list in one of two forms, row by row: an array of JSON, or a table with heads, in which foreign
 * text is made safe and "-" stands for none. `out` may be flushed and cleared after each row. */
struct rows_list {
	const struct rows *rows;
	struct buf *out;
	bool json;
	size_t n; /* rows until now */
	struct jsonw j;
	struct text_table table;
};
void rows_list_begin(struct rows_list *l, const struct rows *t, bool json, struct buf *out);
void rows_list_add(struct rows_list *l, const void *row);
void rows_list_end(struct rows_list *l);
/* All of them at once. */
void rows_print(const struct rows *t, const void *first, size_t n, bool json, struct buf *out);

/* For people, a line for each column: the label, or else the key, with `end` after it, as wide as
 * `label`, then the value, on the right of `width`; 0: on the left. */
void rows_lines(const struct rows *t, const void *row, const char *end, int label, int width,
		struct buf *out);

/* A form of its own: calls fn for each column that has a label, those of sub-tables too; row NULL:
 * for the heads. rows_cell() appends a value as tables show it, rows_is_right() says on which side.
 */
typedef void rows_column_fn(void *ctx, const struct column *c, const void *row);
void rows_each(const struct rows *t, const void *row, rows_column_fn *fn, void *ctx);
void rows_cell(const struct column *c, const void *row, struct buf *out);
bool rows_is_right(const struct column *c);

struct reader; /* base/cursor.h */

/* The value of a member that is a whole number; below zero: its two's complement. */
uint64_t rows_number(const struct column *c, const void *member);
void rows_number_set(const struct column *c, uint64_t v, void *member);

/* Payloads: the members one after another. Numbers are little-endian and as wide as the member,
 * times must not be negative, char[] is a varint of its length and the bytes, COL_STR the rest of
 * the payload, so the last one. A table with another type is a broken promise. */
void rows_write(const struct rows *t, const void *from, struct buf *out);
/* Reads a payload that is one row. A COL_STR points into the payload. On failure *ret is undefined,
 * and err names the byte (ERR_DAMAGED). */
int rows_read(const struct rows *t, struct str payload, void *ret, struct err *err);
/* The next of a payload that has many. 1: there is none left. */
int rows_next(const struct rows *t, struct reader *r, void *ret, struct err *err);
/* For dumps, without a line's end: the columns of one, or each of many, with these between them. */
int rows_dump(const struct rows *t, struct str payload, const char *between,
	      const char *between_many, struct buf *out, struct err *err);
