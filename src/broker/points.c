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
	struct point_status *all = NULL, one;
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

void points_json(struct jsonw *j, const struct point_status *point, size_t n)
{
	jsonw_put_array(j, "points");
	for (size_t i = 0; i < n; i++) {
		const struct point_status *p = &point[i];
		jsonw_object(j);
		jsonw_put_text(j, "name", p->name);
		jsonw_put_text(j, "state", point_state_text(p->state));
		if (p->last_us)
			jsonw_put_time(j, "last", p->last_us);
		jsonw_put_uint(j, "objects", p->objects);
		jsonw_put_uint(j, "bad", p->bad);
		if (p->next_us)
			jsonw_put_time(j, "next", p->next_us);
		if (p->text[0])
			jsonw_put_text(j, "why", p->text);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}
