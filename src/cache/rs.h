/* The role rs, the registration server (document 004, section 3). Owners of sites register as
 * providers, prove what is theirs, set hours and bandwidth, and see what became of the URLs that
 * they sent: on pages, or from programs by the interface of doc/protocols/providers.md. */
#pragma once
#include "role/role.h"

extern const struct role rs_role;
