/* Queries: what is asked of a words index, and what it answers. The language is in doc/query.md;
 * words_query() in words.h answers. All of it lies in the arena of the caller. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>

struct token_rules;
struct soif;
struct rows;

/* 0: *ret is the document, in the arena, its attributes named as they were indexed. 1: it is
 * gone. */
typedef int query_text_fn(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret,
			  struct err *err);

enum {
	QUERY_TEXT_MOST = 64 << 10, /* bytes of a query */
	QUERY_DEPTH_MOST = 64,      /* brackets in brackets */
	QUERY_NODES_MOST = 1024,    /* words, comparisons and operators together */
	QUERY_PHRASE_MOST = 64,     /* words of a phrase */
	QUERY_LIMIT_MOST = 100000,  /* offset + limit */
	QUERY_ERRORS_MOST = 8,      /* in a word or phrase */
	QUERY_NEAR_MOST = 10000,    /* positions between two words */
	QUERY_MATCH_MOST = 4096,    /* bytes of an expression */
	QUERY_MATCHES_MOST = 8,     /* expressions */
	QUERY_FACETS_MOST = 8,      /* that can be asked for at once */
	QUERY_FACET_SHOWN = 10,     /* values of a facet that are told one by one */
};

enum query_op {
	QUERY_NOTHING, /* no document: a query without words */
	QUERY_ALL,     /* every document: "*", and what NOT alone takes away from */
	QUERY_WORD,
	QUERY_PHRASE,
	QUERY_COMPARE,
	QUERY_AND, /* kids that are QUERY_NOT take away */
	QUERY_OR,
	QUERY_NOT,   /* one kid */
	QUERY_NEAR,  /* two words at most `distance` positions apart, in either order */
	QUERY_MATCH, /* an expression, looked for in the lines of the stored text */
};

enum query_relation {
	QUERY_LESS,
	QUERY_AT_MOST,
	QUERY_MORE,
	QUERY_AT_LEAST,
	QUERY_EQUAL,
	QUERY_BETWEEN, /* from `value` to `upto`, both included */
};

struct query_word {
	struct str term; /* folded, as tokens_next() gives it; a pattern folded but not stemmed */
	struct str form; /* as written */
	bool pattern;    /* "*" in it stands for any number of characters, "?" for one: no word has
			  * either as its own. At most 241 bytes of term and 511 of form, no "*"
			  * next to another. */
	struct str folded; /* folded but not stemmed, which is what errors are counted in; empty:
			    * the term is */
};

/* How many errors a word or phrase may have. */
enum { QUERY_ERRORS_BEST = -1 }; /* the least with which it finds a document */

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
	/* For WORD, PHRASE and NEAR: */
	int8_t errors; /* 0 to 8, or QUERY_ERRORS_BEST: in all words together, in each of NEAR */
	bool parts;    /* the first may be the end of a longer word, the last the beginning of
			* one; a word alone, and each of NEAR, any part of it */
	bool forgive;  /* words that hardly any document has also mean their neighbours */
	bool whole;    /* WORD, PHRASE: whole words as they are written, whatever the options say;
			* `exact` is set too, and there is an attribute */
	bool plain;    /* it has no "~", "*" or "?" of its own: the three are as the options say */
	uint32_t distance; /* NEAR */
	struct str match;  /* MATCH: what stands between the slashes */

	struct query_word *word; /* WORD: 1, PHRASE: 2 or more, one after the other, NEAR: 2 */
	struct query_node **kid; /* AND, OR: 2 or more, NOT: 1 */
	uint32_t words, kids;

	enum query_relation relation; /* COMPARE */
	/* COMPARE; also what WORD and PHRASE could be as one, and their text without "~": it is
	 * printed in an attribute, so anyone who changes the words clears it */
	struct query_value value;
	struct query_value upto; /* COMPARE, BETWEEN */
};

enum query_order {
	QUERY_BY_RANK,
	QUERY_BY_TIME, /* newest first */
	QUERY_ANYHOW,  /* in the order of the index, which is the cheapest */
};

struct query {
	struct query_node *root;
	struct str written; /* the text it was read from, for messages; empty: there is none */
	const struct token_rules *rules; /* that it was read by; NULL: opened where needed */
	struct str notes; /* lines of text: what was taken otherwise than it was written */
	enum query_order order;
	uint32_t limit, offset;
	int64_t budget_us; /* of wall time; 0: as long as it takes */
	bool exact_total;  /* count all matches, even those that need not be looked at */
	bool explain;
	const atomic_bool *cancel; /* NULL, or set by another thread: as if the time were up */
	/* The text of a document, for expressions and lines: as docstore_get(). NULL: there is
	 * none, and an expression that needs it is refused. */
	query_text_fn *text;
	void *text_ctx;
	struct str facet[QUERY_FACETS_MOST]; /* columns whose values are counted; "year" and "size"
					      * are made of the time and of the column size */
	uint32_t facets;
	uint32_t per_site; /* hits of a site among the first 100 before all others; 0: any */
};

/* What a text says where it leaves a choice. All but `exact` are for plain words and phrases, which
 * have no "~", "*" or "?" of their own. */
struct query_options {
	bool exact;     /* case and accents count */
	uint8_t errors; /* as if "~k" stood after each; a word that is too short takes its length -
			 * 1, and the notes say so; more than QUERY_ERRORS_MOST is refused */
	bool best;      /* as if "~" stood after each, whatever `errors` says */
	bool parts;     /* as the node's */
	bool forgive;
	bool classic; /* the Broker's grammar in place of ours: doc/query.md, "Classic" */
};

/* Reads a query. Limit, offset and the like are left for the caller to set: limit is 10, all else
 * 0. ERR_USAGE: what it cannot be, and at which character. The text need not outlive the call. */
int query_parse(struct str text, const struct query_options *options,
		const struct token_rules *rules, struct arena *arena, struct query *ret,
		struct err *err);

/* The character at a byte of a text, as people count: the first is 1. */
size_t query_character(struct str text, size_t at);

/* A word as it is compared: as written where case counts, else folded and not stemmed. */
struct str query_word_compared(const struct query_node *node, uint32_t number);
/* How many errors one word can have: fewer than it has letters; a pattern none. */
uint32_t query_word_errors_most(const struct query_node *node, uint32_t number);
/* The most errors that a node may have: each word fewer than letters, a phrase the sum of that,
 * NEAR what the longer of its words may; at most QUERY_ERRORS_MOST. Patterns have none. */
uint32_t query_errors_most(const struct query_node *node);

/* The tree as text that query_parse() reads as the same tree, with the same options, and without
 * `classic` too. */
void query_print(const struct query_node *node, struct buf *out);

struct hit {
	struct str key;
	float score; /* 0 where the order is not by rank */
	float found; /* of the score: BM25 and static rank, by which it was found */
	int64_t time_s;
	uint64_t oid;          /* as words_add() was given it: the way to the document store */
	uint32_t segment, doc; /* of the snapshot that answered */
};

/* The values of a facet with the greatest counts. */
struct facet {
	struct str name;
	struct facet_value {
		struct str value;
		uint64_t count;
	} shown[QUERY_FACET_SHOWN];
	uint32_t n;
	uint64_t rest;  /* the sum of the others */
	bool estimated; /* by a sample */
};

struct hits {
	struct hit *hit; /* the best first, without the first `offset` */
	size_t n;
	uint64_t total; /* matches, or at least so many */
	bool total_exact;
	bool cut;         /* the time was up: the best of what was seen until then */
	struct str notes; /* lines of text: what was taken otherwise than it was written */
	struct facet *facet;
	uint32_t facets;
	uint64_t facet_sample; /* 0: all matches were counted; else so many of facet_of */
	uint64_t facet_of;
	const struct query_node *ran; /* the query's tree, with the number of errors that were
				       * needed where it has QUERY_ERRORS_BEST */
	struct str explain;           /* lines of text; empty unless it was asked for */
};

/* As an object: name, values (value, count), rest, and whether they are estimated. */
extern const struct rows facet_rows;
