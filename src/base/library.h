/* Libraries that are loaded when they are first needed: linking them would slow down every
 * command's start. */
#pragma once
#include "base/err.h"

struct library_function {
	const char *name;
	void *ret; /* the pointer to set, of the function's type */
};

/* Loads a library until the process ends, and sets all functions of the list or none. `needs`
 * begins the error message: "fetching needs the package libcurl4". */
int library_load(const char *file, const char *needs, const struct library_function *list, size_t n,
		 struct err *err);
