/* The builder. It builds a site in one pass: entries come out of the cage and go straight into the
 * four parts and the overlay of names.h. All sites of a run share one writer, so other builders
 * wait, or are refused, until the run ends.
 *
 * After the commit a listing is removed. If it was refused, or crashed the parser, the next try
 * would end in the same way, so it is moved to archie/failed. If it is not to blame (the disk is
 * full), it stays for the next run. Free space is checked while a site is written, as in the
 * getter: a few packed bytes of a listing can grow a thousandfold. */
#include "archie/build.h"

#include "archie/archie_conf.h"
#include "archie/getter_state.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/value.h"
#include "extract/listing_run.h"
#include "url/url.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	ARENA_MOST = 64 << 20,
	PROGRESS_EVERY = 4096,
	ROOM_EVERY = 8 << 20, /* bytes of the parts */
	ENTRY_BYTES = 67,     /* in `data`; its name is in two more parts, its folder in one */
};

/* One run. */
struct build {
	const struct archie_build_options *o;
	const struct archie_sites *sites;
	struct names_writer *writer;
	struct arena arena;      /* of one site */
	struct getter_state got; /* where listings were found */
	archie_built_fn *fn;
	void *ctx;
	struct archie_progress progress;
};

/* A site as it is built. */
struct build_site {
	struct str key, url, prefix;
	struct str root; /* the folder of the site at which its listing begins; "": the URL's */
	int32_t tz_s;
	bool by_hand;
};

static bool key_is_good(struct str key)
{
	return key.n > 0 && key.n <= NAMES_KEY_MOST && key.p[0] != '.' &&
	       str_find_byte(key, '/') == key.n && !str_has_control(key);
}

static int key_is_wrong(struct str key, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE,
		       "%s: not the KEY of a site, such as ftp.example.org-192.0.2.7 or "
		       "ftp.example.org,2121-192.0.2.7",
		       value_show(key, shown));
}

/* For a site without a line. */
static int url_of_key(struct str key, struct arena *arena, struct str *ret, struct err *err)
{
	char room[URL_STRICT_MAX];
	struct url url;
	struct str text = names_key_url(key, arena);
	if (!key_is_good(key) || str_find_byte(key, '-') == key.n ||
	    url_parse(text, NULL, room, sizeof room, &url) != 0 || !str_eq(url.href, text) ||
	    url.has_query || url.has_fragment || url.username.n)
		return key_is_wrong(key, err);
	*ret = text;
	return 0;
}

static int site_cmp(const void *key, const void *site)
{
	return str_cmp(*(const struct str *)key, ((const struct archie_site *)site)->key);
}

static const struct archie_site *site_of_key(const struct archie_sites *sites, struct str key)
{
	const struct archie_site *all = sites->site;
	return sites->n ? bsearch(&key, all, sites->n, sizeof *all, site_cmp) : NULL;
}

/* What the list says of it, or what the key alone does. */
static int site_known(struct build *b, struct str key, struct build_site *ret, struct err *err)
{
	const struct archie_site *line = site_of_key(b->sites, key);
	*ret = (struct build_site){.key = key, .by_hand = !line};
	if (!line)
		return url_of_key(key, &b->arena, &ret->url, err);
	ret->url = line->url;
	ret->prefix = line->path;
	ret->tz_s = line->tz_s;
	return 0;
}

static const struct names_site *site_among(const struct names_site *site, size_t n, struct str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(site[i].key, key))
			return &site[i];
	return NULL;
}

/* Good until the next one is asked for. */
static const struct names_site *site_built(const struct build *b, struct str key)
{
	size_t n;
	const struct names_site *site = names_written(b->writer, &n);
	return site_among(site, n, key);
}

/* One site */

struct names_entry archie_entry(const struct listing_entry *e)
{
	static const enum names_kind kind[] = {[LISTING_FILE] = NAMES_FILE,
					       [LISTING_DIR] = NAMES_DIR,
					       [LISTING_LINK] = NAMES_LINK,
					       [LISTING_OTHER] = NAMES_OTHER};
	struct names_entry r = {.name = e->name,
				.dir = e->dir,
				.kind = kind[e->kind],
				.links = (int32_t)MIN(e->links, (int64_t)INT32_MAX),
				.owner = e->owner.p ? e->owner : STR(""),
				.group = e->group.p ? e->group : STR(""),
				.size = e->size,
				.time_s = e->time_s};
	memcpy(r.mode, e->mode, sizeof r.mode);
	return r;
}

/* The parser reads the same open file, so its place tells how far that is. */
static void tell_progress(struct build *b, const struct file *f, bool writing)
{
	struct archie_progress p = b->progress;
	off_t at = lseek(f->fd, 0, SEEK_CUR);
	p.done += at > 0 ? (uint64_t)at : 0;
	p.total = MAX(p.total, p.done);
	p.writing = writing;
	if (b->o->progress)
		b->o->progress(b->o->progress_ctx, &p);
}

static bool is_below(struct str dir, struct str root)
{
	return str_starts(dir, root) && (dir.n == root.n || dir.p[root.n] == '/');
}

/* Everything that the parser says, into the site that was begun. What cannot be taken is left out
 * and counted. Where the first heading begins with the root, all of them do. */
static int add_entries(struct build *b, struct listing_run *run, const struct file *f,
		       struct str root, uint64_t *ret_left_out, struct err *err)
{
	CLEANUP(buf_free) struct buf dir = BUF_INIT((size_t)2 * LISTING_LINE_MOST);
	struct listing_entry e;
	bool is_first = true;
	uint64_t written = ROOM_EVERY; /* since the last look at the disk */
	int rc;
	while ((rc = listing_run_next(run, &e, err)) == 0) {
		struct names_entry entry = archie_entry(&e);
		if (++b->progress.files % PROGRESS_EVERY == 0)
			tell_progress(b, f, false);
		if (written >= ROOM_EVERY) {
			if (archie_has_room(b->o->folder, b->o->disk_free, err) < 0)
				return -1;
			written = 0;
		}
		written += ENTRY_BYTES + 2 * e.name.n + e.dir.n;
		if (is_first && root.n && is_below(e.dir, root))
			root.n = 0;
		is_first = false;
		if (root.n) {
			buf_clear(&dir);
			buf_add_str(&dir, root);
			if (e.dir.n)
				buf_add_byte(&dir, '/');
			buf_add_str(&dir, e.dir);
			entry.dir = buf_str(&dir);
		}
		if (names_add(b->writer, &entry, err) == 0)
			continue;
		if (err->code != ERR_USAGE)
			return -1;
		++*ret_left_out;
	}
	return rc < 0 ? -1 : 0;
}

/* Negative: the old database stands, and *ret_theirs says whether it is the listing's fault. */
static int build_from(struct build *b, const struct build_site *site, const struct file *f,
		      int64_t listed_s, struct archie_built *ret, bool *ret_theirs, struct err *err)
{
	const struct listing_run_options options = {
		.program = b->o->parser,
		.job = {.listed_s = listed_s,
			.tz_s = site->tz_s,
			.prefix = site->prefix,
			.errors_max_percent = b->o->errors_max_percent},
		.unpacked_max = b->o->listing_max,
	};
	const struct names_site_spec spec = {
		.key = site->key, .url = site->url, .listed_s = listed_s, .by_hand = site->by_hand};
	struct listing_run *run = NULL;
	uint64_t left_out = 0;
	*ret_theirs = false;
	if (listing_run_open(&run, f->fd, &options, err) < 0)
		return -1;
	int rc = names_begin(b->writer, &spec, err);
	if (rc == 0) {
		b->progress.key = site->key;
		rc = add_entries(b, run, f, site->root, &left_out, err);
		ret->stats = *listing_run_stats(run);
		ret->stats.bad += left_out;
		*ret_theirs = rc < 0 && (err->code == ERR_USAGE || err->code == ERR_REMOTE);
		tell_progress(b, f, true);
		FAULT("archie.build.read");
		rc = rc == 0 ? names_commit(b->writer, err) : rc;
		if (rc < 0)
			names_give_up(b->writer);
	}
	listing_run_close(&run);
	return rc;
}

/* Returns ret: the path of a site's file; without a key that of the folder. "", which no file has,
 * if it does not fit. */
static const char *path_of(const struct build *b, const char *folder, struct str key,
			   char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/%s%s" STR_FMT, b->o->folder, folder, key.n ? "/" : "",
			 STR_ARG(key));
	if (n >= PATH_MAX)
		ret[0] = 0;
	return ret;
}

/* A listing that led to nothing is kept for somebody to look at; the last one of each site. */
static void move_to_failed(const struct build *b, struct str key, struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct err second;
	FAULT("archie.build.refused");
	if (dir_make(path_of(b, "failed", STR(""), to), DIR_MODE, &second) < 0 ||
	    file_rename(path_of(b, "lslr", key, from), path_of(b, "failed", key, to), &second) < 0)
		(void)err_then(err, "its listing could not be moved: %s", second.msg);
	else
		(void)err_then(err, "the old database stays, the listing is in %s", to);
}

/* Why the last listing led to nothing, for those who look at the site (archie_rows.h). That it
 * cannot be written down changes nothing. */
static void note_error(const struct build *b, struct str key, const struct err *why)
{
	char path[PATH_MAX];
	struct err ignored;
	if (dir_make(path_of(b, "errors", STR(""), path), DIR_MODE, &ignored) == 0)
		(void)file_replace(path_of(b, "errors", key, path), str_of(why->msg), 0640,
				   &ignored);
}

static void forget_error(const struct build *b, struct str key)
{
	char path[PATH_MAX];
	struct err ignored;
	(void)file_remove(path_of(b, "errors", key, path), &ignored);
}

/* A listing that was found in a folder of the site begins there. */
static void find_root(const struct build *b, struct build_site *site, int64_t listed_s)
{
	const struct getter_record *r = getter_state_find(&b->got, site->key);
	struct str file = str_of(r && r->listed_us / US_PER_S == listed_s ? r->file : "");
	size_t slash = str_find_byte(file, '/');
	if (slash < file.n)
		site->root = str_head(file, slash);
}

static bool is_not_newer(const struct names_site *now, int64_t listed_s)
{
	return now && now->listed_s >= listed_s && getter_believes(now->listed_s);
}

/* 0 built, 1 not newer; the listing is gone then. */
static int build_listing(struct build *b, struct build_site *site, const struct file *f,
			 struct archie_built *ret, struct err *err)
{
	const struct names_site *now = site_built(b, site->key);
	char path[PATH_MAX];
	struct stat st;
	bool theirs;
	path_of(b, "lslr", site->key, path);
	if (fstat(f->fd, &st) != 0)
		return err_sys(err, "%s", path);
	find_root(b, site, st.st_mtime);
	int rc = is_not_newer(now, st.st_mtime)
			 ? 1
			 : build_from(b, site, f, st.st_mtime, ret, &theirs, err);
	b->progress.done += (uint64_t)st.st_size;
	if (rc < 0)
		note_error(b, site->key, err);
	if (rc < 0 && theirs)
		move_to_failed(b, site->key, err);
	if (rc < 0)
		return rc;
	FAULT("archie.build.committed");
	forget_error(b, site->key);
	if (file_remove(path, err) < 0)
		return err_then(err, "it was built; its listing is removed the next time");
	FAULT("archie.build.removed");
	return rc;
}

/* Opens a listing below lslr. 1: there is none. */
static int open_listing(const struct build *b, struct str key, struct file *ret, struct err *err)
{
	char folder[PATH_MAX];
	return beneath_read(path_of(b, "lslr", STR(""), folder), key, ret, err);
}

/* A site that is no longer listed is built only if it was named. */
static int build_known(struct build *b, struct str key, bool asked, struct archie_built *ret,
		       struct err *err)
{
	struct build_site site;
	CLEANUP(file_drop) struct file f = FILE_INIT;
	if (!key_is_good(key))
		return key_is_wrong(key, err);
	int rc = open_listing(b, key, &f, err);
	if (rc == 1)
		return asked ? err_set(err, ERR_USAGE, "there is no listing of it in %s/lslr",
				       b->o->folder)
			     : 1;
	if (rc == 0)
		rc = site_known(b, key, &site, err);
	if (rc == 0 && site.by_hand && !asked && b->sites->n > 0) {
		(void)err_set(err, ERR_USAGE, "it is not in the list of sites");
		move_to_failed(b, key, err);
		return -1;
	}
	return rc == 0 ? build_listing(b, &site, &f, ret, err) : rc;
}

static void tell_built(struct build *b, struct archie_built *built, int rc, int64_t began_us)
{
	built->rc = rc;
	built->took_us = clock_mono_us() - began_us;
	b->fn(b->ctx, built);
	arena_clear(&b->arena);
}

static void build_one(struct build *b, struct str key, bool asked)
{
	int64_t began_us = clock_mono_us();
	struct archie_built built = {.key = key};
	int rc = build_known(b, key, asked, &built, &built.err);
	tell_built(b, &built, rc, began_us);
}

/* All */

/* Its bytes are among those that will be read. */
static void expect_listing(struct build *b, struct str key)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct stat st;
	struct err ignored;
	if (b->o->progress && key_is_good(key) && open_listing(b, key, &f, &ignored) == 0 &&
	    fstat(f.fd, &st) == 0)
		b->progress.total += (uint64_t)st.st_size;
}

static int build_all(struct build *b, struct err *err)
{
	char folder[PATH_MAX];
	struct dir d;
	const char *name;
	int rc = dir_init_own(&d, path_of(b, "lslr", STR(""), folder), err);
	if (rc)
		return MIN(rc, 0);
	for (size_t i = 0; i < d.n; i++)
		expect_listing(b, str_of(d.name[i]));
	while (dir_next(&d, &name) == 0)
		if (name[0] != '.')
			build_one(b, str_of(name), false);
	dir_done(&d);
	return 0;
}

/* A site that has another key since today, because it moved, is found under the old one until its
 * new listing is built: that may be refused. */
static bool serves_for_another(const struct build *b, const struct names_site *built, size_t n,
			       const struct names_site *old)
{
	const struct archie_site *now = archie_sites_of_url(b->sites, old->url);
	return now && !site_among(built, n, now->key);
}

static int by_key(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Returns the sorted keys of databases, whole or lost, whose sites are no longer listed. Looking a
 * key up is cheap, so whether a site serves for another is checked only if that finds nothing. */
static struct str *unlisted_keys(const struct build *b, struct arena *arena, size_t *ret_n)
{
	size_t n, losts, room = 0;
	const struct names_site *site = names_written(b->writer, &n);
	const struct names_lost *lost = names_writer_lost(b->writer, &losts);
	struct str *key = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		if (!site[i].by_hand && !site_of_key(b->sites, site[i].key) &&
		    !serves_for_another(b, site, n, &site[i]))
			*ARENA_PUSH(arena, key, *ret_n, room) = arena_str(arena, site[i].key);
	for (size_t i = 0; i < losts; i++)
		if (!lost[i].by_hand && !site_of_key(b->sites, lost[i].key))
			*ARENA_PUSH(arena, key, *ret_n, room) = arena_str(arena, lost[i].key);
	if (*ret_n)
		qsort(key, *ret_n, sizeof *key, by_key);
	return key;
}

/* An empty list is more likely lost than meant, and a line that cannot be read may be of any site:
 * nothing is dropped then. One that is skipped for another reason says which site it is of. */
static void drop_unlisted(struct build *b)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	size_t n;
	if (b->sites->n == 0 || b->sites->unread > 0)
		return;
	const struct str *key = unlisted_keys(b, &arena, &n);
	for (size_t i = 0; i < n; i++) {
		int64_t began_us = clock_mono_us();
		struct archie_built built = {.key = key[i]};
		FAULT("archie.build.drop");
		int rc = names_remove(b->writer, key[i], &built.err);
		forget_error(b, key[i]);
		tell_built(b, &built, rc < 0 ? rc : 2, began_us);
	}
}

static int begin_build(struct build *ret, const struct archie_build_options *o,
		       const struct archie_sites *sites, struct err *err)
{
	const struct names_options options = {.memory = o->memory};
	*ret = (struct build){.o = o, .sites = sites, .arena = ARENA_INIT(ARENA_MOST)};
	/* without it all listings begin at the URL of their site */
	if (getter_state_load(o->data, &ret->got, err) < 0 && err->code == ERR_SYSTEM)
		return -1;
	return names_writer_open(&ret->writer, o->folder, &options, err);
}

static void end_build(struct build *b)
{
	names_writer_close(&b->writer);
	getter_state_free(&b->got);
	arena_free(&b->arena);
}

int archie_build(const struct archie_build_options *o, const struct archie_sites *sites,
		 const struct str *key, size_t n, archie_built_fn *fn, void *ctx, struct err *err)
{
	struct build b;
	int rc = begin_build(&b, o, sites, err);
	b.fn = fn;
	b.ctx = ctx;
	for (size_t i = 0; rc == 0 && i < n; i++)
		expect_listing(&b, key[i]);
	for (size_t i = 0; rc == 0 && i < n; i++)
		build_one(&b, key[i], true);
	if (rc == 0 && n == 0) {
		rc = build_all(&b, err);
		if (rc == 0)
			drop_unlisted(&b);
	}
	end_build(&b);
	return rc;
}

static int build_given(struct build *b, struct str key, const char *file, struct archie_built *ret,
		       struct err *err)
{
	struct build_site site;
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct stat st;
	bool theirs;
	if (!key_is_good(key))
		return key_is_wrong(key, err);
	int rc = file_open(&f, file, O_RDONLY, 0, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: there is no such file", file);
	if (rc < 0 || site_known(b, key, &site, err) < 0)
		return -1;
	if (fstat(f.fd, &st) != 0)
		return err_sys(err, "%s", file);
	b->progress.total = (uint64_t)st.st_size;
	rc = build_from(b, &site, &f, st.st_mtime, ret, &theirs, err);
	if (rc == 0)
		forget_error(b, key);
	return rc;
}

int archie_build_file(const struct archie_build_options *o, const struct archie_sites *sites,
		      struct str key, const char *file, struct archie_built *ret, struct err *err)
{
	struct build b;
	int64_t began_us = clock_mono_us();
	*ret = (struct archie_built){.key = key};
	int rc = begin_build(&b, o, sites, err);
	if (rc == 0)
		rc = build_given(&b, key, file, ret, err);
	end_build(&b);
	ret->rc = rc;
	ret->took_us = clock_mono_us() - began_us;
	if (rc < 0)
		ret->err = *err;
	return rc;
}
