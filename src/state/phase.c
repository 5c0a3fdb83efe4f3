/* The names of phases, as control and `changes` have them. */
#include "state/phase.h"

static const char *const names[PHASES] = {
	[PHASE_CLOSED] = "closed",   [PHASE_PREPARE] = "prepare", [PHASE_FEEDBACK] = "feedback",
	[PHASE_PLAN] = "plan",       [PHASE_REAP] = "reap",       [PHASE_CORK] = "cork",
	[PHASE_CORKED] = "corked",   [PHASE_MERGE] = "merge",     [PHASE_EQUIV] = "equiv",
	[PHASE_SELECT] = "select",   [PHASE_RECORD] = "record",   [PHASE_CLEANUP] = "cleanup",
	[PHASE_RECOVER] = "recover",
};

const char *phase_name(enum phase p)
{
	return names[p];
}

bool phase_parse(struct str name, enum phase *ret)
{
	*ret = (enum phase)str_index(name, names, PHASES);
	return *ret < PHASES;
}

bool phase_is_done(enum phase p)
{
	return p == PHASE_CLOSED || p == PHASE_CORKED;
}
