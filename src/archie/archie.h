/* The archive as its interfaces see it: telnet, mail, Prospero, the line protocol, the web. They
 * ask the queuer over the Unix socket run/archie and never open the database. The queuer decides
 * whose turn it is and passes requests to searchers. An answer is complete, or an error says why
 * there is none.
 *
 * There are two ways to ask, with the same messages (archie_wire.h;
 * doc/protocols/archie-queue.md):
 *
 *   archie_call()   blocks: for a process or thread that serves one person
 *   archie_link     does not block: for a loop that serves many
 *
 * Ask for results that exceed the largest answer (a whole site) in parts, by `offset`. */
#pragma once
#include "archie/ng_vars.h" /* the limits of a search, by name */
#include "base/arena.h"
#include "index/names.h"
#include "net/conn.h"

enum {
	ARCHIE_NICE_MOST = 32765,       /* last in the queue; 0 is usual and the least */
	ARCHIE_ROWS_MOST = 10000,       /* of an answer */
	ARCHIE_OFFSET_MOST = 1000000,   /* rows of FIND to skip: they must be remembered */
	ARCHIE_ANSWER_MOST = 16 << 20,  /* bytes of an answer; the rest is cut off */
	ARCHIE_REQUEST_MOST = 64 << 10, /* bytes of a request on the wire */
	ARCHIE_FROM_MOST = 64,
};

enum archie_what {
	ARCHIE_FIND,   /* files by their names; the whole query applies */
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
	/* query.budget_us, stop and stop_ctx are ignored: the queuer has its own limits. maxhits is
	 * at most ARCHIE_ROWS_MOST, which 0 stands for. */
	struct names_query query;
	int niceness;    /* 0 to ARCHIE_NICE_MOST */
	bool verbose;    /* report its place in the queue */
	struct str from; /* address of the asker without a port, for quotas; "": this machine */
};

/* A row of an answer. Members that do not apply to its kind are empty or -1. */
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

/* The path of a file on its server, beginning with a slash: the path of its URL, because a listing
 * may begin below the root of the server; without a URL, the path in the listing. In the arena or
 * part of the row. */
struct str archie_row_path(const struct archie_row *row, struct arena *arena);

struct archie_answer {
	struct archie_row *row;
	size_t n;
	uint64_t total; /* as in struct names_hits; of others, how many there are in all */
	bool exact;
	bool cut; /* incomplete because of the time limit or its size; except for FIND and SITE,
		   * also because there are more than ARCHIE_ROWS_MOST */
	struct str problem;         /* says that the database is damaged; "": it is not */
	int64_t wait_us, search_us; /* in the queue, and CPU time of the search */
};

/* Why there is no answer. The word is for programs, the text in struct err for people. */
enum archie_refusal {
	ARCHIE_NOT_REFUSED,
	ARCHIE_BAD,       /* "bad": the query is wrong; do not retry */
	ARCHIE_BUSY,      /* "busy": the queue is full, or this asker has too many requests in it */
	ARCHIE_FAILED,    /* "failed": two searchers crashed on it */
	ARCHIE_EMPTY,     /* "empty": no database yet, or no such site */
	ARCHIE_CANCELLED, /* "cancelled": by the asker */
	ARCHIE_AWAY,      /* "away": the queuer is not running, or stopped meanwhile */
	ARCHIE_REFUSALS
};
extern const char *const archie_refusal_words[ARCHIE_REFUSALS];

/* How busy the server is. */
struct archie_load {
	uint64_t queue;  /* requests waiting or being searched */
	int64_t wait_us; /* expected wait of a request with the usual niceness */
	double per_s;    /* answers, over the last minute */
};

/* The blocking way. One request at a time; not thread-safe. */

struct archie;

/* Connects on the first call, and reconnects if the queuer was away: a call waits up to 4 s for it.
 * data: the data directory. */
struct archie *archie_new(const char *data);
/* For a process that may not connect: its parent passes it connected sockets. connect() returns
 * one, or -1 if there is none now. */
struct archie *archie_new_handed(int (*connect)(void *ctx), void *ctx);
/* Connects such a socket, for the parent. -1 and errno: it cannot now. */
int archie_dial(const char *data);
void archie_free(struct archie **a);

/* Callbacks while a call waits. All may be NULL. */
struct archie_wait {
	void (*queued)(void *ctx, uint64_t position, int64_t seconds); /* if verbose; from 1 */
	/* Called at least every `every_us` and when fd (-1: none) is readable. true: cancels the
	 * request. */
	bool (*stop)(void *ctx);
	int64_t every_us; /* 0: 1 s */
	int fd;
	void *ctx;
};
/* Everything in *ret lies in the arena. Negative: *ret_why says which refusal, err has the words.
 * wait may be NULL. If the connection breaks before the answer comes, reconnects and asks once
 * more: asking changes nothing. */
int archie_call(struct archie *a, const struct archie_ask *ask, const struct archie_wait *wait,
		struct arena *arena, struct archie_answer *ret, enum archie_refusal *ret_why,
		struct err *err);

/* The way for loops. Callbacks come from the loop, never from inside these functions. */

struct archie_link;

struct archie_link_ops {
	void (*queued)(void *ctx, uint64_t position, int64_t seconds); /* may be NULL */
	/* Called exactly once for each request that was not cancelled. why is ARCHIE_NOT_REFUSED,
	 * or a is NULL and text says more. The answer is valid until it returns. */
	void (*answered)(void *ctx, const struct archie_answer *a, enum archie_refusal why,
			 const char *text);
};
/* The caller owns the pool. Connects and reconnects by itself. If the queuer goes away, asks again
 * once, for up to 4 s. */
struct archie_link *archie_link_new(struct conn_pool *pool, const char *data);
/* Drops requests without calling back. */
void archie_link_free(struct archie_link **l);
/* Returns its number, for archie_link_cancel(). ops must outlive the request. */
uint64_t archie_link_ask(struct archie_link *l, const struct archie_ask *ask,
			 const struct archie_link_ops *ops, void *ctx);
/* No callback comes after this. */
void archie_link_cancel(struct archie_link *l, uint64_t id);
/* load is NULL if the queuer is away. */
void archie_link_load(struct archie_link *l,
		      void (*done)(void *ctx, const struct archie_load *load), void *ctx);
