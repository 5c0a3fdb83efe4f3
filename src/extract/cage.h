/* The cage: foreign documents are read by garner-parse, in workers that live long and may do
 * nothing but compute. A document is put into a slot of memory that is shared with one worker, and
 * its attributes come back the same way. The owner never waits: it watches one descriptor. A worker
 * that dies, breaks the rules or takes too long is replaced, and its document ends without text.
 * Owned by one thread; what became of a document is reported by a callback, from cage_poll() only.
 */
#pragma once
#include "extract/extract.h"

enum {
	CAGE_SLOTS = 16, /* of each worker: half are read while the others are filled */
	CAGE_WORKERS_MAX = 64,
	CAGE_OUT = 16 << 20, /* room for the attributes of one document */
	CAGE_HEADER_MAX =
		8 << 10, /* bytes of URL, headers and hint together; what is longer is cut */
};

struct cage_options {
	const char *program; /* the path of garner-parse */
	unsigned workers;    /* at least 1 */
	size_t body_max;     /* bytes of a document */
	size_t memory;       /* bytes that a worker may use in addition to its slots */
	int64_t cpu_us;      /* CPU time for one document; ten times as long by the clock */
	struct extract_settings settings;
};
extern const struct cage_options cage_defaults; /* all but the program */

/* What became of a document. */
enum cage_end {
	CAGE_READ,
	CAGE_DIED,      /* its worker did */
	CAGE_OVERRAN,   /* its worker was ended after cpu_us */
	CAGE_BROKE,     /* its worker's answer made no sense; it was ended */
	CAGE_NO_WORKER, /* none can be started */
	CAGE_ENDS
};
const char *cage_end_name(enum cage_end end);

struct cage_result {
	enum cage_end end;
	struct attrs attrs; /* without text: size and a remark */
	struct extract_result result;
	const char *reason; /* of all but CAGE_READ; else "" */
	int64_t cpu_us;     /* of the worker, for this document */
};
/* All of *r belongs to the cage and is gone after the call. May take slots and submit. */
typedef void cage_done_fn(void *ctx, const struct cage_result *r);

/* What a worker has given up; less on kernels that lack some of it. */
enum cage_locks {
	CAGE_NO_NEW_PRIVILEGES = 1,
	CAGE_OTHER_USER = 2, /* was root, is nobody */
	CAGE_LIMITS = 4,     /* memory, descriptors, processes, files, core */
	CAGE_LANDLOCK = 8,   /* no files */
	CAGE_LANDLOCK_NET = 16,
	CAGE_SECCOMP = 32, /* no system calls but those that computing needs */
};

struct cage;
struct cage_slot {
	char *body; /* room for the document */
	size_t body_max;
};

/* Starts the workers, which get ready by themselves. Fails when none can be started. */
int cage_new(struct cage **ret, const struct cage_options *options, int64_t now_us,
	     struct err *err);
/* Ends the workers; documents under way are forgotten, without a call. */
void cage_free(struct cage **c);

/* A slot to put a document into. 1: all are in use. */
int cage_take(struct cage *c, struct cage_slot **ret);
/* Has the first job->body.n bytes of the slot read; job->body.p does not count. */
void cage_submit(struct cage *c, struct cage_slot *slot, const struct extract_job *job,
		 cage_done_fn *done, void *ctx, int64_t now_us);

/* Readable when cage_poll() has something to do: an answer, a death, or time that is over. */
int cage_fd(const struct cage *c);
void cage_poll(struct cage *c, int64_t now_us);
size_t cage_under_way(const struct cage *c);
/* What the workers that are ready have all given up, enum cage_locks; 1: none is ready yet.
 * *ret_remark: what a worker could not load, "" when nothing is missing. */
int cage_locks(const struct cage *c, unsigned *ret, const char **ret_remark);
