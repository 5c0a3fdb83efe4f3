/* What the readers of XML share: xml.c drives expat, knows the root, plain XML and sitemaps;
 * xml_scope.c knows namespaces and bases, feed.c what the elements of feeds mean, feed_text.c how
 * feeds write text. */
#pragma once
#include "extract/readers_inner.h"
#include "url/url.h"

enum {
	XML_DEPTH_MAX = 2000,        /* nested elements */
	XML_VALUE_MAX = 256 << 10,   /* bytes of the text of one element that are kept */
	XML_TOKEN_MAX = 4 << 20,     /* bytes of one tag, comment or declaration */
	XML_DECLARED_MAX = 8 << 10,  /* attributes that the document declares */
	XML_DEFAULTS_MAX = 32 << 20, /* how often one of these is looked at, for all elements */
	XML_DEFAULT_BYTES = 16,      /* of its name and value are as much as another one */
	XML_BINDINGS_MAX = 64, /* prefixes that hold at one place; further ones do not count */
	XML_PREFIX_MAX = 31,   /* bytes of one; longer ones are not known */
	XML_BASES_MAX = 32,    /* xml:base inside each other; deeper ones do not count */
};

/* The namespaces whose names mean something. */
enum xml_space {
	XML_OWN, /* that of the document's kind: RSS, sitemaps, or none */
	XML_ATOM,
	XML_DC,
	XML_DCTERMS,
	XML_CONTENT,
	XML_XHTML,
	XML_OTHER,
};

struct xml_name {
	enum xml_space space;
	struct str local;
};

struct xml;

/* Attributes as expat gives them: name, value, ..., NULL. */
struct xml_kind {
	enum extract_type type;
	void (*begin)(struct xml *x); /* before the root; NULL: nothing to do */
	void (*start)(struct xml *x, const struct xml_name *name, const char **attributes);
	void (*end)(struct xml *x, const struct xml_name *name);
	void (*text)(struct xml *x, struct str s);
	/* At the end, wherever that is: elements may be open. */
	void (*finish)(struct xml *x);
};
extern const struct xml_kind xml_feed;

/* A prefix and what it stands for inside of the element at this depth. */
struct xml_binding {
	unsigned depth;
	enum xml_space space;
	size_t n;
	char prefix[XML_PREFIX_MAX];
};

struct xml_base {
	unsigned depth;
	struct url url;
	char room[OUT_URL_MAX];
};

struct feed;

struct xml {
	const struct extract_job *job;
	struct out *out;
	struct extract_result *ret;
	const struct xml_kind *kind; /* NULL: the root was not seen yet */
	struct text_flow flow;
	void *parser;
	unsigned depth;
	bool stopped; /* by a limit */
	/* What the names and links of the current element refer to. */
	struct xml_binding binding[XML_BINDINGS_MAX];
	struct xml_base base[XML_BASES_MAX];
	size_t nbindings, nbases;
	uint64_t own_space; /* hash of the name of the root's namespace, if it is not a known one */
	struct url document; /* the base of all */
	bool has_document;
	/* The element whose text is kept in `value`; 0: none is. */
	unsigned kept_depth;
	int kept;
	struct buf value;
	/* What expat was given but has not read, since a token is not complete; and what comes
	 * next, until it is worth another look. */
	size_t unfinished;
	uint64_t given;
	struct buf gathered;
	uint64_t declared, declared_cost, defaults;
	/* A page of a sitemap; in plain XML, the title was seen. */
	bool in_item, is_index;
	struct buf link;
	int64_t time_s;
	struct feed *feed;
	char document_room[URL_MAX], room[URL_MAX];
};

/* Keeps the text of the element that has just begun; what `field` means is up to the caller. */
void xml_keep(struct xml *x, int field);
/* When an element ends: the field that was kept and ends with it, else 0. x->value is its text. */
int xml_kept(struct xml *x);
/* Text of the element that is kept: as much as fits. After what did not fit, nothing is added. */
void xml_keep_text(struct xml *x, struct str s);
/* The value of an attribute; NULL: there is none. */
const char *xml_attribute(const char **attributes, const char *name);

/* What an element declares for itself and what is inside of it; before its name is looked up. */
void xml_scope_open(struct xml *x, const char *name, const char **attributes);
void xml_scope_close(struct xml *x);
struct xml_name xml_name_of(const struct xml *x, const char *name);
/* Of the current element; NULL: it is not known. */
const struct url *xml_base_now(const struct xml *x);
/* Makes it absolute; false: it is not a URL that can be fetched. In x->room until the next call. */
bool xml_resolve(struct xml *x, struct str text, struct str *ret);
