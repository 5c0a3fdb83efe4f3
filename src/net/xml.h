/* Reads XML messages from a stream. Each top-level element is one message and is parsed (by expat)
 * as a document of its own, so that no message can change how the next is read. Children are
 * reported as they arrive; no message is held as a whole. How the stream was split makes no
 * difference, except to the pieces of text.
 *
 * One thing outlives a message: a prefix that was bound (xmlns:p="...") stays bound for the
 * stream. An element may bind it to another URI for its own content; at the top of a message a new
 * binding replaces the old one. xmlns="..." is not a prefix: it is valid inside its element.
 *
 * Errors have the line and column, counted from 1 over the whole stream: XML that is not well-
 * formed, DOCTYPE (and so every entity but XML's five), unbound prefixes, and exceeded limits.
 * After an error nothing is read until xml_stream_resync(). */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct xml_stream;

struct xml_attr {
	struct str name, value; /* as written, a prefix included; without entities, UTF-8 */
};

struct xml_tag {
	struct str uri, prefix, name; /* uri "": in no namespace; name: without the prefix */
	const struct xml_attr *attr;  /* n of them; without xmlns */
	size_t n;
	unsigned depth; /* 0: the message itself */
};

/* All are at least 1. */
struct xml_limits {
	size_t depth;       /* elements inside each other, the message included */
	size_t attrs;       /* of one element */
	size_t token_max;   /* bytes of one tag, comment or instruction */
	size_t message_max; /* bytes of one message, with what stands before it */
	size_t bindings;    /* prefixes that are bound at the same time, and xmlns */
};

/* Slices are valid during the call. Not called after an error or xml_stream_stop(). */
struct xml_ops {
	void (*start)(void *ctx, const struct xml_tag *tag);
	/* In any pieces; of the text right before an error any beginning, or nothing. NULL: not
	 * wanted. */
	void (*text)(void *ctx, struct str text);
	/* Without attributes. At depth 0 the message is complete. */
	void (*end)(void *ctx, const struct xml_tag *tag);
	void (*error)(void *ctx, const struct err *err, uint64_t line, uint64_t column);
};

/* Limits and ops are used where they are. */
struct xml_stream *xml_stream_new(const struct xml_limits *limits, const struct xml_ops *ops,
				  void *ctx);
void xml_stream_free(struct xml_stream **x); /* not from inside a call of its own */

/* Reads the next piece; white space between messages is skipped. Negative: the stream has ended,
 * after an error (reported once) or xml_stream_stop(); the bytes were ignored. */
int xml_stream_put(struct xml_stream *x, struct str bytes) MUST_USE;
/* The same, but stops at the end of a message: for callers who answer it before they go on. *ret_n
 * bytes were read; put the others later. */
int xml_stream_put_message(struct xml_stream *x, struct str bytes, size_t *ret_n) MUST_USE;
/* From inside error(): skips the rest of the line; the next line begins a message. For people who
 * type. */
void xml_stream_resync(struct xml_stream *x);
/* From inside start() and text(): rejects a message that is XML but not allowed. Calls error()
 * with this place and text; then as after any error. */
void xml_stream_refuse(struct xml_stream *x, const char *text);
/* From inside calls, to hang up: nothing more is called. */
void xml_stream_stop(struct xml_stream *x);

/* The value of an attribute; STR("") when there is none. ret_there may be NULL. */
struct str xml_attr(const struct xml_tag *tag, const char *name, bool *ret_there);

/* Text for an attribute's value or between tags. Line ends and tabs become references, so that they
 * survive; what XML cannot hold (other control characters, bytes that are not UTF-8) becomes
 * U+FFFD, so that whatever a server said can be passed on. */
void xml_escape(struct buf *out, struct str text);
/* ` name="value"` */
void xml_add_attr(struct buf *out, const char *name, struct str value);
void xml_add_number(struct buf *out, const char *name, uint64_t value);
