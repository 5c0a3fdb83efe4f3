/* Small files. The checksum covers the head too: a version that does not fit ours is another
 * program's only where the checksum does fit; otherwise a bit has flipped, and that is damage.
 */
#include "disk/small_file.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/rows.h"

#include <fcntl.h>
#include <inttypes.h>

enum { SMALL_FILE_TABLE = 64 << 10 }; /* bytes, of files by a table of fields */

static uint32_t small_file_crc(struct str head, struct str payload)
{
	return crc32c(crc32c(0, head.p, head.n), payload.p, payload.n);
}

void small_file_seal(const struct format *f, struct str payload, struct buf *out)
{
	size_t at = out->n;
	buf_add(out, f->magic, FORMAT_MAGIC);
	put_u32le(out, f->version);
	put_u32le(out, (uint32_t)payload.n);
	if (!out->over)
		put_u32le(out, small_file_crc(str_from(buf_str(out), at), payload));
	buf_add_str(out, payload);
}

int small_file_unseal(const char *path, const struct format *f, struct str bytes, struct str *ret,
		      struct err *err)
{
	struct reader r = reader_of(bytes);
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), length = reader_u32le(&r);
	struct str head = str_head(bytes, reader_at(&r));
	uint32_t crc = reader_u32le(&r);
	struct str payload = reader_bytes(&r, reader_left(&r));
	if (r.bad || !str_is(magic, f->magic))
		return err_set(err, ERR_DAMAGED, "%s: damaged, its head is not that of a %s file",
			       path, f->name);
	bool sound = payload.n == length && crc == small_file_crc(head, payload);
	if (version != f->version)
		return err_set(err, sound ? ERR_USAGE : ERR_DAMAGED,
			       "%s: %s file in version %u%s; this program knows version %u", path,
			       f->name, version, sound ? "" : ", or damaged", f->version);
	if (payload.n != length)
		return err_set(err, ERR_DAMAGED, "%s: damaged, %zu bytes where it says %u", path,
			       payload.n, length);
	if (!sound)
		return err_set(err, ERR_DAMAGED, "%s: damaged, its checksum does not fit", path);
	*ret = payload;
	return 0;
}

int small_file_write(const char *path, const struct format *f, struct str payload, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(payload.n + SMALL_FILE_HEAD);
	ENSURE(payload.n <= UINT32_MAX);
	small_file_seal(f, payload, &bytes);
	return file_replace(path, buf_str(&bytes), 0644, err);
}

int small_file_read(const char *path, const struct format *f, struct buf *room, struct str *ret,
		    struct err *err)
{
	int rc = file_slurp(path, room, err);
	if (rc < 0 && err->code == ERR_USAGE)
		err->code = ERR_DAMAGED; /* longer than it can be, or not a file at all */
	return rc ? rc : small_file_unseal(path, f, buf_str(room), ret, err);
}

int small_file_hold(const char *path, size_t most, struct file *ret_file, struct buf *out,
		    struct err *err)
{
	struct file file = FILE_INIT;
	uint64_t size;
	size_t got = 0;
	/* a pipe is not waited for: it is empty, and so damaged */
	int rc = file_open(&file, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc != 0)
		return rc;
	rc = file_size(&file, &size, err);
	if (rc == 0 && size > most)
		rc = err_set(err, ERR_DAMAGED, "%s: %" PRIu64 " bytes; at most %zu are allowed",
			     path, size, most);
	if (rc == 0)
		rc = file_read(&file, buf_room(out, (size_t)size + 1), (size_t)size, 0, &got, err);
	if (rc == 0)
		buf_grew(out, got);
	if (ret_file)
		*ret_file = file;
	else
		file_drop(&file);
	return rc;
}

int small_file_save(const char *path, const struct format *f, const void *from, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(SMALL_FILE_TABLE);
	rows_write(f->fields, from, &payload);
	ENSURE(!payload.over);
	return small_file_write(path, f, buf_str(&payload), err);
}

int small_file_load(const char *path, const struct format *f, void *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(SMALL_FILE_TABLE + SMALL_FILE_HEAD);
	struct str payload;
	int rc = small_file_read(path, f, &room, &payload, err);
	if (rc)
		return rc;
	return rows_read(f->fields, payload, ret, err) < 0 ? err_in(err, "%s", path) : 0;
}
