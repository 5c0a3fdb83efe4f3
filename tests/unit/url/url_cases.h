/* What the tables of URLs have in common: a text and what must become of it. */
#pragma once
#include "url/url.h"

#include "../unit.h"

struct parse_case {
	const char *text;
	const char *want; /* href, or the name of the error */
};

static inline void check(struct str text, const struct url *base, const char *want)
{
	char room[URL_MAX];
	struct url u;
	int rc = url_parse(text, base, room, sizeof room, &u);
	struct str got = rc < 0 ? str_of(url_error_text(rc)) : u.href;
	if (!str_is(got, want))
		fail_msg("'" STR_FMT "' on '" STR_FMT "' gives '" STR_FMT "', want '%s'",
			 STR_ARG(text), STR_ARG(base ? base->href : STR("")), STR_ARG(got), want);
	if (rc < 0)
		return;
	/* what was written is read as itself, in just as much room, and not in less */
	struct url again;
	char exact[URL_MAX];
	assert_int_equal(url_parse(u.href, NULL, exact, u.href.n, &again), 0);
	assert_true(str_eq(again.href, u.href));
	assert_int_equal(url_parse(u.href, NULL, exact, u.href.n - 1, &again), -URL_TOO_LONG);
}

static inline void check_all(const struct parse_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(str_of(cases[i].text), NULL, cases[i].want);
}
