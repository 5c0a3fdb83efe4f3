/* A record of run/lent. What is read, written again, is the same, and names a server and a URL
 * server that can be. */
#include "shepherd/lent_inner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 10);
	struct str payload = {(const char *)data, size};
	struct lent_step step;
	struct err err = {0};
	if (lent_step_read(payload, &step, &err) < 0) {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		return 0;
	}
	lent_step_write(&step, &out);
	ENSURE(!out.over && str_eq(buf_str(&out), payload));
	if (!step.is_back)
		ENSURE(docindex_is_word(str_of(step.name)) &&
		       addr_eq(addr_server(&step.server), step.server));
	return 0;
}
