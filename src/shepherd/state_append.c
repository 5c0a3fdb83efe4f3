/* What grows while a state is open, and the checkpoints that hold it together. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "shepherd/bucket.h"
#include "shepherd/entries.h"
#include "shepherd/state_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKPOINT = 48, VISIBLE = FORMAT_MAGIC + 8 + CHECKPOINT, COPY_PIECE = 1 << 20 };
#define VISIBLE_MAGIC "GARNERVI"

const struct appended_file appended_files[APPENDS] = {
	[APPEND_JOURNAL] = {"journal", &journal_kind},
	[APPEND_CONTRIB] = {"contrib", &contrib_kind},
	[APPEND_CHANGES] = {"changes", &changes_kind},
};

const struct record_kind checkpoints_kind = {.magic = "GARNERCK", .version = 1, .most = CHECKPOINT};

static uint64_t *length_of(struct checkpoint *c, enum appended which)
{
	uint64_t *const of[APPENDS] = {&c->journal, &c->contrib, &c->changes};
	return of[which];
}

/* Checkpoints as records */

static void write_checkpoint(const struct checkpoint *c, struct buf *out)
{
	put_u64le(out, (uint64_t)c->time_us);
	put_u64le(out, c->objects);
	put_u64le(out, c->journal);
	put_u64le(out, c->contrib);
	put_u64le(out, c->changes);
	put_u64le(out, c->gone);
}

int checkpoint_read(struct str payload, struct checkpoint *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct checkpoint c = {.time_us = (int64_t)reader_u64le(&r)};
	c.objects = reader_u64le(&r);
	c.journal = reader_u64le(&r);
	c.contrib = reader_u64le(&r);
	c.changes = reader_u64le(&r);
	c.gone = reader_u64le(&r);
	if (r.bad || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "not a checkpoint: %zu bytes", payload.n);
	*ret = c;
	return 0;
}

/* The log of all of them. 1: none. */
static int last_in_log(const char *folder, struct checkpoint *ret, struct err *err)
{
	char path[PATH_MAX];
	struct record_reader *r = NULL;
	struct record record;
	bool any = false;
	snprintf(path, sizeof path, "%s/checkpoints", folder);
	int rc = record_reader_open(&r, path, &checkpoints_kind, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = checkpoint_read(record.payload, ret, err);
		any = true;
	}
	record_reader_free(&r);
	return rc < 0 ? rc : !any;
}

static int read_visible(const char *path, struct checkpoint *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(VISIBLE);
	int rc = file_slurp(path, &b, err);
	if (rc != 0 || b.n == 0) /* made, not written yet */
		return rc < 0 ? -1 : 1;
	struct reader r = reader_of(buf_str(&b));
	bool ours = str_is(reader_bytes(&r, FORMAT_MAGIC), VISIBLE_MAGIC) && reader_u32le(&r) == 1;
	uint32_t crc = reader_u32le(&r);
	struct str payload = reader_bytes(&r, CHECKPOINT);
	if (!ours || r.bad || crc != crc32c(0, payload.p, payload.n))
		return err_set(err, ERR_DAMAGED, "%s: damaged, its checksum does not fit", path);
	return checkpoint_read(payload, ret, err);
}

/* Who reads may come just while it is written. */
int checkpoint_visible(const char *folder, struct checkpoint *ret, struct err *err)
{
	enum { TRIES = 5, PAUSE_US = 200 };
	char path[PATH_MAX];
	int rc = -1;
	snprintf(path, sizeof path, "%s/visible", folder);
	for (int i = 0; i < TRIES && rc < 0; i++) {
		if (i)
			usleep(PAUSE_US << i);
		rc = read_visible(path, ret, err);
		if (rc < 0 && err->code != ERR_DAMAGED)
			break;
	}
	return rc;
}

/* Either is enough: one that is damaged or behind the other does not count. */
int checkpoint_last(const char *folder, struct checkpoint *ret, struct err *err)
{
	struct checkpoint log, visible;
	struct err ignored;
	int in_log = last_in_log(folder, &log, err);
	int seen = checkpoint_visible(folder, &visible, in_log < 0 ? &ignored : err);
	if (in_log == 0 && (seen != 0 || log.time_us >= visible.time_us))
		*ret = log;
	else if (seen == 0)
		*ret = visible;
	else
		return in_log < 0 ? in_log : seen;
	return 0;
}

static int show(struct state *st, const struct checkpoint *c, struct err *err)
{
	char path[PATH_MAX];
	struct buf b = BUF_INIT(VISIBLE), payload = BUF_INIT(CHECKPOINT);
	write_checkpoint(c, &payload);
	buf_add_text(&b, VISIBLE_MAGIC);
	put_u32le(&b, 1);
	put_u32le(&b, crc32c(0, payload.p, payload.n));
	buf_add_str(&b, buf_str(&payload));
	snprintf(path, sizeof path, "%s/visible", st->folder);
	int rc = st->visible.fd >= 0 ? 0
				     : file_open(&st->visible, path, O_RDWR | O_CREAT, 0644, err);
	if (rc == 0)
		rc = file_write(&st->visible, b.p, b.n, 0, err);
	buf_free(&payload);
	buf_free(&b);
	return rc;
}

int state_last_checkpoint(const struct state *st, struct checkpoint *ret, struct err *err)
{
	return checkpoint_last(st->folder, ret, err);
}

/* Appending */

static int copy_bytes(const struct file *from, const struct file *to, struct err *err)
{
	char *piece = mem_resize(NULL, COPY_PIECE);
	int rc = 0;
	size_t n = 1;
	for (uint64_t at = 0; rc == 0 && n; at += n) {
		rc = file_read(from, piece, COPY_PIECE, at, &n, err);
		if (rc == 0 && n)
			rc = file_write(to, piece, n, at, err);
	}
	mem_free(&piece);
	return rc < 0 ? rc : file_sync(to, err);
}

/* A file that another state has too is copied before it grows. */
static int own(const char *path, struct err *err)
{
	struct stat st;
	char beside[PATH_MAX + 8];
	struct file from = FILE_INIT, to = FILE_INIT;
	if (stat(path, &st) != 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", path);
	if (st.st_nlink == 1)
		return 0;
	snprintf(beside, sizeof beside, "%s.new", path);
	int rc = file_open(&from, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = file_open(&to, beside, O_RDWR | O_CREAT | O_TRUNC, 0644, err);
	if (rc == 0)
		rc = copy_bytes(&from, &to, err);
	file_drop(&from);
	file_drop(&to);
	FAULT("state.own");
	if (rc < 0 || file_rename(beside, path, err) < 0)
		return -1;
	return dir_sync_of(path, err);
}

static int writable(const struct state *st, struct err *err)
{
	if (st->s->write && !phase_is_done(st->phase))
		return 0;
	return err_set(err, ERR_USAGE, "%s is %s%s: nothing can be appended", st->name,
		       phase_name(st->phase), st->s->write ? "" : " and opened to be read");
}

static int open_writer(struct state *st, enum appended which, struct err *err)
{
	char path[PATH_MAX];
	const struct appended_file *f = &appended_files[which];
	if (st->writer[which])
		return 0;
	snprintf(path, sizeof path, "%s/%s", st->folder, f->name);
	if (writable(st, err) < 0 || own(path, err) < 0)
		return -1;
	return record_open(&st->writer[which], path, f->kind, 0644, NULL, err);
}

static int append(struct state *st, enum appended which, struct record_place *ret, struct err *err)
{
	if (st->scratch.over)
		return err_set(err, ERR_USAGE, "%s: an entry of more than %zu bytes", st->name,
			       st->scratch.max);
	if (open_writer(st, which, err) < 0)
		return -1;
	return record_append(st->writer[which], buf_str(&st->scratch), &st->group[which], ret, err);
}

int state_journal(struct state *st, const struct journal_entry *e, struct err *err)
{
	buf_clear(&st->scratch);
	journal_write(e, &st->scratch);
	return append(st, APPEND_JOURNAL, NULL, err);
}

int state_contrib(struct state *st, const struct contrib *c, uint64_t *ret_place, struct err *err)
{
	struct record_place place;
	buf_clear(&st->scratch);
	contrib_write(c, &st->scratch);
	if (append(st, APPEND_CONTRIB, &place, err) < 0)
		return -1;
	if (ret_place)
		*ret_place = place.at;
	return 0;
}

int state_change(struct state *st, const struct change *c, struct err *err)
{
	buf_clear(&st->scratch);
	change_write(c, &st->scratch);
	return append(st, APPEND_CHANGES, NULL, err);
}

int state_gone(struct state *st, const struct gone *g, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/gone", st->s->folder);
	if (writable(st, err) < 0 || (!st->gone && gone_open(&st->gone, path, err) < 0))
		return -1;
	return gone_add(st->gone, g, &st->gone_group, err);
}

bool state_has_appends(const struct state *st)
{
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i])
			return true;
	return st->gone;
}

int state_end_appends(struct state *st, bool sync, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < APPENDS; i++) {
		if (sync && rc == 0)
			rc = record_close(&st->writer[i], err);
		record_drop(&st->writer[i]);
		st->group[i] = (struct record_group){0};
	}
	if (sync && rc == 0)
		rc = record_close(&st->checkpoints, err);
	record_drop(&st->checkpoints);
	if (sync && rc == 0 && st->visible.fd >= 0)
		rc = file_sync(&st->visible, err);
	file_drop(&st->visible);
	gone_drop(&st->gone);
	st->gone_group = (struct record_group){0};
	record_reader_free(&st->contrib_in);
	return rc;
}

/* A checkpoint */

struct syncing {
	struct record_writer *w;
	struct record_group *group;
	struct buckets *buckets;
	uint64_t length;
};

static int sync_records(void *ctx, struct err *err)
{
	struct syncing *s = ctx;
	if (record_sync(s->w, s->group, err) < 0)
		return -1;
	s->length = record_durable(s->w);
	return 0;
}

static int sync_buckets(void *ctx, struct err *err)
{
	struct syncing *s = ctx;
	return bucket_sync(s->buckets, &s->length, err);
}

struct sync_list {
	struct sync_job job[APPENDS + 2];
	struct syncing syncing[APPENDS + 2];
	uint64_t *length[APPENDS + 2]; /* where each goes */
	size_t n;
};

static void add_sync(struct sync_list *l, struct syncing s, uint64_t *length)
{
	l->syncing[l->n] = s;
	l->length[l->n] = length;
	l->job[l->n] = (struct sync_job){.run = s.buckets ? sync_buckets : sync_records,
					 .ctx = &l->syncing[l->n]};
	l->n++;
}

/* Everything that has grown, at the same time. */
static int sync_all(struct state *st, struct buckets *buckets, struct checkpoint *c,
		    struct err *err)
{
	struct sync_list l = {.n = 0};
	if (buckets)
		add_sync(&l, (struct syncing){.buckets = buckets}, &c->objects);
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i])
			add_sync(&l, (struct syncing){.w = st->writer[i], .group = &st->group[i]},
				 length_of(c, (enum appended)i));
	if (st->gone)
		add_sync(&l,
			 (struct syncing){.w = gone_records(st->gone), .group = &st->gone_group},
			 &c->gone);
	if (!st->pool)
		st->pool = sync_pool_new();
	FAULT("state.checkpoint.sync");
	if (sync_pool_run(st->pool, l.job, l.n, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		*l.length[i] = l.syncing[i].length;
	return 0;
}

static int note_checkpoint(struct state *st, const struct checkpoint *c, struct err *err)
{
	struct record_group group = {0};
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/checkpoints", st->folder);
	buf_clear(&st->scratch);
	write_checkpoint(c, &st->scratch);
	if (!st->checkpoints &&
	    record_open(&st->checkpoints, path, &checkpoints_kind, 0644, NULL, err) < 0)
		return -1;
	if (record_append(st->checkpoints, buf_str(&st->scratch), &group, NULL, err) < 0)
		return -1;
	return record_sync(st->checkpoints, &group, err);
}

int state_checkpoint(struct state *st, struct buckets *buckets, int64_t now_us, struct err *err)
{
	struct checkpoint c = st->last;
	c.time_us = now_us;
	if (writable(st, err) < 0 || (st->gone && gone_flush(st->gone, &st->gone_group, err) < 0) ||
	    sync_all(st, buckets, &c, err) < 0)
		return -1;
	FAULT("state.checkpoint.note");
	if (note_checkpoint(st, &c, err) < 0)
		return -1;
	FAULT("state.checkpoint.noted");
	st->last = c;
	st->has_last = true;
	return show(st, &c, err); /* now that it is durable, followers may see it */
}

int state_note_again(struct state *st, struct err *err)
{
	return note_checkpoint(st, &st->last, err) < 0 ? -1 : show(st, &st->last, err);
}

/* Rolling back */

/* All before `length` is whole; only then what is behind may be cut. */
static int check_up_to(const char *path, const struct record_kind *kind, uint64_t length,
		       struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, kind, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED,
			       "%s: it is lost; the last checkpoint knows %" PRIu64 " bytes of it",
			       path, length);
	if (rc < 0)
		return -1;
	record_limit(r, length);
	do
		rc = record_next(r, &record, err);
	while (rc == 0);
	if (rc == 1 && record_tell(r) < length)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: ends at %" PRIu64 ", but the last checkpoint knows %" PRIu64
			     " bytes of it",
			     path, record_tell(r), length);
	record_reader_free(&r);
	return rc < 0 ? rc : 0;
}

static int cut(const char *path, const struct record_kind *kind, uint64_t length, struct err *err)
{
	struct record_writer *w;
	if (length == 0) {
		int rc = file_remove(path, err);
		return rc < 0 ? rc : rc == 0 ? dir_sync_of(path, err) : 0;
	}
	if (check_up_to(path, kind, length, err) < 0 ||
	    record_open(&w, path, kind, 0644, NULL, err) < 0)
		return -1;
	int rc = record_truncate(w, length, err);
	if (rc < 0)
		record_drop(&w);
	return rc < 0 ? rc : record_close(&w, err);
}

/* A contrib that is still shared with the state before it is as it was. */
static bool shared(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_nlink > 1;
}

int state_rollback(struct state *st, struct err *err)
{
	char path[PATH_MAX];
	struct checkpoint *c = &st->last;
	if (writable(st, err) < 0 || state_end_appends(st, false, err) < 0)
		return -1;
	for (unsigned i = 0; i < APPENDS; i++) {
		snprintf(path, sizeof path, "%s/%s", st->folder, appended_files[i].name);
		FAULT("state.rollback");
		if (!shared(path) &&
		    cut(path, appended_files[i].kind, *length_of(c, (enum appended)i), err) < 0)
			return -1;
	}
	snprintf(path, sizeof path, "%s/gone", st->s->folder);
	if (cut(path, &gone_kind, MAX(c->gone, (uint64_t)RECORD_HEADER), err) < 0)
		return -1;
	FAULT("state.rollback.objects");
	snprintf(path, sizeof path, "%s/objects", st->s->folder);
	int rc = bucket_cut_file(path, 0, c->objects, NULL, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: the bucket file is lost", path) : rc;
}

/* Reading back */

int state_read(struct state *st, const char *file, struct record_reader **ret, struct err *err)
{
	char path[PATH_MAX];
	for (unsigned i = 0; i < APPENDS; i++) {
		if (strcmp(file, appended_files[i].name) != 0)
			continue;
		struct checkpoint c = st->last;
		uint64_t length = *length_of(&c, (enum appended)i);
		/* of one that is done, and whose checkpoints are lost, all that is there */
		if (length == 0 && !phase_is_done(st->phase))
			return 1;
		snprintf(path, sizeof path, "%s/%s", st->folder, file);
		int rc = record_reader_open(ret, path, appended_files[i].kind, err);
		if (rc == 0)
			record_limit(*ret, length);
		return rc == 1 && length ? err_set(err, ERR_DAMAGED, "%s: it is lost", path) : rc;
	}
	return err_set(err, ERR_USAGE, "%s: nothing is appended to it", file);
}

int state_contrib_at(struct state *st, uint64_t place, struct contrib *ret, struct err *err)
{
	struct record record;
	int rc = st->contrib_in ? 0 : state_read(st, "contrib", &st->contrib_in, err);
	if (rc == 0) {
		record_seek(st->contrib_in, place);
		rc = record_next(st->contrib_in, &record, err);
	}
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s/contrib: nothing at %" PRIu64, st->folder,
			     place);
	return rc < 0 ? rc : contrib_read(record.payload, ret, err);
}

static int print_checkpoint(struct str payload, struct buf *out, struct err *err)
{
	struct checkpoint c;
	if (checkpoint_read(payload, &c, err) < 0)
		return -1;
	time_print(out, c.time_us, 6);
	buf_printf(out,
		   " objects %" PRIu64 " journal %" PRIu64 " contrib %" PRIu64 " changes %" PRIu64
		   " gone %" PRIu64,
		   c.objects, c.journal, c.contrib, c.changes, c.gone);
	return 0;
}

static int print_visible(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
			 struct err *err)
{
	struct buf b = BUF_INIT(VISIBLE), out = BUF_INIT(1024);
	int rc = file_slurp(path, &b, err);
	if (rc == 0)
		rc = print_checkpoint(str_from(buf_str(&b), VISIBLE - CHECKPOINT), &out, err);
	buf_add_byte(&out, '\n');
	if (rc == 0)
		emit(ctx, buf_str(&out));
	buf_free(&b);
	buf_free(&out);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

static int verify_visible(const char *path, struct err *err)
{
	struct checkpoint c;
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", path);
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	int rc = checkpoint_visible(slash ? folder : ".", &c, err);
	return rc < 0 ? rc : 0;
}

const struct format visible_format = {
	.name = "visible",
	.magic = VISIBLE_MAGIC,
	.version = 1,
	.help = "the last checkpoint of a state of the crawl, for those who follow",
	.print = print_visible,
	.verify = verify_visible,
};

ENTRIES_FORMAT(checkpoints_format, "checkpoints", "GARNERCK", &checkpoints_kind, print_checkpoint,
	       "lengths of the files of a state and of the bucket file that belong together")
