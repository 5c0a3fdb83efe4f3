/* The files of a names index for people, and their verifiers. The parts are plain text without any
 * mark in it: they are known by where they lie, and verified by the pages file that the manifest
 * names. */
#include "base/cursor.h"
#include "index/names/names_segment_inner.h"
#include "index/names/names_store.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES_REMEDY                                                                              \
	"names are scanned meanwhile; the next garner archie build, or index names build, mends " \
	"what it can from the parts"
#define PART_REMEDY "build the site again: garner archie get, then garner archie build"

/* The manifest */

static void print_site(const struct names_manifest_site *s, struct buf *out)
{
	const struct names_about *a = &s->about;
	buf_printf(out,
		   "site " STR_FMT ": generation %" PRIu64 ", %" PRIu64 " files in %" PRIu64
		   " directories, listed %" PRId64 ", built %" PRId64 "%s, pages %08" PRIx32
		   ", " STR_FMT "\n",
		   STR_ARG(a->key), a->generation, a->entries, a->dirs, a->listed_s, a->built_s,
		   a->by_hand ? ", by hand" : "", s->pages_sum, STR_ARG(a->url));
}

static void print_layer(const struct names_manifest *m, const struct names_manifest_layer *l,
			struct buf *out)
{
	buf_printf(out,
		   "segment of generation %" PRIu64 ": %" PRIu32 " files, %" PRIu64
		   " of them hidden, %" PRIu64 " bytes; generations:",
		   l->generation, l->entries, names_manifest_hidden(m, l), l->bytes);
	for (size_t i = 0; i < l->spans; i++)
		buf_printf(out, " %" PRIu64 " (%" PRIu32 ")", l->span[i].generation, l->span[i].n);
	buf_add_byte(out, '\n');
}

static int print_manifest(const char *path, struct printer *p, struct err *err)
{
	struct names_manifest m;
	int rc = names_manifest_read_file(path, &m, err);
	if (rc != 0)
		return rc;
	buf_printf(&p->out,
		   "identity %016" PRIx64 ", generation %" PRIu64 ", forgotten up to %" PRIu64 "\n",
		   m.identity, m.generation, m.forgotten);
	for (size_t i = 0; i < m.sites; i++) {
		print_site(&m.site[i], &p->out);
		printer_step(p);
	}
	for (size_t i = 0; i < m.layers; i++)
		print_layer(&m, &m.layer[i], &p->out);
	for (size_t i = 0; i < m.gones; i++)
		buf_printf(&p->out,
			   "gone in generation %" PRIu64 ": %" PRIu64
			   " directories, the newest at %" PRId64 "\n",
			   m.gone[i].generation, m.gone[i].dirs, m.gone[i].newest_s);
	for (size_t i = 0; i < m.removeds; i++)
		buf_printf(&p->out, "removed " STR_FMT "\n", STR_ARG(m.removed[i]));
	for (size_t i = 0; i < m.losts; i++)
		buf_printf(&p->out, "lost " STR_FMT ": " STR_FMT "\n", STR_ARG(m.lost[i].key),
			   STR_ARG(m.lost[i].why));
	names_manifest_free(&m);
	return 0;
}

const struct format names_manifest_format = {
	.name = "names-manifest",
	.file = "names/manifest",
	.magic = "GARNERNM",
	.version = 1,
	.help = "which sites and segments a names index has",
	.remedy = NAMES_REMEDY,
	.print = print_manifest,
};

/* Segments */

static int print_forms(struct names_walk *w, struct printer *p, struct err *err)
{
	uint32_t forms = w->forms;
	for (uint32_t i = 0; i < forms; i++) {
		struct names_form f;
		if (names_form_get(w, i, &f, err) < 0)
			return -1;
		names_escape(f.text, &p->out);
		buf_printf(&p->out, "\t%" PRIu32 "\n", f.entries);
	}
	printer_step(p);
	return 0;
}

static int print_segment(const char *path, struct printer *p, struct err *err)
{
	struct names_segment *s = NULL;
	struct names_walk w;
	int rc = names_segment_open(&s, path, err);
	if (rc != 0)
		return rc;
	const struct names_segment_info *info = names_segment_info(s);
	buf_printf(&p->out,
		   "%" PRIu32 " files, %" PRIu32 " names, %" PRIu32 " when folded, %" PRIu32
		   " trigrams\n",
		   info->entries, info->forms, info->names, info->trigrams);
	rc = names_walk_begin(&w, s, 0, err);
	if (rc == 0) {
		while ((rc = names_walk_next(&w, err)) == 0)
			if ((rc = print_forms(&w, p, err)) < 0)
				break;
		names_walk_end(&w);
	}
	names_segment_close(&s);
	return MIN(rc, 0);
}

static int verify_segment(const char *path, struct err *err)
{
	struct names_segment *s = NULL;
	int rc = names_segment_open(&s, path, err);
	if (rc == 0)
		rc = names_segment_verify(s, err);
	names_segment_close(&s);
	return rc;
}

const struct format names_segment_format = {
	.name = "names-segment",
	.file = "names/[0-9]*/segment",
	.magic = NAMES_SEGMENT_MAGIC,
	.version = NAMES_SEGMENT_VERSION,
	.help = "a segment of a names index: names, their files, trigrams",
	.remedy = NAMES_REMEDY,
	.print = print_segment,
	.verify = verify_segment,
};

/* Pages */

static int print_runs(const struct names_pages *pages, struct printer *p, struct err *err)
{
	struct str rest = pages->runs;
	struct names_dir_run run;
	uint64_t dir = 0;
	int rc;
	while ((rc = names_pages_next_run(&rest, pages->about.generation, &run, err)) == 0) {
		buf_printf(&p->out,
			   "directories %" PRIu64 " to %" PRIu64 " changed in generation %" PRIu64
			   "\n",
			   dir, dir + run.n - 1, run.generation);
		dir += run.n;
		printer_step(p);
	}
	return MIN(rc, 0);
}

static int print_pages(const char *path, struct printer *p, struct err *err)
{
	struct names_pages pages;
	int rc = names_pages_open(&pages, path, err);
	if (rc != 0)
		return rc;
	buf_printf(&p->out,
		   STR_FMT ", " STR_FMT ": generation %" PRIu64 ", %" PRIu64 " files in %" PRIu64
			   " directories\n",
		   STR_ARG(pages.about.key), STR_ARG(pages.about.url), pages.about.generation,
		   pages.about.entries, pages.about.dirs);
	for (unsigned i = 0; i < NAMES_PARTS; i++)
		buf_printf(&p->out, "%s: %" PRIu64 " bytes in %" PRIu64 " pages\n",
			   names_part_name[i], pages.bytes[i], page_count(pages.bytes[i]));
	rc = print_runs(&pages, p, err);
	names_pages_close(&pages);
	return rc;
}

static int verify_pages(const char *path, struct err *err)
{
	struct names_pages pages;
	int rc = names_pages_open(&pages, path, err);
	if (rc == 0) {
		rc = page_verify(pages.file, err);
		names_pages_close(&pages);
	}
	return rc;
}

const struct format names_pages_format = {
	.name = "names-pages",
	.file = "names/[0-9]*/pages",
	.magic = "GARNERNP",
	.version = 1,
	.help = "checksums and places of lines of the four parts of a site",
	.remedy = NAMES_REMEDY,
	.print = print_pages,
	.verify = verify_pages,
};

/* Directories that went away */

static int print_gone_part(const struct names_gone_part *part, struct printer *p, struct err *err)
{
	struct names_gone_dir d;
	struct str rest = part->dirs;
	int rc;
	buf_printf(&p->out,
		   STR_FMT ", " STR_FMT ": generation %" PRIu64 ", at %" PRId64 ": %" PRIu64
			   " directories\n",
		   STR_ARG(part->key), STR_ARG(part->url), part->generation, part->time_s, part->n);
	while ((rc = names_gone_next(&rest, &d, err)) == 0) {
		buf_printf(&p->out, "  %" PRIu64 " of %" PRIu64 " files left: ", d.left, d.was);
		names_escape(d.dir, &p->out);
		buf_add_byte(&p->out, '\n');
		printer_step(p);
	}
	return MIN(rc, 0);
}

static int print_gone(const char *path, struct printer *p, struct err *err)
{
	struct page_file *f = NULL;
	struct names_gone g;
	int rc = page_open(&f, path, err);
	if (rc != 0)
		return rc;
	rc = names_gone_parse(f, &g, err);
	if (rc < 0)
		(void)err_in(err, "%s", path);
	if (rc == 0) {
		for (size_t i = 0; i < g.n && rc == 0; i++)
			rc = print_gone_part(&g.part[i], p, err);
		names_gone_free(&g);
	}
	page_close(&f);
	return rc;
}

const struct format names_gone_format = {
	.name = "names-gone",
	.file = "names/[0-9]*/gone",
	.magic = "GARNERNG",
	.version = 1,
	.help = "directories that went away, for those who follow the sites",
	.remedy = NAMES_REMEDY,
	.print = print_gone,
};

/* Parts: DIR/PART/KEY, or DIR/names/N/PART. */

struct part_place {
	char folder[PATH_MAX]; /* DIR */
	char name[PATH_MAX];   /* KEY or N */
	enum names_part part;
	uint64_t generation; /* 0: it lies by key */
};

static bool part_of(const char *name, enum names_part *ret)
{
	*ret = (enum names_part)str_index(str_of(name), names_part_name, NAMES_PARTS);
	return *ret < NAMES_PARTS;
}

/* Cuts the last component off. */
static bool path_cut(char *path, const char **ret_last)
{
	char *slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = 0;
	*ret_last = slash + 1;
	return true;
}

/* By key, all four parts have to be there: else any file in a folder called data would be one. */
static bool parts_there(const char *folder, const char *key)
{
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		CLEANUP(mem_free) char *path = names_key_path(folder, i, str_of(key));
		if (access(path, F_OK) != 0)
			return false;
	}
	return true;
}

static bool part_place(const char *path, struct part_place *ret)
{
	struct part_place p = {0};
	const char *last, *middle;
	(void)snprintf(p.folder, sizeof p.folder, "%s", path);
	if (!path_cut(p.folder, &last) || !path_cut(p.folder, &middle))
		return false;
	(void)snprintf(p.name, sizeof p.name, "%s", last);
	if (last[0] != '.' && part_of(middle, &p.part) && parts_there(p.folder, last)) {
		*ret = p;
		return true;
	}
	if (!part_of(last, &p.part) || !names_generation_of(middle, &p.generation) ||
	    !path_cut(p.folder, &last) || strcmp(last, "names") != 0)
		return false;
	*ret = p;
	return true;
}

static bool is_part(const char *path)
{
	CLEANUP(mem_free) struct part_place *p = mem_alloc(sizeof *p);
	return part_place(path, p);
}

static int place_find(const char *path, struct part_place *ret, struct err *err)
{
	char *full = realpath(path, NULL);
	if (!full)
		return errno == ENOENT ? 1 : err_sys(err, "%s", path);
	bool found = part_place(full, ret);
	free(full);
	return found ? 0
		     : err_set(err, ERR_USAGE, "%s: it does not lie where a part of a site does",
			       path);
}

/* The parts that this one is of. The folder of a generation has all that is known of them; by key,
 * the manifest tells which it is. */
static int place_open(const struct part_place *p, struct names_parts **ret,
		      struct names_manifest_site *ret_site, struct err *err)
{
	struct names_manifest m;
	int rc = names_manifest_read(p->folder, &m, NULL, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	*ret_site = (struct names_manifest_site){.about.generation = p->generation};
	if (rc == 0) {
		size_t at = p->generation ? names_manifest_find_generation(&m, p->generation)
					  : names_manifest_find(&m, str_of(p->name));
		if (at != SIZE_MAX)
			ret_site->about.generation = m.site[at].about.generation;
		ret_site->pages_sum = at != SIZE_MAX ? m.site[at].pages_sum : 0;
		rc = at == SIZE_MAX;
		size_t lost =
			p->generation ? SIZE_MAX : names_manifest_find_lost(&m, str_of(p->name));
		if (rc == 0)
			rc = names_site_parts(p->folder, &m.site[at], ret, err);
		else if (lost != SIZE_MAX)
			rc = err_set(err, ERR_DAMAGED, "the site is left out: " STR_FMT,
				     STR_ARG(m.lost[lost].why));
		names_manifest_free(&m);
	}
	return rc;
}

static int print_lines(struct names_parts *parts, struct printer *p, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	int rc = 0;
	for (uint64_t i = 0; i < names_parts_entries(parts) && rc == 0; i++) {
		struct names_entry e;
		uint64_t dir;
		rc = names_parts_data(parts, i, &e, &dir, err);
		if (rc == 0)
			rc = names_parts_name(parts, i, &arena, &e.name, err);
		if (rc == 0)
			rc = names_parts_dir(parts, dir, &arena, &e.dir, err);
		if (rc == 0)
			names_print_line(i, &e, &p->out);
		arena_clear(&arena);
		printer_step(p);
	}
	arena_free(&arena);
	return rc;
}

static void put_number(struct buf *out, int64_t v)
{
	if (v < 0)
		buf_add_text(out, "-\t");
	else
		buf_printf(out, "%" PRId64 "\t", v);
}

static void put_owner(struct buf *out, struct str name)
{
	names_escape(name.n ? name : STR("-"), out);
	buf_add_byte(out, '\t');
}

void names_print_place(const struct names_entry *e, struct buf *out)
{
	put_number(out, e->size);
	put_number(out, e->time_s);
	names_escape(e->dir, out);
	if (e->dir.n)
		buf_add_byte(out, '/');
	names_escape(e->name, out);
	buf_add_byte(out, '\n');
}

void names_print_line(uint64_t number, const struct names_entry *e, struct buf *out)
{
	static const char letters[NAMES_KINDS] = {'-', 'd', 'l', '?'};
	buf_printf(out, "%" PRIu64 "\t", number);
	if (e->mode[0])
		buf_add(out, e->mode, sizeof e->mode);
	else
		buf_add_byte(out, letters[e->kind]);
	buf_add_byte(out, '\t');
	put_number(out, e->links);
	put_owner(out, e->owner);
	put_owner(out, e->group);
	names_print_place(e, out);
}

/* Whatever is known of them, or the bare files. */
static int print_part(const char *path, struct printer *p, struct err *err)
{
	CLEANUP(mem_free) struct part_place *place = mem_alloc(sizeof *place);
	CLEANUP(names_parts_close) struct names_parts *parts = NULL;
	struct names_manifest_site site;
	int rc = place_find(path, place, err);
	if (rc != 0)
		return rc;
	CLEANUP(mem_free)
	char *folder = names_generation_path(place->folder, place->generation, "");
	rc = place_open(place, &parts, &site, err);
	if (rc != 0 && place->generation)
		rc = names_parts_open(&parts, folder, place->generation, err);
	else if (rc != 0)
		rc = names_parts_open_by_key(&parts, place->folder, str_of(place->name), err);
	return rc == 0 ? print_lines(parts, p, err) : rc;
}

/* What a killed writer leaves. */
static int part_noted(const char *path, const char *what, struct err *err)
{
	(void)err_set(err, ERR_NONE,
		      "%s: %s; a killed build leaves that, and the next one puts it right", path,
		      what);
	return FORMAT_NOTED;
}

static bool part_is_linked(const char *path, const struct part_place *p, uint64_t generation)
{
	struct stat a, b;
	CLEANUP(mem_free)
	char *own = names_generation_path(p->folder, generation, names_part_name[p->part]);
	return stat(path, &a) == 0 && stat(own, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static int verify_place(const char *path, const struct part_place *place, struct err *err)
{
	struct names_parts *parts = NULL;
	struct names_manifest_site site;
	int rc = place_open(place, &parts, &site, err);
	if (rc == 1)
		return part_noted(path, "the manifest does not name it", err);
	if (rc == 0 && !part_is_linked(path, place, site.about.generation))
		rc = part_noted(path, "it is not of the generation that the manifest names", err);
	if (rc == 0)
		rc = page_verify(parts->part[place->part], err);
	names_parts_close(&parts);
	/* the same file has two names: the one that was asked for comes first */
	return rc < 0 && !place->generation ? err_in(err, "%s", path) : rc;
}

static int verify_part(const char *path, struct err *err)
{
	CLEANUP(mem_free) struct part_place *place = mem_alloc(sizeof *place);
	int rc = place_find(path, place, err);
	return rc == 0 ? verify_place(path, place, err) : rc;
}

static bool part_claims(struct str head)
{
	(void)head; /* any text could be one */
	return false;
}

const struct format names_part_format = {
	.name = "names-part",
	.claims = part_claims,
	.placed = is_part,
	.help = "names, or what is known of them, of the files of one site",
	.remedy = PART_REMEDY,
	.print = print_part,
	.verify = verify_part,
};
