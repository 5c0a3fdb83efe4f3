/* The locks of the door, each with its own system calls. The seccomp filter is written out as BPF:
 * it is forty lines, and libseccomp would be one library more in the smallest program. Landlock is
 * called by number, because the headers may be older than the kernel. Memory is bounded by
 * RLIMIT_DATA and, since that leaves out stacks and what is only read, by RLIMIT_AS. */
#include "extract/cage_door.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void door_silence(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
}

bool door_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool door_other_user(unsigned user, unsigned group)
{
	enum { NOBODY = 65534 };
	uid_t uid = user ? user : NOBODY;
	gid_t gid = group ? group : NOBODY;
	if (geteuid() != 0)
		return false;
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0;
}

size_t door_mapped(void)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	char text[64];
	struct err err;
	uint64_t pages;
	size_t n;
	if (file_open(&f, "/proc/self/statm", O_RDONLY, 0, &err) != 0 ||
	    file_read(&f, text, sizeof text, 0, &n, &err) < 0)
		return 0;
	struct str all = {text, n};
	if (!str_u64(str_head(all, str_find_byte(all, ' ')), &pages))
		return 0;
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* RLIMIT_DATA leaves out stacks and what is only read; but page tables are memory too. */
bool door_limits(size_t memory, size_t mapped, unsigned files)
{
	const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
		{RLIMIT_DATA, memory},  {RLIMIT_AS, mapped + memory},
		{RLIMIT_NOFILE, files}, {RLIMIT_NPROC, 0},
		{RLIMIT_FSIZE, 0},      {RLIMIT_CORE, 0},
		{RLIMIT_MEMLOCK, 0},    {RLIMIT_MSGQUEUE, 0},
	};
	bool all = mapped > 0; /* not known: not reported as held */
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		bool data = limits[i].resource == RLIMIT_DATA, as = limits[i].resource == RLIMIT_AS;
		if (((data || as) && (memory == 0 || DOOR_SANITIZED)) || (as && mapped == 0))
			continue;
		struct rlimit r = {limits[i].limit, limits[i].limit};
		all = setrlimit((__rlimit_resource_t)limits[i].resource, &r) == 0 && all;
	}
	return all;
}

/* Landlock: a set of rights that are handled and granted nowhere. The kernel's header may be older
 * than the kernel, so the numbers are here. */
struct landlock_rights {
	uint64_t files, net, scoped;
};

/* Files below the folder may be read. */
static bool landlock_let_read(int ruleset, const char *folder)
{
	enum { RULE_BENEATH = 1, READ_FILE = 4, READ_DIR = 8 };
	struct __attribute__((packed)) {
		uint64_t allowed;
		int32_t parent;
	} rule = {.allowed = READ_FILE | READ_DIR};
	struct file f = FILE_INIT;
	struct err ignored;
	if (file_open(&f, folder, O_PATH | O_DIRECTORY, 0, &ignored) < 0)
		return false;
	rule.parent = f.fd;
	bool done = syscall(SYS_landlock_add_rule, ruleset, RULE_BENEATH, &rule, 0) == 0;
	file_drop(&f);
	return done;
}

unsigned door_landlock(const char *folder)
{
	enum {
		VERSION_FLAG = 1,
		FILES_1 = 0x1fff,           /* all rights of version 1 */
		FILES_2 = FILES_1 | 0x2000, /* moving between folders */
		FILES_3 = FILES_2 | 0x4000, /* truncating */
		FILES_5 = FILES_3 | 0x8000, /* ioctl of devices */
		NET_4 = 3,                  /* binding and connecting TCP sockets */
		SCOPED_6 = 3,               /* abstract sockets of others, and signals to them */
	};
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
	if (version < 1)
		return 0;
	struct landlock_rights rights = {
		.files = version >= 5   ? FILES_5
			 : version >= 3 ? FILES_3
			 : version >= 2 ? FILES_2
					: FILES_1,
		.net = version >= 4 ? NET_4 : 0,
		.scoped = version >= 6 ? SCOPED_6 : 0,
	};
	size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
	long fd = syscall(SYS_landlock_create_ruleset, &rights, size, 0);
	if (fd < 0)
		return 0;
	bool held = (!folder || landlock_let_read((int)fd, folder)) &&
		    syscall(SYS_landlock_restrict_self, fd, 0) == 0;
	close((int)fd);
	if (!held)
		return 0;
	return CAGE_LANDLOCK | (rights.net ? (unsigned)CAGE_LANDLOCK_NET : 0);
}

/* Seccomp: a program of classic BPF, put together from this table. */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

static const int allowed[] = {
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_madvise,
	SYS_futex,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_getpid,
	SYS_gettid,
	SYS_rt_sigreturn,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_sched_yield,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
#if DOOR_SANITIZED
	SYS_sigaltstack,
	SYS_clock_nanosleep,
	SYS_set_robust_list,
	SYS_prctl,
	SYS_mmap,
	SYS_mprotect,
#endif
};

/* What libraries ask in passing and can do without. All others end the process. */
static const int refused[] = {
	SYS_openat, SYS_newfstatat, SYS_fstat,  SYS_faccessat, SYS_readlinkat,        SYS_lseek,
	SYS_close,  SYS_ioctl,      SYS_fcntl,  SYS_prlimit64, SYS_sysinfo,           SYS_uname,
	SYS_getuid, SYS_geteuid,    SYS_getgid, SYS_getegid,   SYS_sched_getaffinity,
#ifdef SYS_open
	SYS_open,   SYS_stat,       SYS_lstat,  SYS_access,    SYS_readlink,          SYS_getrlimit,
#endif
};

enum { PROGRAM_MAX = 192 };
struct program {
	struct sock_filter op[PROGRAM_MAX];
	unsigned short n;
};

static void bpf_emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	ENSURE(p->n < PROGRAM_MAX);
	p->op[p->n++] = (struct sock_filter){code, yes, no, k};
}
static void bpf_load(struct program *p, size_t offset)
{
	bpf_emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}
static void bpf_load_argument(struct program *p, size_t i)
{
	bpf_load(p, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t)); /* its low half */
}
static void bpf_return(struct program *p, uint32_t with)
{
	bpf_emit(p, BPF_RET | BPF_K, with, 0, 0);
}
static void bpf_on_call(struct program *p, int number, uint32_t with)
{
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
	bpf_return(p, with);
}

/* Only on this descriptor, or on the other one (-1: none). */
static void bpf_on_descriptor(struct program *p, int number, int fd, int other)
{
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
	bpf_load_argument(p, 0);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)fd, 1, 0);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(other < 0 ? fd : other), 0, 1);
	bpf_return(p, SECCOMP_RET_ALLOW);
	bpf_return(p, SECCOMP_RET_KILL_PROCESS);
}

/* Only private memory that the limits count (a stack is not counted), and none to be executed. */
static void bpf_on_mapping(struct program *p)
{
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 7);
	bpf_load_argument(p, 2);
	bpf_emit(p, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 4, 0);
	bpf_load_argument(p, 3);
	bpf_emit(p, BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)MAP_NORESERVE, 0, 0);
	bpf_emit(p, BPF_JMP | BPF_JEQ | BPF_K, MAP_PRIVATE | MAP_ANONYMOUS, 0, 1);
	bpf_return(p, SECCOMP_RET_ALLOW);
	bpf_return(p, SECCOMP_RET_ERRNO | EACCES);
}

bool door_seccomp(struct door_ends ends)
{
	struct program p = {.n = 0};
	bpf_load(&p, offsetof(struct seccomp_data, arch));
	bpf_emit(&p, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	bpf_return(&p, SECCOMP_RET_KILL_PROCESS);
	bpf_load(&p, offsetof(struct seccomp_data, nr));
	/* the most frequent first */
	bpf_on_descriptor(&p, SYS_read, ends.in, -1);
	bpf_on_descriptor(&p, SYS_write, ends.out, STDERR_FILENO);
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		bpf_on_call(&p, allowed[i], SECCOMP_RET_ALLOW);
	ENSURE(ends.ncalls <= DOOR_CALLS_MOST);
	for (size_t i = 0; i < ends.ncalls; i++)
		bpf_on_call(&p, ends.calls[i], SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		bpf_on_call(&p, refused[i], SECCOMP_RET_ERRNO | EACCES);
	if (!DOOR_SANITIZED) {
		/* documents stay read-only, and nothing can be made executable */
		bpf_on_call(&p, SYS_mprotect, SECCOMP_RET_ERRNO | EACCES);
		bpf_on_mapping(&p);
	}
	/* abort() */
	bpf_on_descriptor(&p, SYS_tgkill, (int)getpid(), -1);
	bpf_return(&p, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog program = {.len = p.n, .filter = p.op};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#else

bool door_seccomp(struct door_ends ends)
{
	(void)ends;
	return false;
}

#endif

unsigned door_shut(size_t memory, struct door_ends ends)
{
	unsigned held = 0;
	size_t mapped = door_mapped();
	held |= door_other_user(ends.user, ends.group) ? (unsigned)CAGE_OTHER_USER : 0;
	/* after the change of user, which would undo it: when the owner dies, so do we */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	held |= door_no_new_privileges() ? (unsigned)CAGE_NO_NEW_PRIVILEGES : 0;
	held |= door_landlock(NULL);
	held |= door_limits(memory, mapped, ends.files) ? (unsigned)CAGE_LIMITS : 0;
	held |= door_seccomp(ends) ? (unsigned)CAGE_SECCOMP : 0;
	return held;
}
