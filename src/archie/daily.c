/* The counts of a day: replaced as a whole under a lock, so that two mails at once are two. A
 * sender is 64 bits of a hash: two who share one, which chance will not bring about, share a limit.
 * A damaged file counts for nothing, and is written anew. */
#include "archie/daily.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/vec.h"
#include "disk/fields.h"
#include "disk/lock.h"
#include "disk/small_file.h"

#include <stdio.h>
#include <unistd.h>

enum { ENTRY = 8 + 8 + 4, WAIT_MS = 1000, EACH_MS = 5 };

struct daily_entry {
	uint64_t day; /* since 1970 */
	uint64_t who; /* with the kind in it */
	uint32_t count;
};

static const struct field fields[] = {
	{"day", FIELD(FIELD_UINT, struct daily_entry, day)},
	{"who", FIELD(FIELD_UINT, struct daily_entry, who), .hex = true},
	{"count", FIELD(FIELD_UINT, struct daily_entry, count)},
};
static const struct field_table entry_fields = {FIELDS("a sender", fields), .many = true};

const struct format daily_format = {
	.name = "daily",
	.file = "archie/daily",
	.magic = "GARNERDY",
	.version = 1,
	.help = "how many mails and requests of each sender were taken today",
	.remedy = "remove it; the day begins anew",
	.fields = &entry_fields,
};

struct daily {
	char path[PATH_MAX];
	struct lock lock;
	struct daily_entry *entry;
	size_t n, room;
};

/* Others hold it for as long as a sync takes. */
static int daily_lock(struct daily *d, struct err *err)
{
	char path[PATH_MAX + 8];
	snprintf(path, sizeof path, "%s.lock", d->path);
	for (int ms = 0;; ms += EACH_MS) {
		int rc = lock_take(&d->lock, path, "counts of the day", err);
		if (rc == 0 || err->code != ERR_BUSY || ms >= WAIT_MS)
			return rc;
		usleep(EACH_MS * 1000);
	}
}

/* What holds of this day. */
static int daily_load(struct daily *d, uint64_t day, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(SMALL_FILE_HEAD + ENTRY * DAILY_SENDERS_MOST);
	struct daily_entry one;
	struct str payload;
	int rc = small_file_read(d->path, &daily_format, &room, &payload, err);
	if (rc < 0)
		return err->code == ERR_DAMAGED || err->code == ERR_USAGE ? 0 : -1;
	if (rc == 1)
		return 0;
	struct reader r = reader_of(payload);
	while (fields_next(&entry_fields, &r, &one, err) == 0)
		if (one.day == day)
			*VEC_PUSH(d->entry, d->n, d->room) = one;
	return 0;
}

static int daily_save(struct daily *d, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)ENTRY * DAILY_SENDERS_MOST);
	for (size_t i = 0; i < d->n; i++)
		fields_write(&entry_fields, &d->entry[i], &out);
	FAULT("daily.save");
	return small_file_write(d->path, &daily_format, buf_str(&out), err);
}

static uint64_t sender_of(enum daily_kind kind, struct str who)
{
	struct xxh64 h;
	unsigned char first = (unsigned char)kind;
	xxh64_begin(&h);
	xxh64_add(&h, &first, 1);
	for (size_t i = 0; i < who.n; i++) {
		char c = ascii_lower(who.p[i]);
		xxh64_add(&h, &c, 1);
	}
	return xxh64_end(&h);
}

/* by: so many more, or fewer. */
static int daily_change(struct daily *d, uint64_t day, uint64_t who, uint32_t most, int64_t by,
			struct err *err)
{
	size_t i = 0;
	while (i < d->n && d->entry[i].who != who)
		i++;
	if (i == d->n) {
		if (by < 0 || by > most || d->n == DAILY_SENDERS_MOST)
			return 1;
		*VEC_PUSH(d->entry, d->n, d->room) = (struct daily_entry){day, who, 0};
	}
	int64_t count = d->entry[i].count + by;
	if (by > 0 && count > most)
		return 1;
	d->entry[i].count = (uint32_t)MAX(count, INT64_C(0));
	return daily_save(d, err);
}

static int daily_with(const char *folder, enum daily_kind kind, struct str who, uint32_t most,
		      int64_t by, int64_t now_us, struct err *err)
{
	struct daily d = {.lock = {FILE_INIT}};
	uint64_t day = (uint64_t)(MAX(now_us, INT64_C(0)) / US_PER_DAY);
	snprintf(d.path, sizeof d.path, "%s/daily", folder);
	if (dir_make(folder, DIR_MODE, err) < 0 || daily_lock(&d, err) < 0)
		return -1;
	int rc = daily_load(&d, day, err);
	if (rc == 0)
		rc = daily_change(&d, day, sender_of(kind, who), most, by, err);
	lock_free(&d.lock);
	mem_free(&d.entry);
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
