/* Snapshots: the parts and segments that one manifest names, opened together. A snapshot shares
 * with the one before it what both have, so that a refresh costs what has changed. A writer may
 * remove a file between reading the manifest and opening what it names; there is a newer manifest
 * then, and it is read instead.
 *
 * Where the manifest, a segment or a pages file cannot be used, the snapshot has no segments: names
 * are scanned. Sites are then those of the manifest or, without one, those that have parts by key;
 * what is known of these is in the pages file of the generation whose index is the same file. */
#include "base/list.h"
#include "index/names/names_store.h"

#include <errno.h>
#include <inttypes.h>

enum { OPEN_TRIES = 20 }; /* commits that may come between reading a manifest and opening files */

enum { LOST_SAID = 4 }; /* sites that a problem names */

/* A segment that snapshots share. */
struct shared_segment {
	atomic_uint refs;
	uint64_t generation;
	struct names_segment *segment;
};

struct snapshot {
	struct names_reader r; /* first: it is what others see */
	struct file file;      /* the manifest, kept open so that no later one is mistaken for it */
	struct names_manifest manifest;
	struct shared_segment **shared; /* of each layer */
	size_t shareds;
	struct page_file **gone; /* of the manifest's; NULL: it cannot be opened */
	size_t gones;
	bool gone_lost;
};

static struct snapshot *snapshot_of(struct names_reader *r)
{
	return LIST_OF(struct snapshot, r, r);
}

static const struct snapshot *snapshot_of_const(const struct names_reader *r)
{
	return (const struct snapshot *)(const void *)((const char *)r -
						       offsetof(struct snapshot, r));
}

/* Segments */

static void shared_drop(struct shared_segment **sp)
{
	struct shared_segment *s = *sp;
	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	names_segment_close(&s->segment);
	mem_free(&s);
}

static struct shared_segment *shared_find(const struct snapshot *older, uint64_t generation)
{
	for (size_t i = 0; older && i < older->shareds; i++)
		if (older->shared[i] && older->shared[i]->generation == generation) {
			atomic_fetch_add_explicit(&older->shared[i]->refs, 1, memory_order_relaxed);
			return older->shared[i];
		}
	return NULL;
}

int names_layer_open(struct names_segment **ret, const char *folder,
		     const struct names_manifest_layer *l, struct err *err)
{
	char *path = names_generation_path(folder, l->generation, "segment");
	int rc = names_segment_open(ret, path, err);
	if (rc == 0 && names_segment_info(*ret)->entries != l->entries) {
		rc = err_set(err, ERR_DAMAGED,
			     "%s: it has %" PRIu32 " entries, the manifest says %" PRIu32, path,
			     names_segment_info(*ret)->entries, l->entries);
		names_segment_close(ret);
	}
	mem_free(&path);
	return rc;
}

static int shared_open(struct shared_segment **ret, const char *folder,
		       const struct names_manifest_layer *l, struct err *err)
{
	struct names_segment *segment = NULL;
	if (names_layer_open(&segment, folder, l, err) < 0)
		return -1;
	*ret = mem_alloc(sizeof **ret);
	atomic_init(&(*ret)->refs, 1);
	(*ret)->generation = l->generation;
	(*ret)->segment = segment;
	return 0;
}

static int layer_open(struct snapshot *s, const struct snapshot *older, size_t i, struct err *err)
{
	const struct names_manifest_layer *l = &s->manifest.layer[i];
	struct names_layer *layer = &s->r.layer[i];
	s->shared[i] = shared_find(older, l->generation);
	int rc = s->shared[i] ? 0 : shared_open(&s->shared[i], s->r.folder, l, err);
	if (rc != 0)
		return rc;
	layer->segment = s->shared[i]->segment;
	layer->span = arena_array(&s->r.arena, l->spans, sizeof *layer->span);
	layer->spans = l->spans;
	uint32_t from = 0;
	for (size_t k = 0; k < l->spans; k++) {
		size_t site = names_manifest_find_generation(&s->manifest, l->span[k].generation);
		bool hidden = site == SIZE_MAX;
		layer->span[k] = (struct names_span){hidden ? UINT32_MAX : (uint32_t)site, from,
						     l->span[k].n};
		layer->hidden += hidden ? l->span[k].n : 0;
		from += l->span[k].n;
	}
	return 0;
}

/* Sites */

/* The host name ends where NAME says more than that, or before the address, whose colons are
 * written as underlines. */
static void key_split(struct arena *a, struct names_site *s)
{
	size_t end = 0, dash = str_after_last(s->key, '-');
	size_t name = dash ? dash - 1 : s->key.n;
	while (end < name && !strchr("+,~", s->key.p[end]))
		end++;
	struct str address = str_from(s->key, dash ? dash : s->key.n);
	char *to = arena_alloc(a, address.n + 1);
	for (size_t i = 0; i < address.n; i++)
		to[i] = (char)(address.p[i] == '_' ? ':' : address.p[i]);
	s->host = arena_lower(a, str_head(s->key, end));
	s->address = (struct str){to, address.n};
}

struct names_site names_site_of(struct arena *a, const struct names_about *about)
{
	struct names_site site = {
		.key = arena_str(a, about->key),
		.url = arena_str(a, about->url),
		.generation = about->generation,
		.entries = about->entries,
		.dirs = about->dirs,
		.listed_s = about->listed_s,
		.built_s = about->built_s,
		.by_hand = about->by_hand,
	};
	key_split(a, &site);
	return site;
}

static struct names_parts *parts_find(const struct snapshot *older, uint64_t generation)
{
	for (size_t i = 0; older && i < older->r.sites; i++)
		if (older->r.site[i].generation == generation &&
		    names_parts_pages(older->r.parts[i]))
			return names_parts_hold(older->r.parts[i]);
	return NULL;
}

int names_site_parts(const char *folder, const struct names_manifest_site *m,
		     struct names_parts **ret, struct err *err)
{
	struct names_parts *p = NULL;
	char *path = names_generation_path(folder, m->about.generation, "");
	int rc = names_parts_open(&p, path, m->about.generation, err);
	if (rc == 1)
		(void)err_set(err, ERR_DAMAGED, "%s: some file of it is lost", path);
	if (rc == 0 && page_sum(names_parts_pages(p)->file) != m->pages_sum) {
		rc = err_set(err, ERR_DAMAGED,
			     "%s/pages: it is not the one that the manifest names", path);
		names_parts_close(&p);
	}
	mem_free(&path);
	if (rc == 0)
		*ret = p;
	return rc;
}

static int site_open(struct snapshot *s, const struct snapshot *older, size_t i, struct err *err)
{
	const struct names_manifest_site *m = &s->manifest.site[i];
	s->r.parts[i] = parts_find(older, m->about.generation);
	int rc = s->r.parts[i] ? 0 : names_site_parts(s->r.folder, m, &s->r.parts[i], err);
	if (rc == 0) {
		s->r.site[i] = names_site_of(&s->r.arena, &m->about);
		s->r.sites++;
	}
	return rc;
}

/* Snapshots */

static struct snapshot *snapshot_new(const char *folder)
{
	struct snapshot *s = mem_alloc(sizeof *s);
	atomic_init(&s->r.refs, 1);
	s->r.folder = mem_text(folder);
	s->r.arena = ARENA_INIT(SIZE_MAX);
	s->file = FILE_INIT;
	s->manifest.arena = ARENA_INIT(SIZE_MAX);
	return s;
}

static void snapshot_rooms(struct snapshot *s, size_t sites, size_t layers)
{
	s->r.site = arena_array(&s->r.arena, sites, sizeof *s->r.site);
	s->r.parts = arena_array(&s->r.arena, sites, sizeof *s->r.parts);
	s->r.lost = arena_array(&s->r.arena, sites + s->manifest.losts, sizeof *s->r.lost);
	s->r.losts = s->manifest.losts;
	for (size_t i = 0; i < s->r.losts; i++)
		s->r.lost[i] = s->manifest.lost[i];
	s->r.layer = arena_array(&s->r.arena, layers, sizeof *s->r.layer);
	s->shared = arena_array(&s->r.arena, layers, sizeof *s->shared);
}

/* Layers go first: queries hold on to nothing else of them. */
static void snapshot_drop_layers(struct snapshot *s)
{
	for (size_t i = 0; i < s->shareds; i++)
		shared_drop(&s->shared[i]);
	s->shareds = s->r.layers = 0;
}

static void snapshot_drop_sites(struct snapshot *s)
{
	for (size_t i = 0; i < s->r.sites; i++)
		names_parts_close(&s->r.parts[i]);
	s->r.sites = 0;
}

struct names_reader *names_hold(struct names_reader *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void names_close(struct names_reader **rp)
{
	struct names_reader *r = *rp;
	*rp = NULL;
	if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
		return;
	struct snapshot *s = snapshot_of(r);
	snapshot_drop_layers(s);
	snapshot_drop_sites(s);
	names_manifest_free(&s->manifest);
	for (size_t i = 0; i < s->gones; i++)
		page_close(&s->gone[i]);
	file_drop(&s->file);
	arena_free(&r->arena);
	mem_free(&r->folder);
	mem_free(&s);
}

/* What cannot be opened is for those to say who need it: nothing that is searched does. */
static void snapshot_open_gone(struct snapshot *s)
{
	struct err ignored;
	s->gones = s->manifest.gones;
	s->gone = arena_array(&s->r.arena, s->gones, sizeof(struct page_file *));
	for (size_t i = 0; i < s->gones; i++) {
		char *path =
			names_generation_path(s->r.folder, s->manifest.gone[i].generation, "gone");
		if (page_open(&s->gone[i], path, &ignored) != 0)
			s->gone_lost = true;
		mem_free(&path);
	}
}

/* 1: a file that the manifest names is not there. */
static int snapshot_load(struct snapshot *s, const struct snapshot *older, struct err *err)
{
	const struct names_manifest *m = &s->manifest;
	int rc = 0;
	s->r.generation = m->generation;
	s->r.forgotten = m->forgotten;
	snapshot_rooms(s, m->sites, m->layers);
	for (size_t i = 0; rc == 0 && i < m->layers; i++) {
		rc = layer_open(s, older, i, err);
		s->shareds = i + 1;
	}
	for (size_t i = 0; rc == 0 && i < m->sites; i++)
		rc = site_open(s, older, i, err);
	s->r.layers = rc == 0 ? m->layers : 0;
	return rc;
}

/* Without the index */

/* A generation whose index is a certain file. */
struct found_generation {
	dev_t dev;
	ino_t ino;
	uint64_t generation;
};
struct found_list {
	struct found_generation *item;
	size_t n, room;
};

static int generations_find(const char *folder, struct found_list *ret, struct err *err)
{
	char *path = names_path(folder, "names");
	struct dir d;
	const char *name;
	uint64_t generation;
	int rc = dir_init(&d, path, err);
	mem_free(&path);
	if (rc != 0)
		return MIN(rc, 0);
	while (dir_next(&d, &name) == 0) {
		struct stat st;
		if (!names_generation_of(name, &generation))
			continue;
		path = names_generation_path(folder, generation, names_part_name[NAMES_INDEX]);
		if (stat(path, &st) == 0)
			*VEC_PUSH(ret->item, ret->n, ret->room) =
				(struct found_generation){st.st_dev, st.st_ino, generation};
		mem_free(&path);
	}
	dir_done(&d);
	return 0;
}

/* What the key alone tells. Who built it is not known, and what was built by hand nobody builds
 * again: so it is kept as if it were. */
static struct names_about about_by_key(struct snapshot *s, struct str key, const struct stat *st,
				       const struct names_parts *p)
{
	return (struct names_about){.key = key,
				    .url = names_key_url(key, &s->r.arena),
				    .entries = names_parts_entries(p),
				    .dirs = names_parts_dirs(p),
				    .listed_s = st->st_mtime,
				    .built_s = st->st_mtime,
				    .by_hand = true};
}

/* The parts of a key: in the folder of a generation if there is one with them, since that has
 * checksums. */
static int key_open(struct snapshot *s, const struct found_list *found, struct str key,
		    struct names_parts **ret, struct names_about *ret_about, struct err *err)
{
	struct stat st;
	char *path = names_key_path(s->r.folder, NAMES_INDEX, key);
	int rc = stat(path, &st) < 0;
	mem_free(&path);
	if (rc)
		return 1;
	for (size_t i = 0; i < found->n; i++) {
		const struct found_generation *f = &found->item[i];
		if (f->ino != st.st_ino || f->dev != st.st_dev)
			continue;
		path = names_generation_path(s->r.folder, f->generation, "");
		rc = names_parts_open(ret, path, f->generation, err);
		mem_free(&path);
		if (rc == 0 && str_eq(names_parts_pages(*ret)->about.key, key)) {
			*ret_about = names_parts_pages(*ret)->about;
			return 0;
		}
		if (rc == 0)
			names_parts_close(ret);
	}
	rc = names_parts_open_by_key(ret, s->r.folder, key, err);
	if (rc == 0)
		*ret_about = about_by_key(s, key, &st, *ret);
	return rc;
}

static void site_lose(struct snapshot *s, struct str key, const char *why, bool by_hand)
{
	struct names_lost lost = {key, str_of(why), by_hand};
	s->r.lost[s->r.losts++] = names_lost_copy(&s->r.arena, &lost);
}

/* One file in a folder called index does not make a site. */
static bool key_has_more(const struct snapshot *s, struct str key)
{
	struct stat st;
	bool more = false;
	for (unsigned i = NAMES_INDEX + 1; i < NAMES_PARTS && !more; i++) {
		char *path = names_key_path(s->r.folder, i, key);
		more = stat(path, &st) == 0;
		mem_free(&path);
	}
	return more;
}

static void snapshot_take_key(struct snapshot *s, const struct found_list *found, struct str key,
			      struct err *err)
{
	struct names_about about;
	int rc = key_open(s, found, key, &s->r.parts[s->r.sites], &about, err);
	if (rc == 0)
		s->r.site[s->r.sites++] = names_site_of(&s->r.arena, &about);
	else if (rc < 0 || key_has_more(s, key)) /* whether it was fetched is not known */
		site_lose(s, key, rc == 1 ? "some part of it is gone" : err->msg, true);
}

/* All that have parts by key; what cannot be read is lost. */
static int snapshot_scan_keys(struct snapshot *s, struct err *err)
{
	struct found_list found = {0};
	struct dir d;
	const char *name;
	char *path = names_path(s->r.folder, names_part_name[NAMES_INDEX]);
	int rc = dir_init(&d, path, err);
	mem_free(&path);
	if (rc != 0)
		return rc;
	rc = generations_find(s->r.folder, &found, err);
	snapshot_rooms(s, d.n, 0);
	while (rc == 0 && dir_next(&d, &name) == 0)
		if (name[0] != '.')
			snapshot_take_key(s, &found, str_of(name), err);
	dir_done(&d);
	mem_free(&found.item);
	return rc;
}

/* The sites of the manifest, each from where it can be read; the others are lost. */
static void snapshot_scan_sites(struct snapshot *s)
{
	const struct names_manifest *m = &s->manifest;
	snapshot_rooms(s, m->sites, 0);
	for (size_t i = 0; i < m->sites; i++) {
		struct names_parts **to = &s->r.parts[s->r.sites];
		struct err why, ignored;
		int rc = names_site_parts(s->r.folder, &m->site[i], to, &why);
		if (rc != 0)
			rc = names_parts_open_by_key(to, s->r.folder, m->site[i].about.key,
						     &ignored);
		if (rc == 0 && names_parts_entries(*to) != m->site[i].about.entries) {
			names_parts_close(to);
			rc = 1;
		}
		if (rc == 0)
			s->r.site[s->r.sites++] = names_site_of(&s->r.arena, &m->site[i].about);
		else
			site_lose(s, m->site[i].about.key, why.msg, m->site[i].about.by_hand);
	}
}

/* 1: there are no parts, and no manifest. */
static int snapshot_fall_back(struct snapshot *s, bool manifest, const struct err *why,
			      struct err *err)
{
	int rc = 0;
	snapshot_drop_layers(s);
	snapshot_drop_sites(s);
	s->r.why = arena_text(&s->r.arena, str_of(why->msg));
	if (manifest)
		snapshot_scan_sites(s);
	else
		rc = snapshot_scan_keys(s, err);
	if (rc == 0 && !manifest && s->r.sites + s->r.losts == 0)
		rc = 1;
	if (rc == 0 && !manifest)
		rc = names_folder_newest(s->r.folder, &s->r.generation, err);
	return rc;
}

/* Opening */

/* 0: it is another one than the open file. 1: it is the same, or there is still none. */
static int manifest_changed(const struct snapshot *s, struct err *err)
{
	struct stat now, then;
	CLEANUP(mem_free) char *path = names_path(s->r.folder, "names/manifest");
	if (stat(path, &now) < 0)
		return errno == ENOENT ? s->file.fd < 0 : err_sys(err, "%s", path);
	return s->file.fd >= 0 && fstat(s->file.fd, &then) == 0 && now.st_ino == then.st_ino &&
	       now.st_dev == then.st_dev;
}

/* 2: there is a newer manifest by now. */
static int snapshot_open(struct snapshot *s, const struct snapshot *older, struct err *err)
{
	struct err why;
	int rc = names_manifest_read(s->r.folder, &s->manifest, &s->file, &why);
	if (rc == 1)
		(void)err_set(&why, ERR_DAMAGED, "%s/names/manifest: it is lost", s->r.folder);
	bool manifest = rc == 0;
	if (manifest)
		snapshot_open_gone(s);
	if (manifest)
		rc = snapshot_load(s, older, &why);
	if (rc == 0)
		return s->gone_lost && manifest_changed(s, err) == 0 ? 2 : 0;
	if (rc < 0 && why.code != ERR_DAMAGED && why.code != ERR_USAGE) {
		*err = why;
		return -1;
	}
	int changed = manifest_changed(s, err);
	if (changed <= 0)
		return changed < 0 ? -1 : 2;
	return snapshot_fall_back(s, manifest, &why, err);
}

static int open_after(struct names_reader **ret, const char *folder, const struct snapshot *older,
		      struct err *err)
{
	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		struct snapshot *s = snapshot_new(folder);
		int rc = snapshot_open(s, older, err);
		if (rc == 0) {
			s->r.problem =
				names_problem_words(&s->r.arena, s->r.why, s->r.lost, s->r.losts);
			*ret = &s->r;
			return 0;
		}
		struct names_reader *r = &s->r;
		names_close(&r);
		if (rc != 2)
			return rc;
	}
	return err_set(err, ERR_BUSY, "%s: it changes faster than it can be opened", folder);
}

int names_open(struct names_reader **ret, const char *folder, struct err *err)
{
	return open_after(ret, folder, NULL, err);
}

int names_refresh(struct names_reader **r, struct err *err)
{
	struct names_reader *newer = NULL;
	int rc = manifest_changed(snapshot_of(*r), err);
	if (rc != 0)
		return rc;
	rc = open_after(&newer, (*r)->folder, snapshot_of(*r), err);
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: its manifest and its parts are gone",
			     (*r)->folder);
	if (rc < 0)
		return -1;
	names_close(r);
	*r = newer;
	return 0;
}

/* Asking */

const char *names_problem(const struct names_reader *r)
{
	return r->problem;
}

const struct names_lost *names_lost(const struct names_reader *r, size_t *ret_n)
{
	*ret_n = r->losts;
	return r->lost;
}

const char *names_problem_words(struct arena *arena, const char *why, const struct names_lost *lost,
				size_t losts)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(64 << 10);
	if (!why && losts == 0)
		return NULL;
	if (why)
		buf_printf(&b, "%s; names are scanned", why);
	for (size_t i = 0; i < MIN(losts, (size_t)LOST_SAID); i++) {
		buf_printf(&b, "%ssite " STR_FMT " is left out", b.n ? "; " : "",
			   STR_ARG(lost[i].key));
		if (!why || !str_is(lost[i].why, why))
			buf_printf(&b, " (" STR_FMT ")", STR_ARG(lost[i].why));
	}
	if (losts > LOST_SAID)
		buf_printf(&b, "; and so are %zu more", losts - LOST_SAID);
	return arena_printf(arena, "%s", buf_text(&b));
}

const struct names_site *names_sites(const struct names_reader *r, size_t *ret_n)
{
	*ret_n = r->sites;
	return r->site;
}

int names_get(struct names_reader *r, uint32_t site, uint64_t line, struct arena *arena,
	      struct names_entry *ret, struct err *err)
{
	uint64_t dir;
	if (site >= r->sites || line >= names_parts_entries(r->parts[site]))
		return 1;
	struct names_parts *p = r->parts[site];
	if (names_parts_data(p, line, ret, &dir, err) < 0 ||
	    names_parts_name(p, line, arena, &ret->name, err) < 0)
		return -1;
	return names_parts_dir(p, dir, arena, &ret->dir, err);
}

uint64_t names_generation(const struct names_reader *r)
{
	return r->generation;
}

uint64_t names_forgotten(const struct names_reader *r)
{
	return r->forgotten;
}

uint64_t names_identity(const struct names_reader *r)
{
	return snapshot_of_const(r)->manifest.identity;
}

struct page_file *names_reader_gone(const struct names_reader *r, size_t i)
{
	return snapshot_of_const(r)->gone[i];
}

const struct names_manifest *names_reader_manifest(const struct names_reader *r)
{
	return &snapshot_of_const(r)->manifest;
}

static uint64_t manifest_bytes(const struct snapshot *s)
{
	uint64_t n;
	struct err ignored;
	return s->file.fd >= 0 && file_size(&s->file, &n, &ignored) == 0 ? n : 0;
}

/* Of a pages file: 16 KiB and 4 bytes a page, and its end. */
static uint64_t pages_bytes(const struct names_parts *p)
{
	const struct names_pages *pages = names_parts_pages(p);
	return pages ? page_count(page_bytes(pages->file)) * (PAGE_SIZE + 4) + 32 : 0;
}

void names_stats(const struct names_reader *r, struct names_stats *ret)
{
	struct names_stats s = {
		.generation = r->generation, .sites = r->sites, .segments = r->layers};
	s.index_bytes = manifest_bytes(snapshot_of_const(r));
	for (size_t i = 0; i < r->layers; i++) {
		const struct names_segment_info *info = names_segment_info(r->layer[i].segment);
		s.hidden += r->layer[i].hidden;
		s.distinct += info->names;
		s.trigrams += info->trigrams;
		s.index_bytes += info->file_bytes;
	}
	for (size_t i = 0; i < r->sites; i++) {
		s.entries += r->site[i].entries;
		s.dirs += r->site[i].dirs;
		s.part_bytes += names_parts_bytes(r->parts[i]);
		s.index_bytes += pages_bytes(r->parts[i]);
	}
	*ret = s;
}
