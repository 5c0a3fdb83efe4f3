/* The role `bot`: a robot of the fetch fabric. */
#pragma once
#include "role/role.h"

extern const struct role bot_role;
