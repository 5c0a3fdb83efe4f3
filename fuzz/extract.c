/* Documents of any type: a line with the Content-Type, one with X-Robots-Tag, then the body. */
#include "extract_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size}, type = STR(""), robots = STR("");
	(void)str_cut(&rest, '\n', &type);
	(void)str_cut(&rest, '\n', &robots);
	struct extract_job job = {.url = STR("http://example.org/dir/page"),
				  .content_type = type,
				  .charset = STR(""),
				  .robots = robots,
				  .body = rest.p ? rest : STR("")};
	check_document(&job, "afnlorisxgwe");
	return 0;
}
