/* What a worker gives up before it sees a document. Each lock holds by itself; where the kernel
 * lacks one, the others hold, and the owner is told. */
#pragma once
#include "extract/cage.h"

/* The sanitizers need memory and system calls of their own; their builds prove other things. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DOOR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DOOR_SANITIZED 1
#endif
#endif
#ifndef DOOR_SANITIZED
#define DOOR_SANITIZED 0
#endif

/* Standard error leads nowhere: from now on a document could be speaking. */
void door_silence(void);

/* What can still be used: one descriptor is read, one is written, and standard error. The rest is
 * for those who need more than to compute; zeroes are nothing more. */
struct door_ends {
	int in, out;
	const int *calls;     /* system calls that are let through, whatever their arguments */
	size_t ncalls;        /* at most DOOR_CALLS_MOST */
	unsigned files;       /* numbers of descriptors that may be used: 8 are those from 0 to 7 */
	unsigned user, group; /* whom root becomes; 0: nobody */
};
enum { DOOR_CALLS_MOST = 16 };

/* Shuts all of them, for good. Returns the enum cage_locks that hold. memory: bytes, 0: no limit.
 */
unsigned door_shut(size_t memory, struct door_ends ends);

/* One by one, for tests; each true when it holds. */
bool door_no_new_privileges(void);
bool door_other_user(unsigned user, unsigned group);
bool door_limits(size_t memory, size_t mapped, unsigned files);
size_t door_mapped(void); /* bytes of addresses in use; 0: not known */
/* CAGE_LANDLOCK, CAGE_LANDLOCK_NET. folder: where files may still be read; NULL: nowhere. */
unsigned door_landlock(const char *folder);
bool door_seccomp(struct door_ends ends);
