/* A garner-parse that tries what a worker must not, to prove the cage: PARSE_TRICK names what. What
 * comes of it is a remark in the output, or the end of the process. */
#include "extract/cage_worker.h"
#include "extract/readers_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* These two are for when it has nothing to do. */

static void idle_cpu(void)
{
	for (volatile uint64_t i = 0;; i++)
		;
}

static void idle_leave(void)
{
	abort();
}

static const struct {
	const char *name;
	struct cage_tricks does;
} tricks[] = {
	{"socket", {.after_read = try_socket}}, {"file", {.after_read = try_file}},
	{"memory", {.after_read = try_memory}}, {"body", {.after_read = try_body}},
	{"cpu", {.after_read = try_cpu}},       {"lie", {.after_read = try_lie}},
	{"crash", {.after_read = try_crash}},   {"letter", {.after_read = try_letter}},
	{"line", {.after_read = try_line}},     {"bytes", {.after_read = try_bytes}},
	{"idle", {.before_wait = idle_cpu}},    {"leave", {.before_wait = idle_leave}},
};

/* Without PARSE_TRICK it is a good worker. */
int main(int argc, char **argv)
{
	const char *trick = getenv("PARSE_TRICK");
	const struct cage_tricks *does = NULL;
	uint64_t body_max, memory;
	struct err err;
	for (size_t i = 0; trick && i < ARRAY_LEN(tricks); i++)
		if (str_is(str_of(trick), tricks[i].name))
			does = &tricks[i].does;
	if (argc != 4 || (trick && !does) || !str_u64(str_of(argv[2]), &body_max) ||
	    !str_u64(str_of(argv[3]), &memory))
		return ERR_USAGE;
	return cage_work((size_t)body_max, (size_t)memory, does, &err) < 0 ? (int)err.code : 0;
}
