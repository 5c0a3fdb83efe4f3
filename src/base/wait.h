/* Waiting for descriptors. */
#pragma once
#include "base/base.h"

#include <poll.h>

/* poll() until a time of clock_mono_us(); INT64_MAX: without end. Looks at least once, and goes on
 * after a signal. Returns how many are ready; 0: the time is over; negative: errno says why. */
int wait_ready(struct pollfd *p, size_t n, int64_t until_us);
