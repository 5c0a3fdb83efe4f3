/* A line of a spider: what is read is one of the few lines that there are. */
#include "fetch/spider/spider_status.h"
#include "fetch/spider/docindex_wire.h"

#include <inttypes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_free) struct buf again = BUF_INIT(SPIDER_LINE_MAX);
	struct spider_status s;
	if (size == 0 || size > SPIDER_LINE_MAX)
		return 0;
	struct str line = {(const char *)data + 1, size - 1};
	bool words = data[0] % 2;
	if (!spider_status_read(line, words, &s))
		return 0;
	ENSURE(s.outcome <= DOCINDEX_DONE);
	buf_printf(&again, "%" PRIu32 ".%" PRIu32 " %s", s.slot, s.turn,
		   s.done ? "DONE" : "WORKING");
	bool said = str_find(line, STR("DONE ")) < line.n;
	ENSURE(!said || words);
	if (said)
		buf_printf(&again, " %s", docindex_outcome_name(s.outcome));
	ENSURE(str_eq(buf_str(&again), line));
	return 0;
}
