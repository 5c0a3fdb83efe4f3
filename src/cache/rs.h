/* The registration server, RS (document 004, section 3): people and programs become providers here,
 * prove what is theirs, agree on hours and bandwidth, and see what became of what they sent.
 * doc/protocols/providers.md is what programs speak; the pages do the same. */
#pragma once
#include "role/role.h"

extern const struct role rs_role;
