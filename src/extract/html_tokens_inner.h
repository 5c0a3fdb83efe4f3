/* HTML tokens by the WHATWG rules (https://html.spec.whatwg.org/multipage/parsing.html, 13.2.5).
 * One pass over UTF-8 bytes, no tree. Pieces may be cut anywhere, also inside a character: the
 * tokens are the same, only text may come in different portions. CR and CR LF become LF; what is
 * not UTF-8 goes through as it is. Memory is bounded by the limits, whatever the input. */
#pragma once
#include "base/str.h"

/* White space as HTML has it, before CR becomes LF. */
static inline bool html_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* What the bytes that follow are taken for. */
enum html_state {
	HTML_DATA,
	HTML_RCDATA,  /* title, textarea */
	HTML_RAWTEXT, /* style, xmp, iframe, noembed, noframes */
	HTML_SCRIPT,
	HTML_PLAINTEXT,
	HTML_CDATA,
	HTML_STATES
};

struct html_attr {
	struct str name, value; /* name in lower case */
};

/* A start tag or an end tag. Of several attributes with the same name only the first is here; end
 * tags have none. */
struct html_tag {
	struct str name; /* in lower case */
	const struct html_attr *attrs;
	size_t nattrs;
	bool end, self_closing;
	bool cut; /* a limit was reached: part of it is missing */
};

/* Value of an attribute; p is NULL: it has none. */
static inline struct str attr_of(const struct html_tag *tag, struct str name)
{
	/* by the length of `name`, which is a constant wherever this is called */
	for (size_t i = 0; i < tag->nattrs; i++)
		if (tag->attrs[i].name.n == name.n &&
		    memcmp(tag->attrs[i].name.p, name.p, name.n) == 0)
			return tag->attrs[i].value;
	return (struct str){0};
}

struct html_doctype {
	struct str name, public_id, system_id; /* p is NULL: missing, which is not empty */
	bool correct;                          /* false: the page asks for quirks */
};

/* Takes the tokens. The slices hold until the call returns; they lie in the piece
 * if the bytes are there as they are, else in the tokenizer. NULL: such tokens are passed over. */
struct html_sink {
	/* Never empty; neighbouring portions belong together. */
	void (*text)(void *ctx, struct str text);
	/* Returns the state for what follows; it is looked at for start tags only. */
	enum html_state (*tag)(void *ctx, const struct html_tag *tag);
	void (*comment)(void *ctx, struct str data);
	void (*doctype)(void *ctx, const struct html_doctype *doctype);
};

/* In bytes, except attrs; what is longer is cut off, attributes beyond that number are left out. */
struct html_limits {
	size_t name, value, attrs, comment;
};
extern const struct html_limits html_limits_default;

struct html_tokens;

struct html_tokens *html_tokens_new(const struct html_limits *limits); /* NULL: the defaults */
void html_tokens_free(struct html_tokens **t);

/* Before each document; the memory of the one before is used again. `last_start_tag` is what an
 * end tag must be called to end RCDATA, RAWTEXT or a script that the document begins in. */
void html_tokens_begin(struct html_tokens *t, const struct html_sink *sink, void *ctx,
		       enum html_state state, struct str last_start_tag);
void html_tokens_add(struct html_tokens *t, struct str piece);
void html_tokens_end(struct html_tokens *t); /* that was all */

/* For the sink: from here on `<![CDATA[` begins such a section (in SVG and MathML), or not. */
void html_tokens_foreign(struct html_tokens *t, bool foreign);
