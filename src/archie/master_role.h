/* The role archie-master: requests that sites be indexed are tested, the list of sites is kept and
 * published, and every listed site is tested again from time to time. */
#pragma once
#include "role/role.h"

extern const struct role archie_master_role;
