/* Descriptions of what names mean, found by a look at every line: there are some ten thousand. */
#include "index/names/names_inner.h"

#include "base/file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { WHATIS_MOST = 256 << 20, PIECE = 1 << 20 };

static struct names_description description_of(struct str line, struct arena *arena)
{
	struct str kept = arena_str(arena, line);
	size_t tab = str_find_byte(kept, '\t');
	return (struct names_description){
		.name = str_head(kept, tab),
		.text = tab < kept.n ? str_from(kept, tab + 1) : STR(""),
	};
}

struct whatis {
	struct str pattern; /* folded */
	uint64_t most;
	struct arena *arena;
	struct names_description *found;
	size_t n, room;
};

/* The whole lines of a text. Returns the bytes that they take. */
static size_t look_at_lines(struct whatis *w, struct str text, char *folded, bool last)
{
	size_t done = 0;
	str_lower(text, folded);
	while (done < text.n && (!w->most || w->n < w->most)) {
		struct str rest = str_from(text, done);
		size_t end = str_find_byte(rest, '\n');
		if (end == rest.n && !last)
			break;
		struct str line = str_head(rest, end), low = {folded + done, end};
		if (line.n && (!w->pattern.n || str_find(low, w->pattern) < low.n))
			*ARENA_PUSH(w->arena, w->found, w->n, w->room) =
				description_of(line, w->arena);
		done += MIN(end + 1, rest.n);
	}
	return done;
}

static int read_whatis(struct whatis *w, const struct file *f, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(PIECE + NAMES_NAME_MOST * 2);
	CLEANUP(buf_free) struct buf folded = BUF_INIT(PIECE + NAMES_NAME_MOST * 2);
	uint64_t at = 0;
	size_t n = 0;
	do {
		char *to = buf_room(&text, PIECE);
		if (!to)
			return err_set(err, ERR_DAMAGED,
				       "%s: a line at byte %" PRIu64 " has more than %d bytes",
				       f->path, at - text.n, NAMES_NAME_MOST * 2);
		if (file_read(f, to, PIECE, at, &n, err) < 0)
			return -1;
		buf_grew(&text, n);
		at += n;
		buf_clear(&folded);
		char *low = buf_room(&folded, text.n);
		ENSURE(low);
		size_t done = look_at_lines(w, buf_str(&text), low, n < PIECE);
		memmove(text.p, text.p + done, text.n - done);
		text.n -= done;
	} while (n == PIECE && at < WHATIS_MOST && (!w->most || w->n < w->most));
	return 0;
}

int names_whatis(const char *folder, struct str pattern, uint64_t most, struct arena *arena,
		 struct names_description **ret, size_t *ret_n, struct err *err)
{
	struct file f = FILE_INIT;
	char path[PATH_MAX];
	struct whatis w = {.most = most, .arena = arena};
	char *low = arena_alloc(arena, pattern.n + 1);
	str_lower(pattern, low);
	w.pattern = (struct str){low, pattern.n};
	if (snprintf(path, sizeof path, "%s/whatis", folder) >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "%s: its name is too long", folder);
	int rc = file_open_plain(&f, path, err);
	if (rc == 0)
		rc = read_whatis(&w, &f, err);
	file_drop(&f);
	if (rc == 0) {
		*ret = w.found;
		*ret_n = w.n;
	}
	return rc;
}
