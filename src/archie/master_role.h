/* The role archie-master: tests requested sites, keeps and publishes the list of sites, and tests
 * every listed site again from time to time. */
#pragma once
#include "role/role.h"

extern const struct role archie_master_role;
