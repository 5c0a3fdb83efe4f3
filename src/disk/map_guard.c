/* Guards of mapped memory. The handler of SIGBUS looks the address up in a list that only grows; in
 * a guarded range it maps zeroes over the page that failed, marks the guard and returns, so that
 * the access goes on. Nothing that takes a lock or allocates may be called in it. */
#include "disk/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Guards are never given back, only used again: the handler may be looking at them. */
struct map_guard {
	struct map_guard *next;
	_Atomic(uintptr_t) from, to; /* to is 0: free */
	atomic_bool taken, failed;
};

static _Atomic(struct map_guard *) guards;
static struct sigaction before;
static uintptr_t page;

static struct map_guard *guard_at(uintptr_t address)
{
	for (struct map_guard *g = atomic_load(&guards); g; g = g->next)
		if (address < atomic_load(&g->to) && address >= atomic_load(&g->from))
			return g;
	return NULL;
}

/* The handler before ours may hand it back to us. Returning with the default restored makes the
 * same access end the process. */
static void guard_pass_on(int number, siginfo_t *info, void *context)
{
	static _Thread_local bool passing;
	if (passing || (!(before.sa_flags & SA_SIGINFO) &&
			(before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))) {
		signal(number, SIG_DFL);
		return;
	}
	passing = true;
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else
		before.sa_handler(number);
	passing = false;
}

/* The bare call: nothing else may be asked in here. */
static void guard_on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	uintptr_t address = (uintptr_t)info->si_addr;
	struct map_guard *g = info->si_code > 0 ? guard_at(address) : NULL;
	if (g)
		atomic_store(&g->failed, true);
	long mapped = g ? syscall(SYS_mmap, address & ~(page - 1), page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
			: -1;
	if (mapped == -1)
		guard_pass_on(number, info, context);
	errno = saved;
}

/* With each guard, because somebody may have put a handler over ours since the last. */
static void guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction now,
		ours = {.sa_sigaction = guard_on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigemptyset(&ours.sa_mask);
	pthread_mutex_lock(&lock);
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	ENSURE(sigaction(SIGBUS, NULL, &now) == 0);
	if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != guard_on_bus_error) {
		before = now;
		ENSURE(sigaction(SIGBUS, &ours, NULL) == 0);
	}
	pthread_mutex_unlock(&lock);
}

static struct map_guard *guard_take_unused(void)
{
	for (struct map_guard *g = atomic_load(&guards); g; g = g->next)
		if (!atomic_exchange(&g->taken, true))
			return g;
	struct map_guard *g = mem_alloc(sizeof *g);
	atomic_store(&g->taken, true);
	g->next = atomic_load(&guards);
	while (!atomic_compare_exchange_weak(&guards, &g->next, g))
		;
	return g;
}

struct map_guard *map_guard_new(const void *p, size_t n)
{
	guard_install();
	struct map_guard *g = guard_take_unused();
	atomic_store(&g->failed, false);
	atomic_store(&g->from, (uintptr_t)p);
	atomic_store(&g->to, (uintptr_t)p + n);
	return g;
}

bool map_guard_failed(const struct map_guard *g)
{
	return atomic_load_explicit(&g->failed, memory_order_relaxed);
}

void map_guard_free(struct map_guard **gp)
{
	struct map_guard *g = *gp;
	if (!g)
		return;
	atomic_store(&g->to, 0);
	atomic_store(&g->taken, false);
	*gp = NULL;
}
