/* What grows while a state is open, and the checkpoints that hold it together. */
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket.h"
#include "state/state_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { COPY_PIECE = 1 << 20 };

const struct appended_file appended_files[APPENDS] = {
	[APPEND_JOURNAL] = {"journal", &journal_kind},
	[APPEND_CONTRIB] = {"contrib", &contrib_kind},
	[APPEND_CHANGES] = {"changes", &changes_kind},
};

static uint64_t *length_of(struct checkpoint *c, enum appended which)
{
	uint64_t *const of[APPENDS] = {&c->journal, &c->contrib, &c->changes};
	return of[which];
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
		rc = checkpoint_close(&st->notes, err);
	checkpoint_drop(&st->notes);
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
	/* all is written before anything is synced: the file system then has one commit to make */
	for (size_t i = 0; i < l.n; i++)
		if (l.syncing[i].w && record_flush(l.syncing[i].w, err) < 0)
			return -1;
	if (!st->pool)
		st->pool = sync_pool_new();
	FAULT("state.checkpoint.sync");
	if (sync_pool_run(st->pool, l.job, l.n, err) < 0)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		*l.length[i] = l.syncing[i].length;
	return 0;
}

int state_checkpoint(struct state *st, struct buckets *buckets, int64_t now_us, struct err *err)
{
	struct checkpoint c = st->last;
	c.time_us = now_us;
	c.number++;
	if (writable(st, err) < 0 || checkpoint_open(&st->notes, st->folder, err) < 0 ||
	    (st->gone && gone_flush(st->gone, &st->gone_group, err) < 0) ||
	    sync_all(st, buckets, &c, err) < 0)
		return -1;
	FAULT("state.checkpoint.note");
	if (checkpoint_note(&st->notes, &c, err) < 0)
		return -1;
	st->last = c;
	st->has_last = true;
	FAULT("state.checkpoint.noted");
	return checkpoint_show(&st->notes, &c, err);
}

bool state_grown(const struct state *st)
{
	struct checkpoint last = st->last;
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i] &&
		    record_end(st->writer[i]) > *length_of(&last, (enum appended)i))
			return true;
	return !st->has_last;
}

int state_note_again(struct state *st, struct err *err)
{
	return checkpoint_note(&st->notes, &st->last, err) < 0
		       ? -1
		       : checkpoint_show(&st->notes, &st->last, err);
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

static int remove_file(const char *path, struct err *err)
{
	int rc = file_remove(path, err);
	return rc < 0 ? rc : rc == 0 ? dir_sync_of(path, err) : 0;
}

static int cut(const char *path, const struct record_kind *kind, uint64_t length, struct err *err)
{
	struct record_writer *w;
	if (length == 0)
		return remove_file(path, err);
	if (check_up_to(path, kind, length, err) < 0 ||
	    record_open(&w, path, kind, 0644, NULL, err) < 0)
		return -1;
	int rc = record_truncate(w, length, err);
	if (rc < 0)
		record_drop(&w);
	return rc < 0 ? rc : record_close(&w, err);
}

int state_check_appended(struct state *st, enum appended which, struct err *err)
{
	char path[PATH_MAX];
	uint64_t length = *length_of(&st->last, which);
	snprintf(path, sizeof path, "%s/%s", st->folder, appended_files[which].name);
	return length ? check_up_to(path, appended_files[which].kind, length, err) : 0;
}

/* Where the last record ends that can be read. */
static int find_sound(const char *path, const struct record_kind *kind, uint64_t length,
		      uint64_t *ret, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	uint64_t sound = 0;
	int rc = record_reader_open(&r, path, kind, err);
	if (rc == 0)
		record_limit(r, length);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0)
		sound = record.place.next;
	record_reader_free(&r);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	*ret = sound;
	return 0;
}

/* Behind `length` lies damage, which a writer of records would not cut away. */
static int cut_damage(const char *path, uint64_t length, struct err *err)
{
	struct file f = FILE_INIT;
	if (length == 0)
		return remove_file(path, err);
	int rc = file_open(&f, path, O_WRONLY, 0, err);
	if (rc == 0)
		rc = file_truncate(&f, length, err) < 0 ? -1 : file_sync(&f, err);
	file_drop(&f);
	return rc < 0 ? rc : 0;
}

int state_keep_sound(struct state *st, enum appended which, struct err *err)
{
	char path[PATH_MAX];
	const struct record_kind *kind = appended_files[which].kind;
	uint64_t *length = length_of(&st->last, which), sound;
	snprintf(path, sizeof path, "%s/%s", st->folder, appended_files[which].name);
	if (find_sound(path, kind, *length, &sound, err) < 0)
		return -1;
	FAULT("state.keep");
	if (cut_damage(path, sound, err) < 0)
		return -1;
	*length = sound;
	st->last.number++;
	st->has_last = true;
	return checkpoint_open(&st->notes, st->folder, err) < 0 ? -1 : state_note_again(st, err);
}

/* A contrib that is still shared with the state before it is as it was. */
static bool shared(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_nlink > 1;
}

/* What is lost of the log of forgotten URLs is no reason not to go on. */
static int cut_gone(struct state *st, struct err *err)
{
	char path[PATH_MAX];
	struct stat found;
	uint64_t length = MAX(st->last.gone, (uint64_t)RECORD_HEADER);
	snprintf(path, sizeof path, "%s/gone", st->s->folder);
	if (stat(path, &found) != 0 || (uint64_t)found.st_size < length)
		return 0;
	return cut(path, &gone_kind, length, err);
}

static int cut_objects(struct state *st, struct err *err)
{
	char path[PATH_MAX];
	FAULT("state.rollback.objects");
	snprintf(path, sizeof path, "%s/objects", st->s->folder);
	int rc = bucket_cut_file(path, 0, st->last.objects, NULL, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: the bucket file is lost", path) : rc;
}

int state_rollback_step(struct state *st, unsigned step, struct err *err)
{
	char path[PATH_MAX];
	if (step >= APPENDS)
		return step == APPENDS ? cut_gone(st, err) : cut_objects(st, err);
	snprintf(path, sizeof path, "%s/%s", st->folder, appended_files[step].name);
	FAULT("state.rollback");
	return shared(path) ? 0
			    : cut(path, appended_files[step].kind,
				  *length_of(&st->last, (enum appended)step), err);
}

int state_rollback_begin(struct state *st, struct err *err)
{
	return writable(st, err) < 0 ? -1 : state_end_appends(st, false, err);
}

int state_rollback(struct state *st, struct err *err)
{
	int rc = state_rollback_begin(st, err);
	for (unsigned i = 0; rc == 0 && i < ROLLBACK_STEPS; i++)
		rc = state_rollback_step(st, i, err);
	return rc;
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
	return rc ? rc : contrib_read(record.payload, ret, err);
}
