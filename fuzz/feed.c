/* Feeds: whatever is wrong with them, the items that are links are absolute ones. */
#include "extract_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct extract_job job = {.url = STR("http://example.org/feed.rss"),
				  .content_type = STR("application/rss+xml"),
				  .body = {(const char *)data, size}};
	check_document(&job, "afnlorisxgwe");
	return 0;
}
