/* The door of the room: a document in, its attributes out. Foreign bytes are read here, so this
 * runs in garner-parse (cage.h); in the caller's process only for comparison and tests.
 * Extraction does not fail: what cannot be read has no text, and a remark says why. */
#pragma once
#include "extract/charset.h"
#include "extract/out.h"

enum extract_type {
	EXTRACT_OTHER, /* by name and size only */
	EXTRACT_HTML,
	EXTRACT_TEXT,
	EXTRACT_MARKDOWN,
	EXTRACT_XML,
	EXTRACT_FEED,
	EXTRACT_SITEMAP,
	EXTRACT_TYPES,
};
const char *extract_type_name(enum extract_type t);

struct extract_settings {
	size_t links_max; /* 0: as many as there is room for */
	bool noscript;    /* the content of noscript is text */
};
enum { EXTRACT_LINKS_MAX = 10000 }; /* what the settings say by default */

struct extract_job {
	struct str url;          /* absolute; empty: not known, relative links are then left out */
	struct str content_type; /* the header, "text/html; charset=utf-8"; empty: none */
	struct str charset;      /* a hint, weaker than what the document itself says; or empty */
	struct str robots;       /* the X-Robots-Tag header, or empty */
	struct str body;         /* as it came, content-encodings undone */
	struct extract_settings settings;
};

struct extract_result {
	enum extract_type type;
	char media_type[80];           /* as judged: "text/html"; also in T, with the charset */
	struct charset_choice charset; /* name NULL: the document is not text */
	uint64_t bad_bytes;            /* sequences that no character came from */
	uint64_t tokens;               /* of HTML or XML: events that were read */
	size_t links, links_left_out;
	unsigned flags;    /* enum out_flags */
	struct str remark; /* why there is no text, or not all of it; empty: all is well */
};

/* What lives long: detectors, converters, buffers. One for each thread. */
struct extract;
struct extract *extract_new(void); /* never NULL */
void extract_free(struct extract **x);
/* Loads what is otherwise loaded at first need: before a process gives up opening files. Negative:
 * a part is missing, and extraction works without it. */
int extract_load_all(struct extract *x, struct err *err);

/* Reads the document into `out`, which out_begin() made, and ends it. *ret is always filled; its
 * slices and those of out's attributes lie in out's memory or are static. */
void extract_run(struct extract *x, const struct extract_job *job, struct out *out,
		 struct extract_result *ret);
