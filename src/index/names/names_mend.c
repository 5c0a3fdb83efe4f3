/* What was lost of a names index, made again: from the parts, which are the record store.
 *
 * Where the manifest is lost, every key that has four parts which fit each other is taken over, in
 * a generation of its own, with one new segment for all of them. Where it is there but a segment or
 * the pages of a site are not, those alone are made again. A site whose parts are gone or damaged
 * is left out, and the manifest says so; what there is of its files by key stays where it is. */
#include "base/fault.h"
#include "index/names/names_writer.h"

#include <inttypes.h>

/* The folder of a new generation with the parts of a site, which have other names elsewhere. */
static int parts_link(struct names_writer *w, const struct names_about *about, uint64_t from,
		      struct err *err)
{
	int rc = names_writer_folder(w, about->generation, err);
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++) {
		char *to = names_generation_path(w->folder, about->generation, names_part_name[i]);
		char *old = from ? names_generation_path(w->folder, from, names_part_name[i])
				 : names_key_path(w->folder, i, about->key);
		rc = file_link(old, to, err);
		if (rc == 1)
			rc = err_set(err, ERR_DAMAGED, "%s: it is gone", old);
		mem_free(&to);
		mem_free(&old);
	}
	return rc;
}

/* Takes parts that are open over into a new generation. from: the one whose folder has them; 0:
 * they lie by key. */
static int parts_take_over(struct names_writer *w, struct names_parts *p, uint64_t from,
			   struct names_manifest_site *site, struct err *err)
{
	struct page_file *f = NULL;
	site->about.generation = w->next++;
	if (parts_link(w, &site->about, from, err) < 0)
		return -1;
	char *folder = names_generation_path(w->folder, site->about.generation, "");
	char *path = names_path(folder, "pages");
	int rc = names_parts_make_pages(p, path, &site->about, err);
	if (rc == 0)
		rc = page_open(&f, path, err);
	if (rc == 0)
		site->pages_sum = page_sum(f);
	if (rc == 0)
		rc = dir_sync(folder, err);
	page_close(&f);
	mem_free(&folder);
	mem_free(&path);
	FAULT("names.mended");
	return rc;
}

/* Rebuilds layers: one segment of these sites, in the folder of m's generation. */
static int layer_rebuild(struct names_writer *w, struct names_manifest *m, const size_t *site,
			 size_t n, struct err *err)
{
	struct names_manifest_layer layer;
	if (n == 0)
		return 0;
	if (names_writer_folder(w, m->generation, err) < 0 ||
	    names_layer_from_parts(w, m, site, n, m->generation, &layer, err) < 0)
		return -1;
	struct names_manifest_span *span = arena_array(&m->arena, n, sizeof *span);
	for (size_t i = 0; i < n; i++)
		span[i] = (struct names_manifest_span){m->site[site[i]].about.generation,
						       (uint32_t)m->site[site[i]].about.entries};
	layer.span = span;
	layer.spans = n;
	names_layer_add(m, &layer);
	return 0;
}

/* Everything */

/* The sites of a snapshot that has no manifest; those with damage are left out. */
static int sites_take_over(struct names_writer *w, struct names_reader *r, struct names_manifest *m,
			   struct err *err)
{
	m->site = arena_array(&m->arena, r->sites, sizeof *m->site);
	for (size_t i = 0; i < r->sites; i++) {
		const struct names_site *s = &r->site[i];
		struct names_manifest_site *to = &m->site[m->sites];
		if (names_parts_verify(r->parts[i], err) < 0) {
			names_manifest_lose(
				m, &(struct names_lost){s->key, str_of(err->msg), s->by_hand});
			continue;
		}
		to->about = (struct names_about){.key = arena_str(&m->arena, s->key),
						 .url = arena_str(&m->arena, s->url),
						 .entries = s->entries,
						 .dirs = s->dirs,
						 .listed_s = s->listed_s,
						 .built_s = s->built_s,
						 .by_hand = s->by_hand};
		if (parts_take_over(w, r->parts[i], s->generation, to, err) < 0)
			return -1;
		m->sites++;
	}
	for (size_t i = 0; i < r->losts; i++)
		names_manifest_lose(m, &r->lost[i]);
	return 0;
}

static int layer_of_all(struct names_writer *w, struct names_manifest *m, struct err *err)
{
	size_t *site = mem_array(m->sites + 1, sizeof *site), n = 0;
	for (size_t i = 0; i < m->sites; i++)
		if (m->site[i].about.entries)
			site[n++] = i;
	int rc = layer_rebuild(w, m, site, n, err);
	mem_free(&site);
	return rc;
}

int names_mend_all(struct names_writer *w, struct err *err)
{
	struct names_reader *r = NULL;
	struct names_manifest m = {.identity = names_identity_new(), .arena = ARENA_INIT(SIZE_MAX)};
	int rc = names_folder_newest(w->folder, &w->next, err);
	w->next++;
	if (rc == 0)
		rc = names_open(&r, w->folder, err);
	if (rc == 0)
		rc = sites_take_over(w, r, &m, err);
	if (rc == 0) {
		m.generation = m.forgotten = w->next++;
		rc = layer_of_all(w, &m, err);
	}
	names_close(&r);
	if (rc == 0)
		return names_writer_publish(w, &m, err);
	names_manifest_free(&m);
	return rc;
}

/* Some of it */

/* A site whose parts cannot be opened as the manifest names them. 1: nor in any other way. */
static int site_mend(struct names_writer *w, struct names_manifest *m, size_t at, struct err *err)
{
	struct names_manifest_site *site = &m->site[at];
	struct names_parts *p = NULL;
	uint64_t was = site->about.generation;
	int rc = names_parts_open_by_key(&p, w->folder, site->about.key, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	if (rc == 0 && (names_parts_entries(p) != site->about.entries ||
			names_parts_dirs(p) != site->about.dirs || names_parts_verify(p, err) < 0))
		rc = 1;
	if (rc == 0)
		rc = parts_take_over(w, p, 0, site, err);
	names_parts_close(&p);
	for (size_t i = 0; i < m->layers && rc == 0; i++)
		for (size_t k = 0; k < m->layer[i].spans; k++)
			if (m->layer[i].span[k].generation == was)
				m->layer[i].span[k].generation = site->about.generation;
	return rc == 0 ? 0 : rc < 0 && err->code != ERR_DAMAGED ? -1 : 1;
}

/* Sets *changed where the manifest did. */
static int sites_mend(struct names_writer *w, struct names_manifest *m, bool *changed,
		      struct err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < m->sites; i++) {
		struct names_parts *p = NULL;
		int rc = names_site_parts(w->folder, &m->site[i], &p, err);
		names_parts_close(&p);
		if (rc < 0 && err->code != ERR_DAMAGED)
			return -1;
		*changed |= rc != 0;
		const struct names_about *a = &m->site[i].about;
		struct names_lost lost = {a->key, rc ? str_of(err->msg) : STR(""), a->by_hand};
		lost = names_lost_copy(&m->arena, &lost);
		if (rc != 0 && (rc = site_mend(w, m, i, err)) < 0)
			return -1;
		if (rc == 0)
			m->site[n++] = m->site[i];
		else
			names_manifest_lose(m, &lost);
	}
	m->sites = n;
	return 0;
}

/* 1: it cannot be opened, or is not the one that the manifest means. */
static int layer_check(const struct names_writer *w, const struct names_manifest_layer *l,
		       struct err *err)
{
	struct names_segment *s = NULL;
	int rc = names_layer_open(&s, w->folder, l, err);
	names_segment_close(&s);
	return rc < 0 && err->code == ERR_DAMAGED ? 1 : rc;
}

/* Layers that cannot be used are taken out; what counts in them goes to *ret, by site. */
static int layers_mend(struct names_writer *w, struct names_manifest *m, size_t *ret, size_t *ret_n,
		       bool *changed, struct err *err)
{
	bool *lost = mem_array(m->sites + 1, sizeof *lost);
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; i < m->layers && rc >= 0; i++) {
		const struct names_manifest_layer *l = &m->layer[i];
		rc = layer_check(w, l, err);
		*changed |= rc != 0;
		for (size_t k = 0; k < l->spans && rc == 1; k++) {
			size_t site = names_manifest_find_generation(m, l->span[k].generation);
			if (site != SIZE_MAX)
				lost[site] = true;
		}
		if (rc == 0)
			m->layer[n++] = *l;
	}
	m->layers = n;
	for (size_t i = 0; i < m->sites; i++)
		if (lost[i])
			ret[(*ret_n)++] = i;
	mem_free(&lost);
	return MIN(rc, 0);
}

static void gone_mend(const struct names_writer *w, struct names_manifest *m, bool *changed)
{
	struct err ignored;
	size_t n = 0;
	for (size_t i = 0; i < m->gones; i++) {
		struct page_file *f = NULL;
		char *path = names_generation_path(w->folder, m->gone[i].generation, "gone");
		bool good = page_open(&f, path, &ignored) == 0;
		page_close(&f);
		mem_free(&path);
		if (good) {
			m->gone[n++] = m->gone[i];
			continue;
		}
		m->forgotten = MAX(m->forgotten, m->gone[i].generation);
		*changed = true;
	}
	m->gones = n;
}

int names_mend_some(struct names_writer *w, struct err *err)
{
	struct names_manifest m;
	bool changed = false, lost = false;
	size_t *site = mem_array(w->manifest.sites + 1, sizeof *site), n = 0;
	names_manifest_copy(&m, &w->manifest);
	gone_mend(w, &m, &changed);
	int rc = sites_mend(w, &m, &changed, err);
	lost = m.sites < w->manifest.sites;
	if (rc == 0)
		rc = layers_mend(w, &m, site, &n, &changed, err);
	m.generation = w->next;
	if (lost)
		m.forgotten = m.generation;
	if (rc == 0)
		rc = layer_rebuild(w, &m, site, n, err);
	mem_free(&site);
	if (rc < 0 || !changed) {
		names_manifest_free(&m);
		return rc;
	}
	w->next++;
	names_layers_drop_hidden(&m);
	return names_writer_publish(w, &m, err);
}
