/* Inside of the getter: visits of sites (getter.c), the listing as it comes in (getter_file.c),
 * what LIST says (getter_read.c), walks (walk.c). */
#pragma once
#include "archie/getter.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "disk/lock.h"
#include "extract/listing.h"
#include "fetch/hostq.h"

enum {
	GETTER_SMALLEST = 100,       /* a listing is larger than this */
	GETTER_LIST_MOST = 64 << 20, /* bytes of what LIST says of one folder */
};

/* The listing of a visit, as it comes in: archie/tmp/KEY. */
struct getter_file {
	struct robot_sink sink;
	struct visit *visit;
	struct file file;
	uint64_t n;
	bool is_ready;    /* ready-made: it must be newer, and look like one */
	unsigned refused; /* enum getter_cause, of what we did not want; 0: nothing */
	bool is_old;      /* it is not newer than the last one */
	uint64_t checked; /* up to here there was room on the disk */
};
void getter_file_init(struct getter_file *f, struct visit *v);
/* An empty one, in place of what is there. */
int getter_file_begin(struct getter_file *f, struct err *err);
int getter_file_add(struct getter_file *f, struct str bytes, struct err *err);
/* Syncs it, and gives it its name in archie/lslr. */
int getter_file_finish(struct getter_file *f, struct str key, int64_t listed_us, struct err *err);
/* What there is of it goes to archie/failed; nothing where there is nothing. */
void getter_file_fail(struct getter_file *f);
void getter_file_drop(struct getter_file *f);

struct task;
/* rc as of listing_run_next(): 1, or negative with an error. */
typedef void getter_read_fn(struct task *t, int rc, const struct listing_stats *stats,
			    const struct err *err);

/* A URL of a visit that waits, is out, or is being read. */
struct task {
	struct visit *visit;
	struct hostq_job job;
	unsigned flags; /* of the robot */
	struct robot_sink *sink;
	struct robot_memory_sink memory; /* of a walk: the page */
	struct buf body;
	struct str path; /* of a walk: below the site, without a slash at its ends */
	void (*done)(struct task *t, const struct robot_result *r);
	struct str url;      /* in the visit's arena */
	struct link reading; /* those whose page or listing waits for the cage, or is in it */
	struct str page_url, content_type;
	struct file list; /* of a walk: what LIST said */
	void (*entry)(struct task *t, const struct listing_entry *e);
	getter_read_fn *read;
};

/* Folders of a walk, and what tells that two are the same one; 0: nothing does. */
TABLE(walk_paths, struct str, uint64_t, hash64, str_eq)

/* A site that is being visited. */
struct visit {
	struct getter *getter;
	struct link link;
	struct arena arena;
	struct archie_site site; /* in the arena; name and address as they are found */
	struct str key;          /* as listed */
	bool moved;              /* name or address are not those of the list */
	struct dns_wait dns;
	struct loop_timer deadline;
	int64_t begun_us, deadline_us; /* wall clock; the loop's */
	int64_t since_us;              /* when the last listing was made; -1: there is none */
	bool has_current;              /* the database is of that listing, or will be */
	bool has_source;               /* it was ready-made, and called: */
	char source[GETTER_FILE + 1];
	char ready[GETTER_FILE + 1]; /* the one that is tried, below the URL of the site */
	int64_t ready_us;            /* when that was made */
	unsigned step;               /* the next try */
	size_t tasks;
	bool ended;
	struct getter_file file;
	uint64_t bytes, dirs; /* received; folders that LIST -lR tells of */
	/* What went wrong last. */
	unsigned cause;
	char why[GETTER_TEXT + 1];
	/* The walk. */
	struct walk_paths paths;
	uint64_t folders, entries;
	bool cut, root_done; /* cut: it does not tell of everything there is */
};

struct getter {
	struct getter_options o;
	struct lock lock;
	struct hostq *queue;
	struct loop_timer pump;
	struct loop_later later;
	struct cage *cage; /* made when the first index page comes */
	struct loop_io cage_io;
	struct link reading, in_cage; /* struct task */
	struct listing_run *run;      /* what LIST said to `read` */
	struct loop_io run_io;
	struct loop_timer run_timer;
	struct task *read;
	struct link lists;           /* struct task: they wait for their turn */
	struct link waiting, visits; /* struct visit */
	struct small *small;         /* NULL: nothing is remembered */
	struct getter_state state;
	struct getter_counts counts;
	bool going, stopping;
};

/* getter.c */
void task_push(struct visit *v, struct task *t);
struct task *task_new(struct visit *v, struct str url,
		      void (*done)(struct task *, const struct robot_result *));
void task_free(struct task *t);
void visit_note(struct visit *v, unsigned cause, const char *why);
void visit_note_result(struct visit *v, const struct robot_result *r);
/* The visit ends with what was noted last. */
void visit_fail(struct visit *v);
void visit_complete(struct visit *v, enum getter_method method, int64_t listed_us);
void visit_unchanged(struct visit *v);
/* Call it after anything that may end a visit: frees the visit once none of its tasks is left. */
void visit_settle(struct visit *v);
/* Whether nothing else of this site need be tried now. */
bool result_is_site(const struct robot_result *r);

/* getter_read.c */
/* Reads task->list, or the visit's file where there is none, in the cage. done() is called later,
 * unless the visit has ended, in which case the task goes. */
void getter_read(struct task *t, void (*entry)(struct task *, const struct listing_entry *),
		 getter_read_fn *done);
void getter_read_close(struct getter *g);

/* walk.c */
void walk_begin(struct visit *v);
void walk_end(struct visit *v); /* what belongs to it is freed */
void walk_cage_close(struct getter *g);
