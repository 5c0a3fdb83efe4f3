/* Reap, on one loop: the plan goes into host queues; a job goes from its queue to the robot, the
 * parsers, the bucket file and the journal. Nothing waits for a disk but checkpoints, and nothing
 * is told before its bucket is appended, so a checkpoint between two callbacks is always
 * consistent. */
#include "shepherd/reap.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/table.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "extract/cage.h"
#include "extract/out.h"
#include "fetch/hostq.h"
#include "shepherd/reap_judge.h"
#include "shepherd/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Attributes in the header of a bucket that only reap knows: validators as they came, and the MD5
 * of the document. */
enum { REAP_ETAG = 'e', REAP_LAST_MODIFIED = 'l', REAP_MD5 = 'C' };

struct reap_job {
	struct link link;    /* in reap.jobs */
	struct link waiting; /* in reap.to_parse, or in none */
	struct reap *reap;
	struct hostq_job out;
	struct plan_entry entry;
	struct polite_rule rule;
	bool asked; /* by hand, and not known before */
	struct arena arena;
	struct str url, etag, last_modified, md5; /* of the copy that we have */
	struct bucket old;                        /* the copy; its data lies in the arena */
	struct buf body;
	struct robot_memory_sink sink;
	/* Of the answer. */
	qkey qkey;
	uint32_t download_ms;
	int64_t wall_us;
	unsigned char sum[16]; /* MD5 of the document; zeroes: none came */
	struct attrs header;
	struct str content_type, robots;
};

static inline uint64_t fp_hash(struct footprint fp)
{
	return hash_u64(fp.site ^ fp.path);
}
static inline bool fp_equal(struct footprint a, struct footprint b)
{
	return footprint_cmp(a, b) == 0;
}
TABLE(fps, struct footprint, bool, fp_hash, fp_equal)
/* Sites that are known, each with the number of its server. */
TABLE(known_sites, uint64_t, uint32_t, hash_u64, table_same_u64)

struct reap {
	struct reap_options o;
	struct kit kit;
	struct cage *cage;
	struct loop_io cage_io;
	struct link to_parse; /* jobs that wait for a parser */
	/* Of the run. */
	struct state *state;
	struct buckets *buckets;
	struct bucket_packer *packer;
	const struct crawl *crawl;
	struct servers *servers;
	struct known_sites known;
	struct hostq *queue;
	struct fps done;             /* while the queues are filled: what the journal has */
	struct fps gone;             /* deletes that the journal tells and no update takes back */
	struct link jobs;            /* all that are out */
	uint64_t left, out, parsing; /* URLs not done; of these under way; of these being read */
	uint64_t done_now;           /* URLs done by this run */
	uint64_t asked;              /* see struct reaped */
	bool lost_plan;              /* a part of the plan could not be read */
	int64_t full_since_us;       /* it cannot do more at once since then; 0: it can */
	int64_t full_us;             /* how long that was so before */
	struct loop_timer wake, tick, end;
	struct loop_later pump;
	bool stopping;
	bool held;                   /* nothing new is begun: see reap_look() */
	bool careful;                /* see reap_be_careful() */
	uint64_t begun;              /* jobs since then */
	int64_t kept_us, offered_us; /* the last checkpoint and the one before */
	struct loop_timer look;
	struct err err; /* what ended it; code ERR_NONE: nothing did */
	struct seen {
		struct footprint fp;
	} * seen, *awaited; /* contributions of the run, and what was asked for by hand and is not
			       done: caches that forget */
};

/* The most documents that may wait for the parsers before fetching stops. Each one that waits
 * counts as several requests, so that fewer begin the further the parsers lag. */
enum { PARSE_QUEUE = 256, PARSE_COUNTS = 8, OUT_MOST = 100000 };

#define CHECKPOINT_US (US_PER_S / 2)

/* How much longer requests may take that are under way when the time is up. */
#define GRACE_US (3 * US_PER_S)

/* Followers are waited for; one that lags by more is not, it was away. */
#define AWAY_US (60 * US_PER_S)
#define LOOK_US (US_PER_S / 4)

static void reap_count(struct reap *r, enum reap_counter which, uint64_t n)
{
	if (r->o.counters)
		counters_add(r->o.counters, r->o.counters_at + which, n);
}

static void reap_gauges(struct reap *r)
{
	if (!r->o.counters)
		return;
	counters_set(r->o.counters, r->o.counters_at + REAP_WAITING, (int64_t)r->left);
	counters_set(r->o.counters, r->o.counters_at + REAP_UNDER_WAY, (int64_t)r->out);
}

static void reap_fail(struct reap *r, const struct err *err)
{
	if (r->err.code == ERR_NONE)
		r->err = *err;
	r->stopping = true;
	loop_stop(r->o.loop);
}

/* Jobs. */

static void job_free(struct reap_job *job)
{
	struct reap *r = job->reap;
	list_remove(&job->link);
	list_remove(&job->waiting);
	r->out--;
	buf_free(&job->body);
	arena_free(&job->arena);
	mem_free(&job);
}

enum { SEEN = 1 << 18 }; /* a power of two */

static struct seen *seen_slot(struct seen **cache, struct footprint fp)
{
	if (!*cache)
		*cache = mem_array(SEEN, sizeof **cache);
	return &(*cache)[(fp.site ^ fp.path) & (SEEN - 1)];
}

static void reap_job_done(struct reap_job *job)
{
	struct reap *r = job->reap;
	struct seen *awaited = r->awaited ? seen_slot(&r->awaited, job->entry.fp) : NULL;
	if (awaited && footprint_cmp(awaited->fp, job->entry.fp) == 0)
		*awaited = (struct seen){0};
	r->left--;
	r->done_now++;
	job_free(job);
	loop_later(r->o.loop, &r->pump);
}

/* Pages: what is kept and told of them */

/* A URL may be tried twice, by the plan and because somebody asks for it, and both know it as it
 * was before: its delete is told once, and what is there again after it is told as a whole. */
static void reap_tell_once(struct reap *r, struct journal_entry *e, uint64_t old)
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

/* Writes the journal. where: the new bucket. */
static void reap_tell(struct reap_job *job, const struct verdict *v, uint64_t where)
{
	struct reap *r = job->reap;
	struct err err;
	struct journal_entry e = {
		.fp = job->entry.fp,
		.time_us = job->wall_us ? job->wall_us : clock_wall_us(),
		.op = v->op,
		.type = v->type,
		.code = v->code,
		.where = where,
		.flags = job->asked ? ITEM_INITIAL : 0,
		.due_s = v->due_s,
		.download_ms = job->download_ms,
		.qkey = job->qkey,
		.url = job->url.n ? job->url : STR("-"),
		.reason = str_of(v->reason),
	};
	if (v->type == ITEM_GATHERED)
		memcpy(e.md5, job->sum, sizeof e.md5);
	reap_tell_once(r, &e, job->entry.where);
	r->asked -= job->asked && where != ITEM_NOWHERE;
	if (state_journal(r->state, &e, &err) < 0)
		reap_fail(r, &err);
}

/* Whether a URL was contributed in this cycle: most links of a page are those of its neighbours. */
static bool contrib_is_seen(struct reap *r, struct footprint fp, bool by_hand)
{
	struct seen *s = seen_slot(&r->seen, fp);
	if (!by_hand && footprint_cmp(s->fp, fp) == 0)
		return true;
	s->fp = fp;
	return false;
}

/* What is known of the site of a URL, for the filter. */
static struct filter_where reap_where(const struct reap *r, uint64_t site, bool by_hand)
{
	const uint32_t *number = known_sites_get(&r->known, site);
	struct filter_where where = {.known = number || by_hand};
	if (number && *number != UINT32_MAX) {
		const struct server *server = servers_at(r->servers, *number);
		where.qkey = server->qkey;
		where.key_sites = server->sites;
	}
	return where;
}

/* A URL that was found on the page; flags: enum item_flag. */
static void reap_contribute(struct reap_job *job, struct str text, unsigned flags)
{
	struct reap *r = job->reap;
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	struct err err;
	if (url_parse(text, NULL, room, sizeof room, &url) != 0 || url.protocol == URL_FTP ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0 ||
	    url_loops(url_target(&canon), NULL))
		return;
	struct contrib c = {
		.fp = footprint_of(&canon),
		.flags = (uint8_t)flags,
		.from = job->entry.fp,
		.url = canon.href,
	};
	bool by_hand = flags & CRAWL_ADMITS;
	if (footprint_cmp(c.fp, job->entry.fp) == 0 || contrib_is_seen(r, c.fp, by_hand))
		return;
	struct filter_where where = reap_where(r, c.fp.site, by_hand);
	struct filter_url verdict;
	filter_url(r->crawl->filter, &canon, STR(""), &where, &verdict);
	if (verdict.reject)
		return;
	c.section = verdict.section;
	if (by_hand && !known_sites_get(&r->known, c.fp.site))
		*known_sites_put(&r->known, c.fp.site) = UINT32_MAX;
	if (state_contrib(r->state, &c, NULL, &err) < 0)
		reap_fail(r, &err);
	reap_count(r, REAP_LINKS, 1);
}

static struct str seconds_text(struct arena *arena, int64_t us)
{
	return str_of(arena_printf(arena, "%" PRId64, us / US_PER_S));
}

/* The header of the bucket that the document will have. */
static void page_make_header(struct reap_job *job, const struct robot_result *result,
			     const char *md5)
{
	struct arena *arena = &job->arena;
	struct attrs *h = &job->header;
	const struct robot_head *head = result->head;
	attrs_add(h, arena, 'O', crawl_digits(job->entry.fp, arena));
	attrs_add(h, arena, 'U', job->url);
	attrs_add(h, arena, 'D', seconds_text(arena, job->wall_us));
	attrs_add(h, arena, 'J', seconds_text(arena, job->wall_us));
	if (result->last_modified_us >= 0)
		attrs_add(h, arena, 'L', seconds_text(arena, result->last_modified_us));
	if (head->etag[0])
		attrs_add(h, arena, REAP_ETAG, arena_str(arena, str_of(head->etag)));
	if (head->last_modified[0])
		attrs_add(h, arena, REAP_LAST_MODIFIED,
			  arena_str(arena, str_of(head->last_modified)));
	attrs_add(h, arena, REAP_MD5, arena_str(arena, str_of(md5)));
}

static struct str page_robots_of(const struct robot_tag *tag)
{
	bool noindex = tag->set & 1u << ROBOT_NOINDEX, nofollow = tag->set & 1u << ROBOT_NOFOLLOW;
	return noindex && nofollow ? STR("noindex,nofollow")
	       : noindex           ? STR("noindex")
	       : nofollow          ? STR("nofollow")
				   : STR("");
}

static bool has_word(struct str list, const char *word)
{
	struct str item;
	while (list.p && str_cut(&list, ',', &item) == 0)
		if (str_is(item, word))
			return true;
	return false;
}

/* What the page says about itself to robots. */
static void page_directives(const struct attrs *body, bool *ret_noindex, bool *ret_nofollow)
{
	*ret_noindex = *ret_nofollow = false;
	for (size_t i = 0; i < body->n; i++) {
		struct doc_meta meta;
		if (body->a[i].name != 'M' || !meta_parse(body->a[i].value, &meta) ||
		    meta.tag != META_ROBOTS)
			continue;
		*ret_noindex |= has_word(meta.text, "noindex");
		*ret_nofollow |= has_word(meta.text, "nofollow");
	}
}

static void page_contribute(struct reap_job *job, const struct attrs *body)
{
	for (size_t i = 0; i < body->n; i++) {
		char name = body->a[i].name;
		struct doc_link link;
		if ((name == 'R' || name == 'F') && link_parse(name, body->a[i].value, &link) &&
		    !link.flags)
			reap_contribute(job, link.url, 0);
	}
}

/* Its links count as if they had been found now: what they lead to may have been forgotten. */
static void page_contribute_old(struct reap_job *job)
{
	struct attrs header, body;
	struct err err;
	bool noindex, nofollow;
	if (bucket_decode(job->reap->packer, job->old.type, job->old.data, &job->arena, &header,
			  &body, &err) < 0)
		return; /* what cannot be read any more has no links */
	page_directives(&body, &noindex, &nofollow);
	if (!nofollow)
		page_contribute(job, &body);
}

/* It is as it was: told so, unless it asks not to be indexed any more. */
static void reap_unchanged(struct reap_job *job, const struct robot_head *head)
{
	bool noindex = head->tag.set & 1u << ROBOT_NOINDEX;
	struct verdict v = {.op = CHANGE_REFRESH,
			    .type = ITEM_GATHERED,
			    .code = head->status == 304 ? CODE_NOT_MODIFIED : CODE_SAME};
	if (noindex)
		reap_judge_noindex(&job->entry, job->reap->o.conf, &v);
	if (!(head->tag.set & 1u << ROBOT_NOFOLLOW))
		page_contribute_old(job);
	reap_tell(job, &v, ITEM_NOWHERE);
	reap_count(job->reap, noindex ? REAP_NOINDEX : REAP_UNCHANGED, 1);
	reap_job_done(job);
}

static void reap_parse(struct reap_job *job);

/* A document came: it is compared, read, kept and told. */
static void reap_document(struct reap_job *job, const struct robot_result *result)
{
	const struct robot_head *head = result->head;
	char md5[33];
	memcpy(job->sum, result->md5, sizeof job->sum);
	hex_print(result->md5, sizeof result->md5, md5);
	if (str_eq(job->md5, str_of(md5))) {
		reap_unchanged(job, head);
		return;
	}
	page_make_header(job, result, md5);
	if (head->mime[0])
		job->content_type =
			str_of(arena_printf(&job->arena, "%s%s%s", head->mime,
					    head->charset[0] ? "; charset=" : "", head->charset));
	job->robots = page_robots_of(&head->tag);
	reap_parse(job);
}

static void reap_parsed(struct reap_job *job, const struct attrs *body)
{
	struct reap *r = job->reap;
	bool noindex, nofollow, old = job->entry.flags & PLAN_REFRESH;
	struct verdict v = {.op = CHANGE_UPDATE, .type = ITEM_GATHERED, .code = CODE_OK};
	uint32_t oid;
	struct err err;
	uint64_t where = ITEM_NOWHERE;
	page_directives(body, &noindex, &nofollow);
	if (!nofollow)
		page_contribute(job, body);
	if (noindex) {
		reap_judge_noindex(&job->entry, r->o.conf, &v);
	} else if (bucket_put(r->buckets, r->packer, &job->header, body, &oid, &err) == 0) {
		where = oid;
	} else if (err.code == ERR_USAGE) { /* too large to be kept: as if it were not there */
		v.type = ITEM_ZOMBIE;
		v.code = CODE_TOO_LARGE;
		v.op = old ? CHANGE_DELETE : CHANGE_NONE;
		snprintf(v.reason, sizeof v.reason, "%.190s", err.msg);
	} else {
		reap_fail(r, &err);
	}
	reap_tell(job, &v, where);
	reap_count(r, noindex ? REAP_NOINDEX : old ? REAP_CHANGED : REAP_NEW, 1);
	reap_job_done(job);
}

/* Parsers */

static void parse_done(void *ctx, const struct cage_result *result)
{
	struct reap_job *job = ctx;
	struct reap *r = job->reap;
	r->parsing--;
	if (result->end != CAGE_READ)
		reap_count(r, REAP_UNREAD, 1);
	reap_parsed(job, &result->attrs);
}

/* As many of those that wait as there are slots. */
static void parse_submit(struct reap *r)
{
	struct cage_slot *slot;
	while (!list_is_empty(&r->to_parse) && cage_take(r->cage, &slot) == 0) {
		struct reap_job *job = LIST_FIRST(struct reap_job, &r->to_parse, waiting);
		list_remove(&job->waiting);
		struct extract_job what = {
			.url = job->url,
			.content_type = job->content_type,
			.robots = job->robots,
			.body = {slot->body, MIN(job->body.n, slot->body_max)},
			.settings = r->o.parse->settings,
		};
		if (what.body.n)
			memcpy(slot->body, job->body.p, what.body.n);
		buf_free(&job->body);
		cage_submit(r->cage, slot, &what, parse_done, job, clock_mono_us());
	}
}

/* Has the body read; reap_parsed() is called in the end. */
static void reap_parse(struct reap_job *job)
{
	struct reap *r = job->reap;
	r->parsing++;
	list_append(&r->to_parse, &job->waiting);
	parse_submit(r);
}

static void parse_ready(void *ctx, unsigned what)
{
	struct reap *r = ctx;
	(void)what;
	cage_poll(r->cage, clock_mono_us());
	parse_submit(r);
}

static int reap_parsers_open(struct reap *r, struct err *err)
{
	struct cage_options options = *r->o.parse;
	options.workers = (unsigned)r->o.conf->parsers;
	options.body_max = r->o.robot->robot.limits.body;
	if (cage_new(&r->cage, &options, clock_mono_us(), err) < 0)
		return -1;
	r->cage_io = (struct loop_io){.fn = parse_ready, .ctx = r};
	loop_io_want(r->o.loop, &r->cage_io, cage_fd(r->cage), LOOP_READ);
	return 0;
}

static void reap_parsers_close(struct reap *r)
{
	loop_io_end(&r->cage_io);
	cage_free(&r->cage);
}

/* Nothing of what is being read is told any more. */
static void reap_parsers_cancel(struct reap *r)
{
	struct err err;
	LIST_EACH (struct reap_job, job, &r->to_parse, waiting)
		list_remove(&job->waiting);
	if (cage_under_way(r->cage) == 0)
		return;
	reap_parsers_close(r);
	if (reap_parsers_open(r, &err) < 0)
		reap_fail(r, &err);
}

/* Jobs */

static int job_load(struct reap_job *job, struct err *err)
{
	struct reap *r = job->reap;
	struct bucket bucket = {0};
	struct attrs header;
	if (job->asked)
		return 0; /* its URL came with it */
	int rc = job->entry.where < BUCKET_SPECIAL
			 ? bucket_read(r->buckets, (uint32_t)job->entry.where, &bucket, err)
			 : 1;
	if (rc < 0)
		return -1;
	if (rc > 0)
		return err_set(err, ERR_DAMAGED, "bucket %llx is not there",
			       (unsigned long long)job->entry.where);
	bucket.data = arena_str(&job->arena, bucket.data);
	if (bucket_header(bucket.type, bucket.data, &job->arena, &header, NULL, err) < 0)
		return -1;
	job->old = bucket;
	job->url = attrs_get(&header, 'U');
	if (!job->url.n) { /* of the oldest version: all of it is body */
		struct attrs body;
		if (bucket_decode(r->packer, bucket.type, bucket.data, &job->arena, &header, &body,
				  err) < 0)
			return -1;
		job->url = attrs_get(&body, 'U');
	}
	if (job->entry.flags & PLAN_REFRESH)
		job->md5 = attrs_get(&header, REAP_MD5);
	if (job->entry.flags & PLAN_REFRESH && !(job->entry.item_flags & ITEM_REGATHER)) {
		job->etag = attrs_get(&header, REAP_ETAG);
		job->last_modified = attrs_get(&header, REAP_LAST_MODIFIED);
	}
	return job->url.n ? 0 : err_set(err, ERR_DAMAGED, "a bucket without URL");
}

/* How its server may be asked: by the plan where the server is known, else by the rules for the
 * site. */
static struct polite_rule job_rule(const struct reap *r, struct str text, uint64_t site)
{
	struct polite_rule rule = {.delay_us = r->crawl->delay_us,
				   .concurrent = r->crawl->concurrent};
	const uint32_t *number = known_sites_get(&r->known, site);
	char room[URL_MAX];
	struct url url;
	if (number && *number != UINT32_MAX) {
		const struct server *server = servers_at(r->servers, *number);
		return (struct polite_rule){server->delay_us, server->max_conn, server->exempt};
	}
	if (url_parse(text, NULL, room, sizeof room, &url) != 0)
		return rule;
	struct filter_where where = {.known = true};
	struct filter_site f;
	filter_site(r->crawl->filter, url_site(&url), &where, &f);
	if (f.line[FILTER_MIN_DELAY])
		rule.delay_us = f.min_delay_us;
	rule.exempt = f.line[FILTER_MIN_DELAY] == FILTER_BY_NO_DELAY;
	if (f.line[FILTER_MAX_CONN])
		rule.concurrent = f.max_conn;
	return rule;
}

/* Whether its server is asked otherwise than most. The robot has to know of longer delays, too: the
 * queue forgets when it was asked last in the cycle before, and before it had a queue key. */
static bool job_has_rule(const struct reap_job *job)
{
	const struct crawl *c = job->reap->crawl;
	return job->rule.delay_us != c->delay_us || job->rule.concurrent != c->concurrent ||
	       job->rule.exempt;
}

/* Whether the rules take a URL that is about to be asked for. */
static bool job_is_rejected(const struct reap_job *job)
{
	char room[URL_MAX];
	struct url url;
	struct filter_url verdict;
	struct filter_where where = reap_where(job->reap, job->entry.fp.site, true);
	if (!job->url.n || url_parse(job->url, NULL, room, sizeof room, &url) != 0)
		return false;
	filter_url(job->reap->crawl->filter, &url, STR(""), &where, &verdict);
	return verdict.reject && !(job->entry.item_flags & ITEM_INITIAL);
}

/* It ends without its server having been asked. */
static void job_unasked(struct reap_job *job, struct verdict *v)
{
	if (!job->url.n)
		v->op = CHANGE_NONE; /* nobody could be told what is gone */
	hostq_unasked(job->reap->queue, &job->out);
	reap_tell(job, v, ITEM_NOWHERE);
	reap_job_done(job);
}

static void job_fetched(void *ctx, const struct robot_result *result);

static void job_begin(struct reap *r, const struct hostq_job *out)
{
	struct reap_job *job = mem_alloc(sizeof *job);
	struct err err;
	*job = (struct reap_job){
		.reap = r,
		.out = *out,
		.arena = ARENA_INIT(64 << 20),
		.body = BUF_INIT(r->o.robot->robot.limits.body),
	};
	list_append(&r->jobs, &job->link);
	r->out++;
	r->begun++;
	ENSURE(out->payload.n >= sizeof job->entry);
	memcpy(&job->entry, out->payload.p, sizeof job->entry);
	job->asked = out->payload.n > sizeof job->entry;
	job->url = arena_str(&job->arena, str_from(out->payload, sizeof job->entry));
	job->sink = robot_memory_sink(&job->body, false);
	int rc = job_load(job, &err);
	if (rc == 0 && job_is_rejected(job)) {
		struct verdict v;
		reap_judge_rejected(&job->entry, r->o.conf, &v);
		job_unasked(job, &v);
		return;
	}
	job->rule = job_rule(r, job->url, job->entry.fp.site);
	struct robot_job fetch = {
		.url = job->url,
		.etag = job->etag,
		.last_modified = job->last_modified,
		.rule = job_has_rule(job) ? &job->rule : NULL,
		.sink = &job->sink.sink,
		.flags = ROBOT_NO_FOLLOW | ROBOT_NO_SHA256,
		.patience_us = r->crawl->cycle_us,
	};
	if (hostq_waiting(r->queue, out->key) && job->rule.delay_us <= r->o.robot->robot.keep_us)
		fetch.flags |= ROBOT_KEEP;
	if (rc == 0)
		rc = robot_fetch(r->kit.robot, &fetch, job_fetched, job, &err);
	if (rc < 0 && err.code == ERR_SYSTEM) { /* it may go well another time */
		reap_fail(r, &err);
		hostq_unasked(r->queue, &job->out);
		job_free(job);
	} else if (rc < 0) {
		/* Neither URL nor bucket will get better: it is not tried again. */
		struct verdict v;
		reap_judge_lost(&job->entry, r->o.conf, err.msg, &v);
		job_unasked(job, &v);
	}
}

static bool reap_has_room(const struct reap *r)
{
	uint64_t most = (uint64_t)r->o.robot->robot.at_once;
	uint64_t load = r->out + (PARSE_COUNTS - 1) * r->parsing;
	return r->parsing < PARSE_QUEUE && r->out < OUT_MOST && r->out - r->parsing < most &&
	       load < MAX(most, (uint64_t)PARSE_QUEUE);
}

/* Keeps the time in which there was no room for another request: by it is known how fast reaping
 * can be, whatever the delays of servers. */
static void reap_note_full(struct reap *r, bool full)
{
	int64_t now_us = loop_now_us(r->o.loop);
	if (!full && r->full_since_us)
		r->full_us += now_us - r->full_since_us;
	if (!full || !r->full_since_us)
		r->full_since_us = full ? now_us : 0;
}

static void reap_pump(void *ctx)
{
	struct reap *r = ctx;
	struct hostq_job out;
	struct err err;
	int64_t wait_us = INT64_MAX;
	int rc = 0;
	while (!r->stopping && !r->held && !(r->careful && r->begun) && reap_has_room(r) &&
	       (rc = hostq_take(r->queue, loop_now_us(r->o.loop), &out, &wait_us, &err)) == 0)
		job_begin(r, &out);
	reap_note_full(r, r->held || !reap_has_room(r));
	if (rc < 0)
		reap_fail(r, &err);
	else if (rc == 1 && wait_us != INT64_MAX)
		loop_timer_in(r->o.loop, &r->wake, wait_us);
	if (r->left == 0 || (r->stopping && r->out == 0))
		loop_stop(r->o.loop);
}

/* What a redirect hands on: a URL that was given by hand may lead to another host in two steps, as
 * http://a/ to https://a/ to https://www.a/; what comes after is a link like any other, or a chain
 * without end would be sacred without end. */
static unsigned leads_with(unsigned flags)
{
	switch (flags & CRAWL_ADMITS) {
	case ITEM_INITIAL:
		return ITEM_INITIAL | ITEM_EQUIV;
	case ITEM_INITIAL | ITEM_EQUIV:
		return ITEM_EQUIV;
	default:
		return 0;
	}
}

static void job_fetched(void *ctx, const struct robot_result *result)
{
	struct reap_job *job = ctx;
	struct reap *r = job->reap;
	int64_t now_us = loop_now_us(r->o.loop);
	struct verdict v;
	if (result->cause == ROBOT_CAUSE_STOPPED || r->err.code != ERR_NONE) {
		job_free(job);
		return;
	}
	if (result->cause == ROBOT_CAUSE_NOT_NOW) {
		hostq_put_back(r->queue, &job->out, now_us + result->not_now_us);
		r->begun--; /* it was not asked for */
		job_free(job);
		loop_later(r->o.loop, &r->pump);
		return;
	}
	if (result->cause == ROBOT_CAUSE_TABLE) {
		struct err err;
		err_set(&err, ERR_SYSTEM, "%s", result->why);
		reap_fail(r, &err);
	}
	job->qkey = result->addr.family ? kit_qkey(&result->addr)
		    : result->outcome == OUTCOME_SITE_PERMANENT
			    ? qkey_special(QKEY_NONEXISTENT, hash_u64(job->entry.fp.site), 0)
			    : 0;
	job->download_ms = (uint32_t)(result->times.first_us / 1000);
	job->wall_us = clock_wall_us();
	if (result->times.start_us)
		hostq_done(r->queue, &job->out, result->outcome, now_us);
	else
		hostq_unasked(r->queue, &job->out);
	reap_judge(result, &job->entry, r->o.conf, job->wall_us, &v);
	if (v.parse) {
		reap_count(r, REAP_BYTES, result->size);
		reap_document(job, result);
		return;
	}
	if (v.op == CHANGE_REFRESH) {
		reap_unchanged(job, result->head);
		return;
	}
	if (v.leads_on)
		reap_contribute(job, result->location, leads_with(job->entry.item_flags));
	reap_tell(job, &v, ITEM_NOWHERE);
	reap_count(r,
		   result->outcome == OUTCOME_REDIRECT
			   ? REAP_ELSEWHERE
			   : REAP_FAILED + (result->outcome - OUTCOME_TEMPORARY),
		   1);
	reap_job_done(job);
}

/* What an earlier run over the same state has done is not done again. */
static int reap_load_done(struct reap *r, struct state *st, struct err *err)
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
		if (e.op == CHANGE_DELETE || e.op == CHANGE_UPDATE)
			*fps_put(&r->gone, e.fp) = e.op == CHANGE_DELETE;
	}
	record_reader_free(&in);
	return rc < 0 ? -1 : 0;
}

/* Which class of its queue a URL is in: by its priority; what failed before comes last, so that the
 * pauses after trouble hold up nothing else. */
static unsigned entry_class(const struct plan_entry *e)
{
	return e->retry ? HOSTQ_PRIORITIES - 1 : 255 - (e->priority >> 24);
}

static qkey reap_key(qkey key, uint64_t site)
{
	bool asked = key && qkey_kind(key) == QKEY_RESOLVED;
	return asked ? key : qkey_special(QKEY_UNRESOLVED, hash_u64(site), 0);
}

/* A URL that somebody asks for joins the queues at once, unless it waits there because it was asked
 * for before. It is a contribution too, so that it is known even if its turn does not come. A
 * requests_fn. */
static int reap_ask(void *ctx, struct str line, struct err *err)
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
	struct seen *awaited = seen_slot(&r->awaited, fp);
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
	const uint32_t *number = known_sites_get(&r->known, fp.site);
	qkey key = number && *number != UINT32_MAX ? servers_at(r->servers, *number)->qkey : 0;
	if (!number)
		*known_sites_put(&r->known, fp.site) = UINT32_MAX;
	if (hostq_push(r->queue, reap_key(key, fp.site), 0, buf_str(&payload), 0, err) < 0)
		return -1;
	*awaited = (struct seen){fp};
	r->asked += !known;
	r->left++;
	loop_later(r->o.loop, &r->pump);
	return 0;
}

/* The plan goes into the queues. One that is damaged, which recovery and garner check name, ends
 * there: the next cycle plans anew. */
static int reap_fill(struct reap *r, struct state *st, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	struct plan_reader *in;
	struct plan_site site;
	int rc = plan_open(&in, state_path(st, &arena, "plan"), err);
	r->lost_plan = rc < 0;
	if (rc != 0)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
	while ((rc = plan_next(in, &arena, &site, err)) == 0) {
		qkey key = reap_key(site.qkey, site.fp);
		for (size_t i = 0; i < site.n; i++) {
			struct str payload = {(const char *)&site.entry[i], sizeof site.entry[i]};
			if (fps_get(&r->done, site.entry[i].fp))
				continue;
			unsigned class = entry_class(&site.entry[i]);
			if (hostq_push(r->queue, key, class, payload, 0, err) < 0) {
				rc = -1;
				break;
			}
			r->left++;
		}
		const uint32_t *number = known_sites_get(&r->known, site.fp);
		if (number && *number != UINT32_MAX) {
			const struct server *server = servers_at(r->servers, *number);
			struct polite_rule rule = {.delay_us = server->delay_us,
						   .concurrent = server->max_conn};
			hostq_set_rule(r->queue, key, &rule);
		}
		if (rc < 0)
			break;
		arena_clear(&arena);
	}
	plan_close(&in);
	r->lost_plan = rc < 0;
	return rc < 0 && err->code != ERR_DAMAGED ? -1 : 0;
}

/* Checkpoints. */

static int reap_checkpoint(struct reap *r, struct err *err)
{
	if (r->o.requests && r->o.requests(r->o.ctx, reap_ask, r, err) < 0)
		return -1;
	FAULT("reap.checkpoint");
	int64_t now_us = clock_wall_us();
	/* every bucket has its journal entry: servers may be slow, and disks want to sleep */
	if (state_grown(r->state)) {
		if (state_checkpoint(r->state, r->buckets, now_us, err) < 0)
			return -1;
		reap_count(r, REAP_CHECKPOINTS, 1);
		if (r->careful && r->begun) {
			r->careful = false;
			loop_later(r->o.loop, &r->pump);
		}
	}
	r->offered_us = r->kept_us;
	r->kept_us = now_us;
	FAULT("reap.checked");
	if (r->o.kept)
		r->o.kept(r->o.ctx);
	reap_gauges(r);
	return 0;
}

static void reap_tick(void *ctx)
{
	struct reap *r = ctx;
	struct err err;
	if (reap_checkpoint(r, &err) < 0)
		reap_fail(r, &err);
}

/* Nothing new is begun while a follower has not taken what the checkpoint before the last gave it,
 * nor while there is no room to keep it. */
static void reap_look(void *ctx)
{
	struct reap *r = ctx;
	int64_t behind_us = state_behind_us(r->state, r->offered_us, clock_wall_us());
	bool was_held = r->held;
	r->held = (behind_us > 0 && behind_us < AWAY_US) || (r->o.full && r->o.full(r->o.ctx));
	if (was_held && !r->held)
		loop_later(r->o.loop, &r->pump);
	if (!r->stopping && crawl_file_is_full(r->crawl->conf, bucket_length(r->buckets)))
		reap_stop(r); /* it has to be cleaned first */
}

/* First nothing new begins, then nothing is waited for any more. */
static void reap_time_up(void *ctx)
{
	struct reap *r = ctx;
	if (r->stopping)
		loop_stop(r->o.loop);
	else
		reap_stop(r);
}

void reap_stop(struct reap *r)
{
	r->stopping = true;
	if (r->state) {
		loop_later(r->o.loop, &r->pump);
		loop_timer_in(r->o.loop, &r->end, GRACE_US);
	}
}

const struct err *reap_lost(const struct reap *r)
{
	return robots_cache_lost(r->kit.robots);
}

void reap_be_careful(struct reap *r)
{
	r->careful = true;
}

const struct state *reap_state(const struct reap *r)
{
	return r->state;
}

int reap_new(struct reap **ret, const struct reap_options *options, struct err *err)
{
	struct reap *r = mem_alloc(sizeof *r);
	r->o = *options;
	list_init(&r->jobs);
	list_init(&r->to_parse);
	r->pump = (struct loop_later){.fn = reap_pump, .ctx = r};
	r->wake = (struct loop_timer){.fn = reap_pump, .ctx = r};
	r->tick = (struct loop_timer){.fn = reap_tick, .ctx = r};
	r->end = (struct loop_timer){.fn = reap_time_up, .ctx = r};
	r->look = (struct loop_timer){.fn = reap_look, .ctx = r};
	if (kit_open(&r->kit, options->loop, options->data, options->robot, err) < 0 ||
	    reap_parsers_open(r, err) < 0) {
		reap_free(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

void reap_free(struct reap **rp)
{
	struct reap *r = *rp;
	struct err err;
	if (!r)
		return;
	(void)kit_close(&r->kit, &err);
	if (r->cage)
		reap_parsers_close(r);
	loop_later_cancel(&r->pump);
	mem_free(&r->seen);
	mem_free(&r->awaited);
	mem_free(rp);
}

/* Everything that is still out goes back: it was neither told nor kept. */
static void reap_clear(struct reap *r)
{
	struct err err;
	reap_parsers_cancel(r);
	if (!list_is_empty(&r->jobs)) {
		robot_free(&r->kit.robot);
		LIST_EACH (struct reap_job, job, &r->jobs, link)
			job_free(job);
		if (kit_robot(&r->kit, r->o.robot, &err) < 0)
			reap_fail(r, &err);
	}
	loop_timer_stop(&r->wake);
	loop_timer_stop(&r->tick);
	loop_timer_stop(&r->end);
	loop_timer_stop(&r->look);
	loop_later_cancel(&r->pump);
	hostq_free(&r->queue);
	bucket_packer_free(&r->packer);
	servers_free(&r->servers);
	known_sites_free(&r->known);
	fps_free(&r->gone);
	r->left = r->parsing = 0;
	r->state = NULL;
	r->buckets = NULL;
	reap_gauges(r);
}

/* Sites by their footprints, a few bytes each. */
static int reap_load_sites(struct reap *r, struct state *st, struct err *err)
{
	CLEANUP(sites_scan_free) struct sites_scan *scan = NULL;
	struct server room;
	struct site site;
	if (servers_load(&r->servers, st, r->crawl, err) < 0)
		return -1;
	int rc = state_sites_scan(st, &scan, err);
	while (rc == 0 && (rc = sites_scan_next(scan, &site, err)) == 0)
		*known_sites_put(&r->known, site.fp) = servers_of(r->servers, &site, &room)->number;
	return MIN(rc, 0);
}

/* Queues, sites and packer for the run. */
static int reap_begin(struct reap *r, struct state *st, const struct crawl *c, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct hostq_options queue = {
		.rule = {.delay_us = c->delay_us, .concurrent = c->concurrent},
		.folder = state_path(st, &arena, "."),
	};
	r->state = st;
	r->buckets = c->buckets;
	r->crawl = c;
	r->err = (struct err){0};
	r->held = r->o.full && r->o.full(r->o.ctx);
	r->begun = r->done_now = r->asked = 0;
	r->full_since_us = r->full_us = 0;
	r->packer = bucket_packer_new(bucket_dict_path(&arena, bucket_path(c->buckets)));
	mem_free(&r->seen); /* what was contributed in another cycle may be forgotten since */
	mem_free(&r->awaited);
	int rc = hostq_new(&r->queue, &queue, err);
	if (rc == 0)
		rc = reap_load_sites(r, st, err);
	if (rc == 0)
		rc = reap_load_done(r, st, err);
	if (rc == 0)
		rc = reap_fill(r, st, err);
	fps_free(&r->done);
	return rc;
}

int reap_run(struct reap *r, struct state *st, const struct crawl *c, struct reaped *ret,
	     struct err *err)
{
	int64_t from_us = clock_mono_us();
	int rc = reap_begin(r, st, c, err);
	if (rc == 0) /* from here on the state is rolled back, not deleted */
		rc = reap_checkpoint(r, err);
	if (rc == 0 && !r->stopping && r->left) {
		loop_timer_every(r->o.loop, &r->tick, CHECKPOINT_US);
		loop_timer_every(r->o.loop, &r->look, LOOK_US);
		loop_timer_in(r->o.loop, &r->end, c->cycle_us);
		loop_later(r->o.loop, &r->pump);
		rc = loop_run(r->o.loop, err);
	}
	if (rc == 0 && r->err.code != ERR_NONE) {
		*err = r->err;
		rc = -1;
	}
	if (rc == 0)
		rc = reap_checkpoint(r, err);
	reap_note_full(r, false);
	*ret = (struct reaped){.done = r->done_now,
			       .left = r->left + r->lost_plan,
			       .took_us = clock_mono_us() - from_us,
			       .full_us = r->full_us,
			       .asked = r->asked};
	reap_clear(r);
	r->stopping = false;
	return rc;
}
