#include "state/state.h"

#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket_shake.h"
#include "state/state_inner.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* Opening */

static int resolve(struct states *s, const char *name, char ret[STATE_NAME], struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n;
	bool closed = strcmp(name, "closed") == 0;
	const char *found = NULL;
	int rc = states_list(s, 0, &arena, &list, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (!closed || list[i].phase == PHASE_CLOSED)
			found = list[i].name;
	if (rc == 0 && found)
		memcpy(ret, found, STATE_NAME);
	arena_free(&arena);
	return rc < 0 ? rc : !found;
}

/* What the handle knows of a state. A damaged note is an error. */
static int load(struct state *st, struct err *err)
{
	int rc = control_read(st->folder, &st->phase, err);
	if (rc == 0)
		rc = params_read(st->folder, &st->params, err);
	if (rc)
		return rc;
	st->last = (struct checkpoint){.objects = st->params.objects,
				       .contrib = st->params.contrib,
				       .gone = st->params.gone};
	/* who only reads an open state sees what is shown to followers, no more */
	rc = st->s->write || phase_is_done(st->phase)
		     ? checkpoint_last(st->folder, &st->last, err)
		     : checkpoint_shown(st->folder, &st->last, err);
	st->has_last = rc == 0;
	return rc < 0 ? rc : 0;
}

int state_open(struct state **ret, struct states *s, const char *name, struct err *err)
{
	char found[STATE_NAME], folder[PATH_MAX];
	int rc = 0;
	if (strcmp(name, "closed") == 0 || strcmp(name, "current") == 0)
		rc = resolve(s, name, found, err);
	else if (state_name_ok(str_of(name)))
		memcpy(found, name, STATE_NAME);
	else
		rc = 1;
	if (rc)
		return rc;
	snprintf(folder, sizeof folder, "%s/state/%s", s->folder, found);
	struct state *st = mem_alloc(sizeof *st);
	*st = (struct state){.s = s,
			     .folder = mem_text(folder),
			     .notes = CHECKPOINT_NOTES_INIT,
			     .scratch = BUF_INIT(1 << 20)};
	memcpy(st->name, found, STATE_NAME);
	rc = load(st, err);
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
	sync_pool_free(&st->pool);
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

static int none_open(struct states *s, const struct state *from, struct err *err)
{
	struct arena arena = ARENA_INIT(16 << 20);
	struct state_info *list;
	size_t n;
	int rc = states_list(s, 0, &arena, &list, &n, err);
	if (rc == 0 && (n == 0 || strcmp(list[n - 1].name, from->name) != 0))
		rc = err_set(err, ERR_USAGE, "%s is not the newest state, %s is: no clone of it",
			     from->name, n ? list[n - 1].name : "none");
	else if (rc == 0 && !phase_is_done(from->phase))
		rc = err_set(err, ERR_USAGE, "%s is open, in %s: no clone of it", from->name,
			     phase_name(from->phase));
	arena_free(&arena);
	return rc;
}

static int may_write(const struct states *s, struct err *err)
{
	return s->write ? 0
			: err_set(err, ERR_USAGE, "%s was opened to be read, not written",
				  s->folder);
}

int state_clone(struct state **ret, struct state *from, bool contrib, int64_t now_us,
		struct err *err)
{
	if (may_write(from->s, err) < 0 || none_open(from->s, from, err) < 0 ||
	    states_make(from->s, from, contrib, PHASE_PREPARE, now_us, ret, err) < 0)
		return -1;
	if (states_relink(from->s, err) == 0)
		return 0;
	state_free(ret);
	return -1;
}

static int is_open(const struct state *st, struct err *err)
{
	if (may_write(st->s, err) < 0)
		return -1;
	return phase_is_done(st->phase)
		       ? err_set(err, ERR_USAGE, "%s is %s: nothing is written to it any more",
				 st->name, phase_name(st->phase))
		       : 0;
}

int state_enter(struct state *st, enum phase phase, struct buckets *buckets, int64_t now_us,
		struct err *err)
{
	enum phase before = st->phase;
	if (is_open(st, err) < 0)
		return -1;
	if ((buckets || state_has_appends(st)) && state_checkpoint(st, buckets, now_us, err) < 0)
		return -1;
	if (phase_is_done(phase) && state_end_appends(st, true, err) < 0)
		return -1;
	if (control_write(st->folder, phase, err) < 0)
		return -1;
	st->phase = phase;
	if (!phase_is_done(phase))
		return 0;
	if (before == PHASE_CLEANUP || before == PHASE_RECOVER) {
		struct arena arena = ARENA_INIT(1 << 16);
		int rc = bucket_moves_done(states_path(st->s, &arena, "objects"), err);
		arena_free(&arena);
		if (rc < 0)
			return -1;
	}
	return states_relink(st->s, err);
}

/* Index and sites: written beside, put in place. */

int state_index(struct state *st, const struct url_index **ret, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/index", st->folder);
	int rc = st->index ? 0 : url_index_open(&st->index, path, err);
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: it is not there; recovery builds it again",
			     path);
	if (rc == 0)
		*ret = st->index;
	return rc;
}

int state_index_create(struct state *st, struct url_index_writer **ret, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/.index.new", st->folder);
	if (is_open(st, err) < 0)
		return -1;
	FAULT("state.index");
	/* a new file in any case: the old one of this name may be shared */
	return file_remove(path, err) < 0 ? -1 : url_index_create(ret, path, err);
}

static int put_in_place(struct state *st, const char *beside, const char *name, struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	snprintf(from, sizeof from, "%s/%s", st->folder, beside);
	snprintf(to, sizeof to, "%s/%s", st->folder, name);
	FAULT("state.put");
	if (file_rename(from, to, err) < 0 || dir_sync_of(to, err) < 0)
		return -1;
	FAULT("state.put.named");
	return 0;
}

int state_index_put(struct state *st, struct url_index_writer **w, struct err *err)
{
	if (url_index_finish(w, err) < 0 || put_in_place(st, ".index.new", "index", err) < 0)
		return -1;
	url_index_close(&st->index);
	return 0;
}

int state_sites(struct state *st, struct sites **ret, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/sites", st->folder);
	int rc = sites_load(ret, path, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is not there; recovery builds it again",
				 path)
		       : rc;
}

int state_sites_put(struct state *st, struct sites *sites, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/.sites.new", st->folder);
	if (is_open(st, err) < 0 || sites_save(sites, path, err) < 0)
		return -1;
	return put_in_place(st, ".sites.new", "sites", err);
}

/* Small files */

static const struct field control_field[] = {{"", FIELD_REST, 0, sizeof(struct str)}};
static const struct field_table control_fields = {FIELDS("a phase", control_field)};

const struct format control_format = {
	.name = "control",
	.file = "control",
	.magic = "GARNERCT",
	.version = 2,
	.help = "the phase of a state of the crawl",
	.fields = &control_fields,
};

static const struct field params_field[] = {
	{"from", FIELD(FIELD_NAME, struct state_params, from)},
	{"crawl", FIELD(FIELD_UINT, struct state_params, crawl)},
	{"created", FIELD(FIELD_TIME, struct state_params, created_us)},
	{"objects", FIELD(FIELD_UINT, struct state_params, objects)},
	{"contrib", FIELD(FIELD_UINT, struct state_params, contrib)},
	{"gone", FIELD(FIELD_UINT, struct state_params, gone)},
};
static const struct field_table params_fields = {FIELDS("params of a state", params_field)};

const struct format params_format = {
	.name = "params",
	.file = "params",
	.magic = "GARNERPA",
	.version = 2,
	.help = "numbers of a state of the crawl as a whole",
	.fields = &params_fields,
};

static const struct field lock_field[] = {
	{"state", FIELD(FIELD_NAME, struct state_lock, state)},
	{"until", FIELD(FIELD_TIME, struct state_lock, until_us)},
};
static const struct field_table lock_fields = {FIELDS("a lock", lock_field)};

const struct format lock_format = {
	.name = "lock",
	.magic = "GARNERLK",
	.version = 2,
	.help = "which states a reader of the crawl needs, and how long",
	.fields = &lock_fields,
};
