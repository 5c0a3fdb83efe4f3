/* The inside of the reader of feeds: what is known of the feed and of its current item. */
#pragma once
#include "extract/xml_inner.h"

enum { FEED_TEXT_MAX = 64 << 10 }; /* bytes of a title or of the feed's description */

enum feed_field {
	FEED_NONE,
	FEED_TITLE,
	FEED_LINK, /* absolute, as the one below */
	FEED_ID,
	FEED_DATE,
	FEED_BUILT,
	FEED_SUMMARY,
	FEED_LANGUAGE,
	FEED_AUTHOR,
	FEED_FIELDS
};

/* What the text of an element is. */
enum feed_form {
	FORM_TEXT,   /* as it stands */
	FORM_GUESS,  /* HTML if it looks like it */
	FORM_HTML,   /* escaped */
	FORM_INLINE, /* elements of the document itself */
	FORM_BINARY, /* not text */
};

/* The feed itself, or an item. */
struct feed_part {
	struct buf field[FEED_FIELDS];
	int64_t time_s, built_s;
	bool id_is_link;
	bool link_is_page; /* the link does not lead to another medium */
	bool markup;       /* the summary is HTML, and its links are relative to this: */
	struct buf base;
};

struct feed {
	struct feed_part head, item;
	bool atom;                                        /* by its root */
	unsigned channel_depth, item_depth, author_depth; /* 0: not inside of one */
	unsigned said; /* fields of the head that are in the output, as bits */
	/* The element that is kept. */
	struct feed_part *part;
	enum feed_form form;
	size_t bases; /* as many as there were when it began */
	struct html_part *html;
	char text[FEED_TEXT_MAX];
};

/* How Atom says what the text of an element is. */
enum feed_form feed_atom_form(const char **attributes);
/* The parts of the element that is kept: elements in it, and its text. */
void feed_text_open(struct xml *x, const struct xml_name *name, const char **attributes);
void feed_text_close(struct xml *x, const struct xml_name *name);
void feed_text_add(struct xml *x, struct str s);
/* It has ended, or nothing more comes. true: it is markup. */
bool feed_text_end(struct xml *x);
/* Markup as the text that is seen, in feed->text until the next call. */
struct str feed_text_plain(struct xml *x, struct str markup);
