/* One session of the line protocol, for those who accept connections themselves: inetd. */
#pragma once
#include "role/config.h"

/* Serves until either side ends it; fd is a connected stream socket, and taken. data: the data
 * directory; disk_free: bytes that must stay free there. Other servers are named, but not asked for
 * their loads. */
int ng_one_serve(int fd, const struct config *config, const char *data, uint64_t disk_free,
		 struct err *err);
