/* One session of the line protocol on a connection that inetd accepted. */
#pragma once
#include "role/config.h"

/* Serves until either side ends it. Owns fd, a connected stream socket. data: the data directory.
 * Names other servers, but does not ask them for their loads. */
int ng_one_serve(int fd, const struct config *config, const char *data, struct err *err);
