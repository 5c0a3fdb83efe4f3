#include "net/mhd_lib.h"

#include <dlfcn.h>

#define LIBRARY "libmicrohttpd.so.12"

int mhd_lib_load(struct mhd_lib *ret, struct err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	struct mhd_lib mhd;
	if (!library)
		return err_set(err, ERR_SYSTEM,
			       "the HTTP server needs " LIBRARY " (package libmicrohttpd12): %s",
			       dlerror());
#define X(name)                                                        \
	mhd.name = (__typeof__(mhd.name))dlsym(library, "MHD_" #name); \
	if (!mhd.name)                                                 \
		return err_set(err, ERR_SYSTEM, LIBRARY " has no function MHD_" #name);
	MHD_FUNCTIONS(X)
#undef X
	*ret = mhd;
	return 0;
}
