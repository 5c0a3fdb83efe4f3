/* Phases: how far the work on a state has come. The file control of a state holds it. */
#pragma once
#include "base/str.h"

/* What to do when a file of a state is damaged, for struct format. */
#define STATE_REMEDY                                                                            \
	"garner shep recover makes what the crawl needs again and drops older states that are " \
	"damaged"

enum phase {
	PHASE_CLOSED, /* done; never changes again */
	PHASE_PREPARE,
	PHASE_FEEDBACK,
	PHASE_PLAN,
	PHASE_REAP,
	PHASE_CORK,
	PHASE_CORKED, /* the journal is in the index; the cycle goes on in a clone */
	PHASE_MERGE,
	PHASE_EQUIV,
	PHASE_SELECT,
	PHASE_RECORD,
	PHASE_CLEANUP,
	PHASE_RECOVER,
	PHASES,
};

enum { PHASE_NAME = 16 };             /* for any name, with its NUL */
const char *phase_name(enum phase p); /* "reap" */
bool phase_parse(struct str name, enum phase *ret) MUST_USE;
/* It is no longer written: closed or corked. */
bool phase_is_done(enum phase p);
