/* Character sets: any bytes become UTF-8, in pieces, so that a document of any size needs the room
 * of one. What is valid UTF-8 already is passed on where it lies. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
	CHARSET_PIECE = 64 << 10,  /* bytes of a piece at most */
	CHARSET_PRESCAN = 1 << 10, /* bytes in which an HTML document names its charset anywhere */
	CHARSET_HEAD = 256 << 10,  /* and in its head */
	CHARSET_NAME_MAX = 40,
};

/* Who says so. */
enum charset_source {
	CHARSET_BY_BOM,
	CHARSET_BY_HEADER,
	CHARSET_BY_DOCUMENT, /* meta in HTML, the declaration in XML */
	CHARSET_BY_HINT,     /* of the caller */
	CHARSET_BY_BYTES,    /* they are valid UTF-8, or uchardet's guess */
	CHARSET_BY_DEFAULT,  /* nobody knows: windows-1252 */
};
const char *charset_source_name(enum charset_source s);

struct charset_choice {
	const char *name; /* of the WHATWG list, lower case: "utf-8", "windows-1252"; static */
	enum charset_source source;
	size_t bom; /* bytes of it at the start, which are not text */
};

/* The name of the list that a label stands for ("Latin1": "windows-1252"); NULL: not known. */
const char *charset_by_label(struct str label);
/* The value of charset= in a Content-Type or in the content of a meta; empty: none. */
struct str charset_in_content_type(struct str value);
/* What an HTML document says of itself: in its first bytes, or later in its head. NULL: nothing. */
const char *charset_prescan_html(struct str body);
/* The same of an XML declaration. */
const char *charset_prescan_xml(struct str body);
/* Length of what is valid UTF-8 at the start: s.n when all is. A character that the end cuts off
 * does not count. */
size_t charset_valid(struct str s);

/* The UTF-8 of a character; returns its length. */
size_t charset_encode(uint32_t point, char ret[4]);

/* Tables and detectors that live long: one for each thread. */
struct charset;
struct charset *charset_new(void); /* never NULL */
void charset_free(struct charset **c);
/* Loads all that might be needed later, for a process that will not be able to open files. */
int charset_load_all(struct charset *c, struct err *err);

/* What is known before the document is read: by BOM, header, or, of UTF-16, by its zeroes. 1:
 * nothing is. */
int charset_known(struct str body, struct str content_type, struct charset_choice *ret);
/* The beginning of a document in which ASCII can be read: of UTF-16, by the same signs, as much in
 * UTF-8 as there is room for; of all others it is the document itself. */
struct str charset_readable(struct str body, struct str content_type, char *room, size_t cap);

/* Decides by what is known, the document itself, hint, then by its bytes. `declared`: what a
 * prescan found, or NULL. */
struct charset_choice charset_choose(struct charset *c, struct str body, struct str content_type,
				     const char *declared, struct str hint);

/* The document in UTF-8. */
struct charset_pieces {
	struct charset *c;
	struct str rest;
	const char *body; /* where the document begins */
	const struct charset_def *def;
	uint64_t bad; /* sequences of bytes that meant nothing: U+FFFD in the text */
	size_t at;    /* offset in the document of the first byte of the last piece */
	int shift; /* of iso-2022-jp: what the last escape said, and whether nothing followed it */
	bool shifted;
};
void charset_begin(struct charset_pieces *it, struct charset *c, struct str body,
		   const struct charset_choice *choice);
/* 0: *ret is the next piece, not empty, whole characters, valid UTF-8, until the next call.
 * 1: that was all. it->at tells where in the document it comes from, so that any place in the
 * text can be found again: the bytes between two such offsets give that piece and no other (of
 * iso-2022-jp, which shifts, when they are read from the beginning). One at a time for each
 * struct charset. */
int charset_next(struct charset_pieces *it, struct str *ret);

/* The text of a link in this document as url_parse() is to see it: its query is in the charset of
 * the document, as servers expect that wrote it (percent-encode after encoding, in the URL
 * Standard). What the charset does not have becomes &#NNNN; in escapes. Path and fragment stay
 * UTF-8. Where nothing changes it is `text` itself, else in `room`; p is NULL: it is longer than
 * that may be. */
struct str charset_link(const struct charset_pieces *it, struct str text, struct buf *room);
