/* Imports descriptions. Old and new ones are put into one list in the order in which they came; a
 * stable sort by name groups them, and the last description of each name counts. */
#include "archie/whatis.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/vec.h"
#include "disk/lock.h"

#include <limits.h>
#include <stdlib.h>

enum { FILE_MODE = 0640 };

enum form { FORM_UNKNOWN, FORM_TAB, FORM_PACKAGES, FORM_WHATIS };

struct description {
	struct str name, text;
	size_t order;
	bool new;
};

struct whatis_import {
	char *folder;
	struct arena arena;
	enum form form;
	uint64_t line;
	struct str package; /* of the stanza; empty: none yet */
	struct description *item;
	size_t n, room;
	uint64_t bytes;
	struct whatis_result result;
};

struct whatis_import *whatis_import_new(const char *folder)
{
	struct whatis_import *w = mem_alloc(sizeof *w);
	*w = (struct whatis_import){.folder = mem_text(folder), .arena = ARENA_INIT(SIZE_MAX)};
	return w;
}

void whatis_import_free(struct whatis_import **wp)
{
	struct whatis_import *w = *wp;
	if (!w)
		return;
	arena_free(&w->arena);
	mem_free(&w->item);
	mem_free(&w->folder);
	mem_free(wp);
}

static void note_bad(struct whatis_import *w)
{
	if (w->result.bad < WHATIS_BAD_KEPT)
		w->result.bad_line[w->result.bad] = w->line;
	w->result.bad++;
}

/* On one line: what is a control character is a blank, or nothing at the ends. */
static struct str copy_clean(struct arena *arena, struct str text)
{
	text = str_trim(text);
	char *p = arena_text(arena, text);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
			p[i] = ' ';
	return (struct str){p, text.n};
}

/* 1: there is no name to speak of. */
static int add_description(struct whatis_import *w, struct str name, struct str text, bool new,
			   struct err *err)
{
	name = str_trim(name);
	text = str_utf8_head(str_trim(text), WHATIS_TEXT_MOST);
	if (name.n == 0 || name.n > WHATIS_NAME_MOST)
		return 1;
	w->bytes += name.n + text.n + 2;
	if (w->bytes > WHATIS_FILE_MOST)
		return err_set(err, ERR_USAGE,
			       "%s/whatis: more than %d MiB of descriptions, nothing is taken",
			       w->folder, WHATIS_FILE_MOST >> 20);
	*VEC_PUSH(w->item, w->n, w->room) =
		(struct description){.name = copy_clean(&w->arena, name),
				     .text = copy_clean(&w->arena, text),
				     .order = w->n,
				     .new = new};
	w->result.read += new;
	return 0;
}

/* "ls (1)   - list directory contents"; *ret_names is "ls". */
static bool cut_whatis(struct str line, struct str *ret_names, struct str *ret_text)
{
	size_t open = str_find(line, STR(" ("));
	struct str rest = str_from(line, open + 2);
	size_t close = str_find_byte(rest, ')');
	if (open == 0 || open == line.n || close == 0 || close > 16 || close == rest.n ||
	    rest.p[0] < '0' || (rest.p[0] > '9' && rest.p[0] != 'l' && rest.p[0] != 'n'))
		return false;
	struct str after = str_trim(str_from(rest, close + 1));
	if (!str_starts(after, STR("- ")))
		return false;
	*ret_names = str_head(line, open);
	*ret_text = str_from(after, 2);
	return true;
}

static enum form form_of(struct str line)
{
	struct str names, text;
	if (str_starts(line, STR("Package:")))
		return FORM_PACKAGES;
	if (str_find_byte(line, '\t') < line.n)
		return FORM_TAB;
	return cut_whatis(line, &names, &text) ? FORM_WHATIS : FORM_UNKNOWN;
}

static int take_tab(struct whatis_import *w, struct str line, struct err *err)
{
	size_t tab = str_find_byte(line, '\t');
	if (tab == line.n)
		return 1;
	return add_description(w, str_head(line, tab), str_from(line, tab + 1), true, err);
}

/* Fields other than these two, and further lines of them, say nothing here. */
static int take_packages(struct whatis_import *w, struct str line, struct err *err)
{
	static const struct str package = {"Package:", 8}, text = {"Description:", 12};
	if (str_starts(line, package)) {
		w->package = copy_clean(&w->arena, str_from(line, package.n));
		return w->package.n ? 0 : 1;
	}
	if (!str_starts(line, text))
		return 0;
	if (w->package.n == 0)
		return 1;
	struct str name = w->package;
	w->package = STR("");
	return add_description(w, name, str_from(line, text.n), true, err);
}

static int take_whatis(struct whatis_import *w, struct str line, struct err *err)
{
	struct str names, text, name;
	int rc = 0;
	if (!cut_whatis(line, &names, &text))
		return 1;
	while (rc == 0 && str_cut(&names, ',', &name) == 0)
		rc = add_description(w, name, text, true, err);
	return rc;
}

int whatis_import_line(struct whatis_import *w, struct str line, struct err *err)
{
	static int (*const take[])(struct whatis_import *, struct str, struct err *) = {
		[FORM_TAB] = take_tab,
		[FORM_PACKAGES] = take_packages,
		[FORM_WHATIS] = take_whatis,
	};
	w->line++;
	if (str_trim(line).n == 0) {
		w->package = STR(""); /* the end of a stanza */
		return 0;
	}
	if (w->form == FORM_UNKNOWN)
		w->form = form_of(line);
	if (w->form == FORM_UNKNOWN)
		return err_set(err, ERR_USAGE,
			       "line %llu: neither name, TAB, description, nor a Package: of "
			       "Debian's Packages, nor what whatis(1) prints",
			       (unsigned long long)w->line);
	int rc = line.n > WHATIS_LINE_MOST ? 1 : take[w->form](w, line, err);
	if (rc == 1)
		note_bad(w);
	return MIN(rc, 0);
}

/* The end */

static int by_name(const void *a, const void *b)
{
	const struct description *x = a, *y = b;
	int c = str_cmp(x->name, y->name);
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* Lines of the file come before all that was imported. A line without a TAB is a name. */
static int read_old(struct whatis_import *w, const char *path, struct buf *bytes, struct err *err)
{
	struct str rest, line;
	size_t imported = w->n;
	int rc = file_slurp(path, bytes, err);
	if (rc)
		return MIN(rc, 0);
	rest = buf_str(bytes);
	while (rc >= 0 && str_cut(&rest, '\n', &line) == 0) {
		size_t tab = str_find_byte(line, '\t');
		rc = add_description(w, str_head(line, tab), str_from(line, tab + 1), false, err);
	}
	for (size_t i = 0; i < imported; i++)
		w->item[i].order += w->n;
	return MIN(rc, 0);
}

/* Of one name the last counts; what it says of it is counted. */
static void write_new(struct whatis_import *w, struct buf *out)
{
	if (w->n)
		qsort(w->item, w->n, sizeof *w->item, by_name);
	for (size_t i = 0; i < w->n;) {
		const struct description *first = &w->item[i], *last = first;
		while (++i < w->n && str_eq(w->item[i].name, first->name))
			last = &w->item[i];
		w->result.names++;
		w->result.added += first->new;
		w->result.replaced += !first->new && last->new && !str_eq(last->text, first->text);
		buf_add_str(out, last->name);
		if (last->text.n) {
			buf_add_byte(out, '\t');
			buf_add_str(out, last->text);
		}
		buf_add_byte(out, '\n');
	}
}

static int merge_with_file(struct whatis_import *w, const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf old = BUF_INIT(WHATIS_FILE_MOST);
	CLEANUP(buf_free) struct buf new = BUF_INIT(2UL * WHATIS_FILE_MOST);
	if (read_old(w, path, &old, err) < 0)
		return -1;
	write_new(w, &new);
	if (str_eq(buf_str(&old), buf_str(&new)))
		return 0;
	FAULT("whatis.replace");
	return file_replace(path, buf_str(&new), FILE_MODE, err);
}

int whatis_import_end(struct whatis_import *w, struct whatis_result *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct lock lock;
	buf_printf(&path, "%s/whatis", w->folder);
	if (path.over)
		return err_set(err, ERR_USAGE, "%s: the path is too long", w->folder);
	if (dir_make(w->folder, DIR_MODE, err) < 0 || lock_take(&lock, w->folder, err) < 0)
		return -1;
	int rc = merge_with_file(w, buf_text(&path), err);
	lock_free(&lock);
	if (rc == 0)
		*ret = w->result;
	return rc;
}
