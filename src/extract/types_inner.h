/* What the files of types share. */
#pragma once
#include "extract/types.h"

struct types {
	struct types_magic *magic; /* NULL: not loaded, or it is not there */
	bool magic_asked;
};
