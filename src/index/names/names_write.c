/* The writer of a names index: sites, commits.
 *
 * A site is built in the folder of a new generation, which nothing names until the commit: parts,
 * then the pages file, then the segment, all of it synced. Replacing the manifest is the one step
 * that counts. Then come the links by key, what is not needed any more goes, and segments are
 * merged. A writer that is killed leaves a folder that nothing names, or links that are not those
 * of the manifest; the next one that opens puts both right.
 *
 * After a failure the manifest on disk is read again, since nothing else says whether it was
 * replaced. */
#include "base/clock.h"
#include "base/fault.h"
#include "index/names/names_writer.h"

#include <inttypes.h>

static const uint64_t memory_most = UINT64_C(64) << 30;

/* What all that change the index share */

void names_writer_next(struct names_writer *w, struct names_manifest *ret)
{
	names_manifest_copy(ret, &w->manifest);
	ret->generation = w->next++;
}

int names_writer_folder(struct names_writer *w, uint64_t generation, struct err *err)
{
	CLEANUP(mem_free) char *path = names_generation_path(w->folder, generation, "");
	int rc = dir_make(path, DIR_MODE, err);
	FAULT("names.folder");
	return rc;
}

void names_writer_tidy(struct names_writer *w, uint64_t generation)
{
	struct err ignored;
	if (!w->broken)
		(void)names_folder_tidy(w->folder, &w->manifest, generation, &ignored);
}

/* The names in the folder of a generation are on disk, and its own. */
static int folder_sync(const struct names_writer *w, uint64_t generation, struct err *err)
{
	char *path = names_generation_path(w->folder, generation, "");
	struct stat st;
	int rc = stat(path, &st) == 0 ? dir_sync(path, err) : 0;
	mem_free(&path);
	if (rc < 0)
		return -1;
	path = names_path(w->folder, "names");
	rc = dir_sync(path, err);
	mem_free(&path);
	return rc;
}

/* The manifest that was written may be there or not: the one before is put in its place. A reader
 * that saw the other one begins again. */
static int writer_read_back(struct names_writer *w, struct err *err)
{
	struct names_manifest now;
	if (names_manifest_read(w->folder, &now, NULL, err) != 0)
		return -1;
	uint64_t generation = now.generation;
	names_manifest_free(&now);
	if (generation == w->manifest.generation)
		return 0;
	w->manifest.generation = w->next++;
	w->manifest.forgotten = w->manifest.generation;
	return names_manifest_write(w->folder, &w->manifest, err);
}

int names_writer_publish(struct names_writer *w, struct names_manifest *m, struct err *err)
{
	struct err ignored;
	FAULT("names.manifest");
	int rc = folder_sync(w, m->generation, err);
	if (rc == 0) {
		rc = names_manifest_write(w->folder, m, err);
		if (rc < 0)
			w->broken = writer_read_back(w, &ignored) < 0;
	}
	FAULT("names.published");
	if (rc < 0) {
		names_manifest_free(m);
		return -1;
	}
	names_manifest_free(&w->manifest);
	w->manifest = *m;
	return 0;
}

/* Negative: what an earlier failure left is not what was committed. */
static int writer_whole(const struct names_writer *w, struct err *err)
{
	return w->broken ? err_set(err, ERR_SYSTEM,
				   "%s: an earlier failure could not be undone; open the index "
				   "again",
				   w->folder)
			 : 0;
}

/* Links of a site that are not those of the manifest, or with NULL of all; and those of sites that
 * were dropped. */
static int links_mend(struct names_writer *w, const struct str *key, struct err *err)
{
	const struct names_manifest *m = &w->manifest;
	for (size_t i = 0; i < m->sites; i++)
		if ((!key || str_eq(*key, m->site[i].about.key)) &&
		    names_links_make(w->folder, m->site[i].about.key, m->site[i].about.generation,
				     err) < 0)
			return -1;
	for (size_t i = 0; i < m->removeds; i++)
		if (names_manifest_find(m, m->removed[i]) == SIZE_MAX &&
		    names_links_remove(w->folder, m->removed[i], err) < 0)
			return -1;
	return 0;
}

/* Opening */

static int manifest_make(struct names_writer *w, struct err *err)
{
	w->manifest = (struct names_manifest){.identity = names_identity_new(),
					      .arena = ARENA_INIT(SIZE_MAX)};
	return names_manifest_write(w->folder, &w->manifest, err);
}

/* Parts without a manifest are taken over; without any the index is new. */
static int manifest_find(struct names_writer *w, struct err *err)
{
	struct names_manifest m;
	int rc = names_manifest_read(w->folder, &m, NULL, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	if (rc == 0) {
		w->manifest = m;
		w->next = m.generation + 1;
		return names_mend_some(w, err);
	}
	rc = names_mend_all(w, err);
	return rc == 1 ? manifest_make(w, err) : rc;
}

static int writer_load(struct names_writer *w, struct err *err)
{
	if (names_folders_make(w->folder, err) < 0)
		return -1;
	char *path = names_path(w->folder, "names");
	int rc = lock_take(&w->lock, path, err);
	mem_free(&path);
	if (rc < 0 || manifest_find(w, err) < 0)
		return -1;
	if (names_folder_sweep(w->folder, &w->manifest, err) < 0)
		return -1;
	/* Readers do not go by links: a full disk is no reason not to drop a site, say. */
	w->links_due = links_mend(w, NULL, err) < 0;
	return 0;
}

int names_writer_open(struct names_writer **ret, const char *folder,
		      const struct names_options *options, struct err *err)
{
	struct names_writer *w = mem_alloc(sizeof *w);
	w->folder = mem_text(folder);
	w->lock.file = FILE_INIT;
	w->memory = options && options->memory ? options->memory : NAMES_MEMORY_DEFAULT;
	w->memory = MIN(MAX(w->memory, (uint64_t)NAMES_MEMORY_MIN), memory_most);
	w->next = 1;
	w->arena = ARENA_INIT(SIZE_MAX);
	w->about_arena = ARENA_INIT(SIZE_MAX);
	w->manifest.arena = ARENA_INIT(SIZE_MAX);
	if (writer_load(w, err) < 0) {
		names_writer_close(&w);
		return -1;
	}
	*ret = w;
	return 0;
}

void names_writer_close(struct names_writer **wp)
{
	struct names_writer *w = *wp;
	if (!w)
		return;
	names_give_up(w);
	names_manifest_free(&w->manifest);
	lock_free(&w->lock);
	arena_free(&w->arena);
	arena_free(&w->about_arena);
	mem_free(&w->folder);
	mem_free(wp);
}

const struct names_site *names_written(const struct names_writer *writer, size_t *ret_n)
{
	/* made anew each time, in memory that is the writer's: nothing of the index changes */
	struct names_writer *w = (struct names_writer *)(uintptr_t)writer;
	arena_clear(&w->arena);
	w->written = arena_array(&w->arena, w->manifest.sites, sizeof *w->written);
	for (size_t i = 0; i < w->manifest.sites; i++)
		w->written[i] = names_site_of(&w->arena, &w->manifest.site[i].about);
	*ret_n = w->manifest.sites;
	return w->written;
}

const struct names_lost *names_writer_lost(const struct names_writer *w, size_t *ret_n)
{
	*ret_n = w->manifest.losts;
	return w->manifest.lost;
}

/* Building */

/* A key is the name of a file, and no hidden one. */
static bool key_can_be(struct str key)
{
	bool good = key.n > 0 && key.n <= NAMES_KEY_MOST && key.p[0] != '.';
	for (size_t i = 0; good && i < key.n; i++)
		good = (unsigned char)key.p[i] >= ' ' && key.p[i] != '/' && key.p[i] != 0x7f;
	return good;
}

static int spec_check(const struct names_writer *w, const struct names_site_spec *s,
		      struct err *err)
{
	if (w->building)
		return err_set(err, ERR_USAGE, STR_FMT " is being built; one at a time",
			       STR_ARG(w->about.key));
	if (!key_can_be(s->key))
		return err_set(err, ERR_USAGE,
			       "the key of a site has 1 to %d bytes, none of them a slash or a "
			       "control character, and no point before it",
			       NAMES_KEY_MOST);
	if (s->url.n > NAMES_NAME_MOST - 1)
		return err_set(err, ERR_USAGE, STR_FMT ": its URL is too long", STR_ARG(s->key));
	return 0;
}

int names_begin(struct names_writer *w, const struct names_site_spec *site, struct err *err)
{
	if (writer_whole(w, err) < 0 || spec_check(w, site, err) < 0)
		return -1;
	arena_clear(&w->about_arena);
	w->about = (struct names_about){.key = arena_str(&w->about_arena, site->key),
					.url = arena_str(&w->about_arena, site->url),
					.generation = w->next++,
					.listed_s = site->listed_s,
					.by_hand = site->by_hand};
	w->building = true;
	char *path = names_generation_path(w->folder, w->about.generation, "");
	int rc = names_writer_folder(w, w->about.generation, err);
	if (rc == 0)
		rc = names_parts_create(&w->parts, path, err);
	if (rc == 0)
		w->build = names_build_new(w->memory, path);
	mem_free(&path);
	if (rc < 0)
		names_give_up(w);
	return rc;
}

static int not_building(const struct names_writer *w, struct err *err)
{
	return w->building ? 0 : err_set(err, ERR_USAGE, "no site is being built");
}

int names_add(struct names_writer *w, const struct names_entry *entry, struct err *err)
{
	if (not_building(w, err) < 0 || names_parts_add(w->parts, entry, err) < 0)
		return -1;
	int rc = names_build_add(w->build, entry->name, err);
	if (rc < 0) {
		names_give_up(w);
		if (err->code == ERR_USAGE)
			err->code = ERR_SYSTEM;
	}
	return rc;
}

void names_give_up(struct names_writer *w)
{
	if (!w->building)
		return;
	w->building = false;
	names_parts_drop(&w->parts);
	names_build_free(&w->build);
	names_writer_tidy(w, w->about.generation);
}

/* Committing */

/* Replaces the site, or puts it where its key belongs. */
static void manifest_put_site(struct names_manifest *m, const struct names_manifest_site *s)
{
	size_t at = names_manifest_find(m, s->about.key);
	if (at == SIZE_MAX) {
		size_t n = m->sites, room = n;
		at = BISECT(i, 0, n, str_cmp(m->site[i].about.key, s->about.key) < 0);
		(void)ARENA_PUSH(&m->arena, m->site, m->sites, room);
		memmove(m->site + at + 1, m->site + at, (n - at) * sizeof *m->site);
	}
	m->site[at] = *s;
	m->site[at].about.key = arena_str(&m->arena, s->about.key);
	m->site[at].about.url = arena_str(&m->arena, s->about.url);
}

/* Links of dropped sites that are gone need not be remembered. */
static void manifest_forget_removed(const struct names_writer *w, struct names_manifest *m)
{
	if (!w->links_due)
		m->removeds = 0;
}

static int pages_sum(const char *path, uint32_t *ret, struct err *err)
{
	struct page_file *f = NULL;
	int rc = page_open(&f, path, err);
	if (rc == 1)
		return err_set(err, ERR_SYSTEM, "%s: somebody removed it", path);
	if (rc == 0)
		*ret = page_sum(f);
	page_close(&f);
	return rc;
}

static int write_pages(struct names_writer *w, const struct names_dir_runs *runs, uint32_t *ret,
		       struct err *err)
{
	char *path = names_generation_path(w->folder, w->about.generation, "pages");
	int rc = names_parts_write_pages(w->parts, path, &w->about, runs, err);
	FAULT("names.pages");
	if (rc == 0)
		rc = pages_sum(path, ret, err);
	mem_free(&path);
	return rc;
}

/* The parts of the site as it was, if there is one of which directories may stay what they are. */
static struct names_parts *old_parts(const struct names_writer *w, const struct names_about **ret)
{
	struct err ignored;
	struct names_parts *p = NULL;
	size_t at = names_manifest_find(&w->manifest, w->about.key);
	*ret = at == SIZE_MAX ? NULL : &w->manifest.site[at].about;
	if (at != SIZE_MAX)
		(void)names_site_parts(w->folder, &w->manifest.site[at], &p, &ignored);
	return p;
}

static int compare_site(struct names_writer *w, struct names_parts *old,
			const struct names_about *was, struct names_compared *ret, struct err *err)
{
	bool same_url = was && str_eq(was->url, w->about.url);
	int rc = names_compare(same_url ? old : NULL, w->parts, w->about.generation, ret, err);
	if (rc == 0 && was && !old)
		ret->unknown = true;
	if (rc == 0 && old && !same_url) {
		/* all that it had was elsewhere */
		struct names_compared all;
		rc = names_compare_gone(old, &all, err);
		if (rc == 0) {
			buf_free(&ret->gone);
			ret->gone = all.gone;
			ret->gones = all.gones;
			ret->unknown |= all.unknown;
			all.gone = (struct buf){0};
			names_compared_free(&all);
		}
	}
	return rc;
}

static int write_segment(struct names_writer *w, struct names_manifest *m, struct err *err)
{
	struct names_manifest_layer layer;
	struct names_manifest_span span = {w->about.generation, (uint32_t)w->about.entries};
	if (w->about.entries == 0)
		return 0;
	char *path = names_generation_path(w->folder, w->about.generation, "segment");
	int rc = names_build_write(w->build, path, err);
	mem_free(&path);
	FAULT("names.segment");
	if (rc == 0)
		rc = names_layer_look(w, w->about.generation, &layer, err);
	if (rc < 0)
		return -1;
	layer.span = &span;
	layer.spans = 1;
	names_layer_add(m, &layer);
	return 0;
}

/* Everything but the manifest. */
static int write_site(struct names_writer *w, struct names_manifest *m, struct err *err)
{
	const struct names_about *was;
	struct names_compared c = {0};
	struct names_manifest_site site;
	int rc = names_parts_finish(w->parts, err);
	FAULT("names.parts");
	if (rc < 0)
		return -1;
	w->about.entries = names_parts_written(w->parts, &w->about.dirs);
	w->about.built_s = clock_wall_us() / US_PER_S;
	struct names_parts *old = old_parts(w, &was);
	rc = compare_site(w, old, was, &c, err);
	names_parts_close(&old);
	if (rc == 0)
		rc = write_pages(w, &c.runs, &site.pages_sum, err);
	if (rc == 0 && was)
		rc = names_remember(w, m, was, &c, err);
	names_compared_free(&c);
	names_parts_drop(&w->parts);
	if (rc == 0)
		rc = write_segment(w, m, err);
	site.about = w->about;
	if (rc == 0) {
		manifest_put_site(m, &site);
		(void)names_manifest_unlose(m, w->about.key);
	}
	return rc;
}

/* What the last commit replaced. */
static void tidy_after(struct names_writer *w, const struct names_manifest *before)
{
	for (size_t i = 0; i < before->sites; i++) {
		uint64_t generation = before->site[i].about.generation;
		if (names_manifest_find_generation(&w->manifest, generation) == SIZE_MAX)
			names_writer_tidy(w, generation);
	}
	for (size_t i = 0; i < before->layers; i++)
		names_writer_tidy(w, before->layer[i].generation);
	for (size_t i = 0; i < before->gones; i++)
		names_writer_tidy(w, before->gone[i].generation);
}

/* The commit stands, whatever becomes of this. */
static void after_commit(struct names_writer *w, const struct names_manifest *before,
			 const struct str *key)
{
	struct err ignored;
	w->links_due = links_mend(w, w->links_due ? NULL : key, &ignored) < 0;
	tidy_after(w, before);
	(void)names_merge_some(w, &ignored);
}

/* Replaces the manifest and does what follows from that. */
static int writer_commit(struct names_writer *w, struct names_manifest *m, const struct str *key,
			 struct err *err)
{
	struct names_manifest before;
	names_layers_drop_hidden(m);
	names_manifest_copy(&before, &w->manifest);
	int rc = names_writer_publish(w, m, err);
	if (rc == 0)
		after_commit(w, &before, key);
	names_manifest_free(&before);
	return rc;
}

int names_commit(struct names_writer *w, struct err *err)
{
	struct names_manifest m;
	if (not_building(w, err) < 0)
		return -1;
	names_manifest_copy(&m, &w->manifest);
	m.generation = w->about.generation;
	manifest_forget_removed(w, &m);
	int rc = write_site(w, &m, err);
	if (rc == 0)
		rc = writer_commit(w, &m, &w->about.key, err);
	else
		names_manifest_free(&m);
	names_give_up(w);
	return rc;
}

/* Dropping */

static void manifest_note_removed(struct names_manifest *m, struct str key)
{
	size_t room = m->removeds;
	*ARENA_PUSH(&m->arena, m->removed, m->removeds, room) = arena_str(&m->arena, key);
}

static void manifest_drop_site(struct names_manifest *m, size_t at)
{
	manifest_note_removed(m, m->site[at].about.key);
	m->sites--;
	memmove(m->site + at, m->site + at + 1, (m->sites - at) * sizeof *m->site);
}

/* A site of which only its loss is known, and what there is of it by key. 1: it is not one. */
static int remove_lost(struct names_writer *w, struct str key, struct err *err)
{
	struct names_manifest m;
	if (names_manifest_find_lost(&w->manifest, key) == SIZE_MAX)
		return 1;
	names_writer_next(w, &m);
	manifest_forget_removed(w, &m);
	manifest_note_removed(&m, key);
	(void)names_manifest_unlose(&m, key);
	return writer_commit(w, &m, &key, err);
}

int names_remove(struct names_writer *w, struct str key, struct err *err)
{
	struct names_manifest m;
	struct names_compared c = {.unknown = true};
	struct names_parts *old = NULL;
	size_t at = names_manifest_find(&w->manifest, key);
	if (writer_whole(w, err) < 0)
		return -1;
	if (at == SIZE_MAX)
		return remove_lost(w, key, err);
	if (names_site_parts(w->folder, &w->manifest.site[at], &old, err) == 0)
		(void)names_compare_gone(old, &c, err); /* what cannot be read goes unknown */
	names_parts_close(&old);
	names_writer_next(w, &m);
	uint64_t generation = m.generation;
	manifest_forget_removed(w, &m);
	int rc = names_remember(w, &m, &w->manifest.site[at].about, &c, err);
	names_compared_free(&c);
	manifest_drop_site(&m, at);
	if (rc == 0)
		rc = writer_commit(w, &m, &key, err);
	else
		names_manifest_free(&m);
	if (rc < 0)
		names_writer_tidy(w, generation);
	return rc;
}
