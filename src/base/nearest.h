/* Did you mean: which of some names a mistyped one was probably meant to be.
 *
 *	struct nearest near = {.wanted = name};
 *	for (...)
 *		nearest_try(&near, known[i].name);
 *	err_set(err, ERR_USAGE, "unknown section '%s'%s", name, nearest_words(&near));
 *
 * Near is what one edit changes into the other, from four letters on two; also a name of which
 * two letters or more were typed. ASCII letters of either case are the same, and so are '-' and
 * '_'. Names of 64 bytes or more are never near. */
#pragma once
#include "base/str.h"

enum { NEAREST_NAME = 64 };

struct nearest {
	struct str wanted;
	const char *before;      /* what stands before every name when it is typed: "--"; or NULL */
	char name[NEAREST_NAME]; /* "": none is near; of two that are as near the first */
	char words[NEAREST_NAME + 32];
	size_t edits;
};

void nearest_try(struct nearest *near, const char *name);
/* "; did you mean 'listen'?", or "" where none is near. Lives as long as *near. */
const char *nearest_words(struct nearest *near);
/* For callers that name all that are near. */
bool nearest_is_near(struct str wanted, struct str name);
