/* Faults: points where a test can make things fail. Builds without -Dfaults leave them out.
 * GARNER_FAULTS, read once at start, is a list "POINT[/TEXT]=ACTION[@N]" separated by commas: at
 * the N-th time (1) that a point is passed (by a file whose path contains TEXT), do the action:
 *   kill    SIGKILL to this process         enospc, eio   the call fails, nothing was done
 *   short   a write writes half, then fails with enospc
 *   slow    this thread waits 20 ms, so that others come before it (then a kill there, if any)
 *   lie     the program reports something untrue, at a point whose name begins with "lie."
 * "@N+" means that time and every later one. Points of the file layer: file.open, file.read,
 * file.write, file.sync, file.rename, file.truncate. Others are named where the state changes. */
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <stdatomic.h>

enum fault_action {
	FAULT_NONE,
	FAULT_KILL,
	FAULT_ENOSPC,
	FAULT_EIO,
	FAULT_SHORT,
	FAULT_SLOW,
	FAULT_LIE
};

#ifdef GARNER_FAULTS
extern atomic_bool fault_armed;
enum fault_action fault_pass(const char *point, const char *path); /* kills and waits by itself */

/* A named point at which a process can be killed: FAULT("journal.sync"). */
#define FAULT(point)                                                                     \
	do {                                                                             \
		static const char *const fault_here                                      \
			__attribute__((used, section("garner_fault_points"))) = (point); \
		if (UNLIKELY(fault_armed))                                               \
			(void)fault_pass(fault_here, "");                                \
	} while (0)
/* What the file layer asks before a call. */
#define FAULT_FILE(point, path) (UNLIKELY(fault_armed) ? fault_pass(point, path) : FAULT_NONE)
/* The same before a call that is done or not: true, and errno, as if the system had refused. */
#define FAULT_REFUSES(point, path) (UNLIKELY(fault_armed) && fault_refuses(point, path))
bool fault_refuses(const char *point, const char *path);
/* Whether the program must report something untrue here: FAULT_LIES("lie.url"). */
#define FAULT_LIES(point)                                                                \
	({                                                                               \
		static const char *const fault_here                                      \
			__attribute__((used, section("garner_fault_points"))) = (point); \
		UNLIKELY(fault_armed) && fault_pass(fault_here, "") == FAULT_LIE;        \
	})
#else
#define FAULT(point) ((void)0)
#define FAULT_LIES(point) false
#define FAULT_FILE(point, path) FAULT_NONE
#define FAULT_REFUSES(point, path) false
#endif

/* Reads the specification; NULL or "" disarms. An error names the part that is wrong, such as a
 * point that this program does not have, and disarms everything. Call it before there are threads,
 * or while none passes a point. */
int fault_arm(const char *spec, struct err *err);
/* How often an action was done since fault_arm(), so that a test can count up N until it is past
 * the last one. */
uint64_t fault_fired(void);
/* The names of all FAULT() points in this program, sorted, one a line. */
struct buf;
void fault_list(struct buf *out);
