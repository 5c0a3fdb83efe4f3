/* Shakedown. The files next to the bucket file:
 *
 * PATH.new: the new file while it is written. As long as it is there, the old one stands and
 * whatever report there is means nothing.
 *
 * PATH.moves: the report. Without PATH.new next to it, it belongs to the file that stands.
 *
 * So one rename, of PATH.new to PATH, makes the new file and its report good at once. */
#include "bucket/bucket_shake.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "bucket/bucket_inner.h"
#include "disk/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOVES_A_RECORD = 4096, MOVE = 8, ID = 12, MOVES_MOST = MOVES_A_RECORD * MOVE };

/* The first record is a u32 of 0 and the number of the report, the others are moves. */
static const struct record_kind moves_kind = {
	.magic = "GARNERBM", .version = 1, .most = MOVES_MOST};

struct shake {
	struct buckets *b;
	bucket_fate_fn *fate;
	void *ctx;
	char *path, *new_path, *moves_path; /* path: where the file itself lies */
	struct file file;                   /* the new one, locked */
	struct stream_writer out;
	uint64_t at; /* where the next bucket goes */
	struct record_writer *moves;
	struct record_group group;
	struct buf pending; /* moves not yet handed over */
	struct bucket_shaken sum;
};

/* 0: it is there. */
static int path_exists(const char *path, struct err *err)
{
	struct stat st;
	if (lstat(path, &st) == 0)
		return 0;
	return errno == ENOENT ? 1 : err_sys(err, "%s: stat", path);
}

int bucket_sweep(const char *path, struct err *err)
{
	char *new_path = bucket_beside(path, ".new"), *moves_path = bucket_beside(path, ".moves");
	int rc = path_exists(new_path, err);
	if (rc == 0) {
		rc = file_remove(moves_path, err);
		if (rc == 0)
			rc = dir_sync_of(new_path, err);
		FAULT("bucket.sweep");
		if (rc >= 0)
			rc = file_remove(new_path, err);
		if (rc >= 0)
			rc = dir_sync_of(new_path, err);
	}
	mem_free(&new_path);
	mem_free(&moves_path);
	return rc < 0 ? rc : 0;
}

/* Writing */

static int shake_hand_over(struct shake *s, struct err *err)
{
	if (s->pending.n == 0)
		return 0;
	int rc = record_append(s->moves, buf_str(&s->pending), &s->group, NULL, err);
	buf_clear(&s->pending);
	return rc;
}

static int shake_note_move(struct shake *s, uint32_t from, uint32_t to, struct err *err)
{
	put_u32le(&s->pending, from);
	put_u32le(&s->pending, to);
	return s->pending.n < MOVES_MOST ? 0 : shake_hand_over(s, err);
}

static int shake_put_bucket(struct shake *s, uint32_t oid, const struct bucket_fate *fate,
			    struct err *err)
{
	static const char zeroes[1 << BUCKET_SHIFT_MOST];
	char around[BUCKET_HEAD];
	if (fate->data.n > BUCKET_DATA_MOST)
		return err_set(err, ERR_USAGE, "%s: a bucket of %zu bytes; at most %d are taken",
			       s->b->file.path, fate->data.n, BUCKET_DATA_MOST);
	struct bucket_head head = {BUCKET_MAGIC, oid, (uint32_t)fate->data.n, fate->type};
	uint64_t total = bucket_total(s->b->shift, head.length);
	bucket_head_make(&head, around);
	stream_put(&s->out, around, BUCKET_HEAD);
	stream_put(&s->out, fate->data.p, fate->data.n);
	stream_put(&s->out, zeroes, (size_t)total - BUCKET_FRAME - fate->data.n);
	bucket_word_put(around, BUCKET_TRAILER);
	stream_put(&s->out, around, 4);
	s->at += total;
	return 0;
}

static int shake_move(struct shake *s, const struct bucket *old, struct err *err)
{
	struct bucket_fate fate = {old->type, old->data};
	uint32_t oid = (uint32_t)(s->at >> s->b->shift);
	if (old->deleted) {
		s->sum.deleted++;
		return 0;
	}
	if (bucket_check(old->type, old->data, err) < 0)
		return err_in(err, "%s: bucket %08" PRIx32 " (at %" PRIu64 "; fix it first)",
			      s->b->file.path, old->oid, old->at);
	int rc = s->fate ? s->fate(s->ctx, old, oid, &fate, err) : 0;
	if (rc < 0)
		return rc;
	if (rc > 0) {
		s->sum.dropped++;
		return shake_note_move(s, old->oid, BUCKET_DELETED, err);
	}
	s->sum.kept++;
	s->sum.replaced +=
		fate.data.p != old->data.p || fate.data.n != old->data.n || fate.type != old->type;
	if (shake_put_bucket(s, oid, &fate, err) < 0)
		return -1;
	return shake_note_move(s, old->oid, oid, err);
}

static int shake_move_all(struct shake *s, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	int rc;
	if (bucket_scan_init(&scan, s->b, 0, 0, err) < 0)
		return -1;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) == 0 && !stream_failed(&s->out)) {
		FAULT("bucket.shake.move");
		rc = shake_move(s, &bucket, err);
		if (rc < 0)
			break;
	}
	struct bucket_scan met = scan;
	bucket_scan_done(&scan);
	if (rc >= 0 && met.torn)
		return err_set(err, ERR_DAMAGED, "%s: torn at %" PRIu64 "; fix it first",
			       s->b->file.path, met.torn_at);
	return rc < 0 ? rc : 0;
}

static void shake_put_marker(struct shake *s)
{
	char marker[1 << BUCKET_SHIFT_MOST];
	s->at = bucket_marker(s->b->shift, marker);
	stream_put(&s->out, marker, (size_t)s->at);
}

/* The new file is there by name before the report is, so that the report is never taken for one
 * that stands. */
static int shake_create(struct shake *s, struct err *err)
{
	struct stat st;
	struct file writes = FILE_INIT;
	if (fstat(s->b->file.fd, &st) != 0)
		return err_sys(err, "%s: stat", s->b->file.path);
	if (file_open(&s->file, s->new_path, O_RDWR | O_CREAT | O_EXCL, st.st_mode & 07777, err) <
		    0 ||
	    bucket_lock(&s->file, s->b->mode, err) < 0 || dir_sync_of(s->new_path, err) < 0 ||
	    file_reopen(&s->file, O_WRONLY, &writes, err) < 0)
		return -1;
	FAULT("bucket.shake.create");
	struct stream_options options = {.buffered = s->b->buffered};
	int rc = stream_create_in(&s->out, &writes, false, &options, err);
	file_drop(&writes);
	if (rc == 0)
		shake_put_marker(s);
	return rc < 0 ? rc : record_open(&s->moves, s->moves_path, &moves_kind, 0644, NULL, err);
}

static int shake_begin_report(struct shake *s, struct err *err)
{
	uint64_t id;
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return err_sys(err, "%s: random number", s->moves_path);
	put_u32le(&s->pending, 0);
	put_u64le(&s->pending, id);
	return shake_hand_over(s, err);
}

static int shake_finish_files(struct shake *s, struct err *err)
{
	if (shake_hand_over(s, err) < 0)
		return -1;
	if (s->out.out && stream_finish(&s->out, true, err) < 0)
		return -1;
	FAULT("bucket.shake.written");
	if (record_sync(s->moves, &s->group, err) < 0 || record_close(&s->moves, err) < 0)
		return -1;
	FAULT("bucket.shake.reported");
	return dir_sync_of(s->new_path, err);
}

/* From here on the handle is on the new file. */
static void shake_switch(struct shake *s)
{
	struct buckets *b = s->b;
	mem_free(&s->file.path);
	s->file.path = b->file.path;
	b->file.path = NULL;
	file_drop(&b->file);
	b->file = s->file;
	s->file = FILE_INIT;
	b->size = b->durable = s->at;
	(void)posix_fadvise(b->file.fd, 0, 0, POSIX_FADV_RANDOM);
}

static int shake_run(struct shake *s, struct err *err)
{
	if (shake_create(s, err) < 0 || shake_begin_report(s, err) < 0 ||
	    shake_move_all(s, err) < 0 || shake_finish_files(s, err) < 0)
		return -1;
	if (file_rename(s->new_path, s->path, err) < 0)
		return -1;
	FAULT("bucket.shake.renamed");
	shake_switch(s);
	return 0;
}

static void shake_free(struct shake *s)
{
	if (s->out.out)
		stream_drop(&s->out);
	record_drop(&s->moves);
	file_drop(&s->file);
	buf_free(&s->pending);
	mem_free(&s->path);
	mem_free(&s->new_path);
	mem_free(&s->moves_path);
}

int bucket_shakedown(struct buckets *b, bucket_fate_fn *fate, void *ctx, struct bucket_shaken *ret,
		     struct err *err)
{
	struct shake s = {.b = b,
			  .fate = fate,
			  .ctx = ctx,
			  .path = bucket_beside(b->file.path, ""),
			  .new_path = bucket_beside(b->file.path, ".new"),
			  .moves_path = bucket_beside(b->file.path, ".moves"),
			  .file = FILE_INIT,
			  .pending = BUF_INIT(MOVES_MOST)};
	ENSURE(b->mode >= BUCKET_APPEND);
	int rc = path_exists(s.moves_path, err);
	if (rc == 0)
		rc = err_set(err, ERR_BUSY,
			     "%s: the report of the last shakedown; it has to be worked off first",
			     s.moves_path);
	if (rc >= 0)
		rc = bucket_sync(b, &s.sum.before, err);
	if (rc == 0) {
		bucket_tail_free(b);
		rc = shake_run(&s, err);
		struct err ignored;
		if (rc < 0)
			(void)bucket_sweep(b->file.path, &ignored);
	}
	if (rc == 0)
		rc = dir_sync_of(s.path, err);
	s.sum.after = s.at;
	if (rc == 0)
		*ret = s.sum;
	shake_free(&s);
	return rc;
}

/* The report */

struct bucket_moves {
	struct record_reader *reader;
	struct reader left; /* of the current record */
};

static int moves_open_report(const char *moves_path, struct bucket_moves **ret, struct err *err)
{
	struct bucket_moves *m = mem_alloc(sizeof *m);
	struct record record;
	int rc = record_reader_open(&m->reader, moves_path, &moves_kind, err);
	if (rc == 0)
		rc = record_next(m->reader, &record, err);
	if (rc == 0 && record.payload.n != ID)
		rc = err_set(err, ERR_DAMAGED, "%s: begins with %zu bytes, expected %d", moves_path,
			     record.payload.n, ID);
	if (rc) {
		bucket_moves_close(&m);
		return rc;
	}
	*ret = m;
	return 0;
}

int bucket_moves_open(struct bucket_moves **ret, const char *path, struct err *err)
{
	char *new_path = bucket_beside(path, ".new"), *moves_path = bucket_beside(path, ".moves");
	int rc = path_exists(new_path, err);
	if (rc >= 0)
		rc = rc == 0 ? 1 : moves_open_report(moves_path, ret, err);
	mem_free(&new_path);
	mem_free(&moves_path);
	return rc;
}

int bucket_moves_next(struct bucket_moves *m, struct bucket_move *ret, struct err *err)
{
	while (reader_left(&m->left) == 0) {
		struct record record;
		int rc = record_next(m->reader, &record, err);
		if (rc)
			return rc;
		m->left = reader_of(record.payload);
	}
	*ret = (struct bucket_move){.from = reader_u32le(&m->left)};
	ret->to = reader_u32le(&m->left);
	return m->left.bad ? err_set(err, ERR_DAMAGED, "a move of %d bytes is cut off", MOVE) : 0;
}

void bucket_moves_close(struct bucket_moves **m)
{
	if (*m)
		record_reader_free(&(*m)->reader);
	mem_free(m);
}

int bucket_moves_done(const char *path, struct err *err)
{
	char *moves_path = bucket_beside(path, ".moves");
	FAULT("bucket.moves.done");
	int rc = file_remove(moves_path, err);
	if (rc == 0)
		rc = dir_sync_of(moves_path, err);
	mem_free(&moves_path);
	return rc;
}

static int moves_show(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	if (payload.n == ID) {
		reader_skip(&r, 4);
		buf_printf(out, "report %016" PRIx64, reader_u64le(&r));
		return 0;
	}
	while (reader_left(&r) >= MOVE) {
		uint32_t from = reader_u32le(&r), to = reader_u32le(&r);
		buf_printf(out, "%08" PRIx32 "-%08" PRIx32 " ", from, to);
	}
	return reader_left(&r) ? err_set(err, ERR_DAMAGED, "a move of %d bytes is cut off", MOVE)
			       : 0;
}

/* Of a shakedown that was killed nothing counts: the new file is still there under its own name. */
static int moves_verify(const char *path, struct err *err)
{
	struct str end = STR(".moves");
	char fresh[PATH_MAX];
	size_t n = strlen(path) - (str_ends(str_of(path), end) ? end.n : 0);
	snprintf(fresh, sizeof fresh, "%.*s.new", (int)n, path);
	struct records_known known = {.closed = access(fresh, F_OK) != 0};
	return records_verify(&bucket_moves_format, path, &known, err);
}

const struct format bucket_moves_format = {
	.name = "bucket-moves",
	.file = "objects.moves",
	.magic = "GARNERBM",
	.version = 1,
	.help = "which bucket has which number since the last shakedown",
	.remedy = "garner shep recover makes the index again without it",
	.records = &moves_kind,
	.show = moves_show,
	.verify = moves_verify,
};
