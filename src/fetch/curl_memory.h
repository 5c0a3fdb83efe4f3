/* Memory for libcurl: it takes dozens of pieces for each request and gives them back at its end,
 * large ones among them (a handle, buffers, the windows of zlib), which the C library splits and
 * joins again and again. Here what is given back waits in a list of its size, in the thread that
 * gave it back, for the next request. */
#pragma once
#include "base/base.h"

/* As the functions of the C library. What they return goes back to curl_memory_free() alone. */
void *curl_memory_alloc(size_t n);
void *curl_memory_zeroed(size_t count, size_t n);
void *curl_memory_resize(void *p, size_t n);
char *curl_memory_text(const char *text);
void curl_memory_free(void *p);

/* Gives what waits in this thread back to the C library: before the thread ends. */
void curl_memory_drop(void);
