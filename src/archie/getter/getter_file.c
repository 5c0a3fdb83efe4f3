/* A listing as it arrives. One that is too old, too small or an error page is refused before its
 * first byte or soon after it, so that nothing large is transferred in vain. */
#include "archie/getter/getter_inner.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

enum { ROOM_EVERY = 8 << 20, FILE_MODE = 0640 };

static void file_path(const struct getter_file *f, const char *folder, struct str key,
		      char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s/" STR_FMT, f->visit->getter->o.folder, folder, STR_ARG(key));
}

/* A disk that is full stays so; what others need is left to them. */
static int check_room(struct getter_file *f, struct err *err)
{
	const struct getter_options *o = &f->visit->getter->o;
	if (f->n < f->checked)
		return 0;
	f->checked = f->n + ROOM_EVERY;
	return archie_has_room(o->folder, o->disk_free, err);
}

int getter_file_begin(struct getter_file *f, struct err *err)
{
	char path[PATH_MAX];
	getter_file_drop(f);
	file_path(f, "tmp", f->visit->key, path);
	if (file_open(&f->file, path, O_RDWR | O_CREAT | O_TRUNC, FILE_MODE, err) < 0 ||
	    check_room(f, err) < 0) {
		f->refused = GETTER_CAUSE_DISK;
		return -1;
	}
	return 0;
}

int getter_file_add(struct getter_file *f, struct str bytes, struct err *err)
{
	if (f->n + bytes.n > f->visit->getter->o.conf->listing_max) {
		f->refused = ROBOT_CAUSE_BODY;
		return err_set(err, ERR_USAGE, "larger than archie.listing_max");
	}
	if (check_room(f, err) < 0 || file_write(&f->file, bytes.p, bytes.n, f->n, err) < 0) {
		f->refused = GETTER_CAUSE_DISK;
		return -1;
	}
	f->n += bytes.n;
	return 0;
}

static int set_time(const struct file *file, int64_t us, struct err *err)
{
	struct timespec at = {.tv_sec = (time_t)(us / US_PER_S)};
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, at};
	return futimens(file->fd, times) == 0 ? 0 : err_sys(err, "%s: set its time", file->path);
}

int getter_file_finish(struct getter_file *f, struct str key, int64_t listed_us, struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX], failed[PATH_MAX];
	struct err ignored;
	file_path(f, "tmp", f->visit->key, from);
	file_path(f, "lslr", key, to);
	file_path(f, "failed", f->visit->key, failed);
	if (set_time(&f->file, listed_us, err) < 0 || file_sync(&f->file, err) < 0 ||
	    file_close(&f->file, err) < 0)
		return -1;
	FAULT("archie.listing-synced");
	if (file_rename(from, to, err) < 0)
		return -1;
	FAULT("archie.listing-named");
	(void)file_remove(failed, &ignored);
	return dir_sync_of(to, err);
}

void getter_file_fail(struct getter_file *f)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct err ignored;
	if (f->file.fd < 0)
		return;
	file_drop(&f->file);
	file_path(f, "tmp", f->visit->key, from);
	file_path(f, "failed", f->visit->key, to);
	if (f->n == 0 || file_rename(from, to, &ignored) < 0)
		(void)file_remove(from, &ignored);
	f->n = 0;
}

void getter_file_drop(struct getter_file *f)
{
	char path[PATH_MAX];
	struct err ignored;
	if (f->file.fd >= 0) {
		file_drop(&f->file);
		file_path(f, "tmp", f->visit->key, path);
		(void)file_remove(path, &ignored);
	}
	struct visit *v = f->visit;
	bool is_ready = f->is_ready;
	getter_file_init(f, v);
	f->is_ready = is_ready;
}

/* What the sink is told by the robot. */

static int file_refuse(struct getter_file *f, unsigned cause, const char *why, struct err *err)
{
	f->refused = cause;
	return err_set(err, ERR_USAGE, "%s", why);
}

static int file_begins(struct robot_sink *s, const struct robot_head *head, struct err *err)
{
	struct getter_file *f = (struct getter_file *)s;
	int64_t since_us = f->visit->since_us, at_us;
	if (getter_file_begin(f, err) < 0)
		return -1;
	if (!f->is_ready)
		return 0;
	bool has_date = robot_date(str_of(head->last_modified), head->now_us, &at_us);
	f->is_old = since_us >= 0 && has_date && at_us <= since_us;
	if (f->is_old)
		return file_refuse(f, GETTER_CAUSE_NO_LISTING, "not newer than the last one", err);
	if (since_us >= 0 && !has_date && f->visit->site.ftp)
		return file_refuse(f, GETTER_CAUSE_NO_LISTING, "nobody knows how old it is", err);
	if (head->length >= 0 && head->length <= GETTER_SMALLEST)
		return file_refuse(f, GETTER_CAUSE_SMALL, "too small for a listing", err);
	if (strcmp(head->mime, "text/html") == 0)
		return file_refuse(f, GETTER_CAUSE_NO_LISTING, "a page, not a listing", err);
	return 0;
}

/* Packed, or text that is not marked up. */
static bool looks_like_listing(struct str bytes)
{
	static const struct str magic[] = {STR("\x1f\x8b"), STR("\x1f\x9d"),
					   STR("\xfd"
					       "7zXZ\0")};
	for (size_t i = 0; i < ARRAY_LEN(magic); i++)
		if (str_starts(bytes, magic[i]))
			return true;
	struct str text = str_trim(bytes);
	return !(text.n && text.p[0] == '<') && !memchr(bytes.p, 0, bytes.n);
}

static int file_piece(struct robot_sink *s, struct str bytes, struct err *err)
{
	struct getter_file *f = (struct getter_file *)s;
	f->visit->bytes += bytes.n;
	f->visit->getter->counts.bytes += bytes.n;
	if (f->is_ready && f->n == 0 && !looks_like_listing(bytes))
		return file_refuse(f, GETTER_CAUSE_NO_LISTING, "not a listing", err);
	return getter_file_add(f, bytes, err);
}

static int file_ends(struct robot_sink *s, bool is_complete, struct err *err)
{
	struct getter_file *f = (struct getter_file *)s;
	if (is_complete && f->is_ready && f->n <= GETTER_SMALLEST)
		return file_refuse(f, GETTER_CAUSE_SMALL, "too small for a listing", err);
	return 0;
}

void getter_file_init(struct getter_file *f, struct visit *v)
{
	static const struct robot_sink_ops ops = {file_begins, file_piece, file_ends};
	*f = (struct getter_file){.sink = {&ops}, .visit = v, .file = FILE_INIT};
}
