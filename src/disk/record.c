/* Record files: the writer, with group commit and what it does when a write fails, and the reader.
 * The bytes, and how a torn end is told from damage: disk/record_frame.c. */
#include "disk/record.h"

#include "base/fault.h"
#include "disk/lock.h"
#include "disk/record_frame_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

enum { BATCH = 1 << 20, BATCH_LEAST = 4096, MAX_LOST = 16 };

/* Frames on their way to the file; begins with room for a mark as soon as it has any. */
struct batch {
	unsigned char *p;
	size_t n, cap;
	uint64_t base; /* where it lies, or will lie, in the file */
};

/* Records, by number, that were not kept, and why. */
struct lost {
	uint64_t first, last;
	struct err why;
};

/* Threads append to `fill` under the lock. One of those that wait for a sync takes all of it,
 * writes and syncs it without the lock (busy), and tells the others; meanwhile the next batch
 * fills.
 *
 * After a failed write or sync nobody knows what of the file beyond `durable` is on disk, and a
 * second sync would not tell: the system may have dropped the pages that it could not write. So the
 * file is cut back to `durable`, everything beyond it counts as lost, and what comes next is
 * written anew. Until the cut has succeeded (broken) nothing is taken. */
struct record_writer {
	struct file f;
	struct frame_file file;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* busy ended */
	bool busy, broken;
	bool cutting; /* to a checkpoint: nothing is taken until that is done */
	struct batch fill, out;
	uint64_t durable;           /* bytes of the file */
	uint64_t covered;           /* bytes of which a mark says that they are durable */
	uint64_t last;              /* number of the last record appended, from 1 on */
	uint64_t settled;           /* number of the last record known to be durable or lost */
	struct lost lost[MAX_LOST]; /* in order, and apart from each other */
	size_t nlost;
	uint64_t forgotten; /* what became of the records up to this one is not known any more */
};

/* Waiting, losing, cutting back: all with the lock held. */

static void writer_wait_idle(struct record_writer *w)
{
	while (w->busy)
		pthread_cond_wait(&w->moved, &w->lock);
}

static void writer_become_idle(struct record_writer *w)
{
	w->busy = false;
	pthread_cond_broadcast(&w->moved);
}

/* All records from this one on. */
static void writer_remember_lost(struct record_writer *w, uint64_t first, const struct err *why)
{
	if (first > w->last)
		return;
	w->settled = w->last;
	while (w->nlost && w->lost[w->nlost - 1].first >= first)
		w->nlost--;
	struct lost *before = w->nlost ? &w->lost[w->nlost - 1] : NULL;
	if (before && before->last + 1 == first) {
		before->last = w->last;
		before->why = *why;
		return;
	}
	if (w->nlost == MAX_LOST) {
		w->forgotten = w->lost[0].last;
		memmove(w->lost, w->lost + 1, --w->nlost * sizeof *w->lost);
	}
	w->lost[w->nlost++] = (struct lost){first, w->last, *why};
}

/* busy is ours */
static int writer_cut_back(struct record_writer *w, struct err *err)
{
	uint64_t durable = w->durable;
	pthread_mutex_unlock(&w->lock);
	FAULT("record.cut");
	int rc = file_truncate(&w->f, durable, err);
	FAULT("record.cut.sync");
	if (rc == 0)
		rc = file_sync(&w->f, err);
	pthread_mutex_lock(&w->lock);
	w->broken = rc < 0;
	return rc;
}

/* busy is ours */
static int writer_lose(struct record_writer *w, struct err *err)
{
	struct err why = *err, ignored;
	size_t n = strlen(why.msg);
	snprintf(why.msg + n, sizeof why.msg - n,
		 "; %" PRIu64 " records from %" PRIu64 " on are not kept", w->last - w->settled,
		 w->durable);
	*err = why;
	writer_remember_lost(w, w->settled + 1, &why);
	w->fill.n = 0;
	w->fill.base = w->durable;
	w->covered = 0; /* the mark that said it may be gone */
	w->broken = true;
	(void)writer_cut_back(w, &ignored); /* the next caller tries again, and is told */
	return -1;
}

/* Idle and whole, or an error. */
static int writer_make_ready(struct record_writer *w, struct err *err)
{
	writer_wait_idle(w);
	if (!w->broken)
		return 0;
	w->busy = true;
	int rc = writer_cut_back(w, err);
	writer_become_idle(w);
	return rc < 0 ? err_in(err, "cannot take back what failed before") : 0;
}

/* Writing: with the lock held, idle and whole. */

/* Most files take little at a time: room is doubled up to BATCH. */
static void batch_room(struct batch *b, size_t n)
{
	if (b->cap - b->n >= n)
		return;
	size_t more = MIN(MAX(2 * b->cap, (size_t)BATCH_LEAST), (size_t)BATCH);
	b->cap = MAX(b->n + n, more);
	b->p = mem_resize(b->p, b->cap);
}

static void batch_add(struct batch *b, const void *p, size_t n)
{
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static int writer_write_out(struct record_writer *w, bool sync, struct err *err)
{
	FAULT("record.write");
	if (w->out.n && file_write(&w->f, w->out.p, w->out.n, w->out.base, err) < 0)
		return -1;
	FAULT("record.sync");
	if (sync && file_sync(&w->f, err) < 0)
		return -1;
	FAULT("record.synced");
	return 0;
}

static int writer_flush(struct record_writer *w, bool sync, struct err *err)
{
	struct batch filled = w->fill;
	w->fill = w->out;
	w->out = filled;
	uint64_t end = filled.base + filled.n, durable = w->durable, last = w->last;
	w->fill.n = 0;
	w->fill.base = end;
	if (filled.n)
		frame_mark_make(&w->file, (struct frame_mark){filled.base, durable}, filled.p);
	w->busy = true;
	pthread_mutex_unlock(&w->lock);
	int rc = writer_write_out(w, sync, err);
	pthread_mutex_lock(&w->lock);
	if (rc < 0) {
		writer_lose(w, err);
	} else {
		if (filled.n)
			w->covered = durable;
		if (sync) {
			w->durable = end;
			w->settled = last;
		}
	}
	writer_become_idle(w);
	return rc;
}

/* Makes room for a frame in the batch that fills. */
static int writer_make_room(struct record_writer *w, size_t n, struct err *err)
{
	while (w->cutting || w->broken || (w->fill.n && w->fill.n + n > BATCH)) {
		if (w->cutting || w->busy)
			pthread_cond_wait(&w->moved, &w->lock);
		else if ((w->broken ? writer_make_ready(w, err) : writer_flush(w, false, err)) < 0)
			return -1;
	}
	batch_room(&w->fill, FRAME_MARK + n);
	if (w->fill.n == 0)
		w->fill.n = FRAME_MARK;
	return 0;
}

/* What became of a group, with the lock held. 0: durable, 1: open, negative: lost. */
static int group_fate(const struct record_writer *w, const struct record_group *g, struct err *err)
{
	if (g->last == 0)
		return 0;
	for (size_t i = 0; i < w->nlost; i++) {
		if (g->first <= w->lost[i].last && g->last >= w->lost[i].first) {
			*err = w->lost[i].why;
			return -1;
		}
	}
	if (g->first <= w->forgotten)
		return err_set(err, ERR_SYSTEM,
			       "%s: failed %d times since this group was begun; it counts as lost",
			       w->f.path, MAX_LOST);
	return g->last <= w->settled ? 0 : 1;
}

int record_append(struct record_writer *w, struct str payload, struct record_group *group,
		  struct record_place *ret, struct err *err)
{
	if (payload.n > w->file.most)
		return err_set(err, ERR_USAGE,
			       "%s: a record of %zu bytes; at most %" PRIu32 " are allowed",
			       w->f.path, payload.n, w->file.most);
	unsigned char head[FRAME_HEAD];
	frame_head_make(&w->file, payload, head);
	pthread_mutex_lock(&w->lock);
	int rc = writer_make_room(w, sizeof head + payload.n, err);
	if (rc == 0 && group_fate(w, group, err) < 0)
		rc = -1; /* or the end of a group would be kept without its beginning */
	if (rc == 0) {
		uint64_t at = w->fill.base + w->fill.n;
		batch_add(&w->fill, head, sizeof head);
		batch_add(&w->fill, payload.p, payload.n);
		w->last++;
		group->first = group->first ? group->first : w->last;
		group->last = w->last;
		if (ret)
			*ret = (struct record_place){at, w->fill.base + w->fill.n};
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int record_sync(struct record_writer *w, struct record_group *group, struct err *err)
{
	int rc;
	struct err ignored; /* group_fate() says it, of all who were in it */
	pthread_mutex_lock(&w->lock);
	while ((rc = group_fate(w, group, err)) == 1) {
		if (w->busy)
			pthread_cond_wait(&w->moved, &w->lock);
		else
			(void)writer_flush(w, true, &ignored);
	}
	pthread_mutex_unlock(&w->lock);
	*group = (struct record_group){0};
	return rc;
}

int record_flush(struct record_writer *w, struct err *err)
{
	pthread_mutex_lock(&w->lock);
	int rc = writer_make_ready(w, err);
	if (rc == 0 && w->fill.n)
		rc = writer_flush(w, false, err);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

uint64_t record_end(struct record_writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t end = w->fill.base + w->fill.n;
	pthread_mutex_unlock(&w->lock);
	return end;
}

uint64_t record_durable(struct record_writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t durable = w->durable;
	pthread_mutex_unlock(&w->lock);
	return durable;
}

/* Cutting to a checkpoint */

/* Everything that was appended is durable or lost: only the file counts from here on. */
static int writer_settle(struct record_writer *w, struct err *err)
{
	struct err ignored;
	if (writer_make_ready(w, err) < 0)
		return -1;
	if (w->settled < w->last)
		(void)writer_flush(w, true,
				   &ignored); /* a full disk must not stop a cut that frees it */
	return writer_make_ready(w, err);
}

/* *ret: the records after it. Only those of this writer are of interest; after damage, all of
 * them. */
static int writer_check_cut(struct record_writer *w, uint64_t at, uint64_t *ret, struct err *err)
{
	struct frame_scan scan = {.f = &w->f, .file = &w->file, .at = at};
	struct record record;
	uint64_t n = 0;
	int rc = at < RECORD_HEADER || at > w->durable ? 1 : 0;
	while (rc == 0 && scan.at < w->durable && n <= w->last) {
		rc = frame_next(&scan, &record, err);
		n += rc == 0;
	}
	if (rc == 1 && scan.at > at) { /* it is one; then a last mark, or damage */
		n = scan.at < w->durable ? w->last : n;
		rc = 0;
	}
	frame_scan_done(&scan);
	if (rc == 0)
		*ret = n;
	if (rc == 1)
		return err_set(err, ERR_USAGE,
			       "%s: no record begins or ends at %" PRIu64
			       ", so it is not cut there",
			       w->f.path, at);
	return rc;
}

/* The number of the first of so many records at the end of the file; lost ones are not there. */
static uint64_t writer_number_from_end(const struct record_writer *w, uint64_t records)
{
	uint64_t first = w->last + 1;
	for (size_t i = w->nlost; i-- > 0 && records > first - 1 - w->lost[i].last;) {
		records -= first - 1 - w->lost[i].last;
		first = w->lost[i].first;
	}
	return first - MIN(records, first - 1);
}

static void writer_tell_cut(struct record_writer *w, uint64_t at, uint64_t records)
{
	struct err why;
	err_set(&why, ERR_USAGE, "%s: was cut to %" PRIu64 " bytes, before this record", w->f.path,
		at);
	writer_remember_lost(w, writer_number_from_end(w, records), &why);
}

/* busy is ours */
static int writer_cut_to(struct record_writer *w, uint64_t at, uint64_t records, struct err *err)
{
	pthread_mutex_unlock(&w->lock);
	FAULT("record.truncate");
	int rc = file_truncate(&w->f, at, err);
	bool cut = rc == 0;
	FAULT("record.truncate.sync");
	if (cut)
		rc = file_sync(&w->f, err);
	pthread_mutex_lock(&w->lock);
	if (cut) {
		writer_tell_cut(w, at, records);
		w->durable = w->fill.base = at;
		w->covered = 0;
		w->broken = rc < 0;
	}
	return rc;
}

int record_truncate(struct record_writer *w, uint64_t checkpoint, struct err *err)
{
	uint64_t records = 0;
	pthread_mutex_lock(&w->lock);
	while (w->cutting)
		pthread_cond_wait(&w->moved, &w->lock);
	w->cutting = true;
	int rc = writer_settle(w, err);
	if (rc == 0)
		rc = writer_check_cut(w, checkpoint, &records, err);
	if (rc == 0 && checkpoint < w->durable) {
		w->busy = true;
		rc = writer_cut_to(w, checkpoint, records, err);
	}
	w->cutting = false;
	writer_become_idle(w);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

/* Opening and closing */

static int writer_make_file(struct record_writer *w, const struct record_kind *kind,
			    struct err *err)
{
	unsigned char header[RECORD_HEADER];
	uint64_t salt = 0;
	while (salt == 0)
		if (getrandom(&salt, sizeof salt, 0) < 0)
			return err_sys(err, "%s: random bytes for the header", w->f.path);
	frame_header_make(kind, salt, header, &w->file);
	FAULT("record.create");
	if (file_truncate(&w->f, 0, err) < 0 ||
	    file_write(&w->f, header, sizeof header, 0, err) < 0)
		return -1;
	FAULT("record.create.sync");
	if (file_sync(&w->f, err) < 0 || dir_sync_of(w->f.path, err) < 0)
		return -1;
	w->durable = w->covered = w->fill.base = RECORD_HEADER;
	return 0;
}

/* Writes bytes of the file once more: they may be there only in memory, after a sync that failed
 * just before the last writer ended, and then no sync would ever write them. */
static int writer_write_again(struct record_writer *w, uint64_t from, uint64_t to, struct err *err)
{
	FAULT("record.mend.write");
	batch_room(&w->out, (size_t)MIN(to - from, (uint64_t)BATCH));
	for (uint64_t at = from; at < to;) {
		size_t n = (size_t)MIN(to - at, (uint64_t)BATCH);
		if (file_read(&w->f, w->out.p, n, at, &n, err) < 0 ||
		    file_write(&w->f, w->out.p, n, at, err) < 0)
			return -1;
		if (n == 0)
			return err_set(err, ERR_SYSTEM, "%s: ends at %" PRIu64 ", before %" PRIu64,
				       w->f.path, at, to);
		at += n;
	}
	FAULT("record.mend.sync");
	return file_sync(&w->f, err);
}

/* What the last mark knows as durable is taken as it is (readers check it); what follows is
 * read up to the first frame that is not complete. */
static int writer_mend(struct record_writer *w, uint64_t size, uint64_t *ret_cut, struct err *err)
{
	struct frame_mark mark = {0, RECORD_HEADER};
	if (frame_last_mark(&w->f, &w->file, RECORD_HEADER, size, &mark, err) < 0)
		return -1;
	struct frame_scan scan = {.f = &w->f, .file = &w->file, .at = mark.durable};
	struct record record;
	int rc;
	do
		rc = frame_next(&scan, &record, err);
	while (rc == 0);
	uint64_t end = scan.at;
	frame_scan_done(&scan);
	if (rc < 0)
		return -1;
	w->covered = w->durable = w->fill.base = mark.durable;
	*ret_cut = size - end;
	/* closed properly: the next batch begins with its mark where this one is */
	if (mark.at == mark.durable && end == size && end == mark.at + FRAME_MARK)
		return 0;
	FAULT("record.mend");
	if (end < size && file_truncate(&w->f, end, err) < 0)
		return -1;
	/* without a mark not even the header is known to be durable */
	if (writer_write_again(w, mark.at ? mark.durable : 0, end, err) < 0 ||
	    (!mark.at && dir_sync_of(w->f.path, err) < 0))
		return -1;
	w->durable = w->fill.base = end;
	return 0;
}

static int writer_load(struct record_writer *w, const struct record_kind *kind, uint64_t *ret_cut,
		       struct err *err)
{
	unsigned char header[RECORD_HEADER];
	uint64_t size;
	size_t n;
	if (lock_file(&w->f, err) < 0 || file_size(&w->f, &size, err) < 0 ||
	    file_read(&w->f, header, sizeof header, 0, &n, err) < 0)
		return -1;
	*ret_cut = 0;
	if (size <= RECORD_HEADER && frame_unfinished(header, n, kind))
		return writer_make_file(w, kind, err);
	if (n < sizeof header)
		return err_set(err, ERR_DAMAGED, "%s: not a record file, only %zu bytes", w->f.path,
			       n);
	if (frame_header_read(header, kind, w->f.path, &w->file, err) < 0)
		return -1;
	return writer_mend(w, size, ret_cut, err);
}

int record_open(struct record_writer **ret, const char *path, const struct record_kind *kind,
		mode_t mode, uint64_t *ret_cut, struct err *err)
{
	struct record_writer *w = mem_alloc(sizeof *w);
	uint64_t cut = 0;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->moved, NULL);
	w->f = FILE_INIT;
	if (file_open(&w->f, path, O_RDWR | O_CREAT, mode, err) < 0 ||
	    writer_load(w, kind, &cut, err) < 0) {
		record_drop(&w);
		return -1;
	}
	if (ret_cut)
		*ret_cut = cut;
	*ret = w;
	return 0;
}

/* A last mark, so that all that is there is known as durable. Only a help: without it the next
 * writer reads the end of the file. */
static void writer_mark_end(struct record_writer *w)
{
	unsigned char mark[FRAME_MARK];
	struct err ignored;
	frame_mark_make(&w->file, (struct frame_mark){w->durable, w->durable}, mark);
	FAULT("record.close");
	if (file_write(&w->f, mark, sizeof mark, w->durable, &ignored) == 0)
		(void)file_sync(&w->f, &ignored);
	FAULT("record.closed");
}

int record_close(struct record_writer **pw, struct err *err)
{
	struct record_writer *w = *pw;
	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	int rc = writer_make_ready(w, err);
	if (rc == 0 && w->settled < w->last)
		rc = writer_flush(w, true, err);
	bool mark = !w->broken && w->covered < w->durable;
	pthread_mutex_unlock(&w->lock);
	if (mark)
		writer_mark_end(w);
	record_drop(pw);
	return rc;
}

void record_drop(struct record_writer **pw)
{
	struct record_writer *w = *pw;
	if (!w)
		return;
	file_drop(&w->f);
	mem_free(&w->fill.p);
	mem_free(&w->out.p);
	pthread_cond_destroy(&w->moved);
	pthread_mutex_destroy(&w->lock);
	mem_free(pw);
}

/* Reading */

struct record_reader {
	struct file f;
	struct frame_file file;
	struct frame_scan scan;
	uint64_t limit; /* 0: none */
};

static int reader_read_header(struct record_reader *r, const struct record_kind *kind,
			      struct err *err)
{
	unsigned char header[RECORD_HEADER];
	size_t n;
	uint64_t size;
	if (file_size(&r->f, &size, err) < 0 ||
	    file_read(&r->f, header, sizeof header, 0, &n, err) < 0)
		return -1;
	if (size <= RECORD_HEADER && frame_unfinished(header, n, kind))
		return 1;
	if (n < sizeof header)
		return err_set(err, ERR_DAMAGED, "%s: not a record file, only %zu bytes", r->f.path,
			       n);
	return frame_header_read(header, kind, r->f.path, &r->file, err);
}

int record_reader_open(struct record_reader **ret, const char *path, const struct record_kind *kind,
		       struct err *err)
{
	struct record_reader *r = mem_alloc(sizeof *r);
	r->f = FILE_INIT;
	int rc = file_open(&r->f, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = reader_read_header(r, kind, err);
	if (rc) {
		record_reader_free(&r);
		return rc;
	}
	r->scan = (struct frame_scan){.f = &r->f, .file = &r->file, .at = RECORD_HEADER};
	*ret = r;
	return 0;
}

static int reader_damaged(const struct record_reader *r, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: the record at %" PRIu64
		       " is damaged; what follows it cannot be read in order",
		       r->f.path, r->scan.at);
}

/* Says whether a mark after the place of the next frame knows it as durable. */
static int reader_known_durable(struct record_reader *r, struct err *err)
{
	uint64_t size;
	struct frame_mark mark;
	if (file_size(&r->f, &size, err) < 0)
		return -1;
	if (size < r->scan.at)
		return err_set(err, ERR_DAMAGED,
			       "%s: was cut to %" PRIu64 " bytes while it was read at %" PRIu64
			       "; read it again from a checkpoint",
			       r->f.path, size, r->scan.at);
	int rc = frame_last_mark(&r->f, &r->file, r->scan.at, size, &mark, err);
	return rc ? rc : mark.durable <= r->scan.at;
}

/* There is no complete frame. Between looking at it and finding the mark the writer may have gone
 * on, so a frame is damaged only if it is still bad afterwards. */
static int reader_judge(struct record_reader *r, struct record *ret, struct err *err)
{
	int rc = r->limit ? 0 : reader_known_durable(r, err);
	if (rc)
		return rc;
	rc = frame_next(&r->scan, ret, err);
	return rc == 1 ? reader_damaged(r, err) : rc;
}

int record_next(struct record_reader *r, struct record *ret, struct err *err)
{
	if (r->limit && r->scan.at >= r->limit)
		return 1;
	struct record found;
	int rc = frame_next(&r->scan, &found, err);
	if (rc == 1 && r->limit && r->scan.at >= r->limit)
		return 1; /* only marks were left */
	if (rc == 1)
		rc = reader_judge(r, &found, err);
	if (rc == 0 && r->limit && found.place.next > r->limit) {
		r->scan.at = found.place.at;
		return 1;
	}
	if (rc == 0)
		*ret = found;
	return rc;
}

void record_seek(struct record_reader *r, uint64_t at)
{
	r->scan.at = at ? at : RECORD_HEADER;
}

uint64_t record_tell(const struct record_reader *r)
{
	return r->scan.at;
}

/* What was read beyond the limit so far may have been taken back and written anew since. */
void record_limit(struct record_reader *r, uint64_t durable)
{
	frame_forget_from(&r->scan, r->limit);
	r->limit = durable;
}

void record_reader_free(struct record_reader **r)
{
	if (!*r)
		return;
	frame_scan_done(&(*r)->scan);
	file_drop(&(*r)->f);
	mem_free(r);
}

/* Closed files end with a mark that knows all before it as durable. One without records has none.
 */
static int reader_ending(const struct record_reader *r, uint64_t complete, enum record_ending *ret,
			 struct err *err)
{
	struct frame_mark mark = {0};
	uint64_t size;
	if (file_size(&r->f, &size, err) < 0)
		return -1;
	*ret = complete < size ? RECORD_TORN : RECORD_LEFT;
	if (*ret == RECORD_TORN || size < RECORD_HEADER + FRAME_MARK) {
		*ret = size == RECORD_HEADER ? RECORD_CLOSED : *ret;
		return 0;
	}
	int rc = frame_last_mark(&r->f, &r->file, size - FRAME_MARK, size, &mark, err);
	if (rc == 0 && mark.durable == mark.at)
		*ret = RECORD_CLOSED;
	return rc < 0 ? rc : 0;
}

int record_ending(const char *path, const struct record_kind *kind, uint64_t complete,
		  enum record_ending *ret, struct err *err)
{
	struct record_reader *r = NULL;
	CLEANUP(file_drop) struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 0 && lock_file_held(&f)) {
		*ret = RECORD_WRITTEN;
		return 0;
	}
	if (rc == 0)
		rc = record_reader_open(&r, path, kind, err);
	if (rc == 0)
		rc = reader_ending(r, complete, ret, err);
	else if (rc == 1)
		*ret = RECORD_TORN;
	record_reader_free(&r);
	return MIN(rc, 0);
}
