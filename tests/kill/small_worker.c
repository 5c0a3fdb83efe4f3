/* Writes small state and is killed. Two of these work on one database at once, each with rows of
 *its own: every commit puts its number into all of them, in two tables.
 *
 *	points                fault points, one a line
 *	write PATH WHO N      makes N commits (0: for ever), each told in a line when it is done
 *	check PATH            opens it as a role does, and says the last commit of each writer
 */
#include "base/buf.h"
#include "points.h"

#include "store/small.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 60, FILL = 400 };

struct part {
	uint32_t who, part;
	uint64_t commit;
	char fill[FILL];
};
static const struct column part_columns[] = {
	COL("who", struct part, who),
	COL("part", struct part, part),
	COL("last", struct part, commit),
	COL("fill", struct part, fill),
};
static const struct small_table parts = {
	.name = "parts",
	.row = {ROWS(struct part, part_columns)},
	.key = 2,
	.most = 1000,
	.writer = "test",
	.loss = "parts",
};
/* What is changed on purpose: damage there costs no row of others. */
static const struct small_table marks = {
	.name = "marks",
	.row = {ROWS(struct part, part_columns)},
	.key = 2,
	.most = 1000,
	.loose = true,
	.writer = "test",
	.loss = "marks",
};
static const struct small_table *const tables[] = {&parts, &marks};

static int commit_make(struct small *s, uint32_t who, uint64_t n, struct err *err)
{
	struct part p = {.who = who, .commit = n};
	struct part mark = {.who = who, .fill = "the mark of a writer"};
	if (small_begin(s, false, err) < 0)
		return -1;
	int rc = 0;
	/* a different half of them each time, and their number in the first and the last */
	for (p.part = 0; p.part < PARTS && rc == 0; p.part++) {
		memset(p.fill, 'a' + (int)((n + p.part) % 26), (n + p.part) % FILL);
		p.fill[(n + p.part) % FILL] = 0;
		if (p.part % 2 == n % 2 || p.part == 0 || p.part == PARTS - 1)
			rc = small_put(s, &parts, &p, err);
	}
	if (small_end(s, rc, err) < 0)
		return -1;
	return n % 5 ? 0 : small_put(s, &marks, &mark, err);
}

static int last_commit(struct small *s, uint32_t who, uint64_t *ret, struct err *err)
{
	struct part first = {.who = who}, last = {.who = who, .part = PARTS - 1}, any;
	struct small_iter it;
	int rc = small_get(s, &parts, &first, err), end = small_get(s, &parts, &last, err), next;
	*ret = rc == 0 ? first.commit : 0;
	if (rc < 0 || end < 0)
		return -1;
	if (rc != end || first.commit != last.commit)
		return err_set(err, ERR_DAMAGED, "writer %u: half a commit", who);
	small_iter_init(&it, s, &parts, NULL);
	while ((next = small_iter_next(&it, &any, err)) == 0)
		if (any.who == who && any.commit + 1 < first.commit)
			next = err_set(err, ERR_DAMAGED, "writer %u: part %u is of commit %" PRIu64,
				       who, any.part, any.commit);
	small_iter_done(&it);
	return MIN(next, 0);
}

static int run(int argc, char **argv, struct err *err)
{
	struct small *s = NULL;
	uint64_t n = 0;
	if (small_open(&s, argv[2], tables, ARRAY_LEN(tables), SMALL_WRITE, err) < 0)
		return -1;
	int rc = 0;
	if (strcmp(argv[1], "write") == 0 && argc == 5) {
		uint32_t who = (uint32_t)strtoul(argv[3], NULL, 10);
		uint64_t left = strtoull(argv[4], NULL, 10);
		rc = last_commit(s, who, &n, err);
		for (uint64_t i = 0; rc == 0 && (left == 0 || i < left); i++) {
			rc = commit_make(s, who, ++n, err);
			if (rc == 0) {
				printf("%" PRIu64 "\n", n);
				fflush(stdout);
				usleep(1000); /* one that never pauses would starve the other */
			}
		}
	} else {
		for (uint32_t who = 0; who < 2 && rc == 0; who++) {
			rc = last_commit(s, who, &n, err);
			printf("%" PRIu64 "\n", n);
		}
	}
	small_close(&s);
	return rc;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	if (argc > 1 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("small.");
	if (argc < 3 || fault_arm(getenv("GARNER_FAULTS"), &err) < 0) {
		fprintf(stderr, "usage: points | write PATH WHO N | check PATH: %s\n", err.msg);
		return 2;
	}
	if (run(argc, argv, &err) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", argv[1], err.msg);
	return 1;
}
