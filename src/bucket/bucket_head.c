#include "bucket/bucket_inner.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

uint32_t bucket_word(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

void bucket_word_put(char *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

struct bucket_head bucket_head_parse(const char *p)
{
	return (struct bucket_head){bucket_word(p), bucket_word(p + 4), bucket_word(p + 8),
				    bucket_word(p + 12)};
}

void bucket_head_make(const struct bucket_head *head, char *p)
{
	bucket_word_put(p, head->magic);
	bucket_word_put(p + 4, head->oid);
	bucket_word_put(p + 8, head->length);
	bucket_word_put(p + 12, head->type);
}

uint64_t bucket_total(unsigned shift, uint32_t length)
{
	uint64_t align = UINT64_C(1) << shift;
	return ((uint64_t)length + BUCKET_FRAME + align - 1) & ~(align - 1);
}

const char *bucket_head_wrong(const struct bucket_head *head, unsigned shift, uint64_t at,
			      uint64_t left)
{
	if (head->magic == BUCKET_UNFINISHED)
		return "it was never finished";
	if (head->magic != BUCKET_MAGIC)
		return "no bucket begins there";
	if (head->oid != at >> shift && head->oid != BUCKET_DELETED)
		return "it has another number in it";
	if (head->length > BUCKET_DATA_MOST)
		return "it is longer than any bucket may be";
	if (bucket_total(shift, head->length) > left)
		return "it runs past the end";
	return NULL;
}

const char *bucket_end_wrong(const char *p, size_t n)
{
	if (bucket_word(p + n - 4) != BUCKET_TRAILER)
		return "its trailer is missing";
	for (size_t i = 0; i + 4 < n; i++)
		if (p[i])
			return "there are bytes between its data and its trailer";
	return NULL;
}

size_t bucket_marker(unsigned shift, char *p)
{
	size_t total = (size_t)bucket_total(shift, 0);
	struct bucket_head head = {BUCKET_MAGIC, BUCKET_DELETED, 0, BUCKET_PLAIN};
	if (shift == BUCKET_SHIFT)
		return 0;
	memset(p, 0, total);
	bucket_head_make(&head, p);
	bucket_word_put(p + total - 4, BUCKET_TRAILER);
	return total;
}

char *bucket_beside(const char *path, const char *ending)
{
	struct stat st;
	char *at = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
	const char *of = at ? at : path;
	size_t cap = strlen(of) + strlen(ending) + 1;
	char *name = mem_alloc(cap);
	snprintf(name, cap, "%s%s", of, ending);
	free(at);
	return name;
}
