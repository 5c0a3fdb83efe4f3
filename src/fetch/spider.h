/* The role `spider`: fetches what URL servers name (document 003). */
#pragma once
#include "role/role.h"

extern const struct role spider_role;
