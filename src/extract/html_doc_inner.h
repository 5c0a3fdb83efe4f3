/* The inside of the reader of HTML: what is known of the page at one point of it. */
#pragma once
#include "extract/extract.h"
#include "extract/html_element_inner.h"
#include "url/url.h"

enum {
	FOREIGN_MAX = 16, /* SVG and MathML inside each other; what is deeper is not followed */
	LABEL_MAX = 512,  /* bytes of what stands in for an anchor's text */
	DESCRIPTION_MAX = 4096,
	AUTHORS_MAX = 16,
};

/* A part of the text that also counts on its own. It begins at `from`. */
struct span {
	bool open;
	size_t from;
};

struct doc {
	const struct extract_job *job;
	const struct charset_pieces *in; /* for the charset that queries of links are in */
	struct out *out;
	struct extract_result *ret;
	struct html_tokens *tokens;
	bool xml;  /* the header says XHTML: elements can close themselves, CDATA may be anywhere */
	bool part; /* not a page, but part of another document: only text and links count */

	/* text */
	char gap;      /* what is due before the next word: 0, ' ' or LF */
	unsigned pre;  /* depth of elements that keep their lines */
	bool in_title; /* text goes there */
	struct span heading, strong;
	char heading_level;
	unsigned strong_depth;
	struct buf title;

	/* What is not seen: the element, and how deep we are in others like it. */
	enum html_element unseen;
	uint64_t unseen_name;                  /* hash of its name, if it is not in the table */
	unsigned unseen_depth, unseen_foreign; /* the latter: nforeign where it began */
	bool inert;

	enum html_element foreign[FOREIGN_MAX];
	unsigned nforeign;

	/* links */
	struct url base;
	bool has_base, base_said;
	struct span anchor;
	struct doc_link anchor_link;
	struct buf label;
	struct buf encoded; /* a link with its query in the charset of the page */

	/* What the page has already said, and what stands in for it otherwise. */
	bool has_title, has_description, has_language, has_canonical, has_published, has_modified;
	unsigned authors;
	struct buf spare_title, spare_description, spare_language;

	char base_room[2][URL_MAX], anchor_room[URL_MAX], room[URL_MAX];
};

/* Text that comes now is not seen. */
static inline bool html_hidden(const struct doc *d)
{
	return d->unseen != EL_OTHER || d->unseen_name;
}

enum { HTML_STEP = 16 };
/* How many of the n bytes are text as it is shown: no white space but single blanks, no character
 * that looks like a blank or like nothing. `after_blank`: there is a blank before. html_copyable()
 * takes at most HTML_STEP bytes, and always reads that many. */
size_t html_copyable(const char *p, size_t n, bool after_blank);
size_t html_copyable_portable(const char *p, size_t n, bool after_blank);

static inline void html_gap(struct doc *d, char gap)
{
	if (d->gap != '\n')
		d->gap = gap;
}

/* The text since the span began. */
struct str html_span_text(const struct doc *d, const struct span *s);

/* What the start tag of an element says: links, and what the page says of itself. Also where
 * nothing is seen. NULL: nothing. */
typedef void html_start_fn(struct doc *d, const struct html_tag *tag);
extern html_start_fn *const html_says[HTML_ELEMENT_COUNT];
void html_link_anchor_end(struct doc *d);
/* The base, until the page says another. */
void html_link_begin(struct doc *d);
void html_meta_end(struct doc *d); /* at the end: what nothing better was found for */
