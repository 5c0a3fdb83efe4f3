/* Rule 1, and which rule applies:
 *
 *	the newest state is                 what is done
 *	closed, corked                      nothing
 *	prepare, plan, merge ... record;    rule 1: nobody can have followed it; it is deleted, and
 *	reap without a checkpoint             what it appended to the bucket file and to `gone` cut
 *	reap                                rule 1; it stays in reap
 *	cork                                rule 1; cork begins again with the index it began with
 *	cleanup, buckets shaken down        rule 1: what cleanup kept of the index gets the new
 *	                                      numbers, and the state is done
 *	cleanup, not yet                    deleted, unless damaged buckets were what ended it
 *	recover                             rule 2, again
 *
 *	what is found, in any phase         what is done
 *	control is lost                     rule 2; an older state counts as corked; its numbers
 *	                                      are made again from what is known
 *	the checkpoints are lost            rule 2: all that can be read counts
 *	a file cannot be cut to its length  rule 2: what can be read of it counts
 *	no index or sites, or others'       rule 2, in a new state if this one is done
 *	there is no state                   rule 2, in a new state
 *	plan, contributions of a corked     named; reap ends a damaged plan early, merge takes the
 *	state, `gone`                         contributions before the damage, an audit trims gone
 */
#include "state/recover.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "disk/tree.h"
#include "state/places.h"
#include "state/plan.h"
#include "state/state_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLD_MOST = 1 << 20, VERIFY_GONE = 64 << 20, SAMPLES = 64 };

/* Telling */

__attribute__((format(printf, 2, 0))) static void recovery_line(struct recovery *r, const char *fmt,
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
	recovery_line(r, fmt, args);
	va_end(args);
}

void recovery_damage(struct recovery *r, const char *fmt, ...)
{
	va_list args;
	r->damaged++;
	buf_add_text(&r->told, "damaged: ");
	va_start(args, fmt);
	recovery_line(r, fmt, args);
	va_end(args);
}

int recovery_bear(struct recovery *r, int rc, const struct err *err, const char *then)
{
	if (rc >= 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(r, "%s%s", err->msg, then);
	return 1;
}

void recovery_free(struct recovery *r)
{
	buf_free(&r->told);
}

struct recovering {
	struct states *s;
	int64_t now_us;
	struct recovery *r;
	struct arena arena;
	struct state_info *list;
	size_t n;
	bool cut; /* the bucket file is shorter than the newest state, which is done, knows it */
};

static int recover_list(struct recovering *x, struct err *err)
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
	int rc = dir_init_own(&d, folder, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_USAGE, "%s: no crawl is here", x->s->folder);
	while (rc == 0 && dir_next(&d, &name) == 0)
		if (name[0] == '.')
			rc = MIN(tree_remove(arena_printf(&x->arena, "%s/%s", folder, name), err),
				 0);
	dir_done(&d);
	return rc;
}

/* Control */

/* Made again as the best that can be known: nothing is rolled back further than what is there. Only
 * the newest can have been at work. What it was doing is not known, so its index is made again. */
static int recover_control(struct recovering *x, size_t i, struct err *err)
{
	struct state_control c;
	struct state_info *info = &x->list[i];
	char *folder = arena_printf(&x->arena, "%s/state/%s", x->s->folder, info->name);
	int rc = control_read(folder, &c, err);
	if (rc == 0 || (rc < 0 && err->code != ERR_DAMAGED))
		return rc; /* another version's, or the disk fails: it is not lost */
	c = (struct state_control){.phase = i + 1 == x->n ? PHASE_RECOVER : PHASE_CORKED,
				   .params.created_us = MAX(x->now_us, 0)};
	if (i)
		memcpy(c.params.from, x->list[i - 1].name, STATE_NAME);
	for (size_t k = 0; k < x->n; k++)
		c.params.crawl = x->list[k].params.crawl ? x->list[k].params.crawl : c.params.crawl;
	if (states_length(x->s, "objects", &c.params.objects, err) < 0 ||
	    states_length(x->s, "gone", &c.params.gone, err) < 0)
		return -1;
	c.last = checkpoint_measured(folder, &c.params);
	recovery_damage(x->r, "%s/control: its phase is lost; taken for %s", info->name,
			phase_name(c.phase));
	return control_write(folder, &c, err);
}

static int recover_order(struct recovering *x, struct err *err)
{
	bool mended = false;
	for (size_t i = 0; i < x->n; i++) {
		if (x->list[i].damaged && recover_control(x, i, err) < 0)
			return -1;
		mended |= x->list[i].damaged;
	}
	if (mended && recover_list(x, err) < 0)
		return -1;
	for (size_t i = 0; i + 1 < x->n; i++)
		if (!phase_is_done(x->list[i].phase))
			return err_set(
				err, ERR_DAMAGED,
				"state %s is open (%s), but there is a newer one, %s: one of "
				"them has to be removed by hand",
				x->list[i].name, phase_name(x->list[i].phase), x->list[i + 1].name);
	return 0;
}

/* The bucket file */

/* Without it every URL would be forgotten. It may be on a disk that is not mounted, so that is left
 * to the administrator. */
static int objects_check(struct recovering *x, struct err *err)
{
	char *path = states_path(x->s, &x->arena, "objects");
	uint64_t known = 0; /* params that were just made again know nothing */
	for (size_t i = 0; i < x->n; i++)
		known = MAX(known, x->list[i].params.objects);
	if (known == 0 || access(path, F_OK) == 0) {
		const struct state_info *newest = recover_newest(x);
		x->cut = newest && phase_is_done(newest->phase) &&
			 states_know_objects(path, err) < 0;
		if (x->cut)
			recovery_damage(x->r, "%s", err->msg);
		return 0;
	}
	return err_set(err, ERR_DAMAGED,
		       "%s: the bucket file is lost, of which the states know %" PRIu64
		       " bytes; put it back, or remove %s/state to start over",
		       path, known, x->s->folder);
}

static void objects_name(void *ctx, const struct bucket_problem *p)
{
	struct recovering *x = ctx;
	recovery_damage(x->r, "objects: bucket %08" PRIx32 " (byte %" PRIu64 "): %s", p->oid, p->at,
			p->reason);
}

static int objects_fix(struct recovering *x, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_WRITE, .unchecked = true};
	struct buckets *b;
	struct bucket_audit audit;
	int rc = bucket_open(&b, states_path(x->s, &x->arena, "objects"), &options, err);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = bucket_fix(b, objects_name, x, &audit, err);
	if (rc < 0)
		bucket_drop(&b);
	return rc < 0 ? rc : bucket_close(&b, err);
}

/* Reads all buckets, and mends what is damaged. 0: nothing was; 1: mended. */
static int objects_audit(struct recovering *x, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_SCAN, .unchecked = true};
	struct buckets *b = NULL;
	struct bucket_audit audit = {0};
	int rc = bucket_open(&b, states_path(x->s, &x->arena, "objects"), &options, err);
	if (rc == 0)
		rc = bucket_audit(b, 0, NULL, NULL, &audit, err);
	bucket_drop(&b);
	if (rc < 0 || audit.problems == 0)
		return MIN(rc, 0);
	return objects_fix(x, err) < 0 ? -1 : 1;
}

/* The log of forgotten URLs */

static int records_cut(const char *path, uint64_t length, struct err *err)
{
	struct file f = FILE_INIT;
	uint64_t size = 0;
	if (length == 0) {
		int rc = file_remove(path, err);
		return rc < 0 ? rc : rc == 0 ? dir_sync_of(path, err) : 0;
	}
	int rc = file_open(&f, path, O_WRONLY, 0, err);
	if (rc == 0)
		rc = file_size(&f, &size, err);
	if (rc == 0 && size > length)
		rc = file_truncate(&f, length, err) < 0 ? -1 : file_sync(&f, err);
	file_drop(&f);
	return MIN(rc, 0);
}

/* What is damaged is named. One that cannot be opened is set aside, for somebody to look at, and a
 * new one begun; of any other, what can be read stays, and an audit drops the rest. */
static int recover_gone(struct recovering *x, struct err *err)
{
	struct gone_writer *w = NULL;
	struct stat is;
	char *path = states_path(x->s, &x->arena, "gone");
	char *aside = states_path(x->s, &x->arena, "gone.damaged");
	if (stat(path, &is) != 0 || is.st_size > VERIFY_GONE)
		return 0;
	int rc = format_verify(&gone_format, path, err);
	if (recovery_bear(x->r, rc, err, "; what can be read of it is kept") < 0)
		return -1;
	rc = gone_open(&w, path, err);
	if (rc == 0)
		return gone_close(&w, err);
	if (err->code != ERR_DAMAGED)
		return -1;
	recovery_tell(x->r, "%s is kept as %s, and a new one begun", path, aside);
	return file_rename(path, aside, err) < 0 ? -1 : dir_sync_of(path, err);
}

/* Cut to a length, and closed again. */
static int gone_cut(struct recovering *x, uint64_t length, struct err *err)
{
	struct gone_writer *w = NULL;
	char *path = states_path(x->s, &x->arena, "gone");
	if (records_cut(path, MAX(length, (uint64_t)RECORD_HEADER), err) < 0 ||
	    gone_open(&w, path, err) < 0)
		return -1;
	return gone_close(&w, err);
}

/* Rule 1 */

/* A frame may be sound and what is in it not: another program, or another clock, wrote it. */
static int entry_check(const struct record_kind *kind, struct str payload, struct err *err)
{
	struct journal_entry entry;
	struct contrib contrib;
	struct change change;
	return kind == &journal_kind   ? journal_read(payload, &entry, err)
	       : kind == &contrib_kind ? contrib_read(payload, &contrib, err)
	       : kind == &changes_kind ? change_read(payload, &change, err)
				       : 0;
}

/* Whether all before `length` can be read. ERR_DAMAGED: only that before *ret_sound. */
static int records_check(const char *path, const struct record_kind *kind, uint64_t length,
			 uint64_t *ret_sound, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	*ret_sound = 0;
	if (length == 0)
		return 0;
	int rc = record_reader_open(&r, path, kind, err);
	if (rc == 0)
		record_limit(r, length);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = entry_check(kind, record.payload, err);
		if (rc < 0)
			(void)err_in(err, "%s: record at %" PRIu64, path, record.place.at);
		else
			*ret_sound = record.place.next;
	}
	bool whole = rc == 1 && r && record_tell(r) >= length;
	record_reader_free(&r);
	if (rc == 1 && !whole)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: ends at %" PRIu64 ", but the last checkpoint knows %" PRIu64
			     " bytes of it",
			     path, *ret_sound, length);
	if (rc < 0)
		return -1;
	*ret_sound = length;
	return 0;
}

/* A contrib that is still shared with the state before it is as it was. */
static bool file_is_shared(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_nlink > 1;
}

/* 1: some of it is damaged; all the same nothing is left after its length. */
static int back_file(struct recovering *x, struct state *st, enum appended which, struct err *err)
{
	char *path = state_path(st, &x->arena, appended_files[which].name);
	uint64_t length = *checkpoint_length(&st->last, which), sound;
	int rc = records_check(path, appended_files[which].kind, length, &sound, err);
	if (rc < 0)
		return err->code == ERR_DAMAGED ? 1 : -1;
	FAULT("state.rollback");
	return file_is_shared(path) ? 0 : records_cut(path, length, err);
}

/* The files that all states share. 1: the bucket file was damaged, and was mended. */
static int back_shared(struct recovering *x, struct state *st, struct err *err)
{
	char *path = states_path(x->s, &x->arena, "objects");
	if (gone_cut(x, st->last.gone, err) < 0)
		return -1;
	FAULT("state.rollback.objects");
	int rc = bucket_cut_file(path, 0, st->last.objects, NULL, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: the bucket file is lost", path);
	if (recovery_bear(x->r, rc, err, "") <= 0)
		return rc;
	return objects_fix(x, err) < 0 ? -1 : 1;
}

/* Everything to the last checkpoint. 1: something before it is damaged: rule 2. */
static int back_all(struct recovering *x, struct state *st, struct err *err)
{
	bool damaged = false;
	int rc = state_end_appends(st, false, err);
	for (unsigned i = 0; rc >= 0 && i < APPENDS; i++) {
		rc = back_file(x, st, (enum appended)i, err);
		damaged |= rc == 1;
	}
	if (rc >= 0)
		rc = back_shared(x, st, err);
	return rc < 0 ? rc : damaged || rc == 1;
}

typedef int recover_fn(struct recovering *x, struct state **st, struct err *err);
static int recover_build(struct recovering *x, struct state **st, struct err *err);

/* To where it began, whatever checkpoints it made. */
static int recover_drop(struct recovering *x, struct state **st, struct err *err)
{
	char name[STATE_NAME];
	memcpy(name, (*st)->name, STATE_NAME);
	(*st)->last.objects = (*st)->params.objects;
	(*st)->last.gone = (*st)->params.gone;
	if (back_shared(x, *st, err) < 0)
		return -1;
	recovery_tell(x->r, "%s: deleted in %s; its work is done again", name,
		      phase_name((*st)->phase));
	state_free(st);
	FAULT("recover.drop");
	x->r->deleted++;
	return states_delete(x->s, name, err);
}

static int recover_reap(struct recovering *x, struct state **st, struct err *err)
{
	if ((*st)->last.number == 0)
		return recover_drop(x, st, err);
	int rc = back_all(x, *st, err);
	if (rc)
		return rc < 0 ? rc : recover_build(x, st, err);
	CLEANUP(buf_free) struct buf when = BUF_INIT(64);
	time_print(&when, (*st)->last.time_us, 3);
	recovery_tell(x->r, "%s: rolled back to its checkpoint of %s", (*st)->name,
		      buf_text(&when));
	x->r->rolled_back++;
	return 0;
}

/* A checkpoint that knows the bucket file as it is now. */
static int recover_measured(struct recovering *x, struct state *st, struct err *err)
{
	if (states_length(x->s, "objects", &st->last.objects, err) < 0)
		return -1;
	st->last.number++;
	return checkpoint_create(st->folder, &st->last, err);
}

/* Cork is repeated with the index that it began with. */
static int recover_cork(struct recovering *x, struct state **st, struct err *err)
{
	static const char *const file[] = {"index", "sites"};
	char *kept = state_path(*st, &x->arena, INDEX_KEPT);
	int rc = back_all(x, *st, err);
	if (rc)
		return rc < 0 ? rc : recover_build(x, st, err);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		char *from = arena_printf(&x->arena, "%s/state/%s/%s", x->s->folder,
					  (*st)->params.from, file[i]);
		char *again = arena_printf(&x->arena, "%s/.%s.again", (*st)->folder, file[i]);
		rc = file_remove(again, err) < 0 ? -1 : i == 0 ? file_link(kept, again, err) : 1;
		if (rc == 1)
			rc = file_link(from, again, err);
		if (rc < 0)
			return -1;
		if (rc == 1)
			continue; /* it is gone, and nothing better is known */
		/* where both are the same file already, rename leaves the second name */
		if (file_rename(again, state_path(*st, &x->arena, file[i]), err) < 0 ||
		    file_remove(again, err) < 0)
			return -1;
	}
	recovery_tell(x->r, "%s: cork is done again", (*st)->name);
	return dir_sync((*st)->folder, err);
}

static int recover_cleanup(struct recovering *x, struct state **st, struct err *err)
{
	struct bucket_moves *moves = NULL;
	uint64_t forgotten = 0;
	int rc = bucket_moves_open(&moves, states_path(x->s, &x->arena, "objects"), err);
	bucket_moves_close(&moves);
	if (rc == 1) {
		/* a damaged bucket may be what ended it, and would end the next one too */
		rc = objects_audit(x, err);
		return rc < 0 ? rc : (rc == 0 ? recover_drop : recover_build)(x, st, err);
	}
	if (rc == 0)
		rc = state_renumber(*st, &forgotten, err);
	if (rc == 0)
		rc = recover_measured(x, *st, err);
	rc = recovery_bear(x->r, rc, err, "");
	if (rc)
		return rc < 0 ? rc : recover_build(x, st, err);
	x->r->renumbered++;
	recovery_tell(x->r, "%s: buckets were renumbered, the index follows; %" PRIu64 " forgotten",
		      (*st)->name, forgotten);
	return state_enter(*st, recover_done(*st), NULL, x->now_us, err);
}

/* Rule 2 */

/* Of each file, what can be read before its length. That is a checkpoint: when the rest is
 * interrupted it begins from here again. */
static int keep_readable(struct recovering *x, struct state *st, struct err *err)
{
	if (state_end_appends(st, false, err) < 0)
		return -1;
	for (unsigned i = 0; i < APPENDS; i++) {
		char *path = state_path(st, &x->arena, appended_files[i].name);
		uint64_t *length = checkpoint_length(&st->last, (enum appended)i), sound;
		bool damaged =
			records_check(path, appended_files[i].kind, *length, &sound, err) < 0;
		if (damaged && err->code != ERR_DAMAGED)
			return -1;
		if (damaged)
			recovery_damage(x->r, "%s; what lies before it is kept", err->msg);
		else if (file_is_shared(path))
			continue;
		if (damaged && state_own_file(path, err) < 0)
			return -1;
		FAULT("state.keep");
		if (records_cut(path, sound, err) < 0)
			return -1;
		*length = sound;
	}
	return recover_measured(x, st, err);
}

/* What is not a bucket is mended first, so that nobody meets it again; where others have the file
 * open it is passed over, and the next cleanup mends it. */
static int recover_build(struct recovering *x, struct state **pst, struct err *err)
{
	struct state *st = *pst;
	if (objects_audit(x, err) < 0 && err->code != ERR_BUSY)
		return -1;
	const struct state_control c = {PHASE_RECOVER, st->params, st->last};
	if (st->phase != c.phase && control_write(st->folder, &c, err) < 0)
		return -1;
	st->phase = c.phase;
	if (keep_readable(x, st, err) < 0)
		return -1;
	FAULT("recover.build");
	return rebuild_index(st, x->now_us, x->r, err);
}

/* The same in a new state on top of one that is done; contributions that wait to be merged go
 * along. */
static int recover_build_on(struct recovering *x, struct state *st, struct err *err)
{
	struct state *above = NULL;
	bool contrib = st && st->phase == PHASE_CORKED && st->last.contrib;
	int rc = states_make(x->s, st, contrib, PHASE_RECOVER, x->now_us, &above, err);
	if (rc == 0)
		rc = recover_build(x, &above, err);
	state_free(&above);
	return rc;
}

/* Which rule */

static recover_fn *const acts[PHASES] = {
	[PHASE_REAP] = recover_reap,
	[PHASE_CORK] = recover_cork,
	[PHASE_CLEANUP] = recover_cleanup,
	[PHASE_RECOVER] = recover_build,
};

/* Where the checkpoints of an open state are lost, it is in PHASE_RECOVER from now on. */
static int recover_open(struct recovering *x, struct state **ret, struct err *err)
{
	const char *name = recover_newest(x)->name;
	int rc = state_open(ret, x->s, name, err);
	if (rc < 0 && err->code == ERR_DAMAGED) {
		struct state_control c;
		char *folder = arena_printf(&x->arena, "%s/state/%s", x->s->folder, name);
		recovery_damage(x->r, "%s", err->msg);
		rc = control_read(folder, &c, err);
		c.phase = PHASE_RECOVER;
		if (rc == 0)
			rc = control_write(folder, &c, err);
		if (rc == 0)
			rc = state_open(ret, x->s, name, err);
	}
	return rc == 1 ? err_set(err, ERR_SYSTEM, "state %s is gone", name) : rc;
}

/* A crash may tear a slot, or come before followers are told. */
static int recover_checkpoints(struct recovering *x, struct state *st, struct err *err)
{
	struct checkpoint c;
	struct err why;
	if (phase_is_done(st->phase) || checkpoint_last(st->folder, &c, &why) != 1)
		return 0;
	recovery_tell(x->r, "%s/checkpoints: the last one is written again", st->name);
	return checkpoint_create(st->folder, &c, err);
}

static int recover_by_phase(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	int rc = recover_open(x, &st, err);
	if (rc == 0)
		rc = recover_checkpoints(x, st, err);
	if (rc == 0 && !phase_is_done(st->phase))
		rc = (acts[st->phase] ? acts[st->phase] : recover_drop)(x, &st, err);
	state_free(&st);
	return rc;
}

/* A bucket may be whole and its dictionary lost: no index helps then, but it is named, once. */
static void sample_body(struct recovering *x, struct bucket_packer *packer,
			const struct bucket *bucket, bool *named)
{
	struct err err;
	struct str body;
	if (*named || bucket_check(bucket->type, bucket->data, &err) != 0 ||
	    bucket_body(packer, bucket->type, bucket->data, &x->arena, &body, &err) == 0)
		return;
	*named = true;
	recovery_damage(x->r, "objects: bucket %08" PRIx32 ": %s", bucket->oid, err.msg);
}

/* Whether buckets here and there are of the URLs that the index says. 1: one is not. */
static int samples_fit(struct recovering *x, const struct url_index *index, struct buckets *buckets,
		       struct err *err)
{
	const char *dicts = bucket_dict_path(&x->arena, bucket_path(buckets));
	struct bucket_packer *packer = bucket_packer_new(dicts);
	bool named = false, fits = true;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && fits && i < SAMPLES; i++) {
		struct arena_mark mark = arena_mark(&x->arena);
		struct index_item item;
		struct bucket bucket;
		struct attrs header = {0};
		struct footprint found;
		rc = url_index_sample(index, i, SAMPLES, &item, err);
		if (rc == 1) {
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = bucket_read(buckets, (uint32_t)item.where, &bucket, err);
		if (rc == 0)
			rc = bucket_header(bucket.type, bucket.data, &x->arena, &header, NULL, err);
		struct str o = rc == 0 ? attrs_get(&header, 'O') : STR("");
		if (rc == 0 && o.p) /* those of old versions do not tell */
			fits = footprint_parse(o, &found) && footprint_cmp(found, item.fp) == 0;
		if (rc == 0 && fits)
			sample_body(x, packer, &bucket, &named);
		if (rc == 1 || (rc < 0 && err->code == ERR_DAMAGED)) {
			fits = false;
			rc = 0;
		}
		arena_reset(&x->arena, mark);
	}
	bucket_packer_free(&packer);
	return rc < 0 ? rc : !fits;
}

/* All of the index is read, as every cycle does: no module could go on over a block that is
 * damaged. 1: it has to be made again, and why was told. */
static int recover_check_index(struct recovering *x, struct state *st, struct buckets *buckets,
			       struct err *err)
{
	const struct url_index *index;
	struct sites *sites = NULL;
	int rc = state_index(st, &index, err);
	if (rc == 0)
		rc = format_verify(&index_format, state_path(st, &x->arena, "index"), err);
	if (rc == 0)
		rc = state_sites(st, &sites, err);
	sites_free(&sites);
	if (rc == 0)
		rc = samples_fit(x, index, buckets, err);
	if (rc == 1)
		recovery_damage(x->r, "%s: its index does not fit the bucket file", st->name);
	return recovery_bear(x->r, rc, err, "");
}

/* Opens the bucket file; one that does not pass the quick check is mended first. */
static int objects_open(struct recovering *x, struct buckets **ret, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	char *path = states_path(x->s, &x->arena, "objects");
	int rc = bucket_open(ret, path, &options, err);
	if (rc >= 0 || recovery_bear(x->r, rc, err, "") < 0)
		return rc;
	return objects_fix(x, err) < 0 ? -1 : bucket_open(ret, path, &options, err);
}

/* What else is damaged. The next cycle writes it. */
static int recover_name_rest(struct recovering *x, const struct state *st, struct err *err)
{
	uint64_t sound;
	char *plan = state_path(st, &x->arena, "plan");
	int rc = 0;
	if (st->phase == PHASE_REAP)
		rc = access(plan, F_OK) == 0 ? format_verify(&plan_format, plan, err)
					     : err_set(err, ERR_DAMAGED, "%s: it is lost", plan);
	if (st->phase == PHASE_CORKED)
		rc = records_check(state_path(st, &x->arena, "contrib"), &contrib_kind,
				   st->last.contrib, &sound, err);
	return MIN(recovery_bear(x->r, rc, err, "; left to the next cycle"), 0);
}

/* What a module leaves that was killed when its state was done already. */
static int recover_end_work(struct recovering *x, const struct state *st, struct err *err)
{
	return phase_is_done(st->phase) ? state_forget_work(x->s, st->folder, err) : 0;
}

/* The newest state as it is now. */
static int recover_look(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	struct buckets *buckets = NULL;
	if (objects_open(x, &buckets, err) < 0)
		return -1;
	int rc = recover_open(x, &st, err);
	if (rc == 0)
		rc = recover_name_rest(x, st, err);
	if (rc == 0)
		rc = recover_check_index(x, st, buckets, err);
	if (rc == 0 && x->cut)
		rc = 1;
	bucket_drop(&buckets);
	if (rc == 1)
		rc = phase_is_done(st->phase) ? recover_build_on(x, st, err)
					      : recover_build(x, &st, err);
	else if (rc == 0)
		rc = recover_end_work(x, st, err);
	state_free(&st);
	return rc;
}

static int recover_all(struct recovering *x, struct err *err)
{
	if (recover_sweep(x, err) < 0 || recover_list(x, err) < 0 || recover_order(x, err) < 0 ||
	    recover_gone(x, err) < 0 || objects_check(x, err) < 0 ||
	    (x->n && recover_by_phase(x, err) < 0))
		return -1;
	FAULT("recover.phase");
	if (recover_list(x, err) < 0)
		return -1;
	if (x->n == 0)
		recovery_tell(x->r, "there is no state: one is made from the buckets");
	if ((x->n ? recover_look(x, err) : recover_build_on(x, NULL, err)) < 0)
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

/* Older states */

static const struct {
	const char *name;
	const struct format *format;
} state_files[] = {
	{"changes", &changes_format}, {"contrib", &contrib_format}, {"index", &index_format},
	{"journal", &journal_format}, {"sites", &sites_format},
};

/* It only makes answers quick. */
static int places_drop_damaged(struct recovering *x, const char *name, struct err *err)
{
	char *path = arena_printf(&x->arena, "%s/state/%s/places", x->s->folder, name);
	int rc = access(path, F_OK) == 0 ? format_verify(&places_format, path, err) : 0;
	if (recovery_bear(x->r, rc, err, "; removed") == 1)
		rc = file_remove(path, err);
	return MIN(rc, 0);
}

/* Whether a file of it is damaged; err names the first. */
static bool state_is_damaged(struct recovering *x, const char *name, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(state_files); i++) {
		char *path = arena_printf(&x->arena, "%s/state/%s/%s", x->s->folder, name,
					  state_files[i].name);
		if (access(path, F_OK) == 0 &&
		    format_verify(state_files[i].format, path, err) < 0 && err->code == ERR_DAMAGED)
			return true;
	}
	return false;
}

/* Followers go from each state to the next: an old one that is damaged goes with all before it, so
 * that one that begins from the oldest finds its way to the newest. */
static int drop_damaged(struct recovering *x, struct err *err)
{
	const char *closed = "";
	bool needed = false;
	size_t drop = 0;
	int rc = recover_list(x, err);
	for (size_t i = 0; rc == 0 && i < x->n; i++)
		closed = x->list[i].phase == PHASE_CLOSED ? x->list[i].name : closed;
	for (size_t i = 0; rc == 0 && i < x->n; i++) {
		const struct state_info *info = &x->list[i];
		bool done = phase_is_done(info->phase);
		struct err why;
		if (places_drop_damaged(x, info->name, err) < 0)
			return -1;
		needed |= info->locked || !done || i + 1 == x->n || strcmp(info->name, closed) == 0;
		if (!done || !state_is_damaged(x, info->name, &why))
			continue;
		recovery_damage(x->r, "%s; the state is %s", why.msg,
				needed ? "still needed, and goes after some cycles"
				       : "an old one, and dropped with those before it");
		drop = needed ? drop : i + 1;
	}
	for (size_t i = 0; rc == 0 && i < drop; i++) {
		x->r->deleted++;
		rc = states_delete(x->s, x->list[i].name, err);
	}
	return rc;
}

static int build_newest(struct recovering *x, struct err *err)
{
	struct state *st = NULL;
	int rc = recover_list(x, err);
	if (rc == 0)
		rc = recover_open(x, &st, err);
	if (rc == 0)
		rc = phase_is_done(st->phase) ? recover_build_on(x, st, err)
					      : recover_build(x, &st, err);
	state_free(&st);
	return rc;
}

int states_recover_fully(struct states *s, bool rebuild, int64_t now_us, struct recovery *ret,
			 struct err *err)
{
	struct recovering x = {.s = s, .now_us = now_us, .r = ret, .arena = ARENA_INIT(256 << 20)};
	if (states_recover(s, now_us, ret, err) < 0)
		return -1;
	int rc = rebuild ? 1 : objects_audit(&x, err);
	if (rc == 1)
		rc = build_newest(&x, err);
	if (rc == 0)
		rc = gone_trim(states_path(s, &x.arena, "gone"), 0, err);
	if (rc == 0)
		rc = drop_damaged(&x, err);
	arena_free(&x.arena);
	return rc < 0 ? rc : states_relink(s, err);
}
