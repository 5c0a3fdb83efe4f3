/* A searcher: a process of the queuer's that looks for one thing at a time, in the names of a
 * folder, which it only reads. It is told what to look for on a socket and answers on it
 * (archie_wire.h). */
#pragma once
#include "base/err.h"

/* Serves until the other end is closed. folder: archie/ of the data directory. */
int searcher_run(int fd, const char *folder, struct err *err);
