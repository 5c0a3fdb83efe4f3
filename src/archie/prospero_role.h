/* The role archie-prospero. */
#pragma once
#include "role/role.h"

extern const struct role archie_prospero_role;
