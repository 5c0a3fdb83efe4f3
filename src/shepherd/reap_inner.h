/* Inside of reap. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "fetch/hostq.h"
#include "shepherd/reap.h"
#include "shepherd/reap_judge.h"

#include <stdio.h>

/* Attributes in the header of a bucket that only reap knows: validators as they came, and the MD5
 * of the document. */
enum { REAP_ETAG = 'e', REAP_LAST_MODIFIED = 'l', REAP_MD5 = 'C' };

struct reap_job {
	struct reap_job *next, *prev; /* all that are out: a ring */
	struct reap *reap;
	struct hostq_job out;
	struct plan_entry entry;
	struct arena arena;
	struct str url, etag, last_modified, md5; /* of the copy that we have */
	struct bucket old;                        /* the copy; its data lies in the arena */
	struct buf body;
	struct robot_memory_sink sink;
	/* Of the answer. */
	qkey qkey;
	uint32_t download_ms;
	int64_t wall_us;
	struct attrs header;
	uint16_t status;
	struct str content_type, robots;
	struct reap_job *parse_next;
};

static inline uint64_t fp_hash(struct footprint fp)
{
	return hash_u64(fp.site ^ fp.path);
}
static inline bool fp_equal(struct footprint a, struct footprint b)
{
	return footprint_cmp(a, b) == 0;
}
TABLE(fps, struct footprint, bool, fp_hash, fp_equal)

struct reap {
	struct reap_options o;
	struct kit kit;
	struct cage *cage;
	struct loop_io cage_io;
	struct reap_job *parse_first, *parse_last; /* those that wait for a parser */
	/* Of the run. */
	struct state *state;
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct sites *sites;
	struct hostq *queue;
	struct fps done;             /* while the queues are filled: what the journal has */
	struct reap_job jobs;        /* only its links are used */
	uint64_t left, out, parsing; /* URLs not done; of these under way; of these being read */
	struct loop_timer wake, tick, end;
	struct loop_later pump;
	bool stopping;
	bool held;                   /* followers have to keep pace: nothing new is begun */
	int64_t kept_us, offered_us; /* the last checkpoint and the one before */
	struct loop_timer look;
	struct err err; /* what ended it; code ERR_NONE: nothing did */
	struct seen {
		struct footprint fp;
	} * seen; /* contributions of the run: a cache that forgets */
};

void reap_count(struct reap *r, enum reap_counter which, uint64_t n);
void reap_fail(struct reap *r, const struct err *err);
void reap_job_done(struct reap_job *job);

/* A document came: it is compared, read, kept and told. */
void reap_document(struct reap_job *job, const struct robot_result *result);
/* It is as it was: told so, unless it asks not to be indexed any more. */
void reap_unchanged(struct reap_job *job, const struct robot_head *head);
/* Writes the journal. where: the new bucket. */
void reap_tell(struct reap_job *job, const struct verdict *v, uint64_t where);
/* A URL that was found on the page; flags: enum item_flag. */
void reap_contribute(struct reap_job *job, struct str url, unsigned flags);

/* Has the body read; reap_parsed() is called in the end. */
void reap_parse(struct reap_job *job);
void reap_parsed(struct reap_job *job, const struct attrs *body);

int reap_parsers_open(struct reap *r, struct err *err);
void reap_parsers_close(struct reap *r);
void reap_parsers_cancel(struct reap *r); /* nothing of what is being read is told any more */
