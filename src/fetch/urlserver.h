/* The role `urlserver`: feeds spiders with the URLs of a doc index, politely (document 003). */
#pragma once
#include "role/role.h"

extern const struct role urlserver_role;
