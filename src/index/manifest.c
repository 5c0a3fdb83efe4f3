#include "index/manifest.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "index/segment_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define MANIFEST_NAME "manifest"
enum {
	MANIFEST_MOST = 16 << 20, /* bytes */
	SEGMENTS_MOST = 64 << 10,
};

static char *path_of(const char *folder, const char *name)
{
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	buf_printf(&b, "%s/%s", folder, name);
	return b.p;
}

char *manifest_path(const char *folder)
{
	return path_of(folder, MANIFEST_NAME);
}

static void segment_name(char ret[64], uint64_t id)
{
	(void)snprintf(ret, 64, "%08" PRIx64 ".words", id);
}

static void deletes_name(char ret[64], uint64_t id, uint64_t generation)
{
	(void)snprintf(ret, 64, "%08" PRIx64 "-%08" PRIx64 ".gone", id, generation);
}

char *segment_file_path(const char *folder, uint64_t id)
{
	char name[64];
	segment_name(name, id);
	return path_of(folder, name);
}

char *deletes_file_path(const char *folder, uint64_t id, uint64_t generation)
{
	char name[64];
	deletes_name(name, id, generation);
	return path_of(folder, name);
}

/* Writing */

static void put_settings(struct buf *b, const struct words_settings *s)
{
	put_text(b, str_of(s->language));
	put_text(b, str_of(s->main));
	put_u8(b, s->by_rank);
	put_varint(b, s->weights);
	for (uint32_t i = 0; i < s->weights; i++) {
		put_text(b, str_of(s->weight[i].name));
		put_u8(b, s->weight[i].weight);
	}
	put_varint(b, s->columns);
	for (uint32_t i = 0; i < s->columns; i++) {
		put_text(b, str_of(s->column[i].name));
		put_u8(b, (uint8_t)s->column[i].type);
	}
}

int manifest_write(const char *folder, const struct manifest *m, struct err *err)
{
	struct buf b = BUF_INIT(MANIFEST_MOST);
	buf_add_text(&b, MANIFEST_MAGIC);
	put_u32le(&b, MANIFEST_VERSION);
	put_u64le(&b, m->generation);
	put_u64le(&b, m->next_id);
	put_settings(&b, &m->settings);
	put_varint(&b, m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct manifest_segment *s = &m->segment[i];
		put_varint(&b, s->id);
		put_varint(&b, s->deletes);
		put_varint(&b, s->bytes);
		put_varint(&b, s->docs);
		put_varint(&b, s->deleted);
	}
	put_u32le(&b, crc32c(0, b.p, b.n));
	char *path = manifest_path(folder);
	int rc = b.over || m->n > SEGMENTS_MOST
			 ? err_set(err, ERR_USAGE, "%s: %zu segments are too many to list; merge",
				   path, m->n)
			 : file_replace(path, buf_str(&b), 0644, err);
	buf_free(&b);
	mem_free(&path);
	return rc;
}

/* Reading */

static bool get_name(struct reader *r, char *ret, size_t room)
{
	struct str s = reader_text(r, room - 1);
	if (r->bad || memchr(s.p, 0, s.n))
		return false;
	memcpy(ret, s.p, s.n);
	ret[s.n] = 0;
	return true;
}

static bool get_settings(struct reader *r, struct words_settings *s)
{
	bool good = get_name(r, s->language, sizeof s->language) &&
		    get_name(r, s->main, sizeof s->main);
	s->by_rank = reader_u8(r) != 0;
	s->weights = (uint32_t)reader_varint(r);
	if (!good || s->weights > WORDS_WEIGHTS_MOST)
		return false;
	for (uint32_t i = 0; i < s->weights; i++) {
		if (!get_name(r, s->weight[i].name, sizeof s->weight[i].name))
			return false;
		s->weight[i].weight = reader_u8(r);
	}
	s->columns = (uint32_t)reader_varint(r);
	if (s->columns > WORDS_COLUMNS_MOST)
		return false;
	for (uint32_t i = 0; i < s->columns; i++) {
		if (!get_name(r, s->column[i].name, sizeof s->column[i].name))
			return false;
		s->column[i].type = reader_u8(r) ? WORDS_DATE : WORDS_NUMBER;
	}
	return !r->bad;
}

static bool get_segments(struct reader *r, struct manifest *m)
{
	uint64_t n = reader_varint(r);
	if (r->bad || n > SEGMENTS_MOST)
		return false;
	m->n = (size_t)n;
	m->segment = mem_array(m->n, sizeof *m->segment);
	for (size_t i = 0; i < m->n && !r->bad; i++) {
		struct manifest_segment *s = &m->segment[i];
		s->id = reader_varint(r);
		s->deletes = reader_varint(r);
		s->bytes = reader_varint(r);
		uint64_t docs = reader_varint(r), deleted = reader_varint(r);
		if (docs > SEGMENT_DOCS_MOST || deleted > docs || s->id >= m->next_id)
			return false;
		s->docs = (uint32_t)docs;
		s->deleted = (uint32_t)deleted;
	}
	return !r->bad;
}

static int parse_manifest(const char *path, struct str bytes, struct manifest *ret, struct err *err)
{
	enum { CRC = 4 };
	struct manifest m = {0};
	struct reader tail = reader_of(str_from(bytes, bytes.n - MIN(bytes.n, (size_t)CRC)));
	if (bytes.n < CRC || reader_u32le(&tail) != crc32c(0, bytes.p, bytes.n - CRC))
		return err_set(err, ERR_DAMAGED,
			       "%s: its checksum is wrong; the index has to be built again", path);
	struct reader r = reader_of(str_head(bytes, bytes.n - CRC));
	bool magic = str_is(reader_bytes(&r, FORMAT_MAGIC), MANIFEST_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (!magic || version != MANIFEST_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "%s: no manifest of version %d; the index has to be built again",
			       path, MANIFEST_VERSION);
	m.generation = reader_u64le(&r);
	m.next_id = reader_u64le(&r);
	if (!get_settings(&r, &m.settings) || !get_segments(&r, &m) || reader_left(&r)) {
		manifest_free(&m);
		return err_set(err, ERR_DAMAGED,
			       "%s: what it says cannot be; the index has to be built again", path);
	}
	*ret = m;
	return 0;
}

static int read_file(const char *path, struct file *ret_file, struct buf *out, struct err *err)
{
	struct file file = FILE_INIT;
	uint64_t size;
	size_t got;
	int rc = file_open(&file, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	rc = file_size(&file, &size, err);
	if (rc == 0 && size > MANIFEST_MOST)
		rc = err_set(err, ERR_DAMAGED, "%s: %" PRIu64 " bytes, at most %d can be", path,
			     size, MANIFEST_MOST);
	if (rc == 0) {
		char *to = buf_room(out, (size_t)size + 1);
		rc = file_read(&file, to, (size_t)size, 0, &got, err);
		if (rc == 0)
			buf_grew(out, got);
	}
	if (rc == 0 && ret_file)
		*ret_file = file;
	else
		file_drop(&file);
	return rc;
}

static int read_manifest(const char *path, struct manifest *ret, struct file *ret_file,
			 struct err *err)
{
	struct buf b = BUF_INIT(MANIFEST_MOST + 1);
	int rc = read_file(path, ret_file, &b, err);
	if (rc == 0) {
		rc = parse_manifest(path, buf_str(&b), ret, err);
		if (rc < 0 && ret_file)
			file_drop(ret_file);
	}
	buf_free(&b);
	return rc;
}

int manifest_read(const char *folder, struct manifest *ret, struct file *ret_file, struct err *err)
{
	char *path = manifest_path(folder);
	int rc = read_manifest(path, ret, ret_file, err);
	mem_free(&path);
	return rc;
}

int manifest_read_file(const char *path, struct manifest *ret, struct err *err)
{
	return read_manifest(path, ret, NULL, err);
}

void manifest_free(struct manifest *m)
{
	mem_free(&m->segment);
	m->n = 0;
}

int manifest_changed(const char *folder, const struct file *file, struct err *err)
{
	char *path = manifest_path(folder);
	struct stat now, then;
	int rc = 0;
	if (stat(path, &now) < 0 || fstat(file->fd, &then) < 0)
		rc = err_sys(err, "%s", path);
	else
		rc = now.st_ino == then.st_ino && now.st_dev == then.st_dev;
	mem_free(&path);
	return rc;
}

/* Sweeping */

static bool is_ours(struct str name)
{
	return str_ends(name, STR(".words")) || str_ends(name, STR(".gone")) ||
	       (str_starts(name, STR(MANIFEST_NAME)) && name.n > sizeof MANIFEST_NAME - 1);
}

static bool is_named(const struct manifest *m, struct str name)
{
	char text[64];
	for (size_t i = 0; i < m->n; i++) {
		segment_name(text, m->segment[i].id);
		if (str_is(name, text))
			return true;
		deletes_name(text, m->segment[i].id, m->segment[i].deletes);
		if (m->segment[i].deletes && str_is(name, text))
			return true;
	}
	return false;
}

int manifest_sweep(const char *folder, const struct manifest *m, struct err *err)
{
	struct dir d;
	const char *name;
	int rc = dir_init(&d, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc >= 0 && dir_next(&d, &name) == 0) {
		if (!is_ours(str_of(name)) || is_named(m, str_of(name)))
			continue;
		char *path = path_of(folder, name);
		rc = file_remove(path, err);
		mem_free(&path);
	}
	dir_done(&d);
	return MIN(rc, 0);
}
