/* What the queuer, its searchers and those who ask say to each other: lines of words, some of them
 * followed by a block of counted bytes. No input or output: texts in, structs out, and back.
 * doc/protocols/archie-queue.md has every byte. */
#pragma once
#include "archie/archie.h"

enum {
	ARCHIE_VERSION = 1, /* "ARCHIE 1" */
	ARCHIE_LINE_MOST = 1024,
	ARCHIE_TEXT_MOST = 400,                        /* of a refusal, in its line */
	ARCHIE_BLOCK_MOST = ARCHIE_ANSWER_MOST + 4096, /* with what stands around the rows */
};

/* Which request: the process that asks, and a number of its own. "PID.N" */
struct archie_id {
	uint64_t pid, n;
};

enum archie_word {
	ARCHIE_WORD_HELLO,   /* version; the first line of the queuer */
	ARCHIE_WORD_ASK,     /* id niceness verbose bytes; a request follows */
	ARCHIE_WORD_CANCEL,  /* id */
	ARCHIE_WORD_LOAD,    /* of one who asks: nothing; of the queuer: the load */
	ARCHIE_WORD_QUEUED,  /* id position seconds */
	ARCHIE_WORD_ANSWER,  /* id wait_us cut bytes; an answer follows */
	ARCHIE_WORD_REFUSED, /* id why text */
	ARCHIE_WORD_SEARCH,  /* id limit_us bytes; to a searcher; a request follows */
	ARCHIE_WORD_STOP,    /* to a searcher: what it looks for is not wanted any more */
	ARCHIE_WORDS
};

struct archie_line {
	enum archie_word word;
	struct archie_id id;
	uint64_t niceness, position, seconds, wait_us, limit_us, bytes;
	bool verbose, cut;
	bool has_load; /* LOAD with numbers */
	struct archie_load load;
	enum archie_refusal why;
	struct str text; /* inside the line */
};

/* Without its line end. ERR_USAGE: it is none of these. */
int archie_line_parse(struct str line, struct archie_line *ret, struct err *err);
/* With its line end. Control characters of the text become blanks, and what is too long is cut. */
void archie_line_print(const struct archie_line *line, struct buf *out);

/* A request. ERR_USAGE: it cannot be one; the words say why. */
int archie_ask_encode(const struct archie_ask *ask, struct buf *out, struct err *err);
/* Lists are in the arena, texts in the bytes. Niceness and verbose are not in them but in the line.
 */
int archie_ask_decode(struct str bytes, struct arena *arena, struct archie_ask *ret,
		      struct err *err);

/* An answer, row by row. */
struct archie_writer {
	struct buf *out;
	uint32_t *number; /* of each site, from 1 on; 0: not told yet */
	uint32_t told;    /* sites */
	uint32_t rows;
	struct str dir; /* of the row before */
	bool full;      /* a row was left out, since it would have become too large */
};
/* number: room for as many as there are sites, zeroes; NULL: rows have no site. */
void archie_writer_init(struct archie_writer *w, enum archie_what what, uint32_t *number,
			struct buf *out);
/* The site of a row, one of 0 ... as `number` has room for. `url` is that of its root. */
struct archie_writer_site {
	uint32_t site;
	struct str host, address, key, url;
	int64_t listed_s, entries;
};
/* A row with a file; site and file of SITES and WHATIS as far as they have them. false: full. */
bool archie_writer_row(struct archie_writer *w, const struct archie_writer_site *site,
		       const struct archie_row *row);
/* row and n of *answer do not count, nor wait_us. */
void archie_writer_end(struct archie_writer *w, const struct archie_answer *answer);

/* Everything is in the arena or in the bytes. ERR_REMOTE: the bytes are not an answer. */
int archie_answer_decode(struct str bytes, struct arena *arena, struct archie_answer *ret,
			 struct err *err);
