/* One session of the line protocol, for those who accept connections themselves: inetd. */
#pragma once
#include "role/config.h"

/* Serves until either side ends it; fd is a connected stream socket, and taken. data: the data
 * directory. Other servers are named, but not asked for their loads. */
int ng_one_serve(int fd, const struct config *config, const char *data, struct err *err);
