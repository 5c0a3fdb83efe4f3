/* The role archie-getter: listings and databases of archives, each night. */
#pragma once
#include "role/role.h"

extern const struct role archie_getter_role;

/* When the last night that counts began or should have: the latest time of day `at_s` (seconds
 * after midnight, by the clock of this machine) that is not after wall_us. */
int64_t archie_last_night_us(int64_t wall_us, int64_t at_s);
