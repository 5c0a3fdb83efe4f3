/* Plays the crawl without a network: pages whose bytes follow from their number and version, reaped
 * into buckets, journal and contributions; from cork on the
 * modules of the crawl work, with limits that nothing reaches. For unit programs and kill tests. */
#pragma once
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "shepherd/crawl.h"
#include "state/recover.h"

enum { PLAY_PER_SITE = 50, PLAY_URL = 128, PLAY_FORGOTTEN = 1000000 };

struct play {
	struct states *s;
	struct state *st; /* the open one, or NULL */
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct arena arena;
	struct crawl_conf conf;
	struct filter *filter; /* takes every link */
	struct schema schema;
	int64_t now_us; /* a clock of its own: a second for every page */
};

/* "http://site7.example/page?n=357" */
struct str play_url(uint64_t page, char ret[PLAY_URL]);
struct footprint play_footprint(uint64_t page);
/* The text of a page in one of its versions, in the arena. */
struct str play_text(struct arena *arena, uint64_t page, uint64_t version);

/* Settings as they usually are, but for limits that are out of reach, and auto_go_root is off. */
struct crawl_conf play_conf(void);

/* Opens a crawl that was made, after recovery. told may be NULL. */
int play_open(struct play *ret, const char *folder, int64_t now_us, struct recovery *told,
	      struct err *err);
void play_close(struct play *p);

/* A clone of the newest state; an open one is gone on with. The bucket file is open then. */
int play_next(struct play *p, bool contrib, struct err *err);
/* What its modules work with. */
struct crawl play_crawl(const struct play *p);
/* The bucket of a page that was gathered, and the MD5 of its text. */
int play_bucket(struct play *p, uint64_t page, uint64_t version, unsigned char sum[16],
		uint32_t *ret, struct err *err);
/* Which version of a page a bucket has. ERR_DAMAGED: it is not there, or has other bytes. */
int play_version(struct play *p, uint64_t page, uint64_t oid, uint64_t *ret, struct err *err);

/* A new state in reap, from the newest, with the bucket file open. */
int play_begin(struct play *p, struct err *err);
/* A link from one page to another was found: a contribution. */
int play_link(struct play *p, uint64_t from, uint64_t to, struct err *err);
/* A page was gathered: bucket, journal, a link to the page after it. One that is not known was
 * asked for by hand. */
int play_gather(struct play *p, uint64_t page, uint64_t version, struct err *err);
int play_refresh(struct play *p, uint64_t page, struct err *err);
int play_delete(struct play *p, uint64_t page, struct err *err);
int play_checkpoint(struct play *p, struct err *err);
/* Cork: the journal goes into the index, the state is corked. */
int play_cork(struct play *p, struct err *err);
/* Merge, equiv, select, record: contributions go into the index of a clone, which is closed. Each
 * time it is noted that the page PLAY_FORGOTTEN was forgotten. */
int play_merge(struct play *p, struct err *err);
/* Cleanup, in a clone that is closed. */
int play_cleanup(struct play *p, struct err *err);

/* A crawl that can be played again: what operation k does follows from k alone, and happens at
 * second k + 1 of the play's clock. */
enum { PLAY_PAGES = 40 };
struct play_model {
	uint64_t version[PLAY_PAGES]; /* k + 1 of the operation that gathered it; 0: not there */
};
enum play_kind { PLAY_GATHER, PLAY_REFRESH, PLAY_DELETE };
/* Applies operation k to the model, which has all before it. */
enum play_kind play_model_op(struct play_model *m, uint64_t k, uint64_t *ret_page);
int play_op(struct play *p, struct play_model *m, uint64_t k, struct err *err);
/* How many operations the newest state has: by the times in its index and its journal. */
int play_ops(struct play *p, uint64_t *ret, struct err *err);
/* Every page is as after the first n operations, every byte of its bucket; later: or as after more
 * of them. ERR_USAGE: one is not; other errors: something cannot be read. */
int play_check(struct play *p, uint64_t n, bool later, struct err *err);
/* Whether a reader has a lock. */
bool play_followed(struct states *s, int64_t now_us);
/* The beginning of the clock. */
#define PLAY_START (INT64_C(1790000000) * 1000000)
