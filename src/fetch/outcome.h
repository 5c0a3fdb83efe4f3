/* Outcomes: how a fetch ended, as everybody who asked for it has to know it. */
#pragma once
#include "base/str.h"

/* The symbol, its name, and what follows from it (outcome.c). */
#define OUTCOMES(X)                                                                           \
	X(OK, "ok", FINE | ANSWER)                                                            \
	X(UNCHANGED, "unchanged", FINE | ANSWER) /* the asker's copy is still good */         \
	X(REDIRECT, "redirect", FINE | ANSWER)   /* elsewhere, and not followed */            \
	X(TEMPORARY, "temporary", TROUBLE)       /* this URL, now: 500, a broken answer */    \
	X(PERMANENT, "permanent", ANSWER)        /* this URL, for good: 404, 410 */           \
	X(SITE_TEMPORARY, "site-temporary", SITE | TROUBLE) /* all its URLs, now: 429, 503 */ \
	X(SITE_PERMANENT, "site-permanent", SITE | TROUBLE) /* all, for good: no such name */ \
	X(LIMIT, "limit", ANSWER)    /* given up by us: too large, too many redirects */      \
	X(ROBOTS, "robots", 0)       /* robots.txt forbids it; no request was sent */         \
	X(ADDRESS, "address", 0)     /* the policy forbids the address; none was sent */      \
	X(CANCELLED, "cancelled", 0) /* ended by us before it came to anything */

enum outcome {
#define X(symbol, name, is) OUTCOME_##symbol,
	OUTCOMES(X)
#undef X
		OUTCOME_COUNT
};

/* "ok", "site-temporary": for logs, counters and JSON. */
const char *outcome_name(enum outcome o);
bool outcome_parse(struct str name, enum outcome *ret) MUST_USE;

bool outcome_is_ok(enum outcome o);      /* ok, unchanged, redirect */
bool outcome_is_site(enum outcome o);    /* holds for all URLs of the site */
bool outcome_is_answer(enum outcome o);  /* the server is well: it answered, whatever it said */
bool outcome_is_trouble(enum outcome o); /* the server is not well: it gets more time */
