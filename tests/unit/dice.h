/* Dice that fall the same way in every run. */
#pragma once
#include <stdint.h>

/* *seed: anything but 0. */
static inline uint64_t dice(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
