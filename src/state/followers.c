/* Followers of the crawl: the locks by which they keep the states they need, and how far each has
 * come. Both are in the table `lock` of garner.db, next to the folder of the crawl, which any
 * process may write; nothing here needs the writer's lock. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "state/state_inner.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* A follower that gave no sign for this long rests, or has died. */
#define SIGN_US (5 * US_PER_S)
/* A clock that was put back must not make a lock hold for years. */
#define LOCK_MOST_US (366 * US_PER_DAY)

static const struct column columns[] = {
	COL("crawl", struct state_lock, crawl),
	COL("follower", struct state_lock, who),
	COL("state", struct state_lock, state),
	COL("until", struct state_lock, until_us, .unit = UNIT_TIME),
	COL("at", struct state_lock, at_us, .unit = UNIT_TIME),
	COL("seen", struct state_lock, seen_us, .unit = UNIT_TIME),
};

const struct small_table state_locks = {
	.name = "lock",
	.row = {ROWS(struct state_lock, columns)},
	.key = 2,
	.most = 1000,
	.loose = true,
	.writer = "each follower",
	.loss = "which states followers of the crawl need; one that is away long may have to begin "
		"again",
};

/* The database; 1: it is to be read, and there is none. */
static int locks_open(struct states *s, enum small_mode mode, struct err *err)
{
	const struct small_table *table = &state_locks;
	char folder[PATH_MAX];
	if (s->small && (mode == SMALL_READ || s->small_mode == SMALL_WRITE))
		return 0;
	small_close(&s->small);
	s->small_mode = mode;
	snprintf(folder, sizeof folder, "%s", s->folder);
	return small_open_data(&s->small, dirname(folder), &table, 1, mode, err);
}

static struct state_lock lock_of(const struct states *s, const char *who)
{
	struct state_lock lock = {0};
	const char *slash = strrchr(s->folder, '/');
	snprintf(lock.crawl, sizeof lock.crawl, "%.255s", slash ? slash + 1 : s->folder);
	snprintf(lock.who, sizeof lock.who, "%.64s", who);
	return lock;
}

/* Locks of this crawl, one after the other. Begins zeroed. */
struct locks {
	struct small_iter it;
	struct state_lock first;
};

/* 1: there are no more. */
static int locks_next(struct states *s, struct locks *l, struct state_lock *ret, struct err *err)
{
	int rc = 0;
	if (!l->it.s) {
		l->first = lock_of(s, "");
		rc = locks_open(s, SMALL_READ, err);
		if (rc == 0)
			small_iter_init(&l->it, s->small, &state_locks, &l->first);
	}
	if (rc == 0)
		rc = small_iter_next(&l->it, ret, err);
	if (rc == 0 && strcmp(ret->crawl, l->first.crawl) != 0)
		rc = 1;
	if (rc != 0 && l->it.s)
		small_iter_done(&l->it);
	return rc;
}

static bool word_ok(const char *who)
{
	size_t n = strspn(who, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return n && n <= 64 && !who[n] && who[0] != '.';
}

int states_lock(struct states *s, const char *who, const char *name, int64_t until_us,
		struct err *err)
{
	char control[PATH_MAX];
	if (!word_ok(who))
		return err_set(err, ERR_USAGE,
			       "'%.64s' cannot name a lock: letters, digits, - _ . only", who);
	struct state_lock lock = lock_of(s, who);
	lock.until_us = until_us;
	snprintf(lock.state, sizeof lock.state, "%s", name);
	if (locks_open(s, SMALL_WRITE, err) < 0 || small_begin(s->small, false, err) < 0)
		return -1;
	int rc = small_end(s->small, small_put(s->small, &state_locks, &lock, err), err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: too many follow it", s->folder);
	/* a state that is deleted is first renamed, and only then are locks looked for: if it is
	 * still there, it stays, or comes back */
	snprintf(control, sizeof control, "%s/state/%s/control", s->folder, name);
	if (rc < 0 || access(control, F_OK) == 0)
		return rc;
	return small_delete(s->small, &state_locks, &lock, err) < 0 ? -1 : 1;
}

static bool lock_holds(const struct state_lock *lock, int64_t now_us)
{
	return lock->until_us > now_us && lock->until_us <= now_us + LOCK_MOST_US;
}

int states_oldest_locked(struct states *s, int64_t now_us, char ret[STATE_NAME], struct err *err)
{
	struct locks it = {0};
	struct state_lock lock;
	int rc;
	ret[0] = '\0';
	while ((rc = locks_next(s, &it, &lock, err)) == 0)
		if (lock_holds(&lock, now_us) && state_name_ok(str_of(lock.state)) &&
		    (!*ret || strcmp(lock.state, ret) < 0))
			memcpy(ret, lock.state, STATE_NAME);
	return MIN(rc, 0);
}

/* Unless it was renewed meanwhile. */
static int lock_expire(struct states *s, struct state_lock *lock, int64_t now_us, struct err *err)
{
	FAULT("state.lock.expire");
	if (locks_open(s, SMALL_WRITE, err) < 0 || small_begin(s->small, true, err) < 0)
		return -1;
	int rc = small_get(s->small, &state_locks, lock, err);
	if (rc == 0 && !lock_holds(lock, now_us))
		rc = small_delete(s->small, &state_locks, lock, err);
	return MIN(small_end(s->small, rc, err), 0);
}

int states_expire_locks(struct states *s, int64_t now_us, struct err *err)
{
	struct locks it = {0};
	struct state_lock lock, *expired = NULL;
	size_t n = 0, room = 0;
	int rc;
	while ((rc = locks_next(s, &it, &lock, err)) == 0)
		if (!lock_holds(&lock, now_us))
			*VEC_PUSH(expired, n, room) = lock;
	rc = MIN(rc, 0);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = lock_expire(s, &expired[i], now_us, err);
	mem_free(&expired);
	return rc;
}

/* Only a sign: it may fail. */
void states_follower_is_at(struct states *s, const char *who, int64_t time_us)
{
	struct state_lock lock = lock_of(s, who);
	struct err ignored;
	if (locks_open(s, SMALL_WRITE, &ignored) < 0 || small_begin(s->small, true, &ignored) < 0)
		return;
	int rc = small_get(s->small, &state_locks, &lock, &ignored);
	lock.at_us = time_us;
	lock.seen_us = clock_wall_us();
	if (rc == 0)
		rc = small_put(s->small, &state_locks, &lock, &ignored);
	(void)small_end(s->small, rc, &ignored);
}

int64_t state_behind_us(const struct state *st, int64_t time_us, int64_t now_us)
{
	struct locks it = {0};
	struct state_lock lock;
	struct err ignored;
	int64_t behind_us = 0;
	while (locks_next(st->s, &it, &lock, &ignored) == 0)
		if (lock.at_us && now_us - lock.seen_us < SIGN_US)
			behind_us = MAX(behind_us, time_us - lock.at_us);
	return behind_us;
}
