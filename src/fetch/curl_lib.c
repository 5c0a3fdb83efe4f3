#include "fetch/curl_lib.h"

#include <dlfcn.h>

#define LIBRARY "libcurl.so.4"

int curl_lib_load(struct curl_lib *ret, struct err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	struct curl_lib curl;
	if (!library)
		return err_set(err, ERR_SYSTEM, "fetching needs " LIBRARY " (package libcurl4): %s",
			       dlerror());
#define X(name)                                                           \
	curl.name = (__typeof__(curl.name))dlsym(library, "curl_" #name); \
	if (!curl.name)                                                   \
		return err_set(err, ERR_SYSTEM, LIBRARY " has no function curl_" #name);
	CURL_FUNCTIONS(X)
#undef X
	if (curl.global_init(CURL_GLOBAL_ALL) != CURLE_OK)
		return err_set(err, ERR_SYSTEM, LIBRARY " cannot be initialised");
	*ret = curl;
	return 0;
}
