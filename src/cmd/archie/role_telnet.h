/* The role archie-telnet. */
#pragma once
#include "role/role.h"

extern const struct role archie_telnet_role;
