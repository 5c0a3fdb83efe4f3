/* Libraries that are loaded when they are first needed: linked, they and what they bring along
 * would cost every command the time to load them. */
#pragma once
#include "base/err.h"

struct library_function {
	const char *name;
	void *ret; /* the pointer to set, of the function's type */
};

/* Loads it until the process ends, and sets all functions of the list or none. `needs` begins the
 * message when it is not there: "fetching needs the package libcurl4". */
int library_load(const char *file, const char *needs, const struct library_function *list, size_t n,
		 struct err *err);
