/* The role `bot`: a robot of the fetch fabric, see bot_core.h. */
#pragma once
#include "role/role.h"

extern const struct role bot_role;
