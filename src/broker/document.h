/* A document read in parts, because it may be too large for memory: its attributes in their order,
 *and each value a few kilobytes at a time.
 *
 *	while ((rc = document_next(d, &name, &err)) == 0)
 *		while ((rc = document_value(d, &part, &err)) == 0) ...
 *
 * Slices are valid until the next call. If the document is replaced meanwhile, reading continues
 *from the old one while it exists; after that it is an error. */
#pragma once
#include "broker/search.h"

enum { DOCUMENT_PART = 4 << 10 }; /* bytes of a value at a time */

struct document;

/* 1: there is none of this URL. */
int document_open(struct document **ret, struct search *s, struct str url, struct err *err);
/* The one with this number of the document store. 1: there is none. */
int document_open_oid(struct document **ret, struct search *s, uint64_t oid, struct err *err);
void document_free(struct document **d);
struct str document_url(const struct document *d); /* valid until d is freed */
/* Different for any two different documents of a URL. */
uint64_t document_version(const struct document *d);

/* The next attribute. 1: there are no more. */
int document_next(struct document *d, struct str *ret_name, struct err *err);
/* To the attribute of this name, the last if there are several. 1: there is none with a value. */
int document_find(struct document *d, struct str name, struct err *err);
size_t document_left(const struct document *d); /* bytes of its value that were not read yet */
/* The next bytes of its value, whole characters where it is UTF-8. 1: there are no more. */
int document_value(struct document *d, struct str *ret, struct err *err);
/* The next bytes of all of it as SOIF text, from its first byte on; where the attributes are read
 * to does not matter. 1: there are no more. */
int document_text(struct document *d, struct str *ret, struct err *err);
/* From the first attribute again. */
void document_rewind(struct document *d);
/* Frees its memory but keeps its position. */
void document_rest(struct document *d);
