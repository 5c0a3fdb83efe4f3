/* The counts of a day. Senders can be forged, so the rows are bounded. When there is no room, all
 * new senders of a kind share a row. These shared rows are made first on each day, in place of all
 * rows of the day before, so they are always there. The database is opened for each count, since
 * the callers are commands, forked processes and threads. */
#include "net/daily.h"

#include "base/clock.h"
#include "net/addr.h"

#include <stdio.h>

struct daily_row {
	char kind[16];
	char who[DAILY_WHO + 1]; /* "*": all who came too late for a row */
	int64_t day_us;          /* its beginning */
	uint32_t count;
};
#define SHARED "*"

#define S struct daily_row
static const struct column columns[] = {
	COL("kind", S, kind),
	COL("who", S, who),
	COL("day", S, day_us, .unit = UNIT_TIME),
	COL("count", S, count),
};
const struct small_table daily_table = {
	.name = "daily",
	.row = {ROWS(S, columns)},
	.key = 2,
	.most = DAILY_ROWS,
	.loose = true,
	.writer = "roles of the archive, rs",
	.loss = "how many mails and requests of each sender were taken today",
};

static struct daily_row row_of(enum daily_kind kind, struct str who, int64_t now_us)
{
	static const char *const kinds[DAILY_KINDS] = {"mails", "new-sites", "requests", "rs"};
	struct daily_row r = {.day_us = MAX(now_us, INT64_C(0)) / US_PER_DAY * US_PER_DAY};
	struct addr addr;
	char shown[ADDR_SHOWN];
	if (addr_parse(who, &addr)) {
		addr = addr_server(&addr);
		who = str_of(addr_print(&addr, shown));
	}
	snprintf(r.kind, sizeof r.kind, "%s", kinds[kind]);
	who = str_utf8_head(who, DAILY_WHO);
	str_lower(who, r.who);
	return r;
}

/* A new day begins with the rows that are shared, and no others. 1: the rows are of another day,
 * and what is given back begins none. */
static int day_begin(struct small *s, bool gives_back, int64_t now_us, struct err *err)
{
	struct daily_row shared[DAILY_KINDS], first = row_of(0, STR(SHARED), now_us);
	int64_t day_us = first.day_us;
	int rc = small_get(s, &daily_table, &first, err);
	if (rc < 0 || (rc == 0 && first.day_us == day_us))
		return rc;
	if (gives_back)
		return 1;
	for (int kind = 0; kind < DAILY_KINDS; kind++)
		shared[kind] = row_of((enum daily_kind)kind, STR(SHARED), now_us);
	return small_replace(s, &daily_table, shared, DAILY_KINDS, err);
}

/* The row that counts for somebody: their own, or the shared one if there is no room for another.
 */
static int row_find(struct small *s, enum daily_kind kind, struct str who, int64_t now_us,
		    struct daily_row *ret, struct err *err)
{
	uint64_t n;
	*ret = row_of(kind, who, now_us);
	int rc = small_get(s, &daily_table, ret, err);
	if (rc != 1)
		return rc;
	if (small_count(s, &daily_table, &n, err) < 0)
		return -1;
	if (n < DAILY_ROWS)
		return 0;
	*ret = row_of(kind, STR(SHARED), now_us);
	return small_get(s, &daily_table, ret, err);
}

/* by: the change. */
static int daily_change(struct small *s, enum daily_kind kind, struct str who, uint32_t most,
			int64_t by, int64_t now_us, struct err *err)
{
	struct daily_row r;
	int rc = day_begin(s, by < 0, now_us, err);
	if (rc == 0 && row_find(s, kind, who, now_us, &r, err) < 0)
		rc = -1;
	if (rc)
		return rc;
	if (by > 0 && r.count + by > most)
		return 1;
	r.count = (uint32_t)MIN(MAX(r.count + by, INT64_C(0)), (int64_t)UINT32_MAX);
	return small_put(s, &daily_table, &r, err);
}

static int daily_with(const char *data, enum daily_kind kind, struct str who, uint32_t most,
		      int64_t by, int64_t now_us, struct err *err)
{
	const struct small_table *const tables[] = {&daily_table};
	struct small *s = NULL;
	int rc = small_open_data(&s, data, tables, ARRAY_LEN(tables), SMALL_WRITE, err);
	if (rc == 0)
		rc = small_begin(s, true, err);
	if (rc == 0)
		rc = small_end(s, daily_change(s, kind, who, most, by, now_us, err), err);
	small_close(&s);
	if (rc < 0 && err->code == ERR_BUSY) /* callers say that of those who have had enough */
		err->code = ERR_SYSTEM;
	return rc;
}

int daily_take(const char *data, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err)
{
	return daily_with(data, kind, who, most, n, now_us, err);
}

void daily_give_back(const char *data, enum daily_kind kind, struct str who, uint32_t n,
		     int64_t now_us)
{
	struct err ignored;
	(void)daily_with(data, kind, who, 0, -(int64_t)n, now_us, &ignored);
}
