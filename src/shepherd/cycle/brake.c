/* The safety brake, as far as it lasts longer than a select: what would have gone, and whether
 * somebody allows it. The permission is an empty file that people make with touch, so that it needs
 * no running program, and counts for one select. */
#include "shepherd/brake.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/small_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct column brake_field[] = {
	COL("time", struct brake, time_us, .unit = UNIT_TIME),
	COL("gathered", struct brake, gathered),
	COL("lost", struct brake, lost),
	COL("site", struct brake, by[LIMIT_SITE]),
	COL("dead-site", struct brake, by[LIMIT_DEAD]),
	COL("fresh", struct brake, by[LIMIT_FRESH]),
	COL("server", struct brake, by[LIMIT_SERVER]),
	COL("section", struct brake, by[LIMIT_SECTION]),
	COL("performance", struct brake, by[LIMIT_PERFORMANCE]),
	COL("space", struct brake, by[LIMIT_SPACE]),
	COL("active", struct brake, by[LIMIT_ACTIVE]),
};
_Static_assert(ARRAY_LEN(brake_field) == 3 + CRAWL_LIMITS, "a field for each limit");
static const struct rows brake_fields = {ROWS(struct brake, brake_field), .what = "a brake"};

const struct format brake_format = {
	.name = "brake",
	.file = "shepherd/brake",
	.magic = "GARNERBK",
	.version = 1,
	.help = "which pages select would have dropped, had the safety brake not held",
	.remedy = "remove it; the next select that is held writes it again",
	.fields = &brake_fields,
};

enum { BRAKE_PATH = PATH_MAX + 32 };

static const char *brake_path(const char *folder, const char *name, char ret[BRAKE_PATH])
{
	snprintf(ret, BRAKE_PATH, "%s/%s", folder, name);
	return ret;
}

int brake_save(const char *folder, const struct selected *selected, int64_t now_us, struct err *err)
{
	char path[BRAKE_PATH];
	struct brake b = {now_us, selected->gathered, selected->lost, {0}};
	_Static_assert(sizeof b.by == sizeof selected->lost_by, "both by limit");
	memcpy(b.by, selected->lost_by, sizeof b.by);
	return small_file_save(brake_path(folder, "brake", path), &brake_format, &b, err);
}

int brake_load(const char *folder, struct brake *ret, struct err *err)
{
	char path[BRAKE_PATH];
	return small_file_load(brake_path(folder, "brake", path), &brake_format, ret, err);
}

static int brake_remove(const char *folder, const char *name, struct err *err)
{
	char path[BRAKE_PATH];
	int rc = file_remove(brake_path(folder, name, path), err);
	if (rc)
		return MIN(rc, 0);
	return dir_sync_of(path, err);
}

int brake_clear(const char *folder, struct err *err)
{
	return brake_remove(folder, "brake", err);
}

/* A folder of that name could not be removed by the select that it lets through. */
bool brake_is_disabled(const char *folder)
{
	char path[BRAKE_PATH];
	struct stat st;
	return stat(brake_path(folder, BRAKE_DISABLE, path), &st) == 0 && S_ISREG(st.st_mode);
}

/* The permission goes first: after a crash in between, a report of what has gone is left, which the
 * next select removes, and not a permission that was used. */
int brake_let_through(const char *folder, struct err *err)
{
	if (brake_remove(folder, BRAKE_DISABLE, err) < 0)
		return -1;
	FAULT("brake.let-through");
	return brake_clear(folder, err);
}
