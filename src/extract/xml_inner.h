/* What the readers of XML share: xml.c drives expat, knows the root, plain XML and sitemaps; feed.c
 * knows what the elements of feeds mean. */
#pragma once
#include "extract/readers.h"
#include "url/url.h"

enum {
	XML_DEPTH_MAX = 2000,        /* nested elements */
	XML_VALUE_MAX = 256 << 10,   /* bytes of the text of one element that are kept */
	XML_TOKEN_MAX = 4 << 20,     /* bytes of one tag, comment or declaration */
	XML_DECLARED_MAX = 8 << 10,  /* attributes that the document declares */
	XML_DEFAULTS_MAX = 32 << 20, /* how often one of these is looked at, for all elements */
	SITEMAP_LINKS_MAX = 50000,   /* as the protocol says */
};

struct xml;

/* Attributes as expat gives them: name, value, ..., NULL. */
struct xml_kind {
	enum extract_type type;
	void (*start)(struct xml *x, struct str name, const char **attributes);
	void (*end)(struct xml *x, struct str name);
	void (*text)(struct xml *x, struct str s);
};
extern const struct xml_kind xml_feed;

enum feed_field {
	FEED_NONE,
	FEED_TITLE,
	FEED_LINK,
	FEED_ID,
	FEED_DATE,
	FEED_SUMMARY,
	FEED_LANGUAGE,
	FEED_AUTHOR,
	FEED_FIELDS
};

struct xml {
	const struct extract_job *job;
	struct out *out;
	struct extract_result *ret;
	const struct xml_kind *kind; /* NULL: the root was not seen yet */
	struct text_flow flow;
	void *parser;
	struct str prefix; /* of the root, with its colon: left out of all names */
	unsigned depth;
	bool stopped; /* by a limit */
	struct url base;
	bool has_base;
	/* The element whose text is kept in `value`; 0: none is. */
	unsigned kept_depth;
	int kept;
	struct buf value;
	/* What expat was given but has not read, since a token is not complete; and what comes
	 * next, until it is worth another look. */
	size_t unfinished;
	uint64_t given;
	struct buf gathered;
	uint64_t declared, defaults;
	/* An item of a feed, a page of a sitemap. */
	bool in_item, id_is_link, head_ended;
	struct buf field[FEED_FIELDS];
	int64_t time_s;
	char prefix_room[32], base_room[URL_MAX], room[URL_MAX];
};

/* Keeps the text of the element that has just begun; what `field` means is up to the caller. */
void xml_keep(struct xml *x, int field);
/* When an element ends: the field that was kept and ends with it, else 0. x->value is its text. */
int xml_kept(struct xml *x);
/* The value of an attribute; NULL: there is none. */
const char *xml_attribute(const char **attributes, const char *name);
/* Makes it absolute; false: it is not a URL that can be fetched. In x->room until the next call. */
bool xml_resolve(struct xml *x, struct str text, struct str *ret);
/* For kinds whose only text is that of the elements they keep. */
void xml_no_text(struct xml *x, struct str s);
