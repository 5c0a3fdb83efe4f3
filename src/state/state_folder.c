/* The folder of the crawl and the states in it as a whole: making, listing, forgetting. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket.h"
#include "bucket/bucket_shake.h"
#include "disk/tree.h"
#include "state/state_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_MOST = PATH_MAX - 256 }; /* room for the names below it */

/* Names */

bool state_name_ok(struct str name)
{
	if (name.n != STATE_NAME - 1 || name.p[8] != '-')
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (i != 8 && !ascii_is_digit(name.p[i]))
			return false;
	return true;
}

void state_name_of(int64_t s, char ret[STATE_NAME])
{
	time_t time = (time_t)s;
	struct tm tm;
	ENSURE(gmtime_r(&time, &tm) && tm.tm_year < 8100 &&
	       strftime(ret, STATE_NAME, "%Y%m%d-%H%M%S", &tm) == STATE_NAME - 1);
}

/* A name that is not a time still comes out as some number that orders. */
int64_t state_time_of(const char *name)
{
	int f[6] = {0};
	(void)sscanf(name, "%4d%2d%2d-%2d%2d%2d", &f[0], &f[1], &f[2], &f[3], &f[4], &f[5]);
	struct tm tm = {.tm_year = f[0] - 1900,
			.tm_mon = f[1] - 1,
			.tm_mday = f[2],
			.tm_hour = f[3],
			.tm_min = f[4],
			.tm_sec = f[5]};
	return (int64_t)timegm(&tm);
}

char *path_in(const char *folder, const char *file, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", folder, file);
	return ret;
}

char *states_path(const struct states *s, struct arena *arena, const char *below)
{
	return arena_printf(arena, "%s/%s", s->folder, below);
}

/* Notes of a state */

/* The file: the phase by its name. */
struct control_file {
	char phase[PHASE_NAME];
	struct state_control c;
};

#define CONTROL(name, member) COL(name, struct control_file, c.member)
static const struct column control_field[] = {
	COL("", struct control_file, phase),
	CONTROL("from", params.from),
	CONTROL("crawl", params.crawl),
	COL("created", struct control_file, c.params.created_us, .unit = UNIT_TIME),
	CONTROL("objects", params.objects),
	CONTROL("gone", params.gone),
	CONTROL("sleeping", params.course.urls[ITEM_SLEEPING]),
	CONTROL("new", params.course.urls[ITEM_NEW]),
	CONTROL("gathered", params.course.urls[ITEM_GATHERED]),
	CONTROL("error", params.course.urls[ITEM_ERROR]),
	CONTROL("qkey", params.course.urls[ITEM_QKEY]),
	CONTROL("zombie", params.course.urls[ITEM_ZOMBIE]),
	CONTROL("due_s", params.course.due_s),
	CONTROL("rate_milli", params.course.rate_milli),
	CONTROL("rounds", params.course.rounds),
	CONTROL("asked", params.course.asked),
	CONTROL("feedback", params.course.feedback),
	CONTROL("passes_us", params.course.passes_us),
	CONTROL("cleaned_bytes", params.course.cleaned_bytes),
	CONTROL("cleaned_s", params.course.cleaned_s),
	CONTROL("bucket_bytes", params.course.bucket_bytes),
	CONTROL("url_bytes", params.course.url_bytes),
	CONTROL("sections", params.course.sections),
	CONTROL("checkpoint", last.number),
	COL("at", struct control_file, c.last.time_us, .unit = UNIT_TIME),
	CONTROL("objects", last.objects),
	CONTROL("journal", last.journal),
	CONTROL("contrib", last.contrib),
	CONTROL("changes", last.changes),
	CONTROL("gone", last.gone),
};
static const struct rows control_fields = {ROWS(struct control_file, control_field),
					   .what = "the control of a state"};

const struct format control_format = {
	.name = "control",
	.file = "control",
	.magic = "GARNERCT",
	.version = 3,
	.help = "phase, numbers and lengths of a state of the crawl",
	.remedy = STATE_REMEDY,
	.fields = &control_fields,
};

int control_write(const char *folder, const struct state_control *c, struct err *err)
{
	char path[PATH_MAX];
	struct control_file f = {.c = *c};
	snprintf(f.phase, sizeof f.phase, "%s", phase_name(c->phase));
	FAULT("state.control");
	if (small_file_save(path_in(folder, "control", path), &control_format, &f, err) < 0)
		return -1;
	FAULT("state.control.written");
	return 0;
}

int control_read(const char *folder, struct state_control *ret, struct err *err)
{
	struct control_file f = {0}; /* not every type of URL has a field */
	char path[PATH_MAX];
	int rc = small_file_load(path_in(folder, "control", path), &control_format, &f, err);
	if (rc == 0 && !phase_parse(str_of(f.phase), &f.c.phase))
		rc = err_set(err, ERR_DAMAGED, "%s: not a phase", path);
	if (rc == 0 && *f.c.params.from && !state_name_ok(str_of(f.c.params.from)))
		rc = err_set(err, ERR_DAMAGED, "%s: '%s' is not the name of a state", path,
			     f.c.params.from);
	if (rc == 0)
		*ret = f.c;
	return rc;
}

struct checkpoint checkpoint_measured(const char *folder, const struct state_params *params)
{
	struct checkpoint c = {.objects = params->objects, .gone = params->gone};
	for (unsigned i = 0; i < APPENDS; i++) {
		char path[PATH_MAX];
		struct stat is;
		if (stat(path_in(folder, appended_files[i].name, path), &is) == 0)
			*checkpoint_length(&c, (enum appended)i) = (uint64_t)is.st_size;
	}
	return c;
}

int state_forget_work(struct states *s, const char *folder, struct err *err)
{
	static const char *const work[] = {"checkpoints", "plan", INDEX_KEPT};
	char path[PATH_MAX];
	int rc = 0;
	for (size_t i = 0; rc >= 0 && i < ARRAY_LEN(work); i++)
		rc = file_remove(path_in(folder, work[i], path), err);
	return rc < 0 ? -1 : bucket_moves_done(path_in(s->folder, "objects", path), err);
}

/* The folder */

/* No folder of states. Where there are buckets all the same, the states are lost, and recovery
 * makes one of the buckets. 1: nothing was made here yet. */
static int without_states(const char *folder, const char *states, bool write, struct err *err)
{
	char path[PATH_MAX];
	if (access(path_in(folder, "objects", path), F_OK) != 0)
		return 1;
	return write ? dir_make(states, DIR_MODE, err)
		     : err_set(err, ERR_DAMAGED,
			       "%s: the states are lost; garner shep recover makes one from %s",
			       states, path);
}

static int folder_check(const char *folder, struct err *err)
{
	return strlen(folder) <= FOLDER_MOST
		       ? 0
		       : err_set(err, ERR_USAGE, "%s: the path is too long", folder);
}

int states_open(struct states **ret, const char *folder, bool write, struct err *err)
{
	char path[PATH_MAX];
	if (folder_check(folder, err) < 0)
		return -1;
	if (access(path_in(folder, "state", path), F_OK) != 0) {
		int rc = errno == ENOENT ? without_states(folder, path, write, err)
					 : err_sys(err, "%s", path);
		if (rc)
			return rc;
	}
	struct states *s = mem_alloc(sizeof *s);
	*s = (struct states){.folder = mem_text(folder), .write = write, .lock.file = FILE_INIT};
	if (write && lock_take(&s->lock, folder, err) < 0) {
		states_close(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void states_close(struct states **ps)
{
	if (!*ps)
		return;
	lock_free(&(*ps)->lock);
	small_close(&(*ps)->small);
	mem_free(&(*ps)->folder);
	mem_free(ps);
}

/* An empty state over buckets would be the end of them: cleanup drops what no state knows. */
static int refuse_buckets(struct buckets *b, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket = {.deleted = true};
	int rc = bucket_scan_init(&scan, b, 0, 0, err);
	if (rc < 0)
		return rc;
	while (rc == 0 && bucket.deleted)
		rc = bucket_scan_next(&scan, &bucket, err);
	bucket_scan_done(&scan);
	if (rc == 0)
		return err_set(err, ERR_USAGE,
			       "%s: there are buckets, but no state knows them; garner shep "
			       "recover makes one from them",
			       bucket_path(b));
	return rc < 0 ? rc : 0;
}

static int make_objects(const char *folder, unsigned shift, struct err *err)
{
	char path[PATH_MAX];
	struct buckets *b = NULL;
	const struct bucket_options options = {.mode = BUCKET_APPEND, .shift = shift};
	if (bucket_open(&b, path_in(folder, "objects", path), &options, err) < 0)
		return -1;
	int rc = refuse_buckets(b, err);
	if (rc == 0)
		rc = bucket_sync(b, NULL, err);
	if (rc == 0)
		return bucket_close(&b, err);
	bucket_drop(&b);
	return rc;
}

int states_init(const char *folder, unsigned shift, int64_t now_us, struct err *err)
{
	char path[PATH_MAX];
	struct states *s = NULL;
	struct state *st = NULL;
	struct state_info newest;
	if (folder_check(folder, err) < 0 || bucket_shift_check(folder, shift, err) < 0 ||
	    dir_make(path_in(folder, "state", path), DIR_MODE, err) < 0)
		return -1;
	int rc = states_open(&s, folder, true, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_SYSTEM, "%s: was made, but is missing", path);
	rc = states_newest(s, STATES_ALL, &newest, err);
	if (rc == 0)
		rc = err_set(err, ERR_USAGE, "%s: there is a crawl already", folder);
	if (rc == 1)
		rc = make_objects(folder, shift, err);
	if (rc == 0)
		rc = states_make(s, NULL, false, PHASE_CLOSED, now_us, &st, err);
	if (rc == 0)
		rc = states_relink(s, err);
	state_free(&st);
	states_close(&s);
	return rc;
}

/* Listing */

static struct state_info folder_look_at(struct states *s, const char *name, const char *locked)
{
	char folder[PATH_MAX];
	struct err err;
	struct state_info info = {0};
	memcpy(info.name, name, STATE_NAME);
	info.locked = *locked && strcmp(name, locked) >= 0;
	snprintf(folder, sizeof folder, "%s/state/%s", s->folder, name);
	struct state_control c = {.phase = PHASE_RECOVER};
	info.damaged = control_read(folder, &c, &err) != 0;
	info.phase = c.phase;
	info.params = c.params;
	return info;
}

int states_list(struct states *s, int64_t now_us, struct arena *arena, struct state_info **ret,
		size_t *ret_n, struct err *err)
{
	struct dir d;
	const char *name;
	char locked[STATE_NAME];
	if (states_oldest_locked(s, now_us, locked, err) < 0)
		return -1;
	int rc = dir_init_own(&d, states_path(s, arena, "state"), err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_USAGE, "%s: no crawl is here", s->folder);
	struct state_info *list = arena_array(arena, d.n + 1, sizeof *list);
	size_t n = 0;
	while (dir_next(&d, &name) == 0)
		if (state_name_ok(str_of(name)))
			list[n++] = folder_look_at(s, name, locked);
	dir_done(&d);
	*ret = list;
	*ret_n = n;
	return 0;
}

int states_newest(struct states *s, enum states_which which, struct state_info *ret,
		  struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n;
	if (states_list(s, 0, &arena, &list, &n, err) < 0)
		return -1;
	while (n && ((which == STATES_DONE && !phase_is_done(list[n - 1].phase)) ||
		     (which == STATES_CLOSED && list[n - 1].phase != PHASE_CLOSED)))
		n--;
	if (n == 0)
		return 1;
	*ret = list[n - 1];
	return 0;
}

/* Links */

static int folder_relink(struct states *s, const char *link, const char *name, struct err *err)
{
	char path[PATH_MAX], now[STATE_NAME + 1];
	snprintf(path, sizeof path, "%s/state/%s", s->folder, link);
	ssize_t n = readlink(path, now, sizeof now);
	if (n == STATE_NAME - 1 && memcmp(now, name, (size_t)n) == 0)
		return 0;
	FAULT("state.link");
	return file_point(path, name, err);
}

int states_relink(struct states *s, struct err *err)
{
	struct state_info newest;
	int rc = states_newest(s, STATES_CLOSED, &newest, err);
	if (rc == 0)
		rc = folder_relink(s, "closed", newest.name, err);
	if (rc >= 0)
		rc = states_newest(s, STATES_ALL, &newest, err);
	if (rc == 0)
		rc = folder_relink(s, "current", newest.name, err);
	return MIN(rc, 0);
}

/* Deleting */

/* In one step, so that no half state is ever seen. */
static int take_away(struct states *s, const char *name, char path[PATH_MAX], char away[PATH_MAX],
		     struct err *err)
{
	snprintf(path, PATH_MAX, "%s/state/%s", s->folder, name);
	snprintf(away, PATH_MAX, "%s/state/.%s.gone", s->folder, name);
	if (tree_remove(away, err) < 0)
		return -1;
	FAULT("state.delete");
	if (file_rename(path, away, err) < 0 || dir_sync_of(path, err) < 0)
		return -1;
	FAULT("state.delete.named");
	return 0;
}

int states_delete(struct states *s, const char *name, struct err *err)
{
	char path[PATH_MAX], away[PATH_MAX];
	if (take_away(s, name, path, away, err) < 0)
		return -1;
	return tree_remove(away, err) < 0 ? -1 : 0;
}

/* 1: it was locked meanwhile, and stays. */
static int delete_unlocked(struct states *s, const char *name, int64_t now_us, struct err *err)
{
	char path[PATH_MAX], away[PATH_MAX], locked[STATE_NAME];
	if (take_away(s, name, path, away, err) < 0 ||
	    states_oldest_locked(s, now_us, locked, err) < 0)
		return -1;
	if (!*locked || strcmp(locked, name) > 0)
		return tree_remove(away, err) < 0 ? -1 : 0;
	return file_rename(away, path, err) < 0 || dir_sync_of(path, err) < 0 ? -1 : 1;
}

/* While there are too many of a kind the oldest goes, whichever kind it is: followers without a
 * lock could not get past a gap. */
static bool may_go(const struct state_info *i, const struct states_keep *keep,
		   const int64_t left[2])
{
	if (i->locked || i->damaged || (i->phase == PHASE_CLOSED && left[0] == 1))
		return false;
	return left[0] > MAX(keep->closed, 1) || left[1] > keep->corked;
}

int states_audit(struct states *s, const struct states_keep *keep, int64_t now_us,
		 unsigned *ret_deleted, struct err *err)
{
	struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n = 0;
	unsigned deleted = 0;
	int64_t left[2] = {0, 0}; /* closed, corked */
	int rc = states_expire_locks(s, now_us, err);
	if (rc == 0)
		rc = states_list(s, now_us, &arena, &list, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		left[0] += list[i].phase == PHASE_CLOSED;
		left[1] += list[i].phase == PHASE_CORKED;
		if (!phase_is_done(list[i].phase))
			rc = err_set(err, ERR_USAGE, "%s is open: nothing is deleted",
				     list[i].name);
	}
	/* the last one is never asked about: a cycle goes on in it */
	for (size_t i = 0; rc == 0 && i + 1 < n && may_go(&list[i], keep, left); i++) {
		rc = delete_unlocked(s, list[i].name, now_us, err);
		left[list[i].phase == PHASE_CORKED]--;
		deleted += rc == 0;
	}
	if (rc >= 0) /* this also drops what cannot be read of it */
		rc = gone_trim(states_path(s, &arena, "gone"),
			       keep->gone_us ? now_us - keep->gone_us : 0, err);
	arena_free(&arena);
	*ret_deleted = deleted;
	return rc < 0 ? rc : 0;
}

/* Making */

static int link_file(const struct state *from, const char *to, const char *file, struct err *err)
{
	char a[PATH_MAX], b[PATH_MAX];
	return MIN(file_link(path_in(from->folder, file, a), path_in(to, file, b), err), 0);
}

static int fill_empty(const char *folder, struct err *err)
{
	char path[PATH_MAX];
	struct url_index_writer *w;
	struct counted_writer sites;
	if (sites_create(&sites, path_in(folder, "sites", path), err) < 0 ||
	    counted_finish(&sites, err) < 0 ||
	    url_index_create(&w, path_in(folder, "index", path), err) < 0)
		return -1;
	return url_index_finish(&w, err);
}

static int fill_from(const struct state *from, const char *folder, bool contrib, struct err *err)
{
	return link_file(from, folder, "index", err) < 0 ||
			       link_file(from, folder, "sites", err) < 0 ||
			       (contrib && link_file(from, folder, "contrib", err) < 0)
		       ? -1
		       : 0;
}

int states_length(const struct states *s, const char *file, uint64_t *ret, struct err *err)
{
	char path[PATH_MAX];
	struct stat is = {.st_size = 0};
	if (stat(path_in(s->folder, file, path), &is) != 0 && errno != ENOENT)
		return err_sys(err, "%s", path);
	*ret = (uint64_t)is.st_size;
	return 0;
}

/* Where `gone` ends now, as its writer sees it. */
static int gone_length(const struct states *s, uint64_t *ret, struct err *err)
{
	char path[PATH_MAX];
	struct gone_writer *w;
	if (gone_open(&w, path_in(s->folder, "gone", path), err) < 0)
		return -1;
	*ret = record_durable(gone_records(w));
	gone_drop(&w);
	return 0;
}

/* After the newest, whatever the clock says. Cursors of followers have 32 bits for the second that
 * a state is named after, so a clock beyond them counts for nothing. */
static int new_name(struct states *s, int64_t now_us, char ret[STATE_NAME], struct err *err)
{
	struct state_info newest;
	int rc = states_newest(s, STATES_ALL, &newest, err);
	int64_t second = MAX(now_us / US_PER_S, 0);
	second = second > UINT32_MAX ? 0 : second;
	if (rc == 0)
		second = MAX(second, state_time_of(newest.name) + 1);
	if (second > UINT32_MAX)
		return err_set(err, ERR_DAMAGED,
			       "state %s: no later time can be named; remove it by hand",
			       newest.name);
	if (rc >= 0)
		state_name_of(second, ret);
	return MIN(rc, 0);
}

static int folder_fill(struct states *s, const struct state *from, bool contrib, enum phase phase,
		       const char *folder, int64_t now_us, struct err *err)
{
	struct state_params p = {.created_us = MAX(now_us, 0)};
	if (from) {
		memcpy(p.from, from->name, STATE_NAME);
		p.crawl = from->params.crawl;
		p.course = from->params.course;
	} else if (getrandom(&p.crawl, sizeof p.crawl, 0) < 0) {
		return err_sys(err, "%s: random bytes for the name of the crawl", folder);
	} else {
		p.course.cleaned_s = (uint64_t)p.created_us / US_PER_S; /* it is empty */
	}
	if ((from ? fill_from(from, folder, contrib, err) : fill_empty(folder, err)) < 0 ||
	    states_length(s, "objects", &p.objects, err) < 0 || gone_length(s, &p.gone, err) < 0)
		return -1;
	const struct checkpoint born = {.time_us = p.created_us,
					.objects = p.objects,
					.contrib = from && contrib ? from->last.contrib : 0,
					.gone = p.gone};
	if (!phase_is_done(phase) && checkpoint_create(folder, &born, err) < 0)
		return -1;
	return control_write(folder, &(struct state_control){phase, p, born}, err);
}

int states_make(struct states *s, const struct state *from, bool contrib, enum phase phase,
		int64_t now_us, struct state **ret, struct err *err)
{
	char name[STATE_NAME], path[PATH_MAX], fresh[PATH_MAX];
	if (new_name(s, now_us, name, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/state/%s", s->folder, name);
	snprintf(fresh, sizeof fresh, "%s/state/.new", s->folder);
	FAULT("state.make");
	if (tree_remove(fresh, err) < 0 || dir_make(fresh, DIR_MODE, err) < 0 ||
	    folder_fill(s, from, contrib, phase, fresh, now_us, err) < 0 ||
	    dir_sync(fresh, err) < 0)
		return -1;
	FAULT("state.make.name");
	if (file_rename(fresh, path, err) < 0 || dir_sync_of(path, err) < 0)
		return -1;
	FAULT("state.make.named");
	return state_open(ret, s, name, err);
}
