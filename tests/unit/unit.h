/* What every unit program begins with: cmocka and what it wants before itself. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

/* In `make prove`. */
static inline bool unit_long(void)
{
	const char *text = getenv("TEST_LONG");
	return text && strcmp(text, "1") == 0;
}

/* Whether a program that repeats itself many times does all of it: in `make prove`, but with TSan,
 * which makes it ten times slower, never. */
static inline bool unit_thorough(void)
{
#if defined(__SANITIZE_THREAD__)
	return false;
#else
	return unit_long();
#endif
}

#define assert_str(got, want)                                                                \
	do {                                                                                 \
		struct str unit_got = (got), unit_want = str_of(want);                       \
		if (!str_eq(unit_got, unit_want))                                            \
			fail_msg("got '" STR_FMT "', want '" STR_FMT "'", STR_ARG(unit_got), \
				 STR_ARG(unit_want));                                        \
	} while (0)
