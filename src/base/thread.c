/* Signals that a thread raises by its own fault stay open, so that a crash is seen as one. */
#include "base/thread.h"

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
