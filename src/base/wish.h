/* What a site wishes of robots, as X-Robots-Tag and <meta name=robots> say it:
 *
 *	noindex, nofollow
 *	noindex nofollow max-snippet: 50
 *	otherbot: noindex, unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT
 *
 * Words are parted by commas or blanks. Some have a value, of which a date may have both in it.
 * What else stands before a colon is the name of a robot that the wishes after it are for. */
#pragma once
#include "base/str.h"

struct wish {
	struct str name;  /* as it was written */
	struct str value; /* "": none */
	bool is_agent;    /* the name is a robot's */
};

/* The next one, cut off the front of *rest. 1: there is none. */
int wish_next(struct str *rest, struct wish *ret) MUST_USE;
