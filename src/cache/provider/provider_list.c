/* Lists of URLs and the changes between two of them, by one pass over both in their order. All of
 * it is in memory: 90 bytes and its texts for each URL, which for a million is less than what a
 * browser needs. */
#include "cache/provider_list.h"

#include "base/hash.h"
#include "base/vec.h"
#include "cache/cache_conf.h"
#include "net/xml.h"
#include "url/url.h"

#include <stdlib.h>

void provider_list_free(struct provider_list *l)
{
	arena_free(&l->arena);
	mem_free(&l->url);
	l->n = l->room = 0;
}

/* Few types are shared by many. */
static struct str mime_copy(struct provider_list *l, struct str mime)
{
	if (l->n && str_eq(l->url[l->n - 1].mime, mime))
		return l->url[l->n - 1].mime;
	return arena_lower(&l->arena, mime);
}

static bool mime_has_form(struct str mime)
{
	size_t slash = str_find_byte(mime, '/');
	for (size_t i = 0; i < mime.n; i++)
		if (mime.p[i] <= ' ' || mime.p[i] >= 0x7f || strchr("\"<>&;,", mime.p[i]))
			return false;
	return slash > 0 && slash + 1 < mime.n && mime.n <= PROVIDER_MIME_MAX;
}

int provider_list_add(struct provider_list *l, const struct provider_url *url, struct err *err)
{
	char room[URL_MAX];
	struct url u;
	struct provider_url it = *url;
	int rc = url_parse(url->c, NULL, room, sizeof room, &u);
	if (rc != 0)
		return url_fail(rc, url->c, err);
	if (u.protocol == URL_FTP)
		return err_set(err, ERR_USAGE, STR_FMT ": expected http or https", STR_ARG(u.href));
	if (!mime_has_form(url->mime))
		return err_set(err, ERR_USAGE, STR_FMT ": not a media type, as text/html is one",
			       STR_ARG(str_head(url->mime, PROVIDER_MIME_MAX)));
	if (l->n == PROVIDER_URLS_MOST)
		return err_set(err, ERR_USAGE, "more than %d URLs", PROVIDER_URLS_MOST);
	it.c = arena_str(&l->arena, u.href);
	it.mime = mime_copy(l, url->mime);
	it.more = url->more.n ? arena_str(&l->arena, url->more) : (struct str){0};
	*VEC_PUSH(l->url, l->n, l->room) = it;
	return 0;
}

int provider_url_cmp(const struct provider_url *a, const struct provider_url *b)
{
	int rc = str_cmp(a->c, b->c);
	return rc ? rc : str_cmp(a->mime, b->mime);
}

/* What came later goes after what came before. */
static int url_order(const void *left, const void *right, void *ctx)
{
	const struct provider_list *l = ctx;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int rc = provider_url_cmp(&l->url[a], &l->url[b]);
	return rc ? rc : (a > b) - (a < b);
}

void provider_list_sort(struct provider_list *l)
{
	bool in_order = true;
	for (size_t i = 1; i < l->n && in_order; i++)
		in_order = provider_url_cmp(&l->url[i - 1], &l->url[i]) < 0;
	if (in_order)
		return;
	uint32_t *at = mem_array(l->n, sizeof *at);
	struct provider_url *sorted = mem_array(l->n, sizeof *sorted);
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		at[i] = (uint32_t)i;
	qsort_r(at, l->n, sizeof *at, url_order, l);
	for (size_t i = 0; i < l->n; i++) {
		const struct provider_url *url = &l->url[at[i]];
		n -= n && provider_url_cmp(&sorted[n - 1], url) == 0;
		sorted[n++] = *url;
	}
	mem_free(&at);
	mem_free(&l->url);
	l->url = sorted;
	l->room = l->n;
	l->n = n;
}

/* The first that is not before it. */
static size_t list_seek(const struct provider_list *l, const struct provider_url *key)
{
	return BISECT(i, 0, l->n, provider_url_cmp(&l->url[i], key) < 0);
}

const struct provider_url *provider_list_find(const struct provider_list *l, struct str c,
					      struct str mime)
{
	const struct provider_url key = {.c = c, .mime = mime};
	size_t at = list_seek(l, &key);
	return at < l->n && provider_url_cmp(&l->url[at], &key) == 0 ? &l->url[at] : NULL;
}

const struct provider_url *provider_list_first(const struct provider_list *l, struct str c)
{
	size_t at = list_seek(l, &(struct provider_url){.c = c});
	return at < l->n && str_eq(l->url[at].c, c) ? &l->url[at] : NULL;
}

uint64_t provider_url_hash(struct str c, struct str mime)
{
	return hash64_seeded(c, hash64(mime));
}

bool provider_takes(const struct str *mime, size_t n, struct str type)
{
	for (size_t i = 0; i < n; i++)
		if (cache_mime_matches(mime[i], type))
			return true;
	return false;
}

/* Changes */

/* Where both have a sum that counts, and else each thing that is told now. A file that was only
 * touched is the same. */
static bool url_changed(const struct provider_url *was, const struct provider_url *now)
{
	if (!str_eq(was->more, now->more))
		return true;
	if (!now->has)
		return now->always;
	if (now->has & ~was->has)
		return true;
	if ((now->has & PROVIDER_SIZE) && now->size != was->size)
		return true;
	if (now->has & PROVIDER_MD5)
		return memcmp(now->md5, was->md5, sizeof now->md5) != 0;
	return (now->has & PROVIDER_MTIME) && now->mtime_s != was->mtime_s;
}

static bool is_origin(const struct provider_diff *d, uint32_t origin)
{
	for (size_t i = 0; i < d->origins; i++)
		if (d->origin[i] == origin)
			return true;
	return false;
}

static struct provider_change change_of(const struct provider_diff *d,
					const struct provider_url *was,
					const struct provider_url *now)
{
	struct provider_change c = {.was = was, .now = now};
	ENSURE(was || now);
	bool gone = now ? now->op == PROVIDER_REMOVE : is_origin(d, was->origin);
	bool kept = now && now->op == PROVIDER_KEEP;
	if (kept)
		c.now = NULL;
	c.op = gone ? PROVIDER_REMOVE : PROVIDER_UPDATE;
	if (gone)
		c.fate = d->full ? PROVIDER_NO_LONGER : PROVIDER_SENT;
	else if (kept && !was)
		c.fate = PROVIDER_UNCHANGED;
	else if (d->full || (now && !kept && (!was || url_changed(was, now))))
		c.fate = PROVIDER_SENT;
	return c;
}

static void change_count(struct provider_changes *ret, const struct provider_change *c)
{
	ret->to_send += c->fate == PROVIDER_SENT;
	if (c->op == PROVIDER_REMOVE)
		ret->removed += c->fate == PROVIDER_SENT || c->fate == PROVIDER_NO_LONGER;
	else if (c->fate == PROVIDER_SENT && !c->was)
		ret->added++;
	else if (c->fate == PROVIDER_SENT && c->now && url_changed(c->was, c->now))
		ret->changed++;
}

static void changes_count(struct provider_changes *c)
{
	c->to_send = c->added = c->changed = c->removed = 0;
	for (size_t i = 0; i < c->n; i++)
		change_count(c, &c->change[i]);
}

void provider_diff_make(const struct provider_diff *d, struct provider_changes *ret)
{
	size_t i = 0, k = 0;
	*ret = (struct provider_changes){0};
	while (i < d->was->n || k < d->now->n) {
		const struct provider_url *was = i < d->was->n ? &d->was->url[i] : NULL;
		const struct provider_url *now = k < d->now->n ? &d->now->url[k] : NULL;
		int rc = !was ? 1 : !now ? -1 : provider_url_cmp(was, now);
		struct provider_change c = change_of(d, rc <= 0 ? was : NULL, rc >= 0 ? now : NULL);
		i += rc <= 0;
		k += rc >= 0;
		*VEC_PUSH(ret->change, ret->n, ret->room) = c;
	}
	changes_count(ret);
}

void provider_changes_free(struct provider_changes *c)
{
	mem_free(&c->change);
	*c = (struct provider_changes){0};
}

static uint64_t sum_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Files and bytes that this needs more than it had. */
static void change_needs(const struct provider_change *c, uint64_t *ret_files, uint64_t *ret_bytes)
{
	uint64_t had = c->was ? c->was->size : 0, has = provider_change_url(c)->size;
	*ret_files = !c->was;
	*ret_bytes = has > had ? has - had : 0;
}

/* Room of what was there before and stays: a full set names it first, or it would be removed to
 * make room for what is new. */
static void limits_keep(const struct provider_changes *c, uint64_t *files, uint64_t *space)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct provider_change *it = &c->change[i];
		if (it->fate != PROVIDER_SENT || it->op != PROVIDER_UPDATE || !it->was)
			continue;
		*files -= *files == UINT64_MAX ? 0 : MIN(*files, 1);
		*space -= *space == UINT64_MAX ? 0 : MIN(*space, it->was->size);
	}
}

void provider_changes_limit(struct provider_changes *c, const struct provider_limits *limits,
			    bool full)
{
	uint64_t files = sum_capped(limits->files_free, full ? limits->files_used : 0);
	uint64_t space = sum_capped(limits->space_free, full ? limits->space_used : 0);
	uint64_t more_files, more_bytes;
	if (full)
		limits_keep(c, &files, &space);
	for (size_t i = 0; i < c->n && !full; i++) {
		const struct provider_change *it = &c->change[i];
		if (it->fate == PROVIDER_SENT && it->op == PROVIDER_REMOVE && it->was) {
			files = sum_capped(files, 1);
			space = sum_capped(space, it->was->size);
		}
	}
	for (size_t i = 0; i < c->n; i++) {
		struct provider_change *it = &c->change[i];
		if (it->fate != PROVIDER_SENT)
			continue;
		change_needs(it, &more_files, &more_bytes);
		bool taken = limits->any_mime || provider_takes(limits->mime, limits->mimes,
								provider_change_url(it)->mime);
		if (it->op == PROVIDER_REMOVE && !taken && it->was) {
			it->fate = PROVIDER_NO_LONGER; /* the row would be refused for ever */
		} else if (it->op == PROVIDER_UPDATE && !taken) {
			it->fate = PROVIDER_NO_TYPE;
		} else if (it->op == PROVIDER_UPDATE &&
			   (more_files > files || more_bytes > space)) {
			it->fate = PROVIDER_NO_ROOM;
		} else if (it->op == PROVIDER_UPDATE) {
			files -= files == UINT64_MAX ? 0 : more_files;
			space -= space == UINT64_MAX ? 0 : more_bytes;
		}
	}
	changes_count(c);
}

static int hash_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void hashes_sort(uint64_t *hash, size_t n)
{
	if (n)
		qsort(hash, n, sizeof *hash, hash_cmp);
}

static bool hashes_have(const uint64_t *hash, size_t n, const struct provider_url *url)
{
	uint64_t key = provider_url_hash(url->c, url->mime);
	return n && bsearch(&key, hash, n, sizeof key, hash_cmp);
}

void provider_changes_refused(struct provider_changes *c, uint64_t *hash, size_t n)
{
	hashes_sort(hash, n);
	for (size_t i = 0; i < c->n && n; i++)
		if (c->change[i].fate == PROVIDER_SENT &&
		    hashes_have(hash, n, provider_change_url(&c->change[i])))
			c->change[i].fate = PROVIDER_ERROR;
	changes_count(c);
}

/* What is known of it after the set; NULL: nothing. */
static const struct provider_url *change_after(const struct provider_change *c, bool full)
{
	switch ((enum provider_fate)c->fate) {
	case PROVIDER_SENT:
		return c->op == PROVIDER_REMOVE ? NULL : provider_change_url(c);
	case PROVIDER_NO_TYPE:
	case PROVIDER_NO_ROOM:
		return full ? NULL : c->was;
	case PROVIDER_NO_LONGER:
		return NULL;
	case PROVIDER_UNCHANGED:
		/* a file that was only touched need not be read again each time; but what was named
		 * by hand is not of a tree */
		return c->was && c->now && c->now->has == c->was->has ? c->now : c->was;
	case PROVIDER_ERROR:
		break;
	}
	return c->was;
}

void provider_changes_apply(const struct provider_changes *c, bool full, uint64_t *lost,
			    size_t nlost, struct provider_list *ret)
{
	hashes_sort(lost, nlost);
	for (size_t i = 0; i < c->n; i++) {
		const struct provider_url *url = change_after(&c->change[i], full);
		if (!url || (c->change[i].fate != PROVIDER_SENT && hashes_have(lost, nlost, url)))
			continue;
		*VEC_PUSH(ret->url, ret->n, ret->room) = *url;
	}
}

void provider_url_row(const struct provider_change *c, struct buf *out)
{
	const struct provider_url *url = provider_change_url(c);
	char hex[33];
	buf_add_text(out, "<url");
	xml_add_attr(out, "c", url->c);
	xml_add_attr(out, "mime", url->mime);
	if (c->op == PROVIDER_REMOVE) {
		buf_add_text(out, " op=\"remove\"");
	} else {
		if (url->has & PROVIDER_MTIME)
			buf_printf(out, " mtime=\"%lld\"", (long long)url->mtime_s);
		if (url->has & PROVIDER_SIZE)
			xml_add_number(out, "size", url->size);
		hex_print(url->md5, sizeof url->md5, hex);
		if (url->has & PROVIDER_MD5)
			xml_add_attr(out, "md5", str_of(hex));
		buf_add_str(out, url->more);
	}
	buf_add_text(out, "/>\n");
}
