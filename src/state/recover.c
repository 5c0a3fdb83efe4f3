#include "state/recover.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "disk/tree.h"
#include "state/plan.h"
#include "state/recover_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLD_MOST = 1 << 20, VERIFY_GONE = 64 << 20 };

__attribute__((format(printf, 2, 0))) static void tell(struct recovery *r, const char *fmt,
						       va_list args)
{
	char line[768];
	vsnprintf(line, sizeof line, fmt, args);
	buf_printf(&r->told, "%s\n", line);
}

void recovery_tell(struct recovery *r, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	tell(r, fmt, args);
	va_end(args);
}

void recovery_damage(struct recovery *r, const char *fmt, ...)
{
	va_list args;
	r->damaged++;
	buf_add_text(&r->told, "damaged: ");
	va_start(args, fmt);
	tell(r, fmt, args);
	va_end(args);
}

void recovery_free(struct recovery *r)
{
	buf_free(&r->told);
}

/* What is at hand while it goes on. */
struct recovering {
	struct states *s;
	int64_t now_us;
	struct recovery *r;
	struct arena arena;
	struct state_info *list;
	size_t n;
};

static int list_again(struct recovering *x, struct err *err)
{
	return states_list(x->s, x->now_us, &x->arena, &x->list, &x->n, err);
}

static struct state_info *recover_newest(struct recovering *x)
{
	return x->n ? &x->list[x->n - 1] : NULL;
}

/* What killed processes left: states half made or half removed. */
static int recover_sweep(struct recovering *x, struct err *err)
{
	struct dir d;
	const char *name;
	char *folder = states_path(x->s, &x->arena, "state");
	int rc = dir_init(&d, folder, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_USAGE, "%s: no crawl is here", x->s->folder);
	while (rc == 0 && dir_next(&d, &name) == 0)
		if (name[0] == '.')
			rc = tree_remove(arena_printf(&x->arena, "%s/%s", folder, name), err) < 0
				     ? -1
				     : 0;
	dir_done(&d);
	return rc;
}

/* The log of forgotten URLs: what is damaged is set aside for whoever wants to look at it. */
static int check_gone(struct recovering *x, struct err *err)
{
	struct stat st;
	char *path = states_path(x->s, &x->arena, "gone");
	if (stat(path, &st) != 0)
		return 0;
	int rc = 0;
	if (st.st_size <= VERIFY_GONE)
		rc = format_verify(&gone_format, path, err);
	if (rc == 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(x->r, "%s; it is kept as gone.damaged until you remove it", err->msg);
	return file_rename(path, states_path(x->s, &x->arena, "gone.damaged"), err);
}

/* Notes that are damaged */

/* As good as can be said: nothing is rolled back further than what is there. */
static int mend_params(struct recovering *x, const char *name, const char *from, const char *folder,
		       struct err *err)
{
	struct state_params p = {.created_us = MAX(x->now_us, 0)};
	snprintf(p.from, sizeof p.from, "%s", from);
	for (size_t i = 0; i < x->n; i++)
		p.crawl = x->list[i].params.crawl ? x->list[i].params.crawl : p.crawl;
	if (states_length(x->s, "objects", &p.objects, err) < 0 ||
	    states_length(x->s, "gone", &p.gone, err) < 0)
		return -1;
	recovery_damage(x->r, "%s: its params are lost and made again", name);
	return params_write(folder, &p, err);
}

/* Only the newest can have been at work. What it was doing is not known: it is built anew. */
static int mend_notes(struct recovering *x, size_t i, struct err *err)
{
	struct state_params params;
	enum phase phase;
	struct state_info *info = &x->list[i];
	bool last = i + 1 == x->n;
	char *folder = arena_printf(&x->arena, "%s/state/%s", x->s->folder, info->name);
	if (control_read(folder, &phase, err) != 0) {
		phase = last ? PHASE_RECOVER : PHASE_CORKED;
		recovery_damage(x->r, "%s: its phase is lost; taken for %s", info->name,
				phase_name(phase));
		if (control_write(folder, phase, err) < 0)
			return -1;
	}
	if (params_read(folder, &params, err) != 0 &&
	    mend_params(x, info->name, i ? x->list[i - 1].name : "", folder, err) < 0)
		return -1;
	return 0;
}

static int check_order(struct recovering *x, struct err *err)
{
	bool mended = false;
	for (size_t i = 0; i < x->n; i++) {
		if (x->list[i].damaged && mend_notes(x, i, err) < 0)
			return -1;
		mended |= x->list[i].damaged;
	}
	if (mended && list_again(x, err) < 0)
		return -1;
	for (size_t i = 0; i < x->n; i++) {
		const struct state_info *info = &x->list[i];
		if (info->phase == PHASE_BORROWED)
			return err_set(err, ERR_USAGE, "state %s is borrowed: return it first",
				       info->name);
		if (i + 1 < x->n && !phase_is_done(info->phase))
			return err_set(
				err, ERR_DAMAGED,
				"state %s is open (%s), but there is a newer one, %s: one of "
				"them has to be removed by hand",
				info->name, phase_name(info->phase), x->list[i + 1].name);
	}
	return 0;
}

/* Buckets */

static void name_problem(void *ctx, const struct bucket_problem *p)
{
	struct recovering *x = ctx;
	recovery_damage(x->r, "objects: bucket %08" PRIx32 " (byte %" PRIu64 "): %s", p->oid, p->at,
			p->reason);
}

static int fix_objects(struct recovering *x, const char *path, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_WRITE, .unchecked = true};
	struct buckets *b;
	struct bucket_audit audit;
	int rc = bucket_open(&b, path, &options, err);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = bucket_fix(b, name_problem, x, &audit, err);
	if (rc < 0)
		bucket_drop(&b);
	return rc < 0 ? rc : bucket_close(&b, err);
}

/* Reads all buckets, and mends what is damaged. 0: nothing was; 1: mended. */
static int audit_objects(struct recovering *x, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_SCAN, .unchecked = true};
	char *path = states_path(x->s, &x->arena, "objects");
	struct buckets *b = NULL;
	struct bucket_audit audit = {0};
	int rc = bucket_open(&b, path, &options, err);
	if (rc == 0)
		rc = bucket_audit(b, 0, NULL, NULL, &audit, err);
	bucket_drop(&b);
	if (rc < 0 || audit.problems == 0)
		return rc < 0 ? rc : 0;
	return fix_objects(x, path, err) < 0 ? -1 : 1;
}

/* By phase */

typedef int act_fn(struct recovering *x, struct state **st, struct err *err);

/* What is no bucket is mended first, so that nobody meets it again; where others have the file open
 * it is passed over, and the next cleanup mends it. */
static int build_here(struct recovering *x, struct state *st, struct err *err)
{
	if (audit_objects(x, err) < 0 && err->code != ERR_BUSY)
		return -1;
	if (st->phase != PHASE_RECOVER && control_write(st->folder, PHASE_RECOVER, err) < 0)
		return -1;
	st->phase = PHASE_RECOVER;
	FAULT("recover.build");
	return recover_build(st, x->now_us, x->r, err);
}

/* One step of a rollback met damage before the last checkpoint. Contributions and changes are not
 * to be had again: those before the damage are kept, and nothing else depends on them; nor does
 * anything on the log of forgotten URLs. 1: the index has to be made again. */
static int after_damage(struct recovering *x, struct state *st, unsigned step, struct err *err)
{
	recovery_damage(x->r, "%s", err->msg);
	if (step == APPEND_CONTRIB || step == APPEND_CHANGES)
		return state_keep_sound(st, (enum appended)step, err);
	if (step + 1 == ROLLBACK_STEPS)
		return fix_objects(x, states_path(x->s, &x->arena, "objects"), err) < 0 ? -1 : 1;
	return step == APPEND_JOURNAL;
}

/* Rolls back. 1: something is damaged before the last checkpoint, and was named; the bucket file is
 * sound all the same. */
static int roll_back(struct recovering *x, struct state *st, struct err *err)
{
	bool damaged = false;
	int rc = state_rollback_begin(st, err);
	for (unsigned i = 0; rc >= 0 && i < ROLLBACK_STEPS; i++) {
		rc = state_rollback_step(st, i, err);
		if (rc < 0 && err->code == ERR_DAMAGED)
			rc = after_damage(x, st, i, err);
		damaged |= rc == 1;
	}
	return rc < 0 ? rc : damaged;
}

static int recover_drop(struct recovering *x, struct state **st, struct err *err)
{
	char name[STATE_NAME];
	struct state_params *p = &(*st)->params;
	memcpy(name, (*st)->name, STATE_NAME);
	/* to where it began, whatever checkpoints it made */
	(*st)->last =
		(struct checkpoint){.objects = p->objects, .gone = p->gone, .contrib = p->contrib};
	if (roll_back(x, *st, err) < 0)
		return -1;
	recovery_tell(x->r, "%s: deleted in %s; its work is done again", name,
		      phase_name((*st)->phase));
	state_free(st);
	FAULT("recover.drop");
	x->r->deleted++;
	return states_delete(x->s, name, err);
}

/* Reap could not go on with a damaged plan, at this start or any other: it gets one without URLs,
 * so that the cycle ends, and the next one plans anew. */
static int check_plan(struct recovering *x, struct state *st, struct err *err)
{
	struct plan_writer *w;
	char *path = state_path(st, &x->arena, "plan");
	int rc = access(path, F_OK) == 0 ? format_verify(&plan_format, path, err)
					 : err_set(err, ERR_DAMAGED, "%s: it is lost", path);
	if (rc == 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(x->r, "%s; the cycle ends without it", err->msg);
	return file_remove(path, err) < 0 || plan_create(&w, path, err) < 0 ? -1
									    : plan_finish(&w, err);
}

static int back_to_checkpoint(struct recovering *x, struct state **st, struct err *err)
{
	if (!(*st)->has_last)
		return recover_drop(x, st, err);
	int rc = roll_back(x, *st, err);
	if (rc)
		return rc < 0 ? rc : build_here(x, *st, err);
	CLEANUP(buf_free) struct buf when = BUF_INIT(64);
	time_print(&when, (*st)->last.time_us, 3);
	recovery_tell(x->r, "%s: rolled back to its checkpoint of %s", (*st)->name,
		      buf_text(&when));
	x->r->rolled_back++;
	return check_plan(x, *st, err);
}

/* Cork begins again with the index that it began with. */
static int cork_again(struct recovering *x, struct state **st, struct err *err)
{
	static const char *const file[] = {"index", "sites"};
	int rc = roll_back(x, *st, err);
	if (rc)
		return rc < 0 ? rc : build_here(x, *st, err);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		char *from = arena_printf(&x->arena, "%s/state/%s/%s", x->s->folder,
					  (*st)->params.from, file[i]);
		char *beside = arena_printf(&x->arena, "%s/.%s.again", (*st)->folder, file[i]);
		int rc_link = file_remove(beside, err) < 0 ? -1 : file_link(from, beside, err);
		if (rc_link < 0)
			return -1;
		if (rc_link == 1)
			continue; /* it is gone, and nothing better is known */
		/* where both are the same file already, rename leaves the name beside */
		if (file_rename(beside, state_path(*st, &x->arena, file[i]), err) < 0 ||
		    file_remove(beside, err) < 0)
			return -1;
	}
	recovery_tell(x->r, "%s: cork is done again", (*st)->name);
	return dir_sync((*st)->folder, err);
}

static int finish_cleanup(struct recovering *x, struct state **st, struct err *err)
{
	struct bucket_moves *moves = NULL;
	uint64_t forgotten = 0;
	int rc = bucket_moves_open(&moves, states_path(x->s, &x->arena, "objects"), err);
	bucket_moves_close(&moves);
	if (rc == 1) {
		/* a damaged bucket may be what ended it, and would end the next one too */
		rc = audit_objects(x, err);
		return rc < 0 ? rc : rc == 0 ? recover_drop(x, st, err) : build_here(x, *st, err);
	}
	if (rc == 0)
		rc = state_renumber(*st, &forgotten, err);
	if (rc < 0) {
		if (err->code != ERR_DAMAGED)
			return -1;
		recovery_damage(x->r, "%s", err->msg);
		return build_here(x, *st, err);
	}
	x->r->renumbered++;
	recovery_tell(x->r, "%s: buckets were renumbered, the index follows; %" PRIu64 " forgotten",
		      (*st)->name, forgotten);
	return state_enter(*st, recover_done(*st), NULL, x->now_us, err);
}

/* What it told followers before it was interrupted, or whatever it was doing when its phase was
 * lost, is cut off. The buckets stay: all that are whole count. */
static int build_again(struct recovering *x, struct state **st, struct err *err)
{
	int rc = state_rollback_begin(*st, err);
	for (unsigned i = 0; rc >= 0 && i <= APPENDS && (*st)->has_last; i++) {
		rc = state_rollback_step(*st, i, err);
		if (rc < 0 && err->code == ERR_DAMAGED)
			rc = after_damage(x, *st, i, err);
	}
	return rc < 0 ? rc : build_here(x, *st, err);
}

/* Merge could not go on over contributions that are damaged. */
static int check_contrib(struct recovering *x, struct state **st, struct err *err)
{
	int rc = state_check_appended(*st, APPEND_CONTRIB, err);
	return rc < 0 && err->code == ERR_DAMAGED ? after_damage(x, *st, APPEND_CONTRIB, err) : rc;
}

static int recover_nothing(struct recovering *x, struct state **st, struct err *err)
{
	(void)x;
	(void)st;
	(void)err;
	return 0;
}

static act_fn *const acts[PHASES] = {
	[PHASE_INCOMPLETE] = recover_drop,     [PHASE_CLOSED] = recover_nothing,
	[PHASE_PREPARE] = recover_drop,        [PHASE_PLAN] = recover_drop,
	[PHASE_REAP] = back_to_checkpoint,     [PHASE_CORK] = cork_again,
	[PHASE_CORKED] = check_contrib,        [PHASE_MERGE] = recover_drop,
	[PHASE_FEEDBACK] = recover_drop,       [PHASE_EQUIV] = recover_drop,
	[PHASE_SELECT] = recover_drop,         [PHASE_RECORD] = recover_drop,
	[PHASE_SORT] = recover_drop,           [PHASE_FINISH] = recover_drop,
	[PHASE_CLEANUP] = finish_cleanup,      [PHASE_RECOVER] = build_again,
	[PHASE_ROLLBACK] = back_to_checkpoint, [PHASE_BORROWED] = recover_nothing,
};

/* Where the checkpoints themselves are damaged, nothing says how far the files are good: all that
 * can be read of them counts. */
static int open_newest(struct recovering *x, struct state **ret, struct err *err)
{
	int rc = state_open(ret, x->s, recover_newest(x)->name, err);
	if (rc == 1)
		return err_set(err, ERR_SYSTEM, "state %s is gone", recover_newest(x)->name);
	if (rc == 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(x->r, "%s", err->msg);
	char *folder =
		arena_printf(&x->arena, "%s/state/%s", x->s->folder, recover_newest(x)->name);
	if (file_remove(arena_printf(&x->arena, "%s/checkpoints", folder), err) < 0 ||
	    file_remove(arena_printf(&x->arena, "%s/last", folder), err) < 0 ||
	    (!phase_is_done(recover_newest(x)->phase) &&
	     control_write(folder, PHASE_RECOVER, err) < 0))
		return -1;
	rc = state_open(ret, x->s, recover_newest(x)->name, err);
	for (unsigned i = 0; rc == 0 && i < APPENDS && !phase_is_done((*ret)->phase); i++)
		rc = state_keep_sound(*ret, (enum appended)i, err);
	return rc;
}

/* Where the log of checkpoints and the last one are not both there and the same, they are written
 * again. `last` is written in place, so a crash may spoil it; the log is damaged by nothing else.
 */
static int mend_checkpoints(struct recovering *x, struct state *st, struct err *err)
{
	struct checkpoint noted, shown;
	struct err why = {0};
	char *log = state_path(st, &x->arena, "checkpoints");
	char *last = state_path(st, &x->arena, "last");
	if (!st->has_last)
		return 0;
	int in_last = checkpoint_noted(st->folder, &noted, &why);
	if (in_last < 0)
		recovery_tell(x->r, "%s; written again", why.msg);
	int in_log = checkpoint_shown(st->folder, &shown, &why);
	if (in_log < 0)
		recovery_damage(x->r, "%s", why.msg);
	if (in_log == 0 && in_last == 0 && shown.number == noted.number)
		return 0;
	if ((in_log && file_remove(log, err) < 0) || (in_last && file_remove(last, err) < 0) ||
	    checkpoint_open(&st->notes, st->folder, err) < 0)
		return -1;
	return state_note_again(st, err);
}

static int by_phase(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	int rc = open_newest(x, &st, err);
	if (rc == 0)
		rc = mend_checkpoints(x, st, err);
	if (rc == 0)
		rc = acts[st->phase](x, &st, err);
	state_free(&st);
	return rc;
}

/* A new state in PHASE_RECOVER or PHASE_CLEANUP on top of the newest, which is done. Contributions
 * that wait to be merged go along. */
static int on_top(struct recovering *x, struct state *st, enum phase phase, struct state **ret,
		  struct err *err)
{
	bool contrib = st->phase == PHASE_CORKED && st->last.contrib;
	return states_make(x->s, st, contrib, phase, x->now_us, ret, err);
}

/* Opens the bucket file; one that does not pass the quick check is mended first. */
static int open_objects(struct recovering *x, struct buckets **ret, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	char *path = states_path(x->s, &x->arena, "objects");
	int rc = bucket_open(ret, path, &options, err);
	if (rc == 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(x->r, "%s", err->msg);
	return fix_objects(x, path, err) < 0 ? -1 : bucket_open(ret, path, &options, err);
}

/* The newest state as it is now: what still has to be done to its index. */
static int mend_index(struct recovering *x, struct state *st, enum fit fit, struct err *err)
{
	struct state *above = NULL;
	bool done = phase_is_done(st->phase);
	int rc = 0;
	if (fit == FIT_SOUND)
		return bucket_moves_done(states_path(x->s, &x->arena, "objects"), err) < 0 ? -1 : 0;
	if (!done)
		return build_here(x, st, err);
	rc = on_top(x, st, fit == FIT_OLD_NUMBERS ? PHASE_CLEANUP : PHASE_RECOVER, &above, err);
	if (rc == 0)
		rc = acts[above->phase](x, &above, err);
	state_free(&above);
	return rc;
}

static int look_at_newest(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	struct buckets *buckets = NULL;
	enum fit fit;
	if (open_objects(x, &buckets, err) < 0)
		return -1;
	int rc = open_newest(x, &st, err);
	if (rc == 0)
		rc = recover_fit(st, buckets, x->r, &fit, err);
	bucket_drop(&buckets);
	if (rc == 0)
		rc = mend_index(x, st, fit, err);
	state_free(&st);
	return rc;
}

static int build_first(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	recovery_tell(x->r, "there is no state: one is made from the buckets");
	if (states_make(x->s, NULL, false, PHASE_RECOVER, x->now_us, &st, err) < 0)
		return -1;
	int rc = build_here(x, st, err);
	state_free(&st);
	return rc;
}

/* Without the bucket file every URL would be forgotten. It may be on a disk that is not mounted, so
 * that is left to who knows. */
static int check_objects(struct recovering *x, struct err *err)
{
	struct stat st;
	char *path = states_path(x->s, &x->arena, "objects");
	uint64_t known = x->n ? recover_newest(x)->params.objects : 0;
	if (known == 0 || stat(path, &st) == 0)
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: the bucket file is lost, of which the states know %" PRIu64
		       " bytes; put it back, or remove %s/state to begin anew",
		       path, known, x->s->folder);
}

static int recover_all(struct recovering *x, struct err *err)
{
	if (recover_sweep(x, err) < 0 || check_gone(x, err) < 0 || list_again(x, err) < 0 ||
	    check_order(x, err) < 0 || check_objects(x, err) < 0)
		return -1;
	if (x->n && by_phase(x, err) < 0)
		return -1;
	FAULT("recover.phase");
	if (list_again(x, err) < 0 || (x->n ? look_at_newest(x, err) : build_first(x, err)) < 0)
		return -1;
	return states_relink(x->s, err);
}

int states_recover(struct states *s, int64_t now_us, struct recovery *ret, struct err *err)
{
	struct recovering x = {.s = s, .now_us = now_us, .r = ret, .arena = ARENA_INIT(256 << 20)};
	*ret = (struct recovery){.told = BUF_INIT(TOLD_MOST)};
	int rc = s->write ? recover_all(&x, err)
			  : err_set(err, ERR_USAGE, "%s was opened to be read, not mended",
				    s->folder);
	arena_free(&x.arena);
	return rc;
}

int states_rebuild(struct states *s, int64_t now_us, struct recovery *ret, struct err *err)
{
	struct state *st = NULL, *above = NULL;
	struct recovering x = {.s = s, .now_us = now_us, .r = ret, .arena = ARENA_INIT(256 << 20)};
	if (states_recover(s, now_us, ret, err) < 0)
		return -1;
	int rc = list_again(&x, err);
	if (rc == 0)
		rc = open_newest(&x, &st, err);
	if (rc == 0 && !phase_is_done(st->phase))
		rc = build_here(&x, st, err);
	else if (rc == 0 && (rc = on_top(&x, st, PHASE_RECOVER, &above, err)) == 0)
		rc = build_here(&x, above, err);
	state_free(&st);
	state_free(&above);
	arena_free(&x.arena);
	return rc < 0 ? rc : states_relink(s, err);
}

/* Whether the index of a state and the bucket file belong together */

enum { SAMPLES = 64 };

struct fitting {
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct recovery *r;
	bool named; /* a body that cannot be unpacked; others will be like it */
	struct arena arena;
};

/* A bucket may be whole and its dictionary lost: no index helps then, but it is said. */
static void try_body(struct fitting *f, const struct bucket *bucket)
{
	struct err err;
	struct str body;
	if (f->named || bucket_check(bucket->type, bucket->data, &err) != 0 ||
	    bucket_body(f->packer, bucket->type, bucket->data, &f->arena, &body, &err) == 0)
		return;
	f->named = true;
	recovery_damage(f->r, "objects: bucket %08" PRIx32 ": %s", bucket->oid, err.msg);
}

/* 0: the bucket with this number is of this URL; 1: not. */
static int is_of(struct fitting *f, uint64_t number, struct footprint fp, struct err *err)
{
	struct bucket bucket;
	struct attrs header = {0};
	struct footprint found;
	int rc = bucket_read(f->buckets, (uint32_t)number, &bucket, err);
	if (rc == 0)
		rc = bucket_header(bucket.type, bucket.data, &f->arena, &header, NULL, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	struct str o = rc == 0 ? attrs_get(&header, 'O') : STR("");
	bool plain = rc == 0 && !o.p; /* of an old version: it does not tell */
	bool same = rc == 0 && o.p && footprint_parse(o, &found) && footprint_cmp(found, fp) == 0;
	if (same)
		try_body(f, &bucket);
	arena_clear(&f->arena);
	return plain || same ? 0 : 1;
}

static int samples_fit(struct fitting *f, const struct url_index *index, struct err *err)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct index_item item;
		int rc = url_index_sample(index, i, SAMPLES, &item, err);
		if (rc == 0)
			rc = is_of(f, item.where, item.fp, err);
		else if (rc == 1)
			continue;
		if (rc)
			return rc;
	}
	return 0;
}

/* All of the index is read, as every cycle does: no module could go on over a block that is
 * damaged. 0: sound; 1: it has to be made again, and why was told. */
static int check_index(struct state *st, struct fitting *f, struct recovery *r, struct err *err)
{
	const struct url_index *index;
	struct sites *sites = NULL;
	int rc = state_index(st, &index, err);
	if (rc == 0)
		rc = format_verify(&index_format, state_path(st, &f->arena, "index"), err);
	if (rc == 0)
		rc = state_sites(st, &sites, err);
	sites_free(&sites);
	if (rc == 0)
		rc = samples_fit(f, index, err);
	if (rc == 1)
		recovery_damage(r, "%s: its index does not fit the bucket file", st->name);
	if (rc >= 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(r, "%s", err->msg);
	return 1;
}

/* What one line of the report says of this index. 0: it has the new number; 1: the old one;
 * 2: neither. */
static int numbers_by(struct fitting *f, const struct url_index *index,
		      const struct bucket_move *move, struct err *err)
{
	struct bucket bucket;
	struct attrs header = {0};
	struct footprint fp;
	struct index_item item;
	if (move->to == BUCKET_DELETED || move->from == move->to)
		return 2;
	int rc = bucket_read(f->buckets, move->to, &bucket, err);
	if (rc == 0)
		rc = bucket_header(bucket.type, bucket.data, &f->arena, &header, NULL, err);
	struct str o = rc == 0 ? attrs_get(&header, 'O') : STR("");
	rc = o.p && footprint_parse(o, &fp) ? url_index_find(index, fp, &item, err) : 1;
	arena_clear(&f->arena);
	if (rc)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 2;
	return item.where == move->to ? 0 : item.where == move->from ? 1 : 2;
}

/* After a shakedown: whether this index has the new numbers. 0: it has, or there was none; 1: not.
 */
static int has_new_numbers(struct state *st, struct fitting *f, struct err *err)
{
	const struct url_index *index;
	struct bucket_moves *moves = NULL;
	struct bucket_move move;
	int rc = bucket_moves_open(&moves, bucket_path(f->buckets), err), says = 2;
	if (rc)
		return rc < 0 ? rc : 0;
	rc = state_index(st, &index, err);
	while (rc == 0 && says == 2 && (rc = bucket_moves_next(moves, &move, err)) == 0)
		says = numbers_by(f, index, &move, err);
	bucket_moves_close(&moves);
	return rc < 0 || says < 0 ? -1 : says == 1;
}

int recover_fit(struct state *st, struct buckets *buckets, struct recovery *r, enum fit *ret,
		struct err *err)
{
	struct fitting f = {.buckets = buckets, .r = r, .arena = ARENA_INIT(BUCKET_ARENA)};
	f.packer = bucket_packer_new(bucket_dict_path(&f.arena, bucket_path(buckets)));
	int rc = has_new_numbers(st, &f, err);
	if (rc == 1)
		*ret = FIT_OLD_NUMBERS;
	else if (rc == 0 || err->code == ERR_DAMAGED) {
		rc = check_index(st, &f, r, err);
		*ret = rc ? FIT_DAMAGED : FIT_SOUND;
	}
	bucket_packer_free(&f.packer);
	arena_free(&f.arena);
	return rc < 0 ? rc : 0;
}
