/* The file of the points' results. */
#include "broker/points.h"

#include "base/cursor.h"
#include "base/rows.h"
#include "base/vec.h"
#include "disk/small_file.h"

#include <limits.h>
#include <stdio.h>

enum { FILE_MOST = 4 << 20 };

static const struct column fields[] = {
	COL("", struct point_status, name),
	COL("state", struct point_status, state),
	COL("last", struct point_status, last_us, .unit = UNIT_TIME),
	COL("next", struct point_status, next_us, .unit = UNIT_TIME),
	COL("objects", struct point_status, objects),
	COL("bad", struct point_status, bad),
	COL("why", struct point_status, text),
};
static const struct rows point_fields = {ROWS(struct point_status, fields), .what = "a point",
					 .many = true};

const struct format points_format = {
	.name = "points",
	.file = "broker/points",
	.magic = "GARNERPT",
	.version = 1,
	.help = "how it went with each source and collection point",
	.remedy = "remove it; the broker writes it again",
	.fields = &point_fields,
};

const char *point_state_text(enum point_state state)
{
	static const char *const text[POINT_STATES] = {"never asked", "collecting", "good",
						       "failed"};
	return state < POINT_STATES ? text[state] : "unknown";
}

static void path_of(const char *data, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/broker/points", data);
}

int points_save(const char *data, const struct point_status *point, size_t n, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf out = BUF_INIT(FILE_MOST);
	path_of(data, path);
	for (size_t i = 0; i < n; i++)
		rows_write(&point_fields, &point[i], &out);
	return small_file_write(path, &points_format, buf_str(&out), err);
}

int points_load(const char *data, struct point_status **ret, size_t *ret_n, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf room = BUF_INIT(FILE_MOST);
	struct point_status *all = NULL, one = {0};
	size_t n = 0, cap = 0;
	struct str payload;
	path_of(data, path);
	int rc = small_file_read(path, &points_format, &room, &payload, err);
	if (rc != 0)
		return rc;
	struct reader r = reader_of(payload);
	while ((rc = rows_next(&point_fields, &r, &one, err)) == 0)
		*VEC_PUSH(all, n, cap) = one;
	if (rc < 0) {
		mem_free(&all);
		return err_in(err, "%s", path);
	}
	*ret = all;
	*ret_n = n;
	return 0;
}

bool points_are_told(const struct point_status *point, size_t n)
{
	return n > 1 ||
	       (n == 1 && (point[0].next_us || point[0].bad || point[0].state != POINT_GOOD));
}

COL_NAMER(print_state, uint8_t, point_state_text)

#define S struct point_status
static const struct column point_columns[] = {
	COL("name", S, name, .label = "Source"),
	COL_OF("state", S, state, print_state, .label = "State"),
	COL("last", S, last_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL(NULL, S, ago_us, .label = "Last", .unit = UNIT_AGO, .how = ROW_SOME | ROW_NEG),
	COL("objects", S, objects, .label = "Objects"),
	COL("bad", S, bad, .label = "Bad"),
	COL("next", S, next_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL(NULL, S, in_us, .label = "Next", .unit = UNIT_IN, .how = ROW_SOME | ROW_NEG),
	COL("why", S, text, .how = ROW_SOME | ROW_BLANK, .label = "Why"),
};
const struct rows point_rows = {ROWS(S, point_columns)};
#undef S
