#include "base/backoff.h"

int64_t backoff_us(unsigned failures, int64_t min_us, int64_t max_us)
{
	int64_t delay = MIN(min_us, max_us);
	for (unsigned i = 1; i < failures && delay > 0 && delay < max_us; i++)
		delay = delay > max_us / 2 ? max_us : delay * 2;
	return delay;
}
