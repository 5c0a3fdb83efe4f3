/* Threads of ours: one function, no signals but those that a thread raises by itself, so that the
 * loop of the role stays the owner of all others. */
#pragma once
#include "base/err.h"

#include <pthread.h>

/* fn(arg) in a new thread, to be joined. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg, struct err *err);
