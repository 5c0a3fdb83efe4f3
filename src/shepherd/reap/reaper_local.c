/* The local reaper. A job goes to the robot, what it brings to the parsers, what they make of it to
 * the packer; the answer is given when the last of them is done. The bytes of a document lie
 * in memory until a parser has them: so the parsers' lag decides how many jobs there is room for.
 */
#include "shepherd/reap/reaper_local.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "bucket/bucket_attrs.h"
#include "extract/cage.h"
#include "shepherd/crawl.h"
#include "shepherd/reap/reap_sitemap.h"
#include "shepherd/reap/reaper_links.h"

#include <string.h>

/* The most documents that may wait for the parsers before fetching stops. Each one that waits
 * counts as several requests, so that fewer begin the further the parsers lag. */
enum { PARSE_QUEUE = 256, PARSE_COUNTS = 8, OUT_MOST = 100000 };

/* What a packed bucket may leave allocated for the next one. */
enum { PACKED_KEPT = 1 << 20 };

struct local {
	struct reaper reaper;
	struct reaper_local_options o;
	struct cage_options parse;
	struct cage *cage;
	struct loop_io cage_io;
	struct bucket_packer *packer;
	struct reaper_links *links;
	struct buf packed;
	struct link jobs;         /* all that are out */
	struct arena_pool arenas; /* of jobs that are done */
	struct link to_parse;     /* those that wait for a parser */
	uint64_t parsing;         /* those that wait for one, or are with one */
};

struct local_job {
	struct link link;    /* in local.jobs */
	struct link waiting; /* in local.to_parse, or in none */
	struct local *local;
	bool cancelled;
	int64_t from_us; /* on the loop's clock */
	struct arena arena;
	struct reaper_job job; /* its texts lie in the arena */
	struct buf body;
	struct robot_memory_sink sink;
	struct attrs header;
	struct str content_type, robots;
	struct reaper_answer answer;
	int64_t sent_us; /* when its server was asked; 0: it was not */
};

static struct local *local_of(struct reaper *r)
{
	return LIST_OF(struct local, r, reaper);
}

static void job_free(struct local_job *job)
{
	struct local *l = job->local;
	list_remove(&job->link);
	list_remove(&job->waiting);
	l->reaper.counts.out--;
	buf_free(&job->body);
	arena_give(&job->arena, &l->arenas);
	mem_free(&job);
}

static int64_t job_took_us(const struct local_job *job)
{
	return loop_now_us(job->local->o.kit->loop) - job->from_us;
}

/* The end of a job. What its owner does in return may be anything but to free the reaper. */
static void job_answer(struct local_job *job)
{
	struct local *l = job->local;
	const struct reaper_host *host = l->reaper.host;
	if (job->sent_us)
		job->answer.ago_us = MAX(clock_mono_us() - job->sent_us, 0);
	if (!job->cancelled) {
		reaper_count(&l->reaper, &job->answer, job_took_us(job));
		host->done(host->ctx, &l->reaper, &job->answer);
	}
	job_free(job);
	if (l->packed.n > PACKED_KEPT)
		buf_free(&l->packed);
	host->room(host->ctx, &l->reaper);
}

static void local_fail(struct local *l, const struct err *err)
{
	l->reaper.host->failed(l->reaper.host->ctx, &l->reaper, err);
}

/* Documents */

/* The header of the bucket that the document will have. */
static void doc_make_header(struct local_job *job, const struct robot_result *result,
			    const char *md5)
{
	struct arena *arena = &job->arena;
	struct attrs *h = &job->header;
	const struct robot_head *head = result->head;
	attrs_add(h, arena, 'O', crawl_digits(job->job.fp, arena));
	attrs_add(h, arena, 'U', job->job.url);
	attrs_add(h, arena, 'D', crawl_number(arena, job->answer.ended_s));
	attrs_add(h, arena, 'J', crawl_number(arena, job->answer.ended_s));
	if (result->last_modified_us >= 0)
		attrs_add(h, arena, 'L', crawl_number(arena, result->last_modified_us / US_PER_S));
	if (head->etag[0])
		attrs_add(h, arena, REAPER_ETAG, arena_str(arena, str_of(head->etag)));
	if (head->last_modified[0])
		attrs_add(h, arena, REAPER_LAST_MODIFIED,
			  arena_str(arena, str_of(head->last_modified)));
	attrs_add(h, arena, REAPER_MD5, arena_str(arena, str_of(md5)));
}

/* Packs the bucket of the answer. */
static void doc_pack(struct local_job *job, const struct attrs *body)
{
	struct local *l = job->local;
	struct reaper_answer *a = &job->answer;
	struct err err;
	buf_clear(&l->packed);
	if (bucket_encode(l->packer, &job->header, body, &l->packed, &a->bucket_type, &err) == 0) {
		a->bucket = buf_str(&l->packed);
		a->downloaded_s = a->changed_s = a->ended_s;
	} else if (err.code == ERR_USAGE) { /* too large to be kept: as if it were not there */
		a->code = CODE_TOO_LARGE;
		a->text = arena_str(&job->arena, str_of(err.msg));
	} else {
		local_fail(l, &err);
		job->cancelled = true;
	}
}

static struct str robots_words(const struct reaper_answer *a)
{
	return a->noindex && a->nofollow ? STR("noindex,nofollow")
	       : a->noindex              ? STR("noindex")
	       : a->nofollow             ? STR("nofollow")
					 : STR("");
}

/* A page or a sitemap was read. */
static void doc_parsed(struct local_job *job, const struct attrs *body)
{
	struct local *l = job->local;
	struct reaper_answer *a = &job->answer;
	bool noindex, nofollow;
	if (job->job.what == REAPER_SITEMAP) {
		a->links = reap_sitemap_links(body, job->job.now_s, &job->arena, &a->link);
		job_answer(job);
		return;
	}
	reaper_directives(body, &noindex, &nofollow);
	a->noindex |= noindex;
	a->nofollow |= nofollow;
	if (!a->nofollow)
		a->links = reaper_links_of(l->links, body, job->job.fp, &job->arena, &a->link);
	if (a->noindex)
		a->code = CODE_NOINDEX;
	else
		doc_pack(job, body);
	job_answer(job);
}

/* A robots.txt is kept as it came. */
static void doc_keep_raw(struct local_job *job)
{
	struct attrs body = {0};
	job->answer.body = buf_str(&job->body);
	reaper_raw_body(job->answer.type, job->answer.body, &job->arena, &body);
	doc_pack(job, &body);
	job_answer(job);
}

/* Parsers */

static void parse_done(void *ctx, const struct cage_result *result)
{
	struct local_job *job = ctx;
	job->local->parsing--;
	job->answer.unread = result->end != CAGE_READ;
	doc_parsed(job, &result->attrs);
}

/* As many of those that wait as there are slots. */
static void parse_submit(struct local *l)
{
	struct cage_slot *slot;
	while (!list_is_empty(&l->to_parse) && cage_take(l->cage, &slot) == 0) {
		struct local_job *job = LIST_FIRST(struct local_job, &l->to_parse, waiting);
		list_remove(&job->waiting);
		struct extract_job what = {
			.url = job->job.url,
			.content_type = job->content_type,
			.robots = job->robots,
			.body = {slot->body, MIN(job->body.n, slot->body_max)},
			.settings = l->parse.settings,
		};
		if (what.body.n)
			memcpy(slot->body, job->body.p, what.body.n);
		buf_free(&job->body);
		cage_submit(l->cage, slot, &what, parse_done, job, clock_mono_us());
	}
}

static void parse_ready(void *ctx, unsigned what)
{
	struct local *l = ctx;
	(void)what;
	cage_poll(l->cage, clock_mono_us());
	parse_submit(l);
}

static int parsers_open(struct local *l, struct err *err)
{
	if (cage_new(&l->cage, &l->parse, clock_mono_us(), err) < 0)
		return -1;
	l->cage_io = (struct loop_io){.fn = parse_ready, .ctx = l};
	loop_io_want(l->o.kit->loop, &l->cage_io, cage_fd(l->cage), LOOP_READ);
	return 0;
}

static void parsers_close(struct local *l)
{
	if (!l->cage)
		return;
	loop_io_end(&l->cage_io);
	cage_free(&l->cage);
}

/* Answers of servers */

/* A document came: it is compared, read and packed. */
static void local_document(struct local_job *job, const struct robot_result *result)
{
	const struct robot_head *head = result->head;
	struct local *l = job->local;
	char md5[33];
	hex_print(result->md5, sizeof result->md5, md5);
	if (str_eq(job->job.md5, str_of(md5))) {
		job->answer.code = CODE_SAME;
		job_answer(job);
		return;
	}
	doc_make_header(job, result, md5);
	if (job->job.what == REAPER_ROBOTS) {
		doc_keep_raw(job);
		return;
	}
	if (head->mime[0])
		job->content_type =
			str_of(arena_printf(&job->arena, "%s%s%s", head->mime,
					    head->charset[0] ? "; charset=" : "", head->charset));
	job->robots = robots_words(&job->answer);
	l->parsing++;
	list_append(&l->to_parse, &job->waiting);
	parse_submit(l);
}

/* From the first byte of the request to the last of the answer, in ms, rounded up; 0: not asked. */
static uint32_t transfer_ms(const struct robot_result *result)
{
	int64_t took_us = result->sent_us ? clock_mono_us() - result->sent_us : 0;
	return (uint32_t)MIN((took_us + US_PER_MS - 1) / US_PER_MS, UINT32_MAX);
}

/* What is known when the robot is done. */
static void answer_fill(struct local_job *job, const struct robot_result *result)
{
	const struct robot_head *head = result->head;
	struct arena *arena = &job->arena;
	bool not_now = result->cause == ROBOT_CAUSE_NOT_NOW;
	struct reaper_answer *a = &job->answer;
	*a = (struct reaper_answer){
		.id = job->job.id,
		.code = not_now ? 0 : code_of(result->outcome, result->cause, head->status),
		.text = arena_str(arena, str_of(result->why)),
		.url = job->job.url,
		.status = (uint16_t)head->status,
		.key = result->addr.family ? kit_qkey(&result->addr) : 0,
		.ago_us = -1,
		.download_ms = transfer_ms(result),
		.ended_s = not_now ? 0 : job->job.now_s + job_took_us(job) / US_PER_S,
		.retry_after_us =
			robot_obeys_retry(head->status) ? MAX(head->retry_after_us, 0) : 0,
		.not_now_us = not_now ? MAX(result->not_now_us, 1) : 0,
		.location = arena_str(arena, result->location),
		.type = arena_str(arena, str_of(head->mime)),
		.bytes = result->size,
		.noindex = head->tag.set & 1u << ROBOT_NOINDEX,
		.nofollow = head->tag.set & 1u << ROBOT_NOFOLLOW,
	};
	memcpy(a->md5, result->md5, sizeof a->md5);
	job->sent_us = result->sent_us;
	/* to connect in vain is to ask, too */
	if (!job->sent_us && result->times.start_us)
		job->sent_us = clock_mono_us() - MAX(clock_wall_us() - result->times.start_us, 0);
}

static void local_fetched(void *ctx, const struct robot_result *result)
{
	struct local_job *job = ctx;
	struct err err;
	if (result->cause == ROBOT_CAUSE_STOPPED) {
		job_free(job);
		return;
	}
	if (result->cause == ROBOT_CAUSE_TABLE) {
		err_set(&err, ERR_SYSTEM, "%s", result->why);
		local_fail(job->local, &err);
		job->cancelled = true;
	}
	answer_fill(job, result);
	if (!job->cancelled && !job->answer.not_now_us && job->answer.code == CODE_OK)
		local_document(job, result);
	else
		job_answer(job);
}

/* The door */

static int local_begin(struct reaper *r, const char *dict_path, struct err *err)
{
	struct local *l = local_of(r);
	(void)err;
	bucket_packer_free(&l->packer);
	l->packer = bucket_packer_new(dict_path);
	return 0;
}

static uint64_t local_room(const struct reaper *r)
{
	const struct local *l = local_of((struct reaper *)r);
	uint64_t most = (uint64_t)l->o.robot->robot.at_once, out = r->counts.out;
	uint64_t load = out + (PARSE_COUNTS - 1) * l->parsing,
		 bound = MAX(most, (uint64_t)PARSE_QUEUE);
	if (l->parsing >= PARSE_QUEUE || out >= OUT_MOST || out - l->parsing >= most ||
	    load >= bound)
		return 0;
	return MIN(most - (out - l->parsing), bound - load);
}

/* The job, with all of its texts in memory of its own. */
static struct local_job *job_copy(struct local *l, const struct reaper_job *in)
{
	struct local_job *job = mem_alloc(sizeof *job);
	*job = (struct local_job){
		.local = l,
		.from_us = loop_now_us(l->o.kit->loop),
		.arena = arena_from(&l->arenas, 64 << 20),
		.job = *in,
		.body = BUF_INIT(in->limits.body),
	};
	job->job.url = arena_str(&job->arena, in->url);
	job->job.md5 = arena_str(&job->arena, in->md5);
	job->job.etag = job->job.last_modified = (struct str){0}; /* the robot's from here on */
	job->sink = robot_memory_sink(&job->body, in->what == REAPER_ROBOTS);
	return job;
}

/* Whether robots.txt of its site is known here. Where it is not, the crawl has judged alone: nobody
 * but reap asks sites for it. */
static bool job_has_rules(const struct local_job *job)
{
	const struct local *l = job->local;
	char room[URL_MAX], site[URL_SITE_MAX];
	struct robots_answer answer;
	struct url url;
	return l->o.robots && job->job.what != REAPER_ROBOTS &&
	       url_parse(job->job.url, NULL, room, sizeof room, &url) == 0 &&
	       robots_cache_known(l->o.kit->robots,
				  url_site_print(url_site(&url), site, sizeof site),
				  clock_wall_us(), &answer) == 0;
}

static int local_submit(struct reaper *r, const struct reaper_job *in,
			const struct reaper_rules *rules, struct err *err)
{
	struct local *l = local_of(r);
	(void)rules; /* reap has judged by them, or reapd has told them to the robot's cache */
	if (local_room(r) == 0)
		return 1;
	struct local_job *job = job_copy(l, in);
	struct robot_job fetch = {
		.url = job->job.url,
		.etag = in->etag,
		.last_modified = in->last_modified,
		.limits = &in->limits,
		.rule = &in->rule,
		.sink = &job->sink.sink,
		.flags = ROBOT_NO_FOLLOW | ROBOT_NO_SHA256,
		.patience_us = in->patience_us,
		.address = in->addr.family ? &in->addr : NULL,
	};
	if (in->keep)
		fetch.flags |= ROBOT_KEEP;
	if (in->what == REAPER_ROBOTS)
		fetch.flags |= ROBOT_CUT;
	if (!job_has_rules(job))
		fetch.flags |= ROBOT_NO_ROBOTS;
	list_append(&l->jobs, &job->link);
	r->counts.out++;
	if (robot_fetch(l->o.kit->robot, &fetch, local_fetched, job, err) < 0) {
		job_free(job);
		return -1;
	}
	r->counts.jobs++;
	return 0;
}

static void local_cancel(struct reaper *r, uint64_t id)
{
	LIST_EACH (struct local_job, job, &local_of(r)->jobs, link)
		if (job->job.id == id)
			job->cancelled = true;
}

int reaper_local_drop(struct reaper *r, struct err *err)
{
	struct local *l = local_of(r);
	bool reads = cage_under_way(l->cage) > 0;
	int rc = 0;
	if (list_is_empty(&l->jobs))
		return 0;
	if (reads)
		parsers_close(l);
	robot_free(&l->o.kit->robot);
	LIST_EACH (struct local_job, job, &l->jobs, link)
		job_free(job);
	l->parsing = 0;
	if (reads)
		rc = parsers_open(l, err);
	return rc == 0 ? kit_robot(l->o.kit, l->o.robot, err) : rc;
}

static void local_free(struct reaper **r)
{
	struct local *l = local_of(*r);
	parsers_close(l);
	robot_free(&l->o.kit->robot);
	LIST_EACH (struct local_job, job, &l->jobs, link)
		job_free(job);
	bucket_packer_free(&l->packer);
	reaper_links_free(&l->links);
	buf_free(&l->packed);
	arena_pool_free(&l->arenas);
	mem_free(&l);
	*r = NULL;
}

static const struct reaper_ops local_ops = {
	.kind = "local",
	.begin = local_begin,
	.room = local_room,
	.submit = local_submit,
	.cancel = local_cancel,
	.free = local_free,
};

int reaper_local_new(struct reaper **ret, const struct reaper_local_options *options,
		     struct err *err)
{
	struct local *l = mem_alloc(sizeof *l);
	l->reaper = (struct reaper){.ops = &local_ops, .host = options->host, .name = "local"};
	l->o = *options;
	l->parse = *options->parse;
	l->parse.workers = options->parsers;
	l->parse.body_max = options->robot->robot.limits.body;
	l->links = reaper_links_new();
	l->packed = BUF_INIT(BUCKET_DATA_MOST);
	l->packer = bucket_packer_new(NULL);
	list_init(&l->jobs);
	list_init(&l->to_parse);
	if (parsers_open(l, err) < 0) {
		struct reaper *r = &l->reaper;
		local_free(&r);
		return -1;
	}
	*ret = &l->reaper;
	return 0;
}
