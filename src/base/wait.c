/* Waiting for descriptors. poll() counts in milliseconds, so the rest of one is rounded up and the
 * clock has the last word. */
#include "base/wait.h"

#include "base/clock.h"

#include <errno.h>

int wait_ready(struct pollfd *p, size_t n, int64_t until_us)
{
	for (;;) {
		int64_t now_us = clock_mono_us(), left_us = MAX(until_us - now_us, 0);
		int64_t ms = left_us / US_PER_MS + (left_us % US_PER_MS != 0);
		int rc = poll(p, n, (int)MIN(ms, (int64_t)INT32_MAX));
		if (rc > 0 || (rc < 0 && errno != EINTR))
			return rc;
		if (rc == 0 && clock_mono_us() >= until_us)
			return 0;
	}
}
