/* What a provider's URLs are read from: arguments, trees, sitemaps, rows of XML. */
#include "base/clock.h"
#include "cache/provider_read.h"
#include "cache/provider_tree.h"
#include "cmd/cache/provider_http.h"
#include "cmd/cache/provider_push.h"
#include "cmd/system/input.h"
#include "url/url.h"
#include "web/docs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAY_US (500 * US_PER_MS)

/* Types by names. */

static const char *type_of_name(struct str name)
{
	struct docs_type t = docs_type(name);
	return t.gzip ? "application/gzip" : t.mime;
}

/* What a URL most likely is: a page, where its name does not tell. */
static struct str type_of_url(void *ctx, struct str url)
{
	const struct push *g = ctx;
	char room[URL_MAX];
	struct url u;
	if (push_given(g->o->mime))
		return str_of(g->o->mime);
	if (url_parse(url, NULL, room, sizeof room, &u) != 0)
		return STR("text/html");
	const char *mime = type_of_name(str_from(u.path, str_after_last(u.path, '/')));
	return mime ? str_of(mime) : STR("text/html");
}

/* Arguments. */

/* What was sent under that URL, of whatever type, or it alone. */
static int add_removed(struct push *g, const struct provider_url *url, struct err *err)
{
	const struct provider_list *sent = &g->p->file.sent;
	const struct provider_url *was = provider_list_first(sent, url->c);
	struct provider_url gone = *url;
	if (push_given(g->o->mime) || !was)
		return provider_list_add(&g->now, url, err);
	for (; was < sent->url + sent->n && str_eq(was->c, url->c); was++) {
		gone.mime = was->mime;
		if (provider_list_add(&g->now, &gone, err) < 0)
			return -1;
	}
	return 0;
}

int push_add_urls(struct push *g, char *const *url, int n, struct err *err)
{
	char room[URL_MAX];
	struct url u;
	for (int i = 0; i < n; i++) {
		int rc = url_parse(str_of(url[i]), NULL, room, sizeof room, &u);
		if (rc != 0 && access(url[i], F_OK) == 0)
			return err_set(err, ERR_USAGE,
				       "%s is a file or folder of this machine: name its URL, "
				       "or send a folder with --tree DIR --prefix URL",
				       url[i]);
		if (rc != 0) {
			return url_fail(rc, str_of(url[i]), err);
		}
		const struct provider_url it = {
			.c = u.href,
			.mime = type_of_url(g, u.href),
			.op = g->o->remove ? PROVIDER_REMOVE : PROVIDER_UPDATE,
			.always = true,
		};
		if ((g->o->remove ? add_removed(g, &it, err)
				  : provider_list_add(&g->now, &it, err)) < 0)
			return -1;
	}
	return 0;
}

/* Trees. */

static void tree_say(const struct push *g, const struct provider_tree *t)
{
	if (g->o->json || g->o->silent)
		return;
	if (t->not_taken || t->no_type)
		fprintf(stderr,
			"%s: %llu files left out: the cache does not take their type, or their "
			"names have none\n",
			t->source->place.p, (unsigned long long)(t->not_taken + t->no_type));
	if (t->links_out)
		fprintf(stderr, "%s: %llu links left out: they lead out of it, or nowhere\n",
			t->source->place.p, (unsigned long long)t->links_out);
	if (t->unreadable)
		fprintf(stderr, "%s: %llu files cannot be read: they stay as they were sent\n",
			t->source->place.p, (unsigned long long)t->unreadable);
}

/* On a terminal, how far it is: a large tree that is read for the first time takes minutes. */
struct tree_look {
	struct provider_tree tree;
	int64_t said_us;
};

static int tree_progress(void *ctx, const char *path, struct err *err)
{
	struct tree_look *look = ctx;
	int64_t now_us = clock_mono_us();
	(void)path, (void)err;
	if (now_us - look->said_us < SAY_US)
		return 0;
	look->said_us = now_us;
	fprintf(stderr, "\r\033[K%llu files looked at, %.1f MB read",
		(unsigned long long)look->tree.files, (double)look->tree.bytes_read / 1e6);
	return 0;
}

static int tree_add(struct push *g, const struct provider_source *s, struct err *err)
{
	bool shows = !g->folder && !g->o->json && !g->o->silent && isatty(STDERR_FILENO);
	struct tree_look look = {.said_us = clock_mono_us()};
	struct provider_tree *t = &look.tree;
	*t = (struct provider_tree){
		.source = s,
		.sent = &g->p->file.sent,
		.scanned_s = g->p->file.scanned_s,
		.mime = g->p->file.mime,
		.mimes = g->p->file.mimes,
		.type = type_of_name,
		.folder = shows ? tree_progress : g->folder,
		.ctx = shows ? &look : g->ctx,
	};
	int rc = provider_tree_scan(t, &g->now, err);
	if (shows)
		fprintf(stderr, "\r\033[K");
	if (rc == 0)
		tree_say(g, t);
	return rc;
}

/* Sitemaps. */

struct sitemap_reading {
	struct push *g;
	struct provider_read_options options;
};

static int sitemap_piece(void *ctx, struct str piece, struct err *err)
{
	return provider_read_put(ctx, piece, err);
}

static int sitemap_file_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	(void)name;
	return piece.n ? provider_read_put(ctx, piece, err) : 0;
}

static bool is_web(struct str place)
{
	return str_starts(place, STR("http://")) || str_starts(place, STR("https://"));
}

static int sitemap_read(struct push *g, struct str place,
			const struct provider_read_options *options, struct err *err)
{
	struct provider_read *r = provider_read_new(options);
	CLEANUP(buf_free) struct buf text = BUF_INIT(URL_TEXT_MAX + PATH_MAX);
	buf_add_str(&text, place);
	const char *name = buf_text(&text);
	int rc = is_web(place) ? provider_get(name, g->p->conf->timeout_us, sitemap_piece, r, err)
			       : cmd_read_path(name, sitemap_file_piece, r, err);
	if (rc == 0)
		rc = provider_read_end(r, err);
	if (rc < 0 && err->code == ERR_USAGE)
		err_in(err, "%s", name);
	provider_read_free(&r);
	return rc;
}

/* Of an index: no index again. */
static int sitemap_child(void *ctx, struct str url, struct err *err)
{
	const struct sitemap_reading *s = ctx;
	CLEANUP(buf_free) struct buf place = BUF_INIT(URL_TEXT_MAX + 1);
	struct provider_read_options options = s->options;
	options.child = NULL;
	options.ctx = s->g;
	if (!is_web(url))
		return err_set(err, ERR_USAGE, "an index of sitemaps names what is not a URL");
	buf_add_str(&place, url);
	return sitemap_read(s->g, buf_str(&place), &options, err);
}

/* The type is asked of the one who reads. */
static struct str sitemap_type(void *ctx, struct str url)
{
	const struct sitemap_reading *s = ctx;
	return type_of_url(s->g, url);
}

static int sitemap_add(struct push *g, const struct provider_source *s, struct err *err)
{
	struct sitemap_reading reading = {
		.g = g,
		.options = {.form = PROVIDER_SITEMAP,
			    .list = &g->now,
			    .origin = provider_source_origin(s),
			    .type = type_of_url,
			    .child = sitemap_child},
	};
	struct provider_read_options options = reading.options;
	options.type = sitemap_type;
	options.ctx = &reading;
	return sitemap_read(g, s->place, &options, err);
}

int push_add_source(struct push *g, const struct provider_source *s, struct err *err)
{
	const struct provider_list *sent = &g->p->file.sent;
	uint32_t origin = provider_source_origin(s);
	size_t before = g->now.n;
	if (!g->begun_s)
		g->begun_s = clock_wall_us() / US_PER_S;
	if (g->sources == PROVIDER_SOURCES)
		return err_set(err, ERR_USAGE, "more than %d trees and sitemaps", PROVIDER_SOURCES);
	if ((s->is_tree ? tree_add(g, s, err) : sitemap_add(g, s, err)) < 0)
		return -1;
	for (size_t i = 0; g->now.n == before && !g->o->empty && i < sent->n; i++)
		if (sent->url[i].origin == origin)
			return err_set(err, ERR_USAGE,
				       "%.*s has nothing to send, so all that was sent of it would "
				       "be removed; --empty does that",
				       (int)s->place.n, s->place.p);
	g->origin[g->sources] = origin;
	g->source[g->sources++] = *s;
	return 0;
}

static int bad_path(const char *path, struct err *err)
{
	(void)err_sys(err, "%s", path);
	err->code = ERR_USAGE;
	return -1;
}

int push_tree_source(struct push *g, const char *tree, const char *prefix, const char *index,
		     struct provider_source *ret, struct err *err)
{
	struct arena *a = &g->p->file.arena;
	char path[PATH_MAX], room[URL_MAX];
	struct url u;
	if (!prefix[0])
		return err_set(err, ERR_USAGE,
			       "a tree wants --prefix, the URL that it is served as");
	int rc = url_parse(str_of(prefix), NULL, room, sizeof room, &u);
	if (rc == 0 && (u.protocol == URL_FTP || u.has_query || u.has_fragment))
		rc = -URL_PROTOCOL;
	if (rc != 0) {
		return url_fail(rc, str_of(prefix), err);
	}
	if (!realpath(tree, path)) {
		return bad_path(tree, err);
	}
	if (str_has_control(str_of(path)))
		return err_set(err, ERR_USAGE, "the folder's path has control characters");
	*ret = (struct provider_source){
		.place = str_of(arena_text(a, str_of(path))),
		.prefix = str_of(arena_printf(a, STR_FMT "%s", STR_ARG(u.href),
					      str_ends(u.href, STR("/")) ? "" : "/")),
		.index = str_of(arena_text(a, str_of(index))),
		.is_tree = true,
	};
	return 0;
}

int push_sitemap_source(struct push *g, const char *sitemap, struct provider_source *ret,
			struct err *err)
{
	char path[PATH_MAX];
	const char *place = sitemap;
	if (!is_web(str_of(sitemap)) && !(place = realpath(sitemap, path))) {
		return bad_path(sitemap, err);
	}
	if (str_has_control(str_of(place)))
		return err_set(err, ERR_USAGE, "the sitemap's place has control characters");
	*ret = (struct provider_source){
		.place = str_of(arena_text(&g->p->file.arena, str_of(place)))};
	return 0;
}

/* Rows. */

int push_add_rows(struct push *g, const char *path, struct err *err)
{
	const struct provider_read_options options = {
		.form = PROVIDER_ROWS,
		.list = &g->now,
		.prefix = str_of(g->o->prefix),
		.type = type_of_url,
		.ctx = g,
	};
	struct provider_read *r = provider_read_new(&options);
	int rc = cmd_read_path(path, sitemap_file_piece, r, err);
	if (rc == 0)
		rc = provider_read_end(r, err);
	provider_read_free(&r);
	return rc < 0 && err->code == ERR_USAGE ? err_in(err, "%s", path) : rc;
}
