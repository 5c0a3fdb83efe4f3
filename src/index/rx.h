/* Expressions: a pattern, and whether and where a text matches it, in time linear in the text.
 *
 * A pattern becomes an NFA over characters, of at most RX_STATES positions; a DFA over the bytes of
 * UTF-8 is made from it while texts are read, a state when it is first reached. States take at most
 * RX_MEMORY; when that is full they are dropped and made anew, so that no pattern and no text costs
 * more. Nothing recurses. Bytes that are not UTF-8 match nothing. Syntax: . [] () | * + ? {m,n} ^ $
 * \b \w \d \s and their opposites, classes of Unicode, also by name (\p{L}, \p{Greek} is refused
 * with what is known). "^" and "$" are the beginning and the end of a line: a text given to
 * rx_find() is one line. What it cannot be (back-references, look-around, lazy and possessive
 * repeats) is refused by name. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

enum {
	RX_STATES = 20000,     /* positions of an NFA */
	RX_REPEAT_MOST = 1000, /* {m,n} */
	RX_MEMORY = 8 << 20,   /* bytes of DFA states */
	RX_LITERALS_MOST = 64,
};

/* A compiled pattern, for any number of threads. */
struct rx;

/* folded: the text will be folded as tokens are (token.h), so the letters of the pattern are too:
 * characters of words as token_fold() folds them, all others stay. Capitals in classes are small
 * then, and \p{Lu} and \p{Ll} are the same.
 * ERR_USAGE: what it cannot be; *ret_at is the byte of the pattern where. */
int rx_compile(struct rx **ret, struct str pattern, bool folded, size_t *ret_at, struct err *err);
/* The same for names of files, which are any bytes and are not folded: each byte that is not part
 * of UTF-8 is a character of its own. ".", which matches a newline too, and whatever stands for all
 * but some characters ([^a], \W, \P{L}) match it. "^" and "$" are the ends of the name. */
int rx_compile_name(struct rx **ret, struct str pattern, size_t *ret_at, struct err *err);
void rx_free(struct rx **rx);
/* Loads what the first expression would load, for those who can open no files later on. */
int rx_load(struct err *err);

/* Literals: every match contains, for each group, at least one of its literals. No group: nothing
 * is known. A literal is a run of characters that are all of words (letters, digits, marks) or all
 * not; `begins` and `ends` say that a word surely begins with it and ends with it: a character that
 * is not of a word, the end of the line or a letter that is a word by itself (token.h) stands
 * before it and after it. The text is as in the match; where the pattern is not folded, fold it to
 * look for it among terms. A term that was cut at its limit may lack a literal that its word has.
 * Of an expression for names a literal is a run of any characters; `begins` and `ends`: the name
 * begins with it, ends with it. */
struct rx_literal {
	struct str text;
	bool begins, ends;
};
struct rx_group {
	const struct rx_literal *literal;
	uint32_t n;
};
const struct rx_group *rx_literals(const struct rx *rx, uint32_t *ret_n);
/* Whether every match consists of characters of words only and does not look beyond itself (no
 * ^ $ \b), so that it lies in one word; nor can it be empty. */
bool rx_within_word(const struct rx *rx);

/* Running: the DFA of one thread. */
struct rx_run;
struct rx_run *rx_run_new(const struct rx *rx);
void rx_run_free(struct rx_run **run);
/* States take so many bytes at most, and not RX_MEMORY; but a few are always there. Before it
 * runs. */
void rx_run_memory(struct rx_run *run, size_t bytes);
/* Asked now and then while a line is read. Once it says true, every line ends without a match.
 */
void rx_run_late(struct rx_run *run, bool (*late)(void *ctx), void *ctx);

/* The first match of a line at or after `from`, the longest that begins there; 1: there is none. */
struct rx_match {
	size_t at, n;
};
int rx_find(struct rx_run *run, struct str line, size_t from, struct rx_match *ret);
/* Only whether; stops at the first end of a match. */
bool rx_matches(struct rx_run *run, struct str line);
/* The first line with a match of a text, at or after `from`, where a line begins; without its
 * newline. Quicker than line by line where a literal is known. 1: there is none. */
int rx_find_line(struct rx_run *run, struct str text, size_t from, struct str *ret);
