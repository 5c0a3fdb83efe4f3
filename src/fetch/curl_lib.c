#include "fetch/curl_lib.h"
#include "fetch/curl_memory.h"

#include <dlfcn.h>

#define LIBRARY "libcurl.so.4"

static CURLcode init(const struct curl_lib *curl)
{
#ifdef GARNER_ARENA_MALLOC /* so that the sanitizers see each piece */
	return curl->global_init(CURL_GLOBAL_ALL);
#else
	return curl->global_init_mem(CURL_GLOBAL_ALL, curl_memory_alloc, curl_memory_free,
				     curl_memory_resize, curl_memory_text, curl_memory_zeroed);
#endif
}

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
	if (init(&curl) != CURLE_OK)
		return err_set(err, ERR_SYSTEM, LIBRARY " cannot be initialised");
	*ret = curl;
	return 0;
}
