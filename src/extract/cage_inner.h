/* The inside of the cage: what owner and worker say to each other, and what the owner knows. */
#pragma once
#include "base/file.h"
#include "extract/cage.h"

#include <sys/types.h>
#include <time.h>

/* What they say: bytes in shared memory, and packets on a socket that say whose turn it is. Both
 * sides are of one build and on one machine; the owner checks all of it before it believes it. */

enum {
	CAGE_MAGIC = 0x67524331,
	CAGE_SOCKET_FD = 3,
	CAGE_MEMORY_FD = 4,
};

/* The worker's first packet. */
struct cage_hello {
	uint32_t magic, locks;
	char remark[256]; /* ends in NUL */
};

/* Documents are sent several to a packet, and so are answers: waking the other side costs as much
 * as reading some kilobytes. */
struct cage_packet {
	uint32_t magic, n;
};
struct cage_calls {
	struct cage_packet head;
	uint32_t slot[CAGE_SLOTS]; /* the first n */
};

/* A document, in its slot: this, then the four texts one after the other, then the body. */
struct cage_call {
	uint64_t body_n, links_max;
	uint32_t noscript;
	uint32_t url_n, content_type_n, charset_n, robots_n; /* together at most CAGE_HEADER_MAX */
};

/* The answer. Pointers to names in struct extract_result travel as text. */
struct cage_answer {
	uint32_t slot;
	uint32_t n; /* attributes */
	uint32_t type, charset_source, flags;
	uint64_t side_n, text_n;
	uint64_t bad_bytes, tokens, links, links_left_out;
	uint32_t remark; /* 1 + the attribute that is the remark; 0: none */
	char media_type[80], charset[CHARSET_NAME_MAX];
};

/* An attribute, in the place where out_begin() puts the list: offsets from the memory's start. */
struct cage_entry {
	uint32_t at, n;
	uint32_t name;
};

/* Which document the worker is reading, in a page after the slots: the owner looks only to know
 * which one a death was about. */
struct cage_progress {
	uint32_t slot;
};

/* A slot: the call, the body and the output, each in whole pages. The worker may write the output
 * only. */
enum {
	CAGE_PAGE = 4096,
	CAGE_CALL_ROOM = (sizeof(struct cage_call) + CAGE_HEADER_MAX + CAGE_PAGE - 1) &
			 ~(size_t)(CAGE_PAGE - 1),
};
static inline size_t cage_body_room(size_t body_max)
{
	return (MAX(body_max, 1u) + CAGE_PAGE - 1) & ~(size_t)(CAGE_PAGE - 1);
}
static inline size_t cage_slot_size(size_t body_max)
{
	return CAGE_CALL_ROOM + cage_body_room(body_max) + CAGE_OUT;
}
static inline size_t cage_memory_size(size_t body_max)
{
	return CAGE_SLOTS * cage_slot_size(body_max) + CAGE_PAGE;
}

/* The owner's side. */

struct cage_worker;

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_QUEUED };

struct slot {
	struct cage_slot lent; /* first: what callers hold */
	struct cage_worker *worker;
	unsigned index;
	enum slot_state state;
	cage_done_fn *done;
	void *ctx;
	size_t body_n;
};

enum worker_state {
	WORKER_NONE, /* not running; due_us: when to try again */
	WORKER_STARTS,
	WORKER_READY,
};

struct cage_worker {
	enum worker_state state;
	pid_t pid;
	int fd; /* the socket; -1: none */
	struct file memory;
	char *map;
	struct slot slot[CAGE_SLOTS];
	struct slot *queue[CAGE_SLOTS]; /* what it has to read, in this order */
	size_t queued, sent;            /* the first `sent` of them have been sent */
	const struct cage_progress *progress;
	unsigned failures; /* failed starts in a row */
	uint32_t locks;
	int64_t since_us, due_us; /* of the current document, or of the start */
	int64_t cpu_us;           /* its clock when it began */
	clockid_t clock;
	char remark[sizeof(((struct cage_hello *)0)->remark)];
};

struct cage {
	struct cage_options options;
	char *program;
	int epoll, timer;
	int64_t timer_us; /* when it goes off; INT64_MAX: it does not */
	size_t nworkers;
	struct cage_worker *worker;
	uint64_t started; /* workers, in all */
	struct err last;  /* why no worker could be started */
	/* The result that is being reported. */
	char *copy;
	size_t copy_room, attrs_room;
	struct attr *attrs;
};

/* Checks an answer and copies what it says out of the shared memory; ret->attrs are then safe from
 * the worker. Negative: it makes no sense. */
int cage_take_answer(struct cage *c, const struct cage_worker *w, const struct cage_answer *a,
		     struct cage_result *ret, struct err *err);
