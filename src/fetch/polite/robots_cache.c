/* The robots.txt of sites: a table in memory, least recently used first out, and a record file that
 * one process writes and the others read along. Losing a record costs one more question to a site,
 * so records are synced now and then, and a disk that is full stops nothing. */
#include "fetch/robots_cache.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "disk/record.h"
#include "fetch/robots.h"
#include "url/url.h"

#include <stdlib.h>

/* Of a product token, in the file. */
enum { AGENT_MAX = 256 };

static const struct record_kind kind = {"GARNERRB", 1,
					ROBOTS_COMPILED_MAX + URL_SITE_MAX + AGENT_MAX + 64};

/* What is known of one site. Those that were asked for lately are in front. */
struct site {
	struct link link;
	struct str name;
	struct str compiled; /* .p NULL: no file was ever read */
	int64_t until_us;    /* when to ask again */
	int64_t got_us;      /* when the file was read */
	int64_t silent_us;   /* since when it cannot say; 0: it can */
	bool asked;          /* a fetch is under way */
	struct link waits;
};

TABLE(sites, struct str, struct site *, hash64, str_eq)

struct robots_cache {
	struct sites sites;
	struct link recent; /* sites, those asked for lately first */
	uint64_t bytes, most;
	char *agent;
	char *path;                 /* NULL: in memory only */
	struct record_writer *file; /* NULL: another process writes it */
	struct record_group group;
	struct record_reader *others; /* what that process writes; NULL: nothing to read yet */
	uint64_t read;                /* bytes of records so far */
	int64_t looked_us;            /* when it was last looked for */
	bool dirty;
	struct err lost; /* see robots_cache_lost() */
};

/* Sites. */

static uint64_t site_cost(const struct site *s)
{
	return sizeof *s + s->name.n + s->compiled.n + 64;
}

static bool is_waited_for(const struct site *s)
{
	return s->asked || !list_is_empty(&s->waits);
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

static void cache_shrink(struct robots_cache *c)
{
	for (struct link *at = c->recent.prev, *before; c->bytes > c->most && at != &c->recent;
	     at = before) {
		struct site *s = LIST_OF(struct site, at, link);
		before = at->prev;
		if (!is_waited_for(s))
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

/* The file. */

static void put_site(const struct site *s, struct str agent, struct buf *out)
{
	put_text(out, s->name);
	put_text(out, agent);
	put_u64le(out, (uint64_t)s->until_us);
	put_u64le(out, (uint64_t)s->got_us);
	put_u64le(out, (uint64_t)s->silent_us);
	put_text(out, s->compiled);
}

/* name, compiled and the agent are slices of the payload. */
static bool get_site(struct str payload, struct site *ret, struct str *ret_agent)
{
	struct reader r = reader_of(payload);
	struct err ignored;
	*ret = (struct site){0};
	ret->name = reader_text(&r, URL_SITE_MAX);
	*ret_agent = reader_text(&r, AGENT_MAX);
	ret->until_us = (int64_t)reader_u64le(&r);
	ret->got_us = (int64_t)reader_u64le(&r);
	ret->silent_us = (int64_t)reader_u64le(&r);
	ret->compiled = reader_text(&r, ROBOTS_COMPILED_MAX);
	return !r.bad && reader_left(&r) == 0 && ret->name.n &&
	       (ret->compiled.n == 0 || robots_check(ret->compiled, &ignored) == 0);
}

static int site_append(struct robots_cache *c, const struct site *s, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(kind.most);
	put_site(s, str_of(c->agent), &out);
	ENSURE(!out.over);
	c->dirty = true;
	return record_append(c->file, buf_str(&out), &c->group, NULL, err);
}

/* Losing a record costs a question to the site, so a full disk is no reason to stop. */
static void site_keep(struct robots_cache *c, const struct site *s)
{
	struct err ignored;
	if (c->file && site_append(c, s, &ignored) < 0)
		c->group = (struct record_group){0};
}

static void load_site(struct robots_cache *c, const struct site *from, int64_t now_us)
{
	struct site *s;
	int64_t newest_us = MAX(from->got_us, from->until_us);
	if (newest_us < now_us - ROBOTS_FORGET_US)
		return;
	s = site_of(c, from->name, true);
	/* a clock that was put back must not keep a file for longer than a day */
	int64_t until_us = MIN(from->until_us, now_us + ROBOTS_KEEP_US);
	if (until_us < s->until_us)
		return; /* what we were told ourselves is newer */
	s->until_us = until_us;
	s->got_us = MAX(MIN(from->got_us, now_us), 0);
	s->silent_us = MAX(MIN(from->silent_us, now_us), 0);
	if (from->compiled.n)
		set_compiled(c, s, from->compiled);
	cache_shrink(c);
}

/* What stands in the file and was not read before. */
static int cache_load(struct robots_cache *c, int64_t now_us, struct err *err)
{
	struct record record;
	struct site s;
	struct str agent;
	int rc = c->others ? 0 : record_reader_open(&c->others, c->path, &kind, err);
	while (rc == 0 && (rc = record_next(c->others, &record, err)) == 0) {
		c->read += record.payload.n;
		/* rules of other robots do not matter to us */
		if (get_site(record.payload, &s, &agent) && str_is(agent, c->agent))
			load_site(c, &s, now_us);
	}
	return rc < 0 ? -1 : 0;
}

/* Writes the file anew when most of it is of the past. What a crash loses here is asked for again.
 */
static int cache_rewrite(struct robots_cache *c, struct err *err)
{
	enum { SLACK = 1 << 20 };
	if (c->read < 2 * c->bytes + SLACK)
		return 0;
	if (record_truncate(c->file, RECORD_HEADER, err) < 0)
		return -1;
	for (struct link *at = c->recent.prev; at != &c->recent; at = at->prev)
		if (site_append(c, LIST_OF(struct site, at, link), err) < 0)
			return -1;
	return robots_cache_sync(c, err);
}

/* It is read from the beginning next. */
static void forget_place(struct robots_cache *c)
{
	record_reader_free(&c->others);
	c->read = 0;
}

/* It is a cache: what is damaged is asked for again. err: what is. */
static int begin_anew(struct robots_cache *c, struct err *err)
{
	c->lost = *err;
	record_drop(&c->file);
	if (file_remove(c->path, err) < 0)
		return -1;
	return record_open(&c->file, c->path, &kind, 0644, NULL, err);
}

/* Reads the file, and writes it from now on if nobody else does. 1: somebody does. */
static int open_file(struct robots_cache *c, int64_t now_us, struct err *err)
{
	int rc = record_open(&c->file, c->path, &kind, 0644, NULL, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		rc = begin_anew(c, err);
	bool is_busy = rc < 0 && err->code == ERR_BUSY;
	c->looked_us = now_us;
	if (rc < 0 && !is_busy)
		return -1;
	if (!is_busy)
		forget_place(c);
	rc = cache_load(c, now_us, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	/* a file that was cut meanwhile looks damaged, too */
	if (rc < 0 || !is_busy)
		record_reader_free(&c->others);
	if (is_busy)
		return 1;
	if (rc < 0 && begin_anew(c, err) < 0)
		return -1;
	return cache_rewrite(c, err);
}

/* Before a site is asked: another process may have asked it. false: nothing can have changed. */
static bool look_again(struct robots_cache *c, int64_t now_us)
{
	struct err ignored;
	if (!c->path || c->file || llabs(now_us - c->looked_us) < ROBOTS_LOOK_US)
		return false;
	if (open_file(c, now_us, &ignored) < 0) {
		record_drop(&c->file);
		forget_place(c);
	}
	return true;
}

int robots_cache_new(struct robots_cache **ret, const struct robots_cache_options *options,
		     bool *ret_busy, struct err *err)
{
	struct robots_cache *c = mem_alloc(sizeof *c);
	struct err ignored;
	int rc = 0;
	c->most = options->bytes ? options->bytes : 64 << 20;
	list_init(&c->recent);
	c->agent = mem_alloc(options->agent.n + 1);
	memcpy(c->agent, options->agent.p, options->agent.n);
	if (options->path) {
		c->path = mem_text(options->path);
		rc = open_file(c, options->now_us, err);
	}
	if (rc < 0) {
		(void)robots_cache_free(&c, &ignored);
		return -1;
	}
	if (ret_busy)
		*ret_busy = rc == 1;
	*ret = c;
	return 0;
}

int robots_cache_free(struct robots_cache **cp, struct err *err)
{
	struct robots_cache *c = *cp;
	int rc = 0;
	if (!c)
		return 0;
	if (c->file)
		rc = record_close(&c->file, err);
	LIST_EACH (struct site, s, &c->recent, link) {
		ENSURE(list_is_empty(&s->waits));
		site_drop(c, s);
	}
	sites_free(&c->sites);
	record_reader_free(&c->others);
	mem_free(&c->path);
	mem_free(&c->agent);
	mem_free(cp);
	return rc;
}

const struct err *robots_cache_lost(const struct robots_cache *c)
{
	return c->lost.code == ERR_NONE ? NULL : &c->lost;
}

bool robots_cache_dirty(const struct robots_cache *c)
{
	return c->dirty;
}

int robots_cache_sync(struct robots_cache *c, struct err *err)
{
	if (!c->dirty)
		return 0;
	c->dirty = false;
	struct record_group group = c->group;
	c->group = (struct record_group){0};
	return record_sync(c->file, &group, err);
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
	if (s->until_us <= now_us && !s->asked && look_again(c, now_us))
		s = site_of(c, name, true); /* it may have been dropped for others */
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
	bool is_fresh = s && s->until_us > now_us;
	if (!is_fresh && look_again(c, now_us)) {
		s = site_of(c, name, false);
		is_fresh = s && s->until_us > now_us;
	}
	if (is_fresh)
		*ret = answer_of(s);
	return is_fresh ? 0 : 1;
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

/* The format. */

static int show_site(struct str payload, struct buf *out, struct err *err)
{
	struct site s;
	struct str agent;
	if (!get_site(payload, &s, &agent))
		return err_set(err, ERR_DAMAGED, "not a site: %zu bytes", payload.n);
	buf_printf(out, STR_FMT " for " STR_FMT " until ", STR_ARG(s.name), STR_ARG(agent));
	time_print(out, s.until_us, 0);
	if (s.compiled.n)
		buf_printf(out, ", %zu bytes of rules", s.compiled.n);
	if (s.silent_us) {
		buf_add_text(out, ", cannot be asked since ");
		time_print(out, s.silent_us, 0);
	}
	return 0;
}

const struct format robots_format = {
	.name = "robots",
	.file = "run/robots",
	.magic = "GARNERRB",
	.version = 1,
	.help = "what is known of the robots.txt of sites",
	.remedy = "the next start asks the sites again",
	.records = &kind,
	.show = show_site,
};
