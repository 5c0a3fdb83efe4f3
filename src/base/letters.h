/* Attributes as lines of a letter and a value, which people can read in a trace: what processes of
 * garner on several machines tell each other. A reader takes a letter once and its caller knows all
 * letters of its version, so two programs of one version have nothing to guess. What a writer may
 * not send (a control character in words that came from a server) it leaves out or blanks, so that
 * an honest peer is never taken for a liar. */
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

/* No time that is sent is longer. */
#define LETTERS_TIME_MAX_US (400 * US_PER_DAY)

void letters_add(struct buf *out, char letter, struct str value);
void letters_add_number(struct buf *out, char letter, uint64_t v);
/* Left out where it is not known (0 or less). */
void letters_add_seconds(struct buf *out, char letter, int64_t s);
/* At most LETTERS_TIME_MAX_US; left out where it is negative. */
void letters_add_time(struct buf *out, char letter, int64_t us);
/* Left out where it is empty or cannot be sent. */
void letters_add_text(struct buf *out, char letter, struct str value, size_t most);
/* Words for people: cut at `most`, control characters are blanks. Without letter and line end. */
void letters_add_words(struct buf *out, struct str words, size_t most);

/* Set rest and what, zero the others; letter and value are those of the last letters_next(). */
struct letters {
	struct str rest;
	const char *what; /* for messages: "a job" */
	uint32_t seen[4]; /* a bit for each letter */
	char letter;
	struct str value; /* without control characters */
};

/* 1: the end. ERR_DAMAGED: not such lines, or a letter twice. */
int letters_next(struct letters *r, struct err *err) MUST_USE;
bool letters_seen(const struct letters *r, char letter);
/* ERR_DAMAGED: all of these have to be there. */
int letters_whole(const struct letters *r, const char *letters, struct err *err) MUST_USE;

/* The value; ERR_DAMAGED where it is none. */
int letters_wrong(const struct letters *r, struct err *err);
int letters_number(const struct letters *r, uint64_t most, uint64_t *ret, struct err *err) MUST_USE;
int letters_time(const struct letters *r, int64_t *ret, struct err *err) MUST_USE;
int letters_seconds(const struct letters *r, int64_t *ret, struct err *err) MUST_USE;
/* 1 to `most` bytes. */
int letters_text(const struct letters *r, size_t most, struct str *ret, struct err *err) MUST_USE;
