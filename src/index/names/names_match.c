/* What a pattern matches, and which limits a file keeps.
 *
 * A path is "dir/name", in the root the name alone. A part without a slash is in a path if it is in
 * the directory or in the name. One with slashes is in the directory, or it is astride: the
 * directory ends with what comes before its last slash and the name begins with what comes after
 * it. So each directory has to be looked at once, and each name once, and not each path. */
#include "index/names/names_exec.h"

#include "base/clock.h"

#include <inttypes.h>

enum {
	/* what is known of a directory */
	DIR_KNOWN = 1,
	DIR_COMPONENT = 2, /* one of its parts is one of the components */
	DIR_HAS = 4,       /* the pattern is in it */
	DIR_HEAD = 8,      /* it is, or ends with, what comes before the last slash */
};

/* Time */

void names_clock_begin(struct names_clock *c, const struct names_query *q)
{
	*c = (struct names_clock){.stop = q->stop, .stop_ctx = q->stop_ctx};
	if (q->budget_us > 0)
		c->end_us = clock_thread_us() + MIN(q->budget_us, INT64_MAX / 2);
}

bool names_clock_look(struct names_clock *c)
{
	c->work = 0;
	if (!c->late)
		c->late = (c->end_us && clock_thread_us() >= c->end_us) ||
			  (c->stop && c->stop(c->stop_ctx));
	return c->late;
}

bool names_clock_late(void *clock)
{
	return names_clock_look(clock);
}

/* Patterns */

static struct str fold_into(struct str text, struct arena *scratch)
{
	CLEANUP(buf_free) struct buf folded = BUF_INIT(SIZE_MAX / 2);
	names_fold(text, &folded);
	return arena_str(scratch, buf_str(&folded));
}

static bool goes_on(char c)
{
	return (c & 0xc0) == 0x80;
}

/* The part of a text whose characters are the same ones wherever it stands: bytes at its beginning
 * may be the rest of a character, bytes at its end the beginning of one, which folds to another. */
static struct str whole_chars(struct str s)
{
	while (s.n && goes_on(s.p[0]))
		s = str_from(s, 1);
	size_t last = s.n;
	while (last > 0 && s.n - last < 3 && goes_on(s.p[last - 1]))
		last--;
	if (last > 0 && (unsigned char)s.p[last - 1] >= 0xc0 &&
	    str_utf8_char(str_from(s, last - 1)) != s.n - (last - 1))
		s.n = last - 1;
	return s;
}

static void split_path(struct names_match *m)
{
	size_t at = str_after_last(m->text, '/');
	m->head = at ? str_head(m->text, at - 1) : (struct str){0};
	m->tail = str_from(m->text, at);
}

static int compile_rx(struct names_match *m, struct str pattern, struct names_clock *clock,
		      size_t *ret_at, struct err *err)
{
	if (rx_compile_name(&m->rx, pattern, ret_at, err) < 0)
		return -1;
	m->run = rx_run_new(m->rx);
	rx_run_late(m->run, names_clock_late, clock);
	return 0;
}

static int open_ed(struct names_match *m, struct str pattern, struct arena *scratch,
		   struct names_clock *clock, size_t *ret_at, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SIZE_MAX / 2);
	enum names_ed kind;
	size_t ignored;
	if (names_ed(pattern, &out, &kind, ret_at, err) < 0)
		return -1;
	if (kind == NAMES_ED_NOTHING)
		m->how = NAMES_HOW_NOTHING;
	if (kind == NAMES_ED_TEXT) {
		m->how = NAMES_HOW_SUBCASE;
		m->text = arena_str(scratch, buf_str(&out));
	}
	return kind == NAMES_ED_RX ? compile_rx(m, buf_str(&out), clock, &ignored, err) : 0;
}

int names_match_open(struct names_match *m, const struct names_query *q, bool exact,
		     struct arena *scratch, struct names_clock *clock, size_t *ret_at,
		     struct err *err)
{
	static const enum names_how hows[NAMES_TYPES] = {
		[NAMES_EXACT] = NAMES_HOW_EXACT,     [NAMES_SUB] = NAMES_HOW_SUB,
		[NAMES_SUBCASE] = NAMES_HOW_SUBCASE, [NAMES_REGEX] = NAMES_HOW_RX,
		[NAMES_EXACT_SUB] = NAMES_HOW_SUB,   [NAMES_EXACT_SUBCASE] = NAMES_HOW_SUBCASE,
		[NAMES_EXACT_REGEX] = NAMES_HOW_RX,
	};
	size_t ignored;
	*m = (struct names_match){.how = exact ? NAMES_HOW_EXACT : hows[q->type],
				  .path = q->path,
				  .text = q->pattern.n ? q->pattern : STR(""),
				  .part = STR(""),
				  .fold = BUF_INIT(SIZE_MAX / 2),
				  .whole = BUF_INIT(SIZE_MAX / 2)};
	if (m->how == NAMES_HOW_RX && q->syntax == NAMES_ED) {
		if (open_ed(m, m->text, scratch, clock, ret_at ? ret_at : &ignored, err) < 0)
			return -1;
	} else if (m->how == NAMES_HOW_RX) {
		if (compile_rx(m, m->text, clock, ret_at ? ret_at : &ignored, err) < 0)
			return -1;
	}
	if (m->how == NAMES_HOW_SUB)
		m->text = fold_into(m->text, scratch);
	split_path(m);
	if (m->how == NAMES_HOW_EXACT)
		m->part = fold_into(m->path ? m->tail : m->text, scratch);
	else if (m->how == NAMES_HOW_SUBCASE)
		m->part = fold_into(whole_chars(m->text), scratch);
	else if (m->how == NAMES_HOW_SUB)
		m->part = m->text;
	return 0;
}

void names_match_close(struct names_match *m)
{
	rx_run_free(&m->run);
	rx_free(&m->rx);
	buf_free(&m->fold);
	buf_free(&m->whole);
}

static bool text_has(struct str text, struct str part)
{
	return part.n == 0 || str_find(text, part) < text.n;
}

/* As the pattern is compared with it. */
static struct str text_compared(struct names_match *m, struct str text)
{
	if (m->how != NAMES_HOW_SUB)
		return text;
	names_fold(text, &m->fold);
	return buf_str(&m->fold);
}

bool names_match_name(struct names_match *m, struct str name)
{
	switch (m->how) {
	case NAMES_HOW_EXACT:
		return str_eq(name, m->text);
	case NAMES_HOW_SUB:
	case NAMES_HOW_SUBCASE:
		return text_has(text_compared(m, name), m->text);
	case NAMES_HOW_RX:
		return rx_matches(m->run, name);
	default:
		return false;
	}
}

static uint8_t match_dir(struct names_match *m, struct str dir)
{
	uint8_t flags = 0;
	if (m->how == NAMES_HOW_EXACT)
		return m->head.p ? (str_eq(dir, m->head) && dir.n ? DIR_HEAD : 0)
				 : (dir.n == 0 ? DIR_HEAD : 0);
	if (m->how != NAMES_HOW_SUB && m->how != NAMES_HOW_SUBCASE)
		return 0;
	struct str text = text_compared(m, dir);
	if (text_has(text, m->text))
		flags |= DIR_HAS;
	if (m->head.p && text.n && str_ends(text, m->head))
		flags |= DIR_HEAD;
	return flags;
}

/* Limits */

static bool host_is_below(struct str host, struct str domain)
{
	if (str_starts(domain, STR(".")))
		domain = str_from(domain, 1);
	if (host.n <= domain.n || domain.n == 0)
		return str_eq_nocase(host, domain);
	return host.p[host.n - domain.n - 1] == '.' &&
	       str_eq_nocase(str_from(host, host.n - domain.n), domain);
}

static bool site_fits(const struct names_query *q, const struct names_site *site)
{
	bool named = q->sites == 0, below = q->domains == 0;
	for (uint32_t i = 0; i < q->sites && !named; i++)
		named = str_eq(q->site[i], site->key) || str_eq_nocase(q->site[i], site->host);
	for (uint32_t i = 0; i < q->domains && !below; i++)
		below = host_is_below(site->host, q->domain[i]);
	return named && below;
}

int names_limit_open(struct names_limit *l, const struct names_query *q, struct names_reader *r,
		     struct arena *plan, struct arena *scratch, struct err *err)
{
	*l = (struct names_limit){
		.q = q, .r = r, .scratch = scratch, .path = BUF_INIT(SIZE_MAX / 2)};
	if (q->sites > NAMES_LIST_MOST || q->domains > NAMES_LIST_MOST ||
	    q->components > NAMES_LIST_MOST)
		return err_set(err, ERR_USAGE,
			       "at most %d sites, domains and components can limit a query",
			       NAMES_LIST_MOST);
	l->sites = q->sites || q->domains;
	l->data = (q->kinds && q->kinds != (1u << NAMES_KINDS) - 1) || q->has_size_min ||
		  q->has_size_max || q->has_time_min || q->has_time_max;
	l->dirs = q->components || q->path;
	if (l->sites) {
		l->site = arena_array(plan, r->sites + 1, sizeof *l->site);
		for (size_t i = 0; i < r->sites; i++)
			l->site[i] = site_fits(q, &r->site[i]);
	}
	if (l->dirs)
		l->dir = arena_array(plan, r->sites + 1, sizeof(uint8_t *));
	return 0;
}

void names_limit_close(struct names_limit *l)
{
	for (size_t i = 0; l->dir && i < l->r->sites; i++)
		mem_free(&l->dir[i]);
	buf_free(&l->path);
}

static bool is_component(const struct names_query *q, struct str s)
{
	for (uint32_t i = 0; i < q->components; i++)
		if (str_eq_nocase(q->component[i], s))
			return true;
	return false;
}

struct names_facts names_limit_name(struct names_limit *l, struct str name)
{
	struct names_match *m = l->m;
	struct names_facts about = {.component = is_component(l->q, name)};
	if (!l->q->path)
		return about;
	if (m->how == NAMES_HOW_EXACT) {
		about.path_tail = str_eq(name, m->tail);
	} else if (m->how == NAMES_HOW_SUB || m->how == NAMES_HOW_SUBCASE) {
		struct str text = text_compared(m, name);
		about.path_has = text_has(text, m->text);
		about.path_tail = m->head.p && str_starts(text, m->tail);
	}
	return about;
}

/* What the index has and the parts have not is damage. */

static int no_such_dir(const struct names_reader *r, uint32_t site, uint64_t number,
		       struct err *err)
{
	return err_set(err, ERR_DAMAGED, STR_FMT ": a file is in directory %" PRIu64 " of %" PRIu64,
		       STR_ARG(r->site[site].key), number, names_parts_dirs(r->parts[site]));
}

/* What is known of a directory; looked at when it is first met. */
static int dir_flags(struct names_limit *l, uint32_t site, uint64_t number, uint8_t *ret,
		     struct err *err)
{
	uint64_t dirs = names_parts_dirs(l->r->parts[site]);
	if (number >= dirs)
		return no_such_dir(l->r, site, number, err);
	if (!l->dir[site])
		l->dir[site] = mem_array(dirs, 1);
	uint8_t *flags = &l->dir[site][number];
	if (!*flags) {
		struct arena_mark mark = arena_mark(l->scratch);
		struct str dir, part, rest;
		if (names_parts_dir(l->r->parts[site], number, l->scratch, &dir, err) < 0)
			return -1;
		*flags = DIR_KNOWN;
		if (l->q->path)
			*flags |= match_dir(l->m, dir);
		rest = dir.n ? dir : (struct str){0};
		while (l->q->components && str_cut(&rest, '/', &part) == 0)
			if (is_component(l->q, part))
				*flags |= DIR_COMPONENT;
		arena_reset(l->scratch, mark);
	}
	*ret = *flags;
	return 0;
}

/* The whole path, for an expression. */
static int path_matches(struct names_limit *l, uint32_t site, uint64_t number, struct str name,
			struct err *err)
{
	struct arena_mark mark = arena_mark(l->scratch);
	struct str dir;
	if (names_parts_dir(l->r->parts[site], number, l->scratch, &dir, err) < 0)
		return -1;
	buf_clear(&l->path);
	buf_add_str(&l->path, dir);
	if (dir.n)
		buf_add_byte(&l->path, '/');
	buf_add_str(&l->path, name);
	arena_reset(l->scratch, mark);
	return rx_matches(l->m->run, buf_str(&l->path)) ? 0 : 1;
}

static bool data_fits(const struct names_query *q, const struct names_entry *e)
{
	if (q->kinds && !(q->kinds >> e->kind & 1))
		return false;
	if ((q->has_size_min || q->has_size_max) && e->size < 0)
		return false;
	if ((q->has_time_min || q->has_time_max) && e->time_s == -1)
		return false;
	return (!q->has_size_min || e->size >= q->size_min) &&
	       (!q->has_size_max || e->size <= q->size_max) &&
	       (!q->has_time_min || e->time_s >= q->time_min) &&
	       (!q->has_time_max || e->time_s <= q->time_max);
}

int names_limit_file(struct names_limit *l, uint32_t site, uint64_t line, struct str name,
		     struct names_facts about, int64_t *ret_size, struct err *err)
{
	struct names_entry e;
	uint64_t number;
	uint8_t flags = 0;
	bool rx = l->q->path && l->m->how == NAMES_HOW_RX;
	bool dir = (l->q->components && !about.component) || (l->q->path && !about.path_has);
	if (!l->data && !dir && !ret_size)
		return 0;
	if (names_parts_data(l->r->parts[site], line, &e, &number, err) < 0)
		return -1;
	if (ret_size)
		*ret_size = e.size;
	if (!data_fits(l->q, &e))
		return 1;
	if (!dir)
		return 0;
	if (dir_flags(l, site, number, &flags, err) < 0)
		return -1;
	if (l->q->components && !about.component && !(flags & DIR_COMPONENT))
		return 1;
	if (!l->q->path || about.path_has)
		return 0;
	if (rx)
		return path_matches(l, site, number, name, err);
	return flags & DIR_HAS || (flags & DIR_HEAD && about.path_tail) ? 0 : 1;
}
