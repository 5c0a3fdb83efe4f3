/* A searcher: a process of the queuer that runs one search at a time over the names in a folder,
 * which it only reads. Requests and answers go over a socket (archie_wire.h). */
#pragma once
#include "base/err.h"

/* Serves until the peer closes the socket. folder: archie/ in the data directory. */
int searcher_run(int fd, const char *folder, struct err *err);
