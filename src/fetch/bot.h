/* The role `bot`: a robot of the fetch fabric, see bot_core.h. */
#pragma once
#include "role/role.h"

extern const struct role bot_role;
/* What the table cannot say: who could connect, and to whom it may connect; of the section, or of
 * an instance of it. */
int bot_conf_check(const struct config *config, struct err *err);
