#pragma once
#include "role/config.h"
/* The page garner.conf(5) in mdoc, of the sections given. */
void config_man(const struct config_section *const *sections, size_t n, struct buf *out);
