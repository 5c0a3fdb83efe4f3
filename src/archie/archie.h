/* The archive as its interfaces see it: telnet, mail, Prospero, the line protocol, the web. They
 * ask the queuer over the Unix socket run/archie and never open the database. The queuer decides
 * whose turn it is and has searchers look; an answer comes as a whole, or an error says why not.
 *
 * Two ways to ask, over the same messages (archie_wire.h; doc/protocols/archie-queue.md):
 *
 *   archie_call()   waits: for a process or a thread that serves one person
 *   archie_link     does not: for a loop that serves many
 *
 * What is larger than an answer may be (a whole site) is asked for in parts, by `offset`. */
#pragma once
#include "archie/ng_vars.h" /* the limits of a search, by name */
#include "base/arena.h"
#include "index/names.h"
#include "net/conn.h"

enum {
	ARCHIE_NICE_MOST = 32765,      /* last in the queue; 0 is usual, and less does not exist */
	ARCHIE_ROWS_MOST = 10000,      /* of an answer */
	ARCHIE_OFFSET_MOST = 1000000,  /* rows of FIND left out first: they have to be remembered */
	ARCHIE_ANSWER_MOST = 16 << 20, /* bytes of an answer; what is beyond is cut off */
	ARCHIE_REQUEST_MOST = 64 << 10, /* bytes of a request on the wire */
	ARCHIE_FROM_MOST = 64,
};

enum archie_what {
	ARCHIE_FIND,   /* files by their names: all of the query counts */
	ARCHIE_WHATIS, /* descriptions: pattern, maxhits, offset */
	ARCHIE_SITES,  /* sites whose host name the expression matches (ed syntax, not anchored, any
			* case); an empty pattern: all. Also domain, maxhits, offset */
	ARCHIE_SITE,   /* all files of the one site that query.site[0] names (host name, address or
			* key), in the order of its listing: maxhits, offset */
	ARCHIE_FOLDER, /* what one folder of that site holds: the pattern is its path, without a
			* slash at either end; "" is the root. maxhits, offset */
	ARCHIE_WHATS
};

struct archie_ask {
	enum archie_what what;
	/* query.budget_us, stop and stop_ctx do not count: the queuer sets limits of its own.
	 * maxhits 0 is ARCHIE_ROWS_MOST, and more than that is as much. */
	struct names_query query;
	int niceness;    /* 0 to ARCHIE_NICE_MOST */
	bool verbose;    /* its place in the queue is told */
	struct str from; /* the asker's address without a port, for shares; "": this machine */
};

/* A row of an answer. What its kind of answer does not tell is empty, or -1. */
struct archie_row {
	/* The site: FIND, SITES, SITE, FOLDER. */
	struct str host, address, key;
	int64_t listed_s;
	int64_t entries; /* SITES */
	/* FIND, SITE, FOLDER; of WHATIS the name alone */
	struct names_entry file;
	uint64_t mirrors;
	struct str url;  /* of the file; SITES: of the site */
	struct str text; /* WHATIS */
};

/* The path of a file on its server: what its URL says after the host, since the root of a listing
 * need not be that of its server; without a URL, what the listing says. It begins with a slash and
 * ends in the name. In the arena, or inside of the row. */
struct str archie_row_path(const struct archie_row *row, struct arena *arena);

struct archie_answer {
	struct archie_row *row;
	size_t n;
	uint64_t total; /* as struct names_hits has it; of others what there is in all */
	bool exact;
	bool cut; /* by the time limit, or since it became too large: there may be more; of others
		   * than FIND and SITE also since there are more than ARCHIE_ROWS_MOST */
	struct str problem;         /* that the database is damaged, for strangers; "": it is not */
	int64_t wait_us, search_us; /* in the queue, and CPU time of the search */
};

/* Why there is no answer. The word is for programs, struct err's text for people. */
enum archie_refusal {
	ARCHIE_NOT_REFUSED,
	ARCHIE_BAD,       /* "bad": the query cannot be; nobody need try again */
	ARCHIE_BUSY,      /* "busy": the queue is full, or has too many of this asker */
	ARCHIE_FAILED,    /* "failed": searchers died of it, twice */
	ARCHIE_EMPTY,     /* "empty": there is no database yet, or no such site */
	ARCHIE_CANCELLED, /* "cancelled": as was asked */
	ARCHIE_AWAY,      /* "away": the queuer is not there, or went away meanwhile */
	ARCHIE_REFUSALS
};
extern const char *const archie_refusal_words[ARCHIE_REFUSALS];

/* How busy the server is. */
struct archie_load {
	uint64_t queue;  /* requests that wait or are being searched */
	int64_t wait_us; /* that one with the usual niceness would wait now */
	double per_s;    /* answers, over the last minute */
};

/* The way that waits. One request at a time; not for two threads. */

struct archie;

/* Connects when it is first needed, and anew when the queuer was away: a call waits up to 4 s for
 * it. data: the data directory. */
struct archie *archie_new(const char *data);
/* For a process that may not connect by itself: the one that started it hands over connected
 * sockets. connect: returns one, or -1 when there is none now. */
struct archie *archie_new_handed(int (*connect)(void *ctx), void *ctx);
/* Such a socket, for the one who hands it over; -1 and errno: there is none now. */
int archie_dial(const char *data);
void archie_free(struct archie **a);

/* What the one who waits wants to hear. All may be NULL. */
struct archie_wait {
	void (*queued)(void *ctx, uint64_t position, int64_t seconds); /* if verbose; from 1 */
	/* Called at least every `every_us` while it waits, and when fd (-1: none) is readable;
	 * true: the request is cancelled. */
	bool (*stop)(void *ctx);
	int64_t every_us; /* 0: 1 s */
	int fd;
	void *ctx;
};
/* Everything in *ret lies in the arena. Negative: *ret_why says which refusal, err has the words.
 * wait may be NULL. A connection that broke before the answer came is made anew once and the
 * request asked again, since asking changes nothing. */
int archie_call(struct archie *a, const struct archie_ask *ask, const struct archie_wait *wait,
		struct arena *arena, struct archie_answer *ret, enum archie_refusal *ret_why,
		struct err *err);

/* The way that does not. Callbacks come from the loop, never from inside these functions. */

struct archie_link;

struct archie_link_ops {
	void (*queued)(void *ctx, uint64_t position, int64_t seconds); /* may be NULL */
	/* Exactly once for each request that was not cancelled; why is ARCHIE_NOT_REFUSED, or a is
	 * NULL and text says more. The answer is good until it returns. */
	void (*answered)(void *ctx, const struct archie_answer *a, enum archie_refusal why,
			 const char *text);
};
/* The pool of connections is the caller's. Connects by itself and again; what was asked of a queuer
 * that went away is asked again once, for 4 s. */
struct archie_link *archie_link_new(struct conn_pool *pool, const char *data);
/* Requests that are left are forgotten without a call. */
void archie_link_free(struct archie_link **l);
/* Returns its number, for archie_link_cancel(). ops is used where it is. */
uint64_t archie_link_ask(struct archie_link *l, const struct archie_ask *ask,
			 const struct archie_link_ops *ops, void *ctx);
/* Nothing is called for it any more. */
void archie_link_cancel(struct archie_link *l, uint64_t id);
/* a NULL: the queuer is away. */
void archie_link_load(struct archie_link *l,
		      void (*done)(void *ctx, const struct archie_load *load), void *ctx);
