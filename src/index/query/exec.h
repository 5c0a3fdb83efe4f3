/* The inside of words_query(): a query against one snapshot, a segment after the other.
 *
 * A leaf is a word or a phrase: one or more posting lists that must all have a document, and
 * perhaps a check of positions. A word that means many terms (a pattern, errors, a part of words)
 * has a list that is made for the query, their union; everything else takes it for a list. Leaves
 * that all must match, lists of which one must, and everything else are three ways to run a query
 * (exec_and.c, exec_or.c, exec_tree.c); the first two look only at blocks whose bound could still
 * enter the best found so far.
 *
 * Scores are whole numbers, so that a sum is the same in every order. A failure is remembered in
 * `failed`; cursors then are at their end. */
#pragma once
#include "base/heap.h"
#include "index/query/rank.h"
#include "index/segment.h"
#include "index/terms.h"

#define NO_DOC UINT32_MAX

enum {
	EXEC_MADE_MOST = 48 << 20, /* bytes of lists that are made for a query, and to make them */
	EXEC_WORDS_TOLD = 10,      /* of those that a pattern means */
};

/* A term that is kept until positions are looked at: there may be a million, so it is small. Its
 * list is the one over all attributes. */
enum { EXEC_NOT_MEANT = UINT8_MAX };
struct exec_forms {
	uint32_t n;
	uint8_t errors[]; /* by form; EXEC_NOT_MEANT */
};
struct exec_meant {
	uint64_t at; /* as in segment_term; where bytes is 0: document << 32 | position */
	uint64_t bytes : 48, errors : 8, variant : 8;
	uint32_t df, occurrences;
	const struct exec_forms *forms; /* NULL: all are meant, with `errors` */
};
static inline struct segment_term exec_meant_info(const struct exec_meant *m)
{
	struct segment_term info = {.df = m->df, .occurrences = m->occurrences};
	info.blocks = (m->df + SEGMENT_BLOCK - 1) / SEGMENT_BLOCK;
	info.bytes = m->bytes;
	if (m->bytes) {
		info.at = m->at;
		return info;
	}
	info.doc = (uint32_t)(m->at >> 32);
	info.position = (uint32_t)m->at;
	info.variant = m->variant;
	return info;
}

/* The list of a word that means many terms, in one segment. A posting has the sum of their
 * frequencies, at most SEGMENT_TF_MOST, and the least of their errors. */
struct exec_union {
	uint32_t df, blocks;
	uint32_t *docs;       /* NULL: one list of the segment does, exec_term.info */
	uint32_t *last;       /* by block */
	uint8_t *tf, *errors; /* by posting; NULL: nobody scores; none has any */
	/* Made when the segment is opened for an order by rank, else NULL. */
	uint32_t *scores, *bounds, most;
	/* The terms, where positions are to be looked at; on the heap. */
	struct exec_meant *meant;
	size_t meants, meant_room;
};

/* A posting list that the query needs: of a term, in an attribute (empty: all of them). */
struct exec_term {
	struct str attribute, term;
	const struct terms_want *want; /* the terms that it means; NULL: itself */
	uint32_t wants;                /* all of these together */
	bool long_terms;               /* also those that may have been cut */
	bool unscored;                 /* frequencies are not needed */
	uint64_t df;
	float weight;              /* of a score */
	struct segment_term *info; /* by segment; df 0: not there, or made */
	struct exec_union *made;   /* by segment, where want is set */
	bool kept;                 /* positions will be looked at */
	/* How many terms, those of each segment, and which: there may be more, untold ones. */
	uint64_t words;
	struct str *told;
	uint32_t tolds;
	bool untold;
};

struct exec_leaf {
	const struct query_node *node;
	uint32_t words;
	uint32_t *term,
		*times; /* numbers of the lists that must match, each once; how often meant */
	uint32_t terms;
	bool check, main;   /* positions are to be looked at; the attribute is the main one */
	bool loose;         /* by exec_loose.c: errors, patterns, NEAR */
	uint32_t errors;    /* in all words together; NEAR: in each */
	uint32_t *combined; /* by word, where check is set: its list over all attributes; the one
			     * that the leaf has, where it is made */
};

/* The query as it is run: leaves and ranges of columns are at the ends. */
struct exec_node {
	enum query_op op; /* PHRASE and WORD are both WORD */
	uint32_t kids;
	struct exec_node **kid;
	struct exec_leaf *leaf;
	unsigned column; /* COMPARE: least <= number <= most */
	int64_t least, most;
	struct str value;         /* of a column of words, instead; may have "*" and "?" in it */
	bool words, pattern;      /* that is so */
	struct exec_match *match; /* MATCH: the text is to be read */
};

struct exec_list {
	struct postings p;
	const struct exec_term *term;
	struct exec_union *made; /* it is one of these; p has but df, blocks and last */
	float weight;
	uint32_t times;   /* that its score counts */
	uint32_t most;    /* a bound of all blocks; close once they were all looked at */
	uint32_t *bounds; /* of all blocks then, else NULL */
	uint32_t block;
	uint32_t docs_block, tfs_block, scores_block; /* that were decoded; NO_DOC: none */
	uint32_t in_block, at; /* postings of the decoded block; where the last find was */
	uint32_t where;        /* the posting whose positions are to be read */
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK], scores[SEGMENT_BLOCK];
};

/* Greatest score or time first, then the order of the index. The least of the kept is on top. */
typedef unsigned __int128 exec_key;
static inline exec_key exec_key_of(uint64_t value, uint64_t order)
{
	return (exec_key)value << 64 | ~order;
}
static inline bool exec_key_less(const exec_key *a, const exec_key *b)
{
	return *a < *b;
}
HEAP(exec_best, exec_key, exec_key_less, HEAP_STAY)

/* One of the best, and what each part of the table in rank.c adds to its score. */
struct exec_ranked {
	uint64_t base;  /* BM25 and static rank */
	uint64_t order; /* among the documents of all segments */
	uint32_t segment, doc;
	uint32_t part[RANK_PARTS];
	bool near; /* nearness is looked at */
};

struct exec {
	const struct query *query;
	const struct words_settings *settings;
	const struct words_part *part;
	size_t parts;
	struct arena *arena; /* for the query; what belongs to a segment is given back after it */
	struct arena *told;  /* for the answer */
	struct err *err;
	bool failed, cut;
	bool partial;        /* not all was made that should be: goes on, but is told as cut */
	int64_t deadline_us; /* 0: none */
	size_t made;         /* bytes of lists that were made */
	size_t *scores;      /* by segment: bytes that their scores will take */
	size_t scores_most;  /* the most of them, which `made` has */
	const struct query_node *ran; /* the query, with numbers for QUERY_ERRORS_BEST */
	struct token_rules *rules;    /* opened here, where the query brings none */
	struct exec_match *matches;   /* to be closed */
	bool watched;                 /* there is a deadline, or somebody may cancel it */
	size_t ticks;

	struct exec_term *term;
	uint32_t terms;
	size_t terms_room;
	struct exec_node *root;
	struct rank_norms norms;

	struct exec_best best;
	size_t keep;                /* offset + limit, or more where the best are put in order */
	uint32_t need;              /* a less score does not enter */
	bool anyhow;                /* documents come in any order: an equal score may enter too */
	uint64_t seen;              /* matches */
	bool counted;               /* the total is known without looking at them */
	bool stopped;               /* there may be more matches, which nobody looked at */
	struct exec_sample *sample; /* which matches are for facets; NULL: none */
	struct rerank *rerank;      /* NULL: they are in order already */
	struct exec_ranked *ranked; /* those of the best that were put in order by all parts */
	uint32_t rankeds;

	/* the current segment */
	size_t number;
	uint64_t base; /* documents of the segments before it */
	struct segment *segment;
	uint32_t docs;
	const uint64_t *deleted;
	bool scoring; /* lengths are there */
	const uint8_t *lengths;
	struct segment_column rank, time;
	uint32_t rank_most;        /* bound of what the static rank adds */
	struct exec_list **opened; /* of this segment, to be closed */
	uint32_t lists;
	size_t lists_room;
	struct exec_check *checks; /* likewise */
	uint32_t bounds_left;      /* blocks whose bounds may be kept yet */

	struct {
		uint64_t blocks, blocks_passed, candidates, checks, texts;
	} count;
};

/* exec_tree.c */
/* The tree, the lists it needs, their statistics. */
int exec_plan(struct exec *e, const struct query_node *root);

/* exec_leaf.c: what words mean. */
/* 0: *ret is the leaf of a WORD, PHRASE or NEAR; the lists it needs are among e->term, but not
 * looked up. */
int exec_leaf(struct exec *e, const struct query_node *node, struct exec_leaf **ret);
/* The same of an expression whose matches lie within a word. */
int exec_leaf_match(struct exec *e, const struct query_node *node, const struct rx *rx,
		    struct exec_leaf **ret);
/* One more among e->term, which is not shared: its number. */
uint32_t exec_term_new(struct exec *e, struct exec_term term);
int exec_look_up(struct exec *e, struct exec_term *t);
/* The same tree with the least errors that find a document, where any will do. */
int exec_best_errors(struct exec *e, const struct query_node *node, const struct query_node **ret);
/* For folding; NULL: e->err says why. */
const struct token_rules *exec_rules(struct exec *e);

/* exec_union.c */
/* The list of t->want in a segment: t->info and t->made of it. */
int exec_union_make(struct exec *e, struct exec_term *t, size_t part);
/* Scores and bounds, for the current segment. */
void exec_union_score(struct exec *e, const struct exec_term *t, struct exec_union *u);
void exec_terms_free(struct exec *e); /* at the end of the query */
/* Whether so many more bytes may be made; where not, the answer is partial. */
bool exec_may_make(struct exec *e, size_t n);
/* Ascending by `bits` bits from `shift` on; equal ones stay in order. tmp has room for n too. */
void exec_sort(uint64_t *v, uint64_t *tmp, size_t n, unsigned shift, unsigned bits);

/* exec_list.c */
/* NULL: the segment does not have it. */
struct exec_list *exec_list_open(struct exec *e, uint32_t term, uint32_t times);
void exec_lists_close(struct exec *e);
void exec_lists_sort(struct exec_list **list, uint32_t n); /* the shortest first */
/* The block that holds the first posting not before doc. false: there is none. */
bool exec_list_to(struct exec_list *l, uint32_t doc);
bool exec_list_docs(struct exec *e, struct exec_list *l); /* decodes the block */
bool exec_list_tfs(struct exec *e, struct exec_list *l);
bool exec_list_scores(struct exec *e, struct exec_list *l); /* of the whole block */
/* The first document of the list that is not before doc, as a place in the current block (l->at).
 */
uint32_t exec_list_seek(struct exec *e, struct exec_list *l, uint32_t doc);
/* Of a posting in the current block. */
static inline uint32_t exec_list_score(struct exec *e, struct exec_list *l, uint32_t at)
{
	if (l->made)
		return l->times * l->made->scores[l->block * SEGMENT_BLOCK + at];
	if (!exec_list_tfs(e, l))
		return 0;
	return l->times * rank_score(l->weight, l->tfs[at], e->norms.of[e->lengths[l->docs[at]]]);
}
/* Of n ascending documents those that are in the current block, which is decoded: their places
 * among the n and in the block. Returns how many. */
uint32_t exec_list_join(const struct exec_list *l, const uint32_t *doc, uint32_t n,
			uint32_t ret_i[static SEGMENT_BLOCK],
			uint32_t ret_at[static SEGMENT_BLOCK]);
uint32_t exec_list_bound(struct exec *e, struct exec_list *l, uint32_t block);
/* Of all blocks, once. Too many of them are not kept: l->bounds may be NULL yet. */
void exec_list_bounds(struct exec *e, struct exec_list *l);
/* Blocks by their bounds, the greatest first, once these were looked at. */
const uint32_t *exec_list_order(struct exec *e, const struct exec_list *l);
/* The numbers of n values, the greatest first, nearly. */
void exec_falling(const uint32_t *value, uint32_t n, uint32_t *ret);
/* A bound for all documents from `from` to `to`; moves the list to `from`. */
uint32_t exec_list_range_bound(struct exec *e, struct exec_list *l, uint32_t from, uint32_t to);

/* exec_column.c: numbers, dates and words of documents. */
struct exec_column {
	struct segment_column numbers;
	const struct segment_span *span;
	int64_t least, most;
	const uint64_t *set; /* of these numbers only, or NULL */
	uint32_t set_n;
	uint32_t most_docs; /* that may have one of them */
};
/* A comparison; a word or phrase (1: its attribute is not a column). */
int exec_compare_of(struct exec *e, const struct query_node *node, struct exec_node *ret);
int exec_value_of(struct exec *e, const struct query_node *node, struct exec_node *ret);
/* false: no document of the segment has it. */
bool exec_column_open(struct exec *e, const struct exec_node *node, struct exec_column *ret);
static inline bool exec_column_has(const struct exec_column *c, uint32_t doc)
{
	int64_t v = segment_number(&c->numbers, doc);
	if (v < c->least || v > c->most)
		return false;
	return LIKELY(!c->set) || (v <= (int64_t)c->set_n && words_bit(c->set, (uint32_t)v));
}
uint32_t exec_column_seek(struct exec *e, const struct exec_column *c, uint32_t doc);

/* exec_check.c: positions. */
struct exec_check;
/* 0: *ret is to be asked for each document. 1: no document of the segment can pass. Lists among
 * those given are used where they fit: when it asks, `where` of each is the document's. */
int exec_check_open(struct exec *e, const struct exec_leaf *leaf, struct exec_list *const *list,
		    uint32_t lists, struct exec_check **ret);
bool exec_check(struct exec *e, struct exec_check *c, uint32_t doc);
void exec_checks_close(struct exec *e);

/* Values of a document: which one a position is in. Positions that are asked for ascend. */
struct exec_inside {
	struct segment_ranges it;
	struct segment_range range;
	bool more;
};
bool exec_inside_open(struct exec *e, uint32_t doc, struct exec_inside *ret);
/* NULL: in none. Good until the next call. */
const struct segment_range *exec_inside(struct exec *e, struct exec_inside *in, uint32_t position);

/* exec_loose.c: the same for words that mean many. 1: no document of the segment can pass. */
struct exec_loose;
int exec_loose_open(struct exec *e, const struct exec_leaf *leaf, struct exec_loose **ret);
bool exec_loose(struct exec *e, struct exec_loose *c, uint32_t doc);
void exec_loose_close(struct exec *e, struct exec_loose *c); /* also NULL */

/* exec_text.c: expressions. */
/* A leaf; or a node that reads texts, perhaps with a leaf before it (AND). */
int exec_match_plan(struct exec *e, const struct query_node *node, struct exec_node *ret);
bool exec_match(struct exec *e, struct exec_match *m, uint32_t doc);
void exec_matches_close(struct exec *e); /* at the end of the query */

/* exec_tree.c: any query, one document after the other; targets ascend. */
struct exec_tree;
struct exec_tree *exec_tree_open(struct exec *e, const struct exec_node *node);
bool exec_tree_matches(struct exec *e, struct exec_tree *t, uint32_t doc);
/* Of a document that matches and was sought last. */
uint32_t exec_tree_score(struct exec *e, struct exec_tree *t, uint32_t doc);
uint32_t exec_tree_most(const struct exec_tree *t); /* a bound of all scores */
bool exec_tree_reads(const struct exec_tree *t);    /* texts */
void exec_tree_run(struct exec *e, const struct exec_node *root);

/* The fast ways, by rank only. false: not a query for this one. */
bool exec_one_run(struct exec *e, const struct exec_node *root);
bool exec_and_run(struct exec *e, const struct exec_node *root);
bool exec_or_run(struct exec *e, const struct exec_node *root);

/* exec_facets.c: matches by what they have in columns. */
/* Counts all matches in a pass of their own; sets what hits say of facets. */
int exec_facets(struct exec *e, struct hits *ret, uint64_t *ret_matches);
void exec_sample_see(struct exec_sample *s, uint64_t order);

/* words_query.c: a pass over all matches in no order, with or without a sample of them. */
int exec_pass(struct exec *e, struct exec_sample *sample, uint64_t *ret_matches);
/* exec_rerank.c: the order of the best by rank; see there. */
/* Once the query is planned: what there is to put the best in order by, and how many of them the
 * first pass has to keep for it. */
int exec_rerank_plan(struct exec *e);
/* Takes all that was kept, the first hit first, and what each has of its score other than BM25 and
 * static rank. */
int exec_rerank(struct exec *e, exec_key **ret, uint64_t **ret_added, size_t *ret_n);
/* What that is made of: lines of text. */
void exec_rerank_explain(const struct exec *e, const struct hit *hit, struct buf *out);

/* The segment of a document by its number among all. */
size_t exec_segment_at(const struct exec *e, uint64_t order, uint32_t *ret_doc);
/* Closes what was opened in the current segment, and gives its memory back. */
void exec_close_segment(struct exec *e, struct arena_mark mark);

/* Whether a document with this score may be among the best; sure where there is no static rank. */
static inline bool exec_enters(const struct exec *e, uint32_t doc, uint32_t score)
{
	return exec_best_count(&e->best) < e->keep ||
	       exec_key_of((uint64_t)score + e->rank_most, e->base + doc) > e->best.e[0];
}
/* Surely, by all that its place depends on. */
bool exec_may_enter(const struct exec *e, uint32_t doc, uint32_t score);
/* A match. Scores without what the static rank adds. */
void exec_found(struct exec *e, uint32_t doc, uint32_t score);
static inline bool exec_deleted(const struct exec *e, uint32_t doc)
{
	return words_bit(e->deleted, doc);
}
/* Looks at the clock now and then, and at the cancel flag. true: stop. */
bool exec_late(struct exec *e);
bool exec_late_by(struct exec *e, size_t work); /* that is worth so many steps */
bool exec_late_now(void *e);                    /* the same at once: before what takes long */
/* words_query.c: all segments, one after the other. */
int exec_segments(struct exec *e);
int exec_fail(struct exec *e);
/* What a query cannot ask of this index, with the character where it stands. */
#define EXEC_REFUSE(e, node, fmt, ...)                             \
	err_set((e)->err, ERR_USAGE, "query, character %zu: " fmt, \
		query_character((e)->query->written, (node)->at), ##__VA_ARGS__)
