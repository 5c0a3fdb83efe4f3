/* Jobs: from a URL to a result. For each hop a job goes through the same steps: resolve the name,
 * ask robots.txt, take a free request and a lease, make the request. Each step goes on at once or
 * is resumed by a callback. */
#include "fetch/robot.h"

#include "fetch/robot/robot_inner.h"
#include "fetch/robots.h"
#include "url/qkey.h"

#include <stdio.h>

/* Settings. */

static const struct value_spec specs[] = {
	ROBOT_SPECS(struct robot_section_conf, robot),
	DNS_SPECS(struct robot_section_conf, dns),
};

const struct config_section robot_section = {
	.name = "robot",
	.help = "How documents are fetched, by all roles and commands that do.",
	.size = sizeof(struct robot_section_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

/* Sinks. */

/* Memory. */

/* Most documents are smaller, and need not be copied while they grow. */
enum { MEMORY_FIRST = (32 << 10) - 64 };

static int memory_begin(struct robot_sink *s, const struct robot_head *head, struct err *err)
{
	struct buf *buf = ((struct robot_memory_sink *)s)->buf;
	(void)head, (void)err;
	buf_clear(buf);
	(void)buf_room(buf, MIN(buf->max, (size_t)MEMORY_FIRST));
	return 0;
}

static int memory_write(struct robot_sink *s, struct str bytes, struct err *err)
{
	struct robot_memory_sink *m = (struct robot_memory_sink *)s;
	buf_add_str(m->buf, m->cut ? str_head(bytes, m->buf->max - m->buf->n) : bytes);
	if (m->buf->over)
		return err_set(err, ERR_SYSTEM, "the body is larger than the %zu bytes kept for it",
			       m->buf->max);
	return 0;
}

static int memory_end(struct robot_sink *s, bool is_complete, struct err *err)
{
	(void)err;
	if (!is_complete)
		buf_clear(((struct robot_memory_sink *)s)->buf);
	return 0;
}

struct robot_memory_sink robot_memory_sink(struct buf *buf, bool cut)
{
	static const struct robot_sink_ops ops = {memory_begin, memory_write, memory_end};
	return (struct robot_memory_sink){{&ops}, buf, cut};
}

/* Files. */

static struct robot_file_sink *file_sink_of(struct robot_sink *s)
{
	return LIST_OF(struct robot_file_sink, s, sink);
}

int robot_file_begin(struct robot_sink *s, const struct robot_head *head, struct err *err)
{
	struct robot_file_sink *f = file_sink_of(s);
	(void)head;
	f->at = 0;
	return beneath_create(f->folder, str_of(f->name), &f->file, err);
}

int robot_file_write(struct robot_sink *s, struct str bytes, struct err *err)
{
	struct robot_file_sink *f = file_sink_of(s);
	if (file_write(&f->file.file, bytes.p, bytes.n, f->at, err) < 0)
		return -1;
	f->at += bytes.n;
	return 0;
}

static int file_end(struct robot_sink *s, bool is_complete, struct err *err)
{
	struct robot_file_sink *f = file_sink_of(s);
	if (is_complete)
		return beneath_name(&f->file, err);
	beneath_drop(&f->file);
	return 0;
}

struct robot_file_sink robot_file_sink(const struct beneath *folder, const char *name)
{
	static const struct robot_sink_ops ops = {robot_file_begin, robot_file_write, file_end};
	return (struct robot_file_sink){.sink = {&ops},
					.folder = folder,
					.name = name,
					.file = {.file = FILE_INIT, .dir = -1}};
}

static void job_resolve(struct job *job);
static void ask_robots(struct job *job);
static void take_lease(struct job *job);
static void use_addresses(struct job *job, const struct dns_result *result);
static void job_not_now(struct job *job, int64_t wait_us);
static void rules_fetch(const struct job *for_job, struct str site);
static void rules_sync(void *robot);

static struct job *queue_take(struct link *queue)
{
	struct job *job = LIST_FIRST(struct job, queue, queued);
	if (job)
		list_remove(&job->queued);
	return job;
}

/* URLs. */

static void target_set(struct target *t, const struct url *u)
{
	struct str path = url_target(u);
	struct str authority = {u->host.p, (size_t)(u->path.p - u->host.p)}; /* with its port */
	size_t n = u->scheme.n + 3;
	mem_free(&t->text);
	t->n = n + authority.n + path.n;
	t->text = mem_alloc(t->n + 1);
	memcpy(t->text, u->scheme.p, u->scheme.n);
	memcpy(t->text + u->scheme.n, "://", 3);
	memcpy(t->text + n, authority.p, authority.n);
	memcpy(t->text + n + authority.n, path.p, path.n);
	t->host = (struct str){t->text + n, u->host.n};
	t->path = (struct str){t->text + n + authority.n, path.n};
	t->protocol = u->protocol;
	t->host_kind = u->host_kind;
	t->port = u->port;
}

static struct str site_text(const struct target *t, char *room, size_t cap)
{
	return url_site_print((struct url_site){t->protocol, t->port, t->host}, room, cap);
}

const struct addr *robot_choose(const struct addr *a, size_t n, struct str host)
{
	struct qkey_addr keys[DNS_ADDRS * 2];
	size_t same = 1;
	while (same < n && same < ARRAY_LEN(keys) && a[same].family == a[0].family)
		same++;
	for (size_t i = 0; i < same; i++) {
		keys[i] = (struct qkey_addr){.v6 = addr_bytes(&a[i]) != 4};
		memcpy(keys[i].b, a[i].b, sizeof keys[i].b);
	}
	return &a[qkey_choose(keys, same, host) - keys];
}

/* The end of a job. */

static void free_job(struct job *job)
{
	if (job->request)
		request_release(job->request);
	mem_free(&job->target.text);
	mem_free(&job->etag);
	mem_free(&job->last_modified);
	mem_free(&job->mime);
	mem_free(&job->within);
	mem_free(&job->own_host);
	mem_free(&job);
}

static void end_lease(struct job *job, enum outcome outcome, int64_t retry_after_us)
{
	struct robot *r = job->robot;
	if (job->lease.word)
		polite_end(r->parts.polite, &job->lease, outcome, MAX(retry_after_us, 0),
			   loop_now_us(r->parts.loop));
	job->lease = (struct lease){0};
}

static void put_times(const struct job *job, const struct request *q, struct robot_result *ret)
{
	const struct curl_lib *curl = job->robot->curl;
	curl_off_t connect_us = 0, first_us = 0, wire = 0, filetime = -1;
	long connects = 0;
	curl->easy_getinfo(q->easy, CURLINFO_CONNECT_TIME_T, &connect_us);
	curl->easy_getinfo(q->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_us);
	curl->easy_getinfo(q->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	curl->easy_getinfo(q->easy, CURLINFO_NUM_CONNECTS, &connects);
	ret->times.start_us = q->wall_us;
	ret->times.connect_us = connect_us;
	ret->times.first_us = first_us;
	ret->wire = (uint64_t)wire;
	ret->reused = connects == 0 && q->head.status;
	if (job->target.protocol == URL_FTP)
		curl->easy_getinfo(q->easy, CURLINFO_FILETIME_T, &filetime);
	if (filetime >= 0)
		ret->last_modified_us = filetime * US_PER_S;
}

static void put_answer(struct job *job, struct robot_result *ret)
{
	struct request *q = job->request;
	ret->head = &q->head;
	ret->sent_us = q->sent_us;
	ret->size = q->size;
	ret->sys_errno = q->sink_failed ? q->sink_err.sys_errno : 0;
	digest_end(q->md5, ret->md5, sizeof ret->md5);
	digest_end(q->sha256, ret->sha256, sizeof ret->sha256);
	q->is_hashing = false;
	put_times(job, q, ret);
	if (job->target.protocol == URL_FTP && ret->last_modified_us >= 0)
		time_print_http(ret->last_modified_us, q->head.last_modified);
	else if (!robot_date(str_of(q->head.last_modified), q->wall_us, &ret->last_modified_us))
		ret->last_modified_us = -1;
	job->robot->stats.bytes += q->size;
}

/* Removes a job from everything that could call it. */
static void detach_job(struct job *job)
{
	if (job->handle)
		job->handle->job = NULL;
	loop_timer_stop(&job->timer);
	dns_cancel(&job->dns);
	robots_cache_cancel(&job->robots);
	list_remove(&job->link);
	list_remove(&job->queued);
}

static void end_job(struct job *job, struct robot_class class, struct robot_result *result)
{
	struct robot *r = job->robot;
	static const struct robot_head no_head = {
		.retry_after_us = -1, .length = -1, .tag.unavailable_after_us = -1};
	result->outcome = class.outcome;
	result->cause = class.cause;
	result->why = result->why ? result->why : "";
	result->head = &no_head;
	result->url = (struct str){job->target.text, job->target.n};
	result->addr = job->naddrs ? job->addr[job->at] : (struct addr){0};
	result->redirects = job->redirects;
	result->last_modified_us = -1;
	result->times.resolve_us = job->resolve_us;
	result->delay_us = job->naddrs ? job->rule.delay_us : -1;
	if (job->request)
		put_answer(job, result);
	result->times.total_us = loop_now_us(r->parts.loop) - job->begun_us;
	if (class.cause != ROBOT_CAUSE_NOT_NOW)
		r->stats.outcome[class.outcome]++;
	detach_job(job);
	job->done(job->ctx, result);
	free_job(job);
}

static void end_plainly(struct job *job, enum outcome outcome, enum robot_cause cause,
			const char *why)
{
	end_job(job, (struct robot_class){outcome, cause}, &(struct robot_result){.why = why});
}

/* A request has become free. */
static void next_ready(struct robot *r)
{
	struct job *job;
	while ((int64_t)r->stats.under_way < r->conf.at_once && !r->closing &&
	       (job = queue_take(&r->ready)))
		take_lease(job);
}

/* Steps. */

static void begin_hop(struct job *job)
{
	job->hop_us = loop_now_us(job->robot->parts.loop);
	job->naddrs = job->at = 0;
	job->resolve_us = 0;
	job_resolve(job);
}

/* Keeps the one that stands for the host and, if that does not answer, some others. */
static void keep_addresses(struct job *job, const struct dns_result *result)
{
	const struct addr *chosen = robot_choose(result->addr, result->n, job->target.host);
	job->addr[0] = *chosen;
	job->naddrs = 1;
	for (size_t i = 0; i < result->n && job->naddrs < ROBOT_ADDRESSES; i++)
		if (&result->addr[i] != chosen)
			job->addr[job->naddrs++] = result->addr[i];
}

static void job_resolved(void *ctx, const struct dns_result *result)
{
	struct job *job = ctx;
	job->resolve_us = loop_now_us(job->robot->parts.loop) - job->hop_us;
	use_addresses(job, result);
}

static void use_addresses(struct job *job, const struct dns_result *result)
{
	struct robot_class class = robot_class_dns(result->outcome);
	if (result->outcome != DNS_FOUND) {
		end_job(job, class,
			&(struct robot_result){.why = result->why
							      ? result->why
							      : dns_outcome_word(result->outcome)});
		return;
	}
	keep_addresses(job, result);
	ask_robots(job);
}

/* At this address, unless the policy refuses the one that was named. */
static void use_address(struct job *job, const struct addr *named, const struct addr *at)
{
	const char *why = named ? policy_refuses(job->robot->parts.policy, named) : NULL;
	if (why) {
		end_plainly(job, OUTCOME_ADDRESS, ROBOT_CAUSE_ADDRESS, why);
		return;
	}
	job->addr[0] = *at;
	job->naddrs = 1;
	ask_robots(job);
}

/* Behind a proxy nobody knows the server's address; sites count as servers there, by an address
 * that no server has. */
static void resolve_for_proxy(struct job *job)
{
	struct str host = job->target.host;
	uint64_t hash = hash64(host);
	struct addr literal, at = {.family = 10 /* AF_INET6 on Linux */};
	if (host.n && host.p[0] == '[')
		host = (struct str){host.p + 1, host.n - 2};
	memcpy(at.b, &hash, sizeof hash);
	at.b[0] = 0x7f;
	use_address(job, addr_parse(host, &literal) ? &literal : NULL, &at);
}

static void job_resolve(struct job *job)
{
	struct dns_result result;
	if (job->robot->has_proxy)
		resolve_for_proxy(job);
	else if (job->own_host && str_is(job->target.host, job->own_host))
		use_address(job, &job->address, &job->address);
	else if (dns_lookup(job->robot->parts.dns, job->target.host, DNS_ANY, &job->dns, &result) ==
		 0)
		use_addresses(job, &result);
}

static void set_rule(struct job *job, struct str compiled)
{
	const struct robot_conf *conf = &job->robot->conf;
	int64_t delay_us = compiled.n ? robots_crawl_delay_us(compiled) : -1;
	if (!job->has_rule)
		job->rule = (struct polite_rule){.delay_us = conf->delay_us,
						 .concurrent = (unsigned)conf->concurrent};
	if (!job->rule.exempt)
		job->rule.delay_us =
			MAX(job->rule.delay_us, MIN(delay_us, conf->crawl_delay_max_us));
}

static void robots_known(void *ctx, const struct robots_answer *answer)
{
	struct job *job = ctx;
	set_rule(job, answer->compiled);
	if (answer->not_now_us > 0)
		job_not_now(job, answer->not_now_us);
	else if (!answer->is_reachable)
		end_plainly(job, OUTCOME_SITE_TEMPORARY, ROBOT_CAUSE_ROBOTS_UNREACHABLE,
			    "robots.txt cannot be fetched");
	else if (!robots_verdict(answer->compiled, job->target.path).allowed &&
		 !str_is(job->target.path, "/robots.txt"))
		end_plainly(job, OUTCOME_ROBOTS, ROBOT_CAUSE_ROBOTS, "forbidden by robots.txt");
	else
		take_lease(job);
}

static void ask_robots(struct job *job)
{
	char room[URL_SITE_MAX];
	struct robots_answer answer;
	bool first;
	if (job->flags & ROBOT_NO_ROBOTS) {
		set_rule(job, STR(""));
		take_lease(job);
		return;
	}
	struct str site = site_text(&job->target, room, sizeof room);
	if (robots_cache_ask(job->robot->parts.robots, site, clock_wall_us(), &job->robots, &answer,
			     &first) == 0)
		robots_known(job, &answer);
	else if (first)
		rules_fetch(job, site);
}

/* Only the first request of a job is hostq's to order: what was begun is brought to its end. */
static bool job_waits_here(const struct job *job)
{
	return job->flags & ROBOT_WAIT || job->redirects > 0;
}

static void job_not_now(struct job *job, int64_t wait_us)
{
	bool is_patient = !job->patience_us || wait_us <= MAX(job->patience_us, job->rule.delay_us);
	if (job_waits_here(job) && is_patient)
		loop_timer_in(job->robot->parts.loop, &job->timer, wait_us);
	else
		end_job(job, (struct robot_class){OUTCOME_CANCELLED, ROBOT_CAUSE_NOT_NOW},
			&(struct robot_result){.not_now_us = wait_us});
}

static void take_lease(struct job *job)
{
	struct robot *r = job->robot;
	int64_t wait_us = 0;
	if ((int64_t)r->stats.under_way >= r->conf.at_once) {
		list_append(&r->ready, &job->queued);
		return;
	}
	int rc = polite_take(r->parts.polite, &job->addr[job->at], &job->rule,
			     loop_now_us(r->parts.loop), &job->lease, &wait_us);
	if (rc == 0)
		request_start(job);
	else if (polite_is_cut(r->parts.polite))
		end_plainly(job, OUTCOME_CANCELLED, ROBOT_CAUSE_TABLE,
			    "the table of politeness was cut while it was in use: end all of "
			    "garner that runs, and remove run/polite");
	else
		job_not_now(job, wait_us);
}

/* What robots.txt allowed before the wait it may forbid now. */
static void job_waited(void *ctx)
{
	ask_robots(ctx);
}

/* Where the Location leads. Its own words when it is none of ours: file:///etc/passwd. */
static int parse_location(struct job *job, struct url *ret)
{
	struct robot *r = job->robot;
	char base_room[URL_TEXT_MAX];
	struct url base;
	if (url_parse((struct str){job->target.text, job->target.n}, NULL, base_room,
		      sizeof base_room, &base) != 0)
		return -URL_SYNTAX;
	return url_parse(buf_str(&job->request->head.location), &base, r->room, sizeof r->room,
			 ret);
}

/* What was agreed with one site does not hold for another. The robots.txt of a site may be
 * elsewhere, and there is none for that. */
static void leave_site(struct job *job)
{
	job->has_rule = false;
	if (!(job->flags & ROBOT_CUT))
		job->flags &= ~(unsigned)ROBOT_NO_ROBOTS;
}

static bool is_same_site(const struct target *t, const struct url *url)
{
	return url_site_eq((struct url_site){t->protocol, t->port, t->host}, url_site(url));
}

/* A path that only begins as it should, and that a server may read a way out of, does not. */
static bool is_within(const struct job *job, const struct url *url)
{
	return !job->within ||
	       (str_starts(url->href, str_of(job->within)) && !url_path_leaves(url->path));
}

static void job_follow(struct job *job)
{
	struct robot_class class = {OUTCOME_REDIRECT, ROBOT_CAUSE_ANSWER};
	struct robot_result result = {0};
	struct url url = {0};
	int rc = parse_location(job, &url);
	result.location = rc == 0 ? url.href : buf_str(&job->request->head.location);
	if (job->flags & ROBOT_NO_FOLLOW) {
		end_job(job, class, &result);
	} else if (job->redirects >= job->limits.redirects) {
		result.why = "too many redirects";
		end_job(job, (struct robot_class){OUTCOME_LIMIT, ROBOT_CAUSE_REDIRECTS}, &result);
	} else if (rc != 0) {
		result.why = url_error_text(rc);
		end_job(job, (struct robot_class){OUTCOME_PERMANENT, ROBOT_CAUSE_NO_TARGET},
			&result);
	} else if (!is_within(job, &url)) {
		result.why = "a redirect leaves what was asked for";
		end_job(job, (struct robot_class){OUTCOME_LIMIT, ROBOT_CAUSE_WITHIN}, &result);
	} else {
		request_release(job->request);
		job->redirects++;
		if (!is_same_site(&job->target, &url))
			leave_site(job);
		target_set(&job->target, &url);
		begin_hop(job);
	}
}

/* Another address of the same host may answer where this one does not. */
static bool try_next_address(struct job *job, struct robot_class class)
{
	if (class.cause != ROBOT_CAUSE_CONNECT || job->at + 1 >= job->naddrs)
		return false;
	request_release(job->request);
	job->at++;
	take_lease(job);
	return true;
}

void request_ended(struct request *q, struct robot_class class)
{
	struct job *job = q->job;
	struct robot *r = q->robot;
	end_lease(job, class.outcome,
		  robot_obeys_retry(q->head.status) ? q->head.retry_after_us : 0);
	if (class.outcome == OUTCOME_REDIRECT)
		job_follow(job);
	else if (!try_next_address(job, class))
		end_job(job, class, &(struct robot_result){.why = q->words});
	next_ready(r);
}

/* The door. */

/* So many are begun in one round of the loop: a process that cannot keep up brings what it has
 * begun to an end before it begins more. What is under way at the same time should not be more than
 * the caches of the processor hold, as long as nobody waits. */
enum { BEGUN_AT_ONCE = 16 };

/* Starts new jobs, and jobs for which a cancelled one has made room. */
static void begin_fresh(void *ctx)
{
	struct robot *r = ctx;
	struct job *job;
	for (unsigned n = 0; n < BEGUN_AT_ONCE && !r->closing && (job = queue_take(&r->fresh)); n++)
		begin_hop(job);
	if (!list_is_empty(&r->fresh))
		loop_timer_in(r->parts.loop, &r->more, 0);
	next_ready(r); /* in place of those that were cancelled */
}

static char *copy_text(struct str text)
{
	char *copy = text.n ? mem_alloc(text.n + 1) : NULL;
	if (copy)
		memcpy(copy, text.p, text.n);
	return copy;
}

/* A validator is sent as it came, or not at all: without it the whole document comes. NULL: not at
 * all. */
static char *copy_validator(struct str text, size_t most)
{
	if (!robot_can_send(text, most))
		return NULL;
	return copy_text(text);
}

/* As URLs are compared: http://A.example becomes http://a.example/, and no other host begins so. */
static int copy_within(struct robot *r, struct str text, char **ret, struct err *err)
{
	struct url url;
	int rc = url_parse(text, NULL, r->room, sizeof r->room, &url);
	if (rc != 0) {
		(void)url_fail(rc, text, err);
		return err_in(err, "within");
	}
	*ret = copy_text(url.href);
	return 0;
}

static struct str essence_of(struct str mime)
{
	return str_trim(str_head(mime, str_find_byte(mime, ';')));
}

int robot_fetch(struct robot *r, const struct robot_job *in, robot_done_fn *done, void *ctx,
		struct err *err)
{
	struct url url;
	char *within = NULL;
	if (in->within.n && copy_within(r, in->within, &within, err) < 0)
		return -1;
	int rc = url_parse(in->url, NULL, r->room, sizeof r->room, &url);
	if (rc != 0) {
		mem_free(&within);
		return url_fail(rc, in->url, err);
	}
	struct job *job = mem_alloc(sizeof *job);
	*job = (struct job){.robot = r,
			    .done = done,
			    .ctx = ctx,
			    .etag = copy_validator(in->etag, ROBOT_ETAG_MAX),
			    .last_modified = copy_validator(in->last_modified, ROBOT_DATE_MAX),
			    .limits = in->limits ? *in->limits : r->conf.limits,
			    .rule = in->rule ? *in->rule : (struct polite_rule){0},
			    .has_rule = in->rule != NULL,
			    .mime = copy_text(essence_of(in->mime)),
			    .within = within,
			    .sink = in->sink,
			    .flags = in->flags,
			    .patience_us = in->patience_us,
			    .handle = in->handle,
			    .dns = {.done = job_resolved, .ctx = job},
			    .robots = {.done = robots_known, .ctx = job},
			    .timer = {.fn = job_waited, .ctx = job},
			    .begun_us = loop_now_us(r->parts.loop)};
	target_set(&job->target, &url);
	if (in->address) {
		job->address = *in->address;
		job->own_host = copy_text(job->target.host);
	}
	if (in->handle)
		in->handle->job = job;
	list_append(&r->jobs, &job->link);
	r->stats.jobs++;
	list_append(&r->fresh, &job->queued);
	if (!r->more.set)
		loop_later(r->parts.loop, &r->later);
	return 0;
}

/* "garner/0.1.0 (+https://example.org/robot.html)" */
static void name_yourself(struct robot *r)
{
	struct str agent = str_of(r->conf.agent);
	CLEANUP(buf_free) struct buf b = BUF_INIT(4096);
	size_t slash = str_find_byte(agent, '/');
	r->agent = mem_alloc(slash + 1);
	memcpy(r->agent, agent.p, slash);
	buf_add_str(&b, agent);
	if (slash == agent.n)
		buf_add_text(&b, "/" GARNER_VERSION);
	if (r->conf.contact && r->conf.contact[0])
		buf_printf(&b, " (+%s)", r->conf.contact);
	r->user_agent = mem_text(buf_text(&b));
}

static int check_conf(const struct robot_conf *conf, struct err *err)
{
	struct str agent = str_of(conf->agent);
	if (agent.n == 0 || agent.n > 200 || agent.p[0] == '/')
		return err_set(err, ERR_USAGE,
			       "agent: expected a product token such as garner, got '%s'",
			       conf->agent);
	for (const char *p = conf->agent; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			return err_set(err, ERR_USAGE, "agent: a blank in '%s'", conf->agent);
	for (const char *p = conf->contact ? conf->contact : ""; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			return err_set(err, ERR_USAGE, "contact: a line end in it");
	return 0;
}

int robot_new(struct robot **ret, const struct robot_parts *parts, const struct robot_conf *conf,
	      struct err *err)
{
	if (check_conf(conf, err) < 0)
		return -1;
	struct robot *r = mem_alloc(sizeof *r);
	r->parts = *parts;
	r->conf = *conf;
	r->has_proxy = conf->proxy && conf->proxy[0];
	r->until_us = INT64_MAX;
	list_init(&r->jobs);
	list_init(&r->fresh);
	list_init(&r->ready);
	r->later = (struct loop_later){.fn = begin_fresh, .ctx = r};
	r->more = (struct loop_timer){.fn = begin_fresh, .ctx = r};
	r->sync = (struct loop_timer){.fn = rules_sync, .ctx = r};
	name_yourself(r);
	if (transfers_new(r, err) < 0) {
		robot_free(&r);
		return -1;
	}
	*ret = r;
	return 0;
}

void robot_free(struct robot **rp)
{
	struct robot *r = *rp;
	if (!r)
		return;
	r->closing = true;
	struct job *job;
	while ((job = LIST_FIRST(struct job, &r->jobs, link))) {
		if (job->request)
			request_drop(job->request);
		end_lease(job, OUTCOME_CANCELLED, 0);
		end_plainly(job, OUTCOME_CANCELLED, ROBOT_CAUSE_STOPPED, "");
	}
	transfers_free(r);
	loop_later_cancel(&r->later);
	loop_timer_stop(&r->more);
	loop_timer_stop(&r->sync);
	mem_free(&r->agent);
	mem_free(&r->user_agent);
	mem_free(rp);
}

void robot_cancel(struct robot_handle *handle)
{
	struct job *job = handle->job;
	if (!job)
		return;
	struct robot *r = job->robot;
	if (job->request)
		request_drop(job->request);
	end_lease(job, OUTCOME_CANCELLED, 0);
	detach_job(job);
	free_job(job);
	loop_later(r->parts.loop, &r->later);
}

void robot_until(struct robot *r, int64_t mono_us)
{
	r->until_us = mono_us;
}

const struct robot_stats *robot_stats(const struct robot *r)
{
	return &r->stats;
}

/* The fetch of a robots.txt, on behalf of all who wait for it. */

#define SYNC_US (2 * US_PER_S) /* how long what is known of robots.txt may stay unwritten */

/* One byte more than is read, and a byte order mark: so that it is known whether there was more. */
enum { ROBOTS_REDIRECTS = 5, ROBOTS_BODY = ROBOTS_FILE_MAX + 4 };

struct robots_fetch {
	struct robot *robot;
	struct buf body;
	struct robot_memory_sink sink;
	size_t n;
	char site[URL_SITE_MAX];
};

static void rules_fetched(void *ctx, const struct robot_result *result)
{
	struct robots_fetch *f = ctx;
	struct robots_file file = {
		.outcome = result->outcome,
		.too_many_redirects = result->cause == ROBOT_CAUSE_REDIRECTS,
		.body = buf_str(&f->body),
		.retry_after_us = robot_obeys_retry(result->head->status)
					  ? MAX(result->head->retry_after_us, 0)
					  : 0,
		.not_now_us = result->cause == ROBOT_CAUSE_NOT_NOW ? result->not_now_us : 0};
	struct robot *r = f->robot;
	robots_cache_told(r->parts.robots, (struct str){f->site, f->n}, &file, clock_wall_us());
	if (robots_cache_dirty(r->parts.robots) && !r->sync.set && !r->closing)
		loop_timer_in(r->parts.loop, &r->sync, SYNC_US);
	buf_free(&f->body);
	mem_free(&f);
}

/* The job's own, as long as the site is on the host that it is of. */
static const struct addr *rules_address(const struct job *job)
{
	return job->own_host && str_is(job->target.host, job->own_host) ? &job->address : NULL;
}

/* Fetches the robots.txt of a site and tells the cache. */
static void rules_fetch(const struct job *for_job, struct str site)
{
	struct robot *r = for_job->robot;
	struct robots_fetch *f = mem_alloc(sizeof *f);
	struct robot_limits limits = r->conf.limits;
	char text[URL_SITE_MAX + 16];
	struct err ignored;
	*f = (struct robots_fetch){.robot = r, .body = BUF_INIT(ROBOTS_BODY), .n = site.n};
	memcpy(f->site, site.p, site.n);
	f->sink = robot_memory_sink(&f->body, true);
	snprintf(text, sizeof text, STR_FMT "/robots.txt", STR_ARG(site));
	limits.redirects = ROBOTS_REDIRECTS;
	limits.body = ROBOTS_BODY;
	struct robot_job job = {.url = str_of(text),
				.limits = &limits,
				.sink = &f->sink.sink,
				.rule = for_job->has_rule ? &for_job->rule : NULL,
				.address = rules_address(for_job),
				.patience_us = for_job->patience_us,
				.flags = ROBOT_NO_ROBOTS | ROBOT_CUT |
					 (for_job->flags & ROBOT_KEEP) |
					 (job_waits_here(for_job) ? (unsigned)ROBOT_WAIT : 0)};
	r->stats.robots_files++;
	ENSURE(robot_fetch(r, &job, rules_fetched, f, &ignored) == 0);
}

static void rules_sync(void *robot)
{
	struct robot *r = robot;
	struct err ignored; /* it is a cache: the next question finds the site not known */
	(void)robots_cache_sync(r->parts.robots, &ignored);
}
