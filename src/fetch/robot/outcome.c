/* Outcomes: one table says what each of them implies. */
#include "fetch/outcome.h"

enum {
	FINE = 1,
	SITE = 2,
	ANSWER = 4,
	TROUBLE = 8,
};

static const struct {
	const char *name;
	unsigned is;
} outcomes[OUTCOME_COUNT] = {
#define X(symbol, name, is) {name, is},
	OUTCOMES(X)
#undef X
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

bool outcome_is_site(enum outcome o)
{
	return outcome_has(o, SITE);
}

bool outcome_is_answer(enum outcome o)
{
	return outcome_has(o, ANSWER);
}

bool outcome_is_trouble(enum outcome o)
{
	return outcome_has(o, TROUBLE);
}
