/* Libraries that are loaded when they are first needed. Not one is ever unloaded: their functions
 * may be anywhere by then. */
#include "base/library.h"

#include <dlfcn.h>

int library_load(const char *file, const char *needs, const struct library_function *list, size_t n,
		 struct err *err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library)
		return err_set(err, ERR_SYSTEM, "%s: %s", needs, dlerror());
	for (const struct library_function *f = list; f < list + n; f++)
		if (!dlsym(library, f->name))
			return err_set(err, ERR_SYSTEM, "%s has no function %s", file, f->name);
	for (const struct library_function *f = list; f < list + n; f++) {
		void *function = dlsym(library, f->name);
		memcpy(f->ret, &function, sizeof function); /* ISO C has no cast for these */
	}
	return 0;
}
