/* Messages between interfaces, queuer and searchers (base/message.h;
 * doc/protocols/archie-queue.md). No input or output: turns structs into bytes, and back. */
#pragma once
#include "archie/archie.h"
#include "base/message.h"

enum {
	ARCHIE_VERSION = 2,
	ARCHIE_TEXT_MOST = 400,   /* of a refusal */
	ARCHIE_SMALL_MOST = 1024, /* bytes of a message without request or rows */
};

/* Identifies a request: the asking process, and its own number for it. */
struct archie_id {
	uint64_t pid, n;
};

enum archie_word {
	ARCHIE_WORD_HELLO, /* the first of the queuer */
	ARCHIE_WORD_ASK,
	ARCHIE_WORD_CANCEL,
	ARCHIE_WORD_LOAD,
	ARCHIE_WORD_LOADED, /* answers LOAD */
	ARCHIE_WORD_QUEUED,
	ARCHIE_WORD_ANSWER,
	ARCHIE_WORD_REFUSED,
	ARCHIE_WORD_SEARCH, /* to a searcher */
	ARCHIE_WORD_STOP,   /* to a searcher: its request was cancelled */
};

struct archie_message {
	uint64_t version; /* any; the reader compares it with ARCHIE_VERSION */
	struct archie_id id;
	uint64_t niceness, position, seconds;
	int64_t wait_us, limit_us;
	bool verbose;
	struct str request;        /* archie_ask_encode() */
	uint64_t queue, per_1000s; /* of the load, with wait_us */
	enum archie_refusal why;
	struct str text;
	/* An answer. */
	bool exact, cut;
	uint64_t total;
	int64_t search_us;
	struct str problem;
	struct message_items sites, rows;
};

/* Interface to queuer, queuer to interface, queuer to searcher, searcher to queuer. */
extern const struct message_wire archie_asks, archie_tells, archie_searches, archie_finds;

/* Whether a queuer with that first message can be asked. ERR_BUSY: it is of another version. */
int archie_hello_check(const struct archie_message *hello, struct err *err);
/* Encodes a request. ERR_USAGE: it is invalid, err says why. */
int archie_ask_encode(const struct archie_ask *ask, struct buf *out, struct err *err);
/* The message that asks it: appends to *out, which has room for it. */
int archie_ask_write(const struct archie_ask *ask, struct archie_id id, struct buf *out,
		     struct err *err);
/* Lists lie in the arena, texts in the bytes. Without niceness and verbose, which are in the
 * message. */
int archie_ask_decode(struct str bytes, struct arena *arena, struct archie_ask *ret,
		      struct err *err);

/* Writes the rows of an answer one by one. Zeroes at first. */
struct archie_writer {
	struct buf sites, rows;
	const struct names_site *site;
	uint32_t *number; /* of each site, from 1; 0: not written yet */
	uint32_t told;    /* sites */
	uint32_t nrows;
	struct str dir; /* of the previous row */
	bool full;      /* a row was left out for lack of room */
};
enum { ARCHIE_NO_SITE = UINT32_MAX };
/* site: the sites of rows, which must outlive it. number: as many zeroes. Both NULL: rows have no
 * site. */
void archie_writer_begin(struct archie_writer *w, const struct names_site *site, uint32_t *number);
/* Adds a row. site: index of its site, or ARCHIE_NO_SITE. false: full. */
bool archie_writer_row(struct archie_writer *w, uint32_t site, const struct archie_row *row);
/* Sets the lists of the message; valid until archie_writer_begin() or _free(). */
void archie_writer_end(const struct archie_writer *w, struct archie_message *ret);
void archie_writer_free(struct archie_writer *w);

/* Texts lie in the arena or point into the message. ERR_DAMAGED. */
int archie_answer_read(const struct archie_message *m, struct arena *arena,
		       struct archie_answer *ret, struct err *err);
