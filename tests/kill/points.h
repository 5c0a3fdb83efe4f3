/* What the programs that are killed say when they are asked for "points". */
#pragma once
#include "base/fault.h"

#include <stdio.h>

/* The fault points whose names begin in one of these ways, one a line. */
#define POINTS_PRINT(...)                                \
	points_print((const char *const[]){__VA_ARGS__}, \
		     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static inline int points_print(const char *const *of, size_t n)
{
	CLEANUP(buf_free) struct buf list = BUF_INIT(4 << 20);
	fault_list(&list);
	struct str rest = buf_str(&list), line;
	while (str_cut(&rest, '\n', &line) == 0)
		for (size_t i = 0; i < n; i++)
			if (str_starts(line, str_of(of[i])))
				printf(STR_FMT "\n", STR_ARG(line));
	return 0;
}
