/* The worker's side of the cage: garner-parse. */
#pragma once
#include "base/err.h"

/* Loads everything, gives up all rights, then reads documents until the owner is gone. 0: it is
 * gone. Call with the owner's socket and memory in place (cage_wire.h) and no threads. */
int cage_work(size_t body_max, size_t memory, struct err *err);
