/* What every unit program begins with: cmocka and what it wants before itself. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

#define assert_str(got, want)                                                                \
	do {                                                                                 \
		struct str unit_got = (got), unit_want = str_of(want);                       \
		if (!str_eq(unit_got, unit_want))                                            \
			fail_msg("got '" STR_FMT "', want '" STR_FMT "'", STR_ARG(unit_got), \
				 STR_ARG(unit_want));                                        \
	} while (0)
