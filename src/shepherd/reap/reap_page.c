/* What is kept and told of a page: the answer of a reaper becomes a bucket, an entry of the journal
 * and contributions, in that order, so that a checkpoint between two callbacks is always
 * consistent. */
#include "base/clock.h"
#include "shepherd/reap/reap_inner.h"
#include "shepherd/reap/reap_sitemap.h"
#include "shepherd/reap/recording.h"

#include <string.h>

enum { SEEN = 1 << 18 /* a power of two */, INDEX_SITEMAPS = 100, CIRCLE_MOST = 20 };

static size_t slot_of(struct footprint fp)
{
	return (fp.site ^ fp.path) & (SEEN - 1);
}

struct seen *reap_seen_slot(struct seen **cache, struct footprint fp)
{
	if (!*cache)
		*cache = mem_array(SEEN, sizeof **cache);
	return &(*cache)[slot_of(fp)];
}

static struct lead *lead_slot(struct reap *r, struct footprint from)
{
	if (!r->leads)
		r->leads = mem_array(SEEN, sizeof *r->leads);
	return &r->leads[slot_of(from)];
}

/* A URL may be tried twice, by the plan and because somebody asks for it, and both know it as it
 * was before: its delete is told once, and what is there again after it is told as a whole. */
static void tell_once(struct reap *r, struct journal_entry *e, uint64_t old)
{
	bool *gone = fps_get(&r->gone, e->fp);
	bool was = gone && *gone;
	if (e->op == CHANGE_DELETE) {
		e->op = was ? CHANGE_NONE : CHANGE_DELETE;
		*fps_put(&r->gone, e->fp) = true;
	} else if (was && (e->op == CHANGE_UPDATE || e->op == CHANGE_REFRESH)) {
		*gone = false;
		e->where = e->op == CHANGE_REFRESH ? old : e->where;
		e->op = CHANGE_UPDATE;
	}
}

/* The bucket of what is judged; ITEM_NOWHERE: it has the one it had. A page that was asked for by
 * hand while it was not known, and cannot be had, gets a thin one: so it is known with what became
 * of it, and not asked again as if it were new. */
static uint64_t page_keep(struct reap_job *job, const struct verdict *v,
			  const struct reaper_answer *a)
{
	struct reap *r = job->reap;
	struct err err;
	uint32_t oid = 0;
	int rc = 0;
	if (v->op == CHANGE_UPDATE)
		rc = bucket_append(r->buckets, a->bucket_type, a->bucket, &oid, &err);
	else if (job->asked)
		rc = thin_put(r->buckets, job->entry.fp, job->url, clock_wall_us() / US_PER_S,
			      &job->arena, &oid, &err);
	else
		return ITEM_NOWHERE;
	if (rc == 0)
		return oid;
	reap_fail(r, &err);
	return ITEM_NOWHERE;
}

/* Writes the journal. where: the new bucket. */
static void page_tell(struct reap_job *job, const struct verdict *v, const struct reaper_answer *a,
		      uint64_t where)
{
	struct reap *r = job->reap;
	struct err err;
	struct journal_entry e = {
		.fp = job->entry.fp,
		.time_us = clock_wall_us(),
		.op = v->op,
		.type = v->type,
		.code = v->code,
		.where = where,
		.flags = job->asked ? ITEM_INITIAL : 0,
		.due_s = v->due_s,
		.no_target = v->no_target,
		.download_ms = a->download_ms,
		.has_section = v->has_section,
		.section = v->section,
		.url = job->url.n ? job->url : STR("-"),
		.reason = str_of(v->reason),
	};
	if (v->type == ITEM_GATHERED && a->code != CODE_NOT_MODIFIED)
		memcpy(e.md5, a->md5, sizeof e.md5);
	tell_once(r, &e, job->entry.where);
	r->asked -= job->asked && where != ITEM_NOWHERE;
	if (state_journal(r->state, &e, &err) < 0)
		reap_fail(r, &err);
}

/* Whether a URL was contributed in this cycle: most links of a page are those of its neighbours. */
static bool contrib_is_seen(struct reap *r, struct footprint fp, bool says_more)
{
	struct seen *s = reap_seen_slot(&r->seen, fp);
	if (!says_more && footprint_cmp(s->fp, fp) == 0)
		return true;
	s->fp = fp;
	return false;
}

struct filter_where reap_where(const struct reap *r, uint64_t site, bool by_hand)
{
	const struct server *server = reap_server_of(r, site);
	struct filter_where where = {.known = by_hand || known_sites_get(&r->known, site)};
	if (server) {
		where.qkey = server->qkey;
		where.key_sites = server->sites;
	}
	return where;
}

/* A URL that was found on the page; flags: enum item_flag; hops: redirects that led to it from one
 * that was given by hand. It is canonical and has its own footprint: the local reaper made it so,
 * and what another machine says is held against that before it comes here. */
static void page_contribute(struct reap_job *job, const struct reaper_link *link, unsigned flags,
			    uint8_t hops)
{
	struct reap *r = job->reap;
	char room[URL_MAX];
	struct url url;
	struct err err;
	bool by_hand = flags & CRAWL_ADMITS;
	if (footprint_cmp(link->fp, job->entry.fp) == 0 ||
	    contrib_is_seen(r, link->fp, by_hand || link->changed_s) ||
	    url_parse(link->url, NULL, room, sizeof room, &url) != 0)
		return;
	struct contrib c = {
		.fp = link->fp,
		.flags = (uint8_t)flags,
		.hops = hops,
		.changed_s = link->changed_s,
		.from = job->entry.fp,
		.url = link->url,
	};
	struct filter_where where = reap_where(r, c.fp.site, by_hand);
	struct filter_url verdict;
	filter_url(r->crawl->filter, &url, STR(""), &where, &verdict);
	if (verdict.reject)
		return;
	c.section = verdict.section;
	if (by_hand && !known_sites_get(&r->known, c.fp.site))
		*known_sites_put(&r->known, c.fp.site) = SITE_UNSERVED;
	if (state_contrib(r->state, &c, NULL, &err) < 0)
		reap_fail(r, &err);
	counters_add(r->o.counters, REAP_LINKS, 1);
}

/* Its links count as if they had been found now: what they lead to may have been forgotten. */
static void page_contribute_old(struct reap_job *job)
{
	struct reap *r = job->reap;
	struct attrs header, body;
	struct err err;
	const struct reaper_link *link;
	bool noindex, nofollow;
	if (bucket_decode(r->packer, job->old.type, job->old.data, &job->arena, &header, &body,
			  &err) < 0)
		return; /* unreadable: no links */
	reaper_directives(&body, &noindex, &nofollow);
	if (nofollow)
		return;
	size_t n = reaper_links_of(r->links, &body, job->entry.fp, &job->arena, &link);
	for (size_t i = 0; i < n; i++)
		page_contribute(job, &link[i], 0, 0);
}

/* Whether what a URL that was given by hand leads to counts as given by hand, too: inside of its
 * domain, and not for ever. */
static bool leads_by_hand(const struct reap_job *job, struct str target)
{
	char room[2][URL_MAX];
	struct url from, to;
	int64_t most = MIN(job->reap->o.robot->robot.limits.redirects, (int64_t)ITEM_HOPS_MOST);
	return job->entry.item_flags & ITEM_INITIAL && job->entry.hops < most &&
	       url_parse(job->url, NULL, room[0], sizeof room[0], &from) == 0 &&
	       url_parse(target, NULL, room[1], sizeof room[1], &to) == 0 &&
	       url_same_domain(from.host, to.host);
}

/* It is something else than a redirect now. */
static void lead_forget(struct reap *r, struct footprint from)
{
	struct lead *slot = r->leads ? lead_slot(r, from) : NULL;
	if (slot && footprint_cmp(slot->from, from) == 0)
		*slot = (struct lead){0};
}

/* Whether redirects lead from a URL back to it. */
static bool lead_is_circle(struct reap *r, struct footprint from)
{
	struct footprint at = from;
	for (int i = 0; i < CIRCLE_MOST; i++) {
		const struct lead *slot = lead_slot(r, at);
		if (footprint_cmp(slot->from, at) != 0)
			return false;
		at = slot->to;
		if (footprint_cmp(at, from) == 0)
			return true;
	}
	return false;
}

/* The target of a redirect is a contribution. false: it has none, leads to itself, or in a circle.
 */
static bool page_leads_on(struct reap_job *job, struct str location)
{
	struct reap *r = job->reap;
	struct reaper_link target;
	if (!reaper_link_of(location, &job->arena, &target) ||
	    footprint_cmp(target.fp, job->entry.fp) == 0)
		return false;
	*lead_slot(r, job->entry.fp) = (struct lead){job->entry.fp, target.fp};
	if (lead_is_circle(r, job->entry.fp))
		return false;
	bool by_hand = leads_by_hand(job, target.url);
	page_contribute(job, &target, by_hand ? ITEM_INITIAL : 0,
			by_hand ? (uint8_t)(job->entry.hops + 1) : 0);
	return true;
}

/* What the media type of a document says to the rules: they may have another section for it, or not
 * want it. */
static bool page_is_wanted(const struct reap_job *job, const struct reaper_answer *a,
			   uint8_t *ret_section)
{
	struct filter_where where = reap_where(job->reap, job->entry.fp.site, true);
	struct filter_url verdict;
	char room[URL_MAX];
	struct url url;
	*ret_section = job->entry.section;
	if (a->code != CODE_OK || !a->type.n ||
	    url_parse(job->url, NULL, room, sizeof room, &url) != 0)
		return true;
	filter_url(job->reap->crawl->filter, &url, a->type, &where, &verdict);
	*ret_section = verdict.section;
	return !verdict.reject || job->entry.item_flags & ITEM_INITIAL;
}

/* The links of the page, as far as they are to be followed. */
static void page_links(struct reap_job *job, const struct reaper_answer *a)
{
	for (size_t i = 0; i < a->links; i++)
		page_contribute(job, &a->link[i], 0, 0);
	if ((a->code == CODE_NOT_MODIFIED || a->code == CODE_SAME) && !a->nofollow)
		page_contribute_old(job);
}

static enum reap_counter page_counter(const struct reap_job *job, const struct verdict *v)
{
	switch (v->code) {
	case CODE_OK:
		return job->entry.flags & PLAN_REFRESH ? REAP_CHANGED : REAP_NEW;
	case CODE_NOT_MODIFIED:
	case CODE_SAME:
		return REAP_UNCHANGED;
	case CODE_REDIRECT:
		return REAP_ELSEWHERE;
	case CODE_NOINDEX:
		return REAP_NOINDEX;
	default:
		return REAP_FAILED + (code_outcome(v->code) - OUTCOME_TEMPORARY);
	}
}

static void page_log(const struct reap_job *job, const struct verdict *v,
		     const struct reaper_answer *a)
{
	char room[URL_MAX];
	struct url url;
	if (!job->reap->log)
		return;
	bool parsed = url_parse(job->url, NULL, room, sizeof room, &url) == 0;
	const struct url_log_line line = {
		.wall_us = clock_wall_us(),
		.url = job->url,
		.code = v->code,
		.reaper = job->by ? job->by : "reap",
		.id = job->id,
		.refresh = job->entry.flags & PLAN_REFRESH,
		.took_ms = a->download_ms,
		.port = parsed ? url.port : 0,
		.key = job->site->key,
		.retries = job->entry.retry,
	};
	url_log_add(job->reap->log, &line);
}

/* The answer as it is judged: what only the crawl knows may make another code of it. */
static uint16_t page_code(struct reap_job *job, const struct reaper_answer *a, uint8_t *ret_section)
{
	if (!page_is_wanted(job, a, ret_section))
		return CODE_REJECTED;
	if (a->code != CODE_REDIRECT)
		lead_forget(job->reap, job->entry.fp);
	else if (!page_leads_on(job, a->location))
		return CODE_NOWHERE;
	return a->code;
}

void reap_page(struct reap_job *job, const struct reaper_answer *answer)
{
	struct reap *r = job->reap;
	struct reaper_answer a = *answer;
	struct verdict v;
	uint8_t section;
	a.code = page_code(job, answer, &section);
	reap_judge(&a, &job->entry, r->o.conf, clock_wall_us(), &v);
	if (!job->url.n)
		v.op = CHANGE_NONE; /* nobody could be told what is gone */
	if (v.op == CHANGE_UPDATE) {
		v.has_section = section != job->entry.section;
		v.section = section;
	}
	uint64_t where = page_keep(job, &v, &a);
	page_links(job, &a);
	page_tell(job, &v, &a, where);
	page_log(job, &v, &a);
	counters_add(r->o.counters, REAP_BYTES, a.bytes);
	counters_add(r->o.counters, REAP_UNREAD, a.unread);
	counters_add(r->o.counters, page_counter(job, &v), 1);
	counters_add(r->o.counters, REAP_CODES + reap_code_counter(v.code), 1);
	reap_job_done(job);
}

void reap_sitemap(struct reap_job *job, const struct reaper_answer *a)
{
	unsigned sitemaps = 0;
	for (size_t i = 0; i < MIN(a->links, (size_t)REAP_SITEMAP_LINKS); i++) {
		const struct reaper_link *link = &a->link[i];
		if (!reap_sitemap_in_scope(job->url, link, job->site_name))
			continue;
		if (!link->is_sitemap)
			page_contribute(job, link, 0, 0);
		else if (job->entry.hops == 0 && sitemaps++ < INDEX_SITEMAPS)
			reap_push_sitemap(job->reap, link->url, job->site_name, 1);
	}
}
