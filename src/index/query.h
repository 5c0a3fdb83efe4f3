/* Queries: what is asked of a words index, and what it answers. The language is in doc/query.md;
 * words_query() in words.h answers. All of it lies in the arena of the caller. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct token_rules;

enum {
	QUERY_TEXT_MOST = 64 << 10, /* bytes of a query */
	QUERY_DEPTH_MOST = 64,      /* brackets in brackets */
	QUERY_NODES_MOST = 1024,    /* words, comparisons and operators together */
	QUERY_PHRASE_MOST = 64,     /* words of a phrase */
	QUERY_LIMIT_MOST = 100000,  /* offset + limit */
};

enum query_op {
	QUERY_NOTHING, /* no document: a query without words */
	QUERY_ALL,     /* every document: "*", and what NOT alone takes away from */
	QUERY_WORD,
	QUERY_PHRASE,
	QUERY_COMPARE,
	QUERY_AND, /* kids that are QUERY_NOT take away */
	QUERY_OR,
	QUERY_NOT, /* one kid */
};

enum query_relation { QUERY_LESS, QUERY_AT_MOST, QUERY_MORE, QUERY_AT_LEAST, QUERY_EQUAL };

struct query_word {
	struct str term; /* folded, as tokens_next() gives it */
	struct str form; /* as written */
};

/* A value to compare with: a number, a period of time (a day, a year, a second), or both, when the
 * column decides. Seconds since 1970; the period is from <= t < to. */
struct query_value {
	struct str text; /* as written */
	bool is_number, is_period;
	int64_t number;
	int64_t from_s, to_s;
};

/* A number or a date; neither is set where the text is not one. The text is kept, not copied. */
struct query_value query_value(struct str text);

struct query_node {
	enum query_op op;
	uint32_t at;          /* byte of the query text where it begins, for messages */
	struct str attribute; /* lower case; empty: any (WORD, PHRASE), never for COMPARE */
	bool exact;           /* case and accents regarded (WORD, PHRASE) */
	bool filter;          /* must match, but adds nothing to the score (WORD, PHRASE) */

	struct query_word *word; /* WORD: 1, PHRASE: 2 or more, one after the other */
	struct query_node **kid; /* AND, OR: 2 or more, NOT: 1 */
	uint32_t words, kids;

	enum query_relation relation; /* COMPARE */
	struct query_value value;     /* COMPARE; also what WORD and PHRASE could be as one */
};

enum query_order {
	QUERY_BY_RANK,
	QUERY_BY_TIME, /* newest first */
	QUERY_ANYHOW,  /* in the order of the index, which is the cheapest */
};

struct query {
	struct query_node *root;
	enum query_order order;
	uint32_t limit, offset;
	int64_t budget_us; /* of wall time; 0: as long as it takes */
	bool exact_total;  /* count all matches, even those that need not be looked at */
	bool explain;
};

/* What a text says where it leaves a choice. */
struct query_options {
	bool exact; /* words regard case and accents */
};

/* Reads a query. Limit, offset and the like are left for the caller to set: limit is 10, all else
 * 0. ERR_USAGE: what it cannot be, and at which character. The text need not outlive the call. */
int query_parse(struct str text, const struct query_options *options,
		const struct token_rules *rules, struct arena *arena, struct query *ret,
		struct err *err);

/* The tree as text that query_parse() reads as the same tree. */
void query_print(const struct query_node *node, struct buf *out);

struct hit {
	struct str key;
	float score; /* 0 where the order is not by rank */
	int64_t time_s;
	uint64_t oid;          /* as words_add() was given it: the way to the document store */
	uint32_t segment, doc; /* of the snapshot that answered */
};

struct hits {
	struct hit *hit; /* the best first, without the first `offset` */
	size_t n;
	uint64_t total; /* matches, or at least so many */
	bool total_exact;
	bool cut;           /* the time was up: the best of what was seen until then */
	struct str explain; /* lines of text; empty unless it was asked for */
};
