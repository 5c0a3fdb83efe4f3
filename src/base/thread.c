/* Signals that a thread raises by its own fault stay open, so that a crash is seen as one. */
#include "base/thread.h"

#include "base/clock.h"

#include <errno.h>

void thread_block_signals(sigset_t *ret_before)
{
	sigset_t all;
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
	sigfillset(&all);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

void thread_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	ENSURE(pthread_condattr_init(&attr) == 0);
	ENSURE(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
	ENSURE(pthread_cond_init(c, &attr) == 0);
	(void)pthread_condattr_destroy(&attr);
}

bool thread_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_us)
{
	const struct timespec until = {.tv_sec = until_us / US_PER_S,
				       .tv_nsec = until_us % US_PER_S * 1000};
	return pthread_cond_timedwait(c, lock, &until) != ETIMEDOUT;
}

int thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg, struct err *err)
{
	sigset_t before;
	thread_block_signals(&before);
	int rc = pthread_create(ret, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return 0;
	errno = rc;
	return err_sys(err, "a thread could not be started");
}
