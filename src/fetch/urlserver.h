/* The role `urlserver`: feeds spiders with the URLs of a doc index, politely (document 003). */
#pragma once
#include "role/role.h"

extern const struct role urlserver_role;
/* What the types of its settings cannot say: keys, whom it would connect to, its doc index. */
int urlserver_conf_check(const struct config *config, struct err *err);
