/* Pseudo-domains. They are expanded when a search uses them, not when the file is read, so a
 * mistake in one line fails only the searches that use it, with a message. */
#include "archie/domains.h"

#include "base/embed.h"
#include "base/file.h"

#include <archie/shell_texts_sum.h> /* made by meson.build: changes with the file */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

enum { LINE_MOST = 4096 };

EMBED(own_domains, GARNER_SOURCE "/etc/archie/ardomains.cf");

struct str domains_own(void)
{
	return str_range(own_domains_begin, own_domains_end);
}

struct reading {
	struct arena *arena;
	struct domain *domain;
	size_t n, room;
	struct buf *warnings;
};

static void warn_line(const struct reading *r, unsigned line, const char *what)
{
	if (r->warnings)
		buf_printf(r->warnings, "line %u: %s\n", line, what);
}

const struct domain *domains_find(const struct domains *d, struct str name)
{
	for (size_t i = 0; i < d->n; i++)
		if (str_eq_nocase(d->domain[i].name, name))
			return &d->domain[i];
	return NULL;
}

static void take_line(struct reading *r, struct str text, unsigned line)
{
	struct str rest = str_trim(text);
	if (rest.n == 0 || rest.p[0] == '#')
		return;
	struct str name = str_word(&rest), members = str_word(&rest);
	if (members.n == 0)
		warn_line(r, line, "expected a name and its members, such as 'usa edu:com:us'");
	else if (str_find_byte(name, ':') < name.n)
		warn_line(r, line, "a name has no colon in it");
	else if (domains_find(&(struct domains){r->domain, r->n}, name))
		warn_line(r, line, "this name is defined already, the line is left out");
	else if (r->n == DOMAINS_MOST)
		warn_line(r, line, "too many pseudo-domains, the line is left out");
	else
		*ARENA_PUSH(r->arena, r->domain, r->n, r->room) =
			(struct domain){arena_str(r->arena, name), arena_str(r->arena, members),
					arena_str(r->arena, str_trim(rest)), line};
}

/* A line with those that its \ joins to it, of which the blanks at the beginning do not count. */
static struct str next_line(struct str *rest, unsigned *number, struct buf *joined)
{
	struct str line;
	buf_clear(joined);
	while (str_cut(rest, '\n', &line) == 0) {
		line = str_trim(line);
		++*number;
		bool goes_on = str_ends(line, STR("\\"));
		buf_add_str(joined, str_head(line, line.n - goes_on));
		if (!goes_on)
			break;
	}
	return buf_str(joined);
}

struct domains domains_parse(struct str text, struct arena *arena, struct buf *warnings)
{
	CLEANUP(buf_free) struct buf joined = BUF_INIT(LINE_MOST);
	struct reading r = {.arena = arena, .warnings = warnings};
	struct str rest = text;
	unsigned number = 0;
	while (rest.p && rest.n) {
		unsigned first = number + 1;
		struct str line = next_line(&rest, &number, &joined);
		if (joined.over)
			warn_line(&r, first, "too long, the line is left out");
		else
			take_line(&r, line, first);
	}
	return (struct domains){r.domain, r.n};
}

struct expanding {
	const struct domains *domains;
	struct arena *arena;
	struct str *member;
	size_t n, room, most;
	const struct domain *path[DOMAINS_DEEP]; /* that we are in */
	size_t deep;
	bool *done; /* which pseudo-domains are in it as a whole: none is expanded twice */
	struct err *err;
};

static int add_member(struct expanding *e, struct str name)
{
	char small[256];
	if (name.n >= sizeof small)
		return err_set(e->err, ERR_USAGE, "a domain of %zu bytes is too long", name.n);
	struct str member = str_lower(name, small);
	for (size_t i = 0; i < e->n; i++)
		if (str_eq(e->member[i], member))
			return 0;
	if (e->n == e->most)
		return err_set(e->err, ERR_USAGE, "more than %zu domains", e->most);
	*ARENA_PUSH(e->arena, e->member, e->n, e->room) = arena_str(e->arena, member);
	return 0;
}

static bool is_inside(const struct expanding *e, const struct domain *d)
{
	for (size_t i = 0; i < e->deep; i++)
		if (e->path[i] == d)
			return true;
	return false;
}

static struct str trim_dots(struct str name)
{
	name = str_trim(name);
	while (str_starts(name, STR(".")))
		name = str_from(name, 1);
	while (str_ends(name, STR(".")))
		name = str_head(name, name.n - 1);
	return name;
}

static int add_list(struct expanding *e, struct str list);

/* Loops are looked for first: each of them also has a member that is defined below its use. */
static int add_domain(struct expanding *e, const struct domain *d)
{
	const struct domain *above = e->deep ? e->path[e->deep - 1] : NULL;
	bool *done = &e->done[d - e->domains->domain];
	if (is_inside(e, d))
		return err_set(e->err, ERR_USAGE, "the pseudo-domain '" STR_FMT "' is in a loop",
			       STR_ARG(d->name));
	if (e->deep == DOMAINS_DEEP)
		return err_set(e->err, ERR_USAGE,
			       "the pseudo-domain '" STR_FMT "' is more than %d deep",
			       STR_ARG(d->name), DOMAINS_DEEP);
	e->path[e->deep++] = d;
	if (!*done && add_list(e, d->members) < 0)
		return -1;
	e->deep--;
	*done = true;
	if (above && d > above)
		return err_set(e->err, ERR_USAGE,
			       "the pseudo-domain '" STR_FMT "' is used by '" STR_FMT
			       "' before it is defined",
			       STR_ARG(d->name), STR_ARG(above->name));
	return 0;
}

static int add_list(struct expanding *e, struct str list)
{
	struct str rest = list, field;
	while (str_cut(&rest, ':', &field) == 0) {
		struct str name = trim_dots(field);
		const struct domain *d = name.n ? domains_find(e->domains, name) : NULL;
		if (name.n && (d ? add_domain(e, d) : add_member(e, name)) < 0)
			return -1;
	}
	return 0;
}

int domains_expand(const struct domains *d, struct str list, size_t most, struct arena *arena,
		   const struct str **ret, uint32_t *ret_n, struct err *err)
{
	struct expanding e = {.domains = d, .arena = arena, .most = most, .err = err};
	e.done = arena_array(arena, d->n, sizeof *e.done);
	if (add_list(&e, list) < 0)
		return -1;
	*ret = e.member;
	*ret_n = (uint32_t)e.n;
	return 0;
}

/* The file */

static void path_of(const char *folder, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/etc/ardomains.cf", folder);
}

static struct domains read_at(const char *path, struct arena *arena, struct buf *warnings)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(DOMAINS_FILE_MOST);
	struct err err;
	int rc = file_slurp_own(path, &text, &err);
	if (rc < 0 && warnings)
		buf_printf(warnings, "not read, our own hold: %s\n", err.msg);
	return domains_parse(rc == 0 ? buf_str(&text) : domains_own(), arena, warnings);
}

struct domains domains_read(const char *folder, struct arena *arena, struct buf *warnings)
{
	char path[PATH_MAX];
	path_of(folder, path);
	return read_at(path, arena, warnings);
}

struct domains_file {
	pthread_mutex_t lock;
	char path[PATH_MAX];
	struct stat seen;
	bool read;
	struct arena arena; /* of the domains */
	struct domains domains;
};

struct domains_file *domains_file_new(const char *folder)
{
	struct domains_file *f = mem_alloc(sizeof *f);
	*f = (struct domains_file){.lock = PTHREAD_MUTEX_INITIALIZER,
				   .arena = ARENA_INIT(DOMAINS_MEMORY_MOST)};
	path_of(folder, f->path);
	return f;
}

void domains_file_free(struct domains_file **pf)
{
	struct domains_file *f = *pf;
	if (!f)
		return;
	arena_free(&f->arena);
	pthread_mutex_destroy(&f->lock);
	mem_free(pf);
}

/* The state of the file is taken first: what changes while it is read counts the next time. */
static void file_refresh(struct domains_file *f)
{
	struct err ignored;
	if (file_changed(f->path, &f->seen, &ignored) == 1 && f->read)
		return;
	arena_free(&f->arena);
	f->domains = read_at(f->path, &f->arena, NULL);
	f->read = true;
}

struct domains domains_file_get(struct domains_file *f, struct arena *arena)
{
	pthread_mutex_lock(&f->lock);
	file_refresh(f);
	const struct domains all = f->domains;
	struct domain *copy = arena_array(arena, all.n, sizeof *copy);
	for (size_t i = 0; i < all.n; i++)
		copy[i] = (struct domain){arena_str(arena, all.domain[i].name),
					  arena_str(arena, all.domain[i].members),
					  arena_str(arena, all.domain[i].text), all.domain[i].line};
	pthread_mutex_unlock(&f->lock);
	return (struct domains){copy, all.n};
}
