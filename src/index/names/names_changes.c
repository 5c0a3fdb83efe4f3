/* What changed after a generation, for those who follow the sites: directories that went away, from
 * the files that remember them, then those of which the files changed, from the pages files. */
#include "index/names/names_store.h"

#include <inttypes.h>

struct names_changes {
	struct names_reader *r;
	uint64_t after;
	/* what went away */
	size_t gone, part; /* file and part */
	struct names_gone parts;
	struct str gone_rest;
	/* what is there */
	bool there;
	size_t site;
	struct str runs;
	struct names_dir_run run;
	uint64_t dir; /* the next */
};

static int changes_unknown(const struct names_reader *r, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: what changed is not known: %s", r->folder,
		       r->problem ? r->problem : "its pages are lost");
}

int names_changes_open(struct names_changes **ret, struct names_reader *r, uint64_t after,
		       struct err *err)
{
	for (size_t i = 0; i < r->sites; i++)
		if (!names_parts_pages(r->parts[i]))
			return changes_unknown(r, err);
	if (names_identity(r) == 0)
		return changes_unknown(r, err);
	struct names_changes *c = mem_alloc(sizeof *c);
	c->r = names_hold(r);
	c->after = after;
	*ret = c;
	return 0;
}

void names_changes_close(struct names_changes **cp)
{
	struct names_changes *c = *cp;
	if (!c)
		return;
	names_gone_free(&c->parts);
	names_close(&c->r);
	mem_free(cp);
}

/* Gone */

/* The parts of the next file that may have some. 1: no more. */
static int gone_load(struct names_changes *c, struct err *err)
{
	const struct names_manifest *m = names_reader_manifest(c->r);
	while (c->gone < m->gones && m->gone[c->gone].generation <= c->after)
		c->gone++;
	if (c->gone == m->gones)
		return 1;
	struct page_file *f = names_reader_gone(c->r, c->gone);
	names_gone_free(&c->parts);
	c->part = 0;
	if (!f || names_gone_parse(f, &c->parts, err) < 0)
		return err_set(err, ERR_DAMAGED, "names/%" PRIu64 "/gone: it cannot be read",
			       m->gone[c->gone].generation);
	c->gone++;
	return 0;
}

/* 1: no more. */
static int gone_next(struct names_changes *c, struct arena *arena, struct names_change *ret,
		     struct err *err)
{
	struct names_gone_dir d;
	for (;;) {
		int rc = c->part ? names_gone_next(&c->gone_rest, &d, err) : 1;
		if (rc == 0) {
			const struct names_gone_part *p = &c->parts.part[c->part - 1];
			*ret = (struct names_change){.key = arena_str(arena, p->key),
						     .url = arena_str(arena, p->url),
						     .dir = arena_str(arena, d.dir),
						     .gone = true,
						     .generation = p->generation,
						     .site = UINT32_MAX,
						     .files_left = d.left,
						     .files_was = d.was};
			return 0;
		}
		while (rc == 1 && c->part == c->parts.n)
			if ((rc = gone_load(c, err)) != 0)
				return rc;
			else
				rc = 1;
		if (rc < 0)
			return -1;
		const struct names_gone_part *next = &c->parts.part[c->part++];
		c->gone_rest = next->generation > c->after ? next->dirs : STR("");
	}
}

/* Changed */

/* The next site of which something may have changed. 1: no more. */
static int site_begin(struct names_changes *c)
{
	while (c->site < c->r->sites && c->r->site[c->site].generation <= c->after)
		c->site++;
	if (c->site == c->r->sites)
		return 1;
	c->runs = names_parts_pages(c->r->parts[c->site])->runs;
	c->run.n = c->dir = 0;
	return 0;
}

static int dir_tell(struct names_changes *c, struct arena *arena, struct names_change *ret,
		    struct err *err)
{
	const struct names_site *s = &c->r->site[c->site];
	struct str dir;
	if (names_parts_dir(c->r->parts[c->site], c->dir, arena, &dir, err) < 0)
		return -1;
	*ret = (struct names_change){.key = s->key,
				     .url = s->url,
				     .dir = dir,
				     .generation = c->run.generation,
				     .site = (uint32_t)c->site,
				     .dir_number = c->dir};
	c->dir++;
	c->run.n--;
	return 0;
}

static int there_next(struct names_changes *c, struct arena *arena, struct names_change *ret,
		      struct err *err)
{
	if (!c->there && site_begin(c) != 0)
		return 1;
	c->there = true;
	for (;;) {
		if (c->run.n && c->run.generation > c->after)
			return dir_tell(c, arena, ret, err);
		c->dir += c->run.n;
		int rc = names_pages_next_run(&c->runs, c->r->site[c->site].generation, &c->run,
					      err);
		if (rc == 1) {
			c->site++;
			if (site_begin(c) != 0)
				return 1;
		}
		if (rc < 0)
			return -1;
	}
}

int names_changes_next(struct names_changes *c, struct arena *arena, struct names_change *ret,
		       struct err *err)
{
	int rc = c->there ? 1 : gone_next(c, arena, ret, err);
	if (rc != 1)
		return rc;
	if (c->there && c->site == c->r->sites)
		return 1;
	return there_next(c, arena, ret, err);
}

int names_dir_find(struct names_reader *r, uint32_t site, struct str dir, uint64_t *ret_number,
		   struct err *err)
{
	if (site >= r->sites)
		return 1;
	struct buf escaped = BUF_INIT((size_t)2 * NAMES_NAME_MOST);
	names_escape(dir, &escaped);
	int rc = escaped.over ? 1
			      : names_parts_dir_number(r->parts[site], buf_str(&escaped),
						       ret_number, err);
	buf_free(&escaped);
	return rc;
}

int names_dir_next(struct names_reader *r, uint32_t site, uint64_t dir_number, uint64_t *line,
		   struct arena *arena, struct names_entry *ret, struct err *err)
{
	if (site >= r->sites)
		return 1;
	int rc = names_parts_dir_line(r->parts[site], dir_number, line, err);
	if (rc == 0)
		rc = names_get(r, site, *line, arena, ret, err);
	if (rc == 0)
		++*line;
	return rc;
}
