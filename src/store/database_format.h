/* Databases, for `garner dump` and `garner check`: doc/formats/database.md. */
#pragma once
#include "disk/format.h"

extern const struct format database_format;
