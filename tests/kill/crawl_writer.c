/* Plays the crawl until it is killed, for crawl_rounds.py.
 *
 *	crawl_writer points                 the fault points of states and recovery, one a line
 *	crawl_writer init FOLDER
 *	crawl_writer write FOLDER N         recovers, plays N more operations (0: for ever), with
 *	                                    checkpoints, cork, merge, cleanup, audit
 *	crawl_writer check FOLDER K CURSOR  recovers; everything is as after some number of
 *	                                    operations, at least K, which it says; then follows the
 *	                                    source from the cursor in the file CURSOR, and changes
 *	                                    come once each and in order
 *
 * A line "K" on standard output of write means: what the operations before K did is durable. */
#include "base/clock.h"
#include "base/file.h"
#include "points.h"
#include "state/source_crawl.h"
#include "support/crawl_play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CYCLE = 24, EVERY = 4, CLEANUP_EVERY = 3 };

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "crawl_writer: %s: %s\n", what, err->msg);
	return 1;
}

static void say(uint64_t k)
{
	printf("%" PRIu64 "\n", k);
	fflush(stdout);
}

static int phase_now(struct play *p, enum phase *ret, struct err *err)
{
	struct state *st = NULL;
	if (state_open(&st, p->s, "current", err) != 0)
		return -1;
	*ret = state_phase(st);
	state_free(&st);
	return 0;
}

/* A reader that is gone: its lock has expired. */
static int lock_for_a_moment(struct play *p, struct err *err)
{
	struct state *st = NULL;
	if (state_open(&st, p->s, "current", err) != 0)
		return -1;
	int rc = states_lock(p->s, "passing", state_name(st), 1, err);
	state_free(&st);
	return rc;
}

/* What follows reap, from whatever phase the last start left. */
static int end_cycle(struct play *p, uint64_t k, struct err *err)
{
	const struct states_keep keep = {.closed = 2, .corked = 2, .gone_us = US_PER_DAY};
	unsigned deleted;
	enum phase phase;
	if (phase_now(p, &phase, err) < 0)
		return -1;
	if (!phase_is_done(phase) && play_cork(p, err) < 0)
		return -1;
	if (phase != PHASE_CLOSED && play_merge(p, err) < 0)
		return -1;
	if (k / CYCLE % CLEANUP_EVERY == 2 && play_cleanup(p, err) < 0)
		return -1;
	state_free(&p->st);
	if (lock_for_a_moment(p, err) < 0)
		return -1;
	return states_audit(p->s, &keep, clock_wall_us(), &deleted, err);
}

static int play(struct play *p, uint64_t k, uint64_t to, struct err *err)
{
	struct play_model m = {0};
	enum phase phase;
	uint64_t page;
	for (uint64_t i = 0; i < k; i++)
		(void)play_model_op(&m, i, &page);
	if (phase_now(p, &phase, err) < 0)
		return -1;
	if ((phase == PHASE_CORK || phase == PHASE_CORKED) && end_cycle(p, k, err) < 0)
		return -1;
	say(k);
	while (to == 0 || k < to) {
		if (play_begin(p, err) < 0)
			return -1;
		do {
			if (play_op(p, &m, k++, err) < 0)
				return -1;
			if (k % EVERY == 0) {
				if (play_checkpoint(p, err) < 0)
					return -1;
				say(k);
			}
		} while (k % CYCLE);
		if (end_cycle(p, k, err) < 0)
			return -1;
		say(k);
	}
	return 0;
}

static int run_write(const char *folder, uint64_t n)
{
	struct play p;
	struct err err = {0};
	uint64_t k;
	if (play_open(&p, folder, PLAY_START, NULL, &err) < 0)
		return fail("open", &err);
	int rc = play_ops(&p, &k, &err);
	if (rc == 0)
		rc = play(&p, k, n ? k + n : 0, &err);
	play_close(&p);
	return rc < 0 ? fail("write", &err) : 0;
}

/* One change: it has to be that of operation *k, which the model has not. */
static int expect(struct play_model *m, uint64_t *k, const struct source_change *c, struct err *err)
{
	static const enum source_op ops[] = {[PLAY_GATHER] = SOURCE_UPDATE,
					     [PLAY_REFRESH] = SOURCE_REFRESH,
					     [PLAY_DELETE] = SOURCE_DELETE};
	char url[PLAY_URL];
	uint64_t page;
	enum play_kind kind = play_model_op(m, (*k)++, &page);
	if (c->op == ops[kind] && str_eq(c->obj.url, play_url(page, url)))
		return 0;
	return err_set(err, ERR_DAMAGED, "change %" PRIu64 " is %d of " STR_FMT ", not %d of %s",
		       *k - 1, (int)c->op, STR_ARG(c->obj.url), (int)ops[kind], url);
}

/* The file has the cursor and the number of changes before it. */
struct followed {
	struct source_cursor cursor;
	uint64_t k;
};

static int follow(const char *folder, const char *path, uint64_t *ret, struct err *err)
{
	struct followed f = {0};
	struct play_model m = {0};
	uint64_t page;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct source *s = NULL;
	struct source_change c;
	struct buf b = BUF_INIT(sizeof f);
	const struct source_crawl store = {.folder = folder, .follower = "check"};
	int rc = file_slurp(path, &b, err);
	if (rc == 0 && b.n == sizeof f)
		memcpy(&f, b.p, sizeof f);
	for (uint64_t i = 0; i < f.k; i++)
		(void)play_model_op(&m, i, &page);
	rc = rc < 0 ? rc : source_crawl_ops.open(&s, &store, &f.cursor, err);
	while (rc == 0 && (rc = source_next(s, &arena, &c, err)) == 0) {
		rc = expect(&m, &f.k, &c, err);
		arena_clear(&arena);
	}
	if (rc == 1) {
		source_cursor(s, &f.cursor);
		rc = file_replace(path, (struct str){(const char *)&f, sizeof f}, 0644, err);
	}
	source_close(&s);
	arena_free(&arena);
	buf_free(&b);
	*ret = f.k;
	return rc;
}

static int run_check(const char *folder, uint64_t told, const char *cursor)
{
	struct play p;
	struct err err = {0};
	struct recovery recovery = {0};
	uint64_t k = 0, heard = 0;
	if (play_open(&p, folder, PLAY_START, &recovery, &err) < 0)
		return fail("recovery", &err);
	fprintf(stderr, "%s", buf_text(&recovery.told));
	int rc = play_ops(&p, &k, &err);
	if (rc == 0 && k < told)
		rc = err_set(&err, ERR_DAMAGED,
			     "%" PRIu64 " operations are there, %" PRIu64 " were told durable", k,
			     told);
	if (rc == 0)
		rc = play_check(&p, k, false, &err);
	if (rc == 0)
		rc = follow(folder, cursor, &heard, &err);
	if (rc == 0 && heard != k)
		rc = err_set(&err, ERR_DAMAGED, "%" PRIu64 " changes were heard, not %" PRIu64,
			     heard, k);
	if (rc == 0 && recovery.damaged)
		rc = err_set(&err, ERR_DAMAGED, "%u things are damaged", recovery.damaged);
	recovery_free(&recovery);
	play_close(&p);
	if (rc < 0)
		return fail("check", &err);
	say(k);
	return 0;
}

static int run_init(const char *folder)
{
	struct err err = {0};
	return states_init(folder, 0, PLAY_START, &err) < 0 ? fail("init", &err) : 0;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail("faults", &err);
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("bucket.", "recover.", "state.");
	if (argc == 3 && strcmp(argv[1], "init") == 0)
		return run_init(argv[2]);
	if (argc == 4 && strcmp(argv[1], "write") == 0)
		return run_write(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "check") == 0)
		return run_check(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
	fprintf(stderr, "crawl_writer: points | init FOLDER | write FOLDER N | check FOLDER K "
			"CURSOR\n");
	return 2;
}
