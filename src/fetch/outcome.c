#include "fetch/outcome.h"

enum {
	FINE = 1,
	TEMPORARY = 2,
	PERMANENT = 4,
	SITE = 8,
	REFUSAL = 16,
	ANSWER = 32,
	TROUBLE = 64,
};

static const struct {
	const char *name;
	unsigned is;
} outcomes[OUTCOME_COUNT] = {
	[OUTCOME_OK] = {"ok", FINE | ANSWER},
	[OUTCOME_UNCHANGED] = {"unchanged", FINE | ANSWER},
	[OUTCOME_REDIRECT] = {"redirect", FINE | ANSWER},
	[OUTCOME_TEMPORARY] = {"temporary", TEMPORARY | TROUBLE},
	[OUTCOME_PERMANENT] = {"permanent", PERMANENT | ANSWER},
	[OUTCOME_SITE_TEMPORARY] = {"site-temporary", TEMPORARY | SITE | TROUBLE},
	[OUTCOME_SITE_PERMANENT] = {"site-permanent", PERMANENT | SITE | TROUBLE},
	[OUTCOME_LIMIT] = {"limit", REFUSAL | ANSWER},
	[OUTCOME_ROBOTS] = {"robots", REFUSAL},
	[OUTCOME_ADDRESS] = {"address", REFUSAL},
	[OUTCOME_CANCELLED] = {"cancelled", TEMPORARY},
};

static bool outcome_has(enum outcome o, unsigned what)
{
	ENSURE((unsigned)o < OUTCOME_COUNT);
	return (outcomes[o].is & what) != 0;
}

const char *outcome_name(enum outcome o)
{
	ENSURE((unsigned)o < OUTCOME_COUNT);
	return outcomes[o].name;
}

bool outcome_parse(struct str name, enum outcome *ret)
{
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		if (str_is(name, outcomes[i].name)) {
			*ret = (enum outcome)i;
			return true;
		}
	return false;
}

bool outcome_is_ok(enum outcome o)
{
	return outcome_has(o, FINE);
}

bool outcome_is_temporary(enum outcome o)
{
	return outcome_has(o, TEMPORARY);
}

bool outcome_is_permanent(enum outcome o)
{
	return outcome_has(o, PERMANENT);
}

bool outcome_is_site(enum outcome o)
{
	return outcome_has(o, SITE);
}

bool outcome_is_refusal(enum outcome o)
{
	return outcome_has(o, REFUSAL);
}

bool outcome_is_answer(enum outcome o)
{
	return outcome_has(o, ANSWER);
}

bool outcome_is_trouble(enum outcome o)
{
	return outcome_has(o, TROUBLE);
}
