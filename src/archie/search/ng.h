/* The line protocol for programs, archie-ng: a session is lines in and lines out, on a connection
 * of net/conn.h; questions go to the queuer through archie.h. doc/protocols/archie-ng.md has every
 * line.
 *
 * A session has one request under way. What a client sends ahead waits, is bounded, and is answered
 * in its order; CANCEL alone is heard at once. */
#pragma once
#include "archie/mailer.h"
#include "base/value.h"
#include "net/conn.h"

enum {
	NG_LINES_AHEAD = 64,
	NG_BYTES_AHEAD = 64 << 10,
	NG_ANSWER_MOST = 16 << 20, /* bytes of lines; what is beyond is left out, and told as cut */
	NG_HELD_MOST = 256 << 20,  /* bytes of all answers that are not sent yet */
};

enum ng_verb {
	NG_SET,
	NG_FIND,
	NG_WHATIS,
	NG_LIST,
	NG_DOMAINS,
	NG_SERVERS,
	NG_LOAD,
	NG_ADDNEWSITE,
	NG_CANCEL,
	NG_HELP,
	NG_QUIT,
	NG_VERBS
};

#define NG_LONG_LINE "ERROR bad the line is too long, closing\n"

/* What all sessions share. */
struct ng;

struct ng_options {
	struct conn_pool *pool;           /* for connections to the queuer and to other servers */
	const char *data;                 /* the data directory */
	const char *self;                 /* HOST:PORT, as others are told of this server */
	const struct value_list *servers; /* others; used where they are */
	bool asks_servers;    /* for their loads; otherwise nobody knows these, and names do */
	struct mailer mailer; /* for requests for new sites */
};
int ng_new(struct ng **ret, const struct ng_options *options, struct err *err);
/* After its sessions. */
void ng_free(struct ng **ng);

struct ng_counts {
	uint64_t requests[NG_VERBS];
	uint64_t errors, results, cut;
	uint64_t held;       /* bytes, now */
	uint64_t servers_up; /* now */
};
void ng_counts(const struct ng *ng, struct ng_counts *ret);

struct ng_session;

/* from: the asker's address without a port; "": this machine. */
struct ng_session *ng_session_new(struct ng *ng, struct conn *conn, const char *from);
/* What it asked for is cancelled. The connection is not touched. */
void ng_session_free(struct ng_session **s);
void ng_session_line(struct ng_session *s, struct str line);
void ng_session_drained(struct ng_session *s); /* of struct conn_ops */
