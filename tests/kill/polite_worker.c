/* Asks servers through a table of politeness until it is killed; for polite_rounds.py.
 *
 *	polite_worker points                      the fault points of politeness, one a line
 *	polite_worker ask TABLE RECORD SEED N     asks N times (0: for ever)
 *
 * Nothing is really connected to. What would have happened is appended to RECORD, 24 bytes each:
 * u32 what ('S' start, 'E' end, 'R' told to retry later), u32 server, and two i64 of microseconds:
 * for S the time that was given to polite_take() and the time after it had returned; for E the time
 * before polite_end(), and 0; for R, written after polite_end(), from when to when the server wants
 * to be left alone. */
#include "base/clock.h"
#include "fetch/polite.h"
#include "points.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SERVERS = 8, HOLD_US = 2000, LONG_US = 12000, RETRY_US = 30000 };

static const struct polite_rule rule = {.delay_us = 5000, .concurrent = 1};

struct worker {
	struct polite *p;
	int record;
	uint64_t seed;
};

static int fail(const char *what)
{
	fprintf(stderr, "polite_worker: %s\n", what);
	return -1;
}

static uint64_t dice(struct worker *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed;
}

static void say(const struct worker *w, char what, uint32_t server, int64_t a, int64_t b)
{
	char line[24];
	uint32_t head[2] = {(uint32_t)what, server};
	int64_t times[2] = {a, b};
	memcpy(line, head, 8);
	memcpy(line + 8, times, 16);
	if (write(w->record, line, sizeof line) != (ssize_t)sizeof line)
		abort();
}

/* Some take longer than the delay. 1: not now. */
static int ask(struct worker *w)
{
	uint32_t server = (uint32_t)(dice(w) % SERVERS);
	struct addr a = {.family = AF_INET, .b = {192, 0, 2, (uint8_t)server}};
	struct lease lease;
	int64_t now = clock_mono_us(), wait;
	if (polite_take(w->p, &a, &rule, now, &lease, &wait) != 0) {
		if (wait > rule.delay_us || dice(w) % 2)
			return 1;
		/* to the microsecond, as others may do just then */
		for (int64_t due = now + wait; now < due;)
			now = clock_mono_us();
		if (polite_take(w->p, &a, &rule, now, &lease, &wait) != 0)
			return 1;
	}
	say(w, 'S', server, now, clock_mono_us());
	usleep((useconds_t)(dice(w) % (dice(w) % 4 ? HOLD_US : LONG_US)));
	if (dice(w) % 4 == 0 && polite_renew(w->p, &lease, clock_mono_us()) != 0)
		return fail("a lease was lost while it was held");
	int64_t retry = dice(w) % 16 == 0 ? RETRY_US : 0;
	now = clock_mono_us();
	say(w, 'E', server, now, 0);
	polite_end(w->p, &lease, OUTCOME_OK, retry, now);
	if (retry)
		say(w, 'R', server, clock_mono_us(), now + retry);
	return 0;
}

static int ask_all(const char *table, const char *record, uint64_t seed, uint64_t n)
{
	struct worker w = {.seed = seed | 1};
	struct polite_options small = {.servers = 64};
	struct err err;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w.record = open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (w.record < 0)
		return fail(record);
	if (polite_open(&w.p, table, &small, &err) < 0)
		return fail(err.msg);
	say(&w, 'O', 0, clock_mono_us(), 0);
	for (uint64_t done = 0; n == 0 || done < n;) {
		int rc = ask(&w);
		if (rc < 0)
			return -1;
		done += rc == 0;
		if (rc == 1)
			usleep(100 + (useconds_t)(dice(&w) % 300));
	}
	polite_close(&w.p);
	return close(w.record);
}

int main(int argc, char **argv)
{
	struct err err;
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail(err.msg), 2;
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("polite.");
	if (argc == 6 && strcmp(argv[1], "ask") == 0)
		return ask_all(argv[2], argv[3], strtoull(argv[4], NULL, 10),
			       strtoull(argv[5], NULL, 10)) < 0;
	return fail("usage: points | ask TABLE RECORD SEED N"), 2;
}
