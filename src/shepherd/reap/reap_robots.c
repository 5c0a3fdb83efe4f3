/* robots.txt: asked for once for each site, before its first page. The plan's entry for it stands
 * ahead of the pages in the queue; a page that comes before it, or without it, does as well. The
 * job that asks has the place of whichever it is, which waits where it stands. Redirects are
 * further jobs; they have no place in a queue, since that of another server may be held up by pages
 * that wait for this very file: politeness alone says when they go. */
#include "shepherd/reap/reap_inner.h"

#include "base/clock.h"
#include "fetch/robots.h"

#include <stdio.h>
#include <string.h>

enum { ROBOTS_REDIRECTS = 5, ROBOTS_BODY = ROBOTS_FILE_MAX + 4, ROBOTS_SITEMAPS = 100 };

#define ROBOTS_PATH "/robots.txt"
/* Longer, and the pages are better put back. */
#define ROBOTS_WAIT_US (10 * US_PER_S)
/* Where a reaper or a resolver has no room. */
#define ROBOTS_AGAIN_US (US_PER_S / 10)

static struct str site_text(const struct url *url, char room[URL_SITE_MAX])
{
	return url_site_print(url_site(url), room, URL_SITE_MAX);
}

/* The file as its bucket has it, with the time at which it came. 1: there is none, or it is not of
 * this site. */
static int robots_load(struct reap *r, const struct reap_site *site, struct arena *arena,
		       struct buf *ret, int64_t *ret_s)
{
	struct footprint fp = {site->fp, footprint_path(STR(ROBOTS_PATH))}, of;
	struct attrs header, body;
	struct err err;
	uint64_t then_s;
	if (site->robots_where >= BUCKET_SPECIAL ||
	    bucket_get(r->buckets, r->packer, (uint32_t)site->robots_where, arena, &header, &body,
		       &err) != 0 ||
	    !footprint_parse(attrs_get(&header, 'O'), &of) || footprint_cmp(of, fp) != 0 ||
	    !str_u64(attrs_get(&header, 'D'), &then_s) || then_s > (uint64_t)INT64_MAX / US_PER_S)
		return 1;
	for (size_t i = 0; i < body.n; i++)
		if (body.a[i].name == 'X')
			buf_add_str(ret, body.a[i].value);
	*ret_s = (int64_t)then_s;
	return 0;
}

/* Puts the rules of the bucket back into the cache, which has lost them, with their old time. */
static void robots_tell_kept(struct reap *r, struct reap_site *site, struct str name,
			     int64_t now_us)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(BUCKET_ARENA);
	CLEANUP(buf_free) struct buf body = BUF_INIT(ROBOTS_BODY);
	int64_t then_s;
	if (site->robots_where != ITEM_NOWHERE &&
	    robots_load(r, site, &arena, &body, &then_s) == 0 && then_s <= now_us / US_PER_S) {
		const struct robots_file file = {.outcome = OUTCOME_OK, .body = buf_str(&body)};
		robots_cache_told(r->kit.robots, name, &file, then_s * US_PER_S);
	}
	site->robots_where = ITEM_NOWHERE; /* once is enough */
}

static void robots_again(void *job);
static void robots_resolved(void *job, const struct dns_result *result);
static void robots_submit(struct reap_job *job);

/* The job for a site's file; job->url is the one that is asked next. */
static void robots_ask(struct reap *r, struct reap_site *site, const struct url *url)
{
	char room[URL_SITE_MAX];
	struct reap_job *job = reap_job_new(r);
	struct str name = site_text(url, room);
	job->what = REAPER_ROBOTS;
	job->entry.fp = (struct footprint){site->fp, footprint_path(STR(ROBOTS_PATH))};
	job->site = site;
	job->site_name = arena_str(&job->arena, name);
	job->url = str_of(arena_printf(&job->arena, STR_FMT ROBOTS_PATH, STR_ARG(name)));
	job->addr = site->addr;
	job->asked_us = -1;
	job->again = (struct loop_timer){.fn = robots_again, .ctx = job};
	job->dns = (struct dns_wait){.done = robots_resolved, .ctx = job};
	site->asks_robots = true;
	robots_submit(job);
}

static void robots_submit(struct reap_job *job)
{
	struct reap *r = job->reap;
	char room[URL_MAX];
	struct url url;
	struct err err;
	struct robot_limits limits = r->o.robot->robot.limits;
	ENSURE(url_parse(job->url, NULL, room, sizeof room, &url) == 0);
	limits.body = ROBOTS_BODY;
	struct reaper_job out = {
		.what = REAPER_ROBOTS,
		.url = job->url,
		.fp = footprint_of(&url),
		.addr = job->addr,
		.now_s = clock_wall_us() / US_PER_S,
		.limits = limits,
		.rule = reap_rule_of(r, url_site(&url), footprint_site(url_site(&url))),
		.keep = true,
		.patience_us = r->crawl->cycle_us,
	};
	int rc = reap_submit(job, &out, NULL, &err);
	if (rc < 0)
		reap_fail(r, &err);
	else if (rc > 0)
		loop_timer_in(r->o.loop, &job->again, ROBOTS_AGAIN_US);
}

/* The bucket of a site's file. That of the answer where the site itself gave it; what came by
 * redirects is packed again, because a bucket has the URL of its item. */
static int robots_keep(struct reap_job *job, const struct reaper_answer *a, uint64_t *ret_where,
		       struct err *err)
{
	struct reap *r = job->reap;
	struct arena *arena = &job->arena;
	struct attrs header = {0}, body = {0};
	uint32_t oid;
	int rc;
	if (job->hops == 0) {
		rc = bucket_append(r->buckets, a->bucket_type, a->bucket, &oid, err);
	} else {
		attrs_add(&header, arena, 'O', crawl_digits(job->entry.fp, arena));
		attrs_add(
			&header, arena, 'U',
			str_of(arena_printf(arena, STR_FMT ROBOTS_PATH, STR_ARG(job->site_name))));
		attrs_add(&header, arena, 'D', crawl_number(arena, a->downloaded_s));
		attrs_add(&header, arena, 'J', crawl_number(arena, a->changed_s));
		reaper_raw_body(a->type, a->body, arena, &body);
		rc = bucket_put(r->buckets, r->packer, &header, &body, &oid, err);
	}
	*ret_where = rc == 0 ? oid : ITEM_NOWHERE;
	return rc;
}

/* The item of the file. Followers hear nothing of it. */
static void robots_journal(struct reap_job *job, const struct reaper_answer *a, uint16_t code)
{
	struct reap *r = job->reap;
	struct err err;
	char text[CODE_TEXT];
	uint64_t where = ITEM_NOWHERE;
	if (code == CODE_OK && robots_keep(job, a, &where, &err) < 0) {
		reap_fail(r, &err);
		return;
	}
	struct journal_entry e = {
		.fp = job->entry.fp,
		.time_us = clock_wall_us(),
		.op = CHANGE_NONE,
		.type = code == CODE_OK         ? ITEM_GATHERED
			: code < CODE_PERMANENT ? ITEM_TEMPORARY
						: ITEM_ERROR,
		.code = code,
		.flags = ITEM_ROBOTS,
		.where = where,
		.download_ms = a->download_ms,
		.url = str_of(
			arena_printf(&job->arena, STR_FMT ROBOTS_PATH, STR_ARG(job->site_name))),
		.reason = code == CODE_OK ? STR("") : str_of(code_text(code, text)),
	};
	if (code == CODE_OK)
		memcpy(e.md5, a->md5, sizeof e.md5);
	if (state_journal(r->state, &e, &err) < 0)
		reap_fail(r, &err);
}

/* The sitemaps that the file names become jobs. */
static void robots_sitemaps(struct reap_job *job)
{
	struct reap *r = job->reap;
	struct robots_answer answer;
	struct reaper_link link;
	struct str url;
	CLEANUP(buf_free) struct buf rules = BUF_INIT(ROBOTS_COMPILED_MAX);
	if (robots_cache_known(r->kit.robots, job->site_name, clock_wall_us(), &answer) != 0)
		return;
	buf_add_str(&rules, answer.compiled);
	struct robots_sitemaps it = robots_sitemaps_of(buf_str(&rules));
	for (int i = 0; i < ROBOTS_SITEMAPS && robots_sitemap_next(&it, &url) == 0; i++)
		if (reaper_link_of(url, &job->arena, &link))
			reap_push_sitemap(r, link.url, job->site_name, 0);
}

/* What the cache is told. A refusal for good says that there is no file, whatever else its code
 * means for a page (413, 431). */
static enum outcome robots_outcome(const struct reaper_answer *a, uint16_t code)
{
	bool refused = a->status / 100 == 4 && code_class(code) == CODE_CLASS_PERMANENT;
	return refused ? OUTCOME_PERMANENT : code_outcome(code);
}

/* The file is known, or why not: the pages of the site go on. */
static void robots_end(struct reap_job *job, const struct reaper_answer *a, uint16_t code)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	int64_t now_us = loop_now_us(r->o.loop), until_us = now_us;
	const struct robots_file file = {
		.outcome = robots_outcome(a, code),
		.too_many_redirects = code == CODE_NOWHERE,
		.body = a->body,
		.retry_after_us = a->retry_after_us,
	};
	/* as of when it came, which its bucket has too */
	robots_cache_told(r->kit.robots, job->site_name, &file,
			  a->ended_s ? a->ended_s * US_PER_S : clock_wall_us());
	robots_journal(job, a, code);
	if (code == CODE_OK)
		robots_sitemaps(job);
	if (job->asked_us >= 0)
		until_us = MAX(now_us, job->asked_us + reap_rule(r, site->key).delay_us);
	site->asks_robots = false;
	reap_job_free(job);
	reap_unpark(r, site, until_us);
}

static void robots_no_name(struct reap_job *job)
{
	const struct reaper_answer none = {.ago_us = -1};
	robots_end(job, &none, CODE_NO_ANSWER_DNS);
}

static void robots_resolved(void *ctx, const struct dns_result *result)
{
	struct reap_job *job = ctx;
	char room[URL_MAX];
	struct url url;
	job->reap->asking--;
	reap_names_go_on(job->reap);
	if (result->outcome != DNS_FOUND ||
	    url_parse(job->url, NULL, room, sizeof room, &url) != 0) {
		robots_no_name(job);
		return;
	}
	job->addr = *robot_choose(result->addr, result->n, url.host);
	job->addr.port = url.port;
	robots_submit(job);
}

/* The next try: the name of the next hop's server is asked for before it is. */
static void robots_again(void *ctx)
{
	struct reap_job *job = ctx;
	struct reap *r = job->reap;
	struct dns_result result;
	char room[URL_MAX];
	struct url url;
	if (r->by_proxy || job->addr.family) {
		robots_submit(job);
		return;
	}
	if (r->asking >= (uint64_t)r->o.conf->max_resolvers) {
		loop_timer_in(r->o.loop, &job->again, ROBOTS_AGAIN_US);
		return;
	}
	ENSURE(url_parse(job->url, NULL, room, sizeof room, &url) == 0);
	r->asking++;
	if (dns_lookup(r->kit.dns, url.host, DNS_ANY, &job->dns, &result) == 0)
		robots_resolved(job, &result);
}

/* It leads elsewhere. */
static void robots_redirected(struct reap_job *job, const struct reaper_answer *a)
{
	struct reaper_link target;
	if (job->hops == ROBOTS_REDIRECTS || !reaper_link_of(a->location, &job->arena, &target)) {
		robots_end(job, a, CODE_NOWHERE);
		return;
	}
	job->hops++;
	job->url = target.url;
	job->addr = (struct addr){0};
	robots_again(job);
}

void reap_robots_answered(struct reap_job *job, const struct reaper_answer *a)
{
	struct reap *r = job->reap;
	int64_t now_us = loop_now_us(r->o.loop);
	if (a->not_now_us > ROBOTS_WAIT_US && job->hops == 0) {
		struct reap_site *site = job->site;
		int64_t until_us = now_us + a->not_now_us;
		site->asks_robots = false;
		reap_job_free(job); /* the answer may be the job's own */
		reap_unpark(r, site, until_us);
	} else if (a->not_now_us) {
		loop_timer_in(r->o.loop, &job->again, a->not_now_us);
	} else if (code_class(a->code) == CODE_CLASS_PROXY && job->tries++ < REAP_PROXY_TRIES) {
		robots_submit(job);
	} else {
		if (job->asked_us < 0 && a->ago_us >= 0)
			job->asked_us = now_us - a->ago_us;
		if (a->code == CODE_REDIRECT)
			robots_redirected(job, a);
		else
			robots_end(job, a, a->code);
	}
}

void reap_robots_lost(struct reap_job *job, int64_t rests_us)
{
	loop_timer_in(job->reap->o.loop, &job->again, MAX(rests_us, 1));
}

/* From the cache, or from the bucket of the file. */
static bool robots_known(struct reap *r, struct reap_site *site, struct str name,
			 struct robots_answer *ret)
{
	int64_t now_us = clock_wall_us();
	if (robots_cache_known(r->kit.robots, name, now_us, ret) != 1)
		return true;
	robots_tell_kept(r, site, name, now_us);
	return robots_cache_known(r->kit.robots, name, now_us, ret) != 1;
}

void reap_robots_ahead(struct reap_job *job, const struct url *url)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	char room[URL_SITE_MAX];
	struct robots_answer answer;
	if (site->asks_robots || robots_known(r, site, site_text(url, room), &answer)) {
		reap_end_unasked(job, CODE_OK, "");
		return;
	}
	reap_park(job);
	robots_ask(r, site, url);
}

int reap_robots(struct reap_job *job, const struct url *url, char room[URL_SITE_MAX],
		struct reaper_rules *ret)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	struct str name = site_text(url, room);
	struct robots_answer answer;
	if (!robots_known(r, site, name, &answer)) {
		reap_park(job);
		if (!site->asks_robots)
			robots_ask(r, site, url);
		return 1;
	}
	if (!answer.is_reachable) {
		reap_site_off(r, site, 0, "");
		reap_end_unasked(job,
				 code_of(OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ROBOTS_UNREACHABLE, 0),
				 "robots.txt cannot be fetched");
		return 1;
	}
	if (!robots_verdict(answer.compiled, url_target(url)).allowed &&
	    !str_is(url->path, ROBOTS_PATH)) {
		reap_end_unasked(job, CODE_ROBOTS, "");
		return 1;
	}
	reap_rule_crawl_delay(r, site->key, robots_crawl_delay_us(answer.compiled));
	*ret = (struct reaper_rules){.site = name,
				     .is_reachable = true,
				     .until_us = answer.until_us,
				     .compiled = answer.compiled};
	return 0;
}
