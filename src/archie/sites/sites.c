/* The site list: its lines, keys, and how the two files are merged.
 *
 * A key is the name of a file, so it must stay the same whatever other lines there are: it depends
 * on the site alone. An FTP site at its root, the only kind that the original document knows, is
 * called NAME-ADDRESS, and on another port NAME,PORT-ADDRESS. For all other sites NAME says how
 * they differ from that. Two alternatives were rejected: giving the plain key to the first site
 * that would have it, because reordering lines would then hand files from one site to another; and
 * numbers, which mean nothing to anyone. */
#include "archie/sites.h"

#include "archie/sites/sites_inner.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "index/names.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>

enum { NAME_MOST = 253, WORD_MOST = 1024, KEY_CUT = 150, ZONE_MOST_H = 15 };

/* Lines. */

/* "0530" or "05:30" or "5". */
static bool zone_hours(struct str text, uint64_t *ret_h, uint64_t *ret_min)
{
	struct str hours = text, minutes = STR("0");
	size_t colon = str_find_byte(text, ':');
	if (colon < text.n) {
		hours = str_head(text, colon);
		minutes = str_from(text, colon + 1);
	} else if (text.n > 2) {
		hours = str_head(text, text.n - 2);
		minutes = str_from(text, text.n - 2);
	}
	return hours.n <= 2 && minutes.n <= 2 && str_u64(hours, ret_h) && str_u64(minutes, ret_min);
}

bool archie_zone_parse(struct str text, int32_t *ret_s)
{
	uint64_t h = 0, min = 0;
	if (str_eq_nocase(text, STR("UTC")) || str_eq_nocase(text, STR("GMT")) ||
	    str_eq_nocase(text, STR("Z"))) {
		*ret_s = 0;
		return true;
	}
	if (text.n < 2 || (text.p[0] != '+' && text.p[0] != '-') ||
	    !zone_hours(str_from(text, 1), &h, &min) || h > ZONE_MOST_H || min > 59)
		return false;
	int32_t s = (int32_t)(h * 3600 + min * 60);
	*ret_s = text.p[0] == '-' ? -s : s;
	return true;
}

static void zone_print(int32_t s, struct buf *out)
{
	unsigned minutes = (unsigned)(s < 0 ? -s : s) / 60;
	buf_printf(out, "%c%02u:%02u", s < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

bool sites_name_is_good(struct str name)
{
	if (name.n == 0 || name.n > NAME_MOST || name.p[0] == '.' || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!ascii_is_lower(c) && !ascii_is_digit(c) && c != '.' && c != '-' && c != '_')
			return false;
	}
	return true;
}

/* Values have no blanks: %20 stands for one, and so on. */
static bool value_decode(struct str text, struct arena *arena, struct str *ret)
{
	char *to = arena_alloc(arena, text.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		int byte = (unsigned char)text.p[i];
		if (text.p[i] == '%') {
			if (i + 2 >= text.n)
				return false;
			byte = ascii_hex_byte(text.p + i + 1);
			i += 2;
		}
		if (byte <= 0)
			return false;
		to[n++] = (char)byte;
	}
	*ret = (struct str){to, n};
	return n > 0;
}

static void put_value(const char *key, struct str text, struct buf *out)
{
	if (text.n)
		buf_printf(out, " %s=", key);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c <= ' ' || c == '%' || c == 0x7f)
			buf_printf(out, "%%%02X", c);
		else
			buf_add_byte(out, (char)c);
	}
}

bool archie_address_parse(struct str text, struct addr *ret)
{
	if (!addr_parse(text, ret) || ret->scope)
		return false;
	struct addr server = addr_server(ret);
	if (server.family == AF_INET)
		*ret = server;
	return true;
}

static int take_value(struct str key, struct str value, struct arena *arena,
		      struct archie_site *site, struct err *err)
{
	char shown[VALUE_SHOWN];
	bool good = true;
	const char *wanted = "a word in which %20 stands for a blank";
	if (str_is(key, "tz")) {
		wanted = "a zone such as +02:00";
		good = archie_zone_parse(value, &site->tz_s);
	} else if (str_is(key, "max_age")) {
		wanted = "a time such as 3d";
		good = duration_parse(value, &site->max_age_us) && site->max_age_us > 0;
	} else if (str_is(key, "os")) {
		good = value_decode(value, arena, &site->os);
	} else if (str_is(key, "path")) {
		good = value_decode(value, arena, &site->path);
	} else if (str_is(key, "name")) {
		wanted = "a host name";
		good = sites_name_is_good(site->name = arena_lower(arena, value));
	} else {
		return err_set(err, ERR_USAGE,
			       "'%s' is not a key: expected tz, os, path, max_age or name",
			       value_show(key, shown));
	}
	return good ? 0
		    : err_set(err, ERR_USAGE, STR_FMT ": '%s' is not %s", STR_ARG(key),
			      value_show(value, shown), wanted);
}

static int parse_url(struct str text, struct arena *arena, struct sites_line *ret, struct err *err)
{
	char room[URL_TEXT_MAX], strict[URL_STRICT_MAX], slash[URL_STRICT_MAX + 2];
	struct url u;
	int rc = url_parse(text, NULL, room, sizeof room, &u);
	if (rc == 0 && u.has_query)
		return err_set(err, ERR_USAGE, "the URL of a site has no question mark");
	if (rc == 0 && u.username.n && !str_is(u.username, "anonymous"))
		return err_set(err, ERR_USAGE,
			       "the URL of a site has no user name: it is visited as by anyone");
	if (rc == 0)
		rc = url_canon(&u, false, strict, sizeof strict, &u);
	if (rc != 0)
		return url_fail(rc, text, err);
	if (!str_ends(u.path, STR("/"))) {
		snprintf(slash, sizeof slash, STR_FMT "/", STR_ARG(u.href));
		rc = url_parse(str_of(slash), NULL, room, sizeof room, &u);
		if (rc != 0)
			return url_fail(rc, text, err);
	}
	if (str_starts(u.host, STR(".")))
		return err_set(err, ERR_USAGE, "the host of a site does not begin with a dot");
	ret->site.url = arena_str(arena, u.href);
	ret->site.ftp = u.protocol == URL_FTP;
	ret->host = arena_str(arena, u.host);
	ret->port = u.port;
	ret->protocol = u.protocol;
	return 0;
}

int archie_site_url(struct str text, struct arena *arena, struct str *ret, struct err *err)
{
	struct sites_line l = {0};
	if (parse_url(text, arena, &l, err) < 0)
		return -1;
	*ret = l.site.url;
	return 0;
}

/* Of the URL's host: an address in brackets is written as one that may be part of a file's name. */
static void put_host_name(struct str host, struct buf *out)
{
	for (size_t i = 0; i < host.n; i++)
		if (host.p[i] != '[' && host.p[i] != ']')
			buf_add_byte(out, host.p[i] == ':' ? '_' : host.p[i]);
}

int sites_line_parse(struct str line, struct arena *arena, struct sites_line *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf host = BUF_INIT(URL_TEXT_MAX);
	struct str rest = line, url = str_word(&rest), address = str_word(&rest), word;
	char shown[VALUE_SHOWN];
	*ret = (struct sites_line){0};
	if (parse_url(url, arena, ret, err) < 0)
		return -1;
	if (!archie_address_parse(address, &ret->site.address))
		return err_set(err, ERR_USAGE, "expected an address after the URL, got '%s'",
			       value_show(address, shown));
	put_host_name(ret->host, &host);
	ret->site.name = ret->alias = arena_str(arena, buf_str(&host));
	while ((word = str_word(&rest)).n) {
		size_t eq = str_find_byte(word, '=');
		if (eq == word.n || word.n > WORD_MOST)
			return err_set(err, ERR_USAGE, "expected key=value, got '%s'",
				       value_show(word, shown));
		if (take_value(str_head(word, eq), str_from(word, eq + 1), arena, &ret->site, err) <
		    0)
			return -1;
	}
	return 0;
}

struct archie_site archie_site_copy(const struct archie_site *site, struct arena *arena)
{
	struct archie_site copy = *site;
	struct str *const texts[] = {&copy.url, &copy.key, &copy.name, &copy.os, &copy.path};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = arena_str(arena, *texts[i]);
	return copy;
}

struct str archie_site_host(const struct archie_site *site)
{
	struct str host = str_from(site->url, str_find(site->url, STR("://")) + 3);
	host = str_head(host, str_find_byte(host, '/'));
	if (host.n && host.p[0] == '[')
		return str_head(host, str_find_byte(host, ']') + 1);
	return str_head(host, str_find_byte(host, ':'));
}

void archie_site_print(const struct archie_site *site, struct buf *out)
{
	char shown[ADDR_SHOWN];
	CLEANUP(buf_free) struct buf host = BUF_INIT(URL_TEXT_MAX);
	put_host_name(archie_site_host(site), &host);
	buf_add_str(out, site->url);
	buf_printf(out, " %s", addr_print(&site->address, shown));
	if (!str_eq(site->name, buf_str(&host)))
		put_value("name", site->name, out);
	if (site->tz_s) {
		buf_add_text(out, " tz=");
		zone_print(site->tz_s, out);
	}
	put_value("os", site->os, out);
	put_value("path", site->path, out);
	if (site->max_age_us) {
		buf_add_text(out, " max_age=");
		duration_print(out, site->max_age_us);
	}
}

/* Files. */

static void add_problem(struct sites_list *l, struct arena *arena, const char *text)
{
	if (l->problems < ARCHIE_PROBLEMS_MOST)
		*ARENA_PUSH(arena, l->problem, l->problems, l->problem_room) = text;
}

enum sites_what sites_line_what(struct str line, bool local, struct str *ret_rest)
{
	*ret_rest = line = str_trim(line);
	if (line.n == 0 || line.p[0] == '#')
		return SITES_NOTHING;
	struct str rest = line, word = str_word(&rest);
	if (local && (str_is(word, "-") || str_is(word, "only"))) {
		*ret_rest = str_trim(rest);
		return word.n == 1 ? SITES_LEAVE_OUT : SITES_ONLY;
	}
	return SITES_SITE;
}

static int take_line(struct sites_list *l, struct str line, bool local, unsigned number,
		     struct arena *arena, struct err *err)
{
	struct str rest;
	enum sites_what what = sites_line_what(line, local, &rest);
	if (line.n > ARCHIE_LINE_MOST)
		return err_set(err, ERR_USAGE, "longer than %d bytes", ARCHIE_LINE_MOST);
	if (what == SITES_NOTHING)
		return 0;
	if (what != SITES_SITE) {
		if (rest.n == 0 || memchr(rest.p, 0, rest.n))
			return err_set(err, ERR_USAGE, "expected a pattern such as *.au");
		*ARENA_PUSH(arena, l->pattern, l->npatterns, l->pattern_room) =
			(struct sites_pattern){{arena_text(arena, rest), rest.n},
					       what == SITES_ONLY};
		return 0;
	}
	if (l->n == ARCHIE_SITES_MOST)
		return err_set(err, ERR_USAGE, "more than %d sites", ARCHIE_SITES_MOST);
	struct sites_line one;
	if (sites_line_parse(rest, arena, &one, err) < 0)
		return -1;
	one.number = number;
	one.site.local = local;
	*ARENA_PUSH(arena, l->line, l->n, l->room) = one;
	return 0;
}

void sites_list_parse(struct str bytes, const char *file, bool local, struct arena *arena,
		      struct sites_list *ret)
{
	struct str line;
	unsigned number = 0;
	struct err err;
	*ret = (struct sites_list){.file = file};
	while (bytes.n && str_cut(&bytes, '\n', &line) == 0) {
		number++;
		if (take_line(ret, line, local, number, arena, &err) < 0)
			add_problem(
				ret, arena,
				arena_printf(arena, "%s:%u: %s, skipped", file, number, err.msg));
	}
}

int sites_slurp(const char *folder, struct buf *listed, struct buf *local, int64_t *ret_listed_s,
		struct err *err)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/sites.local", folder);
	if (file_slurp(path, local, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/sites", folder);
	int rc = file_slurp(path, listed, err);
	if (ret_listed_s)
		*ret_listed_s = rc == 0 && stat(path, &st) == 0 ? (int64_t)st.st_mtime : -1;
	return MIN(rc, 0);
}

/* Keys. */

static void put_address(const struct addr *a, struct buf *out)
{
	char shown[ADDR_SHOWN];
	for (const char *p = addr_print(a, shown); *p; p++)
		buf_add_byte(out, *p == ':' ? '_' : *p);
}

static void put_key_end(const struct sites_line *l, struct buf *out)
{
	if (l->port != url_default_port(l->protocol))
		buf_printf(out, ",%u", l->port);
	buf_add_byte(out, '-');
	put_address(&l->site.address, out);
}

/* A name that is too long for a file is cut, and its hash tells it from others that begin so. */
static void key_finish(const struct sites_line *l, struct str name, struct buf *out)
{
	buf_clear(out);
	buf_add_str(out, name);
	put_key_end(l, out);
	if (out->n <= NAMES_KEY_MOST)
		return;
	uint64_t hash = xxh64(buf_str(out));
	buf_clear(out);
	buf_add_str(out, str_head(name, KEY_CUT));
	buf_printf(out, "~%016" PRIx64, hash);
	put_key_end(l, out);
}

/* The path of the URL, which is escaped already: a plus between two folders, and what would look
 * like another part of the key as = and two digits. */
static void put_path(struct str path, struct buf *out)
{
	for (size_t i = 0; i + 1 < path.n; i++) { /* without the last slash */
		char c = path.p[i];
		if (c == '/')
			buf_add_byte(out, '+');
		else if (ascii_is_alnum(c) || strchr("._-%", c))
			buf_add_byte(out, c);
		else
			buf_printf(out, "=%02X", (unsigned char)c);
	}
}

/* A server of FTP has the same files under all its names; one of HTTP may have others under each. A
 * port of its own tells a server's protocol: two do not share one. */
void sites_key(const struct sites_line *l, struct buf *out)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(16 << 10);
	struct str url = l->site.url;
	struct str path = str_from(url, str_find(url, STR("://")) + 3);
	path = str_from(path, str_find_byte(path, '/'));
	bool aliased = !l->site.ftp && !str_eq(l->alias, l->site.name);
	bool usual = l->port == url_default_port(l->protocol);
	buf_add_str(&name, l->site.name);
	if ((!l->site.ftp && usual) || aliased || path.n > 1)
		buf_printf(&name, "+%s", url_protocol_name(l->protocol));
	if (aliased)
		buf_printf(&name, "@" STR_FMT, STR_ARG(l->alias));
	put_path(path, &name);
	key_finish(l, buf_str(&name), out);
}

/* Both files together. */

TABLE(texts, struct str, const struct sites_line *, hash64, str_eq)
TABLE(addresses, struct addr, const struct sites_line *, addr_hash, addr_eq)

struct merge {
	struct arena *arena;
	struct archie_sites *ret;
	const char *file; /* of the lines */
	struct sites_list problems;
	size_t room;
	struct texts by_url, by_key;
	struct addresses by_ftp_address;
	struct buf key;
};

static void merge_problem(struct merge *m, const struct sites_line *l, const char *why)
{
	add_problem(&m->problems, m->arena,
		    arena_printf(m->arena, "%s:%u: " STR_FMT ": %s, skipped", m->file, l->number,
				 STR_ARG(l->site.url), why));
}

static bool fits_pattern(const struct sites_line *l, const struct sites_pattern *p,
			 struct arena *arena)
{
	if (str_find(p->text, STR("://")) < p->text.n)
		return fnmatch(p->text.p, arena_text(arena, l->site.url), 0) == 0;
	return fnmatch(p->text.p, arena_text(arena, l->site.name), FNM_CASEFOLD) == 0 ||
	       fnmatch(p->text.p, arena_text(arena, l->host), FNM_CASEFOLD) == 0;
}

/* What the edits say of a line of `sites`. */
static bool is_wanted(const struct sites_line *l, const struct sites_list *local,
		      struct arena *arena)
{
	bool has_only = false, fits_only = false;
	for (size_t i = 0; i < local->npatterns; i++) {
		const struct sites_pattern *p = &local->pattern[i];
		struct arena_mark mark = arena_mark(arena);
		bool fits = fits_pattern(l, p, arena);
		arena_reset(arena, mark);
		if (fits && !p->only)
			return false;
		has_only |= p->only;
		fits_only |= p->only && fits;
	}
	return !has_only || fits_only;
}

static void merge_line(struct merge *m, const struct sites_line *l)
{
	const struct sites_line **other;
	if ((other = texts_get(&m->by_url, l->site.url))) {
		if ((*other)->site.local == l->site.local)
			merge_problem(m, l, "it is listed twice");
		return;
	}
	if (l->site.ftp && (other = addresses_get(&m->by_ftp_address, l->site.address))) {
		merge_problem(m, l,
			      arena_printf(m->arena,
					   "its address has an FTP site already, " STR_FMT,
					   STR_ARG((*other)->site.url)));
		return;
	}
	sites_key(l, &m->key);
	if ((other = texts_get(&m->by_key, buf_str(&m->key)))) {
		merge_problem(m, l,
			      arena_printf(m->arena, "it has the key of " STR_FMT,
					   STR_ARG((*other)->site.url)));
		return;
	}
	struct archie_site site = l->site;
	site.key = arena_str(m->arena, buf_str(&m->key));
	*texts_put(&m->by_url, site.url) = l;
	*texts_put(&m->by_key, site.key) = l;
	if (site.ftp)
		*addresses_put(&m->by_ftp_address, site.address) = l;
	*ARENA_PUSH(m->arena, m->ret->site, m->ret->n, m->room) = site;
}

static int by_key(const void *a, const void *b)
{
	const struct archie_site *x = a, *y = b;
	return str_cmp(x->key, y->key);
}

void sites_merge(const struct sites_list *listed, const struct sites_list *local,
		 struct arena *arena, struct archie_sites *ret)
{
	struct merge m = {.arena = arena, .ret = ret, .key = BUF_INIT(64 << 10)};
	*ret = (struct archie_sites){.listed_s = -1};
	m.file = local->file;
	for (size_t i = 0; i < local->n; i++)
		merge_line(&m, &local->line[i]);
	m.file = listed->file;
	for (size_t i = 0; i < listed->n; i++)
		if (is_wanted(&listed->line[i], local, arena))
			merge_line(&m, &listed->line[i]);
	if (ret->n)
		qsort(ret->site, ret->n, sizeof *ret->site, by_key);
	struct sites_list all = {0};
	for (size_t i = 0; i < listed->problems; i++)
		add_problem(&all, arena, listed->problem[i]);
	for (size_t i = 0; i < local->problems; i++)
		add_problem(&all, arena, local->problem[i]);
	for (size_t i = 0; i < m.problems.problems; i++)
		add_problem(&all, arena, m.problems.problem[i]);
	ret->problem = all.problem;
	ret->problems = all.problems;
	ret->unread = listed->problems + local->problems;
	texts_free(&m.by_url);
	texts_free(&m.by_key);
	addresses_free(&m.by_ftp_address);
	buf_free(&m.key);
}

int archie_sites_read(const char *folder, struct arena *arena, struct archie_sites *ret,
		      struct err *err)
{
	CLEANUP(buf_free)
	struct buf listed = BUF_INIT(ARCHIE_LIST_MOST), local = BUF_INIT(ARCHIE_LIST_MOST);
	struct sites_list a, b;
	int64_t listed_s;
	if (sites_slurp(folder, &listed, &local, &listed_s, err) < 0)
		return -1;
	sites_list_parse(buf_str(&listed), "sites", false, arena, &a);
	sites_list_parse(buf_str(&local), "sites.local", true, arena, &b);
	sites_merge(&a, &b, arena, ret);
	ret->listed_s = listed_s;
	return 0;
}

/* Looking up. */

const struct archie_site *archie_sites_find(const struct archie_sites *s, struct str what,
					    size_t *at)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct str url = STR("");
	struct err ignored;
	const struct archie_site *found = NULL;
	if (str_find(what, STR("://")) < what.n &&
	    archie_site_url(what, &arena, &url, &ignored) < 0)
		url = STR("");
	for (; *at < s->n && !found; (*at)++) {
		const struct archie_site *one = &s->site[*at];
		if (str_eq(one->key, what) || (url.n && str_eq(one->url, url)) ||
		    str_eq_nocase(one->name, what) || str_eq_nocase(archie_site_host(one), what))
			found = one;
	}
	arena_free(&arena);
	return found;
}

const struct archie_site *archie_sites_of_url(const struct archie_sites *s, struct str url)
{
	const struct archie_site *best = NULL;
	for (size_t i = 0; i < s->n; i++)
		if (str_starts(url, s->site[i].url) && (!best || s->site[i].url.n > best->url.n))
			best = &s->site[i];
	return best;
}
