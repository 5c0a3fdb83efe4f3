/* Messages in the plain form that programs print: one empty element, complete, on one line, in
 * ASCII, with few attributes in double quotes and no namespaces. They mean what expat says they
 * mean, and cost a quarter of it. Everything else is left to expat, errors too. */
#pragma once
#include "net/xml.h"

enum { XML_PLAIN_ATTRS = 16 };

struct xml_plain {
	struct xml_attr attr[XML_PLAIN_ATTRS];
	struct buf values; /* without their entities; a buffer of at least token_max bytes */
};

/* 0: there is one at the beginning of bytes; *ret_n is its length, and what is in *ret lives in
 * bytes and p. 1: there is not, or it is beyond the limits. */
int xml_plain_read(struct xml_plain *p, struct str bytes, const struct xml_limits *limits,
		   struct xml_tag *ret, size_t *ret_n);
