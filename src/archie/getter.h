/* The getter: fetches the listings of sites into archie/lslr/, for the builder. All sites at once,
 * in one loop; politeness and robots.txt hold as always. Of each site it tries, until one succeeds:
 *
 *   a ready-made listing, ls-lR.gz and its like, that is newer than the last one; where it is the
 *   one that the database was made of, and has not changed, nothing else is tried;
 *   FTP's LIST -lR;
 *   a walk of its folders, by LIST or by the index pages of its server.
 *
 * A listing grows in archie/tmp/ and gets its name when it is complete and synced; its modification
 * time is that at which it was made. What came of a listing that failed is in archie/failed/. One
 * getter at a time works in a folder; it belongs to one loop and its thread. */
#pragma once
#include "archie/archie_conf.h"
#include "archie/getter_state.h"
#include "extract/cage.h"
#include "fetch/kit.h"

/* Why a site failed: what the robot says, and these. */
#define GETTER_CAUSES(X)                                                                        \
	X(SMALL, "small")           /* too small for a listing */                               \
	X(NO_LISTING, "no-listing") /* something else than a listing */                         \
	X(EMPTY, "empty")           /* a listing of nothing */                                  \
	X(NO_INDEX, "no-index")     /* the server shows no index of its folder */               \
	X(PARSER, "parser")         /* garner-parse could not read it */                        \
	X(PARTIAL, "partial")       /* a walk that was cut, and no better than what is there */ \
	X(DISK, "disk")             /* no room, or it cannot be written */                      \
	X(TAKEN, "address-taken")   /* its new address has another FTP site */

enum getter_cause {
	GETTER_CAUSES_FROM = ROBOT_NCAUSES - 1, /* the robot's come first */
#define X(symbol, name) GETTER_CAUSE_##symbol,
	GETTER_CAUSES(X)
#undef X
		GETTER_NCAUSES
};
const char *getter_cause_name(unsigned cause);
/* The cause where a host has no address, and the words for it. */
unsigned getter_no_address(struct str host, const struct dns_result *r,
			   char ret_why[GETTER_TEXT + 1]);

enum getter_end {
	GETTER_GOT,
	GETTER_UNCHANGED, /* there is a listing, no newer than the last one */
	GETTER_FAILED,
	GETTER_STOPPED, /* by getter_stop(): nothing is known of it */
};

/* What became of a site. */
struct getter_told {
	const struct archie_site *site; /* with the key under which the listing is */
	enum getter_end end;
	enum getter_method method; /* GOT */
	uint64_t bytes, folders;   /* received; of a walk */
	uint64_t entries;          /* GOT: of what was read; 0: nothing was, it is ready-made */
	bool cut;                  /* of a walk: there is more than it tells of */
	unsigned cause;            /* FAILED */
	const char *why;           /* FAILED: in words */
	int64_t next_us;           /* FAILED: not before this */
};

struct getter_options {
	const char *folder; /* archie/; made if it is not there */
	const char *data;   /* where its table is; NULL: it remembers nothing */
	const struct archie_conf *conf;
	const struct robot_section_conf *robot;
	struct kit *kit;
	const struct cage_options *parse;
	uint64_t disk_free; /* bytes that must stay free */
	/* A ready-made listing is read before it counts, as others are; one that is no use to the
	 * builder is a failed try. Without this the builder finds out. */
	bool reads_all;
	/* From the loop; a site, and when all are done. Must not free the getter. */
	void (*told)(void *ctx, const struct getter_told *t);
	void (*done)(void *ctx);
	void *ctx;
};

struct getter;

/* All in the options must outlive it. ERR_BUSY: another getter works there. */
int getter_new(struct getter **ret, const struct getter_options *options, struct err *err);
/* Everything must have ended: getter_stop(), then robot_free(). */
void getter_free(struct getter **g);

/* Whether a site is to be fetched now. named: somebody asks for it, so that a failure before does
 * not matter. */
bool getter_wants(const struct getter *g, const struct archie_site *site, bool named,
		  int64_t wall_us);
/* Takes in a site, which is copied; told() will be called for it. */
void getter_add(struct getter *g, const struct archie_site *site);
/* Begins; done() is called when all are done, also when there are none. */
void getter_go(struct getter *g);
/* Begins nothing more, and asks no server any more. */
void getter_stop(struct getter *g);

struct getter_counts {
	uint64_t sites, done, got, unchanged, failed, under_way;
	uint64_t bytes, folders; /* received; folders that were asked for in walks */
};
const struct getter_counts *getter_counts(const struct getter *g);

/* Forgets sites that are not listed any more. */
int getter_forget(struct getter *g, const struct archie_sites *sites, struct err *err);
