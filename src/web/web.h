/* The role `web`: pages and the JSON interface. */
#pragma once
#include "role/role.h"

extern const struct role web_role;
