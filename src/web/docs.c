/* The role `docs`: a directory tree over HTTP. Types are derived from the name, else from the
 * first bytes. Every file is opened by beneath_at() below the root, so that neither dots nor links
 * lead out of it. */
#include "web/docs.h"

#include "base/base.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "net/html.h"
#include "net/net_section.h"
#include "net/serve.h"
#include "web/docs_tree_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Text without a charset: the file may say it itself, or nobody knows. */
static const struct {
	const char *suffix, *mime;
} types[] = {
	{"htm", "text/html"},
	{"html", "text/html"},
	{"xhtml", "application/xhtml+xml"},
	{"txt", "text/plain"},
	{"text", "text/plain"},
	{"md", "text/markdown"},
	{"markdown", "text/markdown"},
	{"rst", "text/plain"},
	{"css", "text/css"},
	{"js", "text/javascript"},
	{"json", "application/json"},
	{"xml", "application/xml"},
	{"rss", "application/rss+xml"},
	{"atom", "application/atom+xml"},
	{"svg", "image/svg+xml"},
	{"png", "image/png"},
	{"gif", "image/gif"},
	{"jpg", "image/jpeg"},
	{"jpeg", "image/jpeg"},
	{"webp", "image/webp"},
	{"ico", "image/vnd.microsoft.icon"},
	{"pdf", "application/pdf"},
	{"ps", "application/postscript"},
	{"eps", "application/postscript"},
	{"dvi", "application/x-dvi"},
	{"zip", "application/zip"},
	{"tar", "application/x-tar"},
	{"tgz", "application/gzip"},
	{"bz2", "application/x-bzip2"},
	{"xz", "application/x-xz"},
	{"zst", "application/zstd"},
	{"c", "text/x-csrc"},
	{"h", "text/x-chdr"},
	{"py", "text/x-python"},
	{"sh", "text/x-shellscript"},
	{"pl", "text/x-perl"},
	{"tex", "text/x-tex"},
	{"csv", "text/csv"},
	{"woff", "font/woff"},
	{"woff2", "font/woff2"},
};

static struct str name_suffix(struct str name)
{
	size_t at = name.n;
	while (at > 1 && name.p[at - 1] != '.')
		at--;
	return at > 1 ? str_from(name, at) : STR("");
}

static const char *type_by_suffix(struct str s)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq_nocase(s, str_of(types[i].suffix)))
			return types[i].mime;
	return NULL;
}

struct docs_type docs_type(struct str name)
{
	struct str last = name_suffix(name);
	if (!str_eq_nocase(last, STR("gz")))
		return (struct docs_type){type_by_suffix(last), false};
	struct str inner = name_suffix(str_head(name, name.n - 3));
	if (str_eq_nocase(inner, STR("tar")))
		return (struct docs_type){"application/gzip", false};
	const char *mime = type_by_suffix(inner);
	return (struct docs_type){mime ? mime : "text/plain", true};
}

const char *docs_sniff(struct str start)
{
	bool ascii = true;
	for (size_t i = 0; i < start.n; i++) {
		unsigned char c = (unsigned char)start.p[i];
		if (c == 0 || (c < ' ' && !strchr("\t\n\r\f\b\033", c)))
			return "application/octet-stream";
		ascii &= c < 0x80;
	}
	return ascii ? "text/plain; charset=utf-8" : "text/plain";
}

/* The most names in a listing, which counts the others. */
enum { LISTED_MAX = 10000, SNIFF_BYTES = 512 };
#define SHELF_KEEP_US (5 * US_PER_MIN)

struct docs_conf {
	const char *listen, *root;
	struct http_limits http;
	int64_t drain_us;
	bool access_log;
};

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(struct docs_conf, listen), .fallback = "127.0.0.1:8081",
	 .moves = "net.port", .help = "Where the tree is served"},
	{"root", VALUE_TEXT_AT(struct docs_conf, root), .fallback = "/usr/share/doc",
	 .help = "The directory whose files are served; links that lead out of it are not "
		 "followed, and names that begin with a dot are not there"},
	ACCESS_LOG_SPEC(struct docs_conf, access_log),
	DRAIN_SPEC(struct docs_conf, drain_us, "2s"),
	HTTP_LIMIT_SPECS(struct docs_conf, http),
};

static const struct config_section section = {
	.name = "docs",
	.help = "A directory tree over HTTP.",
	.size = sizeof(struct docs_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

static const struct counter_def counters[] = {HTTP_COUNTERS(COUNTER_DEF)};

struct docs {
	struct file root;
	struct docs_shelf shelf;
};

/* Names that begin with a dot are not listed, so they are not there: .git, .htpasswd, and dots that
 * lead up. */
static bool has_hidden(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (*p == '.')
			return true;
	}
	return false;
}

int docs_open(const struct file *root, const char *path, struct file *ret, bool *ret_folder,
	      struct err *err)
{
	struct stat st;
	if (has_hidden(path))
		return 1;
	int fd = beneath_at(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, true);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOSYS))
		return err_sys(err, "%s", path);
	if (fd < 0)
		return 1;
	*ret = (struct file){fd, mem_text(path)};
	if (fstat(ret->fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
		file_drop(ret);
		return 1;
	}
	*ret_folder = S_ISDIR(st.st_mode);
	return 0;
}

static struct str last_part(struct str path)
{
	return str_from(path, str_after_last(path, '/'));
}

static int answer_file(struct http_request *req, struct http_answer *a, struct file *file,
		       struct err *err)
{
	struct docs_type type = docs_type(last_part(str_of(file->path)));
	if (type.gzip) {
		http_answer_header(req, a, "Vary", STR("Accept-Encoding"));
		if (http_accepts(http_header(req, "Accept-Encoding"), "gzip"))
			http_answer_header(req, a, "Content-Encoding", STR("gzip"));
		else
			type.mime = "application/gzip";
	} else if (!type.mime) {
		char start[SNIFF_BYTES];
		size_t n;
		if (file_read(file, start, sizeof start, 0, &n, err) < 0)
			return -1;
		type.mime = docs_sniff((struct str){start, n});
	}
	return http_answer_file(a, file, type.mime, err);
}

bool docs_is_served(const struct file *root, const struct file *folder, const char *path,
		    const char *name, struct arena *arena, bool *ret_folder)
{
	struct file found = FILE_INIT;
	struct stat st;
	struct err ignored;
	if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_folder = S_ISDIR(st.st_mode);
	if (!S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	int rc = docs_open(root, arena_printf(arena, "%s%s", path, name), &found, ret_folder,
			   &ignored);
	file_drop(&found);
	return rc == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_cut(struct docs_names *l, size_t most)
{
	if (l->n)
		qsort(l->name, l->n, sizeof *l->name, by_name);
	for (; l->n > most; l->more++)
		mem_free(&l->name[--l->n]);
}

void docs_names_free(struct docs_names *l)
{
	while (l->n)
		mem_free(&l->name[--l->n]);
	mem_free(&l->name);
	*l = (struct docs_names){0};
}

/* When twice as many are there, the later half goes. */
int docs_names_read(struct docs_names *l, const struct file *folder, size_t most, struct err *err)
{
	char path[64];
	struct dir_walk *w;
	const char *name;
	/* with a dot: what is below /proc/self/fd are links, which no walk follows */
	snprintf(path, sizeof path, "/proc/self/fd/%d/.", folder->fd);
	int rc = dir_walk_open(&w, path, err);
	if (rc != 0)
		return -1;
	while ((rc = dir_walk_next(w, &name, err)) == 0) {
		if (name[0] == '.')
			continue;
		*VEC_PUSH(l->name, l->n, l->room) = mem_text(name);
		if (l->n == 2 * most)
			names_cut(l, most);
	}
	dir_walk_close(&w);
	names_cut(l, most);
	return rc < 0 ? -1 : 0;
}

static void put_entry(struct html *h, const char *name, const char *slash)
{
	CLEANUP(buf_free) struct buf href = BUF_INIT(4096);
	buf_add_text(&href, "./");
	http_encode(&href, str_of(name));
	buf_add_text(&href, slash);
	html_open(h, "li");
	html_open(h, "a");
	html_attr(h, "href", buf_str(&href));
	html_text(h, name);
	html_text(h, slash);
	html_close(h, "a");
	html_close(h, "li");
}

int docs_listing(const struct file *root, const struct file *folder, const char *path,
		 struct arena *arena, struct buf *out, struct err *err)
{
	struct html h = HTML_INIT(out);
	const char *title = arena_printf(arena, "/%s", path);
	CLEANUP(docs_names_free) struct docs_names list = {0};
	bool is_folder;
	if (docs_names_read(&list, folder, LISTED_MAX, err) < 0)
		return -1;
	html_begin(&h);
	html_put_text(&h, "title", title);
	html_close(&h, "head");
	html_open(&h, "body");
	html_put_text(&h, "h1", title);
	html_open(&h, "ul");
	for (size_t i = 0; i < list.n; i++)
		if (docs_is_served(root, folder, path, list.name[i], arena, &is_folder))
			put_entry(&h, list.name[i], is_folder ? "/" : "");
	html_close(&h, "ul");
	if (list.more)
		html_put_text(&h, "p", arena_printf(arena, "%zu more are not listed.", list.more));
	html_close(&h, "body");
	html_close(&h, "html");
	return 0;
}

static int answer_missing(struct http_request *req, struct http_answer *a)
{
	http_answer_error(req, a, 404, "there is nothing of this name here");
	return 0;
}

static int answer_slash(struct http_request *req, struct http_answer *a)
{
	http_answer_error(req, a, 301, "a folder ends in a slash");
	http_answer_header(req, a, "Location",
			   str_of(arena_printf(&req->arena, STR_FMT "/", STR_ARG(req->path))));
	return 0;
}

/* Its index.html, or what is in it. */
static int answer_folder(struct http_request *req, struct http_answer *a, const struct file *folder,
			 const char *path, struct err *err)
{
	const struct docs *d = req->ctx;
	struct file index = FILE_INIT;
	bool is_folder = false;
	const char *name = arena_printf(&req->arena, "%sindex.html", path);
	int rc = docs_open(&d->root, name, &index, &is_folder, err);
	if (rc == 0 && !is_folder)
		rc = answer_file(req, a, &index, err);
	else if (rc >= 0)
		rc = docs_listing(&d->root, folder, path, &req->arena, a->body, err);
	file_drop(&index);
	return rc;
}

static int answer_path(struct http_request *req, struct http_answer *a, struct err *err)
{
	const struct docs *d = req->ctx;
	struct file found = FILE_INIT;
	bool is_folder = false;
	struct str decoded;
	if (http_decode(req->path, false, &req->arena, &decoded, err) < 0)
		return -1;
	const char *path = arena_text(&req->arena, str_from(decoded, 1));
	bool slash = str_ends(decoded, STR("/"));
	int rc = docs_open(&d->root, path, &found, &is_folder, err);
	if (rc < 0)
		return -1;
	if (rc > 0 || (slash && !is_folder))
		rc = answer_missing(req, a);
	else if (!is_folder)
		rc = answer_file(req, a, &found, err);
	else
		rc = slash ? answer_folder(req, a, &found, path, err) : answer_slash(req, a);
	file_drop(&found);
	return rc;
}

static bool request_stops(const void *ctx)
{
	return http_stops(ctx);
}

/* The listing of the tree: its own, or the one that is made for all. */
static int answer_tree(struct http_request *req, struct http_answer *a, struct err *err)
{
	struct docs *d = req->ctx;
	struct file listing = FILE_INIT;
	bool is_folder = false;
	const struct docs_stop stop = {request_stops, req};
	int rc = docs_open(&d->root, "ls-lR.gz", &listing, &is_folder, err);
	if (rc == 1 || (rc == 0 && is_folder)) {
		file_drop(&listing);
		rc = docs_shelf_take(&d->shelf, &stop, clock_mono_us(), &listing, err);
	}
	if (rc == 0)
		rc = http_answer_file(a, &listing, "application/gzip", err);
	file_drop(&listing);
	return rc;
}

static const struct http_route routes[] = {
	{HTTP_GET, "/ls-lR.gz", "The names of all files of the tree, as ls -lR prints them",
	 "application/gzip", .loose = true, .slow = true, .handle = answer_tree},
	{HTTP_GET, "/*", "A file or a listing of the tree", "text/html; charset=utf-8",
	 .loose = true, .slow = true, .handle = answer_path},
};

static int run(struct role_env *env, struct err *err)
{
	const struct docs_conf *conf = config_get(env->config, env->role->section);
	struct docs docs = {.root = FILE_INIT};
	struct http_options options = {
		.routes = routes,
		.nroutes = ARRAY_LEN(routes),
		.limits = conf->http,
		.ctx = &docs,
		.log_all = conf->access_log,
	};
	int rc = file_open(&docs.root, conf->root, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc > 0)
		rc = err_set(err, ERR_USAGE, "docs.root: there is no directory %s", conf->root);
	docs_shelf_init(&docs.shelf, &docs.root, env->data);
	docs.shelf.disk_free = env->disk_free;
	/* long enough for the readers of the last one to finish: at most three files at a time */
	docs.shelf.keep_us = MAX(SHELF_KEEP_US, conf->http.answer_us);
	if (rc == 0)
		rc = http_serve(env, &options, conf->drain_us, err);
	docs_shelf_free(&docs.shelf);
	file_drop(&docs.root);
	return rc;
}

const struct role docs_role = {
	.name = "docs",
	.only_named = true,
	.summary = "serve a directory tree over HTTP",
	.description =
		"Serves the files below docs.root, with listings of folders that have no "
		"index.html, types by name, validators and ranges. Files that end in .gz are sent "
		"content-coded as what they are below it. /ls-lR.gz names all files of the tree, "
		"for those who index archives; it is made anew every few minutes.\n\n"
		"It answers to localhost, to addresses, and to the names that web.url and "
		"web.names say.\n\n"
		"It is meant for demonstrations and small sites: garner up crawls it like any "
		"other server. Nothing outside the directory is reached, whatever links say.",
	.scheme = "http",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
