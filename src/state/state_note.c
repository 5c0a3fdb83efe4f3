#include "state/state_note.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"

enum { VERSION = 1, HEAD = FORMAT_MAGIC + 8 };

int note_write(const char *path, const char *magic, struct str text, struct err *err)
{
	struct buf b = BUF_INIT(NOTE_MOST + HEAD);
	buf_add_text(&b, magic);
	put_u32le(&b, VERSION);
	put_u32le(&b, crc32c(0, text.p, text.n));
	buf_add_str(&b, text);
	ENSURE(!b.over);
	int rc = file_replace(path, buf_str(&b), 0644, err);
	buf_free(&b);
	return rc;
}

static int parse(struct str bytes, const char *magic, const char *path, struct str *ret,
		 struct err *err)
{
	struct reader r = reader_of(bytes);
	struct str begin = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), crc = reader_u32le(&r);
	struct str text = reader_bytes(&r, reader_left(&r));
	if (r.bad || version != VERSION || !str_is(begin, magic) ||
	    crc != crc32c(0, text.p, text.n))
		return err_set(err, ERR_DAMAGED, "%s: damaged, its checksum does not fit", path);
	*ret = text;
	return 0;
}

int note_read(const char *path, const char *magic, struct arena *arena, struct str *ret,
	      struct err *err)
{
	struct buf b = BUF_INIT(NOTE_MOST + HEAD);
	struct str text;
	int rc = file_slurp(path, &b, err);
	if (rc == 0)
		rc = parse(buf_str(&b), magic, path, &text, err);
	if (rc == 0)
		*ret = arena_str(arena, text);
	buf_free(&b);
	return rc;
}

struct str note_get(struct str text, const char *name)
{
	struct str line, word;
	while (str_cut(&text, '\n', &line) == 0)
		if (str_cut(&line, ' ', &word) == 0 && str_is(word, name))
			return line.p ? line : STR("");
	return (struct str){NULL, 0};
}

bool note_u64(struct str text, const char *name, uint64_t *ret)
{
	struct str value = note_get(text, name);
	return value.p && str_u64(value, ret);
}

static int load(const char *path, const char *magic, struct arena *arena, struct str *ret,
		struct err *err)
{
	int rc = note_read(path, magic, arena, ret, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

int note_print(const char *path, const char *magic, void (*emit)(void *ctx, struct str), void *ctx,
	       struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct str text;
	int rc = load(path, magic, &arena, &text, err);
	if (rc == 0)
		emit(ctx, text);
	arena_free(&arena);
	return rc;
}

int note_verify(const char *path, const char *magic, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct str text;
	int rc = load(path, magic, &arena, &text, err);
	arena_free(&arena);
	return rc;
}
