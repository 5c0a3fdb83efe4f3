/* The compiled form of a robots.txt, for those who write, read and check it. Little-endian.
 *
 *	head      u8 version, u8 flags, u16 literals, u16 wilds, u16 sitemaps,
 *	          u32 delay in milliseconds, u32 bytes of text
 *	literals  u32 offset in the text, u32 rule, u16 length, u16 parent
 *	wilds     u64 mask, u32 offset in the text, u32 rule, u16 length, u16 prefix
 *	text      the patterns in canonical form
 *	sitemaps  u16 length, bytes
 *
 * A rule is its line times two, plus one if it allows. Literals (no `*` and no final `$`) are in
 * ascending order and differ; a parent is the number, from 1, of the longest other literal that
 * one begins with, 0: none. So the longest literal that a path begins with is the greatest one not
 * after the path, or among the parents of that. Wilds stand as they decide: longest first,
 * then those that allow, then by line. */
#pragma once
#include "base/buf.h"

enum { ROBOTS_VERSION = 1, ROBOTS_HEAD = 16, ROBOTS_LITERAL = 12, ROBOTS_WILD = 20 };
enum { ROBOTS_CUT = 1, ROBOTS_OWN = 2, ROBOTS_DELAY = 4 };

/* A path in canonical form: unreserved octets are plain, all others but reserved ones are
 * percent-encoded with upper-case digits; so are `*` and `$`, unless they mean something. A `%`
 * that begins no encoding is one that should have been encoded. */
enum robots_kind {
	ROBOTS_PATTERN,     /* `*` and a `$` at the end stay */
	ROBOTS_URL,         /* as it is */
	ROBOTS_URL_ENCODED, /* `: / ? @ [ ]` of the query percent-encoded */
	ROBOTS_URL_DECODED, /* or plain */
};

struct robots_path {
	char *p; /* where the canonical form goes, with room for cap bytes */
	size_t n, cap;
	bool cut;            /* there was no room for all */
	bool plain, encoded; /* the query has such delimiters */
};

/* in: a pattern, or a path and query, which gets a '/' in front if it has none. cap is at least 4;
 * three times the bytes of `in` and one are always enough. */
void robots_canon(struct str in, enum robots_kind kind, struct robots_path *ret);

/* A bit for each octet that must occur in what the pattern matches; and for all that do occur. A
 * pattern whose mask has a bit that the path's has not cannot match. */
uint64_t robots_mask(struct str canonical);

/* How many bytes of a pattern stand before its first `*` or final `$`; all: a literal. */
size_t robots_prefix(struct str pattern);
