#include "state/checkpoint.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "disk/fields.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

enum {
	PAYLOAD = 56,
	SLOT = FORMAT_MAGIC + 8 + PAYLOAD,
	SLOTS = 2,
	APART = 4096, /* a write that is torn spoils one of them */
	LAST_BYTES = SLOTS * APART,
};
#define LAST_MAGIC "GARNERLA"

const struct record_kind checkpoints_kind = {.magic = "GARNERCK", .version = 1, .most = PAYLOAD};

static const struct field fields[] = {
	{"", FIELD(FIELD_UINT, struct checkpoint, number)},
	{"", FIELD(FIELD_TIME, struct checkpoint, time_us)},
	{"objects", FIELD(FIELD_UINT, struct checkpoint, objects)},
	{"journal", FIELD(FIELD_UINT, struct checkpoint, journal)},
	{"contrib", FIELD(FIELD_UINT, struct checkpoint, contrib)},
	{"changes", FIELD(FIELD_UINT, struct checkpoint, changes)},
	{"gone", FIELD(FIELD_UINT, struct checkpoint, gone)},
};
static const struct field_table checkpoint_fields = {FIELDS("a checkpoint", fields)};

/* Writing */

/* Both slots are there from the beginning; later writes change no length. */
static int make_last(struct checkpoint_notes *n, struct err *err)
{
	static const char zeroes[LAST_BYTES];
	if (file_write(&n->last, zeroes, sizeof zeroes, 0, err) < 0 || file_sync(&n->last, err) < 0)
		return -1;
	return dir_sync_of(n->last.path, err);
}

int checkpoint_open(struct checkpoint_notes *n, const char *folder, struct err *err)
{
	char path[PATH_MAX];
	uint64_t size = 0;
	if (n->log)
		return 0;
	snprintf(path, sizeof path, "%s/last", folder);
	if (file_open(&n->last, path, O_RDWR | O_CREAT, 0644, err) < 0)
		return -1;
	int rc = file_size(&n->last, &size, err);
	if (rc == 0 && size != LAST_BYTES)
		rc = make_last(n, err);
	snprintf(path, sizeof path, "%s/checkpoints", folder);
	if (rc == 0)
		rc = record_open(&n->log, path, &checkpoints_kind, 0644, NULL, err);
	if (rc < 0)
		checkpoint_drop(n);
	return rc;
}

int checkpoint_note(struct checkpoint_notes *n, const struct checkpoint *c, struct err *err)
{
	struct buf slot = BUF_INIT(SLOT), payload = BUF_INIT(PAYLOAD);
	fields_write(&checkpoint_fields, c, &payload);
	buf_add_text(&slot, LAST_MAGIC);
	put_u32le(&slot, 1);
	put_u32le(&slot, crc32c(0, payload.p, payload.n));
	buf_add_str(&slot, buf_str(&payload));
	int rc = file_write(&n->last, slot.p, slot.n, (c->number + 1) % SLOTS * APART, err);
	if (rc == 0)
		rc = file_sync(&n->last, err);
	buf_free(&payload);
	buf_free(&slot);
	return rc;
}

int checkpoint_show(struct checkpoint_notes *n, const struct checkpoint *c, struct err *err)
{
	struct buf payload = BUF_INIT(PAYLOAD);
	fields_write(&checkpoint_fields, c, &payload);
	int rc = record_append(n->log, buf_str(&payload), &n->group, NULL, err);
	if (rc == 0)
		rc = record_flush(n->log, err);
	buf_free(&payload);
	return rc;
}

int checkpoint_close(struct checkpoint_notes *n, struct err *err)
{
	int rc = record_close(&n->log, err);
	checkpoint_drop(n);
	return rc;
}

void checkpoint_drop(struct checkpoint_notes *n)
{
	record_drop(&n->log);
	n->group = (struct record_group){0};
	file_drop(&n->last);
}

/* Reading */

int checkpoint_shown(const char *folder, struct checkpoint *ret, struct err *err)
{
	char path[PATH_MAX];
	struct record_reader *r = NULL;
	struct record record;
	bool any = false;
	snprintf(path, sizeof path, "%s/checkpoints", folder);
	int rc = record_reader_open(&r, path, &checkpoints_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = fields_read(&checkpoint_fields, record.payload, ret, err);
		any = true;
	}
	record_reader_free(&r);
	return rc < 0 ? rc : !any;
}

/* 0: a checkpoint; 1: nothing was written there yet; negative: damaged. */
static int read_slot(struct str bytes, struct checkpoint *ret, struct err *err)
{
	struct reader r = reader_of(bytes);
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), crc = reader_u32le(&r);
	struct str payload = reader_bytes(&r, PAYLOAD);
	if (!r.bad && magic.p[0] == '\0' && version == 0 && crc == 0)
		return 1;
	if (r.bad || !str_is(magic, LAST_MAGIC) || version != 1 ||
	    crc != crc32c(0, payload.p, payload.n))
		return err_set(err, ERR_DAMAGED, "a checksum does not fit");
	return fields_read(&checkpoint_fields, payload, ret, err);
}

static int read_last(const char *path, struct checkpoint *ret, struct err *err)
{
	struct buf b = BUF_INIT(LAST_BYTES);
	unsigned bad = 0;
	bool any = false;
	int rc = file_slurp(path, &b, err);
	if (rc == 0 && b.n < LAST_BYTES)
		rc = 1; /* it was being made, or cut: the log has it */
	for (size_t i = 0; rc == 0 && i < SLOTS; i++) {
		struct checkpoint c;
		int slot = read_slot(str_head(str_from(buf_str(&b), i * APART), SLOT), &c, err);
		bad += slot < 0;
		if (slot == 0 && (!any || c.number > ret->number)) {
			*ret = c;
			any = true;
		}
	}
	buf_free(&b);
	if (rc)
		return rc;
	/* one that is bad beside an empty one was the first, and is not complete */
	return any ? 0 : bad == SLOTS ? err_in(err, "%s", path) : 1;
}

int checkpoint_noted(const char *folder, struct checkpoint *ret, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/last", folder);
	return read_last(path, ret, err);
}

int checkpoint_last(const char *folder, struct checkpoint *ret, struct err *err)
{
	struct checkpoint log, noted;
	struct err ignored;
	int in_log = checkpoint_shown(folder, &log, err);
	int in_last = checkpoint_noted(folder, &noted, in_log < 0 ? &ignored : err);
	if (in_log == 0 && (in_last != 0 || log.number >= noted.number))
		*ret = log;
	else if (in_last == 0)
		*ret = noted;
	else
		return in_log < 0 ? in_log : in_last;
	return 0;
}

/* For `garner dump` and `garner check`. */

const struct format checkpoints_format = {
	.name = "checkpoints",
	.file = "checkpoints",
	.magic = "GARNERCK",
	.version = 1,
	.help = "lengths of the files of a state and of the bucket file that belong together",
	.records = &checkpoints_kind,
	.fields = &checkpoint_fields,
};

static int print_last(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
		      struct err *err)
{
	struct checkpoint c;
	struct buf out = BUF_INIT(1024), payload = BUF_INIT(PAYLOAD);
	int rc = read_last(path, &c, err);
	if (rc == 0) {
		fields_write(&checkpoint_fields, &c, &payload);
		rc = fields_print(&checkpoint_fields, buf_str(&payload), " ", "", &out, err);
	}
	buf_add_text(&out, rc == 0 ? "\n" : "none yet\n");
	if (rc >= 0)
		emit(ctx, buf_str(&out));
	buf_free(&out);
	buf_free(&payload);
	return rc < 0 ? rc : 0;
}

static int verify_last(const char *path, struct err *err)
{
	struct checkpoint c;
	return read_last(path, &c, err) < 0 ? -1 : 0;
}

const struct format last_format = {
	.name = "last",
	.file = "last",
	.magic = LAST_MAGIC,
	.version = 1,
	.help = "the last checkpoint of a state of the crawl",
	.print = print_last,
	.verify = verify_last,
};
