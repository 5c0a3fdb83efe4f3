/* Merging of the segments of a names index: so that they stay few, and what is hidden goes.
 *
 * Layers are looked at by what counts in them, the largest first. Those that are together as large
 * as the next larger one are merged with it, so that each entry is copied once for each doubling of
 * the index; more than eight become eight; and a layer of which more than half is hidden is written
 * anew. A site next to a base that is several times larger is never copied into it at once.
 *
 * A segment that cannot be read is no reason to stop: its names are in the parts. */
#include "base/fault.h"
#include "index/names/names_writer.h"

#include <inttypes.h>
#include <stdlib.h>

void names_layer_add(struct names_manifest *m, const struct names_manifest_layer *l)
{
	size_t room = m->layers;
	struct names_manifest_layer *to = ARENA_PUSH(&m->arena, m->layer, m->layers, room);
	*to = *l;
	to->span = arena_array(&m->arena, l->spans, sizeof *l->span);
	if (l->spans)
		memcpy(to->span, l->span, l->spans * sizeof *l->span);
}

void names_layers_drop_hidden(struct names_manifest *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->layers; i++)
		if (names_manifest_hidden(m, &m->layer[i]) < m->layer[i].entries)
			m->layer[n++] = m->layer[i];
	m->layers = n;
}

int names_layer_look(const struct names_writer *w, uint64_t generation,
		     struct names_manifest_layer *ret, struct err *err)
{
	struct names_segment *s = NULL;
	char *path = names_generation_path(w->folder, generation, "segment");
	int rc = names_segment_open(&s, path, err);
	if (rc == 0) {
		const struct names_segment_info *info = names_segment_info(s);
		*ret = (struct names_manifest_layer){.generation = generation,
						     .bytes = info->file_bytes,
						     .entries = info->entries};
	}
	names_segment_close(&s);
	mem_free(&path);
	return rc;
}

/* What to merge */

struct merge_set {
	size_t *layer; /* numbers, ascending */
	size_t n;
};

struct layer_size {
	size_t layer;
	uint64_t counts; /* entries that do */
};

static int by_size(const void *a, const void *b)
{
	const struct layer_size *x = a, *y = b;
	return x->counts > y->counts ? -1 : x->counts < y->counts ? 1 : 0;
}

static int by_number(const void *a, const void *b)
{
	const size_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The first of those, by size, that are to be merged with all smaller ones; n: none. */
static size_t choose_from(const struct layer_size *size, size_t n)
{
	uint64_t smaller = 0;
	size_t from = n;
	for (size_t i = n; i-- > 0; smaller += size[i].counts)
		if (i + 1 < n && smaller >= size[i].counts)
			from = i;
	if (from == n && n > NAMES_LAYERS_MOST)
		from = NAMES_LAYERS_MOST - 1;
	return from;
}

static void choose_some(const struct names_manifest *m, struct merge_set *ret)
{
	struct layer_size *size = mem_array(m->layers + 1, sizeof *size);
	for (size_t i = 0; i < m->layers; i++) {
		uint64_t hidden = names_manifest_hidden(m, &m->layer[i]);
		size[i] = (struct layer_size){i, m->layer[i].entries - hidden};
		if (hidden > m->layer[i].entries / 2 && ret->n == 0)
			ret->layer[ret->n++] = i;
	}
	if (m->layers)
		qsort(size, m->layers, sizeof *size, by_size);
	if (ret->n == 0)
		for (size_t i = choose_from(size, m->layers); i < m->layers; i++)
			ret->layer[ret->n++] = size[i].layer;
	qsort(ret->layer, ret->n, sizeof *ret->layer, by_number);
	mem_free(&size);
}

static void choose_all(const struct names_manifest *m, struct merge_set *ret)
{
	bool hidden = false;
	for (size_t i = 0; i < m->layers; i++)
		hidden |= names_manifest_hidden(m, &m->layer[i]) > 0;
	for (size_t i = 0; i < m->layers && (m->layers > 1 || hidden); i++)
		ret->layer[ret->n++] = i;
}

/* Merging */

/* What is kept, in the order of sites. */
struct kept_span {
	size_t site;
	struct names_range range;
};
struct kept_list {
	struct kept_span *span;
	size_t n, room;
};

static int by_site(const void *a, const void *b)
{
	const struct kept_span *x = a, *y = b;
	return x->site < y->site ? -1 : x->site > y->site;
}

static struct kept_list spans_to_keep(const struct names_manifest *m, const struct merge_set *set)
{
	struct kept_list l = {0};
	for (size_t i = 0; i < set->n; i++) {
		const struct names_manifest_layer *layer = &m->layer[set->layer[i]];
		uint32_t from = 0;
		for (size_t k = 0; k < layer->spans; from += layer->span[k++].n) {
			size_t site = names_manifest_find_generation(m, layer->span[k].generation);
			if (site != SIZE_MAX)
				*VEC_PUSH(l.span, l.n, l.room) = (struct kept_span){
					site, {(uint32_t)i, from, layer->span[k].n}};
		}
	}
	if (l.n)
		qsort(l.span, l.n, sizeof *l.span, by_site);
	return l;
}

static int merge_files(struct names_writer *w, const struct merge_set *set,
		       const struct kept_list *keep, uint64_t generation, struct err *err)
{
	struct names_segment **in = mem_array(set->n, sizeof(struct names_segment *));
	struct names_range *range = mem_array(keep->n, sizeof *range);
	char *folder = names_generation_path(w->folder, generation, "");
	char *path = names_path(folder, "segment");
	int rc = 0;
	for (size_t i = 0; i < set->n && rc == 0; i++)
		rc = names_layer_open(&in[i], w->folder, &w->manifest.layer[set->layer[i]], err);
	for (size_t i = 0; i < keep->n; i++)
		range[i] = keep->span[i].range;
	if (rc == 0)
		rc = names_segment_merge(in, set->n, range, keep->n, w->memory, folder, path, err);
	for (size_t i = 0; i < set->n; i++)
		names_segment_close(&in[i]);
	mem_free(&in);
	mem_free(&range);
	mem_free(&folder);
	mem_free(&path);
	return rc;
}

/* From parts */

static int add_lines(struct names_build *b, struct str lines, uint64_t n, struct arena *arena,
		     struct err *err)
{
	struct str line;
	for (uint64_t i = 0; i < n; i++) {
		struct arena_mark mark = arena_mark(arena);
		if (str_cut(&lines, '\n', &line) != 0)
			return err_set(err, ERR_DAMAGED, "lines of index are missing");
		if (names_build_add(b, names_unescape(line, arena), err) < 0)
			return -1;
		arena_reset(arena, mark);
	}
	return 0;
}

static int add_site(struct names_writer *w, struct names_build *b,
		    const struct names_manifest_site *site, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_parts *p = NULL;
	struct str lines;
	uint64_t n;
	int rc = names_site_parts(w->folder, site, &p, err);
	if (rc == 1)
		rc = -1;
	for (uint64_t at = 0; rc == 0 && at < site->about.entries; at += n) {
		rc = names_parts_scan(p, NAMES_INDEX, at, &lines, &n, err);
		if (rc == 0)
			rc = add_lines(b, lines, n, &arena, err);
	}
	names_parts_close(&p);
	arena_free(&arena);
	return rc;
}

int names_layer_from_parts(struct names_writer *w, const struct names_manifest *m,
			   const size_t *site, size_t n, uint64_t generation,
			   struct names_manifest_layer *ret, struct err *err)
{
	char *folder = names_generation_path(w->folder, generation, "");
	char *path = names_path(folder, "segment");
	struct names_build *b = names_build_new(w->memory, folder);
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add_site(w, b, &m->site[site[i]], err);
	if (rc == 0)
		rc = names_build_write(b, path, err);
	names_build_free(&b);
	mem_free(&folder);
	mem_free(&path);
	FAULT("names.rebuilt");
	return rc == 0 ? names_layer_look(w, generation, ret, err) : rc;
}

static int merge_from_parts(struct names_writer *w, const struct kept_list *keep,
			    uint64_t generation, struct err *err)
{
	struct names_manifest_layer layer;
	size_t *site = mem_array(keep->n, sizeof *site);
	for (size_t i = 0; i < keep->n; i++)
		site[i] = keep->span[i].site;
	int rc = names_layer_from_parts(w, &w->manifest, site, keep->n, generation, &layer, err);
	mem_free(&site);
	return rc;
}

/* Committing */

/* The layers without those that were merged, and the new one. */
static void layers_replace(struct names_manifest *m, const struct merge_set *set,
			   const struct names_manifest_layer *fresh)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < m->layers; i++) {
		if (at < set->n && set->layer[at] == i)
			at++;
		else
			m->layer[n++] = m->layer[i];
	}
	m->layers = n;
	if (fresh)
		names_layer_add(m, fresh);
}

static int merge_publish(struct names_writer *w, const struct merge_set *set,
			 const struct kept_list *keep, struct names_manifest *m, struct err *err)
{
	struct names_manifest_layer fresh;
	int rc = 0;
	if (keep->n)
		rc = names_layer_look(w, m->generation, &fresh, err);
	if (rc < 0) {
		names_manifest_free(m);
		return -1;
	}
	struct names_manifest_span *span = mem_array(keep->n + 1, sizeof *span);
	for (size_t i = 0; i < keep->n; i++)
		span[i] = (struct names_manifest_span){m->site[keep->span[i].site].about.generation,
						       keep->span[i].range.n};
	fresh.span = span;
	fresh.spans = keep->n;
	layers_replace(m, set, keep->n ? &fresh : NULL);
	mem_free(&span);
	return names_writer_publish(w, m, err);
}

static int merge_set_run(struct names_writer *w, const struct merge_set *set, struct err *err)
{
	struct names_manifest m;
	struct kept_list keep = spans_to_keep(&w->manifest, set);
	uint64_t *old = mem_array(set->n, sizeof *old);
	for (size_t i = 0; i < set->n; i++)
		old[i] = w->manifest.layer[set->layer[i]].generation;
	names_writer_next(w, &m);
	uint64_t generation = m.generation;
	int rc = names_writer_folder(w, generation, err);
	if (rc == 0 && keep.n) {
		rc = merge_files(w, set, &keep, generation, err);
		if (rc < 0 && err->code == ERR_DAMAGED)
			rc = merge_from_parts(w, &keep, generation, err);
	}
	FAULT("names.merged");
	if (rc == 0)
		rc = merge_publish(w, set, &keep, &m, err);
	else
		names_manifest_free(&m);
	for (size_t i = 0; i < set->n && rc == 0; i++)
		names_writer_tidy(w, old[i]);
	if (rc < 0 || keep.n == 0)
		names_writer_tidy(w, generation);
	mem_free(&old);
	mem_free(&keep.span);
	return rc;
}

/* 1: nothing is to be merged. */
static int merge_once(struct names_writer *w, bool all, struct err *err)
{
	struct merge_set set = {.layer = mem_array(w->manifest.layers + 1, sizeof *set.layer)};
	if (all)
		choose_all(&w->manifest, &set);
	else
		choose_some(&w->manifest, &set);
	int rc = set.n ? merge_set_run(w, &set, err) : 1;
	mem_free(&set.layer);
	return rc;
}

int names_merge_some(struct names_writer *w, struct err *err)
{
	int rc = w->broken ? 1 : 0;
	while (rc == 0)
		rc = merge_once(w, false, err);
	return MIN(rc, 0);
}

int names_merge_all(struct names_writer *w, struct err *err)
{
	if (w->broken)
		return err_set(err, ERR_SYSTEM, "%s: open the index again", w->folder);
	return merge_once(w, true, err);
}
