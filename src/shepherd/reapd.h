/* The role `reapd`: fetches, reads and packs pages for the shepherd of another machine
 * (doc/reap.md, "reapd"). */
#pragma once
#include "role/role.h"

extern const struct role reapd_role;
/* Whether a start would get by its settings, as far as they and the files that they name tell.
 * ERR_USAGE names what is wrong. */
int reapd_conf_check(const struct config *config, struct err *err);
