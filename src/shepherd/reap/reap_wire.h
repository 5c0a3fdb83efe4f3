/* Messages between master and reapd (base/message.h; doc/reap.md, "reapd"), and the check whether
 * an answer fits its job. Pure: no connection, no clock. */
#pragma once
#include "base/message.h"
#include "shepherd/reap/reaper.h"

enum {
	REAP_WIRE_VERSION = 2,
	REAP_CAPACITY_MOST = 100000,
	REAP_LINKS_MAX = 64 << 20, /* bytes of the links of an answer */
	REAP_LINKS_MOST = 100000,  /* links of an answer; further ones are left out */
	REAP_BODY_MAX = 1 << 20,
	REAP_DICT_MAX = 16 << 20,
	REAP_RULES_MAX = 8 << 20,
	REAP_ANSWER_MAX = (128 << 10) + BUCKET_DATA_MOST + REAP_LINKS_MAX + REAP_BODY_MAX,
};
#define REAP_LEASE_MOST_US (10 * US_PER_MIN)

enum reap_says {
	REAP_TOCK,   /* master: answers a tick; the first one (0) begins the session */
	REAP_JOB,    /* master */
	REAP_RULES,  /* master: robots.txt of a site */
	REAP_DICT,   /* master: dictionaries to pack with */
	REAP_CANCEL, /* master: a job whose answer is no longer wanted */
	REAP_HELLO,  /* reapd: the first message */
	REAP_TICK,   /* reapd */
	REAP_DONE,   /* reapd: an answer */
	REAP_BUSY,   /* reapd: no room for a job; without an ID: it serves another master */
};

struct reap_message {
	uint64_t id; /* of a job in its session; of a tick */
	uint64_t version, capacity;
	int64_t lease_us;
	struct str dict;           /* empty: there is none */
	struct reaper_rules rules; /* until_us: how long they hold from now on, since clocks of two
				    * machines are not compared */
	struct reaper_job job;     /* its id and footprint do not count */
	struct reaper_answer answer; /* nor does its id, and links are in: */
	struct message_items links;
};

/* Messages each may send. A connection that has not become the master's yet may send little:
 * strangers must not fill the memory that all connections share. */
extern const struct message_wire reap_of_stranger, reap_of_master, reap_of_reapd;
extern const struct message_item reap_link_item; /* struct reaper_link, without the footprint */

/* Whether a URL is canonical, and http or https. Returns its footprint. */
bool reap_url_check(struct str url, struct footprint *ret);
/* Checks what the table of messages cannot, and computes the footprint. ERR_DAMAGED. */
int reap_job_check(struct reaper_job *job, struct err *err);
/* Appends the message of an answer. */
void reap_answer_write(const struct reaper_answer *a, struct buf *out);
/* Whether this can be the answer to the job: checks URL, key, times (from the job's to until_s, by
 * the same clock), bucket (whole, of this page and these times, packed with a dictionary that
 * `packer` knows) and code. reaper_remote.c checks the links, because it remembers those it has
 * seen. ERR_DAMAGED names the lie. */
struct bucket_packer;
int reap_answer_check(const struct reaper_answer *a, const struct reaper_job *job, int64_t until_s,
		      struct bucket_packer *packer, struct err *err);
