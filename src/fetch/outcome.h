/* Outcomes: how a fetch ended, as everybody who asked for it has to know it. */
#pragma once
#include "base/str.h"

enum outcome {
	OUTCOME_OK,
	OUTCOME_UNCHANGED,      /* the copy that the asker has is still good */
	OUTCOME_REDIRECT,       /* elsewhere, and not followed */
	OUTCOME_TEMPORARY,      /* this URL, now: 500, an answer that broke off or took too long */
	OUTCOME_PERMANENT,      /* this URL, for good: 404, 410 */
	OUTCOME_SITE_TEMPORARY, /* every URL of the site, now: 429, 503, no connection, no DNS */
	OUTCOME_SITE_PERMANENT, /* every URL of the site, for good: the name does not exist */
	OUTCOME_LIMIT,          /* given up by us: too large, too many redirects */
	OUTCOME_ROBOTS,         /* robots.txt forbids it; nothing was asked */
	OUTCOME_ADDRESS,        /* the policy forbids the address; nothing was asked */
	OUTCOME_CANCELLED,      /* ended by us before it came to anything; says nothing */
	OUTCOME_COUNT,
};

/* "ok", "site-temporary": for logs, counters and JSON. */
const char *outcome_name(enum outcome o);
bool outcome_parse(struct str name, enum outcome *ret) MUST_USE;

bool outcome_is_ok(enum outcome o);      /* ok, unchanged, redirect */
bool outcome_is_site(enum outcome o);    /* holds for all URLs of the site */
bool outcome_is_answer(enum outcome o);  /* the server is well: it answered, whatever it said */
bool outcome_is_trouble(enum outcome o); /* the server is not well: it gets more time */
