/* The role archie-ng: the line protocol for programs, on a port; and what it shares with ng_one.h.
 */
#pragma once
#include "archie/archie_conf.h"
#include "net/server.h"
#include "role/role.h"

extern const struct role archie_ng_role;

/* Its setting `listen`, for clients on this machine. */
const char *archie_ng_listen(const struct config *config);
const struct server_limits *archie_ng_limits(const struct config *config);
/* HOST:PORT, as others are told of this server; fd: a socket of it. */
enum { ARCHIE_NG_SELF = ARCHIE_HOST_MOST + 16 };
void archie_ng_self(const struct archie_conf *conf, int fd, char ret[ARCHIE_NG_SELF]);
