#include "base/clock.h"
#include "shepherd/state_inner.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* A follower that gave no sign for so long rests, or died. */
#define SIGN_US (5 * US_PER_S)

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
	int rc = dir_init(&d, states_path(st->s, &arena, "locks"), &ignored);
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
