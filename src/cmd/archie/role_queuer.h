/* The role archie-queuer. */
#pragma once
#include "role/role.h"

extern const struct role archie_queuer_role;
