/* What the parts of an expression share: characters (rx_class.c), the tree (rx_parse.c), the
 * alphabet of classes and how bytes become them (rx_bytes.c), the NFA (rx_nfa.c), literals
 * (rx_literals.c) and the DFA (rx_dfa.c).
 *
 * The NFA is one over characters: a position has a set of characters, and all characters that no
 * set of the pattern tells apart are one class. Bytes come in only where the DFA is made: a byte
 * state is a set of positions and how far into a character of UTF-8 the text is. So \w{1,50} has 50
 * positions, not 50 times the bytes of all letters. */
#pragma once
#include "base/vec.h"
#include "index/rx.h"
#include "index/words/token_inner.h"

enum {
	RX_PATTERN_MOST = 64 << 10, /* bytes */
	RX_SETS_MOST = 2048,        /* different sets of characters */
	RX_RANGES_MOST = 20000,     /* in all of them together */
	RX_CLASSES_MOST = 4096,
	RX_CHAR_LAST = 0x10ffff,
	RX_STRAY = RX_CHAR_LAST + 1, /* a byte that is not UTF-8, in expressions for names */
};

/* Characters */

struct rx_range {
	int32_t from, to; /* both included */
};

/* Sorted and apart from each other after rx_ranges_settle(). */
struct rx_ranges {
	struct rx_range *range;
	size_t n, room;
};

void rx_ranges_add(struct rx_ranges *r, int32_t from, int32_t to);
void rx_ranges_settle(struct rx_ranges *r);
void rx_ranges_negate(struct rx_ranges *r); /* of settled ones */
void rx_ranges_free(struct rx_ranges *r);
uint32_t rx_ranges_count(const struct rx_ranges *r);

/* What is known of characters while a pattern is compiled. */
struct rx_chars {
	struct token_unicode unicode;
	struct rx_category { /* runs of the same general category, made when first needed */
		int32_t from;
		uint32_t bit;
	} * run;
	size_t runs, room;
	size_t looked; /* at characters and ranges so far */
};

int rx_chars_open(struct rx_chars *c, struct err *err);
void rx_chars_close(struct rx_chars *c);
/* So many more characters or ranges are looked at. false: it is too much for one pattern. */
bool rx_may_look(struct rx_chars *c, size_t n);

/* Categories as bits: 0 if the name is not known. */
uint32_t rx_category_mask(struct str name);
extern const char *const rx_category_known; /* for messages */
void rx_add_categories(struct rx_chars *c, struct rx_ranges *to, uint32_t mask);
void rx_add_word(struct rx_chars *c, struct rx_ranges *to);
void rx_add_space(struct rx_ranges *to);

/* Characters that each fold to several, and to which: these cannot be members of a class. */
enum { RX_LONG_FOLDS_MOST = 16, RX_LONG_FOLD_CHARS = 18 };
struct rx_long_folds {
	uint32_t n;
	struct {
		uint32_t n;
		int32_t c[RX_LONG_FOLD_CHARS];
	} fold[RX_LONG_FOLDS_MOST];
};
/* Members become what they fold to. false: too many of them. */
bool rx_ranges_fold(struct rx_chars *c, struct rx_ranges *r, struct rx_long_folds *ret_long);
/* A bit for each enum token_class that a member has. */
unsigned rx_ranges_kinds(const struct rx_chars *c, const struct rx_ranges *r);

/* The tree. Kids have smaller numbers than their parent, so that a loop over the nodes meets them
 * first. */

enum rx_op {
	RX_EMPTY,
	RX_SET, /* one character of a set */
	RX_CAT,
	RX_ALT,
	RX_REPEAT,
	RX_BEGIN, /* of the line */
	RX_END,
	RX_BOUND, /* \b */
	RX_NOT_BOUND,
};

#define RX_NO_LIMIT UINT32_MAX

struct rx_node {
	uint8_t op; /* enum rx_op */
	uint32_t set;
	uint32_t kid, kids;   /* a slice of rx_tree.kid */
	uint32_t least, most; /* REPEAT */
	uint32_t size;        /* of the NFA that it becomes, or a little more */
};

struct rx_tree {
	bool any_bytes; /* for names; set before it is parsed */
	struct rx_node *node;
	uint32_t *kid;
	struct rx_ranges *set;
	size_t nodes, nodes_room, kids, kids_room, sets, sets_room, ranges;
	uint16_t *found; /* sets by hash: 1 + number */
	uint32_t root;
	bool has_begin, has_end, has_bound;
	uint32_t word_set; /* \w, where has_bound */
};

void rx_tree_free(struct rx_tree *t);
int rx_parse(struct rx_tree *t, struct rx_chars *chars, struct str pattern, bool folded,
	     size_t *ret_at, struct err *err);

/* The alphabet: classes of characters that no set tells apart, and one more, `invalid`, for bytes
 * that are not UTF-8. A node of the decoder is a beginning of a character; what the next byte makes
 * of it is another node or, where the character is complete, its class. */

enum { RX_NO_CHAR = UINT16_MAX };

struct rx_decoder {
	uint16_t to[64]; /* by the six low bits: a node, with left == 1 a class, or RX_NO_CHAR */
	uint8_t left;    /* bytes that are to come */
};

struct rx_alphabet {
	struct rx_range *span; /* that are of one class, in order and without gaps */
	uint16_t *span_class;
	size_t spans;
	uint32_t classes, invalid; /* invalid == classes */
	uint16_t ascii[128];       /* class */
	uint16_t lead[256];        /* node of the decoder after this byte, or RX_NO_CHAR */
	struct rx_decoder *decoder;
	size_t decoders, decoders_room;
	uint8_t byte_class[256];
	uint32_t byte_classes;
	uint32_t set_words; /* of 64 bits for each set: a bit for each class that it has */
	uint64_t *set_bits;
};

int rx_alphabet_make(struct rx_alphabet *a, const struct rx_tree *t, struct err *err);
void rx_alphabet_free(struct rx_alphabet *a);
uint32_t rx_class_of(const struct rx_alphabet *a, int32_t c);

static inline bool rx_set_has(const struct rx_alphabet *a, uint32_t set, uint32_t class)
{
	return a->set_bits[(size_t)set * a->set_words + class / 64] >> (class % 64) & 1;
}

/* The NFA */

enum rx_step_op {
	RX_STEP_SET,
	RX_STEP_SPLIT,
	RX_STEP_MATCH,
	RX_STEP_BEGIN,
	RX_STEP_END,
	RX_STEP_BOUND,
	RX_STEP_NOT_BOUND,
};

struct rx_step {
	uint8_t op; /* enum rx_step_op */
	uint16_t set, out, out_too;
};

struct rx_nfa {
	struct rx_step *step;
	size_t n, room;
	uint16_t start;
};

/* backward: what reads a match from its end to its beginning. */
void rx_nfa_make(struct rx_nfa *nfa, const struct rx_tree *t, bool backward);

struct rx {
	struct rx_nfa nfa[2]; /* forward, backward */
	struct rx_alphabet alphabet;
	uint32_t word_set;
	bool has_begin, has_end, has_bound, any_bytes;

	struct arena arena; /* of literals */
	struct rx_group *group;
	uint32_t groups;
	bool within_word;

	struct str needle;     /* that every match contains; empty: none is known */
	bool quick;            /* few bytes begin a match, and which */
	uint8_t first[256];    /* 1: it does */
	uint8_t first_byte[3]; /* where there are at most three of them */
	uint32_t firsts;
};

void rx_literals_make(struct rx *rx, const struct rx_tree *t, const struct rx_chars *chars,
		      bool folded);
