/* The numbers that the status page shows first, from the counters of all roles. */
#pragma once
#include "role/status.h"
#include "shepherd/shepherd.h"

enum { NUMBER_TEXT = 48 };
/* "12,345" */
void number_text(uint64_t v, char ret[NUMBER_TEXT]);

struct number {
	const char *id, *title;
	char text[NUMBER_TEXT];
};
enum { NUMBERS = 8 };

/* Why pages were not fetched: a result and how often, unless that is 0. */
struct numbers_cause {
	struct str result;
	int64_t count;
};

/* Fetch results: a line for each class of codes, and after it one for each of its codes, unless
 * that is 0. */
struct numbers_code {
	struct str name;       /* "permanent", "2404", "other" */
	char words[CODE_TEXT]; /* of a code; empty: it is the line of a class */
	int64_t count;
};
extern const struct rows numbers_cause_rows, numbers_code_rows;

enum { NUMBERS_CAUSES = 32, NUMBERS_CODES = 128 };
struct numbers {
	struct number n[NUMBERS];
	uint64_t pages; /* fetched ever: the plot shows how fast it grows */
	struct numbers_cause cause[NUMBERS_CAUSES];
	struct numbers_code code[NUMBERS_CODES];
	size_t causes, codes;
};
void numbers_of(const struct status *s, int64_t now_wall_us, struct numbers *ret);

/* The queries of the broker's port. 1: there is no port, or nobody has asked it. */
enum { NUMBERS_QUERIES = 10 };
struct numbers_queries {
	int64_t count[NUMBERS_QUERIES], average_us; /* of an answer; -1: nothing was answered */
};
extern const struct rows numbers_queries_rows;
int numbers_queries(const struct status *s, struct numbers_queries *ret);

/* {"at_us":..., "pages":..., "shown":{"documents":"1,234", ...}, "causes":[["refused",3], ...],
 * "codes":[["permanent","",3], ["2404","not found (404)",2], ...]} */
void numbers_json(const struct numbers *n, int64_t now_us, struct buf *out);
