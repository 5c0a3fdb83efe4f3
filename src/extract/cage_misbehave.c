#include "extract/cage_misbehave.h"

#ifdef GARNER_FAULTS

#include "base/fault.h"
#include "extract/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void try_socket(struct out *out, struct extract_result *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	extract_remark(out, ret, "socket: %s", fd < 0 ? strerror(errno) : "opened");
}

static void try_file(struct out *out, struct extract_result *ret)
{
	long fd = syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
	extract_remark(out, ret, "file: %s", fd < 0 ? strerror(errno) : "opened");
}

/* Until it is refused: touched memory, and shared memory, which counts elsewhere. */
static void try_memory(struct out *out, struct extract_result *ret)
{
	enum { STEP = 64 << 20, STEPS = 256 };
	size_t got = 0;
	for (; got < STEPS; got++) {
		char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		if (p == MAP_FAILED)
			break;
		memset(p, 1, STEP);
	}
	void *shared = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	extract_remark(out, ret, "memory: %s after %zu MB, shared %s",
		       got < STEPS ? "refused" : "given", got * (STEP >> 20),
		       shared == MAP_FAILED ? "refused" : "given");
}

static void try_cpu(struct out *out, struct extract_result *ret)
{
	(void)out, (void)ret;
	for (volatile uint64_t i = 0;; i++)
		;
}

/* An answer whose attributes lie outside. */
static void try_lie(struct out *out, struct extract_result *ret)
{
	(void)ret;
	if (out->n)
		out->attr[out->n - 1].value.p += CHARSET_PIECE << 8;
}

static void try_crash(struct out *out, struct extract_result *ret)
{
	(void)out, (void)ret;
	abort();
}

static const char *const points[] __attribute__((used, section("garner_fault_points"))) = {
	"parse.socket", "parse.file", "parse.memory", "parse.cpu", "parse.lie", "parse.crash"};
static void (*const tries[])(struct out *, struct extract_result *) = {
	try_socket, try_file, try_memory, try_cpu, try_lie, try_crash};

unsigned misbehaviours(void)
{
	unsigned which = 0;
	for (size_t i = 0; fault_armed && i < ARRAY_LEN(points); i++) {
		uint64_t before = fault_fired();
		(void)fault_pass(points[i], "");
		which |= fault_fired() > before ? 1u << i : 0;
	}
	return which;
}

void misbehave(unsigned which, struct out *out, struct extract_result *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		if (which & 1u << i)
			tries[i](out, ret);
}

#else

unsigned misbehaviours(void)
{
	return 0;
}

void misbehave(unsigned which, struct out *out, struct extract_result *ret)
{
	(void)which, (void)out, (void)ret;
}

#endif
