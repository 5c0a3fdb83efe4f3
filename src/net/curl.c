/* libcurl: how it is loaded, and its memory.
 *
 * A request costs libcurl dozens of allocations, some of them large. Lists of free blocks by size,
 * one set per thread, reuse the blocks of the last request, without a lock and without the C
 * library splitting and joining them. */
#include "net/curl.h"

#include "base/library.h"

#include <pthread.h>
#include <stdlib.h>

/* Memory. */

/* Two sizes for each power of two, from 32 bytes to 64 KiB. A list keeps 16 MiB at most. */
enum {
	SMALLEST_BITS = 5,
	LARGEST_BITS = 16,
	SIZES = 2 * (LARGEST_BITS - SMALLEST_BITS) + 1,
	KEPT = 16 << 20,
};

/* In front of each piece, which stays aligned. */
union head {
	struct {
		size_t size; /* of the piece that follows */
		uint32_t list;
	};
	union head *next; /* in a list */
	max_align_t align;
};

static _Thread_local struct {
	union head *first;
	size_t bytes;
} lists[SIZES];

static size_t size_of(uint32_t list)
{
	size_t size = (size_t)1 << (SMALLEST_BITS + list / 2);
	return list % 2 ? size + size / 2 : size;
}

/* The list of the smallest pieces that are large enough; SIZES: there is none. */
static uint32_t list_of(size_t n)
{
	if (n <= (size_t)1 << SMALLEST_BITS)
		return 0;
	if (n > (size_t)1 << LARGEST_BITS)
		return SIZES;
	unsigned bits = 63 - (unsigned)__builtin_clzll(n - 1); /* 2^bits < n <= 2^(bits + 1) */
	uint32_t list = 2 * (bits - SMALLEST_BITS) + 1;
	return n <= size_of(list) ? list : list + 1;
}

void *curl_memory_alloc(size_t n)
{
	uint32_t list = list_of(n);
	union head *head;
	if (list < SIZES && lists[list].first) {
		head = lists[list].first;
		lists[list].first = head->next;
		lists[list].bytes -= size_of(list);
	} else {
		n = list < SIZES ? size_of(list) : n;
		head = n <= SIZE_MAX - sizeof *head ? malloc(sizeof *head + n) : NULL;
		if (!head)
			return NULL;
	}
	head->size = list < SIZES ? size_of(list) : n;
	head->list = list;
	return head + 1;
}

void curl_memory_free(void *p)
{
	union head *head = p;
	if (!p)
		return;
	head--;
	uint32_t list = head->list;
	if (list >= SIZES || lists[list].bytes + head->size > KEPT) {
		free(head);
		return;
	}
	lists[list].bytes += head->size;
	head->next = lists[list].first;
	lists[list].first = head;
}

void *curl_memory_zeroed(size_t count, size_t n)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, n, &bytes))
		return NULL;
	void *p = curl_memory_alloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

void *curl_memory_resize(void *p, size_t n)
{
	size_t has = p ? ((union head *)p - 1)->size : 0;
	if (p && n <= has)
		return p;
	void *larger = curl_memory_alloc(n);
	if (!larger)
		return NULL;
	memcpy(larger, p ? p : "", has);
	curl_memory_free(p);
	return larger;
}

char *curl_memory_text(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = curl_memory_alloc(n);
	return copy ? memcpy(copy, text, n) : NULL;
}

void curl_memory_drop(void)
{
	for (size_t i = 0; i < SIZES; i++) {
		for (union head *head = lists[i].first, *next; head; head = next) {
			next = head->next;
			free(head);
		}
		lists[i].first = NULL;
		lists[i].bytes = 0;
	}
}

/* Loading. */

static struct {
	pthread_once_t once;
	struct curl_lib lib;
	struct err err;
	bool loaded;
} curl = {.once = PTHREAD_ONCE_INIT};

static CURLcode curl_begin(void)
{
#ifdef GARNER_ARENA_MALLOC /* so that the sanitizers see each piece */
	return curl.lib.global_init(CURL_GLOBAL_ALL);
#else
	return curl.lib.global_init_mem(CURL_GLOBAL_ALL, curl_memory_alloc, curl_memory_free,
					curl_memory_resize, curl_memory_text, curl_memory_zeroed);
#endif
}

static void load_once(void)
{
#define X(name) {"curl_" #name, &curl.lib.name},
	const struct library_function functions[] = {CURL_FUNCTIONS(X)};
#undef X
	if (library_load("libcurl.so.4", "fetching and sending need the package libcurl4",
			 functions, ARRAY_LEN(functions), &curl.err) < 0)
		return;
	curl.loaded = curl_begin() == CURLE_OK;
	if (!curl.loaded)
		(void)err_set(&curl.err, ERR_SYSTEM, "libcurl.so.4 cannot be initialised");
}

const struct curl_lib *curl_load(struct err *err)
{
	ENSURE(pthread_once(&curl.once, load_once) == 0);
	if (curl.loaded)
		return &curl.lib;
	*err = curl.err;
	return NULL;
}
