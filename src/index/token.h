/* Words of a text: where they begin and end, and under which term they are found.
 *
 * A word is a run of letters, digits and the marks on them (Unicode general categories L, N, M; a
 * mark does not begin one); all else separates, apostrophes, hyphens and underscores too, so that
 * "don't" is two words and finds itself as a phrase. Scripts that do not put blanks between words
 * (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) give a word per letter. Bytes that are not
 * UTF-8 separate.
 *
 * The term is the word folded: NFKC, case folded, without accents (marks of a combining class other
 * than 0, 8 and 9: the vowels of Indic scripts and the voicing of kana stay), and reduced to its
 * stem where the rules name a language. Words longer than the limits are cut at a character, in the
 * index and in queries alike, and so find each other by their beginning. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
	TOKEN_TERM_MOST = 128, /* bytes of a term */
	TOKEN_FORM_MOST = 255, /* bytes of an original form */
};

/* What folding needs: libutf8proc, loaded at first need, and perhaps a stemmer. For any number of
 * threads. */
struct token_rules;

/* language: as libstemmer names it ("english", "german"), empty: words are not stemmed. ERR_USAGE:
 * there is no such language. */
int token_rules_open(struct token_rules **ret, struct str language, struct err *err);
void token_rules_close(struct token_rules **rules);

struct token {
	struct str term;   /* folded; good until the next call */
	struct str form;   /* as it stands in the text, a slice of it */
	uint32_t position; /* of the word, not of bytes; the first has the number given at start */
	bool plain;        /* form and term are the same bytes */
};

struct tokens {
	const struct token_rules *rules;
	const unsigned char *p, *end;
	uint32_t position;
	/* The 64 bytes that were looked at last: where they begin, which of them are ASCII letters
	 * and digits, which capitals, which not ASCII at all. */
	const unsigned char *block;
	uint64_t words, capitals, others;
	char term[TOKEN_TERM_MOST];
};

/* The text must stay until the last call. Positions that pass 2^32 - 1 stay there. */
void tokens_init(struct tokens *t, const struct token_rules *rules, struct str text,
		 uint32_t position);
/* 0: *ret is the next word; 1: there are no more. */
int tokens_next(struct tokens *t, struct token *ret);

/* A text as its words are folded, without stems and never cut; all else stays as it is. Bytes are
 * added to *out. */
struct token_map {
	uint32_t *from; /* by byte that was added: of which byte of the text it was made; and the
			 * end of the text */
	size_t n, room; /* n: without the end */
};
/* map: NULL, or empty (n is 0). */
void token_fold_text(const struct token_rules *rules, struct str text, struct buf *out,
		     struct token_map *map);
void token_map_free(struct token_map *map);
