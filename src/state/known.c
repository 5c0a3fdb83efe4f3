/* What the states know of the lengths of files, for `garner check`. A file that was cut between two
 * records, or in its last one, looks like one that a killed process left; but what a checkpoint
 * names was durable, and a file of a state that is done was closed. */
#include "base/file.h"
#include "bucket/bucket_shake.h"
#include "state/state_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* The folder of a file that is called so. false: it is called otherwise, a copy perhaps. */
static bool folder_of(const char *path, const char *name, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	if (strcmp(slash ? slash + 1 : path, name) != 0)
		return false;
	int n = slash ? snprintf(ret, PATH_MAX, "%.*s", (int)(slash - path), path)
		      : snprintf(ret, PATH_MAX, ".");
	return n < PATH_MAX;
}

/* Damage to the notes of a state is named where they are verified; without them nothing is known.
 */
static int appended_verify(const struct format *f, enum appended which, const char *path,
			   struct err *err)
{
	char folder[PATH_MAX];
	struct records_known known = {0};
	struct state_control c;
	struct err ignored;
	if (folder_of(path, appended_files[which].name, folder) &&
	    control_read(folder, &c, &ignored) == 0 &&
	    (phase_is_done(c.phase) || checkpoint_last(folder, &c.last, &ignored) >= 0))
		known = (struct records_known){*checkpoint_length(&c.last, which),
					       phase_is_done(c.phase)};
	return records_verify(f, path, &known, err);
}

int journal_verify(const char *path, struct err *err)
{
	return appended_verify(&journal_format, APPEND_JOURNAL, path, err);
}

int contrib_verify(const char *path, struct err *err)
{
	return appended_verify(&contrib_format, APPEND_CONTRIB, path, err);
}

int changes_verify(const char *path, struct err *err)
{
	return appended_verify(&changes_format, APPEND_CHANGES, path, err);
}

/* The newest state of a folder. 1: there is none, or it cannot be read. */
static int newest_of(const char *folder, enum phase *ret_phase, struct checkpoint *ret)
{
	struct states *s = NULL;
	struct state *st = NULL;
	struct err ignored;
	int rc = states_open(&s, folder, false, &ignored);
	if (rc == 0)
		rc = state_open(&st, s, "current", &ignored);
	if (rc == 0) {
		*ret_phase = st->phase;
		*ret = st->last;
		if (st->phase >= PHASE_MERGE) /* recovery cuts the log before it drops the state */
			ret->gone = MIN(ret->gone, st->params.gone);
	}
	state_free(&st);
	states_close(&s);
	return rc != 0;
}

/* Where no state is open it was closed, and may have been trimmed since the last checkpoint. */
int gone_verify(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	struct records_known known = {0};
	struct checkpoint last;
	enum phase phase;
	if (folder_of(path, "gone", folder) && newest_of(folder, &phase, &last) == 0) {
		known.closed = phase_is_done(phase);
		known.length = known.closed ? 0 : last.gone;
	}
	return records_verify(&gone_format, path, &known, err);
}

/* 1: it is not there. */
static int size_of(const char *path, uint64_t *ret, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	return rc == 0 ? file_size(&f, ret, err) : rc;
}

/* A cleanup replaces the file by a shorter one, and the lengths of states are those from before it
 * until its report is removed: what is too short is looked at again. */
int states_know_objects(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	struct checkpoint last = {0};
	enum phase phase;
	uint64_t size = 0;
	if (!folder_of(path, "objects", folder))
		return 0;
	for (unsigned again = 0; again < 3; again++) {
		struct bucket_moves *moves = NULL;
		if (newest_of(folder, &phase, &last) != 0)
			return 0;
		int rc = size_of(path, &size, err);
		if (rc != 0)
			return MIN(rc, 0);
		rc = size < last.objects ? bucket_moves_open(&moves, path, err) : 0;
		bucket_moves_close(&moves);
		if (rc == 0)
			return 0;
	}
	return err_set(err, ERR_DAMAGED,
		       "%s: is cut: %" PRIu64 " bytes, of which the newest state knows %" PRIu64,
		       path, size, last.objects);
}
