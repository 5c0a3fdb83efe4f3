/* The getter: fetches the listings of sites into archie/lslr/, for the builder. It visits all sites
 * from one loop, and obeys politeness and robots.txt as always. For each site it tries in turn:
 *
 *   a ready-made listing such as ls-lR.gz that is newer than the last one; if the database was
 *   made of it and it has not changed, the visit ends;
 *   LIST -lR of FTP;
 *   a walk of its folders, by LIST or by the index pages of its server.
 *
 * A listing grows in archie/tmp/ and is renamed once complete and synced; its modification time
 * says when it was made. The remains of a failed listing go to archie/failed/. Only one getter
 * works in a folder at a time; it belongs to one loop and its thread. */
#pragma once
#include "archie/archie_conf.h"
#include "archie/getter_state.h"
#include "extract/cage.h"
#include "fetch/kit.h"

/* Why a site failed: the causes of the robot, and these. */
#define GETTER_CAUSES(X)                                                                 \
	X(SMALL, "small")           /* too small for a listing */                        \
	X(NO_LISTING, "no-listing") /* not a listing */                                  \
	X(EMPTY, "empty")           /* the listing is empty */                           \
	X(NO_INDEX, "no-index")     /* the server shows no index of its folder */        \
	X(PARSER, "parser")         /* garner-parse could not read it */                 \
	X(PARTIAL, "partial")       /* a walk was cut and found no more than there is */ \
	X(DISK, "disk")             /* no room, or writing failed */                     \
	X(TAKEN, "address-taken")   /* another FTP site has its new address */

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
	GETTER_UNCHANGED, /* its listing is no newer than the last one */
	GETTER_FAILED,
	GETTER_STOPPED, /* by getter_stop(), before the visit ended */
};

/* What became of a site. */
struct getter_told {
	const struct archie_site *site; /* with the key under which the listing is */
	enum getter_end end;
	enum getter_method method; /* GOT */
	uint64_t bytes, folders;   /* received; of a walk */
	uint64_t entries; /* GOT: in the listing; 0: unknown, it was ready-made and not read */
	bool cut;         /* a walk left something out */
	unsigned cause;   /* FAILED */
	const char *why;  /* FAILED: in words */
	int64_t next_us;  /* FAILED: not before this */
};

struct getter_options {
	const char *folder; /* archie/; made if it is not there */
	const char *data;   /* the data directory, for its table; NULL: it keeps no table */
	const struct archie_conf *conf;
	const struct robot_section_conf *robot;
	struct kit *kit;
	const struct cage_options *parse;
	uint64_t disk_free; /* bytes that must stay free */
	/* Reads ready-made listings, too, before accepting them; otherwise the builder is the first
	 * to find out that one is useless. */
	bool reads_all;
	/* Called from the loop for each site, and when all are done. Must not free the getter. */
	void (*told)(void *ctx, const struct getter_told *t);
	void (*done)(void *ctx);
	void *ctx;
};

struct getter;

/* All in the options must outlive it. ERR_BUSY: another getter works there. */
int getter_new(struct getter **ret, const struct getter_options *options, struct err *err);
/* Call getter_stop() and robot_free() first. */
void getter_free(struct getter **g);

/* Whether a site is due. named: somebody asked for it, so an earlier failure does not matter. */
bool getter_wants(const struct getter *g, const struct archie_site *site, bool named,
		  int64_t wall_us);
/* Adds a site, which it copies; told() will be called for it. */
void getter_add(struct getter *g, const struct archie_site *site);
/* Starts; calls done() when all are done, even if there are none. */
void getter_go(struct getter *g);
/* Starts nothing more and sends no more requests. */
void getter_stop(struct getter *g);

struct getter_counts {
	uint64_t sites, done, got, unchanged, failed, under_way;
	uint64_t bytes, folders; /* received; requested in walks */
};
const struct getter_counts *getter_counts(const struct getter *g);

/* Forgets sites that are no longer listed. */
int getter_forget(struct getter *g, const struct archie_sites *sites, struct err *err);
