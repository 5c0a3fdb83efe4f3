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

static void try_socket(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	extract_remark(out, ret, "socket: %s", fd < 0 ? strerror(errno) : "opened");
}

static void try_file(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job;
	long fd = syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
	extract_remark(out, ret, "file: %s", fd < 0 ? strerror(errno) : "opened");
}

enum { STEP = 64 << 20 };

static const char *ask_mapping(size_t n, int rights, int kind)
{
	void *p = mmap(NULL, n, rights, kind | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return "refused";
	munmap(p, n);
	return "given";
}

/* Until it is refused: touched memory; and what counts elsewhere: shared memory, stacks, and room
 * for addresses, whose tables are memory too. */
static void try_memory(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	enum { STEPS = 256 };
	size_t got = 0;
	(void)job;
	for (; got < STEPS; got++) {
		char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		if (p == MAP_FAILED)
			break;
		memset(p, 1, STEP);
	}
	extract_remark(out, ret, "memory: %s after %zu MB, stack %s, addresses %s, shared %s",
		       got < STEPS ? "refused" : "given", got * (STEP >> 20),
		       ask_mapping(STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN),
		       ask_mapping((size_t)64 << 30, PROT_READ, MAP_PRIVATE),
		       ask_mapping(STEP, PROT_READ | PROT_WRITE, MAP_SHARED));
}

/* The document, which it may only read. */
static void try_body(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	uintptr_t page = (uintptr_t)job->body.p & ~(uintptr_t)4095;
	int rc = mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
	extract_remark(out, ret, "body: %s", rc < 0 ? strerror(errno) : "opened");
}

static void try_cpu(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)out, (void)ret;
	for (volatile uint64_t i = 0;; i++)
		;
}

/* An answer whose attributes lie outside. */
static void try_lie(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)ret;
	if (out->n)
		out->attr[out->n - 1].value.p += CHARSET_PIECE << 8;
}

/* A letter that is not for it to say. */
static void try_letter(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)ret;
	out_add(out, 'U', STR("http://other/"));
}

/* A value that would be two. */
static void try_line(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)ret;
	out_add(out, 'R', STR("http://a/\nUhttp://other/"));
}

/* Text that is none. */
static void try_bytes(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)ret;
	out_add(out, 'X', STR("\xff"));
}

static void try_crash(const struct extract_job *job, struct out *out, struct extract_result *ret)
{
	(void)job, (void)out, (void)ret;
	abort();
}

static const char *const points[] __attribute__((used, section("garner_fault_points"))) = {
	"parse.socket", "parse.file",   "parse.memory", "parse.body",  "parse.cpu",  "parse.lie",
	"parse.crash",  "parse.letter", "parse.line",   "parse.bytes", "parse.idle", "parse.leave"};
enum { IDLE = 10, LEAVE = 11 }; /* these two are for when it has nothing to do */
static void (*const tries[])(const struct extract_job *, struct out *, struct extract_result *) = {
	try_socket, try_file,  try_memory, try_body, try_cpu,
	try_lie,    try_crash, try_letter, try_line, try_bytes};

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

void misbehave(unsigned which, const struct extract_job *job, struct out *out,
	       struct extract_result *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		if (which & 1u << i)
			tries[i](job, out, ret);
}

void misbehave_idle(unsigned which)
{
	volatile uint64_t turns = 0;
	if (which & 1u << IDLE)
		for (;;)
			turns++;
	if (which & 1u << LEAVE)
		abort();
}

#else

unsigned misbehaviours(void)
{
	return 0;
}

void misbehave(unsigned which, const struct extract_job *job, struct out *out,
	       struct extract_result *ret)
{
	(void)which, (void)job, (void)out, (void)ret;
}

void misbehave_idle(unsigned which)
{
	(void)which;
}

#endif
