/* Filters, asked: the rules whose conditions hold are applied in the order of the file, so the last
 * one decides.
 *
 * Rules that begin with a host or with *.suffix are not tried one by one: the host of a URL and
 * each of its suffixes is looked up, which finds a list for each that has rules. These lists and
 * the one of all other rules are merged by number, because a condition on the section depends on
 * what the rules before it did. */
#include "shepherd/cycle/filter_inner.h"

#include "base/ascii.h"

#include <stdio.h>

bool filter_glob(struct str pattern, struct str s)
{
	size_t p = 0, i = 0, star = SIZE_MAX, from = 0;
	while (i < s.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = i;
		} else if (p < pattern.n && pattern.p[p] == s.p[i]) {
			p++;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

/* Lists */

/* The text under which a rule is found: a host, or a suffix with its dot. Empty: under none. */
static struct str rule_key(const struct filter *f, const struct rule *r)
{
	const struct cond *c = &f->cond[r->conds];
	if (c->kind != COND_HOST || c->negated)
		return STR("");
	struct str key = str_starts(c->pattern, STR("*.")) ? str_from(c->pattern, 1) : c->pattern;
	return str_find_byte(key, '*') == key.n ? key : STR("");
}

static void list_append(struct filter *f, struct rule_list *list, enum filter_book book)
{
	uint32_t number = (uint32_t)f->rules;
	if (list->last)
		f->rule[list->last - 1].next[book] = number;
	else
		list->first = number;
	list->last = number;
}

void filter_file_rule(struct filter *f)
{
	const struct rule *r = &f->rule[f->rules - 1];
	bool wanted[BOOKS] = {false};
	struct str key = rule_key(f, r);
	for (size_t i = 0; i < r->noutputs; i++)
		wanted[f->output[r->outputs + i].kind < FILTER_OUTPUTS ? BOOK_SITES : BOOK_URLS] =
			true;
	for (enum filter_book b = 0; b < BOOKS; b++) {
		struct book *book = &f->book[b];
		if (wanted[b])
			list_append(f, key.n ? hosts_put(&book->hosts, key) : &book->others, b);
	}
}

/* The rules that may be about a host, in order. */
struct rule_walk {
	const struct filter *f;
	enum filter_book book;
	size_t n;
	uint32_t next[FILTER_HOST_MAX + 3]; /* of each list; none is 0 */
};

static void walk_add(struct rule_walk *w, const struct rule_list *list)
{
	if (list && list->first)
		w->next[w->n++] = list->first;
}

static void walk_init(struct rule_walk *w, const struct filter *f, enum filter_book b,
		      struct str host)
{
	const struct book *book = &f->book[b];
	w->f = f;
	w->book = b;
	w->n = 0;
	walk_add(w, &book->others);
	if (book->hosts.n == 0)
		return;
	walk_add(w, hosts_get(&book->hosts, host));
	/* no key is longer: an exact host that is has none either */
	size_t at = host.n > FILTER_HOST_MAX ? host.n - FILTER_HOST_MAX : 0;
	for (; at < host.n; at++)
		if (host.p[at] == '.')
			walk_add(w, hosts_get(&book->hosts, str_from(host, at)));
}

static const struct rule *walk_next(struct rule_walk *w)
{
	size_t best = 0;
	if (w->n == 0)
		return NULL;
	for (size_t i = 1; i < w->n; i++)
		if (w->next[i] < w->next[best])
			best = i;
	const struct rule *r = &w->f->rule[w->next[best] - 1];
	w->next[best] = r->next[w->book];
	if (w->next[best] == 0)
		w->next[best] = w->next[--w->n];
	return r;
}

/* Conditions */

/* What rules are asked about. */
struct subject {
	struct url_site site;
	const struct filter_where *where;
	struct str path, query, type; /* of URLs alone */
	uint8_t section;
};

static bool port_holds(const struct cond *c, uint16_t port)
{
	char digits[STR_DECIMAL_MAX];
	return filter_glob(c->pattern, (struct str){digits, str_decimal(digits, port)});
}

static uint64_t path_depth(struct str path)
{
	uint64_t n = 0;
	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] != '/' && (i == 0 || path.p[i - 1] == '/');
	return n;
}

static bool server_is_known(const struct filter_where *where)
{
	return qkey_kind(where->qkey) == QKEY_RESOLVED;
}

static bool cond_is_true(const struct cond *c, const struct subject *s)
{
	switch (c->kind) {
	case COND_ANY:
		return true;
	case COND_SCHEME:
		return c->set & s->site.protocol;
	case COND_HOST:
		return filter_glob(c->pattern, s->site.host);
	case COND_PORT:
		return port_holds(c, s->site.port);
	case COND_PATH:
		return filter_glob(c->pattern, s->path);
	case COND_QUERY:
		return filter_glob(c->pattern, s->query);
	case COND_TYPE:
		return filter_glob(c->pattern, s->type);
	case COND_SECTION:
		return c->set >> s->section & 1;
	case COND_NET:
		return (s->where->qkey & c->net.mask) == c->net.key;
	case COND_KEY_SITES:
		return MAX(s->where->key_sites, UINT64_C(1)) > c->above;
	case COND_DEPTH:
		return path_depth(s->path) > c->above;
	case COND_KNOWN:
		return s->where->known;
	case COND_USUAL_PORT:
		return s->site.port == url_default_port(s->site.protocol);
	}
	die("condition %d", (int)c->kind);
}

/* Of a server that is not known yet no condition on its network holds, nor the contrary: else
 * `!net` would hold for everything that is new. */
static bool cond_holds(const struct cond *c, const struct subject *s)
{
	if (c->kind == COND_NET && !server_is_known(s->where))
		return false;
	return cond_is_true(c, s) != c->negated;
}

static bool rule_holds(const struct filter *f, const struct rule *r, const struct subject *s)
{
	for (size_t i = 0; i < r->nconds; i++)
		if (!cond_holds(&f->cond[r->conds + i], s))
			return false;
	return true;
}

/* URLs */

/* What documents with such a name mostly are. What has another end, or none, is a page: most of the
 * web's pages are called so. */
static const struct {
	const char *end, *type;
} path_types[] = {
	{"7z", "application/x-7z-compressed"},
	{"apk", "application/vnd.android.package-archive"},
	{"atom", "application/atom+xml"},
	{"avi", "video/x-msvideo"},
	{"avif", "image/avif"},
	{"bmp", "image/bmp"},
	{"bz2", "application/x-bzip2"},
	{"css", "text/css"},
	{"csv", "text/csv"},
	{"deb", "application/vnd.debian.binary-package"},
	{"doc", "application/msword"},
	{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"eot", "application/vnd.ms-fontobject"},
	{"epub", "application/epub+zip"},
	{"exe", "application/x-executable"},
	{"flac", "audio/flac"},
	{"gif", "image/gif"},
	{"gz", "application/gzip"},
	{"ico", "image/x-icon"},
	{"iso", "application/x-iso9660-image"},
	{"jar", "application/java-archive"},
	{"jpeg", "image/jpeg"},
	{"jpg", "image/jpeg"},
	{"js", "text/javascript"},
	{"json", "application/json"},
	{"m4a", "audio/mp4"},
	{"mkv", "video/x-matroska"},
	{"mov", "video/quicktime"},
	{"mp3", "audio/mpeg"},
	{"mp4", "video/mp4"},
	{"mpeg", "video/mpeg"},
	{"mpg", "video/mpeg"},
	{"odp", "application/vnd.oasis.opendocument.presentation"},
	{"ods", "application/vnd.oasis.opendocument.spreadsheet"},
	{"odt", "application/vnd.oasis.opendocument.text"},
	{"ogg", "audio/ogg"},
	{"otf", "font/otf"},
	{"pdf", "application/pdf"},
	{"png", "image/png"},
	{"ppt", "application/vnd.ms-powerpoint"},
	{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
	{"ps", "application/postscript"},
	{"rar", "application/vnd.rar"},
	{"rpm", "application/x-rpm"},
	{"rss", "application/rss+xml"},
	{"rtf", "application/rtf"},
	{"svg", "image/svg+xml"},
	{"tar", "application/x-tar"},
	{"tgz", "application/gzip"},
	{"tif", "image/tiff"},
	{"tiff", "image/tiff"},
	{"ttf", "font/ttf"},
	{"txt", "text/plain"},
	{"wav", "audio/wav"},
	{"webm", "video/webm"},
	{"webp", "image/webp"},
	{"wmv", "video/x-ms-wmv"},
	{"woff", "font/woff"},
	{"woff2", "font/woff2"},
	{"xls", "application/vnd.ms-excel"},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"xml", "application/xml"},
	{"xz", "application/x-xz"},
	{"zip", "application/zip"},
};
enum { PATH_END_MAX = 5 };

static struct str path_type(struct str path)
{
	size_t n = 0;
	char end[PATH_END_MAX + 1];
	while (n < path.n && n < sizeof end && ascii_is_alnum(path.p[path.n - 1 - n]))
		n++;
	if (n == 0 || n > PATH_END_MAX || n == path.n || path.p[path.n - 1 - n] != '.')
		return STR("text/html");
	for (size_t i = 0; i < n; i++)
		end[i] = ascii_lower(path.p[path.n - n + i]);
	const struct str word = {end, n};
	size_t at =
		BISECT(i, 0, ARRAY_LEN(path_types), str_cmp(str_of(path_types[i].end), word) < 0);
	return at < ARRAY_LEN(path_types) && str_is(word, path_types[at].end)
		       ? str_of(path_types[at].type)
		       : STR("text/html");
}

enum { TYPE_MAX = 128 };

static struct str type_lower(struct str type, char room[TYPE_MAX])
{
	return str_lower(str_head(type, TYPE_MAX), room);
}

void filter_url(const struct filter *f, const struct url *url, struct str type,
		const struct filter_where *where, struct filter_url *ret)
{
	char room[TYPE_MAX];
	struct filter_url u = {.section = (uint8_t)(f->sections - 1)};
	struct subject s = {
		.site = url_site(url),
		.where = where,
		.path = url->path,
		.query = url->query,
		.type = type.n ? type_lower(type, room) : path_type(url->path),
		.section = u.section,
	};
	struct rule_walk w;
	const struct rule *r;
	for (walk_init(&w, f, BOOK_URLS, url->host); (r = walk_next(&w));) {
		if (!rule_holds(f, r, &s))
			continue;
		for (size_t i = 0; i < r->noutputs; i++) {
			const struct output *o = &f->output[r->outputs + i];
			if (o->kind == OUT_REJECT) {
				u.reject = o->number;
				u.reject_line = r->line;
			} else if (o->kind == OUT_SECTION) {
				u.section = s.section = (uint8_t)o->number;
				u.section_line = r->line;
			}
		}
	}
	if (!u.reject && f->section[u.section].share <= 0) {
		u.reject = true;
		u.reject_line = f->section_line[u.section];
	}
	*ret = u;
}

/* Sites */

static void site_set(struct filter_site *s, const struct output *o)
{
	const struct value_spec *spec = &filter_site_specs[o->kind];
	if (o->kind == FILTER_REFRESH_SCHEMA)
		s->schema = o->values->schema;
	else
		value_copy(spec, s, spec, o->values);
}

void filter_site(const struct filter *f, struct url_site site, const struct filter_where *where,
		 struct filter_site *ret)
{
	struct subject s = {.site = site, .where = where};
	struct rule_walk w;
	const struct rule *r;
	*ret = (struct filter_site){0};
	for (walk_init(&w, f, BOOK_SITES, site.host); (r = walk_next(&w));) {
		if (!rule_holds(f, r, &s))
			continue;
		for (size_t i = 0; i < r->noutputs; i++) {
			const struct output *o = &f->output[r->outputs + i];
			if (o->kind >= FILTER_OUTPUTS)
				continue;
			site_set(ret, o);
			ret->line[o->kind] = r->line;
		}
	}
}

/* The rest */

const struct filter_section *filter_sections(const struct filter *f, size_t *ret_n)
{
	*ret_n = f->sections;
	return f->section;
}

const char *filter_line_text(const struct filter *f, uint32_t line, char *room, size_t n)
{
	if (line == FILTER_BY_SETTING)
		snprintf(room, n, "shepherd.follow");
	else if (line == FILTER_BY_NO_DELAY)
		snprintf(room, n, "shepherd.no_delay");
	else if (line == FILTER_BY_DEPTH)
		snprintf(room, n, "shepherd.max_depth");
	else
		snprintf(room, n, "%s:%u", f->name, line);
	return room;
}

void filter_free(struct filter **f)
{
	if (*f) {
		for (size_t i = 0; i < BOOKS; i++)
			hosts_free(&(*f)->book[i].hosts);
		arena_free(&(*f)->arena);
		mem_free(&(*f)->cond);
		mem_free(&(*f)->output);
		mem_free(&(*f)->rule);
		mem_free(&(*f)->name);
		mem_free(&(*f)->text);
	}
	mem_free(f);
}
