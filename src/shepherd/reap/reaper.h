/* Reapers take jobs and return an answer to each: the result, a finished bucket, and the URLs that
 * the page links to. Decisions about the crawl are reap's (doc/reap.md). There are two kinds: local
 * (reaper_local.h: robot, parsers and packer of this process) and remote (reaper_remote.h: a
 * connection to a reapd).
 *
 * A reaper belongs to one loop and its thread. Answers come from the loop, never from inside a
 * function of this header: exactly one for each job taken, unless it was cancelled. */
#pragma once
#include "bucket/bucket.h"
#include "fetch/robot.h"
#include "shepherd/code.h"
#include "url/footprint.h"
#include "url/qkey.h"

enum reaper_what {
	REAPER_PAGE,    /* is parsed and packed into a bucket */
	REAPER_ROBOTS,  /* its body comes back unchanged, with a bucket */
	REAPER_SITEMAP, /* only what it lists comes back */
	REAPER_WHATS,
};
extern const char *const reaper_what_names[REAPER_WHATS]; /* "page", "robots", "sitemap" */

struct reaper_job {
	uint64_t id; /* reap's, used once */
	enum reaper_what what;
	bool refresh; /* there is a copy */
	struct str url;
	struct footprint fp;
	struct addr addr; /* address and port to connect to; allowed by policy */
	int64_t now_s;    /* wall clock of the crawl: D and J of the bucket follow it */
	/* Of the copy; empty: fetch it unconditionally. */
	struct str etag, last_modified;
	struct str md5; /* 32 digits; a document with this one is unchanged */
	struct robot_limits limits;
	struct polite_rule rule; /* with robots.txt's Crawl-delay already in it */
	bool keep;               /* the next URL of the server is near: keep the connection */
	int64_t patience_us;     /* as robot_job's */
};

/* A URL that the page links to: canonical, and its footprint. */
struct reaper_link {
	struct str url;
	struct footprint fp;
	uint32_t changed_s; /* of a sitemap: lastmod; 0: not said */
	bool is_sitemap;    /* of a sitemap: leads to another one */
};

/* Valid during the call. */
struct reaper_answer {
	uint64_t id;
	uint16_t code;   /* code.h */
	struct str text; /* a few words more, for people; may be empty */
	struct str url;  /* the job's */
	uint16_t status; /* of HTTP; 0: no answer came */
	qkey key;        /* of the server that was asked; 0: none was */
	int64_t ago_us;  /* since the first byte of the request went out; -1: none did */
	uint32_t download_ms;
	/* By the clock of the job: when its server was done (0: it was not asked), and what the
	 * bucket has as D and J (0: there is none). */
	int64_t ended_s, downloaded_s, changed_s;
	int64_t retry_after_us; /* 0: not said */
	/* Not asked: politeness. Worth another try after this time; 0: it was asked, or code says
	 * why not. */
	int64_t not_now_us;
	struct str location; /* of a redirect, absolute; empty: it leads nowhere */
	struct str type;     /* media type as the server says it, without parameters */
	uint64_t bytes;      /* of the document, unpacked */
	unsigned char md5[16];
	bool noindex, nofollow;
	bool unread;       /* its parser died, overran or broke: the bucket has no text */
	struct str bucket; /* data as bucket_append() takes it; n 0: there is none */
	uint32_t bucket_type;
	struct str body; /* of robots.txt */
	const struct reaper_link *link;
	size_t links;
};

struct reaper;

/* The owner of a reaper, which gets its answers. */
struct reaper_host {
	void (*done)(void *ctx, struct reaper *r, const struct reaper_answer *answer);
	/* The job is lost: there will be no answer. Its server may have been asked; send it nothing
	 * for rests_us. */
	void (*lost)(void *ctx, struct reaper *r, uint64_t id, int64_t rests_us);
	/* There may be room again. */
	void (*room)(void *ctx, struct reaper *r);
	/* Something in this process failed, so that no other job can succeed either. */
	void (*failed)(void *ctx, struct reaper *r, const struct err *err);
	void *ctx;
};

/* Rules from the robots.txt of a site. */
struct reaper_rules {
	struct str site; /* as url_site_print() writes it */
	bool is_reachable;
	int64_t until_us; /* wall clock */
	struct str compiled;
};

enum reaper_state {
	REAPER_AWAY,     /* not connected */
	REAPER_UP,       /* takes jobs */
	REAPER_REFUSED,  /* speaks another version, or serves another master */
	REAPER_PUNISHED, /* lied; left alone for a while */
	REAPER_STATES,
};
extern const char *const reaper_state_names[REAPER_STATES]; /* "away", "up" ... */

struct reaper_ops {
	const char *kind; /* "local", "reapd" */
	/* NULL: it is always up. */
	enum reaper_state (*state)(const struct reaper *r);
	/* Begins a reap, with the dictionaries of the crawl's bucket file. */
	int (*begin)(struct reaper *r, const char *dict_path, struct err *err);
	/* How many more jobs it would take now. */
	uint64_t (*room)(const struct reaper *r);
	/* Takes a job and copies all of it. 1: not now; the job was not taken. Negative: ERR_USAGE:
	 * it cannot be fetched; else as failed(). */
	int (*submit)(struct reaper *r, const struct reaper_job *job,
		      const struct reaper_rules *rules, struct err *err);
	void (*cancel)(struct reaper *r, uint64_t id); /* its answer is no longer wanted */
	void (*free)(struct reaper **r);               /* outstanding jobs get no answer */
};

/* What is counted of each, for garner shep reapers. */
struct reaper_counts {
	uint64_t jobs, out; /* ever; now */
	uint64_t documents, bytes, errors, lost;
	uint64_t late;    /* answers to jobs that were no longer out: ignored */
	int64_t round_us; /* mean time from job to answer */
	uint64_t rounds;  /* that it is taken over */
};

struct reaper {
	const struct reaper_ops *ops;
	const struct reaper_host *host;
	const char *name; /* "local", "192.0.2.7:8188" */
	struct reaper_counts counts;
};

/* For reapers: counts an answer, and the time that the job took. */
void reaper_count(struct reaper *r, const struct reaper_answer *answer, int64_t took_us);
