/* The tables of the registry: three sorted lists in a paged file. They are written at one go,
 * either the old ones merged with what came since, or from all records: then sorts with bounded
 * memory find out which record of an identity is the last. Looking up guesses a place from the key
 * and closes in from both sides. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"
#include "broker/registry_inner.h"
#include "disk/sort.h"

#include <inttypes.h>

enum {
	TABLES_VERSION = 1,
	TABLES_HEAD = 64,
	ENTRY = 14,             /* key and offset */
	OFFSET = 6,             /* bytes of an offset */
	ENTRIES_READ = 1024,    /* at a time */
	MAKE_MEMORY = 64 << 20, /* of each sort */
	GUESSES = 3,            /* looks by guessing */
};
#define TABLES_MAGIC "GARNERRT"

struct table_entry {
	uint64_t key, at;
};

static int tables_damaged(const char *path, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: %s; it is made again from the registry at a start",
		       path, what);
}

int registry_tables_open(struct registry_tables *ret, const char *path, struct err *err)
{
	struct registry_tables t = {0};
	struct str head;
	int rc = page_open(&t.file, path, err);
	if (rc != 0)
		return rc;
	if (page_bytes(t.file) < TABLES_HEAD) {
		rc = tables_damaged(path, "shorter than its head", err);
	} else if (page_get(t.file, 0, TABLES_HEAD, &head, err) < 0) {
		rc = -1;
	} else {
		struct reader r = reader_of(head);
		bool ours = memcmp(reader_bytes(&r, 8).p, TABLES_MAGIC, 8) == 0;
		uint32_t version = reader_u32le(&r), zero = reader_u32le(&r);
		t.base = reader_u64le(&r);
		t.length = reader_u64le(&r);
		uint64_t left = (page_bytes(t.file) - TABLES_HEAD) / ENTRY;
		bool fits = (page_bytes(t.file) - TABLES_HEAD) % ENTRY == 0;
		for (unsigned i = 0; i < REGISTRY_LISTS; i++) {
			t.n[i] = reader_u64le(&r);
			fits &= t.n[i] <= left;
			left -= MIN(left, t.n[i]);
		}
		if (!ours || version != TABLES_VERSION || zero || reader_u64le(&r) || !fits || left)
			rc = tables_damaged(path, "its head is not that of tables", err);
	}
	if (rc == 0 && page_check(t.file, err) < 0)
		rc = -1;
	if (rc < 0) {
		page_close(&t.file);
		return -1;
	}
	*ret = t;
	return 0;
}

void registry_tables_close(struct registry_tables *t)
{
	page_close(&t->file);
	*t = (struct registry_tables){0};
}

static struct table_entry entry_parse(const char *p)
{
	struct table_entry e = {0};
	uint64_t at = 0;
	memcpy(&e.key, p, sizeof e.key);
	memcpy(&at, p + sizeof e.key, OFFSET);
	return (struct table_entry){le64toh(e.key), le64toh(at)};
}

static void entry_print(const struct table_entry *e, char ret[ENTRY])
{
	uint64_t key = htole64(e->key), at = htole64(e->at);
	memcpy(ret, &key, sizeof key);
	memcpy(ret + sizeof key, &at, OFFSET);
}

static void entry_put(struct page_writer *w, const struct table_entry *e)
{
	char bytes[ENTRY];
	entry_print(e, bytes);
	page_put(w, bytes, ENTRY);
}

static bool entry_before(const struct table_entry *a, const struct table_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->at < b->at;
}

static uint64_t list_begin(const struct registry_tables *t, enum registry_list list)
{
	uint64_t before = 0;
	for (unsigned i = 0; i < (unsigned)list; i++)
		before += t->n[i];
	return TABLES_HEAD + before * ENTRY;
}

static int list_get(const struct registry_tables *t, enum registry_list list, uint64_t i,
		    struct table_entry *ret, struct err *err)
{
	struct str bytes;
	if (page_get(t->file, list_begin(t, list) + i * ENTRY, ENTRY, &bytes, err) < 0)
		return -1;
	*ret = entry_parse(bytes.p);
	return 0;
}

/* A search closes in on [from, to). */
struct list_search {
	uint64_t from, to;
	uint64_t at, key; /* the entry that was looked at last */
	uint64_t n, most; /* entries of the list, and the key that its keys are spread up to */
};

/* Where the key should be, by how far it is from the last one that was seen: evenly spread keys
 * stray by the root of that distance, so that a second guess is very near. */
static uint64_t search_guess(const struct list_search *s, uint64_t key)
{
	bool up = key >= s->key;
	uint64_t apart = up ? key - s->key : s->key - key;
	uint64_t far =
		(uint64_t)((unsigned __int128)apart * s->n / ((unsigned __int128)s->most + 1));
	uint64_t at = up ? s->at + MIN(far, s->n) : s->at - MIN(far, s->at);
	return MIN(MAX(at, s->from), s->to - 1);
}

/* The first entry that is not before `want`: some guesses, then steps that double until the place
 * is passed, then halving. */
static int list_lower(const struct registry_tables *t, enum registry_list list,
		      const struct table_entry *want, uint64_t *ret, struct err *err)
{
	struct list_search s = {.to = t->n[list], .n = t->n[list], .most = UINT64_MAX};
	struct table_entry e;
	uint64_t step = 1;
	bool before = false, passed = false;
	if (s.n && list == REGISTRY_BY_OID) {
		if (list_get(t, list, s.n - 1, &e, err) < 0)
			return -1;
		s.most = e.key;
	}
	for (unsigned look = 0; s.from < s.to; look++) {
		if (look < GUESSES)
			s.at = search_guess(&s, want->key);
		else if (passed)
			s.at = s.from + (s.to - s.from) / 2;
		else
			s.at = before ? s.from + MIN(step, s.to - s.from) - 1
				      : s.to - MIN(step, s.to - s.from);
		if (list_get(t, list, s.at, &e, err) < 0)
			return -1;
		s.key = e.key;
		passed |= look >= GUESSES && before != entry_before(&e, want);
		before = entry_before(&e, want);
		step *= 2;
		if (before)
			s.from = s.at + 1;
		else
			s.to = s.at;
	}
	*ret = s.from;
	return 0;
}

int registry_tables_find(const struct registry_tables *t, enum registry_list list, uint64_t key,
			 const struct registry_dead *dead, size_t most,
			 struct registry_offsets *ret, struct err *err)
{
	const struct table_entry want = {key, 0};
	uint64_t i;
	if (!t->file)
		return 0;
	if (list_lower(t, list, &want, &i, err) < 0)
		return -1;
	for (; most && i < t->n[list]; i++) {
		struct table_entry e;
		if (list_get(t, list, i, &e, err) < 0)
			return -1;
		if (e.key != key)
			break;
		if (registry_dead_get(dead, e.at))
			continue;
		*VEC_PUSH(ret->at, ret->n, ret->room) = e.at;
		most--;
	}
	return page_check(t->file, err);
}

int registry_tables_has(const struct registry_tables *t, enum registry_list list, uint64_t key,
			uint64_t at, struct err *err)
{
	const struct table_entry want = {key, at};
	struct table_entry e;
	uint64_t i;
	if (!t->file)
		return 1;
	if (list_lower(t, list, &want, &i, err) < 0)
		return -1;
	if (i == t->n[list])
		return 1;
	if (list_get(t, list, i, &e, err) < 0 || page_check(t->file, err) < 0)
		return -1;
	return e.key == key && e.at == at ? 0 : 1;
}

/* A list from its beginning on. */
struct list_walk {
	const struct registry_tables *t;
	enum registry_list list;
	uint64_t i;
	struct str some; /* entries that were read and are not given out */
};

static int list_next(struct list_walk *w, struct table_entry *ret, struct err *err)
{
	if (!w->t->file || w->i == w->t->n[w->list])
		return 1;
	if (w->some.n == 0) {
		size_t n = (size_t)MIN(w->t->n[w->list] - w->i, (uint64_t)ENTRIES_READ);
		if (page_get(w->t->file, list_begin(w->t, w->list) + w->i * ENTRY, n * ENTRY,
			     &w->some, err) < 0)
			return -1;
	}
	*ret = entry_parse(w->some.p);
	w->some = str_from(w->some, ENTRY);
	w->i++;
	return 0;
}

int registry_tables_verify(const struct registry_tables *t, const char *path, struct err *err)
{
	if (page_verify(t->file, err) < 0)
		return -1;
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++) {
		struct list_walk w = {t, list, 0, {0}};
		struct table_entry e, before = {0};
		int rc;
		while ((rc = list_next(&w, &e, err)) == 0) {
			if (w.i > 1 && !entry_before(&before, &e))
				return tables_damaged(path, "a list is not in order", err);
			if (e.at < REGISTRY_HEADER || e.at >= t->length)
				return tables_damaged(path, "an entry is not of the registry", err);
			before = e;
		}
		if (rc < 0)
			return -1;
	}
	return page_check(t->file, err);
}

/* Writing */

static void head_put(struct page_writer *w, const struct registry_tables *t)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(TABLES_HEAD);
	buf_add_text(&head, TABLES_MAGIC);
	put_u32le(&head, TABLES_VERSION);
	put_u32le(&head, 0);
	put_u64le(&head, t->base);
	put_u64le(&head, t->length);
	for (unsigned i = 0; i < REGISTRY_LISTS; i++)
		put_u64le(&head, t->n[i]);
	put_u64le(&head, 0);
	page_put(w, head.p, head.n);
}

/* A file of its own: one that was left under this name may be mapped. */
static int tables_create(struct page_writer *w, const char *path, struct err *err)
{
	return file_remove(path, err) < 0 ? -1 : page_create(w, path, 0640, NULL, err);
}

static int entries_order(const void *a, const void *b)
{
	const struct table_entry *x = a, *y = b;
	return entry_before(x, y) ? -1 : entry_before(y, x);
}

/* What the living entries since the old tables have for a list, in order. */
static struct table_entry *recent_sorted(const struct registry_recent *recent,
					 enum registry_list list, size_t *ret_n)
{
	struct table_entry *some = NULL;
	size_t n = 0, room = 0;
	for (size_t i = 0; i < recent->n; i++) {
		const struct registry_entry *e = &recent->entry[i];
		if (registry_entry_listed(e, list) && !registry_dead_get(&recent->dead, e->at))
			*VEC_PUSH(some, n, room) =
				(struct table_entry){registry_entry_key(e, list), e->at};
	}
	if (n)
		qsort(some, n, sizeof *some, entries_order);
	*ret_n = n;
	return some;
}

/* How many entries of the old tables are dead. */
static uint64_t dead_entries(const struct registry_recent *recent, enum registry_list list,
			     uint64_t length)
{
	uint64_t n = 0;
	for (size_t i = 0; i < recent->n; i++) {
		const struct registry_entry *e = &recent->entry[i];
		n += e->kills && e->kills < length &&
		     (list == REGISTRY_BY_URL || (list == REGISTRY_BY_MD5 && e->killed_md5) ||
		      (list == REGISTRY_BY_OID && e->killed_oid));
	}
	return n;
}

struct merge_list {
	struct table_entry *some; /* since */
	size_t n;
};

static int list_merge(struct page_writer *w, const struct registry_tables *old,
		      const struct registry_recent *recent, enum registry_list list,
		      const struct merge_list *with, uint64_t want, struct err *err)
{
	struct list_walk walk = {old, list, 0, {0}};
	struct table_entry e;
	size_t i = 0;
	uint64_t n = 0;
	int rc;
	while ((rc = list_next(&walk, &e, err)) == 0) {
		if (registry_dead_get(&recent->dead, e.at))
			continue;
		for (; i < with->n && entry_before(&with->some[i], &e); i++, n++)
			entry_put(w, &with->some[i]);
		entry_put(w, &e);
		n++;
	}
	for (; rc == 1 && i < with->n; i++, n++)
		entry_put(w, &with->some[i]);
	if (rc < 0 || (old->file && page_check(old->file, err) < 0))
		return -1;
	if (n != want)
		return err_set(err, ERR_DAMAGED,
			       "%" PRIu64 " entries where %" PRIu64 " were counted; not written", n,
			       want);
	return 0;
}

int registry_tables_merge(const char *path, const struct registry_tables *old,
			  const struct registry_recent *recent, uint64_t base, uint64_t length,
			  struct err *err)
{
	struct page_writer w;
	struct registry_tables t = {.base = base, .length = length};
	struct merge_list with[REGISTRY_LISTS] = {{0}};
	if (tables_create(&w, path, err) < 0)
		return -1;
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++) {
		with[list].some = recent_sorted(recent, list, &with[list].n);
		t.n[list] = old->n[list] + with[list].n - dead_entries(recent, list, old->length);
	}
	head_put(&w, &t);
	int rc = 0;
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++) {
		if (rc == 0)
			rc = list_merge(&w, old, recent, list, &with[list], t.n[list], err);
		mem_free(&with[list].some);
	}
	FAULT("registry.tables.written");
	if (rc == 0)
		return page_finish(&w, true, err);
	page_drop(&w);
	return -1;
}

/* From all records */

enum { SEEN = 37, SEEN_KEY = 24, SEEN_SAME = 16, PAIR = 16 };

struct tables_make {
	struct sort *seen;                 /* all records, by URL, identity and place */
	struct sort *list[REGISTRY_LISTS]; /* of the living: what does not come in order */
	struct registry_offsets group;     /* living records of a URL */
	struct file spool;                 /* the first list */
	struct buf out;
	uint64_t spooled;
	struct registry_tables t;
};

static void put_be64(char *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, sizeof v);
}

static int make_see(struct tables_make *m, const struct registry_raw *raw, struct err *err)
{
	const struct registry_object *o = &raw->object;
	char bytes[SEEN];
	uint32_t oid = htobe32(o->oid);
	put_be64(bytes, registry_url_key(o->url));
	/* with the key of the URL these are 128 bits that tell identities apart */
	put_be64(bytes + 8, registry_md5_key(o->gatherer_name, o->gatherer_host, o->url, false));
	put_be64(bytes + 16, raw->at);
	put_be64(bytes + 24,
		 o->md5.n ? registry_md5_key(o->gatherer_name, o->gatherer_host, o->md5, o->oid)
			  : 0);
	memcpy(bytes + 32, &oid, sizeof oid);
	bytes[36] = (char)(raw->tombstone | (o->md5.n > 0) << 1);
	return sort_add(m->seen, (struct str){bytes, SEEN}, err);
}

static int make_pair(struct tables_make *m, enum registry_list list, uint64_t key, uint64_t at,
		     struct err *err)
{
	char bytes[PAIR];
	put_be64(bytes, key);
	put_be64(bytes + 8, at);
	m->t.n[list]++;
	return sort_add(m->list[list], (struct str){bytes, PAIR}, err);
}

static int spool_flush(struct tables_make *m, struct err *err)
{
	if (file_write(&m->spool, buf_str(&m->out).p, m->out.n, m->spooled, err) < 0)
		return -1;
	m->spooled += m->out.n;
	buf_clear(&m->out);
	return 0;
}

/* All living records of a URL are known: they go to the first list by their place. */
static int make_group(struct tables_make *m, uint64_t key, struct err *err)
{
	struct registry_offsets *g = &m->group;
	registry_offsets_sort(g);
	for (size_t i = 0; i < g->n; i++) {
		char bytes[ENTRY];
		entry_print(&(struct table_entry){key, g->at[i]}, bytes);
		buf_add(&m->out, bytes, ENTRY);
		m->t.n[REGISTRY_BY_URL]++;
		if (m->out.n >= REGISTRY_SCAN && spool_flush(m, err) < 0)
			return -1;
	}
	g->n = 0;
	return 0;
}

/* The last record of an identity. */
static int make_last(struct tables_make *m, const char *bytes, struct err *err)
{
	uint32_t oid;
	uint64_t at = order_u64(bytes + 16);
	memcpy(&oid, bytes + 32, sizeof oid);
	oid = be32toh(oid);
	if (bytes[36] & 1)
		return 0;
	*VEC_PUSH(m->group.at, m->group.n, m->group.room) = at;
	if (bytes[36] & 2 && make_pair(m, REGISTRY_BY_MD5, order_u64(bytes + 24), at, err) < 0)
		return -1;
	return oid ? make_pair(m, REGISTRY_BY_OID, oid, at, err) : 0;
}

static int make_sort_out(struct tables_make *m, struct err *err)
{
	char last[SEEN];
	bool any = false;
	struct str rec;
	int rc;
	while ((rc = sort_next(m->seen, &rec, err)) == 0) {
		if (any && memcmp(last, rec.p, SEEN_SAME) != 0 && make_last(m, last, err) < 0)
			return -1;
		if (any && memcmp(last, rec.p, 8) != 0 && make_group(m, order_u64(last), err) < 0)
			return -1;
		memcpy(last, rec.p, SEEN);
		any = true;
	}
	if (rc < 0 ||
	    (any && (make_last(m, last, err) < 0 || make_group(m, order_u64(last), err) < 0)))
		return -1;
	return spool_flush(m, err);
}

static int make_write(struct tables_make *m, const char *path, struct err *err)
{
	struct page_writer w;
	if (tables_create(&w, path, err) < 0)
		return -1;
	head_put(&w, &m->t);
	char *piece = mem_alloc(REGISTRY_SCAN);
	int rc = 0;
	for (uint64_t at = 0; rc == 0 && at < m->spooled;) {
		size_t got;
		rc = file_read(&m->spool, piece, REGISTRY_SCAN, at, &got, err);
		if (rc == 0 && got == 0)
			rc = err_set(err, ERR_SYSTEM, "%s: a temporary file was cut", path);
		if (rc == 0)
			page_put(&w, piece, got);
		at += rc == 0 ? got : 0;
	}
	mem_free(&piece);
	for (enum registry_list list = REGISTRY_BY_MD5; rc == 0 && list < REGISTRY_LISTS; list++) {
		struct str rec;
		while ((rc = sort_next(m->list[list], &rec, err)) == 0) {
			struct table_entry e = {order_u64(rec.p), order_u64(rec.p + 8)};
			entry_put(&w, &e);
		}
		rc = MIN(rc, 0);
	}
	if (rc == 0)
		return page_finish(&w, true, err);
	page_drop(&w);
	return -1;
}

static int make_begin(struct tables_make *m, const char *folder, struct err *err)
{
	struct sort_spec spec = {.order = {.size = SEEN, .key_len = SEEN_KEY},
				 .memory = MAKE_MEMORY,
				 .folder = folder};
	if (sort_new(&m->seen, &spec, err) < 0 || file_temporary(&m->spool, folder, err) < 0)
		return -1;
	spec.order = (struct order){.size = PAIR, .key_len = PAIR};
	for (enum registry_list list = REGISTRY_BY_MD5; list < REGISTRY_LISTS; list++)
		if (sort_new(&m->list[list], &spec, err) < 0)
			return -1;
	return 0;
}

int registry_tables_make(const char *path, const char *folder, const struct file *file,
			 uint64_t base, uint64_t length, struct err *err)
{
	struct tables_make m = {.spool = FILE_INIT,
				.out = BUF_INIT(REGISTRY_SCAN + ENTRY),
				.t = {.base = base, .length = length}};
	struct registry_walk walk;
	struct registry_raw raw;
	int rc = make_begin(&m, folder, err);
	registry_walk_begin(&walk, file, REGISTRY_HEADER, length);
	while (rc == 0 && (rc = registry_walk_next(&walk, &raw, err)) == 0)
		rc = make_see(&m, &raw, err);
	registry_walk_end(&walk);
	if (rc == 1)
		rc = make_sort_out(&m, err) < 0 ? -1 : make_write(&m, path, err);
	sort_free(&m.seen);
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++)
		sort_free(&m.list[list]);
	file_drop(&m.spool);
	buf_free(&m.out);
	mem_free(&m.group.at);
	return rc;
}
