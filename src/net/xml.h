/* XML messages out of a stream: each top-level element is one message, parsed as a document of its
 * own (by expat), so that what one message says cannot change how the next is read. Children are
 * handed over as they arrive; nobody holds a whole message. Where the stream was cut makes no
 * difference to what comes out, but for the pieces of text.
 *
 * One thing outlives a message: a prefix that was bound (xmlns:p="...") stays bound for the stream.
 * Inside an element that binds it anew the new binding holds, and after that the one before; at
 * the top of a message a new binding replaces the old one. xmlns="..." is not a prefix: it holds
 * inside its element.
 *
 * Refused, with the line and column where it was seen, counted from 1 over the whole stream: what
 * is not well-formed, DOCTYPE (and so every entity but XML's five), prefixes that were never bound,
 * and what is beyond the limits. After an error nothing is read, until xml_stream_resync(). */
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

/* Slices are good during the call. Never called again after an error, nor after
 * xml_stream_stop(). */
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

/* Any pieces; white space between messages is skipped. 0: read; negative: it has ended, by an error
 * (which was reported once) or because it was stopped, and the bytes were not read. */
int xml_stream_put(struct xml_stream *x, struct str bytes) MUST_USE;
/* The same, but nothing is read after the end of a message: for one who has to answer it before he
 * knows how to go on. *ret_n of the bytes were read; the others are to be put later. */
int xml_stream_put_message(struct xml_stream *x, struct str bytes, size_t *ret_n) MUST_USE;
/* From inside error(): what is left of the line is skipped, and the next line begins a message. For
 * people who type. */
void xml_stream_resync(struct xml_stream *x);
/* From inside start() and text(): what is there is XML, but not what may be said. error() is called
 * with this place and text, and all is as after an error of XML's own. */
void xml_stream_refuse(struct xml_stream *x, const char *text);
/* From inside calls, for one who hangs up: nothing is called any more. */
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
