#include "bucket/bucket_inner.h"

#include <fcntl.h>
#include <inttypes.h>

/* Larger than elsewhere: on a busy machine each piece waits for two threads to get their turn. */
enum { SCAN_PIECE = 2 << 20 };

struct bucket_scanner {
	struct file file; /* of its own, since it is read past the page cache */
	unsigned shift;
	uint64_t at, end;
	bool bounded; /* by a checkpoint: then nothing before it may be torn */
	bool reading;
	struct stream_reader in; /* at `at`, while reading */
	int rc;                  /* the first failure that stays */
	struct err err;
};

/* Looking for the next whole bucket behind damage */

static bool scan_whole_at(const struct file *f, unsigned shift, uint64_t at, uint64_t to)
{
	struct err ignored;
	char p[BUCKET_HEAD];
	size_t n;
	if (to - at < BUCKET_FRAME || file_read(f, p, BUCKET_HEAD, at, &n, &ignored) < 0 ||
	    n < BUCKET_HEAD)
		return false;
	struct bucket_head head = bucket_head_parse(p);
	if (bucket_head_wrong(&head, shift, at, to - at))
		return false;
	uint64_t end = at + bucket_total(shift, head.length);
	return file_read(f, p, 4, end - 4, &n, &ignored) == 0 && n == 4 &&
	       bucket_word(p) == BUCKET_TRAILER;
}

/* Only such as are not deleted: the number of its place is not in a page by chance, nor by
 * malice. */
int bucket_resync(const struct file *f, unsigned shift, uint64_t from, uint64_t to, uint64_t *ret,
		  struct err *err)
{
	uint64_t align = UINT64_C(1) << shift, end = to / align * align;
	char *piece = mem_resize(NULL, SCAN_PIECE);
	size_t n = 0;
	int rc = 0;
	*ret = to;
	for (; rc == 0 && *ret == to && from < end; from += n) {
		rc = file_read(f, piece, (size_t)MIN(end - from, (uint64_t)SCAN_PIECE), from, &n,
			       err);
		if (rc == 0 && n < align)
			break;
		for (size_t i = 0; rc == 0 && i + align <= n && *ret == to; i += align)
			if (bucket_word(piece + i) == BUCKET_MAGIC &&
			    bucket_word(piece + i + 4) == (from + i) >> shift &&
			    scan_whole_at(f, shift, from + i, to))
				*ret = from + i;
	}
	mem_free(&piece);
	return rc;
}

/* Scanning */

static int scan_start(struct bucket_scanner *s, struct err *err)
{
	uint64_t blocks = (s->end - s->at) / STREAM_BLOCK + 1;
	struct stream_options options = {
		.piece = (size_t)MIN(blocks * STREAM_BLOCK, (uint64_t)SCAN_PIECE)};
	if (file_direct(&s->file, true, err) < 0 ||
	    stream_open_part(&s->in, &s->file, s->at, s->end - s->at, &options, err) < 0)
		return -1;
	s->reading = true;
	return 0;
}

static void scan_stop(struct bucket_scanner *s)
{
	struct err ignored;
	if (s->reading)
		stream_close(&s->in);
	s->reading = false;
	(void)file_direct(&s->file, false, &ignored);
}

static void scan_free(struct bucket_scanner *s)
{
	scan_stop(s);
	file_drop(&s->file);
	mem_free(&s);
}

int bucket_scan_init(struct bucket_scan *ret, struct buckets *b, uint64_t from, uint64_t to,
		     struct err *err)
{
	struct bucket_scanner *s = mem_alloc(sizeof *s);
	*s = (struct bucket_scanner){
		.file = FILE_INIT, .shift = b->shift, .at = from, .bounded = to != 0};
	if (bucket_flush(b, err) < 0 || bucket_reopen(&b->file, O_RDONLY, &s->file, err) < 0 ||
	    file_size(&s->file, &s->end, err) < 0) {
		scan_free(s);
		return -1;
	}
	int rc = 0;
	if (MAX(from, to) > s->end)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: is %" PRIu64 " bytes long, %" PRIu64 " are wanted", s->file.path,
			     s->end, MAX(from, to));
	if (to)
		s->end = MAX(from, to);
	if (rc < 0 || scan_start(s, err) < 0) {
		scan_free(s);
		return -1;
	}
	*ret = (struct bucket_scan){.in = s};
	return 0;
}

void bucket_scan_done(struct bucket_scan *scan)
{
	if (scan->in)
		scan_free(scan->in);
	*scan = (struct bucket_scan){0};
}

/* Nothing whole begins at s->at. `hint`: where the next one should, 0 when that is not known. */
static int scan_skip(struct bucket_scan *scan, uint64_t hint, const char *why, struct bucket *ret,
		     struct err *err)
{
	struct bucket_scanner *s = scan->in;
	uint64_t at = s->at, next = hint, align = UINT64_C(1) << s->shift;
	scan_stop(s);
	if (!hint || (hint != s->end && !scan_whole_at(&s->file, s->shift, hint, s->end)))
		if (bucket_resync(&s->file, s->shift, at + align, s->end, &next, err) < 0)
			return -1;
	if (hint && next == s->end)
		next = hint; /* what comes there is told next, or torn */
	s->at = next;
	if (next == s->end && !hint && !s->bounded) {
		scan->torn = true;
		scan->torn_at = at;
		return 1;
	}
	if (next < s->end && scan_start(s, err) < 0) {
		s->at = at;
		return -1;
	}
	*ret = (struct bucket){.oid = (uint32_t)(at >> s->shift), .at = at, .next = next};
	scan->why = why;
	return err_set(err, ERR_DAMAGED,
		       "%s: bucket %08" PRIx32 " (%" PRIu64 " bytes at %" PRIu64 "): %s",
		       s->file.path, ret->oid, next - at, at, why);
}

static int scan_next_bucket(struct bucket_scan *scan, struct bucket *ret, struct err *err)
{
	struct bucket_scanner *s = scan->in;
	struct str part;
	uint64_t left = s->end - s->at;
	if (left == 0)
		return 1;
	if (left < BUCKET_FRAME)
		return scan_skip(scan, 0, "the file ends in it", ret, err);
	if (stream_read(&s->in, BUCKET_HEAD, &part, err) != 0)
		return -1;
	struct bucket_head head = bucket_head_parse(part.p);
	const char *wrong = bucket_head_wrong(&head, s->shift, s->at, left);
	uint64_t total = bucket_total(s->shift, head.length);
	bool known = head.magic == BUCKET_MAGIC && head.length <= BUCKET_DATA_MOST && total <= left;
	if (wrong)
		return scan_skip(scan, known ? s->at + total : 0, wrong, ret, err);
	if (stream_read(&s->in, (size_t)total - BUCKET_HEAD, &part, err) != 0)
		return -1;
	wrong = bucket_end_wrong(part.p + head.length, part.n - head.length);
	if (wrong)
		return scan_skip(scan, s->at + total, wrong, ret, err);
	*ret = (struct bucket){.oid = (uint32_t)(s->at >> s->shift),
			       .type = head.type,
			       .deleted = head.oid == BUCKET_DELETED,
			       .at = s->at,
			       .next = s->at + total,
			       .data = {part.p, head.length}};
	s->at += total;
	return 0;
}

/* Damage is told and passed; whatever else fails once fails from then on. */
int bucket_scan_next(struct bucket_scan *scan, struct bucket *ret, struct err *err)
{
	struct bucket_scanner *s = scan->in;
	uint64_t at = s->at;
	if (s->rc == 0) {
		int rc = scan_next_bucket(scan, ret, err);
		scan->passed = rc < 0 && s->at > at;
		if (rc >= 0 || scan->passed)
			return rc;
		s->rc = rc;
		s->err = *err;
	}
	scan->passed = false;
	*err = s->err;
	return s->rc;
}
