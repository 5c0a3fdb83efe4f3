/* Back-off: how long to wait before the next try. Pure: the clock is the caller's. */
#pragma once
#include "base/base.h"

/* After `failures` failures in a row (at least 1): min_us, doubled with each, never past max_us. */
int64_t backoff_us(unsigned failures, int64_t min_us, int64_t max_us);
