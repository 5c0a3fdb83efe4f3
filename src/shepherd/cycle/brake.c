/* The safety brake, as far as it lasts longer than a select: what would have gone, and whether
 * somebody allows it. The permission is an empty file that people make with touch, so that it needs
 * no running program, and counts for one select. */
#include "shepherd/brake.h"

#include "base/fault.h"
#include "base/file.h"
#include "store/small.h"

#define S struct brake
static const struct column columns[] = {
	COL("time", S, time_us, .unit = UNIT_TIME),
	COL("gathered", S, gathered),
	COL("lost", S, lost),
	COL("site", S, by[LIMIT_SITE]),
	COL("dead_site", S, by[LIMIT_DEAD]),
	COL("fresh", S, by[LIMIT_FRESH]),
	COL("server", S, by[LIMIT_SERVER]),
	COL("section", S, by[LIMIT_SECTION]),
	COL("performance", S, by[LIMIT_PERFORMANCE]),
	COL("space", S, by[LIMIT_SPACE]),
	COL("active", S, by[LIMIT_ACTIVE]),
};
_Static_assert(ARRAY_LEN(columns) == 3 + CRAWL_LIMITS, "a column for each limit");

static const struct small_table brakes = {
	.name = "brake",
	.row = {ROWS(S, columns)},
	.most = 1,
	.writer = "shepherd",
	.loss = "which pages select would have dropped; the next select that is held says it again",
};
#undef S

int brake_save(const char *data, const struct selected *selected, int64_t now_us, struct err *err)
{
	struct brake b = {now_us, selected->gathered, selected->lost, {0}};
	_Static_assert(sizeof b.by == sizeof selected->lost_by, "both by limit");
	memcpy(b.by, selected->lost_by, sizeof b.by);
	return small_put_in(data, &brakes, &b, err);
}

int brake_load(const char *data, struct brake *ret, struct err *err)
{
	return small_get_in(data, &brakes, ret, err);
}

int brake_clear(const char *data, struct err *err)
{
	struct brake b;
	int rc = brake_load(data, &b, err);
	if (rc == 0)
		rc = small_delete_in(data, &brakes, &b, err);
	return MIN(rc, 0);
}

/* A folder of that name could not be removed by the select that it lets through. */
bool brake_is_disabled(const char *data)
{
	char path[PATH_MAX];
	struct err err;
	struct stat st;
	return file_below(data, BRAKE_DISABLE, path, &err) == 0 && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* The permission goes first: after a crash in between, a report of what has gone is left, which the
 * next select removes, and not a permission that was used. */
int brake_let_through(const char *data, struct err *err)
{
	char path[PATH_MAX];
	if (file_below(data, BRAKE_DISABLE, path, err) < 0)
		return -1;
	int rc = file_remove(path, err);
	if (rc < 0 || (rc == 0 && dir_sync_of(path, err) < 0))
		return -1;
	FAULT("brake.let-through");
	return brake_clear(data, err);
}
