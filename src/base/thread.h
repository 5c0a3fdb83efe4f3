/* Threads of ours: one function, no signals but those that a thread raises by itself, so that the
 * loop of the role stays the owner of all others. */
#pragma once
#include "base/err.h"

#include <pthread.h>
#include <signal.h>

/* Blocks the others in the thread that calls, for libraries that start threads themselves: these
 * inherit it. pthread_sigmask(SIG_SETMASK, ret_before, NULL) undoes it. */
void thread_block_signals(sigset_t *ret_before);

/* fn(arg) in a new thread, to be joined. */
int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg, struct err *err);

/* A condition for the next function: nobody sets the clock that it goes by. */
void thread_cond_init(pthread_cond_t *c);
/* Until it is signalled, by chance too, or clock_mono_us() is until_us: false. */
bool thread_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_us);
