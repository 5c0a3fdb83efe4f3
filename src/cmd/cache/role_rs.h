/* The role `rs`. */
#pragma once
#include "role/role.h"

extern const struct role rs_role;
