/* The role archie-ng: the line protocol for programs, on a port. */
#pragma once
#include "archie/archie_conf.h"
#include "net/server.h"
#include "role/role.h"

extern const struct role archie_ng_role;

/* Its setting `listen`, for clients on this machine. */
const char *archie_ng_listen(const struct config *config);
/* Serves one connection, which inetd accepted, until either side ends it. Owns fd, a connected
 * stream socket. data: the data directory. Names other servers, but does not ask them for their
 * loads. */
int archie_ng_serve(int fd, const struct config *config, const char *data, struct err *err);
