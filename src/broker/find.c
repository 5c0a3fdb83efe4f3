/* A key may be in several segments but is deleted in all but one: the first where it is not deleted
 * has it. */
#include "broker/find.h"

int words_find(struct words_reader *words, struct str url, struct docaddr *ret, struct err *err)
{
	size_t n;
	const struct words_part *part = words_parts(words, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t doc;
		struct segment_column addr;
		int rc = segment_find(part[i].segment, url, &doc, err);
		if (rc < 0)
			return -1;
		if (rc > 0 || words_deleted(&part[i], doc))
			continue;
		if (segment_column(part[i].segment, SEGMENT_ADDR, &addr, err) < 0)
			return -1;
		ret->v = (uint64_t)segment_number(&addr, doc);
		return 0;
	}
	return 1;
}
