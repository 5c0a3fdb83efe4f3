/* Sitemaps, compressed or not: nothing but links comes out of them. */
#include "extract_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct extract_job job = {.url = STR("http://example.org/sitemap.xml"),
				  .content_type = STR("text/xml"),
				  .body = {(const char *)data, size}};
	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		job.content_type = STR("application/gzip");
	check_document(&job, "afnlorisxgwe");
	return 0;
}
