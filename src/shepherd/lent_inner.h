/* What the files of the lending reaper share: reaper_lent.c (jobs, loans, the door),
 * lent_sessions.c (what URL servers and spiders say) and lent_file.c (what is out, on disk).
 *
 * A job is reap's: it waits to be handed out, is out, and is read when its RESULT came; then it is
 * answered. A URL is its borrower's: from the HAVE that hands it out to the DONE, whether or not
 * somebody still waits for what becomes of it. Both hold their server's loan. */
#pragma once
#include "base/arena.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "disk/record.h"
#include "fetch/docindex_wire.h"
#include "shepherd/reaper_lent.h"

#include <limits.h>

static inline uint64_t hash_of_fp(struct footprint fp)
{
	return hash_u64(fp.site ^ fp.path);
}

static inline bool is_same_fp(struct footprint a, struct footprint b)
{
	return footprint_cmp(a, b) == 0;
}

TABLE(lent_docs, struct footprint, struct lent_job *, hash_of_fp, is_same_fp)
TABLE(lent_urls, struct footprint, struct lent_url *, hash_of_fp, is_same_fp)
TABLE(lent_unkept, struct footprint, bool, hash_of_fp, is_same_fp)
TABLE(lent_places, struct footprint, size_t, hash_of_fp, is_same_fp)
TABLE(lent_ids, uint64_t, struct lent_job *, hash_u64, table_same_u64)
TABLE(loans, qkey, struct loan *, hash_u64, table_same_u64)
TABLE(rejected, uint64_t, bool, hash_u64, table_same_u64) /* hosts, by their hash */

/* Who borrows: a NAME, whether or not it is connected. */
struct borrower {
	struct link link;    /* in lent.borrowers */
	struct link waiting; /* jobs to be handed out */
	struct link urls;    /* that it has, the oldest first */
	uint64_t nwaiting;
	unsigned sessions;
	int64_t gone_us; /* since when it has none */
	int64_t look_us; /* when its URLs are looked at again: see lent_url.unsure_us */
	char name[DOCINDEX_WORD_MAX + 1];
};

/* A server whose URLs are lent. */
struct loan {
	qkey key;
	struct addr server; /* as addr_server() */
	struct borrower *borrower;
	uint64_t holds; /* jobs that wait, and URLs that are out */
	struct lease lease;
	enum outcome outcome;  /* of the last of them */
	int64_t rest_until_us; /* it wants to be left alone until then, by a Retry-After */
	int64_t heard_us;      /* when something was last said of one of them */
};

/* A URL that a borrower has. */
struct lent_url {
	struct link link; /* in its borrower's */
	struct footprint fp;
	struct loan *loan;
	struct lent_job *job; /* NULL: nobody waits for what becomes of it */
	int64_t time_us;      /* wall clock: when it was handed out */
	bool told;            /* a RESULT has come, so a DONE may say nothing new */
	/* Since when its borrower may know nothing of it, for it has said HELLO anew; 0: it has
	 * not, and the DONE will come. */
	int64_t unsure_us;
};

enum lent_where { LENT_WAITS, LENT_OUT, LENT_READ, LENT_PUT_OFF };

struct lent_job {
	struct link link; /* in its borrower's, or in lent.put_off */
	struct lent *lent;
	struct loan *loan;    /* NULL: it does not wait */
	struct lent_url *url; /* NULL: it is not out */
	enum lent_where where;
	struct arena arena;
	struct reaper_job job;
	uint64_t host; /* of its URL, as a hash */
	int64_t from_us, not_now_us;
	bool cancelled;
};

/* An OK that is to be said, when its document is not in lent.unkept. */
struct answer_due {
	struct link link;    /* in lent_client.dues */
	struct footprint fp; /* {0}: of none */
};

/* A session: of a URL server, or of a spider. */
struct lent_client {
	struct link link; /* in lent.clients */
	struct session *session;
	struct borrower *borrower; /* NULL: it has not said HELLO */
	struct docindex_requests in;
	struct link dues;
	uint64_t want;                   /* of the WANT that waits; 0: none does */
	uint64_t asked;                  /* of one whose hosts are coming in: it is not one yet */
	uint64_t head;                   /* bytes of the RESULT that is coming in */
	char doc[DOCINDEX_WORD_MAX + 1]; /* and whose it is */
	struct rejected rejects;
	uint64_t nrejects; /* that its WANT has said */
	int64_t want_until_us;
	bool wants; /* it has asked for URLs: a URL server */
	bool paused;
};

/* A record of run/lent. */
struct lent_step {
	bool is_back;
	struct footprint fp;
	/* Of one that is handed out. */
	struct addr server;
	char name[DOCINDEX_WORD_MAX + 1];
	int64_t time_us;
};

struct lent {
	struct reaper reaper;
	struct reaper_lent_options o;
	struct server_limits limits;
	struct server *server;
	struct link borrowers, clients, put_off;
	uint64_t nrejects;     /* of all clients */
	struct lent_docs docs; /* jobs */
	struct lent_urls urls; /* that are out */
	/* Documents of which a RESULT or a DONE has decided something that is not durable yet, even
	 * if its session has ended: it will be repeated in another. */
	struct lent_unkept unkept;
	struct lent_ids ids;
	struct loans loans;
	struct arena_pool arenas;
	struct loop_later give, answer_put_off;
	struct loop_timer look, renew;
	uint64_t reading;
	struct buf text;
	struct record_writer *writer; /* of run/lent */
	char path[PATH_MAX];
};

/* reaper_lent.c */

/* For how long the server is to be left alone; 0: it may be asked. */
int64_t loan_rests_us(const struct lent *l, const struct loan *loan);
/* For the log: who says or does what. */
void lent_say(struct lent *l, bool is_trouble, const char *who, const char *what);
/* One that is out; NULL: there is none with this DOC_ID. */
struct lent_url *lent_url_of_doc(struct lent *l, struct str doc);
/* One that is out by the file. */
void lent_url_found(struct lent *l, const struct lent_step *step);
/* It is back. */
void lent_url_end(struct lent *l, struct lent_url *url);
/* It is handed out; that is noted. */
void lent_job_goes_out(struct lent_job *job);
/* It is with the parsers: its borrower is not waited for any more. */
void lent_job_is_read(struct lent_job *job);
/* It is answered, and gone. */
void lent_answer(struct lent_job *job, const struct reaper_answer *a);
/* It was not asked for, and is worth another try after this time. */
void lent_give_back(struct lent_job *job, int64_t not_now_us);
struct borrower *lent_borrower(struct lent *l, struct str name);
/* It is connected, and its loans begin anew; it has no connection any more. */
void lent_borrower_came(struct lent *l, struct borrower *b);
void lent_borrower_left(struct lent *l, struct borrower *b);

/* lent_sessions.c */

extern const struct server_protocol lent_protocol;
/* Whether its WANT takes URLs of this host. */
bool client_takes(const struct lent_client *c, uint64_t host);
/* lent.unkept is shorter: OKs may be due. */
void client_kept(struct lent_client *c);
/* Hands out what waits. For the loop. */
void lent_give(void *lent);
/* A while has passed. */
void client_look(struct lent *l, struct lent_client *c, int64_t now_us);

/* lent_file.c */

void lent_step_write(const struct lent_step *s, struct buf *out);
int lent_step_read(struct str payload, struct lent_step *ret, struct err *err);

/* Opens run/lent, and hands what is out by it to lent_url_found(). */
int lent_file_open(struct lent *l, struct err *err);
void lent_file_close(struct lent *l);
/* A URL of this loan is about to be handed out; after the sync it may be. */
int lent_file_out(struct lent *l, struct footprint fp, const struct loan *loan,
		  struct record_group *group, struct err *err);
int lent_file_sync(struct lent *l, struct record_group *group, struct err *err);
/* It is back: in the file with the next of these calls. */
void lent_file_back(struct lent *l, struct footprint fp);
/* All that was noted outlives this process, and the file is not much longer than need be. */
int lent_file_keep(struct lent *l, struct err *err);
