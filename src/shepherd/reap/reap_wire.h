/* What master and reapd say to each other, as bytes (doc/reap.md, "reapd"): jobs, answers, rules.
 * Both sides treat what comes as hostile: every number is bounded before anything is allocated.
 * Pure: no connection, no clock. */
#pragma once
#include "base/arena.h"
#include "shepherd/reaper.h"

enum {
	REAP_WIRE_VERSION = 1,
	REAP_JOB_MAX = 64 << 10, /* bytes of a job */
	REAP_CONTROL_MAX = 64 << 10,
	REAP_LINKS_MAX = 64 << 20, /* of the links of an answer, as bytes */
	REAP_LINKS_MOST = 100000,  /* links of an answer; further ones are left out */
	REAP_BODY_MAX = 1 << 20,
	REAP_DICT_MAX = 16 << 20,
	REAP_RULES_MAX = 8 << 20,
};

/* A job, without its ID and without whether it is a refresh, which stand in the line. */
void reap_job_write(const struct reaper_job *job, struct buf *out);
/* Slices point into `bytes`. The footprint is computed. ERR_DAMAGED names the attribute. */
int reap_job_read(struct str bytes, struct reaper_job *ret, struct err *err);

/* until_us on the wire is how long they hold from now on: clocks of two machines are not compared.
 */
void reap_rules_write(const struct reaper_rules *rules, struct buf *out);
int reap_rules_read(struct str bytes, struct reaper_rules *ret, struct err *err);

/* The parts of an answer. */
struct reap_parts {
	uint64_t id;
	uint64_t control, bucket, links, body; /* bytes */
	uint32_t bucket_type;
};
/* Appends the line (with its LF) and the parts. */
void reap_answer_write(const struct reaper_answer *a, struct buf *out);
/* The arguments of the line `done`. ERR_DAMAGED: none, or a part is too large. */
int reap_parts_read(const struct str *arg, size_t n, struct reap_parts *ret, struct err *err);
/* The parts as one block. Slices point into `bytes`, links into the arena. Nothing is verified but
 * the form: reap_answer_check() does the rest. */
int reap_answer_read(const struct reap_parts *parts, struct str bytes, struct arena *arena,
		     struct reaper_answer *ret, struct err *err);
/* Whether it can be the answer to this job: URL, key, times (from the job's on, up to until_s by
 * the same clock), bucket (whole, of this page and these times, packed with dictionaries that
 * `packer` has), code. Links are looked at by reaper_remote.c, which remembers those that it has
 * seen. ERR_DAMAGED says which is a lie. */
struct bucket_packer;
int reap_answer_check(const struct reaper_answer *a, const struct reaper_job *job, int64_t until_s,
		      struct bucket_packer *packer, struct err *err);
