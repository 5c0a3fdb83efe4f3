/* What extraction writes: attributes built in place, in memory that the caller lends (a slot that
 * is shared with the owner, or any other). Nothing grows and nothing moves: what does not fit is
 * left out, and a flag says so. The forms of the values are in doc/formats/attributes.md. */
#pragma once
#include "soif/doc_attrs.h"

enum {
	OUT_VALUE_MAX = 4096, /* bytes of a value; longer text becomes several attributes */
	OUT_URL_MAX = 2048,   /* bytes of a URL; longer links are left out */
	OUT_META_MAX = 1000,  /* bytes of one title, heading or anchor text; the rest is cut off */
};

enum out_flags {
	OUT_TEXT_CUT = 1,  /* more text than room */
	OUT_SIDE_CUT = 2,  /* more of the other values than room */
	OUT_LINKS_CUT = 4, /* more links than out->links_max */
};

struct out {
	/* The text of the document in reading order: words with one blank between them, blocks with
	 * one LF. Readers write here directly, or by out_text(). */
	char *text;
	size_t text_n, text_max;
	/* The bytes of all other values. */
	char *side;
	size_t side_n, side_max;
	struct attr *attr; /* in order; the text follows them when out_end() was called */
	size_t n, max;
	size_t links, links_max, links_left_out; /* left out: too many, too long, no room */
	unsigned flags;
};

/* Lays text, side and list out in the memory, which is aligned for anything. links_max: 0 stands
 * for as many as fit. */
void out_begin(struct out *o, void *memory, size_t size, size_t links_max);
/* Puts the X attributes after the others: pieces of the text, none longer than OUT_VALUE_MAX, cut
 * between words where there are any and never inside a character; together they are the text. */
void out_end(struct out *o);

/* As much of s as fits, up to a whole character. */
void out_text(struct out *o, struct str s);
/* Any attribute; values beyond OUT_VALUE_MAX bytes are split. false: there was no room. */
bool out_add(struct out *o, char name, struct str value);
/* M: weight 0 to 3. White space of the text becomes single blanks, none at the ends; empty text
 * adds nothing. Titles, headings and emphasis are cut after OUT_META_MAX bytes. */
void out_meta(struct out *o, int weight, char tag, struct str text);
void out_number(struct out *o, char name, uint64_t number);    /* decimal */
void out_meta_number(struct out *o, char tag, int64_t number); /* weight 0 */
/* "en_GB" and "EN-gb" are "en-gb"; of a list the first. false: that is no language. */
bool out_language(struct out *o, struct str language);
/* R, F, I or A, by its kind; the fragment of the URL is left out. The text is treated as that of
 * out_meta(). */
void out_link(struct out *o, const struct doc_link *link);
