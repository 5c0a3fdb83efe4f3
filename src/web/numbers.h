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

struct numbers {
	struct number n[NUMBERS];
	uint64_t pages; /* that were gathered, ever: the plot shows how fast it grows */
};
void numbers_of(const struct status *s, int64_t now_wall_us, struct numbers *ret);
/* Why pages were not gathered: a result and how often, those that are not 0. */
struct numbers_cause {
	struct str result;
	int64_t count;
};
enum { NUMBERS_CAUSES = 32 };
size_t numbers_causes(const struct status *s, struct numbers_cause ret[NUMBERS_CAUSES]);

/* What tries came to: a line for each class of codes, and after it one for each of its codes; those
 * that are not 0. */
struct numbers_code {
	struct str name;       /* "permanent", "2404", "other" */
	char words[CODE_TEXT]; /* of a code; empty: it is the line of a class */
	int64_t count;
};
enum { NUMBERS_CODES = 128 };
size_t numbers_codes(const struct status *s, struct numbers_code ret[NUMBERS_CODES]);

/* How the broker's port does: a count for each title but the last, which is the average time of an
 * answer; -1: nothing was answered. 1: there is no port, or nobody has asked it. */
enum { NUMBERS_QUERIES = 10 };
extern const char *const numbers_query_titles[NUMBERS_QUERIES + 1];
int numbers_queries(const struct status *s, int64_t ret[NUMBERS_QUERIES], int64_t *ret_average_us);

/* {"at_us":..., "pages":..., "shown":{"documents":"1,234", ...}, "causes":[["refused",3], ...],
 * "codes":[["permanent","",3], ["2404","not found (404)",2], ...]} */
void numbers_json(const struct status *s, const struct numbers *n, int64_t now_us, struct buf *out);
