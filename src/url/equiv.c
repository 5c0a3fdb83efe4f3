/* Site equivalences: a table from a site to the one that stands for its class. A file that has an
 * error is refused whole, because a mirror that is left out would be crawled twice. */
#include "url/equiv.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/value.h"

struct equiv_record {
	struct url_site to;
	unsigned line;
	bool stands; /* for a class; `to` is the site itself */
};

static uint64_t site_hash(struct url_site s)
{
	return hash64_seeded(s.host, (uint64_t)s.port << 8 | s.protocol);
}
TABLE(sites, struct url_site, struct equiv_record, site_hash, url_site_eq)

struct equiv {
	struct sites sites;
	struct arena arena; /* the hosts */
};

struct equiv_reader {
	struct equiv *e;
	const char *name;
	unsigned line;
	struct url_site head;
	bool has_head;
};

static struct str without_www(struct url_site s)
{
	struct str rest = str_from(s.host, 4);
	bool www = s.protocol != URL_FTP && str_starts(s.host, STR("www.")) &&
		   str_find_byte(rest, '.') < rest.n;
	return www ? rest : s.host;
}

static int site_parse(const struct equiv_reader *r, struct str text, char *room,
		      struct url_site *ret, struct err *err)
{
	char shown[VALUE_SHOWN], strict[URL_STRICT_MAX];
	struct url u = {0}, canon = {0};
	value_show(text, shown);
	int rc = url_parse(text, NULL, room, URL_STRICT_MAX, &u);
	if (rc == 0)
		rc = url_canon(&u, false, strict, sizeof strict, &canon);
	if (rc < 0)
		return err_set(err, ERR_USAGE, "%s:%u: '%s': %s", r->name, r->line, shown,
			       url_error_text(rc));
	if (!str_eq(canon.href, text))
		return err_set(err, ERR_USAGE,
			       "%s:%u: '%s' is not in canonical form; write '" STR_FMT "'", r->name,
			       r->line, shown, STR_ARG(canon.href));
	if (!str_is(url_target(&u), "/"))
		return err_set(err, ERR_USAGE,
			       "%s:%u: '%s' is part of a site; equivalences are between whole "
			       "sites, whose path is /",
			       r->name, r->line, shown);
	if (without_www(url_site(&u)).n != u.host.n)
		return err_set(err, ERR_USAGE,
			       "%s:%u: '%s': www. is implied; write the record without it", r->name,
			       r->line, shown);
	*ret = url_site(&u);
	return 0;
}

/* What already stands for this site makes the new line an error. */
static int site_clash(const struct equiv_reader *r, struct url_site s,
		      const struct equiv_record *old, bool stands, struct err *err)
{
	char text[URL_SITE_MAX + 32];
	url_site_print(s, text, sizeof text);
	if (old->stands == stands)
		return err_set(err, ERR_USAGE, "%s:%u: %s/ is there twice; first in line %u",
			       r->name, r->line, text, old->line);
	return err_set(err, ERR_USAGE,
		       "%s:%u: %s/ %s in line %u; a site stands for a class or belongs to one, "
		       "not both",
		       r->name, r->line, text, old->stands ? "stands for a class" : "is mapped",
		       old->line);
}

static int site_add(struct equiv_reader *r, struct str text, bool stands, struct err *err)
{
	char room[URL_STRICT_MAX];
	struct url_site s;
	if (!stands && !r->has_head)
		return err_set(err, ERR_USAGE,
			       "%s:%u: an indented site needs a line above it that begins in the "
			       "first column",
			       r->name, r->line);
	if (site_parse(r, text, room, &s, err) < 0)
		return -1;
	const struct equiv_record *old = sites_get(&r->e->sites, s);
	if (old)
		return site_clash(r, s, old, stands, err);
	s.host = arena_str(&r->e->arena, s.host);
	if (stands) {
		r->head = s;
		r->has_head = true;
	}
	*sites_put(&r->e->sites, s) = (struct equiv_record){r->head, r->line, stands};
	return 0;
}

int equiv_parse(struct str text, const char *name, struct equiv **ret, struct err *err)
{
	struct equiv *e = mem_alloc(sizeof *e);
	e->arena = ARENA_INIT((size_t)EQUIV_FILE_MAX * 2);
	struct equiv_reader r = {.e = e, .name = name};
	struct str line;
	while (str_cut(&text, '\n', &line) == 0) {
		r.line++;
		struct str site = str_trim(line);
		if (site.n == 0 || site.p[0] == '#')
			continue;
		if (site_add(&r, site, site.p == line.p, err) < 0) {
			equiv_free(&e);
			return -1;
		}
	}
	*ret = e;
	return 0;
}

int equiv_load(const char *path, struct equiv **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(EQUIV_FILE_MAX);
	int rc = file_slurp(path, &text, err);
	return rc ? rc : equiv_parse(buf_str(&text), path, ret, err);
}

void equiv_free(struct equiv **e)
{
	if (*e) {
		sites_free(&(*e)->sites);
		arena_free(&(*e)->arena);
	}
	mem_free(e);
}

struct url_site equiv_site(const struct equiv *e, struct url_site s)
{
	s.host = without_www(s);
	const struct equiv_record *found = e ? sites_get(&e->sites, s) : NULL;
	return found ? found->to : s;
}
