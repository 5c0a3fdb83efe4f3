/* libcurl, for all that fetches or sends. Loaded when it is first used: linked, its thirty shared
 * objects would slow down every command's start by several milliseconds. */
#pragma once
#include "base/err.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define CURL_FUNCTIONS(X)      \
	X(easy_cleanup)        \
	X(easy_duphandle)      \
	X(easy_getinfo)        \
	X(easy_init)           \
	X(easy_pause)          \
	X(easy_perform)        \
	X(easy_setopt)         \
	X(easy_strerror)       \
	X(global_init)         \
	X(global_init_mem)     \
	X(multi_add_handle)    \
	X(multi_assign)        \
	X(multi_cleanup)       \
	X(multi_info_read)     \
	X(multi_init)          \
	X(multi_remove_handle) \
	X(multi_setopt)        \
	X(multi_socket_action) \
	X(slist_append)        \
	X(slist_free_all)

struct curl_lib {
#define X(name) __typeof__(&curl_##name) name;
	CURL_FUNCTIONS(X)
#undef X
};

/* Loads libcurl, unless it is loaded; it stays until the process ends. Safe in every thread. NULL:
 * it cannot be used. */
const struct curl_lib *curl_load(struct err *err);

/* Memory for libcurl. It allocates dozens of blocks for each request, some of them large (a
 * handle, buffers, the windows of zlib), and frees them at its end; the C library would split and
 * join them each time. Here freed blocks wait in a list of their size, per thread, for the next
 * request. */

/* As in the C library. Free the result with curl_memory_free() alone. */
void *curl_memory_alloc(size_t n);
void *curl_memory_zeroed(size_t count, size_t n);
void *curl_memory_resize(void *p, size_t n);
char *curl_memory_text(const char *text);
void curl_memory_free(void *p);

/* Frees the blocks that wait in this thread. Call it before the thread ends. */
void curl_memory_drop(void);
