/* The role `reapd`: fetches, reads and packs pages for the shepherd of another machine
 * (doc/reap.md, "reapd"). */
#pragma once
#include "role/role.h"

extern const struct role reapd_role;
