/* What a commit does to the directories of a site: those whose files are the same keep the
 * generation in which they last changed, and those that went away are remembered.
 *
 * The old files are read once more from their parts, which takes a tenth of what building them
 * takes; a hash for each directory on disk would be a fiftieth of the index. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "index/names/names_writer.h"

#include <inttypes.h>

struct old_site {
	struct names_parts *parts;
	struct names_dir_sum *sum;
	uint64_t *generation;
	uint64_t dirs;
};

static void old_free(struct old_site *o)
{
	mem_free(&o->sum);
	mem_free(&o->generation);
}

/* One line of index and of data. */
static int old_add(struct old_site *o, const char *data, struct str index, struct err *err)
{
	struct names_entry e;
	uint64_t dir;
	if (!names_line_get(data, &e, &dir) || dir >= o->dirs)
		return err_set(err, ERR_DAMAGED, "the old data cannot be read");
	o->sum[dir].hash += names_file_hash(data, index);
	o->sum[dir].files++;
	return 0;
}

static int old_add_lines(struct old_site *o, struct str index, uint64_t from, uint64_t lines,
			 struct err *err)
{
	struct str data, line;
	if (page_get(o->parts->part[NAMES_DATA], from * NAMES_LINE_BYTES,
		     (size_t)lines * NAMES_LINE_BYTES, &data, err) < 0)
		return -1;
	for (uint64_t i = 0; i < lines; i++)
		if (str_cut(&index, '\n', &line) != 0 ||
		    old_add(o, data.p + i * NAMES_LINE_BYTES, line, err) < 0)
			return err_set(err, ERR_DAMAGED, "the old index cannot be read");
	return 0;
}

static int old_sum(struct old_site *o, struct err *err)
{
	struct str index;
	uint64_t lines;
	int rc;
	for (uint64_t at = 0;
	     (rc = names_parts_scan(o->parts, NAMES_INDEX, at, &index, &lines, err)) == 0;
	     at += lines)
		if (old_add_lines(o, index, at, lines, err) < 0)
			return -1;
	return MIN(rc, 0);
}

static int old_generations(struct old_site *o, const struct names_pages *pages, struct err *err)
{
	struct names_dir_run run;
	struct str rest = pages->runs;
	uint64_t dir = 0;
	int rc;
	while ((rc = names_pages_next_run(&rest, pages->about.generation, &run, err)) == 0)
		for (uint64_t i = 0; i < run.n && dir < o->dirs; i++)
			o->generation[dir++] = run.generation;
	if (rc == 1 && dir < o->dirs)
		rc = err_set(err, ERR_DAMAGED, "the old pages cannot be read");
	return MIN(rc, 0);
}

static int old_load(struct old_site *o, struct names_parts *parts, struct err *err)
{
	const struct names_pages *pages = names_parts_pages(parts);
	*o = (struct old_site){.parts = parts, .dirs = names_parts_dirs(parts)};
	if (!pages)
		return err_set(err, ERR_DAMAGED, "the old pages are lost");
	o->sum = mem_array((size_t)o->dirs + 1, sizeof *o->sum);
	o->generation = mem_array((size_t)o->dirs + 1, sizeof *o->generation);
	return old_generations(o, pages, err) < 0 ? -1 : old_sum(o, err);
}

static void compared_add_gone(struct names_compared *c, struct str dir, uint64_t left, uint64_t was)
{
	put_text(&c->gone, dir);
	put_varint(&c->gone, left);
	put_varint(&c->gone, was);
	c->gones++;
	if (c->gone.over)
		c->unknown = true;
}

static uint64_t parts_of(uint64_t files)
{
	return (files + NAMES_DIR_PART - 1) / NAMES_DIR_PART;
}

/* One directory of the old site. */
static void compare_dir(const struct old_site *o, uint64_t number, struct str dir,
			const struct names_parts_writer *now, uint64_t *generation,
			struct names_compared *c)
{
	struct names_dir_sum sum = {0}, was = o->sum[number];
	uint64_t at = 0;
	bool gone = !now || names_parts_find_dir(now, dir, &at, &sum) != 0;
	if (parts_of(sum.files) < parts_of(was.files))
		compared_add_gone(c, dir, sum.files, was.files);
	if (!gone && sum.hash == was.hash && sum.files == was.files)
		generation[at] = o->generation[number];
}

static int compare_dirs(struct old_site *o, const struct names_parts_writer *now,
			uint64_t *generation, struct names_compared *c, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	int rc = 0;
	for (uint64_t at = 0; at < o->dirs && rc == 0; at += NAMES_DIREC_EVERY) {
		struct str s, line;
		uint64_t n = MIN(o->dirs - at, (uint64_t)NAMES_DIREC_EVERY);
		rc = names_lines_get(o->parts, NAMES_DIREC, at / NAMES_DIREC_EVERY, 1, &s, err);
		for (uint64_t i = 0; i < n && rc == 0; i++) {
			if (str_cut(&s, '\n', &line) != 0)
				rc = err_set(err, ERR_DAMAGED, "the old direc cannot be read");
			else
				compare_dir(o, at + i, names_unescape(line, &arena), now,
					    generation, c);
		}
		arena_clear(&arena);
	}
	arena_free(&arena);
	return rc;
}

static void runs_make(const uint64_t *generation, uint64_t dirs, struct names_dir_runs *d)
{
	for (uint64_t i = 0; i < dirs; i++) {
		if (d->n && d->run[d->n - 1].generation == generation[i]) {
			d->run[d->n - 1].n++;
			continue;
		}
		*VEC_PUSH(d->run, d->n, d->room) = (struct names_dir_run){1, generation[i]};
	}
}

static struct names_compared compared_new(void)
{
	return (struct names_compared){.gone = BUF_INIT(NAMES_GONE_BYTES_MOST)};
}

/* Whatever is wrong with the old parts is no reason not to build new ones: then all is new, and
 * those who follow begin again. */
static void compared_forget(struct names_compared *c)
{
	names_compared_free(c);
	*c = compared_new();
	c->unknown = true;
}

int names_compare(struct names_parts *old, const struct names_parts_writer *now,
		  uint64_t generation, struct names_compared *ret, struct err *err)
{
	struct names_compared c = compared_new();
	uint64_t dirs;
	(void)names_parts_written(now, &dirs);
	uint64_t *of = mem_array((size_t)dirs + 1, sizeof *of);
	for (uint64_t i = 0; i < dirs; i++)
		of[i] = generation;
	int rc = 0;
	if (old) {
		struct old_site o;
		rc = old_load(&o, old, err);
		if (rc == 0)
			rc = compare_dirs(&o, now, of, &c, err);
		old_free(&o);
	}
	if (rc < 0 && err->code == ERR_DAMAGED) {
		compared_forget(&c);
		for (uint64_t i = 0; i < dirs; i++)
			of[i] = generation;
		rc = 0;
	}
	runs_make(of, dirs, &c.runs);
	mem_free(&of);
	if (rc < 0)
		names_compared_free(&c);
	else
		*ret = c;
	return rc;
}

int names_compare_gone(struct names_parts *old, struct names_compared *ret, struct err *err)
{
	struct names_compared c = compared_new();
	struct old_site o;
	int rc = old_load(&o, old, err);
	if (rc == 0)
		rc = compare_dirs(&o, NULL, NULL, &c, err);
	old_free(&o);
	if (rc < 0)
		compared_forget(&c);
	*ret = c;
	return 0;
}

void names_compared_free(struct names_compared *c)
{
	mem_free(&c->runs.run);
	buf_free(&c->gone);
	*c = (struct names_compared){0};
}

/* Remembering */

static void gone_drop_first(struct names_manifest *m)
{
	m->forgotten = MAX(m->forgotten, m->gone[0].generation);
	m->gones--;
	memmove(m->gone, m->gone + 1, m->gones * sizeof *m->gone);
}

static uint64_t gone_total(const struct names_manifest *m)
{
	uint64_t n = 0;
	for (size_t i = 0; i < m->gones; i++)
		n += m->gone[i].dirs;
	return n;
}

/* All that is remembered, as one list of parts; the files stay open in `file`. */
struct gone_list {
	struct page_file **file;
	size_t files;
	struct names_gone_part *part;
	size_t n, room;
};

static void gone_list_free(struct gone_list *l)
{
	for (size_t i = 0; i < l->files; i++)
		page_close(&l->file[i]);
	mem_free(&l->file);
	mem_free(&l->part);
}

static void gone_list_read(const struct names_writer *w, struct names_manifest *m,
			   struct gone_list *l)
{
	struct err ignored;
	l->file = mem_array(m->gones + 1, sizeof(struct page_file *));
	for (size_t i = 0; i < m->gones; i++) {
		struct names_gone g = {0};
		char *path = names_generation_path(w->folder, m->gone[i].generation, "gone");
		int rc = page_open(&l->file[l->files], path, &ignored);
		mem_free(&path);
		l->files += rc == 0;
		if (rc != 0 || names_gone_parse(l->file[l->files - 1], &g, &ignored) < 0)
			m->forgotten = MAX(m->forgotten, m->gone[i].generation);
		for (size_t k = 0; k < g.n; k++)
			*VEC_PUSH(l->part, l->n, l->room) = g.part[k];
		names_gone_free(&g);
	}
}

/* The oldest parts go until the others are young and few enough; returns how many went. */
static size_t gone_list_cut(const struct gone_list *l, struct names_manifest *m, int64_t oldest_s)
{
	uint64_t total = 0, bytes = 0;
	size_t from = l->n;
	while (from > 0) {
		const struct names_gone_part *p = &l->part[from - 1];
		total += p->n;
		bytes += p->dirs.n + p->key.n + p->url.n + 64;
		if (total > NAMES_GONE_MOST || p->time_s < oldest_s ||
		    bytes > NAMES_GONE_BYTES_MOST - 64)
			break;
		from--;
	}
	for (size_t i = 0; i < from; i++)
		m->forgotten = MAX(m->forgotten, l->part[i].generation);
	return from;
}

static int gone_write(struct names_writer *w, const struct names_manifest *m,
		      const struct names_gone_part *part, size_t n, struct err *err)
{
	if (names_writer_folder(w, m->generation, err) < 0)
		return -1;
	char *path = names_generation_path(w->folder, m->generation, "gone");
	int rc = names_gone_write(path, part, n, err);
	mem_free(&path);
	FAULT("names.gone");
	return rc;
}

static void gone_push(struct names_manifest *m, uint64_t dirs, int64_t now_s)
{
	size_t room = m->gones;
	*ARENA_PUSH(&m->arena, m->gone, m->gones, room) =
		(struct names_manifest_gone){m->generation, dirs, now_s};
}

/* The files become one, with the new part at its end. */
static int gone_join(struct names_writer *w, struct names_manifest *m,
		     const struct names_gone_part *fresh, int64_t oldest_s, struct err *err)
{
	struct gone_list l = {0};
	uint64_t dirs = 0;
	gone_list_read(w, m, &l);
	*VEC_PUSH(l.part, l.n, l.room) = *fresh;
	size_t from = gone_list_cut(&l, m, oldest_s);
	for (size_t i = from; i < l.n; i++)
		dirs += l.part[i].n;
	m->gones = 0;
	int rc = 0;
	if (from < l.n) {
		rc = gone_write(w, m, l.part + from, l.n - from, err);
		gone_push(m, dirs, fresh->time_s);
	}
	gone_list_free(&l);
	return rc;
}

int names_remember(struct names_writer *w, struct names_manifest *m, const struct names_about *old,
		   const struct names_compared *c, struct err *err)
{
	int64_t now_s = clock_wall_us() / US_PER_S;
	int64_t oldest_s = now_s - NAMES_GONE_DAYS * (US_PER_DAY / US_PER_S);
	while (m->gones && m->gone[0].newest_s < oldest_s)
		gone_drop_first(m);
	if (c->unknown)
		m->forgotten = m->generation;
	if (c->unknown || c->gones == 0)
		return 0;
	struct names_gone_part part = {.key = old->key,
				       .url = old->url,
				       .generation = m->generation,
				       .time_s = now_s,
				       .dirs = buf_str(&c->gone),
				       .n = c->gones};
	if (m->gones >= NAMES_GONE_FILES || gone_total(m) + c->gones > NAMES_GONE_MOST)
		return gone_join(w, m, &part, oldest_s, err);
	if (gone_write(w, m, &part, 1, err) < 0)
		return -1;
	gone_push(m, c->gones, now_s);
	return 0;
}
