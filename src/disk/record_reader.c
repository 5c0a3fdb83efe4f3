#include "disk/record_frame.h"

#include <fcntl.h>
#include <inttypes.h>

struct record_reader {
	struct file f;
	struct frame_file file;
	struct frame_scan scan;
	uint64_t limit; /* 0: none */
};

static int reader_read_header(struct record_reader *r, const struct record_kind *kind, struct err *err)
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
		       " is damaged; what lies behind it cannot be read in order",
		       r->f.path, r->scan.at);
}

/* Says whether a mark behind the place of the next frame knows it as durable. */
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
