/* The manifest of a names index: which sites there are, in which generation, and which segments
 * have their names. A small file, replaced in one step by every commit and every merge. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "disk/small_file.h"
#include "index/names/names_store.h"

#include <inttypes.h>
#include <sys/random.h>

enum {
	MANIFEST_MOST = 256 << 20, /* bytes */
	URL_MOST = 64 << 10,
	SITE_BY_HAND = 1,
	SITE_LEAST = 27, /* bytes of a site */
	WHY_MOST = 4 << 10,
};

static char *manifest_path(const char *folder)
{
	return names_path(folder, "names/manifest");
}

/* Writing */

static void put_site(struct buf *b, const struct names_manifest_site *s)
{
	const struct names_about *a = &s->about;
	put_text(b, a->key);
	put_text(b, a->url);
	put_varint(b, a->generation);
	put_varint(b, a->entries);
	put_varint(b, a->dirs);
	put_u64le(b, (uint64_t)a->listed_s);
	put_u64le(b, (uint64_t)a->built_s);
	put_u8(b, a->by_hand ? SITE_BY_HAND : 0);
	put_u32le(b, s->pages_sum);
}

static void put_layer(struct buf *b, const struct names_manifest_layer *l)
{
	put_varint(b, l->generation);
	put_varint(b, l->bytes);
	put_varint(b, l->entries);
	put_varint(b, l->spans);
	for (size_t i = 0; i < l->spans; i++) {
		put_varint(b, l->span[i].generation);
		put_varint(b, l->span[i].n);
	}
}

int names_manifest_write(const char *folder, const struct names_manifest *m, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(MANIFEST_MOST - SMALL_FILE_HEAD);
	put_u64le(&b, m->identity);
	put_u64le(&b, m->generation);
	put_u64le(&b, m->forgotten);
	put_varint(&b, m->sites);
	for (size_t i = 0; i < m->sites; i++)
		put_site(&b, &m->site[i]);
	put_varint(&b, m->layers);
	for (size_t i = 0; i < m->layers; i++)
		put_layer(&b, &m->layer[i]);
	put_varint(&b, m->gones);
	for (size_t i = 0; i < m->gones; i++) {
		put_varint(&b, m->gone[i].generation);
		put_varint(&b, m->gone[i].dirs);
		put_u64le(&b, (uint64_t)m->gone[i].newest_s);
	}
	put_varint(&b, m->removeds);
	for (size_t i = 0; i < m->removeds; i++)
		put_text(&b, m->removed[i]);
	if (m->losts)
		put_varint(&b, m->losts);
	for (size_t i = 0; i < m->losts; i++) {
		put_text(&b, m->lost[i].key);
		put_text(&b, str_head(m->lost[i].why, WHY_MOST));
		put_u8(&b, m->lost[i].by_hand ? SITE_BY_HAND : 0);
	}
	CLEANUP(mem_free) char *path = manifest_path(folder);
	if (b.over)
		return err_set(err, ERR_USAGE, "%s: too many sites", path);
	return small_file_write(path, &names_manifest_format, buf_str(&b), err);
}

/* Reading: everything is copied into the arena of the manifest. */

/* How many follow; false: more than there can be, since each has some bytes at least. */
static bool get_count(struct reader *r, size_t least, size_t *ret)
{
	uint64_t n = reader_varint(r);
	*ret = 0;
	if (r->bad || n > reader_left(r) / least)
		return false;
	*ret = (size_t)n;
	return true;
}

static bool key_fits(struct str key)
{
	return key.n && key.p[0] != '.' && !memchr(key.p, '/', key.n) && !memchr(key.p, 0, key.n);
}

static bool get_site(struct reader *r, struct names_manifest *m, struct names_manifest_site *s)
{
	struct names_about *a = &s->about;
	a->key = arena_str(&m->arena, reader_text(r, NAMES_KEY_MOST));
	a->url = arena_str(&m->arena, reader_text(r, URL_MOST));
	a->generation = reader_varint(r);
	a->entries = reader_varint(r);
	a->dirs = reader_varint(r);
	a->listed_s = (int64_t)reader_u64le(r);
	a->built_s = (int64_t)reader_u64le(r);
	a->by_hand = reader_u8(r) & SITE_BY_HAND;
	s->pages_sum = reader_u32le(r);
	return !r->bad && key_fits(a->key) && a->generation && a->generation <= m->generation &&
	       a->entries <= NAMES_ENTRIES_MOST && a->dirs <= NAMES_DIRS_MOST;
}

static bool get_sites(struct reader *r, struct names_manifest *m)
{
	if (!get_count(r, SITE_LEAST, &m->sites))
		return false;
	m->site = arena_array(&m->arena, m->sites, sizeof *m->site);
	for (size_t i = 0; i < m->sites; i++)
		if (!get_site(r, m, &m->site[i]) ||
		    (i && str_cmp(m->site[i - 1].about.key, m->site[i].about.key) >= 0))
			return false;
	return true;
}

static bool get_layer(struct reader *r, struct names_manifest *m, struct names_manifest_layer *l)
{
	l->generation = reader_varint(r);
	l->bytes = reader_varint(r);
	uint64_t entries = reader_varint(r), sum = 0;
	if (r->bad || entries > NAMES_ENTRIES_MOST || l->generation > m->generation ||
	    !get_count(r, 2, &l->spans))
		return false;
	l->entries = (uint32_t)entries;
	l->span = arena_array(&m->arena, l->spans, sizeof *l->span);
	for (size_t i = 0; i < l->spans; i++) {
		l->span[i].generation = reader_varint(r);
		uint64_t n = reader_varint(r);
		sum += MIN(n, (uint64_t)NAMES_ENTRIES_MOST + 1);
		if (r->bad || sum > entries)
			return false;
		l->span[i].n = (uint32_t)n;
	}
	return sum == entries;
}

static bool get_layers(struct reader *r, struct names_manifest *m)
{
	if (!get_count(r, 4, &m->layers))
		return false;
	m->layer = arena_array(&m->arena, m->layers, sizeof *m->layer);
	for (size_t i = 0; i < m->layers; i++)
		if (!get_layer(r, m, &m->layer[i]))
			return false;
	return true;
}

static bool get_gone(struct reader *r, struct names_manifest *m)
{
	if (!get_count(r, 10, &m->gones))
		return false;
	m->gone = arena_array(&m->arena, m->gones, sizeof *m->gone);
	for (size_t i = 0; i < m->gones; i++) {
		m->gone[i].generation = reader_varint(r);
		m->gone[i].dirs = reader_varint(r);
		m->gone[i].newest_s = (int64_t)reader_u64le(r);
	}
	if (!get_count(r, 2, &m->removeds))
		return false;
	m->removed = arena_array(&m->arena, m->removeds, sizeof *m->removed);
	for (size_t i = 0; i < m->removeds; i++) {
		m->removed[i] = arena_str(&m->arena, reader_text(r, NAMES_KEY_MOST));
		if (!key_fits(m->removed[i]))
			return false;
	}
	return !r->bad;
}

/* Nothing follows where none is lost. */
static bool get_lost(struct reader *r, struct names_manifest *m)
{
	if (reader_left(r) == 0)
		return true;
	if (!get_count(r, 4, &m->losts) || m->losts == 0)
		return false;
	m->lost = arena_array(&m->arena, m->losts, sizeof *m->lost);
	for (size_t i = 0; i < m->losts; i++) {
		m->lost[i].key = arena_str(&m->arena, reader_text(r, NAMES_KEY_MOST));
		m->lost[i].why = arena_str(&m->arena, reader_text(r, WHY_MOST));
		m->lost[i].by_hand = reader_u8(r) & SITE_BY_HAND;
		if (r->bad || !key_fits(m->lost[i].key))
			return false;
	}
	return true;
}

/* What the rest of the index says of each other: each site has all of its entries in one layer. */
static bool spans_fit(const struct names_manifest *m)
{
	uint64_t *seen = mem_array(m->sites + 1, sizeof *seen);
	bool good = true;
	for (size_t i = 0; i < m->layers; i++)
		for (size_t k = 0; k < m->layer[i].spans; k++) {
			const struct names_manifest_span *s = &m->layer[i].span[k];
			size_t site = names_manifest_find_generation(m, s->generation);
			if (site != SIZE_MAX)
				seen[site] += s->n;
		}
	for (size_t i = 0; i < m->sites; i++)
		good &= seen[i] == m->site[i].about.entries;
	mem_free(&seen);
	return good;
}

static int manifest_parse(const char *path, struct str bytes, struct names_manifest *ret,
			  struct err *err)
{
	struct names_manifest m = {.arena = ARENA_INIT(SIZE_MAX)};
	struct str payload;
	if (small_file_unseal(path, &names_manifest_format, bytes, &payload, err) < 0) {
		/* one of another version is as good as a damaged one: nothing here reads it */
		if (err->code == ERR_USAGE)
			err->code = ERR_DAMAGED;
		return -1;
	}
	struct reader r = reader_of(payload);
	m.identity = reader_u64le(&r);
	m.generation = reader_u64le(&r);
	m.forgotten = reader_u64le(&r);
	if (r.bad || !get_sites(&r, &m) || !get_layers(&r, &m) || !get_gone(&r, &m) ||
	    !get_lost(&r, &m) || reader_left(&r) || !spans_fit(&m)) {
		names_manifest_free(&m);
		return err_set(err, ERR_DAMAGED, "%s: it contradicts itself", path);
	}
	*ret = m;
	return 0;
}

static int manifest_load(const char *path, struct names_manifest *ret, struct file *ret_file,
			 struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(MANIFEST_MOST + 2);
	int rc = small_file_hold(path, MANIFEST_MOST, ret_file, &b, err);
	return rc ? rc : manifest_parse(path, buf_str(&b), ret, err);
}

int names_manifest_read(const char *folder, struct names_manifest *ret, struct file *ret_file,
			struct err *err)
{
	CLEANUP(mem_free) char *path = manifest_path(folder);
	return manifest_load(path, ret, ret_file, err);
}

int names_manifest_read_file(const char *path, struct names_manifest *ret, struct err *err)
{
	return manifest_load(path, ret, NULL, err);
}

void names_manifest_free(struct names_manifest *m)
{
	arena_free(&m->arena);
	*m = (struct names_manifest){.arena = ARENA_INIT(SIZE_MAX)};
}

/* Copies and looks */

uint64_t names_identity_new(void)
{
	uint64_t v = 0;
	if (getrandom(&v, sizeof v, 0) != sizeof v || v == 0)
		v = hash_u64((uint64_t)clock_wall_us()) | 1;
	return v;
}

static void *array_copy(struct arena *a, const void *p, size_t n, size_t size)
{
	void *to = arena_array(a, n, size);
	if (n)
		memcpy(to, p, n * size);
	return to;
}

struct names_lost names_lost_copy(struct arena *a, const struct names_lost *from)
{
	return (struct names_lost){arena_str(a, from->key), arena_str(a, from->why), from->by_hand};
}

void names_manifest_copy(struct names_manifest *ret, const struct names_manifest *from)
{
	struct names_manifest m = *from;
	struct arena *a = &m.arena;
	m.arena = ARENA_INIT(SIZE_MAX);
	m.site = array_copy(a, from->site, from->sites, sizeof *m.site);
	m.layer = array_copy(a, from->layer, from->layers, sizeof *m.layer);
	m.gone = array_copy(a, from->gone, from->gones, sizeof *m.gone);
	m.removed = array_copy(a, from->removed, from->removeds, sizeof *m.removed);
	m.lost = array_copy(a, from->lost, from->losts, sizeof *m.lost);
	for (size_t i = 0; i < m.losts; i++)
		m.lost[i] = names_lost_copy(a, &from->lost[i]);
	for (size_t i = 0; i < m.sites; i++) {
		m.site[i].about.key = arena_str(a, from->site[i].about.key);
		m.site[i].about.url = arena_str(a, from->site[i].about.url);
	}
	for (size_t i = 0; i < m.layers; i++)
		m.layer[i].span = array_copy(a, from->layer[i].span, from->layer[i].spans,
					     sizeof *m.layer[i].span);
	for (size_t i = 0; i < m.removeds; i++)
		m.removed[i] = arena_str(a, from->removed[i]);
	*ret = m;
}

size_t names_manifest_find(const struct names_manifest *m, struct str key)
{
	size_t at = BISECT(i, 0, m->sites, str_cmp(m->site[i].about.key, key) < 0);
	return at < m->sites && str_eq(m->site[at].about.key, key) ? at : SIZE_MAX;
}

size_t names_manifest_find_lost(const struct names_manifest *m, struct str key)
{
	for (size_t i = 0; i < m->losts; i++)
		if (str_eq(m->lost[i].key, key))
			return i;
	return SIZE_MAX;
}

void names_manifest_lose(struct names_manifest *m, const struct names_lost *site)
{
	if (names_manifest_find_lost(m, site->key) != SIZE_MAX)
		return;
	size_t room = m->losts;
	*ARENA_PUSH(&m->arena, m->lost, m->losts, room) = names_lost_copy(&m->arena, site);
}

int names_manifest_unlose(struct names_manifest *m, struct str key)
{
	size_t at = names_manifest_find_lost(m, key);
	if (at == SIZE_MAX)
		return 1;
	m->losts--;
	memmove(m->lost + at, m->lost + at + 1, (m->losts - at) * sizeof *m->lost);
	return 0;
}

size_t names_manifest_find_generation(const struct names_manifest *m, uint64_t generation)
{
	for (size_t i = 0; i < m->sites; i++)
		if (m->site[i].about.generation == generation)
			return i;
	return SIZE_MAX;
}

uint64_t names_manifest_hidden(const struct names_manifest *m,
			       const struct names_manifest_layer *layer)
{
	uint64_t n = 0;
	for (size_t i = 0; i < layer->spans; i++)
		if (names_manifest_find_generation(m, layer->span[i].generation) == SIZE_MAX)
			n += layer->span[i].n;
	return n;
}
