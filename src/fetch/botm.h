/* The role `botm`: the robot multiplexer (document 004, section 7; doc/protocols/bot.md). */
#pragma once
#include "role/role.h"

extern const struct role botm_role;
/* Whether a start would get by its settings, as far as they and the files that they name tell.
 * ERR_USAGE names what is wrong. */
int botm_conf_check(const struct config *config, struct err *err);
