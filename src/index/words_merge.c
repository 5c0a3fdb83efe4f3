#include "index/words_write.h"

int writer_merge_some(struct words_writer *w, uint64_t most, struct err *err)
{
	(void)w;
	(void)most;
	(void)err;
	return 1;
}
