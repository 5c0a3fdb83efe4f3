/* The worker's side of listing_run.h: garner-parse --listing. */
#pragma once
#include "base/err.h"

enum { LISTING_WORK_ARGS = 6 };

/* Reads the listing on standard input and says what is in it on standard output, with the locks
 * of cage_door.h shut. args: when it was made, zone, percent of bad lines, memory, bytes unpacked
 * at most, prefix. 0: the owner was told everything, also that the listing is refused. */
int listing_work(char *const args[LISTING_WORK_ARGS], struct err *err);
