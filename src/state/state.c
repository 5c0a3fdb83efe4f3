/* One state: opened, cloned, entered, appended to, checkpointed, read. Files that are written as a
 * whole (index, sites) are made next to the old ones and renamed; files that grow (journal,
 * contrib, changes) count up to the last checkpoint and no further. A checkpoint syncs everything
 * at the same time, in a pool, because several syncs under way cost the file system one commit. */
#include "state/state.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket.h"
#include "bucket/bucket_shake.h"
#include "state/state_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening */

const struct appended_file appended_files[APPENDS] = {
	[APPEND_JOURNAL] = {"journal", &journal_kind},
	[APPEND_CONTRIB] = {"contrib", &contrib_kind},
	[APPEND_CHANGES] = {"changes", &changes_kind},
};

uint64_t *checkpoint_length(struct checkpoint *c, enum appended which)
{
	uint64_t *const of[APPENDS] = {&c->journal, &c->contrib, &c->changes};
	return of[which];
}

/* A reader of an open state sees what is shown to followers, no more. */
static int state_checkpoint_of(const struct state *st, struct checkpoint *ret, struct err *err)
{
	return MIN(st->s->write ? checkpoint_last(st->folder, ret, err)
				: checkpoint_shown(st->folder, ret, err),
		   0);
}

/* What the handle knows of a state. A damaged control is an error; so are lost checkpoints of an
 * open state, unless recovery is at work on it. They are not lost if its writer has just finished
 * the state: then its control says so. */
static int state_load(struct state *st, struct err *err)
{
	struct state_control c;
	int rc = control_read(st->folder, &c, err);
	if (rc)
		return rc;
	if (!phase_is_done(c.phase) && state_checkpoint_of(st, &c.last, err) < 0) {
		struct err ignored;
		rc = -1;
		if (err->code == ERR_DAMAGED && control_read(st->folder, &c, &ignored) == 0 &&
		    (phase_is_done(c.phase) || c.phase == PHASE_RECOVER))
			rc = 0;
		if (rc == 0 && c.phase == PHASE_RECOVER)
			c.last = checkpoint_measured(st->folder, &c.params);
	}
	st->phase = c.phase;
	st->params = c.params;
	st->last = c.last;
	return rc;
}

/* A state that is just being deleted looks damaged. */
static bool state_is_there(const struct state *st)
{
	char path[PATH_MAX];
	return access(path_in(st->folder, "control", path), F_OK) == 0;
}

int state_open(struct state **ret, struct states *s, const char *name, struct err *err)
{
	char folder[PATH_MAX];
	struct state_info found;
	bool closed = strcmp(name, "closed") == 0;
	int rc = 0;
	if (closed || strcmp(name, "current") == 0)
		rc = states_newest(s, closed ? STATES_CLOSED : STATES_ALL, &found, err);
	else if (state_name_ok(str_of(name)))
		memcpy(found.name, name, STATE_NAME);
	else
		rc = 1;
	if (rc)
		return rc;
	snprintf(folder, sizeof folder, "%s/state/%s", s->folder, found.name);
	struct state *st = mem_alloc(sizeof *st);
	*st = (struct state){.s = s,
			     .folder = mem_text(folder),
			     .checkpoints = FILE_INIT,
			     .scratch = BUF_INIT(1 << 20)};
	memcpy(st->name, found.name, STATE_NAME);
	rc = state_load(st, err);
	if (rc < 0 && err->code == ERR_DAMAGED && !state_is_there(st))
		rc = 1;
	if (rc == 0)
		*ret = st;
	else
		state_free(&st);
	return rc;
}

void state_free(struct state **pst)
{
	struct state *st = *pst;
	struct err ignored;
	if (!st)
		return;
	(void)state_end_appends(st, false, &ignored);
	url_index_close(&st->index);
	pool_free(&st->pool);
	buf_free(&st->scratch);
	mem_free(&st->folder);
	mem_free(pst);
}

const char *state_name(const struct state *st)
{
	return st->name;
}

enum phase state_phase(const struct state *st)
{
	return st->phase;
}

const struct state_params *state_params(const struct state *st)
{
	return &st->params;
}

static int may_write(const struct states *s, struct err *err)
{
	return s->write ? 0
			: err_set(err, ERR_USAGE, "%s was opened to be read, not written",
				  s->folder);
}

int state_params_put(struct state *st, const struct state_course *course, struct err *err)
{
	struct state_control c = {st->phase, st->params, st->last};
	c.params.course = *course;
	if (may_write(st->s, err) < 0 || control_write(st->folder, &c, err) < 0)
		return -1;
	st->params = c.params;
	return 0;
}

const char *state_folder(const struct state *st)
{
	return st->folder;
}

char *state_path(const struct state *st, struct arena *arena, const char *file)
{
	return arena_printf(arena, "%s/%s", st->folder, file);
}

int states_objects(struct states *s, const struct buckets *buckets, uint64_t *ret_length,
		   struct err *err)
{
	struct state *st = NULL;
	struct bucket_moves *moves = NULL;
	/* the lengths of states are those from before a shakedown until its report is removed, and
	 * nobody appends so long */
	int rc = bucket_moves_open(&moves, bucket_path(buckets), err);
	bool shaken = rc == 0;
	bucket_moves_close(&moves);
	if (rc == 1)
		rc = state_open(&st, s, "current", err);
	uint64_t known = rc == 0 && !shaken ? st->last.objects : 0;
	state_free(&st);
	if (rc < 0)
		return -1;
	if (!bucket_current(buckets))
		return 1;
	*ret_length = MIN(known, bucket_length(buckets));
	return 0;
}

/* Cloning and phases */

static int clone_is_of_newest(struct states *s, const struct state *from, struct err *err)
{
	struct state_info newest = {.name = "none"};
	if (states_newest(s, STATES_ALL, &newest, err) < 0)
		return -1;
	if (strcmp(newest.name, from->name) != 0)
		return err_set(err, ERR_USAGE, "%s is not the newest state, %s is: no clone of it",
			       from->name, newest.name);
	if (!phase_is_done(from->phase))
		return err_set(err, ERR_USAGE, "%s is open, in %s: no clone of it", from->name,
			       phase_name(from->phase));
	return 0;
}

int state_clone(struct state **ret, struct state *from, bool contrib, int64_t now_us,
		struct err *err)
{
	if (may_write(from->s, err) < 0 || clone_is_of_newest(from->s, from, err) < 0 ||
	    states_make(from->s, from, contrib, PHASE_PREPARE, now_us, ret, err) < 0)
		return -1;
	if (states_relink(from->s, err) == 0)
		return 0;
	state_free(ret);
	return -1;
}

static int state_is_open(const struct state *st, struct err *err)
{
	if (may_write(st->s, err) < 0)
		return -1;
	return phase_is_done(st->phase)
		       ? err_set(err, ERR_USAGE, "%s is %s and can no longer be written", st->name,
				 phase_name(st->phase))
		       : 0;
}

static bool state_has_appends(const struct state *st)
{
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i])
			return true;
	return st->gone;
}

/* The index with which cork begins stays until the state is done: it may be another than that of
 * the state before, if there was a feedback, and cork may have to begin again. */
static int state_keep_index(struct state *st, struct err *err)
{
	char index[PATH_MAX], kept[PATH_MAX];
	if (file_remove(path_in(st->folder, INDEX_KEPT, kept), err) < 0)
		return -1;
	return MIN(file_link(path_in(st->folder, "index", index), kept, err), 0);
}

int state_enter(struct state *st, enum phase phase, struct buckets *buckets, int64_t now_us,
		struct err *err)
{
	enum phase before = st->phase;
	if (state_is_open(st, err) < 0)
		return -1;
	if ((buckets || state_has_appends(st)) && state_checkpoint(st, buckets, now_us, err) < 0)
		return -1;
	if (phase_is_done(phase) &&
	    (state_end_appends(st, true, err) < 0 || state_places_write(st, err) < 0))
		return -1;
	if (phase == PHASE_CORK && before != phase && state_keep_index(st, err) < 0)
		return -1;
	if (control_write(st->folder, &(struct state_control){phase, st->params, st->last}, err) <
	    0)
		return -1;
	st->phase = phase;
	if (!phase_is_done(phase))
		return 0;
	return state_forget_work(st->s, st->folder, err) < 0 ? -1 : states_relink(st->s, err);
}

/* Index and sites: written next to the old ones, then renamed. */

/* rc: of opening it. */
static int state_needs(int rc, const char *path, struct err *err)
{
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is not there; recovery builds it again",
				 path)
		       : rc;
}

int state_index(struct state *st, const struct url_index **ret, struct err *err)
{
	char path[PATH_MAX];
	path_in(st->folder, "index", path);
	int rc = st->index ? 0 : state_needs(url_index_open(&st->index, path, err), path, err);
	if (rc == 0)
		*ret = st->index;
	return rc;
}

int state_index_create(struct state *st, struct url_index_writer **ret, struct err *err)
{
	char path[PATH_MAX];
	path_in(st->folder, ".index.new", path);
	if (state_is_open(st, err) < 0)
		return -1;
	FAULT("state.index");
	/* a new file in any case: the old one of this name may be shared */
	return file_remove(path, err) < 0 ? -1 : url_index_create(ret, path, err);
}

static int state_put_in_place(struct state *st, const char *fresh, const char *name,
			      struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	FAULT("state.put");
	if (file_rename(path_in(st->folder, fresh, from), path_in(st->folder, name, to), err) < 0 ||
	    dir_sync_of(to, err) < 0)
		return -1;
	FAULT("state.put.named");
	return 0;
}

int state_index_put(struct state *st, struct url_index_writer **w, struct err *err)
{
	if (url_index_finish(w, err) < 0 || state_put_in_place(st, ".index.new", "index", err) < 0)
		return -1;
	url_index_close(&st->index);
	return 0;
}

int state_index_keep(struct state *st, struct url_index_writer **w, struct err *err)
{
	return url_index_finish(w, err) < 0 ? -1
					    : state_put_in_place(st, ".index.new", INDEX_KEPT, err);
}

int state_sites(struct state *st, struct sites **ret, struct err *err)
{
	char path[PATH_MAX];
	return state_needs(sites_load(ret, path_in(st->folder, "sites", path), err), path, err);
}

int state_sites_scan(struct state *st, struct sites_scan **ret, struct err *err)
{
	char path[PATH_MAX];
	path_in(st->folder, "sites", path);
	return state_needs(sites_scan_open(ret, path, err), path, err);
}

int state_sites_create(struct state *st, struct counted_writer *ret, struct err *err)
{
	char path[PATH_MAX];
	path_in(st->folder, ".sites.new", path);
	return state_is_open(st, err) < 0 ? -1 : sites_create(ret, path, err);
}

int state_sites_finish(struct state *st, struct counted_writer *w, struct err *err)
{
	return counted_finish(w, err) < 0 ? -1 : state_put_in_place(st, ".sites.new", "sites", err);
}

int state_sites_put(struct state *st, struct sites *sites, struct err *err)
{
	CLEANUP(counted_drop) struct counted_writer w = {0};
	if (state_sites_create(st, &w, err) < 0 || sites_write_all(sites, &w, err) < 0)
		return -1;
	return state_sites_finish(st, &w, err);
}

/* What grows while a state is open, and the checkpoints that hold it together */

enum { COPY_PIECE = 1 << 20 };

/* Appending */

static int file_copy_bytes(const struct file *from, const struct file *to, struct err *err)
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
int state_own_file(const char *path, struct err *err)
{
	struct stat st;
	char fresh[PATH_MAX + 8];
	struct file from = FILE_INIT, to = FILE_INIT;
	if (stat(path, &st) != 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", path);
	if (st.st_nlink == 1)
		return 0;
	snprintf(fresh, sizeof fresh, "%s.new", path);
	int rc = file_open(&from, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = file_open(&to, fresh, O_RDWR | O_CREAT | O_TRUNC, 0644, err);
	if (rc == 0)
		rc = file_copy_bytes(&from, &to, err);
	file_drop(&from);
	file_drop(&to);
	FAULT("state.own");
	if (rc < 0 || file_rename(fresh, path, err) < 0)
		return -1;
	return dir_sync_of(path, err);
}

static int state_writable(const struct state *st, struct err *err)
{
	if (st->s->write && !phase_is_done(st->phase))
		return 0;
	return err_set(err, ERR_USAGE, "%s is %s%s: nothing can be appended", st->name,
		       phase_name(st->phase), st->s->write ? "" : " and opened to be read");
}

static int state_open_writer(struct state *st, enum appended which, struct err *err)
{
	char path[PATH_MAX];
	const struct appended_file *f = &appended_files[which];
	if (st->writer[which])
		return 0;
	if (state_writable(st, err) < 0 ||
	    state_own_file(path_in(st->folder, f->name, path), err) < 0)
		return -1;
	return record_open(&st->writer[which], path, f->kind, 0644, NULL, err);
}

static int state_append(struct state *st, enum appended which, struct record_place *ret,
			struct err *err)
{
	if (st->scratch.over)
		return err_set(err, ERR_USAGE, "%s: an entry of more than %zu bytes", st->name,
			       st->scratch.max);
	if (state_open_writer(st, which, err) < 0)
		return -1;
	return record_append(st->writer[which], buf_str(&st->scratch), &st->group[which], ret, err);
}

int state_journal(struct state *st, const struct journal_entry *e, struct err *err)
{
	buf_clear(&st->scratch);
	journal_write(e, &st->scratch);
	return state_append(st, APPEND_JOURNAL, NULL, err);
}

int state_contrib(struct state *st, const struct contrib *c, uint64_t *ret_place, struct err *err)
{
	struct record_place place;
	buf_clear(&st->scratch);
	contrib_write(c, &st->scratch);
	if (state_append(st, APPEND_CONTRIB, &place, err) < 0)
		return -1;
	if (ret_place)
		*ret_place = place.at;
	return 0;
}

int state_change(struct state *st, const struct change *c, struct err *err)
{
	buf_clear(&st->scratch);
	change_write(c, &st->scratch);
	return state_append(st, APPEND_CHANGES, NULL, err);
}

int state_gone(struct state *st, const struct gone *g, struct err *err)
{
	char path[PATH_MAX];
	if (state_writable(st, err) < 0 ||
	    (!st->gone && gone_open(&st->gone, path_in(st->s->folder, "gone", path), err) < 0))
		return -1;
	return gone_add(st->gone, g, &st->gone_group, err);
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
	file_drop(&st->checkpoints);
	if (sync && rc == 0)
		rc = gone_close(&st->gone, err);
	gone_drop(&st->gone);
	st->gone_group = (struct record_group){0};
	record_reader_free(&st->contrib_in);
	return rc;
}

/* A checkpoint */

/* The buckets, the appended files, `gone`. */
enum { SYNCS_MOST = APPENDS + 2 };

struct sync_job {
	struct pool_job job;
	struct record_writer *w;
	struct record_group *group;
	struct buckets *buckets; /* instead of a writer */
	uint64_t length;
	uint64_t *ret; /* where that goes in the end */
	int rc;
	struct err err;
};

static void sync_run(struct pool_job *job)
{
	struct sync_job *s = LIST_OF(struct sync_job, job, job);
	if (s->buckets) {
		s->rc = bucket_sync(s->buckets, &s->length, &s->err);
		return;
	}
	s->rc = record_sync(s->w, s->group, &s->err);
	if (s->rc == 0)
		s->length = record_durable(s->w);
}

static size_t sync_jobs(struct state *st, struct buckets *buckets, struct checkpoint *c,
			struct sync_job job[SYNCS_MOST])
{
	size_t n = 0;
	if (buckets)
		job[n++] = (struct sync_job){.buckets = buckets, .ret = &c->objects};
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i])
			job[n++] = (struct sync_job){.w = st->writer[i],
						     .group = &st->group[i],
						     .ret = checkpoint_length(c, (enum appended)i)};
	if (st->gone)
		job[n++] = (struct sync_job){
			.w = gone_records(st->gone), .group = &st->gone_group, .ret = &c->gone};
	return n;
}

/* Everything that has grown, at the same time; the caller does one of them itself. */
static int state_sync_all(struct state *st, struct buckets *buckets, struct checkpoint *c,
			  struct err *err)
{
	struct sync_job job[SYNCS_MOST];
	const struct pool_options options = {.threads = SYNCS_MOST - 1};
	size_t n = sync_jobs(st, buckets, c, job);
	struct err ignored; /* without threads the caller does all the work */
	int rc = 0;
	/* all is written before anything is synced: the file system then has one commit to make */
	for (size_t i = 0; i < n; i++)
		if (job[i].w && record_flush(job[i].w, err) < 0)
			return -1;
	if (!st->pool)
		(void)pool_new(&st->pool, &options, &ignored);
	FAULT("state.checkpoint.sync");
	for (size_t i = 0; i < n; i++) {
		job[i].job = (struct pool_job){.run = sync_run, .kept = true};
		if (st->pool)
			pool_post(st->pool, &job[i].job);
		else
			sync_run(&job[i].job);
	}
	for (size_t i = 0; i < n; i++) {
		if (st->pool)
			pool_wait(st->pool, &job[i].job);
		if (job[i].rc < 0 && rc == 0) {
			*err = job[i].err;
			rc = -1;
		}
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		*job[i].ret = job[i].length;
	return rc;
}

int state_checkpoint(struct state *st, struct buckets *buckets, int64_t now_us, struct err *err)
{
	struct checkpoint c = st->last;
	c.time_us = now_us;
	c.number++;
	if (state_writable(st, err) < 0 ||
	    (st->checkpoints.fd < 0 && checkpoint_open(&st->checkpoints, st->folder, err) < 0) ||
	    (st->gone && gone_flush(st->gone, &st->gone_group, err) < 0) ||
	    state_sync_all(st, buckets, &c, err) < 0)
		return -1;
	FAULT("state.checkpoint.note");
	if (checkpoint_note(&st->checkpoints, &c, err) < 0)
		return -1;
	st->last = c;
	FAULT("state.checkpoint.noted");
	return checkpoint_show(&st->checkpoints, &c, err);
}

int state_rest(struct state *st, int64_t now_us, struct err *err)
{
	if (!state_has_appends(st))
		return 0;
	return state_checkpoint(st, NULL, now_us, err) < 0 ? -1 : state_end_appends(st, true, err);
}

bool state_grown(const struct state *st)
{
	struct checkpoint last = st->last;
	for (unsigned i = 0; i < APPENDS; i++)
		if (st->writer[i] &&
		    record_end(st->writer[i]) > *checkpoint_length(&last, (enum appended)i))
			return true;
	return st->last.number == 0;
}

/* Reading back */

int state_read(struct state *st, const char *file, struct record_reader **ret, struct err *err)
{
	char path[PATH_MAX];
	ENSURE(st);
	for (unsigned i = 0; i < APPENDS; i++) {
		if (strcmp(file, appended_files[i].name) != 0)
			continue;
		struct checkpoint c = st->last;
		uint64_t length = *checkpoint_length(&c, (enum appended)i);
		if (length == 0)
			return 1;
		path_in(st->folder, file, path);
		int rc = record_reader_open(ret, path, appended_files[i].kind, err);
		if (rc == 0)
			record_limit(*ret, length);
		return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is lost", path) : rc;
	}
	return err_set(err, ERR_USAGE, "%s: nothing is appended to it", file);
}

int state_contribs(struct state *st, unsigned round, struct record_reader **ret, struct err *err)
{
	struct state_params p = st->params;
	struct state *before = NULL;
	*ret = NULL;
	if (round == 0)
		return MIN(state_read(st, "contrib", ret, err), 0);
	/* a merge works in a clone of the last round, with whose contributions it began */
	bool clone = st->phase >= PHASE_MERGE && !phase_is_done(st->phase);
	for (unsigned i = 0; i < round + clone; i++) {
		state_free(&before);
		int rc = *p.from ? state_open(&before, st->s, p.from, err) : 1;
		if (rc == 0 && before->phase == PHASE_CLOSED)
			rc = 1;
		if (rc != 0) {
			state_free(&before);
			return rc;
		}
		p = before->params;
	}
	int rc = state_read(before, "contrib", ret, err);
	state_free(&before);
	return MIN(rc, 0);
}

int state_contrib_at(struct state *st, uint64_t place, struct contrib *ret, struct err *err)
{
	const uint64_t first = contrib_place(1, 0);
	unsigned round = (unsigned)(place / first);
	struct record record;
	int rc = 0;
	if (st->contrib_in && st->contrib_round != round)
		record_reader_free(&st->contrib_in);
	if (!st->contrib_in)
		rc = state_contribs(st, round, &st->contrib_in, err);
	st->contrib_round = round;
	if (rc == 0 && !st->contrib_in)
		rc = 1;
	if (rc == 0) {
		record_seek(st->contrib_in, place % first);
		rc = record_next(st->contrib_in, &record, err);
	}
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s/contrib: nothing at %" PRIu64 " of round %u",
			     st->folder, place % first, round);
	return rc ? rc : contrib_read(record.payload, ret, err);
}
