/* What the parts of uns_out.h share: sets, and the jobs of threads. */
#pragma once
#include "cache/uns/uns_inner.h"
#include "cache/uns/uns_number.h"
#include "net/outgoing.h"

struct out_set {
	struct link link;
	struct unsdb_set set;
	struct uns_spool *spool;
	uns_settled_fn *fn;
	void *ctx;
	bool is_read;    /* by a thread */
	bool is_settled; /* and is to be freed after that */
};

/* What was sent, or is being. */
struct flying {
	struct link link;
	struct out_set *set; /* NULL: it is in unsdb */
	uint64_t number, provider, bytes;
};

/* What is being sent. */
struct sending {
	struct flying *f; /* NULL: nothing */
	uint64_t at;      /* in its spool, or in unsdb */
};

struct reading {
	struct pool_job job;
	bool is_busy;
	unsigned long turn; /* of the link for which it is done */
	struct out_set *set;
	uint64_t at;
	struct buf out;
	int rc; /* 1: the set ends with it */
	struct err err;
};

struct storing {
	struct pool_job job;
	struct out_set *set; /* NULL: nothing is being stored */
	uint64_t at;
	int rc;
	struct err err;
};

struct lost_list {
	uint64_t *provider;
	size_t n, room;
};

struct taking {
	struct pool_job job;
	bool is_busy;
	uint64_t due, n;            /* to be taken; by the job */
	struct lost_list lost, now; /* whose were refused; by the job */
	int rc;
	struct err err;
};

struct uns_out {
	struct uns *u;
	pthread_mutex_t numbering;
	struct small *small;      /* where `number` is kept; numbering */
	struct uns_number number; /* its next one: numbering */
	uint64_t below;           /* numbers up to this one are reserved; numbering */
	struct unsdb *unsdb;
	struct outgoing *link;
	struct conn *conn; /* NULL: not up */
	struct loop_timer greeting;
	bool is_here;          /* the queue manager takes sets */
	char why_dropped[128]; /* the link, which is ending; "": it is not */
	bool is_choked, is_stopped;
	unsigned long turn;
	struct link passing, to_store, flying;
	uint64_t flying_bytes, drained_to;
	struct sending sending;
	struct reading reading;
	struct storing storing;
	struct taking taking;
	struct uns_out_counts counts;
	bool has_failed;    /* to store, and that was logged */
	char why_away[128]; /* as logged last */
};

/* uns_out.c */
void uns_out_settle(struct uns_out *o, struct out_set *s, unsigned code, const char *text);
void uns_out_set_free(struct out_set *s);
void uns_out_store_next(struct uns_out *o);

/* uns_out_send.c */
void uns_out_pump(struct uns_out *o);
void uns_out_on_here(struct uns_out *o);
/* What was not answered is to be sent again. */
void uns_out_on_away(struct uns_out *o, const char *why);
void uns_out_on_room(struct uns_out *o); /* after conn_send() said false */
/* code 0: it has the set. */
void uns_out_on_answer(struct uns_out *o, uint64_t number, unsigned code, struct str text);

/* uns_link.c */
int uns_out_connect(struct uns_out *o, struct err *err);
bool uns_out_is_here(const struct uns_out *o);
/* The queue manager said what it may not; uns_out_on_away() follows. */
void uns_out_drop(struct uns_out *o, const char *why);
