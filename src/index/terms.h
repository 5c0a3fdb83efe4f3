/* Terms: which words of a segment a word of a query means.
 *
 * A plain word means its term. A pattern, a word with errors, a part of words or an expression
 * mean any number of terms, and each term some or all of its forms. Prefixes are a range of the
 * dictionary; two errors walk it with an automaton, passing over what shares a beginning that leads
 * nowhere; parts and ends of words are looked for in the blob of all terms (segment_blob()), as are
 * expressions by their literals and three errors and more, in the groups whose length fits. One
 * error is looked for in the order of such a group, where the word is ASCII; else the automaton
 * walks. */
#pragma once
#include "index/errors.h"
#include "index/rx.h"
#include "index/segment.h"
#include "index/token.h"

enum terms_kind {
	TERMS_WORD,    /* the word itself */
	TERMS_PATTERN, /* "*" and "?" in it */
	TERMS_ERRORS,  /* at most k errors */
	TERMS_MATCH,   /* an expression that lies within a word */
};

/* What is looked for; for any number of threads. A WORD that is whole (no side open) and not exact
 * means the term that it is; all else, where stemmed, is compared with words as written. */
struct terms_want {
	enum terms_kind kind;
	struct str word; /* folded; with exact as written */
	uint32_t k;
	bool open_left, open_right;      /* WORD, ERRORS: it may stand inside a longer word */
	bool exact;                      /* case and accents count: forms are compared, not terms */
	bool stemmed;                    /* terms are stems: forms are folded and compared */
	bool swaps;                      /* ERRORS: two neighbours swapped are one error */
	const struct rx *rx;             /* MATCH and general patterns; NULL: not needed */
	const struct token_rules *rules; /* for folding, where exact or stemmed */
};

/* What a word of a query means. false: it is plain, and means its term. Parts: the first word may
 * be the end of a longer one, the last the beginning of one; a word alone, or near another, any
 * part. stemmed: terms of the index are stems, which is not what such words are compared with. */
bool terms_want_of(const struct query_node *node, uint32_t number, bool stemmed,
		   const struct token_rules *rules, struct terms_want *ret);

/* One term that is meant. */
struct terms_found {
	struct segment_term info; /* of the list that was asked for */
	struct str term;
	uint32_t errors;            /* the least of its forms */
	const uint64_t *forms;      /* a bit for each form that is meant; NULL: all of them */
	uint32_t nforms;            /* bits */
	const uint8_t *form_errors; /* of each form that is meant; NULL: `errors` for all */
};

/* Asked now and then during long walks: true ends them. */
typedef bool terms_late_fn(void *ctx);

/* All of a segment, in the order of terms. attr: SEGMENT_COMBINED or the number of an attribute
 * (then `forms` is told for the combined list of the term). Everything lies in the arena; at most
 * `most` terms, *ret_cut says that there are more or that it was late. */
int terms_find(struct segment *s, unsigned attr, const struct terms_want *want, struct arena *arena,
	       size_t most, terms_late_fn *late, void *late_ctx, struct terms_found **ret,
	       size_t *ret_n, bool *ret_cut, struct err *err);

/* The same one after the other, so that any number costs no memory: what is given is good until the
 * function returns, which it does with 0 to go on, 1 to end, negative when it failed. */
typedef int terms_take_fn(void *ctx, const struct terms_found *found);
int terms_each(struct segment *s, unsigned attr, const struct terms_want *want, terms_late_fn *late,
	       void *late_ctx, terms_take_fn *take, void *take_ctx, bool *ret_cut, struct err *err);

/* Whether one word of a text is meant, as tokens_next() gave it: for snippets and lines.
 * *ret_errors may be NULL. */
bool terms_means(const struct terms_want *want, const struct token *token, uint32_t *ret_errors);
