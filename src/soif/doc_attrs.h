/* Attributes that describe a document: the forms of their values, and the SOIF object that they
 * make. Extraction writes them, the crawl and SOIF read them. doc/formats/attributes.md has the
 * table. An M holds titles, headings, dates and the like; several letters hold links. */
#pragma once
#include "base/attrs.h"
#include "soif/soif.h"

/* The letter after the weight in an M. Headings of level n are '0' + n. */
enum meta_tag {
	META_TITLE = 't',
	META_EMPHASIS = 'e',
	META_ALT = 'i', /* alternative text of pictures */
	META_DESCRIPTION = 'd',
	META_KEYWORDS = 'k',
	META_AUTHOR = 'a',
	META_LANGUAGE = 'l',  /* "en-gb" */
	META_ROBOTS = 'r',    /* "noindex,nofollow": lower case, no blanks */
	META_CANONICAL = 'c', /* a URL */
	META_PUBLISHED = 'p', /* seconds since 1970, decimal */
	META_MODIFIED = 'm',  /* the same */
	META_GENERATOR = 'g',
	META_REMARK = 'x', /* of garner itself: why there is no text, what was cut */
};

enum link_kind {
	LINK_ANCHOR = 'a', /* a, area; as R */
	LINK_FORM = 'f',   /* the action of a form that is sent by GET; as R */
	LINK_FEED = 'n',
	LINK_ALTERNATE = 'l', /* other languages and media */
	LINK_RELATED = 'o',   /* next, prev, up, contents, license ... */
	LINK_REFRESH = 'r',   /* meta refresh */
	LINK_ITEM = 'i',      /* of a feed */
	LINK_PAGE = 's',      /* of a sitemap */
	LINK_SITEMAP = 'x',   /* of a sitemap index */
	LINK_IMAGE = 'g',     /* as I */
	LINK_FRAME = 'w',     /* frame, iframe; as F */
	LINK_EMBED = 'e',     /* object, embed, applet, audio, video; as A */
};
enum link_flags { LINK_NOFOLLOW = 1, LINK_UGC = 2, LINK_SPONSORED = 4 };

struct doc_link {
	struct str url; /* absolute, without blanks; canonical or not */
	enum link_kind kind;
	unsigned flags;
	int64_t time_s;  /* when the target changed last, as its referrer says; 0: not known */
	struct str text; /* of the anchor or item; may be empty */
};

struct doc_meta {
	int weight;
	char tag;
	struct str text;
};
bool meta_parse(struct str value, struct doc_meta *ret) MUST_USE; /* false: it is not an M */
/* A bare URL is a link of the kind that its letter stands for. */
bool link_parse(char name, struct str value, struct doc_link *ret) MUST_USE;

enum { LINK_WORD_MAX = 8 + STR_DECIMAL_MAX };
/* The word between a link's URL and its text: kind, flags, time. Returns its length. */
size_t link_word(char *to, const struct doc_link *link);
char link_letter(enum link_kind kind); /* of the attribute */

/* Fills *ret with an object of type FILE. Values are slices of the list's where they can be, else
 * in the arena. text_max: a longer text is cut there, up to a whole character, and called
 * Partial-Text; 0: all of it. The attributes of the gatherer are the caller's. */
void attrs_soif(const struct attrs *list, struct arena *arena, size_t text_max, struct soif *ret);
