/* The file of a state's checkpoints: three slots, a page apart, so that a write that is torn spoils
 * one of them. The newest sound slot counts. A log that grows was tried first: each sync of it also
 * waits for the file's new length. */
#include "state/checkpoint_inner.h"
#include "state/state_inner.h"

#include "base/rows.h"
#include "disk/small_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

static const struct column fields[] = {
	COL("", struct checkpoint, number),
	COL("", struct checkpoint, time_us, .unit = UNIT_TIME),
	COL("objects", struct checkpoint, objects),
	COL("journal", struct checkpoint, journal),
	COL("contrib", struct checkpoint, contrib),
	COL("changes", struct checkpoint, changes),
	COL("gone", struct checkpoint, gone),
};
static const struct rows checkpoint_fields = {ROWS(struct checkpoint, fields),
					      .what = "a checkpoint"};

enum {
	SLOT_BYTES = SMALL_FILE_HEAD + ARRAY_LEN(fields) * sizeof(uint64_t),
	SLOTS_IN_TURN = 2,
	SLOT_SHOWN = 2,
	SLOTS = 3,
	SLOT_APART = 4096,
};

/* A slot is a small file (disk/small_file.h) inside of this one. */
static void slot_write(const struct checkpoint *c, struct buf *out)
{
	struct buf payload = BUF_INIT(SLOT_BYTES);
	rows_write(&checkpoint_fields, c, &payload);
	small_file_seal(&checkpoints_format, buf_str(&payload), out);
	buf_free(&payload);
}

/* 0: a checkpoint; 1: nothing was written there yet; negative: damaged. */
static int slot_read(const char *path, struct str slot, struct checkpoint *ret, struct err *err)
{
	static const char empty[SLOT_BYTES];
	struct str payload;
	if (slot.n == sizeof empty && memcmp(slot.p, empty, sizeof empty) == 0)
		return 1;
	if (small_file_unseal(path, &checkpoints_format, slot, &payload, err) < 0)
		return -1;
	return rows_read(&checkpoint_fields, payload, ret, err);
}

/* Writing */

int checkpoint_create(const char *folder, const struct checkpoint *c, struct err *err)
{
	char path[PATH_MAX];
	struct buf all = BUF_INIT((size_t)SLOTS * SLOT_APART);
	for (size_t i = 0; i < SLOTS; i++) {
		if (i == c->number % SLOTS_IN_TURN || i == SLOT_SHOWN)
			slot_write(c, &all);
		buf_fill(&all, 0, (i + 1) * SLOT_APART - all.n);
	}
	int rc = file_replace(path_in(folder, "checkpoints", path), buf_str(&all), 0644, err);
	buf_free(&all);
	return rc;
}

int checkpoint_open(struct file *f, const char *folder, struct err *err)
{
	char path[PATH_MAX];
	int rc = file_open(f, path_in(folder, "checkpoints", path), O_RDWR, 0, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is lost", path) : rc;
}

static int checkpoint_put(struct file *f, size_t slot, const struct checkpoint *c, struct err *err)
{
	struct buf bytes = BUF_INIT(SLOT_BYTES);
	slot_write(c, &bytes);
	int rc = file_write(f, bytes.p, bytes.n, slot * SLOT_APART, err);
	buf_free(&bytes);
	return rc;
}

int checkpoint_note(struct file *f, const struct checkpoint *c, struct err *err)
{
	int rc = checkpoint_put(f, c->number % SLOTS_IN_TURN, c, err);
	return rc < 0 ? rc : file_sync(f, err);
}

int checkpoint_show(struct file *f, const struct checkpoint *c, struct err *err)
{
	return checkpoint_put(f, SLOT_SHOWN, c, err);
}

/* Reading */

struct slots {
	struct checkpoint at[SLOTS];
	int rc[SLOTS];  /* of slot_read(); those past the end of a file that was cut are damaged */
	struct err why; /* of one that is */
	unsigned bad;
	bool spoilt; /* it has another length, or something stands between the slots */
};

static bool slots_apart(struct str all)
{
	for (size_t i = 0; i < all.n; i++)
		if (i % SLOT_APART >= SLOT_BYTES && all.p[i])
			return false;
	return true;
}

static int slots_read_once(const char *path, struct slots *ret, struct err *err)
{
	struct buf b = BUF_INIT((size_t)SLOTS * SLOT_APART);
	struct slots s = {.bad = 0};
	int rc = file_slurp(path, &b, err);
	for (size_t i = 0; rc == 0 && i < SLOTS; i++) {
		struct str slot = str_head(str_from(buf_str(&b), i * SLOT_APART), SLOT_BYTES);
		s.rc[i] = slot_read(path, slot, &s.at[i], &s.why);
		s.bad += s.rc[i] < 0;
	}
	s.spoilt = b.n != (size_t)SLOTS * SLOT_APART || !slots_apart(buf_str(&b));
	buf_free(&b);
	*ret = s;
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is lost", path) : rc;
}

/* A slot that is read while it is written looks damaged, for a moment. */
static int slots_read(const char *path, struct slots *ret, struct err *err)
{
	int rc = slots_read_once(path, ret, err);
	for (unsigned again = 0; rc == 0 && ret->bad && again < 3; again++)
		rc = slots_read_once(path, ret, err);
	return rc;
}

/* NULL: none can be read. */
static const struct checkpoint *slots_newest(const struct slots *s)
{
	const struct checkpoint *newest = NULL;
	for (size_t i = 0; i < SLOTS; i++)
		if (s->rc[i] == 0 && (!newest || s->at[i].number > newest->number))
			newest = &s->at[i];
	return newest;
}

int checkpoint_last(const char *folder, struct checkpoint *ret, struct err *err)
{
	char path[PATH_MAX];
	struct slots s;
	if (slots_read(path_in(folder, "checkpoints", path), &s, err) < 0)
		return -1;
	const struct checkpoint *newest = slots_newest(&s);
	if (!newest && s.bad && s.why.code == ERR_USAGE) {
		*err = s.why;
		return -1;
	}
	if (!newest)
		return err_set(err, ERR_DAMAGED, "%s: no checkpoint in it can be read", path);
	*ret = *newest;
	return s.bad || s.spoilt || s.rc[SLOT_SHOWN] || s.at[SLOT_SHOWN].number != newest->number;
}

int checkpoint_shown(const char *folder, struct checkpoint *ret, struct err *err)
{
	char path[PATH_MAX];
	struct slots s;
	if (slots_read(path_in(folder, "checkpoints", path), &s, err) < 0)
		return -1;
	if (s.rc[SLOT_SHOWN] != 0)
		return err_set(err, ERR_DAMAGED, "%s: what followers may see is damaged", path);
	*ret = s.at[SLOT_SHOWN];
	return 0;
}

/* For `garner dump` and `garner check`. */

static int slots_verify(const struct slots *s, const char *path, struct err *err)
{
	if (s->bad) {
		*err = s->why;
		return -1;
	}
	if (!slots_newest(s))
		return err_set(err, ERR_DAMAGED, "%s: no checkpoint is in it", path);
	return s->spoilt ? err_set(err, ERR_DAMAGED,
				   "%s: its checkpoints are sound, the bytes around them are not",
				   path)
			 : 0;
}

static int checkpoints_print(const char *path, struct printer *p, struct err *err)
{
	static const char *const names[SLOTS] = {"first", "second", "shown"};
	struct slots s;
	int rc = slots_read(path, &s, err);
	for (size_t i = 0; rc == 0 && i < SLOTS; i++) {
		CLEANUP(buf_free) struct buf payload = BUF_INIT(SLOT_BYTES);
		buf_printf(&p->out, "%s ", names[i]);
		rows_write(&checkpoint_fields, &s.at[i], &payload);
		if (s.rc[i])
			buf_add_text(&p->out, s.rc[i] < 0 ? "damaged" : "empty");
		else
			rc = rows_dump(&checkpoint_fields, buf_str(&payload), " ", "", &p->out,
				       err);
		buf_add_byte(&p->out, '\n');
	}
	return rc < 0 ? rc : slots_verify(&s, path, err);
}

const struct format checkpoints_format = {
	.name = "checkpoints",
	.file = "checkpoints",
	.magic = "GARNERCK",
	.version = 2,
	.help = "lengths of the files of a state and of the bucket file that belong together",
	.remedy = STATE_REMEDY,
	.print = checkpoints_print,
};
