/* Directories as changes. Readers come weeks apart, and each continues where it stopped, although
 * sites are replaced meanwhile. So a reader's place must not depend on the numbers of lines or
 * directories, which differ in each generation. Changes have an order of their own: by generation,
 * then by a hash of site and directory. A directory that has not changed since a generation keeps
 * its key in that order.
 *
 * The index returns changes site by site. The first ones in our order are selected by passing over
 * all of them and keeping some tens of thousands at a time (struct picks): D directories need D /
 * PICKS_MOST passes, instead of memory for D of them. */
#include "archie/source_archie.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/table.h"
#include "index/names.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	PICKS_MOST = 1 << 16,
	PICKS_TEXT_MOST = 64 << 20, /* bytes of URLs in them */
	TEXT_MOST = 16 << 20,       /* bytes of an object's names; those after it are left out */
	URL_ROOM = 256 << 10,       /* every byte of a directory escaped, and the site's URL */
	SCRATCH_MOST = 4 << 20,     /* for one name */
	CURSOR_VERSION = 1,
};
#define PARTS_ALL UINT32_MAX
#define LIVES_S (UINT64_C(10) * 365 * 86400)

/* The place of a change in our order. */
struct change_key {
	uint64_t generation, hash;
	uint16_t more; /* of another hash */
};

static int key_cmp(const struct change_key *a, const struct change_key *b)
{
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->more > b->more) - (a->more < b->more);
}

/* A change that will be told. */
struct pick {
	struct change_key key;
	char *url; /* of a directory that went away, to be freed; else NULL */
	uint64_t dir_number, files_left, files_was;
	uint32_t site;
	uint32_t same; /* one more than the number of another pick with the same URL; 0: none */
	bool moved;    /* its site is there under another key */
};

static bool pick_is_later(const struct pick *a, const struct pick *b)
{
	return key_cmp(&a->key, &b->key) > 0;
}
HEAP(picks, struct pick, pick_is_later, HEAP_STAY)
TABLE(picks_by_url, uint64_t, uint32_t, hash_u64, table_same_u64)

struct archie {
	struct source source;
	struct source_archie store;
	char *names; /* the folder that is watched */
	int watch;
	struct names_reader *reader; /* NULL: there is nothing yet */
	struct source_cursor cursor; /* what was given, as long as it could not be looked at */
	bool unread;                 /* it could not yet */
	uint32_t mark;               /* of the index that the place is in */
	/* What was returned last: this change, up to this many parts of it. */
	struct change_key place;
	uint32_t parts;
	/* All changes after the place and before `bound`; from `told` on in order. */
	struct picks picks;
	size_t told, text;
	bool picked, bounded; /* there are picks; there are more changes than these */
	bool ended;           /* all of the snapshot was told */
	bool moved;           /* one of the picks is */
	struct buf gone_key;  /* the site of the last change that went away, */
	bool gone_moved;      /* and whether it is there under another key */
	struct change_key bound;
	/* The files of the directory that is told: where to go on. */
	uint64_t line;
	uint32_t line_parts; /* how many parts lie before the line */
	struct arena scratch;
	struct buf url, text_buf;
};

/* Cursors */

/* Which index, and who tells: objects that were told under another name are others. */
static uint32_t mark_now(const struct archie *a)
{
	uint64_t id = names_identity(a->reader);
	uint32_t sum = crc32c(0, &id, sizeof id);
	sum = crc32c(sum, a->store.gatherer_name.p, a->store.gatherer_name.n);
	sum = crc32c(sum, "", 1);
	return crc32c(sum, a->store.gatherer_host.p, a->store.gatherer_host.n);
}

static void cursor_seal(const struct archie *a, struct source_cursor *ret)
{
	struct buf b = BUF_INIT(sizeof ret->b);
	*ret = a->cursor;
	if (a->unread || a->place.generation == 0)
		return;
	put_u8(&b, CURSOR_VERSION);
	put_u8(&b, 0);
	put_u16le(&b, a->place.more);
	put_u32le(&b, a->mark);
	put_u64le(&b, a->place.generation);
	put_u64le(&b, a->place.hash);
	put_u32le(&b, a->parts);
	put_u32le(&b, crc32c(0, b.p, b.n));
	ENSURE(b.n == sizeof ret->b);
	memcpy(ret->b, b.p, b.n);
	buf_free(&b);
}

/* Whether changes after the place are those that this index tells. */
static int place_check(struct archie *a, struct err *err)
{
	if (a->place.generation == 0)
		a->mark = mark_now(a);
	if (a->mark != mark_now(a) || a->place.generation > names_generation(a->reader))
		return err_set(err, ERR_USAGE,
			       "%s: the cursor is of another index, or of a gatherer with another "
			       "name or host",
			       a->store.folder);
	if (a->place.generation && a->place.generation < names_forgotten(a->reader))
		return err_set(err, ERR_USAGE,
			       "%s: directories went away after generation %" PRIu64
			       " that are not remembered; begin from the start and drop what is "
			       "not told again",
			       a->store.folder, a->place.generation);
	return 0;
}

static int cursor_unseal(struct archie *a, struct err *err)
{
	static const struct source_cursor zero;
	const struct source_cursor *from = &a->cursor;
	if (memcmp(from, &zero, sizeof zero) == 0)
		return 0;
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint8_t version = reader_u8(&r);
	reader_skip(&r, 1);
	struct change_key key = {.more = reader_u16le(&r)};
	uint32_t mark = reader_u32le(&r);
	key.generation = reader_u64le(&r);
	key.hash = reader_u64le(&r);
	uint32_t parts = reader_u32le(&r);
	if (reader_u32le(&r) != crc32c(0, from->b, sizeof from->b - 4) || version != CURSOR_VERSION)
		return err_set(err, ERR_USAGE, "%s: not a cursor of archives", a->store.folder);
	a->place = key;
	a->parts = parts;
	a->mark = mark;
	return 0;
}

/* Picking */

static void key_of(const struct names_change *c, struct change_key *ret)
{
	struct xxh64 h;
	char kind = c->gone ? 1 : 0;
	xxh64_begin(&h);
	xxh64_add(&h, c->key.p, c->key.n);
	xxh64_add(&h, &kind, 1);
	xxh64_add(&h, c->dir.p, c->dir.n);
	uint32_t sum = crc32c(0, c->dir.p, c->dir.n);
	*ret = (struct change_key){.generation = c->generation,
				   .hash = xxh64_end(&h),
				   .more = (uint16_t)(sum ^ (sum >> 16))};
}

static void url_of_dir(struct buf *out, struct str site, struct str dir)
{
	buf_clear(out);
	(void)names_url(site, dir, true, out);
}

static void pick_free(struct archie *a, struct pick *p)
{
	a->text -= p->url ? strlen(p->url) : 0;
	mem_free(&p->url);
}

static void picks_forget(struct archie *a)
{
	for (size_t i = a->told; i < a->picks.n; i++)
		pick_free(a, &a->picks.e[i]);
	a->picks.n = a->told = 0;
	a->picked = a->bounded = a->moved = false;
	buf_clear(&a->gone_key);
}

/* A site whose address changed has another key, but its files have the same URLs. Changes that went
 * away come site by site. */
static bool site_has_moved(struct archie *a, const struct names_change *c)
{
	size_t n;
	const struct names_site *site = names_sites(a->reader, &n);
	if (a->gone_key.n && str_eq(buf_str(&a->gone_key), c->key))
		return a->gone_moved;
	buf_clear(&a->gone_key);
	buf_add_str(&a->gone_key, c->key);
	a->gone_moved = false;
	for (size_t i = 0; i < n && !a->gone_moved; i++)
		a->gone_moved = str_eq(site[i].url, c->url) && !str_eq(site[i].key, c->key);
	return a->gone_moved;
}

/* Takes a change, if it is one of the first; the last ones make room. */
static void pick_change(struct archie *a, const struct names_change *c)
{
	struct pick p = {.dir_number = c->dir_number,
			 .files_left = c->files_left,
			 .files_was = c->files_was,
			 .site = c->site};
	if (!c->url.n)
		return; /* built by hand, from paths of nowhere */
	key_of(c, &p.key);
	int after = key_cmp(&p.key, &a->place);
	if (after < 0 || (after == 0 && a->parts == PARTS_ALL) ||
	    (a->bounded && key_cmp(&p.key, &a->bound) >= 0))
		return;
	if (c->gone) {
		url_of_dir(&a->url, c->url, c->dir);
		p.url = mem_text(buf_text(&a->url));
		a->text += a->url.n;
		p.moved = site_has_moved(a, c);
		a->moved |= p.moved;
	}
	picks_push(&a->picks, p);
	while (a->picks.n > PICKS_MOST || (a->text > PICKS_TEXT_MOST && a->picks.n > 1)) {
		(void)picks_pop(&a->picks, &p);
		a->bounded = true;
		a->bound = p.key;
		pick_free(a, &p);
	}
}

static int by_key(const void *a, const void *b)
{
	return key_cmp(&((const struct pick *)a)->key, &((const struct pick *)b)->key);
}

/* How many files a directory has, counted up to `most`. */
static int count_files(struct archie *a, const struct names_change *c, uint64_t most, uint64_t *ret,
		       struct err *err)
{
	struct arena_mark mark = arena_mark(&a->scratch);
	struct names_entry e;
	uint64_t line = 0;
	int rc = 0;
	for (*ret = 0; *ret < most; ++*ret) {
		rc = names_dir_next(a->reader, c->site, c->dir_number, &line, &a->scratch, &e, err);
		arena_reset(&a->scratch, mark);
		if (rc != 0)
			break;
	}
	return MIN(rc, 0);
}

/* What went away with one key and is there with another is not deleted, only parts that it has no
 * more. */
static int spare_living(struct archie *a, const struct picks_by_url *gone,
			const struct names_change *c, struct err *err)
{
	url_of_dir(&a->url, c->url, c->dir);
	const uint32_t *first = picks_by_url_get(gone, xxh64(buf_str(&a->url)));
	for (uint32_t i = first ? *first : 0; i != 0; i = a->picks.e[i - 1].same) {
		struct pick *p = &a->picks.e[i - 1];
		uint64_t files;
		if (!str_is(buf_str(&a->url), p->url))
			continue;
		if (count_files(a, c, MAX(p->files_was, (uint64_t)1), &files, err) < 0)
			return -1;
		p->files_left = MAX(p->files_left, files);
	}
	return 0;
}

static int picks_spare(struct archie *a, struct err *err)
{
	CLEANUP(picks_by_url_free) struct picks_by_url gone = {0};
	struct names_changes *changes = NULL;
	struct names_change c;
	for (size_t i = 0; i < a->picks.n; i++) {
		if (!a->picks.e[i].moved)
			continue;
		uint32_t *first = picks_by_url_put(&gone, xxh64(str_of(a->picks.e[i].url)));
		a->picks.e[i].same = *first;
		*first = (uint32_t)i + 1;
	}
	int rc = names_changes_open(&changes, a->reader, 0, err);
	while (rc == 0) {
		arena_clear(&a->scratch);
		rc = names_changes_next(changes, &a->scratch, &c, err);
		if (rc == 0 && !c.gone)
			rc = spare_living(a, &gone, &c, err);
	}
	names_changes_close(&changes);
	return MIN(rc, 0);
}

static int picks_make(struct archie *a, struct err *err)
{
	struct names_changes *changes = NULL;
	struct names_change c;
	picks_forget(a);
	uint64_t after = a->place.generation ? a->place.generation - 1 : 0;
	int rc = names_changes_open(&changes, a->reader, after, err);
	while (rc == 0) {
		arena_clear(&a->scratch);
		rc = names_changes_next(changes, &a->scratch, &c, err);
		if (rc == 0)
			pick_change(a, &c);
	}
	names_changes_close(&changes);
	if (a->picks.n)
		qsort(a->picks.e, a->picks.n, sizeof *a->picks.e, by_key);
	if (rc >= 0 && a->moved)
		rc = picks_spare(a, err);
	if (rc < 0) {
		picks_forget(a);
		return -1;
	}
	a->picked = true;
	return 0;
}

/* Objects */

static void object_add(struct soif *obj, struct arena *arena, const char *name, struct str value)
{
	if (value.n)
		soif_add(obj, arena, str_of(name), value);
}

static void object_add_number(struct soif *obj, struct arena *arena, const char *name,
			      uint64_t value)
{
	object_add(obj, arena, name, str_of(arena_printf(arena, "%" PRIu64, value)));
}

static void object_begin(const struct archie *a, struct soif *ret, struct arena *arena,
			 struct str url, uint32_t part)
{
	*ret = (struct soif){.type = STR("FILE")};
	ret->url = part == 0 ? arena_str(arena, url)
			     : str_of(arena_printf(arena, STR_FMT "#part=%" PRIu32, STR_ARG(url),
						   part + 1));
	object_add(ret, arena, "Gatherer-Name", a->store.gatherer_name);
	object_add(ret, arena, "Gatherer-Host", a->store.gatherer_host);
	object_add(ret, arena, "Gatherer-Version", a->store.gatherer_version);
}

/* One line of text. Words are found in it, so it is UTF-8: a name that is not was Latin-1, most
 * likely. What controls terminals is a blank. */
static void text_add_line(struct buf *out, struct str name)
{
	bool utf8 = str_utf8(name);
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		if (c < 0x20 || c == 0x7f)
			buf_add_byte(out, ' ');
		else if (utf8 || c < 0x80)
			buf_add_byte(out, (char)c);
		else {
			buf_add_byte(out, (char)(0xc0 | c >> 6));
			buf_add_byte(out, (char)(0x80 | (c & 0x3f)));
		}
	}
	buf_add_byte(out, '\n');
}

/* The same names in two directories are two objects to be found: the URL counts as well. */
static void object_add_md5(struct soif *obj, struct arena *arena, struct str text)
{
	unsigned char sum[16];
	char hex[2 * sizeof sum + 1];
	struct digest *d = digest_new("md5");
	digest_add(d, obj->url.p, obj->url.n);
	digest_add(d, "\n", 1);
	digest_add(d, text.p, text.n);
	(void)digest_end(d, sum, sizeof sum);
	digest_free(&d);
	hex_print(sum, sizeof sum, hex);
	object_add(obj, arena, "MD5", arena_str(arena, str_of(hex)));
}

static void object_add_title(struct soif *obj, struct arena *arena, const struct names_site *site,
			     struct str dir, struct buf *scratch)
{
	buf_clear(scratch);
	buf_add_str(scratch, site->host);
	buf_add_text(scratch, ": /");
	text_add_line(scratch, dir);
	object_add(obj, arena, "Title", arena_str(arena, str_trim(buf_str(scratch))));
}

/* What is read of a part of a directory. */
struct told_part {
	struct str dir; /* in the caller's arena */
	uint64_t files;
	int64_t newest_s;
	bool more; /* there are further parts */
};

/* The names of a part go into a->text_buf. 1: there is no such part. */
static int part_read(struct archie *a, const struct pick *p, uint32_t part, struct arena *arena,
		     struct told_part *ret, struct err *err)
{
	struct names_entry e;
	*ret = (struct told_part){0};
	buf_clear(&a->text_buf);
	if (a->line_parts > part)
		a->line = a->line_parts = 0;
	uint64_t skip = (uint64_t)(part - a->line_parts) * NAMES_DIR_PART;
	int rc = 0;
	for (;;) {
		uint64_t from = a->line;
		arena_clear(&a->scratch);
		rc = names_dir_next(a->reader, p->site, p->dir_number, &a->line, &a->scratch, &e,
				    err);
		if (rc != 0)
			break;
		if (skip > 0) {
			skip--;
			continue;
		}
		if (ret->files == NAMES_DIR_PART) {
			ret->more = true;
			a->line = from;
			break;
		}
		if (ret->files++ == 0)
			ret->dir = arena_str(arena, e.dir);
		ret->newest_s = MAX(ret->newest_s, e.time_s);
		if (a->text_buf.n + 2 * e.name.n < TEXT_MOST)
			text_add_line(&a->text_buf, e.name);
	}
	if (rc < 0)
		return -1;
	a->line_parts = part + 1;
	return ret->files == 0;
}

static void object_of_part(struct archie *a, const struct names_site *site,
			   const struct told_part *told, uint32_t part, struct arena *arena,
			   struct soif *ret)
{
	const struct source_archie *s = &a->store;
	struct str text = arena_str(arena, buf_str(&a->text_buf));
	url_of_dir(&a->url, site->url, told->dir);
	object_begin(a, ret, arena, buf_str(&a->url), part);
	object_add_number(ret, arena, "Update-Time", (uint64_t)MAX(site->built_s, 0));
	object_add_number(ret, arena, "Last-Modification-Time", (uint64_t)told->newest_s);
	object_add_number(ret, arena, "Refresh-Rate",
			  s->refresh_rate_s ? s->refresh_rate_s : SOIF_REFRESH_RATE_S);
	object_add_number(ret, arena, "Time-to-Live",
			  s->time_to_live_s ? s->time_to_live_s : LIVES_S);
	object_add(ret, arena, "Type", STR("Directory"));
	object_add_title(ret, arena, site, told->dir, &a->text_buf);
	object_add_md5(ret, arena, text);
	object_add(ret, arena, "Full-Text", text);
}

/* Telling */

static uint64_t parts_of(uint64_t files)
{
	return (files + NAMES_DIR_PART - 1) / NAMES_DIR_PART;
}

/* The next object of a directory that is there. 1: that was all of it. */
static int tell_update(struct archie *a, const struct pick *p, uint32_t part, struct arena *arena,
		       struct source_change *ret, struct err *err)
{
	size_t n;
	const struct names_site *site = names_sites(a->reader, &n);
	struct told_part told;
	if (p->site >= n)
		return err_set(err, ERR_DAMAGED, "%s: a change of a site that is not there",
			       a->store.folder);
	int rc = part_read(a, p, part, arena, &told, err);
	if (rc != 0)
		return rc;
	*ret = (struct source_change){.op = SOURCE_UPDATE,
				      .reason = STR("its files are new or have changed")};
	object_of_part(a, &site[p->site], &told, part, arena, &ret->obj);
	a->parts = told.more ? part + 1 : PARTS_ALL;
	return 0;
}

/* The next object that went. 1: that was all. */
static int tell_delete(struct archie *a, const struct pick *p, uint32_t done, struct arena *arena,
		       struct source_change *ret)
{
	uint64_t part = parts_of(p->files_left) + done;
	uint64_t end = MAX(parts_of(p->files_was), (uint64_t)1);
	if (part >= MIN(end, (uint64_t)UINT32_MAX))
		return 1;
	*ret = (struct source_change){.op = SOURCE_DELETE,
				      .reason = STR("not in the archive any more")};
	object_begin(a, &ret->obj, arena, str_of(p->url), (uint32_t)part);
	a->parts = part + 1 < end ? done + 1 : PARTS_ALL;
	return 0;
}

/* 0 a change, 1 it had nothing to tell. What cannot be read is passed, but not where the system
 * refused: that may be another matter the next time. */
static int tell_pick(struct archie *a, const struct pick *p, struct arena *arena,
		     struct source_change *ret, struct err *err)
{
	bool begun = key_cmp(&p->key, &a->place) == 0;
	uint32_t done = begun ? a->parts : 0;
	struct change_key place = a->place;
	uint32_t parts = a->parts;
	if (done == 0)
		a->line = a->line_parts = 0;
	int rc = p->url ? tell_delete(a, p, done, arena, ret)
			: tell_update(a, p, done, arena, ret, err);
	a->place = p->key;
	if (rc != 0)
		a->parts = PARTS_ALL;
	if (rc < 0 && err->code == ERR_SYSTEM) {
		a->place = place;
		a->parts = parts;
	} else if (rc < 0) {
		err->code = ERR_PARTLY; /* which URL it had is not known */
		ret->obj.url = STR("");
	}
	return rc;
}

/* Everything of this snapshot was told. */
static void place_at_end(struct archie *a)
{
	picks_forget(a);
	a->place = (struct change_key){
		.generation = names_generation(a->reader), .hash = UINT64_MAX, .more = UINT16_MAX};
	a->parts = PARTS_ALL;
	a->ended = true;
}

/* Opens the index, when there is one. 1: there is none. */
static int archie_wake(struct archie *a, struct err *err)
{
	static const struct source_cursor zero;
	if (a->reader)
		return 0;
	int rc = names_open(&a->reader, a->store.folder, err);
	if (rc < 0)
		return -1;
	if (rc == 0 && names_identity(a->reader) != 0) {
		rc = a->unread ? cursor_unseal(a, err) : 0;
		rc = rc == 0 ? place_check(a, err) : rc;
		if (rc == 0) {
			picks_forget(a); /* they knew sites by their numbers in another */
			a->unread = a->ended = false;
			return 0;
		}
	} else if (rc == 0) {
		const char *why = names_problem(a->reader);
		rc = err_set(err, ERR_SYSTEM, "%s: what changed cannot be told: %s",
			     a->store.folder, why ? why : "its manifest is lost");
	} else if (memcmp(&a->cursor, &zero, sizeof zero) != 0) {
		rc = err_set(err, ERR_SYSTEM, "%s: no names index is here", a->store.folder);
	}
	names_close(&a->reader);
	return rc;
}

/* The newest snapshot. 1: it was that already. */
static int archie_refresh(struct archie *a, struct err *err)
{
	int rc = names_refresh(&a->reader, err);
	if (rc == 0 && names_identity(a->reader) == 0) {
		names_close(&a->reader); /* its manifest was lost just now */
		return archie_wake(a, err);
	}
	return rc;
}

/* Notices only wake waiting readers. A folder that was removed and made again is watched again. */
static void archie_forget_notices(const struct archie *a)
{
	char notices[4096] __attribute__((aligned(8)));
	(void)inotify_add_watch(a->watch, a->names, IN_MOVED_TO);
	while (read(a->watch, notices, sizeof notices) > 0)
		;
}

/* No pick is left. 0: there may be some again. 1: up to date. */
static int archie_go_on(struct archie *a, bool *looked, struct err *err)
{
	if (a->picked && !a->bounded)
		place_at_end(a);
	if (a->ended) {
		int rc = archie_refresh(a, err);
		if (rc == 1 && !*looked) {
			*looked = true; /* what came before this is found by looking once more */
			archie_forget_notices(a);
			return 0;
		}
		if (rc != 0)
			return rc;
		a->ended = false;
	}
	return place_check(a, err) < 0 ? -1 : picks_make(a, err);
}

static int archie_next(struct source *s, struct arena *arena, struct source_change *ret,
		       struct err *err)
{
	struct archie *a = (struct archie *)s;
	bool looked = false;
	int rc = archie_wake(a, err);
	if (rc == 1) {
		archie_forget_notices(a);
		rc = archie_wake(a, err);
	}
	while (rc == 0) {
		if (a->picked && a->told < a->picks.n) {
			struct pick *p = &a->picks.e[a->told];
			rc = tell_pick(a, p, arena, ret, err);
			if (a->parts == PARTS_ALL && key_cmp(&a->place, &p->key) == 0) {
				pick_free(a, p);
				a->told++;
			}
			if (rc <= 0)
				return rc;
			rc = 0;
			continue;
		}
		rc = archie_go_on(a, &looked, err);
	}
	return rc;
}

static void archie_cursor(struct source *s, struct source_cursor *ret)
{
	cursor_seal((struct archie *)s, ret);
}

static int archie_wait_fd(struct source *s)
{
	return ((struct archie *)s)->watch;
}

static void archie_close(struct source **s)
{
	struct archie *a = (struct archie *)*s;
	picks_forget(a);
	picks_free(&a->picks);
	names_close(&a->reader);
	if (a->watch >= 0)
		close(a->watch);
	arena_free(&a->scratch);
	buf_free(&a->url);
	buf_free(&a->text_buf);
	buf_free(&a->gone_key);
	mem_free(&a->names);
	mem_free(&a);
	*s = NULL;
}

static int archie_open(struct source **ret, const void *store, const struct source_cursor *from,
		       struct err *err)
{
	struct archie *a = mem_alloc(sizeof *a);
	struct source *s = &a->source;
	struct buf names = BUF_INIT(PATH_MAX);
	*a = (struct archie){.source.ops = &source_archie_ops,
			     .store = *(const struct source_archie *)store,
			     .watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
			     .cursor = *from,
			     .unread = true,
			     .scratch = ARENA_INIT(SCRATCH_MOST),
			     .url = BUF_INIT(URL_ROOM),
			     .text_buf = BUF_INIT(TEXT_MOST + URL_ROOM),
			     .gone_key = BUF_INIT(NAMES_KEY_MOST)};
	buf_printf(&names, "%s/names", a->store.folder);
	a->names = mem_text(buf_text(&names));
	buf_free(&names);
	int rc = dir_make(a->names, DIR_MODE, err);
	if (rc == 0 && (a->watch < 0 || inotify_add_watch(a->watch, a->names, IN_MOVED_TO) < 0))
		rc = err_sys(err, "%s: watch the folder", a->names);
	if (rc == 0)
		rc = MIN(archie_wake(a, err), 0);
	if (rc < 0) {
		archie_close(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

const struct source_ops source_archie_ops = {.name = "archie",
					     .open = archie_open,
					     .next = archie_next,
					     .cursor = archie_cursor,
					     .wait_fd = archie_wait_fd,
					     .close = archie_close};
