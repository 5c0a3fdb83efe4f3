/* The role archie-ng: the line protocol for programs, on a port. */
#pragma once
#include "role/role.h"

extern const struct role archie_ng_role;

/* Where it answers, as its setting says: for clients of this machine. */
const char *archie_ng_listen(const struct config *config);
