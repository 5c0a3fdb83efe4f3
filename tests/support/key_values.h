/* KEY=VALUE on the command line of a program for scenes, as in a section of the configuration. */
#pragma once
#include "base/value.h"

#include <string.h>

/* All of them up to "--"; *ret_at is where it stands, or argc. */
static inline int key_values_read(const struct value_spec *specs, size_t n, int argc, char **argv,
				  struct arena *arena, void *ret, int *ret_at, struct err *err)
{
	int at = 1, rc = 0;
	value_defaults(specs, n, arena, ret);
	for (; rc == 0 && at < argc && strcmp(argv[at], "--") != 0; at++) {
		struct str text = str_of(argv[at]);
		size_t equals = str_find_byte(text, '=');
		const struct value_spec *spec = value_find(specs, n, str_head(text, equals));
		if (!spec || equals == text.n)
			rc = err_set(err, ERR_USAGE, "expected KEY=VALUE, got " STR_FMT,
				     STR_ARG(text));
		else
			rc = value_parse(spec, str_from(text, equals + 1), arena, ret, err);
	}
	*ret_at = at;
	return rc;
}
