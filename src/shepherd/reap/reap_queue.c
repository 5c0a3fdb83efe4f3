/* Queues and jobs: the plan, and what is asked for by hand, go into host queues. What may go passes
 * the steps of doc/reap.md, "What reap does with a URL of its queues", to a reaper that has room;
 * it comes back as an answer, or to the front of its queue. */
#include "base/clock.h"
#include "shepherd/reap/reap_inner.h"

#include <inttypes.h>
#include <string.h>

struct reap_job *reap_job_new(struct reap *r)
{
	struct reap_job *job = mem_alloc(sizeof *job);
	*job = (struct reap_job){.reap = r, .arena = arena_from(&r->arenas, BUCKET_ARENA)};
	list_append(&r->jobs, &job->link);
	return job;
}

void reap_job_free(struct reap_job *job)
{
	if (job->reaper)
		reap_jobs_remove(&job->reap->out, job->id);
	list_remove(&job->link);
	loop_timer_stop(&job->again);
	dns_cancel(&job->dns);
	arena_give(&job->arena, &job->reap->arenas);
	mem_free(&job);
}

/* Stops waiting for a URL. */
static void url_done(struct reap *r, struct footprint fp)
{
	struct seen *awaited = r->awaited ? reap_seen_slot(&r->awaited, fp) : NULL;
	if (awaited && footprint_cmp(awaited->fp, fp) == 0)
		*awaited = (struct seen){0};
	r->left--;
	loop_later(r->o.loop, &r->pump);
}

void reap_job_done(struct reap_job *job)
{
	struct reap *r = job->reap;
	url_done(r, job->entry.fp);
	r->done_now++;
	reap_job_free(job);
}

/* In the flags of an entry that is in no plan: its URL is that of a sitemap; the URL, a line end
 * and the site whose robots.txt named it follow the entry, and hops is how many sitemaps led to it.
 */
enum { QUEUED_SITEMAP = 128 };

static struct plan_entry queued_entry(const struct hostq_job *out)
{
	struct plan_entry entry;
	ENSURE(out->payload.n >= sizeof entry);
	memcpy(&entry, out->payload.p, sizeof entry);
	return entry;
}

/* A job as it comes from its queue. */
static struct reap_job *job_of(struct reap *r, const struct hostq_job *out)
{
	struct reap_job *job = reap_job_new(r);
	job->out = *out;
	job->queued = true;
	job->entry = queued_entry(out);
	struct str rest = arena_str(&job->arena, str_from(out->payload, sizeof job->entry));
	if (job->entry.flags & QUEUED_SITEMAP) {
		job->what = REAPER_SITEMAP;
		ENSURE(str_cut(&rest, '\n', &job->url) == 0);
		job->site_name = rest;
	} else if (job->entry.flags & PLAN_ROBOTS) {
		job->what = REAPER_ROBOTS;
	} else {
		job->url = rest;
		job->asked = rest.n > 0;
	}
	job->site = reap_site_of(r, job->entry.fp.site);
	return job;
}

int reap_read_url(struct reap *r, uint64_t where, struct arena *arena, struct bucket *ret,
		  struct attrs *ret_header, struct str *ret_url, struct err *err)
{
	struct bucket bucket = {0};
	int rc =
		where < BUCKET_SPECIAL ? bucket_read(r->buckets, (uint32_t)where, &bucket, err) : 1;
	if (rc < 0)
		return -1;
	if (rc > 0)
		return err_set(err, ERR_DAMAGED, "bucket %llx is not there",
			       (unsigned long long)where);
	bucket.data = arena_str(arena, bucket.data);
	if (bucket_header(bucket.type, bucket.data, arena, ret_header, NULL, err) < 0)
		return -1;
	struct str url = attrs_get(ret_header, 'U');
	if (!url.n) { /* of the oldest version: all of it is body */
		struct attrs body;
		if (bucket_decode(r->packer, bucket.type, bucket.data, arena, ret_header, &body,
				  err) < 0)
			return -1;
		url = attrs_get(&body, 'U');
	}
	*ret = bucket;
	*ret_url = url;
	return url.n ? 0 : err_set(err, ERR_DAMAGED, "a bucket without URL");
}

/* Its URL, and what is said of the copy; of robots.txt any URL of its site. */
static int job_load(struct reap_job *job, struct err *err)
{
	struct attrs header;
	if (job->asked || job->what == REAPER_SITEMAP)
		return 0; /* its URL came with it */
	if (reap_read_url(job->reap, job->entry.where, &job->arena, &job->old, &header, &job->url,
			  err) < 0)
		return -1;
	if (job->entry.flags & PLAN_REFRESH)
		job->md5 = attrs_get(&header, REAPER_MD5);
	if (job->entry.flags & PLAN_REFRESH && !(job->entry.item_flags & ITEM_REGATHER)) {
		job->etag = attrs_get(&header, REAPER_ETAG);
		job->last_modified = attrs_get(&header, REAPER_LAST_MODIFIED);
	}
	return 0;
}

/* Whether the rules take a URL that is about to be asked for. */
static bool job_is_rejected(const struct reap_job *job, const struct url *url)
{
	struct filter_url verdict;
	struct filter_where where = reap_where(job->reap, job->entry.fp.site, true);
	if (job->what != REAPER_PAGE || job->entry.item_flags & ITEM_INITIAL)
		return false;
	filter_url(job->reap->crawl->filter, url, STR(""), &where, &verdict);
	return verdict.reject;
}

/* Sitemaps have no item: one that failed is forgotten. The job that fetched robots.txt records its
 * result. */
static void job_judge(struct reap_job *job, const struct reaper_answer *a)
{
	if (job->what == REAPER_PAGE) {
		reap_page(job, a);
		return;
	}
	if (job->what == REAPER_SITEMAP && a->code == CODE_OK)
		reap_sitemap(job, a);
	url_done(job->reap, job->entry.fp);
	reap_job_free(job);
}

void reap_end_unasked(struct reap_job *job, uint16_t code, const char *why)
{
	const struct reaper_answer a = {
		.code = code, .text = str_of(why), .url = job->url, .ago_us = -1};
	struct reap *r = job->reap;
	if (code == CODE_NO_SITE) /* its queue has a delay of its own */
		hostq_done(r->queue, &job->out, OUTCOME_OK, loop_now_us(r->o.loop));
	else
		hostq_unasked(r->queue, &job->out);
	if (job->what != REAPER_PAGE)
		r->begun--; /* nothing is told of it */
	job_judge(job, &a);
}

void reap_answer_unasked(struct reap *r, const struct hostq_job *out, uint16_t code,
			 const char *why)
{
	struct reap_job *job = job_of(r, out);
	struct err err;
	if (job_load(job, &err) < 0)
		reap_end_unasked(job, CODE_LOST, err.msg);
	else
		reap_end_unasked(job, code, why);
}

bool reap_is_page(const struct hostq_job *out)
{
	return !(queued_entry(out).flags & (QUEUED_SITEMAP | PLAN_ROBOTS));
}

void reap_leave(struct reap *r, const struct hostq_job *out)
{
	struct plan_entry entry = queued_entry(out);
	hostq_unasked(r->queue, out);
	r->dropped += !(entry.flags & PLAN_ROBOTS); /* of which the next plan has another */
	url_done(r, entry.fp);
}

/* Puts a job that was not sent back at the front of its class, for a while. */
static void job_put_back(struct reap_job *job, int64_t wait_us)
{
	struct reap *r = job->reap;
	hostq_put_back(r->queue, &job->out, loop_now_us(r->o.loop) + wait_us);
	r->begun--;
	reap_job_free(job);
	loop_later(r->o.loop, &r->pump);
}

/* Its site has another server than the one that it waited for. */
static void job_move(struct reap_job *job)
{
	struct reap *r = job->reap;
	struct str payload = arena_str(&job->arena, job->out.payload);
	struct err err;
	hostq_unasked(r->queue, &job->out);
	if (hostq_push(r->queue, job->site->key, job->out.priority, payload, 0, &err) < 0)
		reap_fail(r, &err);
	reap_rule_apply(r, job->site->key);
	r->begun--;
	reap_job_free(job);
}

int reap_submit(struct reap_job *job, struct reaper_job *out, const struct reaper_rules *rules,
		struct err *err)
{
	struct reap *r = job->reap;
	struct reaper *to;
	if (reapers_choose(r->reapers, &to) != 0)
		return 1;
	out->id = ++r->last_id;
	int rc = to->ops->submit(to, out, rules, err);
	if (rc != 0)
		return rc;
	job->id = out->id;
	job->reaper = to;
	job->by = to->name;
	*reap_jobs_put(&r->out, job->id) = job;
	return 0;
}

static void job_submit(struct reap_job *job, const struct reaper_rules *rules)
{
	struct reap *r = job->reap;
	struct polite_rule rule = reap_rule(r, job->site->key);
	struct str none = {0};
	struct err err;
	struct reaper_job out = {
		.what = job->what,
		.refresh = job->entry.flags & PLAN_REFRESH,
		.url = job->url,
		.fp = job->entry.fp,
		.addr = job->site->addr,
		.now_s = clock_wall_us() / US_PER_S,
		.etag = job->site->moved ? none : job->etag,
		.last_modified = job->site->moved ? none : job->last_modified,
		.md5 = job->md5,
		.limits = r->o.robot->robot.limits,
		.rule = rule,
		.keep = hostq_waiting(r->queue, job->out.key) &&
			rule.delay_us <= r->o.robot->robot.keep_us,
		.patience_us = r->crawl->cycle_us,
	};
	int rc = reap_submit(job, &out, rules, &err);
	if (rc == 0)
		return;
	if (rc < 0 && err.code == ERR_USAGE) {
		reap_end_unasked(job, CODE_BAD_URL, err.msg);
		return;
	}
	if (rc < 0)
		reap_fail(r, &err);
	job_put_back(job, 0);
}

/* Of a site that is off: the first page is judged by what was the matter, where none was yet. */
static void job_is_off(struct reap_job *job)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	struct hostq_job out = job->out;
	uint16_t code = site->off_code;
	if (code && job->what == REAPER_PAGE) {
		site->off_code = 0;
		reap_end_unasked(job, code, site->off_why);
		return;
	}
	r->begun--;
	reap_job_free(job);
	reap_leave(r, &out);
}

/* On its way to a reaper; what is in its way ends it, or lets it wait. */
static void job_ask(struct reap_job *job, const struct url *url)
{
	char room[URL_SITE_MAX];
	struct reaper_rules rules;
	if (job->site->off) {
		job_is_off(job);
	} else if (qkey_kind(job->site->key) == QKEY_NONEXISTENT) {
		reap_end_unasked(job, CODE_NO_SITE, "");
	} else if (reap_resolve(job, url) == 0) {
		if (job->out.key != job->site->key)
			job_move(job);
		else if (job->what == REAPER_ROBOTS)
			reap_robots_ahead(job, url);
		else if (reap_robots(job, url, room, &rules) == 0)
			job_submit(job, &rules);
	}
}

static void job_begin(struct reap *r, const struct hostq_job *out)
{
	struct reap_job *job = job_of(r, out);
	char room[URL_MAX];
	struct url url;
	struct err err;
	int rc;
	r->begun++;
	if (job_load(job, &err) < 0) {
		if (err.code != ERR_SYSTEM) { /* its bucket will not get better */
			reap_end_unasked(job, CODE_LOST, err.msg);
			return;
		}
		reap_fail(r, &err);
		job_put_back(job, 0);
	} else if ((rc = url_parse(job->url, NULL, room, sizeof room, &url)) != 0) {
		reap_end_unasked(job, CODE_BAD_URL, url_error_text(rc));
	} else if (job_is_rejected(job, &url)) {
		reap_end_unasked(job, CODE_REJECTED, "");
	} else {
		job_ask(job, &url);
	}
}

void reap_pump(void *ctx)
{
	struct reap *r = ctx;
	struct hostq_job out;
	struct err err;
	int64_t wait_us = INT64_MAX;
	int rc = 0;
	bool room;
	reap_names_go_on(r);
	while ((room = reapers_room(r->reapers) > 0) && !r->stopping && !r->held &&
	       !(r->careful && r->begun) &&
	       (rc = hostq_take(r->queue, loop_now_us(r->o.loop), &out, &wait_us, &err)) == 0)
		job_begin(r, &out);
	reap_note_full(r, r->held || !room);
	if (rc < 0)
		reap_fail(r, &err);
	else if (rc == 1 && wait_us != INT64_MAX)
		loop_timer_in(r->o.loop, &r->wake, wait_us);
	if (r->left == 0 || (r->stopping && reap_jobs_count(&r->out) == 0))
		loop_stop(r->o.loop);
}

/* Answers */

/* Of a page or a sitemap. */
static void page_answered(struct reap_job *job, const struct reaper_answer *a)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	char room[URL_MAX];
	struct url url;
	bool parsed = url_parse(job->url, NULL, room, sizeof room, &url) == 0;
	if (!job->queued && a->not_now_us) { /* the next plan has it again */
		r->dropped++;
		url_done(r, job->entry.fp);
		reap_job_free(job);
		return;
	}
	if (a->not_now_us) {
		job_put_back(job, a->not_now_us);
		return;
	}
	if (parsed && job->queued && code_class(a->code) == CODE_CLASS_PROXY &&
	    job->tries++ < REAP_PROXY_TRIES) {
		job_ask(job, &url);
		return;
	}
	if (parsed)
		reap_key_learned(r, site, a->key, url_site(&url));
	reap_rule_answered(r, site->key, a->code);
	if (job->queued &&
	    a->ago_us >= 0) { /* as politeness counts, or it would be asked in vain */
		hostq_sent(r->queue, &job->out, clock_mono_us() - a->ago_us);
		hostq_done(r->queue, &job->out, code_outcome(a->code), loop_now_us(r->o.loop));
	} else if (job->queued) {
		hostq_unasked(r->queue, &job->out);
	}
	bool off = code_class(a->code) == CODE_CLASS_SITE;
	job_judge(job, a); /* the answer may be the job's own */
	if (off)
		reap_site_off(r, site, 0, "");
}

static void job_answered(struct reap_job *job, const struct reaper_answer *a)
{
	if (job->what == REAPER_ROBOTS)
		reap_robots_answered(job, a);
	else
		page_answered(job, a);
}

/* A copy that lives as long as the job. */
static struct reaper_answer *answer_copy(struct arena *arena, const struct reaper_answer *a)
{
	struct reaper_answer *copy = arena_alloc(arena, sizeof *copy);
	struct reaper_link *link = arena_array(arena, a->links, sizeof *link);
	*copy = *a;
	copy->text = arena_str(arena, a->text);
	copy->url = arena_str(arena, a->url);
	copy->location = arena_str(arena, a->location);
	copy->type = arena_str(arena, a->type);
	copy->bucket = arena_str(arena, a->bucket);
	copy->body = arena_str(arena, a->body);
	for (size_t i = 0; i < a->links; i++) {
		link[i] = a->link[i];
		link[i].url = arena_str(arena, a->link[i].url);
	}
	copy->link = link;
	return copy;
}

/* The job that a reaper speaks of, which has it no more. NULL: there is none. */
static struct reap_job *job_take(struct reap *r, const struct reaper *from, uint64_t id)
{
	struct reap_job **found = reap_jobs_get(&r->out, id);
	struct reap_job *job = found ? *found : NULL;
	if (!job || job->reaper != from)
		return NULL;
	reap_jobs_remove(&r->out, id);
	job->reaper = NULL;
	return job;
}

void reap_answered(void *ctx, struct reaper *from, const struct reaper_answer *a)
{
	struct reap *r = ctx;
	struct reap_job *job = r->err.code == ERR_NONE ? job_take(r, from, a->id) : NULL;
	if (!job)
		return;
	if (r->state)
		job_answered(job, a);
	else
		job->kept = answer_copy(&job->arena, a);
}

void reap_lost_job(void *ctx, struct reaper *from, uint64_t id, int64_t rests_us)
{
	struct reap *r = ctx;
	struct reap_job *job = job_take(r, from, id);
	if (!job)
		return;
	if (!r->state) {
		reap_job_free(job);
	} else if (job->what == REAPER_ROBOTS) {
		reap_robots_lost(job, rests_us);
	} else {
		const struct reaper_answer a = {.ago_us = -1, .not_now_us = MAX(rests_us, 1)};
		page_answered(job, &a);
	}
}

/* What the index says of it now: other passes have been at it since it was planned. 1: it is known
 * no more, or its copy is not. */
static int job_renew(struct reap_job *job, struct err *err)
{
	const struct url_index *index;
	struct index_item item;
	if (state_index(job->reap->state, &index, err) < 0)
		return -1;
	int rc = url_index_find(index, job->entry.fp, &item, err);
	if (rc != 0)
		return rc < 0 ? -1 : job->asked ? 0 : 1;
	if (job->entry.flags & PLAN_REFRESH && item.type != ITEM_GATHERED)
		return 1;
	job->entry.where = item.where;
	job->entry.item_flags = item.flags;
	job->entry.retry = item.retry;
	job->entry.section = item.section;
	job->entry.hops = item.hops;
	return 0;
}

int reap_adopt(struct reap *r, struct err *err)
{
	LIST_EACH (struct reap_job, job, &r->jobs, link) {
		int rc = job->what == REAPER_PAGE ? job_renew(job, err) : 0;
		if (rc < 0)
			return -1;
		if (rc > 0) {
			if (job->reaper)
				job->reaper->ops->cancel(job->reaper, job->id);
			reap_job_free(job);
			continue;
		}
		job->site = reap_site_of(r, job->entry.fp.site);
		if (job->what == REAPER_ROBOTS) {
			job->site->asks_robots = true;
			continue;
		}
		r->left++;
		r->asked += job->asked;
		if (job->what == REAPER_PAGE)
			*fps_put(&r->done, job->entry.fp) = true;
	}
	return 0;
}

void reap_adopted(struct reap *r)
{
	LIST_EACH (struct reap_job, job, &r->jobs, link) {
		const struct reaper_answer *kept = job->kept;
		job->kept = NULL;
		if (kept)
			job_answered(job, kept);
	}
}

/* The plan */

/* What an earlier run over the same state has done is not done again. */
static int load_done(struct reap *r, struct state *st, struct err *err)
{
	struct record_reader *in;
	struct record record;
	int rc = state_read(st, "journal", &in, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while ((rc = record_next(in, &record, err)) == 0) {
		struct journal_entry e;
		if ((rc = journal_read(record.payload, &e, err)) < 0) {
			(void)err_in(err, "%s: journal, record at %" PRIu64, state_name(st),
				     record.place.at);
			break;
		}
		*fps_put(&r->done, e.fp) = true;
		if (e.type == ITEM_QKEY) {
			struct reap_site *site = reap_site_of(r, e.fp.site);
			const struct server *server = reap_server_of(r, e.fp.site);
			site->moved = server && server->qkey && server->qkey != e.qkey;
			site->known = site->key = e.qkey;
			site->key_told = true;
			site->off = qkey_kind(e.qkey) == QKEY_NONEXISTENT;
		}
		if (e.op == CHANGE_DELETE || e.op == CHANGE_UPDATE)
			*fps_put(&r->gone, e.fp) = e.op == CHANGE_DELETE;
	}
	record_reader_free(&in);
	return rc < 0 ? -1 : 0;
}

/* Classes of a queue. robots.txt of the plan is ahead of all pages that were planned; sitemaps are
 * in the same class, so that one connection does for both. */
enum { CLASS_HAND, CLASS_AHEAD, CLASS_PLAN, CLASS_LAST = HOSTQ_PRIORITIES - 1 };

/* Which class of its queue a URL is in: by its priority; what failed before comes last, so that the
 * pauses after trouble hold up nothing else. */
static unsigned entry_class(const struct plan_entry *e)
{
	if (e->flags & PLAN_ROBOTS)
		return CLASS_AHEAD;
	return e->retry ? CLASS_LAST
			: MIN(CLASS_PLAN + (255 - (e->priority >> 24)), CLASS_LAST - 1);
}

/* A site with the key under which the crawl knows it; 0: it does not. */
static struct reap_site *site_begin(struct reap *r, uint64_t fp, qkey known)
{
	struct reap_site *site = reap_site_of(r, fp);
	const uint32_t *number = known_sites_get(&r->known, fp);
	enum qkey_kind kind = qkey_kind(known);
	if (site->known || !known)
		return site;
	site->known = known;
	if (kind == QKEY_RESOLVED ||
	    (kind == QKEY_NONEXISTENT && !(number && *number == SITE_EXPIRED)))
		if (!site->resolved && !site->key_told)
			site->key = known;
	return site;
}

/* One of which something is asked for that is not in the plan. */
static struct reap_site *site_begin_unplanned(struct reap *r, uint64_t fp)
{
	const struct server *server = reap_server_of(r, fp);
	return site_begin(r, fp, server ? server->qkey : 0);
}

/* The rule of the queue in which a site's URLs are. */
static void site_set_rule(struct reap *r, const struct reap_site *site)
{
	const struct server *server = reap_server_of(r, site->fp);
	struct polite_rule rule = {.delay_us = r->o.conf->autoreply_delay_us, .concurrent = 1};
	if (qkey_kind(site->key) != QKEY_NONEXISTENT) {
		if (!server)
			return; /* when its name is known */
		rule = reap_rule_of_server(server);
	}
	reap_rule_set(r, site->key, rule);
}

/* A URL that somebody asks for joins the queues at once, unless it waits there because it was asked
 * for before. It is a contribution too, so that it is known even if its turn does not come. A
 * requests_fn. */
int reap_ask(void *ctx, struct str line, struct err *err)
{
	struct reap *r = ctx;
	CLEANUP(buf_free) struct buf payload = BUF_INIT(sizeof(struct plan_entry) + URL_MAX);
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	const struct url_index *index;
	struct index_item item = {.where = ITEM_NOWHERE};
	struct url url, canon;
	if (url_parse(line, NULL, room, sizeof room, &url) != 0 ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0)
		return 0;
	struct footprint fp = footprint_of(&canon);
	int rc = crawl_ask(r->state, line, err);
	if (rc == 0)
		rc = state_index(r->state, &index, err);
	if (rc == 0)
		rc = url_index_find(index, fp, &item, err);
	if (rc < 0)
		return -1;
	struct seen *awaited = reap_seen_slot(&r->awaited, fp);
	if (footprint_cmp(awaited->fp, fp) == 0)
		return 0;
	bool known = rc == 0 && index_item_has_bucket(&item);
	struct plan_entry e = {
		.fp = fp,
		.where = item.where,
		.priority = UINT32_MAX,
		.flags = known && item.type == ITEM_GATHERED ? PLAN_REFRESH : 0,
		.item_flags = item.flags | ITEM_INITIAL | ITEM_REGATHER,
		.weight = item.weight,
		.section = item.section,
	};
	buf_add(&payload, &e, sizeof e);
	if (!known)
		buf_add_str(&payload, canon.href);
	if (!known_sites_get(&r->known, fp.site))
		*known_sites_put(&r->known, fp.site) = SITE_UNSERVED;
	struct reap_site *site = site_begin_unplanned(r, fp.site);
	if (hostq_push(r->queue, site->key, CLASS_HAND, buf_str(&payload), 0, err) < 0)
		return -1;
	site_set_rule(r, site);
	reap_name_wanted(r, site, url_site(&canon));
	*awaited = (struct seen){fp};
	r->asked += !known;
	r->left++;
	loop_later(r->o.loop, &r->pump);
	return 0;
}

void reap_push_sitemap(struct reap *r, struct str text, struct str site_name, uint8_t depth)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(HOSTQ_PAYLOAD_MAX);
	char room[URL_MAX];
	struct url url;
	struct err err;
	if (url_parse(text, NULL, room, sizeof room, &url) != 0)
		return;
	const struct plan_entry e = {
		.fp = footprint_of(&url), .flags = QUEUED_SITEMAP, .hops = depth};
	struct reap_site *site = site_begin_unplanned(r, e.fp.site);
	buf_add(&payload, &e, sizeof e);
	buf_add_str(&payload, text);
	buf_add_byte(&payload, '\n');
	buf_add_str(&payload, site_name);
	if (hostq_push(r->queue, site->key, CLASS_AHEAD, buf_str(&payload), 0, &err) < 0) {
		reap_fail(r, &err);
		return;
	}
	if (site->resolved)
		reap_rule_apply(r, site->key);
	else
		site_set_rule(r, site);
	reap_name_wanted(r, site, url_site(&url));
	r->left++;
}

/* What the plan has of a site: its robots.txt, if it is not fresh, and its pages. Where there is no
 * bucket of the file, that of the first page says which site it is. */
static int fill_site(struct reap *r, const struct plan_site *in, struct err *err)
{
	struct reap_site *site = site_begin(r, in->fp, in->qkey);
	site->robots_where = in->robots_where;
	for (size_t i = 0; i < in->n; i++) {
		struct plan_entry e = in->entry[i];
		struct str payload = {(const char *)&e, sizeof e};
		if (fps_get(&r->done, e.fp))
			continue;
		if (e.flags & PLAN_ROBOTS && e.where == ITEM_NOWHERE && i + 1 < in->n)
			e.where = in->entry[i + 1].where;
		if (hostq_push(r->queue, site->key, entry_class(&e), payload, 0, err) < 0)
			return -1;
		reap_name_ahead(r, site, e.where);
		r->left++;
	}
	site_set_rule(r, site);
	return 0;
}

/* The plan goes into the queues. One that is damaged, which recovery and garner check name, ends
 * there: the next cycle makes a new plan. */
static int fill_queues(struct reap *r, struct state *st, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	struct counted_reader in;
	struct plan_site site;
	int rc = plan_open(&in, state_path(st, &arena, "plan"), err);
	r->lost_plan = rc < 0;
	if (rc != 0)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
	while ((rc = plan_next(&in, &arena, &site, err)) == 0 &&
	       (rc = fill_site(r, &site, err)) == 0)
		arena_clear(&arena);
	counted_close(&in);
	r->lost_plan = rc < 0;
	return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

int reap_fill(struct reap *r, struct state *st, struct err *err)
{
	int rc = load_done(r, st, err);
	if (rc == 0)
		rc = reap_adopt(r, err);
	if (rc == 0)
		rc = fill_queues(r, st, err);
	fps_free(&r->done);
	return rc;
}
