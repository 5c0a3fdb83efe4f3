/* Every file format of garner, for `garner dump` and `garner check`. The list ends in NULL, which
 * its number does not count. */
#pragma once
#include "base/format.h"

extern const struct format *const formats[];
extern const size_t nformats;
