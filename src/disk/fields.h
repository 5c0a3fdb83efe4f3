/* Tables of fields: what a payload consists of, said once. Reader, writer, printer and verifier of
 * a small file, or of the records of a record file, follow from it.
 *
 *   static const struct field fields[] = {
 *           {"state", FIELD(FIELD_NAME, struct lock, state)},
 *           {"until", FIELD(FIELD_TIME, struct lock, until_us)},
 *   };
 *   static const struct field_table lock_fields = {FIELDS("a lock", fields)};
 *
 * Payloads that differ from record to record, or have lists inside, are read by hand. */
#pragma once
#include "base/cursor.h"
#include "base/err.h"

enum field_type {
	FIELD_UINT,  /* uint8_t to uint64_t, little-endian, as wide as the member */
	FIELD_TIME,  /* int64_t, microseconds since 1970, as a u64 */
	FIELD_NAME,  /* char[]: a varint of the length, then the bytes; ends in NUL in memory */
	FIELD_BYTES, /* uint8_t[], all of it; printed in hexadecimal */
	FIELD_REST,  /* struct str: all bytes up to the payload's end, so the last field */
	FIELD_TYPES,
};

struct field {
	const char *name; /* printed before the value; "": only the value is */
	enum field_type type;
	size_t offset, size; /* of the member */
	bool hex;            /* FIELD_UINT: printed in hexadecimal, with all digits */
};
#define FIELD(type, strukt, member) type, offsetof(strukt, member), sizeof(((strukt *)0)->member)

struct field_table {
	const char *what; /* "a checkpoint" */
	const struct field *field;
	size_t n;
	bool many; /* a payload has any number of them, one after another */
};
#define FIELDS(what, fields) what, fields, ARRAY_LEN(fields)

void fields_write(const struct field_table *t, const void *from, struct buf *out);
/* Reads a payload that is one of them. FIELD_REST points into the payload. On failure *ret is
 * undefined, and err names the byte (ERR_DAMAGED). */
int fields_read(const struct field_table *t, struct str payload, void *ret, struct err *err);
/* The next one of a payload that has many. 1: there is none left. */
int fields_next(const struct field_table *t, struct reader *r, void *ret, struct err *err);
/* For people, without a line's end: the fields of one, or each of many, with these between them. */
int fields_print(const struct field_table *t, struct str payload, const char *between,
		 const char *between_many, struct buf *out, struct err *err);
