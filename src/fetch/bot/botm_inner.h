/* The parts of a botm, for its own files: botm_core.c (jobs and answers), botm_hosts.c (which child
 * a job goes to), botm_child.c (those that connect), botm_source.c (the one that it connects to),
 * botm_keep.c (names and the disk). */
#pragma once
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "fetch/bot/botm_core.h"
#include "fetch/bot/botm_names.h"
#include "fetch/bot_wire.h"
#include "net/outgoing.h"
#include "net/sync_group.h"

enum {
	BOTM_ROUTES_MAX = 10000, /* botms below one */
	BOTM_BURST = 64 << 10,   /* bytes of jobs that a child is given in one round */
};

/* Limits on what is queued in memory. At the limit of deletes or URLs the botm stops reading from
 * the source. At the limit of unacknowledged answers, or while the source does not read, robots get
 * no jobs and botms below are not read. Each resumes when a quarter has been worked off. */
struct botm_bounds {
	uint64_t answer_bytes, job_bytes;
	uint64_t deletes;
};

struct botm_child;

/* A URL that is queued, or that a child has. */
struct botm_job {
	struct link link;         /* of the queue, or of its child */
	struct botm_child *child; /* NULL: queued */
	struct botm_name name;    /* generation 0: none, or not yet */
	size_t host;              /* botm_host_of() */
	int64_t since_us;         /* when it came */
	struct str id, text;      /* in this block; the message up to its "/>" */
};

/* An answer that the source has not acknowledged yet. Several may have the same id, when a URL went
 * to two machines. */
struct botm_answer {
	struct link link;                   /* of the unsent answers, or of the sent ones */
	struct botm_answer *next;           /* with the same id */
	struct botm_name name;              /* generation 0: not our file */
	struct str id, machine, file, text; /* in this block */
};

/* A botm somewhere below. */
struct botm_route {
	struct link link; /* of its child */
	struct botm_child *child;
	char machine[BOT_ID_MAX + 1], node[BOT_ID_MAX + 1]; /* machine "": it has none */
};

/* A delete that was passed to a child. */
struct botm_deletion {
	struct link link; /* of its child */
	struct botm_child *child;
	char id[BOT_ID_MAX + 1];
};

/* A connected robot or botm; part of its session. */
struct botm_child {
	struct botm *b;
	struct session *session;
	struct bot_reader *reader;
	struct link link;  /* of all */
	struct link ready; /* of the children with room */
	struct link jobs, routes, deletions;
	uint64_t capacity, out;
	size_t pending;            /* bytes of jobs about to be sent to it */
	int64_t heard_us, held_us; /* since when it is not read; 0: it is read */
	bool is_met, is_choked, is_gone, has_lied;
	char node[BOT_ID_MAX + 1]; /* of a botm */
};

TABLE(botm_jobs, struct str, struct botm_job *, hash64, str_eq)
TABLE(botm_answer_ids, struct str, struct botm_answer *, hash64, str_eq)
TABLE(botm_answer_names, uint64_t, struct botm_answer *, hash_u64, table_same_u64)
TABLE(botm_route_ids, struct str, struct botm_route *, hash64, str_eq)
TABLE(botm_deletion_ids, struct str, struct botm_deletion *, hash64, str_eq)

/* A file to remove; its name is free afterwards. */
struct botm_removal {
	struct link link;
	struct botm_name name;
	char id[BOT_ID_MAX +
		1];    /* of the delete that is to be answered; "": the source dropped it */
	int sys_errno; /* why removing failed; 0: removed */
	bool is_free;  /* the name: the file was there, and no other has its number */
};

/* Names, and the thread that removes files. */
struct botm_keep {
	struct botm_names *names; /* NULL: no folder */
	struct sync_group sync;
	uint64_t ndeletes;          /* removals that the source waits for */
	bool has_failed;            /* the last removal */
	struct link removals, busy; /* queued for the next turn; under way */
};

struct botm {
	struct botm_options o;
	struct botm_bounds most;
	struct botm_counts counts;
	char node[2 * 16 + 1];
	struct server_limits limits;
	struct server *server;
	struct conn_limits source_limits;
	struct conn_pool *pool;
	struct outgoing *source;
	struct bot_reader *reader; /* of the source; NULL: not connected */
	bool is_choked;            /* it does not read */
	bool is_left;              /* we disconnected it */
	bool told_away;
	bool is_held; /* the source is not read */
	bool is_full; /* of answers */
	uint64_t told_capacity;
	struct link children, ready;
	struct botm_child **host; /* that has it; NULL: none */
	uint64_t capacity;
	struct link queue;
	struct botm_jobs jobs;
	uint64_t job_bytes;
	struct botm_answer_ids answers;
	struct botm_answer_names by_name; /* by number: those with a file of ours */
	struct link unsent, sent;         /* answers */
	uint64_t nanswers, answer_bytes;
	struct botm_route_ids by_node, by_machine;
	struct botm_deletion_ids deletions;
	struct botm_keep keep;
	struct loop_later dispatch, tell;
	struct loop_timer beat, patience;
	struct buf out;         /* of one message */
	struct botm_job **todo; /* of one dispatch */
	size_t ntodo, todo_room;
};

void botm_fail(struct botm *b, const struct err *err);

/* botm_core.c */
void botm_take_fetch(struct botm *b, const struct bot_message *m);
void botm_dispatch_soon(struct botm *b);
void botm_job_end(struct botm *b, struct botm_job *job);   /* frees the room at its child, if any */
void botm_job_again(struct botm *b, struct botm_job *job); /* queues it again: its child is gone */
void botm_queue_forget(struct botm *b);
void botm_answer_add(struct botm *b, const struct bot_message *m, struct botm_name name);
bool botm_answer_known(const struct botm *b, const struct bot_message *m);
void botm_answer_forget(struct botm *b, struct botm_answer *a);
void botm_take_verdict(struct botm *b, const struct bot_message *m); /* kept, dropped */
void botm_take_delete(struct botm *b, const struct bot_message *m);
void botm_bounds_look(struct botm *b); /* after more or fewer wait */

/* botm_hosts.c */
void botm_hosts_open(struct botm *b);
void botm_hosts_close(struct botm *b);
size_t botm_host_of(struct str url);
/* Picks the child for a job; at least one child has room. NULL: the job waits for the child that
 * has its host; *ret_wait_us is lowered to the end of that wait. */
struct botm_child *botm_host_child(struct botm *b, const struct botm_job *job, int64_t now_us,
				   int64_t *ret_wait_us);
void botm_hosts_share(struct botm *b); /* again, because a child has connected */
void botm_hosts_forget(struct botm *b, const struct botm_child *c);

/* botm_child.c */
extern const struct server_protocol botm_protocol;
void botm_child_ready(struct botm_child *c); /* updates the list of children with room */
void botm_child_send(struct botm_child *c, const struct bot_message *m);
void botm_children_check(struct botm *b); /* disconnects silent ones */
void botm_children_hold(struct botm *b);  /* pauses or resumes reading from botms */

/* botm_source.c */
int botm_source_open(struct botm *b, struct err *err);
void botm_source_close(struct botm *b);
void botm_source_send(struct botm *b, const struct bot_message *m);
void botm_source_pump(struct botm *b); /* sends answers */
void botm_source_hold(struct botm *b, bool is_held);
void botm_source_hang_up(struct botm *b, const char *why);
void botm_tell_soon(struct botm *b); /* the capacity, if it has changed */
void botm_tell_run(void *b);
void botm_tell_route(struct botm *b, const struct botm_route *r, bool is_up);
void botm_tell_deleted(struct botm *b, struct str id, enum bot_deletion how);

/* botm_keep.c; all are for a botm with a folder. */
int botm_keep_open(struct botm *b, struct err *err);
void botm_keep_close(struct botm *b);
/* Adds an answer with its file. */
void botm_keep_answer(struct botm *b, const struct bot_message *m, struct botm_name name);
void botm_keep_remove(struct botm *b, struct botm_name name, struct str id);
void botm_keep_unused(struct botm *b,
		      struct botm_name name); /* given to a robot that stored nothing */
void botm_file_path(const struct botm *b, struct botm_name name, struct buf *ret);
/* Whether the file is as an answer says; m NULL: whether anything is there. */
bool botm_file_there(const struct botm *b, struct botm_name name, const struct bot_message *m);
