/* The counts of a day: replaced as a whole under a lock, so that two mails at once are two. Senders
 * can be forged, so there is no list of them, which could be filled: each is counted in one cell of
 * each of two rows, which a hash with a secret chooses, and has had as much as the lower of the two
 * says. One who shares both with others has less; who does is another matter each day, since each
 * day has a secret of its own. A damaged file counts for nothing, and is written anew. */
#include "archie/daily.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/rows.h"
#include "disk/lock.h"
#include "disk/small_file.h"
#include "net/addr.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	KINDS = DAILY_NEW_SITES + 1,
	ROWS = 2,
	ROW = DAILY_CELLS / ROWS,
	WAIT_MS = 1000,
	EACH_MS = 5
};

struct daily_cell {
	uint8_t kind;
	uint16_t number;
	uint32_t count; /* at least 1 */
};
_Static_assert(DAILY_CELLS == UINT16_MAX + 1, "every number is a cell");
enum { CELL = 1 + 2 + 4, CELLS_MOST = CELL * KINDS * DAILY_CELLS, HEAD = 8 + 8 };

static const struct column cell_field[] = {
	COL("kind", struct daily_cell, kind),
	COL("cell", struct daily_cell, number),
	COL("count", struct daily_cell, count),
};
static const struct rows cell_fields = {ROWS(struct daily_cell, cell_field), .what = "a cell",
					.many = true};

struct daily_head {
	uint64_t day; /* since 1970 */
	uint64_t secret;
	struct str cells;
};
static const struct column head_field[] = {
	COL("day", struct daily_head, day),
	COL("secret", struct daily_head, secret, .unit = UNIT_HEX),
	COL("cells", struct daily_head, cells),
};
static const struct rows head_fields = {ROWS(struct daily_head, head_field), .what = "a day"};

static int daily_show(struct str payload, struct buf *out, struct err *err)
{
	struct daily_head head;
	if (rows_read(&head_fields, payload, &head, err) < 0)
		return -1;
	buf_printf(out, "day %" PRIu64, head.day);
	if (!head.cells.n)
		return 0;
	buf_add_byte(out, '\n');
	return rows_dump(&cell_fields, head.cells, "  ", "\n", out, err);
}

const struct format daily_format = {
	.name = "daily",
	.file = "archie/daily",
	.magic = "GARNERDY",
	.version = 2,
	.help = "how many mails and requests of senders were taken today",
	.remedy = "remove it; the day begins anew",
	.show = daily_show,
};

struct daily {
	char path[PATH_MAX];
	struct lock lock;
	uint64_t day, secret;
	uint32_t *count; /* of cell by cell, kind by kind */
};

/* Others hold it for as long as a sync takes. */
static int daily_lock(struct daily *d, struct err *err)
{
	char path[PATH_MAX + 8];
	snprintf(path, sizeof path, "%s.lock", d->path);
	for (int ms = 0;; ms += EACH_MS) {
		int rc = lock_take(&d->lock, path, "counts of the day", err);
		if (rc == 0 || err->code != ERR_BUSY)
			return rc;
		if (ms >= WAIT_MS) /* not ERR_BUSY: callers say that of one who has had enough */
			return err_set(err, ERR_SYSTEM, "another process counts; try again");
		usleep(EACH_MS * 1000);
	}
}

static int daily_begin(struct daily *d, struct err *err)
{
	if (getrandom(&d->secret, sizeof d->secret, 0) != sizeof d->secret)
		return err_sys(err, "random bytes");
	return 0;
}

/* What holds of this day. */
static int daily_load(struct daily *d, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(SMALL_FILE_HEAD + HEAD + CELLS_MOST);
	struct daily_head head;
	struct daily_cell cell;
	struct str payload;
	int rc = small_file_read(d->path, &daily_format, &room, &payload, err);
	if (rc == 0)
		rc = rows_read(&head_fields, payload, &head, err);
	if (rc < 0 && err->code != ERR_DAMAGED && err->code != ERR_USAGE)
		return -1;
	if (rc != 0 || head.day != d->day)
		return daily_begin(d, err);
	d->secret = head.secret;
	struct reader r = reader_of(head.cells);
	while (rows_next(&cell_fields, &r, &cell, err) == 0)
		if (cell.kind < KINDS)
			d->count[cell.kind * DAILY_CELLS + cell.number] = cell.count;
	return 0;
}

static int daily_save(const struct daily *d, struct err *err)
{
	CLEANUP(buf_free) struct buf cells = BUF_INIT(CELLS_MOST);
	CLEANUP(buf_free) struct buf out = BUF_INIT(HEAD + CELLS_MOST);
	for (size_t i = 0; i < (size_t)KINDS * DAILY_CELLS; i++)
		if (d->count[i])
			rows_write(&cell_fields,
				   &(struct daily_cell){(uint8_t)(i / DAILY_CELLS),
							(uint16_t)(i % DAILY_CELLS), d->count[i]},
				   &cells);
	rows_write(&head_fields, &(struct daily_head){d->day, d->secret, buf_str(&cells)}, &out);
	FAULT("daily.save");
	return small_file_write(d->path, &daily_format, buf_str(&out), err);
}

/* The cells of a sender. An address of IPv6 is one of a network of 64 bits, all of which belong to
 * one sender. */
static void find_cells(const struct daily *d, enum daily_kind kind, struct str who,
		       uint32_t *ret[ROWS])
{
	struct xxh64 h;
	struct addr addr;
	char shown[ADDR_SHOWN];
	if (addr_parse(who, &addr)) {
		addr = addr_server(&addr);
		who = str_of(addr_print(&addr, shown));
	}
	uint64_t secret = htole64(d->secret);
	xxh64_begin(&h);
	xxh64_add(&h, &secret, sizeof secret);
	for (size_t i = 0; i < who.n; i++) {
		char c = ascii_lower(who.p[i]);
		xxh64_add(&h, &c, 1);
	}
	uint64_t hash = xxh64_end(&h);
	for (size_t row = 0; row < ROWS; row++, hash /= ROW)
		ret[row] = &d->count[(size_t)kind * DAILY_CELLS + row * ROW + hash % ROW];
}

/* by: so many more, or fewer. */
static int daily_change(struct daily *d, uint32_t *cell[ROWS], uint32_t most, int64_t by,
			struct err *err)
{
	int64_t count = *cell[0];
	for (size_t row = 1; row < ROWS; row++)
		count = MIN(count, (int64_t)*cell[row]);
	if (by > 0 && count + by > most)
		return 1;
	for (size_t row = 0; row < ROWS; row++)
		*cell[row] = (uint32_t)MIN(MAX(*cell[row] + by, INT64_C(0)), (int64_t)UINT32_MAX);
	return daily_save(d, err);
}

static int daily_with(const char *folder, enum daily_kind kind, struct str who, uint32_t most,
		      int64_t by, int64_t now_us, struct err *err)
{
	struct daily d = {.lock = {FILE_INIT},
			  .day = (uint64_t)(MAX(now_us, INT64_C(0)) / US_PER_DAY)};
	uint32_t *cell[ROWS];
	snprintf(d.path, sizeof d.path, "%s/daily", folder);
	if (dir_make(folder, DIR_MODE, err) < 0 || daily_lock(&d, err) < 0)
		return -1;
	d.count = mem_array((size_t)KINDS * DAILY_CELLS, sizeof *d.count);
	int rc = daily_load(&d, err);
	if (rc == 0) {
		find_cells(&d, kind, who, cell);
		rc = daily_change(&d, cell, most, by, err);
	}
	lock_free(&d.lock);
	mem_free(&d.count);
	return rc;
}

int daily_take(const char *folder, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err)
{
	return daily_with(folder, kind, who, most, n, now_us, err);
}

int daily_give_back(const char *folder, enum daily_kind kind, struct str who, uint32_t n,
		    int64_t now_us, struct err *err)
{
	int rc = daily_with(folder, kind, who, 0, -(int64_t)n, now_us, err);
	return rc < 0 ? -1 : 0;
}
