/* Words with errors: whether a text is a word with at most k characters inserted, deleted or
 * substituted. One automaton for k from 1 to 8: a bit for each character of the word that may have
 * been reached, k + 1 rows of them, stepped over the bytes of UTF-8 (Wu and Manber). A state is a
 * value, so that a walk over sorted terms keeps one for each byte and goes back without
 * recomputing. Characters that are not of the word are alike. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

enum { ERRORS_MOST = 8, ERRORS_CHARS_MOST = 128 };

/* Bit i: i + 1 characters of the word were reached, with at most as many errors as the number of
 * the row. Words of at most 64 characters use the narrow rows. */
struct errors_rows {
	uint32_t none; /* a bit for each row: no character of the word was reached yet */
	uint32_t wide; /* bytes of a character that are still to come, and what came of it */
	union {
		uint64_t narrow[ERRORS_MOST + 1];
		unsigned __int128 row[ERRORS_MOST + 1];
	};
	/* Of swaps, by row, the second of two was read: bit i: i characters before them. */
	union {
		uint64_t narrow_swap[ERRORS_MOST];
		unsigned __int128 swap[ERRORS_MOST];
	};
};

/* open_left, open_right: what stands before and after the match in the text costs nothing. */
struct errors_word {
	uint32_t chars, k;
	bool open_left, open_right;
	bool swaps;    /* may be set after errors_init(): two neighbours swapped are one error */
	uint32_t left; /* of errors_begin_well() */
	/* private */
	uint32_t others;
	unsigned __int128 top;                 /* bits that the last row may have */
	unsigned __int128 all;                 /* bits that a row may have */
	unsigned char lead[ERRORS_CHARS_MOST]; /* the first byte of each character */
	unsigned __int128 ascii[128];
	struct {
		uint32_t c;
		unsigned __int128 mask;
	} other[ERRORS_CHARS_MOST];
};

/* The word is valid UTF-8 of 1 to ERRORS_CHARS_MOST characters. */
void errors_init(struct errors_word *w, struct str word, uint32_t k, bool open_left,
		 bool open_right);
/* All k errors are not in the first `left` characters: after them, fewer than k were made. (What
 * has all before ends as the word does after these characters.) Not for k 0 or open sides. */
void errors_begin_well(struct errors_word *w, uint32_t left);
void errors_start(const struct errors_word *w, struct errors_rows *ret);
/* *to may be *from. false: nothing that begins so can match. */
bool errors_step(const struct errors_word *w, const struct errors_rows *from, unsigned char byte,
		 struct errors_rows *to);
/* Steps over a text whose first `at` bytes were stepped over already: state[i] is the state before
 * byte i, and there is room for one after the last. How many bytes can be: less than all, nothing
 * that begins with one more can match. */
size_t errors_run(const struct errors_word *w, struct errors_rows *state, size_t at,
		  struct str text);
/* The least byte from this one on that may follow, so that a walk passes over the others; more than
 * UINT8_MAX: none. */
unsigned errors_next(const struct errors_word *w, const struct errors_rows *rows, unsigned from);
/* The least number of errors if the text ends here; k + 1: it does not match. */
uint32_t errors_end(const struct errors_word *w, const struct errors_rows *rows);
/* The same of a whole text. */
uint32_t errors_of(const struct errors_word *w, struct str text);
