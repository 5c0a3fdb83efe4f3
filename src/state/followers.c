/* Followers of the crawl: the locks by which they keep the states they need, and how far each has
 * come. Both are small files that any process may write; nothing here needs the writer's lock. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "state/state_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* A follower that gave no sign for this long rests, or has died. */
#define SIGN_US (5 * US_PER_S)

/* Locks */

#define TAKEN_AWAY ".expired" /* after a dot and the name: one that is just being removed */

static bool word_ok(const char *who)
{
	size_t n = strspn(who, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return n && n <= 64 && !who[n] && who[0] != '.';
}

static int lock_path(struct states *s, const char *who, char ret[PATH_MAX], struct err *err)
{
	if (!word_ok(who))
		return err_set(err, ERR_USAGE,
			       "'%.64s' cannot name a lock: letters, digits, - _ . only", who);
	int n = snprintf(ret, PATH_MAX, "%s/locks/%s", s->folder, who);
	return n < PATH_MAX ? 0 : err_set(err, ERR_USAGE, "%s: the path is too long", s->folder);
}

int states_lock(struct states *s, const char *who, const char *name, int64_t until_us,
		struct err *err)
{
	char path[PATH_MAX], folder[PATH_MAX];
	struct state_lock lock = {.until_us = until_us};
	if (lock_path(s, who, path, err) < 0)
		return -1;
	if (snprintf(folder, sizeof folder, "%s/locks", s->folder) >= PATH_MAX ||
	    dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	snprintf(lock.state, sizeof lock.state, "%s", name);
	if (small_file_save(path, &lock_format, &lock, err) < 0)
		return -1;
	/* a state that is deleted is first renamed, and only then are locks looked for: if it is
	 * still there, it stays, or comes back */
	snprintf(folder, sizeof folder, "%s/state/%s/control", s->folder, name);
	if (access(folder, F_OK) == 0)
		return 0;
	return file_remove(path, err) < 0 ? -1 : 1;
}

/* What a lock says. One that cannot be read, or is being written, locks nothing and is left alone.
 */
#define LOCK_MOST_US (366 * US_PER_DAY)
enum lock_is { LOCK_HOLDS, LOCK_EXPIRED, LOCK_UNREADABLE };
static enum lock_is read_lock(const char *path, int64_t now_us, char ret[STATE_NAME])
{
	struct state_lock lock;
	struct err ignored;
	if (small_file_load(path, &lock_format, &lock, &ignored) != 0 ||
	    !state_name_ok(str_of(lock.state)))
		return LOCK_UNREADABLE;
	memcpy(ret, lock.state, STATE_NAME);
	/* a clock that was put back must not make it hold for years */
	return lock.until_us <= now_us || lock.until_us > now_us + LOCK_MOST_US ? LOCK_EXPIRED
										: LOCK_HOLDS;
}

int states_oldest_locked(struct states *s, int64_t now_us, char ret[STATE_NAME], struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct dir d;
	const char *who;
	char name[STATE_NAME];
	ret[0] = '\0';
	int rc = dir_init_own(&d, states_path(s, &arena, "locks"), err);
	while (rc == 0 && dir_next(&d, &who) == 0) {
		char *path = arena_printf(&arena, "%s/locks/%s", s->folder, who);
		if (read_lock(path, now_us, name) == LOCK_HOLDS && (!*ret || strcmp(name, ret) < 0))
			memcpy(ret, name, STATE_NAME);
	}
	if (rc == 0)
		dir_done(&d);
	arena_free(&arena);
	return rc < 0 ? rc : 0;
}

/* One that was taken away goes, or comes back where it was renewed before that; not over one that
 * was renewed since. */
static int lock_end_away(const char *away, const char *path, int64_t now_us, struct err *err)
{
	char name[STATE_NAME];
	if (read_lock(away, now_us, name) == LOCK_HOLDS && file_link(away, path, err) < 0 &&
	    err->sys_errno != EEXIST)
		return -1;
	return file_remove(away, err) < 0 ? -1 : 0;
}

static int lock_expire(const char *path, const char *away, int64_t now_us, struct err *err)
{
	char name[STATE_NAME];
	if (read_lock(path, now_us, name) != LOCK_EXPIRED)
		return 0;
	FAULT("state.lock.expire");
	if (file_rename(path, away, err) < 0)
		return err->sys_errno == ENOENT ? 0 : -1; /* it was unlocked */
	FAULT("state.lock.away");
	return lock_end_away(away, path, now_us, err);
}

int states_expire_locks(struct states *s, int64_t now_us, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct dir d;
	const char *who;
	int rc = dir_init_own(&d, states_path(s, &arena, "locks"), err);
	if (rc) {
		arena_free(&arena);
		return rc < 0 ? rc : 0;
	}
	while (rc == 0 && dir_next(&d, &who) == 0) {
		struct str was = str_of(who);
		char *path = arena_printf(&arena, "%s/locks/%s", s->folder, who);
		if (who[0] != '.') {
			rc = lock_expire(
				path,
				arena_printf(&arena, "%s/locks/.%s" TAKEN_AWAY, s->folder, who),
				now_us, err);
		} else if (str_ends(was, STR(TAKEN_AWAY))) { /* by one that was killed */
			was = str_from(str_head(was, was.n - sizeof TAKEN_AWAY + 1), 1);
			rc = lock_end_away(
				path,
				arena_printf(&arena, "%s/locks/" STR_FMT, s->folder, STR_ARG(was)),
				now_us, err);
		}
	}
	dir_done(&d);
	arena_free(&arena);
	return rc;
}

/* Signs */

void states_follower_is_at(struct states *s, const char *who, int64_t time_us)
{
	char path[PATH_MAX];
	struct timespec times[] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = time_us / US_PER_S, .tv_nsec = time_us % US_PER_S * 1000},
	};
	if (snprintf(path, sizeof path, "%s/locks/%s", s->folder, who) < PATH_MAX)
		(void)utimensat(AT_FDCWD, path, times, 0); /* only a sign */
}

static int64_t us_of(struct timespec t)
{
	return t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

int64_t state_behind_us(const struct state *st, int64_t time_us, int64_t now_us)
{
	struct arena arena = ARENA_INIT(1 << 20);
	int64_t behind_us = 0;
	struct dir d;
	const char *who;
	struct err ignored;
	int rc = dir_init_own(&d, states_path(st->s, &arena, "locks"), &ignored);
	while (rc == 0 && dir_next(&d, &who) == 0) {
		struct stat is;
		if (stat(arena_printf(&arena, "%s/locks/%s", st->s->folder, who), &is) != 0)
			continue;
		int64_t at_us = us_of(is.st_mtim);
		if (at_us && now_us - us_of(is.st_ctim) < SIGN_US)
			behind_us = MAX(behind_us, time_us - at_us);
	}
	if (rc == 0)
		dir_done(&d);
	arena_free(&arena);
	return behind_us;
}
