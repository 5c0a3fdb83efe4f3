/* The cache of robots.txt: a table in memory, least recently used first out, over a database that
 * all processes share. A site that is unknown or expired is looked up in the database, so a start
 * reads nothing. New results are written many at a time, in commits that a power cut may lose: a
 * lost row costs one more request to a site, and a full disk stops nothing. */
#include "fetch/robots_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "fetch/robots.h"
#include "store/small.h"
#include "url/url.h"

#include <stdio.h>

/* Of a product token, in the database; sites that wait to be written. */
enum { AGENT_MAX = 256, UNKEPT_MOST = 1000 };

struct robots_row {
	char site[URL_SITE_MAX + 1], agent[AGENT_MAX + 1];
	int64_t until_us, got_us, silent_us;
	struct str rules;
};

#define S struct robots_row
static const struct column robots_columns[] = {
	COL("site", S, site),
	COL("agent", S, agent),
	COL("until", S, until_us, .unit = UNIT_TIME),
	COL("got", S, got_us, .unit = UNIT_TIME),
	COL("silent", S, silent_us, .unit = UNIT_TIME),
	COL("rules", S, rules, .most = SMALL_STR_MOST),
};
#undef S

static const struct small_table robots_table = {
	.name = "robots",
	.row = {ROWS(struct robots_row, robots_columns)},
	.key = 2,
	.most = 1000000,
	.loose = true,
	.writer = "every role that fetches",
	.loss = "what is known of robots.txt; the sites are asked again",
};

/* One site. Sites used lately are in front. */
struct site {
	struct link link;
	struct str name;
	struct str compiled; /* .p NULL: no file was ever read */
	int64_t until_us;    /* when to ask again */
	int64_t got_us;      /* when the file was read */
	int64_t silent_us;   /* since when it cannot say; 0: it can */
	bool asked;          /* a fetch is under way */
	struct link waits;
	struct link unkept; /* of the sites to be written */
};

TABLE(sites, struct str, struct site *, hash64, str_eq)

struct robots_cache {
	struct sites sites;
	struct link recent; /* sites, those asked for lately first */
	uint64_t bytes, most;
	char *agent;
	struct small *small; /* NULL: in memory only */
	struct link unkept;  /* sites to be written */
	unsigned nunkept;
};

/* Sites. */

static uint64_t site_cost(const struct site *s)
{
	return sizeof *s + s->name.n + s->compiled.n + 64;
}

static bool is_needed(const struct site *s)
{
	return s->asked || !list_is_empty(&s->waits) || s->unkept.next;
}

static void site_drop(struct robots_cache *c, struct site *s)
{
	sites_remove(&c->sites, s->name);
	list_remove(&s->link);
	c->bytes -= site_cost(s);
	mem_free(&s->compiled.p);
	mem_free(&s->name.p);
	mem_free(&s);
}

/* The site that was asked for last stays. */
static void cache_shrink(struct robots_cache *c)
{
	for (struct link *at = c->recent.prev, *before; c->bytes > c->most && at != c->recent.next;
	     at = before) {
		struct site *s = LIST_OF(struct site, at, link);
		before = at->prev;
		if (!is_needed(s))
			site_drop(c, s);
	}
}

static struct site *site_of(struct robots_cache *c, struct str name, bool make)
{
	struct site **found = sites_get(&c->sites, name), *s;
	if (found) {
		list_remove(&(*found)->link);
		list_prepend(&c->recent, &(*found)->link);
		return *found;
	}
	if (!make)
		return NULL;
	s = mem_alloc(sizeof *s);
	s->name = (struct str){mem_copy(name.p, name.n), name.n};
	list_init(&s->waits);
	*sites_put(&c->sites, s->name) = s;
	list_prepend(&c->recent, &s->link);
	c->bytes += site_cost(s);
	return s;
}

static void set_compiled(struct robots_cache *c, struct site *s, struct str compiled)
{
	c->bytes -= site_cost(s);
	mem_free(&s->compiled.p);
	s->compiled = (struct str){mem_copy(compiled.p, compiled.n), compiled.n};
	c->bytes += site_cost(s);
}

/* The database. */

static void unkept_forget(struct robots_cache *c)
{
	struct site *s;
	while ((s = LIST_FIRST(struct site, &c->unkept, unkept)))
		list_remove(&s->unkept);
	c->nunkept = 0;
}

/* Damage that is met while others have it open too: the next to open it alone mends it. */
static void cache_forgo(struct robots_cache *c)
{
	unkept_forget(c);
	small_close(&c->small);
}

static void row_begin(const struct robots_cache *c, struct str name, struct robots_row *ret)
{
	*ret = (struct robots_row){.rules = STR("")};
	snprintf(ret->site, sizeof ret->site, STR_FMT, STR_ARG(name));
	snprintf(ret->agent, sizeof ret->agent, "%s", c->agent);
}

/* If the table is full, it starts again with this row. */
static int site_write(struct robots_cache *c, const struct site *s, struct err *err)
{
	struct robots_row row;
	row_begin(c, s->name, &row);
	row.until_us = s->until_us;
	row.got_us = s->got_us;
	row.silent_us = s->silent_us;
	if (s->compiled.n)
		row.rules = s->compiled;
	int rc = small_put(c->small, &robots_table, &row, err);
	if (rc == 1)
		rc = small_replace(c->small, &robots_table, &row, 1, err);
	return rc;
}

/* Rules that no row can hold are known until the process ends. */
static void site_keep(struct robots_cache *c, struct site *s)
{
	struct err ignored;
	if (!c->small || s->compiled.n > SMALL_STR_MOST || s->name.n > URL_SITE_MAX)
		return;
	if (!s->unkept.next) {
		list_append(&c->unkept, &s->unkept);
		c->nunkept++;
	}
	if (c->nunkept >= UNKEPT_MOST)
		(void)robots_cache_sync(c, &ignored);
}

static bool row_is_sound(const struct robots_row *row)
{
	struct err ignored;
	return row->rules.n == 0 || robots_check(row->rules, &ignored) == 0;
}

static void site_take(struct robots_cache *c, struct site *s, const struct robots_row *row,
		      int64_t now_us)
{
	/* after a clock was put back the site is asked again, and a file is not kept for longer */
	int64_t until_us = row->until_us > now_us + ROBOTS_KEEP_US ? now_us : row->until_us;
	if (until_us < s->until_us)
		return; /* what we were told ourselves is newer */
	s->until_us = until_us;
	s->got_us = MIN(row->got_us, now_us);
	s->silent_us = MIN(row->silent_us, now_us);
	if (row->rules.n)
		set_compiled(c, s, row->rules);
	cache_shrink(c);
}

/* Before a site is asked, which another process may have done: what is known of it by now, or s. */
static struct site *site_look(struct robots_cache *c, struct site *s, struct str name,
			      int64_t now_us)
{
	struct robots_row row;
	struct err err;
	if (!c->small || name.n > URL_SITE_MAX)
		return s;
	row_begin(c, name, &row);
	int rc = small_get(c->small, &robots_table, &row, &err);
	if (rc < 0 && err.code == ERR_DAMAGED)
		cache_forgo(c);
	if (rc != 0 || MAX(row.got_us, row.until_us) < now_us - ROBOTS_FORGET_US ||
	    !row_is_sound(&row))
		return s;
	s = s ? s : site_of(c, name, true);
	site_take(c, s, &row, now_us);
	return s;
}

int robots_cache_new(struct robots_cache **ret, const struct robots_cache_options *options,
		     struct err *err)
{
	const struct small_table *const tables[] = {&robots_table};
	struct robots_cache *c = mem_alloc(sizeof *c);
	struct err ignored;
	c->most = options->bytes ? options->bytes : 64 << 20;
	list_init(&c->recent);
	list_init(&c->unkept);
	c->agent = str_dup(options->agent);
	if (options->path &&
	    small_open(&c->small, options->path, tables, 1, SMALL_WRITE, err) < 0) {
		(void)robots_cache_free(&c, &ignored);
		return -1;
	}
	*ret = c;
	return 0;
}

int robots_cache_free(struct robots_cache **cp, struct err *err)
{
	struct robots_cache *c = *cp;
	if (!c)
		return 0;
	int rc = robots_cache_sync(c, err);
	LIST_EACH (struct site, s, &c->recent, link) {
		ENSURE(list_is_empty(&s->waits));
		site_drop(c, s);
	}
	sites_free(&c->sites);
	small_close(&c->small);
	mem_free(&c->agent);
	mem_free(cp);
	return rc;
}

bool robots_cache_dirty(const struct robots_cache *c)
{
	return c->nunkept > 0;
}

/* Sites that cannot be written are asked again after the next start. */
int robots_cache_sync(struct robots_cache *c, struct err *err)
{
	if (!c->nunkept)
		return 0;
	int rc = small_begin(c->small, true, err);
	if (rc == 0) {
		LIST_EACH (struct site, s, &c->unkept, unkept)
			rc = rc == 0 ? site_write(c, s, err) : rc;
		rc = small_end(c->small, rc, err);
	}
	unkept_forget(c);
	if (rc < 0 && err->code == ERR_DAMAGED)
		cache_forgo(c);
	return rc;
}

/* Questions. */

static struct robots_answer answer_of(const struct site *s)
{
	bool known = s->compiled.p != NULL;
	return (struct robots_answer){.is_reachable = known,
				      .compiled = known ? s->compiled : robots_disallow_all,
				      .until_us = s->until_us};
}

int robots_cache_ask(struct robots_cache *c, struct str name, int64_t now_us,
		     struct robots_wait *wait, struct robots_answer *ret, bool *ret_first)
{
	struct site *s = site_of(c, name, true);
	if (s->until_us <= now_us && !s->asked)
		s = site_look(c, s, name, now_us);
	if (s->until_us > now_us) {
		*ret = answer_of(s);
		return 0;
	}
	*ret_first = !s->asked;
	s->asked = true;
	list_append(&s->waits, &wait->link);
	return 1;
}

int robots_cache_known(struct robots_cache *c, struct str name, int64_t now_us,
		       struct robots_answer *ret)
{
	struct site *s = site_of(c, name, false);
	if (!s || s->until_us <= now_us)
		s = site_look(c, s, name, now_us);
	if (!s || s->until_us <= now_us)
		return 1;
	*ret = answer_of(s);
	return 0;
}

void robots_cache_cancel(struct robots_wait *wait)
{
	list_remove(&wait->link);
}

/* A callback may ask for other sites, but this one stays: it is still asked for. */
static void site_tell(struct robots_cache *c, struct site *s, int64_t not_now_us)
{
	struct robots_wait *wait;
	while ((wait = LIST_FIRST(struct robots_wait, &s->waits, link))) {
		struct robots_answer answer = answer_of(s);
		answer.not_now_us = not_now_us;
		robots_cache_cancel(wait);
		wait->done(wait->ctx, &answer);
	}
	s->asked = false;
	cache_shrink(c);
}

static void set_rules(struct robots_cache *c, struct site *s, struct str compiled, int64_t now_us)
{
	set_compiled(c, s, compiled);
	s->got_us = now_us;
	s->silent_us = 0;
	s->until_us = now_us + ROBOTS_KEEP_US;
}

static void drop_rules(struct robots_cache *c, struct site *s, int64_t now_us)
{
	c->bytes -= s->compiled.n;
	mem_free(&s->compiled.p);
	s->compiled.n = 0;
	s->got_us = 0;
	s->silent_us = s->silent_us ? s->silent_us : now_us;
}

static void take_file(struct robots_cache *c, struct site *s, struct str body, int64_t now_us)
{
	CLEANUP(buf_free) struct buf compiled = BUF_INIT(ROBOTS_COMPILED_MAX);
	struct err ignored;
	ENSURE(robots_compile(body, str_of(c->agent), &compiled, &ignored) == 0);
	set_rules(c, s, buf_str(&compiled), now_us);
}

static void take_silence(struct robots_cache *c, struct site *s, int64_t retry_us, int64_t now_us)
{
	if (!s->silent_us)
		s->silent_us = now_us;
	if (now_us - s->silent_us >= ROBOTS_FORGET_US) {
		int64_t since_us = s->silent_us; /* so that it stays so until a file comes */
		set_rules(c, s, robots_allow_all, now_us);
		s->silent_us = since_us;
		return;
	}
	s->until_us = now_us + MIN(MAX(retry_us, ROBOTS_RETRY_US), ROBOTS_KEEP_US);
}

void robots_cache_told(struct robots_cache *c, struct str name, const struct robots_file *file,
		       int64_t now_us)
{
	struct site *s = site_of(c, name, true);
	if (file->outcome == OUTCOME_OK)
		take_file(c, s, file->body, now_us);
	else if (file->outcome == OUTCOME_PERMANENT || file->too_many_redirects)
		set_rules(c, s, robots_allow_all, now_us);
	else if (file->outcome != OUTCOME_CANCELLED)
		take_silence(c, s, file->retry_after_us, now_us);
	if (file->outcome != OUTCOME_CANCELLED)
		site_keep(c, s);
	site_tell(c, s, file->not_now_us);
}

int robots_cache_put(struct robots_cache *c, struct str name, bool is_reachable,
		     struct str compiled, int64_t until_us, int64_t now_us, struct err *err)
{
	if (name.n == 0 || name.n > URL_SITE_MAX || compiled.n > ROBOTS_COMPILED_MAX)
		return err_set(err, ERR_DAMAGED, "rules of a site: %zu bytes of name, %zu of rules",
			       name.n, compiled.n);
	if ((is_reachable || compiled.n) && robots_check(compiled, err) < 0)
		return err_in(err, "rules of " STR_FMT, STR_ARG(name));
	struct site *s = site_of(c, name, true);
	if (is_reachable)
		set_rules(c, s, compiled, now_us);
	else
		drop_rules(c, s, now_us);
	s->until_us = MIN(until_us, now_us + ROBOTS_KEEP_US);
	if (s->until_us > now_us)
		site_tell(c, s, 0);
	else
		cache_shrink(c);
	return 0;
}
