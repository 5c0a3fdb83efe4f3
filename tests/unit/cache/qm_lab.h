/* What the tests against the model of the queue share: a world with a database and a model of it,
 * random sets, and what is compared in both. */
#pragma once
#include "../dice.h"
#include "../unit.h"
#include "unit/cache/qm_model.h"

#include <inttypes.h>

struct qm_lab {
	uint64_t number, seed;
	unsigned step;
	const char *did;
	struct db *db;
	struct qm_model m;
	struct arena arena;
	int64_t now_us, age_us;
	uint64_t numbers; /* of sets at the uns */
	bool notes_late;  /* that a row is out is in the database after a while */
};

static inline uint64_t qm_throw(struct qm_lab *lab, uint64_t n)
{
	return dice(&lab->seed) % n;
}

#define LAB_FAIL(lab, fmt, ...)                                                                   \
	fail_msg("world %" PRIu64 ", step %u (%s): " fmt, (lab)->number, (lab)->step, (lab)->did, \
		 __VA_ARGS__)
#define LAB_MUST(lab, call)                                      \
	do {                                                     \
		if ((call) != 0)                                 \
			LAB_FAIL(lab, "%s: %s", #call, err.msg); \
	} while (0)

void qm_lab_init(struct qm_lab *lab, uint64_t number);
void qm_lab_same(struct qm_lab *lab, int64_t there, int64_t model, const char *what);
#define LAB_SAME(lab, a, b, what) qm_lab_same(lab, (int64_t)(a), (int64_t)(b), what)

/* Some list of hours, often "". */
const char *qm_lab_hours(struct qm_lab *lab);
/* A random set in the model, not taken by the database yet. */
struct qm_set *qm_lab_set(struct qm_lab *lab);
/* The database takes it, in pieces of at most PIECE_MOST at a time, perhaps after a connection that
 * was lost. was_there: it did before. */
void qm_lab_take(struct qm_lab *lab, const struct qm_set *set, bool was_there);
/* Tallies, receipts, files that rows have and files that are to be deleted. */
void qm_lab_compare(struct qm_lab *lab);
