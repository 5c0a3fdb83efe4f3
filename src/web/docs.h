/* The role `docs`: serves a directory tree over HTTP, for demonstrations and small sites. */
#pragma once
#include "role/role.h"

extern const struct role docs_role;
