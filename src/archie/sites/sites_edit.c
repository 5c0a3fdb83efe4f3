/* Changes the site list. People edit sites.local, so a change touches only the lines that it is
 * about; all other lines, comments included, stay as they are. */
#include "archie/sites/sites_inner.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/lock.h"

#include <limits.h>
#include <stdio.h>

enum { FILE_MODE = 0640, LOST_OF = 5 };

struct edit {
	const char *folder;
	struct lock lock;
	struct arena arena;
	struct buf listed, local;
	struct sites_list listed_lines; /* of `sites`, parsed */
};

static void edit_end(struct edit *e)
{
	lock_free(&e->lock);
	arena_free(&e->arena);
	buf_free(&e->listed);
	buf_free(&e->local);
}

static int edit_begin(struct edit *e, const char *folder, struct err *err)
{
	*e = (struct edit){.folder = folder,
			   .lock = {FILE_INIT},
			   .arena = ARENA_INIT(SIZE_MAX),
			   .listed = BUF_INIT(ARCHIE_LIST_MOST),
			   .local = BUF_INIT(ARCHIE_LIST_MOST)};
	if (dir_make(folder, DIR_MODE, err) < 0)
		return -1;
	if (lock_take(&e->lock, folder, err) < 0)
		return -1;
	if (sites_slurp(folder, &e->listed, &e->local, NULL, err) < 0)
		return -1;
	sites_list_parse(buf_str(&e->listed), "sites", false, &e->arena, &e->listed_lines);
	return 0;
}

/* The whole list, with these edits. */
static void edit_merge(struct edit *e, struct str local, struct archie_sites *ret)
{
	struct sites_list lines;
	sites_list_parse(local, "sites.local", true, &e->arena, &lines);
	sites_merge(&e->listed_lines, &lines, &e->arena, ret);
}

static const struct archie_site *site_of_url(const struct archie_sites *s, struct str url)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->site[i].url, url))
			return &s->site[i];
	return NULL;
}

/* As a pattern that fits nothing else. */
static void put_pattern(struct str url, struct buf *out)
{
	for (size_t i = 0; i < url.n; i++) {
		if (strchr("*?[]\\", url.p[i]))
			buf_add_byte(out, '\\');
		buf_add_byte(out, url.p[i]);
	}
}

/* Whether a line of sites.local is about this URL and no other. */
static bool line_is_about(struct edit *e, struct str line, struct str url)
{
	CLEANUP(buf_free) struct buf pattern = BUF_INIT(ARCHIE_LINE_MOST);
	struct sites_line parsed;
	struct err ignored;
	struct str rest;
	switch (sites_line_what(line, true, &rest)) {
	case SITES_SITE:
		return sites_line_parse(rest, &e->arena, &parsed, &ignored) == 0 &&
		       str_eq(parsed.site.url, url);
	case SITES_LEAVE_OUT:
		put_pattern(url, &pattern);
		return str_eq(rest, buf_str(&pattern));
	default:
		return false;
	}
}

/* sites.local without the lines that are about this URL; returns how many these were. */
static size_t copy_others(struct edit *e, struct str url, struct buf *out)
{
	struct str rest = buf_str(&e->local), line;
	size_t n = 0;
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		if (line_is_about(e, line, url)) {
			n++;
			continue;
		}
		buf_add_str(out, line);
		buf_add_byte(out, '\n');
	}
	return n;
}

static int local_write(struct edit *e, const struct buf *text, struct err *err)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/sites.local", e->folder);
	if (text->over)
		return err_set(err, ERR_USAGE, "%s: it would be larger than %d bytes", path,
			       ARCHIE_LIST_MOST);
	FAULT("archie.sites-local");
	return file_replace(path, buf_str(text), FILE_MODE, err);
}

/* Why a site cannot be there, or would push another one out. */
static int refuse_site(const struct archie_sites *now, const struct archie_site *site,
		       struct err *err)
{
	for (size_t i = 0; i < now->n; i++)
		if (site->ftp && now->site[i].ftp && !str_eq(now->site[i].url, site->url) &&
		    addr_eq(now->site[i].address, site->address))
			return err_set(err, ERR_USAGE,
				       STR_FMT ": its address has an FTP site already, " STR_FMT
					       "; nothing was changed",
				       STR_ARG(site->url), STR_ARG(now->site[i].url));
	return err_set(err, ERR_USAGE,
		       STR_FMT
		       ": it is one with a site that is listed, or the list is full; nothing "
		       "was changed",
		       STR_ARG(site->url));
}

/* Puts the site's line in the place of all that were about it. now: what there is. */
static int edit_put(struct edit *e, const struct archie_sites *now, const struct archie_site *site,
		    struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(ARCHIE_LIST_MOST), line = BUF_INIT(1 << 20);
	struct archie_sites after;
	struct sites_line parsed;
	size_t want = now->n + (site_of_url(now, site->url) ? 0 : 1);
	archie_site_print(site, &line);
	if (sites_line_parse(buf_str(&line), &e->arena, &parsed, err) < 0)
		return err_then(err, "nothing was changed");
	copy_others(e, site->url, &text);
	buf_add_str(&text, buf_str(&line));
	buf_add_byte(&text, '\n');
	edit_merge(e, buf_str(&text), &after);
	const struct archie_site *is = site_of_url(&after, site->url);
	if (!is || !addr_eq(is->address, site->address) || after.n != want)
		return refuse_site(now, site, err);
	return local_write(e, &text, err);
}

/* Begins a change of a site; *ret_now: what there is. *ret_site: NULL: it is not listed. */
static int edit_begin_site(struct edit *e, const char *folder, struct str url,
			   struct archie_sites *ret_now, const struct archie_site **ret_site,
			   struct err *err)
{
	if (edit_begin(e, folder, err) < 0)
		return -1;
	edit_merge(e, buf_str(&e->local), ret_now);
	*ret_site = site_of_url(ret_now, url);
	return 0;
}

int archie_sites_add(const char *folder, const struct archie_site *site, struct err *err)
{
	CLEANUP(edit_end) struct edit e;
	struct archie_sites now;
	const struct archie_site *old;
	if (edit_begin_site(&e, folder, site->url, &now, &old, err) < 0)
		return -1;
	return old ? 1 : edit_put(&e, &now, site, err);
}

int archie_sites_move(const char *folder, struct str url, struct str name,
		      const struct addr *address, struct err *err)
{
	CLEANUP(edit_end) struct edit e;
	struct archie_sites now;
	const struct archie_site *old;
	if (edit_begin_site(&e, folder, url, &now, &old, err) < 0)
		return -1;
	if (!old)
		return 1;
	struct archie_site site = *old;
	site.name = name;
	site.address = *address;
	return edit_put(&e, &now, &site, err);
}

int archie_sites_remove(const char *folder, struct str url, struct err *err)
{
	CLEANUP(edit_end) struct edit e;
	CLEANUP(buf_free) struct buf text = BUF_INIT(ARCHIE_LIST_MOST);
	struct archie_sites now, after;
	const struct archie_site *old;
	if (edit_begin_site(&e, folder, url, &now, &old, err) < 0)
		return -1;
	if (!old)
		return 1;
	copy_others(&e, url, &text);
	edit_merge(&e, buf_str(&text), &after);
	if (site_of_url(&after, url)) {
		buf_add_text(&text, "- ");
		put_pattern(url, &text);
		buf_add_byte(&text, '\n');
	}
	return local_write(&e, &text, err);
}

/* A new list. */

TABLE(urls, struct str, const struct archie_site *, hash64, str_eq)

static void urls_of(const struct archie_sites *s, struct urls *ret)
{
	for (size_t i = 0; i < s->n; i++)
		*urls_put(ret, s->site[i].url) = &s->site[i];
}

static bool is_same_line(const struct archie_site *a, const struct archie_site *b)
{
	CLEANUP(buf_free)
	struct buf x = BUF_INIT((size_t)4 * ARCHIE_LINE_MOST),
		   y = BUF_INIT((size_t)4 * ARCHIE_LINE_MOST);
	archie_site_print(a, &x);
	archie_site_print(b, &y);
	return str_eq(buf_str(&x), buf_str(&y));
}

static void lists_compare(const struct archie_sites *old, const struct archie_sites *new,
			  struct arena *arena, struct archie_sites_diff *ret)
{
	struct urls were = {0}, are = {0};
	size_t room[3] = {0};
	urls_of(old, &were);
	urls_of(new, &are);
	for (size_t i = 0; i < old->n; i++)
		if (!urls_get(&are, old->site[i].url))
			*ARENA_PUSH(arena, ret->removed, ret->nremoved, room[0]) = old->site[i];
	for (size_t i = 0; i < new->n; i++) {
		const struct archie_site **was = urls_get(&were, new->site[i].url);
		if (!was)
			*ARENA_PUSH(arena, ret->added, ret->nadded, room[1]) = new->site[i];
		else if (!is_same_line(*was, &new->site[i])) {
			*ARENA_PUSH(arena, ret->changed, ret->nchanged, room[2]) = new->site[i];
			ret->moved += !addr_eq((*was)->address, new->site[i].address);
		}
	}
	urls_free(&were);
	urls_free(&are);
}

int archie_sites_replace(const char *folder, struct str bytes, bool forced, struct arena *arena,
			 struct archie_sites_diff *ret, struct err *err)
{
	static const struct sites_list no_edits;
	CLEANUP(edit_end) struct edit e;
	struct sites_list lines;
	struct archie_sites old, new;
	char path[PATH_MAX];
	*ret = (struct archie_sites_diff){0};
	if (edit_begin(&e, folder, err) < 0)
		return -1;
	/* what outlives the edit is parsed again, into the caller's arena */
	struct sites_list listed;
	sites_list_parse(buf_str(&e.listed), "sites", false, arena, &listed);
	sites_merge(&listed, &no_edits, arena, &old);
	sites_list_parse(bytes, "the new list", false, arena, &lines);
	sites_merge(&lines, &no_edits, arena, &new);
	ret->before = old.n;
	ret->after = new.n;
	ret->problem = new.problem;
	ret->problems = new.problems;
	lists_compare(&old, &new, arena, ret);
	if (new.n == 0)
		return err_set(err, ERR_USAGE, "the new list has not one site: it is not taken");
	if (!forced && ret->nremoved && ret->nremoved * LOST_OF >= old.n)
		return err_set(err, ERR_USAGE,
			       "the new list lacks %zu of the %zu sites that there are, a fifth or "
			       "more: it is not taken without --force",
			       ret->nremoved, old.n);
	snprintf(path, sizeof path, "%s/sites", folder);
	FAULT("archie.sites");
	return file_replace(path, bytes, FILE_MODE, err);
}
